"""A recorded program by functions: who called whom, with calls, time, computation and bytes of every function path."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.program import EventKind
from .recording import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program
    from .recording import Recording


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
        self.of_path = np.array([*of_path, 0])
        self.of_call = self.of_path[np.minimum(recording.path, len(of_path))]

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


def _around(program: Program, recording: Recording, nodes: _Nodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Computations, as events, and the function around each."""
    computing = np.flatnonzero(program.kind == EventKind.compute)
    call = np.flatnonzero(recording.event >= 0)
    call = call[np.argsort(recording.event[call], kind="stable")]
    event, node = recording.event[call], np.append(nodes.of_call[call], 0)
    rank = np.searchsorted(program.first.astype(np.int64), computing, side="right") - 1
    after = np.searchsorted(event, computing, side="right")
    before = after - 1
    first, end = program.first.astype(np.int64)[rank], program.first.astype(np.int64)[rank + 1]
    edge = len(event)
    event = np.append(event, -1)
    before = np.where((before >= 0) & (event[before] >= first), before, edge)
    after = np.where((event[after] >= 0) & (event[after] < end), after, edge)
    return computing, nodes.between(node[before], node[after])


def functions_around(program: Program) -> tuple[NDArray[np.int64], list[str]] | None:
    """For every event the number of the function that a computation is in, -1 otherwise, and names of functions.

    None where no call paths are known.
    """
    recording = program.recording
    if recording is None or not len(recording.path_parent):
        return None
    nodes = _Nodes(recording)
    computing, node = _around(program, recording, nodes)
    names = list(dict.fromkeys(nodes.name))
    number = np.array([names.index(name) for name in nodes.name])
    out = np.full(len(program), -1, np.int64)
    out[computing] = np.where(node > 0, number[node], -1)
    return out, names


def by_function(
    program: Program, recording: Recording, part: NDArray[np.intp], rank: int | None, measured: bool
) -> FunctionTree | None:
    """The tree of these calls of a recording, and of the computation of one rank or of all; None without call paths."""
    if not len(recording.path_parent):
        return None
    nodes = _Nodes(recording)
    computing, around = _around(program, recording, nodes)
    key, which = np.unique(
        nodes.of_call[part] * len(recording.functions) + recording.function[part], return_inverse=True
    )
    leaf = np.array([
        nodes.add(node, recording.functions[function])
        for node, function in (divmod(k, len(recording.functions)) for k in key.tolist())
    ], np.int64)[which]  # fmt: skip
    size = len(nodes.name)

    def total(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(leaf, values[part].astype(np.float64), size).astype(np.float64)

    calls, sent, received = (total(column) for column in (recording.count, recording.sent, recording.received))
    time = total((recording.end - recording.begin) * 1e-9) if measured else np.full(size, np.nan)
    mine = np.ones(len(computing), np.bool_)
    if rank is not None:
        mine = (computing >= program.first[rank]) & (computing < program.first[rank + 1])
    seconds = program.amount[computing[mine]].astype(np.float64) * 1e-12
    own = np.bincount(around[mine], seconds, size).astype(np.float64)
    inclusive = own.copy()
    counted = _counted(recording, rank, nodes)
    for node in range(size - 1, 0, -1):
        for column in (calls, sent, received, time, inclusive, *counted.values()):
            column[nodes.parent[node]] += column[node]
    mpi = np.arange(size) >= nodes.functions
    counts = (column.astype(np.uint64) for column in (calls, sent, received))
    calls_, sent_, received_ = counts
    return FunctionTree(
        np.array(nodes.parent), nodes.name, mpi, calls_, time, inclusive, own, sent_, received_,
        counted.pop("", None), {name: column.astype(np.uint64) for name, column in counted.items()},
    )  # fmt: skip


def _counted(recording: Recording, rank: int | None, nodes: _Nodes) -> dict[str, NDArray[np.float64]]:
    """What counters of the processor counted in the functions themselves, by name; without a name the seconds."""
    c = recording.counters
    if c is None:
        return {}
    mine = np.flatnonzero(c.rank == rank) if rank is not None else np.arange(len(c.rank))
    if not len(mine):
        return {}
    before, after = (nodes.of_path[np.minimum(path[mine], len(nodes.of_path) - 1)] for path in (c.before, c.after))
    node = nodes.between(before, after)
    sums: dict[str, NDArray[Any]] = {"": c.seconds, **dict(zip(c.names, c.values, strict=True))}
    return {
        name: np.bincount(node, of[mine].astype(np.float64), len(nodes.name)).astype(np.float64)
        for name, of in sums.items()
    }
