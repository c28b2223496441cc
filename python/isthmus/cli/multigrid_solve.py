"""isthmus multigrid solve"""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInput
from .multigrid_inputs import given_switches, paid_costs
from .multigrid_problem import of_problem
from .options import json_option, shared
from .output import print_json


@click.command(
    "solve",
    epilog="\b\nExamples:\n"
    "  isthmus multigrid solve laplace7 --points 40x40x40 --launch 'mpirun -n 8 --oversubscribe' --gather 2=2\n"
    "  isthmus multigrid solve matrix.mtx --launch 'srun -n 64' --gather model --machine eos\n"
    "  isthmus multigrid solve elasticity --points 16x16x16 --launch 'mpirun -n 4' --hypre-threshold 500",
    help="Solve a problem by hypre's BoomerAMG, and on its hierarchy with coarse levels gathered.\n\n"
    "PROBLEM and its options are those of isthmus multigrid counts. Shown are residuals, iterations alone and as "
    "preconditioner of conjugate gradients, seconds of the setup and of the solution, and messages and bytes of every "
    "level: with nothing gathered, with the levels of --gather, with those gathered while the setup runs "
    "(--early), with exchanges in three steps (--steps), and with hypre's own threshold.",
)
@of_problem
@shared("gather")
@click.option("--early", is_flag=True,
              help="Gather levels also while the setup runs, so that fewer ranks coarsen them.")  # fmt: skip
@click.option("--steps", multiple=True, metavar="LEVEL|all|model",
              help="On this level, exchange also in three steps: the ranks of a node hand what goes to another node to "
                   "one; may be repeated. all: on all levels; model: where that is faster on --machine.")  # fmt: skip
@shared("machine")
@shared("ranks_per_node", "; by default as many as it has cores, and for --steps those that share memory")
@shared("cost")
@shared("hypre_threshold", "; 0: this is not run", default=0)
@click.option("--all-ranks", is_flag=True, help="With --hypre-threshold all ranks solve these levels, not one.")
@click.option("--tolerance", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=1e-8, show_default=True,
              metavar="X", help="Iterate until the residual is so many times the right-hand side.")  # fmt: skip
@click.option("--iterations", type=click.IntRange(1), default=100, show_default=True, metavar="N",
              help="Most cycles, and most iterations of conjugate gradients.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, metavar="N",
              help="Seconds are the least of so many setups and solutions.")  # fmt: skip
@click.option("--exchange", default="runtime", show_default=True, metavar="NAME",
              help="Messages of halos and gathered vectors: runtime (schedules of libisthmus) or mpi.")  # fmt: skip
@json_option
def solve(
    given: dict[str, Any], gather: tuple[str, ...], early: bool, steps: tuple[str, ...], machine: str | None,
    ranks_per_node: int | None, cost: tuple[str, ...], hypre_threshold: int, all_ranks: bool, tolerance: float,
    iterations: int, repeats: int, exchange: str, as_json: bool,
) -> None:  # fmt: skip
    from ..multigrid import solve as solved

    switches = given_switches(gather)
    settings: dict[str, Any] = {"gather": switches or None}
    if early and not gather:
        raise InvalidInput("--early: give --gather, the levels or model")
    by_model = [name for name, asked in (("gather", switches is None), ("steps", steps == ("model",))) if asked]
    if by_model:
        if machine is None:
            raise InvalidInput(f"--{by_model[0]} model: give --machine, for which the model decides")
        told = _model(machine, ranks_per_node, cost, given["launch"])
        costs = told.pop("costs")
        settings |= told | dict.fromkeys(by_model, costs)
    elif machine is not None or cost or (ranks_per_node is not None and not steps):
        raise InvalidInput("--machine, --cost and --ranks-per-node are for --gather model and --steps")
    if steps and "steps" not in settings:
        settings["steps"] = "all" if steps == ("all",) else [_level(word) for word in steps]
    if steps and ranks_per_node:
        settings["ranks_per_node"] = ranks_per_node
    found = solved(
        **given, **settings, early=early, hypre_threshold=hypre_threshold, redundant=all_ranks, tolerance=tolerance,
        iterations=iterations, repeats=repeats, exchange=exchange,
        say=lambda text: click.echo(f"isthmus: {text}", err=True),
    )  # fmt: skip
    if as_json:
        runs = {
            name: {"residuals": run.residuals, "pcg_residuals": run.pcg_residuals} for name, run in found.runs.items()
        }
        print_json(
            {"switches": dict(found.switches), "facts": dict(found.facts), "summary": list(found.frame()),
             "levels": list(found.levels()), "residuals": runs}
        )  # fmt: skip
        return
    for level, count in found.switches.items():
        click.echo(f"level {level} is gathered on {count} rank{'s' if count > 1 else ''}")
    if switches is None and not found.switches:
        click.echo("the model gathers nothing here")
    if early:
        made = found.runs["early"].switches.items()
        words = ", ".join(f"level {level} on {count} rank{'s' if count > 1 else ''}" for level, count in made)
        click.echo(f"while the setup runs: {words or 'nothing'}")
    if steps == ("model",) and "steps" not in found.runs:
        click.echo("by the model no exchange takes less in three steps")
    click.echo(str(found))


def _level(word: str) -> int:
    if not word.isdecimal():
        raise InvalidInput(f"--steps {word}: must be the number of a level, all or model")
    return int(word)


def _model(machine: str, ranks_per_node: int | None, cost: tuple[str, ...], launch: str | None) -> dict[str, Any]:
    """What the model decides with."""
    from ..multigrid.hypre import started

    paid = paid_costs(machine, ranks_per_node, cost, started(launch)[1])
    return {"costs": paid.costs, "cores": paid.per_node,
            "caches": [float(one.size) for one in paid.machine.node.caches]}  # fmt: skip
