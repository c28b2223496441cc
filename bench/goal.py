"""GOAL files: how fast schedules are read, written and validated, on one core.

    python bench/goal.py [--ranks N] [--repeat N] [--peer PATH] [--json FILE]

The file is a dissemination among N ranks (65,536: 77 MB of text). With --peer, LogGOPSim's txt2bin at PATH converts the
same text in the same run, beside reading the text and writing the binary here, and both binaries must be equal. Times
are medians, in processor seconds (user and system).
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any


def median_time(function: Callable[[], Any], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def child_time(command: list[str], repeat: int) -> float:
    """Processor seconds of a command."""
    times = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def dissemination(ranks: int) -> Any:
    """In round k every rank sends to the one 2^k behind it, once it has received in round k - 1."""
    import numpy as np

    import isthmus

    rounds = max(1, (ranks - 1).bit_length())
    rank = np.repeat(np.arange(ranks, dtype=np.int64), 2 * rounds)
    step = np.tile(np.repeat(1 << np.arange(rounds), 2), ranks)
    send = np.arange(len(rank)) % 2 == 0
    op = np.flatnonzero(send & (np.tile(np.arange(2 * rounds), ranks) > 0))
    return isthmus.Schedule.of(
        ranks,
        rank=rank,
        kind=np.where(send, 1, 2),
        amount=1,
        peer=np.where(send, rank + step, rank - step) % ranks,
        op=op,
        on=op - 1,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=65536)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer", metavar="PATH", help="a txt2bin")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    from isthmus.schedule.goal import read_goal, write_goal

    schedule = dissemination(options.ranks)
    arrays = schedule.arrays
    figures: dict[str, Any] = {"operations": len(schedule), "dependencies": len(schedule.edges)}
    print(f"Dissemination, {options.ranks:,} ranks, {len(schedule):,} operations, {len(schedule.edges):,} dependencies")
    with tempfile.TemporaryDirectory() as folder:
        text, binary = os.path.join(folder, "x.goal"), os.path.join(folder, "x.bin")
        tasks: dict[str, tuple[str, Callable[[], Any]]] = {
            "write text": (text, lambda: write_goal(arrays, text, binary=False)),
            "read text": (text, lambda: read_goal(text)),
            "write binary": (binary, lambda: write_goal(arrays, binary, binary=True)),
            "read binary": (binary, lambda: read_goal(binary)),
        }
        for name, (path, task) in tasks.items():
            seconds = median_time(task, options.repeat)
            size = os.path.getsize(path) / 1e6
            figures[name] = {"MB": size, "s": seconds, "MB_per_s": size / seconds}
            print(f"  {name:14} {size:8.1f} MB {seconds:8.3f} s {size / seconds:8.0f} MB/s")
        seconds = median_time(schedule.validate, options.repeat)
        figures["validate"] = {"s": seconds, "operations_per_s": len(schedule) / seconds}
        print(
            f"  validate                   {seconds:8.3f} s {len(schedule) / seconds / 1e6:8.1f} million operations/s"
        )
        if options.peer:
            converted = os.path.join(folder, "peer.bin")
            ours = median_time(lambda: write_goal(read_goal(text), binary, binary=True), options.repeat)
            peer = child_time([options.peer, "-i", text, "-o", converted], options.repeat)
            if not filecmp.cmp(binary, converted, shallow=False):
                raise SystemExit(f"{options.peer} writes another binary")
            figures["convert"] = {"s": ours, "peer_s": peer, "times_peer": peer / ours}
            print(
                f"  text to binary {ours:8.3f} s, txt2bin {peer:8.3f} s: {peer / ours:.1f} times as fast, equal files"
            )
    figures["peak_MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(figures, stream, indent=2)


if __name__ == "__main__":
    main()
