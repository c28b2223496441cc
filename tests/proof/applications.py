"""Proof that applications print under `isthmus run --reproducible` what they print alone.

    python tests/proof/applications.py [--ranks N[,N]] [--alone RUNS] [lammps] [hpcc] [nwchem]

LAMMPS (with 17 digits), HPCC and NWChem of Debian, all with Open MPI. Each runs alone several times, then with
libisthmus. Words of its output, of those that were the same in all runs alone, have to be the same again; the others
are times, or differ by themselves: HPCC makes its numbers from the time of day, NWChem gives tasks to ranks as they
come. Exit status 1 if a word differs, or less than 95 % of the collectives were carried out by libisthmus. About ten
minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import INPUTS, ROOT, environment


def lammps(folder: Path, ranks: int) -> None:
    text = (ROOT / "examples/lammps.in").read_text()
    (folder / "in").write_text(re.sub(r"^thermo .*$", r"\g<0>\nthermo_modify format float %.17g", text, flags=re.M))


def hpcc(folder: Path, ranks: int) -> None:
    text = (INPUTS / "hpccinf.txt").read_text()
    (folder / "hpccinf.txt").write_text(re.sub(r"^\d+( +Qs)", rf"{ranks // 2}\1", text, flags=re.M))


def nwchem(folder: Path, ranks: int) -> None:
    shutil.copy(INPUTS / "nwchem.nw", folder)


@dataclass(frozen=True)
class Application:
    """A program with its input."""

    command: list[str]
    prepare: Callable[[Path, int], None]
    times: str  # lines that hold some, which may look alike by chance
    output: str | None = None  # a file; otherwise what it prints


APPLICATIONS = {
    "lammps": Application(["lmp", "-in", "in", "-var", "cells", "10", "-var", "steps", "100"], lammps, "CPU|[Tt]ime"),
    "hpcc": Application(
        ["hpcc"], hpcc, r"WALL|CPU|WR\d|[Tt]ime|seconds|clock|Computing|FFT:|Tuning|generation|/s|GUP", "hpccoutf.txt"
    ),
    "nwchem": Application(["nwchem.openmpi", "nwchem.nw"], nwchem, r"[Tt]ime|date|wall|D[-+]\d+ +\d+\.\d$"),
}


def run(what: Application, folder: Path, ranks: int, before: list[str]) -> tuple[list[list[str]], str]:
    """The words of each line of its output, and what the command before it said."""
    folder.mkdir()
    what.prepare(folder, ranks)
    command = [*before, "mpirun.openmpi", "--oversubscribe", "-n", str(ranks), *what.command]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    # With --json, what the program prints is on standard error.
    printed = (folder / what.output).read_text() if what.output else done.stderr if before else done.stdout
    others = rf"isthmus: |mpirun|\[0\] ARMCI|.*({what.times})"
    lines = [line for line in printed.splitlines() if not re.match(others, line)]
    return [line.split() for line in lines], done.stdout


def alike(a: str, b: str) -> bool:
    """The same word, or the same number: zeros have two signs."""
    try:
        return a == b or float(a) == float(b) == 0
    except ValueError:
        return False


def compared(alone: list[list[list[str]]], ours: list[list[str]]) -> tuple[int, int, list[str]]:
    """Words that are always the same alone, those that are not, and lines where ours has another one."""
    same = varying = 0
    wrong = []
    if len({*map(len, alone), len(ours)}) > 1:
        wrong.append(f"{len(ours)} lines, alone {sorted({*map(len, alone)})}")
    for mine, *others in zip(ours, *alone, strict=False):
        words = [set(column) for column in zip(*others, strict=False)]
        varying += sum(len(word) > 1 for word in words)
        same += sum(len(word) == 1 for word in words)
        shorter = len({*map(len, others)}) == 1 and len(mine) != len(words)
        if shorter or any(len(word) == 1 and not alike(own, *word) for word, own in zip(words, mine, strict=False)):
            wrong.append(f"{' '.join(mine)}\n  alone: {' '.join(others[0])}")
    return same, varying, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("applications", nargs="*", metavar="APPLICATION", default=list(APPLICATIONS))
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--alone", type=int, default=4)
    options = parser.parse_args()
    bad = False
    print("application  ranks   words  vary by themselves  differ    calls  by Isthmus", flush=True)
    for name in options.applications:
        what = APPLICATIONS[name]
        if shutil.which(what.command[0]) is None:
            print(f"{name:11}  is not installed")
            continue
        for ranks in map(int, options.ranks.split(",")):
            with tempfile.TemporaryDirectory() as scratch:
                alone = [run(what, Path(scratch) / str(i), ranks, [])[0] for i in range(options.alone)]
                before = [sys.executable, "-m", "isthmus", "run", "--reproducible", "--json", "--"]
                ours, end = run(what, Path(scratch) / "ours", ranks, before)
            taken: dict[str, Any] = json.loads(end)
            same, varying, wrong = compared(alone, ours)
            calls = sum(row["taken"] + sum(row["left"].values()) for row in taken["collectives"])
            print(
                f"{name:11}  {ranks:5}  {same:6}  {varying:18}  {len(wrong):6}  {calls:7}  {taken['share']:10.1%}",
                flush=True,
            )
            for line in wrong:
                print(f"  {line}")
            for row in taken["collectives"]:
                for why, count in row["left"].items():
                    print(f"  {row['collective']}: {count} calls by the MPI library, {why}")
            bad = bad or bool(wrong) or taken["share"] < 0.95
    sys.exit(bad)


if __name__ == "__main__":
    main()
