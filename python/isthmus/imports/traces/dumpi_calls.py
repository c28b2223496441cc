"""Calls of one rank of a dumpi trace as a trace of a thread."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from ...recording import raw
from ...recording.trace_builder import TraceBuilder
from .dumpi_comms import NULL_HANDLE, Handles, places_of
from .dumpi_text import Arguments, Call, RankText, Status
from .dumpi_types import Types

#: dumpi's numbers for a root in the other group of an intercommunicator and for no request.
_ROOT, _NO_REQUEST = -2, 1
_SENDS = {
    form.format(letter).capitalize(): mode
    for letter, mode in (("", raw.STANDARD), ("b", raw.BUFFERED), ("s", raw.SYNCHRONOUS), ("r", raw.READY))
    for form in ("{}send", "i{}send", "{}send_init")
}
_VECTORS = {"MPI_Bcast": 2, "MPI_Reduce": 3, "MPI_Allreduce": 4, "MPI_Scan": 10, "MPI_Exscan": 11}


class Rank:
    """One rank.

    Attributes
    ----------
    threads : dict of int to TraceBuilder
    handles : Handles
        Its communicators, whose numbers stand in ``pending``.
    pending : list of (dict, str, int)
        Fields that are communicators: where, which, and the number.
    """

    def __init__(self, text: RankText) -> None:
        self.text = text
        self.threads: dict[int, TraceBuilder] = {}
        self.handles = Handles()
        self.pending: list[tuple[dict[str, int], str, int]] = []
        self.init: tuple[int, int] | None = None
        self.finalize: tuple[int, int] | None = None
        self.first = self.last = -1
        self.cpu = 0
        self._serial = count(1)
        self._open: dict[int, dict[str, int]] = {}
        self._persistent: dict[int, dict[str, Any]] = {}
        self._windows: dict[int, int] = {}
        calls = list(text.calls())
        self.types = Types(text.sizes)
        self._cpu_counts = _is_oversubscribed(calls)
        self._before: dict[int, Call] = {}
        for call in calls:
            self._take(call)

    def _take(self, call: Call) -> None:
        self.out = self.threads.setdefault(call.thread, TraceBuilder(len(self.threads)))
        before = self._before.get(call.thread)
        used = max(call.cpu_begin - before.cpu_end, 0) if before is not None and self._cpu_counts else -1
        self._before[call.thread] = call
        self.first = call.begin if self.first < 0 else self.first
        self.last = max(self.last, call.end)
        self.cpu = max(self.cpu, call.cpu_end)
        a = self._arguments = Arguments(self.text.path, call)
        self.step = self.out.call(call.name, raw.PLAIN, call.begin, max(call.end, call.begin), cpu_gap=used)
        name = call.name.removeprefix("MPI_")
        if name.startswith("Init"):
            self.init = (call.begin, call.end)
        elif name == "Finalize":
            self.finalize = (call.begin, call.end)
        elif name.startswith("Type_"):
            self.types.made(a)
        elif (handler := getattr(self, f"_{name}", None)) is not None:
            handler(a)
        elif name in _SENDS:
            self._sent(a, name)
        elif call.name in _VECTORS:
            self._vector(a, _VECTORS[call.name])
        elif name.startswith("Group_"):
            self._group(a, name.removeprefix("Group_"))

    def _comm(self, fields: dict[str, int], a: Arguments, name: str = "comm", key: str = "comm") -> None:
        self.pending.append((fields, key, self.handles.number(a.number(name))))

    def _bytes(self, a: Arguments, count: str = "count", datatype: str = "datatype") -> int:
        return a.size(count, self.types.bytes(a.number(count), a.number(datatype)))

    # Messages.

    def _sent(self, a: Arguments, name: str) -> None:
        persistent = name.endswith("_init")
        message = {
            "peer": _partner(a.number("dest")), "tag": a.number("tag"), "bytes": self._bytes(a), "mode": _SENDS[name]
        }  # fmt: skip
        self._opened(a, message, persistent, "request" if a.has("request") else "")

    def _opened(self, a: Arguments, message: dict[str, int], persistent: bool, request: str) -> None:
        if persistent:
            self._persistent[a.numbers(request)[0]] = {**message, "comm": self.handles.number(a.number("comm"))}
            return
        self.out.form(self.step, raw.MESSAGE)
        stored = self.out.message(self.step, **message)
        self._comm(stored, a)
        handles = a.numbers(request) if request else []
        if handles and handles[0] != _NO_REQUEST:
            stored["request"] = next(self._serial)
            self._open[handles[0]] = stored

    def _receive(self, a: Arguments, status: Status | None = None, **names: str) -> dict[str, int]:
        source, tag = a.number("source"), a.number(names.get("tag", "tag"))
        size = self._bytes(a, names.get("count", "count"), names.get("datatype", "datatype"))
        peer = raw.ANY if source == -1 else _partner(source)
        message = {"direction": 1, "peer": peer, "tag": tag, "bytes": size, "asked_peer": peer, "asked_tag": tag}
        if status is not None and peer != raw.NULL:
            message |= {
                "peer": _partner(status.source), "tag": status.tag, "bytes": a.size("status", status.bytes)
            }  # fmt: skip
        return message

    def _Recv(self, a: Arguments) -> None:
        status = a.statuses("status")
        self._opened(a, self._receive(a, status[0] if status else None), False, "")

    def _Irecv(self, a: Arguments) -> None:
        self._opened(a, self._receive(a), False, "request")

    def _Recv_init(self, a: Arguments) -> None:
        self._opened(a, self._receive(a), True, "request")

    def _Start(self, a: Arguments) -> None:
        self._started(a.numbers("request"))

    def _Startall(self, a: Arguments) -> None:
        self._started(a.numbers("requests"))

    def _started(self, handles: list[int]) -> None:
        for handle in handles:
            if handle in self._persistent:
                self.out.form(self.step, raw.MESSAGE)
                fields = dict(self._persistent[handle])
                comm = fields.pop("comm")
                stored = self.out.message(self.step, request=next(self._serial), **fields)
                self.pending.append((stored, "comm", comm))
                self._open[handle] = stored

    def _Sendrecv(self, a: Arguments) -> None:
        replaced = not a.has("sendcount")
        names = ("count", "datatype") if replaced else ("sendcount", "sendtype")
        there = {"peer": _partner(a.number("dest")), "tag": a.number("sendtag"), "bytes": self._bytes(a, *names)}
        status = a.statuses("status")
        count, datatype = ("count", "datatype") if replaced else ("recvcount", "recvtype")
        back = self._receive(a, status[0] if status else None, tag="recvtag", count=count, datatype=datatype)
        self._opened(a, there, False, "")
        self._opened(a, back, False, "")

    _Sendrecv_replace = _Sendrecv

    # Completion.

    def _Wait(self, a: Arguments) -> None:
        self._done(a.numbers("request"), a.statuses("status"))

    def _Waitall(self, a: Arguments) -> None:
        self._done(a.numbers("requests"), a.statuses("statuses"))

    def _Waitany(self, a: Arguments) -> None:
        requests, index = a.numbers("requests"), a.number("index")
        self._done(requests[index : index + 1] if index >= 0 else [], a.statuses("status"))

    def _Waitsome(self, a: Arguments) -> None:
        requests = a.numbers("requests")
        done = [requests[i] for i in a.numbers("indices") if 0 <= i < len(requests)]
        self._done(done if a.number("outcount") > 0 else [], a.statuses("statuses"))

    def _tested(self, flag: int, complete: Callable[[], None]) -> None:
        if flag > 0:
            complete()
        else:
            self.out.unsuccessful(self.step)

    def _Test(self, a: Arguments) -> None:
        self._tested(a.number("flag"), lambda: self._Wait(a))

    def _Testall(self, a: Arguments) -> None:
        self._tested(a.number("flag"), lambda: self._Waitall(a))

    def _Testany(self, a: Arguments) -> None:
        self._tested(a.number("flag"), lambda: self._Waitany(a))

    def _Testsome(self, a: Arguments) -> None:
        self._tested(a.number("outcount"), lambda: self._Waitsome(a))

    def _Iprobe(self, a: Arguments) -> None:
        self._tested(a.number("flag"), lambda: None)

    def _Request_free(self, a: Arguments) -> None:
        for handle in a.numbers("request"):
            self._persistent.pop(handle, None)
            if (message := self._open.pop(handle, None)) is not None:
                self.out.form(self.step, raw.DONE)
                self.out.done(self.step, message["request"], raw.FREED)

    def _done(self, handles: list[int], statuses: list[Status]) -> None:
        self.out.form(self.step, raw.DONE)
        for i, handle in enumerate(handles):
            message = self._open.pop(handle, None)
            if message is None:
                continue
            status = statuses[i] if i < len(statuses) else None
            if status is not None and status.cancelled and message.get("direction"):
                self.out.done(self.step, message["request"], raw.CANCELLED)
            elif status is not None and message.get("direction"):
                peer = _partner(status.source)
                size = self._arguments.size("status", status.bytes)
                self.out.done(self.step, message["request"], raw.RECEIVED, peer, status.tag, size)
            else:
                self.out.done(self.step, message["request"])

    # Collectives.

    def _called(self, a: Arguments, kind: int, sent: int, received: int, bytes: int, counts: Any = ()) -> None:
        self.out.form(self.step, raw.COLLECTIVE)
        root = a.number("root") if a.has("root") else raw.NO_RANK
        fields = self.out.collective(
            self.step, counts, kind=kind, root=raw.ROOT if root == _ROOT else root, bytes=bytes, sent=sent,
            received=received,
        )  # fmt: skip
        self._comm(fields, a)

    def _vector(self, a: Arguments, kind: int) -> None:
        size = self._bytes(a)
        self._called(a, kind, size, size, size)

    def _Barrier(self, a: Arguments) -> None:
        self._called(a, 1, 0, 0, 0)

    def _block(self, a: Arguments, side: str) -> int:
        """Bytes of the send or receive side of a collective; where it is MPI_IN_PLACE, of the other."""
        other = "recv" if side == "send" else "send"
        chosen = side if a.number(f"{side}type") > NULL_HANDLE else other
        return self._bytes(a, f"{chosen}count", f"{chosen}type")

    def _Gather(self, a: Arguments) -> None:
        size = self._block(a, "send")
        self._called(a, 5, size, 0, size)

    def _Scatter(self, a: Arguments) -> None:
        size = self._block(a, "recv")
        self._called(a, 7, 0, size, size)

    def _Allgather(self, a: Arguments) -> None:
        size = self._block(a, "recv")
        self._called(a, 6, size, size, size)

    def _Alltoall(self, a: Arguments) -> None:
        size = self._block(a, "recv")
        self._called(a, 8, size, size, size)

    def _list(self, a: Arguments, counts: str, datatype: str) -> list[int]:
        found = [self.types.bytes(n, a.number(datatype)) for n in a.numbers(counts)]
        a.size(counts, sum(found))
        return found

    def _Gatherv(self, a: Arguments) -> None:
        counts, size = self._list(a, "recvcounts", "recvtype"), self._bytes(a, "sendcount", "sendtype")
        self._called(a, 5, size, sum(counts), size, counts)

    def _Scatterv(self, a: Arguments) -> None:
        counts, size = self._list(a, "sendcounts", "sendtype"), self._bytes(a, "recvcount", "recvtype")
        self._called(a, 7, sum(counts), size, size, counts)

    def _Allgatherv(self, a: Arguments) -> None:
        counts, size = self._list(a, "recvcounts", "recvtype"), self._bytes(a, "sendcount", "sendtype")
        self._called(a, 6, size, sum(counts), size, counts)

    def _Reduce_scatter(self, a: Arguments) -> None:
        counts = self._list(a, "recvcounts", "datatype")
        self._called(a, 9, sum(counts), 0, 0, counts)

    def _Alltoallv(self, a: Arguments) -> None:
        there, back = self._list(a, "sendcounts", "sendtype"), self._list(a, "recvcounts", "recvtype")
        self._called(a, 8, sum(there), sum(back), 0, [*(there or back), *back])

    def _Alltoallw(self, a: Arguments) -> None:
        sides = []
        for side in ("send", "recv"):
            pairs = zip(a.numbers(f"{side}counts"), a.numbers(f"{side}types"), strict=False)
            sides.append([self.types.bytes(n, t) for n, t in pairs])
            a.size(f"{side}counts", sum(sides[-1]))
        self._called(a, 8, sum(sides[0]), sum(sides[1]), 0, sides[0] + sides[1])

    # Communicators.

    def _made(self, a: Arguments, how: str, parent: str = "oldcomm", **numbers: Any) -> None:
        over = self.handles.number(a.number(parent))
        new = self.handles.make(how, a.number(parent), a.number("newcomm"), **numbers)
        self.out.form(self.step, raw.CREATED)
        fields = self.out.created(self.step)
        self.pending.append((fields, "parent", over))
        if new is not None:
            self.pending.append((fields, "id", new))

    def _Comm_dup(self, a: Arguments) -> None:
        self._made(a, "dup")

    def _Comm_split(self, a: Arguments) -> None:
        self._made(a, "split", color=a.number("color"), key=a.number("key"))

    def _Comm_create(self, a: Arguments) -> None:
        self._made(a, "create", group=self.handles.groups.get(a.number("group")))

    def _Cart_create(self, a: Arguments) -> None:
        self._made(a, "cart", dims=a.numbers("dims"))

    def _Cart_sub(self, a: Arguments) -> None:
        self._made(a, "sub", remain=a.numbers("remain_dims"))

    def _Graph_create(self, a: Arguments) -> None:
        self._made(a, "graph")

    def _Comm_spawn(self, a: Arguments) -> None:
        self._made(a, "spawn")

    def _Intercomm_create(self, a: Arguments) -> None:
        self._made(a, "inter", "localcomm")

    def _Intercomm_merge(self, a: Arguments) -> None:
        self._made(a, "merge", "comm")

    def _Comm_group(self, a: Arguments) -> None:
        self.handles.groups[a.number("group")] = ("comm", self.handles.number(a.number("comm")))

    def _group(self, a: Arguments, how: str) -> None:
        if not a.has("newgroup"):
            return
        groups = self.handles.groups
        if how in ("union", "intersection", "difference"):
            made: Any = (how, groups.get(a.number("group1")), groups.get(a.number("group2")))
        else:
            places = places_of(a.numbers("ranges")) if a.has("ranges") else a.numbers("ranks")
            made = (how.removeprefix("range_"), groups.get(a.number("group")), places)
        groups[a.number("newgroup")] = made

    # One-sided, files.

    def _Win_create(self, a: Arguments) -> None:
        number = self.handles.number(a.number("comm"))
        self._windows[a.number("win")] = number
        self.out.form(self.step, raw.CREATED)
        fields = self.out.created(self.step, window=a.number("win"))
        self.pending += [(fields, "id", number), (fields, "parent", number)]

    def _access(self, a: Arguments, kind: int, **fields: int) -> None:
        window = a.number("win")
        if window in self._windows:
            self.out.form(self.step, raw.RMA)
            stored = self.out.access(self.step, kind=kind, window=window, **fields)
            self.pending.append((stored, "comm", self._windows[window]))

    def _Put(self, a: Arguments) -> None:
        size = self._bytes(a, "origincount", "origintype")
        self._access(a, raw.PUT, peer=_partner(a.number("targetrank")), bytes=size)

    def _Accumulate(self, a: Arguments) -> None:
        size = self._bytes(a, "origincount", "origintype")
        self._access(a, raw.ACCUMULATE, peer=_partner(a.number("targetrank")), bytes=size)

    def _Get(self, a: Arguments) -> None:
        size = self._bytes(a, "origincount", "origintype")
        self._access(a, raw.GET, peer=_partner(a.number("targetrank")), fetched=size)

    def _Win_fence(self, a: Arguments) -> None:
        self._access(a, raw.FENCE)

    def _Win_lock(self, a: Arguments) -> None:
        self._access(a, raw.LOCK, peer=a.number("winrank"))

    def _Win_unlock(self, a: Arguments) -> None:
        self._access(a, raw.UNLOCK, peer=a.number("winrank"))

    def _File_open(self, a: Arguments) -> None:
        self._called(a, raw.OTHER_COLLECTIVE, 0, 0, 0)


def _partner(rank: int) -> int:
    """MPI libraries have different negative numbers for a rank that does not exist."""
    return rank if rank >= 0 else raw.NULL


def _is_oversubscribed(calls: list[Call]) -> bool:
    """Whether less processor time than wall time passed between calls, so that it is what computation took."""
    wall = cpu = 0
    before: dict[int, Call] = {}
    for call in calls:
        last = before.get(call.thread)
        if last is not None:
            wall += call.begin - last.end
            cpu += call.cpu_begin - last.cpu_end
        before[call.thread] = call
    return 0 < cpu < 0.9 * wall
