"""Collectives where ranks share processors: libisthmus beside MPI libraries, by its own interface and under MPI.

    python bench/turns.py [--ranks 2,4,8,16] [--mpi openmpi,mpich] [--rounds N] [--milliseconds N]
                          [--processors LIST] [--busy N] [--library FOLDER] [--json FILE]

Everyone is started in turn, so many rounds. Printed are the least times in microseconds, and ours over the best peer.
--processors: only these are used (as of taskset). --busy: other processes that compute beside the ranks. --library:
another built libisthmus, such as that of the version before, takes part as `before` by its own interface.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from contest import UNDER, libraries, short
from host import HERE, environment

import isthmus
from isthmus.mpi.command import take_apart
from isthmus.mpi.detection import Mpi
from isthmus.mpi.launch import loadable, with_variables
from isthmus.running.program import interposed

Times = dict[tuple[str, int], dict[str, list[float]]]


def launcher(mpi: Mpi, ranks: int) -> list[str]:
    """As a user starts them: Open MPI gives processors up by itself when it is told that they are too few."""
    at, name = os.path.split(mpi.mpicc)
    more = ["--bind-to", "none", "--oversubscribe"] if mpi.family == "Open MPI" else ["-bind-to", "none"]
    return [os.path.join(at, name.replace("mpicc", "mpirun")), *more, "-n", str(ranks)]


def build(mpi: Mpi, library: Path, program: Path) -> None:
    words = [mpi.mpicc, "-std=gnu11", "-O2", "-w", "-o", program, HERE / "turns.c", f"-I{library}/include"]
    words += [f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"]
    subprocess.run(words, check=True)


def run(words: list[str], env: dict[str, str], processors: str) -> list[list[str]]:
    done = subprocess.run(
        [*(["taskset", "-c", processors] if processors else []), *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return [line.split() for line in done.stdout.splitlines()]


def measure(ranks: int, options: argparse.Namespace, folder: Path) -> Times:
    mpis = libraries(options.mpi)
    library = Path(isthmus.__file__).parent / "libisthmus"
    people = []
    for number, mpi in enumerate(mpis):
        program = folder / f"turns.{number}"
        build(mpi, library, program)
        people.append((short(mpi), mpi, program, "mpi", False))
        if number == 0:
            people += [("isthmus", mpi, program, "isthmus", False), (UNDER, mpi, program, "mpi", True)]
    if options.library:
        build(mpis[0], options.library, folder / "before")
        people.append(("before", mpis[0], folder / "before", "isthmus", False))
    found: Times = {}
    for turn in range(options.rounds):
        for name, mpi, program, who, under in people:
            words, env = [*launcher(mpi, ranks), str(program), who, str(options.milliseconds)], environment()
            if under:
                counts = folder / f"counts.{ranks}.{turn}"
                counts.mkdir()
                settings = {"ISTHMUS_COUNTS": str(counts), "ISTHMUS_COMPARES": "0"}
                words, more = with_variables(take_apart(words), settings, loadable(interposed(mpi), folder))
                env |= {key: value for key, value in more.items() if key not in env}
            for what, size, time in run(words, env, options.processors):
                found.setdefault((what, int(size)), {}).setdefault(name, []).append(float(time))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="2,4,8,16")
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=int, default=60)
    parser.add_argument("--processors", default="")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    rows = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for ranks in map(int, options.ranks.split(",")):
                found = measure(ranks, options, Path(folder))
                for (what, size), all_times in found.items():
                    times = {name: min(of) for name, of in all_times.items()}
                    ours = ("isthmus", UNDER, "before")
                    best = min(time for name, time in times.items() if name not in ours)
                    cells = " ".join(f"{name} {time:.2f}" for name, time in times.items())
                    ratios = " ".join(f"{times[name] / best:.2f}" for name in ours if name in times)
                    print(f"{ranks:3} {what:10} {size:6}  {cells}  over the best peer: {ratios}", flush=True)
                    rows.append({"ranks": ranks, "collective": what, "bytes": size, **times})
    finally:
        for process in busy:
            process.kill()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
