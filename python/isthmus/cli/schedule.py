"""isthmus schedule ..."""

from __future__ import annotations

import click

from .. import units
from ..errors import InvalidInput
from ..units import shown
from .collectives import parse_collectives, tell_replaced
from .inputs import WORK, parse_collective
from .options import OldArgument, Work, json_option, pictures, shared, tell_old, work_argument
from .output import print_json, print_table


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


@command.command(
    "convert", epilog=_epilog("convert schedule.goal -o schedule.h5", "convert schedule.h5 -o schedule.bin")
)
@work_argument
@click.argument("last", cls=OldArgument, required=False)
@shared("output", "a program as .h5, a schedule as .h5, .goal or .bin")
@shared("byte_time")
@json_option
def convert(work: Work, last: str | None, output: str | None, byte_time: str | None, as_json: bool) -> None:
    """Write a program or schedule in another format: .h5; a schedule as .goal or .bin too."""
    from ..schedule.schedule import Schedule

    if last is not None:
        if output is not None:
            raise InvalidInput(f"{last!r} follows FILE, and -o {output} is given: give only one of them")
        tell_old(f"OUT without an option ({last})", f"-o {last}")
    target = output or last
    if target is None:
        raise InvalidInput("-o FILE is missing: it names the file to write")
    what = work.read()
    if isinstance(what, Schedule):
        seconds = None if byte_time is None else units.parse(byte_time, "s")
        what.save(target, unit=work.unit, seconds_per_byte=seconds)
    elif target.endswith((".goal", ".bin")):
        raise InvalidInput(
            f"{work.text} holds a program, and GOAL holds schedules only: lower it with isthmus schedule lower"
        )
    else:
        what.save(target)
    _done(target, what, as_json)


@command.command(
    "validate",
    epilog=_epilog("validate schedule.goal", "validate program.h5 --json"),
    help=f"Check that a program or schedule can run: one line, exit status 2 if it cannot.\n\n{WORK}",
)
@work_argument
@json_option
def validate(work: Work, as_json: bool) -> None:
    what, file = work.read(), work.text
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
@shared("output", ".h5, .goal or .bin", required=True)
@json_option
def collective(spec: str, output: str, as_json: bool) -> None:
    """Write the schedule of one collective: bcast:ranks=8,bytes=1kB,root=0,algorithm=binomial."""
    schedule = parse_collective(spec)
    schedule.save(output)
    _done(output, schedule, as_json)


@command.command(
    "algorithms",
    epilog=_epilog("algorithms", "algorithms allreduce"),
    help="List the algorithms of collectives with their options; the first of each collective is its default.\n\n"
    "KIND is a collective, such as bcast; without it, all are listed.",
)
@click.argument("kind", required=False)
@json_option
def algorithms(kind: str | None, as_json: bool) -> None:
    from ..collectives import algorithms, describe
    from ..collectives.registry import default_of
    from ..schedule.program import CollectiveKind

    kinds = [k.name for k in CollectiveKind]
    if kind is not None and kind not in kinds:
        raise InvalidInput(f"collective {shown(kind)}: must be one of {', '.join(kinds)}")
    found = [(k, name, describe(k, name)) for k in ([kind] if kind else kinds) for name in algorithms(k)]
    if as_json:
        print_json(
            [
                {
                    "kind": k,
                    "name": name,
                    "does": info.words,
                    "reference": info.reference,
                    "options": [
                        {"name": o.name, "default": default_of(o) or None, "is": o.words} for o in info.options
                    ],
                }
                for k, name, info in found
            ]
        )
        return
    cells = []
    for k, name, info in found:
        cells.append([k if name == algorithms(k)[0] else "", name, "", "", info.words])
        cells += [["", "", o.name, default_of(o), o.words] for o in info.options]
    print_table(["collective", "algorithm", "option", "default", "what it does"], cells, wrap=["what it does"])


@command.command(
    "lower",
    epilog=_epilog("lower program.h5 -o schedule.h5", "lower program.h5 --collectives bcast=binomial -o schedule.goal"),
)
@work_argument
@shared("output", ".h5, .goal or .bin", required=True)
@shared("collectives")
@shared("byte_time")
@json_option
def lower(work: Work, output: str, collectives: tuple[str, ...], byte_time: str | None, as_json: bool) -> None:
    """Write the schedule of a program."""
    from ..lowering.lower import lower as lowered
    from ..schedule.program import Program

    what = work.read()
    if not isinstance(what, Program):
        raise InvalidInput(f"{work.text} holds a schedule: expected a program")
    chosen = parse_collectives(collectives)
    tell_replaced(chosen, what)
    schedule = lowered(what, collectives=chosen)
    schedule.save(output, seconds_per_byte=None if byte_time is None else units.parse(byte_time, "s"))
    _done(output, schedule, as_json)


@command.command(
    "pattern",
    epilog=_epilog("pattern alltoall:ranks=16,bytes=8", "pattern program.h5 -o pattern.csv --plot matrix.png"),
    help=f"Print how much ranks send to each other.\n\n{WORK}",
)
@work_argument
@shared("output", "lines of source, target, bytes, messages (.csv)")
@shared("plot", "the matrix; KIND is matrix, which may be left out")
@shared("collectives")
@json_option
def pattern(work: Work, output: str | None, plot: tuple[str, ...], collectives: tuple[str, ...], as_json: bool) -> None:
    from ..lowering.pattern import pattern as pattern_of

    if output is not None and not output.endswith(".csv"):
        raise InvalidInput(f"{output}: must end in .csv")
    drawn = pictures("--plot", plot, ("matrix",))
    found = pattern_of(work.read(), parse_collectives(collectives))
    if output is not None:
        from ..files import replacing

        with replacing(output) as temporary, open(temporary, "w", encoding="ascii", newline="") as stream:
            stream.write("source,target,bytes,messages\n")
            columns = (found.sources(), found.peer, found.bytes, found.messages)
            stream.writelines("{},{},{},{}\n".format(*row) for row in zip(*(c.tolist() for c in columns), strict=True))
    for _, path in drawn:
        from ..plot.matrix import plot_pattern

        plot_pattern(found, path)
    files = [*filter(None, (output,)), *(path for _, path in drawn)]
    if as_json:
        totals = {"ranks": found.ranks, "pairs": len(found), "bytes": found.total_bytes}
        print_json(totals | {"messages": found.total_messages, "files": files})
        return
    click.echo(str(found))
    for path in files:
        click.echo(f"wrote {path}")
