"""Pictures of recorded programs: who talks to whom, how large messages are, where the time of ranks and calls goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..lowering.pattern import pattern
from ..recording.profile import Profile, profile
from ..schedule.program import EventKind
from ..schedule.shape import shape
from ..units import percent, text
from . import chart
from .chart import Target, figure, legend, save, still_suffix
from .common import INK, count, quantity
from .matrix import plot_pattern

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..schedule.program import Program

Size = tuple[float, float]
_WIDTH = 12.8
_CALLS = 12
_WAITING, _OUTSIDE = "#7A5195", "#DCE5EA"


def plot_communication(
    program: Program,
    target: Target = None,
    *,
    what: str = "bytes",
    collectives: bool = False,
    size: Size | None = None,
    format: str | None = None,
) -> Figure:
    """Draw the matrix of senders and receivers of a program, with the regular pattern in it.

    Parameters
    ----------
    program : Program
        Recorded or not.
    target : path or binary stream, optional
        File to write: .png, .svg or .pdf; by default none.
    what : {"bytes", "messages"}
    collectives : bool
        Count the messages of collectives too, with the default algorithms of ``lower``.
    size : (float, float), optional
        Width and height in inches.
    format : {"png", "svg", "pdf"}, optional
        Format of what is written to a stream.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix.
    """
    found = pattern(program, {} if collectives else None)
    regular = shape(found)
    note = str(regular) if regular else "no regular pattern" if len(found) else ""
    if not len(found) and (program.kind == EventKind.collective).any():
        note = "messages of collectives are not counted"
    return plot_pattern(found, target, what=what, note=note, size=size, format=format)


def plot_sizes(
    program: Program, target: Target = None, *, size: Size | None = None, format: str | None = None
) -> Figure:
    """Draw how many messages, and how many bytes, there are of which size; parameters as of :func:`plot_ranks`."""
    from matplotlib.patches import Patch

    suffix = still_suffix(target, format)
    p = _of(program)
    fig, above = figure("How large messages are", _facts(p), *_inches(size, 6.8))
    box = above.get_position()
    below = fig.add_axes((box.x0, box.y0, box.width, 0.44 * box.height))
    above.set_position((box.x0, box.y0 + 0.52 * box.height, box.width, 0.48 * box.height))
    tables = [(p.messages, chart.SEND, "messages"), (p.collectives, chart.REDUCE, "collectives")]
    there = [(table, colour, words) for table, colour, words in tables if len(table.low)]
    first = min((int(np.flatnonzero(table.number)[0]) for table, *_ in there), default=0)
    last = max((len(table.low) for table, *_ in there), default=1)
    wide = 0.86 / max(len(there), 1)
    for axis, name in ((above, "number"), (below, "bytes")):
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(above.spines["left"].get_edgecolor())
        for i, (table, colour, _) in enumerate(there):
            values = getattr(table, name).astype(float)
            at = np.arange(len(values)) + (i - (len(there) - 1) / 2) * wide
            axis.bar(at[values > 0], values[values > 0], wide, color=colour, linewidth=0, zorder=2)
        axis.set_xlim(first - 0.6, last - 0.4)
        axis.tick_params(colors=INK, labelsize=10, color=above.spines["left"].get_edgecolor())
    if there:
        numbers = np.concatenate([table.number for table, *_ in there])
        above.set_yscale("log")
        decades = np.log10([0.5 * numbers[numbers > 0].min(), 1.1 * numbers.max()])
        above.set_ylim(*10.0 ** np.array([np.floor(decades[0]), np.ceil(decades[1])]))
        above.minorticks_off()
    above.yaxis.set_major_formatter(lambda y, _: count(y) if 1 <= y < 1e5 else quantity(y, "").strip())
    below.yaxis.set_major_formatter(lambda y, _: quantity(y, "B"))
    step = -(-(last - first) // 14)
    ticks = np.arange(first, last, step)
    # The sums on the other axis are in powers of 1000.
    low = [text(0 if k == 0 else 1 << (int(k) - 1), "B", 3, decimal=True) for k in ticks]
    above.set_xticks(ticks, [""] * len(ticks))
    below.set_xticks(ticks, low)
    below.set_xlabel("size, from this one to the next power of two", color=INK, size=11)
    above.set_ylabel("number (logarithmic)", color=INK, size=11)
    below.set_ylabel("bytes together", color=INK, size=11)
    rows = []
    for table, colour, words in there:
        total = f"{count(int(table.number.sum()))} of {quantity(int(table.bytes.sum()), 'B')}"
        rows.append((Patch(color=colour), f"{words}: {total}".replace(" ", "\N{NO-BREAK SPACE}")))
    legend(fig, above, rows, "What moves" if rows else "Nothing moves")
    return save(fig, target, suffix)


def plot_ranks(
    program: Program, target: Target = None, *, size: Size | None = None, format: str | None = None
) -> Figure:
    """Draw the time of every rank: outside MPI, in messages, in collectives before and after the last rank arrived.

    Where times in MPI mean nothing, what ranks send and receive.

    Parameters
    ----------
    program : Program
        With a recording.
    target : path or binary stream, optional
        File to write: .png, .svg or .pdf; by default none.
    size : (float, float), optional
        Width and height in inches.
    format : {"png", "svg", "pdf"}, optional
        Format of what is written to a stream.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInput
        For another suffix, and a program that was not recorded.
    """
    from matplotlib.patches import Patch

    suffix = still_suffix(target, format)
    p = _of(program)
    t = p.ranks
    if p.oversubscribed is None:
        fig, ax = figure("Where the time of ranks goes", _facts(p), *_inches(size, 6.4))
        collective = t.collective - t.waiting
        parts = [
            ("outside MPI", np.maximum(np.nan_to_num(t.wall) - t.mpi, 0), _OUTSIDE),
            ("messages, calls for them", t.mpi - t.collective - t.completion, chart.SEND),
            ("waiting for messages, or testing", t.completion, chart.ONE_SIDED),
            ("collectives, once all ranks had arrived", collective, chart.REDUCE),
            ("collectives, until the last rank arrived", t.waiting, _WAITING),
        ]
        power, unit = chart.unit_of(round(float(np.nan_to_num(t.wall).max()) * 1e12))
        scale, label = 10.0 ** (12 - power), f"time ({unit})"
    else:
        fig, ax = figure("What ranks send and receive", f"{_facts(p)}  ·  {_excuse(p)}", *_inches(size, 6.4))
        parts = [("sent", t.sent.astype(float), chart.SEND), ("received", t.received.astype(float), chart.HANDLE)]
        scale, label = 1.0, "bytes"
        ax.yaxis.set_major_formatter(lambda y, _: quantity(y, "B"))
    total = sum(float(column.sum()) for _, column, _ in parts) or 1.0
    kept = [(words, column, colour) for words, column, colour in parts if column.any()]
    chart.stack_ranks(ax, program.ranks, [(column * scale, colour) for _, column, colour in kept])
    ax.set_ylabel(label)
    rows = [(Patch(color=colour), f"{words}: {percent(column.sum() / total)}") for words, column, colour in kept]
    legend(fig, ax, rows[::-1], "All ranks together")
    return save(fig, target, suffix)


def plot_calls(
    program: Program, target: Target = None, *, size: Size | None = None, format: str | None = None
) -> Figure:
    """Draw the time in each MPI function, or where times mean nothing the number of calls.

    Parameters as of :func:`plot_ranks`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.patches import Patch

    suffix = still_suffix(target, format)
    p = _of(program)
    table = p.functions
    order = np.arange(len(table)) if p.oversubscribed is None else np.argsort(-table.calls.astype(float), kind="stable")
    shown = order[:_CALLS]
    places = np.arange(len(shown))
    inches = _inches(size, 1.9 + 0.36 * max(len(shown), 3))
    names = [p.function_name(int(table.function[i])) for i in shown]
    notes = [f"{count(int(n))} call{'s' * (n != 1)}" for n in table.calls[shown].tolist()]
    if p.oversubscribed is None:
        fig, ax = figure("Where the time in MPI goes", _facts(p), *inches)
        whole = 100 / (float(np.nansum(p.ranks.wall)) or 1.0)
        waiting = np.nan_to_num(table.waiting[shown]) * whole
        values = table.time[shown] * whole
        ax.barh(places, values - waiting, 0.7, color=chart.SEND, linewidth=0, zorder=2)
        ax.barh(places, waiting, 0.7, values - waiting, color=_WAITING, linewidth=0, zorder=2)
        notes = [f"{percent(v / 100)}, {note}" for v, note in zip(values, notes, strict=True)]
        ax.set_xlabel("share of the time of all ranks (%)")
        rows = [(Patch(color=chart.SEND), "in the call"), (Patch(color=_WAITING), "until the last rank arrived")]
        legend(fig, ax, rows if waiting.any() else rows[:1], "Time")
    else:
        fig, ax = figure("How often MPI is called", f"{_facts(p)}  ·  {_excuse(p)}", *inches)
        values = table.calls[shown].astype(float)
        ax.barh(places, values, 0.7, color=chart.COMPUTE, linewidth=0, zorder=2)
        moved = [int(x) for x in np.maximum(table.sent[shown], table.received[shown])]
        notes = [f"{note}, {quantity(b, 'B')}" if b else note for note, b in zip(notes, moved, strict=True)]
        ax.set_xlabel("calls of all ranks")
        ax.xaxis.set_major_formatter(lambda x, _: count(x))
    ax.set_yticks(places, names)
    ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    # Names and words beside bars need room.
    ax.set_xlim(0, 1.5 * float(values.max(initial=1e-9)))
    box, width = ax.get_position(), fig.get_figwidth()
    left = 0.35 + 0.088 * max(map(len, names), default=0)
    ax.set_position((left / width, box.y0, box.x1 - left / width, box.height))
    for y, (value, note) in enumerate(zip(values, notes, strict=True)):
        ax.annotate(note, (value, y), (6, 0), textcoords="offset points", va="center", size=9.5, color=INK)
    return save(fig, target, suffix)


#: What ``isthmus show --plot`` draws.
DRAWINGS: dict[str, Callable[..., Figure]] = {
    "matrix": plot_communication,
    "sizes": plot_sizes,
    "ranks": plot_ranks,
    "calls": plot_calls,
}


def _of(program: Program) -> Profile:
    if program.recording is None:
        raise InvalidInput("the program was not recorded: only its matrix can be drawn")
    return profile(program)


def _inches(size: Size | None, height: float) -> tuple[float, float]:
    """Height and width of a figure."""
    return (height, _WIDTH) if size is None else (size[1], size[0])


def _facts(p: Profile) -> str:
    r = p.recording
    parts = [r.command.split("/")[-1] if r.command.startswith("/") else r.command, f"{count(r.ranks)} ranks"]
    if np.isfinite(p.ranks.wall).any():
        parts.append(f"{quantity(float(np.nanmax(p.ranks.wall)), 's')} between MPI_Init and MPI_Finalize")
    return "  ·  ".join(parts)


def _excuse(p: Profile) -> str:
    return f"times in MPI are meaningless here: {p.oversubscribed}"
