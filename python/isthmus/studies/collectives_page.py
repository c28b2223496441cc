"""Algorithms of collectives by size or ranks: table, figure and findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from ..units import percent, text
from .drawing import CLASSES, bytes_axis, heading, key, sheet
from .parameters import Finding, Point, Summary

#: Panels side by side.
_COLUMNS = 2
#: Cores of a node on which trees over nodes are drawn.
_NODE = {"ranger": 16, "jaguar-xt4": 4}
#: Broadcasts one after the other in the study of pipelines.
_IN_A_ROW = 8
#: What xNOBEL calls in a run.
_SUMS, _BARRIERS = 4960, 2720


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    sizes: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        sizes.setdefault((row["machine"], row["collective"]), set()).add(row["bytes"])
    by_ranks = all(len(found) == 1 for found in sizes.values())
    numbers = ("ranks", "bytes", "time", "over the best")
    best: dict[tuple[Any, ...], float] = {}
    for row in rows:
        best[_problem(row)] = min(best.get(_problem(row), float("inf")), row["time"])
    return Summary(
        columns=("machine", "collective", "algorithm", *numbers),
        rows=[
            [
                _network(row), row["collective"], label(row), f"{row['ranks']:,}", text(row["bytes"], "B"),
                text(row["time"], "s", 4), f"{row['time'] / best[_problem(row)]:.2f}",
            ]
            for row in rows
        ],
        right=numbers,
        draw=partial(_draw, rows, "ranks" if by_ranks else "bytes"),
        findings=_findings(rows),
    )  # fmt: skip


def label(point: Point) -> str:
    """An algorithm in a flavour, in words."""
    name = point["algorithm"].replace(":", " ").replace("=", " ") or "default"
    words: list[Any] = [name]
    if point["access"] != "message":
        words.append(point["access"])
    if point["sync"] != "my":
        words.append({"all": "strict", "none": "loose"}.get(point["sync"], point["sync"]))
    if point["protocol"] != "size":
        words.append(point["protocol"])
    if point["noise"]:
        words.append("noise")
    if point["count"] > 1 and not point["work"]:
        words.append(f"{point['count']} x, {point['under_way'] or 'all'} under way")
    return ", ".join(words)


def _network(row: Point) -> str:
    found: str = row["machine"].split()[0]
    return found


def _problem(row: Point) -> tuple[Any, ...]:
    """The problem of a row; rows of one problem differ in the algorithm."""
    return row["machine"], row["collective"], row["ranks"], row["bytes"], row["work"], row["noise"]


def _draw(rows: Sequence[Point], along: str) -> Any:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    def panel(row: Point) -> tuple[Any, ...]:
        rest = () if along == "ranks" else (row["ranks"],)
        return row["collective"], _network(row), *rest

    panels = [(name, list(found)) for name, found in groupby(sorted(rows, key=panel), panel)]
    columns = min(_COLUMNS, len(panels))
    kinds = sorted({name[0] for name, _ in panels})
    words = f"Simulated time of {' and '.join(kinds)} by {'ranks' if along == 'ranks' else 'size'}; less is better."
    fig, axes = sheet("Algorithms of collectives", words, -(-len(panels) // columns), columns, height=4.6)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    lowest = {kind: min(r["time"] for r in rows if r["collective"] == kind) * 1e6 for kind in kinds}
    highest = {kind: max(r["time"] for r in rows if r["collective"] == kind) * 1e6 for kind in kinds}
    for ax, (name, found) in zip(axes.flat, panels, strict=False):
        for i, words in enumerate(dict.fromkeys(label(row) for row in found)):
            line = sorted((row[along], row["time"] * 1e6) for row in found if label(row) == words)
            ax.plot(*zip(*line, strict=True), marker="o", ms=3.5, lw=1.6, color=CLASSES[i % len(CLASSES)], label=words)
        if along == "bytes":
            bytes_axis(ax, sorted({row["bytes"] for row in found}))
        else:
            ax.set_xscale("log", base=2)
            ticks = sorted({row["ranks"] for row in found})
            ax.set_xticks(ticks, [f"{t:,}" for t in ticks])
            ax.minorticks_off()
            ax.set_xlabel("ranks")
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.set_ylim(lowest[name[0]] / 1.3, highest[name[0]] * 1.5)
        ax.set_ylabel("time, us")
        heading(ax, " ".join([name[0], "on", name[1], *(f"({n:,} ranks)" for n in name[2:])]))
        key(ax)
    return fig


# -- findings ---------------------------------------------------------------------------------------------------------


class Times:
    """Times of algorithms by what has to be done."""

    def __init__(self, rows: Sequence[Point]) -> None:
        self.rows = rows

    def of(self, machine: str, collective: str, ranks: int, bytes: int, noise: bool = False) -> dict[str, float]:
        """By label; empty where it was not computed."""
        return {
            label(r): float(r["time"])
            for r in self.rows
            if _problem(r)[:4] == (machine, collective, ranks, bytes) and bool(r["noise"]) == noise
        }

    def sizes(self, machine: str, collective: str, ranks: int) -> list[int]:
        return sorted({r["bytes"] for r in self.rows if _problem(r)[:3] == (machine, collective, ranks)})


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    times = Times(rows)
    found: dict[str, Callable[[Times], Finding | None]] = {
        "bcast-sun": lambda t: _best_tree(t, "ranger", 1024, 8, 2048),
        "bcast-xt4": lambda t: _best_tree(t, "jaguar-xt4", 2048, 4, 2048),
        "bcast-wrong": _wrong_tree,
        "reduce-sun": _reduce_sun,
        "reduce-xt4": _reduce_xt4,
        "exchange-small": _exchange_small,
        "exchange-crossover": _exchange_crossover,
        "exchange-large": _exchange_large,
        "loose": _loose,
        "pipelined": _pipelined,
        "global-ops": _global_operations,
        "amg-sums": _sums,
    }
    return {name: finding for name, find in found.items() if (finding := find(times)) is not None}


def _radix(words: str) -> int | None:
    """Radix of a k-nomial tree or of Bruck's algorithm, from a label."""
    parts = words.split(",")[0].split()
    return int(parts[-1]) if "radix" in parts else None


def _short(words: str) -> str:
    return words.split(",")[0].replace(" radix ", "-").replace("knomial", "nomial")


def _ranking(found: dict[str, float]) -> str:
    least = min(found.values())
    order = sorted(found, key=found.__getitem__)
    return ", ".join(f"{_short(words)} {found[words] / least:.2f}" for words in order[:4])


def _best_tree(times: Times, machine: str, cores: int, radix: int, below: int) -> Finding | None:
    """Whether that k-nomial tree is best for sizes below a limit, over all cores or over their nodes."""
    words = []
    worst = []
    for over, ranks in (("cores", cores), ("nodes", cores // _NODE[machine])):
        cases = {
            size: found
            for size in times.sizes(machine, "bcast", ranks)
            if size < below and (found := times.of(machine, "bcast", ranks, size))
        }
        ratios = [
            ours / min(found.values()) for found in cases.values() for w, ours in found.items() if _radix(w) == radix
        ]
        if ratios:
            worst.append(max(ratios))
            words.append(f"over {over} {min(ratios):.2f} to {max(ratios):.2f} ({_ranking(cases[min(cases)])})")
    if not words:
        return None
    ours = f"{radix}-nomial in the best: {'; '.join(words)}"
    return Finding(ours, _verdict(max(worst) <= 1.001, min(worst) <= 1.1))


def _verdict(agrees: bool, partly: bool) -> str:
    return "agrees" if agrees else "partly" if partly else "differs"


def _wrong_tree(times: Times) -> Finding | None:
    words = []
    ratios = []
    for over, ranks in (("cores", 2048), ("nodes", 512)):
        found = times.of("jaguar-xt4", "bcast", ranks, 32768)
        ours = [t for w, t in found.items() if _radix(w) == 4]
        if ours:
            ratios.append(ours[0] / min(found.values()))
            words.append(f"over {over} {ratios[-1]:.2f} times the best ({_ranking(found)})")
    if not ratios:
        return None
    return Finding("; ".join(words), _verdict(1.6 <= max(ratios) <= 2.5, max(ratios) > 1.25))


def _reduce_sun(times: Times) -> Finding | None:
    cases = {n: f for n in (1024, 2048, 64, 128) if (f := times.of("ranger", "reduce", n, 8))}
    if not cases:
        return None
    best = [_radix(min(f, key=f.__getitem__)) == 8 for f in cases.values()]
    ours = "; ".join(f"{n:,} {'cores' if n > 256 else 'nodes'}: {_ranking(f)}" for n, f in cases.items())
    return Finding(ours, _verdict(all(best), any(best)))


def _reduce_xt4(times: Times) -> Finding | None:
    gains = []
    words = []
    for over, ranks in (("cores", 2048), ("nodes", 512)):
        found = {_radix(w): t for w, t in times.of("jaguar-xt4", "reduce", ranks, 8).items()}
        if 4 in found and 8 in found:
            gains.append(1 - found[4] / found[8])
            words.append(f"over {over} {percent(gains[-1], 0)} less")
    if not gains:
        return None
    ours = f"the 4-nomial tree takes {', '.join(words)}"
    return Finding(ours, _verdict(any(0.15 <= g <= 0.35 for g in gains), max(gains) > 0))


def _exchange(times: Times, bytes: int) -> dict[Any, float]:
    """By radix; flat under None."""
    return {_radix(words): t for words, t in times.of("ranger", "alltoall", 256, bytes).items()}


def _exchange_small(times: Times) -> Finding | None:
    found = _exchange(times, 8)
    if not {2, None} <= set(found):
        return None
    ratio = found[None] / min(found.values())
    best = min(found, key=found.__getitem__)
    ours = f"radix {best} is best (radix 2 {found[2] / found[best]:.2f} times that), flat {ratio:.1f} times slower"
    return Finding(ours, _verdict(best == 2 and 5 <= ratio <= 20, best is not None and ratio > 3))


def _exchange_crossover(times: Times) -> Finding | None:
    sizes = [s for s in times.sizes("ranger", "alltoall", 256) if None in _exchange(times, s)]
    wins = [s for s in sizes if min(f := _exchange(times, s), key=f.__getitem__) is None]
    if len(sizes) < 4:
        return None
    if not wins:
        return Finding("flat is never best", "differs")
    return Finding(
        f"flat is best from {text(min(wins), 'B')} on", _verdict(256 < min(wins) <= 1024, 128 <= min(wins) <= 2048)
    )


def _exchange_large(times: Times) -> Finding | None:
    found = _exchange(times, 16384)
    if not {2, None} <= set(found):
        return None
    gain = 1 - found[None] / found[2]
    flat, other = text(found[None], "s", 3), text(found[2], "s", 3)
    ours = f"flat takes {percent(gain, 0)} less: {flat} against {other}"
    return Finding(ours, _verdict(found[2] == max(found.values()) and 0.18 <= gain <= 0.38, gain > 0))


def _loose(times: Times) -> Finding | None:
    words = []
    ratios = []
    for collective in ("scatter", "gather"):
        found = times.of("jaguar", collective, 1536, 8)
        strict = [t for w, t in found.items() if "strict" in w]
        loose = [t for w, t in found.items() if "loose" in w]
        if strict and loose:
            ratios.append(strict[0] / loose[0])
            words.append(f"{collective} {ratios[-1]:.1f} times faster")
    if not ratios:
        return None
    return Finding(f"at 8 bytes {', '.join(words)}", _verdict(all(2.5 <= r <= 6 for r in ratios), min(ratios) > 1.5))


def _pipelined(times: Times) -> Finding | None:
    gains = []
    for size in times.sizes("jaguar-xt4", "bcast", 1024):
        found = times.of("jaguar-xt4", "bcast", 1024, size)
        strict = [t for w, t in found.items() if "my-all" in w]
        free = [t for w, t in found.items() if "all under way" in w and "my-all" not in w]
        if strict and free:
            gains.append((size, (strict[0] - free[0]) / _IN_A_ROW))
    if not gains:
        return None
    ours = ", ".join(f"{text(gain, 's', 3)} at {text(size, 'B')}" for size, gain in gains)
    inside = [50e-6 <= gain <= 400e-6 for _, gain in gains]
    return Finding(f"each of {_IN_A_ROW} broadcasts gains {ours}", _verdict(all(inside), any(inside)))


def _ops(times: Times, machine: str, collective: str, ranks: int, bytes: int) -> float | None:
    found = times.of(machine, collective, ranks, bytes)
    return min(found.values()) if found else None


def _global_operations(times: Times) -> Finding | None:
    words = []
    ratios = []
    for ranks in (128, 1024, 2048, 4096, 8192, 16384):
        sums = {}
        for machine in ("cielo", "redsky"):
            one, other = _ops(times, machine, "allreduce", ranks, 4), _ops(times, machine, "barrier", ranks, 0)
            if one is not None and other is not None:
                sums[machine] = _SUMS * one + _BARRIERS * other
        if len(sums) == 2:
            ratios.append(sums["redsky"] / sums["cielo"])
            words.append(f"{ranks:,} ranks {text(sums['cielo'], 's', 3)} and {text(sums['redsky'], 's', 3)}")
    if not ratios:
        return None
    ours = f"the operations alone on Cielo and Red Sky: {'; '.join((words[0], words[-1]))}"
    noisy = {n: t for n in (128, 16384) for t in times.of("redsky", "allreduce", n, 4, noise=True).values()}
    if noisy:
        ours += "; a step with noise on Red Sky " + ", ".join(f"{text(t, 's', 3)} at {n:,}" for n, t in noisy.items())
    # What stops the application on Red Sky is not in the cost of the operations alone.
    return Finding(ours, "agrees" if ratios[-1] > 1.5 * ratios[0] else "differs")


def _sums(times: Times) -> Finding | None:
    ratios = {}
    for ranks in (1024, 4096, 8192):
        one, other = (_ops(times, machine, "allreduce", ranks, 4) for machine in ("cielo", "redsky"))
        if one is not None and other is not None:
            ratios[ranks] = other / one
    if not ratios:
        return None
    ours = " and ".join(f"{ratio:.1f} times at {ranks:,}" for ranks, ratio in ratios.items())
    return Finding(
        f"{ours} ranks, without noise and other jobs", _verdict(min(ratios.values()) > 10, min(ratios.values()) > 1.2)
    )
