"""isthmus show ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .. import units
from ..errors import InvalidInput
from .inputs import WORK, read_any
from .output import json_option, line_width, print_json, print_table

if TYPE_CHECKING:
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from ..simulation import Timeline


PLOTS = ("matrix", "sizes", "ranks", "calls")


@click.command(
    "show",
    epilog="\b\nExamples:\n  isthmus show app.h5\n  isthmus show app.h5 --rank 3 --full\n"
    "  isthmus show app.h5 --depth 6\n"
    "  isthmus show app.h5 -o matrix.png\n  isthmus show app.h5 --plot ranks -o ranks.svg\n"
    "  isthmus show schedule.goal --rank 0\n  isthmus show timeline.h5 --rank 3 --json\n"
    "  isthmus show bcast:ranks=8,bytes=1kB --rank 0",
    help="What a program, schedule or timeline holds; of a program that was recorded, its profile.\n\n"
    f"{WORK}\n\nIt may be a timeline (HDF5) as well.",
)
@click.argument("file", metavar="FILE")
@click.option(
    "--rank", type=click.IntRange(0), help="The events or operations of this rank, or its profile if it was recorded."
)
@click.option("--events", is_flag=True, help="Of a recorded program: events, not the profile.")
@click.option("--full", is_flag=True, help="Of a profile: all places, sizes and ranks, and the largest pairs.")
@click.option(
    "--depth",
    type=click.IntRange(1),
    metavar="LEVELS",
    help="Of a profile: so many levels of functions, by who called whom; by default 4.",
)
@click.option(
    "--own",
    metavar="NAME",
    multiple=True,
    help="Name calls by the place in this code: a function, source file or module, with * and ?; may be repeated. By "
    "default the program's own code, not libraries and functions that wrap MPI.",
)
@click.option("-o", "--output", metavar="FILE", help="Draw a program, instead of printing it: .png, .svg, .pdf.")
@click.option(
    "--plot", type=click.Choice(PLOTS),
    help="What is drawn: who sends how much to whom (which is the default), sizes of messages, time of ranks, time of "
    "calls. All but the matrix need a recording.",
)  # fmt: skip
@click.option("--messages", is_flag=True, help="In the matrix: messages, not bytes.")
@click.option("--collectives", is_flag=True, help="In the matrix: messages of collectives too, by default algorithms.")
@click.option("--unit", type=click.Choice(["ns", "ps", "us", "ms", "s"]), default="ns", help="Of times in GOAL files.")
@json_option
def command(
    file: str, rank: int | None, events: bool, full: bool, depth: int | None, own: tuple[str, ...],
    output: str | None, plot: str | None, messages: bool, collectives: bool, unit: str, as_json: bool,
) -> None:  # fmt: skip
    from ..schedule.program import Program
    from ..simulation.timeline import Timeline

    what = read_any(file, unit)
    if own:
        if not isinstance(what, Program):
            raise InvalidInput(f"--own: {file} holds no program that was recorded")
        from ..recording.own import with_own

        what = with_own(what, own)
    if output is not None:
        if not isinstance(what, Program):
            raise InvalidInput(f"-o: {file} holds no program: isthmus schedule pattern draws schedules")
        _draw(what, output, plot or "matrix", messages, collectives, as_json)
    elif plot or messages or collectives:
        raise InvalidInput("--plot, --messages, --collectives: -o FILE says where to draw")
    elif isinstance(what, Program):
        if what.recording is None or events:
            _show_program(what, rank, as_json)
        else:
            _show_profile(what, rank, full, depth, as_json)
    elif isinstance(what, Timeline):
        _show_timeline(what, rank, as_json)
    else:
        _show_schedule(what, rank, as_json)


def _draw(program: Program, output: str, plot: str, messages: bool, collectives: bool, as_json: bool) -> None:
    from ..plot.profile import DRAWINGS

    options: dict[str, Any] = {}
    if plot == "matrix":
        options = {"what": "messages" if messages else "bytes", "collectives": collectives}
    elif messages or collectives:
        raise InvalidInput(f"--messages, --collectives: they are for --plot matrix, not {plot}")
    DRAWINGS[plot](program, output, **options)
    if as_json:
        print_json({"file": output})
    else:
        click.echo(f"wrote {output}")


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
    print_table(["event", "what"], [[i, str(event)] for i, event in enumerate(events)], right=["event"], wrap=["what"])


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
    import numpy as np

    from ..schedule.program import EventKind

    number = np.bincount(program.kind, minlength=len(EventKind) + 1)
    computed = program.amount[program.kind == EventKind.compute].sum(dtype=np.float64) * 1e-12
    return {
        "noun": "program",
        "ranks": program.ranks,
        "events": {kind.name: int(number[kind]) for kind in EventKind if number[kind]},
        "compute": float(computed),
        "communicators": program.communicators,
        "phases": list(program.phases),
    }


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
