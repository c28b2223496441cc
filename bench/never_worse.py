"""Is a placement of ``isthmus.map`` ever worse than the usual orders?

    python bench/never_worse.py [--quick] [--part programs|patterns] [--rows TEXT] [--ranks N,...] [--machines NAME,...]
                                [--seeds N] [--objective NAME] [--seconds S] [--recorded [DIR]] [--compute FACTOR]
                                [--half 1|2] [--sample N] [--least] [--no-peers] [--check] [--json FILE]

Cases are generated: programs of mapping_programs.py (with --recorded also the recordings of mapping_recordings.py: the
examples, inputs of LAMMPS, HPC Challenge; kept in DIR and taken from there the next time) on 4 to 128 ranks, and
patterns of mapping_families.py; on tori, fat trees, small and large dragonflies; 1 or several ranks a node; the first
nodes of the machine ("whole"), or as many at random places ("scattered"). Every case is placed by ``isthmus.map``
without an objective unless one is given, in block, cyclic and random order, and by Scotch (gmap, on the graph of the
machine as amk_grf decomposes it) where it is installed; it may not keep to the number of ranks of a node.
isthmus.evaluate judges all. Figures are ratios to block: hop-bytes, the hottest link (bytes over bandwidth), and, of
programs, the time simulated under ``flow``; seconds are processor seconds of the call of ``map``.

Of programs the time on an ideal network (L, o, g, G and O are 0) is given, too: no placement is faster. Where that is
close to block order, no placement can be much better: small inputs of a recorded application compute most of the time,
on the computer on which they were recorded.

--compute: computation takes this part of its time: 0.1 for nodes that compute ten times as fast, such as those with
accelerators, or for as much smaller a share of each rank; 0 for communication alone. Messages stay what they are.
--least: also a time below which no placement of a program comes, by least_time.py: what mapping can reach at most.
--long: also the fastest placement that long_search.py finds in so many processor seconds, of programs.
--sample: so many cases, drawn at random (always the same) from all that the other options ask for.
--half: only the cases whose names have an even (1) or odd (2) CRC-32: one half to try changes with, the other to judge.
--check: exit status 1 where a placement is worse than block order by more than 1 %: a program in simulated time, a
pattern in its hottest link.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import least_time
import long_search
import mapping_families
import mapping_peers
import mapping_programs
import mapping_recordings
import numpy as np

import isthmus
from isthmus.schedule.program import EventKind

#: Worse by this part is worse.
TOLERANCE = 0.01
#: Simulation counts in picoseconds, and joins the ends of flows that are nearly at the same time.
ROUNDING = 0.005
#: Torus with two nodes a router, dragonflies of 2, 15 and 77 groups, fat trees of 2 and 3 levels.
PROGRAM_MACHINES = ("titan", "eos", "edison", "frontier", "summit", "torus:8x8x8 cores=16")
PATTERN_MACHINES = (
    "torus:16x16x16 cores=16", "cielo", "fattree-k4", "summit", "eos", "frontier",
    "dragonfly:a=16,p=16,h=1,g=16,arrangement=relative cores=16",
)  # fmt: skip


#: Ranks up to which programs are recorded.
_MOST_RECORDED = 64


@dataclass(frozen=True)
class Case:
    """Something to place on some nodes."""

    name: str
    machine: str
    per_node: int
    whole: bool
    seed: int
    what: isthmus.Program | isthmus.Pattern

    @property
    def where(self) -> str:
        spread = "whole" if self.whole else "scattered"
        return f"{self.machine.split(',')[0].split(' ')[0]}, {self.per_node} a node, {spread}"

    @property
    def half(self) -> int:
        """1 or 2, by the name."""
        return 1 + zlib.crc32(f"{self.name} {self.where} {self.seed}".encode()) % 2

    def job(self) -> isthmus.Allocation:
        machine = isthmus.load(self.machine)
        nodes = -(-self.what.ranks // self.per_node)
        if self.whole:
            return machine.allocate(nodes, ranks_per_node=self.per_node)
        chosen = np.random.default_rng(self.seed).choice(machine.nodes, nodes, replace=False)
        return machine.allocate(np.sort(chosen), ranks_per_node=self.per_node)


def chosen(options: argparse.Namespace) -> list[Case]:
    """The cases that are asked for, or a sample of them."""
    asked = [
        case for case in cases(options)
        if options.rows in f"{case.name} {case.where}" and options.half in (None, case.half)
    ]  # fmt: skip
    if options.sample is None or options.sample >= len(asked):
        return asked
    return [asked[i] for i in np.random.default_rng(1).permutation(len(asked))[: options.sample]]


def with_compute(program: isthmus.Program, factor: float) -> isthmus.Program:
    """The program with computations that take so many times as long."""
    amount = program.amount.copy()
    computed = program.kind == EventKind.compute
    amount[computed] = np.rint(amount[computed] * factor).astype(np.uint64)
    return replace(program, amount=amount, recording=None)


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """All cases, of the ranks and machines that are asked for."""
    seeds = range(1, options.seeds + 1)
    if options.part in ("all", "programs"):
        for ranks in options.ranks or ((8, 27) if options.quick else (4, 8, 12, 16, 27, 64, 128)):
            programs = [(n, s, make(ranks, s)) for n, make in mapping_programs.PROGRAMS.items() for s in seeds]
            if options.recorded is not None and ranks <= _MOST_RECORDED:
                with tempfile.TemporaryDirectory() as folder:
                    kept = Path(options.recorded or folder).resolve()
                    kept.mkdir(parents=True, exist_ok=True)
                    programs += [(n, 1, p) for n, p in mapping_recordings.recordings(ranks, kept).items()]
            for name, seed, program in programs:
                what = program if options.compute == 1 else with_compute(program, options.compute)
                for machine in options.machines or PROGRAM_MACHINES[: 2 if options.quick else None]:
                    for per_node in (1, 4):
                        if ranks > per_node:
                            for whole in (True, False):
                                yield Case(f"{name} {ranks}", machine, per_node, whole, seed, what)
    if options.part in ("all", "patterns"):
        for name, make in mapping_families.FAMILIES.items():
            for tasks in options.ranks or ((256,) if options.quick else (512, 4096)):
                for seed in seeds:
                    for machine in options.machines or PATTERN_MACHINES:
                        for per_node in (1, 8):
                            if -(-tasks // per_node) > isthmus.load(machine).nodes:
                                continue
                            for whole in (True, False):
                                what = make(tasks, seed)
                                yield Case(f"{name} {what.ranks}", machine, per_node, whole, seed, what)


def placed(case: Case, options: argparse.Namespace, peers: bool) -> dict[str, dict[str, Any]]:
    """Hop-bytes, hottest link, simulated time and seconds of every way to place."""
    job = case.job()
    undirected = isinstance(case.what, isthmus.Pattern)
    objective = {} if options.objective is None else {"objective": options.objective}
    begin = resource.getrusage(resource.RUSAGE_SELF)
    mapped = isthmus.map(
        case.what, job, seconds=options.seconds, seed=case.seed, undirected=undirected, **objective
    )  # fmt: skip
    end = resource.getrusage(resource.RUSAGE_SELF)
    placements = {"ours": mapped.placement}
    for order in ("block", "cyclic", "random"):
        placements[order] = isthmus.Placement.of(job, case.what.ranks, order, seed=case.seed)
    seconds = {"ours": end.ru_utime - begin.ru_utime}
    # Of programs Scotch is given all messages, those of collectives too.
    given = case.what if undirected else isthmus.pattern(isthmus.lower(case.what))
    if peers and (found := mapping_peers.scotch_on(given, job)) is not None:
        placements["scotch"], seconds["scotch"] = found
    out = {}
    for name, placement in placements.items():
        m = isthmus.evaluate(case.what, placement, undirected=undirected)
        out[name] = {"hop_bytes": m.hop_bytes, "link": m.maximum_congestion, "time": m.time}
        out[name]["seconds"] = seconds.get(name)
    out["ours"]["method"] = mapped.method
    if isinstance(case.what, isthmus.Program):
        # Only its time is known: there are no links.
        out["block"]["ideal"] = isthmus.simulate(case.what, isthmus.Level(), record="finish").makespan
        if options.least:
            at = [np.searchsorted(job.nodes, placements[who].node) for who in ("ours", "block", "cyclic")]
            out["block"]["least"] = least_time.Least(case.what, job).bound(at)
        if options.long:
            at = [np.searchsorted(job.nodes, placements[who].node) for who in ("ours", "block", "cyclic")]
            fastest, out["block"]["all"] = long_search.fastest(case.what, job, at, options.long)
            out["long"] = {"hop_bytes": math.nan, "link": math.nan, "time": fastest, "seconds": options.long}
    return out


def ratio(found: dict[str, dict[str, Any]], who: str, key: str, to: str = "block") -> float:
    """Of a figure to that of block order; 1 where both are 0."""
    here, there = found[who][key], found[to][key]
    return 1.0 if here == there else here / there if there else math.inf


def mean(values: list[float]) -> float:
    """The geometric mean of those that are finite and above 0."""
    kept = [v for v in values if 0 < v < math.inf]
    return math.exp(sum(map(math.log, kept)) / len(kept)) if kept else 1.0


def summary(rows: list[tuple[Case, dict[str, dict[str, Any]]]], key: str, words: str) -> int:
    """Prints ratios over all cases; the number of those that are worse than block."""
    worse = [(ratio(f, "ours", key), c) for c, f in rows]
    both = [(ratio(f, "ours", key), min(1.0, ratio(f, "cyclic", key))) for _, f in rows]
    against = [ours / usual if usual else 1.0 for ours, usual in both]
    bad = sum(r > 1 + TOLERANCE for r, _ in worse)
    most, where = max(worse, key=lambda pair: pair[0])
    print(f"{words}, {len(rows)} cases, ratios to block order:")
    print(f"  worse by more than {100 * TOLERANCE:.0f} %: {bad}; than the better of block and cyclic: "
          f"{sum(r > 1 + TOLERANCE for r in against)}")  # fmt: skip
    print(f"  worst {most:.3f} ({where.name}, {where.where}, seed {where.seed})")
    for who in ("ours", "cyclic", "random", "scotch", "long"):
        values = [ratio(f, who, key) for _, f in rows if who in f]
        if values:
            print(f"  {who:7} geometric mean {mean(values):.3f} of {len(values)}, least {min(values):.3f}, "
                  f"most {max(values):.3f}")  # fmt: skip
    if key == "time":
        least = [f["block"]["ideal"] / f["block"]["time"] if f["block"]["time"] else 1.0 for _, f in rows]
        print(f"  ideal network: geometric mean {mean(least):.3f}, least {min(least):.3f}")
        bounded = [f for _, f in rows if "least" in f["block"]]
        bounds = [(f["block"]["least"] / f["block"]["time"], ratio(f, "ours", key)) for f in bounded]
        if bounds:
            print(f"  no placement is below: geometric mean {mean([bound for bound, _ in bounds]):.4f}; above ours in "
                  f"{sum(bound > ours * (1 + ROUNDING) for bound, ours in bounds)} of {len(bounds)}")  # fmt: skip
    by_group(rows, key)
    return bad


#: How cases are put together: words to what their groups are called.
GROUPS: dict[str, Callable[[Case], str]] = {
    "program or pattern": lambda c: "recorded" if " recorded " in c.name else "generated",
    "name": lambda c: c.name.rsplit(" ", 1)[0],
    "ranks": lambda c: c.name.rsplit(" ", 1)[1],
    "where": lambda c: c.where.split(",")[0],
    "spread": lambda c: c.where.split(", ", 1)[1],
    "half": lambda c: str(c.half),
}
#: Words to parts of the time in block order that an ideal network would take.
SHARES = {"below 0.5": (0.0, 0.5), "0.5 to 0.9": (0.5, 0.9), "above 0.9": (0.9, math.inf)}


def by_group(rows: list[tuple[Case, dict[str, dict[str, Any]]]], key: str) -> None:
    """Prints ratios to block order of the groups of cases."""
    for words, group_of in GROUPS.items():
        groups: dict[str, list[float]] = {}
        for case, found in rows:
            groups.setdefault(group_of(case), []).append(ratio(found, "ours", key))
        print(f"  by {words}: " + "; ".join(
            f"{group} {mean(values):.3f} of {len(values)}, most {max(values):.3f}" for group, values in groups.items()
        ))  # fmt: skip
    if key == "time":
        for words, (low, high) in SHARES.items():
            inside = [ratio(f, "ours", key) for _, f in rows if low <= f["block"]["ideal"] / f["block"]["time"] < high]
            if inside:
                print(f"  ideal network {words}: {mean(inside):.3f} of {len(inside)}, most {max(inside):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases")
    parser.add_argument("--part", choices=("all", "programs", "patterns"), default="all")
    parser.add_argument("--rows", default="", metavar="TEXT", help="only cases whose name and place contain it")
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], metavar="N,...")
    parser.add_argument("--machines", type=lambda text: text.split(","), metavar="NAME,...")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--objective", metavar="NAME")
    parser.add_argument("--seconds", type=float, metavar="S", help="processor time of map; 3, with --quick 0.5")
    parser.add_argument(
        "--recorded", nargs="?", const="", metavar="DIR", help="record the examples, LAMMPS and HPC Challenge, too"
    )
    parser.add_argument("--compute", type=float, default=1.0, metavar="FACTOR", help="computation times so much")
    parser.add_argument("--least", action="store_true", help="a time below which no placement comes")
    parser.add_argument("--long", type=float, metavar="S", help="also search for so long for the fastest placement")
    parser.add_argument("--sample", type=int, metavar="N", help="so many cases, drawn at random")
    parser.add_argument("--half", type=int, choices=(1, 2))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail where a placement is worse than block order")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = 0.5 if options.quick else 3.0
    rows = []
    print(f"{'case':22} {'where':34} {'who':8}{'hop-bytes':>10}{'link':>8}{'time':>8}{'seconds':>9}")
    for case in chosen(options):
        found = placed(case, options, not options.no_peers)
        rows.append((case, found))
        for i, (who, f) in enumerate(found.items()):
            head = f"{case.name:22} {case.where:34}" if i == 0 else f"{'':57}"
            times = f"{ratio(found, who, 'time'):8.3f}" if f["time"] is not None else f"{'':8}"
            spent = f"{f['seconds']:9.2f}" if f["seconds"] is not None else f"{'':9}"
            said = f"no placement below {f['least'] / f['time']:.3f}" if "least" in f else f.get("method", "")
            print(f"{head} {who:8}{ratio(found, who, 'hop_bytes'):10.3f}{ratio(found, who, 'link'):8.3f}{times}{spent} "
                  f"{said}".rstrip(), flush=True)  # fmt: skip
    bad = 0
    programs = [row for row in rows if isinstance(row[0].what, isthmus.Program)]
    patterns = [row for row in rows if isinstance(row[0].what, isthmus.Pattern)]
    if programs:
        bad += summary(programs, "time", "simulated time of programs")
    if patterns:
        bad += summary(patterns, "link", "hottest link of patterns")
        summary(patterns, "hop_bytes", "hop-bytes of patterns")
    if options.json:
        figures = [{"case": c.name, "where": c.where, "seed": c.seed, "found": f} for c, f in rows]
        Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if options.check and bad:
        sys.exit(1)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
