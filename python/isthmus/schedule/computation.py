"""Programs with other times of computation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .program import EventKind, Program


def scaled(program: Program, factor: float) -> Program:
    """The program with the time of all computation multiplied by a factor; nothing that takes time becomes 0."""
    amount = program.amount.copy()
    computing = (program.kind == EventKind.compute) & (amount > 0)
    amount[computing] = np.maximum(np.rint(amount[computing] * factor), 1).astype(np.uint64)
    return replace(program, amount=amount)
