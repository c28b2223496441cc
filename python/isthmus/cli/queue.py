"""isthmus queue ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from .options import check_file, json_option, machine_argument, pictures, shared
from .output import print_json, print_table
from .queue_vary import decide, vary

if TYPE_CHECKING:
    from ..machine import Machine
    from ..queueing import Workload

_EXAMPLES = (
    "isthmus queue simulate torus:8x8x8 --policy linear --policy contiguous",
    "isthmus queue workload redsky --jobs 2000 --load 0.9 -o redsky.swf",
)


def _epilog(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group("queue", epilog=_epilog(*_EXAMPLES))
def command() -> None:
    """Queues of machines: how long jobs wait, and which nodes they get.

    Jobs are started first come, first served with EASY backfilling. They come from a workload in the Standard Workload
    Format, such as those of the Parallel Workloads Archive, or from the model of Lublin and Feitelson.
    """


@command.command(
    "simulate",
    epilog=_epilog(
        "isthmus queue simulate torus:8x8x8",
        "isthmus queue simulate redsky --load 0.9 --policy linear --policy random --plot waits.png",
        "isthmus queue simulate torus:8x8x8 --policy contiguous -o done.swf --json",
    ),
    help="Simulate the queue of MACHINE: waiting times by size, and how far apart the nodes of jobs are.\n\n"
    "Without --workload, 5,000 jobs of the model of Lublin and Feitelson are submitted, which ask for 80 % of the "
    "machine.",
)
@machine_argument
@shared("workload")
@shared("policy")
@shared("load")
@shared("per_node")
@shared("seed", "; of random allocations and of jobs of the model")
@shared("output", "the workload as it was done under the first policy, .swf")
@shared("plot", "waiting times by size")
@json_option
def simulate(
    machine: Machine,
    workload: str | None,
    policy: tuple[str, ...],
    load: float | None,
    per_node: int | None,
    seed: int,
    output: str | None,
    plot: tuple[str, ...],
    as_json: bool,
) -> None:
    from ..queueing import queue, write_swf

    if output is not None:
        check_file("-o", output, (".swf",))
    drawn = pictures("--plot", plot, ("waits",))
    policies = policy or ("linear",)
    found = queue(machine, _workload(workload), policies=policies, load=load, per_node=per_node, seed=seed)
    if output is not None:
        write_swf(found.done(policies[0]), output)
    for _, path in drawn:
        found.plot(path)
    files = [*([] if output is None else [output]), *(path for _, path in drawn)]
    if as_json:
        print_json(found.json() | {"files": files})
        return
    for line in found.head():
        click.echo(line)
    columns, rows = found.cells()
    print_table(columns, rows, right=columns[1:])
    click.echo(
        "\nslowdown: (wait + run) / max(run, 10 s), mean; links apart: between two nodes of a job, mean of a sample."
    )
    for note in found.jobs.notes():
        click.echo(f"note: {note}")
    for path in files:
        click.echo(f"wrote {path}")


@command.command(
    "workload",
    epilog=_epilog(
        "isthmus queue workload torus:8x8x8 --jobs 300 -o jobs.swf",
        "isthmus queue workload redsky --jobs 1000 --load 0.95 --job-nodes 1-64 -o small.swf",
    ),
    help="Write a synthetic workload for MACHINE, in the Standard Workload Format.\n\n"
    "The model is that of Lublin and Feitelson (2003) with its published constants for all jobs together; one "
    "processor is one node. It has no estimates of run times: requested times are unknown.",
)
@machine_argument
@click.option("--jobs", type=click.IntRange(1), metavar="N", default=5000, show_default=True, help="Number of jobs.")
@shared("load", "; by default 0.8")
@click.option("--job-nodes", "sizes", metavar="LOW-HIGH", help="Fewest and most nodes of a job; by default all sizes.")
@shared("seed")
@shared("output", "the workload, .swf", required=True)
@json_option
def workload(
    machine: Machine, jobs: int, load: float | None, sizes: str | None, seed: int, output: str, as_json: bool
) -> None:
    from ..queueing import lublin, write_swf

    check_file("-o", output, (".swf",))
    made = lublin(machine.nodes, jobs, load=0.8 if load is None else load, sizes=_sizes(sizes), seed=seed)
    write_swf(made, output)
    if as_json:
        print_json({"jobs": len(made), "load": made.jobs(machine.nodes).load(machine.nodes), "files": [output]})
        return
    click.echo(f"{made} on {machine.name}")
    click.echo(f"wrote {output}")


command.add_command(vary)
command.add_command(decide)


def _workload(path: str | None) -> Workload | None:
    from ..queueing.swf import read_or_refuse

    return None if path is None else read_or_refuse(path)


def _sizes(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    if not found:
        raise InvalidInput(f"--job-nodes {text}: must be a number of nodes or a range such as 1-64")
    return int(found[1]), int(found[2] or found[1])
