"""Proof that messages share links as fluids do: finishing times beside those of SimGrid for the same flows.

    python tests/proof/sharing.py [--seed N] [--keep DIR]

Flows between random nodes, shifts, permutations, all to all and onto few nodes, of unequal sizes and with starts at
different times, on a torus, a fat tree and a dragonfly. SimGrid gets the links and the minimal routes of our machine;
in its model CM02 nothing is left of TCP: no latency, no factors, no window, no cross traffic. Here endpoints cost
nothing. So all that is compared is max-min fair sharing: once as by default, where flows that end at nearly the same
time leave the links together, and once with resolution=0, where each leaves at its own. The exit status is 1 if a
makespan differs by more than 5 % by default, the median of the flows' times by more than 1 %, or one flow by more than
a millionth with resolution=0.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
BANDWIDTH = 10e9
MACHINES = {
    "torus 8x8x8": "torus:8x8x8",
    "fat tree, 512 nodes": "fattree:k=8,n=3",
    "dragonfly, 342 nodes": "dragonfly:a=6,p=3,h=3,g=19",
}
#: SimGrid's fluid model with nothing but the sharing.
CONFIGURATION = {
    "network/model": "CM02",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
    "network/weight-S": "0",
    "network/TCP-gamma": "1e18",
    "network/crosstraffic": "0",
    "maxmin/precision": "1e-9",
    "surf/precision": "1e-12",
}


@dataclass(frozen=True)
class Flows:
    """Start (seconds, ascending), nodes and bytes of every flow."""

    start: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    size: NDArray[np.int64]


@dataclass(frozen=True)
class Comparison:
    """Relative differences of ours to SimGrid's: of the flows' times from start to end, and of the makespan."""

    flows: int
    median: float
    most: float
    makespan: float
    exact: float  # the most with resolution=0
    seconds: float  # of the simulations: SimGrid's and ours
    ours: float

    @property
    def far(self) -> bool:
        """Is it further than it may be?"""
        return abs(self.makespan) > 0.05 or self.median > 0.01 or self.exact > 1e-6


def patterns(nodes: int, rng: np.random.Generator) -> dict[str, Flows]:
    """Flows by name; mean size 1 MB."""
    every = np.arange(nodes)
    some = rng.permutation(nodes)[:64]
    few = some[: max(4, nodes // 64)]

    def flows(source: Any, target: Any, *, spread: float, equal: bool = False) -> Flows:
        source, target = (np.asarray(a, np.int64).reshape(-1) for a in np.broadcast_arrays(source, target))
        keep = source != target
        source, target = source[keep], target[keep]
        # Picoseconds, so that both simulators start at the same time.
        start = np.sort(np.round(rng.random(len(source)) * spread * 1e12)) / 1e12
        size = np.full(len(source), 10**6) if equal else rng.integers(10**5, 19 * 10**5, len(source))
        return Flows(start, source, target, size)

    many = rng.integers(0, nodes, (2, 4 * nodes))
    return {
        "random pairs": flows(many[0], many[1], spread=2e-3),
        "random pairs at once": flows(many[0], many[1], spread=0),
        "shift by 37": flows(every, (every + 37) % nodes, spread=0),
        "permutation": flows(every, rng.permutation(nodes), spread=1e-4),
        "permutation, equal": flows(every, rng.permutation(nodes), spread=0, equal=True),
        "64 nodes, all to all": flows(np.repeat(some, 64), np.tile(some, 64), spread=0, equal=True),
        f"onto {len(few)} nodes": flows(every, few[every % len(few)], spread=1e-3),
    }


def ours(machine: Any, flows: Flows, resolution: float) -> NDArray[np.float64]:
    """When each flow ends, seconds: a rank that sends it, another that receives it."""
    import isthmus

    count = len(flows.start)
    sender = np.arange(count)
    b = isthmus.ProgramBuilder(2 * count)
    b.compute(sender, flows.start)
    # The network carries one byte less than a message has, the first being paid for by the latency.
    b.send(sender, count + sender, flows.size + 1)
    b.recv(count + sender, sender, flows.size + 1)
    t = isthmus.simulate(
        b.build(), machine, np.concatenate([flows.source, flows.target]), model="flow", resolution=resolution,
        record="finish",
    )  # fmt: skip
    return t.finish[count:]


def program(folder: Path) -> Path:
    """The compiled C++ program."""
    out = folder / "fluid"
    subprocess.run(["g++", "-std=c++17", "-w", "-o", out, HERE / "fluid.cpp", "-lsimgrid"], check=True)
    return out


def simgrid(binary: Path, machine: Any, flows: Flows) -> NDArray[np.float64]:
    """The same by SimGrid.

    Raises
    ------
    RuntimeError
        If it failed, with its last words.
    """
    t = machine.topology
    classes = np.array([bandwidth for _, bandwidth, _ in t.link_classes])
    bandwidth = classes[t.link_class(np.arange(t.links, dtype=np.uint32))]
    pairs, which = np.unique(np.stack([flows.source, flows.target]), axis=1, return_inverse=True)
    words = [f"{t.nodes} {t.links}", " ".join(f"{b:.17g}" for b in bandwidth), str(pairs.shape[1])]
    for a, b in pairs.T:
        route = machine.route(int(a), int(b))
        words.append(f"{a} {b} {len(route)} {' '.join(map(str, route))}")
    words.append(str(len(flows.start)))
    words += [f"{s:.15e} {p} {n}" for s, p, n in zip(flows.start, which.reshape(-1), flows.size, strict=True)]
    path = binary.with_suffix(".txt")
    path.write_text("\n".join(words), encoding="utf-8")
    options = [f"--cfg={key}:{value}" for key, value in CONFIGURATION.items()] + ["--log=root.threshold:error"]
    done = subprocess.run([binary, path, *options], capture_output=True, text=True)
    found = np.array(done.stdout.split(), float)
    if done.returncode or len(found) != len(flows.start):
        raise RuntimeError(f"SimGrid ended with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return found


def compare(binary: Path, machine: Any, flows: Flows) -> Comparison:
    """Both simulations, and how far they are from each other."""
    begin = time.perf_counter()
    theirs = simgrid(binary, machine, flows)
    middle = time.perf_counter()
    here = ours(machine, flows, 0.01)
    end = time.perf_counter()
    difference = np.abs((here - theirs) / (theirs - flows.start))
    exact = np.abs((ours(machine, flows, 0) - theirs) / (theirs - flows.start))
    return Comparison(
        flows=len(here),
        median=float(np.median(difference)),
        most=float(difference.max()),
        makespan=float(here.max() / theirs.max() - 1),
        exact=float(exact.max()),
        seconds=middle - begin,
        ours=end - middle,
    )


def machine_of(specification: str) -> Any:
    """A machine whose endpoints cost nothing."""
    import isthmus

    return isthmus.Machine.parse(f"{specification} link={BANDWIDTH:g}B/s hop=0s L=0s o=0s g=0s G=0 S=1TB cores=1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep program and input of SimGrid here")
    options = parser.parse_args()
    if shutil.which("g++") is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        print("left out: needs g++ and SimGrid (Debian: libsimgrid-dev)")
        return
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        binary = program(folder)
        columns = f"{'number':>6} {'median':>9} {'largest':>9} {'makespan':>9} {'exact':>10}"
        print(f"{'network':22} {'flows':22} {columns}  SimGrid    ours")
        for name, specification in MACHINES.items():
            machine = machine_of(specification)
            for what, flows in patterns(machine.nodes, np.random.default_rng(options.seed)).items():
                c = compare(binary, machine, flows)
                failed += c.far
                print(
                    f"{name:22} {what:22} {c.flows:6} {100 * c.median:7.3f} % {100 * c.most:7.2f} % "
                    f"{100 * c.makespan:+7.3f} % {c.exact:10.1e} {c.seconds:6.2f} s {c.ours:5.2f} s"
                    f"{'  TOO FAR' if c.far else ''}",
                    flush=True,
                )
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main()
