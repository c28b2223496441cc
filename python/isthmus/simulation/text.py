"""The output of ``print(timeline)`` and ``isthmus show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine import Level
from ..machine.spec import spec_or_name
from ..schedule.schedule import OpKind
from ..units import amount, percent, text
from ..visible import bar
from .words import WORDS

if TYPE_CHECKING:
    from ..machine import Machine
    from .timeline import Timeline
    from .traffic import Traffic


_RATES = ("G", "O", "O_recv")


def machine_words(machine: Machine | Level) -> str:
    """The machine on one line."""
    if isinstance(machine, Level):
        times = [f"{name} {text(getattr(machine, name), 's', 4)}" for name in ("L", "o_send", "o_recv", "g")]
        rates = [f"{name} {text(rate, 's/B', 4)}" for name in _RATES if (rate := getattr(machine, name)) is not None]
        pieces = [f"others above {text(piece.above, 'B')}" for piece in machine.pieces]
        return "LogGOPS " + ", ".join([*times, *rates, f"S {text(machine.S, 'B')}", *pieces])
    nodes = f"{machine.nodes:,} node{'' if machine.nodes == 1 else 's'}"
    title = machine.title if machine.title == machine.name else f"{machine.name}: {machine.title}"
    return f"{title} ({machine.topology.spec}; {nodes}, {machine.cores:,} cores)"


def shares(timeline: Timeline) -> list[dict[str, Any]]:
    """A row per share: mean over the ranks, most, the rank that has most (seconds), part of all time.

    Sums are rounded to 53 bits: picoseconds of all ranks together need not fit 64.
    """
    total = float(timeline._breakdown.sum(dtype=np.float64))
    out = []
    for name, values in timeline.breakdown_ps.items():
        mean = float(values.mean()) if len(values) else 0.0
        worst = int(values.argmax()) if len(values) else 0
        out.append(
            {
                "share": name,
                "mean": mean / 1e12,
                "most": int(values[worst]) / 1e12 if len(values) else 0.0,
                "rank": worst,
                "part": float(values.sum(dtype=np.float64)) / total if total else 0.0,
            }
        )
    return out


def summary(timeline: Timeline, links: int = 5) -> dict[str, Any]:
    """The numbers of the report in SI, for programs; ``links`` is how many of the hottest links it lists."""
    t = timeline
    finish = t.finish_ps
    first, last = int(finish.argmin()), int(finish.argmax())
    machine: Any = t.machine if isinstance(t.machine, Level) else spec_or_name(t.machine.description)
    out: dict[str, Any] = {
        "source": t.source,
        "machine": machine if t.ran is None else None,
        "ran": t.ran,
        "ranks": t.ranks,
        "operations": len(t.schedule),
        "executed": t.executed,
        "messages": t.messages,
        "bytes": t.bytes,
        "makespan": t.makespan,
        "stopped": t.stopped,
        "first": {"rank": first, "finish": int(finish[first]) / 1e12},
        "last": {"rank": last, "finish": int(finish[last]) / 1e12},
        "mean_finish": float(finish.mean()) / 1e12,
        "events": t.events,
        "simulated_ranks": t.simulated_ranks,
        "skipped_iterations": t.skipped_iterations,
        "wall": t.wall,
        "orphans": len(t.orphans),
        "deadlock": None,
    }
    if t.record != "finish":
        out["breakdown"] = shares(t)
    if t.traffic is not None:
        out |= {"model": t.model, "routing": t.routing, "lost_in_all": t.lost_in_all_ps / 1e12}
        out["traffic"] = _traffic(t.traffic, links)
    if t.deadlock is not None:
        d = t.deadlock
        out["deadlock"] = {
            "operations": len(d.waiting),
            "cycle": [{"rank": w.rank, "op": w.op} for w in d.cycle],
            # More than anybody looks at would only fill the file.
            "waiting": [
                {"rank": w.rank, "op": w.op, "kind": w.kind.name, "peer": w.peer, "tag": w.tag, "comm": w.comm}
                | {"bytes": w.bytes, "started": w.started, "reason": w.reason, "hint": w.hint}
                for w in d.waiting[:1000]
            ],
            "text": str(d),
        }
    return out


def _traffic(traffic: Traffic, links: int) -> dict[str, Any]:
    """Sums over the links, and the hottest with who sends over them, where that was recorded."""
    used = traffic.bytes > 0
    use = traffic.utilisation[used]
    hottest = [hot._asdict() for hot in traffic.hottest(links)]
    if traffic.timeline.record == "ops":
        for hot in hottest:
            # More than anybody looks at would only fill the file.
            hot["streams"] = [stream._asdict() for stream in traffic.streams(hot["link"])[:100]]
    return {
        "bytes": float(traffic.bytes.sum()),
        "links": len(used),
        "used": int(used.sum()),
        "mean_utilisation": float(use.mean()) if len(use) else 0.0,
        "hottest": hottest,
    }


def report(timeline: Timeline) -> str:
    """The report of a simulation, for people."""
    t = timeline
    finish = t.finish_ps
    first, last = int(finish.argmin()), int(finish.argmax())
    ended = text(t.makespan, "s", 4)
    ranks = f"{t.ranks:,} rank{'' if t.ranks == 1 else 's'}"
    stop = "stopped at" if t.stopped else "makespan" if t.deadlock is None else "deadlock after"
    lines = [f"Timeline: {ranks}, {len(t.schedule):,} operations, {stop} {ended}"]
    rows = [
        *([("machine", machine_words(t.machine))] if t.ran is None else t.ran.rows()),
        ("messages", f"{t.messages:,}, {amount(t.bytes)} in total" if t.messages else "none"),
    ]
    if t.ranks > 1:
        times = f"first rank {first} after {text(int(finish[first]) / 1e12, 's', 4)}, last rank {last} after {ended}"
        rows.append(("finish", f"{times}, mean {text(float(finish.mean()) / 1e12, 's', 4)}"))
    if t.model != "loggops":
        words = {"minimal": "", "random": ", random minimal routes", "valiant": ", Valiant routes"}
        lost = text(t.lost_in_all_ps / 1e12 / max(t.messages, 1), "s", 4)
        routes = words.get(t.routing, ", adaptive routes")
        rows.append(("network", f"{t.model} model{routes}; contention costs a message {lost} on average"))
    rate = f", {_rate(t.executed / t.wall)}" if t.wall > 0 and t.executed >= 1000 else ""
    equal = ""
    if t.simulated_ranks < t.ranks:
        one = t.simulated_ranks == 1
        equal = f"; {t.simulated_ranks:,} rank{'' if one else 's'} simulated, the others are equal"
    if t.skipped_iterations:
        equal += f"; {t.skipped_iterations:,} iterations skipped, they repeat others"
    if t.ran is None:
        rows.append(("simulated in", f"{text(t.wall, 's', 3)}{rate}{equal}"))
    if t.stopped:
        rows.append(("stopped", "it takes longer than the given time; times are lower bounds"))
    lines += [f"  {name:<13} {words}" for name, words in rows]
    if t.record != "finish" and t.makespan_ps:
        lines += ["", *_breakdown(t)]
    if t.traffic is not None and t.traffic.bytes.any():
        lines += ["", *str(t.traffic).split("\n")]
    if t.deadlock is not None:
        lines += ["", *str(t.deadlock).split("\n")]
    elif t.orphans:
        number = len(t.orphans)
        verb = "message was" if number == 1 else "messages were"
        lines += ["", f"{number:,} {verb} never received, such as {t.orphans[0]}"]
    return "\n".join(lines)


def _rate(per_second: float) -> str:
    scale, letter = next(((s, f" {p}") for s, p in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if per_second >= s), (1.0, ""))
    return f"{per_second / scale:.3g}{letter} operations/s"


def _breakdown(timeline: Timeline) -> list[str]:
    """A table of the shares that are not zero."""
    rows = [row for row in shares(timeline) if row["part"] > 0]
    width = max(len(WORDS[row["share"]]) for row in rows)
    lines = [f"  {'where the time goes':<{width}}  {'mean':>10}  {'most':>10}  {'on rank':>9}"]
    for row in rows:
        cells = f"{text(row['mean'], 's', 4):>10}  {text(row['most'], 's', 4):>10}  {row['rank']:>9}"
        blocks = bar(row["part"])
        lines.append(f"  {WORDS[row['share']]:<{width}}  {cells}  {percent(row['part'], 1):>7}  {blocks}".rstrip())
    return lines


def rank_rows(timeline: Timeline, rank: int) -> list[dict[str, Any]]:
    """The operations of one rank with begin, end (seconds; None: never) and the operation at the other end."""
    schedule = timeline.schedule
    operations = schedule.rank(rank)
    first = schedule.op_first.view(np.int64)
    rows = []
    for i in range(len(operations)):
        at = int(first[rank]) + i
        row: dict[str, Any] = {"op": i, "what": operations.describe(i), "kind": OpKind(operations.ops["kind"][i]).name}
        if timeline.record == "ops":
            start, end, other = int(timeline.start_ps[at]), int(timeline.end_ps[at]), int(timeline.partner[at])
            row["start"] = None if start < 0 else start / 1e12
            row["end"] = None if end < 0 else end / 1e12
            row["partner"] = None
            if other >= 0:
                peer = int(np.searchsorted(first, other, side="right")) - 1
                row["partner"] = {"rank": peer, "op": other - int(first[peer])}
        rows.append(row)
    return rows
