"""isthmus tune export, verify."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from .options import Command, json_option, shared, whole_numbers
from .output import print_json, print_table
from .tune_table import TABLE, counts, epilog, read_decisions

if TYPE_CHECKING:
    from ..tuning.compare import Predict


@click.command(
    "export",
    epilog=epilog(
        "export eos.toml --for openmpi-5.0.8 -o rules.conf",
        "export eos.toml --for openmpi-4.1.4 --machine eos -o rules.conf",
        "export openmpi --ranks 64 --for ucc -o ucc.env",
    ),
    help="Write a file that makes an MPI library decide as a table says.\n\nPrints how to use the file, which "
    "algorithms the library lacks and what that costs. With --machine, openmpi and mpich keep their own choice "
    f"wherever the table's is no faster. 'isthmus tune verify' checks the file by real runs.\n\n{TABLE}",
)
@click.argument("table", metavar="TABLE")
@click.option(
    "--for", "target", required=True, metavar="LIBRARY",
    help="openmpi-VERSION, openmpi-han-VERSION, mpich, mpich-VERSION, ucc or isthmus.",
)  # fmt: skip
@shared("output", "the file for the library", required=True)
@shared("ranks", ", to write rules for; by default the table's")
@shared(
    "machine",
    "algorithms that the library lacks are replaced by the fastest there, those that are no faster than its own choice "
    "left out, and both are printed",
)
@shared("model", "for simulations on the machine")
@click.option("--library", metavar="FILE", help="mpich: libmpi.so or libmpich.so to take the selection tree from.")
@click.option("--tree", metavar="FILE", help="mpich: the selection tree, generic.json in its sources.")
@click.option(
    "--by-size", multiple=True, metavar="KIND", help="openmpi: write rules by size for gather or scatter too."
)
@click.option("--section", metavar="TEXT", help="ucc: write ucc.conf, with sections such as 'vendor=intel'.")
@shared("ranks_per_node", ", for the sections of ucc")
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
    cls=Command,
    old={"--mpirun": "--launch", "--all": "--full"},
    epilog=epilog(
        "verify eos.toml --launch 'mpirun --oversubscribe'",
        "verify rules.conf --launch 'mpirun --oversubscribe -n 8'",
        "verify openmpi --launch 'mpirun --oversubscribe'",
        "verify ucc.env --launch 'mpirun --oversubscribe' --ucc /opt/ucc",
        "verify tuned.toml --time --launch 'mpirun -n 8' -o kept.toml",
    ),
    help="Check by the messages of real runs whether an MPI library follows a table or an exported file.\n\n"
    "Every collective runs with the file, without it, and with the algorithm forced. openmpi and mpich stand for the "
    "choices that Isthmus knows of the library itself. The exit status is 1 if the library does not follow.\n\n"
    "With --time, the rules of a table are timed instead, with and without the exported file in turn; the command "
    "prints what each rule gains, with a 95 % interval. -o writes the table without the rules that do not hold; the "
    "exit status is 1 if there are any.",
)
@click.argument("what", metavar="TABLE|FILE")
@shared("launch", "; run as given, with -n and the number of ranks added if it has none", required=True)
@shared("ranks", "; here the one number of ranks to run if --launch has none, by default 6")
@shared("mpicc")
@click.option("--ucc", metavar="FOLDER", help="Verify UCC as it is installed there; 'auto': where ucc_info is.")
@shared("machine", "used as in isthmus tune export")
@shared("model", "for simulations on the machine")
@shared("full", ", such as cases that are as they should be")
@click.option(
    "--time", "seconds", is_flag=False, flag_value="120s", metavar="[TIME]",
    help="Time the rules of a table, within about this time, by default 120 s.",
)  # fmt: skip
@shared("oversubscribe")
@shared("output", "with --time, the table without the rules that do not hold, .toml or .json")
@json_option
def verify(
    what: str,
    launch: str,
    ranks: str | None,
    machine: str | None,
    model: str,
    full: bool,
    seconds: str | None,
    oversubscribe: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    if seconds is not None:
        _timed(what, launch, ranks, seconds, oversubscribe, output, options["mpicc"], as_json)
        return
    if output is not None:
        raise InvalidInput("-o is the table that --time leaves: give --time too")
    from ..mpi.launcher import parse_launch
    from ..tuning.verify import verify as verified
    from ..tuning.verify.verdict import ALIKE, AS_MODELLED, IN_EFFECT

    words, launched = parse_launch(launch)
    number = _ranks(ranks, launched)
    report = verified(_table_or_file(what), words, ranks=number, predict=_predictor(machine, model)[0], **options)
    if as_json:
        cases = [vars(verdict) for verdict in report.verdicts]
        print_json({"library": report.library, "ranks": number, "ok": report.ok, "report": str(report), "cases": cases})
    else:
        rows = [
            (v.collective, v.bytes, v.algorithm, v.says)
            for v in report.verdicts
            if full or v.says not in (IN_EFFECT, AS_MODELLED, ALIKE)
        ]
        if rows:
            print_table(("collective", "bytes", "algorithm", "found"), rows, right=("bytes",))
        for note in report.notes:
            click.echo(f"note: {note}")
        click.echo(str(report))
    if not report.ok:
        raise click.exceptions.Exit(1)


def _timed(
    what: str, launch: str, ranks: str | None, seconds: str, oversubscribe: bool, output: str | None, mpicc: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    import sys
    import tempfile

    from .. import units
    from ..mpi.launcher import Launcher
    from ..tuning.choice import LIBRARY
    from ..tuning.measured.tune_measured import timed
    from ..tuning.table import DecisionTable
    from .options import check_file, one_number
    from .tune_measured import Bar, write_rules
    from .tune_table import FORMS

    if output is not None:
        check_file("-o", output, FORMS)
    table = _table_or_file(what)
    if not isinstance(table, DecisionTable):
        raise InvalidInput(f"{what}: --time times the rules of a decision table")
    launcher = Launcher.parse(launch)
    mpi = launcher.mpi(mpicc)
    target = f"{'openmpi' if mpi.family == 'Open MPI' else 'mpich'}-{mpi.version}"
    number = (
        one_number("--ranks", ranks)
        if ranks is not None
        else launcher.ranks or min((r.ranks for _, r, p in table.items() if p.choice != LIBRARY), default=2)
    )
    bar = Bar(sys.stderr.isatty())
    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        environment = write_rules(table, target, f"{folder}/tuned.toml", mpi.mpicc)[1]
        try:
            held, kept = timed(
                table, environment, launcher, mpi, number, seconds=units.parse(seconds, "s", plain=True),
                oversubscribe=oversubscribe, progress=bar.show, say=lambda text: click.echo(text, err=True),
            )  # fmt: skip
        finally:
            bar.close()
    # What is left to the library cannot be taken out: slower or not, it does not decide about the rules.
    failed = [one for one in held if not one.holds and one.choice != LIBRARY]
    slower = [one for one in held if not one.holds and one.choice == LIBRARY]
    shown = [one for one in held if one.choice != LIBRARY or not one.holds]
    count = sum(one.choice != LIBRARY for one in held)
    if output is not None:
        kept.save(output)
    if as_json:
        rules = [
            {
                "collective": one.collective, "low": one.low, "high": one.high, "algorithm": str(one.choice),
                "holds": one.holds, "sizes": {size: vars(g) for size, g in one.gains.items()},
            }
            for one in shown
        ]  # fmt: skip
        print_json({"library": target, "ranks": number, "ok": not failed, "rules": rules, "table": output})
    else:
        for one in shown:
            click.echo(str(one))
        click.echo(
            f"{target}, {number} ranks: {count - len(failed)} of {count} rules hold (time with / without); "
            + (f"{len(slower)} ranges left to the library are slower" if slower else "all else is no slower")
        )
        if output is not None:
            click.echo(f"wrote {output}")
    if failed:
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


def _ranks(given: str | None, launched: int | None) -> int:
    """Ranks to run: at least two, or nothing is sent."""
    if launched == 1:
        raise InvalidInput("--launch starts 1 rank: a message needs at least two")
    numbers = [launched or 6] if given is None else whole_numbers("--ranks", given)
    if len(numbers) != 1 or numbers[0] < 2:
        raise InvalidInput(f"--ranks {given}: must be one number of ranks, at least 2")
    if launched not in (None, numbers[0]):
        raise InvalidInput(f"--ranks {given}: --launch starts {launched}")
    return numbers[0]


def _table_or_file(what: str) -> Any:
    """A decision table by its format line; anything else is a library's file."""
    from ..toml_text import read_text
    from ..tuning.defaults import LIBRARIES
    from ..tuning.plain_text import HEAD
    from ..tuning.table_file import FORMAT

    if not os.path.exists(what) and what.partition("-")[0] in LIBRARIES:
        return read_decisions(what)
    head = read_text(what)[:1000]
    if FORMAT in head or head.startswith(HEAD):
        from ..tuning.table import DecisionTable

        return DecisionTable.load(what)
    if what.endswith(".toml"):
        raise InvalidInput(f"{what}: not a decision table")
    return what
