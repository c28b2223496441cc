"""Networks given cable by cable."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from .. import units
from ..errors import InvalidInput, ParseError, Unsupported

if TYPE_CHECKING:
    from .._core import Topology

# Where an imported network does not say, the numbers of the core's default link class.
_DEFAULT = {"bandwidth": 1e9, "latency": 100e-9}
# Cables between the same two vertices; more would be a slip.
_MOST = 1_000_000


def build_graph(
    nodes: Sequence[str], switches: Sequence[str], edges: Sequence[Sequence[Any]], links: list[tuple[str, float, float]]
) -> Topology:
    """A topology from undirected cables ``[from, to, bandwidth, latency, count]``, the last three optional.

    None or ``"default"`` stands for an unknown bandwidth or latency.
    ``links`` are defaults of bandwidth (B/s) and latency (s) for cables that do not say; only the classes ``default``
    and ``link`` exist. Raises InvalidInput for a name that is unknown or given twice.
    """
    import numpy as np

    from .. import _core

    default = dict(_DEFAULT)
    for name, bandwidth, latency in links:
        if name not in ("default", "link"):
            raise InvalidInput(f"link class {name!r} of graph: must be default or link")
        if bandwidth >= 0:
            default["bandwidth"] = bandwidth
        if latency >= 0:
            default["latency"] = latency
    index: dict[str, int] = {}
    for name in (*nodes, *switches):
        if name in index:
            raise InvalidInput(f"vertex {name!r} is given twice: names of nodes and switches must differ")
        index[name] = len(index)
    classes: dict[tuple[float, float], int] = {}
    columns = np.zeros((4, len(edges)), dtype=np.uint32)
    for i, edge in enumerate(edges):
        if not 2 <= len(edge) <= 5:
            raise InvalidInput(f"cable {i + 1} has {len(edge)} entries: must be from, to, bandwidth, latency, count")
        a, b, bandwidth, latency, count = [*edge, None, None, None][:5]
        for name in (a, b):
            if not isinstance(name, str) or name not in index:
                raise InvalidInput(
                    f"cable {i + 1} ends at {units.shown(name)}, which is neither a node nor a switch: must name a "
                    "node or a switch"
                )
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= _MOST):
            raise InvalidInput(
                f"cable {i + 1} has count {units.shown(count)}: must be a whole number from 1 to {_MOST}"
            )
        try:
            key = (
                default["bandwidth"] if bandwidth in (None, "default") else units.parse(bandwidth, "B/s"),
                default["latency"] if latency in (None, "default") else units.parse(latency, "s"),
            )
        except InvalidInput as error:
            raise InvalidInput(f"cable {i + 1}: {error}") from None
        if key[0] <= 0 or key[1] < 0:
            raise InvalidInput(
                f"cable {i + 1} has bandwidth {key[0]:g} B/s and latency {key[1]:g} s: bandwidth must be "
                "above 0 and latency 0 or more"
            )
        columns[:, i] = (index[a], index[b], classes.setdefault(key, len(classes)), 1 if count is None else count)
    named = [(f"link{i}" if len(classes) > 1 else "link", *key) for key, i in classes.items()]
    if not classes:
        named = [("link", default["bandwidth"], default["latency"])]
    return _core.graph(list(nodes), list(switches), named, *columns)


def graph_of_arrays(*arrays: Any) -> Topology:
    """A topology from the arguments of the core's factory, as pickles hold them."""
    from .. import _core

    return _core.graph(*arrays)


def read_edges(path: str | os.PathLike[str]) -> dict[str, list[Any]]:
    """Read an edge list.

    Lines are ``from to [bandwidth [latency [count]]]``, fields separated by white space, ``#`` starts a comment. A line
    ``switch NAME ...`` or ``node NAME ...`` says what vertices are; all others are nodes, numbered as they appear.

    Returns
    -------
    dict
        ``nodes``, ``switches``, ``edges`` as :func:`build_graph` takes them.
    """
    nodes: dict[str, None] = {}
    switches: dict[str, None] = {}
    declared: dict[str, str] = {}
    edges: list[list[Any]] = []
    file = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as stream:
            lines = stream.readlines()
    except UnicodeDecodeError:
        raise ParseError(file, None, None, "not text: must be an edge list in UTF-8") from None
    for number, line in enumerate(lines, 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if fields[0] in ("switch", "node") and len(fields) >= 2:
            for name in fields[1:]:
                if declared.setdefault(name, fields[0]) != fields[0]:
                    raise ParseError(file, number, name, "is both a node and a switch: it must be one of them")
                (switches if fields[0] == "switch" else nodes)[name] = None
            continue
        if not 2 <= len(fields) <= 5:
            raise ParseError(file, number, None, f"{len(fields)} fields: must be from, to, bandwidth, latency, count")
        edge: list[Any] = fields[:2]
        for value, name, unit in zip(fields[2:4], ("bandwidth", "latency"), ("B/s", "s"), strict=False):
            try:
                edge.append(units.parse(value, unit, plain=True))
            except InvalidInput as error:
                raise ParseError(file, number, name, str(error)) from None
            if edge[-1] < 0 or (edge[-1] == 0 and name == "bandwidth"):
                allowed = "a positive bandwidth" if name == "bandwidth" else "a latency from 0"
                raise ParseError(file, number, name, f"{value!r}: must be {allowed}")
        if fields[0] == fields[1]:
            raise ParseError(file, number, fields[0], "a cable must connect two different vertices")
        if len(fields) == 5:
            if not re.fullmatch("[0-9]{1,7}", fields[4]) or not 0 < int(fields[4]) <= _MOST:
                raise ParseError(
                    file, number, "count", f"{units.shown(fields[4])}: must be a whole number from 1 to {_MOST}"
                )
            edge.append(int(fields[4]))
        for name in fields[:2]:
            if name not in switches:
                nodes[name] = None
        edges.append(edge)
    # A switch may be declared after the first cable that names it.
    for name in switches:
        nodes.pop(name, None)
    if not nodes:
        raise ParseError(file, None, None, "the file has no node: an edge list needs at least one cable")
    return {"nodes": list(nodes), "switches": list(switches), "edges": edges}


def format_edges(topology: Topology) -> str:
    """A topology as an edge list that :func:`read_edges` reads; raises Unsupported for one with one-way links.

    Cables of the same two vertices, bandwidth and latency are one line with their count.
    """
    import numpy as np

    ids = np.arange(topology.links, dtype=np.uint32)
    ends = topology.link_ends(ids).astype(np.int64)
    forward = ends[:, 0] < ends[:, 1]
    kind = topology.link_class(ids).astype(np.int64)
    bandwidth, latency = topology.bandwidth(ids), topology.latency(ids)
    key = np.column_stack([np.sort(ends, axis=1), np.round(bandwidth * 1e3), np.round(latency * 1e15)])
    there, count = np.unique(key[forward], axis=0, return_counts=True)
    back, count_back = np.unique(key[~forward], axis=0, return_counts=True)
    if not (np.array_equal(there, back) and np.array_equal(count, count_back)):
        raise Unsupported(
            f"{topology.kind} has links that differ by direction, which cables of an edge list cannot: write TOML"
        )
    _, first = np.unique(key[forward], axis=0, return_index=True)
    shown = np.flatnonzero(forward)[first]
    names = cast("list[str] | None", topology.names) or [
        f"n{v}" if v < topology.nodes else f"s{v - topology.nodes}" for v in range(topology.vertices)
    ]
    classes = [(units.text(b, "B/s"), units.text(t, "s")) for _, b, t in topology.link_classes]
    lines = [f"# {topology.spec}: {topology.nodes} nodes, {topology.switches} switches, {int(count.sum())} cables"]
    lines += [f"node {name}" for name in names[: topology.nodes]]
    lines += [f"switch {name}" for name in names[topology.nodes :]]
    for i, n in zip(shown, count, strict=True):
        b, t = (text.replace(" ", "") for text in classes[kind[i]])
        lines.append(f"{names[ends[i, 0]]} {names[ends[i, 1]]} {b} {t}" + (f" {n}" if n > 1 else ""))
    return "\n".join(lines) + "\n"
