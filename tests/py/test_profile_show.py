"""What ``isthmus show`` says of recorded programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.recording.profile import profile
from isthmus.recording.profile_text import report
from isthmus.schedule.recording import ABORTED, FINALIZED, FULL, SIGNALLED
from recordings import Call, recorded

SITE = "src/communicate.cpp:1234 (engine::Communicator<double, 3>::exchange_halos(engine::Field&, int, bool))"


def ring(ranks: int = 8, calls: int = 20, **changed: Any) -> isthmus.Program:
    """A ring with 1,000 bytes; allreduce waits for the last rank, whose computation is twice that of the others."""
    b = isthmus.ProgramBuilder(ranks)
    rank = np.arange(ranks)
    made = []
    for step in range(calls):
        start = step * 100_000
        b.sendrecv(None, (rank + 1) % ranks, 1000, (rank - 1) % ranks)
        b.compute(None, np.where(rank == ranks - 1, 60e-6, 30e-6))
        b.allreduce(None, 8)
        for r in range(ranks):
            late = 30_000 * (r < ranks - 1)
            made.append(Call(r, "MPI_Sendrecv", start, start + 20_000, 1000, 1000, site=SITE))
            made.append(Call(r, "MPI_Allreduce", start + 80_000 - late, start + 100_000, 8, 8, site="a.c:7", wait=late))
    return recorded(b.build(), made, **changed)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    def run(program: isthmus.Program, *arguments: str) -> str:
        path = tmp_path / "app.h5"
        program.save(path)
        main(["show", str(path), *arguments])
        return capsys.readouterr().out

    return run


def test_the_figures_are_there(show: Any) -> None:
    out = show(ring())
    for words in (
        "8 ranks on node1, Open MPI v4.1.4, recorded 2026-03-01 12:00 UTC",
        "2 ms between MPI_Init and MPI_Finalize, MPI_Init took 1 ms, MPI_Finalize took 2 ms",
        "66.2 % of it, from 40.0 % on rank 7 to 70.0 % on rank 0",
        "26.2 % of the time in collectives, until the last rank arrived",
        "675 us of processor time per rank, on rank 7 1.78 times that",
        "160 with 160 kB in total; every rank has 2 partners",
        "ring of 8 ranks, in one direction (100 % of the bytes)",
        "320 calls; the recorder took 100 us in MPI_Init and MPI_Finalize, 1.049 MB",
        SITE,
    ):
        assert words in out
    table = [line.split() for line in out.split("\n") if line.startswith("MPI_")]
    # Calls, then the same with their places.
    assert [row[0] for row in table] == ["MPI_Allreduce", "MPI_Sendrecv"] * 2
    assert " ".join(table[0][1:10]) == "160 46.2 % 7.4 ms 46.2 us 50 us"
    assert "512 B to 1.024 kB" in out


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("oversubscribed", [False, True])
def test_lines_fit(width: int, full: bool, oversubscribed: bool) -> None:
    more = {"cpus_online": np.full(8, 2, np.uint32)} if oversubscribed else {}
    program = ring(unmodelled={f"MPI_Win_something_{i}": 10 * i for i in range(1, 9)}, **more)
    for rank in (None, 3):
        text = report(profile(program, rank=rank), full=full, width=width)
        assert max(map(len, text.split("\n"))) <= width
        # One screenful.
        assert full or len(text.split("\n")) < 45
        # The place is cut in the middle, its ends stay.
        assert "src/comm" in text
        assert "int, bool))" in text or "bool))" in text


def test_oversubscribed(show: Any) -> None:
    program = ring(cpus_online=np.full(8, 2, np.uint32))
    out = show(program)
    assert "times in MPI are meaningless here and left out: 8 ranks on node1 shared 2 processors" in out
    for word in (" share", "per call", "longest", "waiting", "%  "):
        assert word not in out.replace("node1 shared", "")
    assert "675 us of processor time per rank" in out
    found = json.loads(show(program, "--json"))
    assert found["oversubscribed"] == "8 ranks on node1 shared 2 processors"
    for row in found["calls"] + found["places"]:
        assert row["time"] is row["longest"] is row["waiting"] is row["communicating"] is None
        assert row["calls"] == 160
    assert found["by_rank"]["mpi"] == [None] * 8
    assert found["by_rank"]["sent"] == [20 * 1008] * 8


def test_json_has_what_the_profile_has(show: Any) -> None:
    program = ring(untimed={"MPI_Wtime": np.full(8, 3)}, unmodelled={"MPI_File_open": 8})
    found = json.loads(show(program, "--json"))
    p = profile(program)
    assert [row["call"] for row in found["calls"]] == ["MPI_Allreduce", "MPI_Sendrecv"]
    assert [row["place"] for row in found["places"]] == ["a.c:7", SITE]
    assert found["calls"][0]["time"] == pytest.approx(p.functions.time[0])
    assert found["calls"][0]["waiting"] + found["calls"][0]["communicating"] == pytest.approx(p.functions.time[0])
    assert found["messages"] == [{"from": 512, "number": 160, "bytes": 160_000}]
    assert found["collectives"] == [{"from": 8, "number": 160, "bytes": 1280}]
    assert found["shape"]["name"] == "ring of 8 ranks"
    assert found["untimed"] == {"MPI_Wtime": 24}
    assert found["unmodelled"] == {"MPI_File_open": 8}
    assert found["by_rank"]["computing"] == pytest.approx(p.ranks.computing.tolist())
    one = json.loads(show(program, "--json", "--rank", "7"))
    assert [row["calls"] for row in one["calls"]] == [20, 20]
    assert {(pair["from"], pair["to"]) for pair in one["pairs"]} == {(6, 7), (7, 0)}


def test_one_rank(show: Any) -> None:
    out = show(ring(), "--rank", "7")
    for words in (
        "7 of 8, on node1",
        "40.0 % of it, the 8th most of all ranks",
        "1.2 ms of processor time, 1.78 times the mean of all ranks",
        "20 with 20 kB in total, sent; 2 partners",
    ):
        assert words in out
    # It waits for nobody.
    assert "  waiting  " not in out.split("call")[0]


def test_events_and_what_was_not_recorded(show: Any) -> None:
    import dataclasses

    program = ring(ranks=2, calls=1)
    bare = dataclasses.replace(program, recording=None)
    assert show(bare) == str(bare) + "\n"
    assert show(program, "--events") == str(bare) + "\n"
    assert show(program, "--events", "--rank", "1") == show(bare, "--rank", "1")
    assert "allreduce 8 B" in show(bare, "--rank", "1")


def test_endings_and_losses_are_said() -> None:
    ending = np.full(8, FINALIZED, np.uint32)
    ending[[1, 2]] = [SIGNALLED, ABORTED]
    ending[3:] = 0
    ending[7] = FINALIZED | FULL
    wall = np.linspace(1, 1.7, 8)
    lost = np.array([0, 0, 0, 5, 0, 0, 0, 12], np.uint64)
    program = ring(ending=ending, wall=wall, lost=lost, unmodelled={"MPI_File_open": 8}, notes=("clocks went back",))
    text = report(profile(program), width=None)
    for words in (
        "! rank 1 ended by a signal after 1.1 s",
        "! rank 2 called MPI_Abort after 1.2 s",
        "! ranks 3, 4, 5 and 6 ended without a word, as if killed by the launcher; last heard of after 1.3 s to 1.6 s",
        "! there was no room on the disk for the trace of rank 7",
        "! 17 calls of ranks 3 and 7 were not recorded",
        "! not part of the program, nor of any prediction: 8 MPI_File_open",
        "! clocks went back",
    ):
        assert words in text
    assert "!" not in report(profile(ring()))


def test_many_calls_are_cut() -> None:
    made = [Call(0, f"MPI_X{i}", 100 * i, 100 * i + 10 + i, site=f"a.c:{i}") for i in range(30)]
    program = recorded(isthmus.ProgramBuilder(1).build(), made)
    text = report(profile(program))
    assert text.count("and 22 more") == 2
    assert "MPI_X29" in text
    assert "MPI_X3 " not in text
    full = report(profile(program), full=True)
    assert "more" not in full
    assert "MPI_X3 " in full


def test_sizes_share_rows_but_not_in_full() -> None:
    b = isthmus.ProgramBuilder(2)
    for k in range(24):
        b.send(0, 1, 1 << k)
        b.recv(1, 0, 1 << k)
    p = profile(recorded(b.build()))

    def rows(text: str) -> list[str]:
        return [line for line in text.split("\n") if re.search("[0-9] [kM]?B to ", line)]

    assert len(rows(report(p))) <= 8
    assert len(rows(report(p, full=True))) == 23
    # One family of units, though all sizes are powers of two.
    assert "iB" not in report(p, full=True)
    # Of 1 B, and of the others.
    assert sum(int(row.split("B ")[2].split()[0]) for row in rows(report(p))) == 24


def test_nothing_recorded() -> None:
    text = report(profile(recorded(isthmus.ProgramBuilder(3).build())))
    assert "messages    none" in text
    assert "0 calls" in text


def test_wrong_requests(show: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = ring(ranks=2, calls=1)
    for arguments, words in (
        (["--rank", "2"], "ranks 0 to 1"),
        (["--plot", "ranks"], "must end in .png, .svg, .pdf"),
        (["--messages"], "need -o FILE to draw into"),
        (["-o", str(tmp_path / "a.gif")], ".png, .svg, .pdf"),
        (["-o", str(tmp_path / "a.png"), "--plot", "calls", "--messages"], "--plot matrix"),
    ):
        with pytest.raises(SystemExit) as stop:
            show(program, *arguments)
        assert stop.value.code == 2
        assert words in capsys.readouterr().err
