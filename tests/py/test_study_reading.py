"""Studies in TOML: what is read, what is refused and where."""

from __future__ import annotations

import pytest

import isthmus
from isthmus.errors import InvalidInput, ParseError
from isthmus.studies.reading import catalogue, load, parse_study

GOOD = """format = 1
name = "mine"
kind = "pairs"
[[grid]]
machine = "torus-4x4x4"
hops = [1, 2]
bytes = ["4 B", "1 KiB"]
[[grid]]
machine = "torus-4x4x4"
traffic = "random"
bytes = 64
[quick]
bytes = 4
"""


def test_points_are_all_combinations_once() -> None:
    study = parse_study(GOOD, "mine.toml")
    assert [(p["traffic"], p["hops"], p["bytes"]) for p in study.points] == [
        ("pairs", 1, 4), ("pairs", 1, 1024), ("pairs", 2, 4), ("pairs", 2, 1024), ("random", 1, 64),
    ]  # fmt: skip
    # The second grid has one size: it stays.
    assert [p["bytes"] for p in study.quick().points] == [4, 4, 64]
    assert [p["hops"] for p in study.changed({"hops": 2, "bytes": [8]}).points] == [2, 1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 2", "mine.toml:1: format: must be 1"),
        ('name = "mine"', 'name = "a b"', "mine.toml:2: name: 'a b': may have only letters"),
        ('name = "mine"', "name = 3", "mine.toml:2: name: 3: must be a text"),
        ('name = "mine"', 'nam = "mine"', "mine.toml:2: nam: unknown key; must be one of format, name"),
        ('name = "mine"', "", "mine.toml: name is missing"),
        ('kind = "pairs"', 'kind = "pears"', "mine.toml:3: kind: 'pears': must be one of collectives, cycles"),
        ("hops = [1, 2]", "hop = [1, 2]", "mine.toml:6: grid.0.hop: no such parameter of 'pairs'; must be one of"),
        ("hops = [1, 2]", "hops = [0]", "mine.toml:6: grid.0.hops: 0: must be 1 or more"),
        ("hops = [1, 2]", "hops = 1.5", "mine.toml:6: grid.0.hops: 1.5: must be a whole number"),
        ("hops = [1, 2]", "hops = []", "mine.toml:6: grid.0.hops: the list is empty"),
        ("hops = [1, 2]", "all_cores = 1", "mine.toml:6: grid.0.all_cores: 1: must be true or false"),
        ("hops = [1, 2]", "quick = 1", "mine.toml:6: grid.0.quick: 1: must be true or false"),
        ('"1 KiB"', '"1 kg"', "mine.toml:7: grid.0.bytes: '1 kg' is not a quantity"),
        ('"random"', '"rush"', "mine.toml:10: grid.1.traffic: 'rush': must be one of pairs, random, one"),
        ('machine = "torus-4x4x4"\nhops', 'machine = "torus:4y4"\nhops', "mine.toml:5: grid.0.machine: "),
        ('machine = "torus-4x4x4"\nhops', "hops", "mine.toml:4: grid.0: machine is missing: a torus"),
        ("[quick]\nbytes = 4", "[quick]\nbites = 4", "mine.toml:13: quick.bites: no such parameter"),
        ("[quick]", "[quick", "mine.toml:12: not TOML"),
        ("[quick]\nbytes = 4", "[[published]]\nname = 'a'", "mine.toml:12: published.0: statement is missing"),
    ],
)  # fmt: skip
def test_defects_are_named_with_their_place(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ParseError) as error:
        parse_study(GOOD.replace(old, new, 1), "mine.toml")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_without_grid() -> None:
    with pytest.raises(ParseError, match=r"no \[\[grid\]\]"):
        parse_study('format = 1\nname = "a"\nkind = "pairs"\n', "a.toml")


def test_changed_refuses_what_files_may_not_say() -> None:
    study = parse_study(GOOD, "mine.toml")
    for wrong, message in (
        ({"hop": 1}, "hop: no such parameter"),
        ({"hops": "many"}, "hops: 'many' is not a quantity"),
    ):
        with pytest.raises(InvalidInput, match=message):
            study.changed(wrong)


def test_neither_file_nor_name() -> None:
    with pytest.raises(
        InvalidInput, match="must be a file or a study of the catalogue: bluewaters-levels, cielo-allreduce"
    ):
        load("nothing-such")


@pytest.mark.parametrize("name", catalogue())
def test_catalogue(name: str) -> None:
    study = isthmus.Study.load(name)
    assert study.name == name
    assert study.reproduces
    assert study.seconds is not None
    assert study.seconds <= 600
    assert study.fast_seconds is not None
    # Fewer points, or cheaper ones.
    quick = study.quick().points
    assert 0 < len(quick) <= len(study.points)
    assert quick != study.points
    assert all(p.statement and p.source for p in study.published)
