"""Every send has its receive: sends and receives are fitted apart, so the program that comes of them is checked.

Sums of numbers that look random, one for each message, tell in one pass whether both sides are the same; only where
they are not, messages are sorted to find those without a partner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..schedule.event import ANY, NULL, EventKind
from ..units import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

#: Part of the messages that may be without a partner, and are left out then.
_MOST = 0.1
#: Calls that send a message, and those that only receive one; MPI_Sendrecv does both.
SENDS = (EventKind.send, EventKind.isend, EventKind.sendrecv)
RECEIVES = (EventKind.recv, EventKind.irecv)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Balance:
    """Sends less receives, as a sum of numbers that look random, one for each message."""

    def __init__(self) -> None:
        self.sum = 0
        #: Receives from any rank, or with any tag: the sum cannot tell.
        self.wild = False

    def send(self, rank: Ints, peer: Ints, tag: Any, comm: Any) -> None:
        """Messages of these ranks to these of the world; NULL is none."""
        self.sum += _sum(rank, peer, tag, comm, peer >= 0)

    def receive(self, rank: Ints, peer: Ints, tag: Any, comm: Any) -> None:
        """Messages that these ranks receive from these of the world."""
        self.wild |= bool((peer == ANY).any()) or bool(np.any((np.asarray(tag) == ANY) & (peer != NULL)))
        self.sum -= _sum(peer, rank, tag, comm, peer >= 0)

    def add(self, other: Balance) -> None:
        """The messages of another one as well."""
        self.sum += other.sum
        self.wild |= other.wild

    @property
    def even(self) -> bool:
        """Whether both sides are the same."""
        return not self.wild and self.sum % (1 << 64) == 0


def _sum(source: Ints, target: Ints, tag: Any, comm: Any, real: NDArray[np.bool_]) -> int:
    """The sum of the numbers of messages."""
    with np.errstate(over="ignore"):
        value = source.astype(np.uint64) * _MIX[0] + target.astype(np.uint64)
        value ^= value >> np.uint64(29)
        value *= _MIX[1]
        value += np.asarray(tag, np.int64).astype(np.uint64) * _MIX[2] + np.asarray(comm, np.int64).astype(np.uint64)
        value ^= value >> np.uint64(32)
        value *= _MIX[2]
        value ^= value >> np.uint64(31)
    return int(value[real].sum()) if not real.all() else int(value.sum())


class Side(NamedTuple):
    """Messages of one side: the event of each, sender and receiver within the communicator, tag, communicator."""

    event: Ints
    source: Ints
    target: Ints
    tag: Ints
    comm: Ints


def mend(made: dict[str, Any], details: Ints, first: Ints, local: Any) -> tuple[Ints, str]:
    """Take the partner from messages that have none: they become calls with MPI_PROC_NULL.

    Parameters
    ----------
    made : dict of str to array
        Columns of the program, which are changed.
    details, first : array
        Of the program.
    local : callable
        From arrays of communicators and of ranks of the world to ranks within them.

    Returns
    -------
    array, str
        Details, and what was left out as a sentence; empty if nothing was.

    Raises
    ------
    InvalidInput
        If more than a tenth of the messages have no partner.
    """
    sends, receives, paired = _sides(made, details, first, local)
    lone_sends, lone_receives = _alone(sends, receives)
    lone = len(lone_sends) + len(lone_receives)
    if not lone:
        return details, ""
    total = len(sends.event) + len(receives.event)
    words = f"{len(lone_sends):,} sends would have no receive, and {len(lone_receives):,} receives no send"
    if lone > _MOST * total:
        ranks = len(first) - 1
        raise InvalidInput(
            f"at {ranks:,} ranks {words}, of {total:,} in all: the rules of both sides were found apart, and do not "
            "agree there, so the program cannot be made for so many ranks; more recordings may tell how peers follow"
        )
    made["peer"][sends.event[lone_sends]] = NULL
    plain = lone_receives < len(receives.event) - paired
    made["peer"][receives.event[lone_receives[plain]]] = NULL
    rows = receives.event[lone_receives[~plain]]
    if len(rows):
        # Rows of MPI_Sendrecv are shared by calls: those that change get their own.
        at = made["detail"][rows].astype(np.int64)
        new = np.stack([np.full(len(rows), 3), np.full(len(rows), NULL), details[at + 2], details[at + 3]], axis=1)
        made["detail"][rows] = len(details) + 4 * np.arange(len(rows))
        details = np.concatenate([details, new.reshape(-1)])
    return details, f"{words}: they are left out, {percent(lone / total)} of all"


def _sides(made: dict[str, Any], details: Ints, first: Ints, local: Any) -> tuple[Side, Side, int]:
    """Sends, and receives with those of MPI_Sendrecv last, whose number is the third."""
    kind, peer = made["kind"], made["peer"]
    begin = first.astype(np.int64)
    rank_of = np.repeat(np.arange(len(first) - 1), begin[1:] - begin[:-1])

    def side(event: Ints, other: Ints, tag: Ints, sends: bool) -> Side:
        comm = made["comm"][event].astype(np.int64)
        mine = local(comm, rank_of[event])
        return Side(event, mine if sends else other, other if sends else mine, tag, comm)

    event = np.flatnonzero(np.isin(kind, SENDS) & (peer >= 0))
    sends = side(event, peer[event].astype(np.int64), made["tag"][event].astype(np.int64), True)
    event = np.flatnonzero(np.isin(kind, RECEIVES) & (peer != NULL))
    other, tag = peer[event].astype(np.int64), made["tag"][event].astype(np.int64)
    both = np.flatnonzero(kind == EventKind.sendrecv)
    at = made["detail"][both].astype(np.int64)
    used = details[at + 1] != NULL
    both, at = both[used], at[used]
    receives = side(np.concatenate([event, both]), np.concatenate([other, details[at + 1]]),
                    np.concatenate([tag, details[at + 2]]), False)  # fmt: skip
    return sends, receives, len(both)


def _alone(sends: Side, receives: Side) -> tuple[Ints, Ints]:
    """Indices of sends and of receives without a partner, where as many have one as can.

    Receives of one rank and tag come first, as nothing else is for them, and those of any rank and tag last.
    """
    any_source, any_tag = receives.source == ANY, receives.tag == ANY
    fields = ("comm", "target")
    left, alone = _paired(sends, receives, np.arange(len(sends.event)), np.flatnonzero(~any_source & ~any_tag),
                          (*fields, "source", "tag"))  # fmt: skip
    rows, columns = np.flatnonzero(~any_source & any_tag), np.flatnonzero(any_source & ~any_tag)
    after, lone_rows = _paired(sends, receives, left, rows, (*fields, "source"))
    after, lone_columns = _paired(sends, receives, after, columns, (*fields, "tag"))
    lone = np.concatenate([lone_rows, lone_columns])
    # Which of both a message goes to was chosen at random: others may have to be told apart from it.
    doubtful = np.intersect1d(_where(sends, after), _where(receives, lone))
    doubtful = np.intersect1d(doubtful, np.intersect1d(_where(receives, rows), _where(receives, columns)))
    if len(doubtful):
        chosen = [one[np.isin(_where(side, one), doubtful)]
                  for side, one in ((sends, left), (receives, rows), (receives, columns))]  # fmt: skip
        lone_sends, lone_receives = _most_paired(sends, receives, *chosen)
        after = np.concatenate([after[~np.isin(_where(sends, after), doubtful)], lone_sends])
        lone = np.concatenate([lone[~np.isin(_where(receives, lone), doubtful)], lone_receives])
    after, lone_any = _paired(sends, receives, after, np.flatnonzero(any_source & any_tag), fields)
    return after, np.concatenate([alone, lone, lone_any])


def _where(side: Side, index: Ints) -> Ints:
    """A number for communicator and target of each."""
    return side.comm[index] << 32 | side.target[index]


def _paired(sends: Side, receives: Side, left: Ints, chosen: Ints, fields: tuple[str, ...]) -> tuple[Ints, Ints]:
    """Sends of those left, and receives of those chosen, that find no partner which is the same in these fields."""
    if not len(chosen) or not len(left):
        return left, chosen
    keys = [np.concatenate([getattr(sends, f)[left], getattr(receives, f)[chosen]]) for f in fields]
    order = np.lexsort(keys)
    new = np.zeros(len(order), np.int64)
    for key in keys:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    index = np.empty(len(order), np.int64)
    index[order] = np.cumsum(new)
    of_sends, of_receives = index[: len(left)], index[len(left) :]
    size = int(index.max()) + 1
    pairs = np.minimum(np.bincount(of_sends, minlength=size), np.bincount(of_receives, minlength=size))
    return left[_ordinal(of_sends) >= pairs[of_sends]], chosen[_ordinal(of_receives) >= pairs[of_receives]]


def _most_paired(sends: Side, receives: Side, left: Ints, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
    """Without a partner where receives of one rank and any tag, rows, meet those of one tag and any rank, columns.

    A message may go to its row or to its column: a flow, which grows along shortest paths of messages that change from
    the one to the other.
    """
    #: Row or column, as (communicator, target, is a row, rank or tag): receives that are free.
    free: dict[tuple[int, int, bool, int], list[int]] = {}
    for index, name, is_row in ((rows, "source", True), (columns, "tag", False)):
        values = zip(index.tolist(), receives.comm[index].tolist(), receives.target[index].tolist(),
                     getattr(receives, name)[index].tolist(), strict=True)  # fmt: skip
        for i, comm, target, value in values:
            free.setdefault((comm, target, is_row, value), []).append(i)
    #: By row or column, the messages that go to it: which, and where it might go instead.
    taken: dict[tuple[int, int, bool, int], dict[int, tuple[int, int, bool, int]]] = {one: {} for one in free}
    lone = []
    messages = zip(left.tolist(), sends.comm[left].tolist(), sends.target[left].tolist(), sends.source[left].tolist(),
                   sends.tag[left].tolist(), strict=True)  # fmt: skip
    for i, comm, target, source, tag in messages:
        ends = ((comm, target, True, source), (comm, target, False, tag))
        #: How each was reached: the message that would go to it, and from where.
        reached: dict[Any, tuple[int, Any]] = {one: (i, None) for one in ends if one in free}
        queue = list(reached)
        for at in queue:
            if free[at]:
                free[at].pop()
                while at is not None:
                    message, origin = reached[at]
                    if origin is not None:
                        taken[origin].pop(message)
                    taken[at][message] = origin if origin is not None else ends[1 if at == ends[0] else 0]
                    at = origin
                break
            for message, other in taken[at].items():
                if other in free and other not in reached:
                    reached[other] = (message, at)
                    queue.append(other)
        else:
            lone.append(i)
    return np.array(lone, np.int64), np.array([i for one in free.values() for i in one], np.int64)


def _ordinal(keys: Ints) -> Ints:
    """The how manieth of its key each is."""
    order = np.argsort(keys, kind="stable")
    there = keys[order]
    begin = np.concatenate([[True], there[1:] != there[:-1]]) if len(there) else np.zeros(0, bool)
    starts = np.flatnonzero(begin)
    out = np.empty(len(keys), np.int64)
    out[order] = np.arange(len(keys)) - np.repeat(starts, np.diff([*starts, len(keys)]))
    return out


__all__ = ["RECEIVES", "SENDS", "Balance", "mend"]
