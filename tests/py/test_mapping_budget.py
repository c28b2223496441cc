"""What --time covers beside searches, and what is done where it is too short for them."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus.mapping.metrics import evaluate
from oracles.placing import random_pattern


def test_a_time_too_short_for_any_search_is_said() -> None:
    pattern = random_pattern(np.random.default_rng(1), 4096, 16384)
    short = isthmus.map(pattern, "torus:16x16x16", seconds=0.01)
    assert short.unsearched
    assert short.method == "default"
    assert "too short for any search" in str(short)
    longer = isthmus.map(pattern, "torus:16x16x16", seconds=2)
    assert not longer.unsearched
    assert longer.metrics.hop_bytes < short.metrics.hop_bytes
    assert not isthmus.map(pattern, "torus:16x16x16", method="default").unsearched


def test_the_spectral_bound_is_left_out_where_it_takes_much_of_the_time() -> None:
    pattern = random_pattern(np.random.default_rng(1), 512, 2048)
    short, longer = (isthmus.map(pattern, "torus:8x8x8", method="default", seconds=s) for s in (0.5, 5))
    assert short.bounds.spectral is None
    assert longer.bounds.spectral is not None


def test_metrics_of_the_same_order_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = isthmus.map(random_pattern(np.random.default_rng(1), 64, 200), "torus:4x4x4", method="default")
    calls = []
    monkeypatch.setattr("isthmus.mapping.mapped.evaluate", lambda *a, **k: calls.append(a) or evaluate(*a, **k))
    before = mapped.before
    # One rank a node: block and cyclic are the default, which was tried; random is another.
    assert len(calls) == 1
    for name, metrics in before.items():
        assert metrics.hop_bytes == evaluate(mapped.pattern, metrics.placement).hop_bytes, name
