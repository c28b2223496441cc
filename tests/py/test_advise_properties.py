"""What holds of advice on any program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.advice.analysis.event_of_operation import completions, events_of_operations
from isthmus.advice.analysis.what_if import balanced, changed
from isthmus.schedule.computation import scaled
from isthmus.schedule.program import EventKind, Program
from isthmus.schedule.schedule import OpKind
from noun_strategies import programs

EXAMPLES = settings(max_examples=60, deadline=None)
MACHINE = "torus:2x2x2 cores=4 sockets=2 link=1GB/s L=2us o=0.3us g=0.2us O=0.1ns/B memory_bandwidth=10GB/s"


@given(programs())
@EXAMPLES
def test_every_operation_has_its_event(program: Program) -> None:
    schedule = isthmus.lower(program)
    event = events_of_operations(program, schedule)
    assert len(event) == len(schedule)
    ops = schedule.ops
    rank = np.repeat(np.arange(program.ranks), np.diff(schedule.op_first.astype(np.int64)))
    assert np.array_equal(program.rank_of_events()[event], rank)
    assert (np.diff(event) >= 0).all()
    for op, of in zip(ops, event, strict=True):
        kind, comm = EventKind(program.kind[of]), int(program.comm[of])
        if op["kind"] in (OpKind.copy, OpKind.reduce):
            assert kind is EventKind.collective
        elif op["kind"] == OpKind.calc:
            assert op["amount"] == 0 or (kind is EventKind.compute and op["amount"] == program.amount[of])
        elif op["kind"] in (OpKind.put, OpKind.get):
            assert kind in (EventKind.put, EventKind.get, EventKind.lock)
        elif op["comm"] % 2:
            assert kind in (EventKind.collective, EventKind.fence, EventKind.comm_create)
            assert op["comm"] == 2 * comm + 1
        else:
            assert kind.name in ("send", "isend", "sendrecv") or op["kind"] == OpKind.recv
            assert op["comm"] == 2 * comm
            if kind is not EventKind.sendrecv:
                assert op["amount"] == program.amount[of]


@given(programs())
@EXAMPLES
def test_completions(program: Program) -> None:
    found = completions(program)
    for rank in range(program.ranks):
        first, end = int(program.first[rank]), int(program.first[rank + 1])
        opened: dict[int, int] = {}
        expected = dict(zip(range(first, end), range(first, end), strict=True))
        for e in range(first, end):
            kind, request = program.kind[e], int(program.request[e])
            listed, _ = program.expanded(np.array([e]))
            closed: list[int] = []
            if kind in (EventKind.isend, EventKind.irecv) or (kind == EventKind.collective and request):
                opened[request] = e
            elif kind == EventKind.wait or (kind == EventKind.test and program.amount[e]):
                closed = [request]
            elif kind == EventKind.waitany:
                closed = [int(listed[program.amount[e]])]
            elif kind == EventKind.waitall:
                closed = [int(r) for r in listed] if program.detail[e] else list(opened)
            for r in closed:
                if r in opened:
                    expected[opened.pop(r)] = e
        assert {e: int(found[e]) for e in range(first, end)} == expected


@given(programs())
@EXAMPLES
def test_shares_and_bounds(program: Program) -> None:
    # So short that messages matter.
    program = scaled(program, 1e-6)
    if isthmus.simulate(program, MACHINE).makespan_ps == 0:
        return
    advice = isthmus.advise(program, MACHINE, tune_seconds=0)
    (p,) = advice.predictions
    slack = 1e-12 * (10 + len(program))
    together = sum(v for v in p.by_rank.values() if v is not None)
    assert together == pytest.approx(np.full(program.ranks, p.time), abs=slack)
    assert all(v is None or v.min() >= -slack for v in p.by_rank.values())
    assert p.path is not None
    assert sum(p.path.values()) == pytest.approx(p.time, abs=slack)
    assert sum(c.path for c in p.calls) == pytest.approx(p.time, abs=slack)
    assert sum(c.busy + c.waiting for c in p.calls) + (p.mean["idle"] or 0) == pytest.approx(p.time, abs=slack)
    e = p.efficiency
    for value in (e.load_balance, e.serialisation, e.transfer):
        assert -1e-9 <= value <= 1 + 1e-9
    time = {w.name: w.time for w in p.what_ifs}
    # No faster network hides more than overlap could.
    swift = isthmus.simulate(
        isthmus.lower(program), changed(p.machine, {"latency": 0, "bandwidth": 0}), p.placement
    ).makespan
    assert time["overlap"] <= min(swift, time["latency"], time["bandwidth"]) + slack
    assert time["work"] <= min(time["overlap"], time.get("balance", p.time)) + slack
    assert time["synchronisation"] >= time["work"] - slack
    page, page_again = str(advice), str(isthmus.advise(program, MACHINE, tune_seconds=0))
    assert page == page_again


@given(programs(), st.floats(0.1, 10))
@EXAMPLES
def test_balanced_programs_compute_as_much(program: Program, factor: float) -> None:
    for changed_program, expected in ((balanced(program), 1.0), (scaled(program, factor), factor)):
        computing = program.kind == EventKind.compute
        was, now = (p.amount[computing].astype(float).sum() for p in (program, changed_program))
        assert now == pytest.approx(expected * was, rel=1e-9, abs=len(program))
        assert np.array_equal(changed_program.amount[~computing], program.amount[~computing])
        assert np.array_equal(changed_program.amount == 0, program.amount == 0)


@pytest.mark.parametrize(("rows", "columns", "steps", "seed"), [(2, 4, 6, 8), (4, 4, 6, 4), (2, 2, 4, 9)])
def test_computation_is_even_in_all_groups_as_by_loops(rows: int, columns: int, steps: int, seed: int) -> None:
    """Ranks in a grid meet in rows and columns in turn, and some compute nothing in between. The oracle evens one group
    after the other, until nothing changes, and replays it: a row or column goes on when the last of it has come."""
    random = np.random.default_rng(seed)
    ranks = rows * columns
    rank = np.arange(ranks)
    groups = [[rank[rank // columns == i] for i in range(rows)], [rank[rank % columns == i] for i in range(columns)]]
    work = 1e-3 * np.exp(random.normal(0, 1.5, (ranks, steps))) * (random.random((ranks, steps)) < 0.6)
    b = isthmus.ProgramBuilder(ranks)
    communicators = [[b.communicator(group) for group in kind] for kind in groups]
    for step in range(steps):
        b.compute(None, work[:, step])
        for group, communicator in zip(groups[step % 2], communicators[step % 2], strict=True):
            b.alltoall(group, 8, comm=communicator)
    b.barrier(None)
    program = b.build()

    even = work.copy()
    for _ in range(2000):
        for step in range(steps):
            for group in groups[step % 2]:
                some = group[work[group, step] > 0]
                even[some, step] = even[some, step].mean() if len(some) else 0
        of_rank = even.sum(axis=1)
        computes = of_rank > 0
        even[computes] *= (of_rank[computes].mean() / of_rank[computes])[:, None]

    def replayed(work: np.ndarray) -> float:
        now = np.zeros(ranks)
        for step in range(steps):
            now += work[:, step]
            for group in groups[step % 2]:
                now[group] = now[group].max()
        return float(now.max())

    free = isthmus.load("ring:16 cores=1 hop=0s L=0us o=0us g=0us G=0ns/B name=plain")
    assert isthmus.simulate(program, free).makespan == pytest.approx(replayed(work), rel=1e-6)
    assert isthmus.simulate(balanced(program), free).makespan == pytest.approx(
        replayed(even), abs=0.004 * replayed(work)
    )
