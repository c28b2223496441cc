"""Proof that the recorder sees what is sent: its matrices beside those of Open MPI's monitoring component.

    python tests/proof/matrices.py [NAME ...] [--keep DIR]

Runs every program of cases.py once, under the recorder and the monitoring component at the same time, and compares
bytes and messages between every pair of ranks: what Open MPI saw, what the raw traces say, and what the Program says
that was made of them. One-sided operations are compared too where a program has some. The exit status is 1 if anything
differs; programs that are not installed are named and left out. Needs Open MPI, and Isthmus for the same Python.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import monitoring
import recorded
from cases import APPLICATIONS, EXAMPLES, INPUTS, ROOT, Case, environment

MPIRUN = "mpirun.openmpi"


@dataclass(frozen=True)
class Result:
    """What was compared; ``differences`` is empty where everything is equal."""

    messages: int
    bytes: int
    one_sided: int
    alltoallw: int
    persistent: int
    differences: tuple[str, ...]


def build_examples(folder: Path) -> Path:
    """Compile the examples with Open MPI."""
    subprocess.run(
        ["make", "-s", "-C", ROOT / "examples", "MPICC=mpicc.openmpi", "MPIFC=mpifort.openmpi", f"OUT={folder}"],
        check=True,
    )
    (folder / "pi.py").write_bytes((ROOT / "examples/pi.py").read_bytes())
    return folder


def prove(case: Case, examples: Path, folder: Path) -> Result:
    """Run one program and compare.

    Raises
    ------
    RuntimeError
        If the program failed, with its last words.
    """
    import isthmus

    folder.mkdir(parents=True)
    for name in case.files:
        (folder / name).write_bytes((INPUTS / name).read_bytes())
    prefix = folder / "monitoring"
    command = [
        sys.executable,
        "-m",
        "isthmus",
        "record",
        "--force",
        "-o",
        "app.h5",
        "--directory",
        "raw",
        "--keep-raw",
        "--",
    ]
    command += [MPIRUN, "--oversubscribe", "-n", str(case.ranks), *monitoring.parameters(prefix), *case.words(examples)]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{case.name} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return compare(
        monitoring.read(prefix, case.ranks),
        recorded.of_raw(folder / "raw", case.ranks),
        recorded.of_program(isthmus.read(folder / "app.h5")),
    )


def compare(witness: recorded.Matrices, raw: recorded.Matrices, program: recorded.Matrices) -> Result:
    """Open MPI's matrices, those of the raw traces, those of the Program."""
    application = witness["E"] - raw["w"] + raw["p"]
    differences = [
        *_differences("messages", application, raw["E"], "the raw traces"),
        *_differences("messages", application, program["E"], "the Program"),
        *_differences("one-sided writes", witness["S"], raw["S"], "the raw traces"),
        *_differences("one-sided reads", witness["R"], raw["R"], "the raw traces"),
    ]
    return Result(
        messages=int(application[1].sum()),
        bytes=int(application[0].sum()),
        one_sided=int(witness["S"][1].sum() + witness["R"][1].sum()),
        alltoallw=int(raw["w"][1].sum()),
        persistent=int(raw["p"][1].sum()),
        differences=tuple(differences),
    )


def _differences(what: str, witness: recorded.Matrix, ours: recorded.Matrix, name: str) -> list[str]:
    """The first pairs that differ, in words."""
    found = []
    for source, target in np.argwhere((witness != ours).any(axis=0))[:3]:
        a, b = witness[:, source, target], ours[:, source, target]
        found.append(
            f"{what} from {source} to {target}: Open MPI saw {a[1]} of {a[0]} bytes, {name} {b[1]} of {b[0]} bytes"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs whose names begin so; default all")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep recordings and outputs here")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        base = options.keep.resolve() if options.keep else Path(scratch)
        examples = build_examples(base / "examples")
        print(f"{'program':28} {'language':13} {'ranks':>5} {'messages':>9} {'bytes':>14} {'one-sided':>9}")
        for case in (*EXAMPLES, *APPLICATIONS):
            if options.names and not case.name.lower().startswith(tuple(name.lower() for name in options.names)):
                continue
            line = f"{case.name:28} {case.language:13} {case.ranks:5}"
            if (missing := case.missing(examples)) is not None:
                print(f"{line} left out: needs {missing}")
                continue
            try:
                result = prove(case, examples, base / case.name.split(",")[0].replace(" ", "-"))
            except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{line} FAILED\n{error}")
                continue
            failed += bool(result.differences)
            verdict = "DIFFERENT" if result.differences else "equal"
            if result.alltoallw:
                verdict += f"; {result.alltoallw} of alltoallw taken off"
            if result.persistent:
                verdict += f"; {result.persistent} by persistent requests, which Open MPI does not count"
            print(f"{line} {result.messages:9,} {result.bytes:14,} {result.one_sided:9,} {verdict}", flush=True)
            for difference in result.differences:
                print(f"  {difference}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
