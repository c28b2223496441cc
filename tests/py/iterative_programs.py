"""Random programs with a loop: what comes before and after it, ranks that run ahead, and loops that change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random

import numpy as np

import isthmus
from oracles.loggops import RECV, SEND, Op
from schedule_strategies import Limits, Ranks, arbitrary, complete, symmetric

MACHINES = (
    "ring:8 link=1GB/s hop=50ns cores=1",
    "torus:2x2x2 link=1GB/s hop=50ns cores=2",
    "fattree:k=2,n=3 link=1GB/s hop=50ns cores=2",
)
LEVEL = isthmus.Level(L=2e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.2e-6, G=0.7e-9, O=0.05e-9, S=4096)
SMALL = isthmus.Level(L=7e-12, o_send=3e-12, o_recv=2e-12, g=4e-12, G=1e-12, O=1e-12, S=3)
SIZES = (0, 8, 1000, 5000, 100_000)

Part = Callable[[isthmus.ProgramBuilder], None]


class Body:
    """One iteration, drawn once and repeated."""

    def __init__(self, ranks: int, random: Random) -> None:
        self.ranks = ranks
        kinds = (self.halo, self.halo, self.ring, self.collective, self.pipeline, self.pairs, self.puts)
        self.parts = [random.choice(kinds)(random) for _ in range(random.choice((1, 1, 2, 3)))]

    def __call__(self, b: isthmus.ProgramBuilder) -> None:
        for part in self.parts:
            part(b)

    def work(self, random: Random) -> np.ndarray:
        """Seconds of computation of every rank: none, equal, one slower, or all different."""
        kind = random.randrange(4)
        work = np.full(self.ranks, 0.0 if kind == 0 else random.randrange(1, 200) * 1e-6)
        if kind == 2:
            work[random.randrange(self.ranks)] *= 3
        if kind == 3:
            work = np.array([random.randrange(200) * 1e-6 for _ in range(self.ranks)])
        return work

    def halo(self, random: Random) -> Part:
        stride, size, work = random.choice((1, 2)), random.choice(SIZES), self.work(random)
        rank = np.arange(self.ranks)
        open_ended = random.random() < 0.3

        def part(b: isthmus.ProgramBuilder) -> None:
            for step in (-stride, stride):
                peer = rank + step
                peer = (
                    np.where((peer < 0) | (peer >= self.ranks), isthmus.NULL, peer) if open_ended else peer % self.ranks
                )
                back = rank - step
                back = (
                    np.where((back < 0) | (back >= self.ranks), isthmus.NULL, back) if open_ended else back % self.ranks
                )
                b.irecv(None, peer, size, tag=int(step > 0))
                b.isend(None, back, size, tag=int(step > 0))
            b.compute(None, work)
            b.waitall(None)

        return part

    def ring(self, random: Random) -> Part:
        size, work = random.choice(SIZES), self.work(random)
        rank = np.arange(self.ranks)

        def part(b: isthmus.ProgramBuilder) -> None:
            b.compute(None, work)
            b.sendrecv(None, (rank + 1) % self.ranks, size, (rank - 1) % self.ranks)

        return part

    def collective(self, random: Random) -> Part:
        kind, size = random.choice(("allreduce", "bcast", "barrier", "allgather", "reduce")), random.choice(SIZES[:4])
        work, root = self.work(random), random.randrange(self.ranks)

        def part(b: isthmus.ProgramBuilder) -> None:
            b.compute(None, work)
            if kind == "barrier":
                b.barrier(None)
            elif kind in ("bcast", "reduce"):
                b.collective(kind, None, size, root=root)
            else:
                b.collective(kind, None, size)

        return part

    def pipeline(self, random: Random) -> Part:
        """The first rank may run ahead of the others, as far as messages are eager."""
        size, work, every = random.choice(SIZES), self.work(random), random.choice((1, 2))

        def part(b: isthmus.ProgramBuilder) -> None:
            for r in range(self.ranks):
                for _ in range(every):
                    if r > 0:
                        b.recv(r, r - 1, size)
                    b.compute(r, float(work[r]))
                    if r + 1 < self.ranks:
                        b.send(r, r + 1, size)

        return part

    def pairs(self, random: Random) -> Part:
        """Each pair at a rate of its own."""
        size, work = random.choice(SIZES), self.work(random)

        def part(b: isthmus.ProgramBuilder) -> None:
            for r in range(0, self.ranks - 1, 2):
                b.compute(r, float(work[r]))
                b.send(r, r + 1, size)
                b.recv(r + 1, r, size)
                b.send(r + 1, r, size)
                b.recv(r, r + 1, size)

        return part

    def puts(self, random: Random) -> Part:
        size, work = random.choice(SIZES), self.work(random)
        rank = np.arange(self.ranks)
        get = random.random() < 0.5

        def part(b: isthmus.ProgramBuilder) -> None:
            (b.get if get else b.put)(None, (rank + 1) % self.ranks, size)
            b.compute(None, work)
            b.fence(None)

        return part


def iterative(random: Random) -> isthmus.Program:
    """A program of 8 ranks with one loop or several, and other things before, between and after them."""
    ranks = 8
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(random.choice((0, 1, 3))):
        Body(ranks, random)(b)
    for _ in range(random.choice((1, 1, 1, 2))):
        body = Body(ranks, random)
        for _ in range(random.choice((20, 50, 64, 150, 300))):
            body(b)
        if random.random() < 0.5:
            Body(ranks, random)(b)
    return b.build()


def synchronize(body: Ranks) -> None:
    """Adds a barrier at the end: all send to rank 0, which answers."""
    others = range(1, len(body))
    for rank, ops in enumerate(body):
        everything = list(range(len(ops)))
        if rank == 0:
            ops += [Op(RECV, 1, peer, tag=50) for peer in others]
            everything = list(range(len(ops)))
            ops += [Op(SEND, 1, peer, tag=51, after=list(everything)) for peer in others]
        else:
            ops.append(Op(SEND, 1, 0, tag=50, after=everything))
            ops.append(Op(RECV, 1, 0, tag=51, after=[len(ops) - 1]))


def repeated(random: Random) -> Ranks:
    """Operations of any kind on several CPU streams and interfaces; each iteration waits for the one before."""
    limit = Limits(
        ranks=random.randint(2, 8),
        ops=random.randint(2, 12),
        sizes=random.choice((1, 6, 5000)),
        tags=2,
        comms=2,
        cpus=random.choice((1, 1, 3)),
        nics=random.choice((1, 2)),
        one_sided=random.random() < 0.5,
        dependencies=random.choice((0.5, 1.0, 3.0)),
    )
    seed = random.randrange(2**32)
    kind = random.choice((complete, complete, arbitrary, symmetric))
    body = kind(limit, seed, (limit.ranks,)) if kind is symmetric else kind(limit, seed)
    together = random.random() < 0.8
    if together:
        synchronize(body)
    times, step = random.choice((20, 60, 150)), random.choice((0, 0, 100))
    out: Ranks = []
    for ops in body:
        n = len(ops)
        # Of each operation that waits for nothing: one of the iteration before, or one of some before.
        before = [(random.randrange(n), random.random() < 0.3, random.choice((1, 1, 1, 2))) for _ in ops]
        if together:
            before = [(n - 1, False, 1)] * n
        rank = []
        for i in range(times):
            for op, (on, start, back) in zip(ops, before, strict=True):
                new = dataclasses.replace(op, tag=op.tag + step * i)
                new.after, new.after_start = [i * n + on for on in op.after], [i * n + on for on in op.after_start]
                if not new.after and not new.after_start and i >= back:
                    (new.after_start if start else new.after).append((i - back) * n + on)
                rank.append(new)
        out.append(rank)
    return out
