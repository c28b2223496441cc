"""Writes raw traces as recorder/trace.h describes them, record by record."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.recording import raw

SECOND = 10**9
WORLD = 1


class RawTrace:
    """The trace of one thread; every call takes 1 us, 1 us after the one before, unless told otherwise."""

    def __init__(self, rank: int, ranks: int, *, thread: int = 0, pid: int = 0, **header: Any) -> None:
        self.rank, self.thread, self.pid = rank, thread, pid or 1000 + rank
        self.now = SECOND
        self.records: list[bytes] = []
        self._functions: dict[str, int] = {}
        self._sites: dict[str, int] = {}
        self.header = np.zeros(1, raw.HEADER)
        fields = {
            "magic": raw.MAGIC, "version": raw.VERSION, "order": raw.ORDER, "rank": rank, "ranks": ranks,
            "thread": thread, "pid": self.pid, "cpus": 4, "cpus_online": 4, "flags": 1, "init_begin": SECOND // 2,
            "init_end": SECOND, "started_ns": SECOND // 2, "started_realtime_ns": 1_700_000_000 * SECOND,
            "cpu_ns": 0, "recorder_ns": 1000, "recorder_bytes": 4096, "mpi_version": 3, "mpi_subversion": 1,
            "host": b"node0", "library": b"Test MPI 1.0", "directory": b"/home/x",
            "command": b"./app\0--size\0big one\0\0".ljust(2048, b"\0"), **header,
        }  # fmt: skip
        for name, value in fields.items():
            self.header[name] = value

    # Tables.

    def function(self, name: str) -> int:
        if name not in self._functions:
            self._functions[name] = len(self._functions) + 10 * (self.rank + 1)
            self._record(raw.NAME, struct.pack("=Q", self._functions[name]) + name.encode() + b"\0")
        return self._functions[name]

    def site(self, place: str) -> int:
        if place not in self._sites:
            self._sites[place] = len(self._sites) + 1
            offset = sum(place.encode())
            data = struct.pack("=QQQ", self._sites[place], 0x5000 * (self.rank + 1) + offset, offset)
            self._record(raw.SITE, data + b"/opt/app\0" + place.encode() + b"\0")
        return self._sites[place]

    def comm(self, id: int, rank: int, local: Sequence[int], remote: Sequence[int] = (), parent: int = WORLD) -> None:
        """Members are written by rank 0 of the group only."""
        groups = [*local, *remote] if rank == 0 else []
        sizes = (len(local), len(remote)) if rank == 0 else (0, 0)
        self._record(raw.COMM, struct.pack(f"=QQIIiI{len(groups)}i", id, parent, *sizes, rank, 0, *groups))

    def count(self, name: str, calls: int) -> None:
        self._record(raw.COUNT, struct.pack("=QQ", self.function(name), calls))

    # What happens.

    def call(
        self,
        name: str,
        form: int,
        n: int = 0,
        data: bytes = b"",
        *,
        gap: int = 1000,
        lasts: int = 1000,
        cpu_gap: int = -1,
        site: str = "",
        error: int = 0,
    ) -> None:
        function, place = self.function(name), self.site(site) if site else 0
        begin, self.now = self.now + gap, self.now + gap + lasts
        head = struct.pack("=HHIqqqIi", function, form, place, begin, self.now, cpu_gap, n, error)
        self._record(raw.CALL, head + data)

    def messages(self, name: str, *messages: bytes, form: int = raw.MESSAGE, **call: Any) -> None:
        self.call(name, form, len(messages), b"".join(messages), **call)

    def done(self, name: str, *done: tuple[int, ...], **call: Any) -> None:
        """Completions: request, flags, peer, tag, bytes."""
        data = b"".join(struct.pack("=IIiiQ", *(d + (0, -6, -6, 0)[len(d) - 1 :])) for d in done)
        self.call(name, raw.DONE, len(done), data, **call)

    def collective(
        self,
        name: str,
        kind: int,
        bytes: int = 0,
        *,
        root: int = raw.NO_RANK,
        comm: int = WORLD,
        request: int = 0,
        counts: Iterable[int] = (),
        flags: int = 0,
        sent: int = 0,
        received: int = 0,
        **call: Any,
    ) -> None:
        counts = list(counts)
        data = struct.pack(
            f"=IHHiIQQQQ{len(counts)}q", request, kind, flags, root, len(counts), comm, bytes, sent, received, *counts
        )
        self.call(name, raw.COLLECTIVE, 1, data, **call)

    def rma(
        self,
        name: str,
        kind: int,
        peer: int = raw.NO_RANK,
        bytes: int = 0,
        fetched: int = 0,
        *,
        comm: int = WORLD,
        window: int = 1,
        request: int = 0,
        group: Sequence[int] = (),
        **call: Any,
    ) -> None:
        data = struct.pack("=IHHiiQQQQ", request, kind, 0, peer, peer, comm, window, bytes, fetched)
        self.call(name, raw.RMA, len(group), data + struct.pack(f"={len(group)}i", *group), **call)

    def created(
        self, name: str, id: int, parent: int = WORLD, window: int = 0, request: int = 0, freed: int = 0, **call: Any
    ) -> None:
        self.call(name, raw.CREATED, 1, struct.pack("=QQQII", id, parent, window, request, freed), **call)

    def io(self, name: str, bytes: int, **call: Any) -> None:
        self.call(name, raw.IO, 1, struct.pack("=qqq", bytes, 1, 0), **call)

    def polls(
        self, name: str, count: int, *, gap: int = 1000, lasts: int = 10_000, inside: int = 9000, site: str = ""
    ) -> None:
        function, place = self.function(name), self.site(site) if site else 0
        begin, self.now = self.now + gap, self.now + gap + lasts
        self._record(raw.POLLS, struct.pack("=HHIQqqqq", function, 0, place, count, begin, self.now, inside, -1))

    def mark(self, what: int, value: int = 0, *, gap: int = 0, cpu_gap: int = -1) -> None:
        self.now += gap
        self._record(raw.MARK, struct.pack("=IIqqq", what, 0, value, self.now, cpu_gap))

    # The file.

    def _record(self, kind: int, data: bytes) -> None:
        words = 1 + -(-len(data) // 8)
        self.records.append((struct.pack("=HHI", kind, 0, words) + data).ljust(8 * words, b"\0"))

    def bytes(self) -> bytes:
        """The file; the rank finalizes 1 us after its last record, unless the header says otherwise."""
        body = b"".join(self.records)
        header = self.header.copy()
        header["used"] = header["used"] or len(body)
        header["last_ns"] = header["last_ns"] or self.now
        if header["flags"] & 1:
            header["finalize_begin"] = header["finalize_begin"] or self.now + 1000
            header["finalize_end"] = header["finalize_end"] or self.now + 2000
            header["tail_cpu_ns"] = header["tail_cpu_ns"] or -1
        header["cpu_ns"] = header["cpu_ns"] or header["last_ns"] - header["init_end"]
        return header.tobytes().ljust(raw.HEADER_BYTES, b"\0") + body

    def write(self, directory: Path) -> Path:
        path = directory / f"{self.rank if self.rank >= 0 else 'x'}.{self.thread}.{self.pid}.trace"
        path.write_bytes(self.bytes())
        return path


def message(
    receives: bool,
    peer: int,
    bytes: int,
    tag: int = 0,
    *,
    request: int = 0,
    comm: int = WORLD,
    mode: int = 0,
    asked_peer: int | None = None,
    asked_tag: int | None = None,
    world: int | None = None,
) -> bytes:
    """A message of a call; the world rank of the partner is its rank unless told otherwise."""
    asked = (peer if asked_peer is None else asked_peer, tag if asked_tag is None else asked_tag)
    return struct.pack(
        "=IHHiiiiQQiI",
        request,
        int(receives),
        mode,
        peer,
        tag,
        *asked,
        comm,
        bytes,
        peer if world is None else world,
        0,
    )


def send(peer: int, bytes: int, tag: int = 0, **more: Any) -> bytes:
    return message(False, peer, bytes, tag, **more)


def recv(peer: int, bytes: int, tag: int = 0, **more: Any) -> bytes:
    return message(True, peer, bytes, tag, **more)
