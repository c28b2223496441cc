"""libisthmus over libfabric, started without MPI: on one computer, over emulated hosts, and what it says when something
is missing or dies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import emulated_hosts
from library import HERE, compile_c

RUN = [sys.executable, "-m", "isthmus", "run"]
#: By name: the environment, and ranks of a node.
WAYS = {
    "ofi": ({"ISTHMUS_TRANSPORT": "ofi"}, 1),
    "shm+ofi": ({"ISTHMUS_TRANSPORT": "shm+ofi", "ISTHMUS_RANKS_PER_NODE": "2"}, 2),
}
OBSTACLE = emulated_hosts.obstacle()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ofi")
    folder.chmod(0o755)
    return compile_c(HERE / "pgas_nodes.c", folder / "nodes", "cc", "-std=gnu11", "-DWITHOUT_MPI")


def started(program: Path, ranks: int, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [*RUN, "-n", str(ranks), "--", str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **env})


@pytest.mark.sampled(2, always=["3-ofi", "4-shm+ofi"])
@pytest.mark.parametrize(("ranks", "way"), [(ranks, way) for ranks in (1, 2, 3, 4, 8, 16) for way in WAYS])
def test_every_operation(program: Path, ranks: int, way: str) -> None:
    """Random sizes and places, messages by the thousand."""
    env, of_a_node = WAYS[way]
    done = started(program, ranks, "1", "calls", str(of_a_node), **env)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_every_operation_while_a_thread_makes_progress(program: Path) -> None:
    done = started(program, 2, "1", "calls", "1", ISTHMUS_TRANSPORT="ofi", ISTHMUS_PROGRESS="thread")
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


def test_the_option_chooses_it(program: Path) -> None:
    command = [*RUN, "-n", "2", "--transport", "ofi", "--", program, "1", "calls", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "all done\n"), done.stderr[-2000:]


@pytest.mark.parametrize("way", WAYS)
def test_a_rank_that_dies_is_named_by_all(program: Path, way: str) -> None:
    done = started(program, 4, "1", "dies", **WAYS[way][0])
    assert done.returncode == 134
    lines = sorted(done.stdout.splitlines())
    for rank, line in enumerate(lines):
        assert re.match(rf"rank {rank}: -4 isthmus_\w+: rank 3 died", line), done.stdout
    assert len(lines) == 3


def test_a_provider_that_is_not_there_is_named(program: Path) -> None:
    done = started(program, 2, "1", "calls", ISTHMUS_TRANSPORT="ofi", ISTHMUS_FABRIC="pigeons")
    assert done.returncode == 1
    words = r"-\d rank 0: libfabric has no provider pigeons here that passes messages with tags: .*"
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stdout
    assert all(re.fullmatch(words, line) for line in lines), done.stdout


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("", "transport ofi: ISTHMUS_RENDEZVOUS=HOST:PORT is not set: where rank 0 listens (isthmus run sets it)"),
        ("nowhere", "ISTHMUS_RENDEZVOUS=nowhere: must be HOST:PORT, where rank 0 listens"),
        ("nowhere:99999", "ISTHMUS_RENDEZVOUS=nowhere:99999: must be HOST:PORT, where rank 0 listens"),
    ],
)
def test_where_ranks_meet_has_to_be_said(program: Path, at: str, words: str) -> None:
    own = {"ISTHMUS_JOB": "ofi", "ISTHMUS_RANK": "0", "ISTHMUS_RANKS": "2", "ISTHMUS_TRANSPORT": "ofi"}
    if at:
        own["ISTHMUS_RENDEZVOUS"] = at
    done = subprocess.run([program, "1"], capture_output=True, text=True, check=False, env={**os.environ, **own})
    assert done.returncode == 1
    assert done.stdout.split(" ", 1)[1] == words + "\n"


def test_the_option_is_for_jobs_without_mpi() -> None:
    done = subprocess.run([*RUN, "--transport", "ofi", "--", "true"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--transport is for -n" in done.stderr


@pytest.mark.skipif(bool(OBSTACLE), reason=f"hosts of namespaces: {OBSTACLE}")
@pytest.mark.sampled(1, always=["2-2-shm+ofi"])
@pytest.mark.parametrize(
    ("hosts", "per_host", "transport"), [(2, 1, "ofi"), (2, 2, "shm+ofi"), (4, 1, "ofi"), (4, 2, "shm+ofi")]
)
def test_every_operation_over_hosts(program: Path, hosts: int, per_host: int, transport: str) -> None:
    """As a launcher of several hosts starts the ranks of a program without MPI."""
    with emulated_hosts.hosts(hosts, "1gbit", burst="64k") as there:
        at = f"{emulated_hosts.SUBNET}.1:7117"
        common = {"ISTHMUS_JOB": f"ofi-{uuid.uuid4().hex}", "ISTHMUS_RANKS": str(hosts * per_host)}
        common |= {"ISTHMUS_TRANSPORT": transport, "ISTHMUS_RENDEZVOUS": at}
        ranks = []
        for rank in range(hosts * per_host):
            command = [*there.inside(rank // per_host), str(program), "3", "calls", str(per_host)]
            env = {**os.environ, **common, "ISTHMUS_RANK": str(rank)}
            ranks.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
            )
        said = [rank.communicate(timeout=240)[0] for rank in ranks]
    assert said == ["all done\n"] + [""] * (len(ranks) - 1)
    assert [rank.returncode for rank in ranks] == [0] * len(ranks)
