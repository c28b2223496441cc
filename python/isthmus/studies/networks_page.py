"""Cycles on networks: which network is faster at equal injection, and where a dragonfly degrades."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..units import percent, text
from .drawing import CLASSES, INK, heading, key, ramp, sheet
from .parameters import Finding, Point, Summary

#: From these slowdowns on a network degrades noticeably, and substantially.
NOTICEABLE, SUBSTANTIAL = 1.1, 1.5


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    head = (
        "network", "ranks", "jobs", "placement", "routing", "vectors", "sent by a node", "intensity", "cycle",
        "without sharing", "slowdown", "by the model",
    )  # fmt: skip
    right = (*head[1:3], *head[5:])
    several = len({r["machine"] for r in rows}) > 1
    draw = partial(_bars if several else _maps, rows)
    return Summary(head, [_row(row) for row in rows], right, draw, _findings(rows))


def _placements(rows: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(r["placement"] for r in rows))


def name_of(machine: str) -> str:
    """The name in a specification, or what stands for the machine."""
    named = [word.removeprefix("name=") for word in machine.split() if word.startswith("name=")]
    return named[0] if named else machine.partition(" ")[0]


def _row(row: Point) -> list[str]:
    return [
        name_of(row["machine"]), f"{row['ranks']:,}", str(row["used"]), row["placement"], row["routing"],
        f"{row['vectors']:,}", text(row["sent"], "B", 4), percent(row["intensity"], 1), text(row["time"], "s", 4),
        text(row["alone"], "s", 4), f"{row['slowdown']:.3f}", text(row["modelled"], "s", 4),
    ]  # fmt: skip


def _bars(rows: Sequence[Point]) -> Any:
    machines = list(dict.fromkeys(r["machine"] for r in rows))
    routings = list(dict.fromkeys(r["routing"] for r in rows))
    words = (
        "A cycle of the same hierarchy on networks with equal interfaces and links, simulated with every message; "
        "dashed: without sharing of links. Bars: ranks in the order of the nodes, nodes of groups in turn, at random."
    )
    fig, axes = sheet("Multigrid on networks of equal injection", words, len(routings), 1, height=4.6)
    series = [(m, p) for m in machines for p in _placements(rows)]
    for ax, routing in zip(axes.flat, routings, strict=True):
        vectors = sorted({r["vectors"] for r in rows})
        drawn: set[str] = set()
        for number, (machine, placement) in enumerate(series):
            line = {r["vectors"]: r for r in rows
                    if (r["machine"], r["placement"], r["routing"]) == (machine, placement, routing)}  # fmt: skip
            colour = CLASSES[machines.index(machine) % len(CLASSES)]
            for x, count in enumerate(vectors):
                if count not in line:
                    continue
                at = x + (number - len(series) / 2 + 0.5) * 0.85 / len(series)
                r = line[count]
                label = name_of(machine) if name_of(machine) not in drawn else None
                drawn.add(name_of(machine))
                shade = 1 - 0.3 * _placements(rows).index(placement)
                ax.bar(at, r["time"] / r["alone"], 0.8 / len(series), color=colour, alpha=shade, label=label)
                told = text(r["time"], "s", 3)
                ax.text(at, r["time"] / r["alone"] + 0.02, told, rotation=90, ha="center", va="bottom", fontsize=7,
                        color=INK)  # fmt: skip
        ax.axhline(1, color=INK, lw=1, ls="--")
        ax.set_ylim(top=1.25 * ax.get_ylim()[1])
        ax.set_xticks(range(len(vectors)), [f"{v} vector{'s' * (v > 1)} at once" for v in vectors])
        ax.set_ylabel("cycle / cycle without sharing")
        heading(ax, f"{routing} routing")
        key(ax, loc="upper left")
    return fig


def _maps(rows: Sequence[Point]) -> Any:
    placements = _placements(rows)
    routings = list(dict.fromkeys(r["routing"] for r in rows))
    machine = name_of(rows[0]["machine"])
    words = (
        "Time of multigrid cycles over their time without sharing of links; jobs fill the machine. Volume: bytes that "
        "a node sends in a cycle, in brackets the share of what its interface could send meanwhile (largest job)."
    )
    fig, axes = sheet(
        f"Where {machine} degrades under the load of multigrid", words, len(routings), len(placements), height=3.9
    )
    top = max(SUBSTANTIAL, *(r["slowdown"] for r in rows))
    for line, routing in zip(axes, routings, strict=True):
        for ax, placement in zip(line, placements, strict=True):
            chosen = [r for r in rows if (r["placement"], r["routing"]) == (placement, routing)]
            _map(ax, chosen, top)
            heading(ax, f"{placement}, {routing} routing")
    return fig


def _map(ax: Any, rows: Sequence[Point], top: float) -> None:
    sizes, vectors = sorted({r["ranks"] for r in rows}), sorted({r["vectors"] for r in rows})
    colours = ramp(np.linspace(0, 1, 101), light="#EAF3FA")
    for r in rows:
        x, y = vectors.index(r["vectors"]), sizes.index(r["ranks"])
        # Colours by the logarithm: slowdowns lie between a few per cent and several times.
        part = min(max(np.log(r["slowdown"]) / np.log(top), 0), 1)
        ax.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5],
                color=colours[int(100 * part)], lw=0)  # fmt: skip
        ax.text(x, y, f"{r['slowdown']:.2f}", ha="center", va="center", fontsize=10,
                color="white" if part > 0.5 else INK)  # fmt: skip
    last = {r["vectors"]: r for r in rows if r["ranks"] == sizes[-1]}
    labels = [
        f"{text(last[v]['sent'], 'B', 2)}\n({percent(last[v]['intensity'])})" if v in last else str(v) for v in vectors
    ]
    ax.set_xticks(range(len(vectors)), labels)
    ax.set_yticks(range(len(sizes)), [f"{s:,}" for s in sizes])
    ax.set_xlim(-0.5, len(vectors) - 0.5)
    ax.set_ylim(-0.5, len(sizes) - 0.5)
    ax.grid(visible=False)
    ax.set_ylabel("ranks of a job")


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    machines = list(dict.fromkeys(r["machine"] for r in rows))
    out: dict[str, Finding | None] = {}
    if len(machines) > 1:
        out["networks"] = _networks(rows, machines)
        out["model"] = _model(rows)
    else:
        out["threshold"] = _threshold(rows)
        out["adaptive"] = _adaptive(rows)
        out["placement"] = _placement(rows)
    return {name: found for name, found in out.items() if found is not None}


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.log(values).mean()))


def _networks(rows: Sequence[Point], machines: Sequence[str]) -> Finding:
    words = []
    for vectors in sorted({r["vectors"] for r in rows}):
        for routing in dict.fromkeys(r["routing"] for r in rows):
            for placement in dict.fromkeys(r["placement"] for r in rows):
                line = {name_of(r["machine"]): r for r in rows if (r["vectors"], r["routing"], r["placement"]) ==
                        (vectors, routing, placement)}  # fmt: skip
                if len(line) < 2:
                    continue
                order = sorted(line, key=lambda name: line[name]["time"])
                told = " < ".join(f"{name} {text(line[name]['time'], 's', 3)} ({line[name]['slowdown']:.2f})"
                                  for name in order)  # fmt: skip
                words.append(f"{vectors} vector{'s' * (vectors > 1)}, {placement}, {routing}: {told}")
    return Finding(f"cycle, and in brackets the slowdown by sharing of links: {'; '.join(words)}", "open")


def _model(rows: Sequence[Point]) -> Finding | None:
    quiet = [r for r in rows if r["vectors"] == min(x["vectors"] for x in rows)]
    if not quiet:
        return None
    words = []
    for machine in dict.fromkeys(r["machine"] for r in quiet):
        ratio = _mean([r["modelled"] / r["time"] for r in quiet if r["machine"] == machine])
        words.append(f"{name_of(machine)} {ratio:.2f}")
    return Finding(
        f"the model (alpha, beta, gamma, the farthest nodes, the rank with most) over the simulated time, one vector: "
        f"{', '.join(words)}; every message of the rank with most waits for the whole latency to the farthest node, "
        "one after the other; in the simulation latencies of a rank's messages overlap",
        "open",
    )


def _where(rows: Sequence[Point], slowdown: float) -> str:
    """The least intensity with such a slowdown."""
    found = sorted((r for r in rows if r["slowdown"] >= slowdown), key=lambda r: r["intensity"])
    return percent(found[0]["intensity"]) if found else "nowhere"


def _threshold(rows: Sequence[Point]) -> Finding:
    words = []
    for routing in dict.fromkeys(r["routing"] for r in rows):
        for placement in _placements(rows):
            for ranks in sorted({r["ranks"] for r in rows}):
                line = [r for r in rows if (r["routing"], r["placement"], r["ranks"]) == (routing, placement, ranks)]
                if line:
                    low, high = (_where(line, at) for at in (NOTICEABLE, SUBSTANTIAL))
                    words.append(f"{placement}, {routing}, {ranks:,} ranks {low} and {high}")
    calm = sum(r["slowdown"] < NOTICEABLE for r in rows)
    return Finding(
        f"the least intensity of our points at which cycles take {NOTICEABLE} and {SUBSTANTIAL} times as long: "
        f"{'; '.join(words)}. {calm} of {len(rows)} points stay below {NOTICEABLE}",
        "open",
    )


def _adaptive(rows: Sequence[Point]) -> Finding | None:
    pairs = []
    for r in rows:
        if r["routing"] == "minimal":
            same = [x for x in rows if x["routing"] == "adaptive" and all(
                x[name] == r[name] for name in ("ranks", "placement", "vectors", "jobs"))]  # fmt: skip
            pairs += [(x["time"] / r["time"], r) for x in same]
    if not pairs:
        return None
    words = []
    for placement in _placements([r for _, r in pairs]):
        ratios = [ratio for ratio, r in pairs if r["placement"] == placement]
        words.append(f"{placement} {min(ratios):.2f} to {max(ratios):.2f}")
    return Finding(f"time with adaptive over minimal routing: {', '.join(words)}", "open")


def _placement(rows: Sequence[Point]) -> Finding | None:
    words = []
    for ranks in sorted({r["ranks"] for r in rows}):
        found = {}
        for placement in _placements(rows):
            line = [r["time"] for r in rows if r["ranks"] == ranks and r["placement"] == placement]
            if line:
                found[placement] = _mean(line)
        if len(found) > 1:
            best = min(found, key=found.__getitem__)
            told = ", ".join(f"{name} {t / found[best]:.2f}" for name, t in found.items())
            words.append(f"{ranks:,} ranks: {told}")
    if not words:
        return None
    return Finding(f"time relative to the best placement, mean over volumes and routing: {'; '.join(words)}", "open")
