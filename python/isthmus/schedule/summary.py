"""Sentences that summarise a program, schedule or pattern."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 rank``, ``2 ranks``, ``3 dependencies``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
