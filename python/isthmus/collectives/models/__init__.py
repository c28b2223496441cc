"""Closed forms of the costs of collectives, their lower bounds, and how much of them computation can hide."""

from __future__ import annotations

from .bounds import Bound, bound
from .closed_forms import cost, forms
from .cost import Cost, Work
from .overlap import Overlap, overlap

__all__ = ["Bound", "Cost", "Overlap", "Work", "bound", "cost", "forms", "overlap"]
