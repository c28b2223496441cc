"""isthmus tune --measured."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from .. import units
from ..errors import InvalidInput
from .options import check_file, json_option, one_number, shared
from .output import print_json
from .tune_search import parse_modes, parse_sizes
from .tune_table import FORMS

#: By the family of the target: how the file of its rules ends.
_RULES = {"openmpi": ".rules.conf", "mpich": ".tree.json"}


@click.command(
    "measured",
    hidden=True,
    epilog="\b\nExamples:\n"
    "  isthmus tune --measured --launch 'mpirun -n 8' -o tuned.toml\n"
    "  isthmus tune allreduce bcast --measured --launch 'mpirun -n 8' -o tuned.toml --time 120s\n"
    "  isthmus tune --measured --spaces --launch 'isthmus run -n 2 --' --modes all,none -o spaces.toml\n"
    "  isthmus tune verify tuned.toml --time --launch 'mpirun -n 8' -o kept.toml",
    help="Time the algorithms of the installed MPI library beside its own decisions, and write those that are faster."
    "\n\n"
    "COLLECTIVE is bcast, allreduce, alltoall, ...; by default all. Every launch forces one algorithm of every "
    "collective; launches of the default stand among them. Sizes are added where the best algorithm changes. A rule is "
    "written only if it is faster by more than the interval of 95 %. The file of rules for the library is written "
    "beside the table. A search that was stopped goes on when the same command is run again.",
)
@click.argument("collectives", metavar="[COLLECTIVE]...", nargs=-1)
@shared("launch", required=True)
@shared("ranks", " to run; by default those of --launch, else one for each core")
@click.option(
    "--sizes", metavar="FROM..TO|LIST",
    help="Sizes at which every algorithm is tried; by default 8 B to 2 MiB, eight times apart.",
)  # fmt: skip
@shared("time", ", summed over all launches", default="540s", show_default=True)
@shared("machine", "its predictions order the algorithms, which matters where time is short")
@click.option(
    "--spaces", is_flag=True,
    help="Time the collectives of libisthmus on the memory of spaces, for every mode of synchronisation; --launch may "
    "be 'isthmus run -n N --'. Journals are kept: the same command run again adds launches to them.",
)  # fmt: skip
@click.option(
    "--modes", metavar="SYNC,...",
    help="With --spaces: modes to tune for, none, my, all, or two of them joined by - for entry and exit; by default "
    "all nine.",
)  # fmt: skip
@shared("mpicc")
@shared("oversubscribe")
@shared("seed")
@shared(
    "output", "the decision table, .toml or .json; the library's rules and the journals stand beside it", required=True
)
@shared("force", ", and start an unfinished search again")
@shared("progress")
@json_option
def command(
    collectives: tuple[str, ...],
    launch: str,
    ranks: str | None,
    sizes: str | None,
    seconds: str,
    machine: str | None,
    spaces: bool,
    modes: str | None,
    mpicc: str | None,
    oversubscribe: bool,
    seed: int,
    output: str,
    force: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    from ..tuning.measured import tune_measured

    check_file("-o", output, FORMS)
    bar = Bar(sys.stderr.isatty() if progress is None else progress)
    if modes is not None and not spaces:
        raise InvalidInput(f"--modes {modes}: only with --spaces, as calls of MPI name no mode of synchronisation")
    if spaces:
        for option, value in (("--ranks", ranks), ("--machine", machine), ("--oversubscribe", oversubscribe)):
            if value:
                raise InvalidInput(f"{option}: not with --spaces, whose ranks are those of --launch")
        _spaces(collectives, launch, sizes, seconds, modes, mpicc, output, force, bar, as_json)
        return
    try:
        found = tune_measured(
            collectives or "all",
            launch=launch,
            ranks=None if ranks is None else one_number("--ranks", ranks),
            sizes=None if sizes is None else parse_sizes(sizes),
            seconds=units.parse(seconds, "s", plain=True),
            machine=_machine(machine),
            mpicc=mpicc,
            folder=f"{os.path.splitext(output)[0]}.journal",
            force=force,
            oversubscribe=oversubscribe,
            seed=seed,
            progress=bar.show,
            say=lambda text: click.echo(text, err=True),
        )
    finally:
        bar.close()
    found.table.save(output)
    exported = write_rules(found.table, found.target, output, mpicc) if found.gains else None
    if as_json:
        print_json(
            {
                "library": found.target,
                "ranks": found.ranks,
                "table": output,
                "rules": None if exported is None else exported[0],
                "environment": {} if exported is None else exported[1],
                "launches": found.launches,
                "wall": found.wall,
                "decisions": [
                    {
                        "collective": d.collective,
                        "bytes": d.bytes,
                        "algorithm": str(d.choice),
                        "seconds": d.seconds,
                        "default": d.default,
                        "gain": None if d.gain is None else vars(d.gain),
                    }
                    for d in found.decisions
                ],
                "violations": [{**vars(v), "factor": v.factor} for v in found.violations],
                "notes": list(found.notes),
            }
        )
        return
    click.echo(str(found))
    click.echo(f"wrote {output}")
    if exported is not None:
        click.echo(f"wrote {exported[0]}; use it with:")
        for key, value in exported[1].items():
            click.echo(f"  export {key}='{value}'")
        click.echo(f"check it with: isthmus tune verify {output} --time --launch '{launch}'")


def _spaces(
    collectives: tuple[str, ...], launch: str, sizes: str | None, seconds: str, modes: str | None, mpicc: str | None,
    output: str, force: bool, bar: Bar, as_json: bool,
) -> None:  # fmt: skip
    from ..tuning.measured.spaces import SIZES, tune_spaces
    from ..tuning.table import MODES

    try:
        found = tune_spaces(
            collectives or "all",
            launch=launch,
            modes=MODES if modes is None else parse_modes(modes),
            sizes=SIZES if sizes is None else parse_sizes(sizes),
            seconds=units.parse(seconds, "s", plain=True),
            mpicc=mpicc,
            folder=f"{os.path.splitext(output)[0]}.journal",
            force=force,
            progress=bar.show,
            say=lambda text: click.echo(text, err=True),
        )
    finally:
        bar.close()
    found.table.save(output)
    read = output if output.endswith(".txt") else os.path.splitext(output)[0] + ".txt"
    if read != output:
        found.table.save(read)
    if as_json:
        decisions = [
            {
                "collective": d.collective,
                "sync": mode,
                "bytes": d.bytes,
                "algorithm": str(d.choice),
                "seconds": d.seconds,
                "default": d.default,
                "gain": None if d.gain is None else vars(d.gain),
            }
            for mode, of in found.decisions.items()
            for d in of
        ]
        print_json(
            {
                "ranks": found.ranks,
                "table": output,
                "environment": {"ISTHMUS_TABLE": read},
                "launches": found.launches,
                "wall": found.wall,
                "decisions": decisions,
                "notes": list(found.notes),
            }
        )
        return
    click.echo(str(found))
    click.echo(f"wrote {output}")
    click.echo(f"use it with:\n  export ISTHMUS_TABLE='{read}'")


def write_rules(table: Any, target: str, output: str, mpicc: str | None) -> tuple[str, dict[str, str]]:
    """Write the library's file beside a table; returns its path and the environment that makes the library read it."""
    from ..tuning.export import export

    family = target.partition("-")[0]
    path = os.path.splitext(output)[0] + _RULES[family]
    options: dict[str, Any] = {}
    if family == "mpich" and mpicc is not None:
        from ..mpi.detection import probe

        mpi = probe(mpicc)
        options = {} if mpi is None else {"library": mpi.library}
    made = export(table, target, **options)
    made.save(path)
    return path, made.environment(path)


def _machine(text: str | None) -> Any:
    if text is None:
        return None
    from ..loading import load
    from .inputs import parse_level

    return parse_level(text) or load(text)


class Bar:
    """The share that is done, with words."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self._bar: Any = None

    def show(self, share: float, words: str) -> None:
        if not self.wanted:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=share, description=f"timing {words}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
