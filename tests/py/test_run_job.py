"""isthmus run -n RANKS -- COMMAND: ranks of libisthmus without MPI."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from library import ROOT, compile_c

RUN = [sys.executable, "-m", "isthmus", "run"]


def run(*words: str | Path, **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [*RUN, *words], capture_output=True, text=True, timeout=60, env={**os.environ, **more}, input="given\n"
    )
    return done.returncode, done.stdout, done.stderr


def test_the_example_runs_as_the_guide_says(tmp_path: Path) -> None:
    program = compile_c(ROOT / "examples/pgas/work_queue.c", tmp_path / "work_queue")
    for ranks in (1, 2, 5):
        assert run("-n", str(ranks), "--", program) == (0, "sum of 1000 squares: 332833500\n", "")


def test_every_rank_has_its_number_and_one_job_and_rank_0_the_input(tmp_path: Path) -> None:
    line = 'echo "$ISTHMUS_JOB $ISTHMUS_RANKS $(cat)" > $ISTHMUS_RANK'
    done = subprocess.run([*RUN, "-n", "3", "--", "sh", "-c", line], cwd=tmp_path, input=b"given\n", check=False)
    assert done.returncode == 0
    said = [(tmp_path / str(rank)).read_text().split() for rank in range(3)]
    assert len({words[0] for words in said}) == 1
    assert [words[1:] for words in said] == [["3", "given"], ["3"], ["3"]]


def test_cores_are_dealt_out_where_there_are_enough() -> None:
    cores = sorted(os.sched_getaffinity(0))
    # One write a rank: Python passes the words of a print on one after the other where its output is not buffered.
    script = "import os; os.write(1, (' '.join(map(str, sorted(os.sched_getaffinity(0)))) + chr(10)).encode())"
    status, said, _ = run("-n", str(len(cores)), "--", sys.executable, "-c", script)
    assert status == 0
    assert sorted(int(word) for word in said.split()) == cores
    status, said, _ = run("-n", str(len(cores) + 1), "--", sys.executable, "-c", script)
    assert said.splitlines() == [" ".join(map(str, cores))] * (len(cores) + 1)


@pytest.mark.parametrize(
    ("line", "others", "status", "words"),
    [
        ("exit 3", "exec sleep 50", 3, "rank 1 ended with status 3"),
        ("kill -SEGV $$", "exit 0", 139, "rank 1 was ended by SIGSEGV"),
    ],
)
def test_a_rank_that_fails_is_named_and_ends_the_others(line: str, others: str, status: int, words: str) -> None:
    began = time.monotonic()
    done = run("-n", "3", "--", "sh", "-c", f"if [ $ISTHMUS_RANK = 1 ]; then {line}; fi; {others}")
    assert done == (status, "", f"isthmus: {words}\n")
    assert time.monotonic() - began < 20


def test_the_ranks_end_with_the_command(tmp_path: Path) -> None:
    for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        command = ["sh", "-c", f"echo $$ > {tmp_path}/$ISTHMUS_RANK; exec sleep 50"]
        started = subprocess.Popen([*RUN, "-n", "2", "--", *command])
        for rank in range(2):
            while not (tmp_path / str(rank)).exists() or not (tmp_path / str(rank)).read_text():
                time.sleep(0.01)
        started.send_signal(number)
        assert started.wait(20) == status
        for rank in range(2):
            process = int((tmp_path / str(rank)).read_text())
            (tmp_path / str(rank)).unlink()
            until = time.monotonic() + 10
            while Path(f"/proc/{process}/exe").exists() and time.monotonic() < until:
                time.sleep(0.01)
            assert not Path(f"/proc/{process}/cmdline").exists() or not Path(f"/proc/{process}/cmdline").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "2", "--", "./none"], "isthmus: ./none: there is no such program\n"),
        (["-n", "2", "--"], "isthmus: no command to run: put it after --, such as -n 4 -- ./program\n"),
        (
            ["-n", "2", "--reproducible", "--", "true"],
            "isthmus: --reproducible is for a program that uses MPI, without -n\n",
        ),
        (["-n", "2", "ring:ranks=2"], "isthmus: -n is for a program: give it after --\n"),
    ],
)
def test_bad_input(words: list[str], message: str) -> None:
    assert run(*words) == (2, "", message)
