"""Traces of all ranks, whoever wrote them, as one Program with its Recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..schedule.columns import lengths
from ..schedule.program import ANY, EVENT_COLUMNS, NULL, Program
from . import raw
from .clocks import Clock
from .communicators import UNKNOWN, Communicators
from .compaction import compacted
from .matching import match
from .own import own
from .parts import concatenated, world_peers
from .paths import Paths
from .recording import NONE, Recording
from .steps import joined
from .together import align, take_out
from .translate import Carry, Halves, Part, Shared, translated

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Assembly:
    """Takes rank after rank and makes the Program.

    Parameters
    ----------
    ranks : int
    threaded : bool
        Whether several threads of a rank communicate.
    wildcards : {"recorded", "free"}
        See :func:`isthmus.recording.merge.merge`.

    Attributes
    ----------
    notes : list of str
        For people; becomes that of the Recording.
    """

    def __init__(self, ranks: int, *, threaded: bool = False, wildcards: str = "recorded") -> None:
        if wildcards not in ("recorded", "free"):
            raise InvalidInput(f"wildcards {wildcards!r} is unknown: allowed are recorded and free")
        self.ranks = ranks
        self.wildcards = wildcards
        self.notes: list[str] = []
        self.shared = Shared(threaded=threaded)
        self.paths = Paths()
        self.communicators = Communicators(ranks)
        self._untimed: dict[str, NDArray[np.uint64]] = {}
        self._unmodelled: dict[str, int] = {}
        #: Pieces of ranks, and whose each is.
        self._parts: list[Part] = []
        self._rank_of: list[int] = []
        self._own: list[int] = []

    def add(self, traces: Sequence[raw.Trace], clock: Clock, begin: int, end: int) -> None:
        """The next rank: traces of its threads, and when it began and ceased to do what it is about.

        Parameters
        ----------
        clock : Clock
            From times of the traces to those of the Recording.
        begin, end : int
            Nanoseconds of the Recording.
        """
        self.add_pieces([traces], clock, begin, end, 0)

    def add_pieces(
        self, pieces: Iterable[Sequence[raw.Trace]], clock: Clock, begin: int, end: int, requests: int
    ) -> None:
        """The next rank in pieces, one after another; ``requests`` is above all numbers of its requests."""
        rank, carry = len(self._own), Carry(next_request=requests)
        self._own.append(0)
        waiting: Sequence[raw.Trace] | None = None
        for traces in pieces:
            if waiting is not None:
                self._add_piece(rank, waiting, clock, begin, begin, carry)
            waiting = traces
        if waiting is not None:
            self._add_piece(rank, waiting, clock, begin, end, carry)

    def _add_piece(
        self, rank: int, traces: Sequence[raw.Trace], clock: Clock, begin: int, end: int, carry: Carry
    ) -> None:
        steps = joined(traces, clock, self.shared.functions, [self.paths.numbers(t) for t in traces])
        for trace in traces:
            self.communicators.add(rank, trace.comms)
            for id, count in trace.untimed.items():
                name = trace.functions.get(id, f"function {id}")
                self._untimed.setdefault(name, np.zeros(self.ranks, np.uint64))[rank] += np.uint64(count)
        part = translated(steps, begin, end, self.shared, carry)
        for name, calls in part.unmodelled.items():
            self._unmodelled[name] = self._unmodelled.get(name, 0) + calls
        self._own[rank] += part.own
        self._parts.append(part)
        self._rank_of.append(rank)

    def nothing(self) -> None:
        """The next rank, which left no trace."""
        self.add([raw.nothing()], Clock(), 0, 0)

    def finish(self, about: Mapping[str, Any]) -> Program:
        """The Program of all ranks; ``about`` has what the Recording says of the run and of each rank."""
        parts = self._parts
        comm_first, comm_ranks, locals_ = self.communicators.finish(
            [(rank, part.comms) for rank, part in zip(self._rank_of, parts, strict=True)]
        )
        # Id 0 is of nothing: a rank that is not in what others made.
        if any(
            ((local.index == UNKNOWN) & (part.comms != 0)).any() for part, local in zip(parts, locals_, strict=True)
        ):
            self.notes.append(
                "left out: communicators whose members are not all of this program, and all that was done on them"
            )
        sizes = [(len(part.events["kind"]), len(part.calls["begin"])) for part in parts]
        of_rank = np.zeros((self.ranks + 1, 2), np.int64)
        np.add.at(of_rank[1:], self._rank_of, sizes)
        first, call_first = np.cumsum(of_rank, axis=0).T
        events, calls, halves, together = concatenated(parts, locals_)
        comm = events.pop("comm")
        size = lengths(comm_first)
        cut = align(events, comm, size, self.shared.details, together, calls)
        details = self.shared.details.array()
        if len(cut):
            self.notes.append(f"left out: {number(len(cut), 'call')} of collectives that not all members recorded")
        self._match(events, details, halves)
        events["comm"] = np.maximum(comm, 0)
        take_out(events, cut)
        tree, became = self.paths.finish()
        calls["path"] = became[np.minimum(calls["path"], len(became) - 1)]
        event_path = became[np.minimum(events["location"], len(became) - 1)]
        own_path = own(tree, np.concatenate([calls["path"], event_path]))
        # The last element is of no path.
        own_site = np.append(tree.place, np.uint32(NONE))[np.minimum(np.append(own_path, NONE), len(tree))]
        calls["site"] = own_site[np.minimum(calls["path"], len(tree))]
        calls["path"] = calls["path"] if len(tree) else calls["path"][:0]
        sites = [frame.text for frame in tree.frames]
        locations, numbers = _different(sites)
        events["location"] = numbers[own_site[np.minimum(event_path, len(tree))]]
        events, first, calls["event"] = compacted(events, details, first, calls["event"])
        calls["peer"] = world_peers(calls, comm_first, comm_ranks)
        calls["comm"] = np.maximum(calls["comm"], 0)
        recording = Recording(
            **{**about, **calls},
            first=call_first.astype(np.uint64),
            functions=self.shared.functions.names,
            sites=tuple(sites),
            path_parent=tree.parent,
            path_site=tree.place,
            site_function=tuple(frame.function for frame in tree.frames),
            site_module=tuple(frame.module for frame in tree.frames),
            overhead=np.array(self._own, np.float64) * 1e-9,
            untimed=self._untimed,
            unmodelled=self._unmodelled,
            notes=tuple(self.notes),
        )
        return Program(
            first=first.astype(np.uint64),
            **{name: events[name].astype(dtype) for name, dtype in EVENT_COLUMNS.items()},
            details=details,
            comm_first=comm_first,
            comm_ranks=comm_ranks,
            location=events["location"] if locations else np.empty(0, np.uint32),
            locations=locations,
            phase=events["phase"] if self.shared.phases else np.empty(0, np.uint32),
            phases=tuple(self.shared.phases),
            recording=recording,
        )

    def _match(self, events: dict[str, NDArray[Any]], details: NDArray[np.int64], halves: Halves) -> None:
        """Messages without a partner go; receives get their wildcards back where that is wanted."""
        own = halves.place
        halves.peer[halves.comm == UNKNOWN] = NULL
        source = np.where(halves.receives, halves.peer, np.where(halves.peer == NULL, NULL, own))
        target = np.where(halves.receives, own, halves.peer)
        found = match(halves.receives, halves.comm, source, target, halves.tag, halves.begin, halves.end)
        halves.peer[found.alone] = NULL
        for what, alone in (("send", found.alone & ~halves.receives), ("receive", found.alone & halves.receives)):
            if alone.any():
                self.notes.append(f"left out: {number(int(alone.sum()), what)} without a partner in the recording")
        if found.early:
            self.notes.append(
                f"by the clocks, {number(found.early, 'message')} came before being sent, by {found.worst} ns at most"
            )
        there = halves.peer != NULL
        if self.wildcards == "free":
            halves.peer[there & halves.any_peer] = ANY
            halves.tag[there & halves.any_tag] = ANY
        main, second = halves.at == 0, halves.at != 0
        events["peer"][halves.event[main]] = halves.peer[main]
        events["tag"][halves.event[main]] = np.where(there, halves.tag, 0)[main]
        details[halves.at[second]] = halves.peer[second]
        details[halves.at[second] + 1] = np.where(there, halves.tag, 0)[second]


class _Numbers:
    """New numbers of what was numbered before, all ones staying as they are."""

    def __init__(self, new: Sequence[int]) -> None:
        self.new = np.array([*new, NONE], np.uint32)

    def __getitem__(self, old: NDArray[np.uint32]) -> NDArray[np.uint32]:
        return self.new[np.minimum(old, len(self.new) - 1)]


def _different(texts: Sequence[str]) -> tuple[tuple[str, ...], _Numbers]:
    """The different ones of these texts, and the numbers that they have: calls of one line have several addresses."""
    number: dict[str, int] = {}
    new = [number.setdefault(text, len(number)) for text in texts]
    return tuple(number), _Numbers(new)


def number(count: int, one: str, many: str = "") -> str:
    """ "1 rank", "2 ranks"."""
    return f"{count} {one if count == 1 else many or one + 's'}"
