"""The program that measures messages: every kind on few ranks, with Open MPI and MPICH; damaged plans and runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mpi_programs
from isthmus.measuring.programs import mpi_program, node_program, sources
from isthmus.measuring.samples import Item, read_journal
from isthmus.mpi.build import folder_of
from isthmus.mpi.launcher import Launcher, captured
from probe_runs import measured, plan, start, undisturbed

PAIRS = [
    "clock clock",
    "small pingpong a=0 b=1 bytes=8",
    "empty pingpong a=1 b=0 bytes=0",
    "large pingpong a=0 b=1 bytes=100000",
    "copy local a=0 b=1 what=copy bytes=100000",
    "reduce local a=0 b=1 what=reduce bytes=1000",
    "fresh fresh a=0 b=1 bytes=100000",
    "prtt prtt a=0 b=1 bytes=100 n=4 delay=0.0002",
    "unposted prtt a=1 b=0 bytes=100 n=4 posted=0",
    "sendrecv sendrecv a=0 b=1 bytes=1000",
    "burst burst a=0 b=1 bytes=1000 n=8",
    "window window a=1 b=0 bytes=1000 n=16",
    "bidirectional bidirectional a=0 b=1 bytes=1000 n=16",
    "ring ring bytes=100",
    "sendcall sendcall a=0 b=1 bytes=100",
    "isendcall isendcall a=0 b=1 bytes=100",
    "waitcall waitcall a=0 b=1 bytes=100",
    "waited receivecall a=0 b=1 bytes=100 how=wait",
    "posted receivecall a=1 b=0 bytes=100 how=posted",
    "irecvcall irecvcall a=0 b=1 bytes=100",
    "held eager a=0 b=1 bytes=1000000 hold=0.004",
    "noise noise rank=1 kind=fwq quantum=0.0002 seconds=0.02",
    "ftq noise rank=0 kind=ftq quantum=0.0002 seconds=0.02",
]


@pytest.mark.parametrize(("name", "ranks"), [("openmpi", 2), ("mpich", 2), ("openmpi", 4)])
def test_messages_of_pairs(name: str, ranks: int, tmp_path: Path) -> None:
    """Structure alone: ranks share cores with other work here."""
    pairs = [item.replace("b=1", f"b={ranks - 1}").replace("a=1", f"a={ranks - 1}") for item in PAIRS]
    samples = measured(pairs, name, ranks, tmp_path, samples="3 6")
    for one in samples:
        assert len(one) > 0, one
        assert not one.skipped
        assert np.isfinite(one.values).all()
        assert (one.values >= 0).all()
    median = {one.item.name: float(np.median(one.column())) for one in samples}
    # The delays are in it, three of them; the receive comes so late.
    assert median["prtt"] >= 3 * 0.0002
    assert median["held"] >= 0.003
    assert len(samples["noise"]) == len(samples["ftq"]) == 100
    assert samples["noise"].ended == "most"
    assert median["noise"] == pytest.approx(0.0002, rel=5)
    assert median["ftq"] <= 0.0003
    assert samples.fact("ranks") == str(ranks)
    for key in ("hosts", "affinity", "governor", "load_begin", "steal_end", "switches_end", "cores_end"):
        assert len(samples.fact(key).split()) == ranks, key
    assert samples.fact("mpi").startswith(("Open MPI v", "MPICH Version"))
    assert 0 < float(samples.fact("clock_cost")) < 1e-4


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_threshold_is_a_size_that_does_not_wait(name: str, tmp_path: Path) -> None:
    first = undisturbed()
    if not first:
        pytest.skip("ranks share their cores with other work here")
    item = "t threshold a=0 b=1 most=100000"
    limit = int(np.median(measured([item], name, 2, tmp_path, first, samples="1 3")["t"].column()))
    assert 1000 < limit < 100000
    items = [f"below eager a=0 b=1 bytes={limit} hold=0.004", f"above eager a=0 b=1 bytes={limit + 1} hold=0.004"]
    items += [f"there receivecall a=0 b=1 bytes={limit}", f"late receivecall a=0 b=1 bytes={limit + 1}"]
    items += [f"posted receivecall a=0 b=1 bytes={4 * limit} how=posted"]
    found = measured(items, name, 2, tmp_path, first)
    assert np.median(found["below"].column()) < 0.002 < np.median(found["above"].column())
    assert len(found["there"])
    assert len(found["posted"])
    assert "wait for their receive" in found["late"].skipped


def test_what_is_done_comes_again_while_others_are_not(tmp_path: Path) -> None:
    """So that all items see the states of the computer. Rounds are those of the whole run, smallest messages first."""
    items = ["long memcpy bytes=150000000", "short memcpy bytes=4096"]
    (tmp_path / "plan").write_text(plan(items, budget=60, samples="30 1000", more="tolerance 0.9\n"))
    command = [str(node_program()), str(tmp_path / "plan"), str(tmp_path / "journal")]
    assert captured(command, os.environ, limit=100).status == 0
    samples = read_journal(tmp_path / "journal", [Item.parse(item) for item in items], "test")
    assert samples["short"].ended == samples["long"].ended == "tolerance"
    assert samples["short"].rounds.max() <= samples["long"].rounds.max()
    lines = [line.split()[:2] for line in (tmp_path / "journal").read_text().splitlines()]
    assert ["sample", "short"] in lines[lines.index(["done", "short"]) :]
    assert [line[1] for line in lines if line[0] == "begin"][:2] == ["short", "long"]


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    items = ["far pingpong a=0 b=2 bytes=8", "self pingpong a=1 b=1 bytes=8", "many ring bytes=8 ranks=3"]
    samples = measured([*items, "few ring bytes=8 members=1,0", "one ring bytes=8 ranks=1"], "openmpi", 2, tmp_path)
    assert {one.item.name: one.skipped for one in samples} == {
        "far": "rank 2: 2 ranks were started",
        "self": "a and b are the same rank",
        "many": "it needs 3 ranks: 2 were started",
        "few": "",
        "one": "",
    }
    assert len(samples["few"])
    alone = measured([*items, "c clock"], "openmpi", 1, tmp_path)
    assert [bool(one.skipped) for one in alone] == [True, True, True, False]


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_ranks_bind_themselves_where_the_plan_says(name: str, tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    before = measured(["c clock"], name, 2, tmp_path / "before").fact("affinity").split()
    bound = measured(["c clock"], name, 2, tmp_path / "bound", more=f"bind -1 {allowed[-1]}\n")
    after = bound.fact("affinity").split()
    assert after == [before[0], str(allowed[-1])]
    assert bound.fact("cores_begin").split()[1] == bound.fact("cores_end").split()[1] == str(allowed[-1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "1: a plan begins with 'isthmus-plan 1'"),
        ("isthmus-plan 1\n", " there is no item in it"),
        ("isthmus-plan 1\nbudget soon\n", "2: budget soon: seconds are allowed"),
        ("isthmus-plan 1\nbudget\n", "2: budget : seconds are allowed"),
        ("isthmus-plan 1\ntolerance 2\n", "2: tolerance 2: a number from 0 to 1 is allowed"),
        ("isthmus-plan 1\nsamples 9 3\n", "2: samples: two whole numbers are allowed"),
        ("isthmus-plan 1\nclocks fast\n", "2: clocks fast: shared or measured is allowed"),
        ("isthmus-plan 1\nbind\n", "2: bind: a processor for each rank is allowed"),
        ("isthmus-plan 1\nbind 0 all\n", "2: bind all: a processor from 0, or -1, is allowed"),
        ("isthmus-plan 1\nrepeat 3\n", "2: repeat: budget, tolerance"),
        ("isthmus-plan 1\n\nitem a\n", "3: an item is 'item ID KIND key=value ...'"),
        ("isthmus-plan 1\nitem a dance\n", "2: item a: kind dance is not known here"),
        ("isthmus-plan 1\nitem a clock\nitem a clock\n", "3: item a is there already, in line 2"),
        ("isthmus-plan 1\nitem a pingpong a=0 b=1\n", "2: item a: bytes= is missing"),
        ("isthmus-plan 1\nitem a pingpong a=0 b=-1 bytes=1\n", "2: item a: b=-1: a rank, from 0 is allowed"),
        ("isthmus-plan 1\nitem a pingpong a=0 b=1 bytes=1k\n", "2: item a: bytes=1k: bytes, up to 1073741824 is"),
        ("isthmus-plan 1\nitem a pingpong a=0 b=1 bytes=1 n=2\n", "2: item a: n: keys of pingpong are a:rank"),
        ("isthmus-plan 1\nitem a pingpong a=0 a=1 b=1\n", "2: item a: a is given twice"),
        ("isthmus-plan 1\nitem a pingpong a\n", "2: item a: a: key=value is allowed"),
        ("isthmus-plan 1\nitem a prtt a=0 b=1 bytes=1 n=0\n", "2: item a: n=0: a whole number from 1 is allowed"),
        ("isthmus-plan 1\nitem a eager a=0 b=1 bytes=1 hold=x\n", "2: item a: hold=x: seconds, from 0 is allowed"),
        ("isthmus-plan 1\nitem a noise kind=pink\n", "2: item a: kind=pink: fwq|ftq is allowed"),
    ],
)
def test_wrong_plans(text: str, words: str, tmp_path: Path) -> None:
    """One sentence, exit status 2, no journal. Without a launcher: that is quicker, and one rank does for it."""
    (tmp_path / "plan").write_text(text)
    program = mpi_program(mpi_programs.installed("mpich").mpi)
    done = subprocess.run([program, "plan", "journal"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"isthmus-probe: plan:{words}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "journal").exists()


def test_all_ranks_end_where_the_plan_is_wrong(tmp_path: Path) -> None:
    ended = start("isthmus-plan 1\nitem a dance\n", "openmpi", 3, tmp_path)
    assert ended.status == 2
    assert "plan:2: item a: kind dance is not known here" in ended.errors
    (tmp_path / "plan").unlink()
    program = mpi_program(mpi_programs.installed("openmpi").mpi)
    ended = Launcher(tuple(mpi_programs.launcher("openmpi", 2))).run(program, str(tmp_path / "plan"), "journal")
    assert ended.status == 2
    assert "the plan cannot be read" in ended.errors


def test_a_run_that_is_killed_keeps_whole_lines(tmp_path: Path) -> None:
    # So many samples are asked for at least that no item ends, however coarse the clock or fast the machine is.
    items = [f"p{i} pingpong a=0 b=1 bytes={65536 << i}" for i in range(4)]
    (tmp_path / "plan").write_text(plan(items, budget=60, samples="1000000 1000000", more="tolerance 0\n"))
    program = mpi_program(mpi_programs.installed("openmpi").mpi)
    launcher = Launcher(tuple(mpi_programs.launcher("openmpi", 2)), 2)
    ended = launcher.run(program, str(tmp_path / "plan"), str(tmp_path / "journal"), limit=6)
    assert ended.late
    samples = read_journal(tmp_path / "journal", [Item.parse(item) for item in items], "killed")
    assert [one.item.name for one in samples if one.ended or not len(one)] == []
    assert (tmp_path / "journal").read_text().endswith("\n")


def test_ranks_that_are_separate_programs_are_told(tmp_path: Path) -> None:
    """As where the launcher of another MPI starts the program: each is rank 0 of 1."""
    (tmp_path / "plan").write_text(plan(["c clock"], budget=60, samples="1000000 1000000"))
    program = mpi_program(mpi_programs.installed("mpich").mpi)
    words = [str(program), "plan", "journal"]
    first = subprocess.Popen(words, cwd=tmp_path)
    try:
        while not (tmp_path / "journal").exists() or not (tmp_path / "journal").stat().st_size:
            assert first.poll() is None
        second = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    finally:
        first.kill()
        first.wait()
    assert second.returncode == 3
    assert "journal: another process writes to it" in second.stderr


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    (tmp_path / "plan").write_text(plan(["c clock"]))
    program = mpi_program(mpi_programs.installed("openmpi").mpi)
    ended = Launcher(tuple(mpi_programs.launcher("openmpi", 2))).run(
        program, str(tmp_path / "plan"), "/dev/full", limit=60
    )
    assert ended.status == 1
    assert "isthmus-probe: /dev/full: No space left on device" in ended.errors


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_compiles_without_warnings(name: str, tmp_path: Path) -> None:
    compiler = mpi_programs.installed(name).mpi.mpicc
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]
    files = sorted(sources().glob("*.c"))
    assert len(files) > 10
    flags.append(f"-I{folder_of('libisthmus', 'include/isthmus/isthmus.h') / 'include'}")
    done = subprocess.run(
        [compiler, *flags, "-fsyntax-only", *map(str, files)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
