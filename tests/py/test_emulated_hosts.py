"""Hosts made of network namespaces: what is measured between them is what was made; bench/hosts.py, which uses them."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import emulated_hosts
import mpi_programs
from isthmus.measuring.programs import mpi_program
from isthmus.measuring.samples import Item, Samples, read_journal
from isthmus.mpi.launcher import captured
from probe_runs import plan, undisturbed
from processes import hear

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
hosts = pytest.importorskip("hosts")


def namespaces(process: int) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"ism{process}")]


def test_parameters_give_back_the_measured_times() -> None:
    size = {"oneway": (1, 64 << 10, 1 << 20), "send": (1, 32 << 10), "recv": (1, 32 << 10)}
    slope = {"oneway": 40e-9, "send": 1e-9, "recv": 3e-9}
    least = {"oneway": 9e-6, "send": 5e-6, "recv": 1e-6}
    measured = {(what, s): least[what] + (s - 1) * slope[what] for what, sizes in size.items() for s in sizes}
    level = hosts.parameters(measured)
    assert (level.o_send, level.o_recv) == pytest.approx((5e-6, 1e-6))
    rest = (level.L, level.G, level.O)
    assert rest == pytest.approx((3e-6, 40e-9, 2e-9))


def test_a_sender_that_delivers_itself_leaves_no_latency() -> None:
    """On one machine the kernel hands the message over within send(): overheads never exceed half a ping-pong."""
    measured = {("oneway", 1): 6.6e-6, ("oneway", 64 << 10): 2.5e-3, ("oneway", 1 << 20): 43.6e-3}
    measured |= {("send", 1): 6.3e-6, ("send", 32 << 10): 6.3e-6, ("recv", 1): 2e-6, ("recv", 32 << 10): 1e-6}
    level = hosts.parameters(measured)
    assert level.L + level.o_send + level.o_recv == pytest.approx(6.6e-6)
    assert level.L >= 0
    assert level.O == 0


HERE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi")
needs_hosts = pytest.mark.skipif(bool(HERE), reason=f"hosts of namespaces: {HERE}")
#: Two ranks that wait keep two cores busy; they need them to themselves for times.
needs_cores = pytest.mark.skipif(not undisturbed(), reason="needs two cores and the kernel's real-time scheduler")


@needs_hosts
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_hosts_behind(number: signal.Signals) -> None:
    """Nor what runs on them."""
    code = (
        "import emulated_hosts, subprocess\n"
        "with emulated_hosts.hosts(2) as there:\n"
        "    subprocess.run([*there.inside(1), 'sleep', '98.7'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, start_new_session=True, preexec_fn=hear
    )
    try:
        deadline = time.monotonic() + 60
        while len(namespaces(process.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        assert len(namespaces(process.pid)) == 3
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    finally:
        process.kill()
        process.wait()
    assert namespaces(process.pid) == []
    assert not list(Path("/etc/netns").glob(f"ism{process.pid}*"))
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(command.endswith(b"sleep\x0098.7\0") for command in commands)


@needs_hosts
def test_hosts_of_a_killed_program_go_when_new_ones_are_made() -> None:
    code = "import emulated_hosts, os\nwith emulated_hosts.hosts(1):\n    os.kill(os.getpid(), 9)\n"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent)
    assert process.wait(20) == -9
    assert len(namespaces(process.pid)) == 2
    with emulated_hosts.hosts(1) as there:
        assert len(namespaces(process.pid)) == 0
        name = subprocess.run([*there.inside(), "hostname"], capture_output=True, text=True, check=True).stdout
        assert name.strip() == there.names[0]
    assert namespaces(os.getpid()) == []


def between(items: list[str], name: str, there: emulated_hosts.Hosts, folder: Path, per_host: int = 1) -> Samples:
    """What the program of ``measure`` finds over hosts."""
    words = there.openmpi(per_host) if name == "openmpi" else there.mpich(per_host)
    (folder / "plan").write_text(plan(items, budget=30, samples="5 15" if per_host == 1 else "2 3"))
    (folder / "journal").unlink(missing_ok=True)
    folder.chmod(0o755)
    program = mpi_program(mpi_programs.installed(name).mpi)
    # Four ranks that never give way would keep the network itself from the two cores.
    first = undisturbed() if per_host == 1 else ()
    command = [*there.inside(), *words, *first, str(program), str(folder / "plan"), str(folder / "journal")]
    ended = captured(command, os.environ, limit=40)
    samples = read_journal(folder / "journal", [Item.parse(item) for item in items], "hosts")
    # MPICH 4.0 over UCX does not always come back from MPI_Finalize; measure takes what is whole then, too.
    assert ended.status == 0 or (name == "mpich" and ended.late and samples.finished), ended.last_words(8)
    return samples


@needs_hosts
def test_messages_that_take_the_time_of_all_others_are_not_begun(tmp_path: Path) -> None:
    """4 MiB go to and fro in 3.4 s here: the first round alone took three times the time of all."""
    items = [f"p{size} pingpong a=0 b=1 bytes={size}" for size in (1, 1024, 16384, 1 << 17, 1 << 22)]
    tmp_path.chmod(0o755)
    (tmp_path / "plan").write_text(plan(items, budget=4, samples="8 200"))
    program = mpi_program(mpi_programs.installed("openmpi").mpi)
    with emulated_hosts.hosts(2, "20mbit") as there:
        command = [*there.inside(), *there.openmpi(), *undisturbed(), str(program)]
        ended = captured([*command, str(tmp_path / "plan"), str(tmp_path / "journal")], os.environ, limit=60)
    assert ended.status == 0, ended.last_words(8)
    samples = read_journal(tmp_path / "journal", [Item.parse(item) for item in items], "hosts")
    assert [len(one) > 0 for one in samples] == [True] * 4 + [False]
    assert (samples["p4194304"].ended, samples["p4194304"].skipped) == ("budget", "")


@needs_hosts
def test_with_a_peak_rate_no_message_passes_sooner_than_on_a_wire(tmp_path: Path) -> None:
    """4 KiB are three packets: the first passes at once, and the two others take their time at the peak rate.

    Without it all of them pass at once whenever the link was idle before, in 17 us: as it is during the other item.
    """
    items = ["p pingpong a=0 b=1 bytes=4096", "idle isendcall a=0 b=1 bytes=1 pause=0.002"]
    with emulated_hosts.hosts(2, "200mbit", "4k", peak="280mbit") as there:
        samples = between(items, "openmpi", there, tmp_path)
    assert len(samples["p"])
    assert samples["p"].values.min() > (4096 + 3 * 66 - 1514) * 8 / 280e6


@needs_hosts
@needs_cores
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_rate_of_a_link_is_found_in_each_direction(name: str, tmp_path: Path) -> None:
    """Within 3 % of what was imposed, the frames counted; one direction is four times as fast as the other.

    The kernel adds up to 50 ms to messages that other work makes wait for the processors, and the link never lets one
    pass sooner: the least times are those of the link. Where all messages of a size waited, there are more of them.
    """
    small, large = 100_000, 400_000
    items = [
        f"{a}{b}.{size} window a={a} b={b} bytes={size} n=1" for a, b in ((0, 1), (1, 0)) for size in (small, large)
    ]
    imposed = {pair: emulated_hosts.seconds_per_byte(rate) for pair, rate in (("01", "200mbit"), ("10", "50mbit"))}
    least: dict[str, float] = {}
    with emulated_hosts.hosts(2, [("200mbit", "200mbit"), ("50mbit", "200mbit")]) as there:
        for again in range(4):
            folder = tmp_path / str(again)
            folder.mkdir()
            samples = between(items, name, there, folder)
            assert samples.fact("hosts").split() == list(there.names)
            for one in samples:
                least[one.item.name] = min(least.get(one.item.name, math.inf), float(one.column().min()))
            slope = {pair: (least[f"{pair}.{large}"] - least[f"{pair}.{small}"]) / (large - small) for pair in imposed}
            if slope == pytest.approx(imposed, rel=0.03):
                return
    pytest.fail(f"measured {slope} s/B, imposed {imposed}")


@needs_hosts
@needs_cores
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_waiting_for_the_link_is_no_time_of_the_receiver(name: str, tmp_path: Path) -> None:
    """400 kB take 17 ms on the link, and hardly any processor."""
    items = ["way pingpong a=0 b=1 bytes=400000", "receive receivecall a=0 b=1 bytes=400000 how=posted"]
    with emulated_hosts.hosts(2, "200mbit") as there:
        median = {one.item.name: float(np.median(one.column())) for one in between(items, name, there, tmp_path)}
    assert median["way"] > 15e-3
    assert median["receive"] < median["way"] / 2


@needs_hosts
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_ranks_of_a_host_are_near_each_other(name: str, tmp_path: Path) -> None:
    """Structure alone: four ranks on two hosts share the cores of this one."""
    items = ["near pingpong a=0 b=1 bytes=300000", "far pingpong a=0 b=2 bytes=300000"]
    items += ["sum collective name=allreduce bytes=8", "inject inject senders=2 bytes=1000"]
    with emulated_hosts.hosts(2, "20mbit") as there:
        samples = between(items, name, there, tmp_path, per_host=2)
        hosts = samples.fact("hosts").split()
        assert hosts == [there.names[0]] * 2 + [there.names[1]] * 2
    assert all(len(one) for one in samples if one.item.name != "sum")
    # 300 kB take 0.12 s on the link.
    assert samples["far"].column().min() > 0.1
    assert samples["near"].column().min() < 0.05


def test_without_permission_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert hosts.obstacle() == "needs root"
