"""What ``method="auto"`` tries, in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .mapped import Trial
    from .problem import Problem

#: Runs a method with options, keeps the result; None where it does not apply.
Attempt = Callable[..., "Trial | None"]


def portfolio(problem: Problem, attempt: Attempt, seconds: float, objective: str) -> None:
    """Tries what suits the problem within about so many seconds.

    The usual order first, so that nothing worse is ever returned; then everything cheap; what takes as long as it may
    gets the time that is left.
    """
    attempt("default")
    if not len(problem.edges[0]):
        return
    attempt("greedy")
