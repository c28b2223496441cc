"""Raw samples of measurements: journals of probes, and the HDF5 file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus
from isthmus import filekinds
from isthmus.errors import InvalidInput, ParseError
from isthmus.measuring.samples import COLUMNS, Item, Samples, Series, read_journal

PING = Item("pp.8", "pingpong", {"a": 0, "b": 1, "bytes": 8})
REDUCE = Item("ar.8", "collective", {"name": "allreduce", "bytes": 8, "ranks": 2, "blocking": 1})
IREDUCE = Item("iar.8", "collective", {"name": "allreduce", "bytes": 8, "ranks": 2, "blocking": 0, "compute": 1e-5})
LOST = Item("gone", "stream", {"op": "copy"})
JOURNAL = """isthmus-journal 1
machine ranks 2
machine core.0 0 mask 3
begin pp.8 0 0.01
sample pp.8 0 1e-6 2e-6 3e-6
begin ar.8 0 0.02
sample ar.8 0 5e-6 1e-7 6e-6 2e-7
sample pp.8 1 2e-6
done pp.8 tolerance
skip gone no memory of NUMA domain 1
end
"""


def journal(folder: Path, text: str = JOURNAL) -> Samples:
    path = folder / "mpi.0"
    path.write_text(text)
    return read_journal(path, [PING, REDUCE, IREDUCE, LOST], "mpi.0")


def test_journal_is_read(tmp_path: Path) -> None:
    found = journal(tmp_path)
    assert [one.item.name for one in found] == ["pp.8", "ar.8", "iar.8", "gone"]
    assert found["pp.8"].column().tolist() == [1e-6, 2e-6, 3e-6, 2e-6]
    assert found["pp.8"].rounds.tolist() == [0, 0, 0, 1]
    assert [part.tolist() for part in found["pp.8"].by_round()] == [[1e-6, 2e-6, 3e-6], [2e-6]]
    assert found["ar.8"].values.tolist() == [[5e-6, 1e-7], [6e-6, 2e-7]]
    assert found["ar.8"].column("skew").tolist() == [1e-7, 2e-7]
    assert IREDUCE.columns == COLUMNS["nonblocking"]
    assert found["pp.8"].ended == "tolerance"
    assert found["gone"].skipped == "no memory of NUMA domain 1"
    assert found.fact("ranks") == "2"
    assert found.fact("core.0", "mpi.0") == "0 mask 3"
    assert found.fact("x") == ""
    assert not found.finished
    assert [one.item for one in found.of("collective", name="allreduce")] == [REDUCE]
    with pytest.raises(InvalidInput, match=r"pp\.8 has no column 'skew': must be one of time"):
        found["pp.8"].column("skew")


def test_killed_run_keeps_what_it_has(tmp_path: Path) -> None:
    """Cut anywhere, the journal gives the samples of its whole lines, and no error."""
    whole = journal(tmp_path)["pp.8"].column().tolist()
    for length in range(len("isthmus-journal 1\n"), len(JOURNAL)):
        cut = journal(tmp_path, JOURNAL[:length])["pp.8"].column().tolist()
        assert cut == whole[: len(cut)]
        assert len(cut) == (3 if "3e-6\n" in JOURNAL[:length] else 0) + ("1 2e-6\n" in JOURNAL[:length])
    assert len(journal(tmp_path, "")) == 4  # killed before the first line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sample pp.9 0 1e-6", "mpi.0:12: sample: item 'pp.9' is not in the plan of this run"),
        ("sample pp.8 x 1e-6", "mpi.0:12: sample: expected a round and numbers"),
        ("sample pp.8", "mpi.0:12: sample: expected a round and numbers"),
        ("sample pp.8 0 nan", "mpi.0:12: sample: expected a round from 0 and finite numbers"),
        ("sample pp.8 -1 1", "mpi.0:12: sample: expected a round from 0 and finite numbers"),
        ("sample ar.8 0 1 2 3", "mpi.0:12: sample: 3 numbers: must be a multiple of 2"),
        ("done pp.8 tired", "mpi.0:12: done: 'tired': must be tolerance, most, budget"),
        ("hello", "mpi.0:12: hello: unknown: must be begin, sample, done, skip, machine or end"),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        journal(tmp_path, f"{JOURNAL}{line}\n")
    assert str(error.value) == f"{tmp_path}/{message}"


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"mpi\.0:1: 'a journey': a journal begins with 'isthmus-journal 1'"):
        journal(tmp_path, "a journey\n")


VALUES = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1),
    st.floats(1e-15, 1e15),
    st.from_regex(r"[a-z][a-z_,]{0,8}", fullmatch=True),
)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), VALUES, max_size=4))
def test_lines_of_plans_are_read_back(parameters: dict[str, int | float | str]) -> None:
    item = Item("a.b", "some.kind", parameters)
    assert Item.parse(item.line) == item


@pytest.mark.parametrize("line", ["", "a", "a b c", "a b c=1 c=2", "a b c=", "a b =1", "ä b", "a b 1x=2"])
def test_wrong_items_are_refused(line: str) -> None:
    with pytest.raises(InvalidInput):
        Item.parse(line)


def same(a: Samples, b: Samples) -> bool:
    pairs = list(zip(a, b, strict=True))
    return a.facts == b.facts and all(
        x.item == y.item
        and (x.ended, x.skipped) == (y.ended, y.skipped)
        and np.array_equal(x.values, y.values)
        and np.array_equal(x.rounds, y.rounds)
        for x, y in pairs
    )


def test_samples_are_saved(tmp_path: Path) -> None:
    found = journal(tmp_path)
    found.save(tmp_path / "s.h5")
    again = Samples.load(tmp_path / "s.h5")
    assert same(found, again)
    assert str(again) == "4 items, 6 samples, 1 skipped; kinds: pingpong, collective, stream"
    assert again.frame()[0]["median"] == 2e-6
    with pytest.raises(ValueError, match="read-only"):
        again["pp.8"].values[0, 0] = 1.0
    Samples([]).save(tmp_path / "empty.h5")
    assert len(Samples.load(tmp_path / "empty.h5")) == 0


def test_files_of_other_nouns_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    import h5py

    from isthmus.schedule.checksums import seal
    from isthmus.schedule.hdf5_columns import write_columns

    write_columns(tmp_path / "p.h5", "program", [])
    with pytest.raises(ParseError, match="the file holds a program: expected samples of isthmus measure"):
        Samples.load(tmp_path / "p.h5")
    path = tmp_path / "s.h5"
    journal(tmp_path).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:5000] + b"\xff" + whole[5001:])
    with pytest.raises(ParseError, match="damaged"):
        Samples.load(path)
    for name, values in {
        "items/line": ["pp.8 pingpong"] * 4,
        "items/ended": ["most"],
        "items/samples": np.array([4, 2, 0, 9], np.uint64),
        "values": np.zeros(3),
        "facts/key": ["one"],
    }.items():
        path.write_bytes(whole)
        with h5py.File(path, "r+") as file:
            del file[name]
            file.create_dataset(name, data=values)
        seal(path)
        with pytest.raises(ParseError):
            Samples.load(path)


def test_runs_are_joined(tmp_path: Path) -> None:
    first = journal(tmp_path)
    second = Samples([Series.of(REDUCE, [[[1, 2]], [[3, 4]]], "most"), Series.of(PING, [[9e-6]])], {"mpi.1": {}})
    both = first.joined(second)
    assert both["ar.8"].rounds.tolist() == [0, 0, 1, 2]
    assert both["ar.8"].ended == "most"
    assert both["pp.8"].ended == "tolerance"
    assert both["gone"].skipped
    assert list(both.facts) == ["mpi.0", "mpi.1"]
    with pytest.raises(InvalidInput, match=r"item ar\.8 is ar\.8 collective name=allreduce"):
        first.joined(Samples([Series.of(Item("ar.8", "pingpong", {}), [[1.0]])]))
    with pytest.raises(InvalidInput, match=r"two items are called pp\.8"):
        Samples([Series.of(PING, []), Series.of(PING, [])])


def test_samples_are_shown(tmp_path: Path) -> None:
    import json
    import subprocess
    import sys

    journal(tmp_path).save(tmp_path / "s.h5")

    def show(*words: str) -> str:
        command = [sys.executable, "-m", "isthmus", "show", "s.h5", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "4 items, 6 samples, 1 skipped" in show()
    assert "no memory of NUMA domain 1" in show("--full")
    assert json.loads(show("--json"))["items"][0]["median"] == 2e-6


def test_samples_are_known_by_their_content_wherever_something_else_is_wanted(tmp_path: Path) -> None:
    journal(tmp_path).save(tmp_path / "s")
    assert filekinds.kind_of(tmp_path / "s") == filekinds.SAMPLES
    Samples([]).save(tmp_path / "empty.h5")
    assert filekinds.kind_of(tmp_path / "empty.h5") == filekinds.SAMPLES
    b = isthmus.ProgramBuilder(2)
    b.send(0, 1, 8)
    b.recv(1, 0, 8)
    b.build().save(tmp_path / "p.h5")
    assert filekinds.kind_of(tmp_path / "p.h5") == filekinds.HDF5
    with pytest.raises(ParseError, match="the file is raw samples of isthmus measure: expected a program"):
        isthmus.read(tmp_path / "s")
    with pytest.raises(ParseError, match="the file is raw samples of isthmus measure: expected"):
        isthmus.load(tmp_path / "s")
