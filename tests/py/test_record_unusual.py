"""Calls that do nothing, limits, full disks, programs past the recorder, and how ranks ended."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isthmus
import mpi_programs as programs
from isthmus.schedule.program import EventKind
from isthmus.schedule.recording import FULL, LIMITED


def command(name: str, folder: Path, *arguments: str, ranks: int = 1) -> list[str]:
    found = folder / f"unusual.{name}"
    path = found if found.exists() else programs.compiled("unusual.c", name, folder)
    return [*programs.launcher(name, ranks), str(path), *arguments]


def isthmus_(*arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "isthmus", *arguments], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def read(path: Path) -> tuple[isthmus.Program, isthmus.schedule.recording.Recording]:
    program = isthmus.read(path)
    assert program.recording is not None
    return program, program.recording


@pytest.mark.sampled(6, always=["openmpi-testsome", "mpich-waitall"])
@pytest.mark.parametrize("what", ["test", "inactive", "testall", "testany", "testsome", "waitall", "status"])
def test_calls_with_nothing_to_do(name: str, what: str, folder: Path, tmp_path: Path) -> None:
    """However many there are, they are one record, and take no time of waiting."""
    out = tmp_path / "x.h5"
    isthmus_("record", "--keep-raw", "-o", str(out), "--", *command(name, folder, what, "200000"))
    (trace,) = tmp_path.glob("*.raw-*/*.trace")
    assert trace.stat().st_size < 50_000
    _, recording = read(out)
    assert 200_000 <= int(recording.count.sum()) < 200_010
    assert len(recording) < 10
    assert (recording.end >= recording.begin).all()


def test_own_time(name: str, folder: Path, tmp_path: Path) -> None:
    """A loop of empty calls computes next to nothing; before, every call left what it took to record it."""
    out = tmp_path / "x.h5"
    calls = 300_000
    isthmus_("record", "-o", str(out), "--", *command(name, folder, "send", str(calls)))
    program, recording = read(out)
    computed = float(program.amount[program.kind == EventKind.compute].sum()) * 1e-12
    overhead = float(recording.overhead.sum())
    assert overhead > 0
    # The loop itself compares eight names a call, which takes some 20 ns.
    assert computed < calls * 60e-9
    assert "is subtracted from computation" in isthmus_("show", str(out)).stdout


def test_limit(name: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.h5"
    done = isthmus_("record", "--limit", "300kB", "-o", str(out), "--", *command(name, folder, "send", "20000"))
    assert "the limit was reached (--limit sets another)" in done.stderr
    _, recording = read(out)
    assert int(recording.ending[0]) & (FULL | LIMITED) == FULL | LIMITED
    assert int(recording.lost.sum()) > 0
    shown = isthmus_("show", str(out)).stdout
    assert "the limit on raw traces was reached by rank 0" in " ".join(shown.split())


def test_output_that_exists(tmp_path: Path) -> None:
    out = tmp_path / "x.h5"
    out.write_text("mine")
    done = isthmus_("record", "-o", str(out), "--", "true", expect=2)
    assert "--force" in done.stderr
    assert out.read_text() == "mine"
    isthmus_("record", "--force", "-o", str(out), "--", "true")


@pytest.mark.parametrize(("words", "status"), [(["ls"], 0), (["sh", "-c", "exit 7"], 7)])
def test_no_mpi_at_all(words: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends as the program does, and says that nothing was recorded."""
    programs.installed("openmpi")
    monkeypatch.chdir(tmp_path)
    done = isthmus_("record", "--", *words, expect=status)
    assert "never called MPI_Init" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_loaded_with_a_handle(name: str, tmp_path: Path) -> None:
    source = programs.SOURCES / "opened.c"
    subprocess.run(["gcc", "-w", str(source), "-o", str(tmp_path / "opened"), "-ldl"], check=True)
    library = programs.installed(name).mpi.library
    words = [*programs.launcher(name, 1), str(tmp_path / "opened"), library]
    done = isthmus_("record", "-o", str(tmp_path / "x.h5"), "--", *words, expect=2)
    assert "by dlopen" in done.stderr
    assert done.stderr.count("\n") == 1 + done.stderr.count("building the recorder")


def test_linked_statically_into_a_dynamic_program(tmp_path: Path) -> None:
    """Stripped or not; recognised by the names within, of which there are very many."""
    names = ", ".join(f'"MPIR_function_{i}"' for i in range(150))
    (tmp_path / "x.c").write_text(
        f"const char *names[] = {{{names}}}; int main(int c, char **v) {{ return !names[c]; }}\n"
    )
    subprocess.run(["gcc", "-s", str(tmp_path / "x.c"), "-o", str(tmp_path / "x")], check=True)
    done = isthmus_("record", "-o", str(tmp_path / "x.h5"), "--", str(tmp_path / "x"), expect=2)
    assert "has MPI linked in statically" in done.stderr


def test_crash_after_a_sleep(name: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.h5"
    words = ["record", "-o", str(out), "--", *command(name, folder, "slept", ranks=2)]
    done = subprocess.run([sys.executable, "-m", "isthmus", *words], capture_output=True, text=True, timeout=100)
    assert done.returncode not in (0, 2)
    program, recording = read(out)
    assert recording.signal[0] == signal.SIGSEGV
    assert recording.wall[0] >= 2
    # It slept: that is no computation.
    computed = float(program.amount[program.kind == EventKind.compute].sum()) * 1e-12
    assert computed < 1
    shown = " ".join(isthmus_("show", str(out)).stdout.split())
    assert re.search(r"rank 0 crashed: SIGSEGV after 2(\.\d+)? s", shown)
    # The launcher ended the other one, by a signal that can be seen or one that cannot.
    assert re.search("killed by the launcher|as launchers do after another rank has failed", shown)
    assert recording.signal[1] <= 0


def test_freed_receive(name: str, folder: Path, tmp_path: Path) -> None:
    """What is freed completes later than that."""
    out = tmp_path / "x.h5"
    isthmus_("record", "-o", str(out), "--", *command(name, folder, "freed", "0", ranks=2))
    program, recording = read(out)
    assert not any("before being sent" in note for note in recording.notes)
    assert int((program.kind == EventKind.irecv).sum()) == 2


def test_collectives_started_together(folder: Path, tmp_path: Path) -> None:
    """A call that starts several is counted once, lasts once, and what they move is its own, not that of ``_init``."""
    out = tmp_path / "x.h5"
    isthmus_("record", "-o", str(out), "--", *command("mpi4", folder, "together", "0", ranks=2))
    program, recording = read(out)
    number = {text: i for i, text in enumerate(recording.functions)}
    started = recording.function == number["MPI_Startall"]
    made = recording.function == number["MPI_Allreduce_init"]
    assert int(recording.count[started].sum()) == 2 * (5 + 3)
    assert int(recording.count[made].sum()) == 2 * 2
    assert int(recording.sent[started].sum()) == 2 * 8 * (32 + 16)
    assert int(recording.sent[made].sum()) == 0
    assert int((program.kind == EventKind.collective).sum()) == 2 * 8 * 2
    for first, end in zip(recording.first[:-1].tolist(), recording.first[1:].tolist(), strict=True):
        mine = np.arange(first, end)[started[first:end]]
        assert (recording.begin[mine][1:] >= recording.end[mine][:-1]).all()


@pytest.mark.parametrize("name", ["mpich"], indirect=True)
def test_one_rank_is_not_ranks(name: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.h5"
    recorded = isthmus_("record", "-o", str(out), "--", *command(name, folder, "send", "3"))
    shown = isthmus_("show", str(out))
    text = recorded.stdout + recorded.stderr + shown.stdout + repr(isthmus.read(out))
    assert re.search(r"\b1 rank\b", text)
    assert not re.search(r"\b1 (ranks|calls|threads|processes|nodes|events|communicators)\b", text)


def test_merged_later(folder: Path, tmp_path: Path) -> None:
    """Traces that were kept, and those that a recording left which was killed."""
    programs.installed("mpich")
    out, later = tmp_path / "x.h5", tmp_path / "later.h5"
    line = command("mpich", folder, "send", "1000", ranks=2)
    isthmus_("record", "--keep-raw", "-o", str(out), "--", *line)
    (raw,) = tmp_path.glob("x.raw-*")
    isthmus_("record", "--merge", str(raw), "-o", str(later))
    (first, one), (second, two) = read(out), read(later)
    assert first == second
    assert one.differences(two) == []
    assert "--force" in isthmus_("record", "--merge", str(raw), "-o", str(later), expect=2).stderr
    isthmus_("record", "--merge", str(tmp_path / "none"), "-o", str(tmp_path / "n.h5"), expect=2)
    killed = subprocess.Popen(
        [sys.executable, "-m", "isthmus", "record", "-o", str(tmp_path / "k.h5"), "--", *line[:-2], "slept"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while not any(path.stat().st_size > 8192 for path in tmp_path.glob(".k.raw-*/*.trace")):
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    (raw,) = tmp_path.glob(".k.raw-*")
    isthmus_("record", "--merge", str(raw), "-o", str(tmp_path / "k.h5"))
    _, recording = read(tmp_path / "k.h5")
    assert "unusual.mpich slept" in recording.command


@contextlib.contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A small disk; skips the test where nothing can be mounted."""
    folder.mkdir()
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("nothing can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_while_saving(folder: Path, tmp_path: Path) -> None:
    programs.installed("mpich")
    with disk(tmp_path / "disk", "32k") as small:
        line = command("mpich", folder, "send", "200000")
        out = small / "x.h5"
        done = isthmus_("record", "--directory", str(tmp_path / "raw"), "-o", str(out), "--", *line, expect=2)
        (message,) = (text for text in done.stderr.splitlines() if "building" not in text)
        assert message.startswith(
            f"isthmus: {out}: No space left on device; the raw traces are kept: isthmus record --merge"
        )
        assert list(small.iterdir()) == []
    (raw,) = (tmp_path / "raw").iterdir()
    isthmus_("record", "--merge", str(raw), "-o", str(tmp_path / "x.h5"))
    assert read(tmp_path / "x.h5")[1].count.sum() >= 200_000


def test_full_disk_from_the_beginning(name: str, folder: Path, tmp_path: Path) -> None:
    """One sentence; ranks that have room are recorded although others have none, and all go on."""
    with disk(tmp_path / "disk", "8k") as small:
        line = command(name, folder, "send", "10", ranks=2)
        words = ["record", "--directory", str(small), "-o", str(tmp_path / "x.h5"), "--", *line]
        done = isthmus_(*words, expect=2)
        assert "the disk was full when the program began" in done.stderr
        assert "not a raw trace" not in done.stderr
        assert list(small.iterdir()) == []
        (small / "fill").write_bytes(bytes(8192))
        done = isthmus_(*words, expect=2)
        (message,) = (text for text in done.stderr.splitlines() if "building" not in text)
        assert message.startswith(f"isthmus: {small}")
        assert message.endswith("No space left on device")
        assert [path.name for path in small.iterdir()] == ["fill"]
    with disk(tmp_path / "other", "40k") as small:
        words = ["record", "--directory", str(small), "-o", str(tmp_path / "x.h5"), "--", *line]
        isthmus_(*words)
    _, recording = read(tmp_path / "x.h5")
    assert recording.ranks == 2
