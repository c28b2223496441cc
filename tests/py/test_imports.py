"""Importers: the numbers in the fixtures, what options choose, and generated fixtures."""

from __future__ import annotations

import itertools
import pickle
import runpy
import time
from pathlib import Path
from typing import Any

import pytest

from isthmus.errors import InvalidInput, ParseError
from isthmus.imports.machines import formats, hwloc, ibnet, slurm, slurm_yaml

DATA = Path(__file__).parents[1] / "data" / "imports"

FILES = {
    "tree/topology.conf": "slurm",
    "block/topology.conf": "slurm",
    "topology.yaml": "slurm-yaml",
    "hdr-fat-tree.ibnet": "ibnetdiscover",
    "old-chassis.ibnet": "ibnetdiscover",
    "dual-socket-v2.xml": "hwloc",
    "nehalem-v1.xml": "hwloc",
    "dgx-h100.nccl.xml": "nccl",
}


def load(name: str, **options: Any) -> dict[str, Any]:
    return formats.read(DATA / name, **options)


def degrees(machine: dict[str, Any]) -> dict[str, int]:
    """Cables at every device; also checks the form of the edges."""
    topology = machine["topology"]
    known = [*topology["nodes"], *topology["switches"]]
    assert len(set(known)) == len(known)
    count = dict.fromkeys(known, 0)
    for a, b, bandwidth, latency, cables in topology["edges"]:
        assert bandwidth is None or bandwidth > 0
        assert latency is None
        assert a != b
        count[a] += cables
        count[b] += cables
    pairs = [(frozenset(edge[:2]), edge[2]) for edge in topology["edges"]]
    assert len(set(pairs)) == len(pairs)
    return count


def test_fixtures_are_what_the_script_writes(tmp_path: Path) -> None:
    script = runpy.run_path(str(DATA / "make_fixtures.py"))
    assert set(script["FIXTURES"]) == set(FILES)
    for name, make in script["FIXTURES"].items():
        assert make() == (DATA / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(("name", "format"), FILES.items())
def test_format_is_told_from_the_content(name: str, format: str) -> None:
    text = (DATA / name).read_text(encoding="utf-8")
    assert formats.detect(text, name) == format
    assert load(name) == load(name, format=format)
    reader, description = formats.FORMATS[format]
    assert reader(text, str(DATA / name)) == load(name)
    assert description
    windows = text.replace("\n", "\r\n")
    assert reader(windows, str(DATA / name)) == load(name)


def test_slurm_tree() -> None:
    machine = load("tree/topology.conf")
    assert machine["format"] == 1
    assert machine["name"] == "topology"
    assert machine["sources"]["import"].endswith("topology.conf")
    topology = machine["topology"]
    assert topology["kind"] == "graph"
    assert len(topology["nodes"]) == 1152
    assert len(topology["switches"]) == 32 + 4 + 1
    assert len(topology["edges"]) == 1152 + 32 + 4
    count = degrees(machine)
    assert count["leaf00"] == 36 + 1
    assert count["pod3"] == 8 + 1
    assert count["core"] == 4
    assert all(count[node] == 1 for node in topology["nodes"])
    assert ["cn0037", "leaf01", None, None, 1] in topology["edges"]


def test_slurm_forest_needs_a_root() -> None:
    text = "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-5]\n"
    machine = slurm.read(text, "topology.conf", root="b")
    assert machine["topology"]["nodes"] == ["n4", "n5"]
    assert machine["topology"]["switches"] == ["b"]
    with pytest.raises(InvalidInput, match=r"root='c' is not a root of topology\.conf; its roots are a, b"):
        slurm.read(text, "topology.conf", root="c")


def test_slurm_empty_leaf_is_kept() -> None:
    text = "SwitchName=a Nodes=n0\nSwitchName=spare\nSwitchName=top Switches=a,spare\n"
    assert slurm.read(text, "t.conf")["topology"]["switches"] == ["a", "spare", "top"]


def test_slurm_block() -> None:
    machine = load("block/topology.conf")
    count = degrees(machine)
    assert len(machine["topology"]["nodes"]) == 144
    switches = machine["topology"]["switches"]
    assert switches[:8] == [f"nvl{i}" for i in range(8)]
    assert switches[8:] == [*(f"block32.{i}" for i in range(4)), "block64.0", "block64.1", "blocks"]
    assert count["nvl0"] == 18 + 1
    assert count["block32.0"] == 2 + 1
    assert count["block64.1"] == 2 + 1
    assert count["blocks"] == 2


@pytest.mark.parametrize(
    ("sizes", "switches"),
    [
        ("", ["b0", "b1", "b2", "blocks"]),
        ("BlockSizes=2", ["b0", "b1", "b2", "blocks"]),
        ("BlockSizes=2,4", ["b0", "b1", "b2", "block4.0", "block4.1", "blocks"]),
        ("BlockSizes=2,8", ["b0", "b1", "b2", "block8.0"]),
    ],
)
def test_slurm_block_levels(sizes: str, switches: list[str]) -> None:
    text = f"BlockName=b0 Nodes=n[0-1]\nBlockName=b1 Nodes=n[2-3]\nBlockName=b2 Nodes=n[4-5]\n{sizes}"
    machine = slurm.read(text, "topology.conf")
    assert machine["topology"]["switches"] == switches
    degrees(machine)


def test_topology_yaml_chooses_the_default_or_by_name() -> None:
    fabric = load("topology.yaml")
    assert len(fabric["topology"]["nodes"]) == 26
    assert fabric["topology"]["switches"] == ["spine", "leaf0", "leaf1", "leaf2"]
    assert degrees(fabric)["leaf2"] == 11
    racks = load("topology.yaml", topology="racks")
    assert racks["topology"]["switches"] == [
        "rack1",
        "rack2",
        "rack3",
        "rack4",
        "block12.0",
        "block12.1",
        "blocks",
    ]
    plain = load("topology.yaml", topology="plain")
    assert plain["topology"]["switches"] == ["flat"]
    assert len(plain["topology"]["nodes"]) == 26
    given = load("topology.yaml", topology="plain", nodes="x[1-3]")
    assert given["topology"]["nodes"] == ["x1", "x2", "x3"]
    with pytest.raises(InvalidInput, match="fabric, racks, plain"):
        load("topology.yaml", topology="nope")


def test_topology_yaml_aliases_do_not_multiply() -> None:
    layers = ["- &a0 [x, x]"] + [f"- &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    with pytest.raises(ParseError):
        slurm_yaml.read("\n".join(layers), "topology.yaml")


def test_infiniband_fat_tree() -> None:
    machine = load("hdr-fat-tree.ibnet")
    topology = machine["topology"]
    assert len(topology["nodes"]) == 324
    assert len(topology["switches"]) == 18 + 9 + 1
    assert len(topology["edges"]) == 324 + 18 + 18 * 9
    assert sum(edge[4] for edge in topology["edges"]) == 324 + 18 + 18 * 9 * 2
    assert {edge[2] for edge in topology["edges"]} == {25e9}
    count = degrees(machine)
    assert count["spine00"] == 36
    assert count["S-0c42a103008b0000"] == 36  # the aggregation node on port 37 is left out
    assert count["node001"] == 2
    assert count["node019"] == 1
    assert machine["node"] == {"nics": 2, "nic_bandwidth": 25e9}
    assert any("aggregation" in note for note in machine["notes"])
    assert any("306 nodes with 1, 18 nodes with 2" in note for note in machine["notes"])


def test_infiniband_old_syntax() -> None:
    machine = load("old-chassis.ibnet")
    topology = machine["topology"]
    assert topology["nodes"] == ["alpha", "H-0002c90200002000"]
    assert sorted(topology["switches"]) == ["ISR9024 Voltaire", "far switch", "gate"]
    speeds = {edge[1]: edge[2] for edge in topology["edges"]}
    assert speeds == {"alpha": None, "H-0002c90200002000": 1e9, "gate": 0.5e9, "far switch": 12e9}


def test_infiniband_pair_of_cables_of_two_speeds() -> None:
    text = (
        'Switch\t4 "S-01"\t# "a"\n[1]\t"S-02"[1]\t# "b" lid 2 4xHDR\n'
        '[2]\t"S-02"[2]\t# "b" lid 2 4xHDR\n'
        '[3]\t"S-02"[3]\t# "b" lid 2 2xHDR\n[4]\t"H-0a"[1](b)\t# "n1 mlx5_0" lid 3 4xNDR\n'
    )
    edges = ibnet.read(text, "x")["topology"]["edges"]
    assert edges == [
        ["a", "b", 25e9, None, 2],
        ["a", "b", 12.5e9, None, 1],
        ["a", "n1", 50e9, None, 1],
    ]


@pytest.mark.parametrize(
    ("token", "rate"),
    [
        ("1xSDR", 0.25e9),
        ("4xSDR", 1e9),
        ("4xDDR", 2e9),
        ("4xQDR", 4e9),
        ("4xFDR10", 5e9),
        ("4xFDR", 6818181818.0),
        ("4xEDR", 12.5e9),
        ("4xHDR", 25e9),
        ("2xHDR", 12.5e9),
        ("4xNDR", 50e9),
        ("2xNDR", 25e9),
        ("4xXDR", 100e9),
        ("12xQDR", 12e9),
        ("8xEDR", 25e9),
        ("4x???", None),
        ("??HDR", None),
    ],
)
def test_infiniband_speeds(token: str, rate: float | None) -> None:
    assert ibnet.bandwidth(token) == rate


def test_infiniband_ten_megabytes_in_seconds() -> None:
    lines = []
    for switch in range(3500):
        lines.append(f"\nvendid=0x2c9\nswitchguid=0x{switch:x}({switch:x})")
        lines.append(f'Switch\t40 "S-{switch:016x}"\t\t# "leaf{switch}" enhanced port 0 lid 1 lmc 0')
        for port in range(1, 39):
            host = 40 * switch + port
            lines.append(f'[{port}]\t"H-{host:016x}"[1]({host:x}) \t\t# "node{host:07d} mlx5_0" lid {port} 4xHDR')
        for port, peer in ((39, switch - 1), (40, switch + 1)):
            if 0 <= peer < 3500:
                lines.append(f'[{port}]\t"S-{peer:016x}"[{79 - port}]\t\t# "leaf{peer}" lid 9 4xHDR')
    text = "\n".join(lines)
    assert len(text) > 10e6
    start = time.perf_counter()
    machine = ibnet.read(text, "big")
    assert time.perf_counter() - start < 30  # about 1 s alone; the bound catches a quadratic
    assert len(machine["topology"]["nodes"]) == 3500 * 38


def test_hwloc_version_2() -> None:
    fragment = load("dual-socket-v2.xml")
    node = fragment["node"]
    assert node["clock"]["value"] == 2e9
    del node["clock"]
    assert node == {
        "sockets": 2,
        "numa": 4,
        "cores": 32,
        "core_order": "block",
        "nics": 2,
        "gpus": 4,
        "memory": 4 * 128 * 2**30,
    }
    assert set(fragment) == {"format", "notes", "sources", "node"}


def test_hwloc_version_1() -> None:
    node = load("nehalem-v1.xml")["node"]
    assert node["clock"]["value"] == 2.67e9
    del node["clock"]
    assert node == {
        "sockets": 2,
        "numa": 2,
        "cores": 8,
        "core_order": "cyclic",
        "nics": 1,
        "gpus": 0,
        "memory": 2 * 24 * 2**30,
    }


def test_hwloc_special_memories_and_devices() -> None:
    text = """<topology version="3.0">
 <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0xf">
  <object type="NUMANode" os_index="0" cpuset="0x3" local_memory="100"/>
  <object type="NUMANode" os_index="1" cpuset="0x3" local_memory="20"/>
  <object type="NUMANode" os_index="2" cpuset="0x0" local_memory="3"/>
  <object type="Core"><object type="PU" os_index="0"/></object>
  <object type="Core"><object type="PU" os_index="1"/></object>
  <object type="PCIDev" pci_type="0200 [17db:0501]">
    <object type="OSDev" name="hsn0" osdev_type="16"/></object>
  <object type="PCIDev" pci_type="0207 [15b3:101b]">
    <object type="OSDev" name="mlx5_0" osdev_type="48">
    <info name="Port1State" value="1"/></object></object>
  <object type="PCIDev" pci_type="0380 [1002:740c]">
    <object type="OSDev" name="rsmi0" osdev_type="12"/></object>
 </object></topology>"""
    fragment = hwloc.read(text, "x.xml")
    assert fragment["node"] == {
        "sockets": 1,
        "numa": 1,
        "cores": 2,
        "core_order": "block",
        "nics": 1,
        "gpus": 1,
        "memory": 120,
    }
    notes = " ".join(fragment["notes"])
    for words in (
        "hsn0",
        "without an active port are not counted: mlx5_0",
        "2 PUs",
        "1 NUMA nodes",
    ):
        assert words in notes


def test_nccl() -> None:
    fragment = load("dgx-h100.nccl.xml")
    assert fragment["node"] == {"gpus": 8, "nics": 8, "nic_bandwidth": 50e9}
    bandwidth = fragment["links"]["nvlink"]["bandwidth"]
    assert bandwidth["value"] == 18 * 25e9
    assert bandwidth["source"] in fragment["sources"]
    assert "20.6 GB/s" in bandwidth["note"]


@pytest.mark.parametrize(("sm", "peak"), [(60, 20e9), (70, 25e9), (86, 14.0625e9), (100, 50e9)])
def test_nccl_direct_nvlink(sm: int, peak: float) -> None:
    text = f"""<system version="1"><cpu numaid="0">
      <pci busid="a"><gpu dev="0" sm="{sm}">
        <nvlink target="b" count="4" tclass="0x030200"/></gpu></pci>
      <pci busid="b"><gpu dev="1" sm="{sm}">
        <nvlink target="a" count="4" tclass="0x030200"/></gpu></pci>
      <nic><net name="eth0" speed="-1"/></nic><extra/></cpu>
      <cpu numaid="1"><nic><net name="eth0" speed="-1"/></nic></cpu></system>"""
    reader = formats.FORMATS["nccl"][0]
    fragment = reader(text, "x.xml")
    assert fragment["links"]["nvlink"]["bandwidth"]["value"] == 4 * peak
    assert fragment["node"] == {"gpus": 2, "nics": 1, "nic_bandwidth": 1.25e9}
    assert any("<extra>" in note for note in fragment["notes"])


def test_nccl_without_nvlink_has_no_links() -> None:
    text = '<system version="1"><cpu numaid="0"><pci busid="a"><gpu dev="0" sm="89"/></pci></cpu></system>'
    assert "links" not in formats.FORMATS["nccl"][0](text, "x.xml")


def test_read_refuses_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be one of slurm, slurm-yaml"):
        load("topology.yaml", format="toml")
    with pytest.raises(InvalidInput, match="format 'hwloc' has no option root="):
        load("nehalem-v1.xml", root="x")
    with pytest.raises(FileNotFoundError):
        formats.read(tmp_path / "absent.conf")


def test_parse_error_survives_pickling() -> None:
    error = ParseError("topology.conf", 12, "SwitchName=s3", "no such child switch 's9'")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.file, copy.line, copy.field) == ("topology.conf", 12, "SwitchName=s3")
    assert str(copy) == "topology.conf:12: SwitchName=s3: no such child switch 's9'"
    assert isinstance(copy, ValueError)


def test_names_are_made_from_paths() -> None:
    from isthmus.imports.machines.fragment import machine_name

    for path, name in [
        ("/etc/My Cluster_2.conf", "my-cluster-2"),
        ("C:\\x\\A.xml", "a"),
        ("", "imported"),
    ]:
        assert machine_name(path) == name


def test_fixture_list_is_complete() -> None:
    found = {str(p.relative_to(DATA)) for p in itertools.chain(DATA.glob("*.*"), DATA.glob("*/*"))}
    assert {name for name in found if "__pycache__" not in name} - set(FILES) == {"make_fixtures.py"}
