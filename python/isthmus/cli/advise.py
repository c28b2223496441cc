"""isthmus advise ..."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..one_line import parse_noise
from .collectives import parse_collectives
from .export_collectives import check_export, save_choices
from .inputs import parse_placement, parse_time
from .options import Work, job_options, json_option, routing_option, shared, work_argument
from .output import print_json

if TYPE_CHECKING:
    from ..machine import Machine


@click.command(
    "advise",
    epilog="\b\nExamples:\n"
    "  isthmus advise app.h5 --machine cielo\n"
    "  isthmus advise app.h5 --machine cielo --machine edison --ranks-per-node 16 -o report.html\n"
    "  isthmus advise app.h5 --machine mycluster.toml --scale-compute 0.5\n"
    "  isthmus advise app.h5 --machine cielo --nodes 64 --placement MPICH_RANK_ORDER\n"
    "  isthmus advise app.h5 --machine cielo --model flow -o report.html\n"
    "  isthmus advise app.h5 --machine cielo --mpi openmpi-5.0.8 --export-collectives rules.conf\n"
    "  isthmus advise --example lammps --machine eos",
    help="Explain what limits a program on a machine, what would help, and by how much at most.\n\n"
    "FILE is a program (HDF5, such as isthmus record writes) or a schedule (HDF5, GOAL). Isthmus analyses the "
    "first machine in detail and compares the others with it. Ranks fill node after node, unless --placement says "
    "otherwise.",
)
@work_argument
@shared("machine", "may be repeated; the others are compared with the first", multiple=True, required=True)
@job_options
@click.option(
    "--scale-compute",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    metavar="FACTOR",
    help="Multiply all computation by a factor, such as 0.5 for cores twice as fast as those of the recording.",
)
@shared("own")
@shared("output", "the report as one page, .html")
@shared("collectives")
@shared("model")
@routing_option
@click.option(
    "--mpi",
    metavar="LIBRARY",
    help="Predict with the algorithms of an MPI library: openmpi or mpich, with or without a version, such as "
    "openmpi-5.0.8. "
    "By default the algorithms of the recording's library, or Open MPI, are only compared.",
)
@click.option(
    "--tune-time",
    default="10s",
    show_default=True,
    metavar="TIME",
    help="Approximate time to search for better collective algorithms; 0: do not search.",
)
@click.option(
    "--export-collectives",
    metavar="FILE",
    help="Write the better algorithms to a file for the MPI library, or to a decision table (.toml).",
)
@shared("noise")
@shared("seed")
@shared("progress")
@json_option
def command(
    work: Work,
    machine: tuple[str, ...],
    placement: str | None,
    nodes: str | None,
    ranks_per_node: int | None,
    scale_compute: float,
    own: tuple[str, ...],
    output: str | None,
    collectives: tuple[str, ...],
    model: str,
    routing: str,
    mpi: str | None,
    tune_time: str,
    export_collectives: str | None,
    noise: str | None,
    seed: int,
    progress: bool | None,
    as_json: bool,
) -> None:
    import sys

    from ..advice.advise import advise
    from ..advice.collectives.library import library_of
    from ..loading import load
    from ..schedule.program import Program

    if output is not None:
        from ..advice.output.html.page import check_path

        check_path(output)
    loaded = [load(text) for text in machine]
    what: Any = work.read()
    if own:
        from ..recording.own import with_own

        if not isinstance(what, Program):
            raise InvalidInput("--own: a schedule has no recorded calls")
        what = with_own(what, own)
    if output is None and isinstance(what, Program):
        from ..advice.analysis.pieces import functions_only

        # Only the report shows what was measured; of large recordings that is a third of the memory.
        what = functions_only(what)
    tune_seconds = parse_time("--tune-time", tune_time)
    if export_collectives is not None:
        check_export(what, library_of(what, mpi), export_collectives, tune_seconds)
    advice = advise(
        what,
        loaded,
        ranks_per_node=ranks_per_node,
        placement=_placements(loaded, what.ranks, placement, nodes, ranks_per_node),
        scale_compute=scale_compute,
        collectives=parse_collectives(collectives, ranks_per_node),
        model=model,
        routing=routing,
        noise=None if noise is None else parse_noise(noise),
        seed=seed,
        mpi=mpi,
        tune_seconds=tune_seconds,
        name=os.path.basename(work.text),
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    if output is not None:
        advice.save(output)
    files = {} if output is None else {"output": output}
    words = ""
    if export_collectives is not None:
        written, words = save_choices(advice.predictions[0].choices, export_collectives)
        files |= {"collectives": export_collectives} if written else {}
    if as_json:
        print_json(advice.json() | {"files": files})
        return
    click.echo(str(advice))
    if words:
        click.echo(f"\n{words}")
    if files:
        click.echo("\n" + "\n".join(f"wrote {path}" for path in files.values()))


def _placements(
    machines: list[Machine], ranks: int, placement: str | None, nodes: str | None, per_node: int | None
) -> list[Any] | None:
    """The nodes and placement that apply to a machine: to all machines if that is possible, otherwise to the first."""
    if placement is None and nodes is None:
        return None
    everywhere = placement in (None, "block", "cyclic") and (nodes is None or nodes.isdecimal())
    chosen = machines if everywhere else machines[:1]
    return [parse_placement(machine, ranks, placement, nodes, per_node) for machine in chosen]
