"""Collectives: how fast schedules are made, priced by closed forms and tuned; predicted times beside peers'.

    python bench/collectives.py [--quick] [--peer /path/to/LogGOPSim] [--part generation|forms|tuning|choices|peers]

- generation: operations of a schedule per second, on the clock (all cores) and of processor time, and the most memory
  of a process that makes nothing else: allreduces of 1,048,576 ranks and, without --quick, every algorithm on as few of
  1,024 to 65,536 ranks as have a million operations.
- forms: milliseconds for 30 sizes at 2,048 ranks.
- tuning: whole sweeps of 24 sizes, 8 B to 64 MiB, with contention and without.
- choices: with contention, beside simulations of every candidate at every size: how much longer what is chosen takes.
- peers: the same algorithm by LogGOPSim on the same schedule, and by SMPI of SimGrid (Debian: libsimgrid-dev) on a
  platform of equal parameters; and what SMPI's selectors of Open MPI's and MPICH's algorithms give there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import isthmus
import isthmus.collectives
from isthmus.tuning.rule import KINDS

# Collective, algorithm, ranks, bytes.
QUICK: tuple[tuple[str, Any, int, int], ...] = (
    ("allreduce", "recursive_doubling", 65_536, 8),
    ("allreduce", "ring", 1024, 65_536),
    ("bcast", "binomial", 1_048_576, 8),
    ("allgather", "dissemination", 65_536, 8),
    ("alltoall", "pairwise", 1024, 8),
    ("alltoall", "linear", 1024, 8),
    ("alltoall", "bruck", 16_384, 64),
    ("allreduce", "recursive_doubling", 1_048_576, 8),
    ("allreduce", "rabenseifner", 1_048_576, 1_048_576),
    ("allreduce", "reduce_bcast", 1_048_576, 8),
)
# Of the whole catalogue: sizes at which algorithms with segments have some.
CATALOGUE_RANKS = (1024, 4096, 16_384, 65_536)
CATALOGUE_BYTES = 1_048_576
MEANINGFUL = 1_000_000
MANY = 20_000_000  # which with buffers take gigabytes
# Latency, overheads and bandwidth of the platform of SMPI below, and of LogGOPSim; gaps are those of bytes.
LEVEL = isthmus.Level(L=2.5e-6, o_send=1.5e-6, o_recv=1.5e-6, g=0.0, G=1e-9, S=65_536)
EQUAL = (
    "smpi/lat-factor:0:1", "smpi/bw-factor:0:1", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0",
    "smpi/os:0:1.5e-6:0", "smpi/ois:0:1.5e-6:0", "smpi/or:0:1.5e-6:0", "smpi/async-small-thresh:65536",
    "smpi/send-is-detached-thresh:65536",
)  # fmt: skip
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="n" suffix="" radical="0-{last}" speed="10Gf" bw="1GBps" lat="1.25us"
    sharing_policy="SPLITDUPLEX" loopback_bw="100GBps" loopback_lat="0"/>
</platform>
"""
SAME = (("allreduce", "recursive_doubling", "rdb"), ("allreduce", "ring", "lr"), ("alltoall", "pairwise", "ring"))
SIZES = (8, 1024, 65_536, 1_048_576)


def generation(quick: bool) -> None:
    columns = f"{'operations':>12} {'s':>7} {'M op/s':>7} {'cpu s':>7} {'M op/s':>7} {'buffers':>7} {'MB':>7}"
    print(f"{'schedule':<44} {columns}")
    for case in QUICK:
        generated(case)
    if quick:
        return
    for kind in KINDS:
        for algorithm in isthmus.collectives.algorithms(kind):
            for ranks in CATALOGUE_RANKS:
                if generated((kind, algorithm, ranks, 0 if kind == "barrier" else CATALOGUE_BYTES), MEANINGFUL):
                    break


def generated(case: tuple[str, Any, int, int], least: int = 0) -> bool:
    """Prints the speed of a case, unless it has fewer operations than `least`."""
    command = [sys.executable, __file__, "--case", json.dumps([*case, least])]
    m = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if m["operations"] < least:
        return False
    name = f"{case[0]} {case[1]} {case[2]:,}"
    wall, processor = (m["operations"] / m[key] / 1e6 for key in ("wall", "processor"))
    named = f"{m['operations'] / m['named'] / 1e6:.1f}" if m["named"] else "-"
    print(
        f"{name:<44} {m['operations']:>12,} {m['wall']:>7.3f} {wall:>7.1f} {m['processor']:>7.3f} {processor:>7.1f} "
        f"{named:>7} {m['peak'] / 1e6:>7.0f}",
        flush=True,
    )
    return True


def generate(kind: str, algorithm: Any, ranks: int, size: int, least: int) -> dict[str, float]:
    """The best of three, as others use the processor too; ``named``: on the clock with buffers named."""
    isthmus.collective("barrier", ranks=2)
    times: dict[str, list[float]] = {"wall": [], "processor": [], "named": []}
    peak = count = 0
    for buffers in (False, True):
        for _ in range(3 if count < MANY else 0 if buffers else 2):
            begin, used = time.perf_counter(), time.process_time()
            schedule = isthmus.collective(
                kind, ranks=ranks, bytes=size, algorithm=algorithm, counts=neighbours(kind, ranks), buffers=buffers
            )
            times["named" if buffers else "wall"].append(time.perf_counter() - begin)
            if not buffers:
                times["processor"].append(time.process_time() - used)
            count = len(schedule)
            del schedule
            if count < least:
                return {"operations": count}
        if not buffers:
            with open("/proc/self/status") as status:
                peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return {"operations": count, "peak": peak, **{name: min(taken, default=0.0) for name, taken in times.items()}}


def neighbours(kind: str, ranks: int) -> Any:
    """Of a neighbour exchange: 8 bytes to 8 ranks from each."""
    if kind != "neighbor_alltoall":
        return None
    import numpy as np

    sender, step = np.meshgrid(np.arange(ranks), (1, 2, 3, 7, 11, 64, 100, 1023), indexing="ij")
    receiver = (sender + step) % ranks
    return np.stack([sender, receiver, np.full_like(sender, 8)], axis=-1).reshape(-1, 3)


def closed_forms() -> None:
    from isthmus.collectives.models import cost, forms

    sizes = [1 << k for k in range(30)]
    times = []
    for kind, algorithm in forms():
        cost(kind, algorithm, LEVEL, ranks=16, sizes=sizes)
        begin = time.process_time()
        cost(kind, algorithm, LEVEL, ranks=2048, sizes=sizes)
        times.append(((time.process_time() - begin) * 1e3, kind, algorithm))
    times.sort()
    middle, most = times[len(times) // 2], times[-1]
    print(f"{len(times)} closed forms, 2,048 ranks, 30 sizes: median {middle[0]:.1f} ms, "
          f"most {most[0]:.1f} ms ({most[1]} {most[2]})")  # fmt: skip


# Machine, ranks, ranks of a node, 0: all cores.
TORUS, TREE = "torus:8x4x4 link=5GB/s hop=50ns cores=1", "fattree:k=6,n=3 link=5GB/s hop=50ns cores=1"
PLACES = (("cielo", 128, 1), ("eos", 512, 0), (TORUS, 128, 0), (TREE, 128, 0))
CHECKED = (("cielo", 64, 1), ("eos", 64, 8), (TORUS, 64, 0), (TREE, 64, 0))
CHECKED_SIZES = (8, 512, 4096, 65_536, 1_048_576)


def placed(name: str, ranks: int, per_node: int) -> tuple[Any, Any]:
    machine = isthmus.load(name)
    return machine, machine.allocate(ranks // per_node, ranks_per_node=per_node) if per_node else None


def tuning(quick: bool) -> None:
    columns = f"{'candidates':>10} {'simulations':>12} {'of':>7} {'s':>7} {'processor s':>12} {'without':>8}"
    print(f"{'tuned, two at a time':<44} {columns}")
    cases = [("allreduce", ("eos", 2048, 0)), ("bcast", ("eos", 2048, 0)), ("alltoall", PLACES[0])]
    if not quick:
        cases += [("alltoall", ("eos", 2048, 0)), *(("all", place) for place in PLACES)]
    for kind, place in cases:
        machine, allocation = placed(*place)
        used = []
        for model in (None, "loggops"):
            begin = time.process_time()
            done = isthmus.tune(kind, machine, ranks=place[1], placement=allocation, model=model, workers=2)
            used.append(time.process_time() - begin)
            if model is None:
                contended = done
        tried = sum(len(s.choices) for s in contended.sweeps)
        simulations, of = (
            sum(each) for each in zip(*((s.simulations, s.source.size) for s in contended.sweeps), strict=True)
        )
        what = f"{kind} on {place[0].split()[0]}, {place[1]:,} ranks"
        counts = f"{tried:>10} {simulations:>12} {of:>7}"
        print(f"{what:<44} {counts} {contended.wall:>7.1f} {used[0]:>12.1f} {used[1]:>8.1f}", flush=True)


def choices(quick: bool) -> None:
    print(f"{'chosen, over the best of all':<44} {'worst':>7} {'at':>9}  choice, best")
    for place in CHECKED[: 1 if quick else None]:
        machine, allocation = placed(*place)
        for kind in ("alltoall", "allgather", "reduce_scatter", "allreduce", "bcast"):
            common = {"ranks": place[1], "placement": allocation, "sizes": CHECKED_SIZES, "workers": 2}
            every = isthmus.tune(kind, machine, model="flow", exhaustive=True, **common).sweeps[0]
            few = isthmus.tune(kind, machine, model="flow", **common).sweeps[0]
            at = range(len(CHECKED_SIZES))
            times = every.seconds[few.best, at] / every.seconds[every.best, at]
            worst = int(times.argmax())
            what = f"{kind} on {place[0].split()[0]}, {place[1]} ranks"
            pair = f"{few.choices[few.best[worst]]}, {every.choices[every.best[worst]]}"
            print(f"{what:<44} {times[worst]:>7.4f} {CHECKED_SIZES[worst]:>9}  {pair}", flush=True)


def peers(quick: bool, binary: str | None) -> None:
    ranks = 64
    if binary:
        loggopsim(ranks, binary)
    import smpi

    if reason := smpi.missing():
        print(f"SMPI left out: {reason}")
        return
    with tempfile.TemporaryDirectory() as name:
        program = smpi.build(Path(name))

        def theirs(kind: str, algorithm: str, size: int) -> Any:
            return smpi.run(program, PLATFORM.format(last=ranks - 1), ranks, kind, algorithm, size, 300, EQUAL)

        print(f"\n{'SMPI, same algorithm':<32} {'bytes':>8} {'SMPI':>11} {'ours':>11} {'ratio':>6}")
        for kind, algorithm, other in SAME:
            for size in SIZES[:3] if kind == "alltoall" else SIZES:
                schedule = isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm)
                ours = isthmus.simulate(schedule, LEVEL).makespan
                run = theirs(kind, other, size)
                ratio = run.simulated / ours
                name_of = f"{kind} {algorithm} ({other})"
                print(f"{name_of:<32} {size:>8} {us(run.simulated)} {us(ours)} {ratio:>6.3f}", flush=True)
        print(f"\n{'SMPI, selectors':<14} {'bytes':>8} {'ompi':>11} {'mpich':>11} {'tuned':>11}  algorithm")
        for kind in ("allreduce", "alltoall"):
            sizes = SIZES[: 2 if quick else 3] if kind == "alltoall" else SIZES
            points = isthmus.tune(kind, LEVEL, ranks=ranks, sizes=sizes).table.row(kind, ranks).points
            for point in points:
                runs = [theirs(kind, f"selector {selector}", point.bytes) for selector in ("ompi", "mpich")]
                columns = " ".join(us(run.simulated) for run in runs)
                print(f"{kind:<14} {point.bytes:>8} {columns} {us(point.seconds)}  {point.choice}", flush=True)


def loggopsim(ranks: int, binary: str) -> None:
    """The same schedules; G there is a whole number of nanoseconds, as ours here."""
    print(f"{'LogGOPSim, same schedule':<32} {'bytes':>8} {'theirs':>11} {'ours':>11} {'equal':>6}")
    for kind in ("bcast", "reduce", "allreduce", "allgather", "alltoall"):
        for algorithm in isthmus.collectives.algorithms(kind):
            for size in SIZES[:3]:
                schedule = isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm)
                ours = isthmus.simulate(schedule, LEVEL).makespan
                with tempfile.TemporaryDirectory() as folder:
                    path = str(Path(folder) / "schedule.bin")
                    schedule.save(path, seconds_per_byte=0.0)
                    options = ["-L", "2500", "-o", "1500", "-g", "0", "-G", "1", "-O", "0", "-S", "65536"]
                    out = subprocess.run([binary, "-f", path, *options, "-b"], capture_output=True, text=True).stdout
                lines = [line for line in out.splitlines() if "inishing time" in line]
                found = max((int(line.rsplit(":", 1)[1].split()[0]) for line in lines), default=-1) * 1e-9
                equal = "yes" if abs(found - ours) < 1e-12 else "no"
                print(f"{f'{kind} {algorithm}':<32} {size:>8} {us(found)} {us(ours)} {equal:>6}", flush=True)


def us(seconds: float) -> str:
    return f"{seconds * 1e6:>8.2f} us"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the cases of seconds")
    parser.add_argument("--peer", help="LogGOPSim, built with a stable sort")
    parser.add_argument("--part", choices=("generation", "forms", "tuning", "choices", "peers"), help="only this")
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps(generate(*given.case)))
        return
    parts = [given.part] if given.part else ["generation", "forms", "tuning", "choices", "peers"]
    if "generation" in parts:
        generation(given.quick)
    if "forms" in parts:
        closed_forms()
    if "tuning" in parts:
        tuning(given.quick)
    if "choices" in parts:
        choices(given.quick)
    if "peers" in parts:
        peers(given.quick, given.peer)


if __name__ == "__main__":
    main()
