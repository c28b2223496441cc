"""Closed forms of the costs of collectives, their lower bounds, and how much of them computation can hide."""

from __future__ import annotations

from .cost import Cost, Work
from .forms import cost, forms

__all__ = ["Cost", "Work", "cost", "forms"]
