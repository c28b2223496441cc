"""Times beyond 64 bits of picoseconds: refused in one sentence, and sums over ranks that are wider."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.simulation.text import shares, summary

LATEST = r"simulated time goes beyond 4611686 s"
MODELS = ("loggops", "flow", "reserve", "packet")
FLAT = isthmus.Level(L=1e-6, G=1e-9)


def calcs(seconds: float, count: int, *, streams: int = 1, ranks: int = 1) -> isthmus.Schedule:
    rank, stream, _ = np.indices((ranks, streams, count)).reshape(3, -1)
    return isthmus.Schedule.of(ranks, rank=rank, kind="calc", amount=round(seconds * 1e12), cpu=stream)


def goal(path: Path, text: str) -> isthmus.Schedule:
    path.write_text(text)
    return isthmus.read(path)


@pytest.mark.parametrize("receive", ["loggp", "loggopsim"])
@pytest.mark.parametrize("record", ["finish", "ranks", "ops"])
def test_two_calcs(tmp_path: Path, receive: str, record: str) -> None:
    for calc, count in ((9_000_000_000_000_000, 2), (4_000_000_000_000_000, 2), (4_611_686_018_427_388, 1)):
        lines = "".join(f"c{i}: calc {calc}\n" for i in range(count))
        schedule = goal(tmp_path / "a.goal", f"num_ranks 1\nrank 0 {{\n{lines}}}\n")
        with pytest.raises(InvalidInput, match=LATEST):
            isthmus.simulate(schedule, FLAT, receive=receive, record=record)
    # Up to the end nothing is wrong.
    half = 2305843009213693
    schedule = goal(tmp_path / "a.goal", f"num_ranks 1\nrank 0 {{\nc: calc {half}\nd: calc {half}\n}}\n")
    assert isthmus.simulate(schedule, FLAT, receive=receive, record=record).makespan_ps == 2000 * half


@pytest.mark.parametrize("receive", ["loggp", "loggopsim"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("many", [False, True])
def test_messages(tmp_path: Path, model: str, receive: str, many: bool) -> None:
    """200 messages of 7e13 B from one rank, or from 200 to one."""
    size, senders, each = 70_000_000_000_000, *((200, 1) if many else (1, 200))
    text = f"num_ranks {senders + 1}\nrank 0 {{\n"
    text += "".join(f"r{i}: recv {size}b from {1 + i % senders} tag {i}\n" for i in range(200)) + "}\n"
    for rank in range(1, senders + 1):
        sends = "".join(f"s{i}: send {size}b to 0 tag {i * senders + rank - 1}\n" for i in range(each))
        text += f"rank {rank} {{\n{sends}}}\n"
    schedule = goal(tmp_path / "m.goal", text)
    machine = isthmus.load("ring:256 cores=1 link=1GB/s network.L=1us network.G=1ns/B network.S=1EB")
    options = {"packet": isthmus.PacketOptions(bytes=900)} if model == "packet" else {}
    if model == "packet":
        # So many packets would take too long: a slower link, and as much time.
        machine = isthmus.load("ring:256 cores=1 link=1B/s network.L=1us network.G=1s/B network.S=1EB")
        schedule = goal(tmp_path / "m.goal", text.replace(str(size), "70000"))
    refused = f"{LATEST}|messages are in flight for more than|a link is taken for more"
    with pytest.raises(InvalidInput, match=refused):
        isthmus.simulate(schedule, machine, model=model, receive=receive, symmetry=False, **options)


def test_status_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.goal").write_text("num_ranks 1\nrank 0 {\na: calc 9000000000000000\nb: calc 9000000000000000\n}\n")
    words = [sys.executable, "-m", "isthmus", "simulate", str(tmp_path / "a.goal"), "--machine", "loggops:L=1us"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"isthmus: {LATEST}.*\n", done.stderr)


def test_iterations_that_are_left_out() -> None:
    """The whole of a loop of which only the begin is simulated."""
    schedule = calcs(50_000.0, 100)
    for skip in (False, True):
        with pytest.raises(InvalidInput, match=LATEST):
            isthmus.simulate(schedule, FLAT, skip=skip)


def test_sums_over_ranks() -> None:
    """65,536 ranks of 200 s: 1.3e7 rank-seconds, more than 2^63 ps."""
    timeline = isthmus.simulate(calcs(200.0, 1, ranks=65_536), FLAT)
    rows = {row["share"]: row for row in shares(timeline)}
    assert rows["compute"]["part"] == pytest.approx(1.0)
    assert rows["compute"]["mean"] == pytest.approx(200.0)
    assert all(0 <= row["part"] <= 1 for row in rows.values())
    assert "computation       200 s" in str(timeline)
    assert summary(timeline)["breakdown"][0]["part"] == pytest.approx(1.0)


def test_streams_of_a_rank() -> None:
    """Three streams of which each is within the limit."""
    with pytest.raises(InvalidInput, match=LATEST):
        isthmus.simulate(calcs(4e6, 1, streams=3), FLAT)


def test_parameters() -> None:
    with pytest.raises(InvalidInput, match=r"socket.L = 2000000.0 s: must be 0 to 1.1e6 s"):
        isthmus.simulate(calcs(1.0, 1), isthmus.Level(L=2e6))
    noise = isthmus.Noise(kind="periodic", period=1.0, duration=0.5)
    schedule = calcs(4e6, 1)
    with pytest.raises(InvalidInput, match=LATEST):
        isthmus.simulate(schedule, FLAT, noise=noise)
