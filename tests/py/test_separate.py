"""Libraries in child processes: whatever they do, the caller gets a copy or one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import isthmus
from isthmus import ParseError, separate
from otf2_traces import ProgramWriter
from recorded_programs import random_program

LIBRARY = """
import os, sys, time
from isthmus import separate
def copy(source, target, progress):
    what = open(source).read()
    print("printed"); print("printed", file=sys.stderr); os.system("echo printed")
    if what == "crashes": os.abort()
    while what == "loops": pass
    if what == "sleeps": time.sleep(60)
    if what == "eats": b"x" * (1 << 40)
    if what == "fails": raise KeyError("a\\nb")
    if what == "lasts":
        for i in range(3):
            progress(i, 3)
            end = time.process_time() + 0.6
            while time.process_time() < end: pass
    open(target, "w").write(what)
if __name__ == "__main__":
    sys.exit(separate.main(copy, sys.argv[1:]))
"""
LIMITS = separate.Limits(1, 4 << 30, 1 << 30)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "library_of_test.py").write_text(LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "library_of_test"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("crashes", "reading it ended its library with SIGABRT"),
        ("loops", "reading it did not end within 1 s of processor time"),
        ("sleeps", "reading it did not end within 2 s"),
        ("eats", "MemoryError"),
        ("fails", "KeyError: 'a\\nb'"),
    ],
)
def test_one_sentence(
    library: str,
    what: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(separate, "_WALL", 2 if what == "sleeps" else 60)
    (tmp_path / "x").write_text(what)
    path = str(tmp_path / "x")
    with (
        pytest.raises(ParseError) as error,
        separate.copied(library, path, LIMITS, "a damaged file"),
    ):
        pass
    assert str(error.value) == f"{path}: a damaged file ({why})"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("what", ["good", "lasts"])
def test_copies(library: str, what: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The limit of time is from one report to the next."""
    (tmp_path / "x").write_text(what)
    seen: list[tuple[int, int]] = []
    report = lambda done, total: seen.append((done, total))  # noqa: E731
    with separate.copied(library, str(tmp_path / "x"), LIMITS, "", progress=report) as copy:
        assert Path(copy).read_text() == what
    assert not Path(copy).exists()
    assert seen == ([] if what == "good" else [(0, 3), (1, 3), (2, 3)])
    assert capfd.readouterr() == ("", "")


def test_damaged_otf2_traces_are_one_line(tmp_path: Path) -> None:
    ProgramWriter(random_program(Random(1), 2, 5, lists=False), tmp_path / "t")
    program = isthmus.read(tmp_path / "t" / "traces.otf2")
    assert isinstance(program, isthmus.Program)
    assert program.recording is not None
    events = sorted((tmp_path / "t" / "traces").glob("*.evt"))[0]
    content = events.read_bytes()
    events.write_bytes(content[:100])
    words = [sys.executable, "-m", "isthmus", "show", str(tmp_path / "t" / "traces.otf2")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("isthmus: ")
    assert done.stderr.count("\n") == 1
