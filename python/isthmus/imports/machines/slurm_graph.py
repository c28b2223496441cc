"""Checks of Slurm switch and block records, and the graphs they become."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from isthmus.errors import InvalidInput, ParseError
from isthmus.hostlist import HostlistError, expand
from isthmus.imports.machines.fragment import Edge
from isthmus.imports.source import listed, shown

MAX_NAMES = 1_048_576
"""Largest number of names the lists of one file may stand for, so that a slip such as
``n[1-99999999]`` is reported at once. The largest machines of 2024 have about 160,000 nodes."""

_MAX_NAME = 64  # HOST_NAME_MAX of Linux, the limit that topology.conf(5) gives

Graph = tuple[list[str], list[str], list[Edge], list[str]]
"""Nodes, switches, edges and notes."""


@dataclass
class Switch:
    """One switch of a tree: a leaf with nodes, or an inner switch with child switches."""

    name: str
    line: int
    field: str  # how the file names this record, for messages
    nodes: list[str]
    children: list[str]


@dataclass
class Block:
    """One block of nodes with a fast network inside."""

    name: str
    line: int
    field: str
    nodes: list[str]


_Record = TypeVar("_Record", Switch, Block)


@dataclass(frozen=True)
class Words:
    """The spelling of keys in a file, for messages."""

    children: str
    nodes: str
    sizes: str


class Names:
    """Expands the nodelists of one file; their errors become errors of the file.

    Parameters
    ----------
    path : str
        Path of the file, for messages.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._left = MAX_NAMES

    def __call__(self, text: str, line: int, key: str) -> list[str]:
        """Expand the nodelist that `key` has in `line`."""
        try:
            found = expand(text, limit=self._left)
        except HostlistError as error:
            raise ParseError(self._path, line, key, f"{error} in {shown(text)}") from None
        if not found:
            message = "the list is empty; it must name at least one"
            raise ParseError(self._path, line, key, message)
        self._left -= len(found)
        return found


def check_name(name: str, path: str, line: int, label: str) -> None:
    """Refuse what cannot be the name of one switch or block."""
    if not name or any(char in '[],"' or char.isspace() for char in name):
        message = f"got {shown(name)}; expected one name without brackets, commas or blanks"
        raise ParseError(path, line, label, message)
    if len(name) > _MAX_NAME:
        message = f"the name has {len(name)} characters; must be at most {_MAX_NAME}"
        raise ParseError(path, line, label, message)


def size_of(text: str, path: str, line: int, key: str) -> int:
    """Read one of the BlockSizes."""
    digits = text.strip()
    if not re.fullmatch("[0-9]{1,9}", digits) or int(digits) < 1:
        raise ParseError(path, line, key, f"got {shown(text)}; a size must be a whole number from 1")
    return int(digits)


def make_switch(
    name: str,
    line: int,
    label: str,
    nodes: list[str],
    children: list[str],
    path: str,
    words: Words,
) -> Switch:
    """Make a switch of nodes or of child switches; one of neither is an empty leaf."""
    if nodes and children:
        message = f"both {words.nodes} and {words.children}; a switch has one or the other"
        raise ParseError(path, line, label, message)
    return Switch(name, line, label, nodes, children)


def tree(switches: list[Switch], path: str, words: Words, root: str | None) -> Graph:
    """Turn the switches of a tree into a graph.

    A node or switch of two parents is refused although Slurm accepts it: Slurm then keeps one of
    the parents, which is right for placing jobs but gives a graph that is not the network.

    Parameters
    ----------
    switches : list of Switch
        In the order of the file.
    path : str
        Path of the file, for messages.
    words : Words
        Spelling of the keys, for messages.
    root : str or None
        Take only the tree below this switch.
    """
    by_name = _unique(switches, path, "switch")
    parent: dict[str, Switch] = {}
    for switch in switches:
        for child in switch.children:
            _check_child(switch, child, by_name, parent, path, words)
            parent[child] = switch
    _unique_nodes(switches, path, set(by_name), "switch")
    kept = _below(switches, by_name, parent, path, root)
    nodes = [node for switch in kept for node in switch.nodes]
    if not nodes:
        raise ParseError(path, None, words.nodes, "no switch has a node; a network needs at least one")
    edges: list[Edge] = [[node, s.name, None, None, 1] for s in kept for node in s.nodes]
    edges += [[child, s.name, None, None, 1] for s in kept for child in s.children]
    notes = ["one cable per link: a Slurm topology file does not say how many cables run in parallel"]
    return nodes, [switch.name for switch in kept], edges, notes


def blocks(found: list[Block], sizes: list[int], path: str, line: int | None, words: Words) -> Graph:
    """Turn the blocks of topology/block into a graph.

    A block becomes one switch. BlockSizes = b0, b1, … says how Slurm aggregates: b1 / b0
    consecutive blocks (in the order of the file) form a block of the next level, and so on. Each
    aggregated block becomes a switch ``block<size>.<number>`` above its members, and everything
    joins under the switch ``blocks`` unless the last level already is a single switch. The
    switches above the blocks stand for distances that Slurm knows of, not for real devices.

    Parameters
    ----------
    found : list of Block
        In the order of the file.
    sizes : list of int
        BlockSizes in nodes, smallest first; empty if the file gives none.
    path : str
        Path of the file, for messages.
    line : int or None
        Line of BlockSizes.
    words : Words
        Spelling of the keys, for messages.
    """
    by_name = _unique(found, path, "block")
    _unique_nodes(found, path, set(by_name), "block")
    _check_sizes(found, sizes, path, line, words)
    taken = {node for block in found for node in block.nodes} | set(by_name)
    edges: list[Edge] = [[node, b.name, None, None, 1] for b in found for node in b.nodes]
    switches = [block.name for block in found]
    level = list(switches)
    for smaller, size in pairwise(sizes):
        if len(level) == 1:
            break
        members = size // smaller
        joined = []
        for number, start in enumerate(range(0, len(level), members)):
            name = _free_name(f"block{size}.{number}", taken)
            edges += [[child, name, None, None, 1] for child in level[start : start + members]]
            joined.append(name)
        switches += joined
        level = joined
    if len(level) > 1:
        name = _free_name("blocks", taken)
        edges += [[child, name, None, None, 1] for child in level]
        switches.append(name)
    notes = ["switches above the blocks stand for the levels of BlockSizes, not for real devices"]
    return [node for block in found for node in block.nodes], switches, edges, notes


def flat(nodes: list[str]) -> Graph:
    """Return the graph of a flat network: every node on one switch."""
    switch = _free_name("flat", set(nodes))
    notes = ["flat topology: Slurm knows no structure, so one switch stands for the network"]
    return nodes, [switch], [[node, switch, None, None, 1] for node in nodes], notes


def _unique(records: list[_Record], path: str, what: str) -> dict[str, _Record]:
    by_name: dict[str, _Record] = {}
    for record in records:
        first = by_name.setdefault(record.name, record)
        if first is not record:
            raise ParseError(
                path,
                record.line,
                record.field,
                f"the {what} is already defined in line {first.line}; names must be unique",
            )
    return by_name


def _unique_nodes(records: list[Switch] | list[Block], path: str, taken: set[str], what: str) -> None:
    owner: dict[str, Switch | Block] = {}
    for record in records:
        for node in record.nodes:
            if node in taken:
                raise ParseError(path, record.line, record.field, f"node {shown(node)} has the name of a {what}")
            first = owner.setdefault(node, record)
            if first is not record:
                raise ParseError(
                    path,
                    record.line,
                    record.field,
                    f"node {shown(node)} is already under {what} {shown(first.name)} "
                    f"(line {first.line}); a node must be under only one {what}",
                )
        if len(set(record.nodes)) < len(record.nodes):
            twice = Counter(record.nodes).most_common(1)[0][0]
            raise ParseError(path, record.line, record.field, f"node {shown(twice)} is listed twice")


def _check_child(
    switch: Switch,
    child: str,
    by_name: dict[str, Switch],
    parent: dict[str, Switch],
    path: str,
    words: Words,
) -> None:
    if child not in by_name:
        problem = f"no such child switch {shown(child)} ({words.children} must name switches defined in this file)"
    elif child == switch.name:
        problem = f"the switch is its own child in {words.children}"
    elif parent.get(child) is switch:
        problem = f"child switch {shown(child)} is listed twice"
    elif child in parent:
        first = parent[child]
        problem = (
            f"switch {shown(child)} is a child of {shown(first.name)} already "
            f"(line {first.line}); a switch of a tree has one parent"
        )
    else:
        return
    raise ParseError(path, switch.line, switch.field, problem)


def _below(
    switches: list[Switch],
    by_name: dict[str, Switch],
    parent: dict[str, Switch],
    path: str,
    root: str | None,
) -> list[Switch]:
    """Return the switches of the one tree there must be, or of the tree below `root`."""
    roots = [switch for switch in switches if switch.name not in parent]
    reached: set[str] = set()
    waiting = [switch.name for switch in roots]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += by_name[name].children
    lost = [switch for switch in switches if switch.name not in reached]
    if lost:
        # Every switch has at most one parent, so whatever no root reaches hangs on a cycle.
        cycle = [lost[0].name]
        while cycle.count(cycle[-1]) < 2:
            cycle.append(parent[cycle[-1]].name)
        cycle = cycle[cycle.index(cycle[-1]) :]
        raise ParseError(
            path,
            by_name[cycle[0]].line,
            by_name[cycle[0]].field,
            f"the switches form a cycle ({' under '.join(cycle)}); a tree has none",
        )
    if root is None:
        if len(roots) > 1:
            raise ParseError(
                path,
                None,
                None,
                f"{len(roots)} switches have no parent ({listed([s.name for s in roots])}), so "
                "their nodes are not connected; add a switch above them, or import one tree "
                "with root=",
            )
        return switches
    if root not in by_name:
        known = listed([switch.name for switch in roots])
        raise InvalidInput(f"root={root!r} is not a root of {path}; its roots are {known}")
    kept: set[str] = set()
    waiting = [root]
    while waiting:
        name = waiting.pop()
        kept.add(name)
        waiting += by_name[name].children
    return [switch for switch in switches if switch.name in kept]


def _check_sizes(found: list[Block], sizes: list[int], path: str, line: int | None, words: Words) -> None:
    """Apply the rules of topology.conf(5) for BlockSizes."""
    for smaller, size in pairwise(sizes):
        ratio, rest = divmod(size, smaller)
        if rest or ratio < 2 or ratio & (ratio - 1):
            raise ParseError(
                path,
                line,
                words.sizes,
                f"{size} after {smaller}; each size must be 2, 4, 8, … times the one before",
            )
    for block in found:
        if sizes and len(block.nodes) < sizes[0]:
            raise ParseError(
                path,
                block.line,
                block.field,
                f"the block has {len(block.nodes)} nodes; {words.sizes} asks for at least {sizes[0]} in every block",
            )


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
