"""Gathered coarse levels beside what was published: at which level, to how many, and how much faster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..units import percent, text
from .drawing import CLASSES, INK, heading, key, sheet
from .parameters import Finding, Point, Summary

# Times as fast of setup, solve and both, by ranks, Gahvari et al., slides (exact). The first of three plots of Laplace
# is that of all-MPI by the conclusions; solve of elasticity on 8,192 by its own times, 2.64 / 1.55 (printed 1.93).
LAPLACE = {512: (1.0, 1.05, 1.02), 4096: (1.12, 1.12, 1.12), 8000: (1.12, 1.26, 1.18)}
ELASTICITY = {1024: (1.04, 1.29, 1.16), 8192: (2.25, 1.70, 2.06)}
#: Seconds of setup and solve of elasticity without gathering, by ranks.
ELASTICITY_TIMES = {1024: (0.78, 1.06), 8192: (6.72, 2.64)}
_NEAR = 0.1


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    head = (
        "problem", "ranks", "rows", "levels", "most sends", "rule: level: processes", "setup", "with the rule",
        "times as fast", "cycle", "with the rule", "times as fast", "best found", "cycle", "times as fast",
    )  # fmt: skip
    right = tuple(name for name in head if name not in ("problem", "rule: level: processes", "best found"))
    return Summary(head, [_row(row) for row in rows], right, partial(_draw, rows), _findings(rows))


def _row(r: Point) -> list[str]:
    return [
        r["problem"], f"{r['ranks']:,}", f"{r['rows']:,}", str(r["levels"]), str(r["most_sends"]), r["rule_switches"],
        text(r["setup"], "s", 3), text(r["rule_setup"], "s", 3), f"{r['setup'] / r['rule_setup']:.2f}",
        text(r["cycle"], "s", 3), text(r["rule_cycle"], "s", 3), f"{r['cycle'] / r['rule_cycle']:.2f}",
        r["best_switches"], text(r["best_cycle"], "s", 3), f"{r['cycle'] / r['best_cycle']:.2f}",
    ]  # fmt: skip


def _published(problem: str, ranks: int) -> tuple[float, float, float] | None:
    table = LAPLACE if problem.startswith("laplace") else ELASTICITY
    near = min(table, key=lambda one: abs(one - ranks))
    return table[near] if abs(near - ranks) <= 0.05 * near else None


def _cases(rows: Sequence[Point]) -> dict[str, list[Point]]:
    out: dict[str, list[Point]] = {}
    for r in sorted(rows, key=lambda r: r["ranks"]):
        out.setdefault(r["problem"], []).append(r)
    return out


def _draw(rows: Sequence[Point]) -> Any:
    cases = _cases(rows)
    words = (
        "How many times faster setup and a cycle are with coarse levels gathered, by the rule that decides during the "
        "setup and by the best way that the model knows. Dots: published (Gahvari et al., measured on Eos)."
    )
    fig, axes = sheet("Coarse levels on fewer processes", words, 1, 2 * len(cases), height=4.4)
    for column, (problem, line) in enumerate(cases.items()):
        for half, what in enumerate(("setup", "cycle")):
            ax = axes[0][2 * column + half]
            place = np.arange(len(line))
            for number, (name, label) in enumerate((("rule", "rule during setup"), ("best", "best found"))):
                ax.bar(place + (number - 0.5) * 0.36, [r[what] / r[f"{name}_{what}"] for r in line], 0.34,
                       color=CLASSES[number], label=label)  # fmt: skip
            told = [(x, _published(problem, r["ranks"])) for x, r in zip(place, line, strict=True)]
            dots = [(x, p[half]) for x, p in told if p is not None]
            if dots:
                ax.plot(*zip(*dots, strict=True), "o", color=INK, markersize=7, label="published")
            ax.axhline(1, color=INK, lw=1, ls="--")
            ax.set_xticks(place, [f"{r['ranks']:,}" for r in line])
            ax.set_xlabel("processes")
            ax.set_ylabel("times as fast" if column + half == 0 else "")
            ax.set_ylim(0, 1.35 * ax.get_ylim()[1])
            heading(ax, f"{problem}, {'setup' if what == 'setup' else 'solve'}")
            if column + half == 0:
                key(ax, loc="upper left")
    return fig


def _finding(line: Sequence[Point], problem: str) -> Finding:
    words, errors, grows = [], [], []
    for r in line:
        known = _published(problem, r["ranks"])
        gains = (r["setup"] / r["rule_setup"], r["cycle"] / r["rule_cycle"])
        beside = ""
        if known is not None:
            beside = f" (published {known[0]:.2f} and {known[1]:.2f})"
            errors += [abs(ours / theirs - 1) for ours, theirs in zip(gains, known, strict=False)]
        grows.append(gains)
        words.append(
            f"{r['ranks']:,} processes, level: processes {r['rule_switches']}: setup {gains[0]:.2f} and cycle "
            f"{gains[1]:.2f} times as fast{beside}"
        )
    direction = all(min(g) > 1 for g in grows) and all(a[1] <= b[1] + 0.02 for a, b in pairwise(grows))
    verdict = "agrees" if errors and max(errors) <= _NEAR else "partly" if direction else "differs"
    return Finding("; ".join(words) + _reason(line, errors), verdict if errors else "open")


def _reason(line: Sequence[Point], errors: Sequence[float]) -> str:
    """Why gains are not those of the publication."""
    if not errors or max(errors) <= _NEAR:
        return ""
    share = [1 - r["computation"] / r["cycle"] for r in line]
    part = f"{percent(min(share))} to {percent(max(share))} of a cycle here"
    return (
        f". Both gain, and more on more processes. The amounts differ: the model charges messages of coarse levels one "
        f"after the other with the distance of the farthest nodes, {part}; the published solve has a Krylov method "
        "around the cycle, whose products and sums do not gain; which coarsening was taken, how many switches and on "
        "which levels is not published"
    )


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    missing = Finding("the points that would tell were not computed", "open")
    out = {"laplace": missing, "elasticity": missing}
    for problem, line in _cases(rows).items():
        name = "laplace" if problem.startswith("laplace") else "elasticity"
        out[name] = _finding(line, problem)
    worst = [r for r in rows if r["rule_cycle"] > r["cycle"] * 1.0001 or r["best_cycle"] > r["rule_cycle"] * 1.0001]
    others = [
        f"{name} {min(r['cycle'] / r[key] for r in rows if key in r):.2f} to "
        f"{max(r['cycle'] / r[key] for r in rows if key in r):.2f}"
        for name, key in (
            ("hypre's threshold of 1,000 rows", "hypre_cycle"),
            ("PETSc's 50 rows a process", "petsc_cycle"),
        )
        if any(key in r for r in rows)
    ]
    words = f"a cycle is {min(r['cycle'] / r['rule_cycle'] for r in rows):.2f} to "
    words += f"{max(r['cycle'] / r['rule_cycle'] for r in rows):.2f} times as fast by the rule, "
    words += f"{min(r['cycle'] / r['best_cycle'] for r in rows):.2f} to "
    words += (
        f"{max(r['cycle'] / r['best_cycle'] for r in rows):.2f} by the best way; by thresholds: {', '.join(others)}"
    )
    out["thresholds"] = Finding(words, "differs" if worst else "open")
    return out
