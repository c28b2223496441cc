"""Conversion of the calls of one rank to events of a Program.

What each call becomes:

- point-to-point calls: the event of the same name, with what receives really matched. A partner that is not there
  (MPI_PROC_NULL, a rank of another world, a message that was cancelled or whose sender is not known) is ``NULL``.
  Buffered sends are nonblocking ones that are never waited for. Synchronous and ready sends are sends: whether a send
  waits for its receive follows from its size on the simulated machine.
- persistent and partitioned requests: a nonblocking call where they are started.
- waits and tests: a wait for what they completed, or a test; requests that are freed are not waited for.
- polls that found nothing, probes: nothing.
- collectives: collectives; those of intercommunicators are taken over both groups; calls that only synchronise
  (MPI_File_open): barriers.
- communicators made: comm_create; where only the members of the new one call, or where the call is nonblocking, a
  barrier. Windows made: an allgather of 8 bytes. Windows freed: a barrier.
- one-sided calls: see :mod:`isthmus.recording.one_sided`.
- MPI-IO and local work (MPI_Pack): computation of the time it took.

A call of libisthmus in which handlers ran is begun before them and waited for behind them. Where one rank does so, the
others begin the same collective and wait for it at once.

Where threads are in MPI at the same time, their blocking calls become nonblocking ones that are waited for where the
call ended, so that the calls of one thread do not hold up those of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.columns import among
from ..schedule.event import ONE_LIST, OWN_LISTS
from ..schedule.program import ANY, NO_COMMUNICATOR, NONE, NULL, ROOTED, CollectiveKind, EventKind
from . import raw
from .emission import Details, Emission
from .functions import Functions, counted
from .one_sided import emit_one_sided
from .part import Halves, Part
from .rank_records import Steps, computed, lists
from .requests import Requests, requests_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Collectives that have counts in their details.
_COUNTED = (*ONE_LIST, *OWN_LISTS)


@dataclass
class Shared:
    """State shared by all ranks of a program during translation."""

    functions: Functions = field(default_factory=Functions)
    details: Details = field(default_factory=Details)
    phases: dict[str, int] = field(default_factory=dict)
    #: Whether blocking collectives are split, since threads of some rank overlap.
    threaded: bool = False


@dataclass
class Carry:
    """State that a piece of a rank's trace takes over from earlier pieces."""

    #: When all of them was over; None: there is none before.
    since: int | None = None
    #: Above all numbers of requests that the recorded program did not have.
    next_request: int = 0
    #: Communicators of windows.
    windows: dict[int, int] = field(default_factory=dict)
    phase: int = NONE


def translated(steps: Steps, begin: int, end: int, shared: Shared, carry: Carry) -> Part:
    """The events of a piece of one rank, which computed and communicated from ``begin`` to ``end`` (ns)."""
    begin = begin if carry.since is None else carry.since
    part = _Translation(steps, shared, carry).run(begin, end)
    carry.since = max(begin, int(steps.table["end"].max(initial=begin)))
    return part


class _Translation:
    def __init__(self, steps: Steps, shared: Shared, carry: Carry) -> None:
        self.steps = steps
        self.shared = shared
        self.carry = carry
        self.table = steps.table
        self.out = Emission()
        self.requests: Requests = requests_of(steps, carry.next_request)
        item = {form: items.item for form, items in steps.items.items()}
        ids = [item[raw.MESSAGE]["comm"], item[raw.COLLECTIVE]["comm"], item[raw.RMA]["comm"]]
        ids += [item[raw.CREATED]["id"], item[raw.CREATED]["parent"]]
        self.comms = np.unique(np.concatenate(ids))
        calls = self.table["kind"] != raw.MARK
        self.call_of = np.where(calls, np.cumsum(calls) - 1, -1)
        self.calls = self._columns(calls)
        self.together: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]] = []
        self.unmodelled: dict[str, int] = {}

    def run(self, begin: int, end: int) -> Part:
        worked, own = computed(self.steps, begin, end, self.shared.functions.polls())
        self.out.compute(np.arange(len(worked)), worked, -1)
        self._local_work()
        halves = self._messages()
        self._collectives()
        self._created()
        exposures, fences = emit_one_sided(self.steps, self.requests, self.out, self.calls, self.call_of, self.local)
        self.together.append(fences)
        halves = halves.joined(exposures, self.table)
        self._completions()
        self._marks()
        self.carry.next_request = self.requests.next
        events, points, step, place = self.out.finish()
        halves.event = place[halves.event]
        event, call, blocking = (np.concatenate(column) for column in zip(*self.together, strict=True))
        self._first_events(step)
        self._annotate(events, points, step)
        return Part(events, self.comms, halves, place[event], call, blocking, self.calls, self.unmodelled, own)

    def local(self, ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Indices into the communicators of the rank."""
        if len(self.comms) == 1:
            return np.zeros(len(ids), np.int64)
        return np.searchsorted(self.comms, ids)

    def _columns(self, calls: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
        size = int(calls.sum())
        table = self.table[calls] if size < len(calls) else self.table
        columns = {name: table[name].copy() for name in ("function", "path", "begin", "end", "count")}
        # The program went on between calls that had nothing to do: of a series of them only their own time counts.
        idle = (table["kind"] == raw.POLLS) & (table["form"] == raw.IDLE)
        columns["end"][idle] = columns["begin"][idle] + table["inside"][idle]
        return {
            **columns,
            "thread": self.steps.thread[calls],
            "sent": np.zeros(size, np.uint64),
            "received": np.zeros(size, np.uint64),
            "peer": np.full(size, -1, np.int32),
            "comm": np.full(size, -1, np.int32),
            "wait": np.full(size, -1, np.int64),
            "event": np.full(size, -1, np.int64),
        }

    def _missing(self, step: NDArray[np.int64]) -> None:
        """Counts these steps as calls that the Program does not contain."""
        found = counted(self.shared.functions.names, self.table["function"][step])
        for name, calls in found.items():
            self.unmodelled[name] = self.unmodelled.get(name, 0) + calls

    def _local_work(self) -> None:
        table, functions = self.table, self.shared.functions
        plain = (table["kind"] == raw.CALL) & (table["form"] == raw.PLAIN) & (table["error"] == 0)
        local = functions.local()[table["function"]]
        silent = functions.silent()[table["function"]]
        io = (table["kind"] == raw.CALL) & (table["form"] == raw.IO)
        io |= plain & functions.files()[table["function"]]
        self._missing(np.flatnonzero((plain & ~local & ~silent) | io))
        step = np.flatnonzero((plain & local) | io)
        lasted = table["end"][step] - table["begin"][step]
        self.out.compute(self.steps.leave[step], lasted, step)

    # Point to point.

    def _messages(self) -> Halves:
        m, step = self.steps.items[raw.MESSAGE].item, self.steps.items[raw.MESSAGE].step
        receives = m["direction"] == 1
        peer, tag = m["peer"].astype(np.int64), m["tag"].astype(np.int64)
        size, end = m["bytes"].astype(np.int64), self.table["end"][step]
        request = m["request"].astype(np.int64)
        opening = self.requests.of(raw.MESSAGE)
        index, done_by = self.requests.index[opening], self.requests.done_by[opening]
        request[index] = self.requests.request[opening]
        end[index] = np.where(done_by >= 0, self.table["end"][self._step_of(done_by)], -1)
        done = self.requests.done[done_by] if len(self.requests.done) else np.zeros(len(done_by), raw.DONE_ITEM)
        flags = np.where(done_by >= 0, done["flags"], 0)
        told = receives[index] & (flags & raw.RECEIVED != 0)
        size[index[told]] = done["bytes"][told]
        # What was asked for by name is not doubted: threads may be given the same handle for two requests.
        for column, name in ((peer, "peer"), (tag, "tag")):
            free = told & ((m[f"asked_{name}"][index] == raw.ANY) | (done[name] == raw.NULL))
            column[index[free]] = done[name][free]
        outside = m["world"] == raw.OUTSIDE
        self._missing(step[outside])
        # Some traces do not say what a receive took; one that never ended took nothing.
        ended = receives & (end >= 0)
        gone = (peer < 0) & ~((peer == ANY) & ended) | outside
        gone[index] |= flags & raw.CANCELLED != 0
        peer[gone], tag[gone | ((tag < 0) & ~ended)] = NULL, 0
        # Nobody knows when a receive was complete that was freed.
        end[index[flags & raw.FREED != 0]] = -1
        self._count_bytes(step, receives & (request == 0), ~receives, size, gone, done_by, index)
        self._note_peers(step, m, peer)
        event, at = self._emit_messages(step, m, receives, request, peer, tag, size)
        return Halves(
            event,
            at,
            receives,
            self.local(m["comm"]),
            peer,
            tag,
            receives & (m["asked_peer"] == raw.ANY),
            receives & (m["asked_tag"] == raw.ANY),
            self.table["begin"][step],
            end,
        )

    def _step_of(self, done_by: NDArray[np.int64]) -> NDArray[np.int64]:
        """Steps of these completions; 0 where there is none."""
        steps = self.requests.done_step
        return np.where(done_by >= 0, steps[np.maximum(done_by, 0)] if len(steps) else 0, 0)

    def _count_bytes(
        self,
        step: NDArray[np.int64],
        received: NDArray[np.bool_],
        sent: NDArray[np.bool_],
        size: NDArray[np.int64],
        gone: NDArray[np.bool_],
        done_by: NDArray[np.int64],
        index: NDArray[np.int64],
    ) -> None:
        """Bytes of messages where they are sent, and where receives of them complete."""
        calls = self.call_of[step]
        add(self.calls["sent"], calls[sent & ~gone], size[sent & ~gone])
        add(self.calls["received"], calls[received & ~gone], size[received & ~gone])
        complete = (done_by >= 0) & ~sent[index] & ~gone[index]
        where = self.call_of[self._step_of(done_by)]
        add(self.calls["received"], where[complete], size[index[complete]])

    def _note_peers(self, step: NDArray[np.int64], m: NDArray[Any], peer: NDArray[np.int64]) -> None:
        """The partner of calls, and of completions, that have one only."""
        comm = self.local(m["comm"])
        only(self.calls, self.call_of[step], comm, peer)
        row, form = self.requests.completed()
        row = row[form == raw.MESSAGE]
        which = self.requests.index[self.requests.closes[row]]
        only(self.calls, self.call_of[self.requests.done_step[row]], comm[which], peer[which])

    def _emit_messages(
        self,
        step: NDArray[np.int64],
        m: NDArray[Any],
        receives: NDArray[np.bool_],
        request: NDArray[np.int64],
        peer: NDArray[np.int64],
        tag: NDArray[np.int64],
        size: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Emits messages; the event of each and where the receive of a sendrecv stands in the details."""
        steps, comm = self.steps, self.local(m["comm"])
        event, at = np.zeros(len(m), np.int64), np.zeros(len(m), np.int64)
        blocking = request == 0
        first = np.flatnonzero(blocking[:-1] & blocking[1:] & (step[:-1] == step[1:]) & ~receives[:-1] & receives[1:])
        waited = np.zeros(len(m), np.bool_)
        if steps.overlapping:
            first, waited = first[:0], blocking.copy()
        waited &= m["mode"] != raw.BUFFERED
        local = waited | (blocking & ~receives & (m["mode"] == raw.BUFFERED))
        paired = np.zeros(len(m), np.bool_)
        paired[first] = paired[first + 1] = True
        local &= ~paired
        request = request.copy()
        request[local] = self.requests.new(int(local.sum()))
        triples = np.stack([peer[first + 1], tag[first + 1], size[first + 1]], axis=1).reshape(-1)
        detail = self.shared.details.add(triples, np.full(len(first), 3))
        event[first] = event[first + 1] = self.out.add(
            steps.enter[step[first]], EventKind.sendrecv, step[first], peer=peer[first], tag=tag[first],
            comm=comm[first], amount=size[first], detail=detail,
        )  # fmt: skip
        at[first + 1] = detail + 1
        rest = np.flatnonzero(~paired)
        opens = request[rest] != 0
        kind = np.where(receives[rest], EventKind.recv, EventKind.send) + 2 * opens
        point = steps.enter[step[rest]]
        if steps.overlapping:
            # A thread waits for the library's lock while another one handles what came before.
            late = self.shared.functions.handlers()[self.table["function"][step[rest]]]
            point = np.where(late, steps.leave[step[rest]], point)
        event[rest] = self.out.add(
            point, kind, step[rest], peer=peer[rest], tag=tag[rest], comm=comm[rest],
            amount=size[rest], request=request[rest],
        )  # fmt: skip
        split = np.flatnonzero(waited)
        self.out.add(steps.leave[step[split]], EventKind.wait, step[split], request=request[split])
        return event, at

    # What all members call.

    def _collectives(self) -> None:
        c, step = self.steps.items[raw.COLLECTIVE].item, self.steps.items[raw.COLLECTIVE].step
        call = self.call_of[step]
        # Persistent collectives move bytes when they are started, not when their request is made.
        kept = np.flatnonzero(c["flags"] & raw.CREATED_ONLY == 0)
        add(self.calls["sent"], call[kept], c["sent"][kept])
        add(self.calls["received"], call[kept], c["received"][kept])
        first = self.steps.counts_first[kept]
        c, step = c[kept], step[kept]
        self.calls["comm"][self.call_of[step]] = self.local(c["comm"])
        request = np.zeros(len(c), np.int64)
        opening = self.requests.of(raw.COLLECTIVE)
        place = np.searchsorted(kept, self.requests.index[opening])
        request[place] = self.requests.request[opening]
        what = np.where(c["kind"] > max(CollectiveKind), CollectiveKind.barrier, c["kind"])
        detail = np.zeros(len(c), np.int64)
        counts = among(what, _COUNTED) & ((c["counts"] > 0) | (what == CollectiveKind.neighbor_alltoall))
        lengths = c["counts"].astype(np.int64)
        for i in np.flatnonzero(counts).tolist():
            detail[i] = self.shared.details.shared(self.steps.counts[first[i] : first[i] + lengths[i]])
        rooted = among(what, ROOTED)
        amount = np.where(what == CollectiveKind.barrier, 0, c["bytes"])
        self._emit_collectives(
            step, what, c["comm"], request, peer=np.where(rooted, c["root"], 0), tag=(c["flags"] & raw.ORDERED) != 0,
            amount=amount, detail=detail,
        )  # fmt: skip

    def _emit_collectives(
        self,
        step: NDArray[np.int64],
        what: Any,
        comm: NDArray[np.uint64],
        request: NDArray[np.int64],
        **columns: Any,
    ) -> None:
        """Collectives, which are split where threads overlap, or where that of another rank may be.

        Those of libisthmus that no rank splits become whole again in :func:`isthmus.recording.align_collectives.align`.
        """
        blocking = request == 0
        may_be = self.shared.functions.split()[self.table["function"][step]]
        split = np.flatnonzero(blocking & (self.shared.threaded | may_be))
        request = request.copy()
        request[split] = self.requests.new(len(split))
        event = self.out.add(
            self.steps.enter[step], EventKind.collective, step, what=what, comm=self.local(comm), request=request,
            **columns,
        )  # fmt: skip
        self.together.append((event, self.call_of[step], blocking))
        self.out.add(self.steps.leave[step[split]], EventKind.wait, step[split], request=request[split])

    def _created(self) -> None:
        c, step = self.steps.items[raw.CREATED].item, self.steps.items[raw.CREATED].step
        window, freed = c["window"] != 0, c["freed"] != 0
        request = np.zeros(len(c), np.int64)
        opening = self.requests.of(raw.CREATED)
        request[self.requests.index[opening]] = self.requests.request[opening]
        over = np.where(c["parent"] != 0, c["parent"], c["id"])
        over[window & freed] = self._communicators_of(c["window"][window & freed], c[window & ~freed])
        self.calls["comm"][self.call_of[step[over != 0]]] = self.local(over[over != 0])
        made = np.flatnonzero(window & ~freed & (over != 0))
        self._emit_collectives(step[made], CollectiveKind.allgather, over[made], request[made], amount=8)
        alone = self.shared.functions.of_members()[self.table["function"][step]] | (c["parent"] == 0)
        barrier = np.flatnonzero(~window & ~freed & ((alone & (c["id"] != 0)) | (request != 0)))
        barrier = np.concatenate([np.flatnonzero(window & freed & (over != 0)), barrier])
        barrier.sort()
        on = np.where(window | ~alone, over, c["id"])
        self._emit_collectives(step[barrier], CollectiveKind.barrier, on[barrier], request[barrier])
        made = np.flatnonzero(~window & ~freed & ~alone & (request == 0))
        new = np.where(c["id"] != 0, self.local(c["id"]).astype(np.uint64), np.uint64(NO_COMMUNICATOR))
        event = self.out.add(
            self.steps.enter[step[made]], EventKind.comm_create, step[made], comm=self.local(over[made]),
            amount=new[made],
        )  # fmt: skip
        self.together.append((event, self.call_of[step[made]], np.ones(len(made), np.bool_)))

    def _communicators_of(self, windows: NDArray[np.uint64], made: NDArray[Any]) -> NDArray[np.uint64]:
        """Ids of the communicators of windows, which only the calls say that made them; 0: not known."""
        over = self.carry.windows
        over.update(zip(made["window"].tolist(), made["id"].tolist(), strict=True))
        return np.array([over.get(window, 0) for window in windows.tolist()], np.uint64)

    # Completion, marks.

    def _completions(self) -> None:
        """Waits for requests that completed, and flushes for those of one-sided calls."""
        r = self.requests
        row, form = r.completed()
        row = row[(form != raw.RMA) & (r.done["flags"][row] & raw.FREED == 0)]
        request, step = r.request[r.closes[row]], r.done_step[row]
        first = np.flatnonzero(np.concatenate([[True], step[1:] != step[:-1]])[: len(step)])
        length = np.diff(np.append(first, len(step)))
        one, many = first[length == 1], length > 1
        tested = self.shared.functions.polls()[self.table["function"][step[one]]]
        self.out.add(
            self.steps.leave[step[one]], np.where(tested, EventKind.test, EventKind.wait), step[one],
            request=request[one], amount=tested,
        )  # fmt: skip
        detail = self.shared.details.add(lists(request, first[many], length[many]), length[many])
        self.out.add(self.steps.leave[step[first[many]]], EventKind.waitall, step[first[many]], detail=detail)

    def _marks(self) -> None:
        marks = (self.table["kind"] == raw.MARK) & (self.table["form"] == raw.ITERATION)
        step = np.flatnonzero(marks & (self.table["value"] >= 0))
        self.out.add(self.steps.enter[step], EventKind.iteration, step, amount=self.table["value"][step])

    def _first_events(self, step: NDArray[np.int64]) -> None:
        call = np.where(step >= 0, self.call_of[step], -1) if len(self.call_of) else step
        event = np.flatnonzero(call >= 0)[::-1]
        self.calls["event"][call[event]] = event

    def _annotate(self, events: dict[str, NDArray[Any]], points: NDArray[np.int64], step: NDArray[np.int64]) -> None:
        """Locations (paths, as yet) and phases of events."""
        table = self.table
        events["location"] = np.full(len(step), NONE, np.uint32)
        known = step >= 0
        events["location"][known] = table["path"][step[known]]
        events["phase"] = np.full(len(step), self.carry.phase, np.uint32)
        mark = np.flatnonzero((table["kind"] == raw.MARK) & (table["form"] == raw.PHASE))
        if not len(mark):
            return
        phases = self.shared.phases
        names = [phases.setdefault(f"phase {level}", len(phases)) for level in table["value"][mark].tolist()]
        numbers = np.array([self.carry.phase, *names], np.uint32)
        self.carry.phase = names[-1]
        events["phase"] = numbers[np.searchsorted(self.steps.enter[mark], points, side="right")]


def add(column: NDArray[np.uint64], call: NDArray[np.int64], amount: NDArray[Any]) -> None:
    """Adds amounts to the elements of a column that belong to calls."""
    np.add.at(column, call, amount.astype(np.uint64))


def only(calls: dict[str, NDArray[Any]], call: NDArray[np.int64], comm: NDArray[Any], peer: NDArray[Any]) -> None:
    """Writes the partner of calls that have a single one; ``call`` is in order."""
    if not len(call):
        return
    first = np.flatnonzero(np.concatenate([[True], call[1:] != call[:-1]]))
    length = np.diff(np.append(first, len(call)))
    owner = np.repeat(np.arange(len(first)), length)
    same = (comm == comm[first][owner]) & (peer == peer[first][owner])
    alike = np.logical_and.reduceat(same, first) & (peer[first] >= 0)
    calls["comm"][call[first]] = comm[first]
    calls["peer"][call[first[alike]]] = peer[first[alike]]
