"""Ctrl-C in the middle of long runs of each command: two seconds, one line, exit status 130, nothing half-written."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import samples
from isthmus import files, interruption
from processes import hear, used

#: Each takes much longer than it is given here: in Python, in the core, in one thread or in several.
LONG = {
    "tune": "tune alltoall --machine torus:8x8x8 --model flow --ranks 512 -o out.toml",
    "tune, one worker": "tune bcast --machine torus:8x8x8 --ranks 512 --model flow --exhaustive --workers 1",
    "simulate": "simulate alltoall:ranks=3000,bytes=8,algorithm=linear --machine torus:16x16x16 --no-symmetry -o o.h5",
    "flow": "simulate alltoall:ranks=512,bytes=1MB,algorithm=linear --machine torus:8x8x8 --model flow -o o.h5",
    "schedule collective": "schedule collective alltoall:ranks=6000,bytes=8,algorithm=linear -o out.h5",
    "schedule convert": "schedule convert alltoall:ranks=6000,bytes=8,algorithm=linear -o out.goal",
    "map": "map alltoall:ranks=1024,bytes=8,algorithm=linear --machine torus:16x16x16 --time 100s",
    "map, by time": "map alltoall:ranks=256,bytes=8kB,algorithm=linear --machine torus:16x16x16 --objective time",
    "prove": "prove alltoall:ranks=4000,bytes=8,algorithm=linear",
    "advise": "advise --example lammps --machine torus:8x8x8 --tune-time 100s -o out.html",
    "show": "show alltoall:ranks=6000,bytes=8,algorithm=linear",
    "study": "study saturation -o out",
    "machine convert": "machine convert torus:200x200x100 -o out.edges",
    "machine validate": "machine validate" + 5000 * " {table}/cielo.toml",
    "machine plot": "machine plot slimfly:q=151 -o out.png",
    "tune search": "tune search allreduce --machine eos --ranks 4096 --model flow -o out.toml",
    "tune validate": "tune validate {table}/large.toml --machine torus:8x8x8 --model flow",
    "tune export": "tune export openmpi --ranks 512 --machine eos --model flow --for ucc -o out.env",
    "tune verify": "tune verify {table}/small.toml --launch {table}/mpirun",
}

#: Decisions for more ranks than are simulated within a minute.
TABLE = """
format = "isthmus decision table"
version = 1
[provenance]
machine = "torus:8x8x8"
[[alltoall]]
ranks = {ranks}
sizes = "tuned"
rules = [
  {{ bytes = 65536, algorithm = "linear", seconds = 1, runner_up = "pairwise", runner_up_seconds = 2, bound = 0 }},
  {{ bytes = 1048576, algorithm = "pairwise", seconds = 1, runner_up = "linear", runner_up_seconds = 2, bound = 0 }},
]
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, a machine, and a launcher that takes long for whatever it is to run."""
    from isthmus.gallery import machines

    folder = tmp_path_factory.mktemp("table")
    (folder / "large.toml").write_text(TABLE.format(ranks=512))
    (folder / "small.toml").write_text(TABLE.format(ranks=4))
    (folder / "cielo.toml").write_text(Path(machines()["cielo"]).read_text())
    (folder / "mpirun").write_text('#!/bin/sh\n: >"$0.begun"\nexec sleep 60\n')
    (folder / "mpirun").chmod(0o755)
    return folder


def wait_until_begun(process: subprocess.Popen[str], *begun: Path) -> None:
    """A second, and on a busy machine until the process has computed, or has made a file."""
    time.sleep(1)
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end and not any(path.exists() for path in begun):
        if used(process.pid) > (0.6 if "study" not in process.args else 60):
            break
        time.sleep(0.05)


@pytest.mark.sampled(8, always=["flow", "map", "advise"])
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c(name: str, tmp_path: Path, table: Path) -> None:
    words = [sys.executable, "-m", "isthmus", *LONG[name].format(table=table).split()]
    (table / "mpirun.begun").unlink(missing_ok=True)
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear
    )
    wait_until_begun(process, tmp_path / "out", table / "mpirun.begun")
    assert process.poll() is None
    begin = time.monotonic()
    computed = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = computed.ru_utime + computed.ru_stime + used(process.pid)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    took = time.monotonic() - begin
    computed = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (process.returncode, out) == (130, "")
    said = (
        "isthmus: interrupted"
        if name != "study"
        else r"isthmus: interrupted; what is done is in out, run again to continue"
    )
    assert error.strip() == said
    # On a busy machine 2 s of the processor take longer.
    assert min(took, computed.ru_utime + computed.ru_stime - before) < 2
    # The ledger of a study is whole at any time.
    assert [p.name for p in tmp_path.iterdir()] == ([] if name != "study" else ["out"])


@pytest.mark.parametrize("where", ["isthmus.cli", "click", "isthmus.cli.show", "numpy"])
def test_ctrl_c_while_modules_are_imported(where: str, tmp_path: Path) -> None:
    """It comes while a module is imported: before the command line is there, and of the command itself."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Sends:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {where!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Sends())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "isthmus", "show", "eos"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        preexec_fn=hear,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (130, "", "isthmus: interrupted")


#: Verbs that import different things; none takes longer than that.
SHORT = (
    "--version",
    "show eos",
    "measure --help",
    "simulate allreduce:ranks=8,bytes=8 --machine torus:4x4",
    "map alltoall:ranks=16,bytes=8 --machine torus:4x4 --method block",
)


def test_ctrl_c_at_any_moment(tmp_path: Path) -> None:
    """Before Python has come to the command, which takes 10 ms, it may print a traceback of its own; that names none of
    our files but those that look after Ctrl-C."""
    command = Path(sysconfig.get_path("scripts"), "isthmus")
    source = random.Random(int(os.environ.get(samples.VARIABLE) or 0))
    for turn in range(20 if samples.seed() is not None else 200):
        words = [str(command), *SHORT[turn % len(SHORT)].split()]
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear
        )
        # By the processor's time, as others may use it; most of the moments before the command itself.
        moment, end = source.random() ** 2 * 0.5, time.monotonic() + 60
        while process.poll() is None and used(process.pid) < moment and time.monotonic() < end:
            time.sleep(moment / 20)
        time.sleep(source.random() * 0.01)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        if "KeyboardInterrupt" in error:
            named = set(re.findall(r"isthmus/[\w/]+\.py", error))
            assert named <= {"isthmus/__init__.py", "isthmus/entry.py"}, (words, moment, error)
        elif process.returncode in (0, -signal.SIGINT):  # at its end, or before Python looks after signals
            assert not error, (words, moment, error)
        else:
            assert (process.returncode, error.strip()) == (130, "isthmus: interrupted"), (words, moment)
    assert not list(tmp_path.iterdir())


def test_what_is_under_way_is_undone(tmp_path: Path) -> None:
    """The thread that ends the process removes a file that the main thread is writing in a call of minutes."""
    code = (
        "import sys, time; from isthmus import files, interruption; interruption.watch()\n"
        "with files.replacing(sys.argv[1]) as name:\n"
        "    open(name, 'w').write('half'); begun = False\n"
        "    while True:\n"
        "        try:\n"
        "            if not begun: begun = True; print('begun', flush=True)\n"
        "            time.sleep(60)\n"
        "        except KeyboardInterrupt: pass\n"
    )
    old = tmp_path / "x.txt"
    old.write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(old)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    assert len(list(tmp_path.iterdir())) == 2
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "isthmus: interrupted\n")
    assert process.returncode == 130
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.txt", "old")]


def test_nothing_stays_to_be_undone(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "x", "text")
    with pytest.raises(ZeroDivisionError), files.replacing(tmp_path / "x"):
        1 / 0  # noqa: B018
    assert interruption._undo == {}
