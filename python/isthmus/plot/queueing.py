"""Pictures of queues: waiting times by size, as boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .chart import Target, figure, legend, save, still_suffix
from .common import CLASSES, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..queueing import Queued, Variation


def boxes(ax: Any, at: Any, values: list[Any], colour: str, width: float) -> Any:
    """Boxes from 25 to 75 %, whiskers from 5 to 95 %, the median as a line, the mean as a dot; returns one of them."""
    drawn = ax.boxplot(
        values, positions=at, widths=0.85 * width, whis=(5, 95), showfliers=False, showmeans=True, patch_artist=True,
        manage_ticks=False, medianprops={"color": INK, "linewidth": 1.2},
        meanprops={"marker": "o", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": 4},
        boxprops={"facecolor": colour, "edgecolor": colour}, whiskerprops={"color": colour},
        capprops={"color": colour},
    )  # fmt: skip
    return drawn["boxes"][0]


def plot_queued(queued: Queued, target: Target = None) -> Figure:
    """Draw waiting times by size; see :meth:`isthmus.queueing.Queued.plot`."""
    suffix = still_suffix(target, None)
    words = (
        f"{len(queued.jobs):,} jobs, first come first served with EASY backfilling. Boxes hold the middle half of the "
        "jobs, whiskers 90 %, lines are medians, dots means. Below one minute the scale is linear."
    )
    fig, ax = figure(f"Waiting time by size on {queued.machine.name}", words, 6.2)
    classes = queued.classes
    width = 0.8 / len(queued.start)
    rows = []
    for i, policy in enumerate(queued.start):
        wait = queued.wait(policy)
        values = [wait[(queued.jobs.nodes >= low) & (queued.jobs.nodes <= high)] / 60 for low, high in classes]
        at = np.arange(len(classes)) + (i + 0.5) * width - 0.4
        rows.append((boxes(ax, at, values, CLASSES[i % len(CLASSES)], width), policy))
    ax.set_yscale("symlog", linthresh=1.0)
    ax.set_ylim(0)
    longest = max(float(queued.wait(policy).max()) for policy in queued.start) / 60
    marks = [(0, "0"), (1, "1 min"), (10, "10 min"), (60, "1 h"), (360, "6 h"), (1440, "1 d"), (10080, "7 d")]
    ticks = [mark for mark in marks if mark[0] <= max(longest, 1)]
    ax.set_yticks([at for at, _ in ticks], [word for _, word in ticks])
    ax.yaxis.minorticks_off()
    ax.grid(axis="y", color=FAINT)
    ax.set_axisbelow(True)
    ax.set_xticks(
        range(len(classes)), [f"{low:,}" if low == high else f"{low:,}\nto {high:,}" for low, high in classes]
    )
    ax.set_xlabel("nodes of a job", color=INK)
    ax.set_ylabel("waiting time", color=INK)
    legend(fig, ax, rows, "nodes are given")
    return save(fig, target, suffix)


def plot_variation(found: Variation, target: Target = None) -> Figure:
    """Draw the times of a program by size; see :meth:`isthmus.queueing.Variation.plot`."""
    suffix = still_suffix(target, None)
    words = (
        "Time on the nodes that the queue gives, beside other jobs and with noise. Boxes hold the middle half of the "
        "simulations, whiskers 90 %, lines are medians, dots means."
    )
    fig, ax = figure(f"{found.program} on {found.machine}", words, 6.2)
    policies = list(dict.fromkeys(row.policy for row in found.rows))
    sizes = sorted({row.ranks for row in found.rows})
    width = 0.8 / len(policies)
    rows = []
    for i, policy in enumerate(policies):
        values = [row.times.reshape(-1) * 1e3 for row in found.rows if row.policy == policy]
        at = np.arange(len(sizes)) + (i + 0.5) * width - 0.4
        rows.append((boxes(ax, at, values, CLASSES[i % len(CLASSES)], width), policy))
    ax.grid(axis="y", color=FAINT)
    ax.set_axisbelow(True)
    ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    ax.set_xlabel("ranks", color=INK)
    ax.set_ylabel("time (ms)", color=INK)
    legend(fig, ax, rows, "nodes are given")
    return save(fig, target, suffix)
