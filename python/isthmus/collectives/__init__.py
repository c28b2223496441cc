"""Collectives and their algorithms: schedules of single ones, and the registry that lowering chooses from.

- ``flavours``: flavours of collectives: how data move, how ranks synchronise, how many are under way
- ``order``: which algorithms of reductions combine operands in the order of ranks, as operators need that do not
  commute
- ``registry``: the registry of algorithms: what there is, what each takes, and how new ones are added
- ``single``: the verb ``collective``: the schedule of a single one
- ``models/``: closed forms of the costs of collectives, their lower bounds, and how much of them computation can hide
"""

from __future__ import annotations

from .registry import Algorithm, Choice, Registered, algorithms, describe, named, register
from .registry import _functions as _functions  # The core calls algorithms written in Python by this name.
from .single import collective

__all__ = ["Algorithm", "Choice", "Registered", "algorithms", "collective", "describe", "named", "register"]
