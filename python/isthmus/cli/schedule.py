"""isthmus schedule ..."""

from __future__ import annotations

import click

from .. import units
from ..errors import InvalidInput
from .collectives import collectives_option, parse_collectives, tell_replaced
from .inputs import WORK, parse_collective, read_work
from .output import json_option, print_json

_UNITS = click.Choice(["ns", "ps", "us", "ms", "s"])
_unit = click.option("--unit", type=_UNITS, default="ns", show_default=True, help="Of times in GOAL files.")


def _epilog(*examples: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  isthmus schedule {example}" for example in examples)


@click.group(
    "schedule",
    epilog=_epilog("collective bcast:ranks=8,bytes=1kB -o bcast.goal", "validate bcast.goal", "pattern bcast.goal"),
)
def command() -> None:
    """Programs and schedules: collectives, formats, checks, patterns."""


def _done(path: str, what: object, as_json: bool) -> None:
    if as_json:
        print_json({"file": path, "report": str(what)})
    else:
        click.echo(str(what))
        click.echo(f"wrote {path}")


@command.command("convert", epilog=_epilog("convert schedule.goal schedule.h5", "convert schedule.h5 schedule.bin"))
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@_unit
@click.option("--byte-time", metavar="TIME", help="In GOAL, copy and reduce become calc of so much time per byte.")
@json_option
def convert(source: str, target: str, unit: str, byte_time: str | None, as_json: bool) -> None:
    """Write a program or schedule in another format: .h5; a schedule as .goal or .bin too."""
    from ..schedule.schedule import Schedule

    what = read_work(source, unit)
    if isinstance(what, Schedule):
        seconds = None if byte_time is None else units.parse(byte_time, "s")
        what.save(target, unit=unit, seconds_per_byte=seconds)
    elif target.endswith((".goal", ".bin")):
        raise InvalidInput(f"{source} holds a program: GOAL has schedules only; isthmus schedule lower makes one")
    else:
        what.save(target)
    _done(target, what, as_json)


@command.command(
    "validate",
    epilog=_epilog("validate schedule.goal", "validate program.h5 --json"),
    help=f"Check that a program or schedule can run: one line, exit status 2 if it cannot.\n\n{WORK}",
)
@click.argument("file", metavar="FILE")
@_unit
@json_option
def validate(file: str, unit: str, as_json: bool) -> None:
    what = read_work(file, unit)
    try:
        what.validate()
    except InvalidInput as error:
        if as_json:
            print_json({"file": file, "ok": False, "error": str(error)})
            raise click.exceptions.Exit(2) from None
        raise InvalidInput(f"{file}: {error}") from None
    if as_json:
        print_json({"file": file, "ok": True, "report": str(what)})
    else:
        click.echo(f"{file}: ok, {what}")


@command.command(
    "collective",
    epilog=_epilog(
        "collective allreduce:ranks=64,bytes=1MB,algorithm=ring -o ring.h5",
        "collective barrier:ranks=16 -o barrier.goal",
    ),
)
@click.argument("spec", metavar="KIND:ranks=N,...")
@click.option("-o", "--output", required=True, metavar="FILE", help="A .h5, .goal or .bin file.")
@json_option
def collective(spec: str, output: str, as_json: bool) -> None:
    """Write the schedule of one collective: bcast:ranks=8,bytes=1kB,root=0,algorithm=binomial."""
    schedule = parse_collective(spec)
    schedule.save(output)
    _done(output, schedule, as_json)


@command.command(
    "lower",
    epilog=_epilog("lower program.h5 -o schedule.h5", "lower program.h5 --collectives bcast=binomial -o schedule.goal"),
)
@click.argument("program", metavar="PROGRAM")
@click.option("-o", "--output", required=True, metavar="FILE", help="A .h5, .goal or .bin file.")
@collectives_option("Algorithm for collectives")
@click.option("--byte-time", metavar="TIME", help="In GOAL, copy and reduce become calc of so much time per byte.")
@json_option
def lower(program: str, output: str, collectives: tuple[str, ...], byte_time: str | None, as_json: bool) -> None:
    """Write the schedule of a program."""
    from ..schedule.lower import lower as lowered
    from ..schedule.program import Program

    what = read_work(program)
    if not isinstance(what, Program):
        raise InvalidInput(f"{program} holds a schedule: a program is needed")
    chosen = parse_collectives(collectives)
    tell_replaced(chosen, what)
    schedule = lowered(what, collectives=chosen)
    schedule.save(output, seconds_per_byte=None if byte_time is None else units.parse(byte_time, "s"))
    _done(output, schedule, as_json)


@command.command(
    "pattern",
    epilog=_epilog("pattern alltoall:ranks=16,bytes=8", "pattern program.h5 -o pattern.csv --plot matrix.png"),
    help=f"How much ranks send to each other, whatever the order.\n\n{WORK}",
)
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Write lines of source, target, bytes, messages: .csv.")
@click.option("--plot", "picture", metavar="FILE", help="Draw the matrix: .png, .svg, .pdf.")
@collectives_option()
@_unit
@json_option
def pattern(
    file: str, output: str | None, picture: str | None, collectives: tuple[str, ...], unit: str, as_json: bool
) -> None:
    from ..schedule.pattern import pattern as pattern_of

    if output is not None and not output.endswith(".csv"):
        raise InvalidInput(f"{output}: a .csv file is allowed")
    found = pattern_of(read_work(file, unit), parse_collectives(collectives))
    if output is not None:
        from ..files import replacing

        with replacing(output) as temporary, open(temporary, "w", encoding="ascii", newline="") as stream:
            stream.write("source,target,bytes,messages\n")
            columns = (found.sources(), found.peer, found.bytes, found.messages)
            stream.writelines("{},{},{},{}\n".format(*row) for row in zip(*(c.tolist() for c in columns), strict=True))
    if picture is not None:
        from ..plot.matrix import plot_pattern

        plot_pattern(found, picture)
    files = [path for path in (output, picture) if path]
    if as_json:
        totals = {"ranks": found.ranks, "pairs": len(found), "bytes": found.total_bytes}
        print_json(totals | {"messages": found.total_messages, "files": files})
        return
    click.echo(str(found))
    for path in files:
        click.echo(f"wrote {path}")
