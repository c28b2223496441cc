"""Results of steady traffic: curves of saturation beside the textbook's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..units import percent, text
from .drawing import CLASSES, FAINT, INK, MUTED, heading, key, sheet
from .parameters import Finding, Point, Summary

_LOOKS = {
    "minimal": (CLASSES[0], "o"),
    "random": (CLASSES[4], "D"),
    "valiant": (CLASSES[3], "s"),
    "adaptive": (CLASSES[1], "^"),
}
#: From this offered load on, over what a network should take, it is saturated.
_OVER = 1.2


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    right = ("offered", "accepted", "bound", "throughput of a node")
    return Summary(
        columns=("network", "pattern", "routing", "offered", "accepted", "bound", "throughput of a node"),
        rows=[_row(row) for row in rows],
        right=right,
        draw=partial(_draw, rows),
        findings=_findings(rows),
    )


def network(row: Point) -> str:
    """The specification without its options."""
    return str(row["machine"]).partition(" ")[0]


def _row(row: Point) -> list[str]:
    more = {"shift": f" by {row['shift']}", "uniform": "", "adversarial": ""}.get(row["pattern"], f" {row['seed']}")
    bound = f"{row['bound']:.3g}" if row["pattern"] == "uniform" else ""
    return [
        network(row), row["pattern"] + more, row["routing"], f"{row['load']:g}", f"{row['accepted']:.3f}", bound,
        text(row["throughput"], "B/s", 4),
    ]  # fmt: skip


def _of(rows: Sequence[Point], pattern: str) -> list[Point]:
    return [r for r in rows if r["pattern"] == pattern]


def _draw(rows: Sequence[Point]) -> Any:
    panels = [
        (draw, found)
        for draw, found in (
            (_adversarial, _of(rows, "adversarial")),
            (_uniform, _of(rows, "uniform")),
            (_static, [r for r in rows if r["pattern"] in ("shift", "bisection", "permutation")]),
        )
        if found
    ]
    words = "Throughput of a node and load in bandwidths of a link between switches; max-min sharing, infinite buffers."
    fig, axes = sheet("Offered load and accepted throughput", words, 1, len(panels), height=5.4)
    for ax, (draw, found) in zip(axes.flat, panels, strict=True):
        draw(ax, found)
    return fig


def _adversarial(ax: Any, rows: list[Point]) -> None:
    most = max(r["load"] for r in rows)
    ax.plot([0, most], [0, most], color=FAINT, lw=1)
    networks = list(dict.fromkeys(network(r) for r in rows))
    for name, style, width in zip(networks, ("-", "--", ":", "-."), (1.8, 1.2, 1.2, 1.2), strict=False):
        for routing, (colour, marker) in _LOOKS.items():
            line = sorted((r for r in rows if network(r) == name and r["routing"] == routing), key=lambda r: r["load"])
            if line:
                ax.plot(
                    [r["load"] for r in line], [r["accepted"] for r in line], style, marker=marker, markersize=4.5,
                    color=colour, lw=width, label=f"{routing}, {line[0]['nodes']:,} nodes",
                )  # fmt: skip
        if limit := _minimal_limit(next(r for r in rows if network(r) == name)):
            ax.axhline(limit, color=MUTED, lw=0.8, ls=":")
            ax.text(most, limit + 0.006, f"1/(a p) = 1/{round(1 / limit)}", ha="right", fontsize=8.5, color=MUTED)
    ax.axhline(0.5, color=MUTED, lw=0.8, ls=":")
    ax.text(0.0, 0.475, "1/2", fontsize=8.5, color=MUTED)
    ax.set_ylim(0, max(0.7, 1.25 * max(r["accepted"] for r in rows)))
    ax.set_xlabel("offered load")
    ax.set_ylabel("accepted")
    heading(ax, "Dragonfly, group i to group i + 1")
    key(ax, loc="upper left")


def _minimal_limit(row: Point) -> float | None:
    """1 / (a p) of a dragonfly with one link between two groups."""
    from ..loading import load

    machine = load(row["machine"])
    t = machine.topology
    if "group" not in t.dim_names:
        return None
    groups = t.dims[t.dim_names.index("group")]
    links = np.arange(t.links, dtype=np.uint32)
    names = np.array([c[0] for c in t.link_classes])
    cables = (names[t.link_class(links)] == "global").sum() / (groups * (groups - 1))
    return float(cables * groups / machine.nodes)


def _uniform(ax: Any, rows: list[Point]) -> None:
    most = max(r["load"] for r in rows)
    ax.plot([0, most], [0, most], color=FAINT, lw=1)
    for i, name in enumerate(dict.fromkeys(network(r) for r in rows)):
        line = sorted((r for r in rows if network(r) == name), key=lambda r: r["load"])
        colour = CLASSES[i % len(CLASSES)]
        ax.plot(
            [r["load"] for r in line], [r["accepted"] for r in line], "o-", markersize=3.8, lw=1.6, color=colour,
            label=f"{name}, bound {line[0]['bound']:.3g}",
        )  # fmt: skip
        ax.axhline(line[0]["bound"], color=colour, lw=1, ls=":")
    ax.set_ylim(0, 1.55 * max(r["bound"] for r in rows))
    ax.set_xlabel("offered load")
    ax.set_ylabel("accepted")
    heading(ax, "Uniform traffic; dotted: bisection bound")
    key(ax, loc="upper left")


def _static(ax: Any, rows: list[Point]) -> None:
    groups: dict[tuple[str, str], list[float]] = {}
    for r in rows:
        groups.setdefault((r["pattern"], network(r)), []).append(r["accepted"])
    rng = np.random.default_rng(0)
    for i, values in enumerate(groups.values()):
        x = i + 0.25 * (rng.random(len(values)) - 0.5)
        ax.plot(x, values, "o", markersize=4, color=CLASSES[i % len(CLASSES)], alpha=0.7)
        ax.plot([i - 0.28, i + 0.28], [np.mean(values)] * 2, color=INK, lw=1.6)
        ax.text(i, max(values) + 0.025, f"{np.mean(values):.2f}", ha="center", fontsize=9, color=INK)
    ax.axhspan(0.55, 0.6, color=FAINT, alpha=0.5, lw=0)
    ax.text(-0.45, 0.515, "Hoefler et al.: 55 to 60 %", fontsize=8.5, color=MUTED)
    ax.set_xticks(range(len(groups)), [f"{p}\n{n.replace('fattree:', '')}" for p, n in groups], fontsize=8)
    ax.set_xlim(-0.5, len(groups) - 0.5)
    ax.set_ylim(0, 1.15)
    ax.set_ylabel("accepted")
    heading(ax, "Fat trees, D-mod-k; bars: means")


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    out = _adversarial_findings(_of(rows, "adversarial"))
    words, good = [], True
    for name in dict.fromkeys(network(r) for r in _of(rows, "uniform")):
        line = [r for r in _of(rows, "uniform") if network(r) == name and r["routing"] == "minimal"]
        # Above the bound by little, so that what is accepted is uniform still.
        over = [r for r in line if r["load"] >= min(_OVER, 1.0 + 1e-9) * r["bound"]]
        if over:
            first = min(over, key=lambda r: r["load"])
            part = first["accepted"] / first["bound"]
            good &= 0.85 <= part <= 1.1
            words.append(f"{name} {first['accepted']:.3f} of {first['bound']:.3g} ({percent(part, 0)})")
    if words:
        out["uniform"] = Finding(
            f"accepted at the first load above the bound: {'; '.join(words)}", "agrees" if good else "differs"
        )
    if shifts := [r for r in _of(rows, "shift") if r["routing"] == "minimal"]:
        least = min(r["accepted"] / min(r["load"], 1.0) for r in shifts)
        out["shift"] = Finding(
            f"{len(shifts)} shifts: at least {least:.4f} of what was offered is accepted",
            "agrees" if least > 0.999 else "differs",
        )
    if halves := _of(rows, "bisection"):
        words, good = [], False
        largest = max(r["nodes"] for r in halves)
        for name in dict.fromkeys(network(r) for r in halves):
            values = [
                r["accepted"] for r in halves if network(r) == name and r["load"] == max(h["load"] for h in halves)
            ]
            mean = float(np.mean(values))
            # The statement is about clusters of thousands of nodes.
            good |= 0.53 <= mean <= 0.62 and any(r["nodes"] == largest for r in halves if network(r) == name)
            words.append(
                f"{name} {percent(mean, 1)} "
                f"(from {percent(min(values), 0)} to {percent(max(values), 0)}, {len(values)} pairings)"
            )
        out["bisection"] = Finding("; ".join(words), "agrees" if good else "differs")
    return out


def _adversarial_findings(rows: list[Point]) -> dict[str, Finding]:
    out = {}
    for routing in ("minimal", "valiant", "adaptive"):
        words, good = [], True
        for name in dict.fromkeys(network(r) for r in rows):
            line = [r for r in rows if network(r) == name and r["routing"] == routing]
            if not line:
                continue
            most = max(line, key=lambda r: r["load"])
            expected = _minimal_limit(most) if routing == "minimal" else 0.5
            if expected is None or most["load"] < _OVER * expected:
                continue
            slack = 0.02 if routing == "minimal" else 0.2
            good &= abs(most["accepted"] / expected - 1) <= slack
            words.append(f"{most['nodes']:,} nodes {most['accepted']:.4f} (expected {expected:.4f})")
        if words:
            out[routing] = Finding(f"offered {most['load']:g}: {'; '.join(words)}", "agrees" if good else "differs")
    return out
