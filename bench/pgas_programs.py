"""The programs of examples/pgas/ that have a version with MPI beside that: see pgas.py."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from host import HERE, mpirun

import isthmus

EXAMPLES = HERE.parent / "examples/pgas"
#: Words of the command line.
SIZES = {
    "gups": ["18", "200000"],
    "spmv": ["200000", "20"],
    "stencil": ["1000", "50"],
    "synch_p2p": ["1000", "1000", "20"],
    "transpose": ["1000"],
}
RANKS = 2


def build(name: str, mpi: str, folder: Path) -> tuple[Path, Path, Path]:
    """The program of one node, that over MPI, and the version with MPI alone."""
    library = Path(isthmus.__file__).parent / "libisthmus"
    link = [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"]
    programs = folder / name, folder / f"{name}_over", folder / f"{name}_mpi"
    cpp, usual = EXAMPLES / f"{name}.cpp", ["-O3", "-march=native"]
    subprocess.run(["c++", "-std=c++20", *usual, "-o", programs[0], cpp, *link], check=True)
    over = [f"mpicxx.{mpi}", "-std=c++20", "-w", "-DWITH_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    subprocess.run([*over, *usual, "-o", programs[1], cpp, *link], check=True)
    alone = [f"mpicc.{mpi}", "-std=gnu11", "-w", *usual, "-o", programs[2], EXAMPLES / f"{name}_mpi.c", "-lm"]
    subprocess.run(alone, check=True)
    return programs


def compared(mpi: str, rounds: int) -> None:
    """Prints the least seconds of each program on shared memory, over messages of MPI, and with MPI alone."""
    print(f"{'':12}{'':18}{'shared':>12}{'over MPI':>12}{'MPI':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in SIZES.items():
            shared, over, alone = build(name, mpi, Path(folder))
            job = [sys.executable, "-m", "isthmus", "run", "-n", str(RANKS), "--", shared, *words]
            least = [float("inf")] * 3
            for _ in range(rounds):
                texts = [
                    subprocess.run(job, capture_output=True, text=True, check=True).stdout,
                    mpirun(mpi, RANKS, "env", "ISTHMUS_TRANSPORT=mpi", over, *words),
                    mpirun(mpi, RANKS, alone, *words),
                ]
                if len({re.search(r"bits (\w+)", text)[1] for text in texts}) != 1:  # type: ignore[index]
                    raise SystemExit(f"{name}: the results differ: {texts}")
                took = [float(re.search(r"([0-9.]+) s\b", text)[1]) for text in texts]  # type: ignore[index]
                least = [min(pair) for pair in zip(least, took, strict=True)]
            print(
                f"{name:12}{' '.join(words):18}" + "".join(f"{s:12.6f}" for s in least) + f"{least[0] / least[2]:8.2f}"
            )
