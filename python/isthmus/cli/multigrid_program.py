"""isthmus multigrid program"""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInput
from .multigrid_inputs import given_switches, named_costs, paid_costs, read_hierarchy
from .options import check_file, json_option, shared
from .output import print_json


@click.command(
    "program",
    epilog="\b\nExamples:\n  isthmus multigrid program levels.h5 --cost flop=0.5e-9 -o cycle.h5\n"
    "  isthmus simulate cycle.h5 --machine eos --model flow\n"
    "  isthmus multigrid program levels.h5 --machine eos --gather model --cycles 10\n"
    "  isthmus multigrid program levels.h5 --cycle W --smoother chebyshev --sweeps 1,2 --coarsest gather",
    help="Build the program of a cycle: what every rank sends and computes, level by level.\n\n"
    "FILE holds a hierarchy. What -o writes is taken by simulate, map, advise and show as any other program; its "
    "phases are the levels, its locations what is done on each. Computation takes the time of a floating-point "
    "operation of --machine, or of --cost flop=; without either there are only messages.",
)
@click.argument("file", metavar="FILE")
@shared("machine")
@shared("ranks_per_node", "; by default as many as it has cores")
@shared("cost")
@shared("cycle")
@shared("smoother")
@click.option("--degree", type=click.IntRange(1), default=2, show_default=True, metavar="N",
              help="Degree of Chebyshev's polynomial.")  # fmt: skip
@click.option("--sweeps", default="1,1", show_default=True, metavar="N,N",
              help="Sweeps of the smoother before and after the coarser levels.")  # fmt: skip
@shared("cycles")
@click.option("--coarsest", default="smooth", show_default=True, metavar="NAME",
              help="The coarsest level: smooth, gather (one rank solves) or allgather (all solve).")  # fmt: skip
@shared("gather")
@shared("redundant")
@shared("output", "the program, .h5")
@json_option
def program(
    file: str, machine: str | None, ranks_per_node: int | None, cost: tuple[str, ...], shape: str, smoother: str,
    degree: int, sweeps: str, cycles: int, coarsest: str, gather: tuple[str, ...], redundant: bool,
    output: str | None, as_json: bool,
) -> None:  # fmt: skip
    from ..multigrid import program as built
    from ..multigrid import redistribute as decide
    from ..multigrid.redistribution import sizes_of_classes
    from .show import program_summary

    if output is not None:
        check_file("-o", output, (".h5", ".hdf5"))
    around = _sweeps(sweeps)
    levels = read_hierarchy(file)
    settings: dict[str, Any] = {"shape": shape, "smoother": smoother, "sweeps": around, "degree": degree}
    given = named_costs(cost)
    switches = given_switches(gather)
    paid = None
    if machine is None:
        if switches is None:
            raise InvalidInput("--gather model: give --machine, for which the model decides")
        for name in given:
            if name != "flop":
                raise InvalidInput(f"--cost {name}: without --machine a program has only the cost flop")
        if ranks_per_node is not None:
            raise InvalidInput("--ranks-per-node: give --machine, too")
        flop = given.get("flop", 0.0)
    else:
        paid = paid_costs(machine, ranks_per_node, cost, levels.parts)
        flop = paid.costs.flop
        if switches is None:
            caches = sizes_of_classes(paid.machine)
            switches = dict(
                decide(levels, paid.costs, cores=paid.per_node, redundant=redundant, caches=caches, **settings).switches
            )
    made = built(levels, flop, cycles=cycles, coarsest=coarsest, switches=switches, redundant=redundant, **settings)
    if output is not None:
        made.save(output)
    if as_json:
        more = {"switches": switches, "flop": flop}
        print_json(program_summary(made) | more | ({} if output is None else {"file": output}))
        return
    for level, parts in switches.items():
        click.echo(f"level {level} is gathered on {parts} rank{'s' if parts > 1 else ''}")
    click.echo(str(made))
    if paid is not None:
        paid.tell()
    if output is not None:
        click.echo(f"wrote {output}")


def _sweeps(text: str) -> tuple[int, int]:
    words = text.split(",")
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        raise InvalidInput(f"--sweeps {text}: expected two numbers, before and after the coarser levels, such as 1,1")
    return int(words[0]), int(words[1])
