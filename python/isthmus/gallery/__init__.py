"""The catalogue: machines that come with Isthmus, one TOML file each."""

from __future__ import annotations

import os
from functools import cache

_FOLDER = os.path.join(os.path.dirname(__file__), "machines")


@cache
def machines() -> dict[str, str]:
    """Path of every machine of the catalogue by name, sorted."""
    files = sorted(f for f in os.listdir(_FOLDER) if f.endswith(".toml"))
    return {f.removesuffix(".toml"): os.path.join(_FOLDER, f) for f in files}
