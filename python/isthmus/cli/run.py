"""isthmus run ..."""

from __future__ import annotations

import click

from ..errors import InvalidInput
from ..visible import visible
from .collectives import parse_collectives, tell_replaced
from .inputs import WORK, parse_duration
from .options import Work, check_file, json_option, pictures, shared, work_argument
from .output import print_json


class OfProgram(click.Command):
    """A command line with words behind ``--``: the command to run, which the context keeps."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["isthmus.program"] = args[at + 1 :] if at < len(args) else None
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "| -- COMMAND..."]


#: Options for schedules only, for programs of MPI only, and for programs only.
_OF_SCHEDULES = ("compute", "repetitions", "check", "wait", "output", "plot")
_OF_MPI = ("launch", "machine", "placement", "recording", "directory", "mpicc", "reproducible", "comparing", "as_json")
_OF_PROGRAMS = ("machine", "recording", "processes", "transport", "online", "reproducible", "comparing")


@click.command(
    "run",
    cls=OfProgram,
    epilog="\b\nExamples:\n"
    "  isthmus run allreduce:ranks=2,bytes=64KiB,algorithm=ring --launch 'mpirun -n 2' -o ran.h5\n"
    "  isthmus run app.h5 --launch 'mpirun -n 4' --collectives table.toml -o ran.h5\n"
    "  isthmus run schedule.goal --launch 'mpirun -n 4 --oversubscribe' --compute 0 --check\n"
    "  isthmus run app.h5 --launch 'mpirun -n 16' --placement ranks.txt -o mapped.h5\n"
    "  isthmus compare ran.h5 predicted.h5\n"
    "  isthmus run --collectives tuned.toml -- mpirun -n 4 ./app\n"
    "  isthmus run --online decisions.txt -- mpirun -n 4 ./app\n"
    "  isthmus run --machine cluster.toml --placement mapped --recording app.h5 -- mpirun -n 16 ./app\n"
    "  isthmus run -n 4 -- ./program\n"
    "  isthmus run -n 4 --transport ofi -- ./program",
    help="Carry out a schedule or a program on this computer, and measure when everything happens; or run an MPI "
    "program with the collectives of Isthmus; or start the ranks of a program that uses libisthmus without MPI.\n\n"
    f"{WORK}\n\n"
    "Ranks of MPI do what the schedule says, by libisthmus: messages, copies, reductions, and computations, for which "
    "they are busy. After some runs to warm up there are two series of runs: in one nothing but the end is looked at, "
    "in the other every operation. The result is a timeline, as that of isthmus simulate: of that run in the second "
    "series whose time is nearest to the median of the first.",
)
@work_argument
@shared("launch", "; by default mpirun, with as many ranks as the schedule has", default="mpirun")
@shared("collectives")
@click.option(
    "--compute",
    type=click.FloatRange(0, 1e6),
    default=1.0,
    show_default=True,
    metavar="X",
    help="Multiply the time of all computations by this factor; 0 leaves them out.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Runs of each series; by default as many as take about a second, from 1 to 100.",
)
@click.option("--check", is_flag=True, help="Check in one more run before that every message arrives as it was sent.")
@shared("wait", ", beside the computations", default="2min")
@shared("directory", "; by default /tmp")
@shared(
    "machine",
    "with COMMAND, ranks of communicators with a topology are reordered for it where the program permits that, and "
    "programs can ask for coordinates",
)
@shared(
    "placement",
    "a file for the launcher, such as a rankfile, as isthmus map writes it (with --machine in any format); with "
    "COMMAND and --machine also mapped: by what ranks exchange, where that has fewer hop-bytes than the usual order",
)
@click.option(
    "--recording",
    metavar="FILE",
    help="With COMMAND and --placement: what ranks exchange, as isthmus record writes it, or any program, schedule or "
    "graph. By default PROGRAM.h5 in this folder, if it is a recording of this command.",
)
@click.option(
    "-n",
    "processes",
    type=click.IntRange(1, 4096),
    metavar="RANKS",
    help="With COMMAND: start it so many times on this computer, as the ranks of a job of libisthmus without MPI.",
)
@shared(
    "transport",
    "with -n, shared memory (shm, the default), libfabric (ofi), or both (shm+ofi: shared memory where ranks are on "
    "one node). By default ISTHMUS_TRANSPORT. ISTHMUS_FABRIC names a provider of libfabric, such as tcp;ofi_rxm",
    type=click.Choice(["shm", "ofi", "shm+ofi"]),
)
@click.option(
    "--online",
    metavar="FILE",
    help="With COMMAND: time algorithms for calls that come often, while the program runs, and keep the decisions in "
    "this file; later runs start from it.",
)
@click.option(
    "--reproducible",
    is_flag=True,
    help="With COMMAND: combine numbers in the order of the MPI library, so that results are the same to the last bit; "
    "nothing is compared.",
)
@click.option(
    "--compare/--no-compare",
    "comparing",
    default=True,
    help="With COMMAND: let the MPI library carry out some calls, to compare times, and all where it is faster. "
    "By default so.",
)
@shared("mpicc")
@shared("output", "the timeline, .h5")
@shared("plot", "; KIND is ranks (what they did when, default) or breakdown (where their time goes); may be repeated")
@json_option
def command(
    work: Work,
    launch: str,
    collectives: tuple[str, ...],
    compute: float,
    repetitions: int | None,
    check: bool,
    wait: str,
    directory: str | None,
    machine: str | None,
    placement: str | None,
    recording: str | None,
    processes: int | None,
    transport: str | None,
    online: str | None,
    reproducible: bool,
    comparing: bool,
    mpicc: str | None,
    output: str | None,
    plot: tuple[str, ...],
    as_json: bool,
) -> None:
    context = click.get_current_context()
    program = context.meta["isthmus.program"]
    if program is None:
        _only(context, _OF_PROGRAMS, "a program: give it after --")
    else:
        _only(context, _OF_SCHEDULES, "a schedule, not for a command after --")
    if program is not None:
        from .run_program import run_job, run_program

        if work.file is not None or work.example is not None:
            raise InvalidInput(f"{work.file or work.example}: give a schedule, or a command after --, not both")
        if processes is not None:
            _only(context, _OF_MPI, "a program that uses MPI, without -n")
            run_job(program, processes, collectives, online, transport)
            return
        if transport is not None:
            raise InvalidInput("--transport is for -n: a program that uses MPI takes ISTHMUS_TRANSPORT")
        given = context.get_parameter_source("launch") is click.core.ParameterSource.COMMANDLINE
        run_program(
            program,
            launch=launch if given else None,
            collectives=collectives,
            online=online,
            reproducible=reproducible,
            comparing=comparing,
            machine=machine,
            placement=placement,
            recording=recording,
            directory=directory,
            mpicc=mpicc,
            as_json=as_json,
        )
        return
    from ..running.run import run

    def say(text: str) -> None:
        click.echo(visible(f"isthmus: {text}"), err=True)

    if output is not None:
        check_file("-o", output, (".h5", ".hdf5"))
    drawn = pictures("--plot", plot, ("ranks", "breakdown"))
    longest = parse_duration("--wait", wait)
    what = work.read()
    chosen = parse_collectives(collectives, None)
    tell_replaced(chosen, what)
    timeline = run(
        what,
        launch=launch,
        collectives=chosen,
        compute=compute,
        repetitions=repetitions,
        check=check,
        placement=placement,
        wait=longest,
        directory=directory,
        mpicc=mpicc,
        say=say,
    )
    if output is not None:
        timeline.save(output)
    for kind, path in drawn:
        (timeline.plot if kind == "ranks" else timeline.plot_breakdown)(path)
    files = [*([] if output is None else [output]), *(path for _, path in drawn)]
    if as_json:
        from ..simulation.text import summary

        print_json(summary(timeline) | {"files": files})
        return
    click.echo(str(timeline))
    for path in files:
        click.echo(f"wrote {path}")


def _only(context: click.Context, names: tuple[str, ...], of: str) -> None:
    """Refuse options that mean nothing here."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is click.core.ParameterSource.COMMANDLINE:
            raise InvalidInput(f"{parameter.opts[0]} is for {of}")
