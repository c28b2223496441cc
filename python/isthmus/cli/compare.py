"""isthmus compare ..."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..files import PICTURES
from ..one_line import parse_noise
from .collectives import parse_collectives
from .inputs import parse_placement
from .options import check_file, job_options, json_option, shared, whole_numbers
from .output import line_width, print_json, print_table
from .things import THINGS, read_thing

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison


@click.command(
    "compare",
    epilog="\b\nExamples:\n"
    "  isthmus compare cielo edison\n"
    "  isthmus compare eos cielo redsky -o machines.html --plot bandwidth=bandwidth.png\n"
    "  isthmus compare cielo cielo:cores=8,L=2us\n"
    "  isthmus compare eos.toml openmpi --ranks 64\n"
    "  isthmus compare app.h5 timeline.h5 -o both.png\n"
    "  isthmus compare ran.h5 predicted.h5 -o both.html\n"
    "  isthmus compare lammps cielo eos titan --model flow\n"
    "  isthmus compare sage --machine redsky --machine cielo --ranks 16..1024 -o sizes.html\n"
    "  isthmus compare cg --machine eos --machine cielo --ranks 16..512 --reference eos --memory-bound 0.8",
    help="Compare things of one kind, or a program on several machines.\n\n"
    "Isthmus recognises the kind from what you name: two or more machines (values that differ), two decision tables "
    "(sizes at which they choose differently), timelines (where the time goes, by rank and by operation; what isthmus "
    "run writes and recorded programs are measured timelines, so that a measurement stands beside predictions), or a "
    "program or schedule and the machines to simulate it on. The others are compared with the first.\n\n"
    "With --machine, the only THING is a skeleton or a collective, and machines are compared over numbers of ranks "
    "(--ranks): times, speed-up, efficiency and cost, where one overtakes another and how sure that is, and why. "
    "Parts of the difference add up to it exactly. A file is compared at its own number of ranks.\n\n"
    f"{THINGS}",
)
@click.argument("things", metavar="THING...", nargs=-1, required=True)
@shared("machine", "may be repeated; THING is compared on these over --ranks", multiple=True)
@click.option("--weak", "scaling", flag_value="weak", help="As much work for each rank at all sizes (the default).")
@click.option("--strong", "scaling", flag_value="strong", help="As much work in all at all sizes.")
@click.option(
    "--reference",
    metavar="MACHINE",
    help="With --machine: where the computation times of the program hold, all cores of its nodes busy; on others they "
    "are scaled. Without it they are the same everywhere.",
)
@click.option(
    "--memory-bound",
    metavar="SHARE|LEAST..MOST",
    help="Share of computation on the reference that goes by memory bandwidth, the rest by the peak rate of a core; "
    "from cache misses in a recording if they were counted.",
)
@shared(
    "output",
    "a page (.html; of timelines with what their ranks did, on one axis of time), or a picture (.png, .svg, .pdf): "
    "times as bars, latency of machines",
)
@shared(
    "plot",
    "; for machines, KIND is latency (default), bandwidth, overheads-network, rate, stream, collective-allreduce, ...; "
    "a catalogue machine is drawn by its model beside measured ones",
)
@shared("ranks", "; for tables, by default those that they have")
@shared("model", "for a program on machines")
@shared("collectives", "with --machine")
@shared("noise", "with --machine")
@shared("seed", "with --machine")
@job_options
@json_option
@shared("progress")
def command(
    things: tuple[str, ...],
    machine: tuple[str, ...],
    scaling: str | None,
    reference: str | None,
    memory_bound: str | None,
    output: str | None,
    plot: tuple[str, ...],
    ranks: str | None,
    model: str,
    collectives: tuple[str, ...],
    noise: str | None,
    seed: int,
    placement: str | None,
    nodes: str | None,
    ranks_per_node: int | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    from ..comparison.compare import compare
    from ..comparison.comparison import MOST, left_out
    from ..machine import Level, Machine
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule

    if output is not None:
        check_file("-o", output, (".html", *PICTURES))
    drawn = [one.partition("=") if "=" in one else ("", "", one) for one in plot]
    for _, _, path in drawn:
        check_file("--plot", path, PICTURES)
    at = None if ranks is None else whole_numbers("--ranks", ranks)
    if machine:
        from .compare_sizes import Asked, compare_over_sizes

        options: dict[str, Any]
        asked = Asked(machine, scaling, reference, memory_bound, at, placement, nodes, ranks_per_node, progress)
        options = {"model": model, "seed": seed, "collectives": parse_collectives(collectives, ranks_per_node),
                   "noise": None if noise is None else parse_noise(noise)}  # fmt: skip
        compare_over_sizes(things, asked, options, output, [path for _, _, path in drawn], as_json)
        return
    only = {"--weak, --strong": scaling, "--reference": reference, "--memory-bound": memory_bound,
            "--collectives": collectives, "--noise": noise, "--seed": seed}  # fmt: skip
    for option, value in only.items():
        if value:
            raise InvalidInput(f"{option}: needs --machine, which names the machines to compare over numbers of ranks")
    read = [read_thing(text) for text in things]
    options = {}
    if isinstance(read[0], (Program, Schedule)) and all(isinstance(one, (Machine, Level)) for one in read[1:]):
        sat = [parse_placement(where, read[0].ranks, placement, nodes, ranks_per_node) for where in read[1:]]
        options = {"model": model, "placements": sat}
    elif placement or nodes or ranks_per_node:
        raise InvalidInput("--placement, --nodes and --ranks-per-node apply only to a program or schedule on machines")
    names = [os.path.basename(text) if os.path.exists(text) else text for text in things]
    found = compare(*read, names=names, ranks=at, **options)
    if output is not None:
        found.save(output)
    for kind, _, path in drawn:
        found.plot(path, kind or None)
    files = [*([] if output is None else [output]), *(path for _, _, path in drawn)]
    if as_json:
        print_json(found.json() | {"files": files})
        return
    _print(found, *found.cells())
    for part in found.parts:
        if part.rows:
            columns, rows = found.cells(part)
            click.echo(f"\n{part.title}")
            _print(found, columns, rows[:MOST])
            for line in left_out(len(rows)):
                click.echo(line)
    for note in found.notes:
        click.echo(f"note: {note}")
    for path in files:
        click.echo(f"wrote {path}")


def _print(found: Comparison, columns: list[str], rows: list[list[str]]) -> None:
    if not rows:
        click.echo("no differences")
        return
    numbers = [c for c in columns if c in found.units]
    # Into a pipe a few long values would make all lines as long.
    wide = columns if line_width() else [c for c in columns if c not in numbers]
    print_table(columns, rows, right=numbers, wrap=wide, most=None if line_width() else 60)
