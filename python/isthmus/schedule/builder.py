"""The builder of programs: whole arrays of events at once, or event by event."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput
from . import columns
from .call_checks import CallChecks
from .collective_calls import CollectiveCalls, Requests
from .program import ANY, EVENT_COLUMNS, NONE, REDUCTIONS, CollectiveKind, EventKind, Program

#: Events added one by one, as records until the program is built.
_RECORD = np.dtype([("rank", "=u4"), *EVENT_COLUMNS.items(), ("location", "=u4"), ("phase", "=u4")])
_pack = Struct("=IBBiiIQIIII").pack  # the same
_TYPES: dict[str, Any] = {name: _RECORD[name] for name in _RECORD.names or ()}
#: Smallest number of columns where it is not 0.
_LOWEST = {"peer": -2, "tag": -1}
_COLLECTIVES = {kind.name: kind.value for kind in CollectiveKind}
# Numbers of kinds: members of an enumeration take longer to look up than an event takes to write.
(
    _COMPUTE, _SEND, _RECV, _ISEND, _IRECV, _SENDRECV, _WAIT, _WAITALL, _WAITANY, _TEST, _COLLECTIVE, _COMM_CREATE,
    _PUT, _GET, _FENCE, _FLUSH, _LOCK, _UNLOCK, _ITERATION,
) = (kind.value for kind in EventKind)  # fmt: skip


class ProgramBuilder(CollectiveCalls):
    """Builds a program from events; calls on the same rank are in program order.

    Each call checks its own arguments and refuses a rank, peer, root or communicator that does not exist, a rank that
    is not in the communicator, and ``ANY`` where a rank is needed. :meth:`Program.validate` checks the rest.

    Every method takes the ranks first: a number, an array, or None for all ranks. Each other argument is one value for
    all of these ranks or one per rank. Peers and roots are ranks of the communicator ``comm``; 0 is the world. Sizes
    are in bytes, times in seconds.

    Parameters
    ----------
    ranks : int

    Examples
    --------
    A ring, in which every rank sends 1 kB to its right neighbour:

    >>> import numpy as np
    >>> b = ProgramBuilder(4)
    >>> rank = np.arange(4)
    >>> b.compute(None, 1e-6)
    >>> sent = b.isend(None, (rank + 1) % 4, 1000)
    >>> b.recv(None, (rank - 1) % 4, 1000)
    >>> b.wait(None, sent)
    >>> print(b.build())
    Program of 4 ranks, 16 events
      events: 4 compute, 4 recv, 4 isend, 4 wait
      messages: 4, 4 kB
      computation: 4 us
    """

    def __init__(self, ranks: int) -> None:
        if not isinstance(ranks, (int, np.integer)) or not 1 <= ranks < NONE:
            raise InvalidInput(f"ranks is {ranks!r}: must be a whole number from 1 to {NONE - 1}")
        self.ranks = int(ranks)
        self._records = bytearray()
        self._chunks: list[tuple[int, dict[str, NDArray[Any]]]] = []
        self._details = array("q", [0])
        self._members: list[NDArray[np.uint32]] = [np.arange(self.ranks, dtype=np.uint32)]
        self._calls = CallChecks(self.ranks, self._members)
        self._next_request = 1
        self._location = self._phase = NONE
        self._locations: dict[str, int] = {}
        self._phases: dict[str, int] = {}
        #: What is to be said beside results, see :attr:`Program.origin`.
        self.origin = ""

    # Point to point.

    def compute(self, rank: ArrayLike | None, seconds: ArrayLike) -> None:
        """Add computation of this many seconds, rounded to picoseconds."""
        if type(seconds) is float and 0 <= seconds < 9.2e6:
            self._add(_COMPUTE, rank, amount=round(seconds * 1e12))
            return
        times = columns.numbers("seconds", seconds)
        if len(wrong := np.flatnonzero(~((times >= 0) & (times < 9.2e6)))):
            raise InvalidInput(f"compute of {times[wrong[0]]} seconds: must be 0 to 9.2e6")
        self._add(_COMPUTE, rank, amount=np.rint(times * 1e12).astype(np.uint64))

    def send(
        self, rank: ArrayLike | None, peer: ArrayLike, bytes: ArrayLike, tag: ArrayLike = 0, comm: ArrayLike = 0
    ) -> None:
        """Add a blocking send."""
        self._add(_SEND, rank, 0, peer, tag, comm, bytes)

    def recv(
        self, rank: ArrayLike | None, peer: ArrayLike, bytes: ArrayLike, tag: ArrayLike = 0, comm: ArrayLike = 0
    ) -> None:
        """Add a blocking receive; peer and tag may be ``ANY``."""
        self._add(_RECV, rank, 0, peer, tag, comm, bytes)

    def isend(
        self, rank: ArrayLike | None, peer: ArrayLike, bytes: ArrayLike, tag: ArrayLike = 0, comm: ArrayLike = 0
    ) -> Requests:
        """Add a nonblocking send; returns its request (an array of requests unless all arguments are numbers)."""
        # With opens=True there is a request.
        return self._add(_ISEND, rank, 0, peer, tag, comm, bytes, opens=True)  # type: ignore[return-value]

    def irecv(
        self, rank: ArrayLike | None, peer: ArrayLike, bytes: ArrayLike, tag: ArrayLike = 0, comm: ArrayLike = 0
    ) -> Requests:
        """Add a nonblocking receive; returns requests as :meth:`isend` does."""
        # With opens=True there is a request.
        return self._add(_IRECV, rank, 0, peer, tag, comm, bytes, opens=True)  # type: ignore[return-value]

    def sendrecv(
        self,
        rank: ArrayLike | None,
        dest: ArrayLike,
        bytes: ArrayLike,
        source: ArrayLike,
        recv_bytes: ArrayLike | None = None,
        tag: ArrayLike = 0,
        recv_tag: ArrayLike | None = None,
        comm: ArrayLike = 0,
    ) -> None:
        """Add a combined send and receive; by default it receives as many bytes as it sends, with the same tag."""
        size = bytes if recv_bytes is None else recv_bytes
        triple = [columns.integers(name, value, np.int64, lowest) for name, value, lowest in (
            ("source", source, -2), ("recv_tag", tag if recv_tag is None else recv_tag, -1), ("recv_bytes", size, 0)
        )]  # fmt: skip
        ranks = columns.integers("rank", np.arange(self.ranks) if rank is None else rank, np.uint32)
        comms = columns.integers("comm", comm, np.uint32)
        self._calls.check_columns(
            _RECV, 0, {"rank": ranks, "peer": triple[0], "tag": triple[1], "comm": comms}, "source"
        )
        rows = np.stack(np.broadcast_arrays(*triple), axis=1)
        detail = self._detail_rows(rows)
        self._add(
            EventKind.sendrecv, rank, 0, dest, tag, comm, bytes, detail=int(detail[0]) if len(rows) == 1 else detail
        )

    def wait(self, rank: ArrayLike | None, request: ArrayLike) -> None:
        """Wait for a request of the rank."""
        self._add(_WAIT, rank, request=request)

    def waitall(self, rank: ArrayLike | None, requests: ArrayLike | None = None) -> None:
        """Wait for these requests (one row per rank if there are several), or by default for all that are open."""
        detail = 0 if requests is None else self._detail(rank, requests)
        self._add(_WAITALL, rank, detail=detail)

    def waitany(self, rank: ArrayLike | None, requests: ArrayLike, completed: ArrayLike = 0) -> None:
        """Wait for any of these requests; the one at index ``completed`` completes."""
        self._add(_WAITANY, rank, amount=completed, detail=self._detail(rank, requests))

    def test(self, rank: ArrayLike | None, request: ArrayLike, completed: ArrayLike = True) -> None:
        """Test a request; ``completed`` says whether it had completed."""
        done = int(completed) if isinstance(completed, bool) else completed
        self._add(_TEST, rank, amount=done, request=request)

    # Collectives and communicators.

    def _collective(
        self,
        kind: str | int,
        rank: ArrayLike | None,
        bytes: ArrayLike,
        root: ArrayLike,
        comm: ArrayLike,
        counts: ArrayLike | None,
        nonblocking: bool,
        commutes: bool,
    ) -> Requests | None:
        what = _COLLECTIVES.get(str(kind)) or int(columns.kinds("collective", kind, CollectiveKind)[0])
        detail = 0 if counts is None else self._detail(rank, counts)
        if not commutes and what not in REDUCTIONS:
            raise InvalidInput(
                f"{CollectiveKind(what).name} has no operator: commutes=False applies only to reductions"
            )
        return self._add(
            _COLLECTIVE, rank, what, root, int(not commutes), comm, bytes, detail=detail, opens=nonblocking
        )

    def communicator(self, members: ArrayLike) -> int:
        """Return a new communicator of these world ranks, in this order, without adding an event."""
        ranks = columns.integers("members", members, np.uint32)
        if len(ranks) == 0 or ranks.max() >= self.ranks or len(np.unique(ranks)) < len(ranks):
            raise InvalidInput(
                f"members of a communicator must be different ranks from 0 to {self.ranks - 1}, at least one"
            )
        self._members.append(ranks.copy())
        return len(self._members) - 1

    def split(self, color: ArrayLike, key: ArrayLike | None = None, parent: int = 0) -> NDArray[np.int64]:
        """Split a communicator as MPI_Comm_split does; every member gets an event.

        Parameters
        ----------
        color : array of int
            Color of each member of ``parent``, in its order; members with the same color form one, -1 joins none.
        key : array of int, optional
            Order within the new communicator; by default that of the parent.

        Returns
        -------
        array of int64
            New communicator of each member, -1 for none.
        """
        if not 0 <= parent < len(self._members):
            raise InvalidInput(f"communicator {parent} does not exist: there are {len(self._members)}")
        members = self._members[parent]
        colors = np.broadcast_to(columns.integers("color", color, np.int64, -1), len(members))
        keys = columns.integers("key", 0 if key is None else key, np.int64, -(2**63))
        order = np.lexsort((np.broadcast_to(keys, len(members)), colors))
        order = order[np.searchsorted(colors[order], 0) :]
        different, start = np.unique(colors[order], return_index=True)
        made = np.full(len(members), -1, np.int64)
        made[order] = len(self._members) + np.searchsorted(different, colors[order])
        self._members += [members[part] for part in np.split(order, start[1:]) if len(part)]
        # -1 as an unsigned number is what the column has for none.
        self._add(_COMM_CREATE, members, comm=parent, amount=made.view(np.uint64))
        return made

    # One-sided.

    def put(self, rank: ArrayLike | None, peer: ArrayLike, bytes: ArrayLike, comm: ArrayLike = 0) -> None:
        """Write to the peer's window; completes at the next fence or flush."""
        self._add(_PUT, rank, 0, peer, 0, comm, bytes)

    def get(self, rank: ArrayLike | None, peer: ArrayLike, bytes: ArrayLike, comm: ArrayLike = 0) -> None:
        """Read from the peer's window; completes at the next fence or flush."""
        self._add(_GET, rank, 0, peer, 0, comm, bytes)

    def fence(self, rank: ArrayLike | None, comm: ArrayLike = 0) -> None:
        """Complete the rank's puts and gets, then synchronise with a barrier."""
        self._add(_FENCE, rank, comm=comm)

    def flush(self, rank: ArrayLike | None, peer: ArrayLike = ANY, comm: ArrayLike = 0) -> None:
        """Complete the rank's puts and gets with the peer, by default with all."""
        self._add(_FLUSH, rank, peer=peer, comm=comm)

    def lock(self, rank: ArrayLike | None, peer: ArrayLike, comm: ArrayLike = 0) -> None:
        """Lock the peer's window."""
        self._add(_LOCK, rank, peer=peer, comm=comm)

    def unlock(self, rank: ArrayLike | None, peer: ArrayLike = ANY, comm: ArrayLike = 0) -> None:
        """Complete the rank's puts and gets with the peer, and unlock its window."""
        self._add(_UNLOCK, rank, peer=peer, comm=comm)

    # Marks.

    def iteration(self, rank: ArrayLike | None, number: ArrayLike) -> None:
        """Mark the beginning of an iteration."""
        self._add(_ITERATION, rank, amount=number)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Assign the events added inside to this phase; the innermost phase applies."""
        outer, self._phase = self._phase, self._phases.setdefault(name, len(self._phases))
        try:
            yield
        finally:
            self._phase = outer

    @contextmanager
    def location(self, text: str) -> Iterator[None]:
        """Assign the events added inside to this place in the source; the innermost place applies."""
        outer, self._location = self._location, self._locations.setdefault(text, len(self._locations))
        try:
            yield
        finally:
            self._location = outer

    def build(self) -> Program:
        """Return the program of all events so far, without calling ``validate``.

        Raises
        ------
        InvalidInput
            If a rank does not exist.
        """
        self._flush()
        count = sum(n for n, _ in self._chunks)
        first, order = _core.order_by_rank(self._column("rank", count), self.ranks)
        names = [*EVENT_COLUMNS, *["location"] * bool(self._locations), *["phase"] * bool(self._phases)]
        made: dict[str, Any] = {name: self._ordered(name, count, order) for name in names}
        return Program(
            first=first,
            details=np.array(self._details, np.int64),
            comm_first=np.cumsum([0, *(len(m) for m in self._members)]).astype(np.uint64),
            comm_ranks=np.concatenate(self._members),
            locations=tuple(self._locations),
            phases=tuple(self._phases),
            origin=self.origin,
            **made,
        )

    def _ordered(self, name: str, count: int, order: NDArray[Any]) -> NDArray[Any]:
        """A column of all events in the order of the program."""
        # Where all calls gave the same number there is nothing to sort: three or four of the columns of most programs.
        if all(len(chunk[name]) == 1 for _, chunk in self._chunks):
            given = {chunk[name].item() for _, chunk in self._chunks}
            if len(given) == 1:
                return np.full(count, given.pop(), _TYPES[name])
        out: NDArray[Any] = self._column(name, count)[order]
        return out

    def _column(self, name: str, count: int) -> NDArray[Any]:
        """A column of all events in the order of the calls."""
        out = np.empty(count, _TYPES[name])
        at = 0
        for size, chunk in self._chunks:
            out[at : at + size] = chunk[name]
            at += size
        return out

    def _add(
        self,
        kind: int,
        rank: Any,
        what: int = 0,
        peer: ArrayLike = 0,
        tag: ArrayLike = 0,
        comm: ArrayLike = 0,
        amount: ArrayLike = 0,
        request: ArrayLike = 0,
        detail: ArrayLike = 0,
        opens: bool = False,
    ) -> Requests | None:
        """One event, or an array of them; returns the requests that they open, if they do."""
        if opens:
            request = self._next_request
        try:
            record = _pack(rank, kind, what, peer, tag, comm, amount, request, detail, self._location, self._phase)
        except (struct.error, TypeError):
            # Arrays, or numbers that are not allowed.
            table = {"peer": peer, "tag": tag, "comm": comm, "amount": amount, "detail": detail}
            if not opens:
                table["request"] = request
            return self._add_columns(kind, what, rank, table, opens)
        if rank >= self.ranks or comm or tag < 0 or not 0 <= peer < self.ranks:  # type: ignore[operator]
            self._calls.check(kind, what, rank, peer, tag, comm)  # type: ignore[arg-type]
        self._records += record
        if opens:
            self._next_request += 1
            return request  # type: ignore[return-value]  # a number, as it was packed
        return None

    def _add_columns(
        self, kind: int, what: int, rank: ArrayLike | None, given: dict[str, ArrayLike], opens: bool
    ) -> NDArray[np.uint32] | None:
        self._flush()
        given["rank"] = np.arange(self.ranks) if rank is None else rank
        table = {name: columns.integers(name, v, _TYPES[name], _LOWEST.get(name, 0)) for name, v in given.items()}
        count = columns.length(table)
        self._calls.check_columns(kind, what, table)
        if opens:
            begin = self._requests(count)
            table["request"] = np.arange(begin, begin + count, dtype=np.uint32)
        # The caller may change his arrays after the call.
        kept = {name: column.copy() for name, column in table.items()}
        for name, value in (("kind", kind), ("what", what), ("location", self._location), ("phase", self._phase)):
            kept[name] = np.array([value], _TYPES[name])
        self._chunks.append((count, kept))
        return table["request"] if opens else None

    def _requests(self, count: int) -> int:
        """The first of so many new requests."""
        begin = self._next_request
        if begin + count > NONE:
            raise InvalidInput(f"a program has at most {NONE - 1} requests")
        self._next_request += count
        return begin

    def _flush(self) -> None:
        """Events added one by one become arrays."""
        if not self._records:
            return
        records = np.frombuffer(self._records, _RECORD)
        self._records = bytearray()
        self._chunks.append((len(records), {name: records[name] for name in _TYPES}))

    def _detail(self, rank: ArrayLike | None, lists: Any) -> Any:
        """Stores these numbers: one list for all ranks, or one row for each."""
        if type(rank) is int:
            if type(lists) is list and lists and type(lists[0]) is int:
                begin = self._place(len(lists) + 1)
                self._details.extend([len(lists), *lists])
                return begin
            flat = np.ravel(np.asarray(lists))
            return int(self._detail_rows(columns.integers("numbers", flat, np.int64, -2)[None, :])[0])
        ranks = self.ranks if rank is None else np.size(rank)
        if not isinstance(lists, np.ndarray) and any(np.size(row) != np.size(lists[0]) for row in lists):
            rows = [columns.integers("numbers", np.ravel(np.asarray(row)), np.int64, -2) for row in lists]
            if len(rows) != ranks:
                raise InvalidInput(f"got {len(rows)} lists for {ranks} ranks; give one for each")
            return np.array([self._detail_rows(row[None, :])[0] for row in rows])
        table = np.asarray(lists)
        flat = columns.integers("numbers", table.reshape(-1), np.int64, -2)
        if table.ndim <= 1:
            return int(self._detail_rows(flat[None, :])[0])
        if len(table) != ranks:
            raise InvalidInput(f"got {len(table)} lists for {ranks} ranks; give one for each")
        return self._detail_rows(flat.reshape(ranks, -1))

    def _detail_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keeps each row of a table as a list of its own; returns where."""
        count, width = rows.shape
        begin = self._place(count * (width + 1))
        table = np.empty((count, width + 1), np.int64)
        table[:, 0] = width
        table[:, 1:] = rows
        self._details.frombytes(table.tobytes())
        places: NDArray[np.int64] = begin + np.arange(count) * (width + 1)
        return places

    def _place(self, count: int) -> int:
        """The position of the next ``count`` numbers of details."""
        if len(self._details) + count > NONE:
            raise InvalidInput(f"details take more than {NONE} numbers")
        return len(self._details)
