"""isthmus multigrid extrapolate"""

from __future__ import annotations

import click

from ..errors import InvalidInput
from .options import check_file, json_option, shared, whole_numbers
from .output import print_json


@click.command(
    "extrapolate",
    epilog="\b\nExamples:\n"
    "  isthmus multigrid extrapolate h8.h5 h27.h5 h64.h5 h125.h5 --ranks 512\n"
    "  isthmus multigrid extrapolate h8.h5 h27.h5 h64.h5 h125.h5 --ranks 512 -o h512.h5 --json",
    help="Predict what a hierarchy holds and exchanges on a number of ranks for which it was not computed.\n\n"
    "FILES hold hierarchies of one solver and one family of problems on at least 3 numbers of parts, with as many rows "
    "of a part in each (weak scaling) or as many rows in all (strong scaling). From 4 on, each but the smallest is "
    "left out once and predicted from the others, and the errors are printed. What is written with -o goes into "
    "isthmus multigrid model; who sends to whom is made up in it.",
)
@click.argument("files", metavar="FILES", nargs=-1, required=True)
@shared("ranks", ", to predict for", required=True)
@shared("output", "the hierarchy as predicted, .h5")
@json_option
def extrapolate(files: tuple[str, ...], ranks: str, output: str | None, as_json: bool) -> None:
    from ..multigrid import Hierarchy
    from ..multigrid import extrapolate as predict

    if output is not None:
        check_file("-o", output, (".h5", ".hdf5"))
    counts = whole_numbers("--ranks", ranks, 2)
    if output is not None and len(counts) > 1:
        raise InvalidInput(f"-o {output}: takes one hierarchy, and --ranks {ranks} are {len(counts)} numbers")
    given = [Hierarchy.load(path) for path in files]
    found = [predict(given, count) for count in counts]
    if output is not None:
        found[0].hierarchy.save(output)
    if as_json:
        told = [one.summary() for one in found]
        print_json({"extrapolations": told} | ({} if output is None else {"file": output}))
        return
    click.echo("\n\n".join(map(str, found)))
    if output is not None:
        click.echo(f"wrote {output}")
