"""The evaluator and the instances of bench/mapping.py against Isthmus and closed forms."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.imports.graphs.metis import read_metis

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from mapping_evaluator import Dragonfly, Torus, cost
from mapping_instances import Graph, grid, instance, merged


def weighted(tasks: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    return merged(tasks, *(rng.integers(0, tasks, 3 * tasks) for _ in range(2)), rng.integers(1, 50, 3 * tasks))


@pytest.mark.parametrize(
    "machine",
    [Torus((5,)), Torus((4, 6)), Torus((2, 3, 4)), Torus((3, 1, 5, 2)), Dragonfly(4, 4, 2), Dragonfly(5, 4, 3)],
    ids=lambda m: m.spec,
)
def test_the_evaluator_agrees_with_isthmus(machine: Torus | Dragonfly) -> None:
    graph = weighted(machine.nodes, 1)
    node = np.random.default_rng(2).permutation(machine.nodes)
    pattern = isthmus.Pattern.of(
        graph.tasks,
        source=np.concatenate([graph.u, graph.v]),
        target=np.concatenate([graph.v, graph.u]),
        bytes=np.concatenate([graph.weight, graph.weight]),
    )
    m = isthmus.evaluate(pattern, isthmus.Placement(isthmus.Machine.parse(machine.spec), node), undirected=True)
    found = cost(graph, machine, node)
    link = m.maximum_link_load
    if isinstance(machine, Dragonfly):
        link = next(c.maximum for c in m.classes if c.name == "global")
    assert (found.hop_bytes, found.longest, found.link) == (m.hop_bytes, m.maximum_dilation, link)
    assert found.dilation == pytest.approx(m.average_dilation)
    assert (found.most, found.empty) == (1, 0)


def test_a_torus_on_itself_has_dilation_one() -> None:
    graph = grid(3, 4, 5, periodic=True)
    # Tasks count with the last dimension fastest, nodes with the first.
    where = np.ravel_multi_index(np.unravel_index(np.arange(60), (3, 4, 5)), (3, 4, 5), order="F")
    assert len(graph.u) == 180
    found = cost(graph, Torus((3, 4, 5)), where)
    assert (found.dilation, found.longest, found.link) == (1.0, 1, 1)


def test_all_tasks_of_a_node_are_counted() -> None:
    found = cost(grid(4, 4), Torus((4, 2)), np.arange(16) // 4)
    assert (found.most, found.empty) == (4, 4)


def test_files_are_read_as_isthmus_reads_them(tmp_path: Path) -> None:
    graph = weighted(12, 5)
    start, near, weight = graph.rows()
    lines = [" ".join(f"{near[k] + 1} {weight[k]}" for k in range(start[task], start[task + 1])) for task in range(12)]
    (tmp_path / "x_rgg14.graph").write_text(f"12 {len(graph.u)} 001\n" + "\n".join(lines) + "\n")
    found = instance("rgg14", [tmp_path])
    assert all(np.array_equal(getattr(found, k), getattr(graph, k)) for k in ("u", "v", "weight"))
    pattern = read_metis(tmp_path / "x_rgg14.graph")
    assert pattern.bytes.sum() == 2 * graph.weight.sum()


def test_scrambled_graphs_are_the_same_graph() -> None:
    graph = grid(5, 4)
    other = graph.scrambled(3)
    degree = [np.sort(np.bincount(np.concatenate([g.u, g.v]))) for g in (graph, other)]
    assert np.array_equal(*degree)
    assert not np.array_equal(graph.u, other.u)
