"""Nouns in notebooks, data frames, sparse matrices and graphs; the catalogue and sweeps as tables."""

from __future__ import annotations

import math
import sys
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse

import isthmus
from isthmus.errors import InvalidInput, Unsupported
from isthmus.tabular import Table, Tabular
from test_pickling import nouns
from test_profile_show import ring


def tabular() -> dict[str, Tabular]:
    profile = isthmus.profile(ring())
    known = {name: noun for name, noun in nouns().items() if isinstance(noun, Tabular)}
    return known | {
        "functions": profile.functions,
        "ranks": profile.ranks,
        "messages": profile.messages,
        "decisions": nouns()["tuning"].table,
        "times": nouns()["tuning"].sweeps[0],
        "catalogue": isthmus.catalogue(),
    }


def test_data_frames() -> None:
    found = tabular()
    assert {"machine", "program", "pattern", "schedule", "timeline", "traffic", "critical path", "mapped", "placement",
            "metrics", "advice", "tuning", "study"} <= set(found)  # fmt: skip
    for name, noun in found.items():
        table = noun.to_pandas()
        assert isinstance(table, pandas.DataFrame), name
        assert len(table) > 0, name
        assert len(table.columns) > 1, name


def test_notebooks() -> None:
    for name, noun in nouns().items():
        if hasattr(noun, "_repr_html_"):
            page = noun._repr_html_()
            assert page.startswith("<pre"), name
            assert str(noun).splitlines()[0].split("<")[0][:20] in page, name
    for name in ("machine", "allocation", "program", "schedule", "timeline", "mapped", "advice", "proof", "study"):
        assert hasattr(nouns()[name], "_repr_html_"), name


def test_numbers_in_frames() -> None:
    n = nouns()
    timeline, schedule, pattern = n["timeline"], n["schedule"], n["pattern"]
    ranks = timeline.to_pandas()
    assert ranks["finish"].max() == timeline.makespan
    np.testing.assert_allclose(ranks.drop(columns=["rank", "finish"]).sum(axis=1), timeline.makespan)
    ops = schedule.to_pandas()
    assert (ops["kind"] == "send").sum() == timeline.messages
    assert ops[ops["rank"] == 3]["op"].tolist() == list(range(int(schedule.op_first[4] - schedule.op_first[3])))
    pairs = pattern.to_pandas()
    assert pairs["bytes"].sum() == pattern.total_bytes
    events = n["program"].to_pandas()
    assert set(events["kind"]) == {"irecv", "isend", "compute", "waitall", "collective"}
    assert set(events[events["kind"] == "collective"]["what"]) == {"allreduce"}
    steps = n["critical path"].to_pandas()
    assert (steps["end"] - steps["begin"]).sum() == pytest.approx(timeline.makespan)
    links = n["traffic"].to_pandas()
    assert links["bytes"].sum() == n["traffic"].bytes.sum()
    assert set(links["class"]) == {"x+", "x-", "y+", "y-", "z+", "z-"}


def test_locations_of_events() -> None:
    b = isthmus.ProgramBuilder(2)
    with b.location("a.c:3"):
        b.compute(None, 1e-6)
    b.barrier(None)
    assert b.build().to_pandas()["location"].tolist() == ["a.c:3", ""] * 2


def test_table() -> None:
    table = Table([{"name": "a<b", "n": 1}, {"name": "c", "n": 20}])
    assert str(table) == "name   n\na<b    1\nc     20"
    assert "a&lt;b" in table._repr_html_()
    assert table[1]["n"] == 20
    assert table[:1] == Table([{"name": "a<b", "n": 1}])
    assert str(Table([])) == "no rows"


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array, np.asarray])
def test_sparse_matrices(form: Any) -> None:
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((30, 30)) < 0.2, rng.integers(1, 10**9, (30, 30)), 0)
    pattern = isthmus.Pattern.from_scipy(form(dense))
    np.testing.assert_array_equal(pattern.matrix(), dense)
    back = pattern.to_scipy()
    assert isinstance(back, scipy.sparse.csr_array)
    np.testing.assert_array_equal(back.toarray(), dense)
    number = np.where(dense > 0, rng.integers(1, 9, dense.shape), 0)
    again = isthmus.Pattern.from_scipy(form(dense), messages=form(number))
    np.testing.assert_array_equal(again.to_scipy("messages").toarray(), number)
    np.testing.assert_array_equal(again.to_scipy().toarray(), dense)


def test_floats_keep_their_proportions() -> None:
    weights = scipy.sparse.random_array((40, 40), density=0.1, rng=np.random.default_rng(1))
    pattern = isthmus.Pattern.from_scipy(weights)
    np.testing.assert_allclose(pattern.to_scipy().toarray() / 2**40, weights.toarray() / weights.data.max(), atol=1e-12)
    assert isthmus.Pattern.from_scipy(np.array([[0, 3.0], [2.0, 0]])).total_bytes == 5
    assert isthmus.Pattern.from_scipy(np.array([[0, 0.5], [0.25, 0]]), scale=1000).total_bytes == 750


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((2, 3)), r"\(2, 3\): must be \(ranks, ranks\)"),
        ([[0, -1], [0, 0]], "from -1 to -1: must be 0 or more"),
        ([[0, math.nan], [0, 0]], "must have numbers"),
        ([["a", "b"], ["c", "d"]], "whole numbers or floats"),
        ([[0, 2**63 - 1], [2**63 - 1, 0]], "sum below"),
    ],
)
def test_wrong_matrices(matrix: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        isthmus.Pattern.from_scipy(matrix)


def test_networkx() -> None:
    graph = networkx.Graph()
    for switch in range(3):
        graph.add_node(f"s{switch}", switch=True)
        for node in range(4):
            graph.add_edge(f"s{switch}", f"n{switch}{node}", bandwidth="10GB/s", latency=1e-7)
    graph.add_edge("s0", "s1", bandwidth=2e10, latency=3e-7, count=2)
    graph.add_edge("s1", "s2")
    machine = isthmus.Machine.from_networkx(graph, name="mine", node={"cores": 8})
    assert (machine.name, machine.nodes, machine.cores) == ("mine", 12, 96)
    away = dict(networkx.shortest_path_length(graph))
    for a, b in (("n00", "n01"), ("n00", "n13"), ("n03", "n22")):
        assert machine.distance(machine.node_id(a), machine.node_id(b)) == away[a][b]
    out = machine.to_networkx()
    assert out.number_of_edges() == machine.topology.links == 2 * (12 + 2 + 1)
    assert {e["bandwidth"] for _, _, e in out.edges(data=True)} == {1e10, 2e10, 1e9}
    again = isthmus.Machine.from_networkx(out, node={"cores": 8})
    pairs = np.arange(12, dtype=np.uint32)
    np.testing.assert_array_equal(
        again.distance(*np.meshgrid(pairs, pairs)), machine.distance(*np.meshgrid(pairs, pairs))
    )


@pytest.mark.parametrize("spec", ["torus:4x3", "dragonfly:a=4,p=2,h=2,g=9", "fattree:k=2,n=3", "slimfly:q=5,p=2"])
def test_graphs_of_any_interconnect(spec: str) -> None:
    machine = isthmus.Machine.parse(spec)
    graph = machine.to_networkx()
    again = isthmus.Machine.from_networkx(graph)
    assert (again.nodes, again.topology.switches) == (machine.nodes, machine.topology.switches)
    away = networkx.single_source_shortest_path_length(graph, machine.hostnames[0])
    for node in range(0, machine.nodes, 3):
        assert machine.distance(0, node) == again.distance(0, node) == away[machine.hostnames[node]]


def test_links_without_one_back() -> None:
    with pytest.raises(InvalidInput, match="from 0 to 1 has no equal link back"):
        isthmus.Machine.from_networkx(networkx.DiGraph([(0, 1)]))


def test_catalogue() -> None:
    rows = isthmus.catalogue()
    assert len(rows) > 20
    assert "cielo" in [row["name"] for row in rows]
    assert [row["name"] for row in isthmus.catalogue("CRAY aries")] == [
        row["name"] for row in rows if "cray" in row["title"].lower() and "aries" in str(row).lower()
    ]


def test_sweep() -> None:
    machines = ["torus:4x4 cores=4", isthmus.load("eos")]
    table = isthmus.sweep(
        "bcast", machines, ranks=(8, 16), bytes=[8, 4096], algorithm=["binomial", ("pipeline", {"segment": 512})],
        model=["loggops", "flow"],
    )  # fmt: skip
    assert len(table) == 2 * 2 * 2 * 2 * 2
    for row in table:
        machine = isthmus.load("eos") if row["machine"] == "eos" else isthmus.Machine.parse("torus:4x4 cores=4")
        schedule = isthmus.collective("bcast", ranks=row["ranks"], bytes=row["bytes"], algorithm=row["algorithm"])
        assert row["seconds"] == isthmus.simulate(schedule, machine, model=row["model"]).makespan
        assert row["error"] is None
    assert len({tuple(map(str, row.values())) for row in table}) == len(table)


def test_sweep_says_what_cannot_be_done() -> None:
    table = isthmus.sweep("allreduce", "torus:2x2 cores=1", ranks=[4, 8], bytes=64, algorithm="all")
    few = [row for row in table if row["ranks"] == 4]
    assert sum(math.isfinite(row["seconds"]) for row in few) > 5
    for row in table:
        assert (row["error"] is None) == math.isfinite(row["seconds"])
        assert row["ranks"] == 4 or "8 ranks" in row["error"] or "cores" in row["error"]


def test_sweep_of_a_function_and_of_a_program() -> None:
    def made(ranks: int, work: float) -> isthmus.Program:
        b = isthmus.ProgramBuilder(ranks)
        b.compute(None, work)
        b.barrier(None)
        return b.build()

    table = isthmus.sweep(made, "torus:4x4", ranks=[2, 16], work=[1e-3, 2e-3])
    assert [row["seconds"] > row["work"] for row in table] == [True] * 4
    (row,) = isthmus.sweep(made(4, 1.0), "torus:4x4")
    assert row["seconds"] > 1
    with pytest.raises(InvalidInput, match="ranks: a Program is simulated as it is"):
        isthmus.sweep(made(4, 1.0), "torus:4x4", ranks=[2])
    with pytest.raises(InvalidInput, match="no machines"):
        isthmus.sweep("bcast", [], ranks=4)


@pytest.mark.parametrize(
    ("package", "verb", "words"),
    [
        ("pandas", lambda: nouns()["pattern"].to_pandas(), "data frames need the package pandas"),
        ("scipy.sparse", lambda: nouns()["pattern"].to_scipy(), "sparse matrices need the package scipy"),
        ("networkx", lambda: nouns()["machine"].to_networkx(), "graphs of NetworkX need the package networkx"),
    ],
)
def test_missing_packages(package: str, verb: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Unsupported, match=rf"{words}, which is missing: pip install 'isthmus\[data\]'"):
        verb()
