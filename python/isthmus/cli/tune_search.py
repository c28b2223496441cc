"""isthmus tune COLLECTIVE ..."""

from __future__ import annotations

import re
from typing import Any

import click

from .. import units
from ..errors import InvalidInput
from .inputs import parse_level, parse_placement
from .output import json_option, print_json

_PICTURES = (".png", ".svg", ".pdf")


@click.command(
    "search",
    epilog="\b\nExamples:\n"
    "  isthmus tune allreduce --machine eos --ranks 64 --sizes 8..64MiB\n"
    "  isthmus tune bcast reduce --machine cielo --ranks 16,64 --sizes 8,1KiB,1MiB -o cielo.toml\n"
    "  isthmus tune alltoall --machine torus-4x4x4 --ranks 32 --model flow --sizes 8..64KiB\n"
    "  isthmus tune scatter --machine eos --ranks 64 --sizes 8..8KiB --flavours message,put,get,none\n"
    "  isthmus tune all --machine loggops:L=2us,o=1us,g=1us,G=1ns --ranks 32 --sizes 8..8KiB --plot times.png",
    help="The best algorithm of collectives for a machine, by size: a decision table.\n\n"
    "COLLECTIVE is bcast, allreduce, alltoall, ..., or all. Every algorithm is tried with radices, segments and what "
    "other options it has; what cannot be the best by closed forms, bounds and its own times at other sizes is not "
    "simulated. Prints predicted times beside the second best and a lower bound.",
)
@click.argument("collectives", metavar="COLLECTIVE...", nargs=-1, required=True)
@click.option(
    "--machine", metavar="MACHINE", required=True,
    help="A name of the catalogue, a file, a specification in quotes, or loggops:L=...,o=...,g=...,G=....",
)  # fmt: skip
@click.option("--ranks", metavar="N[,N...]", required=True, help="Numbers of ranks to tune for.")
@click.option(
    "--sizes", default="8..64MiB", show_default=True, metavar="FROM..TO|LIST",
    help="Bytes, of the vector or of one rank's block: powers of two from one to the other, or a list with commas.",
)  # fmt: skip
@click.option(
    "--placement", metavar="block|cyclic|FILE",
    help="Ranks fill node after node, or go round the nodes, or sit where a file says, as of isthmus simulate.",
)  # fmt: skip
@click.option("--nodes", metavar="N|LIST", help="So many nodes, or those of a list such as 'nid[00012-00075]'.")
@click.option("--ranks-per-node", type=click.IntRange(1), help="By default one rank per core.")
@click.option(
    "--model", type=click.Choice(["loggops", "flow", "reserve", "packet"]),
    help="Of the network: messages never meet, share links fairly, take links one after the other, or are packets. By "
    "default flow between nodes, loggops where there are no links.",
)  # fmt: skip
@click.option("--algorithm", "algorithms", multiple=True, metavar="NAME", help="Only this one. May be repeated.")
@click.option("--try", "tried", multiple=True, metavar="OPTION=VALUE,...", help="Values of an option. May be repeated.")
@click.option(
    "--flavours", metavar="WORD,...",
    help="Of access (message, put, get), protocol of messages (size, eager, rendezvous) and synchronisation (my, none, "
    "all); by default message, size.",
)  # fmt: skip
@click.option(
    "--margin", type=click.FloatRange(0), default=0.1, show_default=True,
    help="How much slower than the best something must be by its bound to be left out, relative to the best.",
)  # fmt: skip
@click.option("--ordered", is_flag=True, help="Operators do not commute: only algorithms that keep the order of ranks.")
@click.option("--exhaustive", is_flag=True, help="Simulate all candidates at all sizes.")
@click.option("--time", "seconds", metavar="TIME", help="Begin no simulation after so long, for each collective.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Simulations at once.")
@click.option("-o", "--output", metavar="FILE", help="Write the decision table: .toml, .json.")
@click.option("--plot", metavar="FILE", help="Draw time by size, of the first collective: .png, .svg, .pdf.")
@click.option("--plot-map", metavar="FILE", help="Draw the best algorithm by ranks and size: .png, .svg, .pdf.")
@click.option("--progress/--no-progress", default=None, help="A progress bar; by default on a terminal.")
@json_option
def command(
    collectives: tuple[str, ...],
    machine: str,
    ranks: str,
    sizes: str,
    placement: str | None,
    nodes: str | None,
    ranks_per_node: int | None,
    model: str | None,
    algorithms: tuple[str, ...],
    tried: tuple[str, ...],
    flavours: str | None,
    margin: float,
    ordered: bool,
    exhaustive: bool,
    seconds: str | None,
    workers: int,
    output: str | None,
    plot: str | None,
    plot_map: str | None,
    progress: bool | None,
    as_json: bool,
) -> None:
    import sys

    from ..loading import load
    from ..tuning.table_file import content
    from ..tuning.tune import tune

    _suffix("--output", output, (".toml", ".json"))
    _suffix("--plot", plot, _PICTURES)
    _suffix("--plot-map", plot_map, _PICTURES)
    where = parse_level(machine) or load(machine)
    counts = [_whole("--ranks", word) for word in ranks.split(",")]
    tuning = tune(
        collectives,
        where,
        ranks=counts,
        sizes=parse_sizes(sizes),
        placement=parse_placement(where, max(counts), placement, nodes, ranks_per_node),
        model=model,
        algorithms=algorithms or None,
        options=dict(_values(text) for text in tried),
        flavours=None if flavours is None else [word.strip() for word in flavours.split(",")],
        margin=margin,
        ordered=ordered,
        exhaustive=exhaustive,
        seconds=None if seconds is None else units.parse(seconds, "s", plain=True),
        workers=workers,
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    if output is not None:
        tuning.table.save(output)
    if plot is not None:
        tuning.plot(plot)
    if plot_map is not None:
        tuning.plot_map(plot_map)
    if as_json:
        left_out = [
            {
                "collective": found.collective,
                "ranks": found.scenario.ranks,
                "candidates": len(found.choices),
                "simulations": found.simulations,
                "left_out": {rule.name: count for rule, count in found.left_out.items()},
            }
            for found in tuning.sweeps
        ]
        print_json({**content(tuning.table), "wall": tuning.wall, "search": left_out})
    else:
        print(tuning)


def parse_sizes(text: str) -> list[int]:
    """Bytes: ``8..64MiB``, the powers of two between both and both themselves, or ``8,1KiB,1MB``.

    Raises
    ------
    InvalidInput
        For anything else.
    """
    low, dots, high = (word.strip() for word in text.partition(".."))
    if not dots:
        return sorted({_bytes(word) for word in text.split(",")})
    first, last = _bytes(low), _bytes(high)
    if first > last:
        raise InvalidInput(f"--sizes {text}: the second size is less than the first")
    powers = (1 << k for k in range(first.bit_length(), last.bit_length()))
    return sorted({first, *powers, last})


def _bytes(text: str) -> int:
    number = units.parse(text.strip() + ("B" if re.fullmatch(r"\s*\d+\s*", text) else ""), "B")
    if number != round(number) or number < 0:
        raise InvalidInput(f"--sizes: {units.shown(text)} is no whole number of bytes")
    return int(number)


def _whole(option: str, text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,9}\s*", text):
        raise InvalidInput(f"{option}: {units.shown(text)} is no whole number")
    return int(text)


def _values(text: str) -> tuple[str, list[Any]]:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise InvalidInput(f"--try {units.shown(text)}: OPTION=VALUE,... is needed, such as radix=2,4,8")
    read = _bytes if name == "segment" else lambda word: _whole(f"--try {name}", word)
    return name, [read(word) for word in values.split(",")]


def _suffix(option: str, path: str | None, allowed: tuple[str, ...]) -> None:
    if path is not None and not path.lower().endswith(allowed):
        raise InvalidInput(f"{option} {path}: suffixes {', '.join(allowed)} are allowed")
