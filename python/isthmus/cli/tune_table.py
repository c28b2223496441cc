"""isthmus tune show, compare, merge, validate."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from .. import units
from ..errors import InvalidInput
from ..named import named
from ..one_line import whole
from .options import check_file, json_option, shared, tell_old, whole_numbers
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..tuning.decisions import Decisions

TABLE = """TABLE is a file of 'isthmus tune', or openmpi, openmpi-5 or mpich: what the library decides by itself."""


#: Suffixes of the forms of decision tables.
FORMS = (".toml", ".json", ".txt")


def epilog(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  isthmus tune {line}" for line in lines)


def read_decisions(text: str, ranks_per_node: int = 1) -> Decisions:
    """A table from a file, or what a library decides by itself."""
    from ..tuning.defaults import LIBRARIES, defaults
    from ..tuning.table import DecisionTable

    what = named(text)
    if not os.path.exists(text) and what.name.partition("-")[0] in LIBRARIES:
        values = what.values("ranks_per_node")
        given = whole("ranks_per_node", values["ranks_per_node"]) if values else ranks_per_node
        return defaults(what.name, ranks_per_node=given)
    return DecisionTable.load(text)


def counts(text: str | None) -> list[int] | None:
    """Numbers of ranks, where some are given."""
    return None if text is None else whole_numbers("--ranks", text)


def sizes(values: Iterable[int | None]) -> Iterator[str]:
    """Sizes of one table, in one family of units; None is any size."""
    given = list(values)
    known = iter(units.column([value for value in given if value is not None]))
    return ("any" if value is None else next(known) for value in given)


@click.command(
    "show",
    epilog=epilog("show eos.toml", "show openmpi --ranks 64,1024", "show eos.toml --rules --json"),
    help=f"Print what a table decides.\n\n{TABLE}",
)
@click.argument("table", metavar="TABLE")
@shared("ranks", "; by default those of the table")
@click.option("--rules", is_flag=True, help="Print ranges of sizes, including sizes between the tuned ones.")
@click.option(
    "--mode",
    metavar="SYNC",
    help="Print what calls of one mode of synchronisation take: none, my, all, or two joined by - (entry-exit).",
)
@json_option
def show(table: str, ranks: str | None, rules: bool, mode: str | None, as_json: bool) -> None:
    from ..tuning.table import DecisionTable

    decisions = read_decisions(table)
    if mode is not None:
        if not isinstance(decisions, DecisionTable):
            raise InvalidInput(f"--mode {mode}: the decisions of {table} know no modes of synchronisation")
        decisions = decisions.of_mode(mode)
    show_decisions(table, decisions, counts(ranks), rules, as_json)


def show_decisions(table: str, decisions: Decisions, at: list[int] | None, rules: bool, as_json: bool) -> None:
    """Print what a table decides, or rules at numbers of ranks."""
    from ..tuning.table import DecisionTable
    from ..tuning.table_file import content

    if isinstance(decisions, DecisionTable) and not rules and at is None:
        if as_json:
            print_json(content(decisions))
        else:
            _print_points(decisions)
        return
    if at is None:
        if not isinstance(decisions, DecisionTable):
            raise InvalidInput(f"{table} holds for any number of ranks: choose some with --ranks")
        at = sorted({row.ranks for _, _, row, _ in decisions.entries()})
    modes = decisions.modes if isinstance(decisions, DecisionTable) else {}
    # By mode where there are any; the first ones are those of calls that name none.
    sources: list[tuple[str, str, Decisions]] = [(kind, "", decisions) for kind in decisions.collectives]
    if isinstance(decisions, DecisionTable):
        sources += [(kind, mode, decisions.of_mode(mode)) for kind, by_mode in modes.items() for mode in by_mode]
    found = [
        (kind, mode, count, rule.bytes, rule.choice)
        for kind, mode, source in sources
        for count in at
        for rule in source.rules(kind, count)
    ]
    if as_json:
        keys = ("collective", *(["sync"] if modes else []), "ranks", "bytes", "algorithm")
        values = [(kind, *([mode] if modes else []), *more, str(choice)) for kind, mode, *more, choice in found]
        print_json([dict(zip(keys, row, strict=True)) for row in values])
        return
    starts = sizes(row[3] for row in found)
    rows = [
        (kind, *([mode] if modes else []), count, start, choice)
        for (kind, mode, count, _, choice), start in zip(found, starts, strict=True)
    ]
    columns = ("collective", *(["sync"] if modes else []), "ranks", "from", "algorithm")
    print_table(columns, rows, right=("ranks", "from"))


def _print_points(table: object) -> None:
    from ..tuning.table import DecisionTable

    assert isinstance(table, DecisionTable)
    click.echo(str(table))
    for name, value in vars(table.provenance).items():
        if value:
            click.echo(f"{name}: {value}")
    points = list(table.entries())
    rows = [
        (
            kind,
            *([mode] if table.modes else []),
            row.ranks,
            size,
            p.choice,
            "" if p.seconds is None else units.text(p.seconds, "s", 4),
            "" if p.runner_up is None else p.runner_up,
            "" if p.margin is None else units.percent(p.margin, 1),
            "" if p.bound is None else units.text(p.bound, "s", 4),
        )
        for (kind, mode, row, p), size in zip(points, sizes(p.bytes for *_, p in points), strict=True)
    ]
    columns = ("ranks", "bytes", "algorithm", "time", "second best", "slower by", "bound")
    print_table(
        ("collective", *(["sync"] if table.modes else []), *columns),
        rows,
        right=("ranks", "bytes", "time", "slower by", "bound"),
    )


@click.command(
    "compare",
    hidden=True,
    epilog=epilog("compare eos.toml openmpi", "compare openmpi mpich --ranks 64 --json"),
    help=f"Sizes for which two tables choose differently.\n\nA and B are tables. {TABLE}",
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@shared("ranks", "; by default those of the tables")
@shared("ranks_per_node", ", for libraries that look at it", default=1, show_default=True)
@json_option
def compare(first: str, second: str, ranks: str | None, ranks_per_node: int, as_json: bool) -> None:
    from ..tuning.compare import differences

    tell_old("isthmus tune compare", "isthmus compare")
    ours, theirs = (read_decisions(text, ranks_per_node) for text in (first, second))
    found = differences(ours, theirs, counts(ranks))
    if as_json:
        rows = [
            {
                **vars(d),
                "first": None if d.first is None else str(d.first),
                "second": None if d.second is None else str(d.second),
            }
            for d in found
        ]
        print_json(rows)
        return
    if not found:
        click.echo("no differences")
        return
    ends = sizes(end for d in found for end in (d.low, d.high))
    lines = [(d.collective, d.ranks, next(ends), next(ends), d.first or "-", d.second or "-") for d in found]
    print_table(("collective", "ranks", "from", "to", first, second), lines, right=("ranks", "from", "to"))


@click.command(
    "merge",
    epilog=epilog("merge eos.toml more.toml -o both.toml", "merge eos.toml more.toml -o both.json --json"),
    help="Merge tables; among rows with the same collective and ranks the last counts.",
)
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@shared("output", "the table, .toml, .json, or .txt (what C reads)", required=True)
@json_option
def merge(tables: tuple[str, ...], output: str, as_json: bool) -> None:
    from ..tuning.table import DecisionTable

    check_file("-o", output, FORMS)
    found = [DecisionTable.load(path) for path in tables]
    table = found[0]
    for other in found[1:]:
        table = table.merge(other)
    table.save(output)
    if as_json:
        print_json({"file": output, "report": str(table)})
    else:
        click.echo(str(table))
        click.echo(f"wrote {output}")


@click.command(
    "convert",
    epilog=epilog("convert eos.toml -o eos.txt", "convert eos.toml -o eos.json --json"),
    help="Write a table in another form: TOML, JSON, or the plain text that C reads at run time. Nothing is lost.",
)
@click.argument("table", metavar="TABLE")
@shared("output", "the table, .toml, .json, or .txt (what C reads)", required=True)
@json_option
def convert(table: str, output: str, as_json: bool) -> None:
    from ..tuning.table import DecisionTable

    check_file("-o", output, FORMS)
    found = DecisionTable.load(table)
    found.save(output)
    if as_json:
        print_json({"file": output, "report": str(found)})
    else:
        click.echo(str(found))
        click.echo(f"wrote {output}")


@click.command(
    "validate",
    epilog=epilog("validate eos.toml --machine eos", "validate eos.toml --machine eos --most-ranks 64 --json"),
    help="Simulate the choices of a table, and the second best, again.",
)
@click.argument("table", metavar="TABLE")
@shared("machine", "the one that the table was made for", required=True)
@shared("model")
@click.option("--most-ranks", type=click.IntRange(1), help="Leave out rows with more ranks.")
@json_option
def validate(table: str, machine: str, model: str, most_ranks: int | None, as_json: bool) -> None:
    from ..loading import load
    from ..tuning.compare import summary
    from ..tuning.compare import validate as validated
    from ..tuning.table import DecisionTable
    from .inputs import parse_level

    where = parse_level(machine) or load(machine)
    given = DecisionTable.load(table)
    checks = validated(given, where, most_ranks=most_ranks, model=model)
    if given.modes:
        click.echo("isthmus: rows of modes of synchronisation are not checked", err=True)
    if as_json:
        rows = [{**vars(c), "choice": str(c.choice), "best": str(c.best), "drift": c.drift} for c in checks]
        print_json({"summary": summary(checks), "decisions": rows})
        return
    worse = [c for c in checks if c.loss > 0]
    lines = [
        (c.collective, c.ranks, size, c.choice, units.text(c.fresh, "s", 4), c.best, units.percent(c.loss, 1))
        for c, size in zip(worse, sizes(c.bytes for c in worse), strict=True)
    ]
    if lines:
        columns = ("collective", "ranks", "bytes", "chosen", "time", "best now", "loss")
        print_table(columns, lines, right=("ranks", "bytes", "time", "loss"))
    click.echo(summary(checks))
