"""Calls of a program that could go on behind its computation, and what that would save by simulation.

Two kinds of calls are looked at. A blocking collective after, or before, a computation becomes a pipelined loop, as
:doc:`/howto/overlap` describes it: the computations are cut into tiles, and the collective into as many nonblocking
ones, of which a window is under way at a time. A wait for messages that were begun before it, as at the end of a halo
exchange, moves behind most of the computation that follows it.

Whether a computation touches the buffers of a call is not known: what is found is possible, not certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...schedule.program import EVENT_COLUMNS, NONE, CollectiveKind, EventKind, Program
from ...schedule.tiling import steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Tile numbers that are tried first, each as long as the one before was not better, and the windows with the best.
_TILES, _WINDOWS = (4, 2, 8, 16, 32), (2, 4)
#: Calls that are looked at: those before, or after, which most is computed.
_MOST_SITES = 4
#: Part of the computation after a halo exchange that is taken to need what came: the rim of a block.
RIM = 0.1
#: Collectives that can be cut into pieces of their bytes.
_CUT = (
    CollectiveKind.bcast, CollectiveKind.reduce, CollectiveKind.allreduce, CollectiveKind.gather,
    CollectiveKind.allgather, CollectiveKind.scatter, CollectiveKind.alltoall, CollectiveKind.reduce_scatter,
)  # fmt: skip
#: Bytes below which a collective is not cut: its pieces would cost more than they hide.
_LEAST_BYTES = 1024


@dataclass(frozen=True)
class Overlap:
    """A call that could be hidden.

    Attributes
    ----------
    call, location : str
        Name of the collective, or "waitall" and its like of messages; where the program calls it.
    calls : int
        On all ranks.
    tiles, window : int
        Pieces of each call, and how many of them are under way; 1 and 1 of a wait that moves.
    before, after : bool
        Whether the computation before it, and that after it, is cut or moved.
    time, saving : float
        Run time of the program with it, and what that saves, seconds; by simulation.
    """

    call: str
    location: str
    calls: int
    tiles: int
    window: int
    before: bool
    after: bool
    time: float
    saving: float


@dataclass(frozen=True)
class Site:
    """Calls from one place of a program, with the computations around them.

    Attributes
    ----------
    events : array of int64
        Of all ranks.
    before, after : array of bool
        Whether the event before, or after, each is a computation that no other call of the site has.
    """

    call: str
    location: str
    events: NDArray[np.int64]
    before: NDArray[np.bool_]
    after: NDArray[np.bool_]
    collective: bool


def overlaps(program: Program, time: Callable[[Program], float], before: float) -> tuple[Overlap, ...]:
    """What hiding each call would save, the most first; only what saves something.

    Parameters
    ----------
    program : Program
    time : callable
        Run time of a program, seconds, by simulation.
    before : float
        That of this program.
    """
    found = []
    for site in sites(program):
        trials = _collective_trials if site.collective else _wait_trials
        best: Overlap | None = None
        for one in trials(program, site, time, before):
            if best is None or one.time < best.time:
                best = one
        if best is not None and best.saving > 0:
            found.append(best)
    return tuple(sorted(found, key=lambda one: -one.saving))


def _overlap(site: Site, tiles: int, window: int, seconds: float, before: float) -> Overlap:
    around = bool(site.before.any()) and site.collective, bool(site.after.any())
    return Overlap(
        site.call, site.location, len(site.events), tiles, window, *around, seconds, max(before - seconds, 0.0)
    )


def _collective_trials(
    program: Program, site: Site, time: Callable[[Program], float], before: float
) -> Iterator[Overlap]:
    best, least = 0, before
    for tiles in _TILES:
        seconds = time(pipelined(program, site, tiles, 1))
        yield _overlap(site, tiles, 1, seconds, before)
        if seconds < least:
            best, least = tiles, seconds
        elif tiles > 4:
            break
    for window in _WINDOWS if best > 2 else ():
        yield _overlap(site, best, window, time(pipelined(program, site, best, window)), before)


def _wait_trials(program: Program, site: Site, time: Callable[[Program], float], before: float) -> Iterator[Overlap]:
    yield _overlap(site, 1, 1, time(waiting_later(program, site)), before)


def sites(program: Program) -> list[Site]:
    """The calls that could be hidden, by place: those with most computation around them."""
    p = program
    first = np.zeros(len(p) + 1, np.bool_)
    first[p.first.astype(np.int64)] = True
    computes = (p.kind == EventKind.compute) & (p.amount > 0)
    compute_before = np.zeros(len(p), np.bool_)
    compute_before[1:] = computes[:-1]
    compute_before &= ~first[:-1]
    compute_after = np.zeros(len(p), np.bool_)
    compute_after[:-1] = computes[1:]
    compute_after &= ~first[1:]
    found = []
    for events, call, location in _collectives(p, compute_before | compute_after):
        before, after = compute_before[events], compute_after[events]
        # What lies between two calls of the site is that before the second one.
        after[:-1] &= ~(before[1:] & (events[1:] - events[:-1] == 2))
        found.append(Site(call, location, events, before, after, True))
    waits = np.flatnonzero(((p.kind == EventKind.waitall) | (p.kind == EventKind.wait)) & compute_after)
    for events, call, location in _by_place(p, waits, waits):
        found.append(Site(call, location, events, np.zeros(len(events), np.bool_), compute_after[events], False))
    weight = [_beside(p, site) for site in found]
    order = sorted(range(len(found)), key=lambda i: -weight[i])
    return [found[i] for i in order[:_MOST_SITES]]


def _beside(p: Program, site: Site) -> float:
    before, after = site.events[site.before] - 1, site.events[site.after] + 1
    return float(p.amount[before].sum(dtype=np.float64) + p.amount[after].sum(dtype=np.float64))


def _collectives(p: Program, beside: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], str, str]]:
    """Blocking collectives that can be cut, by place: whole calls, of which some rank computes before or after."""
    every = np.flatnonzero(p.kind == EventKind.collective)
    if not len(every):
        return
    # The n-th collective of a communicator on each of its members is one and the same.
    rank, comm = p.rank_of_events()[every].astype(np.int64), p.comm[every].astype(np.int64)
    order = np.lexsort((every, rank, comm))
    begins = np.flatnonzero(np.diff(comm[order], prepend=-1) | np.diff(rank[order], prepend=-1))
    number = np.empty(len(every), np.int64)
    number[order] = np.arange(len(every)) - np.repeat(begins, np.diff(np.append(begins, len(every))))
    _, leader, call = np.unique(np.stack([comm, number]), axis=1, return_index=True, return_inverse=True)
    call = call.reshape(-1)
    cut = (p.request[every] == 0) & np.isin(p.what[every], _CUT)
    large = (p.amount[every] >= _LEAST_BYTES) | (p.detail[every] != 0)
    taken = np.bincount(call, weights=cut & large & beside[every]) > 0
    taken &= np.bincount(call, weights=~cut) == 0
    some = taken[call]
    yield from _by_place(p, every[some], every[leader[call[some]]])


def _by_place(
    p: Program, events: NDArray[np.int64], named: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], str, str]]:
    """Events of one kind and location, by the events that name them; without locations, of one kind and size."""
    if not len(events):
        return
    where = p.location[named].astype(np.int64) if len(p.location) else np.full(len(named), NONE, np.int64)
    size = np.where(where == NONE, p.amount[named].astype(np.int64), 0)
    kind = p.kind[named].astype(np.int64) * 256 + p.what[named]
    _, group = np.unique(np.stack([kind, where, size]), axis=1, return_inverse=True)
    group = group.reshape(-1)
    for number in range(int(group.max()) + 1):
        one = named[group == number][0]
        known = len(p.location) and p.location[one] != NONE
        is_collective = p.kind[one] == EventKind.collective
        name = CollectiveKind(p.what[one]).name if is_collective else EventKind(p.kind[one]).name
        yield events[group == number], name, p.locations[p.location[one]] if known else ""


def waiting_later(program: Program, site: Site) -> Program:
    """The program with each wait of the site behind all but a RIM of the computation that follows it."""
    p = program
    wait, compute = site.events[site.after], site.events[site.after] + 1
    amount = p.amount[compute].astype(np.int64)
    rim = np.maximum((amount * RIM).astype(np.int64), 1)
    order = np.arange(len(p), dtype=np.int64)
    order[wait], order[compute] = compute, wait
    # What is left of each computation comes once more, behind the wait.
    order = np.insert(order, compute + 1, compute)
    new = np.searchsorted(compute, np.arange(len(p) + 1), side="left")
    out = _reordered(p, order, p.first.astype(np.int64) + new[p.first.astype(np.int64)])
    at = np.arange(len(compute)) + compute
    out["amount"][at - 1] = np.maximum(amount - rim, 1)
    out["amount"][at + 1] = rim
    return replace(p, recording=None, **out)


def pipelined(program: Program, site: Site, tiles: int, window: int) -> Program:
    """The program with each call of the site, and the computations around it, cut into tiles.

    To produce a tile is to compute its part of what came before, to finish it that of what came after; see
    :func:`isthmus.schedule.tiling.steps`.
    """
    p = program
    loop = list(steps(tiles, window))
    lengths = np.ones(len(p), np.int64)
    # All stands in place of the call: its computations are left out where they were.
    has = {"produce": site.before, "wait": np.ones_like(site.before), "start": np.ones_like(site.before)}
    has["finish"] = site.after
    lengths[site.events[site.before] - 1] = 0
    lengths[site.events[site.after] + 1] = 0
    lengths[site.events] = sum(has[kind].astype(np.int64) for kind, _ in loop)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    order = np.repeat(np.arange(len(p), dtype=np.int64), lengths)
    first = np.append(begins, ends[-1] if len(ends) else 0)[p.first.astype(np.int64)]
    source = {"produce": -1, "wait": 0, "start": 0, "finish": 1}
    filled = begins[site.events].copy()
    places: list[tuple[str, int, NDArray[np.int64], NDArray[np.int64]]] = []
    for kind, tile in loop:
        some = has[kind]
        at = filled[some]
        order[at] = site.events[some] + source[kind]
        places.append((kind, tile, at, site.events[some]))
        filled[some] += 1
    out = _reordered(p, order, first)
    base = int(p.request.max(initial=0)) + 1
    details, out["detail"] = _Details(p.details), out["detail"].copy()
    for kind, tile, at, events in places:
        if kind in ("produce", "finish"):
            whole = p.amount[events + source[kind]].astype(np.int64)
            out["amount"][at] = np.maximum(_part(whole, tile, tiles, 1), 1)
        elif kind == "wait":
            for name in ("what", "peer", "tag", "comm", "amount", "detail"):
                out[name][at] = 0
            out["kind"][at] = EventKind.wait
            out["request"][at] = base + tile
        else:
            out["amount"][at] = _part(p.amount[events].astype(np.int64), tile, tiles, 8)
            out["request"][at] = base + tile
            out["detail"][at] = [details.part(int(p.detail[event]), tile, tiles) for event in events]
    return replace(p, recording=None, details=details.array(), **out)


def _part(whole: NDArray[np.int64], tile: int, tiles: int, unit: int) -> NDArray[np.int64]:
    """This tile's part of amounts, in whole units but for the last one."""
    units = whole // unit
    begin, end = units * tile // tiles * unit, units * (tile + 1) // tiles * unit
    return np.where(tile + 1 == tiles, whole, end) - begin


class _Details:
    """Details of a program, and more behind them."""

    def __init__(self, details: NDArray[np.int64]) -> None:
        self._given, self._more, self._length = details, [details], len(details)
        self._known: dict[tuple[int, int, int], int] = {}

    def part(self, detail: int, tile: int, tiles: int) -> int:
        if detail == 0:
            return 0
        key = detail, tile, tiles
        if key not in self._known:
            length = int(self._given[detail])
            numbers = _part(self._given[detail + 1 : detail + 1 + length], tile, tiles, 8)
            self._known[key] = self._length
            self._more.append(np.concatenate([[length], numbers]))
            self._length += length + 1
        return self._known[key]

    def array(self) -> NDArray[np.int64]:
        return np.concatenate(self._more).astype(np.int64)


def _reordered(p: Program, order: NDArray[np.int64], first: NDArray[np.int64]) -> dict[str, Any]:
    """Columns of events in another order; events may come several times."""
    out: dict[str, Any] = {name: getattr(p, name)[order].copy() for name in EVENT_COLUMNS}
    for name in ("location", "phase"):
        if len(column := getattr(p, name)):
            out[name] = column[order]
    out["first"] = first.astype(np.uint64)
    return out
