"""Checks which tools Isthmus finds on this computer, and what to install."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """The result of a check."""

    there = "there"
    optional = "missing, optional"
    broken = "missing, needed"


@dataclass(frozen=True)
class Check:
    """One thing that was looked for.

    Attributes
    ----------
    topic, name : str
    state : State
    found : str
        Its version or place; empty where it is missing.
    advice : str
        What it is good for and how to get it, where it is missing.
    """

    topic: str
    name: str
    state: State
    found: str = ""
    advice: str = ""


#: Launchers, and what they belong to.
_LAUNCHERS = {"srun": "Slurm", "mpirun": "MPI", "mpiexec": "MPI", "flux": "Flux", "aprun": "Cray ALPS", "jsrun": "LSF"}
#: kernel.perf_event_paranoid from which on nothing is counted.
_FORBIDDING = 3
#: Where the kernel lists what can count, and what it calls processors.
_EVENTS, _PROCESSORS = "/sys/bus/event_source/devices", ("cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0")


def checks() -> Iterator[Check]:
    """Everything that is looked for, in the order in which it is shown."""
    yield from _python()
    yield from _mpi()
    yield from _launchers()
    yield from _tools()
    yield from _system()


def _python() -> Iterator[Check]:
    from . import __version__

    yield Check("Isthmus", "version", State.there, __version__)
    try:
        from . import _core
    except ImportError as error:
        yield Check("Isthmus", "core", State.broken, advice=f"{error}: install Isthmus again")
    else:
        yield Check("Isthmus", "core", State.there, os.path.dirname(str(_core.__file__)))
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("Python", "interpreter", State.there, f"{version}, {sys.executable}")
    for requirement in importlib.metadata.requires("isthmus") or ():
        name = re.split(r"[ ;<>=!~\[(]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        try:
            yield Check("Python", name, State.there, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            if extra:
                yield Check("Python", name, State.optional, advice=f"pip install 'isthmus[{extra[1]}]'")
            else:
                yield Check("Python", name, State.broken, advice=f"pip install {name}")


def _mpi() -> Iterator[Check]:
    from .mpi.detection import installed
    from .recording.build import built

    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler:
        yield Check("Recording", "C compiler", State.there, compiler)
    else:
        advice = "the recorder is compiled on first use: apt install gcc"
        yield Check("Recording", "C compiler", State.optional, advice=advice)
    found = installed()
    for mpi in found:
        where = f"{mpi.mpicc}; its recorder is {'built' if built(mpi) else 'built on first use'}"
        yield Check("Recording", str(mpi), State.there, where)
    if not found:
        yield Check(
            "Recording",
            "MPI",
            State.optional,
            advice="programs cannot be recorded: apt install libopenmpi-dev openmpi-bin, or load its module",
        )


def _launchers() -> Iterator[Check]:
    found = False
    for name, of in _LAUNCHERS.items():
        if path := shutil.which(name):
            found = True
            yield Check("Launching", name, State.there, f"{path} ({of})")
    if not found:
        yield Check("Launching", "launcher", State.optional, advice="none of " + ", ".join(_LAUNCHERS) + " is in PATH")


def _tools() -> Iterator[Check]:
    for name, use in (("lstopo", "describes a node for --node: apt install hwloc"),
                      ("addr2line", "names lines of code in recordings: apt install binutils")):  # fmt: skip
        path = shutil.which(name)
        yield Check("Tools", name, State.there, path) if path else Check("Tools", name, State.optional, advice=use)


def _system() -> Iterator[Check]:
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Check("System", "processor", State.there, f"{cores} core{'s' * (cores != 1)}, {memory / 2**30:.1f} GiB")
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            paranoid = int(file.read())
    except (OSError, ValueError):
        yield Check("System", "counters", State.optional, advice="the kernel has no performance events")
    else:
        if paranoid >= _FORBIDDING:
            advice = f"kernel.perf_event_paranoid is {paranoid}: 2 lets recordings count instructions and cycles"
            yield Check("System", "counters", State.optional, advice=advice)
        elif not any(os.path.isdir(f"{_EVENTS}/{name}") for name in _PROCESSORS):
            yield Check("System", "counters", State.optional, advice="this computer, perhaps a virtual one, has none")
        else:
            yield Check("System", "counters", State.there, f"kernel.perf_event_paranoid is {paranoid}")
    if os.path.isdir("/dev/shm"):
        free = shutil.disk_usage("/dev/shm").free
        yield Check("System", "shared memory", State.there, f"{free / 2**30:.1f} GiB free in /dev/shm")
    else:
        yield Check("System", "shared memory", State.optional, advice="/dev/shm is missing")
