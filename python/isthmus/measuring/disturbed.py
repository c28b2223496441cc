"""Rounds of a measurement in which something else slowed everything down: told by all items together, and left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from .. import units
from .samples import Samples, Series

#: A round is disturbed if its items take longer by more than this part, as a median over them; each compared with its
#: own undisturbed time, the lower quartile of its rounds.
SLOWER = 1.2
#: Items that a round must have for that, rounds that an item must have, and rounds that it must keep.
_ITEMS, _ROUNDS, _KEPT = 8, 4, 2
#: What is no time of one thing done again and again, is measured in a launch of its own, or has its states told apart.
_OTHERS = ("startup", "threshold", "noise", "clock", "schedule")
_ALONE = ("stream", "spmv", "fma", "memcpy")


def undisturbed(samples: Samples, warnings: list[str]) -> Samples:
    """Return the samples without rounds in which most items took clearly longer than in others.

    Items are measured in rounds, one batch of each, so that what slows a computer down for a while hits all of them.
    Those that needed few rounds may have ended before; those that needed many would be taken for slower than they are.

    Parameters
    ----------
    samples : Samples
    warnings : list of str
        Told how many rounds were left out.
    """
    bad: dict[bool, set[int]] = {}
    rounds = 0
    for alone in (False, True):
        group = [one for one in samples if one.kind not in _OTHERS and (one.kind in _ALONE) == alone]
        slower = _slowness(group)
        rounds += len(slower)
        bad[alone] = {number for number, factor in slower.items() if factor > SLOWER}
    left_out = sum(map(len, bad.values()))
    if not left_out:
        return samples
    warnings.append(
        f"In {left_out} of {rounds} rounds all measurements were slower than in the others by more than "
        f"{units.percent(SLOWER - 1)}: they were left out."
    )
    return Samples([_without(one, bad[one.kind in _ALONE]) for one in samples], samples.facts)


def _slowness(group: Iterable[Series]) -> dict[int, float]:
    """By how much the items of each round took longer than in their undisturbed rounds, as a median over items."""
    found: dict[int, list[float]] = {}
    for one in group:
        medians = [float(np.median(values)) for values in one.by_round()]
        usual = float(np.quantile(medians, 0.25)) if len(medians) >= _ROUNDS else 0.0
        if usual > 0:
            for number, value in zip(np.unique(one.rounds).tolist(), medians, strict=True):
                found.setdefault(number, []).append(value / usual)
    return {number: float(np.median(values)) for number, values in found.items() if len(values) >= _ITEMS}


def _without(one: Series, bad: set[int]) -> Series:
    """A series without these rounds, unless it would keep too few of them."""
    if one.kind in _OTHERS:
        return one
    good = ~np.isin(one.rounds, list(bad))
    if good.all() or len(np.unique(one.rounds[good])) < _KEPT:
        return one
    return dataclasses.replace(one, values=one.values[good], rounds=one.rounds[good])
