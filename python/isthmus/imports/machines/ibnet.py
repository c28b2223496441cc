"""Output of ibnetdiscover: every switch, channel adapter and cable of an InfiniBand subnet.

Source of the format: ibnetdiscover(8), section "Topology file format", of infiniband-diags
(rdma-core). Read are the plain output and the variants of ``-f`` (full) and ``-g`` (grouping).

Decisions
---------
- Every cable stands twice, once in the record of either end. Both lines must agree. A cable whose
  other end has no record of its own is accepted (an extract, or a discovery stopped by a hop
  limit); a cable that the record of the other end does not list is refused.
- Channel adapters (Ca) of one host name are one node with several NICs.
- Aggregation nodes (SHARP, inside switches) are not hosts and are left out with a note.
- Routers (Rt) are kept as switches: messages pass through them.
"""

from __future__ import annotations

import re
from typing import Any

from isthmus.errors import ParseError
from isthmus.imports.machines.ibnet_graph import Port, Record, build
from isthmus.imports.source import checked_lines, shown

SIGNALLING = {
    "SDR": (2.5, 8 / 10),
    "DDR": (5.0, 8 / 10),
    "QDR": (10.0, 8 / 10),
    "FDR10": (10.3125, 64 / 66),
    "FDR": (14.0625, 64 / 66),
    "EDR": (25.78125, 64 / 66),
    "HDR": (53.125, 514 / 544 * 256 / 257),
    "NDR": (106.25, 514 / 544 * 256 / 257),
    "XDR": (212.5, 514 / 544 * 256 / 257),
}
"""Signalling rate of one lane in Gbit/s and the share of it that is data.

Source: InfiniBand Architecture Specification, volume 2 (physical layer), recalled; FDR10 is a
Mellanox extension. 8b/10b up to QDR and 64b/66b up to EDR; from HDR on, PAM4 lanes carry 256b/257b
blocks behind RS(544,514) error correction, which leaves 50, 100 and 200 Gbit/s of data a lane, the
same as the 64b/66b of their nominal rates."""

_WIDTHS = ("1", "2", "4", "8", "12")

_ATTRIBUTE = re.compile(r"([A-Za-z]+)=(?:0x)?[0-9a-fA-F]+(?:\([0-9a-fA-F]+\))?\s*(?:#.*)?$")
_ATTRIBUTES = ("vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid")
_HEADER = re.compile(r'(Switch|Ca|Rt)\s+(\d{1,4})\s+"([SHR]-[0-9a-fA-F]{1,16})"\s*(?:#\s*(.*))?$')
_PORT = re.compile(
    r"\[(\d{1,4})\](?:\[ext \d+\])?\s*(?:\([0-9a-fA-F]+\))?\s*"
    r'"([SHR]-[0-9a-fA-F]{1,16})"\s*\[(\d{1,4})\](?:\[ext \d+\])?\s*(?:\([0-9a-fA-F]+\))?\s*'
    r"(?:#\s*(.*))?$"
)
# The last quoted text: a description may hold quotes itself.
_DESCRIPTION = re.compile(r'[^"]*"(.*)"(.*)$')
_SPEED = re.compile(r"(?:^|\s)(\d+x|\?\?)([A-Za-z0-9?]*)(?=\s|$)")
# Progress (-s), grouping (-g) and the warnings that 2>&1 mixes in.
_IGNORED = re.compile(r"#|DR path|Chassis \d|Non-Chassis Nodes|Hostname:|ibwarn:|\s*$")
_LETTER = {"Switch": "S", "Ca": "H", "Rt": "R"}


def read(text: str, path: str) -> dict[str, Any]:
    """Read the output of ibnetdiscover.

    Parameters
    ----------
    text : str
        Content of the file.
    path : str
        Its path, for the machine name and for messages.

    Returns
    -------
    dict
        Machine of kind ``graph``. Edges hold the data bandwidth of one cable in bytes/s per
        direction (None if the file has no speed) and the number of such cables; a pair with
        cables of several speeds has one edge for each speed.

    Raises
    ------
    ParseError
        A line that is not of the format, two ends of a cable that disagree, or a fabric that
        falls apart.
    """
    records: dict[str, Record] = {}
    peers: dict[str, str] = {}
    current: Record | None = None
    for number, line in enumerate(checked_lines(text, path), 1):
        if line.startswith("["):
            if current is None:
                raise ParseError(path, number, None, "a port line before any Switch, Ca or Rt line")
            _add_port(current, line, number, path, peers)
        elif _IGNORED.match(line):
            continue
        elif "=" in line and (match := _ATTRIBUTE.match(line)):
            if match[1].lower() not in _ATTRIBUTES:
                message = f"unknown attribute; {', '.join(_ATTRIBUTES)} are known"
                raise ParseError(path, number, match[1], message)
        else:
            _close(current, records, path)
            current = _header(line, number, path)
    _close(current, records, path)
    if not records:
        raise ParseError(path, None, None, "the file has no Switch, Ca or Rt line")
    return build(records, peers, path)


def bandwidth(token: str) -> float | None:
    """Return the data bandwidth of a link such as ``4xHDR`` in bytes/s per direction.

    Unknown width or speed, which ibnetdiscover prints as ``??`` and ``???``, gives None.

    Raises
    ------
    ValueError
        The token names no known width or speed.
    """
    match = re.fullmatch(r"(?:(\d+)x|\?\?)([A-Z0-9]+|\?\?\?)", token)
    if not match:
        raise ValueError(f"{token!r} is not of the form 4xHDR")
    width, speed = match[1], match[2]
    if width is not None and width not in _WIDTHS:
        raise ValueError(f"width {width}x is unknown; widths are {', '.join(_WIDTHS)}")
    if speed != "???" and speed not in SIGNALLING:
        raise ValueError(f"speed {speed} is unknown; speeds are {', '.join(SIGNALLING)}")
    if width is None or speed == "???":
        return None
    rate, data = SIGNALLING[speed]
    # rounded to whole bytes/s: the factors are exact ratios, their product in floats is not
    return float(round(int(width) * rate * data * 1e9 / 8))


def _header(line: str, number: int, path: str) -> Record:
    match = _HEADER.match(line)
    if not match:
        raise ParseError(path, number, None, _what_else(line))
    kind, ports, key, comment = match.groups()
    if not key.startswith(_LETTER[kind]):
        message = f"got {shown(key)}; the GUID of a {kind} starts with {_LETTER[kind]}-"
        raise ParseError(path, number, kind, message)
    found = _DESCRIPTION.match(comment or "")
    description = found[1].strip() if found else ""
    return Record(key[0] + key[1:].lower(), number, int(ports), description)


def _what_else(line: str) -> str:
    """Say what a line that is no header might be."""
    if line.startswith(("< ", "> ")):
        return "output of ibnetdiscover --diff is not a topology; run it without --diff"
    if re.match(r"(Switch|Ca|Router)\s*:", line):
        return "a list of nodes (ibnetdiscover -l) has no cables; run it without -l, -H, -S, -R"
    if re.match(r"(SW|CA|RT)\s+\d+\s+\d+\s+0x", line):
        return "a ports report (ibnetdiscover -p) is not read; run it without -p"
    return f"got {shown(line)}; a Switch, Ca, Rt, port ([1] …) or attribute line is expected"


def _add_port(record: Record, line: str, number: int, path: str, peers: dict[str, str]) -> None:
    match = _PORT.match(line)
    if not match:
        message = f'got {shown(line)}; a port line is [port] "S-guid"[port] # "description" …'
        raise ParseError(path, number, record.key, message)
    port, peer_port, comment = int(match[1]), int(match[3]), match[4] or ""
    peer = match[2][0] + match[2][1:].lower()
    if not 1 <= port <= record.ports_limit:
        message = f"the ports of {record.key} are 1 to {record.ports_limit}"
        raise ParseError(path, number, f"[{port}]", message)
    if port in record.ports:
        message = f"the port stands in line {record.ports[port].line} already"
        raise ParseError(path, number, f"[{port}]", message)
    described = _DESCRIPTION.match(comment)
    rest = described[2] if described else comment
    if described:
        peers.setdefault(peer, described[1].strip())
    speed = _SPEED.search(rest)
    token = speed[1] + speed[2] if speed else ""
    try:
        rate = bandwidth(token) if token else None
    except ValueError as error:
        raise ParseError(path, number, token, str(error)) from None
    record.ports[port] = Port(number, peer, peer_port, rate, token)


def _close(record: Record | None, records: dict[str, Record], path: str) -> None:
    """File a complete record. ``-g`` prints the switches of a chassis twice; equal is fine."""
    if record is None:
        return
    first = records.setdefault(record.key, record)
    if first is record:
        return
    same = {p: (a.peer, a.peer_port, a.speed) for p, a in first.ports.items()} == {
        p: (a.peer, a.peer_port, a.speed) for p, a in record.ports.items()
    }
    if not same:
        message = f"a record with other cables stands in line {first.line} already"
        raise ParseError(path, record.line, record.key, message)
