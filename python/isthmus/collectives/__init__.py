"""Collectives and their algorithms: schedules of single ones, and the registry that lowering chooses from.

- ``flavours``: flavours of collectives: how data move, how ranks synchronise, and how many calls are in progress
- ``order``: the algorithms of reductions that combine operands in rank order, for operators that do not commute
- ``registry``: the registry of algorithms: their names and options, and how to add new ones
- ``single``: the verb ``collective``: the schedule of a single collective
- ``models/``: closed forms of the costs of collectives, their lower bounds, and how much of them computation can hide
"""

from __future__ import annotations

from .registry import Algorithm, Choice, Registered, algorithms, describe, named, register
from .registry import _functions as _functions  # The core calls algorithms written in Python by this name.
from .single import collective

__all__ = ["Algorithm", "Choice", "Registered", "algorithms", "collective", "describe", "named", "register"]
