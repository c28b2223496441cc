"""Pictures of placements: which nodes are drawn where, and what colours mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.mapping.problem import Problem
from isthmus.plot.chart import figure
from isthmus.plot.load_map import LoadMap, load_map
from isthmus.plot.nodes import draw_nodes, spatial
from isthmus.plot.task_space import graph_space


def drawn(machine: str, nodes: Any, box: Any = None) -> tuple[list[Any], str]:
    """Collections of polygons, and the words."""
    loaded = isthmus.load(machine)
    nodes = np.asarray(nodes)
    _, ax = figure("", "", 5.0)
    words = draw_nodes(ax, loaded, nodes, np.full((len(nodes), 3), 0.5), nodes if box is None else np.asarray(box))
    return list(ax.collections), words


def grid(width: int, height: int) -> isthmus.Pattern:
    number = np.arange(width * height).reshape(height, width)
    pairs = [(number[1:], number[:-1]), (number[:, 1:], number[:, :-1])]
    source = np.concatenate([p[i].ravel() for p in pairs for i in (0, 1)])
    target = np.concatenate([p[1 - i].ravel() for p in pairs for i in (0, 1)])
    return isthmus.Pattern.of(number.size, source=source, target=target, bytes=1)


def test_a_solid_box_shows_its_three_faces_and_what_is_within() -> None:
    collections, words = drawn("torus:3x3x3", np.arange(27))
    assert len(collections[0].get_paths()) == 27
    assert words == "To the right: x; away from the reader: y; upwards: z."
    # The corner that is cut out leaves as many faces as there were.
    collections, words = drawn("torus:4x6x8", np.arange(192))
    assert len(collections[0].get_paths()) == 4 * 6 + 6 * 8 + 4 * 8
    assert "cut out" in words


@pytest.mark.parametrize(
    ("machine", "nodes", "box", "reading"),
    [
        ("torus:8x8x8", range(64), 64, "To the right: x; upwards: y."),
        ("dragonfly-small", range(72), 72, "To the right: slot; upwards: router; row by row: group."),
        ("fattree-k4", range(30), 32, "To the right: leaf port; upwards: child2; row by row: child3."),
        ("ring-16", range(4, 8), 4, "To the right: x."),
        ("summit", range(2000), 2016, "To the right: leaf port; row by row: child2."),
        ("sicortex-sc5832", range(50), 50, "To the right: router."),
        ("sicortex-sc5832", range(972), 972, "Row by row: router."),
    ],
)
def test_other_networks_are_drawn_flat(machine: str, nodes: range, box: int, reading: str) -> None:
    collections, words = drawn(machine, nodes)
    assert words == reading
    every, mine = (len(c.get_paths()) for c in collections)
    assert (every, mine) == (box, len(nodes))
    # No two nodes in one place.
    corners = {tuple(p.vertices[0]) for p in collections[1].get_paths()}
    assert len(corners) == len(nodes)
    assert corners <= {tuple(p.vertices[0]) for p in collections[0].get_paths()}


def test_both_pictures_have_the_same_places() -> None:
    first, _ = drawn("torus:4x4", [0, 1], box=range(16))
    second, _ = drawn("torus:4x4", [14, 15], box=range(16))
    assert len(first[0].get_paths()) == len(second[0].get_paths()) == 16


def test_dimensions_after_the_third_run_within_the_first() -> None:
    at = spatial(np.array([[1, 2, 3, 1], [0, 0, 0, 1]]), (4, 4, 4, 2))
    assert at.tolist() == [[3, 2, 3], [1, 0, 0]]


def test_tasks_of_a_graph_lie_as_in_the_grid_that_it_is() -> None:
    number = np.random.default_rng(5).permutation(200)
    pattern = grid(20, 10)
    scrambled = isthmus.Pattern.of(200, source=number[pattern.sources()], target=number[pattern.peer], bytes=1)
    job = isthmus.load("ring:200").allocate(200, ranks_per_node=1)
    space = graph_space(Problem(scrambled, job, np.ones(200, np.uint32)))[number]
    x, y = np.arange(200) % 20, np.arange(200) // 20
    # The widest dimension first, whichever way it runs.
    assert abs(np.corrcoef(space[:, 0], x)[0, 1]) > 0.95
    assert abs(np.corrcoef(space[:, 1], y)[0, 1]) > 0.95


def test_tasks_that_nothing_connects_have_a_place() -> None:
    pattern = isthmus.Pattern.of(6, source=[0, 2], target=[1, 3], bytes=1)
    job = isthmus.load("ring:6").allocate(6, ranks_per_node=1)
    space = graph_space(Problem(pattern, job, np.ones(6, np.uint32)))
    assert space.shape[0] == 6
    assert np.isfinite(space).all()


@pytest.mark.parametrize("spec", ["fattree:k=4,n=3", "torus:8x8x8", "dragonfly:a=4,p=2,h=2,g=9"])
def test_loads_side_by_side_show_the_same_parts(spec: str) -> None:
    machine = isthmus.load(spec)
    pattern = isthmus.Pattern.of(4, source=[0, 1, 2], target=[1, 2, 3], bytes=[5, 6, 7])
    nodes = ([0, 1, 2, 3], [machine.nodes // 3, 1, 2, machine.nodes // 8])
    loads = [isthmus.evaluate(pattern, isthmus.Placement(machine, n)).link_bytes for n in nodes]
    alone = [load_map(machine.topology, load, narrow=True) for load in loads]
    beside = [load_map(machine.topology, load, narrow=True, beside=loads) for load in loads]

    def parts(found: LoadMap | None) -> Any:
        assert found is not None
        return [(f.place, f.cells.shape, f.columns, f.rows) for f in found.fields], found.caption

    assert parts(alone[0]) != parts(alone[1])
    assert parts(beside[0]) == parts(beside[1])
