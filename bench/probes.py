"""What the programs of `isthmus measure` find beside other benchmarks, in the same run: the same sizes, in turns.

    python bench/probes.py [--osu FOLDER] [--imb IMB-MPI1] [--mpi openmpi|mpich] [--rounds N]
        [--json FILE]

The peers are built outside the project: OSU's micro-benchmarks (the folder that holds pt2pt/ and collective/), Intel's
MPI benchmarks. Each round runs all of them and ours on two ranks bound to two cores, in another order. Ours
is the median of samples, theirs the mean of a loop. A virtual machine changes its state from run to run (the same
message takes 0.09 or 0.4 us here): compared is the least of the rounds, in which each is likely to have met the best
state once; medians of rounds stand beside it. Peers print two digits behind the point: a microsecond is known to 0.5 %,
0.15 to 3 % only (OSU's digits are a macro, FLOAT_PRECISION).

Ranks run under the kernel's real-time scheduler where that is permitted (undisturbed() of bench/host.py).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from host import mpirun, undisturbed

SIZES = (8, 64, 1024, 4096, 16384, 65536, 262144, 1048576)
WITHIN = 0.03
#: Seconds by what was measured and bytes.
Found = dict[tuple[str, int], float]


def ours(program: Path, mpi: str, folder: Path) -> Found:
    """Medians of one run of our program."""
    items = []
    for size in SIZES:
        items += [f"pingpong.{size} pingpong a=0 b=1 bytes={size}", f"window.{size} window a=0 b=1 bytes={size} n=64"]
        items += [f"sendrecv.{size} sendrecv a=0 b=1 bytes={size}"]
        items += [f"allreduce.{size} collective name=allreduce bytes={size}"]
    plan, journal = folder / "plan", folder / "journal"
    plan.write_text(
        "isthmus-plan 1\nbudget 6\nsamples 30 400\ntolerance 0.005\n" + "".join(f"item {i}\n" for i in items)
    )
    journal.unlink(missing_ok=True)
    mpirun(mpi, 2, *undisturbed(), program, plan, journal)
    values: dict[tuple[str, int], list[float]] = {}
    for line in journal.read_text().splitlines():
        words = line.split()
        if words[0] == "sample":
            kind, size = words[1].split(".")
            step = 2 if kind == "allreduce" else 1
            values.setdefault((kind, int(size)), []).extend(map(float, words[3::step]))
    return {key: statistics.median(found) for key, found in values.items()}


def osu(folder: Path, mpi: str) -> Found:
    """Latency, streaming bandwidth and allreduce of OSU's programs."""
    found: Found = {}
    for name, what in (
        ("pt2pt/osu_latency", "pingpong"),
        ("pt2pt/osu_bw", "window"),
        ("collective/osu_allreduce", "allreduce"),
    ):
        # Real-time ranks are held up by the kernel after 0.95 s: windows of 64 large messages take long.
        loops = "60" if what == "window" else "500"
        more = ["-m", f"{min(SIZES)}:{max(SIZES)}"] if "collective" in name else []
        for size, value in rows(mpirun(mpi, 2, *undisturbed(), folder / name, "-i", loops, "-x", "20", *more), 1):
            found[what, size] = size / value / 1e6 if what == "window" else value * 1e-6
    return found


def imb(program: Path, mpi: str) -> Found:
    """PingPong, Sendrecv and Allreduce of Intel's benchmarks; of the last, the slowest rank."""
    found: Found = {}
    for name, column in (("PingPong", 2), ("Sendrecv", 3), ("Allreduce", 3)):
        options = ["-iter", "300", "-msglog", "3:20", "-iter_policy", "off", "-time", "5"]
        for size, value in rows(mpirun(mpi, 2, *undisturbed(), program, name, *options), column):
            found[name.lower(), size] = value * 1e-6
    return found


def over(runs: list[Found], choose: Callable[[list[float]], float]) -> Found:
    """One of the values of all runs, for each key."""
    return {key: choose([run[key] for run in runs if key in run]) for key in runs[0]}


def rows(text: str, column: int) -> list[tuple[int, float]]:
    """Size and one column of the lines that hold numbers."""
    out = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0].isdigit() and len(words) > column and re.fullmatch(r"[0-9.]+", words[column]):
            out.append((int(words[0]), float(words[column])))
    return [(size, value) for size, value in out if size in SIZES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osu", type=Path, metavar="FOLDER")
    parser.add_argument("--imb", type=Path, metavar="FILE")
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi", help="what the peers are built with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    from isthmus.measuring.programs import mpi_program
    from isthmus.mpi.detection import probe

    library = probe(f"/usr/bin/mpicc.{options.mpi}")
    if library is None:
        raise SystemExit(f"there is no mpicc.{options.mpi}")
    program = mpi_program(library)
    with tempfile.TemporaryDirectory() as scratch:
        runs: dict[str, Callable[[], Found]] = {"isthmus": lambda: ours(program, options.mpi, Path(scratch))}
        if options.osu:
            runs["OSU"] = lambda: osu(options.osu, options.mpi)
        if options.imb:
            runs["IMB"] = lambda: imb(options.imb, options.mpi)
        if len(runs) == 1:
            raise SystemExit("a peer is needed: --osu or --imb")
        found: dict[str, list[Found]] = {name: [] for name in runs}
        order = random.Random(1)
        for i in range(options.rounds):
            for name in order.sample(list(runs), len(runs)):
                found[name].append(runs[name]())
            print(f"\rround {i + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    best = {name: over(each, min) for name, each in found.items()}
    middle = {name: over(each, statistics.median) for name, each in found.items()}
    print(f"{library}, two ranks, {options.rounds} rounds")
    for peer in (name for name in runs if name != "isthmus"):
        off = []
        for key, theirs in sorted(best[peer].items()):
            mine = best["isthmus"][key]
            off.append(abs(mine / theirs - 1))
            print(
                f"{peer:9} {key[0]:10} {key[1]:9,} B: {mine * 1e6:9.3f} us, theirs {theirs * 1e6:9.3f} us "
                f"({100 * (mine / theirs - 1):+6.1f} %); medians of rounds {middle['isthmus'][key] * 1e6:9.3f} and "
                f"{middle[peer][key] * 1e6:9.3f} us"
            )
        near = sum(each <= WITHIN for each in off)
        print(
            f"{peer}: {near} of {len(off)} within {100 * WITHIN:.0f} %, median {100 * statistics.median(off):.1f} %\n"
        )
    if options.json:
        table = {name: {f"{what} {size}": value for (what, size), value in by.items()} for name, by in best.items()}
        Path(options.json).write_text(json.dumps(table, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
