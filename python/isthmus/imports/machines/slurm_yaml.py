"""Slurm topology.yaml: several named topologies of kind tree, block or flat.

Source of the format: topology.yaml(5) of Slurm 25.05. The document is walked by its schema on the
composed nodes, so that every message has its line and aliases cannot multiply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from isthmus.errors import InvalidInput, ParseError
from isthmus.imports.machines import fragment
from isthmus.imports.machines.slurm_graph import (
    Block,
    Names,
    Switch,
    Words,
    blocks,
    check_name,
    flat,
    make_switch,
    size_of,
    tree,
)
from isthmus.imports.source import check_text, listed, shown

_WORDS = Words(children="children:", nodes="nodes:", sizes="block_sizes:")
_KINDS = ("tree", "block", "flat")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


@dataclass
class _Topology:
    name: str
    line: int
    default: bool
    kind: str
    switches: list[Switch] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def nodes(self) -> list[str]:
        records: list[Switch] | list[Block] = self.switches or self.blocks
        return [node for record in records for node in record.nodes]


def read(
    text: str,
    path: str,
    *,
    topology: str | None = None,
    root: str | None = None,
    nodes: str | None = None,
) -> dict[str, Any]:
    """Read one topology of a topology.yaml.

    Parameters
    ----------
    text : str
        Content of the file.
    path : str
        Its path, for the machine name and for messages.
    topology : str, optional
        Name of the topology to take; without it the first with ``cluster_default: true``, or the
        only one.
    root : str, optional
        Root of the tree to take from a tree topology with several trees.
    nodes : str, optional
        Nodelist for a flat topology, which names no nodes itself; without it the nodes that the
        other topologies of the file name.

    Returns
    -------
    dict
        Machine of kind ``graph``; bandwidth and latency are None in every edge.

    Raises
    ------
    ParseError
        The file is malformed; also in a topology that is not chosen.
    InvalidInput
        `topology` or `root` is not in the file, or `nodes` is a broken nodelist.
    """
    names = Names(path)
    known = [_topology(entry, path, names) for entry in _items(_compose(text, path), path, "the file")]
    if not known:
        raise ParseError(path, None, None, "the file holds no topology")
    first: dict[str, int] = {}
    for one in known:
        if first.setdefault(one.name, one.line) != one.line:
            message = f"defined already in line {first[one.name]}; names must be unique"
            raise ParseError(path, one.line, f"topology: {one.name}", message)
    chosen = _choose(known, topology, path)
    if chosen.kind == "tree":
        graph = tree(chosen.switches, path, _WORDS, root)
    elif chosen.kind == "block":
        graph = blocks(chosen.blocks, chosen.sizes, path, chosen.line, _WORDS)
    else:
        graph = flat(_flat_nodes(known, chosen, nodes, path))
    kind = f"Slurm topology/{chosen.kind} (topology.yaml, {chosen.name})"
    return fragment.network(kind, path, f"Slurm {chosen.kind} topology {chosen.name}", *graph)


def _compose(text: str, path: str) -> Any:
    # imported late: most users of the importers never read YAML
    import yaml

    check_text(text, path)
    try:
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise ParseError(path, line, None, f"not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        message = " ".join(str(error).split())
        raise ParseError(path, None, None, f"not YAML: {message}") from None
    except RecursionError:
        raise ParseError(path, None, None, "nested too deeply for a topology.yaml") from None
    if document is None:
        raise ParseError(path, None, None, "the file holds no topology")
    return document


def _topology(entry: Any, path: str, names: Names) -> _Topology:
    table = _table(entry, path, "a topology", ("topology", "cluster_default", *_KINDS))
    line = _line(entry)
    name = _scalar(_needed(table, "topology", entry, path, "a topology"), path, "topology")
    label = f"topology: {name}"
    default = "cluster_default" in table and _flag(table["cluster_default"], path, label)
    kinds = [kind for kind in _KINDS if kind in table]
    if len(kinds) != 1:
        got = f"got {' and '.join(kinds)}" if kinds else "got none of them"
        raise ParseError(path, line, label, f"{got}; expected exactly one of tree, block, flat")
    made = _Topology(name, line, default, kinds[0])
    body = table[made.kind]
    if made.kind == "flat":
        if not _flag(body, path, f"{label}: flat"):
            raise ParseError(path, _line(body), f"{label}: flat", "got false; expected true")
    elif made.kind == "tree":
        part = _table(body, path, f"{label}: tree", ("switches",))
        for item in _items(_needed(part, "switches", body, path, label), path, f"{label}: tree"):
            made.switches.append(_switch(item, path, names))
    else:
        part = _table(body, path, f"{label}: block", ("block_sizes", "blocks"))
        for item in _items(_needed(part, "blocks", body, path, label), path, f"{label}: blocks"):
            made.blocks.append(_block(item, path, names))
        if "block_sizes" in part:
            for item in _items(part["block_sizes"], path, "block_sizes"):
                size = _scalar(item, path, "block_sizes")
                made.sizes.append(size_of(size, path, _line(item), "block_sizes"))
    return made


def _switch(item: Any, path: str, names: Names) -> Switch:
    table = _table(item, path, "a switch", ("switch", "children", "nodes"))
    name = _scalar(_needed(table, "switch", item, path, "a switch"), path, "switch")
    label = f"switch: {name}"
    check_name(name, path, _line(item), label)
    nodes, children = (
        _list(table, "nodes", path, label, names),
        _list(table, "children", path, label, names),
    )
    return make_switch(name, _line(item), label, nodes, children, path, _WORDS)


def _block(item: Any, path: str, names: Names) -> Block:
    table = _table(item, path, "a block", ("block", "nodes"))
    name = _scalar(_needed(table, "block", item, path, "a block"), path, "block")
    label = f"block: {name}"
    check_name(name, path, _line(item), label)
    _needed(table, "nodes", item, path, label)
    return Block(name, _line(item), label, _list(table, "nodes", path, label, names))


def _choose(known: list[_Topology], wanted: str | None, path: str) -> _Topology:
    for one in known:
        if one.name == wanted or (wanted is None and one.default):
            return one
    available = listed([one.name for one in known])
    if wanted is not None:
        raise InvalidInput(f"topology={wanted!r} is not in {path}; it has {available}")
    if len(known) == 1:
        return known[0]
    message = f"no topology has it; choose one with topology=: {available}"
    raise ParseError(path, None, "cluster_default", message)


def _flat_nodes(known: list[_Topology], chosen: _Topology, given: str | None, path: str) -> list[str]:
    if given is not None:
        from isthmus.hostlist import expand

        found = list(dict.fromkeys(expand(given)))
    else:
        found = list(dict.fromkeys(node for one in known for node in one.nodes()))
    if not found:
        message = "a flat topology names no nodes; give them with nodes="
        raise ParseError(path, chosen.line, f"topology: {chosen.name}", message)
    return found


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _items(node: Any, path: str, what: str) -> Iterator[Any]:
    if node.id != "sequence":
        raise ParseError(path, _line(node), what, f"got a {node.id}; expected a list (- …)")
    return iter(node.value)


def _table(node: Any, path: str, what: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if node.id != "mapping":
        raise ParseError(path, _line(node), what, f"got a {node.id}; expected key: value")
    table: dict[str, Any] = {}
    for key_node, value in node.value:
        key = _scalar(key_node, path, what)
        if key not in allowed:
            message = f"unknown key in {what}; {', '.join(allowed)} are read"
            raise ParseError(path, _line(key_node), key, message)
        if key in table:
            raise ParseError(path, _line(key_node), key, f"{what} has this key twice")
        table[key] = value
    return table


def _needed(table: dict[str, Any], key: str, node: Any, path: str, what: str) -> Any:
    if key not in table:
        raise ParseError(path, _line(node), what, f"the key {key}: is missing")
    return table[key]


def _scalar(node: Any, path: str, what: str) -> str:
    if node.id != "scalar":
        raise ParseError(path, _line(node), what, f"got a {node.id}; expected a word")
    return str(node.value)


def _flag(node: Any, path: str, what: str) -> bool:
    value = _scalar(node, path, what)
    if value.lower() not in (*_TRUE, *_FALSE):
        raise ParseError(path, _line(node), what, f"got {shown(value)}; expected true or false")
    return value.lower() in _TRUE


def _list(table: dict[str, Any], key: str, path: str, label: str, names: Names) -> list[str]:
    if key not in table:
        return []
    field_name = f"{label}: {key}"
    return names(_scalar(table[key], path, field_name), _line(table[key]), field_name)
