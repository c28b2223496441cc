"""What the runtime does without locks, in all orders that C++ allows: tests/model explores it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import samples
from library import ROOT

MODEL = ROOT / "tests/model"
#: Explored: compiled as it is, but every access to memory is a call of the model.
CHECKED = [
    *(
        MODEL / f"{name}.cpp"
        for name in ("accesses", "barriers", "boards", "classics", "inboxes", "locks", "near_ranks")
    ),
    *(MODEL / f"{name}.cpp" for name in ("rings", "worlds")),
    ROOT / "runtime/pgas/barrier.cpp",
    ROOT / "runtime/pgas/board_words.cpp",
    ROOT / "runtime/pgas/meeting.cpp",
    ROOT / "runtime/transport/ring_transport.cpp",
    ROOT / "runtime/transport/threads/threads.cpp",
]
EXPLORER = [MODEL / f"{name}.cpp" for name in ("hooks", "main", "model", "source")]
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}", f"-I{ROOT}/core", f"-I{ROOT}/runtime/include"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    compilers, objects = [], []
    for source in (*CHECKED, *EXPLORER):
        objects.append(folder / f"{source.parent.name}-{source.stem}.o")
        own = ["-O1", "-g", "-fsanitize=thread", "-Wno-tsan"] if source in CHECKED else ["-O2"]
        words = ["-Wno-builtin-declaration-mismatch", "-c", source, "-o", objects[-1]]
        compilers.append(subprocess.Popen(["g++", *FLAGS, *own, *words]))
    assert [compiler.wait() for compiler in compilers] == [0] * len(compilers)
    # Not the sanitizer's library: the model takes its place.
    link = ["g++", "-no-pie", "-Wl,--wrap=memcpy,--wrap=memset", *objects, "-o", folder / "model"]
    subprocess.run(link, check=True)
    return folder / "model"


def explored(model: Path, *words: str) -> list[str]:
    done = subprocess.run([model, *words], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_classical_programs_have_the_outcomes_that_are_known(model: Path) -> None:
    assert explored(model, "classics") == ["36 classics, 0 wrong"]


#: Orders of each part whose weakening has to be found.
@pytest.mark.parametrize(
    ("part", "orders"),
    {
        "rings": 6,
        "inboxes": 4,
        "barriers": 2,
        "meetings": 2,
        "boards": 4,
        "locks": 11,
        "worlds": 3,
        "accesses": 3,
    }.items(),
)
def test_parts_without_locks(model: Path, part: str, orders: int) -> None:
    """All interleavings and values: nothing goes wrong, and it does where any order is weaker."""
    larger = ["larger"] if samples.seed() is None else []
    [line] = explored(model, *larger, part)
    found = re.fullmatch(rf"{part}: \d+ programs, (\d+) states, all, \d+ runs; (\d+) weakened orders found, .*", line)
    assert found is not None, line
    assert int(found[2]) == orders
    assert int(found[1]) > 100
