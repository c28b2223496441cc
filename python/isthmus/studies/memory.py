"""Memory of an MPI library in every rank: receive buffers for each rank that it is in contact with."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..machine.mpi_memory import receive_queues
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from ..machine import Machine


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Bytes in a rank, and their share of the memory that it has with a rank on every core."""
    machine = _machine(point["machine"])
    memory = machine.node.memory
    if not memory:
        raise InvalidInput(f"{machine.name}: its node says no memory, of which a share is asked")
    shared, each = receive_queues(point["queues"])
    # Ranks of a node use shared memory.
    others = max(point["ranks"] - machine.node.cores, 0) * point["contact"]
    found = shared + each * others
    return {"bytes": found, "each": each, "share": found / (memory / machine.node.cores)}


def _summarise(rows: Sequence[Point]) -> Summary:
    from .memory_page import summarise

    return summarise(rows)


KIND = Kind(
    name="memory",
    doc="receive buffers of an MPI library in a rank, by the number of ranks",
    version=1,
    parameters=(
        Parameter("machine", "machine", "with a rank on every core"),
        Parameter("ranks", "whole", "how many", least=1, most=2**24),
        Parameter("queues", "text", "receive queues in Open MPI's words, as P,128,256,192,128:S,65536,256,128,32"),
        Parameter(
            "contact", "number", "part of the ranks of other nodes that a rank is in contact with", 1.0, most=1.0
        ),
    ),
    measure=measure,
    summarise=_summarise,
)
