"""isthmus skeleton ..."""

from __future__ import annotations

from dataclasses import asdict

import click

from .options import check_file, json_option, shared
from .output import print_json, print_table
from .skeleton_fit import describe, fit, pack


@click.group(
    "skeleton",
    epilog="\b\nExamples:\n  isthmus skeleton list\n  isthmus skeleton show stencil:ranks=256,bytes=64KiB\n"
    "  isthmus skeleton show multigrid:ranks=512,cycles=3 -o multigrid.h5\n"
    "  isthmus advise --example wrf:ranks=1024,compute=20ms --machine cielo\n"
    "  isthmus skeleton fit r8.h5 r27.h5 r64.h5 -o app.skeleton\n"
    "  isthmus simulate app.skeleton:ranks=512 --machine eos",
)
def command() -> None:
    """Programs with parameters: applications reduced to who sends how much to whom, and when.

    Wherever a program is read, --example takes NAME:key=value,... as well, and FILE is also that of a skeleton that was
    fitted to recordings, with its ranks behind a colon.
    """


@command.command(
    "list",
    epilog="\b\nExamples:\n  isthmus skeleton list\n  isthmus skeleton list --json",
    help="List the skeletons with their parameters: default, range and meaning.",
)
@json_option
def list_(as_json: bool) -> None:
    from ..gallery import programs
    from ..skeletons import SKELETONS

    if as_json:
        rows = [
            {"name": one.name, "doc": one.doc, "parameters": [asdict(p) for p in one.parameters]}
            for one in SKELETONS.values()
        ]
        print_json(rows)
        return
    cells = []
    for one in SKELETONS.values():
        cells.append([one.name, "", "", "", f"{one.doc}." + (f" Source: {one.source}." if one.source else "")])
        cells += [
            ["", p.name, p.text(p.default), p.range, p.doc + (f" ({p.origin})" if p.origin else "")]
            for p in one.parameters
        ]
    print_table(["skeleton", "parameter", "default", "allowed", "what it is"], cells, wrap=["what it is"])
    click.echo(
        "\nDefaults are stated in a publication, or from the source of the program, or recalled from publications and "
        "not looked up, or assumed by us."
    )
    click.echo(f"\nRecorded programs, which have no parameters: {', '.join(programs())}.")


@command.command(
    "show",
    epilog="\b\nExamples:\n  isthmus skeleton show pop:ranks=48,solves=20\n"
    "  isthmus skeleton show stencil:ranks=1024,compute=5ms,spread=0.1 -o stencil.h5",
    help="Print the program of a skeleton as isthmus show prints programs.\n\n"
    "SKELETON is NAME:key=value,..., such as stencil:ranks=256,bytes=64KiB; parameters that are left out have their "
    "defaults.",
)
@click.argument("skeleton", metavar="SKELETON")
@shared("output", "the program, .h5")
@json_option
def show(skeleton: str, output: str | None, as_json: bool) -> None:
    from ..schedule.tally import Tally
    from ..skeletons import skeleton as built
    from ..skeletons import tally

    if output is not None:
        check_file("-o", output, (".h5", ".hdf5"))
    found = tally(skeleton) if output is None else None
    if found is None:
        program = built(skeleton)
        if output is not None:
            program.save(output)
        found = Tally.of(program)
    if as_json:
        print_json(found.summary() | ({} if output is None else {"file": output}))
        return
    click.echo(str(found))
    if output is not None:
        click.echo(f"wrote {output}")


for one in (fit, pack, describe):
    command.add_command(one)
