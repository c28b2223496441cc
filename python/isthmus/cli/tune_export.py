"""isthmus tune export, verify."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from .output import json_option, print_json, print_table
from .tune_table import TABLE, counts, epilog, model_option, read_decisions

if TYPE_CHECKING:
    from ..tuning.compare import Predict


@click.command(
    "export",
    epilog=epilog(
        "export eos.toml --for openmpi-5.0.8 -o rules.conf",
        "export eos.toml --for openmpi-4.1.4 --machine eos -o rules.conf",
        "export openmpi --ranks 64 --for ucc -o ucc.env",
    ),
    help="A file that makes an MPI library decide as a table says.\n\nPrints how to use it, what the library does not "
    "have and what is lost by that. With --machine, what openmpi and mpich decide no worse by themselves is left to "
    f"them. 'isthmus tune verify' proves that it works.\n\n{TABLE}",
)
@click.argument("table", metavar="TABLE")
@click.option(
    "--for", "target", required=True, metavar="LIBRARY",
    help="openmpi-VERSION, openmpi-han-VERSION, mpich, mpich-VERSION or ucc.",
)  # fmt: skip
@click.option("-o", "--output", required=True, metavar="FILE", help="The file to write.")
@click.option("--ranks", metavar="N[,N...]", help="Numbers of ranks to write rules for; by default the table's.")
@click.option(
    "--machine", metavar="MACHINE",
    help="Replace what the library does not have by what is fastest on this machine, leave out what is no faster there "
    "than the library's own choice, and print both.",
)  # fmt: skip
@model_option
@click.option("--library", metavar="FILE", help="mpich: libmpi.so or libmpich.so to take the selection tree from.")
@click.option("--tree", metavar="FILE", help="mpich: the selection tree, generic.json of the sources.")
@click.option("--by-size", multiple=True, metavar="KIND", help="openmpi: rules by size for gather or scatter too.")
@click.option("--section", metavar="TEXT", help="ucc: write ucc.conf, with sections such as 'vendor=intel'.")
@click.option("--ranks-per-node", type=click.IntRange(1), help="ucc: sections are for so many ranks a node.")
@json_option
def export(
    table: str, target: str, output: str, ranks: str | None, machine: str | None, model: str, as_json: bool, **rest: Any
) -> None:
    from ..tuning.export import export as exported
    from ..tuning.export import guard_for

    options = {key: value for key, value in rest.items() if value not in (None, ())}
    predict, cores = _predictor(machine, model)
    guard = None if predict is None else guard_for(target, predict, ranks_per_node=cores, model=model)
    found = exported(read_decisions(table), target, predict=predict, ranks=counts(ranks), guard=guard, **options)
    found.save(output)
    if as_json:
        losses = [
            {**vars(loss), "wanted": str(loss.wanted), "running": None if loss.running is None else str(loss.running)}
            for loss in found.losses
        ]
        print_json(
            {
                "file": output,
                "target": found.target,
                "format": found.format,
                "environment": found.environment(output),
                "losses": losses,
                "notes": list(found.notes),
            }
        )
        return
    click.echo(found.report(output))
    click.echo(f"wrote {output}")


@click.command(
    "verify",
    epilog=epilog(
        "verify eos.toml --mpirun 'mpirun --oversubscribe'",
        "verify rules.conf --mpirun 'mpirun --oversubscribe' --ranks 8",
        "verify openmpi --mpirun 'mpirun --oversubscribe'",
        "verify ucc.env --mpirun 'mpirun --oversubscribe' --ucc /opt/ucc",
    ),
    help="Whether an MPI library follows a table or an exported file, shown by the messages of real runs.\n\n"
    "Every collective runs with the file, without it, and with the algorithm forced. openmpi and mpich stand for what "
    "the library is said to decide by itself. Exit status 1 if it does not follow.",
)
@click.argument("what", metavar="TABLE|FILE")
@click.option("--mpirun", required=True, metavar="COMMAND", help="The launcher with its options, without -n.")
@click.option("--ranks", type=click.IntRange(2), default=6, show_default=True, help="Ranks to run.")
@click.option("--mpicc", metavar="COMPILER", help="Of the same MPI, where the launcher does not tell.")
@click.option("--ucc", metavar="FOLDER", help="Verify UCC as it is installed there; 'auto': where ucc_info is.")
@click.option("--machine", metavar="MACHINE", help="As of 'isthmus tune export'.")
@model_option
@click.option("--all", "every", is_flag=True, help="Print every case, not only those that are not as they should be.")
@json_option
def verify(what: str, mpirun: str, machine: str | None, model: str, every: bool, as_json: bool, **options: Any) -> None:
    from ..tuning.verify import verify as verified
    from ..tuning.verify.verify import ALIKE, AS_MODELLED, IN_EFFECT

    ranks = options["ranks"]
    report = verified(_table_or_file(what), shlex.split(mpirun), predict=_predictor(machine, model)[0], **options)
    if as_json:
        cases = [vars(verdict) for verdict in report.verdicts]
        print_json({"library": report.library, "ranks": ranks, "ok": report.ok, "report": str(report), "cases": cases})
    else:
        rows = [
            (v.collective, v.bytes, v.algorithm, v.says)
            for v in report.verdicts
            if every or v.says not in (IN_EFFECT, AS_MODELLED, ALIKE)
        ]
        if rows:
            print_table(("collective", "bytes", "algorithm", "found"), rows, right=("bytes",))
        for note in report.notes:
            click.echo(f"note: {note}")
        click.echo(str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)


def _predictor(machine: str | None, model: str) -> tuple[Predict | None, int]:
    """Times on a machine, and how many ranks sit on a node there."""
    if machine is None:
        return None, 1
    from ..loading import load
    from ..tuning.compare import predictor
    from .inputs import parse_level

    level = parse_level(machine)
    if level is not None:
        return predictor(level, model=model), 1
    where = load(machine)
    return predictor(where, model=model), where.node.cores


def _table_or_file(what: str) -> Any:
    """A decision table by its format line; anything else is a library's file."""
    from ..toml_text import read_text
    from ..tuning.defaults import LIBRARIES
    from ..tuning.table_file import FORMAT

    if not os.path.exists(what) and what.partition("-")[0] in LIBRARIES:
        return read_decisions(what)
    if FORMAT in read_text(what)[:1000]:
        from ..tuning.table import DecisionTable

        return DecisionTable.load(what)
    if what.endswith(".toml"):
        raise InvalidInput(f"{what}: this is no decision table")
    return what
