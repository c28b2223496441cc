"""Raw traces: how fast they become a Program, on one core.

    python bench/merge.py [--ranks N] [--calls N] [--json FILE]

The traces are of a ring with an allreduce after every exchange: two nonblocking messages, a waitall and the allreduce,
over and over, N calls in all (a million), in the files that the recorder leaves. Times are processor seconds. Memory is
told as what the process had in all, and as what the system cannot write back to files (anonymous memory).
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "py"))


def write_rank(directory: Path, rank: int, ranks: int, repeat: int) -> int:
    """The trace of one rank, whose iterations are copies with later times; the bytes of it."""
    import numpy as np

    from isthmus.recording import raw
    from raw_traces import RawTrace, recv, send

    t = RawTrace(rank, ranks)
    t.comm(1, rank, range(ranks), parent=0)
    for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce"):
        t.function(name)
    t.site("ring.c:7")
    tables, t.records, begin = b"".join(t.records), [], t.now
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    t.messages("MPI_Irecv", recv(left, 4096, request=1), site="ring.c:7")
    t.messages("MPI_Isend", send(right, 4096, request=2), site="ring.c:7")
    t.done("MPI_Waitall", (1, raw.RECEIVED, left, 0, 4096), (2, 0), site="ring.c:7")
    t.collective("MPI_Allreduce", 4, 8, site="ring.c:7")
    once = np.frombuffer(b"".join(t.records), np.int64)
    body = np.tile(once, (repeat, 1))
    at = 0
    for record in t.records:
        # Begin and end stand in the third and fourth word of a call.
        body[:, [at + 2, at + 3]] += (np.arange(repeat) * (t.now - begin))[:, None]
        at += len(record) // 8
    t.now = begin + repeat * (t.now - begin)
    t.records = [tables, body.tobytes()]
    return len(t.write(directory).read_bytes())


class Anonymous(threading.Thread):
    """Looks every 20 ms at how much memory the process has that no file holds, and keeps the largest."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = 0

    def run(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text()
            self.largest = max(self.largest, int(status.split("RssAnon:")[1].split()[0]) * 1024)
            time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    import isthmus
    from isthmus.recording.merge import merge

    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        repeat = options.calls // options.ranks // 4
        size = sum(write_rank(directory, rank, options.ranks, repeat) for rank in range(options.ranks))
        result: dict[str, Any] = {"ranks": options.ranks, "calls": 4 * repeat * options.ranks, "bytes": size}
        anonymous = Anonymous()
        anonymous.start()
        begin = time.process_time()
        program = merge(directory)
        result["merge_s"] = time.process_time() - begin
        result["anonymous_bytes"] = anonymous.largest
        result["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        begin = time.process_time()
        program.save(directory / "program.h5")
        result["save_s"] = time.process_time() - begin
        result["file_bytes"] = (directory / "program.h5").stat().st_size
        begin = time.process_time()
        found = isthmus.read(directory / "program.h5")
        result["read_s"] = time.process_time() - begin
        if found != program or len(program.recording) != result["calls"]:
            raise SystemExit("the program is not the one that was saved, or calls are missing")
    print(f"{result['calls']} calls of {result['ranks']} ranks, {size / 1e6:.0f} MB of raw traces")
    for what in ("merge", "save", "read"):
        seconds = result[f"{what}_s"]
        print(f"  {what:6} {seconds:7.2f} s, {result['calls'] / seconds / 1e6:6.2f} million calls/s")
    print(
        f"  file   {result['file_bytes'] / 1e6:7.1f} MB, merged in at most "
        f"{result['peak_bytes'] / 1e6:.0f} MB of memory, {result['anonymous_bytes'] / 1e6:.0f} MB of it in no file"
    )
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
