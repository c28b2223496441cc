"""The programs of examples/overlap in all their ways: what is hidden, and whether the model says so. Needs Open MPI.

    python bench/overlap_programs.py [--hosts N --rate 200mbit --burst 8k] [--programs NAME,...] [--runs N]
        [--ways WAYS] [--json FILE]

Two ranks on this host, or one rank on each of N emulated hosts (as root, those of tests/py/emulated_hosts.py). All ways
of a program take turns within one process. Ranks run under the kernel's real-time scheduler where that is permitted.

Printed for every way: median seconds, and the quartiles of the runs; how much of blocking communication (what the
blocking program takes longer than the one without exchanges) is hidden; and how much of what can be: no way is faster
than the computation, nor than the communication, of the blocking program, whichever takes longer. Where a way chose its
tiling, the seconds of a loop with it are beside those of the model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host import BIND, HERE, environment, undisturbed

sys.path.insert(0, str(HERE.parent / "tests" / "py"))
import emulated_hosts

#: Sizes with computation and communication of the same order, on shared memory and over networks.
SHOWN = {
    "fft3d": ("--points=128", "--points=64"),
    "fft3d --pencils": ("--points=128 --pencils=1", "--points=64 --pencils=1"),
    "compress": ("--blocks=64 --kilobytes=64", "--blocks=64 --kilobytes=64"),
    "poisson": ("--points=64", "--points=48"),
    "stencil": ("--points=96 --steps=20", "--points=96 --steps=20"),
    "osem": ("--points=32", "--points=32"),
    "summa": ("--points=1024 --panel=32", "--points=1024 --panel=32"),
    "cholesky": ("--points=1024 --panel=32", "--points=1024 --panel=32"),
}
LINE = re.compile(
    r"(?P<name>\S+) (?P<way>\S+): (?P<median>\S+) s \((?P<low>\S+) to (?P<high>\S+)\), error \S+, (?P<verdict>[a-z ]+)"
    r"(?P<says>.*)"
)
LOOP = re.compile(r"\((\S+) ms, by the model (\S+) ms\)")
ONE = ("env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1")  #: Every rank has one processor.
MINIMUM = 0.02  #: of the computation: less blocking communication than that leaves nothing to measure


def built(folder: Path) -> Path:
    """The programs, against the isthmus that this Python has."""
    import isthmus

    where = Path(isthmus.__file__).parent / "libisthmus"
    words = ["make", "-s", "-C", str(HERE.parent / "examples/overlap"), "MPICXX=mpicxx.openmpi", f"OUT={folder}"]
    done = subprocess.run([*words, f"ISTHMUS={where}"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed: {done.stderr.strip()[-1000:]}")
    return folder


@contextlib.contextmanager
def launcher(args: argparse.Namespace) -> Iterator[list[str]]:
    """What starts the ranks."""
    if args.hosts < 2:
        yield ["mpirun.openmpi", "-n", "2", *BIND["openmpi"], *undisturbed()]
        return
    if reason := emulated_hosts.obstacle("mpirun.openmpi"):
        raise SystemExit(f"hosts cannot be made here: {reason}")
    with emulated_hosts.hosts(args.hosts, args.rate, args.burst) as them:
        yield [*them.inside(), *them.openmpi(), *undisturbed()]


def measured(words: list[str]) -> list[dict[str, Any]]:
    """Lines of one program."""
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=600)
    found = [LINE.match(line) for line in done.stdout.splitlines()]
    if done.returncode or not all(found):
        raise SystemExit(
            f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-800:]}"
        )
    out = []
    for line in found:
        assert line is not None
        loops = [(float(took), float(told)) for took, told in LOOP.findall(line["says"])]
        out.append({"way": line["way"], **{key: float(line[key]) for key in ("median", "low", "high")}, "loops": loops})
    return out


def shares(rows: list[dict[str, Any]]) -> None:
    """Adds what is hidden: of blocking communication, and of what can be."""
    by = {row["way"]: row["median"] for row in rows}
    alone, blocking = by["none"], by["blocking"]
    communication = blocking - alone
    room = blocking - max(alone, communication)
    for row in rows:
        row["hidden"] = row["of possible"] = None
        if row["way"] in ("none", "blocking") or communication < MINIMUM * alone:
            continue
        row["hidden"] = (blocking - row["median"]) / communication
        row["of possible"] = (blocking - row["median"]) / room if room > MINIMUM * blocking else None


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def show(name: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        loops = ", ".join(f"{took:.2f} ({100 * (told / took - 1):+.0f} %)" for took, told in row["loops"])
        print(
            f"{name:16}{row['way']:11}{1e3 * row['median']:10.3f}{1e3 * row['low']:10.3f}{1e3 * row['high']:10.3f}"
            f"{percent(row['hidden']):>9}{percent(row['of possible']):>12}  {loops}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1, help="emulated hosts with one rank each; 1: this host, 2 ranks")
    parser.add_argument("--rate", default="1gbit", help="of each link")
    parser.add_argument("--burst", default="64k", help="of its token bucket: 8k for 200mbit")
    parser.add_argument("--programs", default=",".join(SHOWN), help="names, separated by commas")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--ways", default="none,blocking,mpi,ours,timer")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    args = parser.parse_args()
    chosen = args.programs.split(",")
    if unknown := set(chosen) - set(SHOWN):
        raise SystemExit(f"--programs {min(unknown)}: must be of {', '.join(SHOWN)}")
    if not {"none", "blocking"} <= set(args.ways.split(",")):
        raise SystemExit("--ways: none and blocking must be among them, with which the others are compared")
    ways = args.ways
    everything: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder, launcher(args) as start:
        programs = built(Path(folder))
        print(
            f"{'program':16}{'way':11}{'ms':>10}{'quarter':>10}{'three':>10}{'hidden':>9}{'of possible':>12}  loops, ms"
        )
        for name in chosen:
            options = SHOWN[name][args.hosts > 1].split()
            of = [f"--ways={ways}", f"--runs={args.runs}", "--warm=8"]
            rows = everything[name] = measured([*start, *ONE, str(programs / name.split()[0]), *options, *of])
            shares(rows)
            show(name, rows)
    if args.json:
        args.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
