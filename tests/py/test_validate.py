"""Validation: valid schedules pass, and what can never match is found by an independent matching."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

import isthmus
from isthmus.errors import InvalidInput
from oracles.loggops import ANY, RECV, SEND, Op
from schedule_strategies import Limits, Ranks, complete, schedule_of, schedules


def said(schedule: isthmus.Schedule) -> str:
    try:
        schedule.validate()
    except InvalidInput as error:
        return str(error)
    return ""


def has_cycle(ranks: Ranks) -> bool:
    """By taking away what waits for nothing, until nothing changes."""
    for ops in ranks:
        left = set(range(len(ops)))
        while free := {i for i in left if not left & {*ops[i].after, *ops[i].after_start}}:
            left -= free
        if left:
            return True
    return False


def fits(send: Op, source: int, target: int, recv: Op, receiver: int) -> bool:
    same = target == receiver and send.comm == recv.comm
    return same and recv.peer in (source, ANY) and recv.tag in (send.tag, ANY)


def all_can_match(ranks: Ranks) -> bool:
    """By a maximum matching of sends and receives."""
    sends = [(op, r) for r, ops in enumerate(ranks) for op in ops if op.kind == SEND]
    recvs = [(op, r) for r, ops in enumerate(ranks) for op in ops if op.kind == RECV]
    if len(sends) != len(recvs):
        return False
    if not sends:
        return True
    graph = np.array([[fits(s, r, s.peer, p, q) for p, q in recvs] for s, r in sends])
    return bool((maximum_bipartite_matching(csr_matrix(graph)) >= 0).all())


@given(schedules(complete, ranks=6, ops=12))
def test_schedules_that_run_are_accepted(ranks: Ranks) -> None:
    assert has_cycle(ranks) or said(schedule_of(ranks)) == ""


@given(schedules(complete, ranks=6, ops=12), st.integers(0, 2**32))
def test_one_operation_less_is_found(ranks: Ranks, seed: int) -> None:
    for op in (op for ops in ranks for op in ops):
        op.after, op.after_start = [], []
    messages = [(r, i) for r, ops in enumerate(ranks) for i, op in enumerate(ops) if op.kind in (SEND, RECV)]
    if not messages:
        return
    rank, index = Random(seed).choice(messages)
    lost = ranks[rank].pop(index)
    other = "recv" if lost.kind == SEND else "send"
    message = said(schedule_of(ranks))
    assert message.startswith("rank ")
    # With wildcards another operation may be the one that stays.
    assert f"({other} " in message


def random_messages(seed: int, any_tag: bool, any_rank: bool) -> Ranks:
    """Messages that compete, half of them as they should be."""
    random = Random(seed)
    count = random.randint(1, 3)
    ranks: Ranks = [[] for _ in range(count)]
    spoilt = random.choice([0.0, 0.05])
    for _ in range(random.randint(0, 12)):
        source, target = random.randrange(count), random.randrange(count)
        send = Op(SEND, 8, target, random.randrange(3), random.randrange(2))
        recv = Op(RECV, 8, source, send.tag, send.comm)
        if random.random() < spoilt:
            recv.tag, recv.peer = random.randrange(3), random.randrange(count)
        if any_tag and random.random() < 0.4:
            recv.tag = ANY
        if any_rank and random.random() < 0.4:
            recv.peer = ANY
        for rank, op in ((source, send), (target, recv)):
            if random.random() >= spoilt:
                ranks[rank].append(op)
    return ranks


@given(st.integers(0, 2**32), st.sampled_from([(False, False), (True, False), (False, True)]))
def test_matching_is_exact_with_one_sort_of_wildcards(seed: int, wildcards: tuple[bool, bool]) -> None:
    ranks = random_messages(seed, *wildcards)
    message = said(schedule_of(ranks))
    assert (message == "") == all_can_match(ranks), message


@given(st.integers(0, 2**32))
def test_matching_is_sound_with_both(seed: int) -> None:
    ranks = random_messages(seed, True, True)
    assert said(schedule_of(ranks)) == "" or not all_can_match(ranks)


@given(st.integers(0, 2**32))
def test_cycles(seed: int) -> None:
    random = Random(seed)
    ranks: Ranks = [[Op(3, 1) for _ in range(random.randint(0, 6))] for _ in range(random.randint(1, 3))]
    for ops in ranks:
        for i, op in enumerate(ops):
            others = [j for j in range(len(ops)) if j != i]
            for needed in (op.after, op.after_start):
                needed += random.sample(others, min(len(others), random.choice([0, 0, 1, 1, 2])))
    message = said(schedule_of(ranks))
    assert bool(message) == has_cycle(ranks)
    if message:
        rank, cycle = (
            message.removeprefix("rank ").removesuffix(": each waits for the next, so none ever starts").split(": ")
        )
        path = [int(word) for word in cycle.removeprefix("operation ").split(" -> ")]
        ops = ranks[int(rank)]
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1
        assert all(b in ops[a].after + ops[a].after_start for a, b in pairwise(path))


@pytest.mark.parametrize(
    ("kind", "peer", "message"),
    [
        ("send", 1, "rank 0, operation 1 (send 1024 B to rank 1, tag 2): rank 1 posts no receive for it"),
        (
            "recv",
            1,
            "rank 0, operation 1 (recv 1024 B from rank 1, tag 2): "
            "rank 1 sends no such message, but the rank posts 1 such receive",
        ),
    ],
)
def test_message_names_rank_operation_and_reason(kind: str, peer: int, message: str) -> None:
    schedule = isthmus.Schedule.of(2, rank=0, kind=["calc", kind], amount=[5, 1024], peer=peer, tag=2)
    assert said(schedule) == message


def test_many_ranks_with_wildcards() -> None:
    # Every rank sends to the next ones and receives from whomever: one message too many for the last.
    ranks = 2000
    rank = np.repeat(np.arange(ranks), 6)
    kind = np.tile(["send", "send", "send", "recv", "recv", "recv"], ranks)
    peer = np.where(kind == "send", (rank + np.tile([1, 2, 3, 0, 0, 0], ranks)) % ranks, -1)
    good = isthmus.Schedule.of(ranks, rank=rank, kind=kind, peer=peer, amount=1)
    good.validate()
    peer[-6] = ranks - 2
    bad = isthmus.Schedule.of(ranks, rank=rank, kind=kind, peer=peer, amount=1)
    assert said(bad) == (
        "rank 0, operation 5 (recv 1 B from any rank, tag 0): "
        "the rank is sent 2 messages of this tag, but posts 3 receives of it"
    )


def test_limits_leave_messages() -> None:
    # What the tests above draw from does hold messages.
    ranks = complete(Limits(4, 10), 1)
    assert sum(op.kind == SEND for ops in ranks for op in ops) > 5
