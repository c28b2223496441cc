"""Processor time of ``isthmus.map`` and of its report beside the budget given, for patterns of many kinds and sizes.

    python bench/mapping_budget.py [--sizes LIST] [--kinds LIST] [--machines LIST] [--budgets LIST] [--shared] [--check]
                                   [--json FILE]

Every pattern is made and mapped in a process of its own: tasks numbered at random, one on a node, or with --shared
about 64, on a machine of that much fewer nodes, with up to 3 % more than its share on each. What is counted is
user and system time of all threads of the process, from the pattern in memory to the printed report. With --check it
fails where more than 1.2 times the budget is used and the report does not say that the budget was too small.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mapping_instances import Graph, delaunay, grid, merged, random_geometric

SIZES = {
    "1k": 1 << 10, "4k": 1 << 12, "16k": 1 << 14, "32k": 1 << 15, "65k": 1 << 16, "262k": 1 << 18, "1M": 1 << 20,
}  # fmt: skip
#: Machines with as many nodes.
TORI = {
    "1k": "8x8x16", "4k": "16x16x16", "16k": "16x32x32", "32k": "32x32x32", "65k": "32x32x64", "262k": "64x64x64",
    "1M": "64x128x128",
}  # fmt: skip
FLIES = {
    "1k": "a=8,p=8,h=2,g=16", "4k": "a=16,p=16,h=1,g=16", "16k": "a=16,p=16,h=4,g=64", "65k": "a=16,p=16,h=16,g=256",
    "262k": "a=32,p=32,h=8,g=256", "1M": "a=32,p=32,h=32,g=1024",
}  # fmt: skip
#: More than the budget by this factor is too much.
HELD = 1.2


def rmat(tasks: int, seed: int) -> Graph:
    """R-MAT (Chakrabarti, Zhan and Faloutsos, SDM 2004) with 0.57, 0.19, 0.19, 0.05 and 8 edges a task."""
    rng = np.random.default_rng(seed)
    u = v = np.zeros(8 * tasks, np.int64)
    for _ in range((tasks - 1).bit_length()):
        quarter = rng.choice(4, len(u), p=[0.57, 0.19, 0.19, 0.05])
        u, v = 2 * u + quarter // 2, 2 * v + quarter % 2
    return merged(tasks, u, v)


def banded(tasks: int, seed: int) -> Graph:
    """Four partners of each task at random distances up to 32."""
    rng = np.random.default_rng(seed)
    u = np.repeat(np.arange(tasks), 4)
    v = u + rng.integers(1, 33, len(u))
    return merged(tasks, u[v < tasks], v[v < tasks])


def regular(tasks: int, seed: int) -> Graph:
    """Three random cycles through all tasks."""
    rng = np.random.default_rng(seed)
    cycles = [rng.permutation(tasks) for _ in range(3)]
    return merged(tasks, np.concatenate(cycles), np.concatenate([np.roll(c, 1) for c in cycles]))


def jittered(tasks: int, seed: int) -> Graph:
    """A 9-point stencil without a twentieth of its edges, with weights that differ."""
    rng = np.random.default_rng(seed)
    side = int(tasks**0.5)
    a = np.arange(side * side).reshape(side, side)
    ends = ((a[1:], a[:-1]), (a[:, 1:], a[:, :-1]), (a[1:, 1:], a[:-1, :-1]), (a[1:, :-1], a[:-1, 1:]))
    u, v = (np.concatenate([e[i].ravel() for e in ends]) for i in (0, 1))
    kept = rng.random(len(u)) > 0.05
    return merged(tasks, u[kept], v[kept], rng.integers(800, 1200, int(kept.sum())))


def cliques(tasks: int, seed: int) -> Graph:
    """Cliques of 12 on a ring, each tied to the next by one heavy pair."""
    i, j = np.triu_indices(12, 1)
    base = np.arange(0, tasks - tasks % 12, 12)
    u, v = (base[:, None] + i).ravel(), (base[:, None] + j).ravel()
    weight = np.concatenate([np.full(len(u), 500), np.full(len(base), 3000)])
    return merged(tasks, np.concatenate([u, base + 11]), np.concatenate([v, np.roll(base, -1)]), weight)


EXTENTS = {SIZES[size]: tuple(map(int, shape.split("x"))) for size, shape in TORI.items()}
KINDS: dict[str, Callable[[int, int], Graph]] = {
    "delaunay": lambda tasks, seed: delaunay(tasks, 2, seed),
    "delaunay3": lambda tasks, seed: delaunay(tasks, 3, seed),
    "grid": lambda tasks, seed: grid(*EXTENTS[tasks]),
    "geometric": random_geometric,
    "rmat": rmat,
    "banded": banded,
    "regular": regular,
    "jittered": jittered,
    "cliques": cliques,
}
#: Machines with as many nodes or some more, of which distances are no sums over few coordinates.
OTHERS = {
    "kautz": {"4k": "d=2,k=12", "16k": "d=4,k=7", "65k": "d=4,k=8", "262k": "d=4,k=9"},
    "debruijn": {"4k": "d=2,k=12", "16k": "d=2,k=14", "65k": "d=4,k=8", "262k": "d=2,k=18"},
    "mesh": {"4k": "4096", "16k": "16384", "65k": "65536", "262k": "262144"},
    "ring": {"4k": "4096", "16k": "16384", "65k": "65536", "262k": "262144"},
    "hypercube": {"4k": "12", "16k": "14", "65k": "16", "262k": "18"},
    "fattree": {"4k": "k=16,n=3", "16k": "k=26,n=3", "65k": "k=16,n=4", "262k": "k=64,n=3"},
    "hyperx": {"4k": "16x16,p=16", "16k": "8x8x16,p=16", "65k": "16x16x16,p=16", "262k": "32x32x16,p=16"},
    "slimfly": {"4k": "q=17,p=8", "16k": "q=25,p=14", "65k": "q=43,p=18", "262k": "q=67,p=30"},
}
MACHINES: dict[str, Callable[[str], str]] = {
    "torus": lambda size: f"torus:{TORI[size]}",
    "dragonfly": lambda size: f"dragonfly:{FLIES[size]}",
    **{kind: lambda size, kind=kind: f"{kind}:{OTHERS[kind][size]}" for kind in OTHERS},
}
#: Tasks on a node, about, and machines with that much fewer nodes.
SHARED = 64
SMALLER = {
    "4k": {"torus": "torus:4x4x4", "dragonfly": "dragonfly:a=4,p=4,h=1,g=4"},
    "32k": {"torus": "torus:8x8x8", "dragonfly": "dragonfly:a=8,p=8,h=1,g=8"},
    "262k": {name: make("4k") for name, make in MACHINES.items()},
    "1M": {name: make("16k") for name, make in MACHINES.items()},
}


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def worker(job: dict[str, Any]) -> None:
    """Maps one pattern with each budget; a line of JSON for each."""
    import isthmus

    graph = KINDS[job["kind"]](SIZES[job["size"]], 1).scrambled(1)
    u, v, weight = graph.u, graph.v, graph.weight
    for machine in job["machines"]:
        where = isthmus.load(SMALLER[job["size"]][machine] if job["shared"] else MACHINES[machine](job["size"]))
        balance = {"balance": 0.03} if job["shared"] else {}
        # What is loaded at first use is no part of it.
        isthmus.map(isthmus.Pattern.of(2, source=[0], target=[1], bytes=1), where, seconds=0.1)
        for seconds in job["budgets"]:
            pattern = isthmus.Pattern.of(
                graph.tasks, source=np.concatenate([u, v]), target=np.concatenate([v, u]),
                bytes=np.concatenate([weight, weight]),
            )  # fmt: skip
            begin = used()
            mapped = isthmus.map(pattern, where, seconds=seconds, undirected=True, **balance)
            mapping = used() - begin
            text = str(mapped)
            print(json.dumps({
                "kind": job["kind"], "size": job["size"], "machine": machine, "edges": len(u), "budget": seconds,
                "map": mapping, "used": used() - begin, "small": "too short" in text, "method": mapped.method,
                "dilation": mapped.metrics.average_dilation, "default": mapped.before["default"].average_dilation,
                "tried": [[t.method, t.seconds] for t in mapped.trials],
            }), flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", default="1k,4k,16k,65k", metavar="LIST", help=f"of {', '.join(SIZES)}; shared: {', '.join(SMALLER)}"
    )
    parser.add_argument("--kinds", default=",".join(KINDS), metavar="LIST", help="all by default")
    parser.add_argument("--machines", default="torus,dragonfly", metavar="LIST", help=f"of {', '.join(MACHINES)}")
    parser.add_argument("--budgets", default="0.5,2,10", metavar="LIST", help="seconds")
    parser.add_argument("--shared", action="store_true", help=f"about {SHARED} tasks on a node")
    parser.add_argument("--check", action="store_true", help="fail where a budget is not held")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    figures: list[dict[str, Any]] = []
    print(f"{'kind':10} {'size':5} {'machine':9} {'budget':>7} {'used':>7} {'ratio':>6}  {'map':>6}  dilation  kept")
    for size in options.sizes.split(","):
        for kind in options.kinds.split(","):
            job = {
                "kind": kind, "size": size, "machines": options.machines.split(","), "shared": options.shared,
                "budgets": [float(b) for b in options.budgets.split(",")],
            }  # fmt: skip
            command = [sys.executable, __file__, "--worker", json.dumps(job)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                for line in child.stdout:
                    f = json.loads(line)
                    figures.append(f)
                    late = "small" if f["small"] else "!" if f["used"] > HELD * f["budget"] else ""
                    print(
                        f"{kind:10} {size:5} {f['machine']:9} {f['budget']:7g} {f['used']:7.2f} "
                        f"{f['used'] / f['budget']:6.2f}{late:5} {f['map']:6.2f} {f['dilation']:9.3f}  {f['method']}",
                        flush=True,
                    )
            if child.returncode:
                raise SystemExit(f"{kind} {size}: exit status {child.returncode}")
            if options.json:
                Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    over = [f for f in figures if f["used"] > HELD * f["budget"] and not f["small"]]
    print(f"{len(figures) - len(over)} of {len(figures)} within {HELD} times the budget")
    if options.check and over:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
