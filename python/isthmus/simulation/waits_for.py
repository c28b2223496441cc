"""The wait-for graph of a simulation that got stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..schedule.schedule import ALL_ONES, OpKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.schedule import Schedule

    Numbers = NDArray[np.int64]


class Places(NamedTuple):
    """Operations by rank and number within it, in this order."""

    rank: Numbers
    op: Numbers


def answers(schedule: Schedule, started: Places, blocked: Places) -> Numbers:
    """Return for every started operation the first blocked one that would end its wait; -1: none."""
    first = schedule.op_first.view(np.int64)
    ops = schedule.ops
    one, other = ops[first[started.rank] + started.op], ops[first[blocked.rank] + blocked.op]
    out = np.full(len(one), -1, np.int64)
    for kind, reply in ((OpKind.recv, OpKind.send), (OpKind.send, OpKind.recv)):
        mine, theirs = np.flatnonzero(one["kind"] == kind), np.flatnonzero(other["kind"] == reply)
        if not len(mine) or not len(theirs):
            continue
        columns = []
        for place, op, which, receives in (
            (started, one, mine, kind == OpKind.recv),
            (blocked, other, theirs, kind == OpKind.send),
        ):
            own, peer = place.rank[which].astype(np.uint32), op["peer"][which]
            source, target = (peer, own) if receives else (own, peer)
            columns.append([source, target, op["tag"][which], op["comm"][which]])
        receiving = columns[0] if kind == OpKind.recv else columns[1]
        # Receives by what of them is wild: what is, must not be compared.
        wild = (receiving[0] == ALL_ONES) * 2 + (receiving[2] == ALL_ONES) * 1
        for case in np.flatnonzero(np.bincount(wild)):
            chosen = wild == case
            ignored = {0} if case & 2 else set()
            ignored |= {2} if case & 1 else set()
            compared = [i for i in range(4) if i not in ignored]
            mine_here, theirs_here = (mine[chosen], theirs) if kind == OpKind.recv else (mine, theirs[chosen])
            a = [columns[0][i][chosen] if kind == OpKind.recv else columns[0][i] for i in compared]
            b = [columns[1][i] if kind == OpKind.recv else columns[1][i][chosen] for i in compared]
            found = first_equal(a, b)
            better = (found >= 0) & ((out[mine_here] < 0) | (theirs_here[found] < out[mine_here]))
            out[mine_here[better]] = theirs_here[found[better]]
    return out


def first_equal(wanted: list[NDArray[np.uint32]], given: list[NDArray[np.uint32]]) -> Numbers:
    """Return for every row of ``wanted`` (given as columns) the first equal row of ``given``; -1: none."""
    number = len(given[0])
    rows = [np.concatenate([b, a]) for a, b in zip(wanted, given, strict=True)]
    order = np.lexsort(rows)  # stable: within equal rows the given ones come first, in their order
    new = np.ones(len(order), bool)
    new[1:] = np.any([row[order][1:] != row[order][:-1] for row in rows], axis=0)
    leader = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    found = np.empty(len(order), np.int64)
    found[order] = np.where(leader < number, leader, -1)
    return found[number:]


def find_cycle(schedule: Schedule, started: Places, blocked: Places, answer: Numbers) -> list[int]:
    """Return a cycle as positions in ``started``, each waiting for the next; empty if there is none."""
    begin, end = np.full(len(answer), 0), np.full(len(answer), 0)
    known = answer >= 0
    begin[known] = np.searchsorted(started.rank, blocked.rank[answer[known]], side="left")
    end[known] = np.searchsorted(started.rank, blocked.rank[answer[known]], side="right")
    low, high = begin.tolist(), end.tolist()
    cache: dict[int, list[int]] = {}

    def following(i: int) -> list[int]:
        if high[i] - low[i] <= 1:
            return list(range(low[i], high[i]))
        at = int(answer[i])
        if at not in cache:
            cache[at] = _blockers(schedule, int(blocked.rank[at]), int(blocked.op[at]), started.op[low[i] : high[i]])
        return [low[i] + k for k in cache[at]]

    if (end - begin <= 1).all():
        return _circle_of_links(np.where(end > begin, begin, -1).tolist())
    fresh, open_, closed = 0, 1, 2
    state = [fresh] * len(answer)
    for root in range(len(answer)):
        if state[root] != fresh:
            continue
        path, rest = [root], [following(root)]
        state[root] = open_
        while path:
            if not rest[-1]:
                state[path.pop()] = closed
                rest.pop()
                continue
            step = rest[-1].pop(0)
            if state[step] == open_:
                return path[path.index(step) :]
            if state[step] == fresh:
                state[step] = open_
                path.append(step)
                rest.append(following(step))
    return []


def _circle_of_links(following: list[int]) -> list[int]:
    """Finds a cycle where each element has one successor or none (-1)."""
    seen_from = [-1] * len(following)
    for root in range(len(following)):
        at = root
        while at >= 0 and seen_from[at] < 0:
            seen_from[at] = root
            at = following[at]
        if at >= 0 and seen_from[at] == root:
            circle = [at]
            while (at := following[at]) != circle[0]:
                circle.append(at)
            return circle
    return []


def _blockers(schedule: Schedule, rank: int, op: int, started: Numbers) -> list[int]:
    """The started operations of a rank that a blocked one waits for, directly or not."""
    operations = schedule.rank(rank)
    place = {number: i for i, number in enumerate(started.tolist())}
    seen, todo, found = {op}, [op], set()
    while todo:
        for on, until_start in operations.requires(todo.pop()):
            if on in place:
                # Whoever waits for its start only has waited long enough.
                if not until_start:
                    found.add(place[on])
            elif on not in seen:
                # Also over operations that are done, which wait for nothing that has not been done.
                seen.add(on)
                todo.append(on)
    return sorted(found)
