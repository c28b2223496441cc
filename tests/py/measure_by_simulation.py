"""The simulator plays the machine that is measured: every kind of item becomes a schedule, whose times are the samples.

Ranks 0 to 2 are on one node, of which 0 and 2 on one socket; rank 3 is on another node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import isthmus
from isthmus import Level, Levels, Machine, Piece
from isthmus.measuring.samples import Item, Samples, Series
from oracles.loggops import CALC, RECV, SEND, Op
from schedule_strategies import Ranks, schedule_of

PAIRS = {"socket": (0, 2), "node": (0, 1), "network": (0, 3)}
NODES = [0, 0, 0, 1]
SIZES = sorted({round(2 ** (k / 2)) for k in range(45)})
ANSWER = 1  # tag
TIMES = ("L", "o_send", "o_recv", "g")
RATES = ("G", "O", "O_recv")


def machine_of(levels: Levels, network: str = "ring:4") -> Machine:
    """A machine of two sockets a node with these levels; links are as fast as its interfaces."""

    def table(level: Level) -> dict[str, Any]:
        own = {
            name: getattr(level, name) for name in (*TIMES, *RATES, "S", "queue") if getattr(level, name) is not None
        }
        names = ("above", "after", *TIMES, *RATES)
        pieces = [{name: getattr(p, name) for name in names if getattr(p, name) is not None} for p in level.pieces]
        return own | ({"pieces": pieces} if pieces else {})

    base = isthmus.load(f"{network} sockets=2 numa=2 cores=4 core_order=cyclic link=1000GB/s hop=0ns").toml()
    import tomllib

    raw = tomllib.loads(base)
    raw["format"] = 2
    raw["level"] = {name: table(getattr(levels, name)) for name in PAIRS}
    raw["level"]["network"]["per_hop"] = 0
    fastest = min((p.G for p in levels.network.all_pieces if p.G > 0), default=1e-12)
    raw["links"] = {"default": {"bandwidth": 1 / fastest, "latency": 0}}
    return Machine.from_dict(raw)


class Simulator:
    """Times of items on a machine."""

    def __init__(self, machine: Machine, model: str = "loggops") -> None:
        self.machine, self.model = machine, model

    def run(self, a: int, b: int, first: list[Op], second: list[Op]) -> isthmus.Timeline:
        ranks: Ranks = [[], [], [], []]
        for ops, peer in ((first, b), (second, a)):
            for op in ops:
                op.peer = peer if op.kind in (SEND, RECV) else 0
        ranks[a], ranks[b] = first, second
        return isthmus.simulate(
            schedule_of(ranks), self.machine, NODES, model=self.model, record="ops", symmetry=False, skip=False,
            **({"resolution": 0.0} if self.model == "flow" else {}),
        )  # fmt: skip

    def value(self, item: Item) -> float:
        p: Any = item.parameters
        return float(getattr(self, item.kind)(**p))

    def pingpong(self, a: int, b: int, bytes: int) -> float:
        t = self.run(a, b, [Op(SEND, bytes), Op(RECV, bytes, after=[0])], [Op(RECV, bytes), Op(SEND, bytes, after=[0])])
        return t.makespan / 2

    def sendcall(self, a: int, b: int, bytes: int) -> float:
        return float(self.run(a, b, [Op(SEND, bytes)], [Op(RECV, bytes)]).finish[a])

    def isendcall(self, a: int, b: int, bytes: int) -> float:
        t = self.run(a, b, [Op(SEND, bytes), Op(CALC, 1, after_start=[0])], [Op(RECV, bytes)])
        return float(t.start_ps[int(t.schedule.op_first[a]) + 1] * 1e-12)

    def receivecall(self, a: int, b: int, bytes: int, how: str = "wait") -> float:
        wait = 10**12
        receive = [Op(RECV, bytes), Op(CALC, wait, after_start=[0])]
        late = [Op(CALC, wait), Op(RECV, bytes, after=[0])]
        t = self.run(a, b, [Op(SEND, bytes)], receive if how == "posted" else late)
        return float(t.finish_ps[b] - wait) * 1e-12

    def window(self, a: int, b: int, bytes: int, n: int) -> float:
        return self.burst(a, b, bytes, n) / n

    def burst(self, a: int, b: int, bytes: int, n: int) -> float:
        every = list(range(n))
        first = [*(Op(SEND, bytes) for _ in every), Op(RECV, 1, tag=ANSWER)]
        second = [*(Op(RECV, bytes) for _ in every), Op(SEND, 1, tag=ANSWER, after=every)]
        return float(self.run(a, b, first, second).finish[a])

    def sendrecv(self, a: int, b: int, bytes: int) -> float:
        ops = [[Op(SEND, bytes), Op(RECV, bytes)] for _ in range(2)]
        return self.run(a, b, *ops).makespan

    def threshold(self, a: int, b: int, most: int = 4 << 20) -> float:
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            late = self.run(a, b, [Op(SEND, middle)], [Op(CALC, 10**11), Op(RECV, middle, after=[0])])
            low, high = (middle, high) if late.finish[a] < 0.05 else (low, middle)
        return float(low)


def plan(eager: dict[str, float], levels: Iterable[str] = PAIRS) -> list[Item]:
    """Items from which all parameters follow, where they do; `eager`: S of every level, beyond which a message is there
    only if its receive was posted."""
    out = []
    for level in levels:
        a, b = PAIRS[level]
        pair = {"a": a, "b": b}
        out.append(Item(f"{level}.threshold", "threshold", pair))
        for size in SIZES:
            both = {**pair, "bytes": size}
            out += [Item(f"{level}.{kind}.{size}", kind, both) for kind in ("pingpong", "sendcall", "isendcall")]
            how = "wait" if size <= eager[level] else "posted"
            out.append(Item(f"{level}.receivecall.{size}", "receivecall", {**both, "how": how}))
            out.append(Item(f"{level}.window.{size}", "window", {**both, "n": 16}))
    return out


def measured(
    simulator: Simulator, items: Iterable[Item], *, noise: float = 0.0, random: np.random.Generator | None = None,
    rounds: int = 12, batch: int = 10,
) -> Samples:  # fmt: skip
    """Samples of the items: one of each, or rounds of batches with normally distributed noise of this part."""
    series = []
    for item in items:
        value = simulator.value(item)
        if not noise or item.kind == "threshold":
            series.append(Series.of(item, [[value]], "most"))
            continue
        assert random is not None
        series.append(Series.of(item, value * (1 + noise * random.standard_normal((rounds, batch))), "most"))
    return Samples(series)


def random_levels(random: np.random.Generator) -> Levels:
    """Three levels with up to three pieces each, S among where they begin mostly."""

    def log(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    def numbers(L: float, o: float, G: float) -> dict[str, float]:
        o_send, o_recv = o * random.uniform(0.5, 1.5), o * random.uniform(0.5, 1.5)
        g = max(o_send, o_recv) * random.uniform(0.8, 3)
        return {
            "L": L, "o_send": o_send, "o_recv": o_recv, "g": g, "G": G,
            "O": G * random.uniform(0.05, 0.8), "O_recv": G * random.uniform(0.05, 0.8),
        }  # fmt: skip

    def level(slower: float) -> Level:
        L, o, G = slower * log(0.2e-6, 2e-6), slower * log(0.05e-6, 0.5e-6), log(0.05e-9, 2e-9)
        own = numbers(L, o, G)
        aboves = sorted(random.choice([2048, 8192, 32768, 131072, 400_000], random.integers(0, 3), replace=False))
        pieces = []
        for above in aboves:
            L, o, G = L * log(0.8, 3), o * log(1, 2), G * log(0.4, 1.6)
            pieces.append(Piece(above=float(above), **numbers(L, o, G)))
        S = (
            float(random.choice(aboves))
            if len(aboves) and random.random() < 0.8
            else float(2 ** random.integers(9, 18))
        )
        return Level(**own, S=S, pieces=tuple(pieces))

    return Levels(socket=level(1), node=level(1.5), network=level(5))


#: Levels that random_levels does not make.
KINDS = ("one line", "fast interface", "slow processors", "free processors", "S in a piece", "faster by rendezvous")


def odd_level(kind: str, random: np.random.Generator) -> Level:
    """A level of one of KINDS."""

    def log(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    G, o = log(0.05e-9, 2e-9), log(0.05e-6, 0.5e-6)
    own = {
        "L": log(0.2e-6, 10e-6), "o_send": o * log(0.5, 2), "o_recv": o * log(0.5, 2), "g": 2 * o * log(1, 2), "G": G,
        "O": G * log(0.05, 0.8), "O_recv": G * log(0.05, 0.8), "S": float(2 ** random.integers(9, 18)),
    }  # fmt: skip
    if kind == "fast interface":
        own["g"] = random.choice([0.0, 0.01]) * o
    elif kind == "slow processors":
        own |= {"O": G * log(1.3, 4), "O_recv": G * log(1.3, 4)}
    elif kind == "free processors":
        own |= dict.fromkeys(("o_send", "o_recv", "O", "O_recv"), 0.0)
    elif kind == "S in a piece":
        return Level(**own | {"S": 20_000.0}, pieces=(_larger(own, 4096, L=2, G=0.7), _larger(own, 131072, L=4, G=0.5)))
    elif kind == "faster by rendezvous":
        return Level(**own | {"S": 16384.0}, pieces=(_larger(own, 16384, L=0.5, G=0.4),))
    return Level(**own)


def _larger(own: dict[str, float], above: float, **factors: float) -> Piece:
    values = {name: own[name] * factors.get(name, 1) for name in TIMES}
    return Piece(above=above, **values, **{name: own[name] * factors["G"] for name in RATES})
