"""Random schedules and parameters, small integers on purpose: events of equal time are what goes wrong.

Hypothesis draws the limits and a seed; Python's generator fills in the rest, which is a hundred times faster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import strategies as st

import isthmus
from isthmus.machine import Piece
from oracles.loggops import ANY, CALC, COPY, GET, PUT, RECV, REDUCE, SEND, Op, Parameters

Ranks = list[list[Op]]


@dataclass(frozen=True)
class Limits:
    """What a random schedule may hold; `ops` is the number per rank, more or less."""

    ranks: int
    ops: int
    sizes: int = 6  # bytes and durations are up to this
    tags: int = 2
    comms: int = 1
    cpus: int = 1
    nics: int = 1
    wildcards: float = 0.0  # how often sources and tags of receives are
    one_sided: bool = False
    dependencies: float = 0.5  # of an operation on an earlier one, on average


@st.composite
def limits(draw: st.DrawFn, ranks: int = 8, ops: int = 40) -> Limits:
    few = st.integers(1, 3)
    return Limits(
        ranks=draw(st.integers(1, ranks)),
        ops=draw(st.integers(0, ops)),
        sizes=draw(st.sampled_from([0, 1, 2, 6, 30])),
        tags=draw(few),
        comms=draw(few),
        cpus=draw(few),
        nics=draw(few),
        wildcards=draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])),
        one_sided=draw(st.booleans()),
        dependencies=draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])),
    )


def message(random: Random, limit: Limits) -> tuple[Op, Op, int, int]:
    """A send and a receive that fits, and the ranks of both. The receive may be on another stream."""
    source, target = random.randrange(limit.ranks), random.randrange(limit.ranks)
    size, tag, comm = random.randint(0, limit.sizes), random.randrange(limit.tags), random.randrange(limit.comms)
    places = [(random.randrange(limit.cpus), random.randrange(limit.nics)) for _ in range(2)]
    send = Op(SEND, size, target, tag, comm, *places[0])
    recv = Op(RECV, size, source, tag, comm, *places[1])
    if random.random() < limit.wildcards:
        recv.peer = ANY
    if random.random() < limit.wildcards:
        recv.tag = ANY
    return send, recv, source, target


def other(random: Random, limit: Limits) -> Op:
    """Anything that is no message."""
    kind = random.choice([CALC, CALC, COPY, REDUCE] + 2 * limit.one_sided * [PUT, GET])
    peer = random.randrange(limit.ranks) if kind in (PUT, GET) else 0
    size, cpu, nic = (random.randrange(n) for n in (limit.sizes + 1, limit.cpus, limit.nics))
    return Op(kind, size, peer, cpu=cpu, nic=nic)


def depend(random: Random, limit: Limits, ops: list[Op], first: int) -> None:
    """Lets operations from `first` on wait for earlier ones."""
    for i in range(max(first, 1), len(ops)):
        count = int(limit.dependencies) + (random.random() < limit.dependencies % 1)
        for on in random.sample(range(i), min(i, random.randint(0, 2 * count))):
            (ops[i].after if random.random() < 0.7 else ops[i].after_start).append(on)


def shuffled(random: Random, ops: list[Op]) -> list[Op]:
    """The same operations in another order of posting."""
    place = random.sample(range(len(ops)), len(ops))
    out: list[Op] = [op for _, op in sorted(zip(place, ops, strict=True), key=lambda pair: pair[0])]
    for op in out:
        op.after, op.after_start = [place[i] for i in op.after], [place[i] for i in op.after_start]
    return out


def complete(limit: Limits, seed: int) -> Ranks:
    """Every message has a tag of its own and is sent before anything later waits for it: always runs to its end."""
    random = Random(seed)
    ranks: Ranks = [[] for _ in range(limit.ranks)]
    while sum(map(len, ranks)) < limit.ranks * limit.ops:
        if random.random() < 0.4:
            ops = random.choice(ranks)
            ops.append(other(random, limit))
            depend(random, limit, ops, len(ops) - 1)
            continue
        send, recv, source, target = message(random, limit)
        send.tag = recv.tag = sum(map(len, ranks))
        for op, rank in ((send, source), (recv, target)):
            ranks[rank].append(op)
            depend(random, limit, ranks[rank], len(ranks[rank]) - 1)
            if source == target and op is recv:  # never after the own send, which may wait for this receive
                op.after = [i for i in op.after if ranks[rank][i] is not send]
    return [shuffled(random, ops) for ops in ranks]


def arbitrary(limit: Limits, seed: int) -> Ranks:
    """Messages that compete for receives, some without a partner: may deadlock."""
    random = Random(seed)
    lonely = random.choice([0.0, 0.0, 0.02, 0.2])
    receives_wait = random.choice([True, False])
    ranks: Ranks = [[] for _ in range(limit.ranks)]
    while sum(map(len, ranks)) < limit.ranks * limit.ops:
        if random.random() < 0.3:
            random.choice(ranks).append(other(random, limit))
            continue
        send, recv, source, target = message(random, limit)
        if random.random() >= lonely:
            ranks[source].append(send)
        if random.random() >= lonely:
            ranks[target].append(recv)
    out = []
    for ops in ranks:
        ops = shuffled(random, ops)
        depend(random, limit, ops, 0)
        if not receives_wait:
            for op in ops:
                if op.kind == RECV:
                    op.after = []
        out.append(shuffled(random, ops))
    return out


def symmetric(limit: Limits, seed: int, shape: tuple[int, ...]) -> Ranks:
    """All ranks do the same on a torus of this shape: peers are given by offsets."""
    random = Random(seed)
    count = int(np.prod(shape))
    grid = np.arange(count).reshape(shape)
    plan: list[tuple[Op, np.ndarray | None]] = []
    for _ in range(limit.ops):
        if random.random() < 0.4:
            op = other(random, limit)
            offset = [random.randrange(n) for n in shape]
            plan.append((op, np.roll(grid, offset, range(len(shape))).ravel() if op.kind in (PUT, GET) else None))
            continue
        send, recv, _, _ = message(random, limit)
        offset = [random.randrange(n) for n in shape]
        plan.append((send, np.roll(grid, [-x for x in offset], range(len(shape))).ravel()))
        plan.append((recv, np.roll(grid, offset, range(len(shape))).ravel()))
    if random.random() < 0.5:
        random.shuffle(plan)
    pattern = [op for op, _ in plan]
    depend(random, limit, pattern, 0)

    def copy(op: Op, peers: np.ndarray | None, rank: int) -> Op:
        fixed = peers is None or op.peer == ANY
        peer = op.peer if fixed else int(peers[rank])
        return dataclasses.replace(op, peer=peer, after=list(op.after), after_start=list(op.after_start))

    return [[copy(op, peers, rank) for op, peers in plan] for rank in range(count)]


def schedules(kind: Callable[[Limits, int], Ranks], **more: int) -> st.SearchStrategy[Ranks]:
    return st.builds(kind, limits(**more), st.integers(0, 2**32))


def schedule_of(ranks: Ranks) -> isthmus.Schedule:
    """The same operations as a Schedule."""
    first = np.cumsum([0, *map(len, ranks)])
    ops = [op for ops in ranks for op in ops]
    pairs = [
        (first[r] + i, first[r] + on, start)
        for r, ops in enumerate(ranks)
        for i, op in enumerate(ops)
        for start, list_ in ((False, op.after), (True, op.after_start))
        for on in list_
    ]

    def column(name: str) -> np.ndarray:
        return np.array([getattr(op, name) for op in ops], np.uint64)

    return isthmus.Schedule.of(
        len(ranks),
        rank=np.repeat(np.arange(len(ranks), dtype=np.uint32), np.diff(first)),
        **{name: column(name) for name in ("kind", "amount", "peer", "tag", "comm", "cpu", "nic")},
        op=np.array([pair[0] for pair in pairs], np.uint64),
        on=np.array([pair[1] for pair in pairs], np.uint64),
        start=np.array([pair[2] for pair in pairs], np.uint8),
    )


def operations_of(schedule: isthmus.Schedule) -> Ranks:
    """A Schedule as plain lists."""
    ranks: Ranks = []
    bounds = schedule.op_first.tolist()
    where: list[Op] = []
    for rank in range(schedule.ranks):
        ops = schedule.ops[bounds[rank] : bounds[rank + 1]]
        names = ("kind", "amount", "peer", "tag", "comm", "cpu", "nic")
        ranks.append([Op(*row) for row in zip(*(ops[name].tolist() for name in names), strict=True)])
        where += ranks[-1]
    rank_of = np.repeat(np.arange(schedule.ranks), np.diff(schedule.op_first.astype(np.int64)))
    pairs = schedule.dependencies()
    for op, on, start in zip(pairs.op.tolist(), pairs.on.tolist(), pairs.start.tolist(), strict=True):
        local = on - bounds[rank_of[on]]
        (where[op].after_start if start else where[op].after).append(local)
    return ranks


def parameters(most: int = 5) -> st.SearchStrategy[Parameters]:
    """In ps; zero often."""
    time = st.one_of(st.just(0), st.integers(0, most))
    per_byte = st.sampled_from([0, 0, 1, 2, 0.5, 0.25, 1.5])
    return st.builds(
        Parameters,
        L=time, o_send=time, o_recv=time, g=time, G=per_byte, O=per_byte, S=st.sampled_from([0, 1, 3, 10**6]),
        O_recv=st.one_of(st.none(), per_byte), pieces=st.one_of(st.just(()), pieces(time, per_byte)),
    )  # fmt: skip


@st.composite
def pieces(draw: st.DrawFn, time: st.SearchStrategy[int], per_byte: st.SearchStrategy[float]) -> tuple[Parameters, ...]:
    """Of a level, for sizes up to 30."""
    out = []
    for above in sorted(draw(st.sets(st.integers(1, 8), max_size=3))):
        times = {name: draw(time) for name in ("L", "o_send", "o_recv", "g")}
        rates = {name: draw(per_byte) for name in ("G", "O")}
        O_recv = draw(st.one_of(st.none(), per_byte))
        out.append(Parameters(**times, **rates, O_recv=O_recv, above=above, after=draw(st.integers(1, above))))
    return tuple(out)


def level_of(p: Parameters) -> isthmus.Level:
    def seconds(p: Parameters) -> dict[str, float]:
        times = {name: getattr(p, name) for name in ("L", "o_send", "o_recv", "g", "G", "O", "O_recv")}
        return {name: time * 1e-12 for name, time in times.items() if time is not None}

    pieces = tuple(Piece(**seconds(piece), above=piece.above, after=piece.after) for piece in p.pieces)
    return isthmus.Level(**seconds(p), S=p.S, pieces=pieces)
