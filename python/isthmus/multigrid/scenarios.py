"""All scenarios of the model beside each other, level by level."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import text
from ..views import view
from .costs import Costs
from .cycle import cycle
from .hierarchy import Hierarchy

if TYPE_CHECKING:
    from ..machine import Machine


@dataclass(frozen=True, slots=True, repr=False)
class Scenarios(Tabular):
    """Seconds of every level by each scenario; made by :func:`scenarios`.

    Attributes
    ----------
    levels : mapping from str to array of float64, levels
    measured : array of float64, levels, or None
    best : str or None
        The scenario with the smallest mean error of a level, where measured values are known: the mean of
        ``|log(model / measured)|``.
    """

    levels: Mapping[str, NDArray[np.float64]]
    measured: NDArray[np.float64] | None
    best: str | None

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per scenario: seconds of the whole cycle, and of each level."""
        return [
            {"scenario": name, "seconds": float(one.sum()), "best": name == self.best}
            | {f"level_{i}": float(s) for i, s in enumerate(one)}
            for name, one in self.levels.items()
        ]

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw seconds of every level by all scenarios (.png, .svg or .pdf)."""
        view("Scenarios.plot")(self, path)

    def __repr__(self) -> str:
        return f"<Scenarios: {len(self.levels)} of a cycle>"

    def __str__(self) -> str:
        count = len(next(iter(self.levels.values())))
        head = ["scenario", *(f"level {i}" for i in range(count)), "cycle"]
        rows = [
            [("* " if name == self.best else "  ") + name, *(text(float(s), "s", 3) for s in (*one, one.sum()))]
            for name, one in self.levels.items()
        ]
        if self.measured is not None:
            rows.append(["  measured", *(text(float(s), "s", 3) for s in (*self.measured, self.measured.sum()))])
        table = [["  " + head[0], *head[1:]], *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )


def scenarios(
    hierarchy: Hierarchy,
    costs: Costs | Machine | str,
    *,
    measured: ArrayLike | None = None,
    cores: int = 1,
    **options: Any,
) -> Scenarios:
    """Model a cycle by alpha and beta alone, with distances, and with all penalties singly and together.

    Parameters
    ----------
    hierarchy : Hierarchy
    costs : Costs, Machine or str
        Of a machine those of :meth:`Costs.of` for as many nodes as the parts fill.
    measured : array of float, levels, optional
        Seconds of every level; the scenario nearest to them is marked.
    cores : int
        Processes of a node.
    **options
        Of :func:`cycle`.

    Raises
    ------
    InvalidInput
        As :func:`cycle`, and if there is not one measured value above 0 for each level.
    """
    paid = costs if isinstance(costs, Costs) else Costs.of(costs, nodes=-(-hierarchy.parts // cores))
    found = None if measured is None else np.asarray(measured, np.float64)
    if found is not None and (found.shape != (len(hierarchy),) or not (found > 0).all()):
        raise InvalidInput(f"measured: must be {len(hierarchy)} numbers of seconds above 0, one for each level")
    cases: dict[str, tuple[Costs, tuple[str, ...]]] = {"alpha-beta": (replace(paid, gamma=0.0), ())}
    wide = [("",), *([("beta",)] if paid.hardware > 1 else []), *([("links",)] if paid.links else [])]
    for crowd in ((), ("alpha",), ("gamma",), ("alpha", "gamma")):
        for one in wide:
            names = tuple(name for name in (*crowd, *one) if name)
            cases[" + ".join(("alpha-beta-gamma", *names))] = (paid, names)
    for name, known in (("injection", paid.injection), ("queue", paid.search), ("contention", paid.contended)):
        if known:
            cases[f"alpha-beta-gamma + {name}"] = (paid, (name,))
    levels = {}
    for name, (case, penalties) in cases.items():
        told = cycle(hierarchy, case, penalties=penalties, cores=cores, **options)
        levels[name] = told.compute + told.smooth + told.transfer
    best = None
    if found is not None:
        errors = {n: float(np.abs(np.log(np.maximum(s, 1e-300) / found)).mean()) for n, s in levels.items()}
        best = min(errors, key=errors.__getitem__)
    return Scenarios(levels, found, best)
