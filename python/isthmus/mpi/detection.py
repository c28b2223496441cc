"""Detection of the MPI library that a command uses, and of its compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidInput
from .command import Command, executable, launcher_name

OPEN_MPI, MPICH = "Open MPI", "MPICH"
_LIBRARY = re.compile(r"lib(mpi|mpich|mpi_abi|mpi_\w+|pmpi\w*|mpich_\w+)\.so(\.[0-9.]+)?$")
# Names within MPI libraries, of which a program that has one linked in, even stripped, has very many.
_NAMES = (b"MPIR_", b"ompi_")
_MANY = 100
_SYSTEM = re.compile(r"(lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+)|ld-linux.*)[.-]")
_PROBE = """#include <mpi.h>
#ifdef OMPI_MAJOR_VERSION
isthmus_open OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION
#elif defined MPICH_VERSION
isthmus_mpich MPICH_VERSION
#elif defined MVAPICH2_VERSION
isthmus_mpich MVAPICH2_VERSION
#else
isthmus_other MPI_VERSION.MPI_SUBVERSION
#endif
"""


@dataclass(frozen=True, slots=True)
class Mpi:
    """An MPI that C can be compiled for.

    Parameters
    ----------
    family : str
        ``"Open MPI"``, ``"MPICH"`` (and what derives from it) or ``"MPI"``.
    version : str
        Version of the library, from its header.
    mpicc : str
        Its compiler, absolute.
    library : str
        The library that this compiler links, absolute and resolved.
    """

    family: str
    version: str
    mpicc: str
    library: str

    def __str__(self) -> str:
        return f"{self.family} {self.version}"


def find(command: Command, mpicc: str | None = None) -> Mpi:
    """Find the MPI that a command uses.

    It is the library that the program links, otherwise that of the launcher, otherwise that of ``mpicc``.

    Parameters
    ----------
    command : Command
        What is to be run.
    mpicc : str, optional
        The compiler to take.

    Raises
    ------
    InvalidInput
        If there is no MPI, no compiler for it, a program that is linked statically, or a launcher of another MPI.
    """
    programs = [path for index in command.programs if (path := command.path(index))]
    for index in command.programs:
        if command.path(index) is None:
            raise InvalidInput(f"{command.words[index]}: there is no such program")
    library = next(filter(None, map(linked_library, programs)), None)
    launcher = None if command.launcher is None else command.path(command.launcher)
    started_by = None if launcher is None else launcher_family(launcher)
    linked = None if library is None else library_family(library)
    if started_by and linked and started_by != linked:
        raise InvalidInput(
            f"{programs[0]} is linked to {linked} ({library}) but started by {launcher} of {started_by}: "
            "use the launcher of the same MPI"
        )
    if mpicc is not None:
        path = shutil.which(mpicc)
        found = probe(path) if path else None
        if found is None:
            raise InvalidInput(f"--mpicc {mpicc}: not an MPI compiler")
        if linked and found.family != linked:
            raise InvalidInput(f"--mpicc {mpicc} belongs to {found.family}, but {programs[0]} is linked to {linked}")
        return found
    family = linked or started_by
    found = _first(_compilers(launcher, library), family, library)
    if found is None:
        what = "MPI" if family is None else family
        raise InvalidInput(f"no compiler (mpicc) of {what} was found: give it as --mpicc")
    return found


def installed() -> list[Mpi]:
    """Return the MPIs whose compilers are in PATH, without duplicates."""
    found = {mpi.library: mpi for mpi in map(probe, reversed(_compilers(None, None))) if mpi}
    return list(reversed(found.values()))


def _first(candidates: list[str], family: str | None, library: str | None) -> Mpi | None:
    """The first of these compilers that has the very library, otherwise the first of the family; a look takes time."""
    fitting = None
    for path in candidates:
        mpi = probe(path)
        if mpi is None or family not in (None, mpi.family):
            continue
        if library in (None, mpi.library):
            return mpi
        fitting = fitting or mpi
    return fitting


def _compilers(launcher: str | None, library: str | None) -> list[str]:
    """Candidates, the likeliest first."""
    folders = []
    if library:
        parents = Path(library).parents
        folders += [str(parent / "bin") for parent in list(parents)[1:4]]
    if launcher:
        folders.insert(0, os.path.dirname(launcher))
    names = ["mpicc", "mpicc.openmpi", "mpicc.mpich"]
    given = [os.environ["MPICC"]] if os.environ.get("MPICC") else []
    paths = given + [os.path.join(folder, name) for folder in folders for name in names] + names
    found = [path for path in map(shutil.which, paths) if path]
    return list(dict.fromkeys(found))


def probe(mpicc: str) -> Mpi | None:
    """The MPI of a compiler; None if it cannot compile and link an MPI program."""
    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        source, shared = os.path.join(folder, "probe.c"), os.path.join(folder, "probe.so")
        with open(source, "w", encoding="utf-8") as stream:
            stream.write(_PROBE)
        text = _output([mpicc, "-E", "-P", source])
        match = re.search(r"^isthmus_(open|mpich|other) (.*)$", text or "", re.MULTILINE)
        if not match:
            return None
        with open(source, "w", encoding="utf-8") as stream:
            stream.write("#include <mpi.h>\nint isthmus_probe(void) { return MPI_Finalize(); }\n")
        if _output([mpicc, "-shared", "-fPIC", source, "-o", shared]) is None:
            return None
        library = linked_library(shared)
        if library is None:
            return None
    families = {"open": OPEN_MPI, "mpich": MPICH, "other": "MPI"}
    version = match[2].replace(" ", "").strip('"')
    return Mpi(families[match[1]], version, os.path.abspath(mpicc), library)


def launcher_family(path: str) -> str | None:
    """The MPI of a launcher; None for launchers of batch systems, which start any."""
    name = os.path.basename(path)
    if name in ("orterun", "prterun"):
        return OPEN_MPI
    if "hydra" in name:
        return MPICH
    if launcher_name(path) in ("srun", "aprun", "jsrun", "ibrun"):
        return None
    text = _output([path, "--version"]) or ""
    if re.search(r"Open ?MPI|OpenRTE|OpenPMIx|PRRTE", text, re.IGNORECASE):
        return OPEN_MPI
    return MPICH if re.search(r"hydra|mpich|intel", text, re.IGNORECASE) else None


def library_family(path: str) -> str:
    """The MPI of a shared library."""
    content = Path(path).read_bytes()
    if b"ompi_mpi_comm_world" in content:
        return OPEN_MPI
    return MPICH if b"MPIR_" in content or b"MPICH" in content else "MPI"


def linked_library(path: str) -> str | None:
    """The MPI library that a program loads when it starts, resolved; None if it loads none then.

    Raises
    ------
    InvalidInput
        If the program has MPI linked in statically: nothing can be put between then.
    """
    with open(path, "rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return None
    text = _output(["ldd", path])
    found: list[str] = []
    for line in (text or "").splitlines():
        name, arrow, target = line.strip().partition(" => ")
        if arrow and _LIBRARY.match(name):
            if target.startswith("not found"):
                raise InvalidInput(f"{path}: its MPI library {name} is not found: set LD_LIBRARY_PATH")
            found.append(os.path.realpath(target.split(" (")[0]))
    if text is None or "statically linked" in text:
        content = Path(path).read_bytes()
        if b"ompi_mpi_comm_world" in content or b"MPIR_Err" in content or contains_mpi(path):
            raise InvalidInput(
                f"{path} is linked statically: the recorder cannot be loaded into it; link it dynamically"
            )
    elif not found and contains_mpi(path):
        raise InvalidInput(
            f"{path} has MPI linked in statically: the recorder cannot see its calls; link it dynamically"
        )
    # libmpi_mpifh, libmpichfort and others load the library proper.
    proper = [path for path in found if re.match(r"lib(mpi|mpich|mpi_abi|mpi_cray\w*)\.so", os.path.basename(path))]
    return next(iter(proper or found), None)


def contains_mpi(path: str) -> bool:
    """Whether a program or a library that is no MPI library itself has one within."""
    if _LIBRARY.match(os.path.basename(path)):
        return False
    content = Path(path).read_bytes()
    return any(content.count(name) >= _MANY for name in _NAMES)


def loaded_files(path: str) -> list[str]:
    """A program, and the shared libraries that it loads when it starts, but those of the system's C library."""
    found = [path]
    for line in (_output(["ldd", path]) or "").splitlines():
        _, arrow, target = line.strip().partition(" => ")
        file = os.path.realpath(target.split(" (")[0]) if arrow else ""
        if file and os.path.isfile(file) and not _SYSTEM.match(os.path.basename(file)):
            found.append(file)
    return found


def _output(words: list[str]) -> str | None:
    """The output of a command; None if it fails or does not exist."""
    if executable(words[0]) is None:
        return None
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    return done.stdout if done.returncode == 0 else None
