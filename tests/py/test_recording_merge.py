"""Raw traces of random programs: what comes back, whole and cut off, and what it can do."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import InvalidInput, Program, _core
from isthmus.recording import raw
from isthmus.recording.merge import merge
from isthmus.recording.raw import read_trace
from isthmus.schedule.program import EventKind
from raw_traces import RawTrace
from recorded_programs import random_program, write_traces

thorough = settings(
    max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
drawn = given(st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 25))


def runs(program: Program) -> None:
    """The program is one, and comes to its end."""
    program.validate()
    isthmus.lower(program).validate()
    assert isthmus.simulate(program, "torus-4x4x4").deadlock is None


def same(a: Program, b: Program) -> None:
    assert a == b
    assert a.recording is not None
    assert b.recording is not None
    assert a.recording.differences(b.recording) == []


def emptied(directory: Path) -> Path:
    for path in directory.iterdir():
        path.unlink()
    return directory


@thorough
@drawn
def test_programs_come_back(tmp_path: Path, seed: int, ranks: int, steps: int) -> None:
    program = random_program(Random(seed), ranks, steps)
    for wild in (False, True):
        write_traces(program, emptied(tmp_path), wild=wild)
        found = merge(tmp_path)
        assert found == program
        assert found.recording is not None
        # Each rank of these has a clock of its own.
        assert [note for note in found.recording.notes if not note.startswith("by the clocks")] == []
        runs(found)


@thorough
@drawn
def test_wildcards_can_be_kept(tmp_path: Path, seed: int, ranks: int, steps: int) -> None:
    program = random_program(Random(seed), ranks, steps)
    write_traces(program, emptied(tmp_path), wild=True)
    found = merge(tmp_path, wildcards="free")
    received = program.kind == EventKind.irecv
    assert np.all(found.peer[received] == isthmus.ANY)
    assert np.all(found.tag[received] == isthmus.ANY)
    assert np.array_equal(found.peer[~received], program.peer[~received])
    found.validate()


@thorough
@drawn
def test_recordings_fit_their_programs(tmp_path: Path, seed: int, ranks: int, steps: int) -> None:
    program = random_program(Random(seed), ranks, steps)
    write_traces(program, emptied(tmp_path))
    r = merge(tmp_path).recording
    assert r is not None
    called = ~np.isin(program.kind, (EventKind.compute, EventKind.iteration))
    assert np.array_equal(r.event, np.flatnonzero(called))
    assert np.array_equal(r.rank_of_calls(), program.rank_of_events()[called])
    assert np.all(r.end - r.begin == 1000)
    of_kind = {EventKind.send: "MPI_Send", EventKind.waitall: "MPI_Waitall", EventKind.comm_create: "MPI_Comm_split"}
    for kind, name in of_kind.items():
        number = r.functions.index(name) if name in r.functions else -1
        assert np.array_equal(program.kind[r.event] == kind, r.function == number)
    # Every message is sent once and got once.
    sends = np.isin(program.kind, (EventKind.send, EventKind.isend, EventKind.sendrecv))
    messages = ~np.isin(program.kind[r.event], EventKind.collective)
    assert r.sent[messages].sum() == program.amount[sends].sum() == r.received[messages].sum()
    computed = program.amount[program.kind == EventKind.compute].sum()
    assert (r.wall.sum() * 1e12).round(-3) == computed + 1_000_000 * len(r)


@thorough
@drawn
def test_ranks_that_stop_anywhere_leave_a_program(tmp_path: Path, seed: int, ranks: int, steps: int) -> None:
    random = Random(seed)
    write_traces(random_program(random, ranks, steps), emptied(tmp_path))
    for path in sorted(tmp_path.iterdir()):
        data = path.read_bytes()
        path.write_bytes(data[: random.randrange(raw.HEADER_BYTES, len(data) + 1)])
        if random.random() < 0.1 and ranks > 1 and len(list(tmp_path.iterdir())) > 1:
            path.unlink()
    runs(merge(tmp_path))


def test_every_cut_of_a_trace(tmp_path: Path) -> None:
    t = RawTrace(0, 1)
    t.comm(2, 0, [0])
    t.collective("MPI_Barrier", 1, site="a")
    t.collective("MPI_Allgatherv", 6, counts=[5])
    t.done("MPI_Wait", (1, 0))
    t.count("MPI_Comm_rank", 3)
    whole = t.bytes()
    path = tmp_path / "0.0.1.trace"
    ends = raw.HEADER_BYTES + np.cumsum([len(record) for record in t.records])
    for end in range(len(whole) - ends.size * 8, len(whole) + 1):
        path.write_bytes(whole[:end])
        trace = read_trace(path)
        assert trace.whole == (end == len(whole))
    for end in [raw.HEADER_BYTES, *ends, *(ends - 1)]:
        path.write_bytes(whole[:end])
        r = merge(tmp_path).recording
        assert r is not None
        assert r.notes == (() if end == len(whole) else ("1 trace file cut off: read as far as whole records go",))
        there = [record for record, last in zip(t.records, ends, strict=True) if last <= end]
        assert len(r) == sum(record[0] == raw.CALL for record in there)
    for end in (0, 7, 8, 100, raw.HEADER_BYTES - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(isthmus.ParseError, match=r"0\.0\.1\.trace: byte \d+: "):
            merge(tmp_path)


def test_no_trace(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no trace at all"):
        merge(tmp_path)
    RawTrace(-1, -1).write(tmp_path)
    with pytest.raises(InvalidInput, match="no trace whose process knew its rank"):
        merge(tmp_path)
    RawTrace(0, 1).write(tmp_path)
    with pytest.raises(InvalidInput, match="must be recorded or free"):
        merge(tmp_path, wildcards="all")


@pytest.mark.parametrize("seed", range(6))
def test_pieces_of_traces(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace read in pieces gives what it gives as a whole; requests keep numbers that are open once only."""
    from random import Random

    from isthmus.recording import merge as merging
    from recorded_programs import described, random_program, write_traces

    program = random_program(Random(seed), 4, 150)
    write_traces(program, tmp_path)
    whole = merge(tmp_path)
    monkeypatch.setattr(merging, "PIECE", 7)
    path = next(tmp_path.glob("0.*.trace"))
    assert len(raw.pieces(path, 7, raw.read_header(path))[0]) > 3
    pieces = merge(tmp_path)
    pieces.validate()
    for rank in range(4):
        assert described(pieces, rank) == described(whole, rank)
    assert whole.recording is not None
    assert pieces.recording is not None
    assert whole.recording.differences(pieces.recording) == []


@pytest.mark.parametrize("seed", range(6))
def test_columns_in_files(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns in files, worked through in small blocks, give what columns in memory give."""
    from isthmus.recording import align_collectives, matching, spill
    from isthmus.schedule import columns

    raws, scratch = tmp_path / "raw", tmp_path / "scratch"
    raws.mkdir()
    scratch.mkdir()
    program = random_program(Random(seed), 4, 150)
    write_traces(program, raws)
    if seed % 2:
        # A rank that was killed: its partners' messages and collectives go.
        path = next(raws.glob("2.*.trace"))
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 16 * 8])
    memory = merge(raws)
    monkeypatch.setattr(spill, "SPILL", 1000)
    monkeypatch.setattr(columns, "BLOCK", 7)
    monkeypatch.setattr(align_collectives, "BLOCK", 7)
    monkeypatch.setattr(matching, "_AT_ONCE", 7)
    written = 0
    write = spill.Column.write

    def counted(self: spill.Column, folder: str) -> None:
        nonlocal written
        written += 1
        assert folder == str(scratch)
        write(self, folder)

    monkeypatch.setattr(spill.Column, "write", counted)
    found = merge(raws, scratch=scratch)
    assert written > 10
    assert list(scratch.iterdir()) == []
    same(found, memory)

    def full(self: spill.Column, folder: str) -> None:
        nonlocal written
        written -= 1
        if written < 20:
            raise OSError(28, "No space left on device")
        write(self, folder)

    written = 30
    monkeypatch.setattr(spill.Column, "write", full)
    found = merge(raws, scratch=scratch)
    assert written < 20
    same(found, memory)
    monkeypatch.setattr(spill.Column, "write", write)
    found = merge(raws, scratch=tmp_path / "missing")
    same(found, memory)


@pytest.mark.parametrize("limit", [1 << 20, 0], ids=["in memory", "in files"])
def test_columns_that_repeat_a_number(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed column of one number takes no room; one that changes later holds all that was given."""
    from isthmus.recording import spill
    from isthmus.schedule.columns import is_repeated

    monkeypatch.setattr(spill, "SPILL", limit)
    kept = spill.Spill(tmp_path)
    same, changing, free = kept.column(fixed=True), kept.column(fixed=True), kept.column()
    for _ in range(3):
        for column in (same, changing, free):
            column.add(np.full(5, 7, np.uint32))
    changing.add(np.array([7, 8], np.uint32))
    assert is_repeated(same.array())
    assert same.array().tolist() == free.array().tolist() == [7] * 15
    assert same.array().dtype == np.uint32
    assert changing.array().tolist() == [7] * 15 + [7, 8]
    free.array()[3] = 1
    assert free.array()[3] == 1


def test_words_outside_a_trace_are_not_gathered() -> None:
    words = np.arange(10, dtype=np.uint64)
    assert _core.raw_gather(words, np.array([8, 0]), 2).tolist() == [8, 9, 0, 1]
    for at in (9, -1):
        with pytest.raises(InvalidInput, match=f"word {at} is not within a trace of 10 words"):
            _core.raw_gather(words, np.array([at]), 2)
