"""The output of ``print(profile)`` and ``isthmus show`` for a recorded program."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.recording import FULL, LIMITED
from ..units import amount, percent, text
from ..visible import bar
from .by_function_text import rows
from .endings import endings, named
from .functions import interface

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .by_function import FunctionTree
    from .profile import CallTable, Profile, SizeTable

# Rows of tables that are not asked for in full.
_ROWS, _RANKS = 8, 64
_BAR = 16
_LABEL = 11
# The narrowest that places of calls become.
_PLACE = 22
# Share of the computation from which on counters were read in all of it.
_ALL = 0.995
# Prose is wrapped also where lines may have any length.
_PROSE = 116


@dataclass
class Column:
    """A column of a table; of several with ``drop``, the largest goes first where lines are too long."""

    name: str
    cells: list[str]
    drop: int = 0
    left: bool = False
    folds: bool = False

    def width(self) -> int:
        return max(map(len, (self.name, *self.cells)))


def report(profile: Profile, *, full: bool = False, depth: int | None = None, width: int | None = 100) -> str:
    """The profile for people.

    Parameters
    ----------
    full : bool
        All places, functions, ranks, sizes and pairs, not only the first ones.
    depth : int, optional
        Levels of functions that are shown; by default 4, all of them if ``full``.
    width : int or None
        Width of a line; None: lines are as long as they need to be.
    """
    p = profile
    parts = [_head(p, width)]
    if notes := warnings(p):
        parts.append("\n".join(line for note in notes for line in _wrapped("! ", note, width)))
    if len(p.functions):
        parts.append(_calls("calls", p, p.functions, full, width))
        parts.append(_calls("places", p, p.sites, full, width))
        if p.tree is not None:
            parts.append(_tree(p, p.tree, depth, full, width))
    if len(p.messages.low) or len(p.collectives.low):
        parts.append(_sizes(p, full, width))
    if p.pairs and (full or p.rank is not None):
        parts.append(_pairs(p, width))
    if full and p.rank is None:
        parts.append(_ranks(p, width))
        if p.recording.untimed:
            counts = {name: int(column.sum()) for name, column in p.recording.untimed.items()}
            words = ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items(), key=lambda one: -one[1]))
            parts.append("\n".join(_wrapped("counted, not timed: ", words, width)))
    return "\n\n".join(parts)


# The head: what ran, and the figures that matter most


def _head(p: Profile, width: int | None) -> str:
    r = p.recording
    where = f"on {r.hosts[0]}" if len(r.hosts) == 1 else f"on {len(r.hosts)} hosts"
    words = [f"{_many(r.ranks, 'rank')} {where}", r.library.split(",")[0]]
    words.append(f"recorded {r.started[:16].replace('T', ' ')} UTC" if r.started else "")
    lines = [*_wrapped("", r.command, width), *_wrapped("", ", ".join(filter(None, words)), width)]
    rows = _time_rows(p) if p.rank is None else _rank_rows(p, p.rank)
    rows += [("messages", _message_words(p))]
    if p.rank is None and len(p.pattern):
        rows.append(("pattern", str(p.shape) if p.shape else "no regular pattern found"))
    rows.append(("recording", _recorder_words(p)))
    rows += [("counters", "; ".join(p.recording.uncounted))] if p.recording.uncounted else []
    for label, said in rows:
        lines += _wrapped(f"  {label:<{_LABEL}} ", said, width)
    return "\n".join(lines)


def _time_rows(p: Profile) -> list[tuple[str, str]]:
    r, ranks = p.recording, p.ranks
    library, begin, end = interface(r.library)
    wall = float(np.nanmax(ranks.wall)) if np.isfinite(ranks.wall).any() else float("nan")
    rows = []
    if np.isfinite(wall):
        frame = [
            f"{name} took {text(float(np.nanmax(column)), 's', 3)}"
            for name, column in ((begin, r.init), (end, r.finalize))
            if np.isfinite(column).any()
        ]
        rows.append(("time", ", ".join([f"{text(wall, 's', 4)} between {begin} and {end}", *frame])))
    if p.oversubscribed is None:
        share = ranks.share
        if np.isfinite(share).any():
            low, high = int(np.nanargmin(share)), int(np.nanargmax(share))
            total = float(np.nansum(ranks.mpi) / np.nansum(ranks.wall))
            spread = f", from {percent(share[low], 1)} on rank {low} to {percent(share[high], 1)} on rank {high}"
            rows.append((f"in {library}", percent(total, 1) + " of it" + (spread if r.ranks > 1 else "")))
        late = float(np.nansum(ranks.waiting))
        if late > 0 and np.nansum(ranks.wall) > 0:
            part = f"{percent(late / float(np.nansum(ranks.wall)), 1)} of the time in collectives, "
            rows.append(("waiting", part + "until the last rank arrived"))
    else:
        words = f"times in {library} are meaningless here and left out: {p.oversubscribed}"
        rows.append((f"in {library}", words))
    computing = ranks.computing
    if computing.any():
        most = int(computing.argmax())
        words = f"{text(float(computing.mean()), 's', 3)} of processor time per rank"
        if r.ranks > 1:
            words += f", on rank {most} {p.imbalance:.2f} times that" if p.imbalance >= 1.005 else ", equal on all"
        rows.append(("computation", words))
    return rows


def _rank_rows(p: Profile, rank: int) -> list[tuple[str, str]]:
    r, ranks = p.recording, p.ranks
    library, begin, end = interface(r.library)
    rows = [("rank", f"{rank} of {r.ranks}, on {r.hosts[r.host[rank]]}")]
    if np.isfinite(ranks.wall[rank]):
        rows.append(("time", f"{text(float(ranks.wall[rank]), 's', 4)} between {begin} and {end}"))
    if p.oversubscribed is None:
        share = ranks.share
        if np.isfinite(share[rank]):
            place = int((share > share[rank]).sum()) + 1
            rows.append((f"in {library}", f"{percent(share[rank], 1)} of it, the {_ordinal(place)} most of all ranks"))
        if ranks.waiting[rank] > 0:
            words = f"{text(float(ranks.waiting[rank]), 's', 3)} in collectives, until the last rank arrived"
            rows.append(("waiting", words))
    else:
        rows.append((f"in {library}", f"times in {library} are meaningless here and left out: {p.oversubscribed}"))
    mean = float(ranks.computing.mean())
    if mean > 0:
        words = f"{text(float(ranks.computing[rank]), 's', 3)} of processor time"
        rows.append(("computation", f"{words}, {ranks.computing[rank] / mean:.2f} times the mean of all ranks"))
    return rows


def _message_words(p: Profile) -> str:
    number, volume = int(p.messages.number.sum()), int(p.messages.bytes.sum())
    if not number:
        return "none except in collectives" if len(p.collectives.low) else "none"
    words = f"{number:,} with {_bytes(volume, 4) or '0 B'} in total"
    partners = p.ranks.partners
    if p.rank is not None:
        return f"{words}, sent; {_many(int(partners[p.rank]), 'partner')}"
    low, high = int(partners.min()), int(partners.max())
    if low == high:
        return f"{words}; every rank has {_many(high, 'partner')}"
    return f"{words}; partners of a rank: {low} to {high}, {partners.mean():.3g} on average"


def _recorder_words(p: Profile) -> str:
    r = p.recording
    _, begin, end = interface(r.library)
    calls = int(p.functions.calls.sum())
    untimed = sum(int(column.sum() if p.rank is None else column[p.rank]) for column in r.untimed.values())
    words = f"{calls:,} calls" + (f" and {untimed:,} that are only counted" if untimed else "")
    seconds, memory = float(np.nan_to_num(r.recorder).max()), float(r.memory.max())
    if seconds or memory:
        words += f"; the recorder took {text(seconds, 's', 3)} in {begin} and {end}, {amount(memory)}"
    own = float(r.overhead.sum() if p.rank is None else r.overhead[p.rank]) if len(r.overhead) else 0.0
    if own > 0 and calls:
        each = text(own / calls, "s", 3)
        words += f"; {text(own, 's', 3)} of its own between calls, {each} per call, is subtracted from computation"
    return words


def warnings(p: Profile) -> list[str]:
    """Sentences on what a reader must know: how ranks ended, what is missing, what the reader of the trace found."""
    r = p.recording
    out = []
    out += endings(r)
    full, lost = np.flatnonzero(r.ending & FULL), int(r.lost.sum())
    limited = (r.ending[full] & LIMITED) > 0
    if limited.any():
        out.append(
            f"the limit on raw traces was reached by {named(full[limited])}: isthmus record --limit sets another"
        )
    if not limited.all():
        out.append(f"there was no room on the disk for the trace of {named(full[~limited])}")
    if lost:
        out.append(
            f"{_many(lost, 'call')} of {named(np.flatnonzero(r.lost))} {'was' if lost == 1 else 'were'} not recorded"
        )
    if r.unmodelled:
        calls = ", ".join(
            f"{number:,} {name}" for name, number in sorted(r.unmodelled.items(), key=lambda one: -one[1])
        )
        out.append(f"not part of the program, nor of any prediction: {calls}")
    return [*out, *r.notes]


# Tables


def _calls(title: str, p: Profile, table: CallTable, full: bool, width: int | None) -> str:
    shown = range(len(table) if full else min(len(table), _ROWS))
    measured = p.oversubscribed is None
    time = p.ranks.wall if p.rank is None else p.ranks.wall[p.rank : p.rank + 1]
    all_time = float(np.nansum(time))
    calls = [p.function_name(int(table.function[i])) for i in shown]
    out = [Column("call" if title == "calls" else "call at place", calls, left=True)]
    if title == "places":
        out.append(Column("", [p.site_name(int(table.site[i])) for i in shown], left=True, folds=True))
    out.append(Column("calls", [f"{int(table.calls[i]):,}" for i in shown], 3 if title == "places" else 0))
    if measured:
        share = [table.time[i] / all_time if all_time else 0.0 for i in shown]
        out += [
            Column("share", [percent(x, 1) for x in share]),
            Column("time", [_seconds(table.time[i]) for i in shown], 5),
            Column("per call", [_seconds(table.time[i] / max(float(table.calls[i]), 1)) for i in shown], 4),
            Column("longest", [_seconds(table.longest[i]) for i in shown], 6),
        ]
        if np.isfinite(table.waiting).any():
            out.append(Column("waiting", [_seconds(table.waiting[i]) for i in shown], 3))
    if table.sent.any():
        out.append(Column("sent", [_bytes(table.sent[i]) for i in shown], 2 if measured else 0))
    if table.received.any():
        out.append(Column("received", [_bytes(table.received[i]) for i in shown], 7 if measured else 1))
    if p.rank is None:
        out.append(Column("ranks", [f"{int(table.ranks[i]):,}" for i in shown], 8))
    if measured and title == "calls":
        out.append(Column("", [bar(x, _BAR) for x in share], 9, left=True))
    lines = _lines(out, width)
    if len(shown) < len(table):
        rest = table.time[len(shown) :].sum() / all_time if measured and all_time else 0.0
        share_words = f", {percent(rest, 1)} of the time" if measured else ""
        lines.append(f"and {len(table) - len(shown)} more{share_words}: --full")
    return "\n".join(lines)


def _tree(p: Profile, tree: FunctionTree, depth: int | None, full: bool, width: int | None) -> str:
    """Functions by who called them."""
    shown = rows(tree, depth, full)
    measured = p.oversubscribed is None
    time = p.ranks.wall if p.rank is None else p.ranks.wall[p.rank : p.rank + 1]
    all_time = float(np.nansum(time))

    def cells(words: Callable[[int], str]) -> list[str]:
        return [words(row.node) if row.node >= 0 else "" for row in shown]

    out = [Column("function", [row.words for row in shown], left=True, folds=True)]
    out.append(Column("calls", cells(lambda i: f"{int(tree.calls[i]):,}" if tree.calls[i] else ""), 3))
    if measured:
        out.append(Column("share", cells(lambda i: percent(tree.time[i] / all_time if all_time else 0.0, 1))))
        out.append(Column("time in MPI", cells(lambda i: _seconds(tree.time[i])), 2))
    out.append(Column("computation", cells(lambda i: "" if tree.mpi[i] else _seconds(tree.computing[i]))))
    if tree.sent.any():
        out.append(Column("sent", cells(lambda i: _bytes(tree.sent[i])), 1))
    for name, column in tree.counters.items():
        words = ["" if mpi else _count(number) for mpi, number in zip(tree.mpi, column, strict=True)]
        out.append(Column(name, cells(words.__getitem__), 5))
    if {"instructions", "cycles"} <= tree.counters.keys():
        out.append(Column("per cycle", cells(lambda i: _per_cycle(tree, i))))
    if tree.received.any():
        out.append(Column("received", cells(lambda i: _bytes(tree.received[i])), 4))
    lines = _lines(out, width)
    if tree.counted is not None and tree.counted[0] < _ALL * tree.computing[0]:
        share = percent(float(tree.counted[0] / tree.computing[0]), 1)
        lines += _wrapped(
            "", f"counters were read in {share} of the computation: not where calls follow each other", width
        )
    return "\n".join(lines)


def _count(value: Any) -> str:
    """A number of three digits and the power of thousand."""
    number = float(f"{int(value):.3g}")
    for scale, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale:
            return f"{number / scale:.3g} {letter}"
    return f"{number:.0f}" if value else ""


def _per_cycle(tree: FunctionTree, node: int) -> str:
    cycles = float(tree.counters["cycles"][node])
    return f"{tree.counters['instructions'][node] / cycles:.2f}" if cycles and not tree.mpi[node] else ""


def _sizes(p: Profile, full: bool, width: int | None) -> str:
    """Messages and collectives by size; ranges of several powers of two where they are too many."""
    longest = max(len(p.messages.low), len(p.collectives.low))
    step = next(k for k in range(1, 65) if full or len(_ranges(p, longest, k)) <= _ROWS)
    ranges = _ranges(p, longest, step)
    out = [Column("size", [_range_words(low, high) for low, high in ranges], left=True)]
    for table, name, drop in ((p.messages, "messages", 0), (p.collectives, "collective calls", 2)):
        if not len(table.low):
            continue
        number, volume = (
            [int(column[low:high].sum()) for low, high in ranges] for column in (table.number, table.bytes)
        )
        out.append(Column(name, [f"{n:,}" if n else "" for n in number], drop))
        out.append(Column("bytes", [_bytes(v) if n else "" for n, v in zip(number, volume, strict=True)], drop))
        if table is p.messages:
            most = max(volume) or 1
            out.append(Column("", [bar(v / most, _BAR) for v in volume], 4, left=True))
    return "\n".join(_lines(out, width))


def _ranges(p: Profile, longest: int, step: int) -> list[tuple[int, int]]:
    """Ranges of elements of the tables of sizes that are not empty."""
    bounds = [0, *range(1, longest, step), longest]
    return [
        (low, high)
        for low, high in itertools.pairwise(bounds)
        if p.messages.number[low:high].any() or p.collectives.number[low:high].any()
    ]


def _range_words(low: int, high: int) -> str:
    if low == 0:
        return "0 B"
    first, last = 1 << (low - 1), 1 << (high - 1)
    return "1 B" if last == 2 else f"{amount(first)} to {amount(last)}"


def _pairs(p: Profile, width: int | None) -> str:
    source, target, volume, messages = zip(*p.pairs, strict=True)
    return "\n".join(
        _lines(
            [
                Column("largest pairs: from rank", [str(x) for x in source], left=True),
                Column("to rank", [str(x) for x in target]),
                Column("bytes", [_bytes(x) for x in volume]),
                Column("messages", [f"{x:,}" for x in messages]),
            ],
            width,
        )
    )


def _ranks(p: Profile, width: int | None) -> str:
    """All ranks; of very many those that are longest in MPI, or send most."""
    t, r = p.ranks, p.recording
    key: NDArray[Any] = t.sent.astype(float) if p.oversubscribed else np.nan_to_num(t.share)
    shown = np.arange(r.ranks) if r.ranks <= _RANKS else np.argsort(-key, kind="stable")[:_RANKS]
    out = [Column("rank", [str(i) for i in shown]), Column("host", [r.hosts[r.host[i]] for i in shown], 3, left=True)]
    if p.oversubscribed is None:
        out += [
            Column("in MPI", [percent(t.share[i], 1) for i in shown]),
            Column("time", [_seconds(t.mpi[i]) for i in shown]),
            Column("waiting", [_seconds(t.waiting[i]) for i in shown], 1),
        ]
    out += [
        Column("computation", [_seconds(t.computing[i]) for i in shown]),
        Column("calls", [f"{int(t.calls[i]):,}" for i in shown], 2),
        Column("sent", [_bytes(t.sent[i]) for i in shown]),
        Column("received", [_bytes(t.received[i]) for i in shown], 4),
        Column("partners", [str(int(t.partners[i])) for i in shown]),
    ]
    lines = _lines(out, width)
    if len(shown) < r.ranks:
        lines.append(f"and {r.ranks - len(shown):,} more ranks: --json has all")
    return "\n".join(lines)


def _lines(table: Sequence[Column], width: int | None) -> list[str]:
    """Columns side by side, as many as fit."""
    kept = list(table)
    if width is not None:
        while _width(kept, _PLACE) > width and any(column.drop for column in kept):
            kept.remove(max(kept, key=lambda column: column.drop))
        spare = width - _width(kept, 0)
        for column in kept:
            if column.folds:
                column.cells = [_shortened(cell, max(spare, _PLACE)) for cell in column.cells]
    widths = [column.width() for column in kept]
    rows = zip(*((column.name, *column.cells) for column in kept), strict=True)
    return [
        "  ".join(
            f"{cell:<{w}}" if column.left else f"{cell:>{w}}" for cell, w, column in zip(row, widths, kept, strict=True)
        ).rstrip()
        for row in rows
    ]


def _width(table: Iterable[Column], place: int) -> int:
    """Width of lines if columns that fold are at most ``place`` wide."""
    return sum(2 + (min(column.width(), place) if column.folds else column.width()) for column in table) - 2


def _shortened(words: str, width: int) -> str:
    """Cut off in the middle: the begin and the end tell places apart."""
    if len(words) <= width:
        return words
    head = (width - 1) * 2 // 3
    return f"{words[:head]}…{words[len(words) - (width - 1 - head) :]}"


# Words


def _wrapped(first: str, words: str, width: int | None) -> list[str]:
    """Lines that begin with a label, the others set in as far."""
    indent = " " * len(first)
    # Numbers keep their units.
    tied = re.sub(r"(?<=[0-9]) (?=\S)", "\N{NO-BREAK SPACE}", words)
    lines = textwrap.wrap(tied, (width or _PROSE) - len(first), break_on_hyphens=False) or [""]
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
    return [f"{first if i == 0 else indent}{line}" for i, line in enumerate(lines)]


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


def _seconds(value: float) -> str:
    return text(float(value), "s", 3) if np.isfinite(value) and value else ""


def _bytes(value: Any, digits: int = 3) -> str:
    """Sums, rounded first, in decimal units whether a number is a multiple of 1024 or not."""
    return text(float(f"{int(value):.{digits}g}"), "B", digits, decimal=True) if value else ""


# For programs


def _tree_rows(p: Profile) -> list[dict[str, Any]]:
    t = p.tree
    if t is None:
        return []
    names = ("parent", "name", "mpi", "calls", "time", "computing", "own", "sent", "received")
    counted = {} if t.counted is None else {"counted": t.counted, **t.counters}
    return [
        {name: getattr(t, name)[i] for name in names} | {name: column[i] for name, column in counted.items()}
        for i in range(len(t))
    ]


def summary(p: Profile) -> dict[str, Any]:
    """The profile for programs: numbers in SI; times that mean nothing are null."""
    r, ranks = p.recording, p.ranks
    out: dict[str, Any] = {"noun": "program", "ranks": r.ranks, "rank": p.rank}
    out |= {name: getattr(r, name) for name in ("command", "directory", "started", "library", "mpi", "hosts")}
    out |= {"recorded_by": r.version, "oversubscribed": p.oversubscribed, "warnings": warnings(p)}
    out["shape"] = None if p.shape is None else {
        name: getattr(p.shape, name)
        for name in ("kind", "name", "extents", "periodic", "stencil", "explained", "covered", "one_way")
    }  # fmt: skip
    out["imbalance"] = p.imbalance
    out["counters"] = {"names": [] if r.counters is None else r.counters.names, "missing": r.uncounted}
    out["calls"] = _call_rows(p, p.functions)
    out["functions"] = _tree_rows(p)
    out["places"] = _call_rows(p, p.sites)
    out["messages"], out["collectives"] = _size_rows(p.messages), _size_rows(p.collectives)
    out["pairs"] = [dict(zip(("from", "to", "bytes", "messages"), pair, strict=True)) for pair in p.pairs]
    per_rank = {name: getattr(ranks, name) for name in ranks.__dataclass_fields__}
    per_rank |= {name: getattr(r, name) for name in ("host", "cpu", "init", "finalize", "recorder", "memory", "lost")}
    per_rank |= {"ending": r.ending, "clock_error": r.clock_error}
    out["by_rank"] = per_rank
    out["untimed"] = {name: int(column.sum()) for name, column in r.untimed.items()}
    out["unmodelled"] = r.unmodelled
    return out


def _call_rows(p: Profile, table: CallTable) -> list[dict[str, Any]]:
    names = [name for name in table.__dataclass_fields__ if name not in ("function", "site")]
    return [
        {"call": p.function_name(int(table.function[i]))}
        | ({} if table is p.functions else {"place": p.site_name(int(table.site[i]))})
        | {name: getattr(table, name)[i] for name in names}
        for i in range(len(table))
    ]


def _size_rows(table: SizeTable) -> list[dict[str, int]]:
    rows = zip(*(column.tolist() for column in (table.low, table.number, table.bytes)), strict=True)
    return [dict(zip(("from", "number", "bytes"), row, strict=True)) for row in rows if row[1]]
