"""isthmus show ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .. import units
from ..errors import InvalidInput
from ..files import PICTURES, write_atomically
from .options import Command, Work, check_file, json_option, pictures, shared, tell_old, whole_numbers, work_argument
from .output import line_width, print_json, print_table
from .things import THINGS, placement_of, read_thing
from .tune_table import show_decisions

if TYPE_CHECKING:
    from ..machine import Level
    from ..machine.placement import Placement
    from ..measuring.samples import Samples
    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from ..simulation import Timeline


PLOTS = ("matrix", "sizes", "ranks", "calls")


@click.command(
    "show",
    cls=Command,
    old={"--collectives": "--lowered"},
    epilog="\b\nExamples:\n  isthmus show app.h5\n  isthmus show app.h5 --rank 3 --full\n"
    "  isthmus show app.h5 --depth 6\n"
    "  isthmus show app.h5 -o matrix.png\n  isthmus show app.h5 --plot ranks=ranks.svg\n"
    "  isthmus show schedule.goal --rank 0\n  isthmus show timeline.h5 --rank 3 --json\n"
    "  isthmus show bcast:ranks=8,bytes=1kB --rank 0\n  isthmus show cielo\n  isthmus show eos.toml\n"
    "  isthmus show eos -o eos.html --plot bandwidth=eos.png\n"
    "  isthmus show rankfile --machine cielo --nodes 64",
    help="Describe any one thing; for a recorded program, print its profile.\n\n"
    f"FILE names the thing. {THINGS} With --machine it is a placement: a launcher file.",
)
@work_argument
@click.option(
    "--rank",
    type=click.IntRange(0),
    help="Print the events or operations of this rank, or its profile if it was recorded.",
)
@click.option("--events", is_flag=True, help="Print the events of a recorded program, not its profile.")
@shared("full", "for a profile all places, sizes and ranks, and the largest pairs")
@click.option(
    "--depth",
    type=click.IntRange(1),
    metavar="LEVELS",
    help="Levels of the call tree in a profile; by default 4.",
)
@shared("own", "by default the program's own code, not libraries and functions that wrap MPI")
@shared(
    "output", "a picture of the program instead of its text, as --plot draws it; a machine as a page (.html) or picture"
)
@shared(
    "plot",
    "; KIND is matrix (who sends how much to whom, default), sizes (of messages), ranks (their time) or calls (their "
    "time); all but the matrix need a recording. Of a machine: latency (default), bandwidth, overheads-socket, rate, "
    "stream, collective-allreduce, cpu_share, noise, startup, memory, ...",
)
@click.option("--messages", is_flag=True, help="Count messages in the matrix, not bytes.")
@click.option(
    "--lowered", is_flag=True, help="Include the messages of collectives, by their default algorithms, in the matrix."
)
@shared("machine", "needed to show a placement")
@shared("nodes")
@shared("ranks_per_node", "; by default one rank per core")
@shared("ranks", "; for a decision table, by default those that it has")
@json_option
def command(
    work: Work, rank: int | None, events: bool, full: bool, depth: int | None, own: tuple[str, ...],
    output: str | None, plot: tuple[str, ...], messages: bool, lowered: bool,
    machine: str | None, nodes: str | None, ranks_per_node: int | None, ranks: str | None, as_json: bool,
) -> None:  # fmt: skip
    from ..machine import Level, Machine
    from ..measuring.samples import Samples
    from ..multigrid import Hierarchy
    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from ..simulation.timeline import Timeline
    from ..skeletons import tally
    from ..tuning.decisions import Decisions
    from .multigrid_output import show_hierarchy

    if machine is None and not work.example and _draw_machine(work.text, output, plot, as_json):
        return
    if machine is not None:
        _show_placement(placement_of(work.text, machine, nodes, ranks_per_node), as_json)
        return
    if nodes or ranks_per_node:
        raise InvalidInput("--nodes and --ranks-per-node need --machine")
    plain = not (rank is not None or own or output or plot or messages or lowered or ranks is not None)
    found = tally(work.text) if plain and work.text is not None else None
    if found is not None:
        # The program itself may not fit into memory.
        print_json(found.summary()) if as_json else click.echo(str(found))
        return
    what = work.any() if work.example else read_thing(work.text, work.unit)
    if isinstance(what, Decisions):
        at = None if ranks is None else whole_numbers("--ranks", ranks)
        show_decisions(work.text, what, at, False, as_json)
        return
    if ranks is not None:
        raise InvalidInput(f"--ranks: {work.text} is not a decision table")
    if own:
        if not isinstance(what, Program):
            raise InvalidInput(f"--own: {work.text} holds no recorded program")
        from ..recording.own import with_own

        what = with_own(what, own)
    if isinstance(what, Hierarchy):
        show_hierarchy(what, output, plot, as_json)
        return
    drawn = _pictures(output, plot)
    if drawn:
        if not isinstance(what, Program):
            raise InvalidInput(f"-o: {work.text} holds no program; isthmus schedule pattern draws schedules")
        _draw(what, drawn, messages, lowered, as_json)
    elif messages or lowered:
        raise InvalidInput("--messages and --lowered need -o FILE to draw into")
    elif isinstance(what, Program):
        if what.recording is None or events:
            _show_program(what, rank, as_json)
        else:
            _show_profile(what, rank, full, depth, as_json)
    elif isinstance(what, Timeline):
        _show_timeline(what, rank, as_json)
    elif isinstance(what, Machine):
        from .machine import show_machine

        show_machine(what, False, as_json)
    elif isinstance(what, Level):
        _show_level(what, as_json)
    elif isinstance(what, Pattern):
        _show_pattern(what, as_json)
    elif isinstance(what, Samples):
        _show_samples(what, full, as_json)
    else:
        _show_schedule(what, rank, as_json)


def _draw_machine(text: str | None, output: str | None, plot: tuple[str, ...], as_json: bool) -> bool:
    """Draw a machine, if it is one that is named and pictures are asked for."""
    from ..machine import Machine

    if text is None or not (output or plot):
        return False
    what = read_thing(text)
    if not isinstance(what, Machine):
        return False
    files = []
    if output is not None:
        check_file("-o", output, (".html", *PICTURES))
    drawn = [one.partition("=") if "=" in one else ("latency", "=", one) for one in plot]
    for _, _, path in drawn:
        check_file("--plot", path, PICTURES)
    if output is not None:
        if output.lower().endswith(".html"):
            write_atomically(output, what.html())
        else:
            what.plot("latency", output)
        files.append(output)
    for kind, _, path in drawn:
        what.plot(kind, path)
        files.append(path)
    if as_json:
        print_json({"files": files})
    else:
        for path in files:
            click.echo(f"wrote {path}")
    return True


def _show_placement(placement: Placement, as_json: bool) -> None:
    if as_json:
        print_json(
            {"noun": "placement", "ranks": placement.ranks, "nodes": placement.nodes, "places": placement.frame()}
        )
    else:
        click.echo(str(placement))


def _show_level(level: Level, as_json: bool) -> None:
    import dataclasses

    if as_json:
        print_json({"noun": "level"} | dataclasses.asdict(level))
        return
    fields = dataclasses.fields(level)
    known = ((field, getattr(level, field.name)) for field in fields)
    rows = [
        [field.name, units.text(value, field.metadata["unit"])] for field, value in known if isinstance(value, float)
    ]
    print_table(["LogGOPS", "is"], rows)


#: Rows of the table of samples without --full.
_SAMPLES = 40


def _show_samples(samples: Samples, full: bool, as_json: bool) -> None:
    rows = samples.frame()
    if as_json:
        print_json({"noun": "samples", "facts": samples.facts, "items": rows})
        return
    click.echo(str(samples))
    shown = rows if full else rows[:_SAMPLES]
    cells = [
        [
            row["kind"],
            row["parameters"],
            row["samples"],
            "" if row["median"] is None else f"{row['median']:.4g}",
            row["ended"],
        ]
        for row in shown
    ]
    columns = ["kind", "parameters", "samples", "median (SI)", "ended by"]
    print_table(columns, cells, right=["samples", "median (SI)"], wrap=["parameters", "ended by"])
    if len(shown) < len(rows):
        click.echo(f"{len(rows) - len(shown)} more items: --full prints all")


def _show_pattern(pattern: Pattern, as_json: bool) -> None:
    if as_json:
        totals = {"ranks": pattern.ranks, "pairs": len(pattern), "bytes": pattern.total_bytes}
        print_json({"noun": "pattern"} | totals | {"messages": pattern.total_messages})
    else:
        click.echo(str(pattern))


def _pictures(output: str | None, plot: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of a picture and its file."""
    if output is not None and len(plot) == 1 and plot[0] in PLOTS:
        tell_old(f"--plot {plot[0]} -o FILE", f"--plot {plot[0]}=FILE")
        return pictures("-o", (f"{plot[0]}={output}",), PLOTS)
    return [*pictures("-o", () if output is None else (output,), ("matrix",)), *pictures("--plot", plot, PLOTS)]


def _draw(program: Program, drawn: list[tuple[str, str]], messages: bool, lowered: bool, as_json: bool) -> None:
    from ..plot.profile import DRAWINGS

    if (messages or lowered) and all(kind != "matrix" for kind, _ in drawn):
        raise InvalidInput(f"--messages and --lowered apply to --plot matrix, not {drawn[0][0]}")
    for kind, path in drawn:
        options = {"what": "messages" if messages else "bytes", "collectives": lowered} if kind == "matrix" else {}
        DRAWINGS[kind](program, path, **options)
    if as_json:
        print_json({"file": drawn[0][1], "files": [path for _, path in drawn]})
    else:
        for _, path in drawn:
            click.echo(f"wrote {path}")


def _show_profile(program: Program, rank: int | None, full: bool, depth: int | None, as_json: bool) -> None:
    from ..recording.profile import profile
    from ..recording.profile_text import report, summary

    found = profile(program, rank=rank)
    if as_json:
        print_json(summary(found))
    else:
        click.echo(report(found, full=full, depth=depth, width=line_width()))


def _show_program(program: Program, rank: int | None, as_json: bool) -> None:
    if rank is None:
        if as_json:
            print_json(program_summary(program))
        else:
            click.echo(str(program))
        return
    events = program.events(rank)
    if as_json:
        rows = [event._asdict() | {"kind": event.kind.name, "what": event.what and event.what.name} for event in events]
        print_json({"noun": "program", "rank": rank, "events": rows})
        return
    from ..schedule.event import describe_all

    lines = enumerate(describe_all(events))
    print_table(["event", "what"], [[i, line] for i, line in lines], right=["event"], wrap=["what"])


def _show_schedule(schedule: Schedule, rank: int | None, as_json: bool) -> None:
    if rank is None:
        if as_json:
            print_json(schedule_summary(schedule))
        else:
            click.echo(str(schedule))
        return
    operations = schedule.rank(rank)
    lines = [operations.describe(i) for i in range(len(operations))]
    if as_json:
        from ..schedule.schedule import OPS, OpKind

        names = [name for name in OPS.names or () if name not in ("unused", "first_edge", "needs")]
        rows = [
            {name: int(op[name]) for name in names}
            | {"kind": OpKind(op["kind"]).name, "requires": [list(pair) for pair in operations.requires(i)]}
            for i, op in enumerate(operations.ops)
        ]
        print_json({"noun": "schedule", "rank": rank, "operations": rows})
        return
    rows_ = [[i, line] for i, line in enumerate(lines)]
    print_table(["operation", "what"], rows_, right=["operation"], wrap=["what"])


def _show_timeline(timeline: Timeline, rank: int | None, as_json: bool) -> None:
    from ..simulation.text import rank_rows, summary

    if rank is None:
        if as_json:
            print_json({"noun": "timeline"} | summary(timeline))
        else:
            click.echo(str(timeline))
        return
    rows = rank_rows(timeline, rank)
    if as_json:
        print_json({"noun": "timeline", "rank": rank, "finish": timeline.finish[rank], "operations": rows})
        return
    if timeline.record != "ops":
        click.echo("begin and end of operations were not recorded")
    timed = timeline.record == "ops"
    cells: list[list[Any]] = []
    for row in rows:
        times = [_time(row["start"]), _time(row["end"]), _partner(row["partner"])] if timed else []
        cells.append([row["op"], *times, row["what"]])
    columns = ["operation", *(["begin", "end", "partner"] if timed else []), "what"]
    print_table(columns, cells, right=["operation", "begin", "end"], wrap=["what"])


def _time(seconds: float | None) -> str:
    return "never" if seconds is None else units.text(seconds, "s")


def _partner(partner: dict[str, int] | None) -> str:
    return "" if partner is None else f"rank {partner['rank']}, operation {partner['op']}"


def program_summary(program: Program) -> dict[str, Any]:
    """A program for programs."""
    from ..schedule.tally import Tally

    return Tally.of(program).summary()


def schedule_summary(schedule: Schedule) -> dict[str, Any]:
    """A schedule for programs."""
    import numpy as np

    from ..schedule.schedule import OpKind

    kind, amount = schedule.ops["kind"], schedule.ops["amount"]
    number = np.bincount(kind, minlength=len(OpKind) + 1)
    moving = np.isin(kind, (OpKind.send, OpKind.put, OpKind.get))
    return {
        "noun": "schedule",
        "ranks": schedule.ranks,
        "operations": {one.name: int(number[one]) for one in OpKind if number[one]},
        "messages": int(moving.sum()),
        "bytes": int(amount[moving].sum()),
        "calc": float(amount[kind == OpKind.calc].sum(dtype=np.float64) * 1e-12),
        "dependencies": len(schedule.edges),
        "buffers": list(schedule.buffers),
    }
