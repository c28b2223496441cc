"""Reductions of a program whose operators do not commute, as recordings mark them: which algorithms they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collectives import algorithms
from ..collectives.order import keeps_order, require_order
from ..errors import InvalidInput
from ..schedule.event import ONE_LIST
from ..schedule.program import REDUCTIONS, CollectiveKind, EventKind
from .rules import triples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program
    from .rules import Rules


def marked(program: Program) -> NDArray[np.int64]:
    """Events that are reductions by operators that do not commute."""
    events = np.flatnonzero((program.kind == EventKind.collective) & (program.tag == 1))
    out: NDArray[np.int64] = events[np.isin(program.what[events], REDUCTIONS)]
    return out


def in_order(program: Program, collectives: Mapping[str, Rules], chosen: bool) -> Mapping[str, Rules]:
    """Rules for the marked reductions; empty where there are none.

    Where a rule's algorithm does not keep the order of ranks, the first that does takes its place, or it is refused
    where it was ``chosen``. No algorithm of reduce keeps it for other roots than 0: there the rules stay as they are.

    Raises
    ------
    InvalidInput
        For a chosen algorithm that marked calls would take.
    """
    events = marked(program)
    if not len(events):
        return {}
    members = np.diff(program.comm_first.astype(np.int64))
    out = dict(collectives)
    for number in np.unique(program.what[events]).tolist():
        kind = CollectiveKind(number).name
        calls = events[program.what[events] == number]
        root = int(program.peer[calls].max()) if kind == "reduce" else 0
        first = next((name for name in algorithms(kind) if keeps_order(kind, name, root=root)), None)
        if first is None:
            continue
        ranks = members[program.comm[calls].astype(np.int64)]
        sizes = np.unique(np.stack([ranks, deciding_sizes(program, calls, ranks)]), axis=1)
        open_ = np.ones(sizes.shape[1], np.bool_)
        rules: list[tuple[Any, ...]] = []
        for ranks_most, most, algorithm in triples(kind, collectives[kind]) if kind in collectives else ():
            taken = open_ & (sizes[0] <= (ranks_most or 2**62)) & (sizes[1] <= (2**63 - 1 if most is None else most))
            open_ &= ~taken
            keeps = keeps_order(kind, algorithm, ranks=program.ranks, root=root)
            if chosen and taken.any() and not keeps:
                try:
                    require_order(kind, algorithm, ranks=program.ranks, root=root)
                except InvalidInput as error:
                    raise InvalidInput(f"{error}; {len(calls)} of the program's calls have one") from None
            rules.append((ranks_most, most, algorithm if keeps else first))
        out[kind] = [*rules, (None, None, first)]
    return out


def deciding_sizes(program: Program, event: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The size of each collective that decides on its algorithm: where there are counts that all know, their mean."""
    size = program.amount[event].astype(np.int64)
    counted = np.flatnonzero(np.isin(program.what[event], ONE_LIST) & (program.detail[event] != 0))
    values, length = program.expanded(event[counted])
    if len(counted):
        ends = np.cumsum(length)
        sums = np.concatenate([[0], np.cumsum(values)])
        size[counted] = (sums[ends] - sums[ends - length]) // ranks[counted]
    return size
