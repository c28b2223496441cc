"""Skeletons of the programs that overlap, by closed forms, and what hiding does to their times."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus.lowering.lower import lower
from isthmus.machine import Level
from isthmus.schedule.program import CollectiveKind, EventKind
from isthmus.schedule.tiling import steps
from isthmus.skeletons import SKELETONS, skeleton

#: Network without any cost to processors.
FREE = Level(L=10e-6, G=1e-9, S=1e9)
LOOPS = ("fft", "compress", "osem", "summa")


def seconds(program: isthmus.Program) -> np.ndarray:
    """Computation of each rank."""
    amounts = np.where(program.kind == EventKind.compute, program.amount, 0).astype(float)
    return np.array([amounts[a:b].sum() for a, b in zip(program.first[:-1], program.first[1:], strict=True)]) / 1e12


def calls(program: isthmus.Program, kind: CollectiveKind) -> np.ndarray:
    """Bytes of the calls of a collective."""
    return program.amount[(program.kind == EventKind.collective) & (program.what == kind)]


@pytest.mark.parametrize(("tiles", "window"), [(1, 1), (3, 1), (5, 2), (4, 4), (2, 7)])
def test_steps_of_a_loop(tiles: int, window: int) -> None:
    """Every tile in this order; never more under way than the window; the next is made before one is waited for."""
    done = list(steps(tiles, window))
    assert sorted(done) == sorted(
        (what, tile) for what in ("produce", "start", "wait", "finish") for tile in range(tiles)
    )
    at = {step: i for i, step in enumerate(done)}
    under_way = most = 0
    for what, tile in done:
        under_way += {"start": 1, "wait": -1}.get(what, 0)
        most = max(most, under_way)
        if what == "finish":
            assert at["produce", tile] < at["start", tile] < at["wait", tile] < at["finish", tile]
        if what == "wait" and tile + window < tiles:
            assert at["produce", tile + window] < at["wait", tile]
    assert most == min(tiles, window)


@pytest.mark.parametrize("name", ["fft", "compress", "osem", "summa", "cholesky", "poisson", "heat"])
def test_work_and_bytes_do_not_depend_on_what_is_hidden(name: str) -> None:
    """Computation adds up to what was asked for; bytes are the same in any tiles, looked at or not."""
    texts = [f"tiles={t},window={w},tests={n}" for t, w, n in ((1, 1, 0), (4, 1, 3), (8, 3, 0))]
    if name not in LOOPS:
        switch = "ahead" if name == "cholesky" else "hidden"
        texts = [f"{switch}={on},tests={n}" for on, n in ((0, 0), (1, 0), (1, 5))]
    built = [skeleton(f"{name}:ranks=12,steps=2,compute=10ms,points=96,{text}" if name != "compress" else
             f"compress:ranks=12,steps=2,compute=10ms,{text}") for text in texts]  # fmt: skip
    for program in built:
        assert seconds(program).mean() == pytest.approx(20e-3, rel=1e-6)
    volumes = [isthmus.simulate(p, FREE).bytes for p in built]
    if name == "compress":  # sizes are told once a tile
        volumes = [v - 12 * 11 * 8 * 2 * tiles for v, tiles in zip(volumes, (1, 4, 8), strict=True)]
    assert volumes == pytest.approx([volumes[0]] * 3, rel=2e-3)


@pytest.mark.parametrize("name", ["fft", "osem", "summa"])
def test_what_is_hidden_where_processors_are_free(name: str) -> None:
    """With a thread for progress: all but a part of the first and last tile where computation is longer."""
    points = {"fft": "points=256,pencils=0", "osem": "points=64,subsets=2", "summa": "points=1024,panel=16"}[name]
    text = f"{name}:ranks=16,{points},steps=1,compute=500ms"
    whole = isthmus.simulate(skeleton(f"{text},tiles=1"), FREE).makespan
    pieces = skeleton(f"{text},tiles=16,window=4,tests=0")
    hidden = isthmus.simulate(lower(pieces, progress_stream=1), FREE).makespan
    assert whole > 0.505
    assert hidden - 0.5 < 0.2 * (whole - 0.5)
    # Without tests it advances between tiles only; with many of them nearly as with a thread.
    few = isthmus.simulate(pieces, FREE).makespan
    many = isthmus.simulate(skeleton(f"{text},tiles=16,window=4,tests=64"), FREE).makespan
    assert hidden <= many * (1 + 1e-6)
    assert many <= few * (1 + 1e-6)


def test_cholesky_by_closed_form() -> None:
    """Panels of n, n - w, ... rows, each once to all; the operations of n^3 / 3 and of whole tiles on the diagonal."""
    program = skeleton("cholesky:ranks=5,points=70,panel=20,steps=1,compute=1s")
    rows = [70, 50, 30, 10]
    width = [20, 20, 20, 10]
    bytes = np.array([r * w * 8 for r, w in zip(rows, width, strict=True)])
    assert (calls(program, CollectiveKind.bcast) == np.tile(bytes, 5)).all()
    own = [w**3 / 3 + (r - w) * w**2 + k * 2 * r * w * 20 for k, (r, w) in enumerate(zip(rows, width, strict=True))]
    assert seconds(program) == pytest.approx([*(5 * np.array(own) / sum(own)), 0], rel=1e-6)


def test_faces_of_uneven_blocks() -> None:
    """Blocks of 4 and 5 of 9 points: computation goes by points, and messages are faces of the neighbours."""
    program = skeleton("heat:ranks=4,points=9,steps=1,compute=1ms,tests=0")
    sides = [(x, y) for x in (4, 5) for y in (4, 5)]
    assert seconds(program) == pytest.approx([1e-3 * 4 * x * y / 81 for x, y in sides])
    timeline = isthmus.simulate(program, FREE)
    assert timeline.bytes == 2 * 8 * (4 * 9 + 5 * 9) * 2
    assert timeline.messages == 8
    for extents, messages in ((1, 6), (2, 8)):
        text = f"poisson:ranks=4,points=9,extents={extents},steps=1,pipelined=0"
        sums = isthmus.simulate(skeleton(text), FREE).messages - messages
        assert sums == 2 * 8


def test_pipelined_gradients_wait_for_one_sum() -> None:
    """With a long latency: two sums an iteration, or one that the product hides."""
    text = "poisson:ranks=64,points=64,steps=10,compute=1ms"
    slow = Level(L=1e-3, S=1e9)
    plain = isthmus.simulate(skeleton(f"{text},pipelined=0,tests=0"), slow).makespan
    one = isthmus.simulate(lower(skeleton(f"{text},pipelined=1,tests=0"), progress_stream=1), slow).makespan
    # log2 of 64 ranks: 6 ms a sum; faces take 1 ms beside the sum.
    assert plain == pytest.approx(10 * (1e-3 + 1e-3 + 12e-3), rel=0.05)
    assert one == pytest.approx(10 * (6e-3 + 0.7e-3), rel=0.1)


def test_they_are_listed() -> None:
    assert {"cholesky", "compress", "fft", "heat", "osem", "poisson", "summa"} <= set(SKELETONS)
