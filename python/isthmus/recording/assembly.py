"""Assembly of the traces of all ranks into one Program with its Recording."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..schedule.columns import blocks, drop, lengths
from ..schedule.program import ANY, EVENT_COLUMNS, NULL, Program
from ..schedule.recording import NONE, Recording
from . import raw
from .align_collectives import Calls, align, take_out
from .clocks import Clock
from .communicators import UNKNOWN, Communicators
from .compaction import compacted
from .concatenate import Parts
from .counters import Counting
from .emission import Details
from .matching import match_halves
from .own import own
from .paths import Paths, Tree
from .rank_records import joined
from .spill import Spill
from .translate import Carry, Shared, translated

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Assembly:
    """Builds the Program rank by rank.

    Parameters
    ----------
    ranks : int
    threaded : bool
        Whether several threads of a rank communicate.
    wildcards : {"recorded", "free"}
        See :func:`isthmus.recording.merge.merge`.
    scratch : path, optional
        Folder for columns that do not fit into memory well; see :class:`isthmus.recording.spill.Spill`.

    Attributes
    ----------
    notes : list of str
        For people; becomes that of the Recording.
    """

    def __init__(
        self,
        ranks: int,
        *,
        threaded: bool = False,
        wildcards: str = "recorded",
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        if wildcards not in ("recorded", "free"):
            raise InvalidInput(f"wildcards {wildcards!r} is unknown: must be recorded or free")
        self.ranks = ranks
        self.wildcards = wildcards
        self.notes: list[str] = []
        self._spill = Spill(scratch)
        self.shared = Shared(details=Details(self._spill.column()), threaded=threaded)
        self.paths = Paths()
        self.communicators = Communicators(ranks)
        self.counting = Counting()
        self._untimed: dict[str, NDArray[np.uint64]] = {}
        self._unmodelled: dict[str, int] = {}
        self._parts = Parts(self._spill)
        self._own: list[int] = []

    def add(self, traces: Sequence[raw.Trace], clock: Clock, begin: int, end: int) -> None:
        """Add the next rank: traces of its threads, and when it began and stopped its actual work.

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
        numbers = [self.paths.numbers(t) for t in traces]
        steps = joined(traces, clock, self.shared.functions, numbers)
        for trace, paths in zip(traces, numbers, strict=True):
            self.counting.add(rank, trace, paths)
            self.communicators.add(rank, trace.comms)
            for id, count in trace.untimed.items():
                name = trace.functions.get(id, f"function {id}")
                self._untimed.setdefault(name, np.zeros(self.ranks, np.uint64))[rank] += np.uint64(count)
        part = translated(steps, begin, end, self.shared, carry)
        for name, calls in part.unmodelled.items():
            self._unmodelled[name] = self._unmodelled.get(name, 0) + calls
        self._own[rank] += part.own
        self._parts.add(rank, part)

    def nothing(self) -> None:
        """Add the next rank, which left no trace."""
        self.add([raw.nothing()], Clock(), 0, 0)

    def finish(self, about: Mapping[str, Any], counters: Sequence[str] = ()) -> Program:
        """Return the Program of all ranks.

        Parameters
        ----------
        about : mapping
            What the Recording says of the run and of each rank.
        counters : sequence of str
            Names of counters of the processor that were read.
        """
        comm_first, comm_ranks, locals_ = self.communicators.finish(self._parts.used)
        # Id 0 is of nothing: a rank that is not in what others made.
        if any(
            ((local.index == UNKNOWN) & (ids != 0)).any()
            for (_, ids), local in zip(self._parts.used, locals_, strict=True)
        ):
            self.notes.append(
                "left out: communicators whose members are not all of this program, and all that was done on them"
            )
        first, call_first = self._parts.sizes(self.ranks)
        events, calls, halves, together = self._parts.finish(locals_, comm_first, comm_ranks)
        self._spill.release()
        comm = events["comm"]
        cut = align(
            events, comm, lengths(comm_first), self.shared.details, Calls(**together), first, calls,
            split=self.shared.threaded,
        )  # fmt: skip
        self._spill.release()
        details = self.shared.details.array()
        if len(cut):
            self.notes.append(f"left out: {number(len(cut), 'call')} of collectives that not all members recorded")
        self._match(events, details, halves)
        self._spill.release()
        for part in blocks(len(comm)):
            if (comm[part] < 0).any():
                np.maximum(comm[part], 0, out=comm[part])
        events["comm"] = comm.view(np.uint32)
        take_out(events, cut)
        tree, locations, became = self._places(events, calls)
        self._spill.release()
        events, first = compacted(events, details, first, calls["event"])
        calls["comm"] = calls["comm"].view(np.uint32)
        calls["path"] = calls["path"] if len(tree) else calls["path"][:0]
        self._spill.release()
        recording = Recording(
            **{**about, **calls},
            first=call_first.astype(np.uint64),
            functions=self.shared.functions.names,
            sites=tuple(frame.text for frame in tree.frames),
            path_parent=tree.parent,
            path_site=tree.place,
            site_function=tuple(frame.function for frame in tree.frames),
            site_module=tuple(frame.module for frame in tree.frames),
            overhead=np.array(self._own, np.float64) * 1e-9,
            counters=self.counting.finish(counters, became),
            untimed=self._untimed,
            unmodelled=self._unmodelled,
            notes=tuple(self.notes),
        )
        columns: dict[str, Any] = {name: events[name] for name in EVENT_COLUMNS}
        return Program(
            first=first.astype(np.uint64),
            **columns,
            details=details,
            comm_first=comm_first,
            comm_ranks=comm_ranks,
            location=events["location"] if locations else np.empty(0, np.uint32),
            locations=locations,
            phase=events["phase"] if self.shared.phases else np.empty(0, np.uint32),
            phases=tuple(self.shared.phases),
            recording=recording,
        )

    def _match(
        self, events: dict[str, NDArray[Any]], details: NDArray[np.int64], halves: dict[str, NDArray[Any]]
    ) -> None:
        """Drop messages without a partner, and restore wildcards of receives if requested."""
        found = match_halves(halves)
        lone = halves["receives"][found.alone]
        for what, count in (("send", len(lone) - int(lone.sum())), ("receive", int(lone.sum()))):
            if count:
                self.notes.append(f"left out: {number(count, what)} without a partner in the recording")
        if found.early:
            self.notes.append(
                f"by the clocks, {number(found.early, 'message')} came before being sent, by {found.worst} ns at most"
            )
        for part in blocks(len(found.alone)):
            # What events say already stays as it is: columns in files are written where they change only.
            changed = found.alone[part] | (halves["peer"][part] == NULL) | (halves["at"][part] != 0)
            if self.wildcards == "free":
                changed |= halves["any_peer"][part] | halves["any_tag"][part]
            here = part.start + np.flatnonzero(changed)
            half = {name: column[here] for name, column in halves.items()}
            peer = np.where(found.alone[here], np.int32(NULL), half["peer"])
            there = peer != NULL
            tag = np.where(there, half["tag"], 0)
            if self.wildcards == "free":
                peer[there & half["any_peer"]] = ANY
                tag[there & half["any_tag"]] = ANY
            main, second = half["at"] == 0, np.flatnonzero(half["at"])
            events["peer"][half["event"][main]] = peer[main]
            events["tag"][half["event"][main]] = tag[main]
            at = half["at"][second].astype(np.int64)
            details[at] = peer[second]
            details[at + 1] = tag[second]

    def _places(
        self, events: dict[str, NDArray[Any]], calls: dict[str, NDArray[Any]]
    ) -> tuple[Tree, tuple[str, ...], NDArray[np.uint32]]:
        """Paths and places of calls, and of events, whose columns are changed.

        The tree, texts for events, and what became of every path are returned.
        """
        tree, became = self.paths.finish()
        # The last element is of no path, here and below.
        used = np.zeros(len(became), np.bool_)
        for column in (calls["path"], events["location"]):
            for part in blocks(len(column)):
                used[np.minimum(column[part], len(became) - 1)] = True
            drop(column)
        own_path = own(tree, became[used])
        own_site = np.append(tree.place, np.uint32(NONE))[np.minimum(np.append(own_path, NONE), len(tree))]
        site = own_site[np.minimum(became, len(tree))]
        locations, numbers = _different([frame.text for frame in tree.frames])
        path = calls["path"]
        calls["site"], calls["path"] = self._renumbered(path, site), self._renumbered(path, became)
        events["location"] = self._renumbered(events["location"], numbers[site])
        return tree, locations, became

    def _renumbered(self, old: NDArray[np.uint32], new: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """A column with new numbers for old ones; the last is for all beyond."""
        column = self._spill.column()
        for part in blocks(len(old)):
            column.add(new[np.minimum(old[part], len(new) - 1)].astype(np.uint32, copy=False))
        drop(old)
        return column.array()


class _Numbers:
    """Replace old numbers by new ones; all ones stay as they are."""

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
