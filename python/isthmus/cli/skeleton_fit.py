"""isthmus skeleton fit, pack and describe"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..files import write_atomically
from ..named import named, pairs
from ..units import percent
from .options import json_option, shared
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..extrapolation import Blueprint
    from ..schedule.program import Program


@click.command(
    "fit",
    epilog="\b\nExamples:\n  isthmus skeleton fit r8.h5 r27.h5 r64.h5 -o app.skeleton\n"
    "  isthmus skeleton fit r8.h5:n=64 r27.h5:n=96 r64.h5:n=128 -o app.skeleton --scaling weak\n"
    "  isthmus skeleton fit r8.h5 r27.h5 r64.h5 --predict r125.h5 -o app.skeleton\n"
    "  isthmus simulate app.skeleton:ranks=512 --machine eos",
    help="Fit a skeleton of any number of ranks to recordings of at least three.\n\n"
    "FILES are recordings of one program, FILE or FILE:name=number,...: numbers of the problem that differ. "
    "Without names, the problem is taken to be what P, the number of ranks, made of it. Each place of the program is "
    "labelled: exact, if its rule predicts each recording from the others; fitted, by regression; guessed, if there is "
    "no rule. Messages whose sends and receives do not agree are left out of programs that are made, and programs of "
    "which they are more than a tenth are refused; this is tried with the largest recording.",
)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--scaling", type=click.Choice(["weak", "strong"]), help="What was scaled; it is checked against the names."
)
@click.option(
    "--predict", "checks", metavar="FILE", multiple=True, help="A recording to predict, which is not fitted to."
)
@shared("output", "the skeleton, a text")
@json_option
def fit(
    files: tuple[str, ...], scaling: str | None, checks: tuple[str, ...], output: str | None, as_json: bool
) -> None:
    from ..extrapolation import fit as fit_
    from ..extrapolation import leave_out_largest
    from .skeleton_commands import check_commands

    given = [_recording(text) for text in files]
    held = [_recording(text) for text in checks]
    _check_scaling(scaling, given)
    check_commands([*given, *held], scaling == "weak")
    blueprint = fit_(given)
    results = []
    left_out = leave_out_largest(given)
    if left_out is not None:
        name, found = left_out
        ranks = blueprint.sizes[-1]
        results.append({"file": name, "ranks": ranks, "left_out": True} | found._asdict())
    results += [_checked(blueprint, one) for one in held]
    # A skeleton from which nothing can be made is of no use.
    largest = _checked(blueprint, max(given, key=lambda one: one[1].ranks))
    results += [largest] if "refused" in largest else []
    _tell(blueprint, output, as_json, results)


@click.command(
    "pack",
    epilog="\b\nExamples:\n  isthmus skeleton pack r64.h5 -o r64.skeleton\n  isthmus show r64.skeleton",
    help="Write a recording as a short text: loops over calls, and rules where numbers follow one.\n\n"
    "Calls, peers and bytes stay as they are, which is checked before the file is written; of computation, the mean "
    "and the spread stay.",
)
@click.argument("file", metavar="FILE")
@shared("output", "the recording as a text")
@json_option
def pack(file: str, output: str | None, as_json: bool) -> None:
    from ..extrapolation import difference, generate
    from ..extrapolation import fit as fit_

    name, program, parameters = _recording(file)
    blueprint = fit_([(name, program, parameters)], alone=True)
    found = difference(program, generate(blueprint, program.ranks))
    if found is not None:
        raise InvalidInput(f"{name}: cannot be packed without loss: {found}")
    _tell(blueprint, output, as_json, [])


@click.command(
    "describe",
    epilog="\b\nExamples:\n  isthmus skeleton describe app.skeleton\n  isthmus skeleton describe app.skeleton --json",
    help="List the places of a fitted skeleton: how certain each is, its share of the bytes, and its rules.",
)
@click.argument("file", metavar="FILE")
@json_option
def describe(file: str, as_json: bool) -> None:
    from ..extrapolation import read

    _tell(read(file), None, as_json, [])


def _checked(blueprint: Blueprint, recording: tuple[str, Program, dict[str, int]]) -> dict[str, object]:
    """How far the program that is made is from a recording, or why there is none."""
    from ..extrapolation import deviation, generate

    name, program, parameters = recording
    about: dict[str, object] = {"file": name, "ranks": program.ranks, "left_out": False}
    try:
        return about | deviation(program, generate(blueprint, program.ranks, parameters))._asdict()
    except InvalidInput as error:
        return about | {"refused": str(error)}


def _recording(text: str) -> tuple[str, Program, dict[str, int]]:
    """Name, program and parameters of ``FILE:name=number,...``."""
    from ..schedule.program import Program
    from .inputs import read_any

    what = named(text)
    names = tuple(part.partition("=")[0].strip() for part in what.parameters.split(",") if part)
    parameters: dict[str, int] = {}
    if os.path.exists(what.name):
        for key, value in pairs(text, what.parameters, names).items():
            if not key.isidentifier() or key in ("P", "C", "log2P", "ranks") or not value.lstrip("-").isdigit():
                raise InvalidInput(
                    f"{text}: {key}={value}: must be a name other than P, C and ranks, and a whole number"
                )
            parameters[key] = int(value)
        text = what.name
    found = read_any(text)
    if not isinstance(found, Program):
        raise InvalidInput(f"{text}: holds no program: a skeleton is fitted to recordings")
    return text, found, parameters


def _check_scaling(scaling: str | None, given: list[tuple[str, Program, dict[str, int]]]) -> None:
    """Refuse what contradicts the names."""
    names = {name for _, _, parameters in given for name in parameters}
    changed = [name for name in sorted(names) if len({parameters.get(name) for _, _, parameters in given}) > 1]
    if scaling == "strong" and changed:
        raise InvalidInput(
            f"--scaling strong: {changed[0]} differs between recordings: in strong scaling no size of the problem does"
        )
    if scaling == "weak" and names and not changed:
        words = ", ".join(sorted(names))
        raise InvalidInput(
            f"--scaling weak: {words} is the same in all recordings: in weak scaling the problem grows with the ranks"
        )


def _tell(blueprint: Blueprint, output: str | None, as_json: bool, checks: list[dict[str, Any]]) -> None:
    from ..extrapolation.report import sites
    from ..extrapolation.text import text

    rows = sites(blueprint)
    if output is not None:
        write_atomically(output, text(blueprint))
    shares = blueprint.shares()
    if as_json:
        print_json({"sizes": list(blueprint.sizes), "shares": shares, "sites": rows, "checks": checks}
                   | ({} if output is None else {"file": output}))  # fmt: skip
        return
    print_table(
        ["call", "place", "label", "bytes", "to or from", "bytes of a call"],
        [[row["call"], row["place"], row["label"], percent(row["share"]), row["peers"], row["bytes"]] for row in rows],
        right=["bytes"],
        wrap=["to or from", "bytes of a call"],
    )
    several = len(blueprint.sizes) > 1
    labels = {"exact": "exact (each recording from the others)"} if several else {}
    parts = ", ".join(f"{percent(share)} {labels.get(label, label)}" for label, share in shares.items() if share)
    words = ", ".join(map(str, blueprint.sizes))
    click.echo(f"\nBytes of the recording{'s' * several} of {words} ranks: {parts or 'none'}.")
    for one in checks:
        if "refused" in one:
            click.echo(f"{one['file']}: cannot be made from it: {one['refused']}")
            continue
        verdict = "every call is the same" if not one["first"] else f"the first call that differs: {one['first']}"
        how = ", from the others" * one["left_out"]
        click.echo(
            f"{one['file']}, {one['ranks']} ranks{how}: {verdict}; {one['cells']} cells of the matrix differ, bytes "
            f"of a rank by {percent(one['bytes'])} at most, numbers of collectives are "
            f"{'the same' if one['collectives'] else 'different'}"
        )
    if output is not None:
        click.echo(f"wrote {output}")
