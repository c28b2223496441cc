"""isthmus run ..."""

from __future__ import annotations

import click

from ..visible import visible
from .collectives import parse_collectives, tell_replaced
from .inputs import WORK, parse_duration
from .options import Work, check_file, json_option, pictures, shared, work_argument
from .output import print_json


@click.command(
    "run",
    epilog="\b\nExamples:\n"
    "  isthmus run allreduce:ranks=2,bytes=64KiB,algorithm=ring --launch 'mpirun -n 2' -o ran.h5\n"
    "  isthmus run app.h5 --launch 'mpirun -n 4' --collectives table.toml -o ran.h5\n"
    "  isthmus run schedule.goal --launch 'mpirun -n 4 --oversubscribe' --compute 0 --check\n"
    "  isthmus compare ran.h5 predicted.h5",
    help="Carry out a schedule or a program on this computer, and measure when everything happens.\n\n"
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
    mpicc: str | None,
    output: str | None,
    plot: tuple[str, ...],
    as_json: bool,
) -> None:
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
