"""Examples in docstrings are what Python prints."""

from __future__ import annotations

import doctest
import importlib

import pytest

from python_imports import modules

WITH_EXAMPLES = [name for name, path in modules().items() if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"isthmus.{name}" if name else "isthmus")).failed == 0
