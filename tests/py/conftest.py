"""Fixtures of several files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mpi_programs as programs
import samples


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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "sampled(most, always): a long matrix, of which `./bootstrap test` runs a sample"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # A case that somebody names is run.
    named = {arg.partition("::")[2] for arg in config.args if "[" in arg}
    left_out = samples.left_out([item for item in items if item.nodeid.partition("::")[2] not in named])
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_report_header() -> str | None:
    return None if samples.seed() is None else f"long matrices: samples of {samples.VARIABLE}={samples.seed()}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["samples"] = [(m.name, m.taken, m.of) for m in samples.taken]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist is done: the terminal belongs to another one."""
    samples.taken.extend(samples.Matrix(*m) for m in getattr(node, "workeroutput", {}).get("samples", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Which part of long matrices was run."""
    if samples.seed() is not None:
        terminalreporter.section("samples")
        for line in samples.summary(samples.taken):
            terminalreporter.write_line(line)
