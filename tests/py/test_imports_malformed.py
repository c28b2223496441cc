"""Malformed files, one defect each: the error names file, line, field and what is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isthmus.errors import ParseError
from isthmus.imports.machines import formats

SLURM = [
    ("empty", "", None, "empty"),
    ("only comments", "# nothing\n", None, "no SwitchName= or BlockName="),
    ("binary", "SwitchName=a Nodes=n1\n\x00\x01\x02", 2, "U+0000"),
    (
        "unknown child",
        "SwitchName=a Nodes=n1\nSwitchName=b Switches=a,s9\n",
        2,
        "SwitchName=b: no such child switch 's9' (Switches= must name switches defined",
    ),
    (
        "duplicate switch",
        "SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n",
        3,
        "already defined in line 1",
    ),
    (
        "node of two leaves",
        "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[3-4]\n",
        2,
        "node 'n3' is already under switch 'a' (line 1)",
    ),
    ("node twice", "SwitchName=a Nodes=n[1-3],n2\n", 1, "node 'n2' is listed twice"),
    ("own child", "SwitchName=a Switches=a\n", 1, "its own child"),
    (
        "cycle",
        "SwitchName=r Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n",
        2,
        "cycle (a under b under a)",
    ),
    (
        "two parents",
        "SwitchName=l Nodes=n1\nSwitchName=a Switches=l\nSwitchName=b Switches=l\n",
        3,
        "'l' is a child of 'a' already (line 2)",
    ),
    ("child twice", "SwitchName=l Nodes=n1\nSwitchName=a Switches=l,l\n", 2, "listed twice"),
    (
        "several roots",
        "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n",
        None,
        "2 switches have no parent (a, b)",
    ),
    (
        "nodes and switches",
        "SwitchName=l Nodes=n1\nSwitchName=a Nodes=n2 Switches=l\n",
        2,
        "both Nodes= and Switches=",
    ),
    ("no nodes", "SwitchName=a\n", None, "no switch has a node"),
    ("unknown key", "SwitchName=a Nodes=n1 Speed=3\n", 1, "Speed: unknown key after SwitchName="),
    ("unknown record", "Name=a Nodes=n1\n", 1, "Name: unknown key"),
    ("record starts with nodes", "Nodes=n1 SwitchName=a\n", 1, "must start with SwitchName="),
    ("key twice", "SwitchName=a Nodes=n1 Nodes=n2\n", 1, "has this key twice"),
    (
        "broken hostlist",
        "SwitchName=a \\\n Nodes=n[1-3\n",
        1,
        "SwitchName=a: Nodes: column 2: '[' is never closed",
    ),
    ("huge hostlist", "SwitchName=a Nodes=n[1-999999999]\n", 1, "1,048,576 are allowed"),
    (
        "huge sum",
        "SwitchName=a Nodes=n[1-900000]\nSwitchName=b Nodes=m[1-900000]\n",
        2,
        "148,576 are allowed",
    ),
    ("empty nodes", 'SwitchName=a Nodes=""\n', 1, "the list is empty"),
    ("not key=value", "SwitchName=a Nodes=n1 fast\n", 1, "got 'fast'; expected Key=value"),
    ("open quote", 'SwitchName=a Nodes="n1\n', 1, "expected Key=value"),
    ("bracket in name", "SwitchName=s[0-2] Nodes=n1\n", 1, "one name without brackets"),
    ("long name", f"SwitchName={'a' * 65} Nodes=n1\n", 1, "at most 64"),
    ("link speed", "SwitchName=a Nodes=n1 LinkSpeed=fast\n", 1, "LinkSpeed is a whole number"),
    ("node named as switch", "SwitchName=a Nodes=a\n", 1, "has the name of a switch"),
    ("ring", "RingName=r Nodes=n[1-8]\n", 1, "topology/ring is not read"),
    ("include", "SwitchName=a Nodes=n1\nInclude more.conf\n", 2, "Key=value"),
    ("block without nodes", "BlockName=b\n", 1, "a block needs Nodes="),
    ("duplicate block", "BlockName=b Nodes=n1\nBlockName=b Nodes=n2\n", 2, "already defined in line 1"),
    ("blocks and switches", "SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", 2, "file of switches"),
    ("block sizes", "BlockName=b Nodes=n[1-9]\nBlockSizes=3,9\n", 2, "2, 4, 8"),
    ("block size zero", "BlockName=b Nodes=n1\nBlockSizes=0\n", 2, "a whole number from 1"),
    ("block too small", "BlockName=b Nodes=n[1-3]\nBlockSizes=4\n", 1, "at least 4"),
    ("two block sizes", "BlockSizes=1\nBlockSizes=2\n", 2, "given already in line 1"),
    ("block size key", "BlockSizes=1 Nodes=n1\n", 1, "nothing may follow"),
]

YAML = [
    ("empty", "  \n", None, "empty"),
    ("not yaml", "- topology: [a\n", 2, "not YAML"),
    ("a mapping", "topology: a\n", 1, "a list"),
    ("no kind", "- topology: a\n", 1, "exactly one of tree, block, flat"),
    ("two kinds", "- topology: a\n  flat: true\n  tree: {switches: []}\n", 1, "got tree and flat"),
    ("unknown key", "- topology: a\n  ring: true\n", 2, "ring: unknown key"),
    ("no name", "- flat: true\n", 1, "topology: is missing"),
    ("name twice", "- topology: a\n  flat: true\n- topology: a\n  flat: true\n", 3, "line 1"),
    ("key twice", "- topology: a\n  flat: true\n  flat: true\n", 3, "has this key twice"),
    ("flat without nodes", "- topology: a\n  flat: true\n", 1, "nodes="),
    ("flat false", "- topology: a\n  flat: false\n", 2, "expected true"),
    ("not a flag", "- topology: a\n  cluster_default: maybe\n  flat: true\n", 2, "'maybe'"),
    ("no default", "- topology: a\n  flat: true\n- topology: b\n  flat: true\n", None, "a, b"),
    (
        "hostlist",
        "- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: n[3-1]\n",
        5,
        "must ascend",
    ),
    (
        "unknown child",
        "- topology: a\n  tree:\n    switches:\n    - switch: s\n      children: t\n",
        4,
        "switch: s: no such child switch 't'",
    ),
    (
        "nodes as a list",
        "- topology: a\n  tree:\n    switches:\n    - switch: s\n      nodes: [a]\n",
        5,
        "expected a word",
    ),
    (
        "no block nodes",
        "- topology: a\n  block:\n    blocks:\n    - block: b\n",
        4,
        "nodes: is miss",
    ),
    (
        "block size",
        "- topology: a\n  block:\n    block_sizes: [x]\n    blocks:\n    - block: b\n      nodes: n1\n",
        3,
        "a whole number from 1",
    ),
    ("deep", "- " * 3000 + "a", None, "too deeply"),
]

SWITCH = 'Switch\t4 "S-01"\t# "a" enhanced port 0 lid 1 lmc 0\n'
HOST = 'Ca\t1 "H-0a"\t# "n1 mlx5_0"\n'
TO_HOST = '[1]\t"H-0a"[1](b)\t# "n1 mlx5_0" lid 2 4xHDR\n'
TO_SWITCH = '[1](b)\t"S-01"[1]\t# lid 2 lmc 0 "a" lid 1 4xHDR\n'
IBNET = [
    ("empty", "", None, "empty"),
    ("only comments", "# Topology file: generated on\n", None, "no Switch, Ca or Rt line"),
    ("garbage", SWITCH + TO_HOST + "hello\n", 3, "got 'hello'"),
    ("port before record", TO_HOST, 1, "before any Switch"),
    ("broken port line", SWITCH + '[1]\t"H-0a"\n', 2, "a port line is"),
    ("broken guid", SWITCH + '[1]\t"H-0g"[1]\t# "n1 mlx5_0" lid 2\n', 2, "a port line is"),
    ("wrong letter", SWITCH.replace("S-01", "H-01") + TO_HOST, 1, "starts with S-"),
    ("port too large", SWITCH + TO_HOST.replace("[1]\t", "[5]\t"), 2, "are 1 to 4"),
    ("port zero", SWITCH + TO_HOST.replace("[1]\t", "[0]\t"), 2, "are 1 to 4"),
    ("port twice", SWITCH + TO_HOST + TO_HOST, 3, "line 2 already"),
    ("speed", SWITCH + TO_HOST.replace("HDR", "ZDR"), 2, "4xZDR: speed ZDR is unknown"),
    ("width", SWITCH + TO_HOST.replace("4x", "5x"), 2, "width 5x is unknown"),
    (
        "conflicting speed",
        SWITCH + TO_HOST + HOST + TO_SWITCH.replace("HDR", "EDR"),
        2,
        "speed 4xHDR, but 4xEDR at the other end in line 4",
    ),
    ("one-sided", SWITCH + HOST + TO_SWITCH, 3, "missing in the record of S-01, line 1"),
    (
        "other port",
        SWITCH + TO_HOST + HOST + TO_SWITCH.replace("[1]\t#", "[2]\t#"),
        2,
        "line 4 says that port is connected to S-01[2]",
    ),
    ("end used twice", SWITCH + TO_HOST + TO_HOST.replace("[1]\t", "[2]\t"), 3, "another cable"),
    ("duplicate record", SWITCH + TO_HOST + HOST + TO_SWITCH + SWITCH, 5, "line 1 already"),
    ("attribute", "vendorid=0x2c9\n" + SWITCH + TO_HOST, 1, "vendorid: unknown attribute"),
    ("no host", SWITCH + '[1]\t"S-02"[1]\t# "b" lid 2 4xHDR\n', None, "no host"),
    (
        "two parts",
        SWITCH + TO_HOST + 'Switch 4 "S-02" # "b"\n[1] "H-0b"[1](c) # "n2 h" lid 3\n',
        None,
        "no path from 'n1' to 2 of 4",
    ),
    ("list output", 'Switch\t : 0x01 ports 36 devid 0xd2f0 vendid 0x2c9 "a"\n', 1, "without -l"),
    (
        "ports report",
        "SW     1  1 0x0001 4x HDR - CA 2 1 0x0a ( 'a' - 'n1 mlx5_0' )\n",
        1,
        "without -p",
    ),
    ("diff output", "< " + SWITCH, 1, "--diff"),
]

MACHINE = '<topology version="2.0">\n<object type="Machine" cpuset="0x3">\n{}</object></topology>'
CORE = '<object type="Core"><object type="PU" os_index="{}"/></object>\n'
BOMB = '<?xml version="1.0"?>\n<!DOCTYPE topology [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<topology>&b;</topology>'
HWLOC = [
    ("empty", "", None, "empty"),
    ("truncated", MACHINE.format("")[:60], 2, "not well-formed XML"),
    ("text", "<topology>a</b>", 1, "mismatched tag"),
    ("entity bomb", BOMB, 2, "DTD inside the file"),
    (
        "external entity",
        '<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology>&file;</topology>',
        2,
        "entities are not allowed",
    ),
    ("deep", "<topology>" + "<object>" * 500, 1, "deeper than 200"),
    ("other root", "<html/>", 1, "<html>: the root of an hwloc file"),
    ("difference", "<topologydiff/>", 1, "a difference between topologies"),
    ("version", '<topology version="9.0"/>', 1, "versions 1 to 3"),
    ("no object", "<topology/>", 1, "no <object>"),
    ("no machine", '<topology><object type="PU" os_index="0"/></topology>', 1, "0 Machine objects"),
    (
        "two machines",
        '<topology>\n<object type="Machine"/>\n<object type="Machine"/></topology>',
        3,
        "2 Machine objects",
    ),
    ("type", MACHINE.format('<object type="Kernel"/>'), 3, "got 'Kernel'"),
    ("no type", MACHINE.format("<object/>"), 3, "no type"),
    ("no pu", MACHINE.format(""), 2, "no PU object"),
    (
        "core without pu",
        MACHINE.format(CORE.format(0) + '<object type="Core"/>'),
        4,
        "the core has no",
    ),
    ("pu index", MACHINE.format(CORE.format("x")), 3, "got 'x'"),
    ("pu index missing", MACHINE.format('<object type="PU"/>'), 3, "os_index is missing"),
    ("pu twice", MACHINE.format(CORE.format(0) * 2), 4, "PU 0 stands in line 3"),
    ("pu huge", MACHINE.format(CORE.format(10**9)), 3, "from 0 to 65535"),
    (
        "uneven sockets",
        MACHINE.format(
            f'<object type="Package">{CORE.format(0)}{CORE.format(1)}</object>\n'
            f'<object type="Package">{CORE.format(2)}</object>'
        ),
        6,
        "Package: 1 cores, 2 in the first",
    ),
    (
        "core outside sockets",
        MACHINE.format(f'<object type="Package">{CORE.format(0)}</object>{CORE.format(1)}'),
        3,
        "1 of 2 cores",
    ),
    (
        "uneven domains",
        MACHINE.format(
            CORE.format(0) + CORE.format(1) + CORE.format(2) + '<object type="NUMANode" cpuset="0x3"/>'
            '<object type="NUMANode" cpuset="0x4"/>'
        ),
        2,
        "NUMANode: 1 cores, 2 in the first",
    ),
    (
        "cpuset",
        MACHINE.format(CORE.format(0) + '<object type="NUMANode" cpuset="0xzz"/>'),
        4,
        "32-bit words",
    ),
    (
        "memory",
        MACHINE.format(CORE.format(0) + '<object type="NUMANode" cpuset="0x1" local_memory="-1"/>'),
        4,
        "got '-1'",
    ),
]

NCCL_OK = '<system version="1"><cpu numaid="0">\n{}</cpu></system>'
GPU = '<pci busid="a"><gpu sm="90"><nvlink count="18" tclass="0x068000"/></gpu></pci>'
NCCL = [
    ("truncated", '<system version="1">\n<cpu', 2, "not well-formed"),
    ("graphs", '<graphs version="1"/>', 1, "<graphs> is the result"),
    ("no version", "<system/>", 1, "version is missing"),
    ("version", '<system version="2"/>', 1, "version 1 is read"),
    ("no cpu", '<system version="1"/>', 1, "no <cpu>"),
    ("no numaid", '<system version="1"><cpu/></system>', 1, "numaid is missing"),
    (
        "numaid twice",
        '<system version="1"><cpu numaid="0"/>\n<cpu numaid="0"/></system>',
        2,
        "line 1 already",
    ),
    (
        "two hosts",
        '<system version="1"><cpu numaid="0" host_hash="0x1"/><cpu numaid="1" host_hash="0x2"/></system>',
        1,
        "joins 2 hosts",
    ),
    ("busid twice", NCCL_OK.format('<pci busid="a"/>\n<pci busid="a"/>'), 3, "line 2 already"),
    ("count", NCCL_OK.format(GPU.replace("18", "many")), 2, "got 'many'"),
    ("tclass", NCCL_OK.format(GPU.replace("0x068000", "switch")), 2, "PCI class such as"),
    ("sm", NCCL_OK.format(GPU.replace(' sm="90"', "")), 2, "sm is missing"),
    ("speed", NCCL_OK.format('<nic><net name="a" speed="fast"/></nic>'), 2, "Mbit/s"),
    ("net name", NCCL_OK.format('<nic><net speed="1"/></nic>'), 2, "name is missing"),
]

CASES = [
    pytest.param(format, *case[1:], id=f"{format}: {case[0]}")
    for format, cases in (
        ("slurm", SLURM),
        ("slurm-yaml", YAML),
        ("ibnetdiscover", IBNET),
        ("hwloc", HWLOC),
        ("nccl", NCCL),
    )
    for case in cases
]


@pytest.mark.parametrize(("format", "text", "line", "words"), CASES)
def test_one_defect(format: str, text: str, line: int | None, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        formats.FORMATS[format][0](text, "some/file.txt")
    error = caught.value
    message = str(error)
    assert words in message
    assert error.line == line
    assert error.file == "some/file.txt"
    assert message.startswith("some/file.txt:" if line is None else f"some/file.txt:{line}: ")
    assert "\n" not in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", None, "the file is empty"),
        (b"hello\n", None, "not known: must be one of slurm, slurm-yaml"),
        (b"<html/>", None, "is not known"),
        (b"# ok\nSwitchName=a Nodes=\xfc\n", 2, "byte 0xfc is not UTF-8"),
        (bytes(range(256)), 2, "is not UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00\x00", None, "is not known"),
    ],
)
def test_unreadable_files(tmp_path: Path, data: bytes, line: int | None, words: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ParseError) as caught:
        formats.read(path)
    assert words in str(caught.value)
    assert caught.value.line == line
    assert caught.value.file == os.fspath(path)
