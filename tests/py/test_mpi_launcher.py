"""Runs under a launcher: none of their processes is left behind, whatever ends them; C that is compiled once."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mpi_programs
from isthmus.errors import InvalidInput
from isthmus.mpi.build import Sources, build, built
from isthmus.mpi.launcher import MARK, Launcher, captured, marked
from processes import hear

SLEEPER = "#include <mpi.h>\n#include <unistd.h>\nint main(void) { MPI_Init(0, 0); sleep(100); MPI_Finalize(); }\n"
TELLER = (
    "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    'int main(void) { MPI_Init(0, 0); printf("%s\\n", getenv("ISTHMUS_A")); MPI_Finalize(); }\n'
)


def compiled(text: str, name: str, folder: Path) -> Path:
    (folder / "program.c").write_text(text)
    sources = Sources("program", folder, "program", flags=("-w",))
    return build(sources, mpi_programs.installed(name).mpi)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def left(pattern: str) -> list[str]:
    """Processes that run a program of this path."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
        if command.startswith(pattern):
            found.append(command)
    return found


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_variables_reach_the_ranks(name: str, tmp_path: Path) -> None:
    program = compiled(TELLER, name, tmp_path)
    launcher = Launcher.parse(" ".join(mpi_programs.launcher(name, 2)))
    assert launcher.ranks == 2
    assert launcher.mpi().family == mpi_programs.installed(name).mpi.family
    ended = launcher.run(program, variables={"ISTHMUS_A": "two words"}, limit=60)
    assert (ended.status, ended.late) == (0, False), ended.errors
    # Launchers mix what ranks write at once, also within lines.
    assert sorted(ended.output) == sorted("two words\n" * 2)
    assert sorted(launcher.run(program, variables={"ISTHMUS_A": "x"}, ranks=3, limit=60).output) == sorted("x\n" * 3)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_ranks_that_hang_are_ended_in_time(name: str, tmp_path: Path) -> None:
    program = compiled(SLEEPER, name, tmp_path)
    begin = time.monotonic()
    seen: list[int] = []
    ended = Launcher.parse(" ".join(mpi_programs.launcher(name, 2))).run(
        program, limit=4, watch=lambda: seen.append(len(left(str(program))))
    )
    assert ended.late
    assert ended.status != 0
    assert max(seen) == 2
    assert 4 <= ended.seconds <= time.monotonic() - begin < 30
    assert left(str(program)) == []


def test_an_interruption_leaves_no_ranks(tmp_path: Path) -> None:
    program = compiled(SLEEPER, "openmpi", tmp_path)
    words = mpi_programs.launcher("openmpi", 2)
    code = f"from isthmus.mpi.launcher import Launcher\nLauncher({tuple(words)!r}).run({str(program)!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, preexec_fn=hear)
    until = time.monotonic() + 30
    while len(left(str(program))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(left(str(program))) == 2
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert left(str(program)) == []


def test_an_interrupted_command_leaves_no_process_that_does_not_want_to_end() -> None:
    """A command ends within seconds of Ctrl-C, also where what it started is deaf to being asked."""
    mark = f"deaf-{os.getpid()}"
    script = (
        "from isthmus import interruption\n"
        "from isthmus.mpi.launcher import captured\n"
        "interruption.watch()\n"
        "try:\n"
        f"    captured(['sh', '-c', 'trap \"\" TERM; while :; do sleep 1; done'], {{'{MARK}': '{mark}',"
        " 'PATH': '/usr/bin:/bin'})\n"
        "except KeyboardInterrupt:\n"
        "    interruption.leave()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, preexec_fn=hear)
    for _ in range(600):
        if process.poll() is not None or len(list(marked(mark))) > 1:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert (process.returncode, errors) == (130, "isthmus: interrupted\n")
    assert list(marked(mark)) == []


def test_processes_in_groups_of_their_own_are_ended_too() -> None:
    script = "import os, time\nfor _ in range(2):\n    os.fork() or os.setsid()\ntime.sleep(100)"
    ended = captured([sys.executable, "-c", script], {**os.environ, MARK: "of-this-test"}, limit=0.5)
    assert ended.late
    assert list(marked("of-this-test")) == []


def test_what_a_program_says_last() -> None:
    script = "import sys; print('out'); print('-----\\n\\nfirst\\nlast', file=sys.stderr); sys.exit(3)"
    ended = captured([sys.executable, "-c", script], os.environ)
    assert (ended.status, ended.output, ended.last_words()) == (3, "out\n", "first / last")
    assert captured(["sh", "-c", "kill -9 $$"], os.environ).status == 128 + 9
    with pytest.raises(InvalidInput, match="no-such-program cannot be started: No such file"):
        captured(["no-such-program"], os.environ)


def test_without_a_launcher() -> None:
    assert Launcher(()).command("app", "x", ranks=1) == ["app", "x"]
    assert Launcher(("mpirun", "--map-by", "node")).command("app", ranks=4)[1:] == [
        "--map-by",
        "node",
        "-n",
        "4",
        "app",
    ]
    assert Launcher(("mpirun", "-n=8", "-x", "A")).command("app", ranks=4)[1:] == ["-n", "4", "-x", "A", "app"]
    with pytest.raises(InvalidInput, match="--launch nolauncher -n 2: there is no program nolauncher"):
        Launcher.parse("nolauncher -n 2")


@pytest.mark.parametrize(
    ("words", "ranks", "with_three"),
    [
        ("mpirun -n 2 --oversubscribe taskset -c 1", 2, "mpirun -n 3 --oversubscribe taskset -c 1"),
        ("mpirun --oversubscribe taskset -c 1", None, "mpirun -n 3 --oversubscribe taskset -c 1"),
        ("mpirun -np 2 nice -n 5", 2, "mpirun -np 3 nice -n 5"),
        ("mpirun nice -n 5", None, "mpirun -n 3 nice -n 5"),
        ("mpirun -c 2 taskset -c 0,1", 2, "mpirun -c 3 taskset -c 0,1"),
        ("mpirun -n 2 sh -c exec", 2, "mpirun -n 3 sh -c exec"),
        ("mpirun --some-queue test -n 2", 2, "mpirun --some-queue test -n 3"),
        ("taskset -c 0 mpirun -n 1", 1, "taskset -c 0 mpirun -n 3"),
        ("taskset -c 0,1 mpirun --oversubscribe", None, "taskset -c 0,1 mpirun --oversubscribe -n 3"),
        ("nice -n 5 mpirun -np 2 nice -n 5", 2, "nice -n 5 mpirun -np 3 nice -n 5"),
        ("env A=b timeout -k 3 9 mpirun -c 2", 2, "env A=b timeout -k 3 9 mpirun -c 3"),
        ("sh -c true", None, "sh -c true -n 3"),
    ],
)
def test_options_of_other_programs_are_their_own(words: str, ranks: int | None, with_three: str) -> None:
    """``taskset -c 1``, behind the launcher or before it, was taken for a number of ranks, and refused."""
    parsed = Launcher.parse(words)
    assert parsed.ranks == ranks
    assert parsed.command("app", ranks=3) == [*with_three.split(), "app"]


def test_programs_without_mpi_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one.c").write_text('#include "one.h"\nint main(void) { return VALUE; }\n')
    (tmp_path / "one.h").write_text("#define VALUE 5\n")
    sources = Sources("test", tmp_path, "one", flags=("-Wall", "-Werror"))
    said: list[str] = []
    assert not built(sources, None)
    path = build(sources, None, said.append)
    assert build(sources, None, said.append) == path
    assert said == ["building the test (once)"]
    assert subprocess.run([path], check=False).returncode == 5
    # Another header, another program.
    (tmp_path / "one.h").write_text("#define VALUE 6\n")
    assert not built(sources, None)
    (tmp_path / "one.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(InvalidInput, match=r"could not compile the test: .*error.*nothing"):
        build(sources, None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(InvalidInput, match="no C compiler was found: the test cannot be built"):
        build(sources, None)


def test_who_compiles_the_same_at_once_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, compiler = tmp_path / "log", tmp_path / "slow-cc"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *" -c "*) echo x >>{log}; sleep 0.3;; esac\nexec cc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
    sources = Sources("test", tmp_path, "both.so")
    with ThreadPoolExecutor(3) as pool:
        (path,) = set(pool.map(lambda _: build(sources, None), range(3)))
    assert len(log.read_text().splitlines()) == 2
    library = ctypes.CDLL(str(path))
    assert library.one() == library.two() == 1
