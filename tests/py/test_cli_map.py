"""isthmus map."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isthmus
from commands import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys, "map")


@pytest.fixture
def ring(tmp_path: Path) -> str:
    """A ring of 16 in an order that is not that of the ring."""
    rows = [f"{(r - 5) % 16 + 1} 100 {(r + 5) % 16 + 1} 100" for r in range(16)]
    path = tmp_path / "ring.graph"
    path.write_text("\n".join(["16 16 1", *rows]) + "\n")
    return str(path)


def test_before_and_after(run: Run, ring: str) -> None:
    out = run.ok(ring, "--machine", "ring:16", "--time", "0.5s")
    head, *lines = out.splitlines()
    assert head.startswith("16 ranks on 16 nodes of ring:16, 1600 B")
    assert lines[0].split() == ["default", "block", "cyclic", "random", "mapped", "lower", "bound"]
    hop_bytes = next(line for line in lines if line.startswith("hop-bytes"))
    # Every edge spans 5 links in the given order, and one in the best.
    words = hop_bytes.split()[1:]
    assert words[:2] == ["8", "kB"]
    assert words[-4:] == ["1600", "B", "1600", "B"]
    assert any(line.startswith("* ") for line in lines)


def test_json_has_everything(run: Run, ring: str) -> None:
    found = json.loads(run.ok(ring, "--machine", "ring:16", "--time", "0.5s", "--json"))
    node = np.array(found["node"])
    assert sorted(node.tolist()) == list(range(16))
    rank = np.arange(16)
    apart = np.abs(node - node[(rank + 5) % 16])
    assert np.minimum(apart, 16 - apart).tolist() == [1] * 16
    assert found["metrics"]["hop_bytes"] == found["bounds"]["hop_bytes"] == 1600
    assert found["before"]["default"]["hop_bytes"] == 8000
    assert {"method", "options", "seconds", "hop_bytes", "maximum_link_load", "time"} == set(found["tried"][0])


def test_output_formats_and_evaluate(run: Run, ring: str, tmp_path: Path) -> None:
    rankfile = str(tmp_path / "rankfile")
    assert f"wrote {rankfile}" in run.ok(ring, "--machine", "ring:16", "--time", "0.5s", "-o", rankfile)
    assert Path(rankfile).read_text().count("rank ") >= 16
    out = run.ok(ring, "--machine", "ring:16", "--evaluate", "--placement", rankfile)
    assert "hop-bytes                          1600 B" in out
    assert "hop-bytes: sum over messages of bytes times links" in out
    by_default = run.ok(ring, "--machine", "ring:16", "--evaluate")
    assert "hop-bytes                          8 kB" in by_default
    assert by_default != run.ok(ring, "--machine", "ring:16", "--evaluate", "--placement", "random")
    found = json.loads(run.ok(ring, "--machine", "ring:16", "--evaluate", "--json"))
    assert found["hop_bytes"] == 8000
    assert "IPDPS 2006" in found["definitions"]["hop_bytes"]["source"]


@pytest.mark.parametrize("format", ["table", "slurm", "hostfile", "flux"])
def test_other_formats(run: Run, ring: str, tmp_path: Path, format: str) -> None:
    path = str(tmp_path / "placement")
    run.ok(ring, "--machine", "ring:16", "--time", "0.5s", "-o", path, "--format", format)
    out = run.ok(ring, "--machine", "ring:16", "--evaluate", "--placement", path, "--format", format)
    assert "hop-bytes                          1600 B" in out


def test_programs_are_simulated(run: Run) -> None:
    words = ("allgather:ranks=16,bytes=64kB,algorithm=ring", "--machine", "torus:4x4", "--time", "0.5s")
    assert "simulated time" in run.ok(*words)
    assert "simulated time" not in run.ok(*words, "--model", "none")
    by_time = json.loads(run.ok(*words, "--objective", "time", "--json"))
    assert by_time["metrics"]["time"] <= by_time["before"]["default"]["time"]


def test_nodes_of_a_job(run: Run, ring: str) -> None:
    found = json.loads(run.ok(ring, "--machine", "torus:8x8 cores=4", "--nodes", "node[3,9-11]", "--json"))
    assert set(found["node"]) == {3, 9, 10, 11}
    found = json.loads(run.ok(ring, "--machine", "torus:8x8 cores=4", "--ranks-per-node", "2", "--json"))
    assert set(found["node"]) == set(range(8))
    found = json.loads(run.ok(ring, "--machine", "torus:8x8", "--fraction", "0.25", "--seed", "3", "--json"))
    nodes = isthmus.load("torus:8x8").allocate(fraction=0.25, seed=3).nodes
    assert sorted(found["node"]) == nodes.tolist()


def test_tasks_share_nodes(run: Run, ring: str) -> None:
    found = json.loads(run.ok(ring, "--machine", "ring:4", "--tasks-per-node", "5", "--json"))
    assert np.bincount(found["node"], minlength=4).max() <= 5
    found = json.loads(run.ok(ring, "--machine", "ring:4", "--balance", "0", "--json"))
    assert np.bincount(found["node"], minlength=4).tolist() == [4] * 4


def test_the_same_seed_gives_the_same(run: Run, ring: str) -> None:
    words = (ring, "--machine", "torus:4x2x2", "--time", "0.2s", "--seed", "7", "--json")
    found = [json.loads(run.ok(*words)) for _ in range(2)]
    assert found[0]["node"] == found[1]["node"]


def test_methods_and_formats_are_listed(run: Run) -> None:
    out = run.ok("--list")
    for word in ("auto", "block", "cyclic", "random", "rankfile", "cray", "slurm"):
        assert f"\n{word} " in out
    listed = json.loads(run.ok("--list", "--json"))
    assert "rankfile" in listed["formats"]


def test_pictures(run: Run, ring: str, tmp_path: Path) -> None:
    words = [f"--plot={kind}={tmp_path / kind}.png" for kind in ("load", "dilation", "placement")]
    run.ok(ring, "--machine", "torus:4x2x2", "--time", "0.2s", *words)
    for kind in ("load", "dilation", "placement"):
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")


def test_bad_input(run: Run, ring: str, tmp_path: Path) -> None:
    assert "16 ranks do not fit: ring:8 has 8 cores" in run.error(ring, "--machine", "ring:8")
    edges = tmp_path / "apart.edges"
    edges.write_text("a b\nc d\n")
    assert "apart.edges" in run.error(ring, "--machine", str(edges), "--tasks-per-node", "4")
    negative = tmp_path / "negative.graph"
    negative.write_text("2 1 1\n2 -3\n1 -3\n")
    assert "negative.graph:2: -3: is negative" in run.error(str(negative), "--machine", "ring:4")
    asymmetric = tmp_path / "asymmetric.graph"
    asymmetric.write_text("2 1 1\n2 3\n1 4\n")
    assert "the graph is not symmetric" in run.error(str(asymmetric), "--machine", "ring:4")
    other = tmp_path / "rankfile"
    other.write_text("".join(f"rank {r}=login{r} slot=0\n" for r in range(16)))
    error = run.error(ring, "--machine", "ring:16", "--evaluate", "--placement", str(other))
    assert "rankfile:1" in error
    assert "login0" in error
    short = tmp_path / "short"
    short.write_text("".join(f"rank {r}=node{r} slot=0\n" for r in range(8)))
    assert "the placement has 8 ranks, the pattern 16" in run.error(
        ring, "--machine", "ring:16", "--evaluate", "--placement", str(short)
    )
    assert "give FILE or --example NAME, and --machine" in run.error(ring)
    assert "method 'blok' (close: block)" in run.error(ring, "--machine", "ring:16", "--method", "blok")
    assert "option 'x' of method block" in run.error(ring, "--machine", "ring:16", "--method", "block,x=1")
    assert "NAME:key=value" in run.error(ring, "--machine", "ring:16", "--method", "block,x")
    assert "--placement needs --evaluate" in run.error(ring, "--machine", "ring:16", "--placement", "block")
    assert "finds no placement" in run.error(ring, "--machine", "ring:16", "--evaluate", "-o", "x")
    assert "--format pbs" in run.error(ring, "--machine", "ring:16", "-o", "x", "--format", "pbs")
    assert "no folder" in run.error(ring, "--machine", "ring:16", "-o", str(tmp_path / "no" / "x"))
    assert "must end in" in run.error(ring, "--machine", "ring:16", "--plot", "x.bmp")
    assert "--plot shape=x.png" in run.error(ring, "--machine", "ring:16", "--plot", "shape=x.png")
    assert "balance and tasks_per_node" in run.error(
        ring, "--machine", "ring:4", "--balance", "0.1", "--tasks-per-node", "4"
    )
    assert "16 tasks do not fit 4 nodes" in run.error(ring, "--machine", "ring:4", "--tasks-per-node", "3")
    assert "objective 'time'" in run.error(ring, "--machine", "ring:16", "--objective", "time")
    assert "is not a quantity" in run.error(ring, "--machine", "ring:16", "--time", "soon")
    # What a method is given, and what it is for.
    for words, said in {
        "multilevel,seconds=soon": "option 'seconds' of method multilevel: 'soon'; must be a number from 0",
        "multilevel,seconds=-1": "-1; must be a number from 0",
        "multilevel,starts=1.5": "1.5; must be a whole number from 0",
        "anneal,hot=true": "True; must be a number from 0",
        "anneal,start=blok": "method 'blok' (close: block)",
        "grouped": "method 'grouped' does not apply here; it needs dragonflies",
    }.items():
        assert said in run.error(ring, "--machine", "ring:16", "--method", words)
    assert "collectives= applies only to a program" in run.error(
        ring, "--machine", "ring:16", "--collectives", "allreduce=ring"
    )
    assert run.error("no.graph", "--machine", "ring:16") == "no.graph: No such file or directory"
    assert "'no.toml' is neither a machine" in run.error(ring, "--machine", "no.toml")
    missing = run.error(ring, "--machine", "ring:16", "--evaluate", "--placement", "no.rank")
    assert missing == "no.rank: No such file or directory"


def test_the_sentence_about_a_machine_in_two_parts(run: Run, ring: str, tmp_path: Path) -> None:
    edges = tmp_path / "apart.edges"
    edges.write_text("a b\nc d\n")
    error = run.error(ring, "--machine", str(edges), "--tasks-per-node", "4")
    assert error.endswith("graph: node c is not connected to node a")


def test_bad_headers_of_graphs(run: Run, tmp_path: Path) -> None:
    for text, said in {
        "": "the file has no header",
        "x y\n": "g.graph:1: expected the header: vertices edges",
        "2 1 7\n2\n1\n": "g.graph:1: format 007: must be three digits, each 0 or 1",
        "2 9\n2\n1\n": "g.graph:1: 9 edges need 18 neighbours, each at both ends, not 2",
    }.items():
        (tmp_path / "g.graph").write_text(text)
        assert said in run.error(str(tmp_path / "g.graph"), "--machine", "ring:16")


def test_what_fails_leaves_no_files(run: Run, ring: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    out, plot = str(tmp_path / "out"), f"--plot={tmp_path / 'p.png'}"
    for words in (
        ("--machine", "ring:8"), ("--machine", "ring:16", "--method", "blok"), ("--machine", "ring:16", "--time", "x"),
        ("--machine", "ring:16", "--format", "pbs"), ("--machine", "ring:16", "--plot", str(tmp_path / "p.gif")),
        ("--machine", "ring:16", "--plot", str(tmp_path / "no" / "p.png")),
    ):  # fmt: skip
        run.error(ring, *words, "-o", out, plot)
    assert sorted(tmp_path.iterdir()) == before


def test_faster_nodes_take_more_tasks(run: Run, ring: str, tmp_path: Path) -> None:
    words = (ring, "--machine", "ring:4", "--balance", "0", "--time", "0.1s", "--json", "--speeds")
    for given in ("1x2,3,3", None):
        if given is None:
            given = str(tmp_path / "speeds")
            Path(given).write_text("1\n1\n3\n3\n")
        node = json.loads(run.ok(*words, given))["node"]
        assert np.bincount(node, minlength=4).tolist() == [2, 2, 6, 6]
    fails = (ring, "--machine", "ring:4", "--balance", "0", "--speeds")
    assert "'fast' is not a number" in run.error(*fails, "fast")
    assert "SPEEDxNODES" in run.error(*fails, "1xtwo")
    assert "a number above 0 for each of 4 nodes" in run.error(*fails, "1,2")
    assert "a number above 0 for each of 4 nodes" in run.error(*fails, "1x3,0")
    Path(given).write_text("1\nslow\n")
    assert "speeds:2: 'slow' is not a number" in run.error(*fails, given)
    assert "balance" in run.error(ring, "--machine", "ring:16", "--speeds", "1x16")


def test_the_example(run: Run) -> None:
    out = run.ok("--example", "lammps", "--machine", "torus:4x4x4", "--time", "0.2s", "--model", "none")
    assert "64 ranks" in out
    assert "FILE or --example NAME" in run.error("x.h5", "--example", "lammps", "--machine", "ring:4")
