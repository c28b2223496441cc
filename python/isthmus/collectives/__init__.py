"""Collectives and their algorithms: schedules of single ones, and the registry that lowering chooses from."""

from __future__ import annotations

from .registry import Algorithm, Choice, Registered, algorithms, describe, named, register
from .registry import _functions as _functions  # The core calls algorithms written in Python by this name.
from .single import collective

__all__ = ["Algorithm", "Choice", "Registered", "algorithms", "collective", "describe", "named", "register"]
