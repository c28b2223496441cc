"""isthmus multigrid setup"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from .multigrid_inputs import paid_costs, read_hierarchy
from .options import json_option, shared
from .output import print_json

if TYPE_CHECKING:
    from ..multigrid.setup import Setup
    from ..multigrid.setup_counts import Recorded


@click.command(
    "setup",
    epilog="\b\nExamples:\n  isthmus multigrid setup levels.h5 --machine eos --cost flop=0.5e-9\n"
    "  isthmus multigrid setup levels.h5 --machine eos --coarsening pmis --json",
    help="Model what the setup of BoomerAMG sends and takes on every level: coarsening, interpolation, product.\n\n"
    "FILE holds a hierarchy of PMIS or HMIS with extended interpolation. With --recorded, what isthmus "
    "record saw of a setup of the same hierarchy stands beside what the model says.",
)
@click.argument("file", metavar="FILE")
@shared("machine", required=True)
@shared("ranks_per_node", "; by default as many as it has cores")
@shared("cost")
@shared("coarsening", "; setup knows hmis and pmis")
@click.option("--rounds", metavar="LIST", help="Rounds of coarsening, of all or each level; by default 7.")
@shared("unknowns", "; by default 1", default=1)
@click.option("--recorded", metavar="FILE", help="A recorded program that sets the same BoomerAMG up.")
@json_option
def setup(
    file: str, machine: str, ranks_per_node: int | None, cost: tuple[str, ...], coarsening: str, rounds: str | None,
    unknowns: int, recorded: str | None, as_json: bool,
) -> None:  # fmt: skip
    from ..multigrid import setup as modelled
    from ..multigrid import setup_counts

    hierarchy = read_hierarchy(file)
    paid = paid_costs(machine, ranks_per_node, cost, hierarchy.parts)
    given = {} if rounds is None else {"rounds": _rounds(rounds)}
    told = modelled(hierarchy, paid.costs, coarsening=coarsening, unknowns=unknowns, **given)
    if recorded is None:
        if as_json:
            print_json({"seconds": told.seconds, "stages": list(told.frame())})
        else:
            click.echo(str(told))
            paid.tell()
        return
    from ..reading import read
    from ..schedule.program import Program

    program = read(recorded)
    if not isinstance(program, Program):
        raise InvalidInput(f"{recorded}: must be a recorded program")
    if program.ranks != hierarchy.parts:
        raise InvalidInput(f"{recorded} has {program.ranks} ranks, the hierarchy {hierarchy.parts} parts")
    rows = _beside(told, setup_counts(program))
    if as_json:
        print_json({"seconds": told.seconds, "stages": rows})
        return
    click.echo(_table(rows))


def _rounds(text: str) -> int | list[int]:
    words = text.split(",")
    if not all(word.strip().isdigit() for word in words):
        raise InvalidInput(f"--rounds {text}: expected a number, or one for each level, such as 7,7,8,6")
    found = [int(word) for word in words]
    return found[0] if len(found) == 1 else found


def _beside(told: Setup, seen: tuple[dict[str, Recorded], ...]) -> list[dict[str, Any]]:
    rows = []
    for row in told.frame():
        one = seen[row["level"]].get(row["stage"]) if row["level"] < len(seen) else None
        more = {} if one is None else {
            "recorded_messages": one.most.messages, "recorded_bytes": one.most.bytes,
            "recorded_collectives": one.most.collectives, "recorded_seconds": one.seconds,
        }  # fmt: skip
        rows.append(dict(row) | more)
    return rows


def _table(rows: list[dict[str, Any]]) -> str:
    from ..units import percent, text

    head = ["level", "stage", "messages", "recorded", "bytes", "recorded", "collectives", "recorded", "time"]
    table = [head]
    for r in rows:
        cells = [str(r["level"]), r["stage"]]
        for name in ("messages", "bytes", "collectives"):
            both = (r[name], r.get(f"recorded_{name}"))
            cells += ["-" if n is None else text(n, "B", 3) if name == "bytes" else f"{n:,}" for n in both]
        table.append([*cells, text(r["seconds"], "s", 3)])
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in table]
    compared = [r for r in rows if "recorded_messages" in r]
    for name in ("messages", "bytes"):
        total, seen = sum(r[name] for r in compared), sum(r[f"recorded_{name}"] for r in compared)
        if seen:
            sign = "+" if total >= seen else "-"
            lines.append(f"{name} of all stages: {sign}{percent(abs(total / seen - 1))} against the recording")
    return "\n".join(lines)
