"""isthmus tune COLLECTIVE ..."""

from __future__ import annotations

import re
from typing import Any

import click

from .. import units
from ..errors import InvalidInput
from .inputs import parse_level, parse_placement
from .options import Command, check_file, job_options, json_option, pictures, shared, whole_numbers
from .output import print_json
from .tune_table import FORMS


@click.command(
    "search",
    cls=Command,
    old={"--plot-map": "--plot map="},
    epilog="\b\nExamples:\n"
    "  isthmus tune allreduce --machine eos --ranks 64 --sizes 8..64MiB\n"
    "  isthmus tune bcast reduce --machine cielo --ranks 16,64 --sizes 8,1KiB,1MiB -o cielo.toml\n"
    "  isthmus tune alltoall --machine torus-4x4x4 --ranks 32 --model flow --sizes 8..64KiB\n"
    "  isthmus tune scatter --machine eos --ranks 64 --sizes 8..8KiB --flavours message,put,get,none\n"
    "  isthmus tune all --machine loggops:L=2us,o=1us,g=1us,G=1ns --ranks 32 --sizes 8..8KiB --plot times.png",
    help="Find the best algorithms of collectives for a machine, by size: a decision table.\n\n"
    "COLLECTIVE is bcast, allreduce, alltoall, ..., or all. Every algorithm is tried with radices, segments and what "
    "other options it has; what cannot be the best by closed forms, bounds and its own times at other sizes is not "
    "simulated. Prints predicted times beside the second best and a lower bound.",
)
@click.argument("collectives", metavar="COLLECTIVE...", nargs=-1, required=True)
@shared("machine", "or LogGOPS parameters such as loggops:L=2.5us,o=1.5us,g=1us,G=6ns", required=True)
@shared("ranks", ", to tune for", required=True)
@click.option(
    "--sizes", default="8..64MiB", show_default=True, metavar="FROM..TO|LIST",
    help="Sizes of the vector, or of one rank's block: a range of powers of two, or a list with commas.",
)  # fmt: skip
@job_options
@shared("model", "by default flow between nodes, loggops where there are no links", default=None)
@shared("algorithm", "; may be repeated")
@click.option(
    "--try", "tried", multiple=True, metavar="OPTION=VALUE,...", help="Values of an option to try; may be repeated."
)
@click.option(
    "--flavours", metavar="WORD,...",
    help="Flavours to try: access (message, put, get), protocol (size, eager, rendezvous) and synchronisation (my, "
    "none, "
    "all); by default message, size.",
)  # fmt: skip
@click.option(
    "--modes", metavar="SYNC,...",
    help="Modes of synchronisation to tune for, of collectives on the memory of spaces: none, my, all, or two of them "
    "joined by - for entry and exit; by default none is named.",
)  # fmt: skip
@click.option(
    "--margin", type=click.FloatRange(0), default=0.1, show_default=True,
    help="Leave out candidates whose lower bound exceeds the best time by this fraction.",
)  # fmt: skip
@shared("ordered")
@click.option("--exhaustive", is_flag=True, help="Simulate all candidates at all sizes.")
@shared("time", " for each collective; by default there is no limit")
@shared("workers", ", each of which simulates", default=2, show_default=True)
@shared("output", "the decision table, .toml, .json, or .txt (what C reads)")
@shared(
    "plot", "; KIND is times (by size, of the first collective, default) or map (the best algorithm by ranks and size)"
)
@shared("progress")
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
    algorithm: tuple[str, ...],
    tried: tuple[str, ...],
    flavours: str | None,
    modes: str | None,
    margin: float,
    ordered: bool,
    exhaustive: bool,
    seconds: str | None,
    workers: int,
    output: str | None,
    plot: tuple[str, ...],
    progress: bool | None,
    as_json: bool,
) -> None:
    import sys

    from ..loading import load
    from ..tuning.table_file import content
    from ..tuning.tune import tune

    if output is not None:
        check_file("-o", output, FORMS)
    drawn = pictures("--plot", plot, ("times", "map"))
    where = parse_level(machine) or load(machine)
    counts = whole_numbers("--ranks", ranks)
    tuning = tune(
        collectives,
        where,
        ranks=counts,
        sizes=parse_sizes(sizes),
        placement=parse_placement(where, max(counts), placement, nodes, ranks_per_node),
        model=model,
        algorithms=algorithm or None,
        options=dict(_values(text) for text in tried),
        flavours=None if flavours is None else [word.strip() for word in flavours.split(",")],
        modes=None if modes is None else parse_modes(modes),
        margin=margin,
        ordered=ordered,
        exhaustive=exhaustive,
        seconds=None if seconds is None else units.parse(seconds, "s", plain=True),
        workers=workers,
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    if output is not None:
        tuning.table.save(output)
    for kind, path in drawn:
        (tuning.plot if kind == "times" else tuning.plot_map)(path)
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


def parse_modes(text: str) -> list[str]:
    """Modes of synchronisation: ``none,my-all``; ``all-all`` is ``all``.

    Raises
    ------
    InvalidInput
        For anything else.
    """
    from ..tuning.table import MODES

    found: dict[str, None] = {}
    for word in text.split(","):
        enter, dash, leave = word.strip().partition("-")
        mode = enter if dash and enter == leave else word.strip()
        if mode not in MODES:
            raise InvalidInput(f"--modes {text}: must be {', '.join(MODES)}, with commas between")
        found[mode] = None
    return list(found)


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
        raise InvalidInput(f"--sizes {text}: the second size must not be less than the first")
    powers = (1 << k for k in range(first.bit_length(), last.bit_length()))
    return sorted({first, *powers, last})


def _bytes(text: str) -> int:
    number = units.parse(text.strip() + ("B" if re.fullmatch(r"\s*\d+\s*", text) else ""), "B")
    if number != round(number) or number < 0:
        raise InvalidInput(f"--sizes: {units.shown(text)} is not a whole number of bytes")
    return int(number)


def _whole(option: str, text: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,9}\s*", text):
        raise InvalidInput(f"{option}: {units.shown(text)} is not a whole number")
    return int(text)


def _values(text: str) -> tuple[str, list[Any]]:
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise InvalidInput(f"--try {units.shown(text)}: expected OPTION=VALUE,..., such as radix=2,4,8")
    read = _bytes if name == "segment" else lambda word: _whole(f"--try {name}", word)
    return name, [read(word) for word in values.split(",")]
