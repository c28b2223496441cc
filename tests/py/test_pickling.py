"""What people get from the verbs can be pickled and copied: for joblib, Dask and multiprocessing."""

from __future__ import annotations

import copy
import functools
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.machine.kinds import KINDS


def again(noun: Any) -> Any:
    return pickle.loads(pickle.dumps(noun, protocol=5))


@functools.cache
def small_program() -> isthmus.Program:
    rank = np.arange(8)
    b = isthmus.ProgramBuilder(8)
    for _ in range(2):
        b.irecv(None, (rank + 1) % 8, 4000)
        b.isend(None, (rank - 1) % 8, 4000)
        b.compute(None, 1e-4 + rank * 1e-6)
        b.waitall(None)
        b.allreduce(None, 8)
    return b.build()


@functools.cache
def nouns() -> dict[str, Any]:
    machine = isthmus.load("torus-4x4x4")
    program = small_program()
    timeline = isthmus.simulate(program, machine, model="flow", record="ops")
    mapped = isthmus.map(program, machine)
    return {
        "machine": machine,
        "allocation": machine.allocate(8),
        "program": program,
        "pattern": isthmus.pattern(program),
        "schedule": timeline.schedule,
        "timeline": timeline,
        "traffic": timeline.traffic,
        "critical path": timeline.critical_path(),
        "sensitivities": isthmus.simulate(program, machine, record="ops").sensitivities(),
        "mapped": mapped,
        "placement": mapped.placement,
        "structure": isthmus.structure(isthmus.pattern(program)),
        "metrics": mapped.metrics,
        "advice": isthmus.advise(program, machine),
        "tuning": isthmus.tune("allreduce", machine=machine, ranks=8, sizes=[8, 4096]),
        "proof": isthmus.prove("bcast:ranks=5,bytes=100"),
        "study": isthmus.study("upc-scatter", tempfile.mkdtemp(), quick=True),
    }


def test_nouns() -> None:
    for name, noun in nouns().items():
        for other in (again(noun), copy.deepcopy(noun), copy.copy(noun)):
            assert type(other) is type(noun), name
            assert str(other) == str(noun), name


def test_equal_where_equality_is_defined() -> None:
    for name, noun in nouns().items():
        if type(noun).__eq__ is not object.__eq__ and name not in ("metrics", "study"):
            assert again(noun) == noun, name


@pytest.mark.parametrize("kind", [kind.example for kind in KINDS.values() if kind.name != "graph"])
def test_topologies(kind: str) -> None:
    machine = isthmus.Machine.parse(f"{kind} link=3GB/s hop=70ns")
    first = machine.topology
    other = again(machine).topology
    assert other is not first
    assert (other.spec, other.link_classes, other.nodes) == (first.spec, first.link_classes, first.nodes)
    rng = np.random.default_rng(1)
    a, b = rng.integers(first.nodes, size=(2, 200)).astype(np.uint32)
    for mine, theirs in zip(other.routes(a, b), first.routes(a, b), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "spec", ["torus:4x4m,ties=positive,names=AB", "mesh:3x5", "torus:4x6,p=2", "kautz:d=2,k=3,p=2"]
)
def test_options_of_topologies(spec: str) -> None:
    machine = isthmus.Machine.parse(spec + " link=1GB/s hop=1us")
    other = again(machine)
    assert other == machine
    assert other.topology.link_classes == machine.topology.link_classes
    np.testing.assert_array_equal(other.topology.route(0, 7), machine.topology.route(0, 7))


def test_machine_of_a_file_needs_the_file_no_more(tmp_path: Path) -> None:
    edges = tmp_path / "cables.edges"
    edges.write_text("n0 s0 2e9 1e-7 2\nn1 s0\nn2 s1 1e9\ns0 s1 1e9 1e-6 3\nn1 s1\n")
    machine = isthmus.load(str(edges))
    pickled = pickle.dumps(machine)
    edges.unlink()
    other = pickle.loads(pickled)
    assert other == machine
    assert other.hostnames == machine.hostnames
    pairs = np.arange(3, dtype=np.uint32)
    for mine, theirs in zip(
        other.routes(*np.meshgrid(pairs, pairs)), machine.routes(*np.meshgrid(pairs, pairs)), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    ids = np.arange(machine.topology.links, dtype=np.uint32)
    np.testing.assert_array_equal(other.topology.bandwidth(ids), machine.topology.bandwidth(ids))


def test_pickled_timeline_answers_on() -> None:
    """What the critical path needs comes along, and arrays stay read-only."""
    program = small_program()
    timeline = isthmus.simulate(
        program, "torus-4x4x4", record="ops", noise=isthmus.Noise(kind="exponential", period=1e-3, duration=1e-5)
    )
    other = again(timeline)
    assert str(other.critical_path()) == str(timeline.critical_path())
    assert str(other.sensitivities()) == str(timeline.sensitivities())
    with pytest.raises(ValueError, match="read-only"):
        other.finish_ps[0] = 1


def test_other_processes(tmp_path: Path) -> None:
    """As workers of joblib and Dask get them."""
    import multiprocessing

    schedule = isthmus.collective("allreduce", ranks=16, bytes=4096)
    machines = [isthmus.load(name) for name in ("torus-4x4x4", "eos")]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        timelines = pool.starmap(isthmus.simulate, [(schedule, machine) for machine in machines])
    for timeline, machine in zip(timelines, machines, strict=True):
        assert timeline == isthmus.simulate(schedule, machine)
