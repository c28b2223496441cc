"""Launch files: what is written is read back, what others write is understood, what is wrong is said in a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput, ParseError, Unsupported
from isthmus.machine import Allocation, Machine
from isthmus.machine.placement import Placement, place_in_node
from isthmus.mapping import launch
from isthmus.mapping.launch.flux import blocks
from isthmus.mapping.launch.order import slot_order

NAMES = [f.name for f in launch.formats()]
CORES = [f.name for f in launch.formats() if f.cores]
JOB = {f.name for f in launch.formats() if f.job}

MACHINES = {
    "torus": "torus:4x3x2 cores=4 sockets=2 hosts=nid[00000-00023]",
    "cyclic": "torus:4x3x2 cores=6 numa=2 sockets=2 core_order=cyclic",
    "five": "torus:2x2x2x2x2 cores=2",
    "dragonfly": "dragonfly:a=2,p=2,h=1,g=3 cores=4",
}


def test_the_machines_of_these_tests_are_there() -> None:
    assert [Machine.parse(spec).nodes for spec in MACHINES.values()] == [24, 24, 32, 12]


def written(placement: Placement, format: str, folder: Path, job: Allocation | None = None, **options: Any) -> Path:
    path = folder / f"{format}.txt"
    launch.write(placement, format, path, job, **options)
    return path


@st.composite
def placements(draw: st.DrawFn, cores: bool = True) -> Placement:
    """Ranks on different cores of some nodes; without ``cores``, on the first cores of their nodes in their order."""
    machine = Machine.parse(draw(st.sampled_from(list(MACHINES.values()))))
    ranks = draw(st.integers(1, min(40, machine.cores)))
    slots = np.random.default_rng(draw(st.integers(0, 10**6))).permutation(machine.cores)[:ranks]
    node = (slots // machine.node.cores).astype(np.uint32)
    return Placement(machine, node, slots % machine.node.cores if cores else None)


def supported(placement: Placement, format: str) -> bool:
    if format == "bluegene":
        return "torus" in placement.machine.topology.kind
    counts = np.unique(placement.node, return_counts=True)[1]
    return format != "cray" or bool((counts[:-1] == counts[0]).all() and counts[-1] <= counts[0])


@given(placement=placements())
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("format", CORES)
def test_formats_with_cores_say_every_placement(
    format: str, placement: Placement, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(placement, format, tmp_path_factory.mktemp("launch"))
    where = Allocation(placement.machine, placement.nodes) if format in JOB else placement.machine
    assert launch.read(path, where) == placement


@given(placement=placements(cores=False))
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("format", [name for name in NAMES if name not in CORES])
def test_formats_without_cores_say_every_node(
    format: str, placement: Placement, tmp_path_factory: pytest.TempPathFactory
) -> None:
    job = Allocation(placement.machine, placement.nodes)
    folder = tmp_path_factory.mktemp("launch")
    if not supported(placement, format):
        with pytest.raises((InvalidInput, Unsupported)):
            written(placement, format, folder)
        return
    assert launch.read(written(placement, format, folder), job, format) == placement


@given(placement=placements(cores=False), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("format", sorted(JOB - {"cray"}))
def test_nodes_are_counted_in_the_order_of_the_job(
    format: str, placement: Placement, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not supported(placement, format):
        return
    job = Allocation(placement.machine, np.random.default_rng(seed).permutation(placement.machine.nodes))
    path = written(placement, format, tmp_path_factory.mktemp("launch"), job)
    assert launch.read(path, job) == placement


@pytest.mark.parametrize("format", [n for n in NAMES if n != "slurm"])
def test_the_format_is_told_from_the_content(format: str, tmp_path: Path) -> None:
    machine = Machine.parse(MACHINES["torus"])
    path = written(Placement.of(machine, 96, "random", seed=3), format, tmp_path)
    assert launch.detect(launch.Reading(path.read_bytes(), str(path), machine)) == format


@pytest.mark.parametrize("format", NAMES)
def test_one_rank_is_enough(format: str, tmp_path: Path) -> None:
    machine = Machine.parse(MACHINES["torus"])
    placement = Placement(machine, [0])
    path = written(placement, format, tmp_path, machine.allocate(ranks_per_node=1))
    assert launch.read(path, machine, format) == placement


def test_what_the_files_look_like() -> None:
    machine = Machine.parse("torus:4x2 cores=4 sockets=2 hosts=n[0-7]")
    placement = Placement(machine, [5, 5, 6, 6], [3, 0, 1, 2])
    job = machine.allocate(4, first=4, ranks_per_node=2)
    assert launch.text(placement, "rankfile").splitlines() == [
        "rank 0=n5 slot=1:1",
        "rank 1=n5 slot=0:0",
        "rank 2=n6 slot=0:1",
        "rank 3=n6 slot=1:0",
    ]
    assert launch.text(placement, "hostfile") == launch.text(placement, "slurm") == "n5\nn5\nn6\nn6\n"
    assert launch.text(placement, "cray") == "# --ntasks-per-node=2\n1,0\n2,3\n"
    assert launch.text(placement, "bluegene", job) == "1 0 1\n1 0 0\n2 0 0\n2 0 1\n"
    assert launch.text(placement, "jsrun", job, threads=4).splitlines()[-4:] == [
        "rank: 0: { host: 2; cpu: {12-15} }",
        "rank: 1: { host: 2; cpu: {0-3} }",
        "rank: 2: { host: 3; cpu: {4-7} }",
        "rank: 3: { host: 3; cpu: {8-11} }",
    ]
    assert launch.text(placement, "fugaku", job) == "(1,0)\n(1,0)\n(2,0)\n(2,0)\n"
    assert launch.text(placement, "flux", job) == "[[1,2,2,1]]\n"
    assert launch.text(placement, "table").splitlines()[:2] == ["rank\tnode\tcore", "0\tn5\t3"]


def test_cores_numbered_round_the_sockets_are_counted_socket_by_socket_for_launchers(tmp_path: Path) -> None:
    machine = Machine.parse("ring:2 cores=4 sockets=2 core_order=cyclic")
    placement = Placement(machine, [0, 0, 0, 0], [0, 1, 2, 3])
    slots = [line.split("slot=")[1] for line in launch.text(placement, "rankfile").splitlines()]
    assert slots == ["0:0", "1:0", "0:1", "1:1"]
    assert launch.read(written(placement, "rankfile", tmp_path), machine) == placement
    assert re.findall(r"cpu: \{(\d+)\}", launch.text(placement, "jsrun")) == ["0", "2", "1", "3"]


# The raw maps and the task maps of RFC 34's table of test vectors.
RFC34 = [
    ("0", [[0, 1, 1, 1]]),
    ("0;1", [[0, 2, 1, 1]]),
    ("0-1", [[0, 1, 2, 1]]),
    ("0-1;2-3", [[0, 2, 2, 1]]),
    ("0,2;1,3", [[0, 2, 1, 2]]),
    ("1;0", [[1, 1, 1, 1], [0, 1, 1, 1]]),
    ("0-3;4-7;8-11;12-15", [[0, 4, 4, 1]]),
    ("0,4,8,12;1,5,9,13;2,6,10,14;3,7,11,15", [[0, 4, 1, 4]]),
    ("0-1,8-9;2-3,10-11;4-5,12-13;6-7,14-15", [[0, 4, 2, 2]]),
    ("0-1;2-3;4-5;6-7;8-11;12-15", [[0, 4, 2, 1], [4, 2, 4, 1]]),
    ("0,6;1,7;2,8;3,9;4,10,12,14;5,11,13,15", [[0, 6, 1, 2], [4, 2, 1, 2]]),
    ("0-1;2-3;4-5;6-7;8-9;12-13;10-11;14-15", [[0, 5, 2, 1], [6, 1, 2, 1], [5, 1, 2, 1], [7, 1, 2, 1]]),
    ("12-15;8-11;4-7;0-3", [[3, 1, 4, 1], [2, 1, 4, 1], [1, 1, 4, 1], [0, 1, 4, 1]]),
]


@pytest.mark.parametrize(("raw", "expected"), RFC34)
def test_task_maps_are_those_of_the_flux_rfc(raw: str, expected: list[list[int]], tmp_path: Path) -> None:
    node: dict[int, int] = {}
    for index, ranks in enumerate(raw.split(";")):
        for part in ranks.split(","):
            low, _, high = part.partition("-")
            node.update(dict.fromkeys(range(int(low), int(high or low) + 1), index))
    nodes = [node[rank] for rank in range(len(node))]
    assert blocks(nodes) == expected
    path = tmp_path / "map.json"
    path.write_text(f'{{"version": 1, "map": {expected}}}')
    read = launch.read(path, Machine.parse("ring:16 cores=4"))
    assert read.node.tolist() == nodes


def test_what_others_write_is_understood(tmp_path: Path) -> None:
    machine = Machine.parse("torus:4x4 cores=4 sockets=2")

    def read(text: str, where: Machine | Allocation = machine, **options: Any) -> tuple[list[int], list[int]]:
        path = tmp_path / "file"
        path.write_text(text)
        placement = launch.read(path, where, **options)
        return placement.node.tolist(), placement.core.tolist()

    assert read("# a comment\nrank 1=node1 slot=1:0-1\n\nrank 0=+n3 slot=2-3\n") == ([3, 1], [2, 2])
    assert read("node1 0-1\nnode0 3,2\n") == ([1, 0], [0, 3])
    assert read("node[2-3]*2\nnode0\n", format="slurm") == ([2, 2, 3, 3, 0], [0, 1, 0, 1, 0])
    assert read("# by CrayPat\n3-0,4\n5,6,7\n", machine.allocate(4, ranks_per_node=2)) == (
        [1, 1, 0, 0, 2, 2, 3, 3],
        [1, 0, 1, 0, 0, 1, 0, 1],
    )
    assert read("0 0 0\r\n3 2 1\r\n") == ([0, 11], [0, 1])
    erf = "app 0: ./a.out\ncpu_index_using: logical\noverlapping-rs: warn\n"
    erf += "rank: 0-1: { host: 1; cpu: {0-3},{4-7} ; gpu: {0} ; mem: * } : app 0\n"
    erf += "rank: 2: { hostname: node5; cpu: {12} }\n"
    assert read(erf, threads=4) == ([0, 0, 5], [0, 1, 3])
    assert read("(1,0) core=2\n( 0, 3 )\n") == ([1, 12], [0, 0])
    assert read("Rank, Host, Core\n1, node3, 2\n0, 7, 1\n") == ([7, 3], [1, 2])
    assert read("rank node\n1 3\n0 3\n") == ([3, 3], [0, 1])


WRONG = [
    ("rankfile", "rank 0=nid7 slot=0:0\n", "file:1: node 'nid7' of torus:4x4: names are node0 to node15"),
    ("rankfile", "rank 0=node1 slot=2:0\n", "slot=2:0: nodes of torus:4x4 have 2 sockets of 2 cores, counted from 0"),
    ("rankfile", "rank 0=node1 slot=9\n", "core 9: nodes of torus:4x4 have cores 0 to 3"),
    ("rankfile", "rank 0=node1 slot=a\n", "slot=a: must be SOCKET:CORE, or cores such as 10-12"),
    ("rankfile", "rank 0=node1\n", "expected 'rank NUMBER=HOST slot=SOCKET:CORE'"),
    ("rankfile", "rank 0=node1 slot=0\nrank 0=node1 slot=1\n", "file:2: rank 0: is already given in line 1"),
    ("rankfile", "rank 0=node1 slot=0\nrank 2=node1 slot=1\n", "rank 1: is missing: the file goes up to rank 2"),
    ("rankfile", "rank 0=+n99 slot=0\n", "node 99 of the job, counted from 0: torus:4x4 has 16 nodes"),
    ("rankfile", f"rank {10**15}=node1 slot=0\n", "rank: is '1000000000000000': must be a whole number from 0"),
    ("hostfile", "node1 x\n", "'x' after the host: must be a list of cores such as 0,1"),
    ("hostfile", "node1 0\nnode2\n", "1 of 2 hosts have cores: give cores for all hosts or for none"),
    ("slurm", "node[1-\n", "'[' is never closed by ']'"),
    ("slurm", "node1*999999999\n", "more than 16,777,216 tasks"),
    ("cray", "0,1,x\n", "'x': must be a rank or a range such as 0-15"),
    ("cray", "0-999999999\n", "0-999999999: more than any machine has ranks"),
    ("cray", "0-64\n", "65 ranks do not fit: torus:4x4 has 16 nodes of 4 places"),
    ("bluegene", "0 4 0\n", "file:1: no node at (0, 4): torus:4x4 is 4 x 4"),
    ("bluegene", "0 0 0 0\n", "4 numbers: must be 2 coordinates on torus:4x4 and t"),
    ("bluegene", "0 0 4\n", "t: is 4: must be 0 to 3"),
    ("jsrun", "cpu_index_using: physical\n", "cpu_index_using: is 'physical': must be logical"),
    ("jsrun", "rank: 0: { host: 0; cpu: {0} }\n", "host: is 0: must be 1 or more"),
    ("jsrun", "rank: 0: { host: 17; cpu: {0} }\n", "node 16 of the job, counted from 0: torus:4x4 has 16 nodes"),
    ("jsrun", "rank: 0-1: { host: 1; cpu: {0} }\n", "cpu: 1 sets for 2 ranks: give one for each"),
    ("jsrun", "2 : { host: 1; cpu: {0} }\n", "expected 'rank: NUMBER: { host: NUMBER; cpu: {NUMBERS} }'"),
    ("fugaku", "(0,0,0)\n", "3 coordinates: must be 2 for a job on torus:4x4"),
    ("fugaku", "(0;0)\n", "expected the 2 coordinates of a node in parentheses"),
    ("flux", "[[0,99,1,1]]\n", "block 0: goes up to node 98: nodes of the job are 0 to 15"),
    ("flux", "[[0,1,1]]\n", "must be four whole numbers: nodeid, nnodes, ppn and repeat"),
    ("flux", "[[0,1,1,0]]\n", "nodeid must be 0 or more, the others 1 or more"),
    ("flux", "[[0,1,1,true]]\n", "four whole numbers"),
    ("flux", "[[0,1\n", "not JSON"),
    ("flux", "[" * 100_000, "not JSON"),
    ("flux", '{"version": 2}\n', "version: is 2: must be 1"),
    ("flux", "[]\n", "the file has no ranks"),
    ("table", "# only this\n", "the file has no ranks"),
    ("table", "rank node cpu\n", "column 'cpu' in the header: must be rank, node or core, each once"),
    ("table", "rank core\n", "the header has no column node: expected at least rank and node"),
    ("table", "rank node\n0\n", "file:2: 1 columns, but the header has 2"),
    ("table", "rank node\n0 16\n", "node 16 of torus:4x4: nodes are 0 to 15"),
    (None, "%!PS\n", "begins like none of the formats, which are table, rankfile"),
    (None, "# only this\n", "the file has no ranks"),
    (None, "", "the file is empty"),
    (None, b"rank 0=\xff", "byte 0xff is not UTF-8"),
    ("table", "\x00", "a binary file of no known kind: expected a file of ranks"),
]


@pytest.mark.parametrize(("format", "text", "message"), WRONG)
def test_wrong_files_are_refused_in_one_sentence(
    format: str | None, text: str | bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ParseError) as error:
        launch.read(path, Machine.parse("torus:4x4 cores=4 sockets=2"), format)
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_files_for_another_job_are_refused(tmp_path: Path) -> None:
    machine = Machine.parse(MACHINES["torus"])
    path = written(Placement.of(machine, 96, "random"), "rankfile", tmp_path)
    with pytest.raises(ParseError, match="is not in the job, which has 4 nodes"):
        launch.read(path, machine.allocate(4))
    with pytest.raises(ParseError, match=r"node 'nid000\d\d' of edison"):
        launch.read(path, isthmus.load("edison"))
    path = written(Placement.of(machine, 96), "bluegene", tmp_path)
    with pytest.raises(ParseError, match="the job is 4 x 1 x 1"):
        launch.read(path, machine.allocate(4))


def test_wrong_requests_are_refused_in_one_sentence(tmp_path: Path) -> None:
    machine = Machine.parse(MACHINES["torus"])
    placement = Placement(machine, [0, 0, 1])
    with pytest.raises(InvalidInput, match="format 'pdf' of a placement: must be one of table, rankfile"):
        launch.text(placement, "pdf")
    with pytest.raises(InvalidInput, match="option threads of format flux: must be one of none"):
        launch.text(placement, "flux", threads=2)
    with pytest.raises(InvalidInput, match="threads = 0: must be 1 to 8"):
        launch.text(placement, "jsrun", threads=0)
    with pytest.raises(InvalidInput, match="node nid00001 is not in the job: it has 1 other node"):
        launch.text(placement, "flux", machine.allocate(1))
    with pytest.raises(InvalidInput, match="the job is on ring:4, the placement on torus:4x3x2"):
        launch.text(placement, "flux", Machine.parse("ring:4").allocate())
    with pytest.raises(InvalidInput, match="2 ranks on nid00001, 1 on the first node: a Cray rank order"):
        launch.text(Placement(machine, [0, 1, 1]), "cray")
    with pytest.raises(Unsupported, match="a Blue Gene mapfile for dragonfly"):
        launch.text(Placement(Machine.parse(MACHINES["dragonfly"]), [0]), "bluegene")
    with pytest.raises(InvalidInput, match="a file of ranks for 'torus'"):
        launch.read(written(placement, "table", tmp_path), "torus")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="the placement has no ranks"):
        launch.text(Placement(machine, []), "table")


def test_a_reordered_communicator_gets_the_placement() -> None:
    machine = Machine.parse(MACHINES["torus"])
    placement = Placement.of(machine, 96, "random", seed=5)
    order = slot_order(placement, machine.allocate())
    # Slot i of a job in blocks is core i % 4 of node i // 4: the rank that comes there is the placement's.
    assert np.array_equal(placement.node[order] * 4 + placement.core[order], np.arange(96))


def test_hardware_threads_of_blue_gene_share_cores(tmp_path: Path) -> None:
    machine = Machine.parse("torus:2x2 cores=2")
    node = np.repeat(np.arange(4), 4)
    placement = Placement(machine, node, place_in_node(node.astype(np.uint32)) % 2)
    read = launch.read(written(placement, "bluegene", tmp_path), machine)
    assert np.array_equal(read.node, node)
    assert np.bincount(read.node * 2 + read.core).tolist() == [2] * 8


@pytest.mark.parametrize("format", NAMES)
def test_ranks_that_share_cores_are_on_their_nodes(format: str, tmp_path: Path) -> None:
    machine = Machine.parse("ring:4 cores=2")
    node = np.array([3, 1, 1, 0, 2, 0, 2, 3, 3, 0, 1, 2])
    placement = Placement(machine, node)
    read = launch.read(written(placement, format, tmp_path), machine, format)
    assert np.array_equal(read.node, node)
    # Three ranks of a node on two cores, however they are shared out.
    assert (np.bincount(read.node * 2 + read.core, minlength=8) > 0).all()
    if format in CORES:
        assert read == placement


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_files_are_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    machine = Machine.parse("torus:3x2 cores=4 sockets=2")
    text = launch.text(Placement.of(machine, 24, "cyclic"), data.draw(st.sampled_from(NAMES)))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 4)))
        text = text[:start] + data.draw(st.text("0123456789-,:;*[]{}()=+# \n\trankslot", max_size=4)) + text[end:]
    path = tmp_path_factory.mktemp("launch") / "file"
    path.write_text(text)
    for format in (None, *NAMES):
        try:
            placement = launch.read(path, machine, format)
        except ParseError as error:
            said = str(error)
        else:
            said = str(placement.ranks)
        assert said
        assert "\n" not in said
