"""Patterns of schedules and programs, against dictionaries."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import NULL, InvalidInput, Pattern, Program, ProgramBuilder, Schedule, Unsupported, pattern
from isthmus.schedule.schedule import OpKind
from noun_strategies import programs, schedules

thorough = settings(max_examples=150, derandomize=True, deadline=None)
Pairs = dict[tuple[int, int], tuple[int, int]]


def pairs(p: Pattern) -> Pairs:
    """Bytes and messages by sender and receiver, and whether the order is right."""
    out = {}
    for rank in range(p.ranks):
        row = slice(p.first[rank], p.first[rank + 1])
        assert list(p.peer[row]) == sorted(set(p.peer[row]))
        for peer, size, number in zip(p.peer[row], p.bytes[row], p.messages[row], strict=True):
            out[rank, int(peer)] = (int(size), int(number))
    assert p.total_bytes == sum(size for size, _ in out.values())
    assert p.total_messages == sum(number for _, number in out.values())
    return out


def added(transfers: list[tuple[int, int, int]]) -> Pairs:
    """The same, added up one by one."""
    size: Counter[tuple[int, int]] = Counter()
    number: Counter[tuple[int, int]] = Counter()
    for source, target, amount in transfers:
        size[source, target] += amount
        number[source, target] += 1
    return {pair: (size[pair], number[pair]) for pair in number}


@thorough
@given(schedules)
def test_of_schedules(s: Schedule) -> None:
    transfers = []
    load = np.zeros(s.ranks)
    for rank in range(s.ranks):
        for op in s.rank(rank).ops:
            peer, amount = int(op["peer"]), int(op["amount"])
            if op["kind"] in (OpKind.send, OpKind.put):
                transfers.append((rank, peer, amount))
            elif op["kind"] == OpKind.get:
                transfers.append((peer, rank, amount))
            elif op["kind"] == OpKind.calc:
                load[rank] += amount
    p = pattern(s)
    assert pairs(p) == added(transfers)
    assert np.array_equal(p.load, load / 1e12)
    assert pattern(Schedule(s.arrays)) == p


@thorough
@given(programs())
def test_of_programs(program: Program) -> None:
    transfers = []
    load = np.zeros(program.ranks)
    for rank in range(program.ranks):
        for event in program.events(rank):
            if event.kind.name == "compute":
                load[rank] += event.amount
            if event.peer == NULL or event.kind.name not in ("send", "isend", "sendrecv", "put", "get"):
                continue
            ends = [rank, int(program.members(event.comm)[event.peer])]
            source, target = reversed(ends) if event.kind.name == "get" else ends
            transfers.append((source, target, event.amount))
    p = pattern(program)
    assert pairs(p) == added(transfers)
    np.testing.assert_allclose(p.load, load / 1e12, rtol=1e-12)


transfer = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 100))


@thorough
@given(st.lists(transfer))
def test_symmetric_and_matrix(transfers: list[tuple[int, int, int]]) -> None:
    source, target, size = zip(*transfers, strict=True) if transfers else ((), (), ())
    p = Pattern.of(5, source=source, target=target, bytes=size, load=[0, 1, 2, 3, 4])
    assert pairs(p) == added(transfers)
    dense = p.matrix()
    assert {(i, j): dense[i, j] for i, j in zip(*np.nonzero(dense), strict=True)} == {
        pair: size for pair, (size, _) in pairs(p).items() if size
    }
    both = p.symmetric()
    other = dense.T.copy()
    np.fill_diagonal(other, 0)
    assert np.array_equal(both.matrix(), dense + other)
    numbers = p.matrix("messages")
    assert np.array_equal(both.matrix("messages"), numbers + numbers.T - np.diag(np.diag(numbers)))
    assert np.array_equal(both.load, p.load)
    assert both == Pattern.of(
        5, source=both.sources(), target=both.peer, bytes=both.bytes, messages=both.messages, load=both.load
    )


def test_collectives_count_when_they_are_lowered() -> None:
    b = ProgramBuilder(4)
    b.send(0, 1, 100)
    b.recv(1, 0, 100)
    b.allreduce(None, 1000)
    program = b.build()
    assert pattern(program).total_bytes == 100
    ring = pattern(program, collectives={"allreduce": "ring"})
    assert ring == pattern(isthmus.lower(program, collectives={"allreduce": "ring"}))
    assert ring.total_bytes == 100 + 2 * 3 * 1000  # P ranks send 2 (P - 1) P-ths each
    with pytest.raises(InvalidInput, match="a Schedule has none left"):
        pattern(isthmus.lower(program), collectives={})


def test_extremes_and_text() -> None:
    one = pattern(Schedule.of(1, rank=[], kind=[]))
    assert (one.ranks, len(one), one.total_bytes, one.total_messages) == (1, 0, 0, 0)
    assert one == pattern(ProgramBuilder(1).build())
    assert one.symmetric() == one
    assert one != pattern(Schedule.of(2, rank=[], kind=[]))
    assert one != pattern(Schedule.of(1, rank=0, kind="calc", seconds=1))
    assert str(one) == "Pattern of 1 rank, 0 messages of 0 B between 0 pairs, at most 0 partners of a rank"
    itself = pattern(Schedule.of(1, rank=[0, 0, 0], kind=["send", "recv", "calc"], amount=8, seconds=2))
    assert itself.matrix().tolist() == [[8]]
    assert itself.symmetric() == itself
    assert str(itself) == (
        "Pattern of 1 rank, 1 message of 8 B between 1 pair, at most 1 partner of a rank, "
        "load 2 s on average, at most 2 s"
    )
    assert repr(itself) == "<Pattern: 1 rank, 1 pair>"
    assert not itself.bytes.flags.writeable


def test_what_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="a pattern of str"):
        pattern("program")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="transfer 1 leads to rank 2"):
        Pattern.of(2, source=[0, 1], target=[1, 2], bytes=8)
    with pytest.raises(InvalidInput, match="2"):
        Pattern.of(2, source=[0, 2], target=[1, 1], bytes=8)
    with pytest.raises(InvalidInput, match="columns differ in length"):
        Pattern.of(2, source=[0, 1], target=[1, 1, 1], bytes=8)
    with pytest.raises(InvalidInput, match="load has 3 elements"):
        Pattern.of(2, source=0, target=1, bytes=8, load=[1, 2, 3])
    p = Pattern.of(20_000, source=0, target=1, bytes=8)
    with pytest.raises(Unsupported, match="use the rows first, peer, bytes"):
        p.matrix()
    with pytest.raises(InvalidInput, match="'bytes' or 'messages'"):
        p.matrix("time")
    b = ProgramBuilder(2)
    b.compute(1, 1)
    b.send(1, 0, 8)
    with pytest.raises(InvalidInput, match="rank 1, event 1: peer 2 is not in communicator 0"):
        pattern(dataclasses.replace(b.build(), peer=np.array([0, 2], np.int32)))


def test_a_million_operations() -> None:
    ranks, each = 1000, 1000
    rng = np.random.default_rng(1)
    rank, peer = np.repeat(np.arange(ranks), each), rng.integers(0, ranks, ranks * each)
    size = rng.integers(0, 1000, ranks * each)
    p = pattern(Schedule.of(ranks, rank=rank, kind="send", peer=peer, amount=size))
    dense = np.zeros((ranks, ranks), np.uint64)
    np.add.at(dense, (rank, peer), size.astype(np.uint64))
    assert np.array_equal(p.matrix(), dense)
    assert Pattern.of(ranks, source=rank, target=peer, bytes=size) == p
