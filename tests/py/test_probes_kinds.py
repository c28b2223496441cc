"""Rates, queues, contention, collectives and start-up as the program that measures takes them; structure alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mpi_programs
from isthmus.measuring.programs import mpi_program
from isthmus.mpi.launcher import Launcher
from probe_runs import measured, plan, undisturbed

COLLECTIVES = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "gatherv",
    "allgather",
    "allgatherv",
    "scatter",
    "scatterv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
]


def test_many_ranks_at_once(tmp_path: Path) -> None:
    items = [f"{mode} rate bytes=8 mode={mode} peers=2" for mode in ("single", "pair", "prepost", "allstart")]
    items += [
        "cold rate bytes=8 cold=1 cache=1000000",
        "two rate bytes=8 mode=pair ranks=2",
        "inject inject senders=2 bytes=1000 n=4",
        "listed inject senders=1 bytes=1000 pairs=3-1",
        "posted queue a=0 b=3 kind=posted length=50",
        "unexpected queue a=3 b=0 kind=unexpected length=50",
        "together shift bytes=8 pairs=0-2,1-3",
        "alone shift bytes=8 pairs=0-2,1-3 alone=1 distance=2",
        "odd rate bytes=8 mode=single members=0,1,3",
        "near rate bytes=8 peers=2 stride=2",
        "much inject senders=3 bytes=8",
        "wrong shift bytes=8 pairs=0-7",
        "words shift bytes=8 pairs=0-1;2-3",
    ]
    samples = measured(items, "openmpi", 4, tmp_path, samples="2 4")
    skipped = {one.item.name: one.skipped for one in samples if one.skipped}
    assert skipped == {
        "odd": "an even number of ranks is needed, as one half sends to the other",
        "much": "there are not so many pairs of ranks",
        "wrong": "pair 0-7: 4 ranks were started",
        "words": "pairs=0-1;2-3: pairs of two ranks such as 0-2,1-3 are allowed",
    }
    for one in samples:
        assert one.skipped or (len(one) and (one.values > 0).all()), one


def test_two_ranks_of_mpich(tmp_path: Path) -> None:
    """More of them than cores would take long: they wait for each other without giving way."""
    items = [f"{mode} rate bytes=8 mode={mode} peers=2" for mode in ("single", "pair", "prepost", "allstart")]
    items += ["posted queue a=0 b=1 kind=posted length=50", "unexpected queue a=1 b=0 kind=unexpected length=50"]
    items += ["inject inject senders=1 bytes=1000", "shift shift bytes=8 pairs=1-0"]
    for one in measured(items, "mpich", 2, tmp_path, undisturbed(), samples="2 4"):
        assert len(one), one
        assert (one.values > 0).all()


def test_a_rank_is_no_peer_of_its_own(tmp_path: Path) -> None:
    samples = measured(["r rate bytes=8 peers=1 stride=2", "ok rate bytes=8 peers=1"], "openmpi", 2, tmp_path)
    assert samples["r"].skipped == "there are more peers than other ranks"
    assert len(samples["ok"])


@pytest.mark.parametrize(("name", "ranks"), [("openmpi", 1), ("openmpi", 2), ("mpich", 2), ("mpich", 3)])
def test_every_collective(name: str, ranks: int, tmp_path: Path) -> None:
    items = [f"{kind} collective name={kind} bytes={100 + i % 4}" for i, kind in enumerate(COLLECTIVES)]
    items += [f"i{item} blocking=0 tests={i % 5}" for i, item in enumerate(items)]
    if ranks > 2:
        items = items[::6]
    before = undisturbed() if ranks == 2 else ()
    samples = measured(items, name, ranks, tmp_path, before, samples="1 2")
    for one in samples:
        # Two undisturbed ranks start in time; where ranks share cores, they begin behind barriers.
        assert len(one) or (ranks == 2 and not before), one
        assert (one.values >= 0).all()
        assert one.values.shape[1] == (4 if one.item.name.startswith("i") else 2)


def test_a_collective_behind_barriers_is_the_mean_of_ranks(tmp_path: Path) -> None:
    """As peers have it: ranks lie between none and twice their mean, and no repetition is left out."""
    items = [f"{n} collective name={name} bytes={n} start=barrier" for name, n in (("allreduce", 8), ("bcast", 4096))]
    for one in measured(items, "openmpi", 2, tmp_path, undisturbed(), samples="40 40"):
        mean, apart = one.column("time"), one.column("skew")
        assert len(mean) == 40
        assert (mean > 0).all()
        assert (apart >= 0).all()
        assert (apart <= 2 * mean + 1e-9).all()


def test_overlap_adds_up(tmp_path: Path) -> None:
    """The whole is what is computed and what is exposed; calls in between cost the processor time."""
    first = undisturbed()
    if not first:
        pytest.skip("ranks share their cores with other work here")
    item = "collective name=allreduce bytes=200000 blocking=0 compute=0.0003"
    items = [f"none {item} tests=0", f"many {item} tests=64", "plain collective name=allreduce bytes=200000"]
    for last in (False, False, True):  # what the kernel does between two samples is in one of the columns only
        samples = measured(items, "openmpi", 2, tmp_path, first, budget=3, samples="10 30")
        median = {
            (one.item.name, column): float(np.median(one.column(column)))
            for one in samples
            for column in one.item.columns
        }
        whole = {name: 0.0003 + median[name, "exposed"] for name in ("none", "many")}
        if last or all(median[name, "time"] == pytest.approx(sum_, rel=0.2) for name, sum_ in whole.items()):
            break
    for name in ("none", "many"):
        assert median[name, "time"] >= 0.0003
        assert median[name, "time"] == pytest.approx(whole[name], rel=0.2)
        assert median[name, "pure"] == pytest.approx(median["plain", "time"], rel=1)
    assert median["many", "cpu"] > median["none", "cpu"]


def test_an_operation_that_has_ended_is_not_tested_again(tmp_path: Path) -> None:
    """Of 8 bytes most of 64 calls came after the end, and the processor's share was up to 290 %."""
    library = mpi_programs.compiled("count_tests.c", "openmpi", tmp_path, "-shared", "-fPIC")
    item = "a collective name=bcast bytes=8 blocking=0 tests=64"
    (tmp_path / "plan").write_text(plan([item], samples="10 20"))
    there = mpi_programs.installed("openmpi").mpi
    Launcher(tuple(mpi_programs.launcher("openmpi", 2)), 2).run(
        mpi_program(there), str(tmp_path / "plan"), str(tmp_path / "journal"), limit=120, preload=library,
        variables={"COUNT_TESTS": str(tmp_path / "tests")},
    )  # fmt: skip
    counts = [[int(n) for n in (tmp_path / f"tests.{rank}").read_text().split()] for rank in range(2)]
    assert sum(under_way for under_way, _ in counts) > 0
    assert [ended for _, ended in counts] == [0, 0]


def test_clocks_that_are_compared_agree_on_one_host(tmp_path: Path) -> None:
    """Ranks of one host read the same clock: what is found between them must be nothing."""
    samples = measured(
        ["a collective name=allreduce bytes=8"], "openmpi", 3, tmp_path, more="clocks measured\n", budget=1
    )
    ahead = [float(word) for word in samples.fact("clocks_ahead").split()]
    assert len(ahead) == 3
    assert ahead[0] == 0
    # Half of the fastest round trip is the most that may be wrong; ranks share cores here.
    assert max(map(abs, ahead)) < 0.05
    assert measured(["c clock"], "openmpi", 2, tmp_path).fact("clocks_ahead") == ""


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_starting(name: str, tmp_path: Path) -> None:
    (one,) = measured(["s startup"], name, 2, tmp_path)
    assert one.values.shape == (1, 6)
    launch, init, finalize, before, after, contacted = one.values[0]
    assert 0 < launch < 30
    assert 0 < init < 30
    assert 0 < finalize < 30
    assert 1e5 < before <= after <= contacted < 1e9
