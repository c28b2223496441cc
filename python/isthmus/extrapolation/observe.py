"""What runs did at each step of an outline: the numbers of calls, ready for rules to be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..schedule.event import CollectiveKind, EventKind
from .outline import Reading, Repeat, Sequence_, Statement, read, sequences, steps
from .streams import WAITING
from .where import Data, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .outline import Step
    from .streams import Registry, Stream

_RECEIVES = (EventKind.recv, EventKind.irecv)


@dataclass(eq=False)
class Group:
    """Ranks that make the same calls, and their calls along the outline."""

    ranks: NDArray[np.int64]
    role: int
    reading: Reading
    size: int
    #: For each wait, by the index of the call, what it waits for; None for all that is open.
    waits: dict[int, tuple[tuple[int, int], ...] | None] = field(default_factory=dict)


@dataclass(eq=False)
class Observed:
    """A run along the outline."""

    stream: Stream
    variables: Mapping[str, int]
    groups: list[Group]
    #: Whether requests are waited for in the order in which they were opened.
    orderly: bool = True

    def where(self, rank: NDArray[np.int64], visit: NDArray[np.int64], inner: NDArray[np.int64]) -> Where:
        return Where(self.variables, rank, visit, inner)

    def roles(self) -> Data:
        """The role of each rank."""
        rank = np.arange(self.stream.ranks)
        role = np.zeros(len(rank), np.int64)
        for group in self.groups:
            role[group.ranks] = group.role
        return Data(self.where(rank, np.zeros_like(rank), np.zeros_like(rank)), role)

    def _data(self, groups: list[tuple[NDArray[np.int64], list[int], list[int], list[int]]]) -> Data:
        """Numbers by group: ranks, values, visits and iterations."""
        rank = [np.repeat(ranks, len(values)) for ranks, values, _, _ in groups]
        columns = [
            [np.tile(np.array(one[k], np.int64), len(one[0])) for one in groups] for k in (1, 2, 3)
        ]  # fmt: skip
        if not groups:
            none = np.zeros(0, np.int64)
            return Data(self.where(none, none, none), none)
        values, visit, inner = (np.concatenate(column) for column in columns)
        return Data(self.where(np.concatenate(rank), visit, inner), values)

    def taken(self, step: Statement) -> Data:
        """Whether the statement was taken, each time that a rank came to it; once where it is always the same."""
        groups = []
        for group in self.groups:
            flags = [int(at >= 0) for at in group.reading.taken.get(step.number, ())]
            inner = group.reading.inner.get(step.number, [])
            if flags:
                groups.append((group.ranks, flags, list(range(len(flags))), inner))
        if all(len(set(flags)) == 1 for _, flags, _, _ in groups):
            groups = [(ranks, flags[:1], [0], [0]) for ranks, flags, _, _ in groups]
        return self._data(groups)

    def times(self, step: Repeat) -> Data:
        """How often the loop was run, each time that a rank came to it."""
        groups = [
            (group.ranks, counts, list(range(len(counts))), [0] * len(counts))
            for group in self.groups
            if (counts := group.reading.counts.get(step.number))
        ]
        return self._data(groups)

    def calls(self, step: Statement) -> Data:
        """The index into the stream of each call of a statement."""
        groups = []
        for group in self.groups:
            taken = group.reading.taken.get(step.number, ())
            inner = [i for i, at in zip(group.reading.inner.get(step.number, ()), taken, strict=True) if at >= 0]
            found = [at for at in taken if at >= 0]
            if found:
                groups.append((group.ranks, found, list(range(len(found))), inner))
        data = self._data(groups)
        return Data(data.where, data.values + self.stream.first[data.where.rank])

    def of(self, calls: Data, values: NDArray[np.int64]) -> Data:
        """The same calls with other numbers; receives know their partners."""
        kind = self.stream.kind[calls.values]
        if len(kind) and kind[0] in _RECEIVES:
            peer = self.stream.peer[calls.values]
            where = calls.where
            partner = np.where(peer >= 0, peer, where.rank)
            return Data(Where(where.variables, where.rank, where.visit, where.inner, partner), values)
        return Data(calls.where, values)

    def lists(self, calls: Data) -> Data:
        """Numbers of lists; ``inner`` is the place in the list."""
        program = self.stream.program
        details, places = program.details, self.stream.detail[calls.values]
        lengths = details[places]
        total = int(lengths.sum())
        starts = np.cumsum(lengths) - lengths
        within = np.arange(total) - np.repeat(starts, lengths)
        values = details[np.repeat(places + 1, lengths) + within]
        where = self.where(np.repeat(calls.where.rank, lengths), np.repeat(calls.where.visit, lengths), within)
        return Data(where, values)


def observe(stream: Stream, variables: Mapping[str, int], masks: NDArray[np.int64], roles: Sequence[Sequence[Step]],
            registry: Registry, name: str) -> Observed:  # fmt: skip
    """Read a run along the outline.

    Raises
    ------
    InvalidInput
        If some rank does not follow it.
    """
    groups = []
    for one in sequences(stream.first, stream.call, masks):
        found = next(
            (
                (i, reading)
                for strict in (True, False)
                for i, body in enumerate(roles)
                if (reading := read(body, one.calls, one.masks, strict)) is not None
            ),
            None,
        )
        if found is None:
            raise InvalidInput(
                f"{name}: {_strange(one, roles, registry)}: it must be the same program with inputs that change only "
                "what was scaled"
            )
        groups.append(Group(np.array(one.ranks, np.int64), found[0], found[1], len(one.calls)))
    observed = Observed(stream, variables, groups)
    find_waits(observed, roles)
    return observed


def _strange(one: Sequence_, roles: Sequence[Sequence[Step]], registry: Registry) -> str:
    """Where a sequence of calls leaves all roles, in words."""
    low, high = 0, len(one.calls)
    while low < high:
        middle = (low + high + 1) // 2
        part = one.calls[:middle], one.masks[:middle]
        if any(read(body, *part, strict) is not None for body in roles for strict in (True, False)):
            low = middle
        else:
            high = middle - 1
    call = registry.calls[one.calls[min(low, len(one.calls) - 1)]]
    place = f" at {call.location}" if call.location else ""
    return (
        f"call {low + 1} of rank {one.ranks[0]}, {call.name}{place}, does not follow the order of the largest recording"
    )


def find_waits(observed: Observed, roles: Sequence[Sequence[Step]]) -> None:
    """What each wait waits for, as statements and how many of their openings came since."""
    stream = observed.stream
    if not np.isin(stream.kind, WAITING).any():
        return
    for group in observed.groups:
        rank = int(group.ranks[0])
        first = int(stream.first[rank])
        statement_of = {at: number for number, taken in group.reading.taken.items() for at in taken if at >= 0}
        opened: dict[int, tuple[int, int]] = {}
        count: dict[int, int] = {}
        for at in range(group.size):
            here = first + at
            kind, request, number = int(stream.kind[here]), int(stream.request[here]), statement_of[at]
            if kind not in WAITING:
                if request:
                    count[number] = count.get(number, 0) + 1
                    opened[request] = (number, count[number])
                continue
            wanted = list(stream.numbers(here)) if kind in (EventKind.waitall, EventKind.waitany) else [request]
            if kind == EventKind.waitall and (not stream.detail[here] or set(wanted) == set(opened)):
                group.waits[at] = None
                opened.clear()
                continue
            known = [opened[w] for w in wanted if w in opened]
            waits_for_first = kind in (EventKind.wait, EventKind.waitall) and len(known) == len(wanted)
            observed.orderly &= waits_for_first and set(wanted) == set(islice(opened, len(wanted)))
            group.waits[at] = tuple((n, count[n] - ordinal) for n, ordinal in known)
            amount = int(stream.amount[here])
            closed = wanted
            if kind == EventKind.test:
                closed = wanted if amount else []
            elif kind == EventKind.waitany:
                closed = wanted[amount : amount + 1]
            for w in closed:
                opened.pop(w, None)


Waits = tuple[tuple[int, int], ...]


def waits(observed: Sequence[Observed], step: Statement, kind: int) -> tuple[str, list[Waits]] | None:
    """What a wait waits for: the same each time, by the iteration, the oldest, by the visit; None for all that is open.

    A loop that waits for one request after another has as many iterations as a rank has messages, so that the place of
    what an iteration waits for differs by rank: what it has in common is that it was opened first.
    """
    seen: list[tuple[int, int, Waits]] = []
    everything = True
    for one in observed:
        for group in one.groups:
            visit = 0
            pairs = zip(group.reading.taken.get(step.number, ()), group.reading.inner.get(step.number, ()), strict=True)
            for at, inner in pairs:
                if at < 0:
                    continue
                found = group.waits[at]
                everything &= found is None
                if found is not None:
                    seen.append((inner, visit, found))
                visit += 1
    if everything:
        return None
    for by in ("all", "inner", "visit"):
        if by == "visit" and kind == EventKind.wait and all(one.orderly for one in observed):
            return "oldest", [()]
        union: dict[int, Waits] = {}
        indices = [0 if by == "all" else inner if by == "inner" else visit for inner, visit, _ in seen]
        for index, (_, _, wanted) in zip(indices, seen, strict=True):
            if len(wanted) > len(union.get(index, ())):
                union[index] = wanted
        fits = all(
            set(wanted) <= set(union.get(index, ()))
            and (by == "visit" or len(wanted) == len(union.get(index, ())) or len(wanted) > 1)
            for index, (_, _, wanted) in zip(indices, seen, strict=True)
        )
        if fits:
            last = max(union, default=0)
            return by, [union.get(i, ()) for i in range(last + 1)]
    last = max(union, default=0)
    return "visit", [union.get(i, ()) for i in range(last + 1)]


def shares(observed: Observed, roles: Sequence[Sequence[Step]]) -> dict[int, float]:
    """The part of each statement in the bytes of a run; in its calls where there are no bytes."""
    sends = (EventKind.send, EventKind.isend, EventKind.sendrecv, EventKind.put, EventKind.get, EventKind.collective)
    bytes_: dict[int, float] = {}
    calls: dict[int, float] = {}
    for body in roles:
        for step in steps(body):
            if not isinstance(step, Statement):
                continue
            found = observed.calls(step).values
            kind = observed.stream.kind[found]
            if not len(found) or int(kind[0]) not in sends:
                continue
            calls[step.number] = float(len(found))
            place = observed.stream.detail[found]
            listed = bool(place.any()) and int(kind[0]) == EventKind.collective
            sent = observed.stream.peer[found] != -2
            total = float(observed.lists(observed.calls(step)).values.sum()) if listed else float(
                observed.stream.amount[found][sent].sum())  # fmt: skip
            bytes_[step.number] = max(total, 0.0)
    whole = sum(bytes_.values())
    used = bytes_ if whole else calls
    whole = sum(used.values())
    return {number: value / whole for number, value in used.items()} if whole else {}


__all__ = ["CollectiveKind", "Group", "Observed", "find_waits", "observe", "shares", "waits"]
