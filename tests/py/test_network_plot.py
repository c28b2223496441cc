"""Pictures of the load of links: every link is where it belongs, words have room, and what cannot be drawn is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import isthmus
from isthmus.cli import main
from isthmus.errors import InvalidInput
from isthmus.plot.load_map import Layout, load_map, shown
from isthmus.schedule.schedule import OpKind
from test_plot_timeline import overlaps

MACHINES = {
    "torus": "torus:4x3x2 link=1GB/s hop=50ns cores=1",
    "plane": "mesh:5x4 link=1GB/s hop=50ns cores=1",
    "ring": "ring:16 link=1GB/s hop=50ns cores=1",
    "cube5": "torus:3x3x3x2x2 link=1GB/s hop=50ns cores=1",
    "routers": "torus:6x4x4,p=2 link=1GB/s hop=50ns cores=1",
    "dragonfly": "dragonfly-small",
    "xc": "dragonfly:a=4x3,p=2,h=2,g=5 link=1GB/s hop=50ns cores=1",
    "tree": "fattree-k4",
}


def machine(name: str) -> isthmus.Machine:
    return isthmus.load(MACHINES.get(name, name))


def permuted(m: isthmus.Machine, ranks: int = 0, **more: Any) -> isthmus.Timeline:
    """Every rank, one a node, sends to another."""
    ranks = ranks or m.nodes
    to = np.random.default_rng(5).permutation(ranks)
    b = isthmus.ProgramBuilder(ranks)
    b.irecv(None, np.argsort(to), 100_000)
    b.isend(None, to, 100_000)
    b.waitall(None)
    return isthmus.simulate(b.build(), m, np.arange(ranks), **{"model": "flow", "record": "ops"} | more)


def messages(t: isthmus.Timeline) -> list[tuple[int, int]]:
    """Ranks of those that go to another."""
    ops = t.schedule.ops
    op = np.flatnonzero(ops["kind"] == OpKind.send)
    owner = np.searchsorted(t.schedule.op_first.view(np.int64), op, side="right") - 1
    return [(int(a), int(b)) for a, b in zip(owner, ops["peer"][op], strict=True) if a != b]


@pytest.mark.parametrize("name", ["torus", "plane", "ring", "cube5"])
def test_every_link_of_a_grid_has_its_cell(name: str) -> None:
    t = machine(name).topology
    values = np.arange(1.0, t.links + 1)
    drawn = load_map(t, values)
    assert drawn is not None
    cells = np.concatenate([f.cells.ravel() for f in drawn.fields])
    real = np.unique(np.concatenate([t.out_links(v) for v in range(t.vertices)]))
    assert sorted(cells[np.isfinite(cells)]) == sorted(values[real])


def test_cells_of_a_torus_are_where_their_routers_are() -> None:
    m = machine("torus")
    t = m.topology
    drawn = load_map(t, np.arange(1.0, t.links + 1))
    assert drawn is not None
    y_up = next(f for f in drawn.fields if f.title == "y+")
    x0 = {words: (column, row) for column, row, words in y_up.notes}
    for x, y, z in [(0, 0, 0), (3, 0, 0), (1, 2, 0), (2, 1, 1)]:
        node = m.node_id((x, y, z))
        above = m.node_id((x, (y + 1) % 3, z))
        (link,) = (v for v in t.out_links(node) if t.link_ends(np.array([v], np.uint32))[0, 1] == above
                   and t.link_classes[t.link_class(np.array([v], np.uint32))[0]][0] == "y+")  # fmt: skip
        column, top = x0[f"z {z}"]
        assert y_up.cells[int(top) + 2 - y, int(column) + x] == link + 1


def test_dragonfly_from_group_to_group() -> None:
    m = machine("dragonfly")
    t = m.topology
    # One message from the last group to the third.
    values = np.zeros(t.links)
    values[m.route(71, 17)] = 0.5
    drawn = load_map(t, values)
    assert drawn is not None
    fields = {f.title: f.cells for f in drawn.fields}
    loaded = np.argwhere(fields["global links"] > 0)
    low = shown(np.array([2, 8]), 9)[0]
    assert loaded.tolist() == [[8 - low, 2 - low]]
    assert np.isnan(np.diag(fields["global links"])).all()
    out = fields["from nodes to their router"]
    assert np.argwhere(out > 0).tolist() == [[3, 8 - low]]
    assert np.argwhere(fields["from a router to its nodes"] > 0).tolist() == [[0, 2 - low]]


def test_one_group_of_a_dragonfly_is_drawn_as_it_stands() -> None:
    m = machine("xc")
    values = np.zeros(m.topology.links)
    values[m.route(0, 23)] = 1.0  # from the first to the last router of the group
    drawn = load_map(m.topology, values)
    assert drawn is not None
    fields = {f.title: f.cells for f in drawn.fields}
    assert "global links" not in fields
    assert {c.shape for c in fields.values()} == {(3, 4)}
    assert np.argwhere(fields["from nodes to their router"] > 0).tolist() == [[0, 0]]
    assert np.argwhere(fields["from a router to its nodes"] > 0).tolist() == [[2, 3]]


def test_a_tree_by_level_and_direction() -> None:
    t = permuted(machine("tree"))
    assert t.traffic is not None
    load = t.traffic.utilisation
    drawn = load_map(t.traffic.machine.topology, load)
    assert drawn is not None
    assert [f.title.split("  ")[0] for f in drawn.fields] == [
        "up: level 2 to level 3", "down: level 3 to level 2", "up: level 1 to level 2", "down: level 2 to level 1",
        "up: nodes to level 1", "down: level 1 to nodes",
    ]  # fmt: skip
    assert sorted(np.concatenate([f.cells.ravel() for f in drawn.fields])) == sorted(load)
    # A node's own links are above it.
    sender, receiver = (np.unique(v) for v in zip(*messages(t), strict=True))
    assert np.array_equal(np.flatnonzero(drawn.fields[4].cells[0]), sender)
    assert np.array_equal(np.flatnonzero(drawn.fields[5].cells[0]), receiver)


def test_parts_without_load_are_left_out() -> None:
    m = isthmus.load("torus:12x12x12 link=1GB/s hop=50ns cores=1")
    t = permuted(m, 24)  # two rows of the first plane
    assert t.traffic is not None
    drawn = load_map(m.topology, t.traffic.utilisation)
    assert drawn is not None
    assert all(f.cells.shape == (2, 12) for f in drawn.fields)
    assert "Drawn: y 0 to 1, z 0" in drawn.caption
    assert load_map(m.topology, np.zeros(m.topology.links)) is not None
    assert load_map(isthmus.load("slimfly-q5").topology, np.zeros(1)) is None


def test_fields_do_not_cover_each_other() -> None:
    for name in MACHINES:
        t = machine(name).topology
        drawn = load_map(t, np.ones(t.links))
        assert drawn is not None
        layout = Layout(drawn, 9.4)
        boxes = [layout.box(f) for f in drawn.fields]
        for i, (x, y, w, h) in enumerate(boxes):
            assert x >= 0
            assert y >= 0
            assert x + w <= 9.4 + 1e-9
            assert y + h <= layout.height + 1e-9
            for a, b, c, d in boxes[i + 1 :]:
                assert x + w <= a or a + c <= x or y + h <= b or b + d <= y


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("torus", ["load"]),
        ("routers", ["load"]),
        ("ring", ["load"]),
        ("xc", ["load", "histogram", "time"]),
        ("tree", ["load"]),
    ],
)
def test_words_do_not_overlap(tmp_path: Path, figures: list[Any], name: str, kinds: list[str]) -> None:
    t = permuted(machine(name), slices=20)
    assert t.traffic is not None
    for kind in kinds:
        t.traffic.plot(tmp_path / "a.png", kind)
    assert len(figures) == len(kinds)
    for fig in figures:
        assert overlaps(fig) == []


def test_large_machines(tmp_path: Path, figures: list[Any]) -> None:
    t = permuted(isthmus.load("torus:16x16x16 link=1GB/s hop=50ns cores=1"), record="finish", slices=20)
    assert t.traffic is not None
    for kind in ("load", "histogram", "time"):
        t.traffic.plot(tmp_path / f"{kind}.svg", kind)
        # Images, not a shape for each of the 24,576 links.
        assert (tmp_path / f"{kind}.svg").stat().st_size < 1_000_000
    assert len(figures) == 3
    assert overlaps(figures[0]) == []


def test_the_drawing_of_the_network(tmp_path: Path) -> None:
    t = permuted(machine("torus"))
    other = permuted(isthmus.load("kautz-2-3"))
    assert t.traffic is not None
    assert other.traffic is not None
    t.traffic.plot(tmp_path / "a.html", "network")
    assert "Load of a link" in (tmp_path / "a.html").read_text(encoding="utf-8")
    for timeline, kind in ((t, "network"), (other, "load")):
        timeline.traffic.plot(tmp_path / "a.png", kind)  # type: ignore[union-attr]
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_streams_are_the_messages_of_a_link() -> None:
    m = machine("ring")
    b = isthmus.ProgramBuilder(16)
    for sender, receiver, size, times in ((0, 3, 1000, 2), (1, 2, 5000, 1), (8, 9, 10, 1)):
        for _ in range(times):
            b.irecv(receiver, sender, size)
            b.isend(sender, receiver, size)
    b.waitall(None)
    t = isthmus.simulate(b.build(), m, np.arange(16), model="flow", record="ops")
    assert t.traffic is not None
    (link,) = m.route(1, 2)
    streams = t.traffic.streams(int(link))
    assert [s[:4] for s in streams] == [(1, 2, 1, 5000), (0, 3, 2, 2000)]
    assert sum(s.lost for s in streams) == pytest.approx(t.lost_in_all_ps / 1e12)
    table = t.traffic.table(1, streams=1)
    assert "rank 1 to 2, 1 message, lost" in table
    assert "1 more pairs of ranks, 2 messages" in table


def test_bad_input(tmp_path: Path) -> None:
    t = permuted(machine("ring"))
    assert t.traffic is not None
    for path, kind, reason in (
        ("a.jpg", "load", "suffix"),
        ("a.html", "histogram", "suffix"),
        ("a.png", "heat", "must be one of load, network"),
        ("a.png", "time", "slices=100"),
    ):
        with pytest.raises(InvalidInput, match=reason):
            t.traffic.plot(tmp_path / path, kind)
    assert list(tmp_path.iterdir()) == []


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    try:
        main(["simulate", "alltoall:ranks=16,bytes=4kB", "--machine", "ring-16", "--ranks-per-node", "1", *words])
        status = 0
    except SystemExit as stop:
        status = int(stop.code or 0)
    return (status, *capsys.readouterr())


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--model", "flow", "--links", "2", "--plot", "load=a.png", "--plot", "time=b.svg"]
    status, out, err = command(capsys, *words)
    assert (status, err) == (0, "")
    assert out.endswith("wrote a.png\nwrote b.svg\n")
    assert out.count("more pairs of ranks") == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.svg"]
    status, out, _ = command(capsys, *words, "--json")
    found = json.loads(out)
    assert found["files"] == {"plot": ["a.png", "b.svg"]}
    assert len(found["traffic"]["hottest"]) == 2
    hot = found["traffic"]["hottest"][0]
    # What an interface sends takes a byte less than a message has.
    assert sum(s["bytes"] - s["messages"] for s in hot["streams"]) == pytest.approx(hot["bytes"])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--links", "2"], "--links needs --model flow, reserve or packet"),
        (["--plot", "load=a.png"], "--plot load=FILE needs --model"),
        (
            ["--model", "flow", "--plot", "heat=a.png"],
            "load=FILE, network=FILE, histogram=FILE, time=FILE or",
        ),
        (["--model", "flow", "--plot", "load=a.html"], "must end in .png, .svg, .pdf"),
        (["--model", "flow", "--plot", "load=no/a.png"], "there is no folder no"),
        (["--model", "flow", "--links", "2", "--record", "ranks"], "--links needs --record ops"),
    ],
)
def test_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], words: list[str], reason: str) -> None:
    status, out, err = command(capsys, *words)
    assert (status, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1
