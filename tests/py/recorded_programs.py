"""Random programs that can run, and the raw traces that a recorder would leave of them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from isthmus import Program, ProgramBuilder
from isthmus.recording import raw
from isthmus.schedule.program import ROOTED, CollectiveKind, EventKind
from raw_traces import WORLD, RawTrace, recv, send

VECTORS = ("bcast", "reduce", "allreduce", "scan", "exscan")
BLOCKS = ("gather", "allgather", "scatter", "reduce_scatter", "alltoall")
#: Communicator c of a program has this id.
ID = 1 << 62


def random_program(random: Random, ranks: int, steps: int, *, lists: bool = True, nonblocking: bool = True) -> Program:
    """Messages and collectives that end, in whatever order; requests are waited for sooner or later.

    Without ``lists``, collectives have neither counts nor neighbours, and there are no iterations; without
    ``nonblocking``, collectives block.
    """
    b = ProgramBuilder(ranks)
    b.split(np.arange(ranks) * 2 // ranks)
    half = [[r for r in range(ranks) if r * 2 // ranks == c] for c in (0, 1)]
    comms = [(0, list(range(ranks))), *((c + 1, half[c]) for c in (0, 1) if half[c])]
    opened: list[list[int]] = [[] for _ in range(ranks)]
    for _ in range(steps):
        comm, members = random.choice(comms)
        kind = random.randrange(6)
        if kind <= 2:
            _message(b, random, comm, members, opened)
        elif kind == 3:
            _collective(b, random, comm, members, opened, lists, nonblocking)
        elif kind == 4 or not lists:
            size = len(members)
            for place, rank in enumerate(members):
                _compute(b, random, rank)
                b.sendrecv(rank, (place + 1) % size, 100, (place - 1) % size, tag=3, comm=comm)
        else:
            b.iteration(random.randrange(ranks), random.randrange(100))
        for rank in range(ranks):
            _complete(b, random, rank, opened[rank], random.choice([0, 0, 0, 1, 2, 3]))
    for rank in range(ranks):
        while opened[rank]:
            _complete(b, random, rank, opened[rank], random.choice([1, 2, 3]))
    return b.build()


def _compute(b: ProgramBuilder, random: Random, rank: int) -> None:
    if random.random() < 0.5:
        b.compute(rank, random.randrange(1, 10_000) * 1e-9)


def _message(b: ProgramBuilder, random: Random, comm: int, members: list[int], opened: list[list[int]]) -> None:
    source, target = (random.randrange(len(members)) for _ in range(2))
    size, tag = random.choice([0, 8, 100_000]), random.randrange(3)
    sender, receiver = members[source], members[target]
    # A receive is posted before the send, so that neither waits for the other for ever.
    _compute(b, random, receiver)
    opened[receiver].append(b.irecv(receiver, source, size, tag, comm))
    _compute(b, random, sender)
    if sender != receiver and random.random() < 0.5:
        b.send(sender, target, size, tag, comm)
    else:
        opened[sender].append(b.isend(sender, target, size, tag, comm))


def _collective(
    b: ProgramBuilder,
    random: Random,
    comm: int,
    members: list[int],
    opened: list[list[int]],
    lists: bool,
    may_return: bool,
) -> None:
    size = len(members)
    kind = random.choice(["barrier", *VECTORS, *BLOCKS, *(["neighbor_alltoall"] if lists else [])])
    nonblocking = random.random() < 0.3 and may_return
    counts: Any = None
    if kind == "neighbor_alltoall":
        counts = [[(p + 1) % size, 10, 0, (p - 1) % size, 0, 10] for p in range(size)]
    elif not lists:
        pass
    elif kind == "alltoall" and random.random() < 0.5:
        counts = [[10 * p + q for q in range(size)] + [10 * q + p for q in range(size)] for p in range(size)]
    elif kind in BLOCKS[:4] and random.random() < 0.5:
        counts = [random.randrange(1000) for _ in range(size)]
    amount = 0 if kind == "barrier" or counts is not None else random.randrange(1000)
    root = random.randrange(size) if CollectiveKind[kind] in ROOTED else 0
    for rank in members:
        _compute(b, random, rank)
    requests = b.collective(kind, members, amount, root, comm, counts=counts, nonblocking=nonblocking)
    if nonblocking:
        for rank, request in zip(members, np.atleast_1d(requests), strict=True):
            opened[rank].append(int(request))


def _complete(b: ProgramBuilder, random: Random, rank: int, opened: list[int], how: int) -> None:
    random.shuffle(opened)
    if how and len(opened) > 1 and how == 3:
        count = random.randrange(2, len(opened) + 1)
        b.waitall(rank, np.array([opened[:count]]))
        del opened[:count]
    elif how and opened:
        (b.wait if how == 1 else b.test)(rank, opened.pop())


def described(program: Program, rank: int) -> list[str]:
    """Events of a rank whatever numbers requests and communicators have, without places."""
    numbers: dict[int, int] = {}
    out = []
    for e in program.events(rank):
        requests = e.detail if e.kind == EventKind.waitall else (e.request,)
        for request in requests or ():
            if request:
                numbers.setdefault(request, len(numbers) + 1)
        detail = tuple(numbers[r] for r in e.detail) if e.kind == EventKind.waitall and e.detail else e.detail
        words = str(e._replace(request=numbers.get(e.request, 0), detail=detail, location=None, comm=0))
        if e.kind == EventKind.comm_create:
            words = f"comm_create {program.members(e.amount).tolist()}"
        out.append(f"{words} among {program.members(e.comm).tolist()}" if e.comm else words)
    return out


def write_traces(program: Program, directory: Path, *, wild: bool = False) -> None:
    """Raw traces of a program; with ``wild``, receives that had asked for anything."""
    for rank in range(program.ranks):
        _Writer(program, rank, wild).write().write(directory)


class _Writer:
    def __init__(self, program: Program, rank: int, wild: bool) -> None:
        self.program = program
        self.rank = rank
        self.wild = wild
        self.out = RawTrace(rank, program.ranks)
        self.receives: dict[int, tuple[int, int, int]] = {}
        self.gap = 0

    def write(self) -> RawTrace:
        out, p = self.out, self.program
        for c in range(1, p.communicators):
            members = p.members(c).tolist()
            if self.rank in members:
                out.comm(ID + c, members.index(self.rank), members)
        for event in p.events(self.rank):
            if event.kind == EventKind.compute:
                self.gap += event.amount // 1000
                continue
            getattr(self, f"_{event.kind.name}")(event)
            self.gap = 0
        out.header["finalize_begin"] = out.now + self.gap
        out.header["finalize_end"] = out.now + self.gap + 1000
        return out

    def _id(self, comm: int) -> int:
        return ID + comm if comm else WORLD

    def _world(self, comm: int, peer: int) -> int:
        return int(self.program.members(comm)[peer])

    def _send(self, e: Any, name: str = "MPI_Send") -> None:
        world = self._world(e.comm, e.peer)
        item = send(e.peer, e.amount, e.tag, request=e.request, comm=self._id(e.comm), world=world)
        self.out.messages(name, item, gap=self.gap)

    def _isend(self, e: Any) -> None:
        self._send(e, "MPI_Isend")

    def _irecv(self, e: Any) -> None:
        peer, tag, size, world = e.peer, e.tag, e.amount, self._world(e.comm, e.peer)
        self.receives[e.request] = (peer, tag, size)
        if self.wild:
            peer, tag, size, world = raw.ANY, raw.ANY, 10**6, raw.ANY
        item = recv(peer, size, tag, request=e.request, comm=self._id(e.comm), world=world)
        self.out.messages("MPI_Irecv", item, gap=self.gap)

    def _sendrecv(self, e: Any) -> None:
        source, tag, size = e.detail
        id = self._id(e.comm)
        there = send(e.peer, e.amount, e.tag, comm=id, world=self._world(e.comm, e.peer))
        back = recv(source, size, tag, comm=id, world=self._world(e.comm, source))
        self.out.messages("MPI_Sendrecv", there, back, gap=self.gap)

    def _done(self, name: str, requests: tuple[int, ...]) -> None:
        done = []
        for request in requests:
            got = self.receives.pop(request, None)
            done.append((request, 0) if got is None else (request, raw.RECEIVED, *got))
        self.out.done(name, *done, gap=self.gap)

    def _wait(self, e: Any) -> None:
        self._done("MPI_Wait", (e.request,))

    def _test(self, e: Any) -> None:
        self._done("MPI_Test", (e.request,))

    def _waitall(self, e: Any) -> None:
        self._done("MPI_Waitall", e.detail)

    def _collective(self, e: Any) -> None:
        name = f"MPI_{'I' if e.request else ''}{e.what.name}"
        counts = e.detail or ()
        # Only the root knows the blocks of these.
        place = self.program.members(e.comm).tolist().index(self.rank)
        if e.what in (CollectiveKind.gather, CollectiveKind.scatter) and place != e.peer:
            counts = ()
        root = e.peer if e.what in ROOTED else raw.NO_RANK
        self.out.collective(
            name, e.what, e.amount, root=root, comm=self._id(e.comm), request=e.request, counts=counts, gap=self.gap
        )

    def _comm_create(self, e: Any) -> None:
        self.out.created("MPI_Comm_split", self._id(e.amount), self._id(e.comm), gap=self.gap)

    def _iteration(self, e: Any) -> None:
        self.out.mark(raw.ITERATION, e.amount, gap=self.gap)
