"""The result of ``vary``: times as distributions, and what share of their variance comes from where."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..files import PICTURES
from ..tabular import Tabular
from ..units import percent, text
from ..views import view
from .workload import duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def shares(placed: Array, loaded: Array, times: Array) -> dict[str, float]:
    """Split the variance of times exactly into what placement, other jobs and noise make of it.

    By the law of total variance, ``Var T = Var E[T | nodes] + E Var[T | nodes]``. The second part is noise. In the
    first, ``E[T | nodes]`` is the time alone, plus what other jobs add, plus what noise adds on average, and each part
    counts by its covariance with the sum, so that the three add up. One can be negative where it evens out others.

    Parameters
    ----------
    placed, loaded : ndarray, shape (samples,)
        Seconds on each allocation alone, and beside other jobs.
    times : ndarray, shape (samples, repeats)
        Beside other jobs, with noise.

    Returns
    -------
    dict of str to float
        Squared seconds: "placement", "other jobs", "noise".
    """
    mean = times.mean(axis=1)

    def part(values: Array) -> float:
        return float(np.mean((mean - mean.mean()) * (values - values.mean())))

    return {
        "placement": part(placed),
        "other jobs": part(loaded - placed),
        "noise": float(times.var(axis=1).mean()) + part(mean - loaded),
    }


@dataclass(frozen=True, eq=False)
class Varied:
    """The times of a program of one size under one policy.

    Attributes
    ----------
    policy : str
    ranks, nodes : int
    wait : ndarray of float64, shape (samples,)
        Seconds in the queue.
    placed, loaded : ndarray of float64, shape (samples,)
        Seconds of the program alone on its nodes, and beside other jobs.
    times : ndarray of float64, shape (samples, repeats)
        Seconds beside other jobs and with noise.
    """

    policy: str
    ranks: int
    nodes: int
    wait: Array
    placed: Array
    loaded: Array
    times: Array

    @property
    def spread(self) -> float:
        """Standard deviation of the times, relative to their mean."""
        mean = float(self.times.mean())
        return float(self.times.std()) / mean if mean else 0.0

    def shares(self) -> dict[str, float]:
        """Return the parts of the variance, as shares that add up to 1; all 0 where nothing varies."""
        parts = shares(self.placed, self.loaded, self.times)
        whole = float(self.times.var())
        # What is left of equal times by rounding is no variation.
        if self.spread < 1e-12:
            return dict.fromkeys(parts, 0.0)
        return {name: value / whole for name, value in parts.items()}

    def total(self, times: int) -> tuple[float, float]:
        """Return the mean seconds until a job that does the program so often is done, with its standard error."""
        each = self.wait + times * self.times.mean(axis=1)
        return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("inf")


@dataclass(frozen=True, eq=False)
class Variation(Tabular):
    """How the time of a program varies on a machine.

    Attributes
    ----------
    program, machine : str
    times : int
        How often the program is done in a job.
    rows : tuple of Varied
    notes : tuple of str
        What was assumed.
    """

    program: str
    machine: str
    times: int
    rows: tuple[Varied, ...]
    notes: tuple[str, ...]

    def frame(self) -> list[dict[str, Any]]:
        """Return a row for every policy and size, times in seconds."""
        out = []
        for row in self.rows:
            t = row.times
            done, error = row.total(self.times)
            out.append(
                {
                    "policy": row.policy, "ranks": row.ranks, "nodes": row.nodes, "fastest": float(t.min()),
                    "median": float(np.median(t)), "mean": float(t.mean()), "time_90": float(np.quantile(t, 0.9)),
                    "slowest": float(t.max()), "spread": row.spread,
                    **{f"share_{name.replace(' ', '_')}": value for name, value in row.shares().items()},
                    "slower_by_other_jobs": _more(row.loaded, row.placed),
                    "slower_by_noise": _more(t, row.loaded),
                    "wait_mean": float(row.wait.mean()), "done_mean": done, "done_error": error,
                }
            )  # fmt: skip
        return out

    def json(self) -> dict[str, Any]:
        """Return everything as plain numbers."""
        return {
            "program": self.program, "machine": self.machine, "times": self.times, "rows": self.frame(),
            "samples": [
                {"policy": r.policy, "ranks": r.ranks, "wait": r.wait.tolist(), "alone": r.placed.tolist(),
                 "beside_other_jobs": r.loaded.tolist(), "with_noise": r.times.tolist()}
                for r in self.rows
            ],
            "notes": list(self.notes),
        }  # fmt: skip

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the table as texts."""
        columns = ["policy", "ranks", "nodes", "fastest", "median", "mean", "slowest", "spread"]
        columns += ["placement", "other jobs", "noise", "wait: mean"]
        cells = []
        for row, one in zip(self.rows, self.frame(), strict=True):
            cells.append(
                [
                    row.policy, f"{row.ranks:,}", f"{row.nodes:,}",
                    *(text(one[name], "s", 4) for name in ("fastest", "median", "mean", "slowest")),
                    percent(row.spread, 1), *(percent(value, 1) for value in row.shares().values()),
                    duration(one["wait_mean"]),
                ]
            )  # fmt: skip
        return columns, cells

    def plot(self, target: Any = None) -> Figure:
        """Draw the times as boxes, by size and policy."""
        drawn: Figure = view("Variation.plot")(self, target)
        return drawn

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html) or picture (.png, .svg, .pdf), atomically.

        Raises
        ------
        InvalidInput
            If the suffix is another one.
        """
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        if suffix in PICTURES:
            self.plot(path)
        elif suffix == ".html":
            view("Variation.save")(self, path)
        else:
            raise InvalidInput(f"{os.fspath(path)}: must end in .html, {', '.join(PICTURES)}")

    def __str__(self) -> str:
        columns, rows = self.cells()
        widths = [max(len(c), *(len(row[i]) for row in rows)) for i, c in enumerate(columns)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in [columns, *rows]]
        return "\n".join([f"{self.program} on {self.machine}", *lines, *(f"note: {note}" for note in self.notes)])


def _more(values: Array, than: Array) -> float:
    return float(values.mean() / than.mean() - 1) if than.any() else 0.0
