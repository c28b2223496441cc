"""Schedules executed with numbers, in random legal orders: slow and obvious."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isthmus import Schedule

#: A byte of data is a map x -> a x + b of integers modulo 2^64: maps are combined by composition, which is associative
#: but does not commute, or by adding their numbers where order must not matter. Two columns, a and b.
Data = NDArray[np.uint64]

Key = tuple[int, int]  # rank, buffer


def random_data(numbers: np.random.Generator, size: int) -> Data:
    return numbers.integers(0, 2**64, (size, 2), dtype=np.uint64)


def combine(left: Data, right: Data, ordered: bool) -> Data:
    if not ordered:
        return left + right
    return np.stack([left[:, 0] * right[:, 0], left[:, 0] * right[:, 1] + left[:, 1]], axis=1)


@dataclass
class Task:
    """What is asked of a collective: who holds what at the start, and what must be where in the end."""

    start: list[tuple[int, int, int, Data]] = field(default_factory=list)  # rank, buffer, offset, data
    end: list[tuple[int, int, int, Data]] = field(default_factory=list)
    ordered: bool = False
    synchronizes: bool = False


def task(
    kind: str,
    *,
    ranks: int,
    bytes: int = 0,
    root: int = 0,
    counts: ArrayLike | None = None,
    in_place: bool = True,
    ordered: bool = False,
    seed: int = 0,
) -> Task:
    """What MPI says, written down once more; buffer 0 is the input, 1 the output."""
    numbers = np.random.default_rng(seed)
    out = Task(ordered=ordered, synchronizes=kind == "barrier")
    everyone = range(ranks)
    inp, outp = 0, 1
    blocks = [bytes] * ranks if counts is None else [int(c) for c in np.asarray(counts).reshape(-1)[:ranks]]

    if kind == "bcast":
        data = random_data(numbers, bytes)
        out.start = [(root, outp, 0, data)]
        out.end = [(r, outp, 0, data) for r in everyone]
    elif kind in ("reduce", "allreduce", "scan", "exscan", "reduce_scatter"):
        size = sum(blocks) if kind == "reduce_scatter" else bytes
        vectors = [random_data(numbers, size) for _ in everyone]
        sums = [vectors[0]]  # of ranks 0 to r
        for vector in vectors[1:]:
            sums.append(combine(sums[-1], vector, ordered))
        for r in everyone:
            there = in_place and kind != "reduce_scatter" and (kind != "reduce" or r == root)
            out.start.append((r, outp if there else inp, 0, vectors[r]))
            if kind == "reduce_scatter":
                first = sum(blocks[:r])
                out.end.append((r, outp, 0, sums[-1][first : first + blocks[r]]))
                if ranks == 1 and in_place:
                    out.start.append((r, outp, 0, vectors[r]))
            elif kind == "scan":
                out.end.append((r, outp, 0, sums[r]))
            elif kind == "exscan" and r > 0:
                out.end.append((r, outp, 0, sums[r - 1]))
            elif kind == "allreduce" or (kind == "reduce" and r == root):
                out.end.append((r, outp, 0, sums[-1]))
    elif kind in ("gather", "allgather"):
        data = random_data(numbers, sum(blocks))
        for r in everyone:
            first = sum(blocks[:r])
            own = data[first : first + blocks[r]]
            there = in_place and (kind == "allgather" or r == root)
            out.start.append((r, outp, first, own) if there else (r, inp, 0, own))
            if kind == "allgather" or r == root:
                out.end.append((r, outp, 0, data))
    elif kind == "scatter":
        data = random_data(numbers, sum(blocks))
        out.start = [(root, inp, 0, data)]
        for r in everyone:
            first = sum(blocks[:r])
            if not (in_place and r == root):
                out.end.append((r, outp, 0, data[first : first + blocks[r]]))
    elif kind in ("alltoall", "neighbor_alltoall"):
        if kind == "neighbor_alltoall":
            messages = [(int(s), int(t), int(n)) for s, t, n in np.asarray(counts).reshape(-1, 3)]
        else:
            sizes = np.full((ranks, ranks), bytes) if counts is None else np.asarray(counts)
            messages = [(s, t, int(sizes[s, t])) for s in everyone for t in everyone]
        sent, taken = [0] * ranks, [0] * ranks
        for s, t, n in messages:
            block = random_data(numbers, n)
            out.start.append((s, inp, sent[s], block))
            out.end.append((t, outp, taken[t], block))
            if in_place and s == t:
                out.start.append((t, outp, taken[t], block))
            sent[s] += n
            taken[t] += n
    else:
        assert kind == "barrier"
    return out


class Wrong(Exception):
    """An execution that went wrong, and why."""


class Execution:
    """One random legal execution.

    Operations of a stream begin in the order in which they become ready, those ready at the same time in the order of
    the schedule. What an operation does to memory happens in parts, at any time between its begin and its end; bytes
    that it will write are spoilt from its begin on. A send ends with its receive, or before if it is eager.
    """

    def __init__(self, schedule: Schedule, task: Task, random: Random, eager: float) -> None:
        self.task, self.random, self.eager = task, random, eager
        self.numbers = np.random.default_rng(random.randrange(2**32))
        self.ops: list[list[Any]] = []
        self.slices: list[list[Any]] = []
        for r in range(schedule.ranks):
            part = slice(int(schedule.op_first[r]), int(schedule.op_first[r + 1]))
            self.ops.append(list(schedule.ops[part]))
            self.slices.append(list(schedule.slices[part]))
        self.memory: dict[Key, Data] = {}
        for b, sizes in enumerate(schedule.buffers.values()):
            for r, size in enumerate(sizes):
                self.memory[r, b] = random_data(self.numbers, int(size))
        for rank, buffer, offset, data in task.start:
            if len(data):
                self.memory[rank, buffer][offset : offset + len(data)] = data
        self.waits = [[int(op["needs"]) for op in ops] for ops in self.ops]
        self.after: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
        first = schedule.op_first.astype(np.int64)
        deps = schedule.dependencies()
        ranks = np.searchsorted(first, deps.op, side="right") - 1
        for op, on, start, rank in zip(deps.op, deps.on, deps.start, ranks, strict=True):
            self.after[int(rank), int(on - first[rank])].append((int(op - first[rank]), bool(start)))
        self.ready: dict[tuple[int, int], deque[int]] = defaultdict(deque)
        # What may happen next, in any order, and how fast: some ranks are slow, and some of what they do is.
        self.steps: list[tuple[float, tuple[Any, ...]]] = []
        self.speed = [random.choice([1.0, 1.0, 0.01]) for _ in self.ops]
        self.sends: dict[tuple[int, ...], deque[tuple[int, int]]] = defaultdict(deque)
        self.recvs: dict[tuple[int, ...], deque[tuple[int, int]]] = defaultdict(deque)
        self.captured: dict[tuple[int, int], Data] = {}
        self.copied: set[tuple[int, int]] = set()
        self.left = [len(ops) for ops in self.ops]
        self.come: set[int] = set()
        self.landing: set[tuple[int, int]] = set()  # puts and gets that have begun

    def run(self) -> None:
        """To the end, or Wrong."""
        for r in range(len(self.ops)):
            self._later("come", r)
        while True:
            streams = [key for key, queue in self.ready.items() if queue]
            if not streams and not self.steps:
                break
            speeds = [self.speed[rank] for rank, _ in streams] + [speed for speed, _ in self.steps]
            (at,) = self.random.choices(range(len(speeds)), speeds)
            if at < len(streams):
                rank, _ = streams[at]
                self._begin(rank, self.ready[streams[at]].popleft())
            else:
                self._step(*self.steps.pop(at - len(streams))[1])
        if any(self.left):
            raise Wrong(f"{sum(self.left)} operations never end")
        if any(self.sends.values()) or any(self.recvs.values()):
            raise Wrong("messages are left")
        for rank, buffer, offset, data in self.task.end:
            if len(data) and not np.array_equal(self.memory[rank, buffer][offset : offset + len(data)], data):
                raise Wrong(f"rank {rank}: wrong data in buffer {buffer} from {offset} on")

    def _later(self, what: str, *rest: Any) -> None:
        rank = rest[0][0] if what == "deliver" else rest[0]
        self.steps.append((self.speed[rank] * self.random.choice([1.0, 1.0, 0.01]), (what, *rest)))

    def _enter(self, rank: int, ops: list[int]) -> None:
        for i in sorted(ops):
            self.ready[rank, int(self.ops[rank][i]["cpu"])].append(i)

    def _release(self, rank: int, i: int, start: bool) -> None:
        ready = []
        for other, on_start in self.after[rank, i]:
            if on_start == start:
                self.waits[rank][other] -= 1
                if self.waits[rank][other] == 0:
                    ready.append(other)
        self._enter(rank, ready)

    def _end(self, rank: int, i: int) -> None:
        self.left[rank] -= 1
        self._leave(rank)
        self._release(rank, i, False)

    def _leave(self, rank: int) -> None:
        if self.task.synchronizes and self.left[rank] == 0 and len(self.come) < len(self.ops):
            raise Wrong(f"rank {rank} leaves before all have come")

    def _place(self, rank: int, i: int, side: str) -> tuple[Key, NDArray[np.int64]]:
        """Whose buffer it is, and which of its bytes in their order."""
        slices, op = self.slices[rank][i], self.ops[rank][i]
        far = (int(op["kind"]), side) in ((4, "to"), (5, "from"))
        number = np.arange(int(op["amount"]))
        if block := int(slices["block"]):
            number = number // block * block * int(slices[side]["stride"]) + number % block
        return (int(op["peer"]) if far else rank, int(slices[side]["buffer"])), int(slices[side]["offset"]) + number

    def _spoil(self, rank: int, i: int) -> None:
        key, where = self._place(rank, i, "to")
        if len(where):
            self.memory[key][where] = random_data(self.numbers, len(where))

    def _begin(self, rank: int, i: int) -> None:
        op = self.ops[rank][i]
        kind, size = int(op["kind"]), int(op["amount"])
        if kind == 1:
            channel = (int(op["peer"]), rank, int(op["tag"]), int(op["comm"]))
            self.sends[channel].append((rank, i))
            if self.random.random() < self.eager:
                self._later("capture", rank, i)
            self._meet(channel)
        elif kind == 2:
            channel = (rank, int(op["peer"]), int(op["tag"]), int(op["comm"]))
            self.recvs[channel].append((rank, i))
            self._spoil(rank, i)
            self._meet(channel)
        elif kind in (4, 5) and size:
            self.landing.add((rank, i))
            self._spoil(rank, i)
            self._later("fetch", rank, i)
        elif kind == 6 and size:
            self._spoil(rank, i)
            half = self.random.randrange(size + 1)
            parts = [(0, half), (half, size)]
            self.random.shuffle(parts)
            self._later("copy", rank, i, parts)
        elif kind == 7 and size:
            self._later("load", rank, i)
        else:
            self._later("end", rank, i)
        self._release(rank, i, True)

    def _meet(self, channel: tuple[int, ...]) -> None:
        if self.sends[channel] and self.recvs[channel]:
            send, recv = self.sends[channel].popleft(), self.recvs[channel].popleft()
            sizes = [int(self.ops[r][i]["amount"]) for r, i in (send, recv)]
            if sizes[0] != sizes[1]:
                raise Wrong(f"rank {recv[0]}: a message of {sizes[0]} B for {sizes[1]} B")
            self._later("deliver", send, recv)

    def _step(self, what: str, *rest: Any) -> None:
        if what == "come":
            (rank,) = rest
            self.come.add(rank)
            self._leave(rank)
            self._enter(rank, [i for i, n in enumerate(self.waits[rank]) if n == 0])
        elif what == "end":
            self._end(*rest)
        elif what in ("capture", "deliver") and self._behind(*(rest if what == "capture" else rest[0])):
            self._later(what, *rest)
        elif what == "capture":
            rank, i = rest
            if (rank, i) not in self.copied:
                self.captured[rank, i] = self._read(rank, i)
                self.copied.add((rank, i))
                self._end(rank, i)
        elif what == "deliver":
            (rank, i), (target, j) = rest
            data = self.captured.get((rank, i))
            if data is None:
                data = self._read(rank, i)
                self.copied.add((rank, i))
                self._later("end", rank, i)
            self._later("land", target, j, data)
        elif what == "land":
            target, j, data = rest
            self._write(target, j, data)
            self._later("end", target, j)
        elif what == "fetch":
            self._later("store", *rest, self._read(*rest))
        elif what == "store":
            rank, i, data = rest
            self._write(rank, i, data)
            self.landing.remove((rank, i))
            self._later("end", rank, i)
        elif what == "copy":
            rank, i, parts = rest
            (begin, end), *others = parts
            self._write(rank, i, self._read(rank, i)[begin:end], begin)
            if others:
                self._later("copy", rank, i, others)
            else:
                self._later("end", rank, i)
        elif what == "load":
            rank, i = rest
            to, where = self._place(rank, i, "to")
            old = self.memory[to][where]
            self._later("combine", rank, i, old, self._read(rank, i))
            self._spoil(rank, i)
        elif what == "combine":
            rank, i, old, new = rest
            first = int(self.ops[rank][i]["mode"]) == 1
            self._write(rank, i, combine(*((new, old) if first else (old, new)), self.task.ordered))
            self._later("end", rank, i)

    def _behind(self, rank: int, i: int) -> bool:
        """Channels keep their order: does a put that the send waits for still fly to the same rank?"""
        peer = self.ops[rank][i]["peer"]
        return any(
            self.ops[r][j]["peer"] == peer and self.ops[r][j]["kind"] == 4 and i in [op for op, _ in self.after[r, j]]
            for r, j in self.landing
            if r == rank
        )

    def _read(self, rank: int, i: int) -> Data:
        key, where = self._place(rank, i, "from")
        return self.memory[key][where] if len(where) else np.empty((0, 2), np.uint64)

    def _write(self, rank: int, i: int, data: Data, shift: int = 0) -> None:
        if len(data):
            key, where = self._place(rank, i, "to")
            self.memory[key][where[shift : shift + len(data)]] = data


def first_wrong(schedule: Schedule, task: Task, orders: int = 40, seed: int = 0) -> str | None:
    """Why one of so many random executions goes wrong; None if none does."""
    for number in range(orders):
        # The first two: nobody waits for receives, everybody does.
        random = Random(seed * 1000 + number)
        eager = (1.0, 0.0)[number] if number < 2 else random.choice([0.0, 0.5, 1.0])
        try:
            Execution(schedule, task, random, eager).run()
        except Wrong as wrong:
            return str(wrong)
    return None
