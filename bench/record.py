"""What the recorder costs: per call, at Init and Finalize, in memory, and of the examples' time.

    python bench/record.py [--mpi openmpi|mpich] [--repeat N] [--only calls|paths|counters|examples] [--json FILE]

Every program is run N times with the recorder and N times without, in turn. Figures are medians; that of a difference
is the median of the N differences between neighbours, with the quartiles beside it, which show how much of it is noise.
Calls are timed by bench/record.c, on one rank (where nothing hides the recorder's time) and on two; the examples say
themselves how long they took, on two ranks. Asked: less than 0.3 us per call, less than 3 % of the examples' time.

Call paths: what they add to a call at depths of 5, 15 and 40 frames, in C and C++ (-O2 -fomit-frame-pointer), Fortran
and Python (where the python3 of --python has mpi4py), and to the time of the examples. Asked: at most 0.3 us per call,
less than 3 % of the time.

Counters of the processor: what they add to a call, and to the time of the examples. Without --counters those are
instructions and cycles; where the kernel allows none (virtual machines), software events such as page-faults,task-clock
measure the way that asks the kernel. Asked: less than 3 % of the time.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from host import BIND, HERE, environment, mpirun

EXAMPLES = {
    "halo2d": "1024 150",
    "halo3d": "96 60",
    "fft3d": "64 6",
    "cg": "300 2000",
    "master_worker": "700000 5000",
    "ring": "4000 3",
    "heat": "1024 100",
}


def recorded(
    mpi: str, ranks: int, folder: Path, *command: str | Path, paths: bool = True, counters: str = "instructions,cycles"
) -> str:
    """As mpirun(), under the recorder; its output is left in the folder."""
    launch = [f"mpirun.{mpi}", "-n", str(ranks), *BIND[mpi], *map(str, command)]
    words = [sys.executable, "-m", "isthmus", "record", "--force", "-o", str(folder / "x.h5")]
    words += ["--counters", counters, "--", *launch]
    settings = environment() | {"ISTHMUS_PATHS": str(int(paths))}
    done = subprocess.run(words, cwd=folder, env=settings, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def differences(without: list[float], with_it: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of the differences between neighbours."""
    found = sorted(b - a for a, b in zip(without, with_it, strict=True))
    low, middle, high = statistics.quantiles(found, n=4)
    return low, middle, high


def calls(mpi: str, repeat: int, folder: Path, figures: dict[str, Any]) -> None:
    """Per-call figures, Init, Finalize and memory."""
    program = folder / "record"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-w", "-o", program, HERE / "record.c"], check=True)
    for ranks in (1, 2):
        runs: list[list[dict[str, tuple[int, float]]]] = [[], []]
        for _ in range(repeat):
            for i, text in enumerate((mpirun(mpi, ranks, program), recorded(mpi, ranks, folder, program))):
                lines = [line.split() for line in text.splitlines()]
                runs[i].append({name: (int(n), float(value)) for name, n, value in lines})
        print(f"{ranks} rank{'s' * (ranks > 1)}: {'':16} without       with  per call [quartiles]")
        for name, (n, _) in runs[0][0].items():
            without, with_it = ([run[name][1] for run in some] for some in runs)
            low, middle, high = differences(without, with_it)
            figures[f"{name}, {ranks} ranks"] = {
                "without": statistics.median(without),
                "with": statistics.median(with_it),
                "per_call": middle / n,
            }
            scale, unit = {"memory": (1e-6, "MB"), "init": (1e3, "ms"), "finalize": (1e3, "ms")}.get(name, (1e9, "ns"))
            a, b = statistics.median(without) * scale, statistics.median(with_it) * scale
            low, middle, high = (x / n * scale for x in (low, middle, high))
            print(f"  {name:22} {a:9.1f} {unit} {b:9.1f} {unit} {middle:+8.1f} {unit} [{low:+.1f}, {high:+.1f}]")


def path_programs(mpi: str, folder: Path, python: str) -> dict[str, list[str | Path]]:
    """Commands that time calls at several depths, by language; of what is installed."""
    flags = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-w"]
    compilers = {"C": ["mpicc"], "C++": ["mpicxx", "-x", "c++"], "Fortran": ["mpifort"]}
    found: dict[str, list[str | Path]] = {}
    for language, (compiler, *options) in compilers.items():
        source = HERE / ("paths.f90" if language == "Fortran" else "paths.c")
        program = folder / f"paths-{language}"
        words = [f"{compiler}.{mpi}", *flags, *options, str(source), "-o", str(program)]
        # Modules of Fortran are written to where the compiler runs.
        done = subprocess.run(words, cwd=folder, capture_output=True)
        if done.returncode == 0:
            found[language] = [program]
    if mpi == "openmpi" and subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode == 0:
        found["Python"] = [python, HERE / "paths_of_python.py"]
    return found


def paths(mpi: str, repeat: int, folder: Path, python: str, figures: dict[str, Any]) -> None:
    """What call paths add to a call of MPI_Allreduce on one rank."""
    print("call paths: frames, without, with, more [quartiles]")
    for language, command in path_programs(mpi, folder, python).items():
        runs: dict[bool, list[dict[str, float]]] = {False: [], True: []}
        for _ in range(repeat):
            for on, mine in runs.items():
                text = recorded(mpi, 1, folder, *command, paths=on)
                mine.append({line.split()[0]: float(line.split()[2]) for line in text.splitlines()})
        for depth in runs[True][0]:
            without, with_it = ([run[depth] * 1e9 for run in runs[on]] for on in (False, True))
            low, middle, high = differences(without, with_it)
            figures[f"path, {language}, {depth} frames"] = {"without": statistics.median(without), "more": middle}
            medians = f"{statistics.median(without):6.0f} ns {statistics.median(with_it):6.0f} ns"
            print(f"  {language:8} {depth:>3} {medians} {middle:+6.0f} ns [{low:+.0f}, {high:+.0f}]")


def counters(mpi: str, repeat: int, folder: Path, names: str, figures: dict[str, Any]) -> None:
    """What counters add to a call on one rank, and to the time of examples."""
    program = folder / "record"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-w", "-o", program, HERE / "record.c"], check=True)
    runs: dict[str, list[dict[str, tuple[int, float]]]] = {"off": [], names: []}
    for _ in range(repeat):
        for on, mine in runs.items():
            lines = [line.split() for line in recorded(mpi, 1, folder, program, counters=on).splitlines()]
            mine.append({name: (int(n), float(value)) for name, n, value in lines})
    print(f"counters {names}: {reading(folder / 'x.h5')}")
    print(f"  {'call':22} without, with, more [quartiles]")
    for name, (n, _) in runs["off"][0].items():
        if name in ("memory", "init", "finalize"):
            continue
        without, with_it = ([run[name][1] * 1e9 for run in runs[on]] for on in ("off", names))
        low, middle, high = (x / n for x in differences(without, with_it))
        figures[f"counters, {name}"] = {"without": statistics.median(without), "more": middle}
        medians = f"{statistics.median(without):6.0f} ns {statistics.median(with_it):6.0f} ns"
        print(f"  {name:22} {medians} {middle:+6.1f} ns [{low:+.1f}, {high:+.1f}]")
    tools = [f"MPICC=mpicc.{mpi}", f"MPIFC=mpifort.{mpi}", f"OUT={folder}"]
    subprocess.run(["make", "-s", "-C", HERE.parent / "examples", *tools], check=True)
    for name, arguments in EXAMPLES.items():
        taken: dict[str, list[float]] = {"off": [], names: []}
        for _ in range(repeat):
            for on, mine in taken.items():
                mine.append(seconds_of(recorded(mpi, 2, folder, folder / name, *arguments.split(), counters=on)))
        low, middle, high = (100 * x / statistics.median(taken["off"]) for x in differences(*taken.values()))
        figures[f"counters, {name}"] = {"percent": middle}
        print(f"  {name:22} {middle:+6.2f} % [{low:+.2f}, {high:+.2f}] of the time; {reading(folder / 'x.h5')}")


def reading(path: Path) -> str:
    """What was counted in a recording."""
    import isthmus

    program = isthmus.read(path)
    recording = program.recording
    if recording.counters is None:
        return "; ".join(recording.uncounted) or "nothing was counted"
    tree = isthmus.profile(program).tree
    share = 100 * tree.counted[0] / tree.computing[0] if tree.computing[0] else 0
    return f"{int(recording.counters.intervals.sum()):,} computations counted, {share:.1f} % of the time of all"


def examples(mpi: str, repeat: int, folder: Path, figures: dict[str, Any]) -> None:
    """What the recorder costs programs that compute."""
    tools = [f"MPICC=mpicc.{mpi}", f"MPIFC=mpifort.{mpi}", f"OUT={folder}"]
    subprocess.run(["make", "-s", "-C", HERE.parent / "examples", *tools], check=True)
    print("example          without       with  overhead [quartiles]   of paths [quartiles]   calls a second and rank")
    for name, arguments in EXAMPLES.items():
        command = [folder / name, *arguments.split()]
        without: list[float] = []
        with_it: list[float] = []
        places: list[float] = []
        for _ in range(repeat):
            without.append(seconds_of(mpirun(mpi, 2, *command)))
            places.append(seconds_of(recorded(mpi, 2, folder, *command, paths=False)))
            with_it.append(seconds_of(recorded(mpi, 2, folder, *command)))
        base = statistics.median(without)
        low, middle, high = (100 * x / base for x in differences(without, with_it))
        rate = calls_of(folder / "x.h5") / 2 / base
        least, path, most = (100 * x / base for x in differences(places, with_it))
        figures[name] = {"without": base, "with": statistics.median(with_it), "overhead_percent": middle, "rate": rate}
        figures[name] |= {"paths_percent": path}
        print(
            f"{name:14} {base * 1e3:7.1f} ms {statistics.median(with_it) * 1e3:7.1f} ms {middle:+7.2f} % "
            f"[{low:+.2f}, {high:+.2f}] {path:+7.2f} % [{least:+.2f}, {most:+.2f}] {rate:12,.0f}"
        )


def seconds_of(text: str) -> float:
    """The time that an example says it took."""
    match = re.search(r"^correct: .*, ([0-9.]+) s$", text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"an example said {text!r}")
    return float(match[1])


def calls_of(path: Path) -> int:
    """Calls in a recording, counted ones too."""
    import isthmus

    recording = isthmus.read(path).recording
    return int(recording.count.sum()) + sum(int(n.sum()) for n in recording.untimed.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--only", choices=["calls", "paths", "counters", "examples"], help="one part; by default all")
    parser.add_argument("--python", default="/usr/bin/python3", help="with mpi4py for Open MPI")
    parser.add_argument("--counters", default="instructions,cycles", help="names of counters to measure")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        print(f"{options.mpi}, medians of {options.repeat} runs with and without the recorder, in turn")
        if options.only in (None, "calls"):
            calls(options.mpi, options.repeat, folder, figures)
        if options.only in (None, "paths"):
            paths(options.mpi, options.repeat, folder, options.python, figures)
        if options.only in (None, "counters"):
            counters(options.mpi, options.repeat, folder, options.counters, figures)
        if options.only in (None, "examples"):
            examples(options.mpi, options.repeat, folder, figures)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
