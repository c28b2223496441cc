"""Collectives in which all ranks end with something against definitions of the literature, slow and obvious.

That they do what they have to is proved for every one of them in test_prove_all.py and in C++.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, collective, prove
from isthmus.schedule.schedule import OpKind

RANKS = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 27, 31, 40)

Messages = Counter[tuple[int, int, int]]
"""Sender, receiver and bytes."""


def messages(schedule: isthmus.Schedule) -> Messages:
    first = schedule.arrays.op_first.astype(int)
    rank = np.repeat(np.arange(schedule.ranks), np.diff(first))
    which = schedule.ops["kind"] == OpKind.send
    ops = schedule.ops[which]
    return Counter(zip(rank[which].tolist(), ops["peer"].tolist(), ops["amount"].tolist(), strict=True))


def pairs(schedule: isthmus.Schedule) -> set[tuple[int, int]]:
    return {(a, b) for a, b, _ in messages(schedule)}


def amount(schedule: isthmus.Schedule, kind: OpKind) -> int:
    return int(schedule.ops["amount"][schedule.ops["kind"] == kind].sum())


def digits(number: int, radix: int) -> list[int]:
    out = []
    while number:
        out.append(number % radix)
        number //= radix
    return out


@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_bruck_alltoall_packs_by_few_copies(radix: int) -> None:
    """One for every message that brought some of the blocks, and two for those that have not moved: beyond the last
    rank blocks go on with those of the first."""

    def hop(block: int, phase: int) -> tuple[int, int] | None:
        found = [(k, digit) for k, digit in enumerate(digits(block, radix)[:phase]) if digit]
        return found[-1] if found else None

    for ranks in (*RANKS[1:], 64, 100):
        most = 2 * len({hop(block, 99) for block in range(1, ranks)})
        for phase in range(len(digits(ranks - 1, radix))):
            for value in range(1, radix):
                moved = [i for i in range(ranks) if (*digits(i, radix), *[0] * 9)[phase] == value]
                if len(moved) > 1:
                    hops = {hop(block, phase) for block in moved}
                    most += len(hops) + (None in hops)
        schedule = collective("alltoall", ranks=ranks, bytes=10, algorithm=("bruck", {"radix": radix}))
        copies = np.add.reduceat(schedule.ops["kind"] == OpKind.copy, schedule.op_first[:-1].astype(int), dtype=int)
        assert copies.max() <= most


def test_bruck_alltoall_has_few_operations_and_all_bytes_on_many_ranks() -> None:
    ranks, bytes = 16384, 64
    schedule = collective("alltoall", ranks=ranks, bytes=bytes, algorithm="bruck")
    # A message each way and few copies of strided blocks in each of 14 steps, where pairs of ranks are 16,384 a rank.
    assert np.diff(schedule.op_first.astype(np.int64)).max() <= 14 * 16
    ops = schedule.ops
    # Half of the blocks move in each step, to and from ranks at that distance.
    for kind, way in ((OpKind.send, 1), (OpKind.recv, -1)):
        chosen = ops["kind"] == kind
        rank = np.repeat(np.arange(ranks), np.diff(schedule.op_first.astype(np.int64)))[chosen]
        distance = (ops["peer"][chosen].astype(np.int64) - rank) * way % ranks
        assert (ops["amount"][chosen] == ranks // 2 * bytes).all()
        assert (np.sort(distance.reshape(ranks, 14), axis=1) == 2 ** np.arange(14)).all()


@pytest.mark.parametrize("radix", [2, 3, 4, 8, 100])
def test_bruck_alltoall_sends_blocks_by_their_digits(radix: int) -> None:
    for ranks in RANKS:
        known: Messages = Counter()
        for digit in range(len(digits(ranks - 1, radix))):
            for value in range(1, radix):
                moved = [i for i in range(ranks) if (*digits(i, radix), *[0] * 9)[digit] == value]
                if moved:
                    steps = value * radix**digit
                    known.update((r, (r + steps) % ranks, 10 * len(moved)) for r in range(ranks))
        assert messages(collective("alltoall", ranks=ranks, bytes=10, algorithm=("bruck", {"radix": radix}))) == known


@pytest.mark.parametrize("radix", [2, 3, 4, 8, 100])
def test_bruck_allgather_multiplies_what_is_known(radix: int) -> None:
    for ranks in RANKS:
        known: Messages = Counter()
        held = 1
        while held < ranks:
            for way in range(1, radix):
                count = min(held, ranks - way * held)
                if count > 0:
                    known.update((r, (r - way * held) % ranks, 10 * count) for r in range(ranks))
            held *= radix
        schedule = collective("allgather", ranks=ranks, bytes=10, algorithm=("bruck", {"radix": radix}))
        assert messages(schedule) == known
        if radix == 2:
            assert schedule == collective("allgather", ranks=ranks, bytes=10, algorithm="dissemination")


@pytest.mark.parametrize("name", ["ring", "neighbor_exchange", "sparbit", "bruck", "dissemination"])
def test_allgathers_bring_every_block_once(name: str) -> None:
    for ranks in RANKS:
        counts = [(i * 37 + 5) % 11 for i in range(ranks)]
        schedule = collective("allgather", ranks=ranks, counts=counts, algorithm=name)
        into: Counter[int] = Counter()
        for (_, to, size), times in messages(schedule).items():
            into[to] += size * times
        assert all(into[r] == sum(counts) - counts[r] for r in range(ranks))


def test_neighbour_exchange_has_two_partners() -> None:
    for ranks in RANKS:
        schedule = collective("allgather", ranks=ranks, bytes=8, algorithm="neighbor_exchange")
        around = {(r, (r + s) % ranks) for r in range(ranks) for s in ((1, -1) if ranks % 2 == 0 else (1,))}
        assert pairs(schedule) <= around
        assert len(messages(schedule)) <= 2 * len(around)
        rounds = ranks // 2 if ranks % 2 == 0 else ranks - 1
        assert messages(schedule).total() == ranks * rounds


def test_sparbit_halves_its_distances_and_moves_single_blocks() -> None:
    for ranks in RANKS:
        schedule = collective("allgather", ranks=ranks, bytes=8, algorithm="sparbit")
        assert {size for _, _, size in messages(schedule)} <= {8}
        distances: Counter[int] = Counter()
        for (a, b, _), times in messages(schedule).items():
            distances[(b - a) % ranks] += times
        # After the round of distance d a rank has every d-th block.
        step = 1 << (ranks - 1).bit_length()
        while step > 1:
            step //= 2
            assert distances.pop(step) == ranks * (-(-ranks // step) - -(-ranks // (2 * step)))
        assert not distances


@pytest.mark.parametrize("radix", [2, 3, 4, 8])
def test_recursive_multiplying_lets_ranks_of_one_digit_meet(radix: int) -> None:
    for power in (1, 2, 3):
        ranks = radix**power
        if ranks > 100:
            continue
        known = {
            (a, b)
            for a in range(ranks)
            for b in range(ranks)
            if sum(a // radix**d % radix != b // radix**d % radix for d in range(power)) == 1
        }
        found = messages(
            collective("allreduce", ranks=ranks, bytes=9, algorithm=("recursive_multiplying", {"radix": radix}))
        )
        assert found == Counter((a, b, 9) for a, b in known)


def test_reduction_by_halves_moves_as_much_as_it_must() -> None:
    for ranks in (2, 4, 8, 16, 32):
        size = 96 * ranks
        least = size // ranks * (ranks - 1)
        for name in ("rabenseifner", "swing", "ring", "segmented_ring", "bucket"):
            schedule = collective("allreduce", ranks=ranks, bytes=size, algorithm=name)
            assert sum(n * t for (_, _, n), t in messages(schedule).items()) == 2 * ranks * least, name
            assert amount(schedule, OpKind.reduce) == ranks * least, name
        for name in ("recursive_halving", "ring", "pairwise"):
            schedule = collective("reduce_scatter", ranks=ranks, bytes=96, algorithm=name)
            assert sum(n * t for (_, _, n), t in messages(schedule).items()) == ranks * least, name
        # Blocks whose place is not its own mirror image travel once more.
        bits = ranks.bit_length() - 1
        away = sum(int(f"{p:0{bits}b}"[::-1], 2) != p for p in range(ranks))
        schedule = collective("reduce_scatter", ranks=ranks, bytes=96, algorithm="butterfly")
        assert sum(n * t for (_, _, n), t in messages(schedule).items()) == ranks * least + 96 * away


def swing_distance(step: int) -> int:
    """De Sensi et al. 2024, section 3: the sum of (-2)^i up to the step."""
    return sum((-2) ** i for i in range(step + 1))


@pytest.mark.parametrize("dims", [(8,), (16,), (4, 4), (2, 8), (4, 2, 4)])
def test_swing_goes_the_ways_of_its_paper(dims: tuple[int, ...]) -> None:
    ranks = int(np.prod(dims))
    known = set()
    for rank in range(ranks):
        at = np.unravel_index(rank, dims)
        for d, extent in enumerate(dims):
            for step in range(extent.bit_length() - 1):
                for sign in (1, -1):
                    to = list(at)
                    to[d] = (at[d] + (1 if at[d] % 2 == 0 else -1) * sign * swing_distance(step)) % extent
                    known.add((rank, int(np.ravel_multi_index(to, dims))))
    assert pairs(collective("allreduce", ranks=ranks, bytes=4096, algorithm=("swing", {"dims": dims}))) == known


@pytest.mark.parametrize("dims", [(5,), (4, 3), (2, 3, 4)])
def test_buckets_stay_between_neighbours_of_the_torus(dims: tuple[int, ...]) -> None:
    ranks = int(np.prod(dims))
    schedule = collective("allreduce", ranks=ranks, bytes=24 * ranks, algorithm=("bucket", {"dims": dims}))
    for a, b in pairs(schedule):
        steps = [
            (x - y) % n for x, y, n in zip(np.unravel_index(a, dims), np.unravel_index(b, dims), dims, strict=True)
        ]
        assert sorted(min(s, n - s) for s, n in zip(steps, dims, strict=True))[-2:] in ([0, 1], [1])
    # Steps of all dimensions, twice, for every dimension and direction.
    rounds = 2 * sum(n - 1 for n in dims)
    assert messages(schedule).total() == ranks * rounds * 2 * len(dims)


@pytest.mark.parametrize("segment", [0, 1000, 64])
def test_segments_are_no_longer_than_asked(segment: int) -> None:
    for name in ("segmented_ring", "double_tree"):
        for ranks in (2, 3, 8, 13):
            schedule = collective("allreduce", ranks=ranks, bytes=5000, algorithm=(name, {"segment": segment}))
            sizes = [n for _, _, n in messages(schedule)]
            whole = -(-5000 // ranks) if name == "segmented_ring" else 2500
            assert max(sizes) == min(segment or whole, whole)


def test_segments_of_the_ring_do_not_wait_for_each_other() -> None:
    """A segment goes on as soon as it is added (operation 2), whether the next one (5) is or not."""
    lines = str(
        collective("allreduce", ranks=4, bytes=400_000, algorithm=("segmented_ring", {"segment": 50_000})).rank(0)
    ).splitlines()
    assert lines[3] == "  2: reduce 50 kB requires 1"
    assert lines[6] == "  5: reduce 50 kB requires 4"
    assert lines[7] == "  6: send 50 kB to 1 tag 0 requires 2 requires start of 3"


def test_double_trees_share_the_work() -> None:
    """Nobody but one or two ranks passes on in both trees: a rank sends two whole vectors at most (Sanders et al.)."""
    for ranks in (8, 9, 31, 32, 40):
        schedule = collective("allreduce", ranks=ranks, bytes=1000, algorithm=("double_tree", {"segment": 100}))
        sent: Counter[int] = Counter()
        for (a, _, size), times in messages(schedule).items():
            sent[a] += size * times
        assert sum(sent.values()) == 2 * 1000 * (ranks - 1)
        assert sum(total > 2000 for total in sent.values()) <= 2


@pytest.mark.parametrize("groups", [(4,), (1,), (0, 1, 0, 2, 1, 0, 2, 2, 1, 0)])
def test_hierarchies_speak_through_leaders(groups: tuple[int, ...]) -> None:
    ranks = 10
    of = list(groups) if len(groups) > 1 else [r // groups[0] for r in range(ranks)]
    members = defaultdict(list)
    for rank, group in enumerate(of):
        members[group].append(rank)
    leaders = {min(ranks_of) for ranks_of in members.values()}
    for kind in ("allreduce", "alltoall"):
        schedule = collective(kind, ranks=ranks, bytes=30, algorithm=("hierarchical", {"groups": groups}))
        for a, b in pairs(schedule):
            assert of[a] == of[b] or {a, b} <= leaders
    between = Counter({(a, b): n for a, b, n in messages(schedule) if of[a] != of[b]})
    assert between == Counter(
        {(a, b): 30 * len(members[of[a]]) * len(members[of[b]]) for a in leaders for b in leaders if a != b}
    )


@pytest.mark.parametrize("dims", [(3, 4), (2, 3, 2), (12,)])
def test_torus_alltoall_combines_what_goes_to_one_coordinate(dims: tuple[int, ...]) -> None:
    ranks = int(np.prod(dims))
    known: Messages = Counter()
    for rank in range(ranks):
        at = np.unravel_index(rank, dims)
        for d, extent in enumerate(dims):
            for to in range(extent):
                if to != at[d]:
                    there = int(np.ravel_multi_index([*at[:d], to, *at[d + 1 :]], dims))
                    known[rank, there, 10 * ranks // extent] += 1
    assert messages(collective("alltoall", ranks=ranks, bytes=10, algorithm=("torus", {"dims": dims}))) == known


def stencil(dims: tuple[int, ...], ways: list[tuple[int, ...]], size: int) -> list[tuple[int, int, int]]:
    out = []
    for rank in range(int(np.prod(dims))):
        at = np.unravel_index(rank, dims)
        for way in ways:
            to = [(x + w) % n for x, w, n in zip(at, way, dims, strict=True)]
            out.append((rank, int(np.ravel_multi_index(to, dims)), size))
    return out


def test_neighbourhoods_are_combined_by_dimension() -> None:
    """26 neighbours in three dimensions need 6 messages (Traeff, Hunold 2019)."""
    dims = (4, 5, 3)
    ways = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
    counts = stencil(dims, ways, 8)
    arguments: dict[str, Any] = {"ranks": 60, "counts": counts}
    plain = collective("neighbor_alltoall", algorithm="linear", **arguments)
    combined = collective("neighbor_alltoall", algorithm=("combining", {"dims": dims}), buffers=True, **arguments)
    assert messages(plain).total() == 60 * 26
    assert messages(combined).total() == 60 * 6
    # A block takes one hop for every coordinate that changes.
    hops = sum(sum(x != 0 for x in way) for way in ways)
    assert sum(n * t for (_, _, n), t in messages(combined).items()) == 60 * 8 * hops
    # Without a torus there is nothing to combine.
    assert collective("neighbor_alltoall", algorithm="combining", **arguments) == plain


def test_neighbourhoods_that_differ_are_refused() -> None:
    counts = stencil((4, 4), [(0, 1), (1, 1)], 8)[:-1]
    with pytest.raises(InvalidInput, match="combining needs the same messages"):
        collective("neighbor_alltoall", ranks=16, counts=counts, algorithm=("combining", {"dims": (4, 4)}))


def test_a_window_limits_what_is_under_way() -> None:
    ranks, window = 9, 3
    schedule = collective("alltoall", ranks=ranks, bytes=10, algorithm=("linear", {"window": window}))
    level = isthmus.Level(L=1.0, o_send=0.0, o_recv=0.0, g=0.0, G=0.0, S=1 << 40)
    everything = isthmus.simulate(collective("alltoall", ranks=ranks, bytes=10, algorithm="linear"), level).makespan
    assert everything == pytest.approx(1.0)
    # Receives wait for receives: three at a time.
    assert len(schedule.arrays.edges) == ranks * 2 * (ranks - 1 - window)


@pytest.mark.parametrize("kind", ["scan", "exscan"])
def test_scans_up_and_down_a_tree_have_few_messages(kind: str) -> None:
    for ranks in RANKS:
        schedule = collective(kind, ranks=ranks, bytes=10, algorithm="binomial")
        up = sum(1 for r in range(ranks) for k in range(9) if (r + 1) % 2 ** (k + 1) == 0)
        alone = sum(1 for r in range(ranks) if (r + 1) & r)  # who has a prefix below its own group
        assert messages(schedule).total() == up + alone
        assert messages(schedule).total() <= 2 * ranks


@pytest.mark.parametrize(
    ("kind", "algorithm", "reason"),
    [
        ("allreduce", ("bucket", {"dims": (3, 5)}), "extents must multiply to 16"),
        ("alltoall", ("torus", {"dims": (2**31, 2**31)}), "extents must multiply to 16"),
        ("allreduce", ("hierarchical", {"groups": (0,)}), "a group must have at least one rank"),
        ("alltoall", ("hierarchical", {"groups": (0, 1)}), "2 numbers, but none for rank 2"),
        ("alltoall", ("bruck", {"radix": 1}), "2 or more"),
    ],
)
def test_wrong_options_are_refused(kind: str, algorithm: tuple[str, dict[str, Any]], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        collective(kind, ranks=16, bytes=8, algorithm=algorithm)


@pytest.mark.parametrize("name", ["bruck", "torus", "hierarchical"])
def test_routed_alltoalls_with_counts_are_pairwise(name: str) -> None:
    counts = np.arange(36).reshape(6, 6)
    pairwise = collective("alltoall", ranks=6, counts=counts, algorithm="pairwise")
    assert collective("alltoall", ranks=6, counts=counts, algorithm=name) == pairwise


def test_groups_are_those_of_world_ranks() -> None:
    """In a communicator the list says where its members are in the world."""
    b = isthmus.ProgramBuilder(6)
    comm = b.communicator([5, 3, 1, 0])
    b.allreduce([5, 3, 1, 0], 8, comm=comm)
    rules = {"allreduce": ("hierarchical", {"groups": [0, 0, 0, 1, 1, 1]})}
    lowered = isthmus.lower(b.build(), collectives=rules)
    assert pairs(lowered) == {(3, 5), (5, 3), (0, 1), (1, 0), (1, 5), (5, 1)}


def test_large_schedules_are_proved() -> None:
    for algorithm in ("recursive_doubling", "rabenseifner", "double_tree", "hierarchical", "swing"):
        schedule = collective("allreduce", ranks=1000, bytes=24, algorithm=algorithm, buffers=True)
        assert prove(schedule, "allreduce:ranks=1000,bytes=24"), algorithm
