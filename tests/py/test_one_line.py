"""One grammar for what is named in one line: NAME|FILE:key=value,..."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus
from isthmus.cli import main
from isthmus.cli.inputs import read_any
from isthmus.cli.tune_table import read_decisions
from isthmus.errors import InvalidInput, ParseError
from isthmus.named import named, pairs, split
from isthmus.one_line import parse_algorithm, parse_noise

WORD = st.from_regex("[a-z_][a-z0-9_.]{0,8}", fullmatch=True)
VALUE = st.from_regex(r"[A-Za-z0-9./_-]{1,8}(\[[0-9,-]{1,6}\])?", fullmatch=True)


@given(WORD, st.dictionaries(WORD, VALUE, max_size=5))
def test_round_trip(name: str, values: dict[str, str]) -> None:
    text = name + (":" if values else "") + ",".join(f"{key}={value}" for key, value in values.items())
    found = named(text)
    assert found.name == name
    assert found.values(*values) == values


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    found = named(text)
    assert text.startswith(found.name)
    try:
        values = found.values("a", "b", first="c")
    except InvalidInput as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert set(values) <= {"a", "b", "c"}


def test_brackets_keep_their_commas() -> None:
    assert split("a=nid[1,3-5], b=2") == ["a=nid[1,3-5]", "b=2"]
    assert pairs("x", "8x8,link=1", ("dims", "link"), "dims") == {"dims": "8x8", "link": "1"}


def test_files_with_colons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a:b.goal").write_text("num_ranks 1\nrank 0 {\na: calc 5\n}\n")
    assert named("a:b.goal").name == "a:b.goal"
    assert named("a:b.goal:unit=us").name == "a:b.goal"
    assert named("a:b.goal:unit=us").parameters == "unit=us"
    assert named("a:c").name == "a"


@pytest.mark.parametrize("wrong", ["a", "a=", "=1", "a=1,a=2", "c=1", "a=1,b"])
def test_wrong_parameters(wrong: str) -> None:
    with pytest.raises(InvalidInput, match=r"must be one of|given twice"):
        named(f"name:{wrong}").values("a", "b")


# machines


def test_values_of_a_machine_are_replaced() -> None:
    cielo, other = isthmus.load("cielo"), isthmus.load("cielo:cores=8,L=2us,link=5GB/s,noise=none")
    assert (other.node.cores, other.level.network.L) == (8, 2e-6)
    assert {bandwidth for _, bandwidth, _ in other.topology.link_classes} == {5e9}
    assert (other.nodes, other.level.network.G) == (cielo.nodes, cielo.level.network.G)
    assert cielo.provenance("node.cores").source
    assert not other.provenance("node.cores").source
    assert other.provenance("level.network.G") == cielo.provenance("level.network.G")


def test_values_of_a_file_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    isthmus.load("torus:4x4 cores=2").save(path)
    assert isthmus.load(f"{path}:cores=6") == isthmus.Machine.parse("torus:4x4 cores=6")


def test_specifications_have_the_same_grammar() -> None:
    blanks = isthmus.Machine.parse("torus:8x8x16 link=425MB/s hop=64ns cores=4 hosts=n[0-511,600-1111]")
    assert isthmus.Machine.parse("torus:8x8x16,link=425MB/s,hop=64ns,cores=4,hosts=n[0-511,600-1111]") == blanks
    assert isthmus.Machine.parse("dragonfly:a=4,p=2,h=2,g=9,cores=3").node.cores == 3


@pytest.mark.parametrize(
    "text", ["cielo:colour=red", "cielo:cores=0", "cielo:cores", "cielo:cores=2,cores=3", "cielo:L=5"]
)
def test_wrong_changes(text: str) -> None:
    with pytest.raises(ParseError, match="cielo"):
        isthmus.load(text)


def test_every_machine_of_the_catalogue_can_be_changed() -> None:
    for row in isthmus.catalogue():
        other = isthmus.load(f"{row['name']}:S=4KiB")
        assert other.level.network.S == 4096, row["name"]
        assert other.nodes == row["nodes"]


# schedules, algorithms, noise, tables


def test_the_unit_of_a_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.goal"
    path.write_text("num_ranks 1\nrank 0 {\na: calc 5\n}\n")
    assert read_any(f"{path}:unit=us") == isthmus.read(path, unit="us") != isthmus.read(path)
    with pytest.raises(InvalidInput, match="unit=h: must be one of"):
        read_any(f"{path}:unit=h")
    main(["simulate", f"{path}:unit=ms", "--machine", "eos:cores=2", "--json"])
    assert json.loads(capsys.readouterr().out)["makespan"] == 5e-3


def test_examples_are_names() -> None:
    assert read_any("lammps").ranks == 64


def test_algorithms() -> None:
    expected = ("ring", {"radix": 4, "segment": 8192})
    assert parse_algorithm("ring:radix=4,segment=8KiB") == parse_algorithm("ring:radix=4:segment=8KiB") == expected
    assert parse_algorithm("ring") == "ring"
    with pytest.raises(InvalidInput, match="must be one of radix"):
        parse_algorithm("ring:speed=4")


def test_noise() -> None:
    assert parse_noise("periodic:period=1ms,duration=10us") == parse_noise("periodic,period=1ms,duration=10us")
    assert parse_noise("none").kind == "none"


def test_tables() -> None:
    assert read_decisions("openmpi:ranks_per_node=4").rules("bcast", 8)
    with pytest.raises(InvalidInput, match=re.escape("must be one of ranks_per_node=...")):
        read_decisions("openmpi:nodes=4")
