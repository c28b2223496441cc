"""Cycles on Eos beside the published table: communication, the ten cells with one constant, and the variants tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..units import percent, text
from .drawing import CLASSES, INK, heading, key, sheet
from .parameters import Finding, Point, Summary

# Seconds of a cycle by cores and threads of a process, Gahvari et al., slides (exact).
MODELLED = {
    1024: {1: 9.75e-3, 2: 14.9e-3, 4: 24.2e-3, 8: 44.2e-3, 16: 86.4e-3},
    8192: {1: 11.7e-3, 2: 16.8e-3, 4: 26.5e-3, 8: 46.7e-3, 16: 88.4e-3},
}
MEASURED = {
    1024: {1: 11.3e-3, 2: 16.3e-3, 4: 27.6e-3, 8: 51.8e-3, 16: 104e-3},
    8192: {1: 13.0e-3, 2: 18.1e-3, 4: 29.7e-3, 8: 53.9e-3, 16: 104e-3},
}
_NEAR = 0.1
#: The largest error of the published model against what was measured.
_PUBLISHED_ERROR = 1 - 0.834
#: Everything that tells one variant from another.
_VARIANT = ("counts", "grown", "machine", "farthest", "nearest", "bandwidth", "cores_of_node")


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    head = (
        "hierarchy", "gamma times", "bytes", "cores", "threads", "levels", "messages", "communication", "one constant",
        "cycle", "published model", "error", "published measurement", "error of measurement",
    )  # fmt: skip
    found = [Variant(line) for line in _variants(rows)]
    return Summary(
        head,
        [row for one in found for row in one.rows()],
        head[1:2] + head[3:],
        partial(_draw, found),
        _findings(found),
    )


def _variants(rows: Sequence[Point]) -> list[list[Point]]:
    out: dict[tuple[Any, ...], list[Point]] = {}
    for row in rows:
        out.setdefault(tuple(row[name] for name in _VARIANT), []).append(row)
    return list(out.values())


def communication_of(table: Mapping[int, Mapping[int, float]]) -> tuple[float, dict[int, float]]:
    """Return what a table says by itself: seconds of computation for each thread, and of messages by cores.

    ``T = k threads + messages(cores)`` is fitted by least squares of relative errors; no hierarchy is in it.
    """
    cores = list(table)
    rows = np.array(
        [
            [threads / t, *((size == one) / t for one in cores)]
            for size, line in table.items()
            for threads, t in line.items()
        ]
    )
    k, *messages = np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0]
    return float(k), dict(zip(cores, map(float, messages), strict=True))


class Variant:
    """The cells of one hierarchy and one number of links, and the constant that fits them best."""

    def __init__(self, rows: Sequence[Point]) -> None:
        self.cells = sorted(rows, key=lambda r: (r["cores"], r["threads"]))
        first = self.cells[0]
        self.first = first
        growth = "grown" if first["grown"] else "fixed"
        self.name = f"{first['counts']}, {growth}"
        self.links = max(first["farthest"] - first["nearest"], 0)
        known = [r for r in self.cells if r["threads"] in MODELLED.get(r["cores"], {})]
        self.known = known
        self.whole = len(known) == sum(len(line) for line in MODELLED.values())
        self.k = self.constant(MODELLED)

    @property
    def title(self) -> str:
        return f"{self.name}, {self.links} gamma" + ("" if self.first["bandwidth"] else ", without bytes")

    def constant(self, table: Mapping[int, Mapping[int, float]]) -> float:
        """Seconds of computation by least squares of relative errors, as the table itself is fitted."""
        if not self.known:
            return 0.0
        x = np.array([r["threads"] / table[r["cores"]][r["threads"]] for r in self.known])
        y = np.array([1 - r["communication"] / table[r["cores"]][r["threads"]] for r in self.known])
        return float((x * y).sum() / (x * x).sum())

    def cycle(self, row: Point, k: float | None = None) -> float:
        return (self.k if k is None else k) * float(row["threads"]) + float(row["communication"])

    def error(self, table: Mapping[int, Mapping[int, float]], k: float | None = None) -> float:
        """Largest relative error of the cells."""
        return max(abs(self.cycle(r, k) / table[r["cores"]][r["threads"]] - 1) for r in self.known)

    def all_mpi(self) -> dict[int, Point]:
        return {r["cores"]: r for r in self.cells if r["threads"] == 1}

    def rows(self) -> list[list[str]]:
        out = []
        for r in self.cells:
            published, measured = (t.get(r["cores"], {}).get(r["threads"]) for t in (MODELLED, MEASURED))
            cells = [self.name, str(self.links), "yes" if r["bandwidth"] else "no", f"{r['cores']:,}",
                     str(r["threads"]), str(r["levels"]), f"{r['messages']:,}",
                     text(r["communication"], "s", 4)]  # fmt: skip
            cells += [text(self.k, "s", 4), text(self.cycle(r), "s", 4)] if self.whole else ["", ""]
            for one in (published, measured):
                cells.append("" if one is None else text(one, "s", 4))
                cells.append("" if one is None or not self.whole else _signed(self.cycle(r) / one - 1))
            out.append(cells)
        return out


def _signed(error: float) -> str:
    return f"{'+' if error >= 0 else '-'}{percent(abs(error), 2)}"


def _draw(found: Sequence[Variant]) -> Any:
    k, messages = communication_of(MODELLED)
    words = (
        "Left: messages of a cycle with a process on every core; lines: what the published table gives by itself. "
        "Right: a cycle by threads of a process, with one fitted constant for each variant."
    )
    fig, axes = sheet("A multigrid cycle on Eos", words, 1, 2, height=5.2)
    left, right = axes.flat
    sizes = list(MODELLED)
    for number, one in enumerate(found):
        every = one.all_mpi()
        heights = [1e3 * every[c]["communication"] if c in every else 0 for c in sizes]
        place = np.arange(len(sizes)) + (number - len(found) / 2) * 0.8 / len(found)
        again = "////" if number >= len(CLASSES) else None  # colours that come a second time
        left.bar(
            place, heights, 0.76 / len(found), color=CLASSES[number % len(CLASSES)], hatch=again, edgecolor="white",
            linewidth=0, label=one.title,
        )  # fmt: skip
    for x, cores in enumerate(sizes):
        for low, style in ((1, "-"), (1 - _NEAR, ":"), (1 + _NEAR, ":")):
            left.plot([x - 0.45, x + 0.45], [1e3 * messages[cores] * low] * 2, style, color=INK, lw=1.3)
    left.set_xticks(range(len(sizes)), [f"{c:,} cores" for c in sizes])
    left.set_ylabel("messages of a cycle (ms)")
    left.set_ylim(top=(1.3 + 0.07 * len(found)) * left.get_ylim()[1])
    heading(left, f"Published: {', '.join(text(m, 's', 3) for m in messages.values())}")
    key(left, loc="upper left")
    for number, one in enumerate(found):
        for cores, style in zip(sizes, ("-", "--"), strict=True):
            line = [r for r in one.cells if r["cores"] == cores and one.whole]
            right.plot(
                [r["threads"] for r in line], [1e3 * one.cycle(r) for r in line], style,
                color=CLASSES[number % len(CLASSES)], lw=1.2,
            )  # fmt: skip
    for cores, marker in zip(sizes, "os", strict=True):
        right.plot(*zip(*((t, 1e3 * s) for t, s in MODELLED[cores].items()), strict=True), marker, color=INK,
                   markersize=5, label=f"published model, {cores:,} cores")  # fmt: skip
    key(right, loc="upper left")
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    right.set_xticks(list(MODELLED[1024]), [str(t) for t in MODELLED[1024]])
    right.yaxis.set_major_formatter(lambda x, _: f"{x:g}")
    right.set_xlabel("threads of a process")
    right.set_ylabel("cycle (ms)")
    heading(right, f"The table by itself: {text(k, 's', 3)} of computation a thread")
    return fig


def _findings(found: Sequence[Variant]) -> dict[str, Finding]:
    out = {}
    _, messages = communication_of(MODELLED)
    told = []
    for one in found:
        every = {c: r for c, r in one.all_mpi().items() if c in messages}
        if len(every) == len(messages):
            errors = {c: r["communication"] / messages[c] - 1 for c, r in every.items()}
            words = ", ".join(
                f"{text(r['communication'], 's', 3)} on {c:,} ({_signed(errors[c])})" for c, r in every.items()
            )
            told.append((max(map(abs, errors.values())), f"{one.title}: {words}"))
    if told:
        # The first variant is the one whose choices stand in the study; the others show what they do.
        good = told[0][0] <= _NEAR
        within = sum(error <= _NEAR for error, _ in told)
        out["all-mpi"] = Finding(
            f"{'; '.join(words for _, words in told)}. Nothing is fitted. {within} of {len(told)} variants are within "
            f"10 %: the table cannot tell coarsening from the number of links that are charged",
            "agrees" if good else "differs",
        )
    whole = [one for one in found if one.whole]
    if whole:
        words = "; ".join(f"{one.title}, k = {text(one.k, 's', 3)}: {percent(one.error(MODELLED), 2)}" for one in whole)
        out["cells"] = Finding(
            f"largest error of the ten cells with one fitted constant k: {words}. The table by itself, with three "
            f"constants and no hierarchy, has {percent(_own(MODELLED), 2)}",
            "agrees" if whole[0].error(MODELLED) <= _NEAR else "differs",
        )
        first = whole[0]
        own = first.constant(MEASURED)
        out["measured"] = Finding(
            f"{first.title}: largest error {percent(first.error(MEASURED), 2)} with the k of the modelled cells, which "
            f"is as far off as the published model; {percent(first.error(MEASURED, own), 2)} with k = "
            f"{text(own, 's', 3)}, fitted to the measured ones",
            "agrees" if first.error(MEASURED) <= _PUBLISHED_ERROR else "differs",
        )
    first = found[0]
    crowded = {c: r["crowded"] / MEASURED[c][1] for c, r in first.all_mpi().items() if c in MEASURED}
    if crowded:
        out["best"] = Finding(
            f"{first.title}, with penalties on alpha and gamma: messages alone take "
            + ", ".join(
                f"{factor:.2g} times what the whole cycle took on {c:,} cores" for c, factor in crowded.items()
            ),
            "agrees" if min(crowded.values()) > 1 else "differs",
        )
    return out


def _own(table: Mapping[int, Mapping[int, float]]) -> float:
    k, messages = communication_of(table)
    return max(abs((k * j + messages[c]) / t - 1) for c, line in table.items() for j, t in line.items())
