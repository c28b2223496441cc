"""isthmus record ..."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from ..visible import visible
from .options import json_option, shared
from .output import print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..recording.record import Recorded


@click.command(
    "record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="\b\nExamples:\n"
    "  isthmus record -o app.h5 -- mpirun -n 16 ./app input.txt\n"
    "  isthmus record -o queue.h5 -- isthmus run -n 4 -- ./work_queue\n"
    "  isthmus record -o py.h5 -- mpirun -n 4 python3 script.py\n"
    "  isthmus record --launch 'mpirun -n 4' --json -- ./app\n"
    "  isthmus record -o part.h5 --marker MPI_Allreduce@cg.c:120 --from 10 --to 20 -- mpirun -n 16 ./cg\n"
    "  isthmus record -o start.h5 --to 5s -- mpirun -n 16 ./app\n"
    "  isthmus record --merge .app.raw-x1y2z3 -o app.h5\n"
    "  isthmus record --build -- mpirun",
    help="Run an MPI program and record its communication and computation, without recompiling it.\n\n"
    "COMMAND starts the program as usual (mpirun, mpiexec, srun, or the program itself). Its output and its exit "
    "status stay its own. Open MPI, MPICH and what is compatible with MPICH are recognised; C, C++, Fortran and Python "
    "programs are recorded alike. So are programs that share memory by libisthmus, with MPI or without: puts, gets, "
    "active messages, barriers and collectives.\n\n"
    "A call to MPI_Pcontrol(0) in the program switches recording off, MPI_Pcontrol(1) on; other levels mark phases.",
)
@shared("output", ".h5; by default PROGRAM.h5, in this folder")
@shared("force")
@shared("launch", ", put before COMMAND")
@shared("mpicc")
@click.option(
    "--marker",
    metavar="CALL",
    help="Call that begins an iteration: MPI_Barrier, MPI_Allreduce@cg.c:120 (with -g), or a level of MPI_Pcontrol.",
)
@click.option(
    "--from", "begin", metavar="WHEN", help="Record from this iteration of the marker, or time after MPI_Init (2.5s)."
)
@click.option("--to", "end", metavar="WHEN", help="Record until this iteration begins, or until this time.")
@click.option(
    "--limit",
    metavar="BYTES",
    help="Most that each process may write, such as 4GB, or none; by default 2GB. Later calls are only counted.",
)
@click.option(
    "--counters",
    metavar="NAMES",
    help="Hardware counters to read between calls: by default instructions,cycles; off; or other events of perf, such "
    "as cache-misses, or floating-point operations (flops on AMD, flops-by-1 to flops-by-16 on Intel). If the kernel "
    "allows none, isthmus show says so.",
)
@shared("directory", " (raw traces); by default beside the output")
@click.option("--keep-raw", is_flag=True, help="Keep the raw traces.")
@click.option(
    "--merge",
    "merged",
    metavar="DIR",
    help="Run nothing; merge raw traces that were kept, or left by a recording that was killed or ran out of disk "
    "space.",
)
@click.option(
    "--build", "only_build", is_flag=True, help="Only build the recorder for the MPI of COMMAND; print its path."
)
@shared("progress")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    output: str | None,
    mpicc: str | None,
    marker: str | None,
    begin: str | None,
    end: str | None,
    limit: str | None,
    counters: str | None,
    directory: str | None,
    keep_raw: bool,
    merged: str | None,
    force: bool,
    only_build: bool,
    launch: str | None,
    progress: bool | None,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    if launch is not None and command:
        from ..mpi.launcher import parse_launch

        command = (*parse_launch(launch)[0], *command)

    def say(text: str) -> None:
        click.echo(visible(f"isthmus: {text}"), err=True)

    if only_build:
        from ..mpi.command import take_apart
        from ..mpi.detection import find
        from ..recording.build import build

        built = str(build(find(take_apart(command), mpicc), say))
        if as_json:
            print_json({"recorder": built})
        else:
            click.echo(built)
        return
    if merged is not None and command:
        raise InvalidInput("--merge runs no command: leave the command out")
    if merged is None and not command:
        raise InvalidInput("no command to record: put it after --, such as -- mpirun -n 4 ./app")
    if output is None:
        if merged is not None:
            raise InvalidInput("-o FILE.h5 is missing: it names the file for the merged program")
        output = output_of(command)
    if not output.lower().endswith((".h5", ".hdf5")):
        raise InvalidInput(f"-o {output}: must end in .h5 or .hdf5")
    folder = os.path.dirname(output)
    if folder and not os.path.isdir(folder):
        raise InvalidInput(f"-o {output}: there is no folder {folder}")

    from ..recording.record import merge_raw, record

    shown = _progress if (sys.stderr.isatty() if progress is None else progress) else None
    if merged is not None:
        _tell(merge_raw(merged, output, force=force, progress=shown), output, say, as_json)
        return
    recorded = record(
        command,
        output,
        mpicc=mpicc,
        begin=begin,
        end=end,
        marker=marker,
        limit=limit,
        counters=counters,
        directory=directory,
        keep_raw=keep_raw,
        force=force,
        say=say,
        progress=shown,
        # With --json standard output is for JSON alone.
        stdout=sys.stderr.fileno() if as_json else None,
    )
    _tell(recorded, output, say, as_json)
    if recorded.status:
        raise click.exceptions.Exit(recorded.status)


def _tell(recorded: Recorded, output: str, say: Callable[[str], None], as_json: bool) -> None:
    """Reports the recording: sentences on standard error, or JSON on standard output."""
    sentences = _summary(recorded, output)
    if not as_json:
        for line in sentences:
            say(line)
        return
    program = recorded.program
    raw = None if recorded.raw is None else str(recorded.raw)
    found: dict[str, object] = {"file": None, "status": recorded.status, "raw": raw}
    if program is not None and program.recording is not None:
        recording = program.recording
        found |= {
            "file": output,
            "ranks": program.ranks,
            "calls": int(recording.count.sum()),
            "lost": int(recording.lost.sum()),
            "wall": float(max(recording.wall, default=0.0)),
            "library": recording.library,
        }
    print_json(found | {"notes": sentences})


def output_of(command: tuple[str, ...]) -> str:
    """The default output: named as the program is, in the current folder."""
    from ..mpi.command import take_apart

    words = take_apart(command)
    name = words.words[words.programs[0]] if words.programs else words.words[0]
    return f"{os.path.splitext(os.path.basename(name))[0] or 'program'}.h5"


def _progress(done: int, total: int) -> None:
    share = 100 * done // max(total, 1)
    end = "\n" if done >= total else ""
    click.echo(f"\risthmus: merging {share} %{end}", err=True, nl=False)


def _summary(recorded: Recorded, output: str) -> list[str]:
    """A summary of the recording: content, duration, and warnings."""
    from ..recording.endings import endings
    from ..recording.functions import interface
    from ..schedule.recording import LIMITED
    from ..units import text

    program = recorded.program
    if program is None or program.recording is None:
        if recorded.why:
            return [f"nothing was recorded: {recorded.why}"]
        ended = f"ended with status {recorded.status} and " if recorded.status else ""
        return [f"the program {ended}never called MPI_Init: nothing was recorded"]
    recording = program.recording
    calls = int(recording.count.sum())
    library, begin, end = interface(recording.library)
    wall = float(max(recording.wall, default=0.0))
    lines = [
        f"{_many(program.ranks, 'rank')}, {_many(calls, f'{library} call')}, "
        f"{text(wall, 's', 4)} between {begin} and {end}, {recording.library.split(',')[0]}",
        f"wrote {output}, {text(os.path.getsize(output), 'B', 4)}",
    ]
    if recorded.raw:
        lines.append(f"raw traces are in {recorded.raw}")
    if lost := int(recording.lost.sum()):
        limited = bool((recording.ending & LIMITED).any())
        why = "the limit was reached (--limit sets another)" if limited else "the disk was full"
        lines.append(f"{_many(lost, 'call')} {'was' if lost == 1 else 'were'} not recorded: {why}")
    lines += endings(recording)
    if recording.oversubscribed:
        lines.append(recording.oversubscribed)
    if recorded.status:
        lines.append(f"the program ended with status {recorded.status}; what it did until then is in the file")
    return lines


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
