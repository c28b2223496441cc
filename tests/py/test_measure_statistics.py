"""Statistics of measurements, against distributions whose medians and changes are known."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus import InvalidInput
from isthmus.measuring.statistics import bootstrap, change_points, median_interval, of_rounds

TRIALS = 4000


@pytest.mark.parametrize("n", [7, 10, 15, 24, 60, 1500])
@pytest.mark.parametrize("name", ["normal", "exponential", "bimodal"])
def test_intervals_of_the_median_cover_it_as_often_as_they_say(n: int, name: str) -> None:
    random = np.random.default_rng(n)
    trials = TRIALS if n < 1000 else TRIALS // 2
    if name == "normal":
        x, median = random.normal(10, 3, (trials, n)), 10.0
    elif name == "exponential":
        x, median = random.exponential(1, (trials, n)), np.log(2)
    else:
        x = random.normal(0, 1, (trials, n)) + 3 * (random.random((trials, n)) < 0.3)
        median = float(np.median(random.normal(0, 1, 4_000_000) + 3 * (random.random(4_000_000) < 0.3)))
    covered = np.mean([median in median_interval(row) for row in x])
    assert 0.93 <= covered <= 0.97


def test_few_samples_give_all_of_them_and_none_an_error() -> None:
    found = median_interval([3.0, 1.0, 2.0])
    assert (found.value, found.low, found.high, found.samples) == (2.0, 1.0, 3.0, 3)
    assert median_interval([5.0]).low == 5.0
    with pytest.raises(InvalidInput, match="no values"):
        median_interval([])


def test_rounds_that_share_a_disturbance_widen_the_interval() -> None:
    random = np.random.default_rng(1)
    covered = []
    for _ in range(600):
        rounds = [random.normal(10 + random.normal(0, 1), 0.01, 20) for _ in range(15)]
        covered.append(10 in of_rounds(rounds))
    assert 0.92 <= np.mean(covered) <= 0.98
    # A disturbed round out of many does not move it.
    quiet = [random.normal(10, 0.1, 20) for _ in range(15)]
    assert abs(of_rounds([*quiet[:-1], quiet[-1] * 100]).value - 10) < 0.05


def test_bootstrap_covers_what_follows_from_medians() -> None:
    random = np.random.default_rng(2)
    covered = []
    for trial in range(300):
        a, b = ([random.normal(mean, 1, 5) for _ in range(25)] for mean in (30, 10))
        low, high = bootstrap(lambda m: np.median(m[0]) - np.median(m[1]), [a, b], repetitions=300, seed=trial)
        covered.append(low[0] <= 20 <= high[0])
    assert 0.91 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize("seed", range(20))
def test_changes_are_found_where_they_are_and_nowhere_else(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = np.unique(np.round(2 ** np.arange(0, 22.1, 0.5)))
    none = 1e-6 + x * 1e-10
    two = np.where(x <= 8192, none, np.where(x <= 262144, 3e-6 + 2.5e-10 * x, 8e-6 + 0.6e-10 * x))
    for noise in (0.001, 0.02):
        jitter = [1 + noise * random.standard_normal(len(x)) for _ in range(4)]
        curves = [none * jitter[0], 2 * none * jitter[1]]
        assert change_points(x, curves, noise=[noise * curve for curve in curves]) == []
        curves = [two * jitter[2], 0.5 * two * jitter[3]]
        cuts = change_points(x, curves, noise=[noise * curve for curve in curves])
        expected = [int(np.searchsorted(x, 8192, "right")), int(np.searchsorted(x, 262144, "right"))]
        assert len(cuts) == 2
        assert np.abs(np.array(cuts) - expected).max() <= (0 if noise < 0.01 else 1)
