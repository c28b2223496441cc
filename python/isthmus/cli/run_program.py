"""isthmus run ... -- COMMAND"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from ..visible import visible
from .output import print_json

if TYPE_CHECKING:
    from ..schedule.pattern import Pattern


def run_program(
    command: Sequence[str],
    *,
    launch: str | None,
    collectives: tuple[str, ...],
    online: str | None,
    reproducible: bool,
    comparing: bool,
    machine: str | None,
    placement: str | None,
    recording: str | None,
    directory: str | None,
    mpicc: str | None,
    as_json: bool,
) -> None:
    """Run an MPI program with collectives of Isthmus, and print what was taken over on standard error."""
    from ..loading import load
    from ..mpi.launcher import parse_launch
    from ..running.program import run_program

    def say(text: str) -> None:
        click.echo(visible(f"isthmus: {text}"), err=True)

    if launch is not None and command:
        command = [*parse_launch(launch)[0], *command]
    if online is not None:
        _check_online(Path(online), reproducible)
    if machine is None and (placement == "mapped" or recording is not None):
        raise InvalidInput(
            f"{'--recording' if recording else '--placement mapped'} needs --machine: where the nodes are"
        )
    if recording is not None and placement is None:
        raise InvalidInput("--recording is for --placement: give mapped, or a file of ranks")
    where = None if machine is None else load(machine)
    pattern, undirected = None, False
    if recording is not None or placement == "mapped":
        pattern, undirected = _exchanged(recording, command, collectives)
    with _table(collectives) as table:
        taken = run_program(
            command,
            table=table,
            online=online,
            reproducible=reproducible,
            comparing=comparing,
            machine=where,
            placement=placement,
            pattern=pattern,
            undirected=undirected,
            directory=directory,
            mpicc=mpicc,
            say=say,
            # With --json standard output is for JSON alone.
            stdout=sys.stderr.fileno() if as_json else None,
        )
    if as_json:
        print_json(taken.as_json())
    else:
        click.echo(visible(str(taken)), err=True)
    _say_undecided(online, say)
    if taken.status:
        raise click.exceptions.Exit(taken.status)


def _exchanged(recording: str | None, command: Sequence[str], collectives: tuple[str, ...]) -> tuple[Pattern, bool]:
    """What ranks exchange, messages of collectives counted, and whether it is an undirected graph."""
    from ..lowering.pattern import pattern
    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from .inputs import read_task_graph
    from .record import output_of
    from .tune_table import read_decisions

    path = recording or (output_of(tuple(command)) if command else "")
    line = shlex.join(command)
    if recording is None and not os.path.exists(path):
        raise InvalidInput(
            "--placement mapped needs a recording of what ranks exchange: give one by --recording FILE, or make "
            f"{path} with: isthmus record -- {line}"
        )
    what, undirected = read_task_graph(path)
    if recording is None:
        known = what.recording.command if isinstance(what, Program) and what.recording is not None else ""
        if known != line:
            raise InvalidInput(
                f"--placement mapped: {path} is {f'the recording of {known}' if known else 'no recording'}: give it by "
                f"--recording {path} if it is what ranks exchange, too"
            )
    if isinstance(what, Program):
        return pattern(what, read_decisions(collectives[0]) if collectives else {}), undirected
    return (what if isinstance(what, Pattern) else pattern(what)), undirected


def run_job(
    command: Sequence[str], ranks: int, collectives: tuple[str, ...], online: str | None, transport: str | None
) -> None:
    """Start the ranks of a program that uses libisthmus without MPI."""
    from ..running.job import run_job

    def say(text: str) -> None:
        click.echo(visible(f"isthmus: {text}"), err=True)

    variables = {} if transport is None else {"ISTHMUS_TRANSPORT": transport}
    if online is not None:
        _check_online(Path(online), reproducible=False)
        variables["ISTHMUS_ONLINE"] = os.path.realpath(online)
    with _table(collectives) as table:
        if table is not None:
            variables["ISTHMUS_TABLE"] = str(table)
        status = run_job(command, ranks, variables=variables, say=say)
    _say_undecided(online, say)
    if status:
        raise click.exceptions.Exit(status)


def _check_online(path: Path, reproducible: bool) -> None:
    """Refuse a file that the library could not add its decisions to."""
    from ..tuning.table import DecisionTable

    if reproducible:
        raise InvalidInput("--online changes algorithms while the program runs, which --reproducible excludes")
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InvalidInput(f"{path}: decisions cannot be written there")
    if path.exists() and DecisionTable.load(path).provenance.source != "online":
        raise InvalidInput(f"{path} holds other decisions: give it to --collectives, and another file to --online")


def _say_undecided(online: str | None, say: Callable[[str], None]) -> None:
    """Say why there is no file of decisions, where there is none."""
    if online is not None and not os.path.exists(online):
        say(f"{online} is not written: no collective came often enough to compare its algorithms")


@contextlib.contextmanager
def _table(collectives: tuple[str, ...]) -> Iterator[Path | None]:
    """The decisions as a file that the ranks can read."""
    if not collectives:
        yield None
        return
    from ..tuning.export import export
    from .tune_table import read_decisions

    if len(collectives) > 1 or "=" in collectives[0].partition(":")[0]:
        raise InvalidInput(f"--collectives {' '.join(collectives)}: give one decision table for a command after --")
    with tempfile.TemporaryDirectory(prefix="isthmus-table-") as folder:
        path = Path(folder) / f"{Path(collectives[0]).stem}.txt"  # what is said of it names it
        export(read_decisions(collectives[0]), "isthmus").save(path)
        yield path
