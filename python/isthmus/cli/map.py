"""isthmus map ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .. import units
from ..errors import InvalidInput
from ..named import split
from .collectives import parse_collectives
from .inputs import parse_nodes, parse_speeds
from .options import MODELS, PLACES, Work, check_file, json_option, pictures, shared, work_argument
from .output import line_width, print_json, print_table

if TYPE_CHECKING:
    from ..machine import Allocation
    from ..machine.placement import Placement
    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule

PLOTS = ("load", "dilation", "placement")


@click.command(
    "map",
    epilog="\b\nExamples:\n"
    "  isthmus map --example lammps --machine torus:4x4x4 --plot load.png\n"
    "  isthmus map app.h5 --machine cielo -o rankfile --time 30s\n"
    "  isthmus map app.h5 --machine cielo --nodes 64 -o MPICH_RANK_ORDER --format cray\n"
    "  isthmus map mesh.graph --machine torus:16x16x16 --method multilevel --json\n"
    "  isthmus map mesh.graph --machine torus:16x16x16 --tasks-per-node 66 --objective max_link\n"
    "  isthmus map app.h5 --machine cielo --evaluate --placement rankfile\n"
    "  isthmus map app.h5 --machine cielo --plot load=before-and-after.png\n"
    "  isthmus map --list",
    help="Find a placement in which ranks that communicate much sit close together.\n\n"
    "FILE is a program or schedule (HDF5; GOAL), an undirected graph in METIS format (.graph, .graph.gz), or one "
    "collective such as alltoall:ranks=64,bytes=4kB. Prints all metrics of the placement that was found beside those "
    "of the allocation's order, block, cyclic and random placements, and lower bounds.",
)
@work_argument
@shared("machine")
@shared("nodes")
@click.option(
    "--fraction", type=float, metavar="PART", help="Use a random fraction of the nodes instead, drawn with --seed."
)
@shared("ranks_per_node", "; by default one rank per core")
@click.option(
    "--balance", type=float, metavar="PART", help="Let tasks share cores; a node may exceed its share by this fraction."
)
@click.option(
    "--tasks-per-node", type=click.IntRange(1), metavar="N", help="Let tasks share cores, with at most N on a node."
)
@click.option(
    "--speeds",
    metavar="LIST|FILE",
    help="With --balance: relative speeds of the nodes, such as 1x12,0.5x4, or a file with one speed per line.",
)
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="NAME[:KEY=VALUE,...]",
    help="Mapping method; --list shows all.",
)
@click.option(
    "--objective",
    type=click.Choice(["hop_bytes", "max_link", "time"]),
    help="Minimise hop-bytes, the largest congestion of a link, or the simulated time. By default the simulated time "
    "if --time allows simulations; otherwise hop-bytes, without making the hottest link hotter.",
)
@shared("time", " (processor time)", default="10s")
@shared("seed")
@click.option(
    "--evaluate", is_flag=True, help="Print only the metrics of --placement, with their definitions and sources."
)
@shared("placement", f"{PLACES}; with --evaluate, also default or random")
@shared("collectives", "without it their messages do not count")
@shared("model", "with none, nothing is simulated", type=click.Choice([*MODELS, "none"]), default="flow")
@shared("output", "the file for the launcher")
@shared("format", ", and of --placement; by default an Open MPI rankfile; --list shows all")
@shared(
    "plot",
    "; KIND is load (of links, before and after, default), dilation, or placement (nodes in space, by their tasks); "
    "may be repeated",
)
@click.option("--list", "listed", is_flag=True, help="List the methods and file formats.")
@json_option
def command(
    work: Work,
    machine: str | None,
    nodes: str | None,
    fraction: float | None,
    ranks_per_node: int | None,
    balance: float | None,
    tasks_per_node: int | None,
    speeds: str | None,
    method: str,
    objective: str | None,
    seconds: str,
    seed: int,
    evaluate: bool,
    placement: str | None,
    collectives: tuple[str, ...],
    model: str,
    output: str | None,
    format: str | None,
    plot: tuple[str, ...],
    listed: bool,
    as_json: bool,
) -> None:
    if listed:
        _list(as_json)
        return
    if (work.file is None and work.example is None) or machine is None:
        raise InvalidInput("give FILE or --example NAME, and --machine MACHINE; or --list")
    if placement is not None and not evaluate:
        raise InvalidInput("--placement needs --evaluate")
    if evaluate and (output or plot):
        raise InvalidInput("--evaluate finds no placement: -o and --plot do not apply")
    if output is not None:
        _check_output(output, format)
    drawn = pictures("--plot", plot, PLOTS)
    from ..loading import load
    from ..mapping.map import map as map_tasks

    what: Pattern | Program | Schedule
    what, undirected = work.graph()
    loaded = load(machine)
    share = balance is not None or tasks_per_node is not None
    job = parse_nodes(loaded, what.ranks, nodes, ranks_per_node, fraction=fraction, seed=seed, share=share)
    common: dict[str, Any] = {
        "undirected": undirected,
        "collectives": parse_collectives(collectives, ranks_per_node),
        "model": None if model == "none" else model,
    }
    if evaluate:
        _evaluate(what, _placement(job, what.ranks, placement or "default", format, seed, share), common, as_json)
        return
    mapped = map_tasks(
        what,
        job,
        method=_method(method),
        seconds=units.parse(seconds, "s", plain=True),
        seed=seed,
        objective=objective,
        balance=balance,
        tasks_per_node=tasks_per_node,
        speeds=None if speeds is None else parse_speeds(speeds),
        **common,
    )
    written = []
    if output is not None:
        mapped.save(output, format or "rankfile")
        written.append(output)
    for kind, path in drawn:
        mapped.plot(path, kind)
        written.append(path)
    if as_json:
        print_json(mapped.json() | {"files": written})
        return
    click.echo(str(mapped))
    for path in written:
        click.echo(f"wrote {path}")


def _list(as_json: bool) -> None:
    from ..mapping.launch import formats
    from ..mapping.methods import methods

    if as_json:
        listed = [{"name": m.name, "words": m.words, "options": dict(m.options)} for m in methods().values()]
        print_json({"methods": listed, "formats": [f.name for f in formats()]})
        return
    rows = [["auto", "runs what suits and keeps the best", ""]]
    rows += [[m.name, m.words, ", ".join(f"{k}={v}" for k, v in m.options.items())] for m in methods().values()]
    print_table(["method", "what it does", "options"], rows, wrap=["what it does"])
    click.echo()
    print_table(
        ["format", "what it is", "how to launch"],
        [[f.name, f.title, f.command] for f in formats()],
        wrap=["how to launch"],
    )


def _evaluate(what: Any, placement: Placement, common: dict[str, Any], as_json: bool) -> None:
    from ..mapping.metrics import DEFINITIONS
    from ..mapping.metrics import evaluate as metrics_of

    found = metrics_of(what, placement, **common)
    if as_json:
        definitions = {name: {"definition": d.definition, "source": d.source} for name, d in DEFINITIONS.items()}
        print_json(found.json() | {"definitions": definitions})
        return
    click.echo(str(found))
    click.echo("\ndefinitions")
    width = line_width()
    for name, d in DEFINITIONS.items():
        if found.value(name) is not None:
            click.echo(_wrapped(f"{d.words}: {d.definition} ({d.source})", width))


def _wrapped(text: str, width: int | None) -> str:
    import textwrap

    return textwrap.fill(text, width or 10_000, initial_indent="  ", subsequent_indent="    ")


def _placement(job: Allocation, ranks: int, given: str, format: str | None, seed: int, share: bool) -> Placement:
    from ..machine.placement import ORDERS, Placement

    if given in ORDERS:
        return Placement.of(job, ranks, given, seed=seed, share=share)
    from ..mapping.launch import read

    return read(given, job, format)


def _method(text: str) -> str | tuple[str, dict[str, Any]]:
    """Name and options from ``NAME:key=value,...``."""
    # One version ago a comma stood behind the name.
    name, *rest = split(text.replace(":", ",", 1))
    options: dict[str, Any] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise InvalidInput(f"--method {text}: must be NAME:key=value,...")
        options[key] = _value(value)
    return (name, options) if options else name


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _check_output(path: str, format: str | None) -> None:
    """Before the work: what would fail after it."""
    from ..mapping.launch import formats

    names = [f.name for f in formats()]
    if format is not None and format not in names:
        raise InvalidInput(f"--format {format}: must be one of {', '.join(names)}")
    check_file("-o", path)
