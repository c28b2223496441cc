"""Recordings of a few sizes become a program of any size; one recording becomes a short text.

- ``streams``: programs as streams of calls that runs of several sizes share
- ``charts``: how a peer follows from a rank: grids, trees, distances
- ``vocabulary``: which charts explain the peers of each call
- ``fold``: loops in a sequence
- ``outline``: what calls follow each other in which loops, for each role of ranks
- ``iterations``: loops whose iterations differ by rank: which iteration of which loop each call belongs to
- ``observe``: the numbers of calls along the outline
- ``formulas``: whole numbers as functions of the number of ranks, sides of grids and parameters
- ``rules``: numbers of a statement for any rank, visit and number of ranks
- ``where``: ranks, visits and iterations for which numbers are wanted, and numbers of a run there
- ``windows``: points of a lattice between cuts: the content of parts, of layers beside them, and of both together
- ``boxes``: which windows numbers are the contents of
- ``volumes``: mean contents of boxes that are not cut exactly
- ``discover``: which rule numbers follow in all runs
- ``families``: communicators
- ``fit``: the verb: a blueprint from recordings
- ``blueprint``: an outline whose numbers are rules
- ``assemble``: calls of many ranks at a time as columns
- ``generate``: the program of any number of ranks
- ``matching``: every send has its receive
- ``text``: blueprints as text
- ``doubts``: what is exact in all recordings and yet not proved at another number of ranks
- ``compare``: whether two programs make the same calls
- ``report``: how certain each call of a blueprint is
"""

from __future__ import annotations

from .blueprint import Blueprint
from .compare import Deviation, Difference, deviation, difference
from .fit import FEWEST, fit, leave_out_largest
from .generate import generate
from .text import read, text

__all__ = [
    "FEWEST",
    "Blueprint",
    "Deviation",
    "Difference",
    "deviation",
    "difference",
    "fit",
    "generate",
    "leave_out_largest",
    "read",
    "text",
]
