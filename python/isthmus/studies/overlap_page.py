"""What is left of communication by way and number of ranks: table, figure and findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..units import percent, text
from .drawing import CLASSES, FAINT, heading, key, sheet
from .parameters import Finding, Point, Summary

#: Panels side by side.
_COLUMNS = 2
#: Ways in words.
_WAYS = {"blocking": "blocking", "tests": "pipelined, with tests", "thread": "pipelined, thread"}
#: Claims about the whole time, not what communication adds to it.
_WHOLE = ("speed-up",)


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    numbers = ("ranks", "tiles", "window", "computation", "time", "overhead", "hidden", "gain")
    return Summary(
        columns=("claim", "program", "machine", "way", *numbers),
        rows=[_row(row, _blocking(rows, row)) for row in rows],
        right=numbers,
        draw=partial(_draw, rows),
        findings=_findings(rows),
    )


def _problem(row: Point) -> tuple[Any, ...]:
    """What rows have in common that differ in the way alone."""
    return row["claim"], row["program"], row["machine"], row["per_node"], row["model"], row["ranks"]


def _blocking(rows: Sequence[Point], of: Point) -> Point | None:
    return next((row for row in rows if row["way"] == "blocking" and _problem(row) == _problem(of)), None)


def overhead(row: Point) -> float:
    """What communication adds to computation, seconds."""
    return float(row["time"] - row["computation"])


def hidden(row: Point, blocking: Point) -> float:
    """Part of the blocking program's overhead that is not there."""
    whole = overhead(blocking)
    return 1 - overhead(row) / whole if whole > 0 else 0.0


def gain(row: Point, blocking: Point) -> float:
    """Part of the blocking program's time that is saved."""
    return float(1 - row["time"] / blocking["time"])


def _row(row: Point, blocking: Point | None) -> list[str]:
    out = [row["claim"], row["program"], _short(row), _WAYS[row["way"]], f"{row['ranks']:,}"]
    out += [str(row[name]) if row[name] else "" for name in ("tiles", "window")]
    out += [text(row["computation"], "s", 4), text(row["time"], "s", 4), text(max(overhead(row), 0.0), "s", 3)]
    compared = row["way"] != "blocking" and blocking is not None
    return out + [percent(share(row, blocking)) if compared else "" for share in (hidden, gain)]  # type: ignore[arg-type]


def _short(row: Point) -> str:
    """A machine of the catalogue, or the name that a specification has."""
    words = row["machine"].split()
    named = [word.partition("=")[2] for word in words if word.startswith("name=")]
    return str((named or words)[0])


def _groups(rows: Sequence[Point]) -> dict[str, list[Point]]:
    """Rows by program and machine, named by what distinguishes them."""
    programs = list(dict.fromkeys(row["program"] for row in rows))
    out: dict[str, list[Point]] = {}
    for row in rows:
        short, _, given = row["program"].partition(":")
        alike = [set(one.partition(":")[2].split(",")) for one in programs if one.partition(":")[0] == short]
        own = [pair for pair in given.split(",") if pair not in set.intersection(*alike)]
        words = [short, f"({', '.join(own)})", "on"] if own else [short, "on"]
        out.setdefault(" ".join([*(words if len(programs) > 1 else []), _short(row)]), []).append(row)
    return out


# -- figure -----------------------------------------------------------------------------------------------------------


def _draw(rows: Sequence[Point]) -> Any:
    panels = _groups(rows)
    columns = min(_COLUMNS, len(panels))
    words = (
        "Simulated. What communication adds to the computation of the rank that computes most, by ranks, for a problem "
        "of one size; less is better. Speed-up: time of the program on one rank over that on many."
    )
    fig, axes = sheet("What is left of communication", words, -(-len(panels) // columns), columns, height=4.3)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, (name, found) in zip(axes.flat, panels.items(), strict=False):
        ranks = sorted({row["ranks"] for row in found})
        whole = found[0]["claim"] in _WHOLE
        for number, way in enumerate(_WAYS):
            mine = sorted((row["ranks"], row) for row in found if row["way"] == way)
            if not mine:
                continue
            if whole:
                ys = [row["work"] / row["time"] for _, row in mine]
                ax.plot([r for r, _ in mine], ys, "o-", ms=3.5, lw=1.8, color=CLASSES[number], label=_WAYS[way])
            else:
                place = [ranks.index(r) + (number - 1) * 0.27 for r, _ in mine]
                heights = [max(overhead(row), 0.0) for _, row in mine]
                ax.bar(place, heights, 0.25, color=CLASSES[number], label=_WAYS[way])
        if whole:
            ax.plot(ranks, ranks, color=FAINT, lw=1.2, label="ideal")
            ax.set_ylabel("speed-up")
        else:
            ax.set_xticks(range(len(ranks)), [f"{r:,}" for r in ranks])
            ax.set_ylabel("overhead of communication, s")
            ax.set_ylim(0, max(max(overhead(row) for row in found), 1e-9) * 1.3)  # room for the legend
        ax.set_xlabel("ranks")
        heading(ax, name)
        key(ax)
    return fig


# -- findings ---------------------------------------------------------------------------------------------------------


def _findings(rows: Sequence[Point]) -> dict[str, Finding]:
    out = {}
    for claim in dict.fromkeys(row["claim"] for row in rows):
        judge = _JUDGES.get(claim)
        mine = [row for row in rows if row["claim"] == claim]
        if judge is not None and (finding := judge(mine)) is not None:
            out[claim] = finding
    return out


def _pairs(rows: Sequence[Point], way: str = "") -> list[tuple[Point, Point]]:
    """Rows that hide something, and their blocking ones."""
    found = [(row, _blocking(rows, row)) for row in rows if row["way"] != "blocking" and way in ("", row["way"])]
    return [(row, blocking) for row, blocking in found if blocking is not None]


def _by_machine(rows: Sequence[Point], share: Callable[[Point, Point], str], way: str) -> str:
    """'ethernet: 97 % (2), ...' of a way, by program and machine, with numbers of ranks in brackets."""
    out = []
    for name, mine in _groups(rows).items():
        found = sorted((row["ranks"], share(row, blocking)) for row, blocking in _pairs(mine, way))
        if found:
            out.append(f"{name}: " + ", ".join(f"{said} ({ranks:,})" for ranks, said in found))
    return "; ".join(out)


def _words(rows: Sequence[Point]) -> str:
    """Overhead, what is hidden, and the gain, by machine, with numbers of ranks in brackets."""
    was = _by_machine(rows, lambda _, blocking: text(overhead(blocking), "s", 3), "tests")
    out = [f"overhead of blocking calls (ranks): {was}"]
    for way in ("tests", "thread"):
        part = _by_machine(rows, lambda row, blocking: percent(hidden(row, blocking), 0), way)
        if not part:
            continue
        out.append(f"hidden, {_WAYS[way]}: {part}")
        saved = _by_machine(rows, lambda row, blocking: percent(gain(row, blocking), 0), way)
        out.append(f"time saved: {saved}")
    return ". ".join(out)


def _finding(rows: Sequence[Point], right: Sequence[bool]) -> Finding | None:
    """All figures; agrees if all are as published, partly if some are."""
    if not right:
        return None
    return Finding(_words(rows), "agrees" if all(right) else "partly" if any(right) else "differs")


def _less(rows: Sequence[Point]) -> Finding | None:
    """Whether overhead is less at all sizes in all ways that hide."""
    better = [overhead(row) < overhead(blocking) for row, blocking in _pairs(rows)]
    return (
        Finding(_words(rows), "agrees" if all(better) else "partly" if any(better) else "differs") if better else None
    )


def _ninety(rows: Sequence[Point]) -> Finding | None:
    """Whether more than 90 % of the overhead is hidden at all sizes in both ways, between which the truth is."""
    return _finding(rows, [hidden(row, blocking) > 0.9 for row, blocking in _pairs(rows)])


def _speed_up(rows: Sequence[Point]) -> Finding | None:
    """Speed-ups at the most ranks; agrees if the program is faster with them than with half of them, and by hiding."""
    words = []
    right = []
    for name in dict.fromkeys(_short(row) for row in rows):
        there = [row for row in rows if _short(row) == name]
        most = max(row["ranks"] for row in there)
        ups = {(row["way"], row["ranks"]): row["work"] / row["time"] for row in there}
        ends = {way: up for (way, ranks), up in ups.items() if ranks == most}
        if not {"blocking", "tests"} <= set(ends):
            return None
        words.append(f"{name}, {most} ranks: " + ", ".join(f"{_WAYS[way]} {up:.1f}" for way, up in ends.items()))
        grows = all(ends[way] >= up for (way, _), up in ups.items())
        right.append(grows and ends["tests"] > ends["blocking"])
    return Finding("speed-up: " + "; ".join(words), "agrees" if all(right) else "partly" if any(right) else "differs")


def _seventeen(rows: Sequence[Point]) -> Finding | None:
    """The gain on 32,768 ranks beside 17 %."""
    found = [gain(row, blocking) for row, blocking in _pairs(rows) if row["ranks"] == 32768]
    return _finding(rows, [abs(one - 0.17) <= 0.05 for one in found]) if found else _shown(rows)


def _shown(rows: Sequence[Point]) -> Finding | None:
    """Where no number was published that we know."""
    return Finding(_words(rows), "open") if _pairs(rows) else None


_JUDGES: dict[str, Callable[[Sequence[Point]], Finding | None]] = {
    "fft-overhead": _less,
    "ninety": _ninety,
    "speed-up": _speed_up,
    "osem": _less,
    "fft-scale": _seventeen,
    "dense": _shown,
}
