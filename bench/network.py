"""Speed and memory of the models in which messages share links, beside SMPI of SimGrid where that is installed.

    python bench/network.py [--quick] [--peers none|short|all] [--repeat N] [--case TEXT] [--json FILE]

Every case runs in a process of its own: the schedule is made, then simulated N times on one core. Seconds are processor
seconds in user mode, medians; memory is the peak of the whole process. Machines have links of 10 GB/s and 100 ns and
one rank a node (four in the halo). Endpoints are as SMPI's by default (no overhead, no interface between memory and
links, rendezvous above 64 KiB), so that as many messages are under way at once as there; "with interfaces" gives every
node one of 10 GB/s, o = g = 250 ns. Packets have 2 KiB, and so have the messages on the dragonfly of 8,320 nodes, 20 of
each node at a fifth of what its interface could send. Packet-hops are times that packets passed a link, interfaces not
counted.

The peer runs the same pattern with the same protocol: "sent", its messages are on their way when they are sent; "sender
waits", transfers begin when the receive is posted, and the sender waits, as ours by rendezvous ("S=0"); "posted",
transfers begin so, and no sender waits, as SMPI has it by default. "SimGrid's routes" are those of ties=positive.

The peer's seconds are of its whole run, ours in the comparison those to make the schedule and to simulate it. A run
of the peer is ended after --limit processor seconds. Cases of which it takes minutes need --peers all.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import smpi

LINKS = "link=10GB/s hop=100ns per_hop=100ns"
BARE = "L=100ns o=0s g=0s G=0 S=64KiB cores=1"
INTERFACES = "L=1us o=250ns g=250ns G=100ps/B S=64KiB"
PACKET = 2048


@dataclass(frozen=True)
class Case:
    """``asked``: seconds and bytes, or a rate per second, of the first; ``rate`` names what is counted."""

    name: str
    machine: str
    work: Callable[[], tuple[Any, int]]
    model: str = "flow"
    routing: str = "minimal"
    resolution: float = 0.01
    asked: float | None = None
    asked_memory: float | None = None
    rate: str = ""
    quick: bool = True
    peer: tuple[smpi.Platform, int, str, str, int] | None = None
    settings: tuple[tuple[str, tuple[str, ...]], ...] = (("sent", smpi.EAGER),)  # of the peer, each a run
    long: bool = False  # the peer takes minutes


def collective(kind: str, ranks: int, size: int, algorithm: str) -> Callable[[], tuple[Any, int]]:
    """The schedule and 1, its ranks on a node."""

    def make() -> tuple[Any, int]:
        import isthmus

        return isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm), 1

    return make


def by_xor(ranks: int, size: int) -> Callable[[], tuple[Any, int]]:
    """An alltoall in which rank r and rank r XOR k exchange their blocks in step k."""

    def make() -> tuple[Any, int]:
        import numpy as np

        import isthmus

        rank = np.arange(ranks)
        b = isthmus.ProgramBuilder(ranks)
        for k in range(1, ranks):
            b.irecv(rank, rank ^ k, size)
            b.isend(rank, rank ^ k, size)
            b.waitall(rank)
        return isthmus.lower(b.build()), 1

    return make


def halo(dims: tuple[int, int, int], size: int, iterations: int, a_node: int) -> Callable[[], tuple[Any, int]]:
    """Computation and exchange with six neighbours in a periodic box of ranks."""

    def make() -> tuple[Any, int]:
        import numpy as np

        import isthmus

        ranks = int(np.prod(dims))
        rank = np.arange(ranks)
        at = np.stack(np.unravel_index(rank, dims))
        b = isthmus.ProgramBuilder(ranks)
        for _ in range(iterations):
            b.compute(rank, 50e-6 + rank * 37 % 64 * 1e-7)
            for axis in range(3):
                for tag, way in enumerate((1, -1)):
                    to, source = at.copy(), at.copy()
                    to[axis], source[axis] = (at[axis] + way) % dims[axis], (at[axis] - way) % dims[axis]
                    b.irecv(rank, np.ravel_multi_index(tuple(source), dims), size, tag=2 * axis + tag)
                    b.isend(rank, np.ravel_multi_index(tuple(to), dims), size, tag=2 * axis + tag)
            b.waitall(rank)
        return isthmus.lower(b.build()), a_node

    return make


def uniform(nodes: int, count: int, interval: float) -> Callable[[], tuple[Any, int]]:
    """Every node sends a packet to a random other one at equal intervals."""

    def make() -> tuple[Any, int]:
        import numpy as np

        import isthmus

        rng = np.random.default_rng(1)
        rank = np.arange(nodes)
        b = isthmus.ProgramBuilder(nodes)
        for k in range(count):
            to = (rank + rng.integers(1, nodes, nodes)) % nodes
            b.irecv(to, rank, PACKET, tag=k)
            b.isend(rank, to, PACKET, tag=k)
            b.compute(rank, interval)
        b.waitall(rank)
        return isthmus.lower(b.build()), 1

    return make


RENDEZVOUS = (("sender waits", smpi.RENDEZVOUS), ("posted", smpi.PLAIN))
BY_RENDEZVOUS = BARE.replace("S=64KiB", "S=0")
# Extents of 9 and 5 have no routes that are equally long both ways: SimGrid goes the positive way of these.
ODD = smpi.Platform("TORUS", "9,9,5", 405)
# In SimGrid the share of a message falls with the latency of its route; without latency all shares are equal.
EQUAL = "link=10GB/s hop=0s per_hop=0s L=0s o=0s g=0s G=0 S=64KiB cores=1"
TORUS = {64: ("4x4x4", "4,4,4"), 256: ("8x8x4", "8,8,4"), 1024: ("16x8x8", "16,8,8"), 4096: ("16x16x16", "16,16,16")}
PLATFORMS = {
    "dragonfly": smpi.Platform("DRAGONFLY", "4,1;1,1;8,1;2"),
    "fat tree": smpi.Platform("FAT_TREE", "3;4,4,4;1,4,4;1,1,1"),
    **{f"torus {n}": smpi.Platform("TORUS", peer) for n, (_, peer) in TORUS.items()},
}
PAIRWISE, LINEAR = ("alltoall", "pairwise", "ring"), ("alltoall", "linear", "basic_linear")
XOR = ("alltoall", "XOR", "pair")
DOUBLING = ("allreduce", "recursive_doubling", "rdb")


def torus(ranks: int, more: str = "") -> str:
    return f"torus:{TORUS[ranks][0]} {LINKS} {more or BARE}"


def peer(platform: str, ranks: int, what: tuple[str, str, str], size: int) -> Any:
    return PLATFORMS[platform], ranks, what[0], what[2], size


def of_collective(name: str, ranks: int, what: tuple[str, str, str], size: int, machine: str, **more: Any) -> Case:
    return Case(name, machine, collective(what[0], ranks, size, what[1]), **more)


DRAGONFLY_64 = f"dragonfly:a=8,p=2,h=1,g=4,links=1 {LINKS} {BARE}"
FAT_TREE_64 = f"fattree:k=4,n=3 {LINKS} {BARE}"
DRAGONFLY_8320 = f"dragonfly:a=16,p=8,h=4,g=65 {LINKS} {INTERFACES} cores=1"
UNIFORM_8320 = uniform(8320, 20, 1e-6)

CASES = (
    of_collective("linear alltoall 64, torus", 64, LINEAR, 4096, torus(64), asked=0.02,
                  peer=peer("torus 64", 64, LINEAR, 4096)),
    of_collective("  linear, SimGrid's routes", 64, LINEAR, 4096, f"torus:4x4x4,ties=positive {LINKS} {BARE}",
                  peer=peer("torus 64", 64, LINEAR, 4096)),
    of_collective("linear alltoall 64, dragonfly", 64, LINEAR, 4096, DRAGONFLY_64, asked=0.02,
                  peer=peer("dragonfly", 64, LINEAR, 4096)),
    of_collective("linear alltoall 64, fat tree", 64, LINEAR, 4096, FAT_TREE_64, asked=0.02,
                  peer=peer("fat tree", 64, LINEAR, 4096)),
    of_collective("linear alltoall 256, torus", 256, LINEAR, 4096, torus(256), asked=1,
                  peer=peer("torus 256", 256, LINEAR, 4096), long=True),
    of_collective("  with interfaces", 256, LINEAR, 4096, torus(256, INTERFACES + " cores=1")),
    of_collective("pairwise alltoall 256, torus", 256, PAIRWISE, 4096, torus(256),
                  peer=peer("torus 256", 256, PAIRWISE, 4096)),
    of_collective("  pairwise, S=0", 256, PAIRWISE, 4096, torus(256, BY_RENDEZVOUS), settings=RENDEZVOUS,
                  peer=peer("torus 256", 256, PAIRWISE, 4096)),
    Case("alltoall by XOR 256, torus", torus(256), by_xor(256, 4096),
         peer=peer("torus 256", 256, XOR, 4096)),
    Case("  by XOR, S=0", torus(256, BY_RENDEZVOUS), by_xor(256, 4096), settings=RENDEZVOUS,
         peer=peer("torus 256", 256, XOR, 4096)),
    of_collective("  pairwise, SimGrid's routes", 256, PAIRWISE, 4096, f"torus:8x8x4,ties=positive {LINKS} {BARE}",
                  peer=peer("torus 256", 256, PAIRWISE, 4096)),
    of_collective("  pairwise, S=0, SimGrid's routes", 256, PAIRWISE, 4096,
                  f"torus:8x8x4,ties=positive {LINKS} {BY_RENDEZVOUS}", settings=RENDEZVOUS,
                  peer=peer("torus 256", 256, PAIRWISE, 4096)),
    Case("  by XOR, SimGrid's routes", f"torus:8x8x4,ties=positive {LINKS} {BARE}", by_xor(256, 4096),
         peer=peer("torus 256", 256, XOR, 4096)),
    Case("  by XOR, S=0, SimGrid's routes", f"torus:8x8x4,ties=positive {LINKS} {BY_RENDEZVOUS}", by_xor(256, 4096),
         settings=RENDEZVOUS, peer=peer("torus 256", 256, XOR, 4096)),
    of_collective("pairwise 256, torus 9x9x5", 256, PAIRWISE, 4096, f"torus:9x9x5 {LINKS} {BARE}",
                  peer=(ODD, 256, "alltoall", "ring", 4096)),
    of_collective("  pairwise, S=0, torus 9x9x5", 256, PAIRWISE, 4096, f"torus:9x9x5 {LINKS} {BY_RENDEZVOUS}",
                  settings=RENDEZVOUS, peer=(ODD, 256, "alltoall", "ring", 4096)),
    of_collective("  pairwise, no latency, 9x9x5", 256, PAIRWISE, 4096, f"torus:9x9x5 {EQUAL}", resolution=0,
                  peer=(replace(ODD, latency="0"), 256, "alltoall", "ring", 4096)),
    of_collective("  pairwise, no latency, 8x8x4", 256, PAIRWISE, 4096, f"torus:8x8x4,ties=positive {EQUAL}",
                  resolution=0, peer=(replace(PLATFORMS["torus 256"], latency="0"), 256, "alltoall", "ring", 4096)),
    Case("alltoall by XOR 256, torus 9x9x5", f"torus:9x9x5 {LINKS} {BARE}", by_xor(256, 4096),
         peer=(ODD, 256, "alltoall", "pair", 4096)),
    Case("  by XOR, S=0, torus 9x9x5", f"torus:9x9x5 {LINKS} {BY_RENDEZVOUS}", by_xor(256, 4096), settings=RENDEZVOUS,
         peer=(ODD, 256, "alltoall", "pair", 4096)),
    of_collective("pairwise alltoall 1,024, torus", 1024, PAIRWISE, 4096, torus(1024), asked=4, asked_memory=0.5e9,
                  quick=False, peer=peer("torus 1024", 1024, PAIRWISE, 4096), long=True),
    of_collective("  with interfaces", 1024, PAIRWISE, 4096, torus(1024, INTERFACES + " cores=1"), quick=False),
    of_collective("recursive doubling 4,096, torus", 4096, DOUBLING, 8, torus(4096), asked=0.1,
                  peer=peer("torus 4096", 4096, DOUBLING, 8), long=True),
    Case("halo 131,072, torus 32x32x32", f"torus:32x32x32 {LINKS} {INTERFACES} cores=4",
         halo((32, 32, 128), 8192, 10, 4), asked=60, asked_memory=8e9, quick=False),
    Case("  far neighbours, 1 iteration", f"torus:32x32x32 {LINKS} {INTERFACES} cores=4",
         halo((64, 64, 32), 8192, 1, 4), quick=False),
    Case("166,400 packets, dragonfly 8,320", DRAGONFLY_8320, UNIFORM_8320, routing="adaptive", asked=1,
         asked_memory=0.2e9, quick=False),
    Case("166,400 packets, dragonfly 8,320", DRAGONFLY_8320, UNIFORM_8320, model="packet", routing="adaptive",
         asked=3, asked_memory=0.2e9, quick=False),
    of_collective("linear alltoall 256, torus", 256, LINEAR, 4096, torus(256), model="reserve", asked=5e6,
                  rate="messages"),
    of_collective("pairwise alltoall 1,024, torus", 1024, PAIRWISE, 4096, torus(1024), model="reserve", asked=5e6,
                  rate="messages", quick=False),
    of_collective("linear alltoall 256, torus", 256, LINEAR, 4096, torus(256), model="packet", asked=3e6,
                  rate="packet-hops"),
    of_collective("pairwise alltoall 1,024, torus", 1024, PAIRWISE, 4096, torus(1024), model="packet", asked=3e6,
                  rate="packet-hops", quick=False),
)  # fmt: skip


def user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def measure(case: Case, repeat: int) -> dict[str, float]:
    """Seconds and bytes of one case, in this process."""
    import isthmus

    machine = isthmus.Machine.parse(case.machine)
    isthmus.simulate(isthmus.collective("barrier", ranks=2), machine, [0, 1], model=case.model)
    begin = user_seconds()
    schedule, a_node = case.work()
    made = user_seconds() - begin
    job = machine.allocate(-(-schedule.ranks // a_node), ranks_per_node=a_node)
    seconds = []
    for _ in range(repeat):
        begin = user_seconds()
        t = isthmus.simulate(
            schedule,
            machine,
            job,
            model=case.model,
            routing=case.routing,
            record="finish",
            **({"resolution": case.resolution} if case.model == "flow" else {}),
        )
        seconds.append(user_seconds() - begin)
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    assert t.deadlock is None
    assert t.traffic is not None
    # In the network a message is one byte shorter than it is.
    each = t.bytes / t.messages - 1
    hops = t.traffic.bytes.sum() / each * -(-each // PACKET)
    return {
        "made": made,
        "seconds": statistics.median(seconds),
        "peak": peak,
        "messages": t.messages,
        "packet-hops": hops,
        "makespan": t.makespan,
    }


def in_process_of_its_own(number: int, repeat: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--number", str(number), "--repeat", str(repeat)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{CASES[number].name}: the process ended with {done.returncode}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def line(case: Case, m: dict[str, float]) -> str:
    asked = ""
    if case.rate:
        rate = m[case.rate] / m["seconds"] / 1e6
        asked = f"{rate:.1f} million {case.rate}/s, asked {case.asked / 1e6:g}" if case.asked else ""
    elif case.asked is not None:
        memory = f", {case.asked_memory / 1e6:,.0f} MB" if case.asked_memory else ""
        asked = f"asked {case.asked:g} s{memory}"
    return (
        f"{case.name:<33} {case.model:<8} {m['messages']:>10,.0f} {m['made']:>7.3f} {m['seconds']:>8.3f} "
        f"{m['peak'] / 1e6:>7,.0f} {m['makespan'] * 1e6:>11,.1f} {asked}"
    )


def peer_line(
    case: Case, protocol: str, settings: tuple[str, ...], m: dict[str, float], program: Path, limit: int
) -> tuple[str, dict[str, Any]]:
    assert case.peer is not None
    found = smpi.run(program, *case.peer, limit, settings)
    ours = m["made"] + m["seconds"]
    if found.simulated is None:
        words = f"{'ended':>11} more than {found.user / ours:,.0f} times ours"
    else:
        words = f"{found.simulated * 1e6:>11,.1f} {found.user / ours:,.1f} times ours, "
        words += f"makespan ours {100 * (m['makespan'] / found.simulated - 1):+.1f} %"
    name = f"  SMPI, {protocol}"
    text = f"{name:<33} {'':<8} {'':>10} {'':>7} {found.user:>8.2f} {found.peak / 1e6:>7,.0f} {words}"
    return text, {"protocol": protocol, "seconds": found.user, "peak": found.peak, "makespan": found.simulated}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the cases of seconds")
    parser.add_argument("--peers", choices=("none", "short", "all"), default="short")
    parser.add_argument("--limit", type=int, default=600, help="processor seconds of one run of the peer")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--case", default="", help="only cases whose name or model has this text")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.number is not None:
        print(json.dumps(measure(CASES[given.number], given.repeat)))
        return
    chosen = [i for i, c in enumerate(CASES) if (c.quick or not given.quick) and given.case in f"{c.name} {c.model}"]
    figures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        program = None
        if given.peers != "none":
            if why := smpi.missing():
                print(f"No peer: {why}.", file=sys.stderr)
            else:
                program = smpi.build(Path(scratch))
        print(f"{'case':<33} {'model':<8} {'messages':>10} {'made s':>7} {'user s':>8} {'MB':>7} {'makespan us':>11}")
        for place, number in enumerate(chosen, 1):
            case = CASES[number]
            print(f"[{place}/{len(chosen)}] {case.name.strip()}, {case.model}", file=sys.stderr, flush=True)
            m = in_process_of_its_own(number, given.repeat)
            print(line(case, m), flush=True)
            peers = []
            if program is not None and case.peer is not None and (given.peers == "all" or not case.long):
                for protocol, settings in case.settings:
                    text, peer_figures = peer_line(case, protocol, settings, m, program, given.limit)
                    print(text, flush=True)
                    peers.append(peer_figures)
            figures.append(
                {"case": case.name.strip(), "model": case.model, "machine": case.machine, **m, "peers": peers}
            )
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
