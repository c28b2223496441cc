"""Speed and memory of the topology core, one core, beside graph libraries in the same run.

    python bench/topology.py [--quick] [--json FILE]

Every figure is the median of several runs, in processor time; ratios compare runs of the same process. The peers are
scipy.sparse.csgraph and igraph: what one would use otherwise, a graph of all links and breadth-first search. They are
timed on the sizes that they can do in reasonable time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LARGE = {
    "torus, 1,048,576 nodes": "torus:128x128x64",
    "dragonfly, 262,144 nodes": "dragonfly:a=32,p=16,h=16,g=512",
    "Cray XC dragonfly, 92,544 nodes": "dragonfly:a=16x6,p=4,h=10,g=241,arrangement=relative,parallel=1x3",
    "fat tree, 262,144 nodes": "fattree:k=64,n=3",
}
SMALL = {
    "torus, 4,096 nodes": "torus:16x16x16",
    "dragonfly, 2,048 nodes": "dragonfly:a=8,p=4,h=8,g=64",
    "fat tree, 4,096 nodes": "fattree:k=16,n=3",
    "torus, 262,144 nodes": "torus:64x64x64",
}


# All that is timed runs on one thread: processor time is what the machine's other users do not disturb.
def median_time(function: Callable[[], Any], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def built(spec: str, repeat: int) -> dict[str, float]:
    """Processor seconds and peak memory to build a machine: medians of processes of their own."""
    program = (
        "import resource, sys, time\n"
        "import isthmus, numpy\n"
        "from isthmus import _core\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "start = time.process_time()\n"
        "machine = isthmus.Machine.parse(sys.argv[1])\n"
        "seconds = time.process_time() - start\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(seconds, (after - before) / 1024, after / 1024)\n"
    )
    runs = []
    for _ in range(repeat):
        done = subprocess.run([sys.executable, "-c", program, spec], capture_output=True, text=True, check=True)
        runs.append([float(word) for word in done.stdout.split()])
    seconds, grown, peak = (statistics.median(column) for column in zip(*runs, strict=True))
    return {"build_s": seconds, "build_MiB": grown, "process_MiB": peak}


def distances(spec: str, pairs: int, repeat: int) -> dict[str, float]:
    import numpy as np

    import isthmus

    t = isthmus.Machine.parse(spec).topology
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, t.nodes, pairs, dtype=np.uint32) for _ in range(2))
    seconds = median_time(lambda: t.distances(a, b), repeat)
    return {"distances_per_s": pairs / seconds}


def routes(spec: str, pairs: int, repeat: int) -> dict[str, float]:
    import numpy as np

    import isthmus

    t = isthmus.Machine.parse(spec).topology
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, t.nodes, pairs, dtype=np.uint32) for _ in range(2))
    links = t.routes(a, b)[1]
    buffer = np.empty(len(links), dtype=np.uint32)
    seconds = median_time(lambda: t.routes(a, b, buffer), repeat)
    return {
        "routes_per_s": pairs / seconds,
        "hops_per_route": len(links) / pairs,
        "hops_per_s": len(links) / seconds,
        "bytes_per_route": 4 * len(links) / pairs,
    }


def peers(spec: str, repeat: int) -> dict[str, float]:
    """Distances from some sources to all nodes: ours against breadth-first search over an explicit graph."""
    import numpy as np
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    import isthmus

    t = isthmus.Machine.parse(spec).topology
    ends = t.link_ends(np.arange(t.links, dtype=np.uint32))
    sources = np.linspace(0, t.nodes - 1, max(4, min(64, 1_000_000 // t.nodes)), dtype=np.uint32)
    a, b = np.repeat(sources, t.nodes), np.tile(np.arange(t.nodes, dtype=np.uint32), len(sources))
    ours = median_time(lambda: t.distances(a, b), repeat)
    answer = t.distances(a, b).reshape(len(sources), -1)
    out: dict[str, float] = {"pairs": len(a), "ours_per_s": len(a) / ours}
    graph = csr_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(t.vertices, t.vertices))
    found = shortest_path(graph, unweighted=True, indices=sources)[:, : t.nodes]
    if not np.array_equal(found, answer):
        raise SystemExit(f"{spec}: scipy and isthmus disagree")
    scipy_time = median_time(lambda: shortest_path(graph, unweighted=True, indices=sources), repeat)
    out |= {"scipy_per_s": len(a) / scipy_time, "times_scipy": scipy_time / ours}
    try:
        import igraph
    except ImportError:
        return out
    peer = igraph.Graph(n=t.vertices, edges=ends, directed=True)
    found = np.array(peer.distances(source=sources.tolist()))[:, : t.nodes]
    if not np.array_equal(found, answer):
        raise SystemExit(f"{spec}: igraph and isthmus disagree")
    igraph_time = median_time(lambda: peer.distances(source=sources.tolist()), repeat)
    return out | {"igraph_per_s": len(a) / igraph_time, "times_igraph": igraph_time / ours}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer pairs and runs")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    repeat, pairs = (3, 1_000_000) if options.quick else (7, 10_000_000)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    figures: dict[str, Any] = {"build": {}, "distances": {}, "routes": {}, "peers": {}}
    print("Build (targets: under 1 s, under 200 MB)")
    for name, spec in LARGE.items():
        f = figures["build"][name] = built(spec, repeat)
        print(
            f"  {name:34} {f['build_s'] * 1e3:8.1f} ms {f['build_MiB']:7.1f} MiB more, "
            f"{f['process_MiB']:6.1f} MiB with Python and NumPy"
        )
    print("Distances of random pairs (target: 50 million/s on tori and dragonflies)")
    for name, spec in LARGE.items():
        f = figures["distances"][name] = distances(spec, pairs, repeat)
        print(f"  {name:34} {f['distances_per_s'] / 1e6:8.1f} million/s")
    print("Routes of random pairs into a buffer (target: 5 million/s on a 3-D torus)")
    for name, spec in {**{k: SMALL[k] for k in list(SMALL)[:1]}, **LARGE}.items():
        f = figures["routes"][name] = routes(spec, pairs // 10, repeat)
        print(f"  {name:34} {f['routes_per_s'] / 1e6:8.2f} million/s of {f['hops_per_route']:5.1f} links")
    print("Distances from some sources to all nodes, beside graph libraries in this run")
    for name, spec in SMALL.items():
        f = figures["peers"][name] = peers(spec, repeat)
        line = f"  {name:34} {f['ours_per_s'] / 1e6:8.1f} million/s, {f['times_scipy']:6.0f} times scipy"
        print(line + (f", {f['times_igraph']:6.0f} times igraph" if "times_igraph" in f else ""))
    figures["peak_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(figures, stream, indent=2)


if __name__ == "__main__":
    main()
