"""Machines and programs with something changed: what what-ifs simulate."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ..machine import Levels
from ..machine.kinds import KINDS
from ..schedule.program import CollectiveKind, EventKind, Program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..machine import Machine

#: What scales together, and what it is called.
COSTS = {
    "latency": ("L", "per_hop"),
    "bandwidth": ("g", "G"),
    "overhead": ("o_send", "o_recv", "O"),
}
#: Collectives after which no rank is before any other's call.
_SYNCHRONISING = (
    CollectiveKind.barrier, CollectiveKind.allreduce, CollectiveKind.allgather, CollectiveKind.alltoall,
    CollectiveKind.reduce_scatter,
)  # fmt: skip


def changed(machine: Machine, factors: Mapping[str, float]) -> Machine:
    """The machine with costs of messages multiplied by a factor, at all levels.

    Nodes, cables and description stay those of the machine, so that its allocations fit; bandwidth and latency of the
    links change with those of the levels, for models in which messages meet.

    Parameters
    ----------
    factors : mapping of str to float
        By the names of COSTS. A bandwidth twice as large is a factor of 1/2: it is the time that is scaled. Where it is
        0 the links stay as they are, as no model in which messages meet knows infinite ones.
    """
    by_field = {field: factor for name, factor in factors.items() for field in COSTS[name]}
    levels = {
        level.name: replace(
            getattr(machine.level, level.name),
            **{name: getattr(getattr(machine.level, level.name), name) * factor for name, factor in by_field.items()},
        )
        for level in fields(Levels)
    }
    out = copy.copy(machine)
    out.level = Levels(**levels)
    slower, longer = factors.get("bandwidth", 1.0), factors.get("latency", 1.0)
    if slower > 0 and (slower, longer) != (1.0, 1.0):
        values = machine.description.values["topology"]
        links = [
            (name, bandwidth / slower, latency * longer) for name, bandwidth, latency in machine.topology.link_classes
        ]
        out.topology = KINDS[values["kind"]].build(values, links)
    return out


def scaled(program: Program, factor: float) -> Program:
    """The program with the time of all computation multiplied by a factor; nothing that takes time becomes 0."""
    amount = program.amount.copy()
    computing = (program.kind == EventKind.compute) & (amount > 0)
    amount[computing] = np.maximum(np.rint(amount[computing] * factor), 1).astype(np.uint64)
    return replace(program, amount=amount)


def balanced(program: Program) -> Program:
    """The program with computation even between synchronisations.

    A section of a program is what lies between two blocking collectives of all ranks after which all are equally far
    (barrier, allreduce, allgather, alltoall, reduce_scatter, fence, new communicators). In each section every rank that
    computes at all computes for the mean of those; its computations keep their proportions.
    """
    p = program
    computing = np.flatnonzero((p.kind == EventKind.compute) & (p.amount > 0))
    if not len(computing):
        return p
    meets = (p.kind == EventKind.collective) & (p.request == 0) & np.isin(p.what, _SYNCHRONISING)
    meets |= np.isin(p.kind, (EventKind.fence, EventKind.comm_create))
    meets &= p.comm == 0
    before = np.concatenate([[0], np.cumsum(meets)])
    first = p.first.astype(np.int64)
    rank = np.searchsorted(first, computing, side="right") - 1
    section = before[computing] - before[first[rank]]
    time = p.amount[computing].astype(np.float64)
    pair, place = np.unique(section * p.ranks + rank, return_inverse=True)
    of_pair = np.bincount(place, weights=time)
    _, group = np.unique(pair // p.ranks, return_inverse=True)
    mean = np.bincount(group, weights=of_pair) / np.bincount(group)
    factor = (mean[group] / of_pair)[place]
    amount: NDArray[np.uint64] = p.amount.copy()
    amount[computing] = np.maximum(np.rint(time * factor), 1).astype(np.uint64)
    return replace(p, amount=amount)
