"""The cases of bench/never_worse.py, and its verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import never_worse
from mapping_families import FAMILIES, pattern
from mapping_programs import PROGRAMS, extents

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("tasks", [64, 250])
def test_patterns_are_symmetric_and_the_same_for_a_seed(name: str, tasks: int) -> None:
    found = FAMILIES[name](tasks, 3)
    source, target = found.sources(), found.peer
    assert found.ranks == tasks
    assert (source != target).all()
    assert found.bytes.min() > 0
    back = {(u, v): b for u, v, b in zip(source.tolist(), target.tolist(), found.bytes.tolist(), strict=True)}
    assert all(back[v, u] == b for (u, v), b in back.items())
    again = FAMILIES[name](tasks, 3)
    assert np.array_equal(found.peer, again.peer)
    assert np.array_equal(found.bytes, again.bytes)


def test_patterns_are_what_they_are_called() -> None:
    assert set(np.bincount(FAMILIES["hypercube"](64, 1).sources())) == {6}
    banded = FAMILIES["banded"](100, 1)
    assert np.abs(banded.sources().astype(np.int64) - banded.peer).max() == 8
    whole, torn = len(pattern(100, *_grid(10))), len(FAMILIES["missing"](100, 1))
    assert 0.8 * whole < torn < 0.98 * whole
    assert len(FAMILIES["pencils"](36, 1)) == 36 * 10
    assert np.bincount(FAMILIES["cliques"](48, 1).sources()).max() == 12
    octree = np.bincount(FAMILIES["octree"](64, 1).sources())
    assert octree.min() >= 1
    assert octree.max() > 2 * octree.min()


def _grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    rank = np.arange(side * side).reshape(side, side)
    pairs = [(rank[1:], rank[:-1]), (rank[:, 1:], rank[:, :-1])]
    u, v = (np.concatenate([p[i].ravel() for p in pairs]) for i in (0, 1))
    return u, v


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("ranks", [4, 9, 27])
def test_programs_end(name: str, ranks: int) -> None:
    program = PROGRAMS[name](ranks, 2)
    assert program.ranks == ranks
    assert isthmus.simulate(program, f"ring:{ranks}", model="flow").deadlock is None


def test_extents() -> None:
    assert [extents(27, 3), extents(12, 2), extents(7, 3), extents(64, 3)] == [
        [3, 3, 3],
        [4, 3],
        [7, 1, 1],
        [4, 4, 4],
    ]


@pytest.mark.parametrize(("objective", "status"), [([], 0), (["--objective", "hop_bytes"], 1)])
def test_a_slower_placement_fails_the_check(objective: list[str], status: int) -> None:
    where = "butterfly 27 edison, 4 a node, scattered"
    words = ["--part", "programs", "--ranks", "27", "--rows", where, "--no-peers", "--seconds", "0.5", "--check"]
    done = subprocess.run(
        [sys.executable, str(BENCH / "never_worse.py"), *words, *objective], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert "simulated time of programs, 1 cases" in done.stdout
    assert f"worse by more than 1 %: {status};" in done.stdout


def test_an_ideal_network_and_computation_that_takes_a_part() -> None:
    program = PROGRAMS["halo2d"](9, 1)
    # Five times 100 us of each rank, and nothing else on an ideal network.
    ideal = isthmus.simulate(program, isthmus.Level()).makespan
    tenth = isthmus.simulate(never_worse.with_compute(program, 0.1), isthmus.Level()).makespan
    none = isthmus.simulate(never_worse.with_compute(program, 0), isthmus.Level()).makespan
    assert (ideal, tenth, none) == pytest.approx((5e-4, 5e-5, 0))
    assert np.array_equal(isthmus.pattern(program).bytes, isthmus.pattern(never_worse.with_compute(program, 0)).bytes)


def test_samples_are_drawn_from_what_is_asked_for(tmp_path: Path) -> None:
    words = [
        "--part",
        "programs",
        "--ranks",
        "8",
        "--machines",
        "eos",
        "--no-peers",
        "--seconds",
        "0.1",
        "--sample",
        "3",
    ]
    runs = []
    for extra in ([], [], ["--compute", "0.1"]):
        found = tmp_path / "found.json"
        subprocess.run(
            [sys.executable, str(BENCH / "never_worse.py"), *words, "--no-peers", *extra, "--json", str(found)],
            check=True, capture_output=True,
        )  # fmt: skip
        runs.append(json.loads(found.read_text()))
    names = [[(row["case"], row["where"]) for row in run] for run in runs]
    assert names[0] == names[1] == names[2]
    assert len(set(names[0])) == 3
    assert all(where.startswith("eos") for _, where in names[0])
    for usual, quick in zip(runs[0], runs[2], strict=True):
        blocks = [run["found"]["block"] for run in (usual, quick)]
        assert blocks[1]["ideal"] < blocks[0]["ideal"] < blocks[0]["time"]
