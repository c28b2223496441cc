"""isthmus record ..."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from ..visible import visible

if TYPE_CHECKING:
    from ..recording.record import Recorded


@click.command(
    "record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="\b\nExamples:\n"
    "  isthmus record -o app.h5 -- mpirun -n 16 ./app input.txt\n"
    "  isthmus record -o py.h5 -- mpirun -n 4 python3 script.py\n"
    "  isthmus record -o part.h5 --marker MPI_Allreduce@cg.c:120 --from 10 --to 20 -- mpirun -n 16 ./cg\n"
    "  isthmus record -o start.h5 --to 5s -- mpirun -n 16 ./app\n"
    "  isthmus record --build -- mpirun",
    help="Run an MPI program and record what it communicates and computes; nothing is compiled again.\n\n"
    "COMMAND starts the program as usual (mpirun, mpiexec, srun, or the program itself). Its output and its exit "
    "status stay its own. Open MPI, MPICH and what is compatible with MPICH are recognised; C, C++, Fortran and Python "
    "programs are recorded alike.\n\n"
    "A call to MPI_Pcontrol(0) in the program switches recording off, MPI_Pcontrol(1) on; other levels mark phases.",
)
@click.option("-o", "--output", metavar="FILE", help="What to write: .h5.")
@click.option("--mpicc", metavar="COMPILER", help="Compiler of the MPI that the program uses, where it is not found.")
@click.option(
    "--marker",
    metavar="CALL",
    help="Call that begins an iteration: MPI_Barrier, MPI_Allreduce@cg.c:120 (with -g), or a level of MPI_Pcontrol.",
)
@click.option(
    "--from", "begin", metavar="WHEN", help="Record from this iteration of the marker, or time after MPI_Init (2.5s)."
)
@click.option("--to", "end", metavar="WHEN", help="Record until this iteration begins, or until this time.")
@click.option("--limit", metavar="BYTES", help="Most that each process may write, such as 4GB; by default no limit.")
@click.option(
    "--directory",
    metavar="DIR",
    help="Where raw traces go meanwhile, on a disk that all ranks see; by default beside the output.",
)
@click.option("--keep-raw", is_flag=True, help="Keep the raw traces.")
@click.option(
    "--build", "only_build", is_flag=True, help="Only build the recorder for the MPI of COMMAND; print its path."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    output: str | None,
    mpicc: str | None,
    marker: str | None,
    begin: str | None,
    end: str | None,
    limit: str | None,
    directory: str | None,
    keep_raw: bool,
    only_build: bool,
    command: tuple[str, ...],
) -> None:
    def say(text: str) -> None:
        click.echo(visible(f"isthmus: {text}"), err=True)

    if only_build:
        from ..recording.build import build
        from ..recording.command import take_apart
        from ..recording.mpi import find

        click.echo(str(build(find(take_apart(command), mpicc), say)))
        return
    if not command:
        raise InvalidInput("no command to record: put it behind --, such as -- mpirun -n 4 ./app")
    if output is None:
        raise InvalidInput("-o FILE.h5 is needed: where to write what is recorded")
    if not output.lower().endswith((".h5", ".hdf5")):
        raise InvalidInput(f"-o {output}: a file in .h5 or .hdf5 is allowed")
    folder = os.path.dirname(output)
    if folder and not os.path.isdir(folder):
        raise InvalidInput(f"-o {output}: there is no folder {folder}")

    from ..recording.record import record

    recorded = record(
        command,
        output,
        mpicc=mpicc,
        begin=begin,
        end=end,
        marker=marker,
        limit=limit,
        directory=directory,
        keep_raw=keep_raw,
        say=say,
        progress=_progress if sys.stderr.isatty() else None,
    )
    for line in _summary(recorded, output):
        say(line)
    if recorded.status:
        raise click.exceptions.Exit(recorded.status)


def _progress(done: int, total: int) -> None:
    share = 100 * done // max(total, 1)
    end = "\n" if done >= total else ""
    click.echo(f"\risthmus: merging {share} %{end}", err=True, nl=False)


def _summary(recorded: Recorded, output: str) -> list[str]:
    """What was recorded, how long it took, and what to be careful about."""
    from ..units import text

    program = recorded.program
    if program is None or program.recording is None:
        return [f"the program ended with status {recorded.status} and never called MPI_Init: nothing was recorded"]
    recording = program.recording
    calls = int(recording.count.sum())
    wall = float(max(recording.wall, default=0.0))
    lines = [
        f"{program.ranks} ranks, {calls} MPI calls, {text(wall, 's', 4)} between MPI_Init and MPI_Finalize, "
        f"{recording.library.split(',')[0]}",
        f"wrote {output}, {text(os.path.getsize(output), 'B', 4)}",
    ]
    if recorded.raw:
        lines.append(f"raw traces are in {recorded.raw}")
    if lost := int(recording.lost.sum()):
        lines.append(f"{lost} calls were not recorded: the disk was full or the limit reached")
    if recording.oversubscribed:
        lines.append(recording.oversubscribed)
    if recorded.status:
        lines.append(f"the program ended with status {recorded.status}; what it did until then is in the file")
    return lines
