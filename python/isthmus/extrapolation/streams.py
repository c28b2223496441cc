"""Programs as streams: the calls of each rank without computation, in terms that runs of several sizes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..schedule import columns
from ..schedule.event import ANY, NO_COMMUNICATOR, NONE, NULL, CollectiveKind, EventKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..schedule.program import Program

#: Kind of the mark at the end of a rank's calls, which carries the computation after the last of them.
END = 0
#: Kinds whose peer is a rank of the world once communicators are resolved.
ADDRESSED = (
    EventKind.send, EventKind.recv, EventKind.isend, EventKind.irecv, EventKind.sendrecv, EventKind.put, EventKind.get,
    EventKind.flush, EventKind.lock, EventKind.unlock,
)  # fmt: skip
OPENING = (EventKind.isend, EventKind.irecv, EventKind.collective)
WAITING = (EventKind.wait, EventKind.waitall, EventKind.waitany, EventKind.test)


class Call(NamedTuple):
    """What calls share that are the same statement of the program; ``family`` is 0 for the world.

    ``opens``: a nonblocking call. ``listed``: one with a list of numbers, or a waitall that names requests.
    ``creates``: the family of a comm_create.
    """

    kind: int
    what: int
    location: str
    phase: str
    family: int
    opens: bool
    listed: bool
    creates: int = 0

    @property
    def name(self) -> str:
        """The name of the call."""
        if self.kind == END:
            return "end"
        prefix = "i" if self.opens and self.kind == EventKind.collective else ""
        return prefix + (CollectiveKind(self.what).name if self.what else EventKind(self.kind).name)


@dataclass
class Registry:
    """Calls and families of communicators by number, the same for all recordings."""

    calls: list[Call] = field(default_factory=list)
    families: list[tuple[object, ...]] = field(default_factory=lambda: [("world",)])
    _calls: dict[Call, int] = field(default_factory=dict)
    _families: dict[tuple[object, ...], int] = field(default_factory=dict)

    def call(self, call: Call) -> int:
        """The number of a call."""
        if call not in self._calls:
            self._calls[call] = len(self.calls)
            self.calls.append(call)
        return self._calls[call]

    def family(self, key: tuple[object, ...]) -> int:
        """The number of a family of communicators: those that the same call creates, the same time that it is made."""
        if key not in self._families:
            self._families[key] = len(self.families)
            self.families.append(key)
        return self._families[key]


@dataclass(eq=False)
class Stream:
    """Calls of all ranks of a program, without computation.

    Attributes
    ----------
    program : Program
    parameters : dict of str to int
        Named numbers of the problem.
    first : array of int64, ranks + 1
        Calls of rank r are ``first[r]`` to ``first[r + 1]``; the last is a mark of kind ``END``.
    call : array of int64
        Index into the registry's calls.
    peer : array of int64
        World rank, ANY or NULL; root within the communicator of a collective.
    amount : array of int64
        As in the Program; of a comm_create the family, or -1 - family where the rank joins none.
    detail : array of int64
        As in the Program.
    before : array of int64
        Picoseconds of computation before the call.
    colors : dict of int to array of int64
        For each family the number of each rank's communicator, -1 for none.
    """

    program: Program
    parameters: Mapping[str, int]
    first: NDArray[np.int64]
    rank: NDArray[np.int64]
    event: NDArray[np.int64]
    call: NDArray[np.int64]
    kind: NDArray[np.int64]
    peer: NDArray[np.int64]
    tag: NDArray[np.int64]
    amount: NDArray[np.int64]
    request: NDArray[np.int64]
    detail: NDArray[np.int64]
    before: NDArray[np.int64]
    colors: dict[int, NDArray[np.int64]]

    @property
    def ranks(self) -> int:
        return self.program.ranks

    def numbers(self, at: int) -> tuple[int, ...]:
        """The list of a call."""
        place = int(self.detail[at])
        if not place:
            return ()
        details = self.program.details
        return tuple(details[place + 1 : place + 1 + int(details[place])].tolist())


def stream(program: Program, registry: Registry, parameters: Mapping[str, int] | None = None) -> Stream:
    """The stream of a program; calls and families get numbers in ``registry``."""
    ranks = program.ranks
    of = program.rank_of_events().astype(np.int64)
    compute = program.kind == EventKind.compute
    kept = np.flatnonzero(~compute)
    counts = np.bincount(of[kept], minlength=ranks)
    first = np.concatenate([[0], np.cumsum(counts + 1)])
    place = np.arange(len(kept)) + of[kept]
    ends = first[1:] - 1
    size = int(first[-1])

    def column(values: NDArray[np.generic], end: int = 0) -> NDArray[np.int64]:
        out = np.full(size, end, np.int64)
        out[place] = values[kept].astype(np.int64)
        return out

    event = np.full(size, -1, np.int64)
    event[place] = kept
    before = np.zeros(size, np.int64)
    # Calls before each event: those of the ranks before have one mark more each.
    at = np.cumsum(~compute)[compute] + of[compute]
    np.add.at(before, at, program.amount[compute].astype(np.int64))
    rank = np.repeat(np.arange(ranks), counts + 1)
    kind = column(program.kind, END)
    comm = column(program.comm)
    peer, amount = column(program.peer), column(program.amount.view(np.int64))
    locations = column(program.location, NONE) if len(program.location) else np.full(size, NONE)
    phases = column(program.phase, NONE) if len(program.phase) else np.full(size, NONE)
    detail, request = column(program.detail), column(program.request)
    families, colors, amount = _families(program, registry, kind, comm, amount, rank, locations)
    opens = (request > 0) & columns.among(kind.astype(np.uint8), OPENING)
    # How a call is told from others: unique rows of what identifies it.
    locations[ends], phases[ends] = NONE, NONE
    what = column(program.what)
    creates = np.where(kind == EventKind.comm_create, np.where(amount < 0, -1 - amount, amount), 0)
    table = np.stack([kind, what, locations, phases, families, opens, detail > 0, creates])
    unique, index = np.unique(table, axis=1, return_inverse=True)
    numbers = np.array([
        registry.call(
            Call(
                int(k), int(w), "" if where == NONE else program.locations[where],
                "" if phase == NONE else program.phases[phase], int(f), bool(o), bool(d), int(made),
            )
        )
        for k, w, where, phase, f, o, d, made in unique.T.tolist()
    ], np.int64)  # fmt: skip
    peer = _world(program, kind, peer, comm)
    return Stream(
        program, dict(parameters or {}), first, rank, event, numbers[index.reshape(-1)], kind, peer,
        column(program.tag), amount, request, detail, before, colors,
    )  # fmt: skip


def _world(
    program: Program, kind: NDArray[np.int64], peer: NDArray[np.int64], comm: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Peers of messages as ranks of the world."""
    other = columns.among(kind.astype(np.uint8), ADDRESSED) & (comm > 0) & (peer >= 0)
    out = peer.copy()
    out[other] = program.comm_ranks[program.comm_first[comm[other]].astype(np.int64) + peer[other]]
    return out


def _families(
    program: Program, registry: Registry, kind: NDArray[np.int64], comm: NDArray[np.int64], amount: NDArray[np.int64],
    rank: NDArray[np.int64], locations: NDArray[np.int64],
) -> tuple[NDArray[np.int64], dict[int, NDArray[np.int64]], NDArray[np.int64]]:  # fmt: skip
    """The family of each call's communicator, who is in which communicator of a family, and amounts in families."""
    amount = amount.copy()
    family_of = np.zeros(program.communicators, np.int64)
    times: dict[tuple[int, object, int], int] = {}
    created: list[tuple[int, int, int]] = []
    known: set[int] = {0}
    pending = np.flatnonzero(kind == EventKind.comm_create).tolist()
    # A communicator is known once the rank that created it came by; parents come before children on each rank.
    while pending:
        left = []
        for at in pending:
            parent = int(comm[at])
            if parent not in known:
                left.append(at)
                continue
            where = "" if locations[at] == NONE else program.locations[locations[at]]
            key = (int(rank[at]), where, int(family_of[parent]))
            occurrence = times[key] = times.get(key, -1) + 1
            family = registry.family((where, int(family_of[parent]), occurrence))
            joins = amount[at] != np.int64(np.uint64(NO_COMMUNICATOR).view(np.int64))
            if joins:
                family_of[amount[at]] = family
                known.add(int(amount[at]))
            created.append((at, family, joins))
        if len(left) == len(pending):
            break
        pending = left
    given = [c for c in range(1, program.communicators) if c not in known]
    if given:
        _group(program, registry, given, family_of)
    for at, family, joins in created:
        amount[at] = family if joins else -1 - family
    colors = {}
    for family in sorted(set(family_of.tolist()) - {0}):
        color = np.full(program.ranks, -1, np.int64)
        for number, c in enumerate(np.flatnonzero(family_of == family).tolist()):
            color[program.members(c)] = number
        colors[family] = color
    return family_of[comm], colors, amount


def _group(program: Program, registry: Registry, given: list[int], family_of: NDArray[np.int64]) -> None:
    """Communicators that no call creates: those that follow each other and share no rank are a family."""
    number, used = -1, np.ones(program.ranks, bool)
    for c in given:
        members = program.members(c)
        if used[members].any():
            number, used = number + 1, np.zeros(program.ranks, bool)
        used[members] = True
        family_of[c] = registry.family(("given", 0, number))


__all__ = ["ADDRESSED", "ANY", "END", "NULL", "OPENING", "WAITING", "Call", "Registry", "Stream", "stream"]
