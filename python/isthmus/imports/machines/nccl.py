"""NCCL topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): GPUs, NICs and NVLink of one node.

Source of the format: NCCL 2.27 and later, src/graph/xml.cc and src/graph/topo.cc. As in NCCL,
elements it does not know are skipped; here a note says so.

The file has neither sockets nor cores: the affinity masks of <cpu> hold hardware threads, and NUMA
domains without a GPU or NIC are missing. Take those from an hwloc file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from isthmus.errors import ParseError
from isthmus.imports.machines import fragment
from isthmus.imports.machines.xml_tree import Element, integer, parse
from isthmus.imports.source import listed, shown

NVLINK: tuple[tuple[int, float, float], ...] = (
    (107, 50e9, 31.2e9),
    (100, 50e9, 40.1e9),
    (90, 25e9, 20.6e9),
    (87, 25e9, 20.0e9),
    (86, 14.0625e9, 12.0e9),
    (80, 25e9, 20.0e9),
    (70, 25e9, 20.0e9),
    (60, 20e9, 18.0e9),
)
"""Rows of: smallest compute capability (sm), peak of one NVLink, what NCCL plans one NVLink with;
bytes/s per direction.

Sources: peaks recalled from the NVIDIA architecture white papers (Pascal P100, Volta V100, Ampere
A100 and GA102, Hopper H100, Blackwell) and, for Rubin (sm 107), from its announced 3.6 TB/s in both
directions over 36 links; the planning values from NCCL, src/graph/topo.h, SM60_NVLINK_BW to
RUBIN_NVLINK_BW."""

_CHILDREN = {
    "system": {"cpu"},
    "cpu": {"pci", "nic"},
    "pci": {"pci", "gpu", "nic", "pcilink"},
    "gpu": {"nvlink", "c2c"},
    "nic": {"net"},
}
# NCCL takes 10 Gbit/s for a NIC whose speed is unknown (0 or -1).
_UNKNOWN_SPEED = 10_000


def read(text: str, path: str) -> dict[str, Any]:
    """Read the topology that NCCL dumps or is given.

    Parameters
    ----------
    text : str
        Content of the file.
    path : str
        Its path, for messages.

    Returns
    -------
    dict
        Fragment ``{"format": 1, "notes": [...], "sources": {...}, "node": {...}}`` with gpus, nics
        and nic_bandwidth (bytes/s), and with ``"links": {"nvlink": {"bandwidth": …}}`` if the GPUs
        have NVLink: the peak of all links of one GPU together, bytes/s per direction.

    Raises
    ------
    ParseError
        Not an NCCL topology, or one of several hosts.
    """
    root = parse(text, path)
    if root.tag != "system":
        message = "the root of an NCCL topology is <system>"
        if root.tag == "graphs":
            message += "; <graphs> is the result of NCCL's search in one"
        raise ParseError(path, root.line, f"<{root.tag}>", message)
    if integer(root, "version", path) != 1:
        message = f"got {shown(root.attributes['version'])}; version 1 is read"
        raise ParseError(path, root.line, "<system version>", message)
    notes: list[str] = []
    elements = list(_known(root, notes))
    by_tag: dict[str, list[Element]] = {tag: [] for tag in ("cpu", "pci", "gpu", "net", "nic")}
    for one in elements:
        by_tag.setdefault(one.tag, []).append(one)
    if not by_tag["cpu"]:
        raise ParseError(path, root.line, "<system>", "no <cpu> element; a node has at least one")
    hosts = {cpu.attributes.get("host_hash", "") for cpu in by_tag["cpu"]}
    if len(hosts) > 1:
        message = f"the file joins {len(hosts)} hosts; a node table describes one"
        raise ParseError(path, by_tag["cpu"][0].line, "<cpu host_hash>", message)
    _check_unique(by_tag["cpu"], "numaid", path)
    _check_unique(by_tag["pci"], "busid", path)
    boards = [pci for pci in by_tag["pci"] if any(pci.each("gpu"))]
    table: dict[str, Any] = {"gpus": len(boards)}
    table.update(_nics(by_tag["net"], path, notes))
    domains = listed([cpu.attributes["numaid"] for cpu in by_tag["cpu"]])
    notes.append(f"GPUs and NICs hang on the NUMA domains {domains}; sockets and cores not in file")
    nvlink = _nvlink(boards, path, notes)
    links = {"links": {"nvlink": {"bandwidth": nvlink}}} if nvlink else {}
    result = fragment.node("NCCL topology", path, table, notes, **links)
    if nvlink:
        result["sources"]["nvidia"] = "NVIDIA architecture white papers, NVLink peak per link"
    return result


def _known(root: Element, notes: list[str]) -> Iterator[Element]:
    """Yield the elements in the places where NCCL reads them, in the order of the file."""
    skipped: dict[str, int] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        yield one
        allowed = _CHILDREN.get(one.tag, set())
        for child in one.children:
            if child.tag not in allowed:
                skipped.setdefault(f"<{child.tag}> in line {child.line}", child.line)
        waiting += [child for child in reversed(one.children) if child.tag in allowed]
    if skipped:
        notes.append(f"elements that NCCL does not read here are skipped: {listed(list(skipped))}")


def _check_unique(elements: list[Element], name: str, path: str) -> None:
    seen: dict[str, int] = {}
    for one in elements:
        value = one.attributes.get(name)
        if value is None:
            raise ParseError(path, one.line, f"<{one.tag}>", f"attribute {name} is missing")
        if value in seen:
            message = f"{shown(value)} stands in line {seen[value]} already"
            raise ParseError(path, one.line, f"<{one.tag} {name}>", message)
        seen[value] = one.line


def _nics(nets: list[Element], path: str, notes: list[str]) -> dict[str, Any]:
    """Count the network devices of the fastest kind; slower ones are management or storage."""
    seen: set[str] = set()
    speeds: list[int] = []
    for net in nets:
        # a device without PCI place is listed once for every <cpu>
        name = net.attributes.get("name")
        if name is None:
            raise ParseError(path, net.line, "<net>", "attribute name is missing")
        if name in seen:
            continue
        seen.add(name)
        text = net.attributes.get("speed", "0")
        if not re.fullmatch("-?[0-9]{1,9}", text):
            message = f"got {shown(text)}; expected a whole number of Mbit/s"
            raise ParseError(path, net.line, "<net speed>", message)
        speeds.append(int(text) if int(text) > 0 else _UNKNOWN_SPEED)
    if not speeds:
        return {"nics": 0}
    fastest = max(speeds)
    count = speeds.count(fastest)
    if count < len(speeds):
        notes.append(f"{len(speeds) - count} NICs below {fastest} Mbit/s are not counted")
    return {"nics": count, "nic_bandwidth": fastest * 1e6 / 8}


def _nvlink(boards: list[Element], path: str, notes: list[str]) -> dict[str, Any] | None:
    """Return the NVLink bandwidth of one GPU as a value with its source."""
    totals: Counter[tuple[int, int]] = Counter()
    switched = False
    for board in boards:
        gpu = next(board.each("gpu"))  # the ranks of a shared GPU all list the same links
        count = 0
        for link in gpu.each("nvlink"):
            count += integer(link, "count", path, most=1000)
            kind = link.attributes.get("tclass", "")
            if not re.fullmatch("0x[0-9a-fA-F]{1,6}", kind):
                message = f"got {shown(kind)}; expected a PCI class such as 0x068000"
                raise ParseError(path, link.line, "<nvlink tclass>", message)
            switched |= kind.startswith("0x0680")
        totals[count, integer(gpu, "sm", path, most=9999)] += 1
    linked = [pair for pair in totals if pair[0]]
    if not linked:
        return None
    if len(totals) > 1:
        kinds = ", ".join(f"{n} with {count} of sm {sm}" for (count, sm), n in totals.items())
        notes.append(f"GPUs differ in NVLinks ({kinds}); the smallest bandwidth stands for all")
    rated = [(count * _per_link(sm)[0], count, sm) for count, sm in linked]
    value, count, sm = min(rated)
    peak, planned = _per_link(sm)
    target = "to NVSwitches" if switched else "to other GPUs"
    note = f"{count} NVLinks {target} x {peak / 1e9:g} GB/s; NCCL plans with {planned / 1e9:g} GB/s a link"
    return {"value": value, "source": "nvidia", "status": "recalled", "note": note}


def _per_link(sm: int) -> tuple[float, float]:
    # before NVLink-capable chips were listed NCCL too falls back to the Ampere value
    for smallest, peak, planned in NVLINK:
        if sm >= smallest:
            return peak, planned
    return 25e9, 20e9
