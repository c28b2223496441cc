"""The graph of an InfiniBand subnet from the records of its devices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from isthmus.errors import ParseError
from isthmus.imports.machines import fragment
from isthmus.imports.source import listed, shown

# Descriptions an adapter has before its host names it, and names that many hosts share.
_UNNAMED = re.compile(r"(MT\d+|localhost(\..*)?|\(none\)|node)$", re.IGNORECASE)
# Description of a managed switch: MF0;<name>:<model>/U<unit>.
_MANAGED = re.compile(r"MF0;([^:;]+):[^:;]*$")


@dataclass
class Port:
    """One end of a cable."""

    line: int
    peer: str
    peer_port: int
    bandwidth: float | None  # bytes/s, one direction
    speed: str


@dataclass
class Record:
    """One switch, channel adapter or router."""

    key: str  # such as S-0002c902400c1234
    line: int
    ports_limit: int
    description: str
    ports: dict[int, Port] = field(default_factory=dict)


Cable = tuple[str, str, "float | None"]
"""Two device keys and the bandwidth of the cable between them."""


def build(records: dict[str, Record], peers: dict[str, str], path: str) -> dict[str, Any]:
    """Join records into a machine.

    Parameters
    ----------
    records : dict
        Devices with a record, by key, in the order of the file.
    peers : dict
        Description of every device that a port line names.
    path : str
        Path of the file, for the machine name and for messages.
    """
    keys = list(records) + [
        port.peer for record in records.values() for port in record.ports.values() if port.peer not in records
    ]
    described = {key: records[key].description if key in records else peers.get(key, "") for key in keys}
    notes: list[str] = []
    inside = {key for key, text in described.items() if key[0] == "H" and "Aggregation Node" in text}
    if inside:
        notes.append(f"aggregation nodes inside switches, left out: {len(inside)}")
    names = _names({key: text for key, text in described.items() if key not in inside})
    nodes = list(dict.fromkeys(name for key, name in names.items() if key[0] == "H"))
    switches = [name for key, name in names.items() if key[0] != "H"]
    if not nodes:
        raise ParseError(path, None, None, "the file has no host (Ca record); a network needs at least one")
    counts: Counter[Cable] = Counter()
    nics: Counter[str] = Counter()
    loops = unknown = 0
    for left, right, rate in _cables(records, path):
        if left in inside or right in inside:
            continue
        for key in (left, right):
            if key[0] == "H":
                nics[names[key]] += 1
        if names[left] == names[right]:
            loops += 1
            continue
        unknown += rate is None
        ends = (names[left], names[right])
        if (ends[1], ends[0], rate) in counts:
            ends = (ends[1], ends[0])
        counts[(*ends, rate)] += 1
    edges: list[fragment.Edge] = [[a, b, rate, None, n] for (a, b, rate), n in counts.items()]
    _check_connected(nodes, switches, edges, path)
    if routers := sum(key[0] == "R" for key in names):
        notes.append(f"routers, kept as switches: {routers}")
    if loops:
        notes.append(f"cables from a device to itself, left out: {loops}")
    if unknown:
        notes.append(f"cables of unknown speed, without a bandwidth: {unknown}")
    table = _node_table(nodes, nics, counts, notes)
    title = f"InfiniBand subnet of {len(nodes)} nodes and {len(switches)} switches"
    machine = fragment.network("ibnetdiscover", path, title, nodes, switches, edges, notes)
    machine["node"] = table
    return machine


def _cables(records: dict[str, Record], path: str) -> Iterator[Cable]:
    """Yield every cable once, after comparing what its two ends say of it."""
    done: set[tuple[str, int]] = set()
    for key, record in records.items():
        for number, port in record.ports.items():
            if (key, number) in done:
                continue
            far = (port.peer, port.peer_port)
            if far in done or far == (key, number):
                message = f"{port.peer}[{port.peer_port}] is the end of another cable already"
                raise ParseError(path, port.line, f"{key}[{number}]", message)
            rate = port.bandwidth
            if port.peer in records:
                twin = _twin(records[port.peer], key, number, port, path)
                rate = twin.bandwidth if rate is None else rate
            done.add(far)
            yield key, port.peer, rate


def _twin(peer: Record, key: str, number: int, port: Port, path: str) -> Port:
    """Return the same cable in the record of its other end."""
    here = f"{key}[{number}]"
    there = f"{port.peer}[{port.peer_port}]"
    twin = peer.ports.get(port.peer_port)
    if twin is None:
        message = f"the cable to {there} is missing in the record of {port.peer}, line {peer.line}"
        raise ParseError(path, port.line, here, message)
    if (twin.peer, twin.peer_port) != (key, number):
        message = (
            f"the cable goes to {there}, but line {twin.line} says that port is connected to "
            f"{twin.peer}[{twin.peer_port}]"
        )
        raise ParseError(path, port.line, here, message)
    if None not in (port.bandwidth, twin.bandwidth) and port.speed != twin.speed:
        message = f"speed {port.speed}, but {twin.speed} at the other end in line {twin.line}"
        raise ParseError(path, port.line, here, message)
    return twin


def _names(described: dict[str, str]) -> dict[str, str]:
    """Choose a name for every device.

    A host is the first word of the description of its adapter ("node01 mlx5_0"), a switch its
    description, or of a managed switch the name in it. What names nobody, or several switches,
    gives way to the GUID.
    """
    names: dict[str, str] = {}
    for key, text in described.items():
        if key[0] == "H":
            first = text.split(" ", 1)[0]
            names[key] = key if not first or _UNNAMED.match(first) else first
    hosts = set(names.values())
    labels: dict[str, str] = {}
    for key, text in described.items():
        if key[0] != "H":
            managed = _MANAGED.match(text)
            labels[key] = managed[1] if managed else text
    uses = Counter(labels.values())
    for key, label in labels.items():
        clear = label and uses[label] == 1 and label not in hosts and label not in described
        names[key] = label if clear else key
    return {key: names[key] for key in described}


def _check_connected(nodes: list[str], switches: list[str], edges: list[fragment.Edge], path: str) -> None:
    neighbours: dict[str, list[str]] = {name: [] for name in (*nodes, *switches)}
    for a, b, *_ in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    reached = {nodes[0]}
    waiting = [nodes[0]]
    while waiting:
        for name in neighbours[waiting.pop()]:
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    lost = [name for name in neighbours if name not in reached]
    if lost:
        message = (
            f"no path from {shown(nodes[0])} to {len(lost)} of {len(neighbours)} devices "
            f"({listed(lost, 4)}); a subnet is connected"
        )
        raise ParseError(path, None, None, message)


def _node_table(nodes: list[str], nics: Counter[str], counts: Counter[Cable], notes: list[str]) -> dict[str, Any]:
    """Return NICs per node and their bandwidth; what differs between nodes goes to a note."""
    per_node = Counter(nics[name] for name in nodes)
    most = max(per_node)
    table: dict[str, Any] = {"nics": most}
    if len(per_node) > 1:
        split = ", ".join(f"{n} nodes with {k}" for k, n in sorted(per_node.items()))
        notes.append(f"nics is the largest number of cabled ports of a node; there are {split}")
    hosts = set(nodes)
    rates = {rate for (a, b, rate) in counts if a in hosts or b in hosts}
    if len(rates) == 1 and None not in rates:
        table["nic_bandwidth"] = rates.pop()
    else:
        notes.append("nic_bandwidth is not set: the NICs differ or their speed is unknown")
    return table
