"""The sections of the report: each a function of the advice, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from ..... import __version__
from .....errors import InvalidInput
from .....html.markup import Cell, Row, Section, amount, folded, paragraph, table
from .....lowering.pattern import pattern
from .....mapping.metrics import DEFINITIONS
from .....schedule.program import Program
from .....units import amount as bytes_words
from .....units import percent, span
from ....advice import LOSSES, TIME_CLASSES, Advice, Prediction
from ...as_json import machine_rows
from ...sentences import seconds
from ...text import (
    BOUNDS,
    cost_words,
    dominant_words,
    growth_words,
    order_words,
    part_words,
    placement_words,
    placing_rows,
    recorded,
)
from .. import svg
from .collectives import collectives
from .network import network
from .settings import settings

if TYPE_CHECKING:
    from .....recording.profile import Profile
    from ....advice import Sentence

#: Rows of a short table.
_PAIRS = 10
#: How the parts of the time are drawn.
_COLOURS = {
    "computation": "f-compute",
    "imbalance": "f-waiting",
    "dependencies": "f-synchronisation",
    "network": "f-bandwidth",
    "contention": "f-contention",
}


def summary(advice: Advice) -> Section:
    p = advice.predictions[0]
    e = p.efficiency
    tiles = [
        ("predicted time", seconds(p.time), placement_words(p)),
        ("parallel efficiency", percent(e.parallel), "mean computation / time"),
        ("load balance", percent(e.load_balance), "mean / maximum computation of a rank"),
        ("serialisation", percent(e.serialisation), "maximum computation / ideal-network time"),
        ("transfer", percent(e.transfer), "ideal-network time / time"),
        ("largest loss", dominant_words(p), "besides computation"),
    ]
    body = "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b><small>{escape(words)}</small></div>'
        for name, value, words in tiles
    )
    body = f'<div class="tiles">{body}</div><h3>Advice</h3>{_listed("ol", advice.sentences)}'
    if advice.bounds:
        body += f"<h3>Upper bounds</h3>{_listed('ul', advice.bounds)}{paragraph(BOUNDS, 'note')}"
    return Section("Summary", "summary", body)


def _listed(kind: str, sentences: Sequence[Sentence]) -> str:
    items = "".join(f"<li>{escape(s.text)}</li>" for s in sentences)
    return f'<{kind} class="advice">{items}</{kind}>'


def where(advice: Advice) -> Section:
    p = advice.predictions[0]
    mean = p.mean
    rows: list[Row] = []
    for name, words in TIME_CLASSES.items():
        on = p.path.get(name) if p.path is not None else None
        value = mean[name]
        if not on and not value:
            continue
        rows.append([words, amount(on, p.span), amount(value, p.time)])
        if name == "compute" and p.beyond:
            rows.append(["… above the mean over ranks", amount(p.beyond, p.time), ""])
    headings = ["", "critical path", "mean over ranks"]
    if p.path is None:
        rows = [[row[0], row[2]] for row in rows]
        headings = [headings[0], headings[2]]
    part = "" if p.part is None else paragraph(part_words(p), "note")
    steps = [(LOSSES[name], _COLOURS[name], value) for name, value in p.losses.items() if value > 0]
    drawn = svg.waterfall(steps, p.time)
    return Section(
        "Where the time goes",
        "where",
        f'<div class="narrow">{table(headings, rows, sort=False)}</div>{part}'
        f"<h3>Breakdown of the predicted time</h3>{drawn}"
        f"<h3>By rank</h3>{svg.breakdown(p)}",
    )


def timeline(advice: Advice) -> Section | None:
    p = advice.predictions[0]
    if p.path is None:
        return None
    drawing, words = svg.timeline(p)
    return Section("Timeline", "timeline", paragraph(words) + drawing)


def what_ifs(advice: Advice) -> Section:
    p = advice.predictions[0]
    most = max((w.saving for w in p.what_ifs), default=0.0)

    def bars(bound: bool) -> str:
        rows = [
            (
                escape(w.words),
                "bound" if w.bound else "simulated",
                max(w.saving, 0.0),
                f"{escape(seconds(w.saving))}<small>{escape(percent(w.saving / p.time))}</small>",
            )
            for w in sorted(p.what_ifs, key=lambda w: -w.saving)
            if w.bound == bound
        ]
        return svg.bars(rows, most)

    body = "<h3>Simulated, with one change each</h3>" + bars(False)
    body += "<h3>Upper bounds on savings</h3>" + bars(True)
    return Section("What-if savings", "what-ifs", body + paragraph(BOUNDS, "note"))


def sensitivities(advice: Advice) -> Section | None:
    p = advice.predictions[0]
    if not p.sensitivities:
        return None
    rows: list[Row] = [
        [
            s.name,
            s.level,
            cost_words(s),
            Cell(percent(s.ten_percent), s.ten_percent),
            *(Cell(growth_words(s, factor), factor) for factor in s.tolerance.values()),
        ]
        for s in p.sensitivities
    ]
    headings = ["", "level", "value", "10 % worse costs", "1 % slower at", "5 % at", "10 % at"]
    words = "The simulated time when one cost changes at all levels and the others stay as they are."
    if not p.sensitivities[0].refined:
        words += " Tolerances are read off the curve because the program is large."
    return Section(
        "Sensitivity",
        "sensitivity",
        paragraph(words) + svg.sensitivity(advice) + table(headings, rows, left=(0, 1), sort=False),
    )


def calls(advice: Advice) -> Section | None:
    p = advice.predictions[0]
    if not p.calls:
        return None
    called: list[Row] = [
        [
            Cell(c.name, note=c.location),
            amount(c.path, p.span),
            Cell(seconds(c.busy), c.busy),
            amount(c.waiting, p.time),
            Cell(f"{c.calls:,}", c.calls),
            Cell(f"{c.messages:,}" if c.messages else "", c.messages),
            Cell(bytes_words(c.bytes) if c.bytes else "", c.bytes),
        ]
        for c in sorted(p.calls, key=lambda c: -(c.path / p.span + c.waiting / p.time))
        if not c.computes
    ]
    computed: list[Row] = [
        [Cell(c.name, note=c.location), amount(c.path, p.span), amount(c.busy, p.time), Cell(f"{c.calls:,}", c.calls)]
        for c in p.calls
        if c.computes
    ]
    body = paragraph("A message in flight or at its receiver counts for the call that completes it.")
    headings = ["call", "critical path", "busy (mean)", "waiting (mean)", "calls", "messages", "bytes"]
    body += folded(headings, called, "calls")
    if computed:
        body += "<h3>Computation</h3>" + folded(["", "critical path", "mean over ranks", "count"], computed, "places")
    return Section("Calls", "calls", body)


def messages(advice: Advice) -> Section | None:
    p = advice.predictions[0]
    found = pattern(p.timeline.schedule) if p.pattern is None else p.pattern
    if not len(found):
        return None
    drawing, cell = svg.matrix(found)
    body = paragraph(f"Bytes between ranks, including those of collectives; {cell}.") + drawing
    if p.sizes:
        rows: list[Row] = [
            [
                Cell(span(s.low, s.high), s.low),
                amount(s.path, p.span),
                Cell(f"{s.messages:,}", s.messages),
                Cell(bytes_words(s.bytes), s.bytes),
            ]
            for s in p.sizes
        ]
        body += "<h3>By size</h3>" + table(["size", "critical path", "messages", "bytes"], rows)
    if p.pairs:
        rows = [
            [
                Cell(f"{pair.sender:,} to {pair.receiver:,}", pair.sender),
                amount(pair.path, p.span, bar=False),
                Cell(f"{pair.messages:,}", pair.messages),
                Cell(bytes_words(pair.bytes), pair.bytes),
            ]
            for pair in p.pairs[:_PAIRS]
        ]
        body += "<h3>Pairs of ranks on the critical path</h3>"
        body += table(["ranks", "critical path", "messages on it", "bytes on it"], rows)
    return Section("Messages", "messages", body)


def placement(advice: Advice) -> Section | None:
    """The ranks by what they exchange, beside the order in which they were placed."""
    found = advice.predictions[0].placing
    if found is None:
        return None
    mapped = found.mapped
    p = mapped.placement
    words = (
        f"{p.ranks:,} ranks on the same {len(p.nodes):,} nodes, mapped by {mapped.method}. Both placements are "
        "simulated with messages that share links (flow model). isthmus map writes the file for the launcher."
    )
    before, after = found.now, mapped.metrics
    # The time stands in the first row already, with the noise that is simulated.
    shown = [n for n in DEFINITIONS if n != "time" and after.value(n) is not None]
    rows: list[Row] = [list(row) for row in placing_rows(found, shown)]
    for level, bytes in after.levels.items():
        now, then = (bytes_words(x) for x in (before.levels[level], bytes))
        rows.append([f"bytes in {level}", now, then, ""])
    body = paragraph(words) + table(["", "current", "mapped", "lower bound"], rows, sort=False)
    tried: list[Row] = [
        [t.name, t.metrics.words("hop_bytes"), t.metrics.words("maximum_link_load"), seconds(t.seconds)]
        for t in mapped.trials
    ]
    body += "<h3>Methods tried</h3>"
    body += table(["method", "hop-bytes", "maximum link load", "processor time"], tried, sort=False)
    return Section("Placement", "placement", body)


def machines(advice: Advice) -> Section:
    rows: list[Row] = []
    listed = machine_rows(advice)
    most = max(row["time"] for row in listed)
    for p, row in zip(advice.predictions, listed, strict=True):
        rows.append(
            [
                Cell(row["machine"], note=row["title"]),
                Cell(seconds(row["time"]), row["time"], row["time"] / most),
                Cell(f"{row['ratio']:.2f}", row["ratio"]),
                Cell(f"{row['nodes']:,}", row["nodes"]),
                Cell(percent(row["parallel_efficiency"]), row["parallel_efficiency"]),
                Cell(percent(row["transfer"]), row["transfer"]),
                dominant_words(p),
                Cell(f"{percent(row['sourced'])}", row["sourced"]),
            ]
        )
    headings = ["machine", "time", "ratio", "nodes", "efficiency", "transfer", "largest loss", "parameters sourced"]
    body = table(headings, rows, left=(0, 6))
    headings = ["parameter", "value", "status", "source", "note"]
    for p in advice.predictions:
        used: list[Row] = [[u.path, u.value, Cell(u.status), u.source, u.note] for u in p.used]
        opened = " open" if len(advice.predictions) == 1 else ""
        body += (
            f'<details class="sources"{opened}><summary>{escape(p.machine.name)}: parameters used and their sources'
            f"</summary>{table(headings, used, left=(0, 2, 3, 4), sort=False)}</details>"
        )
    return Section("Machines", "machines", body)


def profile(advice: Advice) -> Section | None:
    """Measurements from the recording of the program."""
    program = advice.program
    if not isinstance(program, Program) or program.recording is None:
        return None
    from .....recording.profile import profile as profile_of

    try:
        found = profile_of(program)
    except InvalidInput as error:
        return Section("The recording", "profile", paragraph(str(error)))
    functions = _by_function(found)
    if sentence := program.recording.oversubscribed:
        return Section("The recording", "profile", paragraph(f"{_recorded(advice)} {sentence}") + functions)
    t = found.sites
    rows: list[Row] = []
    for i in range(len(t)):
        rows.append(
            [
                Cell(found.function_name(int(t.function[i])), note=found.site_name(int(t.site[i]))),
                *(_measured(float(column[i])) for column in (t.time, t.waiting, t.communicating)),
                Cell(f"{int(t.calls[i]):,}", int(t.calls[i])),
                *(Cell(bytes_words(int(column[i])), int(column[i])) for column in (t.sent, t.received)),
            ]
        )
    headings = ["function", "time", "waiting for the last rank", "after that", "calls", "sent", "received"]
    words = f"{_recorded(advice)} Times were measured in that run and are summed over all ranks."
    return Section("The recording", "profile", paragraph(words) + folded(headings, rows, "calls") + functions)


def _by_function(found: Profile) -> str:
    """Functions by who called them, where call paths were recorded."""
    tree = found.tree
    if tree is None:
        return ""
    from .....recording.by_function_text import rows as tree_rows

    body: list[Row] = []
    for row in tree_rows(tree, None, False):
        # Blanks at the begin of a cell are dropped otherwise.
        name = row.words.replace("  ", "\N{EM SPACE}")
        if row.node < 0:
            body.append([name, *[""] * 5])
            continue
        i = row.node
        computing = "" if tree.mpi[i] else seconds(float(tree.computing[i]))
        moved = (int(column[i]) for column in (tree.sent, tree.received))
        sizes = (bytes_words(size) if size else "" for size in moved)
        body.append([name, f"{int(tree.calls[i]):,}", _measured(float(tree.time[i])), computing, *sizes])
    headings = ["function", "calls", "in MPI", "computation", "sent", "received"]
    return "<h3>By function</h3>" + table(headings, body, sort=False)


def _recorded(advice: Advice) -> str:
    return " ".join(recorded(advice)) + "."


def _measured(value: float) -> Cell:
    return Cell("", -1.0) if value != value else Cell(seconds(value), value)


def how(advice: Advice) -> Section:
    p = advice.predictions[0]
    t = p.timeline
    steps = [
        f"The program of {advice.ranks:,} ranks became a schedule of {p.operations:,} operations with "
        f"{t.messages:,} messages ({bytes_words(t.bytes)}); collectives became messages by textbook algorithms.",
        f"{advice.simulations} simulations followed every message in the LogGOPS model (Hoefler, Schneider and "
        "Lumsdaine, 2010), with latency, overhead and bandwidth of the level that it passes: socket, node, or network "
        "with the length of its route.",
        *_how_contended(advice),
        f"Placement on {p.machine.name}: {placement_words(p)}, {order_words(p)}.",
        "The critical path is the chain of causes that ends with the last rank; no rank waits on it. Its computation "
        "above that of the mean rank is what others wait for (Böhme and others, IPDPS 2012).",
        "Efficiencies are those of the POP centre of excellence: load balance = mean / maximum computation; "
        "serialisation = maximum computation / time on an ideal network; transfer = that time / the time.",
    ]
    body = "".join(f"<li>{escape(words)}</li>" for words in (*steps, *advice.notes))
    return Section("How this was computed", "how", f"<ul>{body}</ul>{paragraph(f'Isthmus {__version__}.')}")


def _how_contended(advice: Advice) -> list[str]:
    if advice.model == "loggops":
        return []
    return [
        "The time that a message loses to others in the network was added, except without contention, on an ideal "
        "network, and with infinite bandwidth. Changes of bandwidth and latency apply to the links too."
    ]


#: The page, from top to bottom; None for what does not apply.
SECTIONS: list[Callable[[Advice], Section | None]] = [
    summary, where, timeline, what_ifs, sensitivities, calls, messages, network, collectives, settings, placement,
    machines, profile, how,
]  # fmt: skip


def sections(advice: Advice) -> list[Section]:
    """The sections that apply."""
    return [section for make in SECTIONS if (section := make(advice)) is not None]


def headline(p: Prediction) -> str:
    return f"{seconds(p.time)} on {p.machine.title}"
