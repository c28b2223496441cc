"""Every plot returns its figure, and writes only where a path is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import isthmus
from isthmus.collectives.models.overlap import overlap
from isthmus.plot import plot_distance_histogram, plot_topology
from isthmus.plot.matrix import plot_pattern
from isthmus.plot.profile import plot_calls, plot_communication, plot_ranks, plot_sizes
from test_profile_show import ring


def plots() -> dict[str, Any]:
    machine = isthmus.load("torus-4x4x4")
    schedule = isthmus.collective("allreduce", ranks=16, bytes=4096)
    timeline = isthmus.simulate(schedule, machine, model="flow", record="ops")
    mapped = isthmus.map(isthmus.pattern(schedule), machine, seconds=0.1)
    tuned = isthmus.tune("bcast", machine, ranks=[4, 8], sizes=[8, 4096])
    program = ring()
    level = isthmus.Level(L=2e-6, o_send=1e-6, o_recv=1e-6, g=1e-6, G=1e-9)
    return {
        "timeline": timeline.plot,
        "breakdown": timeline.plot_breakdown,
        "traffic": timeline.traffic.plot,
        "network": lambda *path: timeline.traffic.plot(*path, kind="network"),
        "mapped": mapped.plot,
        "times": lambda *path: tuned.plot(*path, ranks=8),
        "map": tuned.plot_map,
        "overlap": overlap("bcast", level, ranks=[4, 8], sizes=np.array([8, 64]), algorithm="binomial").plot,
        "pattern": lambda *path: plot_pattern(isthmus.pattern(schedule), *path),
        "topology": lambda *path: plot_topology(machine.topology, *path),
        "distances": lambda *path: plot_distance_histogram(machine.topology, *path),
        "communication": lambda *path: plot_communication(program, *path),
        "sizes": lambda *path: plot_sizes(program, *path),
        "ranks": lambda *path: plot_ranks(program, *path),
        "calls": lambda *path: plot_calls(program, *path),
    }


def test_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, plot in plots().items():
        assert isinstance(plot(), Figure), name
        assert not list(tmp_path.iterdir()), name
        assert isinstance(plot(f"{name}.png"), Figure), name
        (file,) = tmp_path.iterdir()
        assert file.read_bytes().startswith(b"\x89PNG"), name
        file.unlink()


def test_page_returns_a_figure_of_plotly(tmp_path: Path) -> None:
    topology = isthmus.load("torus-4x4x4").topology
    assert type(plot_topology(topology, tmp_path / "t.html")).__module__.startswith("plotly.graph_objs")
    assert b"plotly" in (tmp_path / "t.html").read_bytes()
