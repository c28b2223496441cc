"""isthmus run -- COMMAND: collectives of MPI programs that know nothing of it, carried out by libisthmus."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpi_programs import compiled, launcher

MPIS = ["openmpi", "mpich"]


def run(name: str, ranks: int, *program: str | Path, options: tuple[str, ...] = (), **more: str) -> Any:
    """The end of `isthmus run --json`, and what it printed."""
    line = [
        sys.executable,
        "-m",
        "isthmus",
        "run",
        "--json",
        *options,
        "--",
        *launcher(name, ranks),
        *map(str, program),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **more})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module", params=MPIS)
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    return name, compiled("taken.c", name, tmp_path_factory.mktemp("taken"))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_every_collective(checked: tuple[str, Path], ranks: int) -> None:
    """Types, gaps, blocks, roots, operators, in place, communicators of all kinds: all are right and taken over."""
    name, program = checked
    found, printed = run(name, ranks, program, "1", str(ranks), "0")
    assert f"{34 * 5 * ranks} calls checked, 0 wrong" in printed
    assert found["ranks"] == ranks
    assert found["share"] >= 0.95
    kinds = {row["collective"] for row in found["collectives"] if row["taken"]}
    assert len(kinds) == 22
    assert not any(why for row in found["collectives"] for why in row["left"] if why != "compared")
