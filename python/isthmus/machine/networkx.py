"""Conversion of interconnects from and to NetworkX graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..extras import optional

if TYPE_CHECKING:
    import networkx

    from .._core import Topology


def description_of(graph: networkx.Graph[Any], switch: str) -> dict[str, Any]:
    """Return the interconnect of a graph in the form of a machine's TOML file; see Machine.from_networkx."""
    names = {vertex: str(vertex) for vertex in graph}
    if len(set(names.values())) < len(names):
        raise InvalidInput("vertices of the graph have the same name as text: names must differ")
    is_switch = {vertex: bool(data.get(switch)) for vertex, data in graph.nodes(data=True)}
    cables = []
    for a, b, data in _cables(graph):
        numbers = [data.get(key, "default") for key in ("bandwidth", "latency")]
        cables.append([names[a], names[b], *numbers, data.get("count", 1)])
    return {
        "kind": "graph",
        "nodes": [name for vertex, name in names.items() if not is_switch[vertex]],
        "switches": [name for vertex, name in names.items() if is_switch[vertex]],
        "edges": cables,
    }


def _cables(graph: networkx.Graph[Any]) -> list[tuple[Any, Any, dict[str, Any]]]:
    """Every cable once; of a directed graph each link must have one back that is like it."""
    edges = list(graph.edges(data=True))
    if not graph.is_directed():
        return edges
    alone: dict[Any, int] = {}
    out = []
    for a, b, data in edges:
        what = tuple(data.get(key) for key in ("bandwidth", "latency", "count"))
        if alone.get((b, a, what), 0):
            alone[b, a, what] -= 1
        else:
            alone[a, b, what] = alone.get((a, b, what), 0) + 1
            out.append((a, b, data))
    for (a, b, _), left in alone.items():
        if left:
            raise InvalidInput(
                f"the link from {a} to {b} has no equal link back (bandwidth, latency and count): "
                "cables carry both directions alike"
            )
    return out


def graph_of(topology: Topology, names: Sequence[str]) -> networkx.MultiDiGraph[Any]:
    """Return an interconnect as a graph with these names of vertices; see Machine.to_networkx."""
    import numpy as np

    out: networkx.MultiDiGraph[Any] = optional("networkx", "graphs of NetworkX", "data").MultiDiGraph()
    out.add_nodes_from((name, {"switch": v >= topology.nodes, "vertex": v}) for v, name in enumerate(names))
    link = np.arange(topology.links, dtype=np.uint32)
    ends, classes = topology.link_ends(link).tolist(), topology.link_class(link).tolist()
    for key, ((a, b), kind) in enumerate(zip(ends, classes, strict=True)):
        name, bandwidth, latency = topology.link_classes[kind]
        out.add_edge(names[a], names[b], key, link=key, link_class=name, bandwidth=bandwidth, latency=latency)
    return out
