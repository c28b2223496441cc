"""Pieces of a program instead of all of it, where advice compares algorithms of collectives."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus.advice import advise as verb
from isthmus.advice.analysis import prediction
from isthmus.advice.analysis.excerpt import excerpt
from isthmus.schedule.program import EventKind

MACHINE = "torus:4x4"


def irregular(steps: int, *, last: bool = False, open_request: bool = False) -> isthmus.Program:
    """Random partners and sizes, collectives of some ranks, and now and then of all."""
    random = np.random.default_rng(5)
    b = isthmus.ProgramBuilder(16)
    halves = [(half, b.communicator(half)) for half in (np.arange(8), np.arange(8, 16))]
    if open_request:
        under_way = b.irecv(3, 4, 10, tag=99)
    for step in range(steps):
        requests = []
        for tag in range(2):
            to = random.permutation(16)
            size = random.integers(1, 50_000, 16)
            requests.append(b.isend(None, to, size, tag=tag))
            source = np.argsort(to)
            requests.append(b.irecv(None, source, size[source], tag=tag))
        b.compute(None, random.uniform(1e-6, 20e-6, 16))
        b.waitall(None, np.stack(requests, axis=1))
        for half, comm in halves:
            b.bcast(half, int(random.integers(1040, 1060)), comm=comm)
        if step % 4 == 3:
            b.allreduce(None, 64)
        if last and step == steps - 2:
            for _ in range(10):
                b.alltoall(None, 100_000)
    if open_request:
        b.send(4, 3, 10, tag=99)
        b.wait(3, under_way)
    return b.build()


def test_pieces_are_a_program() -> None:
    """Every rank's events are those of the whole in their order, and messages and collectives find each other."""
    program = irregular(400)
    few = excerpt(program, len(program) // 10)
    assert few is not None
    # Each of the eight pieces may be longer by what lies between two collectives of all ranks, four steps.
    assert 0.1 <= len(few) / len(program) <= 0.1 + 8 * 4 / 400
    few.validate()
    isthmus.lower(few).validate()
    for rank in range(16):
        one, all_of_them = (
            [e[:6] for e in zip(*(getattr(p, name)[p.first[rank] : p.first[rank + 1]].tolist() for name in
                                  ("kind", "what", "peer", "tag", "comm", "amount")), strict=True)]
            for p in (few, program)
        )  # fmt: skip
        rest = iter(all_of_them)
        assert all(event in rest for event in one)
    # Computation differs from step to step: where the pieces come from.
    amounts = program.amount[program.kind == EventKind.compute][:400].tolist()
    chosen = [amounts.index(a) for a in few.amount[few.kind == EventKind.compute].tolist() if a in amounts]
    assert chosen[0] < 40
    assert chosen[-1] > 340


def test_programs_that_cannot_be_cut() -> None:
    assert excerpt(irregular(3), 10) is None
    program = irregular(400)
    assert excerpt(program, len(program)) is None
    b = isthmus.ProgramBuilder(16)
    for _ in range(400):
        b.isend(None, (np.arange(16) + 1) % 16, 8)
        b.irecv(None, (np.arange(16) - 1) % 16, 8)
        b.waitall(None)
    assert excerpt(b.build(), 1000) is None
    # At every collective of all ranks a message is under way.
    b = isthmus.ProgramBuilder(16)
    for _ in range(400):
        requests = b.isend(None, (np.arange(16) + 1) % 16, 8)
        b.allreduce(None, 8)
        b.recv(None, (np.arange(16) - 1) % 16, 8)
        b.wait(None, requests)
    assert excerpt(b.build(), 1000) is None


def test_a_message_that_is_under_way_all_the_time() -> None:
    """No piece has its send, its receive, or what waits for it."""
    few = excerpt(irregular(400, open_request=True), 2000)
    assert few is not None
    assert 99 not in few.tag
    assert not (few.kind == EventKind.wait).any()
    isthmus.lower(few).validate()


@pytest.mark.parametrize("mpi", [None, "openmpi-4.1"])
def test_advice_from_pieces(monkeypatch: pytest.MonkeyPatch, mpi: str | None) -> None:
    """The times of the whole are what pieces say, to 3 %, and the page names them."""
    program = irregular(400)
    (whole,) = isthmus.advise(program, MACHINE, tune_seconds=100, mpi=mpi).predictions
    assert whole.choices is not None
    assert whole.choices.excerpt is None
    monkeypatch.setattr(prediction, "MOST_RECORDED", 10_000)
    monkeypatch.setattr(verb, "MOST_RECORDED", 10_000)
    monkeypatch.setattr(verb, "_EXCERPT", 10_000)
    advice = isthmus.advise(program, MACHINE, tune_seconds=100, mpi=mpi)
    found = advice.predictions[0].choices
    assert found is not None
    assert found.excerpt is not None
    assert found.excerpt < 0.2
    assert found.before == pytest.approx(whole.choices.before, rel=0.03)
    assert found.after == pytest.approx(whole.choices.after, rel=0.03)
    assert [c.use for c in found.compared] == [c.use for c in whole.choices.compared]
    assert "from pieces with" in " ".join(str(advice).split())
    assert advice.json()["predictions"][0]["choices"]["excerpt"] == found.excerpt


def test_what_pieces_miss_is_simulated_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that take most of the time and stand at one place only."""
    program = irregular(400, last=True)
    (whole,) = isthmus.advise(program, MACHINE, tune_seconds=0).predictions
    monkeypatch.setattr(verb, "MOST_RECORDED", 10_000)
    monkeypatch.setattr(verb, "_EXCERPT", 10_000)
    assert excerpt(program, 2000) is not None
    (large,) = isthmus.advise(program, MACHINE, tune_seconds=0).predictions
    assert large.choices is not None
    assert whole.choices is not None
    assert large.choices.excerpt is None
    assert (large.choices.before, large.choices.after) == (whole.choices.before, whole.choices.after)
