"""isthmus queue vary and isthmus queue decide."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..files import PICTURES
from ..one_line import parse_noise
from .families import parse_family
from .options import check_file, json_option, one_number, several, shared, whole_numbers
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..queueing import Variation

_options = several(
    shared("workload"),
    shared("policy"),
    shared("load"),
    shared("per_node"),
    shared("ranks_per_node", "; by default one per core"),
    shared("times"),
    shared("background"),
    shared("samples"),
    shared("model", default="flow"),
    shared("noise"),
    shared("seed"),
)


@click.command(
    "vary",
    epilog="\b\nExamples:\n"
    "  isthmus queue vary stencil:steps=2 --machine torus:4x4x4 --ranks 8,16 --samples 5\n"
    "  isthmus queue vary cg:steps=1 --machine redsky --ranks 64..128 --samples 3 --policy random -o times.png\n"
    "  isthmus queue vary cth:steps=1 --machine torus:8x8x8 --ranks 64 --samples 5 -o times.html",
    help="Show how the time of PROGRAM varies: over the nodes that the queue gives it, with other jobs, and noise.\n\n"
    "Jobs are put into the queue at random times. Each is simulated on the nodes that it gets, alone, beside the jobs "
    "that run then, and with noise. The columns placement, other jobs and noise are parts of the variance.",
)
@click.argument("program", metavar="PROGRAM")
@shared("machine", required=True)
@shared("ranks", required=True)
@_options
@shared("output", "a page (.html), or a picture of the times (.png, .svg, .pdf)")
@json_option
@shared("progress")
def vary(
    program: str, machine: str, ranks: str, output: str | None, as_json: bool, progress: bool | None, **options: Any
) -> None:
    if output is not None:
        check_file("-o", output, (".html", *PICTURES))
    found = _varied(program, machine, whole_numbers("--ranks", ranks), progress, options)
    if output is not None:
        found.save(output)
    if as_json:
        print_json(found.json() | {"files": [] if output is None else [output]})
        return
    columns, rows = found.cells()
    print_table(columns, rows, right=columns[1:])
    for note in found.notes:
        click.echo(f"note: {note}")
    if output is not None:
        click.echo(f"wrote {output}")


@click.command(
    "decide",
    epilog="\b\nExamples:\n"
    "  isthmus queue decide stencil:steps=1 --machine torus:8x8x4 --machine mesh:16x16 --ranks 64\n"
    "  isthmus queue decide stencil:steps=1 --machine torus:4x4 --ranks 16 --policy linear --policy curve",
    help="Say on which machine and under which policy a job of PROGRAM is done first, waiting included.\n\n"
    "Rows are sorted by the expected time from submission to the end. The standard error is that of the samples: "
    "machines that differ by less are not told apart.",
)
@click.argument("program", metavar="PROGRAM")
@shared("machine", "may be repeated", required=True, multiple=True)
@shared("ranks", "; here one", required=True)
@_options
@json_option
@shared("progress")
def decide(
    program: str, machine: tuple[str, ...], ranks: str, as_json: bool, progress: bool | None, **options: Any
) -> None:
    from ..queueing import decide as verb

    size = one_number("--ranks", ranks)
    found = verb([_varied(program, one, [size], progress, options) for one in dict.fromkeys(machine)])
    if as_json:
        print_json(found.json())
        return
    columns, rows = found.cells()
    print_table(columns, rows, right=columns[2:])
    click.echo(f"\n{found.sentence()}")
    for note in found.notes:
        click.echo(f"note: {note}")


def _varied(program: str, machine: str, ranks: list[int], progress: bool | None, options: dict[str, Any]) -> Variation:
    from ..loading import load
    from ..progress import Reporter
    from ..queueing import vary as verb
    from ..queueing.swf import read_or_refuse

    family, sizes = parse_family(program, None, ranks)
    where = load(machine)
    given = {k: v for k, v in options.items() if k not in ("workload", "policy", "noise")}
    policies = options["policy"] or ("linear",)
    workload = None if options["workload"] is None else read_or_refuse(options["workload"])
    noise = None if options["noise"] is None else parse_noise(options["noise"])
    total = len(set(policies)) * len(sizes) * options["samples"]
    shown = sys.stderr.isatty() if progress is None else progress
    bar = Reporter(total, None, "simulating", "allocations", at_once=True) if shown else None
    try:
        return verb(
            family, where, sizes, policies=policies, workload=workload, noise=noise,
            report=None if bar is None else lambda done, _: bar(done), **given,
        )  # fmt: skip
    finally:
        if bar is not None:
            bar.close()
