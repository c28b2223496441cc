"""A line of progress where more than two seconds pass: on a terminal only, gone before anything is printed."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from isthmus.cli import cli, waiting


def test_nothing_is_said_of_what_is_quick() -> None:
    said: list[str] = []
    with waiting.waiting("x", True, said.append):
        time.sleep(0.05)
    assert said == []


def test_the_line_says_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.1)
    monkeypatch.setattr(waiting, "_PERIOD", 0.05)
    said: list[str] = []

    def fails() -> None:
        with waiting.waiting("isthmus map", True, said.append):
            time.sleep(0.4)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert said[0] == "\r\x1b[Kisthmus map: 0 s"
    assert said[-1] == "\r\x1b[K"
    assert len(said) >= 3


@pytest.mark.parametrize("json", [False, True])
def test_on_a_terminal(json: bool, tmp_path: Path) -> None:
    """Standard output is as without a terminal; standard error has the line, and ends with it gone."""
    script = "from isthmus.cli import waiting, main\nwaiting.PATIENCE = 0.0\nmain({!r})"
    words = [
        "map",
        "allgather:ranks=64,bytes=8",
        "--machine",
        "torus:4x4x4",
        "--time",
        "0.6s",
        *["--json"][: int(json)],
    ]
    master, slave = pty.openpty()
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", script.format(words)], stdout=out, stderr=slave)
        os.close(slave)
        shown = b""
        while True:
            try:
                shown += os.read(master, 4096)
            except OSError:
                break
        assert process.wait() == 0
    os.close(master)
    assert b"isthmus map: 0 s" in shown
    assert shown.endswith(b"\r\x1b[K")
    text = (tmp_path / "out").read_text()
    assert "\x1b" not in text
    assert text.startswith("{" if json else "")
    quiet = subprocess.run([sys.executable, "-c", script.format(words)], capture_output=True, text=True, check=True)
    assert quiet.stderr == ""


def test_every_command_tells_that_it_takes_time() -> None:
    def leaves(command: click.Command) -> list[click.Command]:
        if not isinstance(command, click.Group):
            return [command]
        context = click.Context(command)
        inner = [command.get_command(context, name) for name in command.list_commands(context)]
        return [leaf for one in inner if one is not None for leaf in leaves(one)]

    for command in leaves(cli):
        patient = hasattr(command.callback, "patient")
        assert patient != any(p.name == "progress" for p in command.params), command.name
