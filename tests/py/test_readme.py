"""The commands and programs of README.md and of the pages below docs/ do what the pages say."""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery.md"
TUTORIAL = ROOT / "docs" / "tutorial" / "index.md"
BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
]
# The blocks of one page are one session, as a reader would type them.
SESSION = """
import sys
names = {"__name__": "__main__"}
for block in sys.stdin.read().split(sys.argv[1]):
    exec(compile(block, "block", "exec"), names)
    print(sys.argv[1])
"""
CUT = "\n=== end of block ===\n"


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    expected: str | None
    """What a ```text block says that follows directly."""


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    matches = list(BLOCK.finditer(text))
    found = []
    for match, after in zip(matches, [*matches[1:], None], strict=False):
        follows = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        if match[1] == language:
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(page, line, language, match[2], after[2] if after is not None and follows else None))
    return found


def runs_here(line: str) -> bool:
    """Is it a command to run, not one of setting up the clone that the tests run in?"""
    return not re.match(r"\s*(\./bootstrap|git clone|cd|source)\b", line)


def run(command: list[str], folder: Path, text: str = "", timeout: float = 60, quiet: bool = True) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "MPLBACKEND": "Agg"},
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not quiet or done.stderr == ""
    return done.stdout


def stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


@pytest.mark.parametrize("block", blocks(PAGES[0], "bash"), ids=lambda block: f"{block.page.name}:{block.line}")
def test_commands(block: Block, tmp_path: Path) -> None:
    out = run(["bash", "-e", "-c", "\n".join(line for line in block.text.split("\n") if runs_here(line))], tmp_path)
    if block.expected is not None:
        assert stripped(out) == stripped(block.expected)


def test_tutorial(tmp_path: Path) -> None:
    """The tutorial, as a reader would type it, with Open MPI."""
    tools = {"mpicc": shutil.which("mpicc.openmpi"), "mpirun": shutil.which("mpirun.openmpi")}
    if None in tools.values():
        pytest.skip("Open MPI is not installed")
    (tmp_path / "bin").mkdir()
    for name, path in tools.items():
        (tmp_path / "bin" / name).symlink_to(path)
    [program] = blocks(TUTORIAL, "c")
    (tmp_path / "stencil.c").write_text(program.text)
    lines = [f"export PATH={tmp_path}/bin:$PATH", *(block.text for block in blocks(TUTORIAL, "bash"))]
    out = run(["bash", "-e", "-c", "\n".join(lines)], tmp_path, timeout=300, quiet=False)
    assert "2-D torus 4 × 4, 5-point stencil" in out
    assert re.search(r"^advice\n +1\. ", out, re.MULTILINE)
    assert len((tmp_path / "rankfile").read_text().splitlines()) == 16
    assert (tmp_path / "report.html").stat().st_size > 50_000
    assert "# allreduce" in (tmp_path / "rules.conf").read_text()
    before, after = (float(seconds) for seconds in re.findall(r"makespan +([\d.]+) ms", out))
    assert after < before


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_programs(page: Path, tmp_path: Path) -> None:
    programs = blocks(page, "python")
    session, text = [sys.executable, "-c", SESSION, CUT], CUT.join(block.text for block in programs)
    outputs = run(session, tmp_path, text, timeout=300 if page == GALLERY else 60).split(CUT)
    for block, out in zip(programs, outputs, strict=False):
        if block.expected is not None:
            assert stripped(out) == stripped(block.expected), f"{page.name}:{block.line}"
    shown = pictures(page)
    if page == GALLERY:
        assert {path.name for path in tmp_path.glob("*.png")} == {path.name for path in shown}
    for path in shown:
        if (tmp_path / path.name).exists():
            assert difference(path, tmp_path / path.name) < 0.005, f"{path.name}: run docs/pictures.py"


def pictures(page: Path) -> list[Path]:
    """Files of the pictures that a page shows."""
    return [page.parent / name for name in re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", page.read_text(encoding="utf-8"))]


def difference(one: Path, other: Path) -> float:
    """Mean difference of two pictures, from 0 to 1, where both are looked at from afar: in squares of 16 pixels."""
    grey = [grey_of(path) for path in (one, other)]
    high, wide = np.min([g.shape for g in grey], axis=0) // 16
    squares = [g[: 16 * high, : 16 * wide].reshape(high, 16, wide, 16).mean((1, 3)) for g in grey]
    return float(np.abs(squares[0] - squares[1]).mean())


@functools.cache
def grey_of(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return imread(path)[:, :, :3].mean(2)


def test_gallery_has_many_pictures() -> None:
    shown = pictures(GALLERY)
    assert len(shown) >= 20
    # The bound of test_programs tells pictures apart.
    assert min(difference(one, other) for one, other in itertools.combinations(shown, 2)) > 0.02


def test_readme_has_commands_and_programs() -> None:
    assert blocks(PAGES[0], "bash")
    assert blocks(PAGES[0], "python")


def test_bootstrap_knows_its_commands() -> None:
    done = subprocess.run([ROOT / "bootstrap", "--help"], capture_output=True, text=True, check=True)
    known = set(re.findall(r"^  (\w+)  ", done.stdout, re.MULTILINE))
    assert "test" in known
    used = {
        command for page in PAGES for command in re.findall(r"\./bootstrap (\w+)", page.read_text(encoding="utf-8"))
    }
    assert used <= known
    unknown = subprocess.run([ROOT / "bootstrap", "nonsense"], capture_output=True, text=True)
    assert unknown.returncode == 2
    assert "usage" in unknown.stderr


def test_commands_of_the_documentation_exist() -> None:
    """Commands of the documentation are not run, as they name the reader's files, but they must be known."""
    from isthmus.cli import cli

    for page in PAGES:
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language not in ("bash", "sh", "console"):
                continue
            for line in text.split("\n"):
                words = shlex.split(line.removeprefix("$ "), comments=True) if "isthmus machine " in line else []
                if words[:2] == ["isthmus", "machine"]:
                    group = cli.get_command(None, "machine")  # type: ignore[arg-type]
                    assert words[2] in [*group.commands, "--help"], f"{page.name}: {line}"  # type: ignore[union-attr]
