"""OTF2 traces written by the package otf2 itself: programs come back."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from random import Random

import numpy as np
import otf2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from otf2.enums import CollectiveOp

import isthmus
from isthmus import ParseError, Unsupported
from otf2_traces import NOBODY, Otf2Trace, ProgramWriter
from recorded_programs import described, random_program


@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(0, 20))
def test_programs_come_back(tmp_path: Path, seed: int, ranks: int, steps: int) -> None:
    program = random_program(Random(seed), ranks, steps, lists=False)
    shutil.rmtree(tmp_path / "trace", ignore_errors=True)
    ProgramWriter(program, tmp_path / "trace")
    found = isthmus.read(tmp_path / "trace" / "traces.otf2")
    found.validate()
    isthmus.lower(found).validate()
    for rank in range(ranks):
        # A communicator that is made synchronises.
        expected = ["barrier" if line.startswith("comm_create") else line for line in described(program, rank)]
        assert [_without_exscan(line) for line in described(found, rank)] == [
            _without_exscan(line) for line in expected
        ]


def _without_exscan(line: str) -> str:
    """What an exclusive scan of a single rank would send is not in the trace."""
    return line.split(" B")[0].rstrip("0123456789.k ") if line.startswith("exscan") else line


def test_times_hosts_and_places(tmp_path: Path) -> None:
    trace = Otf2Trace(tmp_path / "t", 2)
    for rank in range(2):
        trace.enter(rank, "MPI_Init")
        trace.leave(rank, "MPI_Init", 6000)
        trace.enter(rank, "main", 2000)
        trace.enter(rank, "solve", 0)
        out = trace.enter(rank, "MPI_Allreduce", 4000 * (1 + rank))
        # Nested MPI calls are the library's own.
        trace.enter(rank, "MPI_Send")
        trace.leave(rank, "MPI_Send", 0)
        out.mpi_collective_end(trace.now[rank], CollectiveOp.ALLREDUCE, trace.world, NOBODY, 16, 16)
        trace.leave(rank, "MPI_Allreduce", 8000)
        trace.leave(rank, "solve", 0)
        out = trace.enter(rank, "MPI_Test", 0)
        out.mpi_request_test(trace.now[rank], 5)
        trace.leave(rank, "MPI_Test", 100)
        trace.enter(rank, "MPI_Test", 0)
        trace.leave(rank, "MPI_Test", 100)
        trace.leave(rank, "main", 0)
        trace.enter(rank, "MPI_Finalize", 0)
        trace.leave(rank, "MPI_Finalize", 2000)
    trace.close()
    p = isthmus.read(tmp_path / "t" / "traces.otf2")
    r = p.recording
    assert r is not None
    assert [str(e) for e in p.events(1)] == ["compute 5 us", "allreduce 8 B at solve"]
    assert r.hosts == ("node7",)
    # 2 ticks are a nanosecond; rank 1 comes 2 us after rank 0.
    assert r.wait[r.function == r.functions.index("MPI_Allreduce")].tolist() == [2000, 0]
    assert r.count[r.function == r.functions.index("MPI_Test")].tolist() == [2, 2]
    assert r.init.tolist() == pytest.approx([3e-6] * 2)
    assert r.finalize.tolist() == pytest.approx([1e-6] * 2)
    assert r.wall.tolist() == pytest.approx([7.1e-6, 9.1e-6])
    assert r.oversubscribed is None


def test_unequal_blocks_and_one_sided(tmp_path: Path) -> None:
    trace = Otf2Trace(tmp_path / "t", 3)
    window = trace.writer.definitions.rma_win("window", comm=trace.world)
    for rank in range(3):
        out = trace.enter(rank, "MPI_Gatherv")
        block = 10 * (rank + 1)
        sizes = (block, 60 if rank == 0 else 0)
        out.mpi_collective_end(trace.now[rank], CollectiveOp.GATHERV, trace.world, 0, *sizes)
        trace.leave(rank, "MPI_Gatherv")
        out = trace.enter(rank, "MPI_Put")
        out.rma_put(trace.now[rank], window, (rank + 1) % 3, 500, 1)
        trace.leave(rank, "MPI_Put")
        out = trace.enter(rank, "MPI_Win_fence")
        level = otf2.enums.RmaSyncLevel.PROCESS
        out.rma_collective_end(trace.now[rank], CollectiveOp.BARRIER, level, window, NOBODY, 0, 0)
        trace.leave(rank, "MPI_Win_fence")
    trace.close()
    p = isthmus.read(tmp_path / "t" / "traces.otf2")
    p.validate()
    isthmus.lower(p).validate()
    assert described(p, 2) == ["gather bytes 10 20 30 root 0", "put 500 B to 0", "fence"]


def test_what_is_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Otf2Trace(tmp_path / "t", 1)
    trace.close()
    path = tmp_path / "t" / "traces.otf2"
    # No process did anything.
    assert len(isthmus.read(path)) == 0
    (tmp_path / "t" / "traces.def").write_bytes(b"x" * 100)
    with pytest.raises(ParseError, match=r"traces\.otf2: cannot be read as an OTF2 trace"):
        isthmus.read(path)
    with pytest.raises(FileNotFoundError):
        isthmus.read(tmp_path / "no.otf2")
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(Unsupported, match=r"pip install 'isthmus\[otf2\]'"):
        isthmus.read(path)


def test_progress(tmp_path: Path) -> None:
    from isthmus.imports.traces.otf2 import read_otf2

    ProgramWriter(random_program(Random(1), 3, 10, lists=False), tmp_path / "t")
    seen: list[tuple[int, int]] = []
    read_otf2(tmp_path / "t" / "traces.otf2", progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0
    assert np.all(np.diff([done for done, _ in seen]) > 0)
    assert seen[0][1] > 100
