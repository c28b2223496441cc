"""Runs of collectives in which every rank's messages are counted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import InvalidInput, Unsupported
from ...mpi import build as building
from ...mpi.command import executable, launched, take_apart
from ...mpi.detection import MPICH, OPEN_MPI, Mpi, find
from ...mpi.launch import loadable
from ...mpi.launcher import captured

#: A collective as MPI calls it, and its size in bytes as of :func:`isthmus.collective`.
Case = tuple[str, int]
#: Messages and bytes that each rank sent.
Counts = tuple[tuple[int, int], ...]

_SOURCES = Path(__file__).parent
_SECONDS = 120


@dataclass(frozen=True)
class Probe:
    """A compiled probe and how to start it.

    Parameters
    ----------
    launcher : sequence of str
        Such as ``["mpirun", "--oversubscribe", "-n", "6"]``.
    ranks : int
    mpi : Mpi
        Library and compiler.
    program : str
        The compiled probe.
    counter : str or None
        Library to load before it, where the MPI library has no counters of its own.
    """

    launcher: Sequence[str]
    ranks: int
    mpi: Mpi
    program: str
    counter: str | None

    def run(self, cases: Sequence[Case], settings: Mapping[str, str]) -> list[Counts]:
        """Run cases with some environment variables; returns one entry per case. Errors are those of :meth:`output`."""
        return counts(self.output(cases, settings))

    def output(self, cases: Sequence[Case], settings: Mapping[str, str]) -> str:
        """Runs cases with some environment variables and returns the output of the probe.

        Raises
        ------
        InvalidInput
            If the run fails, with its last words, and if it has another number of ranks.
        """
        words = [*self.launcher, self.program, *(f"{kind}={size}" for kind, size in cases)]
        environment = {**os.environ, **_counting(self.mpi), **settings}
        if self.counter is not None:
            environment["LD_PRELOAD"] = ":".join(filter(None, (self.counter, os.environ.get("LD_PRELOAD"))))
        done = captured(words, environment, _SECONDS)
        if done.late:
            raise InvalidInput(
                f"{' '.join(self.launcher)} ... hung for {_SECONDS} s: ranks may run different algorithms"
            )
        if done.status != 0 or len(counts(done.output)) != len(cases):
            if "nothing counts messages" in done.errors:
                raise Unsupported(f"{self.mpi}: its messages cannot be counted; {_needed(self.mpi)}")
            raise InvalidInput(f"the run failed with status {done.status}: {done.last_words()}")
        started = {len(of_case) for of_case in counts(done.output)} - {self.ranks}
        if started:
            raise InvalidInput(
                f"{' '.join(self.launcher)} started {min(started)} ranks, not {self.ranks}: give their number with -n"
            )
        return done.output


def counts(output: str) -> list[Counts]:
    """Messages and bytes of the cases in the probe's output."""
    out = []
    for numbers in re.findall(r"^isthmus-case \d+((?: \d+)+)$", output, re.MULTILINE):
        values = [int(word) for word in numbers.split()]
        out.append(tuple(zip(values[::2], values[1::2], strict=True)))
    return out


def build(
    mpirun: Sequence[str], ranks: int, folder: str, mpicc: str | None = None, ucc: str | os.PathLike[str] | None = None
) -> Probe:
    """Compile the probe for the MPI of a launcher.

    Parameters
    ----------
    mpirun : sequence of str
        The launcher and its options; ``-n`` and the number of ranks are added where these do not say any.
    ranks : int
    folder : str
        For the links to what is compiled.
    mpicc : str, optional
        The compiler to take, where the launcher does not tell.
    ucc : path, optional
        Where UCC is installed, for the probe of its collectives.

    Raises
    ------
    InvalidInput
        If launcher or compiler are missing, or the program does not compile.
    Unsupported
        For an MPI that is neither Open MPI nor MPICH.
    """
    if ranks < 2:
        raise InvalidInput(f"{ranks} ranks: a message needs at least two")
    if not mpirun or executable(mpirun[0]) is None:
        raise InvalidInput(f"launcher {mpirun[0] if mpirun else ''!r}: there is no such program")
    given = launched(mpirun)
    if given not in (None, ranks):
        raise InvalidInput(f"{' '.join(mpirun)}: it starts {given} ranks, but {ranks} must run")
    launcher = [*mpirun] if given else [*mpirun, "-n", str(ranks)]
    mpi = find(take_apart([*launcher, "true"]), mpicc)
    if ucc is None and mpi.family not in (OPEN_MPI, MPICH):
        raise Unsupported(f"{mpi}: only files of Open MPI and MPICH can be verified")
    if ucc is None:
        program = _compiled(mpi, "probe", "probe.c", "probe")
    else:
        libraries = (f"-L{ucc}/lib", f"-Wl,-rpath,{ucc}/lib", "-lucc")
        program = _compiled(mpi, "probe of UCC", "ucc_probe.c", "probe", (f"-I{ucc}/include",), libraries)
    counter = None
    if ucc is not None or mpi.family == MPICH or major(mpi) < 5:
        library = _compiled(mpi, "counter of messages", "counter.c", "counter.so", libraries=("-ldl",))
        counter = str(loadable(Path(library), Path(folder)))
    return Probe(launcher, ranks, mpi, program, counter)


def major(mpi: Mpi) -> int:
    """The first number of its version."""
    return int(re.match(r"\d*", mpi.version)[0] or 0)  # type: ignore[index]


def _counting(mpi: Mpi) -> dict[str, str]:
    """Variables without which there is nothing to count."""
    if mpi.family == OPEN_MPI:
        return {"OMPI_MCA_pml_monitoring_enable": "1"}
    # Every rank as if alone on its node: messages then pass through UCX, and the tree decides for all ranks at once.
    return {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_DEVICE_COLLECTIVES": "none"}


def _needed(mpi: Mpi) -> str:
    return "it needs the monitoring component" if mpi.family == OPEN_MPI else "it must be built on UCX"


def _compiled(
    mpi: Mpi, name: str, source: str, target: str, flags: tuple[str, ...] = (), libraries: tuple[str, ...] = ()
) -> str:
    flags = ("-w", *flags)
    sources = building.Sources(name, _SOURCES, target, (source,), flags, libraries, optimise="-O1")
    return str(building.build(sources, mpi))
