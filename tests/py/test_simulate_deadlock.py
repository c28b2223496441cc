"""Schedules that stop halfway: what waits, for whom, in which circle."""

from __future__ import annotations

import pytest

import isthmus
from oracles.loggops import ANY, CALC, RECV, SEND, Op, Parameters
from schedule_strategies import Ranks, level_of, schedule_of

EAGER = Parameters(L=10, o_send=1, o_recv=1, S=10**9)
RENDEZVOUS = Parameters(L=10, o_send=1, o_recv=1, S=0)


def stopped(ranks: Ranks, p: Parameters, **more: object) -> isthmus.Timeline:
    t = isthmus.simulate(schedule_of(ranks), level_of(p), **more)
    assert t.deadlock is not None
    return t


def waiting(t: isthmus.Timeline) -> list[tuple[int, int]]:
    return sorted((w.rank, w.op) for w in t.deadlock.waiting)


def cycle(t: isthmus.Timeline) -> list[int]:
    """Its ranks, beginning with the lowest."""
    ranks = [w.rank for w in t.deadlock.cycle]
    at = ranks.index(min(ranks)) if ranks else 0
    return ranks[at:] + ranks[:at]


def receive_first(ranks: int) -> Ranks:
    """Everybody waits for the one before, then sends to the one after."""
    return [[Op(RECV, 8, (r - 1) % ranks), Op(SEND, 8, (r + 1) % ranks, after=[0])] for r in range(ranks)]


def send_first(ranks: int) -> Ranks:
    return [[Op(SEND, 8, (r + 1) % ranks), Op(RECV, 8, (r - 1) % ranks, after=[0])] for r in range(ranks)]


def test_two_ranks_that_receive_from_each_other() -> None:
    t = stopped(receive_first(2), EAGER)
    assert waiting(t) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert cycle(t) == [0, 1]
    text = str(t.deadlock)
    assert "rank 0" in text
    assert "rank 1" in text
    assert "recv" in text


@pytest.mark.parametrize("symmetry", [True, False])
@pytest.mark.parametrize("ranks", [2, 3, 5, 64])
def test_sends_in_a_ring(ranks: int, symmetry: bool) -> None:
    """Eager messages get through; by rendezvous everybody waits for the one after."""
    assert isthmus.simulate(schedule_of(send_first(ranks)), level_of(EAGER)).deadlock is None
    t = stopped(send_first(ranks), RENDEZVOUS, symmetry=symmetry)
    assert waiting(t) == [(r, i) for r in range(ranks) for i in range(2)]
    assert sorted(cycle(t)) == list(range(ranks))


def test_five_in_a_circle_and_two_beside_it() -> None:
    """0 is not in the circle but waits for it, 6 is done."""
    circle = {1: 4, 4: 2, 2: 5, 5: 3, 3: 1}  # waits for
    ranks: Ranks = [[Op(RECV, 8, 1)]]
    for r in range(1, 6):
        next_one = next(q for q, on in circle.items() if on == r)
        ranks.append([Op(RECV, 8, circle[r]), Op(SEND, 8, next_one, after=[0])])
    ranks[1].append(Op(SEND, 8, 0, after=[0]))
    ranks.append([Op(CALC, 77)])
    t = stopped(ranks, EAGER)
    assert cycle(t) == [1, 4, 2, 5, 3]
    assert {rank for rank, _ in waiting(t)} == {0, 1, 2, 3, 4, 5}
    assert t.finish_ps.tolist() == [0, 0, 0, 0, 0, 0, 77]
    for r in range(1, 6):
        assert f"rank {r}" in str(t.deadlock)


def test_a_receive_that_nobody_sends_to() -> None:
    t = stopped([[Op(CALC, 5)], [Op(CALC, 3), Op(RECV, 8, 0, tag=4, after=[0]), Op(CALC, 100, after=[1])]], EAGER)
    assert waiting(t) == [(1, 1), (1, 2)]
    assert cycle(t) == []
    assert t.makespan_ps == 5
    text = str(t.deadlock)
    assert "rank 1" in text
    assert "tag 4" in text


def test_a_receive_from_anyone_that_nobody_sends_to() -> None:
    t = stopped([[], [Op(RECV, 8, ANY, tag=ANY)]], EAGER)
    assert waiting(t) == [(1, 0)]
    assert cycle(t) == []
    assert str(ANY) not in str(t.deadlock)


def test_a_send_by_rendezvous_that_nobody_receives() -> None:
    ranks = [[Op(SEND, 8, 1, tag=9), Op(CALC, 1, after=[0])], [Op(RECV, 8, 0, tag=8)]]
    t = stopped(ranks, RENDEZVOUS, record="ops")
    assert waiting(t) == [(0, 0), (0, 1), (1, 0)]
    assert t.start_ps.tolist() == [0, -1, 0]
    assert t.end_ps.tolist() == [-1, -1, -1]
    # Eagerly the message gets lost, and only the receive remains.
    assert waiting(stopped(ranks, EAGER)) == [(1, 0)]


def test_messages_left_over_are_no_deadlock() -> None:
    t = isthmus.simulate(schedule_of([[Op(SEND, 8, 1)], []]), level_of(EAGER))
    assert t.deadlock is None
    assert t.finish_ps.tolist() == [1, 12]


def test_tags_and_communicators_that_do_not_meet() -> None:
    for wrong in ({"tag": 1}, {"comm": 1}):
        t = stopped([[Op(SEND, 8, 1)], [Op(RECV, 8, 0, **wrong)]], EAGER)
        assert waiting(t) == [(1, 0)]


def test_a_rank_that_waits_for_itself() -> None:
    t = stopped([[Op(RECV, 8, 0), Op(SEND, 8, 0, after=[0])]], EAGER)
    assert waiting(t) == [(0, 0), (0, 1)]
    assert cycle(t) == [0]


@pytest.mark.parametrize("record", ["finish", "ranks", "ops"])
def test_every_detail_tells_of_deadlock(record: str) -> None:
    t = stopped(receive_first(3), EAGER, record=record)
    assert len(waiting(t)) == 6
    assert sorted(cycle(t)) == [0, 1, 2]
