"""The recorder on other processors than x86-64: it compiles, records, and says what it does not know there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mpi_programs
from isthmus.recording import build as building
from isthmus.recording import raw
from isthmus.recording.build import sources
from isthmus.recording.merge import merge
from isthmus.recording.profile import profile
from isthmus.recording.profile_text import report
from isthmus.schedule.recording import NONE


def test_without_anything_of_x86_64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(building, "_FLAGS", (*building._FLAGS, "-DISTHMUS_PORTABLE", "-Werror"))
    program = mpi_programs.compiled("paths.c", "openmpi", tmp_path)
    run = mpi_programs.run([str(program)], "openmpi", tmp_path)
    assert run.status == 0, run.errors
    assert {int(trace.header["paths"]) for trace in run.traces} == {raw.PATHS_PLACES}
    merged = merge(tmp_path / "raw")
    recording = merged.recording
    assert recording is not None
    assert len(recording) > 7
    assert (recording.path_parent == NONE).all()
    lines = (mpi_programs.SOURCES / "paths.c").read_text().splitlines()
    assert {text for text in recording.sites if text.startswith("paths.c:")} >= {
        f"paths.c:{i}" for i, line in enumerate(lines, 1) if "MPI_Barrier" in line
    }
    words = "call paths are the places of calls alone: on this processor the stack is not followed"
    assert recording.notes.count(words) == 1
    assert " ".join(report(profile(merged)).split()).count(words) == 1


def test_compiles_for_aarch64(tmp_path: Path) -> None:
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if compiler is None:
        pytest.skip("no compiler for aarch64")
    mpicc = mpi_programs.installed("openmpi").mpi.mpicc
    shown = subprocess.run([mpicc, "-showme:compile"], capture_output=True, text=True, check=True).stdout.split()
    header = [mpicc, "-E", "-P", "-include", "mpi.h", "-x", "c", "/dev/null"]
    text = subprocess.run(header, capture_output=True, text=True, check=True).stdout
    generator = [sys.executable, "-B", str(sources() / "generate.py")]
    wrappers = tmp_path / "wrappers.c"
    wrappers.write_text(subprocess.run(generator, input=text, capture_output=True, text=True, check=True).stdout)
    flags = [*building._FLAGS, "-Werror", "-Wno-deprecated-declarations", "-fsyntax-only", f"-I{sources()}"]
    includes = [word for word in shown if word.startswith("-I")]
    for source in [*sorted(sources().glob("*.c")), wrappers]:
        done = subprocess.run([compiler, *flags, *includes, str(source)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
