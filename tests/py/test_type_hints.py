"""Annotations of public names are types that a program can read."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_type_hints

import numpy as np
import pytest

import isthmus
from isthmus.extras import Later


def functions(thing: Any) -> Iterator[tuple[str, Any]]:
    """A class or function with what is public in it."""
    yield thing.__name__, thing
    if not inspect.isclass(thing):
        return
    for name in dir(thing):
        found = inspect.getattr_static(thing, name)
        if isinstance(found, property):
            found = found.fget
        found = getattr(found, "__func__", getattr(found, "func", found))
        if inspect.isfunction(found) and found.__module__.startswith("isthmus") and not name.startswith("_"):
            yield f"{thing.__name__}.{name}", found


@pytest.mark.parametrize("name", isthmus.__all__)
def test_hints_of_every_public_name(name: str) -> None:
    thing = getattr(isthmus, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        for called, found in functions(thing):
            assert get_type_hints(found) is not None, called


def test_what_hints_say() -> None:
    hints = get_type_hints(isthmus.simulate)
    assert hints["return"] is isthmus.Timeline
    assert isthmus.Program in hints["what"].__args__
    assert get_type_hints(isthmus.Machine.allocate)["return"] is isthmus.Allocation
    assert get_type_hints(isthmus.Machine.route)["return"].__args__[1].__args__ == (np.uint32,)


def test_packages_that_are_not_installed_are_any() -> None:
    missing: Any = Later("no_such_package")
    assert missing.Frame is Any
    assert missing.module.Frame is Any
    code = (
        "import sys; sys.modules['pandas'] = None; import isthmus, typing;"
        "print(typing.get_type_hints(isthmus.Machine.to_pandas)['return'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "typing.Any"
