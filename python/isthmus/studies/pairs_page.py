"""Results of ping-pongs of all pairs: the figure of Bhatele and Kale, and its factors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..units import text
from .drawing import CLASSES, bytes_axis, heading, key, ramp, sheet
from .parameters import Finding, Point, Summary

#: From this size on a message is large, up to that one small: the bandwidth term is most, or little, of its latency.
_LARGE, _SMALL = 65536, 64


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    return Summary(
        columns=(
            "machine",
            "traffic",
            "ranks a node",
            "hops",
            "size",
            "latency",
            "slowest pair",
            "without others",
            "factor",
        ),
        rows=[_row(row) for row in rows],
        right=("hops", "size", "latency", "slowest pair", "without others", "factor"),
        draw=partial(_draw, rows),
        findings=_findings(rows),
    )


def _row(row: Point) -> list[str]:
    hops = "" if row["traffic"] == "random" else str(row["hops"])
    ranks = "all cores" if row["all_cores"] else "1"
    times = [text(row[name], "s", 4) for name in ("latency", "slowest", "alone")]
    return [row["machine"], row["traffic"], ranks, hops, text(row["bytes"], "B"), *times, f"{_factor(row):.2f}"]


def _factor(row: Point) -> float:
    return float(row["latency"] / row["alone"])


def _chosen(rows: Sequence[Point], traffic: str, machine: str | None = None, *, cores: bool = False) -> list[Point]:
    return [
        r for r in rows if r["traffic"] == traffic and machine in (None, r["machine"]) and bool(r["all_cores"]) == cores
    ]


def _machines(rows: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(r["machine"] for r in rows))


def _draw(rows: Sequence[Point]) -> Any:
    machines = _machines(rows)
    words = (
        "Mean latency of a message in a ping-pong. Above: all pairs n hops apart at the same time, and random pairs; "
        "dashed: one pair alone, 1 and 8 hops apart or as far as computed. Below: the same relative to one pair alone."
    )
    fig, axes = sheet("Latency with contention, by distance of partners", words, 2, len(machines), height=3.9)
    for column, machine in enumerate(machines):
        above, below = axes[0][column], axes[1][column]
        several = _chosen(rows, "pairs", machine)
        hops = sorted({r["hops"] for r in several})
        colours = dict(zip(hops, ramp(range(1, len(hops) + 1)), strict=True))  # type: ignore[arg-type]
        for n in hops:
            _curve(above, below, [r for r in several if r["hops"] == n], color=colours[n], label=f"{n}")
        _curve(above, below, _chosen(rows, "random", machine), color=CLASSES[3], label="random", marker="s")
        alone = _chosen(rows, "one", machine)
        for n in sorted({r["hops"] for r in alone})[:: max(1, len({r["hops"] for r in alone}) - 1)]:
            line = sorted((r for r in alone if r["hops"] == n), key=lambda r: r["bytes"])
            above.plot([r["bytes"] for r in line], [r["latency"] * 1e6 for r in line], "--", color=CLASSES[7], lw=1.1)
        above.set_yscale("log")
        heading(above, _short(next(r["title"] for r in rows if r["machine"] == machine)))
        above.set_ylabel("latency (µs)" if column == 0 else "")
        below.set_ylabel("latency / latency of one pair alone" if column == 0 else "")
        below.set_ylim(bottom=0)
        for ax in (above, below):
            bytes_axis(ax, sorted({r["bytes"] for r in rows if r["machine"] == machine}))
        if column == 0:
            key(above, "hops", loc="upper left", ncols=2)
    top = max((ax.get_ylim()[1] for ax in axes[1]), default=1.0)
    for ax in axes[1]:
        ax.set_ylim(0, top)
    return fig


def _short(title: str) -> str:
    return title.partition(",")[0]


def _curve(above: Any, below: Any, points: list[Point], **look: Any) -> None:
    points = sorted(points, key=lambda r: r["bytes"])
    sizes = [r["bytes"] for r in points]
    look = {"marker": "o", "markersize": 3.2, "lw": 1.5, **look}
    if points:
        above.plot(sizes, [r["latency"] * 1e6 for r in points], **look)
        below.plot(sizes, [_factor(r) for r in points], **look)


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    machines = _machines(rows)
    large = [r for r in _chosen(rows, "pairs") if r["bytes"] >= _LARGE]
    small = [r for r in _chosen(rows, "pairs") if r["bytes"] <= _SMALL]
    out: dict[str, Finding] = {}
    if large:
        out["factor"] = _largest(rows, large, machines)
        out["growth"] = _growth(large, machines)
    if small:
        most = {m: _spread(small, m) for m in machines}
        verdict = "agrees" if max(most.values()) < 1.5 else "differs"
        out["small"] = Finding(f"largest against smallest latency up to {_SMALL} B, same size: {_list(most)}", verdict)
    if alone := _chosen(rows, "one"):
        most = {m: _spread(alone, m) for m in machines}
        verdict = "agrees" if max(most.values()) < 1.5 else "differs"
        out["alone"] = Finding(
            f"largest against smallest latency over the distances, same size: {_list(most)}", verdict
        )
    random = [r for r in _chosen(rows, "random") if r["bytes"] >= _LARGE]
    if random:
        most = {m: max((_factor(r) for r in random if r["machine"] == m), default=1.0) for m in machines}
        mean = "mean over pairs against no contention"
        verdict = _of_all([m > 1.2 for m in most.values()])
        out["random"] = Finding(f"{mean}: {_list(most)}", verdict)
    return out


def _largest(rows: Sequence[Point], large: list[Point], machines: list[str]) -> Finding:
    most = {m: max((_factor(r) for r in large if r["machine"] == m), default=1.0) for m in machines}
    words = f"largest factor with one rank a node: {_list(most)}"
    every = {m: max((_factor(r) for r in _chosen(rows, "pairs", m, cores=True)), default=0.0) for m in machines}
    if any(every.values()):
        words += f"; with a rank on every core (against the same without contention in links): {_list(every)}"
    words += (
        ". n pairs share a link, so that the factor is at most n times the rate of one pair over that of the link; "
        "where one pair cannot fill a link it is less"
    )
    # Published of some of the machines.
    return Finding(words, "agrees" if any(6 <= m <= 10 for m in most.values()) else "differs")


def _of_all(good: Sequence[bool]) -> str:
    if all(good):
        return "agrees"
    return "partly" if any(good) else "differs"


def _growth(large: list[Point], machines: list[str]) -> Finding:
    grows, words = True, []
    for m in machines:
        size = max((r["bytes"] for r in large if r["machine"] == m), default=0)
        line = sorted((r for r in large if r["machine"] == m and r["bytes"] == size), key=lambda r: r["hops"])
        times = [r["latency"] for r in line]
        grows &= (
            len(times) > 1 and times[-1] > 1.2 * times[0] and all(b >= 0.98 * a for a, b in itertools.pairwise(times))
        )
        if line:
            words.append(
                f"{m} {text(times[0], 's', 3)} at {line[0]['hops']} to "
                f"{text(times[-1], 's', 3)} at {line[-1]['hops']} hops"
            )
    return Finding(f"largest messages: {'; '.join(words)}", "agrees" if grows else "differs")


def _spread(rows: list[Point], machine: str) -> float:
    """Largest against smallest latency over the distances, of the size where that is most."""
    sizes: dict[int, list[float]] = {}
    for r in rows:
        if r["machine"] == machine:
            sizes.setdefault(r["bytes"], []).append(r["latency"])
    return max((max(times) / min(times) for times in sizes.values()), default=1.0)


def _list(factors: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in factors.items())
