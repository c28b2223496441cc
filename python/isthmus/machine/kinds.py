"""The kinds of interconnects: their parameters, and how the core builds each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .._core import Topology

Links = list[tuple[str, float, float]]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kind: ``type`` is int, extents (a list of int), wrap, word, letters, names, cables or file."""

    name: str
    type: str
    doc: str
    default: Any = None
    choices: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        return self.default is None


@dataclass(frozen=True)
class Kind:
    """A kind of interconnect; the first parameter may be given without its name in a specification."""

    name: str
    doc: str
    example: str
    parameters: tuple[Parameter, ...]
    build: Callable[[dict[str, Any], Links], Topology]

    def parameter(self, name: str) -> Parameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        allowed = ", ".join(p.name for p in self.parameters)
        raise InvalidInput(f"unknown parameter {name!r} of {self.name}: must be one of {allowed}")


def _core() -> Any:
    from .. import _core as core

    return core


_P = Parameter("p", "int", "nodes per router; 0: the router is inside the node", 0)
_ARRANGEMENT = Parameter(
    "arrangement", "word", "how ports of a group are assigned to groups", "absolute", ("absolute", "relative")
)
_LINKS = Parameter("links", "int", "global links between two groups; 0: as many as the ports allow", 0)
_DIMS = Parameter("dims", "extents", "extents, x first; the suffixes m and t make a dimension mesh or torus")
_WRAP = Parameter("wrap", "wrap", "per dimension: does it wrap around?", ())
_NAMES = Parameter("names", "letters", "one letter per dimension", "")


_TIES = Parameter(
    "ties",
    "word",
    "where both ways round are equally long: both directions alike, or always the positive one",
    "balanced",
    ("balanced", "positive"),
)


def _grid(kind: str) -> Callable[[dict[str, Any], Links], Topology]:
    def build(v: dict[str, Any], links: Links) -> Topology:
        if kind in ("linear", "ring") and len(v["dims"]) > 1:
            other = "torus" if kind == "ring" else "mesh"
            raise InvalidInput(f"{kind}: {len(v['dims'])} dimensions: must be one; write {other} for more")
        return _core().grid(kind, v["dims"], [bool(w) for w in v["wrap"]], v["names"], v["p"], v["ties"], links)  # type: ignore[no-any-return]

    return build


def _tree(kind: str, shape: Callable[[dict[str, Any]], tuple[list[int], list[int], list[int]]]) -> Any:
    def build(v: dict[str, Any], links: Links) -> Topology:
        m, w, parallel = shape(v)
        return _core().fat_tree(kind, spec_of(KINDS[kind], v), m, w, parallel, links)  # type: ignore[no-any-return]

    return build


def _k_ary(v: dict[str, Any]) -> tuple[list[int], list[int], list[int]]:
    # Before the lists are built: n may be four billion.
    if not 1 <= v["n"] <= 12:
        raise InvalidInput(f"fattree: {v['n']} levels; must be 1 to 12")
    return [v["k"]] * v["n"], [1] + [v["k"]] * (v["n"] - 1), []


def _shift(kind: str) -> Callable[[dict[str, Any], Links], Topology]:
    return lambda v, links: _core().shift(kind, v["d"], v["k"], v["p"], links)


def _graph(v: dict[str, Any], links: Links) -> Topology:
    from .graph import build_graph, read_edges

    if not v["file"] and not v["nodes"]:
        raise InvalidInput(
            "graph: no cables: expected an edge list (file), or nodes and edges, as in graph:cables.edges"
        )
    cables = read_edges(v["file"]) if v["file"] else v
    return build_graph(cables["nodes"], cables["switches"], cables["edges"], links)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("linear", "linear array", "linear:16", (_DIMS, _WRAP, _NAMES, _P, _TIES), _grid("linear")),
        Kind("ring", "ring", "ring:16", (_DIMS, _WRAP, _NAMES, _P, _TIES), _grid("ring")),
        Kind("mesh", "mesh of any number of dimensions", "mesh:8x8", (_DIMS, _WRAP, _NAMES, _P, _TIES), _grid("mesh")),
        Kind(
            "torus",
            "torus of any number of dimensions",
            "torus:8x8x16",
            (_DIMS, _WRAP, _NAMES, _P, _TIES),
            _grid("torus"),
        ),
        Kind(
            "hypercube",
            "binary hypercube",
            "hypercube:6",
            (Parameter("n", "int", "dimensions"), _P),
            lambda v, links: _core().hypercube(v["n"], v["p"], links),
        ),
        Kind(
            "tree",
            "tree",
            "tree:m=4x4x4",
            (Parameter("m", "extents", "children of a switch of level 1, 2, ..."),),
            _tree("tree", lambda v: (v["m"], [1] * len(v["m"]), [])),
        ),
        Kind(
            "xgft",
            "extended generalised fat tree",
            "xgft:m=16x16x8,w=1x8x8",
            (
                Parameter("m", "extents", "children of a switch of level 1, 2, ..."),
                Parameter("w", "extents", "parents of a vertex of level 0, 1, ..."),
                Parameter("parallel", "extents", "cables between child and parent per level", ()),
            ),
            _tree("xgft", lambda v: (v["m"], v["w"], list(v["parallel"]))),
        ),
        Kind(
            "fattree",
            "k-ary n-tree",
            "fattree:k=4,n=3",
            (Parameter("k", "int", "half of the ports of a switch"), Parameter("n", "int", "levels of switches")),
            _tree("fattree", _k_ary),
        ),
        Kind(
            "clos2",
            "two-level Clos (leaf and spine)",
            "clos2:leaves=18,down=18,spines=18",
            (
                Parameter("leaves", "int", "leaf switches"),
                Parameter("down", "int", "nodes per leaf"),
                Parameter("spines", "int", "spine switches"),
                Parameter("parallel", "int", "cables between a leaf and a spine", 1),
            ),
            _tree("clos2", lambda v: ([v["down"], v["leaves"]], [1, v["spines"]], [1, v["parallel"]])),
        ),
        Kind(
            "clos3",
            "three-level Clos of pods",
            "clos3:pods=8,leaves=4,down=4,aggs=4,cores=4",
            (
                Parameter("pods", "int", "pods"),
                Parameter("leaves", "int", "leaf switches of a pod"),
                Parameter("down", "int", "nodes per leaf"),
                Parameter("aggs", "int", "aggregation switches of a pod"),
                Parameter("cores", "int", "core switches above each aggregation switch"),
            ),
            _tree("clos3", lambda v: ([v["down"], v["leaves"], v["pods"]], [1, v["aggs"], v["cores"]], [])),
        ),
        Kind(
            "dragonfly",
            "dragonfly; a = 16x6 makes the two-dimensional groups of a Cray XC",
            "dragonfly:a=4,p=2,h=2,g=9",
            (
                Parameter("a", "extents", "routers of a group, all-to-all in every dimension"),
                Parameter("p", "int", "nodes per router"),
                Parameter("h", "int", "global ports per router"),
                Parameter("g", "int", "groups"),
                _ARRANGEMENT,
                _LINKS,
                Parameter("parallel", "extents", "local links between two routers, per dimension", ()),
            ),
            lambda v, links: _core().dragonfly(
                v["a"], v["p"], v["h"], v["g"], v["arrangement"], v["links"], list(v["parallel"]), links
            ),
        ),
        Kind(
            "dragonfly+",
            "dragonfly of leaf-and-spine groups",
            "dragonfly+:leaves=4,spines=4,p=4,h=4,g=8",
            (
                Parameter("leaves", "int", "leaf switches of a group"),
                Parameter("spines", "int", "spine switches of a group"),
                Parameter("p", "int", "nodes per leaf"),
                Parameter("h", "int", "global ports per spine"),
                Parameter("g", "int", "groups"),
                _ARRANGEMENT,
                _LINKS,
            ),
            lambda v, links: _core().dragonfly_plus(
                v["leaves"], v["spines"], v["p"], v["h"], v["g"], v["arrangement"], v["links"], links
            ),
        ),
        Kind(
            "kautz",
            "Kautz graph (directed)",
            "kautz:d=3,k=6",
            (Parameter("d", "int", "degree"), Parameter("k", "int", "diameter"), _P),
            _shift("kautz"),
        ),
        Kind(
            "debruijn",
            "de Bruijn graph (directed)",
            "debruijn:d=2,k=8",
            (Parameter("d", "int", "degree"), Parameter("k", "int", "diameter"), _P),
            _shift("debruijn"),
        ),
        Kind(
            "hyperx",
            "HyperX: all-to-all in every dimension",
            "hyperx:8x8,p=8",
            (
                Parameter("dims", "extents", "routers per dimension"),
                Parameter("parallel", "extents", "links between two routers, per dimension", ()),
                Parameter("p", "int", "nodes per router", 1),
            ),
            lambda v, links: _core().hyperx(v["dims"], list(v["parallel"]), v["p"], links),
        ),
        Kind(
            "slimfly",
            "Slim Fly (McKay-Miller-Siran graph)",
            "slimfly:q=5,p=4",
            (Parameter("q", "int", "prime power; 2 q^2 routers"), Parameter("p", "int", "nodes per router", 1)),
            lambda v, links: _core().slimfly(v["q"], v["p"], links),
        ),
        Kind(
            "rail",
            "rail-optimised GPU cluster; a node is one GPU",
            "rail:gpus=8,domains=32,unit=8,spines=8",
            (
                Parameter("gpus", "int", "GPUs of an NVLink domain"),
                Parameter("domains", "int", "NVLink domains"),
                Parameter("unit", "int", "domains that share the leaf switches of one unit; 0: all", 0),
                Parameter("spines", "int", "spine switches; 0: rail-only", 0),
                Parameter("parallel", "int", "cables between a leaf and a spine", 1),
            ),
            lambda v, links: _core().rail(v["gpus"], v["domains"], v["unit"], v["spines"], v["parallel"], links),
        ),
        Kind(
            "graph",
            "any network, from its cables (TOML, imported files, edge lists)",
            "graph:cables.edges",
            (
                Parameter("file", "file", "edge list: lines 'from to [bandwidth [latency [count]]]'", ""),
                Parameter("nodes", "names", "names of the nodes", ()),
                Parameter("switches", "names", "names of the switches", ()),
                Parameter("edges", "cables", "[from, to, bandwidth, latency, count] of every cable", ()),
            ),
            _graph,
        ),
    )
}


def kind_named(name: str) -> Kind:
    """Return the kind of this name; raises InvalidInput with a list of all kinds."""
    if name == "xc":
        raise InvalidInput("unknown topology 'xc': write a Cray XC as dragonfly:a=16x6,p=4,h=10,g=...,parallel=1x3")
    if name not in KINDS:
        raise InvalidInput(f"unknown topology {name!r}: must be one of {', '.join(KINDS)}")
    return KINDS[name]


def spec_of(kind: Kind, values: dict[str, Any]) -> str:
    """Return the specification of an interconnect, without parameters at their defaults."""
    parts = []
    for i, p in enumerate(kind.parameters):
        value = values[p.name]
        if p.type == "wrap" or value == p.default or (not p.required and value in ((), [])):
            continue
        if p.type == "extents":
            wrap = values.get("wrap") or ()
            marks = [("t" if w else "m") if w != (kind.name in ("torus", "ring")) else "" for w in wrap]
            value = "x".join(f"{e}{m}" for e, m in zip(value, marks or [""] * len(value), strict=True))
        parts.append(f"{value}" if i == 0 and p.name in ("dims", "n", "file") else f"{p.name}={value}")
    return f"{kind.name}:{','.join(parts)}"
