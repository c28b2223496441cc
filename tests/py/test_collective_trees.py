"""Broadcasts, reductions, gather, scatter and barriers against definitions of the literature, slow and obvious."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, Level, collective
from isthmus.schedule.schedule import OpKind

RANKS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 27, 31, 40)
#: o, L and o of a message of a byte, and a gap that is the overhead: rounds of 1 s + 1 s + 1 s cannot be mistaken.
LEVEL = Level(L=1.0, o_send=1.0, o_recv=1.0, g=1.0, G=0.0, S=1 << 40)

Tree = dict[int, int]
"""Parents of all places but the root's."""


def sends(schedule: isthmus.Schedule) -> list[tuple[int, int, int]]:
    """Sender, receiver and bytes of every message, in the order of the operations."""
    first = schedule.arrays.op_first.astype(int)
    rank = np.repeat(np.arange(schedule.ranks), np.diff(first))
    which = schedule.ops["kind"] == OpKind.send
    ops = schedule.ops[which]
    return list(zip(rank[which].tolist(), ops["peer"].tolist(), ops["amount"].tolist(), strict=True))


def turned(tree: Tree, ranks: int, root: int) -> set[tuple[int, int]]:
    """Pairs of parent and child, with places turned so that the root is rank `root`."""
    return {((parent + root) % ranks, (child + root) % ranks) for child, parent in tree.items()}


def knomial(ranks: int, radix: int) -> Tree:
    """The parent has the lowest digit that is not 0 set to 0."""
    out = {}
    for place in range(1, ranks):
        weight = 1
        while place // weight % radix == 0:
            weight *= radix
        out[place] = place - place // weight % radix * weight
    return out


def kary(ranks: int, radix: int) -> Tree:
    """Filled level by level."""
    waiting, out = [0], {}
    for place in range(1, ranks):
        out[place] = waiting[(place - 1) // radix]
        waiting.append(place)
    return out


def chains(ranks: int, count: int) -> Tree:
    out = {}
    for places in np.array_split(np.arange(1, ranks), count):
        out |= {int(b): int(a) for a, b in pairwise([0, *places])}
    return out


def fork(ranks: int, dims: tuple[int, ...]) -> Tree:
    """One step back along the last dimension in which a place is not at the start."""
    out = {}
    for place in range(1, ranks):
        at = list(np.unravel_index(place, dims))
        last = max(d for d, x in enumerate(at) if x)
        at[last] -= 1
        out[place] = int(np.ravel_multi_index(at, dims))
    return out


TREES: list[tuple[str, dict[str, Any], Callable[[int], Tree]]] = [
    *(("knomial", {"radix": k}, lambda p, k=k: knomial(p, k)) for k in (2, 3, 4, 8)),
    *(("kary", {"radix": k}, lambda p, k=k: kary(p, k)) for k in (1, 2, 3, 8)),
    ("binary", {}, lambda p: kary(p, 2)),
    *(("chain", {"radix": k}, lambda p, k=k: chains(p, k)) for k in (1, 2, 4)),
    ("pipeline", {}, lambda p: chains(p, 1)),
    *(("fork", {"dims": d}, lambda p, d=d: fork(p, d)) for d in ((5, 8), (2, 3, 7), (40,))),
    ("binomial", {}, lambda p: knomial(p, 2)),
    ("ring", {}, lambda p: chains(p, 1)),
]


@pytest.mark.parametrize(("name", "options", "tree"), TREES, ids=[f"{n}-{o}" for n, o, _ in TREES])
def test_trees_are_those_of_their_definition(name: str, options: dict[str, Any], tree: Callable[[int], Tree]) -> None:
    for ranks in RANKS:
        for root in {0, ranks // 2, ranks - 1}:
            known = turned(tree(ranks), ranks, root)
            down = sends(collective("bcast", ranks=ranks, bytes=9, root=root, algorithm=(name, options)))
            assert {(a, b) for a, b, _ in down} == known
            up = sends(collective("reduce", ranks=ranks, bytes=9, root=root, algorithm=(name, options)))
            assert {(b, a) for a, b, _ in up} == known
            assert len(down) == len(up) == ranks - 1


@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_blocks_of_subtrees_travel_together(radix: int) -> None:
    for ranks in RANKS:
        counts = [(i * 37 + 5) % 11 for i in range(ranks)]
        for root in {0, ranks // 2, ranks - 1}:
            tree = knomial(ranks, radix)
            held = [counts[(place + root) % ranks] for place in range(ranks)]
            for place in reversed(range(1, ranks)):
                held[tree[place]] += held[place]
            known = {((tree[p] + root) % ranks, (p + root) % ranks, held[p]) for p in tree}
            arguments: dict[str, Any] = {"ranks": ranks, "counts": counts, "root": root}
            algorithm = ("knomial", {"radix": radix})
            assert set(sends(collective("scatter", algorithm=algorithm, **arguments))) == known
            up = sends(collective("gather", algorithm=algorithm, **arguments))
            assert {(b, a, n) for a, b, n in up} == known


def reached(time: int, latency: int, overhead: int, gap: int) -> int:
    """Ranks that can know after so many units (Karp et al. 1993): who sends at once reaches two smaller problems."""
    known = [1] * (time + 1)
    again, there = max(gap, overhead), latency + 2 * overhead
    for t in range(time + 1):
        known[t] = 1 + sum(known[t - s - there] for s in range(0, t + 1, again) if t - s >= there)
    return known[time]


@pytest.mark.parametrize(("latency", "overhead", "gap"), [(6, 2, 4), (1, 1, 1), (20, 1, 3), (0, 3, 3), (5, 0, 2)])
def test_the_optimal_broadcast_reaches_as_many_as_can_be_reached(latency: int, overhead: int, gap: int) -> None:
    level = Level(L=latency, o_send=overhead, o_recv=overhead, g=max(gap, overhead), G=0.0, S=1 << 40)
    options = {"latency": float(latency), "overhead": float(overhead), "gap": float(gap)}
    for ranks in RANKS[1:]:
        time = next(t for t in range(2000) if reached(t, latency, overhead, gap) >= ranks)
        s = collective("bcast", ranks=ranks, bytes=1, algorithm=("optimal", options), root=ranks // 2)
        # The last sender's own gap is not waited for, so that the end is that of the last receiver.
        assert isthmus.simulate(s, level).makespan == pytest.approx(time, rel=1e-12)
        other = isthmus.simulate(collective("bcast", ranks=ranks, bytes=1, algorithm="binomial"), level)
        assert other.makespan >= time * (1 - 1e-12)


def test_the_example_of_karp_et_al() -> None:
    """P = 8, L = 6, g = 4, o = 2: 24 units; the root sends to four ranks."""
    s = collective("bcast", ranks=8, bytes=1, algorithm=("optimal", {"latency": 6, "overhead": 2, "gap": 4}))
    assert isthmus.simulate(s, Level(L=6, o_send=2, o_recv=2, g=4, S=1 << 40)).makespan == 24
    assert sum(a == 0 for a, _, _ in sends(s)) == 4


def test_a_pipeline_is_full_after_its_length() -> None:
    """The first segment takes o + L a rank, the others follow every o; receiving costs nothing here."""
    level = Level(L=5.0, o_send=1.0, o_recv=0.0, g=1.0, G=0.0, S=1 << 40)
    for ranks, segments in ((2, 5), (6, 1), (6, 4), (9, 11)):
        s = collective("bcast", ranks=ranks, bytes=10 * segments, algorithm=("pipeline", {"segment": 10}))
        assert isthmus.simulate(s, level).makespan == pytest.approx(6.0 * (ranks - 1) + segments - 1)


@pytest.mark.parametrize("kind", ["bcast", "reduce"])
@pytest.mark.parametrize("name", ["knomial", "kary", "binary", "chain", "pipeline", "fork", "optimal"])
def test_segments_are_of_one_size_but_the_last(kind: str, name: str) -> None:
    s = collective(kind, ranks=7, bytes=25, algorithm=(name, {"segment": 10}))
    for pair in {(a, b) for a, b, _ in sends(s)}:
        assert [n for a, b, n in sends(s) if (a, b) == pair] == [10, 10, 5]


def sent_by(schedule: isthmus.Schedule) -> np.ndarray[Any, Any]:
    out = np.zeros(schedule.ranks, int)
    for a, _, n in sends(schedule):
        out[a] += n
    return out


def inorder(first: int, end: int) -> tuple[int | None, Tree]:
    """The binary tree of places first .. end - 1 whose places at odd distance from first are inner: root, parents."""
    if first >= end:
        return None, {}
    size = 1
    while 2 * size <= end - first:
        size *= 2
    middle = first + size - 1
    parents: Tree = {}
    for begin, until in ((first, middle), (middle + 1, end)):
        child, below = inorder(begin, until)
        parents |= below
        if child is not None:
            parents[child] = middle
    return middle, parents


def test_double_trees() -> None:
    for ranks in (3, 4, 5, 8, 9, 16, 31, 40):
        for root in {0, ranks // 2}:
            s = collective("bcast", ranks=ranks, bytes=1000, root=root, algorithm=("double_tree", {"segment": 0}))
            top, tree = inorder(1, ranks)
            assert top is not None
            first = tree | {top: 0}
            # Mirrored, or moved on by one; the root stays.
            moved = [0, *((ranks - p if ranks % 2 else p % (ranks - 1) + 1) for p in range(1, ranks))]
            second = {moved[child]: moved[parent] for child, parent in first.items()}
            messages = {(a, b) for a, b, _ in sends(s)}
            assert messages == turned(first, ranks, root) | turned(second, ranks, root)
            # Nobody passes on more than the message, as nobody has children in both trees.
            load = sent_by(s)
            assert load.max() <= 1000
            assert load.sum() == 1000 * (ranks - 1)
            assert not (set(first.values()) & set(second.values())) - {0}


def test_split_binary_tree() -> None:
    for ranks in (3, 4, 5, 8, 9, 31, 40):
        s = collective("bcast", ranks=ranks, bytes=1000, algorithm=("split_binary", {"segment": 0}))
        load = sent_by(s)
        # A half to two children and to the partner; the root one half each, and one more to a rank without partner.
        assert load[1:].max() <= 1500
        assert load[0] == 1000 + (500 if ranks % 2 == 0 else 0)
        half = ranks // 2
        pairs = {frozenset((i, i + half)) for i in range(1, half + 1) if i + half < ranks}
        both = {frozenset((a, b)) for a, b, _ in sends(s)}
        assert pairs <= both
        up = collective("reduce", ranks=ranks, bytes=1000, algorithm=("split_binary", {"segment": 0}))
        assert sorted((b, a, n) for a, b, n in sends(up)) == sorted(sends(s))


@pytest.mark.parametrize("name", ["scatter_allgather", "scatter_allgather_ring"])
def test_scatter_and_allgather_send_little_per_rank(name: str) -> None:
    for ranks in (2, 4, 8, 16):
        s = collective("bcast", ranks=ranks, bytes=1600, algorithm=name)
        # The root scatters all but its part, and then everybody has all but one part to send (van de Geijn).
        assert sent_by(s)[0] == 2 * 1600 * (ranks - 1) // ranks
        assert sent_by(s).max() == sent_by(s)[0]


def test_ranks_in_excess_of_a_power_of_two_get_the_whole() -> None:
    s = collective("bcast", ranks=11, bytes=1600, algorithm="scatter_allgather")
    assert [(a, b) for a, b, n in sends(s) if n == 1600] == [(0, 8), (1, 9), (2, 10)]


def test_rabenseifner_reduces_in_two_rounds_of_everything() -> None:
    for ranks in (2, 4, 8, 16):
        s = collective("reduce", ranks=ranks, bytes=1600, algorithm="rabenseifner", root=ranks - 1)
        into = np.zeros(ranks, int)
        for _, b, n in sends(s):
            into[b] += n
        assert into[ranks - 1] == 2 * 1600 * (ranks - 1) // ranks
        added = s.ops["amount"][s.ops["kind"] == OpKind.reduce].sum()
        assert added == 1600 * (ranks - 1)


@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_dissemination_with_a_radix_takes_rounds_of_its_logarithm(radix: int) -> None:
    for ranks in RANKS:
        rounds = next(r for r in range(10) if radix**r >= ranks)
        s = collective("barrier", ranks=ranks, algorithm=("dissemination", {"radix": radix}))
        distances = [(b - a) % ranks for a, b, _ in sends(s) if a == ranks // 2]
        assert distances == [j * radix**r for r in range(rounds) for j in range(1, radix) if j * radix**r < ranks]
        assert s == collective("barrier", ranks=ranks, algorithm=("nway", {"radix": radix - 1}))


@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_windows_hold_messages_back(kind: str) -> None:
    """Asked or told one by one, a rank takes two messages one after the other: 2 (2 o + L)."""
    alone = collective(kind, ranks=9, bytes=8, algorithm=("linear_sync", {"window": 1}))
    assert isthmus.simulate(alone, LEVEL).makespan == pytest.approx(8 * 6.0)
    times = [
        isthmus.simulate(collective(kind, ranks=9, bytes=8, algorithm=("linear_sync", {"window": w})), LEVEL).makespan
        for w in (1, 2, 4, 8, 0)
    ]
    assert all(a >= b for a, b in pairwise(times))
    assert times[-1] == times[-2] < times[0]


def test_rooms_of_reductions_are_as_many_as_the_window() -> None:
    for window, rooms in ((1, 1), (3, 3), (0, 2 * 5)):
        options = {"radix": 8, "segment": 20, "window": window}
        s = collective(
            "reduce", ranks=4, bytes=100, algorithm=("knomial", options), root=1, in_place=False, buffers=True
        )
        sizes = s.arrays.buffer_bytes.reshape(4, 3)
        # The root's first child goes to the place of the sum; leaves need none.
        assert sizes[:, 2].tolist() == [0, rooms * 20, 0, 0]


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("fork", {"dims": (2, 3)}, r"fork \(bcast\): the grid has 6 places, for 7 ranks"),
        ("fork", {"dims": (0, 30)}, "option dims = 0 of fork"),
        ("optimal", {"latency": 1001.0}, "a time of 1001000000000000 ps; must be at most 1000000000000000"),
        ("knomial", {"radix": 1}, "option radix = 1 of knomial .bcast.: must be 2 or more"),
        ("kary", {"radix": 0}, "option radix = 0 of kary .bcast.: must be 1 or more"),
        ("binary", {"radix": 2}, "option 'radix' of binary .bcast.: must be one of segment"),
    ],
)
def test_wrong_options(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        collective("bcast", ranks=7, bytes=8, algorithm=(name, options))
