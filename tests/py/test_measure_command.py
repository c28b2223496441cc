"""The command measure on this computer, with the MPI libraries that are installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import isthmus
import mpi_programs as programs
from isthmus.measuring.plan import UNSEEN, sizes
from isthmus.measuring.samples import Samples
from processes import hear

MEASURE = [sys.executable, "-m", "isthmus", "measure"]


def measure(folder: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*MEASURE, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == status, done.stderr
    return done


def cores() -> int:
    return len(os.sched_getaffinity(0))


@pytest.mark.skipif(cores() < 2, reason="two ranks need two cores")
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_this_computer(name: str, tmp_path: Path) -> None:
    launch = " ".join(programs.launcher(name, 2))
    done = measure(
        tmp_path, "--only", "loggp", "--quick", "--budget", "3s", "--launch", launch, "-o", "here.toml", "--json"
    )
    out = json.loads(done.stdout)
    assert out["files"] == ["here.toml", "here.h5"]
    here = isthmus.load(tmp_path / "here.toml")
    known = here.measured
    assert known is not None
    assert known.ranks == 2
    assert known.raw == "here.h5"
    assert known.mpi.startswith("Open MPI" if name == "openmpi" else "MPICH")
    latency = here.curves["latency-socket"]
    # On a busy computer time may be up before every size had its turn.
    assert set(latency.x) <= set(sizes(quick=True))
    assert latency.x
    # No message takes less than some instructions or more than some scheduler's slices.
    assert 2e-8 < latency.y[0] < 0.05
    assert latency.y[-1] > 0
    samples = Samples.load(tmp_path / "here.h5")
    assert samples.fact("ranks") == "2"
    fitted = [one for one in samples.of("pingpong", a=0, b=1) if not one.item.name.startswith(UNSEEN)]
    assert len(fitted) == len(latency.x)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.h5", "here.toml"]
    assert "exists already" in measure(tmp_path, "-o", "here.toml", status=2).stderr


@pytest.mark.skipif(cores() < 2, reason="two ranks need two cores")
def test_interrupted_and_continued(tmp_path: Path) -> None:
    """Ctrl-C: one sentence, nothing half-written, no process left; the same command goes on."""
    launch = " ".join(programs.launcher("openmpi", 2))
    words = ["--only", "loggp", "--quick", "--budget", "3s", "--launch", launch, "-o", "here.toml"]
    process = subprocess.Popen([*MEASURE, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=hear)
    journal = tmp_path / "here.journal" / "mpi.0"
    for _ in range(600):
        if journal.is_file() and b"sample" in journal.read_bytes():
            break
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    # The launcher, which ends at the same time, may write an empty line.
    assert [line for line in errors.splitlines() if line][-1] == "isthmus: interrupted"
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["here.journal"]
    assert not any(str(tmp_path) in command for command in commands())
    done = measure(tmp_path, *words)
    assert "isthmus: going on with the measurement in here.journal" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.h5", "here.toml"]


def commands() -> list[str]:
    """Command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_bad_launchers(tmp_path: Path) -> None:
    bad = measure(
        tmp_path, "--launch", "mpirun.openmpi -n 2 --no-such-option", "--only", "loggp", "-o", "x.toml", status=2
    )
    assert bad.stderr.count("isthmus: ") == 1
    assert "ended with status" in bad.stderr
    assert not (tmp_path / "x.toml").exists()
    none = measure(tmp_path, "--launch", "no-such-launcher -n 2", status=2)
    assert none.stderr == "isthmus: --launch no-such-launcher -n 2: there is no program no-such-launcher\n"
    assert "must be one of stream" in measure(tmp_path, "--only", "x", status=2).stderr
    for option, text, words in (
        ("--budget", "5 apples", "must be a time such as 90s or 10min"),
        ("--budget", "100", "has no unit: a time needs one, as 100s or 100min"),
        ("--wait", "1.5", "has no unit: a time needs one, as 1.5s or 1.5min"),
        ("--budget", "0", "must be a time above 0"),
        ("--budget", "-1min", "must be a time above 0"),
    ):
        bad = measure(tmp_path, option, text, status=2)
        assert bad.stderr == f"isthmus: {option} {text}: {words}\n"


def test_more_ranks_than_cores(tmp_path: Path) -> None:
    ranks = cores() + 1
    launch = f"{' '.join(programs.launcher('openmpi', ranks))} --oversubscribe"
    bad = measure(tmp_path, "--launch", launch, "--only", "loggp", status=2)
    assert f"{ranks} ranks share {cores()} cores" in bad.stderr or "bound to the same core" in bad.stderr
