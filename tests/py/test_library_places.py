"""Places at run time: what libisthmus says of a job is what the machine says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import isthmus
from commands import Run
from isthmus.mapping import launch
from test_library import compile_c

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "library_places.c", tmp_path_factory.mktemp("places") / "reader")


def said_by(reader: Path, file: Path) -> list[str]:
    done = subprocess.run([reader], capture_output=True, text=True, env={**os.environ, "ISTHMUS_PLACES": str(file)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("machine", "nodes", "ranks"),
    [
        ("torus-4x4x4", range(64), 64),
        ("torus-4x4x4:cores=4", [3, 63, 17, 0, 22], 13),
        ("torus:5x6x3,cores=2", [0, 4, 29, 60, 89], 10),
        ("mesh:7x5,cores=2", [2, 3, 34, 9], 8),
        ("ring:150", [149, 0, 1, 70], 4),
        ("fattree:k=4,n=3,cores=4", range(16), 40),
        ("dragonfly:a=4,p=2,h=2,g=9,cores=2", [0, 71, 13, 14, 15, 40], 12),
        ("slimfly:q=5,cores=2", [3, 40, 49], 6),
        ("hypercube:5", range(3, 30), 27),
        ("kautz:d=3,k=3", range(0, 36, 5), 8),
        ("cielo", range(100, 130), 200),
    ],
)
def test_places_are_those_of_the_machine(reader: Path, tmp_path: Path, machine: str, nodes: range, ranks: int) -> None:
    where = isthmus.load(machine)
    job = isthmus.Allocation(where, list(nodes))
    placement = isthmus.Placement.of(job, ranks, "random", seed=3)
    file = tmp_path / "places"
    launch.write(placement, "places", file, job)
    assert launch.read(file, job) == placement

    said = said_by(reader, file)
    dimensions, lines = said[: len(job.dims)], said[len(job.dims) :]
    shape = zip(where.topology.dim_names, job.dims, job.wraps, strict=True)
    assert dimensions == [f"{name} {extent} {int(wraps)}" for name, extent, wraps in shape]
    inside = (where.coordinates(placement.node).astype(int) - np.array(job.origin)) % np.array(where.topology.dims)
    assert len(lines) == ranks
    for rank, line in enumerate(lines):
        place, there, hops = line.split(":")
        assert [*map(int, place.split())] == [placement.node[rank], placement.core[rank], *inside[rank]]
        assert [*map(int, there.split())] == [*np.flatnonzero(placement.node == placement.node[rank])]
        assert [*map(int, hops.split())] == [*where.distance(placement.node[rank], placement.node)]


def test_a_job_without_hops_says_so(reader: Path, tmp_path: Path) -> None:
    file = tmp_path / "places"
    file.write_text("isthmus places 1\ndimension x 2\nrank 0 node 7 n7 core 1 at 1\n")
    done = subprocess.run([reader, file], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "x 2 0\n7 1 1: 0:")
    assert done.stderr == "the file of places does not say hops: `isthmus machine distance` does\n"


def test_map_writes_places(reader: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "places"
    Run(capsys, "map").ok(
        *("--example", "stencil", "--machine", "torus:4x4x4", "--model", "none", "--time", "1s"),
        *("-o", str(file), "--format", "places"),
    )
    assert said_by(reader, file)[:2] == ["x 4 1", "y 4 1"]


def test_a_file_that_is_not_there(reader: Path, tmp_path: Path) -> None:
    done = subprocess.run([reader, tmp_path / "none"], capture_output=True, text=True)
    assert done.stderr == f"{tmp_path / 'none'}: No such file or directory\n"
    environment = {key: value for key, value in os.environ.items() if key != "ISTHMUS_PLACES"}
    done = subprocess.run([reader], capture_output=True, text=True, env=environment)
    assert done.stderr.startswith("ISTHMUS_PLACES is not set: ")
    done = subprocess.run([reader, tmp_path], capture_output=True, text=True)
    assert done.stderr == f"{tmp_path}: Is a directory\n"
