"""Compilation of the recorder, once per MPI library."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import InvalidInput
from .mpi import Mpi

LIBRARY = "libisthmus-record.so"
_FLAGS = (
    *("-std=c11", "-D_GNU_SOURCE", "-fPIC", "-fexceptions", "-fvisibility=hidden", "-ftls-model=initial-exec"),
    *("-Wall", "-Wextra"),
)
# The wrappers are long and simple; the frames of their callers are found from theirs.
_WRAPPERS = ("-O1", "-fno-omit-frame-pointer", "-Wno-deprecated-declarations")


def sources() -> Path:
    """Return the folder of the recorder's sources: beside the installed package, else in the source tree.

    Raises
    ------
    InvalidInput
        If they are in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "recorder", package.parents[1] / "recorder"):
        if (folder / "trace.h").is_file():
            return folder
    raise InvalidInput(f"the sources of the recorder are neither in {package} nor beside it: install Isthmus again")


def cache() -> Path:
    """Return the folder of compiled recorders: ``$XDG_CACHE_HOME/isthmus`` or ``~/.cache/isthmus``."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "isthmus"


def build(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the recorder for an MPI, and compile it first if necessary.

    Parameters
    ----------
    mpi : Mpi
        As :func:`isthmus.recording.mpi.find` finds it.
    say : callable, optional
        Told that something is compiled, which takes half a minute.

    Returns
    -------
    Path
        Path of the shared library, which changes with the sources, the header and the compiler.

    Raises
    ------
    InvalidInput
        If it does not compile.
    """
    folder, header, target = _place(mpi)
    if not (target / LIBRARY).is_file():
        if say:
            say(f"building the recorder for {mpi} (once)")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as work:
            _compile(folder, Path(work), header, mpi)
            _publish(Path(work) / "done", target)
    return target / LIBRARY


def built(mpi: Mpi) -> bool:
    """Return whether the recorder for an MPI is already compiled."""
    return (_place(mpi)[2] / LIBRARY).is_file()


def _place(mpi: Mpi) -> tuple[Path, str, Path]:
    """The sources, the preprocessed header of the MPI, and the folder of the recorder that is made of both."""
    folder = sources()
    header = _run([mpi.mpicc, "-E", "-P", "-include", "mpi.h", "-x", "c", os.devnull], mpi)
    digest = hashlib.sha256(header.encode())
    for path in sorted(folder.iterdir()):
        if path.suffix in (".c", ".h", ".py"):
            digest.update(path.read_bytes())
    digest.update(repr((_FLAGS, _WRAPPERS, mpi.mpicc, mpi.library, _run([mpi.mpicc, "--version"], mpi))).encode())
    return folder, header, cache() / f"recorder-{digest.hexdigest()[:16]}"


def _compile(folder: Path, work: Path, header: str, mpi: Mpi) -> None:
    wrappers = work / "wrappers.c"
    generator = [sys.executable, "-B", str(folder / "generate.py")]
    done = subprocess.run(generator, input=header, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InvalidInput(f"the mpi.h of {mpi} is not understood: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    wrappers.write_text(done.stdout, encoding="utf-8")
    objects = []
    for source in [*sorted(folder.glob("*.c")), wrappers]:
        objects.append(str(work / f"{source.stem}.o"))
        extra = _WRAPPERS if source == wrappers else ("-O2",)
        _run([mpi.mpicc, *_FLAGS, *extra, f"-I{folder}", "-c", str(source), "-o", objects[-1]], mpi)
    (work / "done").mkdir()
    # The program may find its MPI by a path of its own, which the recorder does not have.
    path = f"-Wl,-rpath,{os.path.dirname(mpi.library)}"
    _run([mpi.mpicc, "-shared", *objects, path, "-ldl", "-lm", "-lpthread", "-o", str(work / "done" / LIBRARY)], mpi)


def _publish(made: Path, target: Path) -> None:
    """Whoever is first wins; the others have built the same."""
    try:
        os.rename(made, target)
    except OSError:
        if not (target / LIBRARY).is_file():
            shutil.rmtree(target, ignore_errors=True)
            os.rename(made, target)


def _run(words: list[str], mpi: Mpi) -> str:
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        lines = (
            [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
        )
        raise InvalidInput(f"{mpi.mpicc} could not compile the recorder: {lines[0].strip()}")
    return done.stdout
