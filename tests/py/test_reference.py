"""The reference has every command, every option and every public name."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

import isthmus
from isthmus.cli import cli

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generated", DOCS / "generated.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def whole(generated: ModuleType, page: str) -> str:
    return generated._MARK.sub(generated._made, (DOCS / page).read_text(encoding="utf-8"))


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


def test_has_every_command_and_option(generated: ModuleType) -> None:
    parts = re.split(r"(?m)^#+ (isthmus.*)\n", whole(generated, "reference/cli.md"))[1:]
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    found = dict(commands(cli, "isthmus"))
    assert len(found) > 30
    for path, command in found.items():
        if not command.hidden:
            for option in command.params:
                if isinstance(option, click.Option) and not option.hidden:
                    assert max(option.opts, key=len) in sections[path], path


def test_has_every_public_name(generated: ModuleType) -> None:
    text = whole(generated, "reference/python.md")
    for name in isthmus.__all__:
        if name != "__version__":
            assert re.search(rf"(:: (isthmus\.)?{name}$)|`isthmus\.{name}`", text, re.M), name


def test_knows_what_is_returned(generated: ModuleType) -> None:
    """Classes that functions return are in the reference too."""
    text = whole(generated, "reference/python.md")
    for name in ("Mapped", "Metrics", "Profile", "Prediction", "Traffic", "CriticalPath", "Tuning", "Table", "Outcome"):
        assert re.search(rf"autoclass:: isthmus\..*\.{name}$", text, re.M), name
