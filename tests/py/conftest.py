"""Fixtures of several files."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Figures that are written."""
    from isthmus.plot import chart

    out: list[Any] = []
    save = chart.save

    def keep(fig: Any, *rest: Any) -> None:
        out.append(fig)
        save(fig, *rest)

    for module in ("timeline", "breakdown", "matrix", "profile", "traffic"):
        monkeypatch.setattr(f"isthmus.plot.{module}.save", keep)
    return out
