"""How the benchmarks of this folder run MPI programs on this host, and have it measured."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BIND = {"openmpi": ["--bind-to", "core"], "mpich": ["-bind-to", "core"]}


@functools.cache
def undisturbed() -> tuple[str, ...]:
    """What runs the command after it under the kernel's real-time scheduler, where that is permitted.

    Ranks that wait keep their cores busy; other work would take half of the time of each, in slices as long as
    messages. The kernel's guard gives 50 ms of every second that ranks fill to others: runs above 0.9 s are disturbed.
    """
    words = ("chrt", "--rr", "1")
    if shutil.which("chrt") and subprocess.run([*words, "true"], capture_output=True).returncode == 0:
        return words
    return ()


def environment() -> dict[str, str]:
    """Variables for MPI programs: Open MPI may be run by root, in a container."""
    allowed = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
    return {**os.environ, **{f"{name}{end}": "1" for name in allowed for end in ("", "_CONFIRM")}}


def mpirun(mpi: str, ranks: int, *command: str | Path) -> str:
    """Output of a command on this many ranks, each bound to a core of its own."""
    words = [f"mpirun.{mpi}", "-n", str(ranks), *BIND[mpi], *map(str, command)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def measure(
    path: Path, launch: Sequence[str | Path], *more: str, inside: Sequence[str] = (), only: str = "loggp"
) -> Any:
    """The machine file that `isthmus measure` writes with this launcher, loaded; it is asked on the host ``inside``."""
    import isthmus

    words = [*inside, sys.executable, "-m", "isthmus", "measure", "-o", str(path), "--force", "--only", only]
    words += ["--launch", " ".join(map(str, launch)), *more]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return isthmus.load(path)
