"""The catalogue: machines that come with Isthmus, one TOML file each."""

from __future__ import annotations

import os
from functools import cache

_FOLDER = os.path.join(os.path.dirname(__file__), "machines")


@cache
def machines() -> dict[str, str]:
    """Path of every machine of the catalogue by name, sorted."""
    names = sorted(f.removesuffix(".toml") for f in os.listdir(_FOLDER) if f.endswith(".toml"))
    return {name: os.path.join(_FOLDER, f"{name}.toml") for name in names}
