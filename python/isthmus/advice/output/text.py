"""The output of ``print(advice)``: one page."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from ...machine import Allocation
from ...mapping.metrics import DEFINITIONS, in_words
from ...schedule.program import Program
from ...simulation.text import machine_words
from ...units import amount, percent, span, text
from ...visible import bar
from ..advice import LOSSES, TIME_CLASSES, Advice, Growth, Prediction
from ..analysis.numbers_used import quality
from .as_json import machine_rows
from .sentences import call_words, seconds
from .settings_words import LIMITS, NO_SETTINGS, QUEUES, limit_rows, page_words, queue_rows
from .words import best_words, calls_words, now_words, source_words, whole_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..analysis.calls import Call
    from ..analysis.links import CallUse, NetworkUse
    from ..analysis.remapping import Placing

_WIDTH = 118
#: Most characters of a call's name; C++ has longer ones.
_NAME = 66
#: Metrics of a placement in its short form.
_METRICS = ("hop_bytes", "average_dilation", "maximum_link_load")
_COMPUTATIONS, _CALLS, _PAIRS, _LINKS, _COLLECTIVES = 4, 8, 5, 5, 6
#: What bounds are.
BOUNDS = "No run can save more than this; it is not known whether any run can save as much."


def dominant_words(p: Prediction) -> str:
    """The largest loss of time; for the network, the cost that saves most."""
    if p.dominant != "network":
        return p.dominant
    costs = [w for w in p.what_ifs if w.name in ("latency", "bandwidth", "overhead")]
    return f"network ({max(costs, key=lambda w: w.saving).name})"


def placement_words(p: Prediction) -> str:
    a, ranks = p.placement, p.timeline.ranks
    nodes = len(a.nodes)
    each = min(a.ranks_per_node, ranks)
    most = "" if isinstance(a, Allocation) or nodes * each == ranks else "up to "
    return (
        f"{ranks:,} rank{'' if ranks == 1 else 's'} on {nodes:,} node{'' if nodes == 1 else 's'}, {most}{each} a node"
    )


def order_words(p: Prediction) -> str:
    """The order of ranks on nodes."""
    if not isinstance(p.placement, Allocation):
        return "as given"
    return "node by node" if p.placement.order == "block" else "round-robin over the nodes"


def page(advice: Advice) -> str:
    """One page of text."""
    p = advice.predictions[0]
    e = p.efficiency
    lines = [f"{advice.name} on {p.machine.name}: {seconds(p.time)}"]
    lines += _wrapped(machine_words(p.machine), "  machine      ")
    lines += _wrapped(f"{placement_words(p)}, {order_words(p)}", "  placement    ")
    for words in recorded(advice):
        lines += _wrapped(words, "  recorded     ")
    lines.append(
        f"  efficiency   {percent(e.parallel)} = load balance {percent(e.load_balance)} x serialisation "
        f"{percent(e.serialisation)} x transfer {percent(e.transfer)}"
    )
    lines += ["", *_losses(p), "", *_shares(p)]
    parts = [_calls(p), _messages(p), _network(p), _collectives(p), _settings(p), _placing(p), _sensitivities(p)]
    parts.append(_what_ifs(p))
    for part in (*parts, _machines(advice)):
        if part:
            lines += ["", *part]
    lines += ["", "advice"]
    for number, sentence in enumerate(advice.sentences, 1):
        lines += _wrapped(sentence.text, f"  {number}. ")
    if advice.bounds:
        lines += ["", "upper bounds"]
        for sentence in advice.bounds:
            lines += _wrapped(sentence.text, "  - ")
        lines += _wrapped(BOUNDS, "    ")
    lines += ["", "notes"]
    for note in advice.notes:
        lines += _wrapped(note, "  - ")
    return "\n".join(lines)


def recorded(advice: Advice) -> list[str]:
    """When and with what a recorded program ran; nothing for others."""
    recording = advice.program.recording if isinstance(advice.program, Program) else None
    if recording is None:
        return []
    hosts = len(recording.hosts)
    library = recording.library.split(",")[0]
    return [f"{recording.started[:10]}, {library}, {hosts} host{'' if hosts == 1 else 's'}: {recording.command}"]


def _wrapped(words: str, lead: str) -> list[str]:
    return textwrap.wrap(words, _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead))


def _table(rows: Sequence[Sequence[str]], left: Iterable[int] = ()) -> list[str]:
    """Columns aligned to the right, but for those of ``left``."""
    left = set(left)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = []
    for row in rows:
        cells = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        out.append(("  " + "  ".join(cells)).rstrip())
    return out


def _part(value: float | None, time: float) -> tuple[str, str]:
    if value is None:
        return "", ""
    return seconds(value), percent(value / time, 1)


def _losses(p: Prediction) -> list[str]:
    """The parts of the time."""
    parts = [(LOSSES[name], value) for name, value in p.losses.items() if value >= 0.0005 * p.time]
    rows = [["breakdown of the predicted time", "", "", ""]]
    rows += [[words, *_part(value, p.time), bar(value / p.time)] for words, value in parts]
    return _table([*rows, [f"largest loss: {dominant_words(p)}", "", "", ""]], (0, 3))


def _shares(p: Prediction) -> list[str]:
    """The critical path beside the mean rank."""
    path = p.path
    rows = [
        [
            "where the time goes",
            "critical path" if p.part is None else "critical path (part of the run)",
            "",
            "mean over ranks",
            "",
            "",
        ]
    ]
    for name, words in TIME_CLASSES.items():
        mean = p.mean[name]
        on = path.get(name) if path is not None else None
        if not mean and not on:
            continue
        rows.append([words, *_part(on, p.span), *_part(mean, p.time), bar((mean or 0.0) / p.time)])
        if name == "compute" and p.beyond:
            rows.append(["  above the mean over ranks", *_part(p.beyond, p.time), "", "", ""])
    rows.append(["total", *(_part(p.span, p.span) if path is not None else ("", "")), *_part(p.time, p.time), ""])
    if path is None:
        rows = [[row[0], *row[3:]] for row in rows]
        return _table(rows, (0, 3))
    table = _table(rows, (0, 5))
    return table if p.part is None else [*table, *_wrapped(part_words(p), "  ")]


def part_words(p: Prediction) -> str:
    """The part of the run that the critical path covers."""
    assert p.part is not None
    begin, end = p.part
    return (
        f"The critical path covers a part of the run, {text(begin, 's', 4)} to {text(end, 's', 4)} of "
        f"{seconds(p.time)} ({percent(p.span / p.time)}): the run has too many operations ({p.operations:,}) "
        "for all of it."
    )


def _collectives(p: Prediction) -> list[str]:
    """Algorithms of collectives: those of now, and better ones."""
    found = p.choices
    if found is None or not found.compared:
        return []
    rows = [["collective algorithms", "calls", "per call", "current", "per call", "best", "saving"]]
    for c in found.compared[:_COLLECTIVES]:
        rows.append(
            [
                calls_words(c),
                f"{c.use.calls:,}",
                seconds(c.now_seconds),
                now_words(c),
                seconds(c.best_seconds) if c.best_seconds is not None and c.saving > 0 else "",
                best_words(c),
                seconds(c.saving) if c.saving > 0 else "",
            ]
        )
    lines = _table(rows, (0, 3, 5))
    if len(found.compared) > _COLLECTIVES:
        lines.append(f"  and {len(found.compared) - _COLLECTIVES} more")
    words = f"{whole_words(found)} Current: {source_words(found)}, {found.library.why}."
    return [*lines, *_wrapped(words, "  ")]


def placing_rows(found: Placing, metrics: Sequence[str]) -> list[list[str]]:
    """Simulated time and metrics of the placement before and after, and what none can beat, in words."""
    mapped = found.mapped
    before, after = found.now, mapped.metrics
    rows = [["simulated time (flow model)", seconds(found.before), seconds(found.after), ""]]
    for name in metrics:
        words = DEFINITIONS[name].words
        rows.append([words, before.words(name), after.words(name), in_words(name, mapped.bound(name))])
    return rows


def _placing(p: Prediction) -> list[str]:
    """The ranks by what they exchange."""
    if p.placing is None:
        return []
    heading = ["communication-aware placement", "current", "mapped", "lower bound"]
    return _table([heading, *placing_rows(p.placing, _METRICS)], (0,))


def _settings(p: Prediction) -> list[str]:
    """Queues of MPI and eager limits."""
    found = p.settings
    if found is None and len(p.timeline.schedule) < p.operations:
        return _wrapped(NO_SETTINGS, "  ")
    if found is None or not found.queues.messages:
        return []
    out = _table([QUEUES, *queue_rows(found, buffers=False)], (0,))
    if found.tried:
        out += _table([LIMITS, *limit_rows(p)], (0,))
    return [*out, *_wrapped(page_words(p), "  ")]


def call_label(call: Call | CallUse) -> str:
    """The name of a call: the function of the program if it is known, without the address in it."""
    inside = re.search(r"\((.+)\)$", call.location)
    words = f"{call.name} in {inside[1]}" if inside else call_words(call.name, call.location)
    # Both ends of a long one tell more than its middle.
    return words if len(words) <= _NAME else f"{words[: _NAME // 2]}…{words[1 - _NAME // 2 :]}"


def _calls(p: Prediction) -> list[str]:
    """Computation that has most of the critical path, and calls that have most of it and of the ranks' waiting."""
    together: dict[str, list[Call]] = {}
    for call in p.calls:
        together.setdefault(call_label(call), []).append(call)

    def total(label: str, name: str) -> float:
        return float(sum(getattr(call, name) for call in together[label]))

    weight = {label: total(label, "path") / p.span + total(label, "waiting") / p.time for label in together}
    order = sorted((label for label in together if weight[label] > 0.0005), key=lambda label: -weight[label])
    computing = [label for label in order if together[label][0].computes][:_COMPUTATIONS]
    shown = [*computing, *[label for label in order if not together[label][0].computes][:_CALLS]]
    if not shown:
        return []
    rows = [["top calls", "on critical path", "", "waiting (mean)", "calls", "messages", "bytes"]]
    for label in shown:
        messages, size = int(total(label, "messages")), int(total(label, "bytes"))
        rows.append(
            [
                label,
                *_part(total(label, "path"), p.span),
                seconds(total(label, "waiting")) if not together[label][0].computes else "",
                f"{int(total(label, 'calls')):,}",
                f"{messages:,}" if messages else "",
                amount(size) if size else "",
            ]
        )
    lines = _table(rows, (0,))
    more = len(together) - len(shown)
    return [*lines, f"  and {more} more"] if more else lines


def _messages(p: Prediction) -> list[str]:
    pairs = [pair for pair in p.pairs if pair.path > 0.005 * p.span][:_PAIRS]
    sizes = [s for s in p.sizes if s.path > 0]
    if not sizes and not pairs:
        return []
    rows = [["top messages", "on critical path", "", "messages", "bytes"]]
    for s in sorted(sizes, key=lambda s: -s.path)[:_PAIRS]:
        rows.append([f"{span(s.low, s.high)} (all)", *_part(s.path, p.span), f"{s.messages:,}",
                     amount(s.bytes)])  # fmt: skip
    for pair in pairs:
        rows.append([f"rank {pair.sender} to {pair.receiver} (on the path)", *_part(pair.path, p.span),
                     f"{pair.messages:,}", amount(pair.bytes)])  # fmt: skip
    return _table(rows, (0,))


def load_words(n: NetworkUse) -> str:
    """A summary of link loads."""
    if not n.used:
        return f"none of {n.links:,} carries anything"
    words = f"{n.used:,} of {n.links:,} carry {amount(n.bytes)}; "
    return words + f"their utilisation is {percent(n.mean)} on average, {percent(n.most)} at most"


def lost_words(n: NetworkUse, time: float) -> str:
    """The time that messages lose to contention."""
    if not n.delayed:
        return f"nothing: none of {n.messages:,} messages is delayed by others"
    words = f"{seconds(n.lost)} in total by {n.delayed:,} of {n.messages:,} messages, "
    return words + f"{seconds(n.on_path)} ({percent(n.on_path / time)}) on the critical path"


def _network(p: Prediction) -> list[str]:
    n = p.network
    if n is None:
        return []
    out = [*_wrapped(load_words(n), "  links        "), *_wrapped(lost_words(n, p.span), "  lost         ")]
    rows = [["hottest links", "load", "bytes", "messages", "main call"]]
    for link in n.hottest[:_LINKS]:
        mostly = call_label(link.calls[0]) if link.calls else ""
        hot = link.hot
        rows.append([f"{hot.link} ({hot.kind}) {hot.source} to {hot.target}", percent(hot.utilisation),
                     amount(hot.bytes), f"{link.messages:,}", mostly])  # fmt: skip
    return [*out, *(_table(rows, (0, 4)) if n.hottest else [])]


def growth_words(s: Growth, factor: float | None) -> str:
    """Up to where a cost may grow: what it is then, and by what factor."""
    if factor is None:
        return "any" if s.refined else f"> {growth_words(s, max(s.curve))}"
    if s.name == "bandwidth":
        return f"to {text(s.value / factor, 'B/s', 2)}" if s.value < float("inf") else f"x{factor:.3g}"
    return f"+{text(s.value * (factor - 1), 's', 2)}" if s.value else f"x{factor:.3g}"


def cost_words(s: Growth) -> str:
    """The cost as the machine has it."""
    unit = "B/s" if s.name == "bandwidth" else "s"
    return text(s.value, unit, 3) if s.value < float("inf") else "infinite"


def _sensitivities(p: Prediction) -> list[str]:
    if not p.sensitivities:
        return []
    rows = [["sensitivity", "value", "10 % worse costs", "1 % slower at", "5 %", "10 %", "saving if ideal"]]
    for s in p.sensitivities:
        what_if = p.what_if(s.name)
        rows.append(
            [
                f"{s.name} ({s.level})",
                cost_words(s),
                percent(s.ten_percent),
                *(growth_words(s, s.tolerance[loss]) for loss in s.tolerance),
                f"{seconds(what_if.saving)}, {percent(what_if.saving / p.time)}" if what_if else "",
            ]
        )
    return _table(rows, (0,))


def _what_ifs(p: Prediction) -> list[str]:
    rows: list[list[str]] = []
    for bound, heading in ((False, "what-if savings, by simulation"), (True, "upper bounds on savings")):
        rows.append([heading, "time", "at most" if bound else "saving", ""])
        for w in sorted((w for w in p.what_ifs if w.bound == bound), key=lambda w: w.time):
            if w.name in ("latency", "bandwidth", "overhead") and p.sensitivities:
                continue
            rows.append([f"  {w.words}", seconds(w.time), *_part(w.saving, p.time)])
    return _table(rows, (0,))


def _machines(advice: Advice) -> list[str]:
    if len(advice.predictions) == 1:
        return [f"parameters of {advice.predictions[0].machine.name}: {quality(advice.predictions[0].used)}"]
    rows = [["machines", "time", "ratio", "nodes", "efficiency", "transfer", "largest loss", "parameters"]]
    for p, row in zip(advice.predictions, machine_rows(advice), strict=True):
        rows.append(
            [
                row["machine"],
                seconds(row["time"]),
                f"{row['ratio']:.2f}",
                f"{row['nodes']:,}",
                percent(row["parallel_efficiency"]),
                percent(row["transfer"]),
                dominant_words(p),
                f"{percent(row['sourced'])} sourced",
            ]
        )
    return _table(rows, (0, 6))
