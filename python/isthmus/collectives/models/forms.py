"""The table of closed forms, and how a module enters its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cost import Cost


#: Costs of one algorithm, from parameters, ranks, sizes (bytes of the collective), its name and its options.
Form = Callable[..., "Cost"]

FORMS: dict[tuple[str, str], Form] = {}


def form(*names: tuple[str, str]) -> Callable[[Form], Form]:
    """Enter a closed form for collectives and algorithms."""

    def enter(function: Form) -> Form:
        for name in names:
            FORMS[name] = function
        return function

    return enter
