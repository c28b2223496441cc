"""The catalogue: machines and recorded programs that come with Isthmus, one file each."""

from __future__ import annotations

import os
from functools import cache

_FOLDER = os.path.dirname(__file__)


def _files(folder: str, suffix: str) -> dict[str, str]:
    path = os.path.join(_FOLDER, folder)
    found = os.listdir(path) if os.path.isdir(path) else []
    names = sorted(name.removesuffix(suffix) for name in found if name.endswith(suffix))
    return {name: os.path.join(path, name + suffix) for name in names}


@cache
def machines() -> dict[str, str]:
    """Path of every machine of the catalogue by name, sorted."""
    return _files("machines", ".toml")


@cache
def programs() -> dict[str, str]:
    """Path of every recorded program by name, sorted."""
    return _files("programs", ".h5")
