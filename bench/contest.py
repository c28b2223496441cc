"""Contests of collectives on two cores: programs of bench/contest.h over several MPI libraries, which take turns.

libisthmus is called by its own interface, and put under the first MPI library by `isthmus run`; the peers are called
through the same layer, which hands everything on to them, so that it costs everyone alike. LibNBC is called over the
first library. Another built libisthmus, such as that of the version before, takes part as `before`, by its own
interface.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
from pathlib import Path

from host import HERE, environment

import isthmus
from isthmus.mpi.command import take_apart
from isthmus.mpi.detection import Mpi, probe
from isthmus.mpi.launch import loadable, with_variables
from isthmus.running.program import interposed

#: What the calls of MPI are named in the process in which libisthmus carries them out.
UNDER = "under-mpi"
BEFORE = "before"
#: Refuses to carry out anything: every call goes to the MPI library, through the layer.
_HANDS_ON = {"ISTHMUS_TRANSPORT": "hands on"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mpi",
        default="openmpi",
        help="MPI libraries, by commas: openmpi, mpich, or paths of compilers, such as those in wheels",
    )
    parser.add_argument("--nbc", type=Path, help="folder with nbc.h and libnbc.a, built with the first of them")
    parser.add_argument("--guarded", action="store_true", help="under MPI, calls take turns with the library's own")
    parser.add_argument("--library", type=Path, help="folder with include/ and lib/ of another libisthmus")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--json", type=Path)


def libraries(names: str) -> list[Mpi]:
    """The MPI libraries that were named."""
    found = []
    for name in names.split(","):
        path = shutil.which(name if os.sep in name else f"mpicc.{name}")
        mpi = probe(path) if path else None
        if mpi is None:
            raise SystemExit(f"{name}: no compiler of an MPI library")
        found.append(mpi)
    return found


def short(mpi: Mpi) -> str:
    """A name without blanks, such as openmpi-5.0.11."""
    return f"{mpi.family.replace(' ', '').lower()}-{mpi.version}"


def _build(mpi: Mpi, source: str, program: Path, library: Path, *more: str) -> None:
    words = [
        mpi.mpicc,
        "-std=gnu11",
        "-D_GNU_SOURCE",
        "-O3",
        "-march=native",
        "-w",
        "-o",
        str(program),
        str(HERE / source),
    ]
    words += [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus", *more, "-lm"]
    subprocess.run(words, check=True)


def _launcher(mpi: Mpi) -> list[str]:
    """Programs bind themselves."""
    at, name = os.path.split(mpi.mpicc)
    run = os.path.join(at, name.replace("mpicc", "mpirun"))
    return [run, *(["--bind-to", "none"] if mpi.family == "Open MPI" else ["-bind-to", "none"]), "-n", "2"]


def contest(source: str, limits: list[str], options: argparse.Namespace, folder: Path) -> list[list[str]]:
    """Words of the lines that all processes print; ``limits``: who takes part beside libraries."""
    mpis = libraries(options.mpi)
    library = Path(isthmus.__file__).parent / "libisthmus"
    jobs = [(mpis[0], UNDER, [*limits, "isthmus", "mpi"], {}, library, [])]
    jobs += [(mpi, short(mpi), ["mpi"], _HANDS_ON, library, []) for mpi in mpis]
    if options.nbc:
        given = ["-DLIBNBC", f"-I{options.nbc}", f"{options.nbc}/libnbc.a"]
        jobs.append((mpis[0], "libnbc", ["nbc"], _HANDS_ON, library, given))
    if options.library:
        jobs.append((mpis[0], BEFORE, ["isthmus"], {}, options.library, []))
    turns = folder / "turns"
    turns.write_bytes(bytes(4096))
    commands = []
    for number, (mpi, name, who, variables, library, given) in enumerate(jobs):
        program = folder / f"program.{number}"
        _build(mpi, source, program, library, *given)
        words = [*_launcher(mpi), str(program), name, str(options.batches), str(turns)]
        words += [str(number), str(len(jobs)), *who]
        if name == BEFORE:  # beneath the layer would be today's library
            commands.append((words, dict(os.environ)))
            continue
        command = take_apart(words)
        counts = folder / f"counts.{number}"
        counts.mkdir()
        settings = {"ISTHMUS_COUNTS": str(counts), "ISTHMUS_COMPARES": str(int(options.guarded)), **variables}
        commands.append(with_variables(command, settings, loadable(interposed(mpi), folder)))
    return _run(commands, folder)


def _run(commands: list[tuple[list[str], dict[str, str]]], folder: Path) -> list[list[str]]:
    """All at once; if one of them fails, the others would wait for its turn for ever."""
    allowed = {key: value for key, value in environment().items() if key not in os.environ}
    running = []
    for number, (words, env) in enumerate(commands):
        with open(folder / f"out.{number}", "w") as out, open(folder / f"err.{number}", "w") as err:
            running.append(subprocess.Popen(words, env=env | allowed, stdout=out, stderr=err))
    failed = None
    try:
        while any(process.poll() is None for process in running) and failed is None:
            time.sleep(0.2)
            failed = next((number for number, process in enumerate(running) if process.poll()), None)
    finally:
        for process in running:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if failed is not None:
        said = (folder / f"err.{failed}").read_text().strip()
        words, status = commands[failed][0], running[failed].returncode
        raise SystemExit(f"{' '.join(words)} ended with {status}: {said[-500:]}")
    lines = []
    for number in range(len(commands)):
        lines += [line.split() for line in (folder / f"out.{number}").read_text().splitlines()]
    if ["disturbed"] in lines:
        print("The real-time scheduler is not permitted here: other programs disturb the times.")
    return lines
