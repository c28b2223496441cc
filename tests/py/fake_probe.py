#!/usr/bin/env python3
"""A stand-in for the programs that measure: reads a plan and writes the journal of a machine that it makes up.

Environment: FAKE_RANKS, FAKE_HOSTS (ranks are dealt out in blocks), FAKE_AFFINITY (one word a rank), FAKE_CRASH (an
item at which it crashes), FAKE_HANG (at which it hangs), FAKE_LINGER (seconds after which it ends), FAKE_STOP (items
after which it is killed), FAKE_FULL (the disk is full after so many items).
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time

#: What the machine is made of, by level: both overheads, latency, gap, time per byte.
LEVELS = {"socket": (0.2e-6, 0.1e-6, 0.15e-6, 1e-10), "network": (0.5e-6, 1e-6, 0.6e-6, 1e-9)}
COUNT = itertools.count()
MEMORY, FLOPS = (10e9, 18e9, 20e9, 20e9), 4e9


def numbers(item: str, parameters: dict[str, str], hosts: list[str]) -> list[float]:
    """One repetition."""
    at = {key: float(value) for key, value in parameters.items() if value.replace(".", "").replace("e-", "").isdigit()}
    size = at.get("bytes", 0.0)
    level = "network" if hosts[int(at.get("a", 0))] != hosts[int(at.get("b", 0))] else "socket"
    level = "network" if item == "behind" else level
    o, latency, g, byte = LEVELS[level]
    one = 2 * o + latency + byte * max(size - 1, 0)
    each = max(g + byte * max(size - 1, 0), o)
    kinds = {
        "clock": 2e-8,
        "pingpong": one,
        "fresh": 1.5 * one,
        "local": 1e-9 + 1e-10 * size,
        "prtt": 2 * one + (at.get("n", 1) - 1) * each,
        "sendcall": o,
        "receivecall": o,
        "isendcall": o,
        "sendrecv": one,
        "threshold": 8192.0,
        "window": ((at.get("n", 1) - 1) * each + one + 2 * o + latency) / at.get("n", 1),
        "bidirectional": each,
        "burst": one + (at.get("n", 1) - 1) * each + 2 * o + latency,
        "rate": each,
        "inject": byte / min(at.get("senders", 1), 2.5),
        "queue": one + 2e-9 * at.get("length", 0),
        "ring": one,
        "behind": 2 * (2 * o + latency) + 1e5 * byte,
        "stream": 1 / MEMORY[min(int(at.get("threads", 1)), 4) - 1],
        "fma": 1 / FLOPS,
        "spmv": 1e-9 if at.get("rows", 0) * 344 > 1 << 20 else 5e-10,
        "noise": at.get("quantum", 1e-3) + (5e-6 if next(COUNT) % 20 == 7 else 0.0),
        "shift": one + 1e-7 * (at.get("distance", 1) - 1),
    }
    if item == "collective":
        time_of = one * at["ranks"]
        if parameters.get("blocking") == "0":
            return [2 * time_of, 0.3 * time_of, time_of, 0.4 * time_of]
        return [time_of, 1e-8]
    if item == "startup":
        ranks = at["ranks"]
        return [0.05, 0.1 + 0.01 * ranks, 0.01, 1e7, 2e7 + 1e5 * ranks, 2e7 + 2e5 * ranks]
    return [kinds[item]]


def main() -> int:
    plan, journal = sys.argv[1:]
    ranks = int(os.environ.get("FAKE_RANKS", "2"))
    names = os.environ.get("FAKE_HOSTS", "red").split()
    hosts = [names[rank * len(names) // ranks] for rank in range(ranks)]
    random.seed(1)
    with open(plan, encoding="utf-8") as stream:
        lines = [line.split() for line in stream]
    items = [words[1:] for words in lines if words[0] == "item"]
    bind = next((" ".join(words[1:]) for words in lines if words[0] == "bind"), "")
    affinity = bind or os.environ.get("FAKE_AFFINITY", " ".join(map(str, range(ranks))))
    with open(journal, "a", encoding="utf-8", buffering=1) as out:
        facts = {"ranks": ranks, "hosts": " ".join(hosts), "affinity": affinity, "mpi": "Fake MPI v1.0, for tests"}
        facts["cores_begin"] = " ".join(str(rank) for rank in range(ranks))
        out.write("isthmus-journal 1\n" + "".join(f"machine {key} {value}\n" for key, value in facts.items()))
        for number, (name, kind, *words) in enumerate(items):
            out.write(f"begin {name} 0 {0.01 * number:.6f}\n")
            if name == os.environ.get("FAKE_CRASH"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if name == os.environ.get("FAKE_HANG"):
                time.sleep(1000)
            if str(number) == os.environ.get("FAKE_STOP"):
                out.write(f"sample {name} 0 1e-")
                os.kill(os.getppid() if os.environ.get("FAKE_STOP_PARENT") else os.getpid(), signal.SIGINT)
                time.sleep(30)
            if str(number) == os.environ.get("FAKE_FULL"):
                print(f"isthmus-probe: {journal}: No space left on device", file=sys.stderr)
                return 3
            parameters = dict(word.split("=", 1) for word in words)
            if name.startswith("gone"):
                out.write(f"skip {name} not here\n")
                continue
            for turn in range(40 if kind == "noise" else 3):
                values = numbers(kind, parameters, hosts)
                rows = [f"{value * random.uniform(0.999, 1.001):.9g}" for _ in range(5) for value in values]
                out.write(f"sample {name} {turn} {' '.join(rows)}\n")
            out.write(f"done {name} tolerance\n")
        out.write("machine cores_end " + facts["cores_begin"] + "\nend\n")
    time.sleep(float(os.environ.get("FAKE_LINGER", "0")))
    return int(os.environ.get("FAKE_STATUS", "0"))


if __name__ == "__main__":
    sys.exit(main())
