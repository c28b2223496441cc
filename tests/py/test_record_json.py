"""isthmus record on the command line: --json, --launch, and what stays the program's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import isthmus
import mpi_programs

ISTHMUS = Path(sys.executable).with_name("isthmus")
RANKS = 2


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A launcher and a program of this MPI, which ends by itself, or as its word says."""
    name = request.param
    path = mpi_programs.compiled("endings.c", name, tmp_path_factory.mktemp(name))
    run = mpi_programs.installed(name).tool("mpirun")
    if run is None:
        pytest.skip(f"mpirun of {name} is not installed")
    return run, path


def recorded(folder: Path, *words: str | Path) -> tuple[int, str, str]:
    done = subprocess.run([ISTHMUS, "record", *words], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_json(program: tuple[str, Path], tmp_path: Path) -> None:
    """What stands in JSON is what is in the file, and what the other way of asking says."""
    launcher, path = program
    status, out, err = recorded(tmp_path, "-o", "a.h5", "--json", "--", launcher, "-n", str(RANKS), path)
    assert status == 0, err
    found: dict[str, Any] = json.loads(out)
    recording = isthmus.read(tmp_path / "a.h5").recording
    assert found == {
        "file": "a.h5",
        "status": 0,
        "raw": None,
        "ranks": RANKS,
        "calls": int(recording.count.sum()),
        "lost": 0,
        "wall": max(recording.wall),
        "library": recording.library,
        "notes": found["notes"],
    }
    assert found["calls"] >= 100 * RANKS
    assert found["wall"] > 0
    assert found["notes"][0].startswith(f"{RANKS} ranks, {found['calls']} MPI calls, ")
    assert "isthmus: " not in out
    status, out, err = recorded(tmp_path, "-o", "b.h5", "--", launcher, "-n", str(RANKS), path)
    assert (status, out) == (0, "")
    assert f"isthmus: {RANKS} ranks, {found['calls']} MPI calls, " in err
    assert "isthmus: wrote b.h5, " in err


def test_launch_is_put_before_the_program(program: tuple[str, Path], tmp_path: Path) -> None:
    """--launch COMMAND -- PROGRAM records as -- COMMAND PROGRAM does."""
    launcher, path = program
    words = ("--json", "--launch", f"{launcher} -n {RANKS}", "--", path)
    status, out, err = recorded(tmp_path, *words)
    assert status == 0, err
    found = json.loads(out)
    assert (found["file"], found["ranks"]) == (f"{path.stem}.h5", RANKS)
    assert isthmus.read(tmp_path / found["file"]).ranks == RANKS
    # The file that is there is not written over.
    status, out, err = recorded(tmp_path, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--force" in err
    assert recorded(tmp_path, "--force", *words)[0] == 0


def test_json_of_a_program_that_fails(program: tuple[str, Path], tmp_path: Path) -> None:
    """Its status is the command's, and stands in JSON with what was recorded until then."""
    launcher, path = program
    words = ("--json", "-o", "a.h5", "--launch", f"{launcher} -n {RANKS}", "--", path, "abort")
    status, out, err = recorded(tmp_path, *words)
    found = json.loads(out)
    assert status == found["status"] != 0, err
    assert found["file"] == "a.h5"
    assert isthmus.read(tmp_path / "a.h5").ranks == RANKS == found["ranks"]
    assert any(f"ended with status {status}" in note for note in found["notes"])


def test_json_of_a_program_without_mpi(program: tuple[str, Path], tmp_path: Path) -> None:
    """Nothing is written, what it prints goes to standard error, and the reason stands in JSON."""
    launcher, _ = program
    # MPICH's launcher passes the end of its input on: by SIGPIPE it ends if the program has ended before.
    lasting = ("sh", "-c", "echo words; sleep 1")
    status, out, err = recorded(tmp_path, "--json", "-o", "a.h5", "--launch", f"{launcher} -n 1", "--", *lasting)
    found = json.loads(out)
    assert (status, found["status"], found["file"]) == (0, 0, None)
    assert "words" in err
    assert len(found["notes"]) == 1
    assert not (tmp_path / "a.h5").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--launch", "", "--", "true"), "--launch is empty"),
        (("--launch", "mpirun -n x", "--", "true"), "-n takes one number of ranks"),
        (("--launch", "mpirun -n 2"), "no command to record"),
        (("--json", "-o", "a.txt", "--", "true"), "must end in .h5 or .hdf5"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    status, out, err = recorded(tmp_path, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert reason in err
    assert list(tmp_path.iterdir()) == []
