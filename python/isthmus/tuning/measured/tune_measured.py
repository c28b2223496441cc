"""The verb ``tune`` by real runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import InvalidInput
from ...files import write_atomically
from ...machine import Level, Machine
from ...measuring.programs import mpi_program
from ...mpi.detection import Mpi
from ...mpi.launcher import Launcher
from ..choice import Choice
from ..rule import kinds_of
from ..table import DecisionTable
from .result import MeasuredTuning
from .runs import Launches
from .search import COARSE, search
from .times import Held, hold, without
from .trials import library_of

#: Seconds of a search.
SECONDS = 540.0
#: Used where no machine is given, to order candidates: a current cluster, to the order of magnitude.
_TYPICAL = Level(L=1e-6, o_send=0.3e-6, o_recv=0.3e-6, g=0.3e-6, G=0.1e-9)

#: Said where ranks share cores.
_SHARED = "times are those of the operating system, and rules may not hold where each rank has a core"

Progress = Callable[[float, str], None]


def tune_measured(
    collective: str | Iterable[str] = "all",
    *,
    launch: str,
    ranks: int | None = None,
    sizes: Sequence[int] | None = None,
    seconds: float = SECONDS,
    machine: Machine | Level | str | None = None,
    mpicc: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    force: bool = False,
    oversubscribe: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> MeasuredTuning:
    """Choose algorithms of collectives by timing them with the installed MPI library, beside its own decisions.

    Parameters
    ----------
    collective : str or iterable of str
        Collectives such as ``"allreduce"``, or ``"all"``.
    launch : str
        The launcher and its options, such as ``"mpirun -n 8"``.
    ranks : int, optional
        By default as many as the launcher's words say, else one for each core.
    sizes : sequence of int, optional
        Bytes at which every candidate is tried; sizes between follow where the best changes. By default 8 B to 2 MiB,
        eight times apart.
    seconds : float
        For all launches.
    machine : Machine, Level or str, optional
        Orders the candidates by their predicted times, which matters where time is short.
    mpicc : str, optional
        The compiler, where the launcher does not tell.
    folder : path, optional
        Where journals of launches are kept, so that a search that was stopped goes on; by default nothing is kept.
    force : bool
        Start again, whatever is in the folder.
    oversubscribe : bool
        Times with more ranks than cores are those of the operating system: only where this is set.
    seed : int
        Of the order of launches.
    progress : callable, optional
        Called with the share that is done, and words.
    say : callable, optional
        Told what is compiled.

    Returns
    -------
    MeasuredTuning
        ``print`` shows what is faster than the library's own decisions and which performance guidelines these violate;
        ``.table`` is the :class:`DecisionTable`.

    Raises
    ------
    InvalidInput
        If the launcher fails or hangs, and for more ranks than cores.
    Unsupported
        For libraries other than Open MPI and MPICH.
    """
    launcher = Launcher.parse(launch)
    mpi = launcher.mpi(mpicc)
    count = _ranks(launcher, ranks, oversubscribe)
    library = library_of(mpi, count, kinds_of(collective))
    cores = len(os.sched_getaffinity(0))
    if count > cores and _one_host(launcher):
        library = replace(library, notes=(*library.notes, f"{count} ranks shared {cores} cores: {_SHARED}"))
    tried = sorted(set(COARSE if sizes is None else sizes))
    if not tried or tried[0] < 1:
        raise InvalidInput("sizes to tune: must be bytes from 1")
    identity = f"{mpi}\n{launch}\n{count}\n{sorted(library.trials)}\n{tried}\n{seed}\n"
    with _Folder(folder, identity, force) as journals:
        runs = Launches(launcher, mpi_program(mpi, say), count, journals.path, seed)
        found = search(
            library, runs, sizes=tried, seconds=seconds, rank=_ranking(machine, count), seed=seed, progress=progress
        )
        journals.done()
    return found


def timed(
    table: DecisionTable,
    settings: Mapping[str, str],
    launcher: Launcher,
    mpi: Mpi,
    ranks: int,
    *,
    seconds: float = 120.0,
    oversubscribe: bool = False,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[list[Held], DecisionTable]:
    """Time every rule of a table with the library's file and without it.

    Returns
    -------
    list of Held
    DecisionTable
        The table without the rules that do not hold.
    """
    count = _ranks(launcher, ranks, oversubscribe)
    names = library_of(mpi, count, table.collectives).names
    with tempfile.TemporaryDirectory(prefix="isthmus-") as journals:
        runs = Launches(launcher, mpi_program(mpi, say), count, Path(journals))
        held = hold(table, names, settings, runs, seconds=seconds, progress=progress)
    return held, without(table, [one for one in held if not one.holds], names)


class _Folder:
    """Journals that are kept until the search is done, or not at all."""

    def __init__(self, given: str | os.PathLike[str] | None, identity: str, force: bool) -> None:
        self._temporary = given is None
        self.path = Path(tempfile.mkdtemp(prefix="isthmus-")) if given is None else Path(given)
        self._done = False
        if given is None:
            return
        stated = self.path / "tuning"
        if force and stated.is_file():
            shutil.rmtree(self.path)
        if self.path.is_dir() and any(self.path.iterdir()):
            if not stated.is_file():
                raise InvalidInput(f"{self.path} holds no tuning of Isthmus: remove it, or choose another output")
            if stated.read_text(encoding="utf-8", errors="replace") != identity:
                raise InvalidInput(
                    f"{self.path} holds another tuning that was not finished: --force starts again, the command of "
                    "that one goes on with it"
                )
        self.path.mkdir(exist_ok=True)
        write_atomically(stated, identity)

    def done(self) -> None:
        self._done = True

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary or self._done:
            shutil.rmtree(self.path, ignore_errors=True)


def _ranks(launcher: Launcher, asked: int | None, oversubscribe: bool) -> int:
    cores = len(os.sched_getaffinity(0))
    count = asked or launcher.ranks or cores
    if launcher.ranks is not None and asked not in (None, launcher.ranks):
        raise InvalidInput(f"--ranks {asked}: --launch starts {launcher.ranks}")
    if count < 2:
        raise InvalidInput(f"{count} rank: a collective needs at least two")
    if count > cores and not oversubscribe and _one_host(launcher):
        raise InvalidInput(
            f"{count} ranks on {cores} cores: times would be those of the operating system; --oversubscribe takes them"
        )
    return count


def _one_host(launcher: Launcher) -> bool:
    """Does the launcher start ranks here, as far as its words tell?"""
    hosts = ("-H", "--host", "-host", "-hosts", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f")
    return os.path.basename(launcher.words[0]) not in ("srun", "aprun", "jsrun", "ibrun") and not any(
        word in hosts for word in launcher.words
    )


def _ranking(machine: Machine | Level | str | None, ranks: int) -> Callable[[str, int, Choice], float]:
    """Predicted seconds of collective, bytes and choice; what cannot be predicted comes last."""
    from ..compare import predictor

    if isinstance(machine, str):
        from ...loading import load

        machine = load(machine)
    predict = predictor(_TYPICAL if machine is None else machine, model="loggops")

    def rank(kind: str, size: int, choice: Choice) -> float:
        try:
            return predict(kind, ranks, size, choice)
        except InvalidInput:
            return float("inf")

    return rank
