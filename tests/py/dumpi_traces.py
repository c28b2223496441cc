"""Writes the text that dumpi2ascii prints, after dumpi/bin/dumpi2ascii-defs.h and -callbacks.c of SST DUMPI 10."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isthmus import Program
from isthmus.schedule.program import CollectiveKind, EventKind

START = 1_296_777_956 * 10**9
CHAR = "2 (MPI_CHAR)"
WORLD = "2 (MPI_COMM_WORLD)"


class DumpiText:
    """The file of one rank; every call takes 1 us, of wall time and of processor time."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.now = START
        self.cpu = 7_000_000
        self.lines = [
            "version=1.0.0", "starttime=Thu Feb  3 16:05:56 2011", f"hostname=node{rank // 2}", "username=x",
            "meshdim=0", "meshsize=[]", "meshcrd=[]",
        ]  # fmt: skip
        self.call("MPI_Init", "int argc=1", 'string argv[1]=["./a=b"]')

    def call(self, name: str, *arguments: str, gap: int = 0, cpu: int | None = None, thread: int = 0) -> None:
        self.now += gap
        self.cpu += gap if cpu is None else cpu
        self.lines.append(f"{name} entering at {self._times(thread)}")
        self.lines += arguments
        self.now += 1000
        self.cpu += 1000
        self.lines.append(f"{name} returning at {self._times(thread)}")

    def _times(self, thread: int) -> str:
        def seconds(ns: int) -> str:
            return f"{ns // 10**9}.{ns % 10**9:09d}"

        return f"walltime {seconds(self.now)}, cputime {seconds(self.cpu)} seconds in thread {thread}."

    def write(self, folder: Path, stem: str = "dumpi-") -> Path:
        path = folder / f"{stem}{self.rank:04d}.txt"
        footer = ["Total keyvals: 0", "MPI_Send called 0 times and ignored 0 times"]
        path.write_text("\n".join(self.lines + footer) + "\n")
        return path


def numbers(values: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, values)) + "]" if values else "<IGNORED>"


def status(size: int, source: int, tag: int, cancelled: int = 0) -> str:
    return f"{{bytes={size}, cancelled={cancelled}, source={source}, tag={tag}, error=0}}"


def write_dumpi(program: Program, folder: Path, *, statuses: bool = True) -> None:
    """A file for every rank; communicators have other handles on each."""
    for rank in range(program.ranks):
        _Writer(program, rank, statuses).write(folder)


class _Writer:
    def __init__(self, program: Program, rank: int, statuses: bool) -> None:
        self.program = program
        self.out = DumpiText(rank)
        self.rank = rank
        self.statuses = statuses
        self.receives: dict[int, tuple[int, int, int]] = {}
        self.gap = 0

    def write(self, folder: Path) -> None:
        for event in self.program.events(self.rank):
            if event.kind == EventKind.compute:
                self.gap += event.amount // 1000
            else:
                getattr(self, f"_{event.kind.name}")(event)
        self._call("MPI_Finalize")
        self.out.write(folder)

    def _call(self, name: str, *arguments: str) -> None:
        self.out.call(name, *arguments, gap=self.gap)
        self.gap = 0

    def _comm(self, comm: int) -> str:
        return f"MPI_Comm comm={WORLD if comm == 0 else f'{10 + comm + self.rank} (user-defined-comm)'}"

    def _to(self, e: Any) -> list[str]:
        return [f"int count={e.amount}", f"MPI_Datatype datatype={CHAR}", f"int dest={e.peer}", f"int tag={e.tag}"]

    def _send(self, e: Any) -> None:
        self._call("MPI_Send", *self._to(e), self._comm(e.comm))

    def _isend(self, e: Any) -> None:
        self._call("MPI_Isend", *self._to(e), self._comm(e.comm), f"MPI_Request request=[{e.request + 1}]")

    def _irecv(self, e: Any) -> None:
        self.receives[e.request] = (e.amount, e.peer, e.tag)
        wild = ("-1 (MPI_ANY_SOURCE)", "-1 (MPI_ANY_TAG)", 10**6)
        source, tag, count = wild if self.statuses else (e.peer, e.tag, e.amount)
        self._call(
            "MPI_Irecv", f"int count={count}", f"MPI_Datatype datatype={CHAR}", f"int source={source}",
            f"int tag={tag}", self._comm(e.comm), f"MPI_Request request=[{e.request + 1}]",
        )  # fmt: skip

    def _sendrecv(self, e: Any) -> None:
        source, tag, size = e.detail
        came = f"[{status(size, source, tag)}]" if self.statuses else "<IGNORED>"
        self._call(
            "MPI_Sendrecv", f"int sendcount={e.amount}", f"MPI_Datatype sendtype={CHAR}", f"int dest={e.peer}",
            f"int sendtag={e.tag}", f"int recvcount={size}", f"MPI_Datatype recvtype={CHAR}", f"int source={source}",
            f"int recvtag={tag}", self._comm(e.comm), f"MPI_Status status={came}",
        )  # fmt: skip

    def _came(self, requests: Sequence[int]) -> str:
        if not self.statuses:
            return "<IGNORED>"
        # Of sends the status holds whatever was there.
        return "[" + ", ".join(status(*self.receives.pop(r, (1606419960, 9, 9))) for r in requests) + "]"

    def _wait(self, e: Any) -> None:
        self._call("MPI_Wait", f"MPI_Request request=[{e.request + 1}]", f"MPI_Status status={self._came([e.request])}")

    def _test(self, e: Any) -> None:
        request = f"MPI_Request request=[{e.request + 1}]"
        self._call("MPI_Test", request, "int flag=1", f"MPI_Status status={self._came([e.request])}")

    def _waitall(self, e: Any) -> None:
        n = len(e.detail)
        handles = numbers([r + 1 for r in e.detail])
        came = self._came(e.detail)
        self._call(
            "MPI_Waitall", f"int count={n}", f"MPI_Request requests[{n}]={handles}", f"MPI_Status statuses[{n}]={came}"
        )

    def _comm_create(self, e: Any) -> None:
        self._call(
            "MPI_Comm_split", self._comm(e.comm).replace("comm=", "oldcomm="), f"int color={e.amount}", "int key=0",
            self._comm(e.amount).replace("comm=", "newcomm="),
        )  # fmt: skip

    def _collective(self, e: Any) -> None:
        size = len(self.program.members(e.comm))
        kind, comm = e.what.name, self._comm(e.comm)
        root = [f"int root={e.peer}"] if kind in ("bcast", "reduce", "gather", "scatter") else []
        if kind == "barrier":
            self._call("MPI_Barrier", comm)
        elif kind in ("bcast", "reduce", "allreduce", "scan", "exscan"):
            self._call(
                f"MPI_{kind.capitalize()}", f"int count={e.amount}", f"MPI_Datatype datatype={CHAR}", *root, comm
            )
        elif e.detail is None and kind != "reduce_scatter":
            self._blocks(kind, e.amount, root, comm)
        else:
            self._lists(kind, e, list(e.detail or [e.amount] * size), size, root, comm)

    def _blocks(self, kind: str, bytes: int, root: list[str], comm: str) -> None:
        sides = [
            line
            for side in ("send", "recv")
            for line in (f"int {side}count={bytes}", f"MPI_Datatype {side}type={CHAR}")
        ]
        self._call(f"MPI_{kind.capitalize()}", *sides, *root, comm)

    def _lists(self, kind: str, e: Any, counts: list[int], n: int, root: list[str], comm: str) -> None:
        me = self.program.members(e.comm).tolist().index(self.rank)
        size = f"int commsize={n}"
        if kind == "reduce_scatter":
            lines = [f"int recvcounts[{n}]={numbers(counts)}", f"MPI_Datatype datatype={CHAR}", "MPI_Op op=3 (MPI_SUM)"]
            self._call("MPI_Reduce_scatter", size, *lines, comm)
            return
        listed = {"gather": "recv", "allgather": "recv", "scatter": "send"}.get(kind, "")
        lines = []
        for side in ("send", "recv"):
            if kind == "alltoall":
                part = counts[:n] if side == "send" else counts[n:]
                lines.append(f"int {side}counts[{n}]={numbers(part)}")
            elif side == listed:
                known = kind == "allgather" or me == e.peer
                lines.append(f"int {side}counts[{n if known else 0}]={numbers(counts if known else [])}")
            else:
                lines.append(f"int {side}count={counts[me]}")
            lines.append(f"MPI_Datatype {side}type={CHAR}")
        self._call(f"MPI_{kind.capitalize()}v", size, *lines, *root, comm)


assert len(CollectiveKind) == 12
