"""What is proved on: every example, and applications from Debian in C, C++, Fortran and Python."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "tests/proof/inputs"
#: mpi4py of Debian is built for this Python.
PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Case:
    """One program with its arguments.

    Attributes
    ----------
    language : str
        What it is written in.
    command : tuple of str
        ``{examples}`` (where they were built), ``{inputs}`` and ``{root}`` stand for folders.
    package : str
        Of Debian; empty for an example.
    files : tuple of str
        Inputs that it wants to find in its working directory.
    modules : tuple of str
        Python modules that it imports.
    """

    name: str
    language: str
    command: tuple[str, ...]
    package: str = ""
    ranks: int = 4
    files: tuple[str, ...] = ()
    modules: tuple[str, ...] = field(default=())

    def words(self, examples: Path) -> list[str]:
        """The command with its folders."""
        return [word.format(examples=examples, inputs=INPUTS, root=ROOT) for word in self.command]

    def missing(self, examples: Path) -> str | None:
        """What would have to be installed or built first, or None."""
        program = self.words(examples)[0]
        if shutil.which(program) is None:
            return f"the Debian package {self.package}" if self.package else f"{program}, which was not built"
        packages = Path("/usr/lib/python3/dist-packages")
        missing = [module for module in self.modules if not (packages / module).exists()]
        return f"the Debian package {self.package}" if missing else None


def _example(name: str, language: str, *arguments: int, ranks: int = 4) -> Case:
    return Case(name, language, (f"{{examples}}/{name}", *map(str, arguments)), ranks=ranks)


EXAMPLES = (
    _example("halo2d", "C", 96, 60),
    _example("halo3d", "C", 24, 30, ranks=8),
    _example("fft3d", "C", 24, 3),
    _example("cg", "C", 48, 400),
    _example("master_worker", "C", 60000, 1000, ranks=5),
    _example("ring", "C", 301, 3, ranks=3),
    _example("heat", "Fortran 2008", 96, 60),
    Case("pi", "Python", (PYTHON, "{examples}/pi.py", "20000", "3"), ranks=3, modules=("mpi4py",)),
)
APPLICATIONS = (
    Case("LAMMPS, Lennard-Jones melt", "C++", ("lmp", "-in", "{root}/examples/lammps.in"), "lammps"),
    Case("HPCC", "C", ("hpcc",), "hpcc", files=("hpccinf.txt",)),
    Case("NetPIPE", "C", ("NPopenmpi", "-u", "300000", "-n", "5"), "netpipe-openmpi", ranks=2),
    Case("Quantum ESPRESSO, silicon", "Fortran", ("pw.x", "-in", "{inputs}/quantum-espresso.in"), "quantum-espresso"),
    Case("NWChem, water", "Fortran, C", ("nwchem.openmpi", "{inputs}/nwchem.nw"), "nwchem-openmpi"),
    Case("mpi4py-fft", "Python", (PYTHON, "{inputs}/transform.py"), "python3-mpi4py-fft", modules=("mpi4py_fft",)),
)


def environment() -> dict[str, str]:
    """Variables for programs that are started here: one thread a rank, and Open MPI as root in a container."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
