"""The command line, called within the process of a test."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isthmus.cli import main


class Run:
    """Calls a command, or the one that the words name, and looks at what it prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *command: str) -> None:
        self.capsys = capsys
        self.command = command

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit status, output and errors."""
        self.capsys.readouterr()
        try:
            main([*self.command, *words])
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = self.capsys.readouterr()
        return status, out, err

    def ok(self, *words: str) -> str:
        status, out, err = self(*words)
        assert (status, err) == (0, "")
        return out

    def json(self, *words: str) -> Any:
        def no(constant: str) -> None:
            raise AssertionError(f"{constant} is no JSON")

        return json.loads(self.ok(*words, "--json"), parse_constant=no)

    def error(self, *words: str) -> str:
        """The one sentence of a refusal."""
        status, out, err = self(*words)
        assert status == 2
        assert out == ""
        assert err.startswith("isthmus: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("isthmus: ")[:-1]
