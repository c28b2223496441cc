"""The effect of maps on applications: table, figure and findings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..units import amount, percent, text
from .drawing import CLASSES, heading, key, sheet
from .parameters import Finding, Point, Summary

#: Words for placements, in the order in which they are drawn.
_WORDS = {
    "random": "random",
    "default": "in order",
    "bisection": "patches bisected",
    "patches": "patches mapped",
    "mapped": "mapped",
}
#: Applications as they are called.
_NAMES = {"stencil": "a five-point stencil", "wrf": "WRF", "pop": "POP", "openatom": "OpenAtom", "namd": "NAMD"}
#: What is published, of hops: by how much they fall, and how far from that ours may be.
_FALLS = {"wrf": 0.64, "pop": 0.60}
_NEAR = 0.10
#: Largest ratio of hop-bytes to the minimum that counts as near it; largest gain that counts as none.
_MINIMUM, _NO_GAIN = 1.1, 0.03
#: Share of WRF's time saved on the largest machine, and how far from it ours may be.
_GAIN, _NEAR_GAIN = 0.17, 0.05

#: One problem: results by placement.
Case = dict[str, Point]


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    cases = grouped(rows)
    timed = any("time" in r for r in rows)
    numbers = [
        "tasks",
        "hop-bytes",
        "hops of a byte",
        "of a message",
        "against order",
        "over bound",
        "most loaded link",
    ]
    numbers += ["time", "computation", "waiting"] if timed else []
    return Summary(
        columns=("application", "machine", "placement", *numbers),
        rows=[_row(case, placement, timed) for case in cases for placement in _WORDS if placement in case],
        right=numbers,
        draw=partial(_draw, cases),
        findings=_findings(cases),
    )


def grouped(rows: Sequence[Point]) -> list[Case]:
    """Points that differ in their placement only, by placement."""
    found: dict[tuple[Any, ...], Case] = {}
    same = ("application", "machine", "tasks", "seconds", "steps", "point", "spread", "solves", "model", "seed")
    for row in rows:
        found.setdefault(tuple(row[name] for name in same), {})[row["placement"]] = row
    return list(found.values())


def fall(case: Case, what: str, placement: str = "mapped", against: str = "default") -> float | None:
    """By which part a result of a placement is below that of another."""
    if placement not in case or against not in case or what not in case[placement]:
        return None
    return 1 - float(case[placement][what] / case[against][what])


def _row(case: Case, placement: str, timed: bool) -> list[str]:
    row = case[placement]
    change = fall(case, "hop_bytes", placement)
    least = row.get("least")
    out = [
        row["application"], _network(row), _WORDS[placement], f"{row['ranks']:,}", amount(row["hop_bytes"]),
        f"{row['hops']:.3f}", f"{row['message_hops']:.3f}" if "message_hops" in row else "",
        "" if change is None or placement == "default" else percent(-change, 1, sign=True),
        f"{row['hop_bytes'] / least:.3f}" if least else "", amount(row["link"]) if "link" in row else "",
    ]  # fmt: skip
    if timed:
        out += [
            text(row["time"], "s", 4) if "time" in row else "",
            *(percent(row[k], 1) if k in row else "" for k in ("computing", "waiting")),
        ]
    return out


def _network(row: Point) -> str:
    found: str = row["machine"].split()[0]
    return found


def _draw(cases: Sequence[Case]) -> Any:
    words = "Mean links on the route of a byte"
    words += (
        "; dashes: a bound that no placement can beat." if any("least" in r for c in cases for r in c.values()) else "."
    )
    timed = [case for case in cases if any("time" in row for row in case.values())]
    if timed:
        words += " On the right the simulated time, over that of ranks in order."
    first = next(iter(cases[0].values()))
    fig, axes = sheet(f"Maps of {_NAMES[first['application']]}", words, 1, 2 if timed else 1, height=5.0)
    _bars(axes[0][0], cases, lambda case, placement: case[placement].get("hops"))
    axes[0][0].set_ylabel("links")
    for i, case in enumerate(cases):
        row = next(iter(case.values()))
        if "least" in row:
            axes[0][0].hlines(
                row["least"] / row["hop_bytes"] * row["hops"], i - 0.45, i + 0.45, color="#1B2733", ls="--", lw=1
            )
    if timed:
        heading(axes[0][0], "hops")
        heading(axes[0][1], "time")
        _bars(axes[0][1], timed, _relative_time)
        axes[0][1].set_ylabel("time over that in order")
    key(axes[0][0], loc="upper left")
    return fig


def _relative_time(case: Case, placement: str) -> float | None:
    change = fall(case, "time", placement)
    return None if change is None else 1 - change


def _bars(ax: Any, cases: Sequence[Case], value: Any) -> None:
    shown = [p for p in _WORDS if any(p in case for case in cases)]
    wide = 0.8 / len(shown)
    for k, placement in enumerate(shown):
        found = [(i, value(case, placement)) for i, case in enumerate(cases) if placement in case]
        at = [(i + (k - (len(shown) - 1) / 2) * wide, y) for i, y in found if y is not None]
        if at:
            ax.bar(*zip(*at, strict=True), width=wide * 0.92, color=CLASSES[k], label=_WORDS[placement])
    ax.set_xticks(range(len(cases)), [_label(case, cases) for case in cases], fontsize=8)
    ax.set_xlim(-0.6, len(cases) - 0.4)
    ax.set_ylim(0, ax.get_ylim()[1] * 1.25)


def _label(case: Case, cases: Sequence[Case]) -> str:
    row = next(iter(case.values()))
    words = [f"{row['ranks']:,} tasks" if len({_network(r) for c in cases for r in c.values()}) == 1 else _network(row)]
    if row["steps"]:
        computes, solves = bool(row["point"]), bool(row["solves"])
        words.append("with computation" if computes else "exchange only")
        if solves:
            words.append("and reductions")
    return "\n".join(words)


def _findings(cases: Sequence[Case]) -> dict[str, Finding]:
    out: dict[str, Finding] = {}
    of = {name: [c for c in cases if next(iter(c.values()))["application"] == name] for name in _NAMES}
    if ratios := [c["mapped"]["hop_bytes"] / c["mapped"]["least"] for c in of["stencil"] if "mapped" in c]:
        worst = max(ratios)
        ours = f"at most {worst:.3f} of the bound, at {len(ratios)} sizes"
        out["minimum"] = Finding(ours, "agrees" if worst < _MINIMUM else "differs")
    for name, published in _FALLS.items():
        if falls := [f for c in of[name] if (f := fall(c, "message_hops")) is not None]:
            bytes = [f for c in of[name] if (f := fall(c, "hops")) is not None]
            close = all(abs(f - published) <= _NEAR or f > published for f in falls)
            ours = f"{_span(falls)} fewer links a message, {_span(bytes)} a byte"
            out["hops"] = Finding(ours, "agrees" if close else "differs")
    if found := _time(of["pop"]):
        out["time"] = found
    if found := _gain(of["wrf"]):
        out["gain"] = found
    for name in ("openatom", "namd"):
        words = []
        least = []
        for placement in ("bisection", "patches", "mapped"):
            if falls := [f for c in of[name] if (f := fall(c, "hop_bytes", placement)) is not None]:
                words.append(f"{_WORDS[placement]} {_span(falls)} below those in order")
                least.append(min(falls))
        if words:
            # Patches may be in the best order already, computes are not.
            lower = _lower_everywhere(of[name]) and min(least) >= 0
            out["hops"] = Finding("; ".join(words), "agrees" if lower else "differs")
    return out


def _lower_everywhere(cases: Sequence[Case]) -> bool:
    """Whether there are maps and all have fewer hop-bytes than ranks in order."""
    falls = [f for c in cases if (f := fall(c, "hop_bytes")) is not None]
    return bool(falls) and min(falls) > 0


def _time(cases: Sequence[Case]) -> Finding | None:
    """Times of ocean steps with waiting and reductions, and of their exchanges alone."""
    with_all = [c for c in cases if next(iter(c.values()))["solves"] and fall(c, "time") is not None]
    alone = [c for c in cases if not next(iter(c.values()))["solves"] and fall(c, "time") is not None]
    if not with_all:
        return None
    gains = [fall(c, "time") or 0.0 for c in with_all]
    waits = max(c["default"]["waiting"] for c in with_all)
    words = f"time of steps with waiting and reductions falls by {_span(gains)} (ranks wait {percent(waits, 0)})"
    if alone:
        words += f", of their exchanges alone by {_span([fall(c, 'time') or 0.0 for c in alone])}"
    return Finding(words, "agrees" if max(gains) < _NO_GAIN else "differs")


def _gain(cases: Sequence[Case]) -> Finding | None:
    """Gains of steps with computation by machine size: the largest machine gains, smaller ones do not."""
    found = {}
    for case in cases:
        gain = fall(case, "time")
        row = next(iter(case.values()))
        if row["point"] and gain is not None:
            before, after = (case[p]["time"] * (1 - case[p]["computing"]) for p in ("default", "mapped"))
            found[int(row["ranks"])] = gain, 1 - after / before
    if not found:
        return None
    words = (f"{n:,} nodes: {percent(c, 0)} less, the run {percent(g, 0)}" for n, (g, c) in sorted(found.items()))
    gains = [g for _, (g, _) in sorted(found.items())]
    fits = gains[-1] > _NO_GAIN and all(g < _NO_GAIN for g in gains[:-1])
    close = abs(gains[-1] - _GAIN) <= _NEAR_GAIN
    verdict = "agrees" if fits and close else "partly" if fits else "differs"
    return Finding(f"communication on {'; '.join(words)}", verdict)


def _span(parts: Sequence[float]) -> str:
    low, high = (f"{100 * f:.0f}" for f in (min(parts), max(parts)))
    return f"{low} %" if low == high else f"{low} to {high} %"
