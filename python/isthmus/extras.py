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
        package = module.partition(".")[0].replace("_", "-")
        raise Unsupported(
            f"{what} need the package {package}, which is missing: pip install 'isthmus[{extra}]'"
        ) from None


class Later:
    """A module for annotations: imported when one of its names is looked up, ``Any`` where it is not installed.

    Examples
    --------
    >>> Later("collections").abc.Sequence
    <class 'collections.abc.Sequence'>
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Tools ask any object for such names: doctest follows __wrapped__ as long as there is one.
            raise AttributeError(name)
        try:
            return getattr(import_module(self._module), name)
        except ImportError:
            return Any if name[0].isupper() else Later(f"{self._module}.{name}")
        except AttributeError:
            return Later(f"{self._module}.{name}")
