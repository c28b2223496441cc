"""Time and peak memory of `isthmus advise` on a large program.

    python bench/advise.py [--ranks N] [--operations N] [--tune-time TIME] [--json FILE]

Every rank exchanges with four neighbours of a torus, computes for times that differ, and takes part in an allreduce,
over and over, about thirty million operations on 256 ranks in all. Another process makes the program and saves it, so
that only what advise takes is measured. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def save(path: str, ranks: int, operations: int) -> None:
    """Write the program, and the number of its operations to standard output."""
    import numpy as np

    import isthmus
    from isthmus.schedule.program import CollectiveKind, EventKind, Program

    side = math.isqrt(ranks)
    if side * side != ranks:
        sys.exit(f"{ranks} ranks: a square number is needed")
    row, column = np.divmod(np.arange(ranks), side)
    neighbours = np.stack(
        [(row + 1) % side * side + column, (row - 1) % side * side + column,
         row * side + (column + 1) % side, row * side + (column - 1) % side], axis=1
    )  # fmt: skip
    # Receives from the four neighbours and sends to them, opposite ones with the same tag.
    kinds = [EventKind.irecv] * 4 + [EventKind.isend] * 4 + [EventKind.waitall, EventKind.compute, EventKind.collective]
    each = len(kinds)

    def program(turns: int) -> Program:
        events = ranks * turns * each
        what = np.zeros((ranks, turns, each), np.uint8)
        what[..., 10] = CollectiveKind.allreduce
        peer = np.zeros((ranks, turns, each), np.int32)
        peer[..., :4] = neighbours[:, None, :]
        peer[..., 4:8] = neighbours[:, None, :]
        tag = np.zeros_like(peer)
        tag[..., :8] = [0, 1, 2, 3, 1, 0, 3, 2]
        amount = np.zeros((ranks, turns, each), np.uint64)
        amount[..., :8] = 8192
        amount[..., 9] = np.random.default_rng(1).integers(20_000_000, 40_000_000, (ranks, turns))
        amount[..., 10] = 8
        request = np.zeros((ranks, turns, each), np.uint32)
        request[..., :8] = np.arange(1, 9)
        return Program(
            first=np.arange(ranks + 1, dtype=np.uint64) * np.uint64(turns * each),
            kind=np.tile(np.array(kinds, np.uint8), ranks * turns),
            what=what.reshape(-1), peer=peer.reshape(-1), tag=tag.reshape(-1), comm=np.zeros(events, np.uint32),
            amount=amount.reshape(-1), request=request.reshape(-1), detail=np.zeros(events, np.uint32),
        )  # fmt: skip

    one, two = (len(isthmus.lower(program(turns))) for turns in (1, 2))
    turns = max(1, round((operations - one) / (two - one)) + 1)
    program(turns).save(path)
    print(one + (turns - 1) * (two - one))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--operations", type=int, default=30_000_000)
    parser.add_argument("--machine", default="cielo")
    parser.add_argument("--tune-time", default="10s", metavar="TIME")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--save", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.save:
        save(options.save, options.ranks, options.operations)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "program.h5")
        sizes = ["--ranks", str(options.ranks), "--operations", str(options.operations)]
        made = subprocess.run(
            [sys.executable, __file__, "--save", path, *sizes], check=True, capture_output=True, text=True
        )
        words = ["advise", path, "--machine", options.machine, "--tune-time", options.tune_time]
        begin = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-m", "isthmus", *words], stdout=subprocess.DEVNULL)
        # That of all children would count the one that made the program.
        _, status, used = os.wait4(child.pid, 0)
        passed = time.perf_counter() - begin
    if status:
        sys.exit("advise failed")
    row = {
        "ranks": options.ranks,
        "operations": int(made.stdout),
        "seconds": used.ru_utime + used.ru_stime,
        "elapsed": passed,
        "peak_bytes": used.ru_maxrss * 1024,
    }
    print(
        f"{row['ranks']} ranks, {row['operations'] / 1e6:.1f} M operations: {row['seconds']:.0f} s, "
        f"{passed:.0f} s on the clock, {row['peak_bytes'] / 1e9:.2f} GB at most"
    )
    if options.json:
        Path(options.json).write_text(json.dumps([row], indent=1) + "\n")


if __name__ == "__main__":
    main()
