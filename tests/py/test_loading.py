"""Every way in: names, files of all formats, specifications, the node of another file, edge lists."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import isthmus
from isthmus import InvalidInput, Machine, ParseError, Unsupported, load
from isthmus.loading import describes_node
from isthmus.machine.graph import format_edges, read_edges
from machine_strategies import topologies

DATA = Path(__file__).parents[1] / "data" / "imports"


def test_the_three_ways_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load("ring-16").name == "ring-16"
    assert load("ring:16").nodes == 16
    Machine.parse("ring:5 name=mine").save("mine.toml")
    assert load("mine.toml").name == load(Path("mine.toml")).name == load(str(tmp_path / "mine.toml")).name == "mine"
    # The catalogue goes first for a word, a file for a path.
    Machine.parse("ring:3").save("ring-16.toml")
    os.rename("ring-16.toml", "ring-16")
    assert load("ring-16").nodes == 16
    assert load("./ring-16", format="toml").nodes == load(Path("ring-16"), format="toml").nodes == 3


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cielo2", "close names are cielo"),
        ("sequioa", "close names are sequoia"),
        ("torus-4x4", "torus-4x4x4"),
        ("edisson", "edison"),
        ("jaguar-xt5", "jaguar-xt4"),
    ],
)
def test_close_names(name: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=hint):
        load(name)


@pytest.mark.parametrize(
    "name", ["", " ", "qqqqqq", "torus", "my cluster.toml", "data/none.toml", "a\0b", "x" * 10_000, "\udcff"]
)
def test_names_of_nothing(name: str) -> None:
    with pytest.raises(InvalidInput, match="neither a machine of the catalogue, nor a file, nor a spec") as caught:
        load(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250
    with pytest.raises(InvalidInput, match="neither"):
        load(Path("no-such-file"))


def test_misspelt_kinds_are_specifications() -> None:
    with pytest.raises(ParseError, match="unknown topology 'trous': must be one of linear, ring"):
        load("trous:4x4 cores=4")


def test_options_have_a_meaning_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.edges").write_text("a b\n")
    Machine.parse("ring:3").save(tmp_path / "x.toml")
    for what in ("cielo", "ring:4", tmp_path / "x.edges", tmp_path / "x.toml"):
        with pytest.raises(InvalidInput, match="root= does not apply to"):
            load(what, root="s0")
    with pytest.raises(InvalidInput, match="format 'slurm' has no option topology="):
        load(DATA / "tree" / "topology.conf", topology="x")
    with pytest.raises(InvalidInput, match="'visio': must be one of toml, edges, slurm"):
        load(tmp_path / "x.edges", format="visio")
    with pytest.raises(InvalidInput, match="'cielo' must be a file to be read as format='slurm'"):
        load("cielo", format="slurm")


def test_folders_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"a folder, in which there is no trace: expected a machine .*"):
        load(tmp_path)
    secret = tmp_path / "secret.toml"
    secret.write_text("")
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        return  # root may read everything
    with pytest.raises(PermissionError):
        load(secret)


# Imported files


@pytest.mark.parametrize(
    ("file", "nodes", "switches", "name"),
    [
        ("tree/topology.conf", 1152, None, "topology"),
        ("block/topology.conf", 144, None, "topology"),
        ("topology.yaml", None, None, "topology"),
        ("hdr-fat-tree.ibnet", None, None, "hdr-fat-tree"),
        ("old-chassis.ibnet", None, None, "old-chassis"),
    ],
)
def test_network_files(file: str, nodes: int | None, switches: int | None, name: str, tmp_path: Path) -> None:
    machine = load(DATA / file)
    assert machine.name == name
    assert machine.topology.kind == "graph"
    assert nodes in (None, machine.nodes)
    assert machine.nodes > 1
    assert machine.topology.switches > 0
    assert len(machine.hostnames) == machine.nodes
    assert machine.node_id(machine.hostnames[-1]) == machine.nodes - 1
    # All nodes reach each other, over at least one switch.
    everyone = np.arange(machine.nodes)
    assert machine.distance(0, everyone[1:]).min() >= 2
    # The TOML form holds the whole network, in the same order.
    machine.save(tmp_path / f"{name}.toml")
    again = load(tmp_path / f"{name}.toml")
    assert list(again.hostnames) == list(machine.hostnames)
    assert again.description.sources == machine.description.sources
    assert np.array_equal(again.distance(0, everyone), machine.distance(0, everyone))
    with pytest.raises(Unsupported, match="write TOML"):
        _ = machine.spec


def test_imported_text_from_a_pipe(tmp_path: Path) -> None:
    """What a shell makes of isthmus machine show <(ssh cluster cat topology.conf)."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[(DATA / "tree" / "topology.conf").read_bytes()])
    writer.start()
    machine = load(str(pipe))
    writer.join()
    assert machine.nodes == 1152


@pytest.mark.parametrize("file", ["dual-socket-v2.xml", "nehalem-v1.xml", "dgx-h100.nccl.xml"])
def test_node_files_are_no_machines(file: str) -> None:
    assert describes_node(str(DATA / file))
    with pytest.raises(ParseError, match="describes a node, not a network: give it as --node or node="):
        load(DATA / file)


def test_network_files_are_no_nodes(tmp_path: Path) -> None:
    network = DATA / "tree" / "topology.conf"
    assert not describes_node(str(network))
    with pytest.raises(ParseError, match="describes a network, not a node: must be hwloc XML or NCCL XML"):
        load("cielo", node=network)
    with pytest.raises(FileNotFoundError):
        load("cielo", node=tmp_path / "none.xml")
    (tmp_path / "x.xml").write_text("<html/>")
    with pytest.raises(ParseError, match="the format is not known"):
        load("cielo", node=tmp_path / "x.xml")


def test_node_of_another_file() -> None:
    old = load("cielo")
    new = load("cielo", node=DATA / "dual-socket-v2.xml")
    assert new != old
    assert new.topology.spec == old.topology.spec
    assert new.level == old.level
    assert new.nodes == old.nodes
    assert new.node.cores > old.node.cores
    # What hwloc cannot know of the interface stays; all else that belonged to the old node is gone.
    assert new.node.nic_bandwidth == old.node.nic_bandwidth
    assert new.node.stream is None
    assert new.node.flops is None
    assert new.notes[: len(old.notes)] == old.notes


def test_provenance_of_a_merged_node(tmp_path: Path) -> None:
    new = load("cielo", node=DATA / "dual-socket-v2.xml")
    old = load("cielo")
    for row in new.frame():
        path = str(row["path"])
        p = new.provenance(path)
        if path.startswith("node.") and path != "node.nic_bandwidth":
            assert new.description.sources[p.source] == "hwloc XML file dual-socket-v2.xml", path
        else:
            assert p == old.provenance(path), path
    assert not [
        path
        for path in new.description.provenance
        if path.startswith("node.") and path[5:] not in new.description.values["node"]
    ]
    # Sources of other values are still there and mean the same.
    for path, p in new.description.provenance.items():
        if not path.startswith("node."):
            assert new.description.sources[p.source] == old.description.sources[p.source]
    new.save(tmp_path / "new.toml")
    assert load(tmp_path / "new.toml") == new
    assert load(tmp_path / "new.toml").description.provenance == new.description.provenance


def test_merging_nodes_into_imported_networks_keeps_sources_apart(tmp_path: Path) -> None:
    network = DATA / "tree" / "topology.conf"
    once = load(network, node=DATA / "dual-socket-v2.xml")
    assert sorted(once.description.sources) == ["import", "node_import"]
    assert once.description.sources["node_import"] == "hwloc XML file dual-socket-v2.xml"
    assert once.provenance("node.cores").source == "node_import"
    once.save(tmp_path / "once.toml")
    twice = load(tmp_path / "once.toml", node=DATA / "nehalem-v1.xml")
    assert twice.description.sources[twice.provenance("node.cores").source] == "hwloc XML file nehalem-v1.xml"
    assert "hwloc XML file dual-socket-v2.xml" not in twice.description.sources.values()
    assert twice.description.sources["import"] == once.description.sources["import"]


def test_nvlinks_of_a_node_file_go_to_the_network_that_has_them() -> None:
    rail = Machine.parse("rail:gpus=8,domains=4 hop.nvlink=500ns link.nvlink=1GB/s")
    plain = load("rail:gpus=8,domains=4 hop.nvlink=500ns link.nvlink=1GB/s", node=DATA / "dgx-h100.nccl.xml")
    classes = {name: (bandwidth, latency) for name, bandwidth, latency in plain.topology.link_classes}
    assert classes["nvlink"][0] != 1e9
    # The file does not say how long an NVLink takes: the machine's own number stays.
    assert classes["nvlink"][1] == 500e-9
    assert plain.node.gpus != rail.node.gpus
    torus = load("torus:4x4", node=DATA / "dgx-h100.nccl.xml")
    assert {name for name, _, _ in torus.topology.link_classes} == {"x+", "x-", "y+", "y-"}


# Edge lists


def test_edge_list(tmp_path: Path) -> None:
    path = tmp_path / "Cables.edges"
    path.write_text(
        "# two leaves, one spine\n"
        "node b a   # numbered in this order\n"
        "\n"
        "a leaf1 100Gbit/s 90ns\n"
        "b\tleaf2 12.5e9 0.09us 2 # two cables\n"
        "leaf1 spine 200Gbit/s\n"
        "leaf2 spine\n"
        "switch leaf1 leaf2\n"
        "switch spine\n",
        encoding="utf-8",
    )
    machine = load(path)
    assert machine.hostnames == ["b", "a"]
    assert machine.topology.switches == 3
    assert machine.topology.links == 2 * (1 + 2 + 1 + 1)
    assert machine.distance(0, 1) == 4
    assert len(set(machine.topology.neighbours(0).tolist())) == 1
    bandwidths = sorted({bandwidth for _, bandwidth, _ in machine.topology.link_classes})
    assert bandwidths == [1e9, 12.5e9, 25e9]
    assert machine == Machine.parse(f"graph:{path}")


def test_defaults_of_cables_that_do_not_say(tmp_path: Path) -> None:
    path = tmp_path / "x.edges"
    path.write_text("a b\nb c 7GB/s\n")
    machine = Machine.parse(f"graph:{path} link=3GB/s hop=5ns")
    assert sorted((b, t) for _, b, t in machine.topology.link_classes) == [(3e9, 5e-9), (7e9, 5e-9)]
    with pytest.raises(ParseError, match=r"link class 'x'.*must be default or link"):
        Machine.parse(f"graph:{path} link.x=3GB/s")


@pytest.mark.parametrize(
    ("text", "line", "field", "words"),
    [
        ("", None, None, ["no node", "cable"]),
        ("# nothing\n\n", None, None, ["no node"]),
        ("switch a b\na b\n", None, None, ["no node"]),
        ("a b\na\n", 2, None, ["1 fields", "from, to"]),
        ("a b 1 1 1 1\n", 1, None, ["6 fields", "count"]),
        ("a b\na c 1GB\n", 2, "bandwidth", ["'1GB'", "GB/s"]),
        ("a b 0\n", 1, "bandwidth", ["'0'", "positive"]),
        ("a b -1GB/s\n", 1, "bandwidth", ["'-1GB/s'", "positive"]),
        ("a b 1GB/s 1GB/s\n", 1, "latency", ["'1GB/s'", "ns"]),
        ("a b 1GB/s -1ns\n", 1, "latency", ["'-1ns'", "from 0"]),
        ("a b 1GB/s 1ns 0\n", 1, "count", ["'0'", "from 1"]),
        ("a b 1GB/s 1ns 1.5\n", 1, "count", ["'1.5'", "whole"]),
        ("a b 1GB/s 1ns ²\n", 1, "count", ["'²'", "whole"]),
        ("a b 1GB/s 1ns 99999999999\n", 1, "count", ["'99999999999'", "1000000"]),
        ("node a\nb a\nswitch a\n", 3, "a", ["both a node and a switch"]),
        ("a b\nb b\n", 2, "b", ["two different vertices"]),
    ],
)
def test_malformed_edge_lists(
    text: str, line: int | None, field: str | None, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.edges").write_text(text, encoding="utf-8")
    with pytest.raises(ParseError) as caught:
        load("x.edges")
    error = caught.value
    assert (error.file, error.line, error.field) == ("x.edges", line, field)
    assert all(word in error.message for word in words), error.message


def test_edge_lists_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "x.edges"
    path.write_bytes(b"a b\n\xff\n")
    with pytest.raises(ParseError, match="UTF-8"):
        load(path)
    with pytest.raises(FileNotFoundError):
        Machine.parse("graph:no-such.edges")


@settings(max_examples=80, derandomize=True, deadline=None)
@given(topologies)
def test_edges_round_trip(tmp_path_factory: pytest.TempPathFactory, spec: str) -> None:
    machine = Machine.parse(f"{spec} link=3GB/s hop=70ns")
    path = tmp_path_factory.getbasetemp() / "round-trip.edges"
    try:
        text = format_edges(machine.topology)
    except Unsupported:
        assert machine.topology.kind in ("kautz", "debruijn")
        return
    path.write_text(text, encoding="utf-8")
    again = load(path)
    assert again.nodes == machine.topology.nodes
    assert again.topology.switches == machine.topology.switches
    assert again.topology.links == machine.topology.links
    everyone = np.arange(again.nodes)
    for node in (0, again.nodes - 1):
        assert np.array_equal(again.distance(node, everyone), machine.distance(node, everyone))
    assert not again.topology.links or all((b, t) == (3e9, 70e-9) for _, b, t in again.topology.link_classes)
    assert read_edges(path)["nodes"] == [f"n{i}" for i in range(again.nodes)]


def test_edges_keep_names_classes_and_parallel_cables(tmp_path: Path) -> None:
    path = tmp_path / "x.edges"
    path.write_text("switch s\nb s 2GB/s 10ns 3\na s 1GB/s 20ns\n")
    machine = load(path)
    text = format_edges(machine.topology)
    (tmp_path / "y.edges").write_text(text)
    again = load(tmp_path / "y.edges")
    assert list(again.hostnames) == list(machine.hostnames) == ["b", "a"]
    assert again.topology.links == 8
    assert "b s 2GB/s 10ns 3" in text.split("\n")


def test_cables_of_different_classes_per_direction_are_no_edge_list() -> None:
    with pytest.raises(Unsupported, match="differ by direction"):
        format_edges(Machine.parse("ring:5 link.x+=1GB/s link.x-=2GB/s").topology)


def test_package_names_lead_somewhere() -> None:
    for name in isthmus.__all__:
        assert getattr(isthmus, name) is not None
    assert set(isthmus.__all__) <= set(dir(isthmus))
    with pytest.raises(AttributeError, match="no attribute 'Torus'"):
        _ = isthmus.Torus
