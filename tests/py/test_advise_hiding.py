"""What `advise` says of calls that could go on behind computation: the programs it simulates, and the sentences."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus import Program
from isthmus.advice.analysis.pipelining import overlaps, pipelined, sites, waiting_later
from isthmus.schedule.program import CollectiveKind, EventKind

RANKS = 6


def times(program: Program) -> float:
    machine = isthmus.load("torus:4x2 cores=1")
    program.validate()
    found = isthmus.simulate(program, machine, machine.allocate(program.ranks, ranks_per_node=1))
    assert found.deadlock is None
    return found.makespan


def solver(compute: float, size: int, *, iterations: int = 3) -> Program:
    b = isthmus.ProgramBuilder(RANKS)
    for _ in range(iterations):
        with b.location("work.c:7"):
            b.compute(None, compute)
        with b.location("sum.c:9"):
            b.allreduce(None, size)
        with b.location("use.c:3"):
            b.compute(None, compute / 2)
        b.barrier(None)
    return b.build()


def halo(compute: float, size: int) -> Program:
    b = isthmus.ProgramBuilder(RANKS)
    rank = np.arange(RANKS)
    for _ in range(3):
        for way in (1, -1):
            b.irecv(None, (rank + way) % RANKS, size)
            b.isend(None, (rank + way) % RANKS, size)
        b.waitall(None)
        b.compute(None, compute)
    return b.build()


def irregular() -> Program:
    """Blocks that differ, and calls that some ranks alone have computation around."""
    b = isthmus.ProgramBuilder(RANKS)
    sizes = [1000 * r + 8 for r in range(RANKS)]
    for turn in range(2):
        for rank in range(RANKS):
            if (rank + turn) % 2:
                b.compute(rank, 1e-3 * (rank + 1))
        b.allgather(None, counts=sizes)
        b.compute(0, 1e-3)
        b.bcast(None, 100_003, root=2)
        b.compute(None, 5e-4)
    return b.build()


@pytest.mark.parametrize("program", [solver(1e-3, 1_000_001), irregular()], ids=["solver", "irregular"])
@pytest.mark.parametrize(("tiles", "window"), [(1, 1), (2, 1), (5, 1), (4, 2), (8, 3), (3, 9)])
def test_a_pipelined_program_does_the_same(program: Program, tiles: int, window: int) -> None:
    """Bytes and computation of every rank are what they were; it is valid, and does not hang."""
    some = [site for site in sites(program) if site.collective]
    assert some
    for site in some:
        changed = pipelined(program, site, tiles, window)
        times(changed)
        for what in (EventKind.compute, EventKind.collective):
            for rank in range(RANKS):
                sums = [
                    int(
                        p.amount[int(p.first[rank]) : int(p.first[rank + 1])][
                            p.kind[int(p.first[rank]) : int(p.first[rank + 1])] == what
                        ].sum()
                    )
                    for p in (program, changed)
                ]
                assert sums[0] == sums[1]
        # Never more under way than the window.
        for rank in range(RANKS):
            open_now = most = 0
            for event in changed.events(rank):
                open_now += (event.kind == EventKind.collective and event.request > 0) - (event.kind == EventKind.wait)
                most = max(most, open_now)
            assert (open_now, most) == (0, min(tiles, window))


def test_blocks_that_differ_are_cut_each() -> None:
    program = irregular()
    site = next(site for site in sites(program) if site.call == "allgather")
    changed = pipelined(program, site, 3, 1)
    calls = [e for e in changed.events(0) if e.what == CollectiveKind.allgather]
    assert len(calls) == 6
    assert [sum(e.detail[r] for e in calls[:3]) for r in range(RANKS)] == [1000 * r + 8 for r in range(RANKS)]  # type: ignore[index]


def test_what_is_hidden_is_what_a_closed_form_says() -> None:
    """Halos: nine tenths of the computation hide what takes less than that."""
    program = halo(5e-3, 200_000)
    before = times(program)
    (found,) = overlaps(program, times, before)
    assert (found.call, found.tiles, found.window, found.calls) == ("waitall", 1, 1, 3 * RANKS)
    computes = 3 * 5e-3
    exposed = before - computes
    assert exposed > 0
    # What is left are overheads of messages.
    assert found.saving > 0.5 * exposed
    assert found.time == pytest.approx(times(waiting_later(program, sites(program)[0])))


def test_tiles_hide_a_sum() -> None:
    program = solver(4e-3, 4_000_000)
    before = times(program)
    (found,) = overlaps(program, times, before)
    assert (found.call, found.location, found.before, found.after) == ("allreduce", "sum.c:9", True, True)
    assert found.tiles > 1
    assert found.time == pytest.approx(times(pipelined(program, sites(program)[0], found.tiles, found.window)))
    assert 0 < found.saving <= before - 3 * 6e-3 + 1e-9


def test_nothing_is_said_where_nothing_is_gained() -> None:
    """Small sums, and none at all: cutting them costs more than it hides."""
    for program in (solver(1e-3, 8), solver(1e-6, 2048)):
        assert all(one.saving < 0.02 * times(program) for one in overlaps(program, times, times(program)))


def test_advice_says_what_is_possible() -> None:
    advice = isthmus.advise(solver(4e-3, 4_000_000), "torus:4x2 cores=1", tune_seconds=0, name="solver")
    (one,) = [s for s in advice.sentences if s.topic == "hiding"]
    assert one.text.startswith("Hiding allreduce at sum.c:9 behind the computation before and after it could save ")
    assert "Possible, not certain: whether that computation touches its buffers is not recorded." in one.text
    assert advice.predictions[0].overlaps[0].saving == pytest.approx(one.gain)
    assert advice.json()["predictions"][0]["overlaps"][0]["call"] == "allreduce"
    halos = isthmus.advise(halo(5e-3, 2_000_000), "torus:4x2 cores=1", tune_seconds=0)
    (one,) = [s for s in halos.sentences if s.topic == "hiding"]
    assert "90 % of the computation after it is taken to be independent of what comes" in one.text
    # Where all is computation, nothing is simulated for it.
    quiet = isthmus.advise(solver(1.0, 1000), "torus:4x2 cores=1", tune_seconds=0)
    assert quiet.predictions[0].overlaps == ()
