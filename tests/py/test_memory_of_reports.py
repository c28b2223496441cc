"""Memory that reports of large recordings take, for each call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isthmus.recording import raw
from isthmus.recording.merge import merge
from raw_traces import RawTrace, recv, send

RANKS, TURNS = 4, 25_000
#: Columns are large from the given number of elements on; the command line behind it.
_COMMAND = """
import atexit, re, sys
from pathlib import Path
from isthmus.entry import main
from isthmus.schedule import columns
columns.LARGE = int(sys.argv.pop(1))
atexit.register(lambda: print(re.search("VmHWM:.*", Path("/proc/self/status").read_text())[0], file=sys.stderr))
main()
"""


def write_ring(directory: Path, rank: int) -> None:
    """Exchanges of sizes that differ, at times that differ, with a sum after each."""
    t = RawTrace(rank, RANKS)
    t.comm(1, rank, range(RANKS), parent=0)
    for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce"):
        t.function(name)
    t.site("ring.c:7")
    tables, t.records, begin = b"".join(t.records), [], t.now
    right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
    t.messages("MPI_Irecv", recv(left, 4096, request=1), site="ring.c:7")
    t.messages("MPI_Isend", send(right, 4096, request=2), site="ring.c:7")
    t.done("MPI_Waitall", (1, raw.RECEIVED, left, 0, 4096), (2, 0), site="ring.c:7")
    t.collective("MPI_Allreduce", 4, 8, site="ring.c:7")
    body = np.tile(np.frombuffer(b"".join(t.records), np.int64), (TURNS, 1))
    at = 0
    for record in t.records:
        # Begin and end stand in the third and fourth word of a call.
        body[:, [at + 2, at + 3]] += (np.arange(TURNS) * (t.now - begin))[:, None]
        at += len(record) // 8
    t.now = begin + TURNS * (t.now - begin)
    t.records = [tables, body.tobytes()]
    t.write(directory)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ring")
    for rank in range(RANKS):
        write_ring(folder, rank)
    merge(folder).save(folder / "ring.h5")
    return folder / "ring.h5"


def show(recording: Path, large: int) -> tuple[str, int]:
    """What the command prints, and the peak of its memory in bytes."""
    words = [sys.executable, "-c", _COMMAND, str(large), "show", str(recording)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout, int(done.stderr.split()[-2]) * 1024


def test_measurements_of_calls_are_looked_at_in_parts(recording: Path) -> None:
    """Half a hundred bytes a call less than with all columns in memory, for the same text."""
    (text, whole), (same, parts) = (show(recording, size) for size in (1 << 40, 1 << 16))
    assert same == text
    assert (whole - parts) / (4 * RANKS * TURNS) >= 40
