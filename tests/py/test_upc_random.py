"""Random lines of UPC over shared arrays and pointers, beside a slow interpreter of the layout rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.upc import Options, build
from oracles.upc_pointers import Program

LINES = 200


# 50 programs have more than 10,000 lines, of which ./bootstrap test takes two.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("seed", range(50))
def test_random_lines_do_what_the_interpreter_says(tmp_path: Path, seed: int, level: str) -> None:
    threads = seed % 4 + 1
    program = Program(seed, threads, LINES)
    source = tmp_path / "random.upc"
    source.write_text(program.text())
    build([str(source)], Options(str(tmp_path / "random"), threads, level))
    command = [sys.executable, "-m", "isthmus", "run", "-n", str(threads), "--", str(tmp_path / "random")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [int(line) for line in ran.stdout.split()] == program.expected
