"""Hypothesis strategies: small networks of every family."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from hypothesis import strategies as st
from isthmus._core import Topology

from isthmus import _core

_arrangement = st.sampled_from(["absolute", "relative"])


@st.composite
def grids(draw: st.DrawFn, most: int = 120) -> Topology:
    dims = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4).filter(lambda d: prod(d) <= most))
    wrap = draw(st.one_of(st.just([]), st.lists(st.booleans(), min_size=len(dims), max_size=len(dims))))
    kind = draw(st.sampled_from(["torus", "mesh"]))
    p = draw(st.integers(0, min(3, most // prod(dims))))
    return _core.grid(kind, dims, wrap=wrap, p=p)


@st.composite
def cubes(draw: st.DrawFn, most: int = 120) -> Topology:
    if draw(st.booleans()):
        return _core.hypercube(draw(st.integers(1, most.bit_length() - 2)), p=draw(st.integers(0, 2)))
    dims = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4).filter(lambda d: prod(d) <= most))
    parallel = draw(st.one_of(st.just([]), st.lists(st.integers(1, 3), min_size=len(dims), max_size=len(dims))))
    return _core.hyperx(dims, parallel, draw(st.integers(0, min(3, most // prod(dims)))))


@st.composite
def shifts(draw: st.DrawFn, most: int = 120) -> Topology:
    kind = draw(st.sampled_from(["kautz", "debruijn"]))
    d = draw(st.integers(2, 6))
    letters = d + (kind == "kautz")
    lengths = [k for k in range(1, 8) if letters * d ** (k - 1) <= most]
    return _core.shift(kind, d, draw(st.sampled_from(lengths)), p=draw(st.integers(0, 1)))


@st.composite
def dragonflies(draw: st.DrawFn, most: int = 120) -> Topology:
    a = draw(st.lists(st.integers(1, 8), min_size=1, max_size=2).filter(lambda d: prod(d) <= 12))
    parallel = draw(st.one_of(st.just([]), st.lists(st.integers(1, 2), min_size=len(a), max_size=len(a))))
    h = draw(st.integers(1, 4))
    g = draw(st.integers(1, min(prod(a) * h + 1, max(1, most // prod(a)))))
    links = draw(st.integers(0, prod(a) * h // (g - 1))) if g > 1 else 0
    p = draw(st.integers(0, 2))
    return _core.dragonfly(a, p, h, g, draw(_arrangement), links, parallel)


@st.composite
def dragonfly_pluses(draw: st.DrawFn, most: int = 120) -> Topology:
    leaves, spines, h = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    g = draw(st.integers(1, min(spines * h + 1, most // (leaves + spines))))
    links = draw(st.integers(0, spines * h // (g - 1))) if g > 1 else 0
    return _core.dragonfly_plus(leaves, spines, draw(st.integers(1, 2)), h, g, draw(_arrangement), links)


@st.composite
def trees(draw: st.DrawFn, most: int = 120) -> Topology:
    m = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda d: prod(d) <= most))
    w = draw(st.lists(st.integers(1, 3), min_size=len(m), max_size=len(m)).filter(lambda d: prod(d) <= 24))
    parallel = draw(st.one_of(st.just([]), st.lists(st.integers(1, 3), min_size=len(m), max_size=len(m))))
    return _core.fat_tree("xgft", "", m, w, parallel)


@st.composite
def rails(draw: st.DrawFn, most: int = 120) -> Topology:
    gpus = draw(st.integers(1, 8))
    domains = draw(st.integers(1, max(1, most // gpus)))
    unit = draw(st.integers(0, domains + 2))
    spines = draw(st.integers(0 if unit == 0 or unit >= domains else 1, 4))
    return _core.rail(gpus, domains, unit, spines, draw(st.integers(1, 3)))


@st.composite
def imported(draw: st.DrawFn) -> Topology:
    """A random tree of switches with further cables, hosts on one switch each."""
    switches, nodes = draw(st.integers(1, 12)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trunk = [(nodes + s, nodes + int(rng.integers(s))) for s in range(1, switches)]
    extra = rng.integers(nodes, nodes + switches, (draw(st.integers(0, 15)), 2))
    trunk += [(int(a), int(b)) for a, b in extra if a != b]
    cables = [(i, int(rng.integers(nodes, nodes + switches))) for i in range(nodes)] + trunk
    ends = np.array(cables, dtype=np.uint32)
    classes = (np.arange(len(cables)) >= nodes).astype(np.uint32)
    count = rng.integers(1, 4, len(cables)).astype(np.uint32)
    names = [f"n{i}" for i in range(nodes)], [f"s{i}" for i in range(switches)]
    kinds = [("access", 1e9, 1e-7), ("trunk", 2e9, 1e-7)]
    return _core.graph(*names, kinds, ends[:, 0].copy(), ends[:, 1].copy(), classes, count)


slim_flies = st.sampled_from([(3, 1), (3, 2), (4, 1), (5, 0), (5, 1), (7, 0)]).map(lambda x: _core.slimfly(*x))

FAMILIES: dict[str, st.SearchStrategy[Topology]] = {
    "grid": grids(),
    "cube": cubes(),
    "shift": shifts(),
    "slimfly": slim_flies,
    "dragonfly": dragonflies(),
    "dragonfly+": dragonfly_pluses(),
    "tree": trees(),
    "rail": rails(),
    "imported": imported(),
}

TINY: dict[str, st.SearchStrategy[Topology]] = {
    "shift": shifts(most=24),
    "dragonfly": dragonflies(most=24),
    "dragonfly+": dragonfly_pluses(most=24),
    "tree": trees(most=24),
    "rail": rails(most=24),
    "imported": imported(),
}

# Made where they are used: topologies that outlive the interpreter's modules are reported as leaks.
NETWORKS: dict[str, Callable[[], Topology]] = {
    "torus": lambda: _core.grid("torus", [4, 4, 3], p=1),
    "flat-torus": lambda: _core.grid("torus", [5, 4]),
    "hypercube": lambda: _core.hypercube(5),
    "hyperx": lambda: _core.hyperx([3, 4], p=2),
    "kautz": lambda: _core.shift("kautz", 2, 4),
    "debruijn": lambda: _core.shift("debruijn", 2, 5),
    "slimfly": lambda: _core.slimfly(5),
    "dragonfly": lambda: _core.dragonfly([4], 2, 2, 9),
    "cray-dragonfly": lambda: _core.dragonfly([3, 2], 1, 2, 6, "relative"),
    "dragonfly+": lambda: _core.dragonfly_plus(3, 2, 2, 3, 7),
    "k-ary-tree": lambda: _core.fat_tree("xgft", "", [4, 4], [1, 4]),
}
