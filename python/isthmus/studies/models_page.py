"""Differences between models for the same communication, as table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..units import percent, text
from .drawing import CLASSES, FAINT, MUTED, heading, key, sheet
from .parameters import Finding, Point, Summary
from .traffic_page import network

#: What is compared with what.
_AGAINST = (("flow", "packet"), ("reserve", "packet"), ("reserve", "flow"))
_LOOKS = {("flow", "packet"): (CLASSES[0], "o"), ("reserve", "packet"): (CLASSES[3], "^")}
#: From so much longer than without contention on, messages share links enough for models to differ.
_CONTENDED = 1.05

#: One communication: results by model.
Case = dict[str, Point]


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    cases = grouped(rows)
    numbers = ("size", "contention", "packet", *(f"{a} / {b}" for a, b in _AGAINST), "message")
    more = tuple(f"{a} / {b}, message" for a, b in _AGAINST)
    return Summary(
        columns=("network", "pattern", *numbers, *more),
        rows=[_row(case) for case in cases],
        right=(*numbers, *more),
        draw=partial(_draw, cases),
        findings=_findings(cases),
    )


def grouped(rows: Sequence[Point]) -> list[Case]:
    """Points that differ in the model only, by model."""
    found: dict[tuple[Any, ...], Case] = {}
    for row in rows:
        same = tuple(row[name] for name in ("machine", "pattern", "bytes", "routing", "seed"))
        found.setdefault(same, {})[row["model"]] = row
    return list(found.values())


def difference(case: Case, model: str, reference: str, what: str = "time") -> float | None:
    """Relative, of ``time`` or ``message``; None where one of the models was not computed."""
    if model not in case or reference not in case:
        return None
    return float(case[model][what] / case[reference][what] - 1)


def contention(case: Case) -> float | None:
    """Makespan over that of messages that do not meet, in the best model there is."""
    best = next((m for m in ("packet", "flow", "reserve") if m in case), None)
    found = None if best is None else difference(case, best, "loggops")
    return None if found is None else 1 + found


def _row(case: Case) -> list[str]:
    row = next(iter(case.values()))
    factor = contention(case)
    packet = case.get("packet")
    return [
        network(row), row["pattern"], text(row["bytes"], "B"), "" if factor is None else f"{factor:.2f}",
        text(packet["time"], "s", 4) if packet else "", *(_percent(difference(case, *pair)) for pair in _AGAINST),
        text(packet["message"], "s", 4) if packet else "",
        *(_percent(difference(case, *pair, "message")) for pair in _AGAINST),
    ]  # fmt: skip


def _percent(value: float | None) -> str:
    # No minus before a zero.
    return "" if value is None else percent(value, 1, sign=True)


def _draw(cases: Sequence[Case]) -> Any:
    words = (
        "Relative difference to the model packet, one mark for every size of messages, largest networks with largest "
        "marks. Above: makespan. Below: mean time of a message, from the start of its send to the end of its receive."
    )
    first = [next(iter(case.values())) for case in cases]
    families = list(dict.fromkeys(network(row).partition(":")[0] for row in first))
    fig, axes = sheet("The same communication in other models", words, 2, len(families), height=4.0, share=True)
    for column, family in enumerate(families):
        mine = [case for case, row in zip(cases, first, strict=True) if network(row).startswith(family + ":")]
        for line, what in enumerate(("time", "message")):
            _panel(axes[line][column], mine, what)
            if column == 0:
                axes[line][0].set_ylabel("makespan (%)" if what == "time" else "mean time of a message (%)")
        heading(axes[0][column], family)
    key(axes[0][0], loc="upper left")
    return fig


def _panel(ax: Any, cases: Sequence[Case], what: str) -> None:
    patterns = list(dict.fromkeys(next(iter(case.values()))["pattern"] for case in cases))
    nodes = sorted({next(iter(case.values()))["nodes"] for case in cases})
    ax.axhline(0, color=MUTED, lw=0.9)
    ax.axhspan(-5, 5, color=FAINT, alpha=0.35, lw=0)
    for shift, (pair, (colour, marker)) in zip((-0.16, 0.16), _LOOKS.items(), strict=True):
        named = False
        for case in cases:
            row = next(iter(case.values()))
            if (value := difference(case, *pair, what)) is None:
                continue
            sizes = sorted({next(iter(c.values()))["bytes"] for c in cases})
            x = (
                patterns.index(row["pattern"])
                + shift
                + 0.2 * (sizes.index(row["bytes"]) / max(1, len(sizes) - 1) - 0.5)
            )
            ax.plot(
                x, 100 * value, marker, color=colour, alpha=0.75, markersize=3.2 + 1.8 * nodes.index(row["nodes"]),
                label=None if named else f"{pair[0]}, sizes from left to right", markeredgewidth=0,
            )  # fmt: skip
            named = True
    ax.set_xticks(range(len(patterns)), patterns, rotation=22, ha="right", fontsize=8)


def _findings(cases: Sequence[Case]) -> dict[str, Finding]:
    words, close, far = [], True, False
    for model in ("flow", "reserve"):
        known = [(case, value) for case in cases if (value := difference(case, model, "packet")) is not None]
        quiet = [abs(value) for case, value in known if (contention(case) or 1) < _CONTENDED]
        loaded = [abs(value) for case, value in known if (contention(case) or 1) >= _CONTENDED]
        for values, where in ((quiet, "where messages hardly meet"), (loaded, "where they do")):
            if values:
                words.append(
                    f"{model} {where} ({len(values)} cases): median {percent(float(np.median(values)), 1)}, nine of "
                    f"ten within {percent(float(np.quantile(values, 0.9)), 0)}, largest {percent(max(values), 0)}"
                )
        close &= max(quiet, default=0) < 0.05
        far |= max(loaded, default=0) > 0.1
    if not words:
        return {}
    ours = f"makespans against packets: {'; '.join(words)}"
    return {"regimes": Finding(ours, "agrees" if close and far else "open")}
