"""Packing of objects against all ways to pack them."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.mapping.rebalance.packing import pack


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=7), st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.integers(0, 10**6),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_packing_is_found_where_there_is_one(load: list[int], room: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    home = random.integers(0, len(room), len(load))
    found = pack(np.array(load, float), np.array(room, float), home, random.random((len(load), len(room))))
    possible = any(
        (np.bincount(on, load, len(room)) <= room).all() for on in product(range(len(room)), repeat=len(load))
    )
    assert (found is not None) == possible
    if found is not None:
        assert (np.bincount(found, load, len(room)) <= room).all()


def test_objects_that_have_room_stay() -> None:
    home = np.array([0, 1, 1, 2])
    found = pack(np.array([3.0, 2.0, 1.0, 3.0]), np.array([3.0, 3.0, 3.0]), home, np.zeros((4, 3)))
    assert found is not None
    assert found.tolist() == home.tolist()


def test_a_search_without_end_ends() -> None:
    # Sixty objects of odd weights into bins with no slack at all but one unit that nothing fills.
    random = np.random.default_rng(2)
    load = random.integers(500, 1000, 60) * 2.0 + 1.0
    room = np.full(20, np.ceil(load.sum() / 20))
    assert pack(load, room, random.integers(0, 20, 60), np.zeros((60, 20))) is None
