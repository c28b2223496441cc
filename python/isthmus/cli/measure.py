"""isthmus measure ..."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from ..measuring.plan import PARTS, TRANSPORTS
from ..visible import visible
from .inputs import parse_duration
from .options import json_option, shared
from .output import print_json

_PARTS = "\n".join(f"  {name:<12} {words}" for name, words in PARTS.items())


@click.command(
    "measure",
    epilog="\b\nExamples:\n"
    "  isthmus measure -o here.toml\n"
    "  isthmus measure --launch 'srun -N 2 --ntasks-per-node=1' -o cluster.toml --topology fat-tree.toml\n"
    "  isthmus measure --only loggp,stream --quick\n"
    "  isthmus measure -o here.toml --budget 10min\n"
    "  isthmus measure --transport isthmus -o here.toml",
    help="Measure the machine at hand and write it as a machine file that all commands take.\n\n"
    "Every number has a 95 % interval, a number of samples and a method. Raw samples are kept beside the machine file "
    "(.h5). A measurement that was interrupted leaves a folder (.journal); run the same command again to continue it. "
    "Without MPI, compiler or hwloc, Isthmus measures what it can and says what is left out.\n\n"
    f"\b\nParts:\n{_PARTS}",
)
@shared("output", "the machine, .toml; without it the machine is only printed")
@shared("launch", "; by default mpirun with one rank for each core of this node, up to 32")
@click.option(
    "--topology",
    metavar="MACHINE",
    help="Machine whose interconnect this one has: a name from the catalogue, a file, or a specification. By default "
    "all nodes are on one switch.",
)
@shared(
    "transport",
    "mpi, or isthmus for libisthmus, with the start of schedules, copies and reductions; MPI then only starts the "
    f"ranks, and there are the parts {', '.join(TRANSPORTS['isthmus'])}. By default mpi",
    type=click.Choice(list(TRANSPORTS)),
    default="mpi",
)
@click.option("--only", metavar="LIST", help="Parts to measure, such as loggp,stream; by default all.")
@shared("quick", "fewer sizes, fewer samples")
@click.option(
    "--budget", metavar="TIME", help="Time for measuring, such as 10min or 90s; by default 170s, or 17s with --quick."
)
@shared("seed")
@click.option("--hostnames", is_flag=True, help="Write the names of the nodes into the file.")
@shared("oversubscribe", ", and ranks that share a core; the file says so")
@shared("wait", default="2min")
@shared("mpicc")
@shared("force", ", and start an unfinished measurement again")
@shared("progress")
@json_option
def command(
    output: str | None,
    launch: str | None,
    topology: str | None,
    transport: str,
    only: str | None,
    quick: bool,
    budget: str | None,
    seed: int,
    hostnames: bool,
    oversubscribe: bool,
    wait: str,
    mpicc: str | None,
    force: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    from ..measuring.measure import measure

    def say(text: str) -> None:
        click.echo(visible(f"isthmus: {text}"), err=True)

    shown = sys.stderr.isatty() if progress is None else progress
    found = measure(
        output,
        launch=launch,
        topology=topology,
        transport=transport,
        only=only,
        quick=quick,
        budget=None if budget is None else parse_duration("--budget", budget),
        seed=seed,
        hostnames=hostnames,
        oversubscribe=oversubscribe,
        force=force,
        mpicc=mpicc,
        wait=parse_duration("--wait", wait),
        say=say,
        progress=_line() if shown else None,
    )
    if shown:
        _write("")
    if as_json:
        from .machine import machine_json

        out = {"files": list(found.files), "warnings": list(found.warnings), "missing": list(found.missing)}
        print_json(out | {"seconds": found.seconds, "machine": machine_json(found.machine, False)})
        return
    click.echo(visible(str(found)))
    for file in found.files:
        click.echo(visible(f"wrote {file}"))


def _line() -> Callable[[str, float], None]:
    """Write one line on standard error that stays where it is on a terminal."""
    last = ""

    def tell(text: str, left: float) -> None:
        nonlocal last
        words = f"measuring {text}, {left:.0f} s left"
        if words != last:
            last = words
            _write(words)

    return tell


def _write(words: str) -> None:
    if os.isatty(2):
        click.echo(f"\r\x1b[K{words}", nl=False, err=True)
    elif words:
        click.echo(words, err=True)
