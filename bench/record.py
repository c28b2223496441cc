"""What the recorder costs: per call, at Init and Finalize, in memory, and of the examples' time.

    python bench/record.py [--mpi openmpi|mpich] [--repeat N] [--json FILE]

Every program is run N times with the recorder and N times without, in turn. Figures are medians; that of a difference
is the median of the N differences between neighbours, with the quartiles beside it, which show how much of it is noise.
Calls are timed by bench/record.c, on one rank (where nothing hides the recorder's time) and on two; the examples say
themselves how long they took, on two ranks. Asked: less than 0.3 us per call, less than 3 % of the examples' time.
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


def recorded(mpi: str, ranks: int, folder: Path, *command: str | Path) -> str:
    """As mpirun(), under the recorder; its output is left in the folder."""
    launch = [f"mpirun.{mpi}", "-n", str(ranks), *BIND[mpi], *map(str, command)]
    words = [sys.executable, "-m", "isthmus", "record", "-o", str(folder / "x.h5"), "--", *launch]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True)
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


def examples(mpi: str, repeat: int, folder: Path, figures: dict[str, Any]) -> None:
    """What the recorder costs programs that compute."""
    tools = [f"MPICC=mpicc.{mpi}", f"MPIFC=mpifort.{mpi}", f"OUT={folder}"]
    subprocess.run(["make", "-s", "-C", HERE.parent / "examples", *tools], check=True)
    print("example          without       with  overhead [quartiles]   calls a second and rank")
    for name, arguments in EXAMPLES.items():
        command = [folder / name, *arguments.split()]
        without: list[float] = []
        with_it: list[float] = []
        for _ in range(repeat):
            without.append(seconds_of(mpirun(mpi, 2, *command)))
            with_it.append(seconds_of(recorded(mpi, 2, folder, *command)))
        base = statistics.median(without)
        low, middle, high = (100 * x / base for x in differences(without, with_it))
        rate = calls_of(folder / "x.h5") / 2 / base
        figures[name] = {"without": base, "with": statistics.median(with_it), "overhead_percent": middle, "rate": rate}
        print(
            f"{name:14} {base * 1e3:7.1f} ms {statistics.median(with_it) * 1e3:7.1f} ms {middle:+7.2f} % "
            f"[{low:+.2f}, {high:+.2f}] {rate:12,.0f}"
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
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        print(f"{options.mpi}, medians of {options.repeat} runs with and without the recorder, in turn")
        calls(options.mpi, options.repeat, folder, figures)
        examples(options.mpi, options.repeat, folder, figures)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
