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
        ("format = 1", "format = 2", "mine.toml:1: format: format = 1 is allowed, and needed"),
        ('name = "mine"', 'name = "a b"', "mine.toml:2: name: 'a b': letters"),
        ('name = "mine"', "name = 3", "mine.toml:2: name: 3: a text is allowed"),
        ('name = "mine"', 'nam = "mine"', "mine.toml:2: nam: unknown key; allowed are format, name"),
        ('name = "mine"', "", "mine.toml: name is missing"),
        ('kind = "pairs"', 'kind = "pears"', "mine.toml:3: kind: 'pears': allowed are collectives, intensity, mapping"),
        ("hops = [1, 2]", "hop = [1, 2]", "mine.toml:6: grid.0.hop: no such parameter of 'pairs'; allowed are machine"),
        ("hops = [1, 2]", "hops = [0]", "mine.toml:6: grid.0.hops: 0: allowed is 1 or more"),
        ("hops = [1, 2]", "hops = 1.5", "mine.toml:6: grid.0.hops: 1.5: a whole number is allowed"),
        ("hops = [1, 2]", "hops = []", "mine.toml:6: grid.0.hops: the list is empty"),
        ("hops = [1, 2]", "all_cores = 1", "mine.toml:6: grid.0.all_cores: 1: true or false is allowed"),
        ("hops = [1, 2]", "quick = 1", "mine.toml:6: grid.0.quick: 1: true or false is allowed"),
        ('"1 KiB"', '"1 kg"', "mine.toml:7: grid.0.bytes: '1 kg' is not a quantity"),
        ('"random"', '"rush"', "mine.toml:10: grid.1.traffic: 'rush': allowed are pairs, random, one"),
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
        InvalidInput, match="neither a file nor a study of the catalogue: cielo-allreduce, contention-distance"
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
