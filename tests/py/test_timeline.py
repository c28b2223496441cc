"""The Timeline: its report, what CPU streams did, and why a simulation got stuck."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput
from isthmus.schedule.schedule import ALL_ONES, OpKind
from oracles.loggops import ANY, CALC, GET, PUT, RECV, SEND, Op, Parameters
from schedule_strategies import Ranks, arbitrary, complete, level_of, parameters, schedule_of, schedules

EXAMPLES = settings(max_examples=100, deadline=None)
EAGER = Parameters(L=10, o_send=1, o_recv=2, S=10**9)
RENDEZVOUS = Parameters(L=10, o_send=1, o_recv=2, S=0)


def run(ranks: Ranks, p: Parameters, record: str = "ops", **more: object) -> isthmus.Timeline:
    return isthmus.simulate(schedule_of(ranks), level_of(p), record=record, **more)


# The report


def test_report() -> None:
    t = isthmus.simulate(isthmus.collective("bcast", ranks=8, bytes=1000), level_of(EAGER))
    text = str(t)
    assert text.startswith(f"Timeline: 8 ranks, {len(t.schedule)} operations, makespan ")
    for words in (
        "LogGOPS L 10 ps, o_send 1 ps",
        "7, 7 kB in total",
        "simulated in",
        "send overhead (o, O)",
        "idle",
    ):
        assert words in text
    assert "deadlock" not in text
    # Shares that are nothing are no lines.
    assert "noise" not in text
    parts = [float(line.split("%")[0].split()[-1]) for line in text.split("\n") if "%" in line]
    assert sum(parts) == pytest.approx(100, abs=0.5)
    assert repr(t) == f"<Timeline: 8 ranks, {len(t.schedule)} operations, {t.makespan:g} s>"


def test_report_of_finish_times_only() -> None:
    t = isthmus.simulate(isthmus.collective("barrier", ranks=4), level_of(EAGER), record="finish")
    assert "where the time goes" not in str(t)
    assert "makespan" in str(t)


def test_report_names_the_slowest_rank() -> None:
    t = run([[Op(CALC, 5_000_000)], [Op(CALC, 9_000_000)], [Op(CALC, 2_000_000)]], EAGER, "ranks")
    assert "first rank 2 after 2 us, last rank 1 after 9 us" in str(t)
    line = next(line for line in str(t).split("\n") if "computation" in line)
    assert line.split()[1:] == ["5.333", "us", "9", "us", "1", "59.3", "%", "█" * 14 + "▎"]


def test_report_of_a_machine() -> None:
    t = isthmus.simulate(isthmus.collective("barrier", ranks=8), "ring-16")
    assert "ring" in str(t).split("\n")[1]
    assert "16 nodes" in str(t)


def test_report_of_nothing() -> None:
    assert "Timeline: 1 rank, 0 operations, makespan 0 s" in str(run([[]], EAGER))


def test_report_of_lost_messages() -> None:
    t = run([[Op(SEND, 8, 1, tag=3)], []], EAGER)
    assert "1 message was never received, such as 8 B from rank 0 to rank 1 (send, operation 0, tag 3)" in str(t)
    assert [(o.rank, o.source, o.op) for o in t.orphans] == [(1, 0, 0)]


# What CPU streams did


def apart(bars: object) -> bool:
    order = np.lexsort((bars.end, bars.begin, bars.cpu, bars.rank))
    same = (np.diff(bars.rank[order]) == 0) & (np.diff(bars.cpu[order]) == 0)
    return bool((bars.begin[order][1:][same] >= bars.end[order][:-1][same]).all())


@given(st.one_of(schedules(complete, ranks=5, ops=12), schedules(arbitrary, ranks=5, ops=12)), parameters())
@EXAMPLES
def test_bars_are_the_work_of_the_breakdown(ranks: Ranks, p: Parameters) -> None:
    """Those of a stream do not overlap, and they are as long as what the core counted."""
    t = run(ranks, p)
    bars = t.activities()
    assert apart(bars)
    work = np.zeros(t.ranks, np.int64)
    np.add.at(work, bars.rank, bars.end - bars.begin)
    b = t.breakdown_ps
    expected = b["compute"] + b["send_overhead"] + b["recv_overhead"]
    assert work.tolist() == expected.tolist()
    assert int((bars.send >= 0).sum()) == int((t.handled_ps >= 0).sum())


def test_bars_with_noise() -> None:
    noise = isthmus.Noise(kind="periodic", period=50e-12, duration=7e-12)
    t = run([[Op(CALC, 100), Op(SEND, 8, 1, after=[0])], [Op(RECV, 8, 0)]], EAGER, noise=noise, seed=3)
    bars, b = t.activities(), t.breakdown_ps
    assert apart(bars)
    work = [b[name].sum() for name in ("compute", "send_overhead", "recv_overhead", "noise")]
    assert (bars.end - bars.begin).sum() == sum(work)
    assert b["noise"].sum() > 0


def test_bars_of_some_ranks_and_times() -> None:
    ranks: Ranks = [[Op(CALC, 10), Op(CALC, 10, after=[0]), Op(CALC, 10, after=[1])] for _ in range(4)]
    t = run(ranks, EAGER)
    assert sorted(set(t.activities([3, 1]).rank.tolist())) == [1, 3]
    bars = t.activities(window=(11e-12, 19e-12))
    assert set(zip(bars.begin.tolist(), bars.end.tolist(), strict=True)) == {(10, 20)}
    for wrong in ([4], [-1], [0.5]):
        with pytest.raises(InvalidInput, match="rank"):
            t.activities(wrong)
    for window in ((2e-12, 1e-12), (-1.0, 1.0), (1.0,), "x", (float("nan"), 1.0)):
        with pytest.raises(InvalidInput, match="window"):
            t.activities(window=window)
    with pytest.raises(InvalidInput, match="record='ops'"):
        run(ranks, EAGER, "ranks").activities()


def test_waits() -> None:
    ranks: Ranks = [
        [Op(RECV, 8, 1)],
        [Op(CALC, 100), Op(SEND, 8, 0, after=[0])],
        [Op(PUT, 8, 0), Op(GET, 8, 1, after=[0])],
    ]
    t = run(ranks, RENDEZVOUS)
    w = t.waits()
    found = {op: (a, b) for op, a, b in zip(w.op.tolist(), w.begin.tolist(), w.end.tolist(), strict=True)}
    # Posted at 0; sent at 100, arrives at 111. Put: gone at 1, there at 11, back at 21. Get: from 22 on, two ways.
    assert found == {0: (0, 111), 2: (101, 111), 3: (1, 21), 4: (22, 42)}


# Equality


def test_equality() -> None:
    ranks: Ranks = [[Op(SEND, 8, 1)], [Op(RECV, 8, 0)]]
    t = run(ranks, EAGER)
    assert t == run(ranks, EAGER)
    assert t != run(ranks, EAGER, "ranks")
    assert t != run(ranks, RENDEZVOUS)
    assert t != run([[Op(SEND, 8, 1, tag=1)], [Op(RECV, 8, 0, tag=1)]], EAGER)
    assert t != 1


# Deadlock


def stuck(ranks: Ranks, p: Parameters) -> isthmus.simulation.deadlock.Deadlock:
    d = run(ranks, p, "finish").deadlock
    assert d is not None
    return d


def test_text_of_a_circle() -> None:
    ranks = [[Op(CALC, 5), Op(RECV, 8, (r - 1) % 3, after=[0]), Op(SEND, 8, (r + 1) % 3, after=[1])] for r in range(3)]
    d = stuck(ranks, EAGER)
    assert str(d).split("\n") == [
        "deadlock after 5 ps: 3 of 3 ranks wait forever; operations not done: 6",
        "  3 ranks in a cycle:",
        "    rank 0 waits to receive from rank 2 (recv, operation 1, tag 0) →",
        "    rank 2 waits to receive from rank 1 (recv, operation 1, tag 0) →",
        "    rank 1 waits to receive from rank 0 (recv, operation 1, tag 0) →",
        "    rank 0",
    ]
    assert [w.started for w in d.waiting] == [True] * 3 + [False] * 3
    assert d.waiting[3].reason == "waits for its operation 1"
    assert d.waiting[0].hint == "rank 2 sends it in operation 2, which waits too"
    assert len(d.waiting[1:3]) == 2
    with pytest.raises(IndexError):
        d.waiting[6]


def test_other_tag() -> None:
    d = stuck([[Op(SEND, 8, 1, tag=6)], [Op(RECV, 8, 0, tag=5)]], EAGER)
    expected = (
        "rank 1 waits to receive from rank 0 (recv, operation 0, tag 5): rank 0 has finished; what has arrived is "
    )
    assert expected in str(d)
    assert "8 B from rank 0 to rank 1 (send, operation 0, tag 6)" in d.waiting[0].hint
    assert "messages never received:" in str(d)


def test_rendezvous_and_besides() -> None:
    ranks: Ranks = [
        [Op(SEND, 8, 1), Op(RECV, 8, 1, after=[0])],
        [Op(SEND, 8, 0), Op(RECV, 8, 0, after=[0]), Op(SEND, 8, 2, after=[1])],
        [Op(RECV, 8, 1)],
    ]
    d = stuck(ranks, RENDEZVOUS)
    assert [w.rank for w in d.cycle] == [0, 1]
    assert "rank 0 waits for rank 1 to receive (send, operation 0, tag 0) →" in str(d)
    assert "also waiting:\n    rank 2 waits to receive from rank 1" in str(d)


def test_long_circles_are_cut() -> None:
    d = stuck([[Op(RECV, 8, (r - 1) % 50), Op(SEND, 8, (r + 1) % 50, after=[0])] for r in range(50)], EAGER)
    assert len(d.cycle) == 50
    assert "42 more →" in str(d)
    assert len(str(d).split("\n")) < 15
    assert "92 more" in repr(d.waiting)


def reaches(ops: list[Op], op: int, on: int) -> bool:
    """Whether an operation waits for another's end, directly or not."""
    seen, todo = set(), [op]
    while todo:
        at = todo.pop()
        if on in ops[at].after:
            return True
        before = [b for b in (*ops[at].after, *ops[at].after_start) if b not in seen]
        seen.update(before)
        todo += before
    return False


def graph(ranks: Ranks, t: isthmus.Timeline) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """What has started and waits -> what its first answer waits for, slowly."""
    waiting = list(t.deadlock.waiting)
    started = [(w.rank, w.op) for w in waiting if w.started]
    blocked = sorted((w.rank, w.op) for w in waiting if not w.started)

    def fits(send: Op, source: int, recv: Op, target: int) -> bool:
        tags = recv.tag in (ANY, send.tag) and recv.comm == send.comm
        return tags and send.peer == target and recv.peer in (ANY, source)

    out: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for rank, i in started:
        op = ranks[rank][i]
        out[rank, i] = set()
        for other, j in blocked:
            reply = ranks[other][j]
            if (op.kind, reply.kind) == (RECV, SEND) and fits(reply, other, op, rank):
                break
            if (op.kind, reply.kind) == (SEND, RECV) and fits(op, rank, reply, other):
                break
        else:
            continue
        out[rank, i] = {(r, k) for r, k in started if r == other and reaches(ranks[other], j, k)}
    return out


@given(schedules(arbitrary, ranks=4, ops=8), parameters())
@settings(max_examples=300, deadline=None)
def test_circles_are_found_where_there_are_any(ranks: Ranks, p: Parameters) -> None:
    t = run(ranks, p, "finish")
    if t.deadlock is None:
        assert t.executed == len(t.schedule)
        return
    assert len(t.deadlock.waiting) == len(t.schedule) - t.executed
    edges = graph(ranks, t)
    circle = [(w.rank, w.op) for w in t.deadlock.cycle]
    for one, following in zip(circle, circle[1:] + circle[:1], strict=True):
        assert following in edges[one]
    if not circle:
        # Taking away again and again what leads nowhere leaves nothing.
        while ends := [node for node, to in edges.items() if not to & edges.keys()]:
            for node in ends:
                del edges[node]
        assert edges == {}
    assert str(t.deadlock).startswith("deadlock after ")
    assert str(ALL_ONES) not in str(t.deadlock)
    for w in t.deadlock.waiting:
        assert w.kind in OpKind
        assert w.reason


def test_a_circle_of_dependencies_in_a_rank() -> None:
    """Not a valid schedule, but no reason to fail."""
    s = schedule_of([[Op(CALC, 1, after=[1]), Op(CALC, 1, after=[0])]])
    d = isthmus.simulate(s, level_of(EAGER)).deadlock
    assert d is not None
    assert list(d.cycle) == []
    assert "rank 0 waits for its operation 1 (calc, operation 0)" in str(d)
