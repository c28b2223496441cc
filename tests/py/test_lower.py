"""Lowered programs against an interpreter of MPI that knows nothing of schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import InvalidInput, ProgramBuilder
from oracles.dataflow import Call, Op, Outcome, before, execute, interpret, nodes, operations, reached

KINDS = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "allgather",
    "scatter",
    "alltoall",
    "reduce_scatter",
    "scan",
    "exscan",
]


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[list[Call]], ProgramBuilder]:
    """Calls of every rank, and the same in a builder. Many of them deadlock."""
    ranks = draw(st.integers(1, 3))
    b = ProgramBuilder(ranks)
    program: list[list[Call]] = []
    peers, tags = st.integers(-2, ranks - 1), st.integers(0, 1)
    for rank in range(ranks):
        calls: list[Call] = []
        requests: dict[int, Any] = {}
        for _ in range(draw(st.integers(0, 10))):
            kind = draw(st.sampled_from(["compute", "send", "recv", "isend", "irecv", "sendrecv", "wait", "waitall",
                                         "waitany", "test", "iteration"]))  # fmt: skip
            # Receives name their source, so that what meets what does not depend on who is faster.
            peer, tag, source = draw(peers.filter(lambda p: p != -1)), draw(tags), draw(peers.filter(lambda p: p != -1))
            wanted = draw(st.sampled_from([tag, -1]))
            message = None if peer == -2 else (peer, tag)
            incoming = None if source == -2 else (source, wanted)
            calls.append(Call())
            call, number = calls[-1], len(calls) - 1
            some = draw(st.permutations(sorted(requests)))[: draw(st.integers(1, 3))] if requests else []
            match kind:
                case "compute":
                    b.compute(rank, 1e-6)
                    call.compute = True
                case "iteration":
                    b.iteration(rank, number)
                case "send":
                    b.send(rank, peer, 8, tag)
                    call.send = message
                case "recv":
                    b.recv(rank, source, 8, wanted)
                    call.recv = incoming
                case "isend":
                    requests[number] = b.isend(rank, peer, 8, tag)
                    call.send, call.blocking = message, False
                case "irecv":
                    requests[number] = b.irecv(rank, source, 8, wanted)
                    call.recv, call.blocking = incoming, False
                case "sendrecv":
                    b.sendrecv(rank, peer, 8, source, 8, tag, wanted)
                    call.send, call.recv = message, incoming
                case "wait" if some:
                    b.wait(rank, requests.pop(some[0]))
                    call.completes = some[:1]
                case "test" if some:
                    if draw(st.booleans()):
                        b.test(rank, requests.pop(some[0]), True)
                        call.completes = some[:1]
                    else:
                        b.test(rank, requests[some[0]], False)
                case "waitany" if some:
                    which = draw(st.integers(0, len(some) - 1))
                    b.waitany(rank, [requests[i] for i in some], which)
                    del requests[some[which]]
                    call.completes = [some[which]]
                case "waitall" if some and draw(st.booleans()):
                    b.waitall(rank, [requests.pop(i) for i in some])
                    call.completes = list(some)
                case "waitall":
                    b.waitall(rank)
                    call.completes = sorted(requests)
                    requests.clear()
        program.append(calls)
    return program, b


def renumbered(outcome: Outcome, schedule: isthmus.Schedule) -> Outcome:
    """Without the joins, which no call of the program is."""
    names: dict[Op, Op] = {}
    for rank in range(schedule.ranks):
        own = [i for i, node in enumerate(nodes(schedule, rank)) if node.kind != 3 or node.amount]
        names |= {(rank, i): (rank, k) for k, i in enumerate(own)}
    return Outcome(
        {names[op] for op in outcome.started if op in names},
        {names[op] for op in outcome.done if op in names},
        {(names[a], names[b]) for a, b in outcome.matches},
    )


@given(programs())
@settings(max_examples=200, deadline=None)
def test_lowered_program_waits_for_what_the_program_waits_for(drawn: tuple[list[list[Call]], ProgramBuilder]) -> None:
    program, b = drawn
    schedule = isthmus.lower(b.build())
    for rank, calls in enumerate(program):
        graph = nodes(schedule, rank)
        own = [i for i, node in enumerate(graph) if node.kind != 3 or node.amount]
        kinds = [{1: "send", 2: "recv", 3: "calc"}[graph[i].kind] for i in own]
        assert kinds == [kind for _, kind in operations(calls)]
        name = {i: k for k, i in enumerate(own)}
        found = [{(name[a], name[b]) for a, b in pairs if a in name and b in name} for pairs in reached(graph)]
        done, started = before(calls)
        # A calc is done as soon as it has started.
        done |= {(a, b) for a, b in started if kinds[a] == "calc"}
        assert found == [done, started]


@given(programs(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_lowered_program_meets_and_blocks_as_the_program(
    drawn: tuple[list[list[Call]], ProgramBuilder], eager: bool
) -> None:
    program, b = drawn
    schedule = isthmus.lower(b.build())
    assert renumbered(execute(schedule, eager), schedule) == interpret(program, eager)


@st.composite
def matched_programs(draw: st.DrawFn) -> ProgramBuilder:
    """Programs that cannot deadlock: all ranks of a communicator call collectives, or exchange with a neighbour."""
    ranks = draw(st.integers(1, 6))
    b = ProgramBuilder(ranks)
    members: list[list[int]] = [list(range(ranks))]
    for _ in range(draw(st.integers(0, 2))):
        members.append(draw(st.permutations(range(ranks)))[: draw(st.integers(1, ranks))])
        b.communicator(members[-1])
    open_requests = False
    for _ in range(draw(st.integers(1, 6))):
        comm = draw(st.integers(0, len(members) - 1))
        size = len(members[comm])
        kind = draw(st.sampled_from([*KINDS, "ring", "fence", "split", "waitall"]))
        nonblocking = draw(st.booleans())
        if kind == "ring":
            right = [(i + 1) % size for i in range(size)]
            left = [(i - 1) % size for i in range(size)]
            b.sendrecv(members[comm], right, 8, left, comm=comm)
        elif kind == "fence":
            b.put(members[comm], 0, 8, comm)
            b.fence(members[comm], comm)
        elif kind == "split":
            b.split(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)), parent=comm)
            members = [list(m) for m in b._members]
        elif kind == "waitall":
            b.waitall(None)
        else:
            counts = None
            if kind in ("gather", "allgather", "scatter", "reduce_scatter") and draw(st.booleans()):
                counts = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
            bytes = draw(st.integers(0, 30))
            root = draw(st.integers(0, size - 1))
            b.collective(kind, members[comm], bytes, root, comm, counts=counts, nonblocking=nonblocking)
            open_requests |= nonblocking
    if open_requests:
        b.waitall(None)
    b.compute(None, 1e-6)
    return b


@given(matched_programs(), st.booleans(), st.integers(0, 1), st.data())
@settings(max_examples=100, deadline=None)
def test_matched_programs_end(b: ProgramBuilder, eager: bool, progress_stream: int, data: st.DataObject) -> None:
    from isthmus.collectives import algorithms, describe

    def textbook(kind: str) -> list[str]:
        # Tests of the registry leave their own algorithms, without a reference, behind.
        return [name for name in algorithms(kind) if describe(kind, name).reference]

    chosen: dict[str, Any] = {
        kind: data.draw(st.sampled_from(textbook(kind)))
        for kind in ("barrier", "bcast", "reduce", "gather", "scatter", "alltoall", "reduce_scatter", "scan", "exscan")
    }
    chosen["allreduce"] = [(10, "linear"), (None, "ring")]
    chosen["allgather"] = [[5, data.draw(st.sampled_from(textbook("allgather")))]]
    program = b.build()
    program.validate()
    schedule = isthmus.lower(program, collectives=chosen, progress_stream=progress_stream)
    outcome = execute(schedule, eager)
    assert len(outcome.done) == len(schedule)
    for send, recv in outcome.matches:
        a, c = (schedule.ops[int(schedule.op_first[rank]) + i] for rank, i in (send, recv))
        assert a["amount"] == c["amount"]
    assert set(schedule.ops["cpu"].tolist()) <= {0, progress_stream}


def test_one_collective_is_that_of_collective() -> None:
    b = ProgramBuilder(7)
    b.allgather(None, counts=[1, 2, 3, 4, 5, 6, 7])
    lowered = isthmus.lower(b.build(), collectives={"allgather": "dissemination"})
    alone = isthmus.collective("allgather", ranks=7, algorithm="dissemination", counts=[1, 2, 3, 4, 5, 6, 7])
    for name in ("amount", "peer", "tag", "first_edge", "needs", "kind", "cpu", "nic"):
        assert (lowered.ops[name] == alone.ops[name]).all()
    assert (lowered.edges == alone.edges).all()
    messages = lowered.ops["kind"] <= 2
    assert set(lowered.ops["comm"][messages].tolist()) == {1}


@pytest.mark.parametrize(
    ("collectives", "reason"),
    [
        ({"allreduced": "ring"}, r"collective 'allreduced': must be one of barrier, bcast, .*, neighbor_alltoall$"),
        (
            {"allreduce": "rings"},
            r"algorithm 'rings' of allreduce: must be one of recursive_doubling, binomial, linear, ring",
        ),
        ({"allreduce": ""}, r"rule \(None, ''\) of allreduce"),
        ({"allreduce": [(1, "ring", 2)]}, r"rule \(1, 'ring', 2\) of allreduce: must be an algorithm, or pairs"),
        ({"allreduce": 5}, r"rule 5 of allreduce: must be an algorithm, or pairs"),
        ({"allreduce": ["ring"]}, r"rule 'ring' of allreduce: must be an algorithm, or pairs"),
        ({"allreduce": [(-1, "ring")]}, r"rule \(-1, 'ring'\) of allreduce: its most bytes must be"),
        ({"allreduce": [(1.5, "ring")]}, r"its most bytes must be a whole number"),
    ],
)
def test_wrong_choices_are_rejected(collectives: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        isthmus.lower(ProgramBuilder(1).build(), collectives=collectives)


@pytest.mark.parametrize("stream", [-1, 256, 0.5, None])
def test_wrong_stream_is_rejected(stream: Any) -> None:
    with pytest.raises(InvalidInput, match=r"progress_stream is .*: must be 0 to 255"):
        isthmus.lower(ProgramBuilder(1).build(), progress_stream=stream)


def test_errors_name_rank_event_and_reason() -> None:
    b = ProgramBuilder(2)
    b.compute(1, 1e-6)
    b.wait(1, 4)
    with pytest.raises(InvalidInput, match=r"rank 1, event 1 \(wait\): request 4 is not open"):
        isthmus.lower(b.build())


def test_communicators_of_many_ranks() -> None:
    """Their allgather takes log2 P rounds and not P - 1; small programs and rules of the user stay as they are."""

    def messages(ranks: int, **collectives: Any) -> int:
        b = isthmus.ProgramBuilder(ranks)
        b.split(np.arange(ranks) % 2)
        s = isthmus.lower(b.build(), **collectives)
        return int((s.ops["kind"] == isthmus.schedule.operation.OpKind.send).sum())

    assert messages(600) == 600 * 10
    assert messages(256) == 256 * 255
    assert messages(300, collectives={"allgather": "ring"}) == 300 * 299
    assert messages(300, collectives={"barrier": "dissemination"}) == 300 * 9
