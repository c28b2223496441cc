"""Results of solver cycles on a dragonfly: a map of slowdown over intensity and spread, with thresholds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..units import percent, text
from .drawing import FAINT, INK, heading, key, ramp, sheet
from .parameters import Finding, Point, Summary

#: From these slowdowns on a network degrades noticeably, and substantially.
_NOTICEABLE, _SUBSTANTIAL = 1.1, 1.5


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    right = ("nodes a job", "jobs", "groups", "message", "intensity", "time", "without sharing", "slowdown")
    return Summary(
        columns=(
            "machine",
            "nodes a job",
            "jobs",
            "groups",
            "ranks",
            "message",
            "intensity",
            "time",
            "without sharing",
            "slowdown",
        ),
        rows=[_row(row) for row in rows],
        right=right,
        draw=partial(_draw, rows),
        findings=_findings(rows),
    )


def _ranks(order: str) -> str:
    return "in order" if order == "block" else "at random"


def _name(machine: str) -> str:
    named = [word.removeprefix("name=") for word in machine.split() if word.startswith("name=")]
    return named[0] if named else machine.partition(" ")[0]


def _row(row: Point) -> list[str]:
    return [
        _name(row["machine"]), str(row["nodes"]), str(row["jobs"]), str(row["groups"]), row["order"],
        text(row["bytes"], "B"), percent(row['intensity'], 2), text(row["time"], "s", 4),
        text(row["alone"], "s", 4), f"{row['slowdown']:.3f}",
    ]  # fmt: skip


def _series(rows: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    """By machine and order of ranks; the largest come first."""
    out: dict[tuple[str, str], list[Point]] = {}
    for row in rows:
        out.setdefault((_name(row["machine"]), row["order"]), []).append(row)
    return dict(sorted(out.items(), key=lambda item: -len(item[1])))


def _draw(rows: Sequence[Point]) -> Any:
    # Maps need several spreads and intensities.
    maps = {
        k: found for k, found in _series(rows).items()
        if len({r["groups"] for r in found}) > 1 and len({r["bytes"] for r in found}) > 1
    } or dict(list(_series(rows).items())[:1])  # fmt: skip
    shown = list(maps.items())[:2]
    words = (
        "Time of multigrid cycles over their time without sharing of links. Intensity: bytes that a node sends in the "
        "time of its job without them, over what its interface could send."
    )
    fig, axes = sheet("Slowdown of solvers on a dragonfly", words, 1, len(shown) + 1, height=5.2)
    top = max(1.5, max(r["slowdown"] for _, found in shown for r in found))
    for ax, ((machine, order), found) in zip(axes.flat, shown, strict=False):
        _map(ax, found, top)
        heading(ax, f"{machine}, {'ranks ' + _ranks(order)}")
    _curves(axes.flat[len(shown)], shown)
    return fig


def _map(ax: Any, rows: list[Point], top: float) -> None:
    groups, sizes = sorted({r["groups"] for r in rows}), sorted({r["bytes"] for r in rows})
    found = {(r["groups"], r["bytes"]): r for r in rows}
    colours = ramp(np.linspace(0, 1, 101), light="#EAF3FA")
    for y, group in enumerate(groups):
        for x, size in enumerate(sizes):
            row = found.get((group, size))
            if row is None:
                continue
            part = min((row["slowdown"] - 1) / (top - 1), 1.0)
            ax.fill(
                [x - 0.5, x + 0.5, x + 0.5, x - 0.5],
                [y - 0.5, y - 0.5, y + 0.5, y + 0.5],
                color=colours[int(100 * part)],
                lw=0,
            )
            ax.text(
                x,
                y,
                f"{row['slowdown']:.2f}",
                ha="center",
                va="center",
                fontsize=9,
                color="white" if part > 0.5 else INK,
            )
    mean = [float(np.mean([r["intensity"] for r in rows if r["bytes"] == size])) for size in sizes]
    ax.set_xticks(range(len(sizes)), [_percent(m) for m in mean])
    ax.set_yticks(range(len(groups)), [str(g) for g in groups])
    ax.set_xlim(-0.5, len(sizes) - 0.5)
    ax.set_ylim(-0.5, len(groups) - 0.5)
    ax.grid(visible=False)
    ax.set_xlabel("intensity")
    ax.set_ylabel("groups over which a job is spread")


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %" if part < 1 else f"{100 * part:.0f} %"


def _curves(ax: Any, shown: list[tuple[tuple[str, str], list[Point]]]) -> None:
    for ((_, order), found), style in zip(shown, ("-", "--"), strict=False):
        groups = sorted({r["groups"] for r in found})
        for group, colour in zip(groups, ramp(np.arange(1, len(groups) + 1)), strict=True):
            line = sorted((r for r in found if r["groups"] == group), key=lambda r: r["intensity"])
            ax.plot(
                [r["intensity"] * 100 for r in line], [r["slowdown"] for r in line], style, color=colour, lw=1.5,
                marker="o", markersize=3.2, label=f"{group}, {_ranks(order)}",
            )  # fmt: skip
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g} %")
    for level in (_NOTICEABLE, _SUBSTANTIAL):
        ax.axhline(level, color=FAINT, lw=1)
    ax.set_ylim(bottom=0.97)
    ax.set_xlabel("intensity")
    ax.set_ylabel("slowdown")
    heading(ax, "By intensity; grey: 1.1 and 1.5")
    key(ax, "groups, ranks", loc="upper left")


def threshold(rows: Sequence[Point], slowdown: float) -> float | None:
    """Intensity at which the slowdown is reached, between points by their logarithms; None: at none."""
    line = sorted(rows, key=lambda r: r["intensity"])
    for before, after in itertools.pairwise(line):
        if before["slowdown"] < slowdown <= after["slowdown"]:
            part = (slowdown - before["slowdown"]) / (after["slowdown"] - before["slowdown"])
            low, high = np.log([before["intensity"], after["intensity"]])
            return float(np.exp(low + part * (high - low)))
    return float(line[0]["intensity"]) if line and line[0]["slowdown"] >= slowdown else None


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    words, gain = [], []
    for (machine, order), found in _series(rows).items():
        groups = sorted({r["groups"] for r in found})
        if len({r["bytes"] for r in found}) > 1:
            each = []
            for group in groups:
                line = [r for r in found if r["groups"] == group]
                limits = [threshold(line, level) for level in (_NOTICEABLE, _SUBSTANTIAL)]
                shown = [_percent(limit) if limit is not None else "nowhere" for limit in limits]
                each.append(f"over {group} group{'s' * (group > 1)} {shown[0]} and {shown[1]}")
            words.append(f"{machine}, ranks {_ranks(order)}: {', '.join(each)}")
        else:
            r = max(found, key=lambda r: r["slowdown"])
            words.append(
                f"{machine}, ranks {order}, {r['groups']} groups: {r['slowdown']:.2f} at {_percent(r['intensity'])}"
            )
        for size in {r["bytes"] for r in found}:
            times = {r["groups"]: r["time"] for r in found if r["bytes"] == size}
            if len(times) > 1:
                gain.append((times[groups[-1]] / times[groups[0]], machine, order, size, groups))
    out = {}
    if words:
        levels = f"a slowdown of {_NOTICEABLE} and of {_SUBSTANTIAL} is reached at an intensity of"
        out["threshold"] = Finding(f"{levels}: {'; '.join(words)}", "open")
    if gain:
        low, high = min(gain), max(gain)
        verdict = "agrees" if low[0] < 0.98 and high[0] > 1.02 else "open"
        out["spread"] = Finding(
            f"spread over {low[4][-1]} groups instead of one, a job takes {_times(low)}, and {_times(high)}", verdict
        )
    return out


def _times(found: tuple[float, str, str, int, list[int]]) -> str:
    factor, machine, order, size, _ = found
    return f"{factor:.2f} times as long ({machine}, ranks {_ranks(order)}, messages of {text(size, 'B')})"
