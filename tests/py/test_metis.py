"""Undirected graphs of tasks in METIS format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import ParseError, Pattern
from isthmus.imports.graphs.metis import read_metis


def written(folder: Path, text: str, name: str = "g.graph") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_example_of_the_manual(tmp_path: Path) -> None:
    # METIS 5.1 manual, figure 2 (a): the unweighted graph of 7 vertices and 11 edges.
    text = "% a comment\n7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
    p = read_metis(written(tmp_path, text))
    assert (p.ranks, len(p), p.total_bytes) == (7, 22, 22)
    assert p.peer[int(p.first[3]) : int(p.first[4])].tolist() == [1, 2, 5, 6]
    assert p == Pattern.read(written(tmp_path, text, "h.metis"))


def test_weights(tmp_path: Path) -> None:
    # Vertex sizes, two weights of a vertex of which the first is the load, weights of edges.
    p = read_metis(written(tmp_path, "3 2 111 2\n9 4 7 2 10\n9 5 7 1 10 3 20\n\n9 6 7 2 20\n".replace("\n\n", "\n")))
    assert p.load.tolist() == [4, 5, 6]
    assert p.matrix().tolist() == [[0, 10, 0], [10, 0, 20], [0, 20, 0]]
    only_loads = read_metis(written(tmp_path, "2 1 10\n8 2\n9 1\n"))
    assert only_loads.load.tolist() == [8, 9]
    assert only_loads.bytes.tolist() == [1, 1]


def test_vertices_without_neighbours_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "g.graph.gz"
    path.write_bytes(gzip.compress(b"\n4 1 001\n3 5\n\n1 5\n\n\n"))
    assert read_metis(path).matrix().tolist() == [[0, 0, 5, 0], [0] * 4, [5, 0, 0, 0], [0] * 4]


@settings(deadline=None)  # the first file on a busy disk takes long
@given(st.integers(1, 12), st.data())
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, n: int, data: st.DataObject) -> None:
    pairs = [(u, v) for u in range(n) for v in range(u)]
    weight = {p: data.draw(st.integers(0, 10**9)) for p in data.draw(st.lists(st.sampled_from(pairs), unique=True))} \
        if pairs else {}  # fmt: skip
    dense = np.zeros((n, n), np.uint64)
    rows: list[list[str]] = [[] for _ in range(n)]
    for (u, v), w in weight.items():
        dense[u, v] = dense[v, u] = w
        rows[u] += [f"{v + 1} {w}"]
        rows[v] += [f"{u + 1} {w}"]
    text = f"{n} {len(weight)} 1\n" + "".join(" ".join(row) + "\n" for row in rows)
    p = read_metis(written(tmp_path_factory.mktemp("g"), text))
    assert len(p) == 2 * len(weight)
    assert (p.matrix() == dense).all()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, "no header"),
        ("2\n1\n", 1, "expected the header"),
        ("x 1\n", 1, "expected the header"),
        ("2 1 7\n2\n1\n", 1, "three digits"),
        ("0 0\n", 1, "0 vertices"),
        ("2 1\n2\n", 1, "1 lines follow, but the header says 2 vertices"),
        ("2 1\n2\n1\n1\n", 1, "3 lines follow, but the header says 2 vertices"),
        ("2 1 1\n2 -3\n1 -3\n", 2, "is negative: weights must be 0 or more"),
        ("2 1 1\n2 3.5\n1 3.5\n", 2, "a whole number"),
        ("2 1 1\n2 99999999999999999\n1 3\n", 2, "a whole number"),
        ("2 1 1\n2 3 1\n1 3\n", 2, "has no weight"),
        ("2 1 10\n1 2\n\n", 3, "1 before the neighbours"),
        ("2 1\n3\n1\n", 2, "vertices are 1 to 2"),
        ("2 1\n0\n1\n", 2, "vertices are 1 to 2"),
        ("2 1\n1\n1\n", 2, "a loop"),
        ("2 2\n2\n1\n", 1, "2 edges need 4 neighbours"),
        ("3 2\n2\n1 3\n1\n", 3, "not symmetric: an edge of weight 1 here, no edge at vertex 3"),
        ("2 1 1\n2 3\n1 4\n", 2, "not symmetric: an edge of weight 3 here, one of weight 4 at vertex 2"),
        ("3 2\n2 2\n1 1\n\n", 2, "given twice"),
    ],
)
def test_malformed_files_name_the_line(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    with pytest.raises(ParseError, match=words) as error:
        read_metis(written(tmp_path, text))
    assert error.value.line == line


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "g.graph.gz"
    path.write_bytes(gzip.compress(b"2 1\n2\n1\n" * 1000)[:-20])
    with pytest.raises(ParseError, match="damaged gzip"):
        read_metis(path)
    path.write_bytes(b"2 1\n2\n1\n")
    with pytest.raises(ParseError, match="damaged gzip"):
        read_metis(path)
