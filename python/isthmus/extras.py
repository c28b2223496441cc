"""Packages that only some functions need: the extras of pyproject.toml."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import Unsupported


def optional(module: str, what: str, extra: str) -> Any:
    """The module, which ``what`` (a plural) needs and ``pip install 'isthmus[extra]'`` installs; or Unsupported."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise Unsupported(
            f"{what} need the package {package}, which is missing: pip install 'isthmus[{extra}]'"
        ) from None
