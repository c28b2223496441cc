"""The result of ``study``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ..tabular import Tabular
from .ledger import Entry
from .parameters import Summary
from .study import Study


@dataclass(frozen=True)
class Outcome(Tabular):
    """Result of running a study.

    Attributes
    ----------
    study : Study
        The study as run.
    folder : str
        Folder of its files: ledger.sqlite, figure.png, figure.svg, index.html.
    entries : list of Entry
        One per point, in their order.
    computed : int
        Number of points that this run computed; the others were in the ledger.
    summary : Summary or None
        Table, figure and findings; None if no point succeeded.
    """

    study: Study
    folder: str
    entries: list[Entry]
    computed: int
    summary: Summary | None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Inputs and results of every point that succeeded."""
        return [{**e.inputs, **e.results} for e in self.entries if e.results is not None]

    def frame(self) -> list[dict[str, Any]]:
        """Return :attr:`rows`."""
        return self.rows

    @property
    def failures(self) -> list[Entry]:
        """Points that failed, with their errors."""
        return [e for e in self.entries if e.results is None]

    @property
    def page(self) -> str:
        """Path of the HTML page."""
        return os.path.join(self.folder, "index.html")
