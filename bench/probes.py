"""What the programs of `isthmus measure` find beside other benchmarks, in the same run: the same sizes, in turns.

    python bench/probes.py [--osu FOLDER] [--imb IMB-MPI1] [--netgauge PROGRAM] [--mpi openmpi|mpich] [--rounds N]
        [--json FILE]

The peers are built outside the project: OSU's micro-benchmarks (the folder that holds pt2pt/ and collective/), Intel's
MPI benchmarks, Netgauge (its pattern loggp: PRTT(1, 0, s) and PRTT(10, 0, s) of Hoefler, Lichei and Rehm; the LogGP
parameters that it and the fit of isthmus find are printed beside each other). Each round runs all of them and ours on
two ranks bound to two cores, in another order. Ours is the median of samples, theirs the mean of a loop, which whatever
disturbs the machine makes larger: the mean of our samples and the least of runs are compared too. Netgauge's is a
median of single trips, each after a sleep. Peers print two digits behind the point: a microsecond is known to 0.5 %,
0.15 to 3 % only (OSU's digits are a macro, FLOAT_PRECISION).

A virtual machine changes its state between runs (here the same message takes 0.11 or 0.36 us). So a ping-pong of 8
bytes is run before and after each run; runs in which both say the same are compared, for each state by itself.

What is beyond chance is said too: how far two medians of runs of the same peer are apart, and the interval of ours over
theirs, both by drawing runs with replacement.

Ranks run under the kernel's real-time scheduler where that is permitted (undisturbed() of bench/host.py).
"""

from __future__ import annotations

import argparse
import itertools
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
#: Sizes of Netgauge's round trips.
TRIPS = (1, 8193, 16385, 32769, 65537)
WITHIN = 0.03
#: Behind the name of what was measured: the mean of our samples, as peers have it.
MEAN = ", mean"
#: An allreduce as peers measure it: behind a barrier, by MPI_Wtime, whose reading is part of it; the mean of the ranks.
AS_THEIRS = "allreduce as theirs"
#: Seconds by what was measured and bytes.
Found = dict[tuple[str, int], float]


def ours(program: Path, mpi: str, folder: Path) -> Found:
    """Medians of one run of our program."""
    items = []
    for size in SIZES:
        items += [f"pingpong.{size} pingpong a=0 b=1 bytes={size}", f"window.{size} window a=0 b=1 bytes={size} n=64"]
        items += [f"sendrecv.{size} sendrecv a=0 b=1 bytes={size}"]
        items += [f"allreduce.{size} collective name=allreduce bytes={size}"]
        items += [f"theirs.{size} collective name=allreduce bytes={size} start=barrier"]
    for size in TRIPS:
        items += [
            f"{name}.{size} prtt a=0 b=1 bytes={size} n={n} posted=0" for name, n in (("prtt", 1), ("prtt10", 10))
        ]
    plan, journal = folder / "plan", folder / "journal"
    plan.write_text(
        "isthmus-plan 1\nbudget 10\nsamples 30 400\ntolerance 0.005\n" + "".join(f"item {i}\n" for i in items)
    )
    journal.unlink(missing_ok=True)
    mpirun(mpi, 2, *undisturbed(), program, plan, journal)
    values: dict[tuple[str, int], list[float]] = {}
    for line in journal.read_text().splitlines():
        words = line.split()
        if words[0] == "sample":
            kind, size = words[1].split(".")
            step = 2 if kind in ("allreduce", "theirs") else 1
            name = {"prtt10": "prtt of 10", "theirs": AS_THEIRS}.get(kind, kind)
            values.setdefault((name, int(size)), []).extend(map(float, words[3::step]))
    found = {key: statistics.median(of) for key, of in values.items()}
    return found | {(f"{what}{MEAN}", size): statistics.fmean(of) for (what, size), of in values.items()}


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
        # OSU 7 sums bytes unless told otherwise, which takes MPICH up to twice as long as the floats that others sum.
        more = ["-m", f"{min(SIZES)}:{max(SIZES)}", "-T", "mpi_float"] if "collective" in name else []
        for size, value in rows(mpirun(mpi, 2, *undisturbed(), folder / name, "-i", loops, "-x", "20", *more), 1):
            found[what, size] = size / value / 1e6 if what == "window" else value * 1e-6
            if what == "allreduce":
                found[AS_THEIRS, size] = found[what, size]
    return found


def imb(program: Path, mpi: str) -> Found:
    """PingPong, Sendrecv and Allreduce of Intel's benchmarks: of both last the slowest rank, or the mean of ranks."""
    found: Found = {}
    for name, column in (("PingPong", 2), ("Sendrecv", 3), ("Allreduce", 3)):
        options = ["-iter", "300", "-msglog", "3:20", "-iter_policy", "off", "-time", "5"]
        text = mpirun(mpi, 2, *undisturbed(), program, name, *options)
        found |= {(name.lower(), size): value * 1e-6 for size, value in rows(text, column)}
        if name == "Allreduce":
            found |= {(AS_THEIRS, size): value * 1e-6 for size, value in rows(text, column + 1)}
    return found


def reference(program: Path, mpi: str, folder: Path) -> float:
    """Half a ping-pong of 8 bytes, in seconds: the state of the machine."""
    plan, journal = folder / "plan", folder / "journal"
    plan.write_text("isthmus-plan 1\nbudget 0.2\nsamples 100 400\nitem p pingpong a=0 b=1 bytes=8\n")
    journal.unlink(missing_ok=True)
    mpirun(mpi, 2, *undisturbed(), program, plan, journal)
    lines = [line.split()[3:] for line in journal.read_text().splitlines() if line.startswith("sample")]
    return statistics.median(float(word) for line in lines for word in line)


def states(around: list[tuple[float, float]]) -> list[int]:
    """The state of each run from the references before and after it: 0 is the fastest, -1 where it changed.

    States are apart where sorted references grow by more than a third at once.
    """
    ends: list[float] = []
    every = sorted(time for pair in around for time in pair)
    for low, high in itertools.pairwise(every):
        if high > 1.33 * low:
            ends.append((low + high) / 2)
    found = [tuple(sum(time > end for end in ends) for time in pair) for pair in around]
    return [before if before == after else -1 for before, after in found]


def netgauge(program: Path, mpi: str, folder: Path) -> Found:
    """PRTT(1, 0, s) and PRTT(10, 0, s) of Netgauge, and its parameters, with 0 in place of the size.

    It writes a line for each size from the seventh on; PRTT(1, 0, 1) is twice what it calls L. The name of its output,
    sizes to 128 KiB and 100 trips of each are its defaults, as it has been seen not to read these options.
    """
    out = folder / "ng.out"
    mpirun(mpi, 2, "-wdir", folder, *undisturbed(), program.resolve(), "-x", "loggp", "-m", "mpi")
    found: Found = {}
    for line in out.read_text().splitlines():
        if line.startswith("#"):
            continue
        size, _, one, ten, _, half, o_send, o_recv, g, G, _ = (float(word) * 1e-6 for word in line.split())
        bytes_ = round(size * 1e6)
        found["prtt", 1] = 2 * half
        if bytes_ in TRIPS:
            found["prtt", bytes_], found["prtt of 10", bytes_] = one, ten
        found |= {("L", 0): half, ("o_send", 0): o_send, ("o_recv", 0): o_recv, ("g", 0): g, ("G", 0): G}
    return found


def fitted(program: Path, mpi: str, folder: Path) -> Found:
    """The parameters that the fit of isthmus finds at the sizes that Netgauge takes."""
    from isthmus.measuring.fit import fit_level
    from isthmus.measuring.samples import Item, read_journal

    items = [Item("threshold", "threshold", {"a": 0, "b": 1})]
    for size in (1, *range(1025, max(TRIPS) + 1, 2048)):
        for kind, more in (("pingpong", {}), ("sendcall", {}), ("isendcall", {}), ("window", {"n": 16})):
            items.append(Item(f"{kind}.{size}", kind, {"a": 0, "b": 1, "bytes": size, **more}))
        for how in ("wait", "posted"):
            items.append(Item(f"{how}.{size}", "receivecall", {"a": 0, "b": 1, "bytes": size, "how": how}))
    plan, journal = folder / "plan", folder / "journal"
    lines = [f"item {item.line}" for item in items]
    plan.write_text("\n".join(["isthmus-plan 1", "budget 5", "samples 20 200", "tolerance 0.01", *lines]) + "\n")
    journal.unlink(missing_ok=True)
    mpirun(mpi, 2, *undisturbed(), program, plan, journal)
    found = fit_level(read_journal(journal, items, "mpi"), [(0, 1)], repetitions=20)
    return {(name, 0): found.parameters[name].value for name in ("L", "o_send", "o_recv", "g", "G")}


def rows(text: str, column: int) -> list[tuple[int, float]]:
    """Size and one column of the lines that hold numbers."""
    out = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0].isdigit() and len(words) > column and re.fullmatch(r"[0-9.]+", words[column]):
            out.append((int(words[0]), float(words[column])))
    return [(size, value) for size, value in out if size in SIZES]


def medians(runs: list[Found]) -> Found:
    """Of all runs, for each key."""
    return {key: statistics.median(run[key] for run in runs if key in run) for key in (runs[0] if runs else ())}


def compare(peer: str, ours: list[Found], theirs: list[Found]) -> None:
    """Print how far ours are from theirs: medians of runs, the mean of our samples, and the least of runs."""
    mine, other = medians(ours), medians(theirs)
    off: dict[tuple[str, str], list[float]] = {}
    for (what, size), value in sorted(other.items()):
        if (what, size) not in mine:
            continue
        ways = {"median": mine[what, size] / value, "mean": mine[what + MEAN, size] / value}
        ways["least of runs"] = min(run[what, size] for run in ours) / min(run[what, size] for run in theirs)
        for way, ratio in ways.items():
            off.setdefault((what, way), []).append(ratio - 1)
        words = ", ".join(f"{way} {100 * (ratio - 1):+.1f} %" for way, ratio in ways.items())
        print(
            f"{peer:8} {what:10} {size:9,} B: {mine[what, size] * 1e6:9.3f} us, theirs {value * 1e6:9.3f} us: {words}"
        )
    for (what, way), each in off.items():
        near, middle = sum(abs(one) <= WITHIN for one in each), 100 * statistics.median(each)
        print(f"{peer} {what}, {way}: {near} of {len(each)} within {100 * WITHIN:.0f} %, ours {middle:+.1f} % (median)")


def by_chance(ours: list[Found], theirs: list[Found], key: tuple[str, int]) -> tuple[float, float, float]:
    """Ends of the 95 % interval of ours over theirs, less one, and how far the peer is from itself by chance.

    By drawing runs with replacement: the last is what the ratio of two medians of as many of its own runs is away
    from 1, its 95 % quantile.
    """
    random_ = random.Random(1)
    a, b = [run[key] for run in ours if key in run], [run[key] for run in theirs if key in run]

    def drawn(values: list[float]) -> float:
        return statistics.median(random_.choices(values, k=len(values)))

    ratios = sorted(drawn(a) / drawn(b) - 1 for _ in range(1000))
    alone = sorted(abs(drawn(b) / drawn(b) - 1) for _ in range(1000))
    return ratios[25], ratios[974], alone[949]


def against_itself(peer: str, ours: list[Found], theirs: list[Found]) -> None:
    """Print whether ours differ from the peer's by more than the peer differs from itself."""
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for what, size in medians(theirs):
        if (what, size) in medians(ours):
            groups.setdefault(what, []).append(by_chance(ours, theirs, (what, size)))
    for what, each in groups.items():
        within = sum(low <= WITHIN and high >= -WITHIN for low, high, _ in each)
        loose = sum(alone > WITHIN for _, _, alone in each)
        typical = 100 * statistics.median(alone for _, _, alone in each)
        print(
            f"{peer} {what}: the interval of ours over theirs reaches within {100 * WITHIN:.0f} % at {within} of "
            f"{len(each)} sizes; two medians of {len(theirs)} runs of {peer} are up to {typical:.1f} % apart "
            f"(median of sizes), at {loose} sizes by more than {100 * WITHIN:.0f} %"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osu", type=Path, metavar="FOLDER")
    parser.add_argument("--imb", type=Path, metavar="FILE")
    parser.add_argument("--netgauge", type=Path, metavar="FILE")
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
        if options.netgauge:
            runs["Netgauge"] = lambda: netgauge(options.netgauge, options.mpi, Path(scratch))
            runs["fit"] = lambda: fitted(program, options.mpi, Path(scratch))
        if len(runs) == 1:
            raise SystemExit("a peer is needed: --osu, --imb or --netgauge")
        found: list[tuple[str, Found]] = []
        around: list[tuple[float, float]] = []
        order = random.Random(1)
        before = reference(program, options.mpi, Path(scratch))
        for i in range(options.rounds):
            for name in order.sample(list(runs), len(runs)):
                found.append((name, runs[name]()))
                after = reference(program, options.mpi, Path(scratch))
                around.append((before, after))
                before = after
            print(f"\rround {i + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{library}, two ranks, {options.rounds} rounds")
    table = {}
    state_of = states(around)
    for state in sorted(set(state_of) - {-1}):
        chosen = [i for i, each in enumerate(state_of) if each == state]
        middle = {name: medians([found[i][1] for i in chosen if found[i][0] == name]) for name in runs}
        table[state] = middle
        typical = statistics.median(around[i][0] for i in chosen)
        print(f"\nruns while a ping-pong of 8 B takes {typical * 1e6:.2f} us:")
        for peer in (name for name in runs if name not in ("isthmus", "fit") and middle[name] and middle["isthmus"]):
            both = [[found[i][1] for i in chosen if found[i][0] == name] for name in ("isthmus", peer)]
            compare(peer, *both)
            against_itself(peer, *both)
        for (name, size), theirs in middle.get("Netgauge", {}).items():
            if not size and (name, 0) in middle["fit"]:
                factor, unit = (1e9, "ns/B") if name == "G" else (1e6, "us")
                print(f"{name:6} fit {factor * middle['fit'][name, 0]:.4g}, Netgauge {factor * theirs:.4g} {unit}")
    if options.json:
        plain = {
            str(state): {
                name: {f"{what} {size}": value for (what, size), value in by.items()} for name, by in each.items()
            }
            for state, each in table.items()
        }
        Path(options.json).write_text(json.dumps(plain, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
