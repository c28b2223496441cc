"""Which charts explain the peers of each call, in all recordings at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from .charts import PLAIN, Chart, Grid, Symbol, grids
from .streams import ADDRESSED, NULL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .streams import Stream

#: Symbols of a call, at most: bits of a mask.
MOST = 60
#: Pairs of ranks from which a chart is chosen.
_PAIRS = 200_000
#: Charts that explain the peers of one call, at most.
_ROUNDS = 3
#: Part of the pairs of each run that they must explain: less is chance, as where a master chooses who is served.
_EXPLAINED = 0.6
#: More symbols than these explain nothing unless there are twice as many pairs.
_FEW = 8


@dataclass(frozen=True)
class Item:
    """A peer by rule."""

    chart: Chart
    symbol: Symbol

    def __str__(self) -> str:
        return self.chart.text(self.symbol)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Different pairs of rank and peer of a call in a run."""

    ranks: int
    rank: NDArray[np.int64]
    peer: NDArray[np.int64]

    def without(self, items: Iterable[Item]) -> Pairs:
        """Those that none of the items explains."""
        left = np.ones(len(self.rank), bool)
        for item in items:
            there, outside = item.chart.peers(item.symbol, self.ranks)
            left &= (there[self.rank] != self.peer) | outside[self.rank]
        return Pairs(self.ranks, self.rank[left], self.peer[left])


def pairs(stream: Stream, call: int) -> Pairs:
    """The pairs of a call."""
    chosen = (stream.call == call) & (stream.peer >= 0)
    key = np.unique(stream.rank[chosen] * stream.ranks + stream.peer[chosen])[:_PAIRS]
    return Pairs(stream.ranks, key // stream.ranks, key % stream.ranks)


def _symbols(chart: Chart, found: Pairs) -> list[tuple[Symbol, int]]:
    """Symbols of a chart, each with the number of its ranks, the most frequent first."""
    if not len(found.rank):
        return []
    rows, count = np.unique(chart.symbols(found.rank, found.peer, found.ranks), axis=0, return_counts=True)
    kept = [
        (tuple(row), int(number)) for row, number in zip(rows.tolist(), count.tolist(), strict=True)
        if hasattr(chart, "order") or chart.name in ("rank", "last") or row[0] >= 0
    ]  # fmt: skip
    return sorted(kept, key=lambda one: (-one[1], one[0]))


def items_of(runs: Sequence[Pairs]) -> list[Item]:
    """Items that explain the peers of a call in runs of several sizes, the largest last; none where their number grows.

    The chart that leaves the fewest pairs of all runs unexplained is taken, one whose symbols do not grow in number
    before others, with the fewest symbols.
    """
    charts: tuple[Chart, ...] = (*PLAIN, *grids(tuple(run.ranks for run in runs)))
    found: list[Item] = []
    total = sum(len(run.rank) for run in runs)
    left = list(runs)
    for _ in range(_ROUNDS):
        if not sum(len(run.rank) for run in left):
            break
        best: tuple[tuple[float, ...], list[list[Item]]] | None = None
        for chart in charts:
            symbols = _symbols(chart, left[-1])
            frequent = [one for one in symbols if one[1] * 8 >= symbols[0][1]][: MOST - len(found)]
            if not frequent or (len(symbols) > MOST // 2 and len(runs) > 1 and len(symbols) * 4 > left[-1].ranks):
                continue
            items = [Item(chart, symbol) for symbol, _ in frequent]
            unexplained = sum(len(run.without(items).rank) for run in left)
            # In a box of 3 x 3 x 3 a ring needs as many steps as the box has neighbours, but more in larger ones.
            grows = len(runs) > 1 and _grows(chart, left)
            score = (round(unexplained / total, 3), grows, len(items))
            if best is None or score < best[0]:
                best = score, [items]
            elif score == best[0]:
                best[1].append(items)
        if best is None or best[0][0] * total >= sum(len(run.rank) for run in left):
            break
        if best[0][1]:
            break
        alike = [_opened(items, left) for items in best[1]]
        # Of boxes with sides in another order the right one gives no pairs that there are not.
        chosen = min(alike, key=lambda items: _given(items, left)) if len(alike) > 1 else alike[0]
        found += chosen
        left = [run.without(chosen) for run in left]
    rest = max(len(some.rank) / max(len(run.rank), 1) for some, run in zip(left, runs, strict=True))
    few = len(found) <= _FEW or 2 * len(found) <= max(len(run.rank) for run in runs)
    return found if few and rest <= 1 - _EXPLAINED else []


def _opened(items: list[Item], runs: Sequence[Pairs]) -> list[Item]:
    """The same items on a grid that is closed around no more sides than the runs need."""
    chart = items[0].chart
    if not isinstance(chart, Grid):
        return items
    least = sum(len(run.without(items).rank) for run in runs)
    for count in range(len(chart.order)):
        for around in combinations(range(len(chart.order)), count):
            tried = [Item(Grid(chart.order, around), item.symbol) for item in items]
            if sum(len(run.without(tried).rank) for run in runs) == least:
                return tried
    return items


def _given(items: list[Item], runs: Sequence[Pairs]) -> int:
    """How many pairs of the runs items would give."""
    out = 0
    for run in runs:
        rank, there = np.arange(run.ranks), [item.chart.peers(item.symbol, run.ranks) for item in items]
        out += len(np.unique(np.concatenate([(rank * run.ranks + peer)[~outside] for peer, outside in there])))
    return out


def _grows(chart: Chart, runs: Sequence[Pairs]) -> bool:
    """Whether larger runs have more symbols."""
    counts = [len(_symbols(chart, run)) for run in runs]
    return counts[-1] > counts[-2] > 0 and counts[-1] > max(2, counts[0])


class Vocabulary:
    """Items of all calls, and which of them each call of a stream may be."""

    def __init__(self, streams: Sequence[Stream], calls: int) -> None:
        self.items: dict[int, list[Item]] = {}
        for call in range(calls):
            runs = [pairs(one, call) for one in streams if (one.call == call).any()]
            of = next((one.kind[one.call == call][0] for one in streams if (one.call == call).any()), 0)
            if of in ADDRESSED and runs:
                self.items[call] = items_of(runs)

    def masks(self, stream: Stream) -> NDArray[np.int64]:
        """For each call of a stream the items that give its peer, as bits; a peer of none agrees with those outside."""
        out = np.zeros(len(stream.call), np.int64)
        for call, items in self.items.items():
            at = np.flatnonzero(stream.call == call)
            rank, peer = stream.rank[at], stream.peer[at]
            for bit, item in enumerate(items):
                there, outside = item.chart.peers(item.symbol, stream.ranks)
                fits = (there[rank] == peer) & ~outside[rank] | (peer == NULL) & outside[rank]
                out[at[fits]] |= 1 << bit
        return out
