"""Slurm topology.conf: topology/tree and topology/block.

Source of the format: topology.conf(5) of Slurm 25.05. LinkSpeed is checked and dropped, because
its units are arbitrary. Include lines and topology/ring are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from isthmus.errors import ParseError
from isthmus.imports.machines import fragment
from isthmus.imports.machines.slurm_graph import (
    Block,
    Names,
    Switch,
    Words,
    blocks,
    check_name,
    make_switch,
    size_of,
    tree,
)
from isthmus.imports.source import checked_lines, shown

_WORDS = Words(children="Switches=", nodes="Nodes=", sizes="BlockSizes=")
_PAIR = re.compile(r'\s*([A-Za-z_][\w.]*)\s*=\s*(?:"([^"]*)"|([^\s"]+))(?=\s|$)')
_KEYS = {
    "switchname": ("switches", "nodes", "linkspeed"),
    "blockname": ("nodes",),
    "blocksizes": (),
}
_SPELLING = {
    "switchname": "SwitchName",
    "switches": "Switches",
    "nodes": "Nodes",
    "linkspeed": "LinkSpeed",
    "blockname": "BlockName",
    "blocksizes": "BlockSizes",
}


def read(text: str, path: str, *, root: str | None = None) -> dict[str, Any]:
    """Read a topology.conf of topology/tree or topology/block.

    Parameters
    ----------
    text : str
        Content of the file.
    path : str
        Its path, for the machine name and for messages.
    root : str, optional
        Root of the tree to take from a file with several trees.

    Returns
    -------
    dict
        Machine of kind ``graph``. Slurm states neither bandwidths nor latencies: both are None
        in every edge.

    Raises
    ------
    ParseError
        The file is malformed, or its switches do not form one tree.
    InvalidInput
        `root` is not a switch of the file.
    """
    switches: list[Switch] = []
    found: list[Block] = []
    sizes: list[int] = []
    sizes_line: int | None = None
    names = Names(path)
    for line, pairs in _records(checked_lines(text, path), path):
        kind, value = next(iter(pairs.items()))
        if kind == "blocksizes":
            if sizes_line is not None:
                message = f"given already in line {sizes_line}; give one list only"
                raise ParseError(path, line, "BlockSizes", message)
            sizes_line = line
            sizes = [size_of(size, path, line, "BlockSizes") for size in value.split(",")]
            continue
        label = f"{_SPELLING[kind]}={value}"
        check_name(value, path, line, label)
        lists = {
            key: names(text, line, f"{label}: {_SPELLING[key]}")
            for key, text in pairs.items()
            if key in ("nodes", "switches")
        }
        if kind == "blockname":
            if "nodes" not in lists:
                raise ParseError(path, line, label, "a block needs Nodes=")
            found.append(Block(value, line, label, lists["nodes"]))
        else:
            _check_speed(pairs.get("linkspeed", "1"), path, line, label)
            children, nodes = lists.get("switches", []), lists.get("nodes", [])
            switches.append(make_switch(value, line, label, nodes, children, path, _WORDS))
    if switches and (found or sizes_line is not None):
        line_of_block = found[0].line if found else sizes_line
        message = "blocks in a file of switches; a file describes one or the other"
        raise ParseError(path, line_of_block, None, message)
    if found:
        graph = blocks(found, sizes, path, sizes_line, _WORDS)
        return fragment.network("Slurm topology/block", path, "Slurm block topology", *graph)
    if switches:
        graph = tree(switches, path, _WORDS, root)
        return fragment.network("Slurm topology/tree", path, "Slurm tree topology", *graph)
    raise ParseError(path, None, None, "the file has no SwitchName= or BlockName= line")


def _records(lines: list[str], path: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and lower-case keys of every record; the first key names its kind."""
    for number, line in _logical_lines(lines):
        pairs: dict[str, str] = {}
        position = 0
        while line[position:].strip():
            match = _PAIR.match(line, position)
            if not match:
                got = shown(line[position:].strip())
                raise ParseError(path, number, None, f"got {got}; expected Key=value")
            key = match[1].lower()
            if not pairs:
                _check_kind(key, match[1], path, number)
            elif key not in _KEYS[next(iter(pairs))]:
                allowed = [_SPELLING[k] for k in _KEYS[next(iter(pairs))]]
                expected = " and ".join(allowed) if allowed else "nothing"
                kind = _SPELLING[next(iter(pairs))]
                message = f"unknown key after {kind}=; {expected} may follow"
                raise ParseError(path, number, match[1], message)
            if key in pairs:
                raise ParseError(path, number, match[1], "the record has this key twice")
            pairs[key] = match[2] if match[2] is not None else match[3]
            position = match.end()
        if pairs:
            yield number, pairs


def _logical_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Drop comments and join lines that end in a backslash; the number is of the first one."""
    joined = ""
    first = 0
    for number, line in enumerate(lines, 1):
        content = line.split("#", 1)[0].rstrip()
        if not joined:
            first = number
        if content.endswith("\\"):
            joined += content[:-1] + " "
            continue
        yield first, joined + content
        joined = ""
    if joined:
        yield first, joined


def _check_kind(key: str, spelled: str, path: str, line: int) -> None:
    if key in _KEYS:
        return
    if key == "ringname":
        message = "topology/ring is not read; SwitchName, BlockName and BlockSizes are"
    elif key == "include":
        message = "Include is not followed; paste the included file in its place"
    elif key in _SPELLING:
        message = "the record must start with SwitchName= or BlockName="
    else:
        message = "unknown key; a record starts with SwitchName=, BlockName= or BlockSizes="
    raise ParseError(path, line, spelled, message)


def _check_speed(speed: str, path: str, line: int, label: str) -> None:
    if not (speed.isascii() and speed.isdigit()):
        message = f"got {shown(speed)}; LinkSpeed is a whole number"
        raise ParseError(path, line, f"{label}: LinkSpeed", message)
