"""bench/hosts.py: hosts made of network namespaces, and the parameters of the link between them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


@pytest.mark.skipif(bool(hosts.obstacle()), reason="hosts of namespaces cannot be made here")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_hosts_behind(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, BENCH / "hosts.py", "--part", "examples"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 20
        while len(namespaces(process.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(namespaces(process.pid)) == 3
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    finally:
        process.kill()
        process.wait()
    assert namespaces(process.pid) == []
    assert not list(Path("/etc/netns").glob(f"ism{process.pid}*"))


def test_without_permission_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert hosts.obstacle() == "needs root"
