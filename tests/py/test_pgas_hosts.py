"""The partitioned global address space of libisthmus on two hosts with two ranks each: shared memory inside, a network
between; and a rank that dies."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulated_hosts
from test_library_hosts import job
from test_pgas_nodes import program

OBSTACLE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich")
pytestmark = pytest.mark.skipif(bool(OBSTACLE), reason=f"hosts of namespaces: {OBSTACLE}")
__all__ = ["program"]  # a fixture


#: Hosts, and what is set: pieces alone and packed, windows of MPI where it makes them.
SETTINGS = {
    "2": (2, {}),
    "2-alone": (2, {"ISTHMUS_PACKED": "1"}),
    "2-windows": (2, {"ISTHMUS_WINDOWS": "always"}),
    "4": (4, {}),
    "4-packed": (4, {"ISTHMUS_PACKED": "100000"}),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_operation(program: tuple[str, Path], setting: str) -> None:
    """MPICH 4.0.2 over UCX does not always come back from MPI_Finalize: nobody waits for that here."""
    program[1].parent.chmod(0o755)
    hosts, env = SETTINGS[setting]
    with job(program, ["3", "calls", "2"], hosts=hosts, **env) as running:
        running.file = running.there.folder / "launcher"
        assert running.said(r"^(all done|rank \d: .*)$") == ["all done"]


def test_a_rank_that_dies_is_named_on_all_hosts(program: tuple[str, Path]) -> None:
    """Rank 6, on the same host, sees it and tells the others. MPICH's launcher ends all of them before."""
    with job(program, ["3", "dies"], lenient=program[0] == "openmpi") as running:
        if program[0] == "mpich":
            assert running.process.wait(100) != 0
            return
        running.file = running.there.folder / "launcher"
        told = running.said(r"^rank (\d): -4 isthmus_\w+: rank 7 died \(process \d+\)$", 7)
        assert sorted(told) == ["0", "1", "2", "3", "4", "5", "6"]
