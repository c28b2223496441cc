"""Compilation of C for the MPI of the user, once, into the cache."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import interruption
from ..errors import InvalidInput
from ..threads import Threads
from .detection import Mpi


@dataclass(frozen=True, slots=True)
class Sources:
    """C that comes with Isthmus and is compiled on the computer of the user.

    Parameters
    ----------
    name : str
        What messages call it, and how its folders in the cache begin: ``"recorder"``.
    folder : Path
        Where the sources are.
    target : str
        The file that is made; a shared library if it ends in ``.so``, otherwise a program.
    files : tuple of str
        Names of the sources; empty: all ``*.c`` of the folder.
    flags : tuple of str
        Options of the compiler for all files.
    libraries : tuple of str
        Options of the linker.
    optimise : str
        Option for all files but the generated one.
    generator : str
        A Python program in the folder that reads the preprocessed ``mpi.h`` and writes one more source; empty: none.
    generated_flags : tuple of str
        Options for that source.
    beside : tuple of Path
        Further folders whose headers and modules the sources or the generator use.
    """

    name: str
    folder: Path
    target: str
    files: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    optimise: str = "-O2"
    generator: str = ""
    generated_flags: tuple[str, ...] = ()
    beside: tuple[Path, ...] = ()

    def paths(self) -> list[Path]:
        """Return the files that are compiled."""
        return [self.folder / name for name in self.files] if self.files else sorted(self.folder.glob("*.c"))


def folder_of(name: str, member: str) -> Path:
    """Return a folder of sources by the name of one of its files: in the installed package, else in the source tree.

    Raises
    ------
    InvalidInput
        If it is in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / name, package.parents[1] / name):
        if (folder / member).is_file():
            return folder
    raise InvalidInput(f"the sources of the {name} are missing in {package}: install Isthmus again")


def cache() -> Path:
    """Return the folder of what is compiled: ``$XDG_CACHE_HOME/isthmus`` or ``~/.cache/isthmus``."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "isthmus"


def build(sources: Sources, mpi: Mpi | None, say: Callable[[str], None] | None = None) -> Path:
    """Return what sources become for an MPI, and compile them first if necessary.

    Parameters
    ----------
    sources : Sources
    mpi : Mpi or None
        As :func:`isthmus.mpi.detection.find` finds it; None for a program without MPI, compiled by ``$CC`` or ``cc``.
    say : callable, optional
        Told that something is compiled.

    Returns
    -------
    Path
        Path of the file, which changes with the sources, the header and the compiler.

    Raises
    ------
    InvalidInput
        If it does not compile, or if there is no C compiler.
    """
    work = _Work(sources, mpi)
    header, target = work.place()
    if not (target / sources.target).is_file():
        if say:
            say(f"building the {sources.name}{f' for {mpi}' if mpi else ''} (once)")
        target.parent.mkdir(parents=True, exist_ok=True)
        with _turn(target.parent), tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as folder:
            if not (target / sources.target).is_file():
                with interruption.undone(lambda: shutil.rmtree(folder, ignore_errors=True)):
                    work.compile(Path(folder), header)
                _publish(Path(folder) / "done", target, sources.target)
    return target / sources.target


def built(sources: Sources, mpi: Mpi | None) -> bool:
    """Return whether sources are already compiled for an MPI."""
    return (_Work(sources, mpi).place()[1] / sources.target).is_file()


class _Work:
    """Sources and the compiler for them."""

    def __init__(self, sources: Sources, mpi: Mpi | None) -> None:
        self.sources, self.mpi = sources, mpi
        found = mpi.mpicc if mpi else shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc")
        if found is None:
            raise InvalidInput(f"no C compiler was found: the {sources.name} cannot be built (apt install gcc)")
        self.compiler = found

    def place(self) -> tuple[str, Path]:
        """The preprocessed header of the MPI, and the folder of what is made of it and the sources."""
        sources, mpi = self.sources, self.mpi
        header = self._run("-E", "-P", "-include", "mpi.h", "-x", "c", os.devnull) if mpi else ""
        digest = hashlib.sha256(header.encode())
        generator = [sources.folder / sources.generator] if sources.generator else []
        for path in sorted({*sources.paths(), *sources.folder.glob("*.h"), *generator, *self._beside()}):
            digest.update(path.name.encode() + path.read_bytes())
        options = (sources.target, sources.flags, sources.libraries, sources.optimise, sources.generated_flags)
        library = mpi.library if mpi else ""
        digest.update(repr((options, self.compiler, library, self._run("--version"))).encode())
        return header, cache() / f"{sources.name.replace(' ', '-')}-{digest.hexdigest()[:16]}"

    def _beside(self) -> list[Path]:
        """Headers of other folders, and modules that the generator may import."""
        sources = self.sources
        headers = [path for folder in sources.beside for path in folder.glob("*.h")]
        folders = (sources.folder, *sources.beside) if sources.generator else ()
        return headers + [path for folder in folders for path in folder.glob("*.py")]

    def compile(self, work: Path, header: str) -> None:
        sources = self.sources
        shared = sources.target.endswith(".so")
        flags = [*sources.flags, *(["-fPIC"] if shared else []), f"-I{sources.folder}"]
        paths, generated = sources.paths(), None
        if sources.generator:  # the longest, so first
            generated = self._generated(work, header)
            paths.insert(0, generated)

        def compiled(source: Path) -> str:
            options = sources.generated_flags if source == generated else (sources.optimise,)
            self._run(*flags, *options, "-c", str(source), "-o", made := str(work / f"{source.stem}.o"))
            return made

        with Threads(len(os.sched_getaffinity(0))) as threads:
            objects = list(threads.map(compiled, paths))
        (work / "done").mkdir()
        # A program may find its MPI by a path of its own, which what is loaded into it does not have.
        path = [f"-Wl,-rpath,{os.path.dirname(self.mpi.library)}"] if self.mpi else []
        kind = ["-shared"] if shared else []
        self._run(*kind, *objects, *path, *sources.libraries, "-o", str(work / "done" / sources.target))

    def _generated(self, work: Path, header: str) -> Path:
        generator = [sys.executable, "-B", str(self.sources.folder / self.sources.generator)]
        done = subprocess.run(generator, input=header, capture_output=True, text=True, check=False)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["?"])[-1]
            raise InvalidInput(f"the mpi.h of {self.mpi} could not be read: {why}")
        path = work / "generated.c"
        path.write_text(done.stdout, encoding="utf-8")
        return path

    def _run(self, *options: str) -> str:
        words = [self.compiler, *options]
        with (
            subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            ) as process,
            interruption.undone(process.kill),
        ):
            output, errors = process.communicate()
        if process.returncode:
            lines = errors.splitlines()
            # A full disk is told by one of the compiler's tools, before the compiler calls it an error.
            telling = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), "error", "")
            first = next((line for word in telling for line in lines if word in line), "no message")
            raise InvalidInput(f"{self.compiler} could not compile the {self.sources.name}: {first.strip()}")
        return output


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """One process at a time compiles into the cache, with all processors: who waits finds what another has made.

    On file systems that lock no folders each makes its own, as before; the first is kept.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _publish(made: Path, target: Path, name: str) -> None:
    """Whoever is first wins; the others have built the same."""
    try:
        os.rename(made, target)
    except OSError:
        if not (target / name).is_file():
            shutil.rmtree(target, ignore_errors=True)
            os.rename(made, target)
