"""Collectives from Python: arguments, counts and algorithms of users. What algorithms do is tested in C++."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, ProgramBuilder, collectives
from oracles.dataflow import execute

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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", [1, 2, 7, 8])
def test_every_algorithm_runs_and_is_valid(kind: str, ranks: int) -> None:
    names = [name for name in collectives.algorithms(kind) if collectives.describe(kind, name).reference]
    for name in names:
        schedule = isthmus.collective(kind, ranks=ranks, bytes=100, algorithm=name, root=0)
        schedule.validate()
        assert schedule.ranks == ranks
        assert len(execute(schedule, eager=False).done) == len(schedule)
    default = isthmus.collective(kind, ranks=ranks, bytes=100)
    assert default == isthmus.collective(kind, ranks=ranks, bytes=100, algorithm=names[0])


def test_counts_of_alltoall_are_a_matrix() -> None:
    matrix = np.array([[9, 1, 2], [3, 9, 0], [5, 6, 9]])
    schedule = isthmus.collective("alltoall", ranks=3, counts=matrix, algorithm="linear")
    sends = schedule.ops["kind"] == 1
    rank = np.repeat(np.arange(3), np.diff(schedule.op_first.astype(int)))
    moved = np.zeros((3, 3), int)
    moved[rank[sends], schedule.ops["peer"][sends]] = schedule.ops["amount"][sends]
    assert (moved == matrix - np.diag([9, 9, 9])).all()
    assert sends.sum() == 5


def test_counts_of_neighbours_are_messages() -> None:
    schedule = isthmus.collective("neighbor_alltoall", ranks=3, counts=[[0, 2, 10], [2, 1, 20]])
    assert [str(line) for line in schedule.rank(2).__str__().splitlines()[1:]] == [
        "  0: recv 10 B from 0 tag 0",
        "  1: send 20 B to 1 tag 0",
    ]
    assert len(isthmus.collective("neighbor_alltoall", ranks=3, counts=np.empty((0, 3), int))) == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"kind": "bcasts", "ranks": 2}, "collective 'bcasts': must be one of barrier"),
        (
            {"kind": "bcast", "ranks": 2, "algorithm": "x"},
            "algorithm 'x' of bcast: must be one of binomial, linear, ring",
        ),
        ({"kind": "bcast", "ranks": 2, "root": 2}, "bcast: root 2 does not exist: there are 2 ranks"),
        ({"kind": "bcast", "ranks": 0}, "bcast: 0 ranks"),
        ({"kind": "bcast", "ranks": 2.5}, r"ranks is 2\.5: expected a whole number"),
        ({"kind": "bcast", "ranks": 2**32}, "ranks is 4294967296: must be 0 to 4294967294"),
        ({"kind": "bcast", "ranks": 2, "bytes": -1}, "bytes is -1: must be 0 to"),
        ({"kind": "bcast", "ranks": 2, "counts": [1, 2]}, "bcast: takes no counts"),
        ({"kind": "gather", "ranks": 2, "counts": [1, 2, 3]}, r"counts of gather have shape \(3,\): expected \(2,\)"),
        ({"kind": "gather", "ranks": 2, "counts": [1, -2]}, "gather: count -2 is negative"),
        ({"kind": "gather", "ranks": 2, "counts": [1, 0.5]}, "counts of gather have type float64"),
        ({"kind": "alltoall", "ranks": 2, "counts": [1, 2, 3, 4]}, r"shape \(4,\): expected \(2, 2\)"),
        ({"kind": "neighbor_alltoall", "ranks": 2, "counts": [[1, 2]]}, r"shape \(1, 2\): expected \(1, 3\)"),
        ({"kind": "neighbor_alltoall", "ranks": 2, "counts": [[0, 2, 1]]}, "rank 2 does not exist: there are 2 ranks"),
    ],
)
def test_wrong_arguments_are_rejected(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        isthmus.collective(**arguments)


def everyone_to_root(call: Any, out: Any) -> None:
    if call.rank != call.root:
        out.send(call.root, call.bytes)
        return
    last = None
    for rank in range(call.ranks):
        if rank != call.root:
            got = out.recv(rank, call.bytes)
            added = out.reduce(call.bytes)
            out.require(added, got)
            if last is not None:
                out.require(added, last)
            last = added


def test_registered_algorithm_is_used_by_collective_and_lower() -> None:
    collectives.register("reduce", "my reduce", everyone_to_root)
    assert collectives.algorithms("reduce")[-1] == "my reduce"
    schedule = isthmus.collective("reduce", ranks=4, bytes=8, root=2, algorithm="my reduce")
    schedule.validate()
    assert str(schedule.rank(2)).splitlines()[-1].split(": ")[1] == "reduce 8 B requires 3 4"
    b = ProgramBuilder(6)
    comm = b.communicator([5, 3, 1])
    b.reduce([5, 3, 1], 8, root=1, comm=comm)
    lowered = isthmus.lower(b.build(), collectives={"reduce": "my reduce"})
    lowered.validate()
    assert lowered.ops["peer"][lowered.ops["kind"] == 1].tolist() == [3, 3]
    # A later function takes the name over.
    collectives.register("reduce", "my reduce", lambda call, out: None)
    assert len(isthmus.collective("reduce", ranks=4, bytes=8, algorithm="my reduce")) == 0


def test_algorithm_sees_its_call() -> None:
    seen: list[tuple[Any, ...]] = []

    def look(call: Any, out: Any) -> None:
        seen.append((call.kind, call.rank, call.ranks, call.root, call.bytes, call.counts.tolist()))

    collectives.register("gather", "my look", look)
    isthmus.collective("gather", ranks=2, bytes=3, root=1, algorithm="my look", counts=[5, 6])
    assert seen == [("gather", rank, 2, 1, 3, [5, 6]) for rank in (0, 1)] * 2


@pytest.mark.parametrize(
    ("body", "error", "reason"),
    [
        (lambda call, out: 1 / 0, ZeroDivisionError, "division by zero"),
        (lambda call, out: out.send(call.ranks, 1), InvalidInput, "rank 3 does not exist: the collective has 3 ranks"),
        (lambda call, out: out.require(0, 1), InvalidInput, "operation 0 cannot wait for 1: the collective has 0"),
        (lambda call, out: out.require(out.copy(1), 0), InvalidInput, "operation 0 cannot wait for 0"),
        (lambda call, out: out.send(0), TypeError, "incompatible function arguments"),
        (lambda call: None, TypeError, "positional argument"),
    ],
)
def test_errors_of_algorithms_reach_the_caller(body: Any, error: type[Exception], reason: str) -> None:
    collectives.register("barrier", "my error", body)
    with pytest.raises(error, match=reason):
        isthmus.collective("barrier", ranks=3, algorithm="my error")
    b = ProgramBuilder(3)
    b.barrier(None)
    with pytest.raises(error, match=reason):
        isthmus.lower(b.build(), collectives={"barrier": "my error"})


def test_operations_cannot_be_written_later() -> None:
    kept: list[Any] = []
    collectives.register("barrier", "my keeper", lambda call, out: kept.append(out))
    isthmus.collective("barrier", ranks=2, algorithm="my keeper")
    with pytest.raises(InvalidInput, match="before its algorithm returns"):
        kept[0].send(0, 1)
    with pytest.raises(TypeError):
        type(kept[0])()


def test_names_of_textbook_algorithms_are_taken() -> None:
    with pytest.raises(InvalidInput, match="algorithm 'ring' of bcast is part of Isthmus"):
        collectives.register("bcast", "ring", everyone_to_root)
    with pytest.raises(InvalidInput, match="expected a function of call and out"):
        collectives.register("bcast", "mine", 3)  # type: ignore[arg-type]
    assert ("bcast", "ring") not in collectives._functions
    assert "mine" not in collectives.algorithms("bcast")


def test_python_ends_cleanly_with_registered_algorithms() -> None:
    code = (
        "import isthmus\nfrom isthmus import collectives\n"
        "collectives.register('bcast', 'mine', lambda call, out: isthmus.Schedule)\n"
        "isthmus.collective('bcast', ranks=2, algorithm='mine')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
