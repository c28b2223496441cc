"""Programs and their builder: whole arrays against events one by one, validation one mistake at a time, relabelling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import ANY, NULL, InvalidInput, Program, ProgramBuilder
from isthmus.schedule.call_checks import CallChecks
from isthmus.schedule.program import NO_COMMUNICATOR, CollectiveKind, Event, EventKind
from noun_strategies import programs

thorough = settings(max_examples=100, derandomize=True, deadline=None)
RANKS = 4


def replay(b: ProgramBuilder, event: Event, rank: int) -> None:
    """The same event through the builder's methods, with numbers only."""
    kind, amount, peer, comm = event.kind.name, event.amount, event.peer, event.comm
    detail = list(event.detail) if event.detail is not None else None
    match kind:
        case "compute":
            b.compute(rank, amount / 1e12)
        case "send" | "recv" | "isend" | "irecv":
            getattr(b, kind)(rank, peer, amount, event.tag, comm)
        case "sendrecv":
            assert detail is not None
            b.sendrecv(rank, peer, amount, detail[0], detail[2], event.tag, detail[1], comm)
        case "wait":
            b.wait(rank, event.request)
        case "waitall":
            b.waitall(rank, detail)
        case "waitany":
            assert detail is not None
            b.waitany(rank, detail, amount)
        case "test":
            b.test(rank, event.request, bool(amount))
        case "collective":
            assert event.what is not None
            b.collective(event.what.name, rank, amount, peer, comm, counts=detail, nonblocking=event.request != 0)
        case "put" | "get":
            getattr(b, kind)(rank, peer, amount, comm)
        case "fence":
            b.fence(rank, comm)
        case "flush" | "lock" | "unlock":
            getattr(b, kind)(rank, peer, comm)
        case "iteration":
            b.iteration(rank, amount)


@thorough
@given(programs())
def test_random_programs_are_valid(p: Program) -> None:
    p.validate()
    assert p.first[-1] == len(p)
    assert sum(len(p.events(rank)) for rank in range(p.ranks)) == len(p)
    assert all(str(event) for rank in range(p.ranks) for event in p.events(rank))
    assert str(p).startswith(f"Program of {p.ranks} rank")


@thorough
@given(programs())
def test_events_one_by_one_give_the_same_program(p: Program) -> None:
    b = ProgramBuilder(p.ranks)
    for comm in range(1, p.communicators):
        assert b.communicator(p.members(comm)) == comm
    requests: dict[tuple[int, int], int] = {}
    expected = []
    for rank in range(p.ranks):
        for event in p.events(rank):
            if event.kind is EventKind.comm_create:
                continue  # recorded by split only
            opens = event.request and event.kind.name in ("isend", "irecv", "collective")
            if opens:
                requests[rank, event.request] = len(requests) + 1
            numbers: dict[str, Any] = {"location": None, "phase": None}
            if event.request:
                numbers["request"] = requests[rank, event.request]
            if event.detail is not None and event.kind.name in ("waitall", "waitany"):
                numbers["detail"] = tuple(requests[rank, r] for r in event.detail)
            expected.append((rank, event._replace(**numbers)))
            replay(b, expected[-1][1], rank)
    again = b.build()
    assert [(rank, event) for rank in range(p.ranks) for event in again.events(rank)] == expected


@thorough
@given(programs(), st.randoms(use_true_random=False))
def test_relabel(p: Program, random: Any) -> None:
    to = random.sample(range(p.ranks), p.ranks)
    moved = p.relabel(to)
    assert moved.relabel(np.argsort(to)) == p
    assert p.relabel(range(p.ranks)) == p
    moved.validate()
    for comm in range(1, p.communicators):
        assert moved.members(comm).tolist() == [to[r] for r in p.members(comm)]
    for rank in range(p.ranks):
        for old, new in zip(p.events(rank), moved.events(to[rank]), strict=True):
            assert new == relabelled(old, to)


def relabelled(event: Event, to: list[int]) -> Event:
    """One event with the ranks of the world renamed."""
    if event.comm:
        return event

    def name(rank: int) -> int:
        return to[rank] if rank >= 0 else rank

    def moved(blocks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(blocks[to.index(i)] for i in range(len(to)))

    what = event.what.name if event.what else ""
    peered = what in ("bcast", "reduce", "gather", "scatter") or event.kind.name in (
        "send", "recv", "isend", "irecv", "sendrecv", "put", "get", "flush", "lock", "unlock"
    )  # fmt: skip
    detail = event.detail
    if detail is not None and event.kind is EventKind.sendrecv:
        detail = (name(detail[0]), *detail[1:])
    elif detail is not None and what == "neighbor_alltoall":
        detail = tuple(name(x) if i % 3 == 0 else x for i, x in enumerate(detail))
    elif detail is not None and what == "alltoall":
        detail = moved(detail[: len(to)]) + moved(detail[len(to) :])
    elif detail is not None and what:
        detail = moved(detail)
    return event._replace(peer=name(event.peer) if peered else event.peer, detail=detail)


def test_ranks_broadcast_against_values() -> None:
    b = ProgramBuilder(3)
    assert b.isend([0, 0, 2], [1, 2, 0], 8, tag=[5, 6, 7]).tolist() == [1, 2, 3]
    assert b.irecv(2, 0, 8) == 4
    b.compute(None, 1.5e-12)
    b.compute([1], [2e-12])
    b.compute(1, np.float64(3e-12))
    b.waitall([0, 2], [[1, 2], [3, 4]])
    p = b.build()
    assert p.first.tolist() == [0, 4, 7, 11]
    assert [str(event) for event in p.events(0)] == [
        "isend 8 B to 1 tag 5 request 1",
        "isend 8 B to 2 tag 6 request 2",
        "compute 2 ps",
        "waitall requests 1 2",
    ]
    assert p.amount[4:7].tolist() == [2, 2, 3]
    assert [str(event) for event in p.events(2)][-1] == "waitall requests 3 4"


def test_calls_are_in_program_order_however_they_are_made() -> None:
    b = ProgramBuilder(2)
    for number in range(3):
        b.iteration(1, 2 * number)
        b.iteration(None, 2 * number + 1)
    assert b.build().amount.tolist() == [1, 3, 5, 0, 1, 2, 3, 4, 5]
    b.iteration(0, 6)
    assert b.build().amount.tolist() == [1, 3, 5, 6, 0, 1, 2, 3, 4, 5]  # building does not end it


def test_arrays_may_change_after_the_call() -> None:
    b, ranks = ProgramBuilder(2), np.array([0, 1], np.uint32)
    b.send(ranks, 0, 8)
    ranks[:] = 0
    assert b.build().first.tolist() == [0, 1, 2]


def test_split_is_that_of_mpi() -> None:
    b = ProgramBuilder(6)
    made = b.split([1, 0, 1, -1, 0, 1], key=[3, 0, 2, 0, 0, 1])
    assert made.tolist() == [2, 1, 2, -1, 1, 2]
    inner = b.split([0, 0, 7], parent=2)
    assert inner.tolist() == [3, 3, 4]
    p = b.build()
    assert [p.members(c).tolist() for c in range(5)] == [[0, 1, 2, 3, 4, 5], [1, 4], [5, 2, 0], [5, 2], [0]]
    assert [str(event) for event in p.events(2)] == ["comm_create 2 from 0", "comm_create 3 from 2"]
    assert [str(event) for event in p.events(3)] == ["comm_create none from 0"]
    p.validate()


def test_phases_and_locations() -> None:
    b = ProgramBuilder(1)
    b.iteration(0, 0)
    with b.phase("outer"), b.location("a.c:1"):
        b.iteration(0, 1)
        with b.phase("inner"):
            b.iteration(None, 2)
        b.iteration(0, 3)
    b.iteration(0, 4)
    p = b.build()
    assert [(e.phase, e.location) for e in p.events(0)] == [
        (None, None), ("outer", "a.c:1"), ("inner", "a.c:1"), ("outer", "a.c:1"), (None, None)
    ]  # fmt: skip
    assert (p.phases, p.locations) == (("outer", "inner"), ("a.c:1",))
    with pytest.raises(KeyError), b.phase("broken"):
        raise KeyError
    b.iteration(0, 5)
    assert b.build().events(0)[-1].phase is None


def test_counts_are_shared_or_one_row_each() -> None:
    b = ProgramBuilder(2)
    b.allgather(None, counts=[3, 4])
    b.alltoall(None, counts=[[1, 2, 1, 2], [2, 0, 2, 0]])
    b.neighbor_alltoall(None, [[], [(1, 2, 3), (0, 4, 5)]])
    b.reduce_scatter(0, counts=(1, 2))
    p = b.build()
    assert p.detail[0] == p.detail[4]
    assert [e.detail for e in p.events(0)] == [(3, 4), (1, 2, 1, 2), (), (1, 2)]
    assert [e.detail for e in p.events(1)] == [(3, 4), (2, 0, 2, 0), (1, 2, 3, 0, 4, 5)]


def test_extremes() -> None:
    empty = ProgramBuilder(1).build()
    empty.validate()
    assert (len(empty), empty.ranks, empty.events(0)) == (0, 1, [])
    assert str(empty) == "Program of 1 rank, 0 events"
    assert repr(empty) == "<Program: 1 rank, 0 events>"
    assert empty == ProgramBuilder(1).build()
    assert empty != ProgramBuilder(2).build()
    assert empty.relabel([0]) == empty
    b = ProgramBuilder(1)
    b.compute(0, 9e6)
    b.send(0, NULL, 2**62)
    b.bcast(0, 8)
    p = b.build()
    p.validate()
    assert p.amount[:2].tolist() == [9 * 10**18, 2**62]


def test_summary() -> None:
    b = ProgramBuilder(4)
    with b.phase("setup"):
        b.split([0, 0, 1, 1])
    for number in range(2):
        b.iteration(None, number)
        b.compute(None, 1e-6)
        b.send([0, 1], [1, NULL], 100)
        b.recv(1, ANY, 100)
        b.allreduce(None, 8)
        b.bcast([0, 1], 8, comm=1)
    assert str(b.build()).splitlines() == [
        "Program of 4 ranks, 38 events",
        "  events: 8 compute, 4 send, 2 recv, 12 collective, 4 comm_create, 8 iteration",
        "  messages: 2, 200 B",
        "  collectives: 2 bcast, 2 allreduce",
        "  computation: 8 us",
        "  iterations: 2",
        "  communicators: 3",
        "  phases: setup",
    ]


def test_columns_are_read_only_and_checked() -> None:
    b = ProgramBuilder(2)
    b.allgather(None, counts=[1, 2])
    p = b.build()
    assert all(not getattr(p, f.name).flags.writeable for f in fields(p) if f.type.startswith("NDArray"))
    with pytest.raises(AttributeError):
        p.kind = p.what  # type: ignore[misc]
    for change, words in (
        ({"kind": p.kind[:1]}, "has 2 elements instead of 1"),
        ({"first": [0]}, "first has 1 elements"),
        ({"first": [0, 1, 3]}, "first goes from 0 to 3 instead of from 0 to 2"),
        ({"first": [0, 3, 2]}, "first decreases after element 1"),
        ({"kind": [11, 20]}, "rank 1, event 0 (kind 20): kind 20 does not exist"),
        ({"what": [13, 1]}, "what 13 does not exist"),
        ({"comm": [0, 1]}, "rank 1, event 0 (allgather): comm 1 does not exist, there are 1"),
        ({"detail": [1, 4]}, "rank 1, event 0 (allgather): detail 4 does not exist, there are 4"),
        ({"detail": [1, 3]}, "rank 1, event 0 (allgather): detail of 2 numbers, but only 0 follow"),
        ({"details": [0, -1, 0, 0]}, "rank 0, event 0 (allgather): detail of -1 numbers"),
        ({"comm_first": [0, 1]}, "comm_first goes from 0 to 1"),
        ({"location": [0, 0]}, "location 0 does not exist, there are 0"),
        ({"phase": [0]}, "phase has 1 elements: must have 2 or none"),
        ({"peer": [0, 2**31]}, "peer[1] is 2147483648"),
    ):
        with pytest.raises(InvalidInput) as error:
            replace(p, **change)  # type: ignore[arg-type]
        assert words in str(error.value)


def test_equality_is_of_content() -> None:
    def made(shift: int, value: int = 2) -> Program:
        b = ProgramBuilder(1)
        for _ in range(shift):
            b._detail_rows(np.array([[9, 9]]))
        b.allgather(0, counts=[value])
        return b.build()

    assert made(0) == made(3)
    assert made(0) != made(0, 3)
    assert made(0) != "program"


Change = Callable[[ProgramBuilder], Any]
MISTAKES: list[tuple[Change, str]] = [
    (lambda b: b.send(1, 4, 8), "rank 1, event 0 (send): peer 4 in communicator 0 of size 4"),
    (lambda b: b.send(1, ANY, 8), "rank 1, event 0 (send): peer -1"),
    (lambda b: b.recv(1, -3, 8), "rank 1, event 0 (recv): peer -3"),
    (lambda b: b.send(0, 2, 8, comm=1), "rank 0, event 0 (send): peer 2 in communicator 1 of size 2"),
    (lambda b: b.send(1, 0, 8, comm=1), "rank 1, event 0 (send): the rank is not in communicator 1"),
    (lambda b: b.send(1, 0, 8, tag=ANY), "rank 1, event 0 (send): tag -1"),
    (lambda b: b.recv(1, 0, 8, tag=-2), "rank 1, event 0 (recv): tag -2"),
    (lambda b: b.send(1, 0, 2**63), "picoseconds or bytes -9223372036854775808 must not be negative"),
    (lambda b: b.put(2, ANY, 8), "rank 2, event 0 (put): peer -1"),
    (lambda b: b.lock(2, 4), "rank 2, event 0 (lock): peer 4"),
    (lambda b: b.sendrecv(1, 0, 8, 4), "rank 1, event 0 (sendrecv): source 4 in communicator of size 4"),
    (lambda b: b.sendrecv(1, 0, 8, 0, tag=-1, recv_tag=0), "rank 1, event 0 (sendrecv): tag -1"),
    (lambda b: b.wait(1, 1), "rank 1, event 0 (wait): request 1 is not open"),
    (lambda b: b.wait(1, 0), "rank 1, event 0 (wait): request 0 is not open"),
    (lambda b: b.wait(1, b.isend(0, 1, 8)), "rank 1, event 0 (wait): request 1 is not open"),
    (lambda b: (r := b.isend(1, 0, 8), b.wait(1, r), b.wait(1, r)), "rank 1, event 2 (wait): request 1 is not open"),
    (lambda b: (r := b.isend(1, 0, 8), b.waitall(1), b.wait(1, r)), "rank 1, event 2 (wait): request 1 is not open"),
    (lambda b: (r := b.isend(1, 0, 8), b.waitall(1, [r, r])), "rank 1, event 1 (waitall): request 1 is not open"),
    (lambda b: (r := b.isend(1, 0, 8), b.test(1, r), b.test(1, r)), "rank 1, event 2 (test): request 1 is not open"),
    (lambda b: (r := b.isend(1, 0, 8), b.waitany(1, [r, 7])), "rank 1, event 1 (waitany): request 7 is not open"),
    (lambda b: (r := b.isend(1, 0, 8), b.waitany(1, [r], 1)), "(waitany): completed 1 of 1 requests"),
    (lambda b: b.waitall(1, [0]), "rank 1, event 0 (waitall): request 0 is unknown"),
    (lambda b: b.test(1, b.isend(1, 0, 8), 2), "rank 1, event 1 (test): completed 2 but must be 0 or 1"),
    (lambda b: b.bcast(None, 8, root=4), "rank 0, event 0 (bcast): root 4 in communicator 0 of size 4"),
    (lambda b: b.bcast(None, 8, root=ANY), "rank 0, event 0 (bcast): root -1"),
    (lambda b: b.bcast(None, [8, 8, 8, 9]), "rank 3, event 0 (bcast): differs in bytes from rank 0, event 0 (bcast)"),
    (lambda b: b.bcast(None, 8, root=[1, 1, 0, 1]), "rank 2, event 0 (bcast): differs in root from rank 0"),
    (lambda b: b.barrier([0, 1, 3]), "rank 2 calls 0 collectives on communicator 0, but rank 0 calls 1"),
    (lambda b: b.barrier([1, 2, 3]), "rank 1 calls 1 collectives on communicator 0, but rank 0 calls 0"),
    (lambda b: b.barrier([0], comm=1), "rank 0 calls 1 collectives on communicator 1, but rank 2 calls 0"),
    (
        lambda b: (b.send(1, NULL, 0), b.barrier([0, 1]), b.fence([2, 3])),
        "rank 2, event 0 (fence): differs in kind from rank 0, event 0 (barrier), the same collective of communicator",
    ),
    (lambda b: (b.reduce([0, 1, 2], 8), b.allreduce(3, 8)), "rank 3, event 0 (allreduce): differs in kind"),
    (
        lambda b: (b.barrier([0, 1, 2]), b.barrier(3, nonblocking=True)),
        "rank 3, event 0 (barrier): differs in blocking",
    ),
    (
        lambda b: (b.allgather([0, 1, 2], counts=[1, 2, 3, 4]), b.allgather(3, 3)),
        "rank 3, event 0 (allgather): differs in whether there are bytes per rank",
    ),
    (
        lambda b: (b.allgather([0, 2, 3], counts=[1, 2, 3, 4]), b.allgather(1, counts=[1, 2, 3, 5])),
        "rank 1, event 0 (allgather): differs in bytes per rank from rank 0",
    ),
    (lambda b: b.allgather(None, counts=[1, 2]), "(allgather): detail of 2 numbers for a communicator of size 4"),
    (lambda b: b.alltoall(None, counts=[1, 2, 3, 4]), "(alltoall): detail of 4 numbers for a communicator of size 4"),
    (lambda b: b.gather(None, counts=[1, 2, -1, 4]), "rank 0, event 0 (gather): bytes -1 must not be negative"),
    (lambda b: b.collective("bcast", None, counts=[1]), "rank 0, event 0 (bcast): has no bytes per rank"),
    (lambda b: b.collective("neighbor_alltoall", None), "(neighbor_alltoall): needs a detail of neighbour"),
    (lambda b: b.neighbor_alltoall(None, [1, 2]), "(neighbor_alltoall): detail of 2 numbers, which are no triples"),
    (lambda b: b.neighbor_alltoall(None, [4, 2, 2]), "rank 0, event 0 (neighbor_alltoall): neighbour 4 of 4"),
    (lambda b: b.neighbor_alltoall(None, [0, -2, 2]), "rank 0, event 0 (neighbor_alltoall): bytes -2"),
]


@pytest.mark.parametrize(("change", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_one_mistake(change: Change, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other sources of programs may hold what the builder refuses at once.
    monkeypatch.setattr(CallChecks, "check", lambda *_, **__: None)
    b = ProgramBuilder(RANKS)
    b.communicator([2, 0])
    b.build().validate()
    change(b)
    with pytest.raises(InvalidInput) as error:
        b.build().validate()
    assert words in str(error.value)


AT_ONCE: list[tuple[Change, str]] = [
    (lambda b: b.send(1, 9, 8), "rank 1 (send): peer 9 in communicator 0 of size 4"),
    (lambda b: b.isend(None, np.arange(4) + 1, 8), "rank 3 (isend): peer 4 in communicator 0 of size 4"),
    (lambda b: b.send(1, ANY, 8), "rank 1 (send): peer -1"),
    (lambda b: b.recv(1, -3, 8), "rank 1 (recv): peer -3"),
    (lambda b: b.recv([0, 1], [ANY, 7], 8), "rank 1 (recv): peer 7"),
    (lambda b: b.send(0, 2, 8, comm=1), "rank 0 (send): peer 2 in communicator 1 of size 2"),
    (lambda b: b.send(1, 0, 8, comm=1), "rank 1 (send): the rank is not in communicator 1"),
    (lambda b: b.recv([0, 2, 3], ANY, 8, comm=1), "rank 3 (recv): the rank is not in communicator 1"),
    (lambda b: b.barrier([0, 2, 1], comm=1), "rank 1 (barrier): the rank is not in communicator 1"),
    (lambda b: b.barrier(0, comm=2), "rank 0 (barrier): communicator 2 does not exist: there are 2"),
    (lambda b: b.put([0, 1], 1, 8, comm=[1, 3]), "rank 1 (put): communicator 3 does not exist"),
    (lambda b: b.send(4, 0, 8), "rank 4 does not exist: ranks are 0 to 3"),
    (lambda b: b.send([0, 4], 0, 8), "rank 4 does not exist: ranks are 0 to 3"),
    (lambda b: b.send(1, 0, 8, tag=ANY), "rank 1 (send): tag -1"),
    (lambda b: b.send(None, 0, 8, tag=[0, 0, ANY, 0]), "rank 2 (send): tag -1"),
    (lambda b: b.get(2, ANY, 8), "rank 2 (get): peer -1"),
    (lambda b: b.lock(2, 4), "rank 2 (lock): peer 4"),
    (lambda b: b.sendrecv(1, 0, 8, 4), "rank 1 (sendrecv): source 4 in communicator 0 of size 4"),
    (lambda b: b.sendrecv(1, 4, 8, 0), "rank 1 (sendrecv): peer 4 in communicator 0 of size 4"),
    (lambda b: b.bcast(None, 8, root=4), "rank 0 (bcast): root 4 in communicator 0 of size 4"),
    (lambda b: b.gather([0, 2], 8, root=[1, ANY], comm=1), "rank 2 (gather): root -1 in communicator 1 of size 2"),
]


@pytest.mark.parametrize(("change", "words"), AT_ONCE, ids=[words for _, words in AT_ONCE])
def test_mistakes_that_are_refused_at_once(change: Change, words: str) -> None:
    b = ProgramBuilder(RANKS)
    b.communicator([2, 0])
    before = b.build()
    with pytest.raises(InvalidInput) as error:
        change(b)
    assert words in str(error.value)
    # Nothing of the call is kept.
    assert b.build() == before


def test_unusual_calls_that_are_allowed() -> None:
    b = ProgramBuilder(RANKS)
    b.communicator([2, 0])
    for rank in (0, [0, 2]):
        b.recv(rank, ANY, 8, tag=ANY)
        b.recv(rank, NULL, 8)
        b.send(rank, NULL, 8)
        b.recv(rank, [1, ANY] if rank else 1, 8, tag=[ANY, 3] if rank else 3, comm=1)
        b.sendrecv(rank, NULL, 8, ANY, recv_tag=ANY, comm=1)
        b.flush(rank)
        b.unlock(rank, comm=1)
        b.allreduce(rank, 8, comm=1)
    b.build()


def test_mistakes_that_only_other_sources_make() -> None:
    b = ProgramBuilder(2)
    b.isend(0, 1, 8)
    b.wait(0, 1)
    b.sendrecv(1, 0, 8, 0)
    b.split([0, -1])
    p = b.build()
    p.validate()
    for change, words in (
        ({"kind": [0, 7, 12, 6, 12]}, "rank 0, event 0 (kind 0): kind 0 is unknown"),
        ({"what": [1, 0, 0, 0, 0]}, "rank 0, event 0 (isend): what is 1 but only collectives have it"),
        ({"kind": [11, 7, 12, 6, 12]}, "collective 0 is unknown"),
        ({"request": [0, 1, 0, 0, 0]}, "rank 0, event 0 (isend): its request must be 1 or more"),
        ({"kind": [4, 4, 12, 6, 12]}, "rank 0, event 1 (isend): opens request 1, which is open already"),
        ({"detail": [1, 0, 0, 1, 0]}, "rank 0, event 0 (isend): has no detail"),
        ({"detail": [0, 0, 0, 0, 0]}, "rank 1, event 0 (sendrecv): detail of 0 numbers instead of source"),
        ({"amount": [8, 0, 1, 8, 1]}, "rank 1, event 1 (comm_create): the rank is not in communicator 1"),
        ({"amount": [8, 0, 2, 8, NO_COMMUNICATOR]}, "rank 0, event 2 (comm_create): communicator 2 but there are 2"),
        ({"details": [0, 3, 0, -2, 8]}, "rank 1, event 0 (sendrecv): receive tag -2"),
        ({"details": [0, 3, 0, 0, -8]}, "rank 1, event 0 (sendrecv): bytes -8 must not be negative"),
        ({"comm_ranks": [1, 0, 0]}, "communicator 0 is the world"),
        ({"comm_ranks": [0, 1, 2]}, "communicator 1 has rank 2: ranks are 0 to 1"),
        ({"comm_ranks": [0, 1, 0, 0], "comm_first": [0, 2, 4]}, "communicator 1 has rank 0 twice"),
    ):
        with pytest.raises(InvalidInput) as error:
            replace(p, **{name: np.array(column, getattr(p, name).dtype) for name, column in change.items()}).validate()
        assert words in str(error.value)


def test_requests_may_be_used_again() -> None:
    b = ProgramBuilder(1)
    b.isend(0, NULL, 8)
    b.waitall(0)
    b.isend(0, NULL, 8)
    b.wait(0, 2)
    p = b.build()
    replace(p, request=np.array([1, 0, 1, 1], np.uint32)).validate()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.send(4, 0, 8), "rank 4 does not exist: ranks are 0 to 3"),
        (lambda b: b.send(-1, 0, 8), "rank is -1"),
        (lambda b: b.send([0, 4], 0, 8), "rank 4 does not exist"),
        (lambda b: b.send(0, 0, -8), "amount is -8"),
        (lambda b: b.send(0, 0, [8, -8]), r"amount\[1\] is -8"),
        (lambda b: b.send(0, 0, 0.5), "must be whole numbers"),
        (lambda b: b.send([0, 1], 0, [1, 2, 3]), "columns differ in length"),
        (lambda b: b.compute(0, -1.0), "compute of -1.0 seconds: must be 0 to 9.2e6"),
        (lambda b: b.compute(None, float("nan")), "compute of nan"),
        (lambda b: b.collective("allsum", None), "collective 'allsum' is unknown: must be one of barrier, bcast"),
        (lambda b: b.waitall([0, 1], [[1], [2], [3]]), "got 3 lists for 2 ranks"),
        (lambda b: b.neighbor_alltoall([0, 1], [[], [0, 1, 1], []]), "got 3 lists for 2 ranks"),
        (lambda b: b.communicator([0, 0]), "different ranks from 0 to 3"),
        (lambda b: b.communicator([]), "at least one"),
        (lambda b: b.communicator([4]), "different ranks from 0 to 3"),
        (lambda b: b.split(0, parent=1), "communicator 1 does not exist: there are 1"),
        (lambda b: ProgramBuilder(0), "ranks is 0"),
    ],
)
def test_calls_that_are_rejected(call: Change, words: str) -> None:
    b = ProgramBuilder(RANKS)
    with pytest.raises(InvalidInput, match=words):
        call(b)
    assert len(b.build()) == 0


def test_unknown_rank_communicator_suffix_and_permutation(tmp_path: Path) -> None:
    p = ProgramBuilder(2).build()
    with pytest.raises(InvalidInput, match="rank 2 does not exist: ranks are 0 to 1"):
        p.events(2)
    with pytest.raises(InvalidInput, match="communicator 1 does not exist: there are 1"):
        p.members(1)
    with pytest.raises(InvalidInput, match="programs are saved as HDF5"):
        p.save(tmp_path / "p.goal")
    with pytest.raises(InvalidInput, match="permutation of the 2 ranks"):
        p.relabel([0, 0])


def test_a_million_events() -> None:
    ranks, rounds = 1000, 250
    b, everyone = ProgramBuilder(ranks), np.arange(ranks)
    for number in range(rounds):
        b.isend(None, (everyone + 1) % ranks, number)
        b.irecv(None, (everyone - 1) % ranks, number)
        b.waitall(None)
        b.allreduce(None, 8)
    p = b.build()
    p.validate()
    assert np.array_equal(p.amount.reshape(ranks, rounds, 4)[:, :, 0], np.tile(np.arange(rounds), (ranks, 1)))
    assert np.all(p.what.reshape(-1, 4) == [0, 0, 0, CollectiveKind.allreduce])
