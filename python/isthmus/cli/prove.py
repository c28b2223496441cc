"""isthmus prove ..."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..units import text
from .options import json_option, shared, whole_numbers
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..proof.sweep import Tally


@click.command(
    "prove",
    epilog="\b\nExamples:\n"
    "  isthmus prove allreduce:ranks=16,bytes=1kB,algorithm=ring,in_place=no\n"
    "  isthmus prove scatter:ranks=16,bytes=8,access=put,sync=none-all\n"
    "  isthmus prove mine.goal --as bcast:ranks=4,bytes=1kB\n"
    "  isthmus prove --all --kind barrier --ranks 1-20,64",
)
@click.argument("what", metavar="[FILE]", required=False)
@click.option("--as", "as_", metavar="KIND:ranks=N,...", help="What the schedule has to do: a collective in one line.")
@shared("ordered")
@click.option("--all", "everything", is_flag=True, help="Prove all algorithms of all collectives instead of one FILE.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="With --all: only these collectives.")
@shared("algorithm", ", with --all; may be repeated")
@shared("ranks", ", with --all; by default 1-40,64")
@click.option(
    "--defects", type=click.IntRange(1), default=10, show_default=True, help="Largest number of defects to print."
)
@json_option
def command(
    what: str | None,
    as_: str | None,
    ordered: bool,
    everything: bool,
    kinds: tuple[str, ...],
    algorithm: tuple[str, ...],
    ranks: str | None,
    defects: int,
    as_json: bool,
) -> None:
    """Prove that every execution of a schedule does what it has to do, or say where it does not.

    FILE is a schedule whose operations name buffers (HDF5, GOAL text), or one collective such as
    allreduce:ranks=16,bytes=1kB,algorithm=ring. With sync=ENTRY-EXIT (none, my or all) in a collective, memory must be
    used only while its rank (my), or all ranks (all), have entered and not left. Exit status 1 if it is not proved.
    """
    if everything:
        if what is not None or as_ is not None or ordered:
            raise InvalidInput("--all proves every algorithm by its own contract: leave out FILE, --as and --ordered")
        return _all(kinds, algorithm, ranks, as_json)
    if what is None:
        raise InvalidInput("give FILE, a collective such as allreduce:ranks=8,bytes=64, or --all")
    if kinds or algorithm or ranks:
        raise InvalidInput("--kind, --algorithm and --ranks need --all")
    return _one(what, as_, ordered, defects, as_json)


def _one(what: str, as_: str | None, ordered: bool, most: int, as_json: bool) -> None:
    from ..proof import prove
    from ..schedule.schedule import Schedule
    from .inputs import is_collective, read_work

    if is_collective(what):
        proof = prove(what, as_, ordered=ordered, most_defects=most)
    else:
        schedule = read_work(what)
        if not isinstance(schedule, Schedule):
            raise InvalidInput(f"{what} holds a program: expected a schedule")
        if as_ is None:
            raise InvalidInput(
                f"{what}: say with --as what the schedule must do, such as --as bcast:ranks={schedule.ranks},bytes=8"
            )
        proof = prove(schedule, as_, ordered=ordered, most_defects=most)
    if as_json:
        found = [{"kind": d.kind, "rank": d.rank, "operation": d.operation, "text": d.text} for d in proof.defects]
        numbers = {name: getattr(proof, name) for name in ("operations", "messages", "bytes_checked", "needs_eager")}
        print_json(
            {"contract": proof.contract, "ok": proof.ok, "count": proof.count, "defects": found, **numbers}
            | {"seconds": proof.seconds}
        )
    else:
        click.echo(str(proof))
    if not proof:
        raise click.exceptions.Exit(1)


def _all(kinds: tuple[str, ...], names: tuple[str, ...], ranks: str | None, as_json: bool) -> None:
    from ..proof.sweep import KINDS, sweep

    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput(f"--kind {kind}: must be one of {', '.join(KINDS)}")
    tallies: list[Tally] = []
    for tally in sweep(kinds or KINDS, ranks=whole_numbers("--ranks", ranks or "1-40,64"), names=names):
        tallies.append(tally)
        if sys.stderr.isatty():
            click.echo(f"\r{tally.kind} {tally.algorithm}: {tally.proved} of {tally.cases}\x1b[K", nl=False, err=True)
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)
    if not tallies:
        raise InvalidInput(f"--algorithm: there is no algorithm named {' or '.join(names)}")
    if as_json:
        print_json([_plain(tally) for tally in tallies])
    else:
        order = {True: "yes", False: "no", None: ""}
        print_table(
            ("collective", "algorithm", "cases", "proved", "refused", "in order", "operations", "time"),
            [
                (
                    t.kind,
                    t.algorithm,
                    t.cases,
                    t.proved,
                    t.refused,
                    order[t.ordered],
                    t.operations,
                    text(t.seconds, "s", 3),
                )
                for t in tallies
            ],
            right=("cases", "proved", "refused", "operations", "time"),
        )
        for tally in tallies:
            for case, found in tally.failures[:3]:
                click.echo(f"\n{case}\n{found}")
    if any(tally.failures for tally in tallies):
        raise click.exceptions.Exit(1)


def _plain(tally: Tally) -> dict[str, Any]:
    fields = ("kind", "algorithm", "cases", "proved", "refused", "ordered", "operations", "seconds")
    failures = [{"case": str(case), "found": found} for case, found in tally.failures]
    return {name: getattr(tally, name) for name in fields} | {"failures": failures}
