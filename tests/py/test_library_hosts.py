"""Teams of libisthmus on four hosts with two ranks each: shared memory inside, a network between; and what happens when
a rank dies, a link goes down, or a host is gone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import emulated_hosts
from test_library import HERE as SOURCES
from test_library import compile_c
from test_library_nodes import plan

OBSTACLE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi", "mpirun.mpich", "mpicc.mpich")
pytestmark = pytest.mark.skipif(bool(OBSTACLE), reason=f"hosts of namespaces: {OBSTACLE}")
__all__ = ["plan"]  # a fixture

#: Options with which launchers leave the other ranks alone when one dies.
LENIENT = {"openmpi": ["--enable-recovery"], "mpich": ["-disable-auto-cleanup"]}


@pytest.fixture(scope="module", params=["openmpi", "mpich"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("hosts")
    source = SOURCES / "library_nodes.c"
    return request.param, compile_c(source, folder / "nodes", f"mpicc.{request.param}", "-std=c11")


class Job:
    """Eight ranks under way; what they say is in a file, as a launcher that fails does not pass it on."""

    def __init__(
        self, program: tuple[str, Path], there: emulated_hosts.Hosts, options: list[str], words: list[str], **env: str
    ):
        flavour, path = program
        self.there = there
        self.file = there.folder / "said"
        launcher = there.openmpi(2) if flavour == "openmpi" else there.mpich(2)
        own = {"ISTHMUS_TEST": "nodes", "ISTHMUS_SILENCE": "4", "ISTHMUS_SAID": str(self.file), **env}
        exported = [word for name in own for word in ("-x", name)] if flavour == "openmpi" else []
        command = [*there.inside(), launcher[0], *options, *exported, *launcher[1:], str(path), *words]
        with (there.folder / "launcher").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **own})

    def said(self, pattern: str, count: int = 1) -> list[str]:
        """Waits for so many lines that match; what they say."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = re.findall(pattern, self.file.read_text() if self.file.exists() else "", re.MULTILINE)
            if len(found) >= count:
                return found
            time.sleep(0.05)
        pytest.fail(f"{count} lines of {pattern} were expected:\n{self.file.read_text()[-4000:]}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait(60)

    def kill(self, host: int) -> None:
        """All that runs on a host."""
        name = self.there.names[host]
        listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout
        for process in listed.split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)


@contextmanager
def job(
    program: tuple[str, Path], words: list[str], lenient: bool = False, hosts: int = 4, **env: str
) -> Iterator[Job]:
    """Hosts and a job on them; at the end both are gone, and nothing of it is left in shared memory."""
    before = set(Path("/dev/shm").glob("isthmus-mpi-*"))
    with emulated_hosts.hosts(hosts, "200mbit") as there:
        running = Job(program, there, LENIENT[program[0]] if lenient else [], words, **env)
        try:
            yield running
        finally:
            for host in range(hosts):
                running.kill(host)
            running.end()
            left = set(Path("/dev/shm").glob("isthmus-mpi-*")) - before
    # Other tests may be joining meanwhile.
    deadline = time.monotonic() + 30
    while any(path.exists() for path in left) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(path.exists() for path in left)


def test_every_algorithm_gives_what_mpi_says(program: tuple[str, Path], plan: Path) -> None:
    plan.parent.chmod(0o755)
    with job(program, [str(plan), "7"]) as running:
        assert running.said(r"^(\d+) carried out")[0] == str(len(plan.read_text().splitlines()))
        # Open MPI and MPICH see the hosts, which all have the /dev/shm of this machine.
        nodes = running.said(r"^rank \d is on (\d)$", 8)
        assert nodes == ["0", "0", "2", "2", "4", "4", "6", "6"]
        assert "differs" not in running.file.read_text()


def test_a_rank_that_dies_is_named_on_all_hosts(program: tuple[str, Path]) -> None:
    """Rank 4, on the same host, sees it and tells the others. MPICH's launcher ends all of them before."""
    with job(program, ["dies", "5"], lenient=program[0] == "openmpi") as running:
        (died,) = running.said(r"^rank 5 dies ([\d.]+)")
        if program[0] == "mpich":
            assert running.process.wait(100) != 0
            return
        words = running.said(r"^rank [0-46-7]: -4 (.*)", 7)
        assert not [one for one in words if not re.fullmatch(r"rank 5 died \(process \d+\)", one)], words
        # Asked is a second, and it dies 0.3 s after it has said so; this machine may be busy.
        assert max(map(float, running.said(r"^rank \d ends ([\d.]+)", 7))) - float(died) < 10


def test_a_link_that_goes_down_ends_the_waiting(program: tuple[str, Path]) -> None:
    with job(program, ["waits", "1000"], lenient=True) as running:
        running.said("(began)")
        subprocess.run(["ip", "-n", running.there.names[3], "link", "set", "eth0", "down"], check=True)
        words = running.said(r"^rank \d: -4 (.*)", 4)
        assert all(re.fullmatch(r"nothing has come over MPI for 4000 ms: rank \d waits for rank \d", w) for w in words)


@pytest.mark.parametrize("hosts", [[3], [1, 2, 3, 0]])
def test_hosts_that_die_leave_nothing_behind(program: tuple[str, Path], hosts: list[int]) -> None:
    """Launchers end what is left."""
    with job(program, ["waits", "1000"]) as running:
        running.said("(began)")
        for host in hosts:
            running.kill(host)
        assert running.process.wait(100) != 0
