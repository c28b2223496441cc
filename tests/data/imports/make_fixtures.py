"""Write the fixtures of this directory: ``python make_fixtures.py [directory]``.

Everything is made up from the documentation of the formats and is the same at every run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path


def slurm_tree() -> str:
    """Three levels: 32 leaves of 36 nodes, 4 pods of 8 leaves, one core; 1,152 nodes."""
    lines = ["# Three-level fat tree, 1,152 nodes", "#"]
    for leaf in range(32):
        first = 36 * leaf + 1
        lines.append(f"SwitchName=leaf{leaf:02d} Nodes=cn[{first:04d}-{first + 35:04d}]")
    lines.append("")
    for pod in range(4):
        lines.append(f"switchname=pod{pod} \\")
        lines.append(f"    SWITCHES=leaf[{8 * pod:02d}-{8 * pod + 7:02d}] LinkSpeed=200  # pod {pod}")
    lines.append('SwitchName=core Switches="pod[0-3]"')
    return "\n".join(lines) + "\n"


def slurm_block() -> str:
    """Eight blocks of 18 nodes with a planning size of 16, aggregated by 2 and by 4."""
    lines = ["# NVLink domains as blocks"]
    for block in range(8):
        first = 18 * block + 1
        lines.append(f"BlockName=nvl{block} Nodes=gpu[{first:03d}-{first + 17:03d}]")
    lines.append("BlockSizes=16,32,64")
    return "\n".join(lines) + "\n"


def slurm_yaml() -> str:
    return """\
# Three views of one cluster
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: spine
        children: leaf[0-2]
      - switch: leaf0
        nodes: node[01-08]
      - switch: leaf1
        nodes: node[09-16]
      - switch: leaf2
        nodes: node[17-24],login[1-2]
- topology: racks
  cluster_default: false
  block:
    block_sizes:
      - 6
      - 12
    blocks:
      - block: rack1
        nodes: node[01-06]
      - block: rack2
        nodes: node[07-12]
      - block: rack3
        nodes: node[13-18]
      - block: rack4
        nodes: node[19-24]
- topology: plain
  flat: true
"""


def infiniband() -> str:
    """Two levels of 36-port HDR switches: 18 leaves with 18 hosts each below 9 spines.

    324 hosts; the last leaf pair belongs to a second rail of the 18 hosts of leaf 0.
    """
    leaves, spines, down = 18, 9, 18
    devices: dict[str, tuple[str, int, str]] = {}
    cables: dict[str, dict[int, tuple[str, int]]] = {}
    port_guid: dict[str, str] = {}

    def device(letter: str, guid: int, kind: str, ports: int, text: str) -> str:
        key = f"{letter}-{guid:016x}"
        devices[key] = (kind, ports, text)
        cables[key] = {}
        port_guid[key] = f"{guid + (letter == 'H') * 0x10:x}"
        return key

    def cable(a: str, port_a: int, b: str, port_b: int) -> None:
        cables[a][port_a] = (b, port_b)
        cables[b][port_b] = (a, port_a)

    spine_keys = [
        device("S", 0x0C42A103007A0000 + 64 * i, "Switch", 36, f"MF0;spine{i:02d}:MQM8700/U1") for i in range(spines)
    ]
    leaf_keys = [
        device("S", 0x0C42A103008B0000 + 64 * i, "Switch", 36, "Quantum Mellanox Technologies") for i in range(leaves)
    ]
    rail = device("S", 0x0C42A103008C0000, "Switch", 36, "rail2")
    for leaf, key in enumerate(leaf_keys):
        for spine, above in enumerate(spine_keys):
            for k in range(2):
                cable(key, 19 + 2 * spine + k, above, 1 + 2 * leaf + k)
        for i in range(down):
            host = leaf * down + i
            guid = 0x043F720300D10000 + 256 * host
            adapter = device("H", guid, "Ca", 1, f"node{host + 1:03d} mlx5_0")
            cable(key, 1 + i, adapter, 1)
            if leaf == 0:
                second = device("H", guid + 64, "Ca", 1, f"node{host + 1:03d} mlx5_1")
                cable(rail, 1 + i, second, 1)
    sharp = device("H", 0x0C42A103008B0008, "Ca", 1, "Mellanox Technologies Aggregation Node")
    cable(leaf_keys[0], 36 if 36 not in cables[leaf_keys[0]] else 37, sharp, 1)
    devices[leaf_keys[0]] = ("Switch", 41, devices[leaf_keys[0]][2])
    return "".join(_discovered(devices, cables, port_guid, "4xHDR"))


def _discovered(
    devices: dict[str, tuple[str, int, str]],
    cables: dict[str, dict[int, tuple[str, int]]],
    port_guid: dict[str, str],
    speed: str,
) -> Iterator[str]:
    lid = {key: number for number, key in enumerate(devices, 1)}
    yield "#\n# Topology file: generated on Mon Mar  4 09:12:44 2024\n#\n"
    yield "# Initiated from node 043f720300d10000 port 043f720300d10010\n"
    for key, (kind, ports, text) in devices.items():
        guid = key[2:].lstrip("0")
        yield f"\nvendid=0x2c9\ndevid=0x{'d2f0' if kind == 'Switch' else '101b'}\n"
        yield f"sysimgguid=0x{guid}\n"
        if kind == "Switch":
            yield f"switchguid=0x{guid}({guid})\n"
            yield f'Switch\t{ports} "{key}"\t\t# "{text}" enhanced port 0 lid {lid[key]} lmc 0\n'
        else:
            yield f"caguid=0x{guid}\n"
            yield f'Ca\t{ports} "{key}"\t\t# "{text}"\n'
        for port, (peer, peer_port) in sorted(cables[key].items()):
            label, far = devices[peer][2], f'"{peer}"[{peer_port}]'
            if kind == "Switch":
                guid_part = f"({port_guid[peer]}) " if peer[0] == "H" else ""
                yield f'[{port}]\t{far}{guid_part}\t\t# "{label}" lid {lid[peer]} {speed}\n'
            else:
                yield (
                    f'[{port}]({port_guid[key]}) \t{far}\t\t# lid {lid[key]} lmc 0 "{label}" lid {lid[peer]} {speed}\n'
                )


def infiniband_old() -> str:
    """A small grouped listing with progress lines, a router, no speeds and an absent record."""
    return """\
DR path slid 0; dlid 0; 0,1 -> new remote switch {0008f104003f0001} portnum 1 lid 1-1"switch"
#
# Topology file: generated on Tue Sep 12 10:00:00 2006
#
# Max of 2 hops discovered
# Initiated from node 0002c90200001000 port 0002c90200001001

Chassis 1 (guid 0x8f104003f0000)

# Spine Nodes
vendid=0x8f1
devid=0x5a06
sysimgguid=0x8f104003f0000\t\t# Chassis 1
switchguid=0x8f104003f0001(8f104003f0001)\t# ISR9024 Spine 1 Chip 1
Switch\t24 "S-0008f104003f0001"\t\t# "ISR9024 Voltaire" base port 0 lid 1 lmc 0
[1][ext 12]\t"H-0002c90200001000"[1](2c90200001001) \t\t# "alpha HCA-1" lid 2
[2][ext 11]\t"H-0002c90200002000"[2](2c90200002002) \t\t# "MT23108 InfiniHost" lid 3 4xSDR
[3]\t"R-0002c90200003000"[1](2c90200003001) \t\t# "gate" lid 4 1xDDR
[4]\t"S-0008f104003f0002"[24]\t\t# "far switch" lid 5 12xQDR s=4 w=8 v=4

Non-Chassis Nodes

vendid=0x2c9
devid=0x5a44
Caguid=0x2c90200001000
Ca\t2 "H-0002c90200001000"\t\t# "alpha HCA-1"
[1](2c90200001001) \t"S-0008f104003f0001"[1][ext 12]\t\t# lid 2 lmc 0 "ISR9024 Voltaire" lid 1

vendid=0x2c9
devid=0x5a44
caguid=0x2c90200002000
Ca\t2 "H-0002c90200002000"\t\t# "MT23108 InfiniHost Mellanox Technologies"
[2](2c90200002002) \t"S-0008f104003f0001"[2]\t\t# lid 3 lmc 0 "ISR9024 Voltaire" lid 1 4xSDR

vendid=0x2c9
devid=0x5a44
rtguid=0x2c90200003000
Rt\t1 "R-0002c90200003000"\t\t# "gate"
[1](2c90200003001) \t"S-0008f104003f0001"[3]\t\t# lid 4 lmc 0 "ISR9024 Voltaire" lid 1 1xDDR
"""


def _set(first: int, count: int, total: int = 64) -> str:
    mask = ((1 << count) - 1) << first
    return _words(mask, total)


def _words(mask: int, total: int = 64) -> str:
    words = [mask >> 32 * i & 0xFFFFFFFF for i in reversed(range((total + 31) // 32))]
    return ",".join(f"0x{word:08x}" for word in words)


def hwloc_v2() -> str:
    """Two sockets of two NUMA domains of 8 cores with 2 threads, 4 GPUs, 2 HCAs, 1 Ethernet."""
    out = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">']
    out.append('<topology version="2.0">')
    full = f'cpuset="{_words((1 << 64) - 1)}" complete_cpuset="{_words((1 << 64) - 1)}"'
    out.append(f'  <object type="Machine" os_index="0" {full} nodeset="0x0000000f" gp_index="1">')
    out.append('    <info name="Architecture" value="x86_64"/>')
    out.append('    <info name="hwlocVersion" value="2.9.0"/>')
    index = iter(range(2, 10_000))

    def threads(first: int, count: int) -> str:
        mask = ((1 << count) - 1) << first
        return f'cpuset="{_words(mask | mask << 32)}"'

    for socket in range(2):
        out.append(
            f'    <object type="Package" os_index="{socket}" {threads(16 * socket, 16)} gp_index="{next(index)}">'
        )
        out.append('      <info name="CPUModel" value="Model 6338 CPU @ 2.00GHz"/>')
        for half in range(2):
            domain = 2 * socket + half
            cpuset = threads(8 * domain, 8)
            out.append(f'      <object type="Group" {cpuset} gp_index="{next(index)}" kind="1001">')
            out.append(
                f'        <object type="NUMANode" os_index="{domain}" {cpuset} '
                f'nodeset="0x{1 << domain:08x}" gp_index="{next(index)}" '
                'local_memory="137438953472"><page_type size="4096" count="33554432"/></object>'
            )
            for core in range(8 * domain, 8 * domain + 8):
                cpuset = threads(core, 1)
                out.append(
                    f'        <object type="L2Cache" {cpuset} gp_index="{next(index)}" '
                    'cache_size="1310720" depth="2" cache_linesize="64" cache_type="0">'
                )
                out.append(f'          <object type="Core" os_index="{core}" {cpuset} gp_index="{next(index)}">')
                for pu in (core, core + 32):
                    out.append(
                        f'            <object type="PU" os_index="{pu}" '
                        f'cpuset="{_words(1 << pu)}" gp_index="{next(index)}"/>'
                    )
                out += ["          </object>", "        </object>"]
            out += _devices_v2(domain, index)
            out.append("      </object>")
        out.append("    </object>")
    out += ["  </object>", '  <support name="discovery.pu"/>', "</topology>"]
    return "\n".join(out) + "\n"


def _devices_v2(domain: int, index: Iterator[int]) -> list[str]:
    bus = 0x10 + 0x20 * domain
    devices = [
        (
            f"{bus + 2:02x}",
            "0302 [10de:20b0] [10de:134f] a1",
            "31.507692",
            [("cuda", domain, 5, ""), ("nvml", domain, 1, "")],
        )
    ]
    if domain % 2 == 0:
        state = '<info name="Port1State" value="4"/>'
        devices.append(
            (
                f"{bus + 3:02x}",
                "0207 [15b3:101b] [15b3:0007] 00",
                "31.507692",
                [("ib", domain // 2, 2, ""), ("mlx5_", domain // 2, 3, state)],
            )
        )
    if domain == 1:
        devices.append((f"{bus + 4:02x}", "0200 [8086:1521] [8086:0001] 01", "2.000000", [("eno", 1, 2, "")]))
        devices.append((f"{bus + 5:02x}", "0300 [102b:0538] [1028:0001] 04", "0.000000", [("card", 0, 1, "")]))
    out = [
        f'        <object type="Bridge" gp_index="{next(index)}" bridge_type="0-1" depth="0" '
        f'bridge_pci="0000:[{bus:02x}-{bus + 15:02x}]">'
    ]
    for place, kind, speed, handles in devices:
        out.append(
            f'          <object type="PCIDev" gp_index="{next(index)}" '
            f'pci_busid="0000:{place}:00.0" pci_type="{kind}" pci_link_speed="{speed}">'
        )
        for name, number, code, info in handles:
            out.append(
                f'            <object type="OSDev" gp_index="{next(index)}" '
                f'name="{name}{number}" osdev_type="{code}">{info}</object>'
            )
        out.append("          </object>")
    return [*out, "        </object>"]


def hwloc_v1() -> str:
    """Version 1: NUMA nodes contain the sockets, cores are numbered round robin."""
    out = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc.dtd">']
    out.append("<topology>")
    out.append(
        '  <object type="Machine" os_index="0" cpuset="0x000000ff" '
        'online_cpuset="0x000000ff" allowed_cpuset="0x000000ff">'
    )
    for socket in range(2):
        mask = 0x55 << socket
        out.append(f'    <object type="NUMANode" os_index="{socket}" cpuset="0x{mask:08x}" local_memory="25769803776">')
        out.append('      <page_type size="4096" count="6291456"/>')
        out.append(f'      <object type="Socket" os_index="{socket}" cpuset="0x{mask:08x}">')
        out.append('        <info name="CPUModel" value="CPU X5550 @ 2.67GHz"/>')
        for core in range(4):
            pu = 2 * core + socket
            out.append(f'        <object type="Core" os_index="{core}" cpuset="0x{1 << pu:08x}">')
            out.append(f'          <object type="PU" os_index="{pu}" cpuset="0x{1 << pu:08x}"/>')
            out.append("        </object>")
        out.append("      </object>")
        if socket == 0:
            out.append(
                '      <object type="Bridge" os_index="0" bridge_type="0-1" depth="0" bridge_pci="0000:[00-0f]">'
            )
            out.append(
                '        <object type="PCIDev" os_index="20480" pci_busid="0000:05:00.0" '
                'pci_type="0c06 [15b3:673c] [15b3:0048] b0" pci_link_speed="0.000000">'
            )
            out.append('          <object type="OSDev" name="ib0" osdev_type="2"/>')
            out.append('          <object type="OSDev" name="mlx4_0" osdev_type="3"/>')
            out += ["        </object>", "      </object>"]
        out.append("    </object>")
    return "\n".join([*out, "  </object>", "</topology>"]) + "\n"


def nccl() -> str:
    """Eight GPUs of sm 90, each with 18 NVLinks to 4 switches and a 400 Gbit/s NIC beside it."""
    out = ['<system version="1">']
    for numa in range(2):
        mask = "00000000,00ffffff,ffffffff" if numa == 0 else "ffffffff,ff000000,00000000"
        out.append(
            f'  <cpu host_hash="0x5f2c8a9e1d3b4c60" numaid="{numa}" affinity="{mask}" '
            'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
        )
        for i in range(4):
            gpu = 4 * numa + i
            bus = 0x15 + 0x18 * gpu
            card = 'subsystem_vendor="0x10de" subsystem_device="0x16c1"'
            link = 'link_speed="32.0 GT/s PCIe" link_width="16"'
            out.append(f'    <pci busid="0000:{bus:02x}:00.0" class="0x060400" vendor="0x1000" device="0xc030" {link}>')
            out.append(
                f'      <pci busid="0000:{bus + 2:02x}:00.0" class="0x030200" '
                f'vendor="0x10de" device="0x2330" {card} {link}>'
            )
            out.append(f'        <gpu dev="{gpu}" sm="90" rank="{gpu}" gdr="1">')
            for switch, count in enumerate((4, 5, 5, 4)):
                out.append(f'          <nvlink target="0000:0{5 + switch}:00.0" count="{count}" tclass="0x068000"/>')
            out += ["        </gpu>", "      </pci>"]
            out.append(
                f'      <pci busid="0000:{bus + 3:02x}:00.0" class="0x020700" vendor="0x15b3" device="0x1021" {link}>'
            )
            out.append("        <nic>")
            out.append(
                f'          <net name="mlx5_{gpu}" dev="{gpu}" latency="0.000000" '
                f'speed="400000" port="1" guid="0x{0x5E7CA70003E1A258 + gpu:x}" '
                'maxconn="131072" gdr="1"/>'
            )
            out += ["        </nic>", "      </pci>", "    </pci>"]
        out.append("  </cpu>")
    return "\n".join([*out, "</system>"]) + "\n"


FIXTURES = {
    "tree/topology.conf": slurm_tree,
    "block/topology.conf": slurm_block,
    "topology.yaml": slurm_yaml,
    "hdr-fat-tree.ibnet": infiniband,
    "old-chassis.ibnet": infiniband_old,
    "dual-socket-v2.xml": hwloc_v2,
    "nehalem-v1.xml": hwloc_v1,
    "dgx-h100.nccl.xml": nccl,
}

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, make in FIXTURES.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(make(), encoding="utf-8")
