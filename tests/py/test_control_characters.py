"""Names and titles with control characters: written out on the terminal, escaped in HTML."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus import ProgramBuilder
from isthmus.visible import visible

#: Clears the screen, turns the direction of text, ends a title, and a C1 control.
NASTY = "a\x1b[2J\x1b]0;t\x07\x9b31mb\u202ec\r\x08d"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e]")


def on_a_terminal(folder: Path, *words: str) -> str:
    """What a command sends to a pseudo terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "isthmus", *words], cwd=folder, stdout=slave, stderr=slave, close_fds=True
    )
    os.close(slave)
    parts = []
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    process.wait()
    os.close(master)
    # The terminal itself makes \r\n of each newline.
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    b = ProgramBuilder(4)
    b.compute(None, [1e-6, 2e-6, 3e-6, 4e-6])
    with b.phase(f"phase {NASTY}"), b.location(f"{NASTY}.c:1"):
        b.sendrecv(None, [1, 2, 3, 0], 8, [3, 0, 1, 2])
    b.build().save(tmp_path / "p.h5")
    text = 'format = 1\nname = "x"\ntitle = "T \\u001b[2J \\u0007 <b>"\n[topology]\nkind = "torus"\ndims = [2, 2]\n'
    (tmp_path / "m.toml").write_text(text)
    (tmp_path / f"n{NASTY}.goal").write_text("nothing")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["machine", "show", "m.toml"],
        ["show", "p.h5"],
        ["simulate", "p.h5", "--machine", "m.toml", "--critical-path"],
        ["advise", "p.h5", "--machine", "m.toml", "--tune-time", "0", "-o", "r.html"],
        ["show", f"n{NASTY}.goal"],
        ["machine", "validate", f"n{NASTY}.goal"],
        ["machine", "show", f"no {NASTY}"],
    ],
    ids=str,
)
def test_nothing_reaches_the_terminal(words: list[str], folder: Path) -> None:
    said = on_a_terminal(folder, *words)
    assert said
    # Bold headings, and what progress bars do, are ours.
    ours = re.sub(r"\x1b\[(?:[01]m|K|\?25[hl]|[0-9]*A|2K)|\r", "", said)
    assert "\x1b" not in ours, ascii(said)
    assert not _CONTROL.search(ours), ascii(said)
    if "r.html" in words:
        page = (folder / "r.html").read_text()
        assert "<b>" not in page.split("<title>")[1].split("</title>")[0]
        assert not _CONTROL.search(page)
        assert "\x1b" not in page


def test_other_characters_stay() -> None:
    text = "Lösung ∑ 日本\t\n"
    assert visible(text) == text
    assert visible("\x1b\x07\x9b\u202e\x7f") == r"\x1b\x07\x9b\u202e\x7f"
