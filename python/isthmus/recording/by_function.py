"""A recorded program by functions: calls, time, computation and bytes of every function path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule import columns
from ..schedule.program import EventKind
from ..schedule.recording import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program
    from ..schedule.recording import Recording


@dataclass(frozen=True, eq=False, slots=True)
class FunctionTree:
    """Functions by who called them, and below them the calls to MPI; parents come first, node 0 is the whole program.

    Attributes
    ----------
    parent : array of int64
        -1 for node 0.
    name : list of str
    mpi : array of bool
        Whether the node is a function of MPI.
    calls : array of uint64
        Calls to MPI in the function and in those that it calls; of all that follow, too.
    time : array of float64
        Seconds of these calls; nan where times mean nothing.
    computing : array of float64
        Seconds of processor time outside MPI. A computation belongs to the innermost function that was entered by both
        the call before and the call after it.
    own : array of float64
        The part of ``computing`` that is not of functions below.
    sent, received : arrays of uint64
        Bytes put into MPI and got out of it.
    counted : array of float64, or None
        Seconds of ``computing`` in which counters of the processor were read; None: they were not.
    counters : dict of str to array of uint64
        What was counted in this time, by name.
    """

    parent: NDArray[np.int64]
    name: list[str]
    mpi: NDArray[np.bool_]
    calls: NDArray[np.uint64]
    time: NDArray[np.float64]
    computing: NDArray[np.float64]
    own: NDArray[np.float64]
    sent: NDArray[np.uint64]
    received: NDArray[np.uint64]
    counted: NDArray[np.float64] | None = None
    counters: dict[str, NDArray[np.uint64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.name)


class _Nodes:
    """Nodes by parent and name; the path of every call as one of them."""

    def __init__(self, recording: Recording) -> None:
        self.parent, self.name = [-1], [""]
        self._number: dict[tuple[int, str], int] = {}
        of_path: list[int] = []
        places = zip(recording.site_function, recording.site_module, recording.sites, strict=True)
        functions = [function or os.path.basename(module) or text for function, module, text in places]
        for parent, site in zip(recording.path_parent.tolist(), recording.path_site.tolist(), strict=True):
            above = of_path[parent] if parent != NONE else 0
            # A function that calls itself is one.
            of_path.append(above if self.name[above] == functions[site] and above else self.add(above, functions[site]))
        self.functions = len(self.name)
        # Calls without a path belong to the whole.
        self._of_path = np.array([*of_path, 0])

    def of(self, path: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Nodes of paths."""
        return self._of_path[np.minimum(path, len(self._of_path) - 1)]

    def add(self, parent: int, name: str) -> int:
        number = self._number.setdefault((parent, name), len(self.name))
        if number == len(self.name):
            self.parent.append(parent)
            self.name.append(name)
        return number

    def up(self, node: int) -> list[int]:
        """From the whole to this node."""
        chain = []
        while node >= 0:
            chain.append(node)
            node = self.parent[node]
        return chain[::-1]

    def common(self, a: int, b: int) -> int:
        """The innermost function around both; where one is not known, the outermost of the other."""
        first, second = self.up(a), self.up(b)
        if a == 0 or b == 0:
            return max(first[:2] + second[:2])
        return max(x for x, y in zip(first, second, strict=False) if x == y)

    def between(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
        """The function around each computation, by the functions that call before and after it."""
        pairs, which = np.unique(before * len(self.name) + after, return_inverse=True)
        found = [self.common(*divmod(pair, len(self.name))) for pair in pairs.tolist()]
        return np.array(found, np.int64)[which]


def _around(
    program: Program, recording: Recording, nodes: _Nodes, ranks: Iterable[int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Computations of one rank after another, as events, and the function around each."""
    for rank in ranks:
        first, end = int(program.first[rank]), int(program.first[rank + 1])
        computing = first + np.flatnonzero(program.kind[first:end] == EventKind.compute)
        mine = slice(int(recording.first[rank]), int(recording.first[rank + 1]))
        event, path = recording.event[mine], recording.path[mine]
        there = event >= 0
        if not there.all():
            event, path = event[there], path[there]
        if (event[1:] < event[:-1]).any():
            order = np.argsort(event, kind="stable")
            event, path = event[order], path[order]
        # The last is for computation before the first call and after the last.
        node, edge = np.append(nodes.of(path), 0), len(event)
        for part in columns.blocks(len(computing)):
            after = np.searchsorted(event, computing[part], side="right")
            before = np.where(after > 0, after - 1, edge)
            yield computing[part], nodes.between(node[before], node[after])
        recording.drop()


def functions_around(program: Program) -> tuple[NDArray[np.int32], list[str]] | None:
    """For every event the number of the function that a computation is in, -1 otherwise, and names of functions.

    None where no call paths are known.
    """
    recording = program.recording
    if recording is None or not len(recording.path_parent):
        return None
    nodes = _Nodes(recording)
    names = list(dict.fromkeys(nodes.name))
    number = np.array([names.index(name) for name in nodes.name])
    out = columns.large(len(program), np.int32)
    out[:] = -1
    for computing, node in _around(program, recording, nodes, range(program.ranks)):
        out[computing] = np.where(node > 0, number[node], -1)
    return out, names


def by_function(
    program: Program,
    recording: Recording,
    calls: Iterable[tuple[NDArray[np.intp], Any]],
    rank: int | None,
    measured: bool,
) -> FunctionTree | None:
    """The tree of these calls of a recording, and of the computation of one rank or of all; None without call paths.

    Parameters
    ----------
    calls : iterable of (array, ...)
        Which calls, in parts that are gone through twice.
    """
    if not len(recording.path_parent):
        return None
    nodes = _Nodes(recording)
    functions = len(recording.functions)

    def keys(part: NDArray[np.intp]) -> NDArray[np.int64]:
        return nodes.of(recording.path[part]) * functions + recording.function[part]

    key = np.empty(0, np.int64)
    for part, _ in calls:
        key = np.union1d(key, keys(part))
    leaves = np.array([nodes.add(k // functions, recording.functions[k % functions]) for k in key.tolist()], np.int64)
    size = len(nodes.name)
    summed = np.zeros((4, size))
    for part, _ in calls:
        leaf = leaves[np.searchsorted(key, keys(part))]
        length = (recording.end[part] - recording.begin[part]) * 1e-9
        values: list[NDArray[Any]] = [recording.count[part], recording.sent[part], recording.received[part], length]
        for i, column in enumerate(values):
            summed[i] += np.bincount(leaf, column.astype(np.float64), size)
    calls_, sent, received, time = summed
    if not measured:
        time = np.full(size, np.nan)
    own = np.zeros(size)
    for computing, around in _around(program, recording, nodes, range(program.ranks) if rank is None else [rank]):
        own += np.bincount(around, program.amount[computing].astype(np.float64) * 1e-12, size)
    inclusive = own.copy()
    counted = _counted(recording, rank, nodes)
    for node in range(size - 1, 0, -1):
        for column in (calls_, sent, received, time, inclusive, *counted.values()):
            column[nodes.parent[node]] += column[node]
    mpi = np.arange(size) >= nodes.functions
    counts = [column.astype(np.uint64) for column in (calls_, sent, received)]
    return FunctionTree(
        np.array(nodes.parent), nodes.name, mpi, counts[0], time, inclusive, own, counts[1], counts[2],
        counted.pop("", None), {name: column.astype(np.uint64) for name, column in counted.items()},
    )  # fmt: skip


def _counted(recording: Recording, rank: int | None, nodes: _Nodes) -> dict[str, NDArray[np.float64]]:
    """Counts of processor events in the functions themselves, by name; without a name, seconds."""
    c = recording.counters
    if c is None:
        return {}
    mine = np.flatnonzero(c.rank == rank) if rank is not None else np.arange(len(c.rank))
    if not len(mine):
        return {}
    before, after = (nodes.of(path[mine]) for path in (c.before, c.after))
    node = nodes.between(before, after)
    sums: dict[str, NDArray[Any]] = {"": c.seconds, **dict(zip(c.names, c.values, strict=True))}
    return {
        name: np.bincount(node, of[mine].astype(np.float64), len(nodes.name)).astype(np.float64)
        for name, of in sums.items()
    }
