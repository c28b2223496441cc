"""Several arrays of tasks: assignments against all exchanges, hop-bytes against their definition; errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput
from isthmus.machine import Machine
from isthmus.mapping.arrays import assign, map_arrays
from isthmus.studies.applications import openatom


@given(st.integers(1, 20), st.integers(1, 8), st.integers(0, 10**6))
def test_assignments_are_even_and_no_exchange_gains(tasks: int, places: int, seed: int) -> None:
    cost = np.random.default_rng(seed).integers(0, 50, (tasks, places)).astype(float)
    place = assign(cost)
    count = np.bincount(place, minlength=places)
    assert count.max() - count.min() <= 1
    for a, b in itertools.combinations(range(tasks), 2):
        p, q = place[a], place[b]
        assert cost[a, q] + cost[b, p] >= cost[a, p] + cost[b, q] - 1e-6


def test_assignment_finds_the_best_of_a_permuted_diagonal() -> None:
    want = np.random.default_rng(3).permutation(12)
    cost = np.ones((12, 12))
    cost[np.arange(12), want] = 0
    assert np.array_equal(assign(cost), want)


def hop_bytes(pattern: isthmus.Pattern, placement: isthmus.Placement, spans: dict[str, slice]) -> dict[Any, float]:
    """By the definition, message by message."""
    out: dict[Any, float] = {}
    of = {rank: name for name, span in spans.items() for rank in range(span.start, span.stop)}
    names = list(spans)
    for u, v, b in zip(pattern.sources().tolist(), pattern.peer.tolist(), pattern.bytes.tolist(), strict=True):
        if u != v:
            pair = tuple(sorted((of[u], of[v]), key=names.index))
            hops = int(placement.machine.distance(int(placement.node[u]), int(placement.node[v])))
            out[pair] = out.get(pair, 0.0) + b * hops
    return out


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.sampled_from(["torus:3x3", "mesh:2x3", "dragonfly:a=2,p=2,h=1,g=3", "ring:5"]),
    st.integers(0, 10**6),
)
def test_hop_bytes_and_balance(sizes: list[int], machine: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = sum(sizes)
    pattern = isthmus.Pattern.of(
        tasks, source=rng.integers(0, tasks, 40), target=rng.integers(0, tasks, 40), bytes=rng.integers(1, 100, 40)
    )
    arrays = {f"a{i}": size for i, size in enumerate(sizes)}
    found = map_arrays(pattern, arrays, Machine.parse(machine), seconds=0.05)
    assert found.after == pytest.approx(hop_bytes(pattern, found.placement, found.arrays))
    assert found.hop_bytes <= sum(found.before.values()) + 1e-6
    # Of a machine, a task gets a core each as long as there are any.
    nodes = min(tasks, Machine.parse(machine).nodes)
    for span in found.arrays.values():
        assert np.bincount(found.placement.node[span]).max() <= -(-(span.stop - span.start) // nodes)
    assert str(found).count("\n") == 2 + len(found.after)


def test_arrays_of_openatom_come_near_each_other() -> None:
    work = openatom(16, 16)
    found = map_arrays(work.pattern, work.sizes, Machine.parse("torus:4x4x8"), seconds=0.5)
    again = map_arrays(work.pattern, work.sizes, Machine.parse("torus:4x4x8"), seconds=0.5)
    assert found.placement == again.placement
    assert found.hop_bytes < 0.85 * sum(found.before.values())


def test_two_rows_of_partners_meet() -> None:
    """Task i of one array talks to task i of the other only: both belong on one node, whatever their numbers."""
    other = np.random.default_rng(1).permutation(16)
    pattern = isthmus.Pattern.of(32, source=np.arange(16), target=16 + other, bytes=100)
    found = map_arrays(pattern, {"a": 16, "b": 16}, Machine.parse("torus:4x4"), seconds=0.1)
    assert found.hop_bytes == 0
    assert sum(found.before.values()) > 0


@pytest.mark.parametrize(
    ("arrays", "order", "message"),
    [
        ({"a": 3}, None, "arrays have 3 tasks, but the pattern has 4 ranks"),
        ({"a": 4, "b": 0}, None, "arrays have 4 tasks, but the pattern has 4 ranks"),
        ({"a": 2, "b": 2}, ["a", "c"], "order a, c: must be one of a, b"),
    ],
)
def test_errors(arrays: dict[str, int], order: list[str] | None, message: str) -> None:
    pattern = isthmus.Pattern.of(4, source=[0], target=[3], bytes=[1])
    with pytest.raises(InvalidInput, match=message):
        map_arrays(pattern, arrays, Machine.parse("ring:4"), order=order)
