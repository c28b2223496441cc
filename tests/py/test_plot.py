"""Pictures: every family in every size, what is highlighted, and that files appear whole or not at all."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("plotly")
_core = pytest.importorskip("isthmus._core")

from matplotlib.figure import Figure  # noqa: E402

from isthmus import plot  # noqa: E402
from isthmus.errors import InvalidInput  # noqa: E402
from isthmus.plot import still  # noqa: E402
from isthmus.plot.common import Net, group_links, quantity  # noqa: E402
from isthmus.plot.layout import mix  # noqa: E402
from isthmus.plot.topology import topology_scene  # noqa: E402


def graph(nodes: int, switches: int, pairs: list[tuple[int, int]]) -> Any:
    ends = np.array(pairs, np.uint32)
    ones = np.ones(len(pairs), np.uint32)
    names = ([f"n{i}" for i in range(nodes)], [f"s{i}" for i in range(switches)])
    a, b = (np.ascontiguousarray(ends[:, k]) for k in (0, 1))
    return _core.graph(*names, [("link", 1e9, 1e-7)], a, b, 0 * ones, ones)


def two_layers(leaves: int, down: int, spines: int) -> Any:
    n = leaves * down
    pairs = [(i, n + i // down) for i in range(n)]
    pairs += [(n + leaf, n + leaves + s) for leaf in range(leaves) for s in range(spines)]
    return graph(n, leaves + spines, pairs)


SMALL: dict[str, Callable[[], Any]] = {
    "single": lambda: _core.grid("mesh", [1]),
    "linear": lambda: _core.grid("linear", [12]),
    "ring": lambda: _core.grid("ring", [16], p=2),
    "ring of 2": lambda: _core.grid("ring", [2]),
    "mesh 2-D": lambda: _core.grid("mesh", [8, 6], p=1),
    "torus 2-D": lambda: _core.grid("torus", [8, 6]),
    "torus 3-D": lambda: _core.grid("torus", [4, 4, 4]),
    "torus of pairs": lambda: _core.grid("torus", [2, 2, 2], p=3),
    "mesh 3-D": lambda: _core.grid("mesh", [6, 5, 1]),
    "torus 4-D": lambda: _core.grid("torus", [3, 4, 2, 4]),
    "torus 5-D": lambda: _core.grid("torus", [4, 4, 4, 4, 2], [True] * 5, "ABCDE"),
    "torus 6-D": lambda: _core.grid("torus", [3, 2, 3, 2, 3, 2], [True] * 3 + [False, True, False], "XYZabc"),
    "torus 7-D": lambda: _core.grid("torus", [2] * 7),
    "hypercube": lambda: _core.hypercube(4),
    "hypercube 7": lambda: _core.hypercube(7, p=2),
    "tree": lambda: _core.fat_tree("tree", "", [4, 3, 2], [1, 1, 1]),
    "xgft": lambda: _core.fat_tree("xgft", "", [4, 4, 3], [2, 2, 2], [1, 2, 1]),
    "clos2": lambda: _core.fat_tree("clos2", "clos2:leaves=8,down=4,spines=4", [4, 8], [1, 4]),
    "dragonfly": lambda: _core.dragonfly([4], 2, 2, 9),
    "dragonfly of 2": lambda: _core.dragonfly([2], 1, 1, 2, "relative"),
    "dragonfly 2-D": lambda: _core.dragonfly([4, 3], 2, 2, 5, "absolute", 0, [1, 3]),
    "dragonfly+": lambda: _core.dragonfly_plus(4, 4, 4, 4, 9),
    "kautz": lambda: _core.shift("kautz", 2, 3),
    "debruijn": lambda: _core.shift("debruijn", 2, 4, 1),
    "hyperx": lambda: _core.hyperx([6, 5], [], 4),
    "full mesh": lambda: _core.hyperx([12], [], 4),
    "slimfly": lambda: _core.slimfly(5, 4),
    "rail": lambda: _core.rail(8, 16, 4, 4),
    "rail-only": lambda: _core.rail(4, 6),
    "graph": lambda: two_layers(6, 4, 3),
    "graph of nodes": lambda: graph(12, 0, [(i, (i + k) % 12) for i in range(12) for k in (1, 5)]),
}
LARGE: dict[str, Callable[[], Any]] = {
    "ring": lambda: _core.grid("ring", [50_000]),
    "torus 2-D": lambda: _core.grid("torus", [512, 512]),
    "torus 3-D": lambda: _core.grid("torus", [64, 64, 64]),
    "Intrepid": lambda: _core.grid("torus", [40, 32, 32]),
    "Blue Waters": lambda: _core.grid("torus", [24, 24, 24], p=2),
    "Mira": lambda: _core.grid("torus", [8, 12, 16, 16, 2], [True] * 5, "ABCDE"),
    "K": lambda: _core.grid("torus", [24, 18, 17, 2, 3, 2], [True] * 3 + [False, True, False], "XYZabc"),
    "hypercube": lambda: _core.hypercube(18),
    "clos3": lambda: _core.fat_tree("clos3", "clos3:pods=64,leaves=64,down=64", [64, 64, 64], [1, 32, 32]),
    "fattree": lambda: _core.fat_tree("fattree", "fattree:k=8,n=6", [8] * 6, [1] + [8] * 5),
    "Frontier": lambda: _core.dragonfly([32], 16, 16, 74, "absolute", 2),
    "Aurora": lambda: _core.dragonfly([32], 16, 32, 166, "absolute", 1),
    "Theta": lambda: _core.dragonfly([16, 6], 4, 10, 12, "absolute", 0, [1, 3]),
    "Leonardo": lambda: _core.dragonfly_plus(18, 18, 10, 22, 23),
    "kautz": lambda: _core.shift("kautz", 3, 6),
    "debruijn": lambda: _core.shift("debruijn", 2, 18),
    "hyperx": lambda: _core.hyperx([32, 32, 16], [1, 2, 1], 16),
    "full mesh": lambda: _core.hyperx([500], [], 100),
    "slimfly": lambda: _core.slimfly(19, 15),
    "rail": lambda: _core.rail(8, 4096, 32, 256),
    "graph": lambda: two_layers(300, 16, 24),
}


def route_of(topology: Any) -> Any:
    return topology.route(topology.nodes > 2, topology.nodes * 5 // 8)


def values_of(topology: Any) -> Any:
    return np.random.default_rng(1).gamma(2.0, 1e6, topology.links)


def figure_of(topology: Any, **options: Any) -> Any:
    figure = still.figure(topology_scene(topology, **options))
    figure.canvas.draw()
    return figure


def artists(figure: Any, name: str) -> list[Any]:
    return [a for ax in figure.axes for a in ax.collections if a.get_gid() == name]


def check_png(path: Path) -> None:
    from matplotlib.image import imread

    image = imread(path)
    assert image.shape[:2] == (924, 1408)
    # Something is drawn, and most of the paper is left white.
    ink = ((image[..., 0] < 0.97) | (image[..., 1] < 0.97) | (image[..., 2] < 0.97)).mean()
    assert 0.004 < ink < 0.75


def check_html(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.endswith("</html>")
    assert "Plotly.newPlot" in text
    assert path.stat().st_size < 6_000_000
    page = text.replace(text[text.index("<script") : text.rindex("</script>")], "")
    assert "http" not in page, "the page must not need a network"


@pytest.mark.sampled(9, always=["single", "torus 7-D", "graph of nodes"])
@pytest.mark.parametrize("name", SMALL)
def test_small(name: str, tmp_path: Path) -> None:
    topology = SMALL[name]()
    full: dict[str, Any] = {"route": route_of(topology), "link_values": values_of(topology)} if topology.links else {}
    for kind, options in (("png", {}), ("png", full), ("html", full)):
        path = tmp_path / f"net.{kind}"
        plot.plot_topology(topology, path, **options)
        check_png(path) if kind == "png" else check_html(path)
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["net.html", "net.png"]


@pytest.mark.sampled(10, always=["Blue Waters-html", "Frontier-png", "graph-html"])
@pytest.mark.parametrize("kind", ["png", "html"])
@pytest.mark.parametrize("name", LARGE)
def test_large_in_time(name: str, kind: str, tmp_path: Path) -> None:
    topology = LARGE[name]()
    path = tmp_path / f"net.{kind}"
    full = {"route": route_of(topology), "link_values": values_of(topology)}
    for options in ({}, full) if kind == "html" else (full,):  # the plain PNG is drawn for the words
        start = time.process_time()
        plot.plot_topology(topology, path, **options)
        assert time.process_time() - start < 15  # about 5 s are promised, tests share their processors
        check_png(path) if kind == "png" else check_html(path)


@pytest.mark.sampled(18, always=["single", "large Blue Waters"])
@pytest.mark.parametrize("name", [*SMALL, *(f"large {n}" for n in LARGE)])
def test_words_do_not_overlap(name: str) -> None:
    large = name.startswith("large ")
    topology = LARGE[name[6:]]() if large else SMALL[name]()
    figure = figure_of(topology)
    renderer = figure.canvas.get_renderer()
    texts = [t for ax in figure.axes for t in ax.texts] + list(figure.texts)
    texts = [t for t in texts if t.get_text().strip() and t.get_text() != "···"]
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts]
    assert not [
        (a, b) for (a, p), (b, q) in itertools.combinations(boxes, 2) if min(p.x1, q.x1) - max(p.x0, q.x0) > 1
        and min(p.y1, q.y1) - max(p.y0, q.y0) > 3
    ]  # fmt: skip
    width, height = figure.canvas.get_width_height()
    assert not [t for t, b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > width + 1 or b.y1 > height + 1]


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_vector_formats_are_reproducible(suffix: str, tmp_path: Path) -> None:
    topology = SMALL["torus 3-D"]()
    paths = [tmp_path / f"{i}.{suffix}" for i in "ab"]
    for path in paths:
        plot.plot_topology(topology, path)
    first = paths[0].read_bytes()
    assert first == paths[1].read_bytes()
    assert b"<svg" in first if suffix == "svg" else first.startswith(b"%PDF")


@pytest.mark.sampled(10, always=["ring of 2", "torus 7-D"])
@pytest.mark.parametrize("name", [n for n in SMALL if n != "single"])
def test_route_is_highlighted(name: str) -> None:
    topology = SMALL[name]()
    assert not artists(figure_of(topology), "route")
    figure = figure_of(topology, route=route_of(topology))
    assert sum(len(a.get_paths()) for a in artists(figure, "route")) >= 1
    numbers = [int(t.get_text()) for ax in figure.axes for t in ax.texts if t.get_zorder() == 8]
    assert numbers
    assert set(numbers) <= set(range(1, len(route_of(topology)) + 1))


def test_hops_of_a_torus_are_where_the_route_is() -> None:
    topology = _core.grid("torus", [8, 6])
    route = topology.route(0, 7 + 8 * 2)  # one step around in x, two up in y
    (lines,) = artists(figure_of(topology, route=route), "route")
    paths = [p.vertices.tolist() for p in lines.get_paths()]
    assert paths[0][0] == [0, 0]
    assert paths[1][-1] == [7, 0]
    assert paths[2:] == [[[7, 0], [7, 1]], [[7, 1], [7, 2]]]


def test_values_colour_links() -> None:
    topology = _core.grid("ring", [4])
    values = np.zeros(8)
    values[2] = 1.0
    (lines,) = artists(figure_of(topology, link_values=values), "links")
    from matplotlib.colors import to_hex

    colours = [to_hex(c).upper() for c in lines.get_colors()]
    assert colours == [mix(0), mix(0), mix(0), mix(1)]  # the largest on top
    values[:] = np.nan
    figure_of(topology, link_values=values)


def test_value_of_a_face_is_the_largest_behind_it() -> None:
    topology = _core.grid("torus", [12, 12, 12])
    inside = topology.route(6 + 12 * (6 + 12 * 6), 7 + 12 * (6 + 12 * 6))
    values = np.zeros(topology.links)
    values[inside] = 5.0
    scene = topology_scene(topology, link_values=values)
    found = sum(int((i.values == 5.0).sum()) for i in scene.panels[0].items if getattr(i, "values", None) is not None)
    assert found == 2  # seen from the front and from above, in line with x from the right


@pytest.mark.parametrize("name", ["net.jpg", "net", "net.PNGX"])
def test_unknown_suffix(name: str, tmp_path: Path) -> None:
    for function in (plot.plot_topology, plot.plot_distance_histogram):
        with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf, \.html"):
            function(SMALL["ring"](), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["png", "html"])
def test_failure_leaves_no_file(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from isthmus.plot import interactive

    path = tmp_path / f"net.{kind}"
    path.write_text("before")

    def fail(drawn: Any, file: Any, **options: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    if kind == "png":
        monkeypatch.setattr(Figure, "savefig", fail)
    else:
        monkeypatch.setattr(interactive, "write", fail)
    with pytest.raises(OSError, match="disk full"):
        plot.plot_topology(SMALL["ring"](), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        plot.plot_topology(SMALL["ring"](), tmp_path / "missing" / f"net.{kind}")


def test_wrong_routes_and_values(tmp_path: Path) -> None:
    topology = _core.grid("ring", [8])
    path = tmp_path / "net.png"
    for route, words in (
        ([99], "link ids from 0 to 15"),
        ([0.5], "link ids"),
        ([-1], "link ids"),
        ([0, 3], "begin"),
    ):
        with pytest.raises(InvalidInput, match=words):
            plot.plot_topology(topology, path, route=route)
    with pytest.raises(InvalidInput, match="16 numbers"):
        plot.plot_topology(topology, path, link_values=[1.0])
    plot.plot_topology(topology, path, route=[])


@pytest.mark.parametrize("name", ["torus 3-D", "Theta", "Intrepid", "graph", "debruijn"])
def test_histogram(name: str, tmp_path: Path) -> None:
    topology = (LARGE if name in ("Theta", "Intrepid", "debruijn") else SMALL)[name]()
    for kind in ("png", "html"):
        plot.plot_distance_histogram(topology, tmp_path / f"h.{kind}", subtitle="x")
    check_html(tmp_path / "h.html")
    sampled = "A sample" in (tmp_path / "h.html").read_text(encoding="utf-8")
    assert sampled == (topology.nodes > 2000)


def test_histogram_counts_all_pairs() -> None:
    from isthmus.plot.histogram import distances_of, histogram_scene

    topology = _core.grid("torus", [4, 4, 4])
    found, complete = distances_of(Net(topology))
    assert complete
    assert len(found) == 64 * 63
    assert found.mean() == pytest.approx(topology.average_distance()[0])
    assert max(found) == topology.diameter()[0]
    with pytest.raises(InvalidInput, match="two nodes"):
        histogram_scene(SMALL["single"](), title=None, subtitle=None)


def test_words_given_by_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "net.html"
    plot.plot_topology(SMALL["ring"](), path, title="A <b> & c", subtitle="sub & title")
    text = path.read_text(encoding="utf-8")
    assert "<h1>A &lt;b&gt; &amp; c</h1>" in text
    assert "sub &amp; title" in text


def test_grouped_links_keep_every_link() -> None:
    topology = _core.hyperx([3, 2], [1, 2], 1)
    links = np.arange(topology.links, dtype=np.uint32)
    ends = topology.link_ends(links).astype(np.int64)
    cables = group_links(links, ends, topology.link_class(links))
    assert sorted(cables.members.tolist()) == links.tolist()
    part = cables.pick(cables.link_class == 1)
    for i in range(len(part)):
        ids = part.members[part.starts[i] : part.starts[i + 1]]
        assert len(ids) == 4
        assert {frozenset(e) for e in ends[ids].tolist()} == {frozenset(part.ends[i].tolist())}


def test_quantities() -> None:
    words = [quantity(v, "B/s") for v in (0, 425e6, 999.9e6, 1e9, 1.5e12, 12)]
    assert words == ["0 B/s", "425 MB/s", "1 GB/s", "1 GB/s", "1.5 TB/s", "12 B/s"]
    assert [quantity(v, "s") for v in (64e-9, 1e-6, 3.2e-12)] == ["64 ns", "1 µs", "3.2 ps"]


def test_import_is_light() -> None:
    code = "import sys, isthmus.plot; assert not {'matplotlib', 'plotly'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
