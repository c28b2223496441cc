"""The verb run, for schedules and recorded programs: ranks of MPI carry them out, and say when everything happened."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import InvalidInput
from ..interruption import undone
from ..lowering.lower import lower
from ..lowering.rules import Collectives
from ..mpi import build as building
from ..mpi.command import take_apart
from ..mpi.detection import Mpi
from ..mpi.launcher import Ended, Launcher
from ..schedule.program import Program
from ..schedule.schedule import OpKind, Schedule
from ..simulation.ran import Ran
from ..simulation.timeline import Timeline
from .assembly import assemble, read_runs
from .carried import carried
from .parts import write_parts
from .placing import placed

#: Seconds for starting ranks and for all runs, beside their computations.
WAIT = 120.0
#: The most runs of each series that are made where nobody says how many.
_MOST_RUNS = 1000


def run(
    what: Program | Schedule,
    *,
    launch: str = "mpirun",
    collectives: Collectives | None = None,
    compute: float = 1.0,
    repetitions: int | None = None,
    check: bool = False,
    placement: str | os.PathLike[str] | None = None,
    wait: float = WAIT,
    directory: str | os.PathLike[str] | None = None,
    mpicc: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Timeline:
    """Carry out a schedule or a program on this computer, and measure when everything happens.

    Ranks of MPI do what the schedule says by libisthmus: messages, copies, reductions, which add up numbers, and
    computations, for which they are busy as long as they took. First it is run some times to warm up; then some times
    in which only the end is looked at, and as often with the times of every operation.

    Parameters
    ----------
    what : Program or Schedule
        A schedule without buffers gets memory for the largest message of each pair of ranks.
    launch : str
        The launcher with its options, such as ``"mpirun -n 4"``; it starts as many ranks as the schedule has.
    collectives : mapping or DecisionTable, optional
        For a program: algorithms of its collectives, see :func:`isthmus.lower`.
    compute : float
        Factor of all computations; 0 leaves them out.
    repetitions : int, optional
        Number of runs of each series, 1 to 1000; by default as many as take about a second, from 1 to 100.
    check : bool
        In one more run before, check that every message arrives as it was sent; memory is then that of messages, and
        every message has its own.
    placement : path, optional
        File of ranks for the launcher, as ``isthmus map -o`` writes it: ranks are started where it places them.
    wait : float
        Seconds after which the ranks are taken to hang, beside their computations.
    directory : path, optional
        Folder for the files that the ranks read and write, which all of them see; by default that of temporary files.
    mpicc : str, optional
        Compiler of the MPI, if it is not found.
    say : callable, optional
        Told in a sentence what happens.

    Returns
    -------
    Timeline
        What was measured, with :attr:`Timeline.ran`. Of the runs with times of every operation it is that whose time is
        nearest to the median of the others.

    Raises
    ------
    InvalidInput
        If an argument is wrong; if the schedule deadlocks; if the launcher fails, does not end in time, or starts
        another number of ranks; if a rank dies.
    OSError
        If files cannot be written.

    Examples
    --------
    >>> import isthmus
    >>> barrier = isthmus.collective("barrier", ranks=2)
    >>> isthmus.run(barrier, launch="mpirun -n 2").ran.repetitions  # doctest: +SKIP
    100
    """
    _check(compute, repetitions, wait)
    schedule = _schedule(what, collectives)
    launcher = Launcher.parse(launch)
    if launcher.ranks is not None and launcher.ranks != schedule.ranks:
        raise InvalidInput(
            f"--launch {launch}: it starts {launcher.ranks} rank{'' if launcher.ranks == 1 else 's'}, and the schedule "
            f"has {schedule.ranks}"
        )
    does = carried(schedule)
    mpi = launcher.mpi(mpicc)
    program = launch_program(mpi, say)
    variables: dict[str, str] = {}
    begin = time.monotonic()
    made: list[Path] = []

    def remove() -> None:
        for path in made:
            shutil.rmtree(path, ignore_errors=True)

    with undone(remove):
        folder = Path(tempfile.mkdtemp(prefix="isthmus-run-", dir=directory))
        made.append(folder)
        try:
            if placement is not None:
                there = placed(take_apart(launcher.command("true")), mpi, placement, folder, schedule.ranks)
                launcher, variables = Launcher(there.command.words[:-1], launcher.ranks), there.variables
            write_parts(does.schedule, does.partner, folder / "parts", compute=compute, check=check)
            limit = wait + _computing(schedule) * compute * (2 * (repetitions or 100) + 2)
            ended = launcher.run(
                program,
                *(str(folder / "parts"), str(folder), str(repetitions or 0), str(int(check))),
                ranks=schedule.ranks,
                variables=variables,
                limit=limit,
            )
            if ended.status or not (folder / "runs").is_file():
                raise InvalidInput(_why(ended, launcher, schedule.ranks))
            ran = _ran(folder, launcher, schedule, compute)
            return assemble(schedule, does, folder, ran, time.monotonic() - begin)
        finally:
            remove()


def launch_program(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the program that carries out a rank's part, compiled for an MPI at first use.

    Raises
    ------
    InvalidInput
        If it does not compile.
    """
    library = building.folder_of("libisthmus", "include/isthmus/isthmus.h")
    probes = building.folder_of("probes", "global_clock.c")
    sources = building.Sources(
        "launch of schedules",
        building.folder_of("runtime/launch", "launch.c"),
        "launch",
        files=("launch.c", str(probes / "global_clock.c")),
        flags=("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", f"-I{library / 'include'}", f"-I{probes}"),
        libraries=(f"-L{library / 'lib'}", f"-Wl,-rpath,{library / 'lib'}", "-listhmus"),
    )
    return building.build(sources, mpi, say)


def _check(compute: float, repetitions: int | None, wait: float) -> None:
    if not 0 <= compute <= 1e6:
        raise InvalidInput(f"compute {compute:g}: must be 0 to 1e6")
    if repetitions is not None and not 1 <= repetitions <= _MOST_RUNS:
        raise InvalidInput(f"repetitions {repetitions}: must be 1 to {_MOST_RUNS}")
    if not 0 < wait < 1e6:
        raise InvalidInput(f"wait {wait:g}: must be seconds above 0")


def _schedule(what: Program | Schedule, collectives: Collectives | None) -> Schedule:
    if isinstance(what, Program):
        return lower(what, collectives=collectives)
    if collectives is not None:
        raise InvalidInput("collectives: a schedule has none left to choose algorithms for; give a program")
    if not isinstance(what, Schedule):
        raise InvalidInput(f"{type(what).__name__} cannot be carried out: must be a Program or a Schedule")
    return what


def _computing(schedule: Schedule) -> float:
    """Seconds of computation of all ranks, which may have to share a core."""
    amounts = schedule.ops["amount"][schedule.ops["kind"] == OpKind.calc]
    return float(amounts.sum(dtype=np.float64)) * 1e-12


def _ran(folder: Path, launcher: Launcher, schedule: Schedule, compute: float) -> Ran:
    facts, quick, traced = read_runs(folder)
    ends = quick[:, 0] * 1e-9
    late = int(traced[int(facts["shown"]), 1]) * 1e-9
    cores = len(os.sched_getaffinity(0))
    note = ""
    if schedule.ranks > cores:
        note = (
            f"{schedule.ranks} ranks share {cores} core{'' if cores == 1 else 's'}: times are not those of free cores"
        )
    elif late > 0.1 * float(np.median(ends)) and late > 1e-6:
        note = "a rank began late: the times of the first operations are not certain"
    return Ran(
        launch=str(launcher),
        library=" ".join(re.sub(r"\s*Version:\s*", " ", facts["library"]).split()),
        host=facts["host"],
        repetitions=len(quick),
        typical=float(np.median(ends)),
        least=float(ends.min()),
        most=float(ends.max()),
        watched=float(np.median(traced[:, 0])) * 1e-9,
        late=late,
        compute=compute,
        note=note,
    )


def _why(ended: Ended, launcher: Launcher, ranks: int) -> str:
    """What went wrong, in one sentence."""
    if own := re.findall(r"^isthmus-launch: (.*)$", ended.errors, re.MULTILINE):
        # A rank that died is named by the others; what they say of it is the cause.
        told = next((line for line in own if " died " in line), own[0])
        return f"{launcher}: {told}"
    if ended.late:
        return (
            f"{launcher} did not end within {ended.seconds:.0f} s and was stopped: --wait says how long it may take "
            f"(it said: {ended.last_words()})"
        )
    if ended.status == 0:
        return f"{launcher} ended without carrying out anything: {ended.last_words()}"
    return f"{launcher} ended with status {ended.status}: {ended.last_words()}"
