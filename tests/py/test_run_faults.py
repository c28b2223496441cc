"""The verb run where something goes wrong: one sentence, nothing half-written, no process left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import isthmus
from isthmus.errors import InvalidInput
from processes import hear

RUN = [sys.executable, "-m", "isthmus", "run"]
TWO = "mpirun -n 2 --oversubscribe"


@pytest.fixture(scope="module")
def barrier() -> isthmus.Schedule:
    return isthmus.collective("barrier", ranks=2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where everything that is made for a run is made."""
    own = tmp_path / "made"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return own


def launcher(text: str, folder: Path) -> str:
    """A launcher of this text; $program is what it has to start."""
    path = folder / "starts"
    path.write_text(f'#!/bin/sh\nwhile [ "$1" = -n ]; do shift 2; done\n{text}\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no nodes are free' >&2; exit 7", "ended with status 7: no nodes are free"),
        ("echo 'waiting for nodes' >&2; sleep 100", r"did not end within \d+ s and was stopped: --wait says how long "
         r"it may take \(it said: waiting for nodes\)"),
        ("exit 0", "ended without carrying out anything: no message"),
        (f'exec {TWO.replace("2", "3")} "$@"', "rank 0: 3 ranks were started, and the schedule has 2"),
        (f'exec {TWO.replace("2", "1")} "$@"', "rank 0: 1 rank was started, and the schedule has 2"),
    ],
)  # fmt: skip
def test_launchers_that_fail(script: str, words: str, barrier: isthmus.Schedule, tmp_path: Path, folder: Path) -> None:
    short = 2.0 if "waiting" in script else 100.0
    with pytest.raises(InvalidInput, match=f"starts.* {words}"):
        isthmus.run(barrier, launch=f"{launcher(script, tmp_path)} -n 2", wait=short, mpicc="mpicc")
    assert not list(folder.iterdir())


def ranks_of(folder: Path) -> list[int]:
    """Processes that carry something out with files in the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"/launch") and any(os.fsencode(folder) in word for word in words):
            found.append(int(path.parent.name))
    return sorted(found)


def begin_long(tmp_path: Path, folder: Path) -> subprocess.Popen[str]:
    """A run of a schedule in which rank 0 computes for long, and rank 1 waits for it; it is at that."""
    schedule = isthmus.Schedule.of(
        2,
        rank=[0, 0, 1],
        kind=["calc", "send", "recv"],
        amount=[0, 8, 8],
        seconds=[300, 0, 0],
        peer=[0, 1, 0],
        op=1,
        on=0,
    )
    schedule.save(tmp_path / "long.h5")
    process = subprocess.Popen(
        [*RUN, "long.h5", "--launch", TWO, "-o", "ran.h5"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=hear,
    )  # fmt: skip
    for _ in range(1200):
        # The ranks have met when their shared memory has lost its name.
        if len(ranks_of(folder)) == 2 and all("isthmus" in maps(rank) for rank in ranks_of(folder)):
            time.sleep(1)
            return process
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    raise AssertionError("the ranks did not start")


def maps(process: int) -> str:
    try:
        return "isthmus" if "/dev/shm/isthmus" in Path(f"/proc/{process}/maps").read_text() else ""
    except OSError:
        return ""


def nothing_is_left(tmp_path: Path, folder: Path) -> None:
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.h5", "made"]
    assert not [path for path in folder.iterdir() if path.name.startswith("isthmus")]
    for _ in range(100):
        if not ranks_of(folder):
            return
        time.sleep(0.05)
    raise AssertionError("processes are left")


def test_a_rank_that_dies_is_named(tmp_path: Path, folder: Path) -> None:
    process = begin_long(tmp_path, folder)
    numbers = {
        re.search(rb"OMPI_COMM_WORLD_RANK=(\d)", Path(f"/proc/{number}/environ").read_bytes())[1]: number  # type: ignore[index]
        for number in ranks_of(folder)
    }
    os.kill(numbers[b"0"], signal.SIGKILL)
    errors = process.communicate(timeout=100)[1]
    assert process.returncode == 2
    last = errors.splitlines()[-1]
    assert re.match(f"isthmus: {TWO}.*rank 0 ", last), errors
    nothing_is_left(tmp_path, folder)


def test_interrupted(tmp_path: Path, folder: Path) -> None:
    process = begin_long(tmp_path, folder)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=100)[1]
    assert process.returncode == 130
    # A launcher that ends may still say something after it.
    assert "isthmus: interrupted" in errors.splitlines()
    assert "Traceback" not in errors
    nothing_is_left(tmp_path, folder)


def test_options_that_are_wrong(tmp_path: Path) -> None:
    for words, said in (
        (["barrier:ranks=2", "--launch", "no-such-launcher"], "there is no program no-such-launcher"),
        (["barrier:ranks=2", "--wait", "3"], "--wait 3: has no unit: a time needs one, as 3s or 3min"),
        (["barrier:ranks=2", "--collectives", "barrier=linear"], "a schedule has none left to choose algorithms for"),
        (["barrier:ranks=2", "-o", "ran.txt"], "-o ran.txt: must end in .h5, .hdf5"),
        (["barrier:ranks=2", "--directory", "nowhere"], "nowhere"),
        ([], "give FILE or --example NAME"),
    ):
        done = subprocess.run([*RUN, *words], cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 2
        assert done.stderr.startswith("isthmus: ")
        assert done.stderr.count("\n") == 1
        assert said in done.stderr
    assert not list(tmp_path.iterdir())
