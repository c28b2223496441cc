"""A small part of tests/proof: flows end when they do in SimGrid's fluid model."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

import sharing


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        pytest.skip("g++ or SimGrid is not installed")
    return sharing.program(tmp_path_factory.mktemp("fluid"))


@pytest.mark.parametrize("specification", ["torus:4x4x2", "fattree:k=4,n=2", "dragonfly:a=4,p=2,h=2,g=4"])
def test_flows_end_when_those_of_simgrid_do(specification: str, binary: Path) -> None:
    machine = sharing.machine_of(specification)
    for name, flows in sharing.patterns(machine.nodes, np.random.default_rng(3)).items():
        found = sharing.compare(binary, machine, flows)
        assert not found.far, name
        assert abs(found.makespan) < 0.02, name


def test_two_flows_on_one_link_and_one_beside_them(binary: Path) -> None:
    """By hand: 0 to 2 and 1 to 2 share a link of 10 GB/s; the shorter is through after 0.2 ms."""
    machine = sharing.machine_of("ring:8")
    flows = sharing.Flows(
        np.zeros(3), np.array([0, 1, 4]), np.array([2, 2, 5]), np.array([2_000_000, 1_000_000, 5_000_000])
    )
    expected = [0.3e-3, 0.2e-3, 0.5e-3]
    np.testing.assert_allclose(sharing.simgrid(binary, machine, flows), expected, rtol=1e-9)
    np.testing.assert_allclose(sharing.ours(machine, flows, 0), expected, rtol=1e-9)


def test_another_size_is_noticed(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = sharing.machine_of("ring:8")
    flows = sharing.patterns(8, np.random.default_rng(1))["shift by 37"]
    here = sharing.ours(machine, dataclasses.replace(flows, size=flows.size * 11 // 10), 0)
    monkeypatch.setattr(sharing, "ours", lambda machine, flows, resolution: here)
    found = sharing.compare(binary, machine, flows)
    assert found.far
    assert found.makespan == pytest.approx(0.1, abs=0.01)
    assert found.median == pytest.approx(0.1, abs=0.01)
