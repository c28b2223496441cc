"""Synthetic workloads: the model of Lublin and Feitelson.

"The workload on parallel supercomputers: modeling the characteristics of rigid jobs", Journal of Parallel and
Distributed Computing 63 (2003). The constants are those of the authors' own program (m_lublin99.c of the Parallel
Workloads Archive) for all jobs together, batch and interactive.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .workload import FIELDS, Workload

# Sizes: a job is serial, or log2 of its nodes is uniform in two stages, most often rounded to a power of two.
SERIAL, POWER_OF_TWO = 0.244, 0.576
LOW, BELOW_MOST, FIRST_STAGE = 0.8, 2.5, 0.86  # log2; the stages meet at log2(nodes) - 2.5
# Run times: log of seconds is hyper-gamma; the share of the first gamma falls with the nodes, p = PA nodes + PB.
A1, B1, A2, B2, PA, PB = 4.2, 0.94, 312.0, 0.03, -0.0054, 0.78
# Arrivals: log of seconds between two jobs in rush hours is gamma; the day's cycle is a gamma over its half hours.
A_ARRIVE, B_ARRIVE, A_DAY, B_DAY, RUSH_TO_ALL = 10.2303, 0.4871, 8.1737, 3.9631, 1.0225
_HALF_HOURS, _SECONDS, _DAY_BEGINS = 48, 1800.0, 11
#: Larger values of the two gammas are drawn again: e^12 s is 45 hours, e^13 s are 5 days.
_LONGEST_RUN, _LONGEST_GAP = 12.0, 13.0


def lublin(
    nodes: int, jobs: int, *, load: float | None = 0.8, sizes: tuple[int, int] | None = None, seed: int = 0
) -> Workload:
    """Make a workload for a machine.

    Parameters
    ----------
    nodes : int
        Nodes of the machine.
    jobs : int
        How many.
    load : float or None
        Share of the machine that is asked for on average; the times between submissions are stretched to give it. None
        leaves them as the model has them, which was fitted to machines of some hundred nodes.
    sizes : (int, int), optional
        Fewest and most nodes of a job, by default 1 and ``nodes``. Others are drawn again.
    seed : int

    Returns
    -------
    Workload
        Its ``requested_time`` is unknown: the model has no estimates, so that jobs are taken to know how long they run.

    Raises
    ------
    InvalidInput
        Numbers out of range.
    """
    for name, value in (("nodes", nodes), ("jobs", jobs)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidInput(f"{name} = {value}: must be a whole number from 1")
    low, high = sizes or (1, nodes)
    if not 1 <= low <= high <= nodes:
        raise InvalidInput(f"sizes = {low} to {high}: must lie within 1 and {nodes}, the nodes of the machine")
    rng = np.random.Generator(np.random.PCG64(seed))
    size = _sizes(rng, nodes, jobs, low, high)
    run = np.floor(np.exp(_log_run(rng, size)))
    submit = np.floor(_arrivals(rng, jobs))
    fields = {field: np.full(jobs, -1.0) for field in FIELDS}
    fields |= {
        "job": np.arange(1.0, jobs + 1), "submit": submit, "run": run, "processors": size.astype(float),
        "requested_processors": size.astype(float), "status": np.ones(jobs),
    }  # fmt: skip
    header = {
        "Version": "2.2", "MaxJobs": str(jobs), "MaxRecords": str(jobs), "MaxNodes": str(nodes), "MaxProcs": str(nodes),
        "Note": f"synthetic, model of Lublin and Feitelson (2003), all jobs together; seed {seed}",
    }  # fmt: skip
    out = Workload(fields, header, f"model of Lublin and Feitelson, {jobs:,} jobs, seed {seed}")
    if load is None or jobs == 1:
        return out
    fields["submit"] = out.jobs(nodes).at_load(load, nodes).submit
    return out


def _sizes(rng: np.random.Generator, nodes: int, jobs: int, low: int, high: int) -> NDArray[np.int64]:
    most = math.log2(nodes) if nodes > 1 else 0.0
    least = min(LOW, most)
    middle = min(max(most - BELOW_MOST, least), most)
    out = np.empty(0, np.int64)
    tries = 0
    while len(out) < jobs:
        count = max(2 * jobs, 1000)
        kind, stage = rng.random(count), rng.random(count)
        first = stage <= FIRST_STAGE
        log2 = np.where(first, rng.uniform(least, middle, count), rng.uniform(middle, most, count))
        rounded = kind <= SERIAL + POWER_OF_TWO
        drawn = np.floor(2.0 ** np.where(rounded, np.floor(log2 + 0.5), log2) + 0.5).astype(np.int64)
        drawn = np.where(kind <= SERIAL, 1, np.minimum(drawn, nodes))
        out = np.concatenate([out, drawn[(drawn >= low) & (drawn <= high)]])
        tries += 1
        if tries > 50 and len(out) < jobs:
            raise InvalidInput(
                f"sizes = {low} to {high}: the model makes hardly any such jobs on {nodes} nodes: give a wider range"
            )
    return out[:jobs]


def _log_run(rng: np.random.Generator, size: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of run times, seconds: gammas of shape A and scale B."""
    first = np.clip(PA * size + PB, 0.0, 1.0)
    out = np.full(len(size), np.inf)
    while (again := np.flatnonzero(out > _LONGEST_RUN)).size:
        choice = rng.random(len(again)) <= first[again]
        out[again] = np.where(choice, rng.gamma(A1, B1, len(again)), rng.gamma(A2, B2, len(again)))
    return out


def _weights() -> NDArray[np.float64]:
    """What a half hour costs of the time between jobs, 1 on average: many where many jobs come."""
    from math import gamma as gamma_function

    grid = np.linspace(0.0, _HALF_HOURS + _DAY_BEGINS, 20 * (_HALF_HOURS + _DAY_BEGINS) * 10 + 1)
    density = grid ** (A_DAY - 1) * np.exp(-grid / B_DAY) / (gamma_function(A_DAY) * B_DAY**A_DAY)
    cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    out = np.empty(_HALF_HOURS)
    for i in range(_DAY_BEGINS, _HALF_HOURS + _DAY_BEGINS):
        part = np.interp([i - 0.5, i + 0.5], grid, cumulated)
        out[(i - 1) % _HALF_HOURS] = part[1] - part[0]
    weights: NDArray[np.float64] = out / out.mean()
    return weights


def _arrivals(rng: np.random.Generator, jobs: int) -> NDArray[np.float64]:
    """Seconds of submission from midnight on: gaps, as points, are paid to the half hours that pass."""
    gaps = np.full(jobs, np.inf)
    while (again := np.flatnonzero(gaps > _LONGEST_GAP)).size:
        gaps[again] = rng.gamma(A_ARRIVE * RUSH_TO_ALL, B_ARRIVE, len(again))
    points = np.cumsum(np.exp(gaps)) / _SECONDS
    weights = _weights()
    days, rest = np.divmod(points, float(_HALF_HOURS))
    edges = np.concatenate([[0.0], np.cumsum(weights)])
    seconds: NDArray[np.float64] = (
        days * _HALF_HOURS * _SECONDS + np.interp(rest, edges, np.arange(_HALF_HOURS + 1.0)) * _SECONDS
    )
    return seconds
