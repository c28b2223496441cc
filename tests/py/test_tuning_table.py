"""Decision tables: files, rules between what was tuned, comparison, validation, lowering."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput, ParseError
from isthmus.tuning.choice import Choice
from isthmus.tuning.compare import differences, predictor, summary, validate
from isthmus.tuning.rule import Rule, merged
from isthmus.tuning.table import DecisionTable, Point, Provenance, Row, crossover
from isthmus.tuning.table_file import content, format_json, format_toml, read
from tables import choices, starting, tables

BINOMIAL, LINEAR = Choice("binomial"), Choice("linear")
TABLE = DecisionTable(
    {
        "bcast": [
            Row(4, (Point(8, BINOMIAL, 1e-6, LINEAR, 2e-6, 5e-7), Point(4096, LINEAR, 1e-5, BINOMIAL, 1.5e-5))),
            Row(64, (Point(8, Choice("knomial", {"radix": 4})),)),
        ],
        "allreduce": [starting(2, (0, "recursive_doubling"), (4096, "ring"))],
    },
    Provenance(machine="eos", model="flow"),
)


@given(choices)
def test_choices_have_a_text_form(choice: Choice) -> None:
    assert Choice.of(str(choice)) == choice
    assert Choice.of(choice.argument) == choice
    assert hash(Choice.of(str(choice))) == hash(choice)


@pytest.mark.parametrize(
    "text", ["", "1x", "ring,", "ring,radix", "ring,radix=", "ring,radix=2,radix=3", "ring,Radix=2"]
)
def test_wrong_choices(text: str) -> None:
    with pytest.raises(InvalidInput):
        Choice.of(text)


@settings(max_examples=25, deadline=None)
@given(tables)
def test_files_give_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, table: DecisionTable) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("any.toml", "any.json"):
        table.save(folder / name)
        assert DecisionTable.load(folder / name) == table
    assert json.loads(format_json(table)) == json.loads(json.dumps(content(table)))


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 2**21), st.integers(0, 2**41))
def test_lookup_follows_the_rules(table: DecisionTable, ranks: int, size: int) -> None:
    for kind in table.collectives:
        rules = table.rules(kind, ranks)
        assert rules[0].bytes == 0
        assert all(a.bytes < b.bytes and a.choice != b.choice for a, b in itertools.pairwise(rules))
        # The slow way: the largest row at or below, and the last rule that begins at or below.
        rows = [row for row in table.rows[kind] if row.ranks <= ranks] or [table.rows[kind][0]]
        assert table.row(kind, ranks) is rows[-1]
        assert table.lookup(kind, ranks, size) == [r for r in rows[-1].rules if r.bytes <= size][-1].choice
        for point in rows[-1].points:
            assert rows[-1].tuned is False or table.lookup(kind, rows[-1].ranks, point.bytes) == point.choice


def test_crossover_is_where_two_straight_lines_meet() -> None:
    # Times 1 us + n * 1 ns and 3 us + n * 0.1 ns, tuned at sizes whose times lie on lines in logs.
    low = Point(64, BINOMIAL, 1.0, LINEAR, 4.0)
    high = Point(1024, LINEAR, 1.0, BINOMIAL, 4.0)
    assert crossover(low, high) == math.isqrt(64 * 1024)
    nearer = Point(1024, LINEAR, 1.0, BINOMIAL, 2.0)
    # A lead of log 4 against one of log 2: two thirds of the way.
    assert crossover(low, nearer) == math.ceil(64 * 16 ** (2 / 3))
    assert crossover(Point(8, BINOMIAL), Point(512, LINEAR)) == 64
    assert crossover(Point(0, BINOMIAL), Point(1, LINEAR)) == 1


def test_the_report_and_the_columns() -> None:
    assert str(TABLE) == "Decision table for eos: bcast, allreduce; 5 decisions"
    frame = TABLE.frame()
    assert {len(column) for column in frame.values()} == {5}
    assert frame["algorithm"].tolist()[:3] == ["binomial", "linear", "knomial,radix=4"]
    assert frame["margin"][0] == pytest.approx(1.0)
    assert np.isnan(frame["seconds"][2])
    assert frame["tuned"].tolist() == [True, True, True, False, False]


DEFECTS = [
    ("", "format"),
    ('format = "isthmus decision table"\nversion = 5\n', "versions 1 and 2 and 3 and 4"),
    ('format = "isthmus decision table"\nversion = 1\n[what]\n', "must be one of barrier"),
    ('format = "isthmus decision table"\nversion = 1\nbcast = 3\n', "list of tables"),
    ("[[bcast]]\nranks = 4\n", "rules is missing"),
    ("[[bcast]]\nranks = 0\nrules = [{ bytes = 0, algorithm = 'ring' }]\n", "from 1"),
    ("[[bcast]]\nranks = true\nrules = []\n", "whole number"),
    ("[[bcast]]\nranks = 4\nrules = []\n", "no sizes"),
    ("[[bcast]]\nranks = 4\nsizes = 'all'\nrules = []\n", "from"),
    ("[[bcast]]\nranks = 4\nsizes = 'from'\nrules = [{ bytes = 8, algorithm = 'ring' }]\n", "begin at 0"),
    (
        "[[bcast]]\nranks = 4\nrules = [{ bytes = 8, algorithm = 'ring' }, { bytes = 8, algorithm = 'ring' }]\n",
        "ascend",
    ),
    ("[[bcast]]\nranks = 4\nrules = [{ bytes = -8, algorithm = 'ring' }]\n", "whole number from 0"),
    ("[[bcast]]\nranks = 4\nrules = [{ bytes = 8, algorithm = 'ring', seconds = nan }]\n", "seconds"),
    ("[[bcast]]\nranks = 4\nrules = [{ bytes = 8, algorithm = 'ring', time = 1 }]\n", "not known"),
    ("[[bcast]]\nranks = 4\nrules = [{ bytes = 8, algorithm = 'ring,radix' }]\n", "NAME=VALUE"),
    ("[[bcast]]\nranks = 4\nrules = [{ bytes = 8 }]\n", "algorithm is missing"),
    ("[provenance]\ncolour = 'red'\n", "not known"),
    ("[provenance]\nmachine = 3\n", "text"),
]


@pytest.mark.parametrize(("text", "words"), DEFECTS)
def test_each_defect_has_one_sentence(text: str, words: str, tmp_path: Path) -> None:
    head = 'format = "isthmus decision table"\nversion = 1\n'
    path = tmp_path / "table.toml"
    path.write_text(text if text.startswith("format") or not text else head + text)
    with pytest.raises(ParseError) as error:
        read(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "not JSON"), ("[]", "not TOML"), ('{"format": 1, "format": 2}', "twice"), ('{"format": NaN}', "NaN")],
)
def test_defects_of_json(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text(text)
    with pytest.raises(ParseError, match=words):
        read(path)


def test_lines_of_defects_are_told(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(format_toml(TABLE).replace("ranks = 64", "ranks = -64"))
    with pytest.raises(ParseError) as error:
        read(path)
    assert error.value.line == path.read_text().splitlines().index("ranks = -64") + 1


def test_merging_keeps_the_last_of_equal_rows() -> None:
    other = DecisionTable(
        {"bcast": [starting(64, (0, "linear"))], "scan": [starting(2, (0, "linear"))]}, Provenance("hopper")
    )
    both = TABLE.merge(other)
    assert both.collectives == ("bcast", "allreduce", "scan")
    assert [row.ranks for row in both.rows["bcast"]] == [4, 64]
    assert both.lookup("bcast", 64, 8) == LINEAR
    assert both.lookup("bcast", 63, 8) == BINOMIAL
    assert both.provenance.machine == "eos; hopper"
    assert both.provenance.model == "flow"
    assert both.only("scan").collectives == ("scan",)


def test_differences_are_ranges_of_sizes() -> None:
    other = DecisionTable({"allreduce": [starting(2, (0, "recursive_doubling"), (1024, "ring"))]})
    only = TABLE.only("allreduce")
    (found,) = differences(only, other)
    assert (found.low, found.high) == (1024, 4095)
    assert (str(found.first), str(found.second)) == ("recursive_doubling", "ring")
    assert differences(only, only) == []
    assert {d.second for d in differences(TABLE, other) if d.collective == "bcast"} == {None}


@settings(max_examples=40, deadline=None)
@given(tables, tables, st.integers(0, 2**41))
def test_differences_agree_with_lookups(first: DecisionTable, second: DecisionTable, size: int) -> None:
    found = differences(first, second)
    for kind in set(first.collectives) & set(second.collectives):
        for ranks in {row.ranks for table in (first, second) for row in table.rows[kind]}:
            differ = first.lookup(kind, ranks, size) != second.lookup(kind, ranks, size)
            inside = [
                d
                for d in found
                if (d.collective, d.ranks) == (kind, ranks) and d.low <= size and (d.high is None or size <= d.high)
            ]
            assert len(inside) == differ


def test_validation_against_fresh_times() -> None:
    times = {BINOMIAL: 1.0, LINEAR: 2.0}
    table = DecisionTable(
        {"bcast": [Row(4, (Point(8, BINOMIAL, 1.0, LINEAR, 3.0), Point(64, LINEAR, 1.0, BINOMIAL, 3.0)))]}
    )
    good, bad = validate(table, lambda kind, ranks, size, choice: times[choice])
    assert (good.loss, good.drift, good.best) == (0.0, 0.0, BINOMIAL)
    assert (bad.loss, bad.drift, bad.best) == (1.0, 1.0, BINOMIAL)
    assert "1 of 2 decisions hold; the worst loses 100 %" in summary([good, bad])
    assert validate(table, lambda *_: 1.0, most_ranks=3) == []
    assert summary([]) == "nothing was checked"


def test_validation_by_simulation() -> None:
    machine = isthmus.load("ring-16")
    seconds = predictor(machine)("bcast", 4, 8, BINOMIAL)
    assert (
        seconds
        == isthmus.simulate(isthmus.collective("bcast", ranks=4, bytes=8, algorithm="binomial"), machine).makespan
    )
    table = DecisionTable({"bcast": [Row(4, (Point(8, BINOMIAL, seconds, LINEAR, 1.0),))]})
    (check,) = validate(table, machine)
    assert check.drift == 0.0


def test_programs_are_lowered_by_tables() -> None:
    b = isthmus.ProgramBuilder(8)
    for size in (8, 100_000):
        b.allreduce(None, size)
    pairs = {"allreduce": [(4095, "recursive_doubling"), (None, "ring")]}
    by_table = isthmus.lower(b.build(), collectives=TABLE.only("allreduce"))
    assert by_table == isthmus.lower(b.build(), collectives=pairs)
    assert TABLE.only("allreduce").at(8) == pairs


def test_neighbours_that_agree_are_one_rule() -> None:
    rules = [Rule(0, BINOMIAL), Rule(8, BINOMIAL), Rule(64, LINEAR), Rule(512, BINOMIAL)]
    assert [rule.bytes for rule in merged(rules)] == [0, 64, 512]


def test_wrong_rows_and_tables() -> None:
    with pytest.raises(InvalidInput, match="begin at 0"):
        starting(4, (8, "ring"))
    with pytest.raises(InvalidInput, match="ascend"):
        DecisionTable({"bcast": [starting(4, (0, "ring")), starting(4, (0, "ring"))]})
    with pytest.raises(InvalidInput, match="must be one of barrier"):
        DecisionTable({"broadcast": [starting(4, (0, "ring"))]})
    with pytest.raises(InvalidInput, match="must be one of bcast, allreduce"):
        TABLE.lookup("scan", 4, 8)
    with pytest.raises(InvalidInput, match="from 0"):
        TABLE.lookup("bcast", 4, -1)
