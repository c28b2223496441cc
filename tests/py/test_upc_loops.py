"""Random loops over shared arrays in UPC, beside the same loops over arrays of the thread in plain C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isthmus.upc import Options, build
from mpi_programs import installed, launcher
from oracles.upc_loops import Loops

PHASES = 30
#: GCC 12 at -O3 interchanges plain loops whose order matters: a[i - j + 44] = b[2 * i + j + 9], j downwards.
RIGHT = ["-fno-loop-interchange"]
SWITCHES: list[dict[str, Any]] = [
    {"level": "0"}, {"level": "1"}, {"level": "3"}, {"local": False}, {"deal": False}, {"blocks": False},
]  # fmt: skip


def source_of(folder: Path, seed: int, threads: int, static: bool) -> str:
    source = folder / "loops.upc"
    source.write_text(Loops(seed, threads, PHASES, static).text())
    return str(source)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda switches: "-".join(map(str, *switches.items())))
@pytest.mark.parametrize("seed", range(40))
def test_random_loops_do_what_plain_c_does(tmp_path: Path, seed: int, switches: dict[str, Any]) -> None:
    threads, static = seed % 4 + 1, seed // 4 % 2 == 1
    program = str(tmp_path / "loops")
    build(
        [source_of(tmp_path, seed, threads, static)],
        Options(program, threads if static else None, flags=RIGHT, **switches),
    )
    for strip in ("1", "3", "1000"):
        command = [sys.executable, "-m", "isthmus", "run", "-n", str(threads), "--", program]
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=os.environ | {"ISTHMUS_UPC_STRIP": strip}
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"right on {threads}\n", "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40, 60))
def test_random_loops_do_it_where_memory_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("MPICC", installed("openmpi").mpi.mpicc)
    threads, static = seed % 2 + 2, seed // 2 % 2 == 1
    program = str(tmp_path / "loops")
    options = Options(
        program, threads if static else None, network="mpi", local=seed % 3 > 0, keep=seed % 4 > 0, flags=RIGHT
    )
    build([source_of(tmp_path, seed, threads, static)], options)
    for strip in ("1", "3", "1000"):
        environment = os.environ | {"ISTHMUS_UPC_STRIP": strip, "ISTHMUS_TRANSPORT": "mpi"}
        names = ["-x", "ISTHMUS_UPC_STRIP", "-x", "ISTHMUS_TRANSPORT"]
        command = [*launcher("openmpi", threads), *names, program]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
        assert (ran.returncode, ran.stdout) == (0, f"right on {threads}\n")
