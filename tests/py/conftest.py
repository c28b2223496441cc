"""Fixtures of several files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mpi_programs as programs


@pytest.fixture(params=["openmpi", "mpich"])
def name(request: pytest.FixtureRequest) -> str:
    """Of an MPI that programs are built with; skips where it is not installed."""
    programs.installed(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the programs of a module, each built once."""
    return tmp_path_factory.mktemp("programs")


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
