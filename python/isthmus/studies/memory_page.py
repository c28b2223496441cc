"""Memory of an MPI library by ranks beside the published share: table, figure and findings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..units import amount, percent
from .drawing import CLASSES, MUTED, heading, key, sheet
from .parameters import Finding, Point, Summary

#: Doerfler and Rajan: the share of all memory on Red Sky, and on how many ranks.
_PUBLISHED, _RANKS = 1 / 6, 16384
#: Relative error up to which a share agrees.
_CLOSE = 0.25


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    numbers = ("ranks", "in contact", "for each", "memory", "share")
    made = [
        [row["machine"], row["queues"], f"{row['ranks']:,}", percent(row["contact"]), amount(row["each"]),
         amount(row["bytes"]), percent(row["share"], 1)]
        for row in rows
    ]  # fmt: skip
    columns = ("machine", "receive queues", *numbers)
    return Summary(columns, made, numbers, partial(_draw, rows), {"sixth": _finding(rows)})


def _finding(rows: Sequence[Point]) -> Finding:
    """The share where all ranks are in contact, and with how many of them it would be the published one."""
    there = [row for row in rows if row["ranks"] == _RANKS]
    whole = next((row for row in there if row["contact"] == 1), None)
    if whole is None:
        return Finding(f"{_RANKS:,} ranks that are all in contact were not computed", "open")
    words = f"{percent(whole['share'], 1)} of the memory of a rank where all are in contact, with {whole['queues']}"
    slope = whole["share"] - next((row["share"] for row in there if row["queues"] == whole["queues"]
                                   and row["contact"] == 0), 0.0)  # fmt: skip
    if whole["share"] > _PUBLISHED and slope > 0:
        part = 1 - (whole["share"] - _PUBLISHED) / slope
        words += f"; a sixth would be contact with {percent(part)} of them"
    others = {row["queues"]: row["share"] for row in there if row["contact"] == 1 and row["queues"] != whole["queues"]}
    if others:
        words += ". With other queues: " + "; ".join(f"{percent(share, 1)} ({q})" for q, share in others.items())
    shares = [whole["share"], *others.values()]
    near = [abs(share / _PUBLISHED - 1) <= _CLOSE for share in shares]
    return Finding(words, "agrees" if near[0] else "partly" if any(near) else "differs")


def _draw(rows: Sequence[Point]) -> Any:
    words = (
        "Share of the memory of a rank that receive buffers of MPI take, by ranks, one on every core. Dashed: a sixth, "
        f"as published for {_RANKS:,} ranks of Red Sky."
    )
    fig, axes = sheet("Memory of MPI in a rank", words, 1, 1, height=5.4)
    ax = axes[0, 0]
    cases: dict[tuple[Any, ...], list[Point]] = {}
    for row in rows:
        cases.setdefault((row["machine"], row["queues"], row["contact"]), []).append(row)
    for number, ((machine, _, contact), mine) in enumerate(cases.items()):
        mine = sorted(mine, key=lambda row: row["ranks"])
        # Of queues what the curve depends on: those of each peer.
        kind = "queues of each peer" if mine[0]["each"] else "queues that all share"
        ax.plot(
            [row["ranks"] for row in mine], [row["share"] for row in mine], "o-", ms=3, lw=1.2 if number else 2.2,
            color=CLASSES[number % len(CLASSES)], label=f"{machine}, {kind}, {percent(contact)} in contact",
        )  # fmt: skip
    ax.axhline(_PUBLISHED, color=MUTED, lw=1, ls="--")
    ax.plot([_RANKS], [_PUBLISHED], "D", color=MUTED, ms=6)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    sizes = sorted({row["ranks"] for row in rows})
    ax.set_xticks(sizes[:: -(-len(sizes) // 8)], [f"{size:,}" for size in sizes[:: -(-len(sizes) // 8)]])
    least, most = min(row["share"] for row in rows), max(row["share"] for row in rows)
    ticks = [tick for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if least / 1.5 <= tick <= most * 1.5]
    ax.set_yticks(ticks, [percent(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel("ranks")
    heading(ax, "share of the memory of a rank")
    key(ax, loc="upper left")
    return fig
