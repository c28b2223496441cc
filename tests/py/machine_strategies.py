"""Random machines for property tests: as one-line specifications, as the text of a file gone wrong."""

from __future__ import annotations

from hypothesis import strategies as st

from isthmus import units

small = st.integers(1, 4)


def extents(least: int = 1, most: int = 4, dims: int = 3) -> st.SearchStrategy[str]:
    return st.lists(st.integers(least, most), min_size=1, max_size=dims).map(lambda v: "x".join(map(str, v)))


@st.composite
def grids(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["linear", "ring", "mesh", "torus"]))
    dims = 1 if kind in ("linear", "ring") else draw(st.integers(1, 4))
    parts = [f"{draw(st.integers(1, 5))}{draw(st.sampled_from(['', '', 'm', 't']))}" for _ in range(dims)]
    spec = f"{kind}:{'x'.join(parts)}"
    if draw(st.booleans()):
        spec += f",names={'XYZabc'[:dims]}"
    if draw(st.booleans()):
        spec += f",p={draw(st.integers(0, 3))}"
    return spec


@st.composite
def levels(draw: st.DrawFn, kind: str) -> str:
    m = draw(st.lists(small, min_size=1, max_size=3))
    if kind == "tree":
        return f"tree:m={'x'.join(map(str, m))}"
    w = draw(st.lists(small, min_size=len(m), max_size=len(m)))
    spec = f"xgft:m={'x'.join(map(str, m))},w={'x'.join(map(str, w))}"
    if draw(st.booleans()):
        spec += f",parallel={'x'.join(str(draw(small)) for _ in m)}"
    return spec


@st.composite
def dragonflies(draw: st.DrawFn) -> str:
    a = draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))
    h, p = draw(small), draw(small)
    routers = a[0] * (a[1] if len(a) > 1 else 1)
    g = draw(st.integers(1, min(routers * h + 1, 9)))
    spec = f"dragonfly:a={'x'.join(map(str, a))},p={p},h={h},g={g}"
    if draw(st.booleans()):
        spec += ",arrangement=relative"
    if draw(st.booleans()):
        spec += f",parallel={'x'.join(str(draw(small)) for _ in a)}"
    return spec


@st.composite
def numbered(draw: st.DrawFn) -> str:
    """Kinds whose parameters are plain numbers."""
    kind, names = draw(
        st.sampled_from(
            [
                ("hypercube", ["n", "p"]),
                ("fattree", ["k", "n"]),
                ("clos2", ["leaves", "down", "spines", "parallel"]),
                ("clos3", ["pods", "leaves", "down", "aggs", "cores"]),
                ("hyperx", ["dims", "p"]),
                ("kautz", ["d", "k", "p"]),
                ("debruijn", ["d", "k", "p"]),
            ]
        )
    )
    least = 2 if kind in ("kautz", "debruijn") else 1
    return f"{kind}:" + ",".join(f"{name}={draw(st.integers(least, 4))}" for name in names)


topologies = st.one_of(
    grids(),
    numbered(),
    levels("tree"),
    levels("xgft"),
    dragonflies(),
    extents(2, 4).map(lambda dims: f"hyperx:{dims},parallel={'x'.join('2' for _ in dims.split('x'))}"),
    st.tuples(st.sampled_from([3, 4, 5, 7]), small).map(lambda v: "slimfly:q={},p={}".format(*v)),
    st.tuples(small, small, small, small).map(lambda v: "rail:gpus={},domains={},spines={},parallel={}".format(*v)),
    st.just("dragonfly+:leaves=2,spines=2,p=2,h=2,g=3"),
    st.just("dragonfly+:leaves=3,spines=2,p=1,h=2,g=5,arrangement=relative"),
)


def quantity(unit: str) -> st.SearchStrategy[str]:
    """Any positive number of a plausible size, in words."""
    return st.floats(1e-12, 1e18).map(lambda x: units.text(x, unit).replace(" ", ""))


@st.composite
def options(draw: st.DrawFn) -> list[str]:
    """Words of a specification behind the interconnect, in any order."""
    out = []
    sockets = draw(st.integers(1, 3))
    numa = sockets * draw(st.integers(1, 2))
    if draw(st.booleans()):
        out += [f"sockets={sockets}", f"numa={numa}", f"cores={numa * draw(small)}"]
        out += [f"core_order={draw(st.sampled_from(['block', 'cyclic']))}"]
        if draw(st.booleans()):
            row = ",".join(draw(quantity("B/s")) for _ in range(numa))
            out.append("stream=" + ";".join([row] * numa))
    fields = {
        "link": "B/s",
        "hop": "s",
        "link.default": "B/s",
        "memory": "B",
        "nic_bandwidth": "B/s",
        "gpu_flops": "flop/s",
        "gpu_memory_bandwidth": "B/s",
        "memory_bandwidth": "B/s",
        "clock": "Hz",
        "flops": "flop/s",
        "power": "W",
        "price": "",
    }
    for level in ("", "network.", "socket.", "node."):
        fields |= {f"{level}{key}": "s" for key in ("L", "o_send", "o_recv", "g", "per_hop")}
        fields |= {f"{level}G": "s/B", f"{level}O": "s/B", f"{level}S": "B"}
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), unique_by=_target, max_size=8))
    out += [f"{key}={draw(quantity(fields[key]))}" for key in chosen]
    if draw(st.booleans()):
        out += [f"nics={draw(st.integers(0, 8))}", f"gpus={draw(st.integers(0, 8))}"]
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["periodic", "exponential"]))
        out += [f"noise={kind}", "noise.period=1ms", f"noise.duration={draw(st.integers(0, 999))}us"]
    if draw(st.booleans()):
        out.append(f"name={draw(st.from_regex('[a-z][a-z0-9-]{0,9}', fullmatch=True))}")
    return draw(st.permutations(out))


def _target(key: str) -> str:
    """Different spellings of one field may not stand together."""
    return "link" if key == "link.default" else key.removeprefix("network.")


specs = st.tuples(topologies, options()).map(lambda v: " ".join([v[0], *v[1]]))


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """The text with a few things deleted, doubled, swapped or replaced: characters, words, lines."""
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from(["cut", "drop line", "double line", "swap lines", "insert", "token", "number"]))
        lines = text.split("\n")
        at = draw(st.integers(0, max(len(text) - 1, 0)))
        i, j = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        if how == "cut":
            text = text[:at] + text[at + draw(st.integers(1, 40)) :]
        elif how == "drop line":
            text = "\n".join(lines[:i] + lines[i + 1 :])
        elif how == "double line":
            text = "\n".join(lines[:i] + lines[i : i + 1] + lines[i:])
        elif how == "swap lines":
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        elif how == "insert":
            text = text[:at] + draw(st.sampled_from(list("\"'[]{}=.,#\\\n\0é-x5"))) + text[at:]
        else:
            tokens = _TOKENS if how == "token" else _NUMBERS
            end = at
            while end < len(text) and text[end].isalnum():
                end += 1
            text = text[:at] + draw(st.sampled_from(tokens)) + text[end:]
    return text


_TOKENS = ["true", "inf", "nan", "[]", "{}", '""', "1979-05-27", "[[1]]", '"torus"', "default", "value", "noise", "x"]
_NUMBERS = ["0", "-1", "1.5", "4294967296", "99999999999999999999", "1e400", "0x10", "1_000", "65536", "1e9", "3"]
