"""Candidates for a collective: every algorithm with sensible values of its options."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from .choice import Choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..collectives.registry import Value
    from .scenario import Scenario

RADICES = (2, 3, 4, 8, 16, 32)
SEGMENTS = (1024, 4096, 16384, 65536, 262144)
WINDOWS = (1, 4, 16, 64)


def candidates(
    collective: str,
    scenario: Scenario,
    *,
    algorithms: Iterable[str] | None = None,
    options: Mapping[str, Sequence[Value]] | None = None,
    flavours: Sequence[str] | None = None,
    mode: str = "",
    ordered: bool = False,
) -> list[Choice]:
    """Return the candidates for a collective: its algorithms with options, without duplicates.

    Parameters
    ----------
    collective : str
    scenario : Scenario
    algorithms : iterable of str, optional
        Only these.
    options : mapping of str to sequence, optional
        Values to try in place of those that this module has for an option.
    flavours : sequence of str, optional
        Words of flavours to try, see :func:`isthmus.tune`; by default messages with a protocol by size.
    mode : str
        A mode of synchronisation, such as "none-my": all are of this one, by messages, puts and gets unless
        ``flavours`` names fewer of these.
    ordered : bool
        Only those that combine operands in the order of ranks (for root 0).

    Raises
    ------
    InvalidInput
        For one of ``algorithms`` that does not.

    Returns
    -------
    list of Choice
    """
    from ..collectives import algorithms as names
    from ..collectives import describe
    from ..collectives.flavours import combinations, of_mode
    from ..collectives.order import keeps_order, require_order

    values = {**_values(scenario), **(options or {})}
    found: dict[Choice, None] = {}
    # Algorithms that users added may be right for some calls only: they are tried where they are named.
    known = [name for name in names(collective) if describe(collective, name).reference]
    if ordered:
        for name in () if algorithms is None else algorithms:
            require_order(collective, name)
        known = [name for name in known if keeps_order(collective, name)]
    for name in known if algorithms is None else algorithms:
        taken = [option.name for option in describe(collective, name).options]
        # In reductions a window says how much room they have; the default hardly holds them back.
        if "segment" in taken and "window" not in (options or {}):
            taken = [key for key in taken if key != "window"]
        axes = [[(key, value) for value in values[key]] for key in taken if values.get(key)]
        for combination in itertools.product(*axes):
            # A barrier moves no data.
            given = None if collective == "barrier" else flavours
            for flavour in of_mode(mode, given) if mode and collective != "barrier" else combinations(given):
                found[Choice(name, {**dict(combination), **flavour})] = None
    return list(found)


def _values(scenario: Scenario) -> dict[str, Sequence[Any]]:
    ranks, level = scenario.ranks, scenario.typical
    values: dict[str, Sequence[Any]] = {
        "radix": [r for r in RADICES if r < max(ranks, 3)],
        "segment": [0, *SEGMENTS],
        "window": [w for w in WINDOWS if w < max(ranks, 2)],
        "dims": _extents(ranks),
        "latency": [level.L],
        "overhead": [max(level.o_send, level.o_recv)],
        "gap": [level.g],
    }
    values["groups"] = _groups(scenario)
    return values


def _extents(ranks: int) -> list[tuple[int, ...]]:
    """The most even factors of the number of ranks, two and three of them."""
    found = []
    for axes in (2, 3):
        extents, left = [], ranks
        for axis in range(axes, 1, -1):
            side = round(left ** (1 / axis))
            extent = max((f for f in range(1, side + 1) if left % f == 0), default=1)
            extents.append(extent)
            left //= extent
        shape = tuple(sorted([*extents, left]))
        if shape[0] > 1:
            found.append(shape)
    return found


def _groups(scenario: Scenario) -> list[int]:
    """Ranks of a node, where they are consecutive and everywhere as many."""
    from ..machine import Machine
    from ..simulation.simulate import located

    if not isinstance(scenario.machine, Machine):
        return []
    node = np.asarray(located(scenario.ranks, scenario.machine, scenario.placement).node)
    begin = np.flatnonzero(np.diff(node, prepend=node[0] + 1 if node[0] < 2**31 else 0))
    if len(begin) < 2 or len(np.unique(node)) != len(begin):
        return []
    size = int(begin[1] - begin[0])
    regular = (np.diff(begin) == size).all() and scenario.ranks - begin[-1] <= size
    return [size] if size > 1 and regular else []
