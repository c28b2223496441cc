"""Recordings of programs to place: the examples, inputs of LAMMPS and HPC Challenge, where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import isthmus

EXAMPLES = Path(__file__).parents[1] / "examples"
#: Examples with arguments that take little time.
ARGUMENTS = {
    "halo2d": "40 30", "halo3d": "12 10", "fft3d": "12 2", "cg": "16 200", "master_worker": "3000 100", "ring": "61 2",
    "heat": "40 30",
}  # fmt: skip
#: Debian's lammps-examples, and the inputs that are run: 2-D and 3-D, particle meshes, rigid bodies, minimisation.
LAMMPS = Path("/usr/share/lammps/examples")
INPUTS = (
    "body/in.body", "colloid/in.colloid", "crack/in.crack", "dipole/in.dipole", "flow/in.flow.couette",
    "friction/in.friction", "micelle/in.micelle", "min/in.min", "obstacle/in.obstacle", "peptide/in.peptide",
    "reaxff/in.reaxff.rdx", "rigid/in.rigid", "shear/in.shear", "srd/in.srd.pure", "tersoff/in.tersoff",
)  # fmt: skip
#: Time steps of each run of an input.
_STEPS = 20
#: HPC Challenge: size of the matrix of Linpack, small.
_ORDER = 200
_HPCC = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
#: Seconds for one recording.
_LIMIT = 240


def recordings(ranks: int, folder: Path) -> dict[str, isthmus.Program]:
    """Recordings on so many ranks; those that are in the folder already are taken from there.

    Empty where there is no MPI library.
    """
    mpirun = next((f"mpirun{end}" for end in (".openmpi", ".mpich", "") if shutil.which(f"mpirun{end}")), None)
    out = {}
    for name, command in commands(ranks, folder, mpirun) if mpirun is not None else ():
        path = folder / f"{name}-{ranks}.h5"
        if not path.exists():
            _record(command, path, mpirun, ranks)
        if path.exists():
            found = isthmus.read(path)
            assert isinstance(found, isthmus.Program)
            out[f"{name} recorded"] = found
    return out


def commands(ranks: int, folder: Path, mpirun: str) -> Iterator[tuple[str, list[str]]]:
    """Names and command lines of what is installed; files that they need are written to the folder."""
    end = Path(mpirun).name.removeprefix("mpirun")
    tools = [f"MPICC=mpicc{end}", f"MPIFC=mpifort{end}", f"OUT={folder}"]
    subprocess.run(["make", "-s", "-k", "-C", EXAMPLES, *tools], check=False, capture_output=True)
    for name, words in ARGUMENTS.items():
        if (folder / name).exists():
            yield name, [str(folder / name), *words.split()]
    if shutil.which("lmp"):
        yield "lammps", ["lmp", "-in", str(EXAMPLES / "lammps.in"), "-log", "none"]
        for file in INPUTS:
            if (LAMMPS / file).exists():
                yield f"lammps {Path(file).parent.name}", ["lmp", "-in", str(_shortened(file, folder)), "-log", "none"]
    # It needs four ranks, and looks for its input in the folder in which it runs.
    if shutil.which("hpcc") and _HPCC.exists() and ranks >= 4:
        (folder / "hpccinf.txt").write_text(_linpack(_HPCC.read_text(), ranks))
        yield "hpcc", ["hpcc"]


def _shortened(file: str, folder: Path) -> Path:
    """An input of LAMMPS with few steps a run, beside a copy of its data."""
    there = folder / Path(file).parent.name
    if not there.exists():
        shutil.copytree((LAMMPS / file).parent, there, ignore=shutil.ignore_patterns("log.*", "*.gz", "*.mpg"))
    at = there / Path(file).name
    text = (LAMMPS / file).read_text()
    text = re.sub(r"^(\s*run\s+)\d+", rf"\g<1>{_STEPS}", text, flags=re.MULTILINE)
    text = re.sub(r"^(\s*minimize\s+\S+\s+\S+\s+)\d+\s+\d+", rf"\g<1>{_STEPS} {_STEPS}", text, flags=re.MULTILINE)
    at.write_text(text)
    return at


def _linpack(text: str, ranks: int) -> str:
    """The input of HPC Challenge with a small matrix on a grid of the ranks."""
    rows = next(d for d in range(int(ranks**0.5 + 1e-9), 0, -1) if ranks % d == 0)
    lines = text.splitlines()
    for number, value in ((6, _ORDER), (11, rows), (12, ranks // rows)):
        lines[number - 1] = re.sub(r"^\S+", str(value), lines[number - 1])
    return "\n".join(lines) + "\n"


def _record(command: list[str], path: Path, mpirun: str, ranks: int) -> None:
    """Records a run to the path; nothing is there if it failed or took too long."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    many = [] if mpirun.endswith(".mpich") else ["--oversubscribe"]
    record = ["isthmus", "record", "-o", str(path), "--", mpirun, *many, "-n", str(ranks), *command]
    # Inputs of LAMMPS name their data by paths from where they are.
    script = Path(command[2]) if command[0] == "lmp" else path
    where = script.parent if script.is_relative_to(path.parent) else path.parent
    try:
        done = subprocess.run(record, env=environment, cwd=where, capture_output=True, timeout=_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        path.unlink(missing_ok=True)
        return
    if done.returncode != 0:
        path.unlink(missing_ok=True)
