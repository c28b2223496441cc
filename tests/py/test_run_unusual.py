"""isthmus run -- COMMAND of programs that do unusual things: their results are right, and they end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_programs import MPIS, compiled, installed, launcher
from test_run_program import run

HEAD = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define SUM(comm, expected) \\
  do { int a = 1, b = 0; MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, comm); wrong += b != (expected); } while (0)
"""
#: What a program does between MPI_Init and the end, on 3 ranks, and the end.
BODIES = {
    # A communicator is freed while collectives are under way on it.
    "freed": """
  for (int i = 0; i < 50; ++i) {
    MPI_Comm copy;
    MPI_Request request[2];
    int a = 1, b = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Iallreduce(&a, &b, 1, MPI_INT, MPI_SUM, copy, &request[0]);
    MPI_Ibarrier(copy, &request[1]);
    MPI_Comm_free(&copy);
    SUM(MPI_COMM_WORLD, 3);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    wrong += b != 3;
  }
""",
    # A child is no rank, and its end is none of the program's.
    "fork": """
  SUM(MPI_COMM_WORLD, 3);
  int status = 1;
  const pid_t child = fork();
  if (child == 0) exit(0);
  wrong += waitpid(child, &status, 0) != child || status != 0;
  SUM(MPI_COMM_WORLD, 3);
""",
    # Ranks of another world, and of both.
    "spawn": """
  MPI_Comm between, both;
  MPI_Comm_get_parent(&between);
  const int spawned = between != MPI_COMM_NULL;
  SUM(MPI_COMM_WORLD, spawned ? 2 : 3);
  if (!spawned)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between, spawned, &both);
  for (int i = 0; i < 5; ++i) SUM(both, 5);
  SUM(MPI_COMM_WORLD, spawned ? 2 : 3);
  MPI_Comm_free(&both);
  MPI_Comm_disconnect(&between);
""",
}


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("what", BODIES)
def test_right_and_ends(name: str, what: str, tmp_path: Path) -> None:
    if (name, what) == ("mpich", "spawn"):
        pytest.skip("MPI_Comm_spawn of Debian's MPICH fails by itself")
    source = tmp_path / f"{what}.c"
    source.write_text(
        f"{HEAD}int main(int argc, char** argv) {{\n  int wrong = 0;\n  MPI_Init(&argc, &argv);\n{BODIES[what]}"
        '  fprintf(stderr, "%d wrong\\n", wrong);\n  MPI_Finalize();\n}\n'
    )
    found, printed = run(name, 3, compiled(str(source), name, tmp_path))
    assert len(re.findall(r"\b0 wrong\n", printed)) == (5 if what == "spawn" else 3)
    assert found["collectives"][0]["taken"] > 0


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("also", [[], ["both"]], ids=["alone", "beside MPI_Init"])
def test_sessions(name: str, also: list[str], tmp_path: Path) -> None:
    """Without MPI_Init all is left to the MPI library, and counted; beside it, communicators of sessions are taken."""
    if installed(name).mpi.version.startswith("4.1."):
        pytest.skip("Open MPI 4.1 has no sessions")
    found, printed = run(name, 3, compiled("sessions.c", name, tmp_path), *also, options=("--no-compare",))
    assert len(re.findall(r"\b0 wrong\n", printed)) == 3
    calls = 3 * 50 * (3 if also else 2)
    for row in found["collectives"]:
        taken, left = (calls, {}) if also else (0, {"of a session, without MPI_Init": calls})
        assert (row["taken"], row["left"]) == (taken, left)
    assert {row["collective"] for row in found["collectives"]} == {"allreduce", "ibcast"}
    assert found["ranks"] == 3


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("progress", ["", "thread"])
def test_two_threads_that_call_whatever_there_is(name: str, ranks: int, progress: str, tmp_path: Path) -> None:
    """Not beside the library's own calls: Open MPI 4.1 and MPICH 4.0 end some of these programs by themselves."""
    program = compiled("tangled.c", name, tmp_path)
    more = {"ISTHMUS_PROGRESS": progress}
    found, printed = run(name, ranks, program, str(ranks), "300", "2", options=("--no-compare",), **more)
    assert "300 calls, 2 threads, 0 wrong" in printed
    assert {why for row in found["collectives"] for why in row["left"]} <= {"between two groups of ranks"}


ALONE = ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$0"']


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("transport", ["shm", "mpi"])
@pytest.mark.parametrize(
    "options", [(), ("--no-compare",), ("--online", "tuned.txt")], ids=["compares", "alone", "online"]
)
def test_ranks_start_persistent_collectives_in_any_order(
    ranks: int, transport: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MPI 4.0, section 6.12; also while both sides take turns, and while calls are tuned."""
    monkeypatch.chdir(tmp_path)
    program = compiled("any_order.c", "mpi4", tmp_path)
    rounds = 300
    found, printed = run("mpi4", ranks, program, str(rounds), options=options, ISTHMUS_TRANSPORT=transport)
    assert "wrong" not in printed
    rows = [row for row in found["collectives"] if row["collective"].endswith("_init")]
    assert sum(row["taken"] + sum(row["left"].values()) for row in rows) == 7 * rounds * ranks
    assert sum(row["taken"] for row in rows) >= (1 if options == ("--no-compare",) else 0.5) * 7 * rounds * ranks


@pytest.mark.skipif(
    subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0,
    reason="namespaces of mounts are not permitted",
)
def test_ranks_of_a_node_in_containers_are_told_so_once(tmp_path: Path) -> None:
    source = tmp_path / "apart.c"
    source.write_text(
        f"{HEAD}int main(void) {{\n  int wrong = 0;\n  MPI_Init(0, 0);\n  for (int i = 0; i < 50; ++i)"
        ' SUM(MPI_COMM_WORLD, 3);\n  fprintf(stderr, "%d wrong\\n", wrong);\n  MPI_Finalize();\n}\n'
    )
    program = str(compiled(str(source), "openmpi", tmp_path))
    command = [*launcher("openmpi", 3), "--mca", "btl", "self,tcp", *ALONE, program]
    line = [sys.executable, "-m", "isthmus", "run", "--json", "--", *command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert len(re.findall(r"\b0 wrong\n", done.stderr)) == 3
    words = "isthmus: ranks 0 and 1 of a node see different /dev/shm: messages between them go over MPI\n"
    assert done.stderr.count(words) == done.stderr.count("/dev/shm") == 1
    assert json.loads(done.stdout)["collectives"][0]["taken"] > 0


@pytest.mark.skipif(
    subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0,
    reason="namespaces of mounts are not permitted",
)
@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize(
    ("option", "words"),
    [("size=64k", "No space left on device: /dev/shm is full"), ("ro", "Read-only file system")],
    ids=["full", "forbidden"],
)
def test_without_shared_memory_messages_go_over_mpi(name: str, option: str, words: str, tmp_path: Path) -> None:
    source = tmp_path / "sums.c"
    source.write_text(
        f"{HEAD}int main(void) {{\n  int wrong = 0;\n  MPI_Init(0, 0);\n  for (int i = 0; i < 50; ++i)"
        ' SUM(MPI_COMM_WORLD, 3);\n  fprintf(stderr, "%d wrong\\n", wrong);\n  MPI_Finalize();\n}\n'
    )
    command = [*launcher(name, 3), str(compiled(str(source), name, tmp_path))]
    if installed(name).mpi.family == "Open MPI":
        command[1:1] = ["--mca", "btl", "self,tcp"]  # its own shared memory would be missing, too
    line = [sys.executable, "-m", "isthmus", "run", "--json", "--no-compare", "--", *command]
    script = f'mount -t tmpfs -o {option} none /dev/shm && exec "$0" "$@"'
    env = {**os.environ, "UCX_TLS": "tcp,self"}
    apart = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, *line]
    done = subprocess.run(apart, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert len(re.findall(r"\b0 wrong\n", done.stderr)) == 3
    assert done.stderr.count(words) == done.stderr.count("messages of this node go over MPI\n") == 1
    assert json.loads(done.stdout)["share"] == 1


@pytest.mark.parametrize("name", MPIS)
def test_a_program_that_leaves_without_finalize_has_its_counts(name: str, tmp_path: Path) -> None:
    source = tmp_path / "leaves.c"
    source.write_text(
        f"{HEAD}int main(void) {{\n  int wrong = 0;\n  MPI_Init(0, 0);\n  for (int i = 0; i < 5; ++i)"
        ' SUM(MPI_COMM_WORLD, 1);\n  fprintf(stderr, "%d wrong\\n", wrong);\n  exit(0);\n}\n'
    )
    command = [*launcher(name, 1), str(compiled(str(source), name, tmp_path))]
    line = [sys.executable, "-m", "isthmus", "run", "--json", "--", *command]
    # The launcher of Open MPI holds this against it.
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert re.search(r"\b0 wrong\n", done.stderr)
    assert json.loads(done.stdout)["collectives"][0]["taken"] == 5


def test_a_table_for_another_number_of_ranks_is_said_by_its_name(tmp_path: Path) -> None:
    source, table = tmp_path / "sums.c", tmp_path / "of_eight.toml"
    source.write_text(
        f"{HEAD}int main(void) {{\n  int wrong = 0;\n  MPI_Init(0, 0);\n  SUM(MPI_COMM_WORLD, 3);\n"
        '  fprintf(stderr, "%d wrong\\n", wrong);\n  MPI_Finalize();\n}\n'
    )
    tune = ["tune", "allreduce", "--machine", "eos", "--ranks", "8", "-o", str(table)]
    subprocess.run([sys.executable, "-m", "isthmus", *tune], check=True, capture_output=True)
    program = compiled(str(source), MPIS[0], tmp_path)
    found, printed = run(MPIS[0], 3, program, options=("--no-compare", "--collectives", str(table)))
    assert len(re.findall(r"\b0 wrong\n", printed)) == 3
    assert printed.count("of_eight.txt: allreduce was tuned for 8 ranks, not for 3: the default is taken\n") == 1
    assert found["share"] == 1


@pytest.mark.parametrize("name", MPIS)
def test_without_permission_for_one_copy_large_messages_are_copied_twice(name: str, tmp_path: Path) -> None:
    """With more than 4 ranks, large messages would be read from the memory of their senders.

    Never forbidden, from the start on, and while the program runs.
    """
    source = tmp_path / "large.c"
    source.write_text(
        f'{HEAD}#include "no_one_copy.h"\n'
        "enum { N = 1 << 16, RANKS = 5 };\nstatic long a[N], b[N], all[RANKS * N];\nint main(int argc, char** argv) {\n"
        "  int rank, wrong = 0;\n  MPI_Init(0, 0);\n  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "  for (int k = 0; k < RANKS; ++k) {\n    for (long i = 0; i < N; ++i) a[i] = rank + i * k;\n"
        "    MPI_Allreduce(a, b, N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);\n"
        "    for (long i = 0; i < N; ++i) wrong += b[i] != 10 + RANKS * i * k;\n"
        "    MPI_Allgather(a, N, MPI_LONG, all, N, MPI_LONG, MPI_COMM_WORLD);\n"
        "    for (long i = 0; i < RANKS * N; ++i) wrong += all[i] != i / N + i % N * k;\n"
        "    MPI_Bcast(a, N, MPI_LONG, k, MPI_COMM_WORLD);\n"
        "    for (long i = 0; i < N; ++i) wrong += a[i] != k + i * k;\n"
        "    if (k == 1 && argc > 1) wrong += !forbid_one_copy();\n  }\n"
        '  fprintf(stderr, "%d wrong\\n", wrong);\n  MPI_Finalize();\n}\n'
    )
    program, alone = compiled(str(source), name, tmp_path), compiled("no_one_copy.c", name, tmp_path)
    if subprocess.run([alone, "true"], check=False).returncode == 77:
        pytest.skip("filters of system calls are not permitted")
    words = re.compile(
        r"isthmus: rank 0 may not read the memory of rank \d \(Operation not permitted\): "
        r"large messages are copied twice\n"
    )
    # MPICH 5 reads memory of others too, and ends the program where it may not.
    own = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    for command, lines in (([program], 0), ([alone, program], 1), ([program, "later"], 1)):
        found, printed = run(name, 5, *command, options=("--no-compare",), **own)
        assert len(re.findall(r"\b0 wrong\n", printed)) == 5
        assert len(words.findall(printed)) == printed.count("memory of rank") == lines
        assert found["share"] == 1
