"""Recordings in the files of their programs, and under other names of the ranks."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pytest

from isthmus import InvalidInput, ParseError, Program, ProgramBuilder, read
from isthmus.recording.merge import merge
from isthmus.schedule.recording import Recording
from raw_traces import RawTrace
from recorded_programs import random_program, write_traces

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def recorded(tmp_path: Path) -> Program:
    write_traces(random_program(Random(5), 5, 20), tmp_path)
    return merge(tmp_path)


def recording(program: Program) -> Recording:
    assert isinstance(program, Program)
    assert program.recording is not None
    return program.recording


def test_recordings_come_back(tmp_path: Path, recorded: Program) -> None:
    more = {
        "unmodelled": {"MPI_File_write": 3},
        "untimed": {"MPI_Comm_rank": np.arange(5), "MPI_Wtime": np.zeros(5, np.uint64)},
        "notes": ("Größe unbekannt",),
        "sites": ("a.c:1", "b.c:2"),
        "init": np.array([1, np.nan, 2, 3, 4]),
    }
    program = replace(recorded, recording=replace(recording(recorded), **more))
    program.save(tmp_path / "p.h5")
    found = read(tmp_path / "p.h5")
    assert found == program
    assert recording(found).differences(recording(program)) == []
    assert recording(found).differences(recording(recorded)) == ["init", "sites", "untimed", "unmodelled", "notes"]
    with h5py.File(tmp_path / "p.h5") as file:
        assert file.attrs["version"] == 2
        assert file["recording/begin"].attrs["unit"] == "ns"
        assert all(d.attrs["meaning"] for d in file["recording"].values() if isinstance(d, h5py.Dataset))
        assert file.attrs["command"] == "./app --size 'big one'"


def test_files_of_version_1_are_read() -> None:
    """Written before there were recordings."""
    b = ProgramBuilder(2)
    b.compute(None, [1e-6, 2e-6])
    b.sendrecv(None, [1, 0], 8, [1, 0])
    b.allreduce(None, 8)
    with h5py.File(DATA / "program-version-1.h5") as file:
        assert file.attrs["version"] == 1
    found = read(DATA / "program-version-1.h5")
    assert found == b.build()
    assert found.recording is None


def test_programs_without_a_recording_stay_of_version_1(tmp_path: Path) -> None:
    ProgramBuilder(2).build().save(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5") as file:
        assert file.attrs["version"] == 1


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("recording/begin", None, "recording/begin: the dataset is missing"),
        ("recording/begin", np.zeros(3, "i8"), "recording/begin: the dataset has 3 elements instead of"),
        ("recording/host", np.full(5, 9, "u4"), "host 9 of a recording (element 0) does not exist: there are 1"),
        ("recording/first", np.zeros(6, "u8"), "first of a recording must rise from 0 to the number of calls"),
        (
            "recording/untimed/calls",
            np.zeros(3, "u8"),
            "recording/untimed/calls: the dataset has 3 elements instead of 0",
        ),
        ("recording/notes", np.zeros(3, "u8"), "recording/notes: the dataset is of type uint64 instead of text"),
    ],
)
def test_files_with_a_defect(tmp_path: Path, recorded: Program, name: str, values: Any, words: str) -> None:
    recorded.save(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        del file[name]
        if values is not None:
            file[name] = values
    with pytest.raises(ParseError) as caught:
        read(tmp_path / "p.h5")
    assert words in str(caught.value)


def test_a_recording_must_be_of_its_program(recorded: Program) -> None:
    r = recording(recorded)
    with pytest.raises(InvalidInput, match="the recording has 5 ranks, the program 2"):
        replace(ProgramBuilder(2).build(), recording=r)
    with pytest.raises(InvalidInput, match=r"the recording has event \d+, which does not exist: there are 0"):
        replace(ProgramBuilder(5).build(), recording=r)
    for change, words in (
        ({"cpus": np.zeros(4, np.uint32)}, "cpus of a recording has 4 elements for 5 ranks"),
        ({"begin": r.begin[1:]}, "begin of a recording has"),
        ({"site": np.zeros(len(r), np.uint32), "sites": ()}, "site 0 of a recording"),
        ({"peer": np.full(len(r), 5, np.int32)}, "a recording names a peer that is not one of its 5 ranks"),
    ):
        with pytest.raises(InvalidInput, match=words):
            replace(r, **change)


def test_columns_are_read_only(recorded: Program) -> None:
    r = recording(recorded)
    arrays = [getattr(r, f.name) for f in fields(r) if f.type.startswith("NDArray")]
    assert len(arrays) > 20
    assert not any(array.flags.writeable for array in arrays)


def test_relabelling(recorded: Program) -> None:
    to = np.array([3, 0, 4, 1, 2])
    r, moved = recording(recorded), recording(recorded.relabel(to))
    back = recorded.relabel(to).relabel(np.argsort(to))
    assert back == recorded
    assert recording(back).differences(r) == []
    for rank in range(5):
        mine, theirs = slice(*r.first[rank : rank + 2]), slice(*moved.first[to[rank] : to[rank] + 2])
        assert np.array_equal(moved.begin[theirs], r.begin[mine])
        assert moved.cpu[to[rank]] == r.cpu[rank]
        peer = r.peer[mine]
        assert np.array_equal(moved.peer[theirs], np.where(peer >= 0, to[peer], -1))
        event, at = r.event[mine], moved.event[theirs]
        kinds = recorded.relabel(to).kind[at[at >= 0]]
        assert np.array_equal(kinds, recorded.kind[event[event >= 0]])


def bound(tmp_path: Path, masks: list[int], cpu: float = 1.0) -> Recording:
    """A recording of ranks that are bound to these processors of one host of four."""
    for rank, mask in enumerate(masks):
        affinity = np.zeros(16, np.uint32)
        affinity[0] = mask
        t = RawTrace(rank, len(masks), cpus=mask.bit_count(), affinity=affinity)
        t.collective("MPI_Barrier", 1, lasts=10**6)
        t.header["cpu_ns"] = int(cpu * (t.now - t.header["init_end"][0]))
        t.write(tmp_path)
    return recording(merge(tmp_path))


def test_oversubscription(tmp_path: Path) -> None:
    assert bound(tmp_path, [1, 2, 4, 8]).oversubscribed is None
    shared = bound(tmp_path, [15] * 4)
    assert shared.oversubscribed is None
    assert shared.cpus_shared.tolist() == [4] * 4
    assert bound(tmp_path, [1, 1, 2, 2]).oversubscribed == "4 ranks on node0 shared 2 processors"
    assert bound(tmp_path, [3] * 4, 0.5).oversubscribed == "4 ranks on node0 shared 2 processors"
    slow = bound(tmp_path, [15] * 4, 0.5)
    assert slow.oversubscribed == "the ranks were on a processor for 50 % of their time only"
    # Without the mask: bound ranks add up, others have all of the host.
    assert replace(shared, cpus_shared=[], cpus=[1] * 4).oversubscribed is None
    alone = replace(shared, cpus_shared=[], cpus=[4] * 4, cpus_online=[2] * 4)
    assert alone.oversubscribed == "4 ranks on node0 shared 2 processors"
    assert replace(alone, cpus=[0] * 4, cpus_online=[0] * 4).oversubscribed is None
