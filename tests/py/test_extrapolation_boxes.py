"""Contents of boxes of a lattice, and chance: fits against programs that count by themselves."""

from __future__ import annotations

import time

import numpy as np
import pytest

import isthmus
import samples
from isthmus import ProgramBuilder
from isthmus.errors import InvalidInput
from isthmus.extrapolation import Blueprint, boxes, deviation, difference, fit, generate, text, volumes
from isthmus.extrapolation.charts import Grid
from isthmus.extrapolation.formulas import variables
from isthmus.extrapolation.rules import Windows
from isthmus.extrapolation.text import parse_text, rule
from isthmus.extrapolation.where import Data, Where
from isthmus.schedule.event import SENDS, EventKind

CUBE = Grid((0, 1, 2))


def fitted(make, sizes: tuple[int, ...] = (8, 27, 64)) -> Blueprint:  # type: ignore[no-untyped-def]
    """A blueprint, by way of its text."""
    return parse_text(text(fit([(f"{ranks}", make(ranks), {}) for ranks in sizes])))


def atoms(points: int, origin: float, reach: float, every: int):  # type: ignore[no-untyped-def]
    """Ghosts of a lattice in a periodic cube, side after side, later sides with the ghosts of earlier ones.

    Points are counted one by one from their coordinates. ``every`` 1: all points, 2: those of even sums of indices, as
    in a face-centred crystal.
    """
    line = np.arange(-points, 2 * points)

    def make(ranks: int) -> isthmus.Program:
        side = round(ranks ** (1 / 3))
        place = CUBE.place(np.arange(ranks), ranks)
        cut = points / side

        def within(low: float, high: float) -> np.ndarray:  # type: ignore[type-arg]
            return line[(line + origin >= low) & (line + origin < high)]

        def content(index: list[np.ndarray]) -> int:  # type: ignore[type-arg]
            sums = index[0][:, None, None] + index[1][None, :, None] + index[2][None, None, :]
            return int((sums % every == 0).sum())

        b = ProgramBuilder(ranks)
        rank = np.arange(ranks)
        for axis in range(3):
            for step in (-1, 1):
                there = place.copy()
                there[axis] = (there[axis] + step) % side
                there_ = np.ravel_multi_index(tuple(there), CUBE.sides(ranks))
                back = np.argsort(there_)
                size = np.zeros(ranks, np.int64)
                for r in rank:
                    index = []
                    for other in range(3):
                        low, high = cut * place[other][r], cut * (place[other][r] + 1)
                        wide = reach if other < axis else 0.0
                        if other == axis:
                            low, high = (low, low + reach) if step < 0 else (high - reach, high)
                        index.append(within(low - wide, high + wide))
                    size[r] = 24 * content(index)
                request = b.irecv(None, back, size[back])
                b.send(None, there_, size)
                b.wait(None, request)
        b.allreduce(None, 8)
        return b.build()

    return make


@pytest.mark.parametrize(
    ("points", "origin", "every"),
    [(24, 0.0, 1), (24, 0.0, 2), (20, 0.2, 1), (20, 0.2, 2), (30, 0.2, 2)],
)
def test_ghosts_of_a_lattice_are_exact(points: int, origin: float, every: int) -> None:
    """Of 20 points no run of 27 ranks has equal parts; of 24 all recordings have."""
    make = atoms(points, origin, 3.3, every)
    blueprint = fitted(make)
    assert blueprint.shares()["exact"] == pytest.approx(1, abs=1e-3)
    for ranks in (8, 27, 64) if points == 24 else (8, 27, 64, 125):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_points_that_recordings_do_not_tell_are_said() -> None:
    """How far beyond a cut a layer ends is known between two points only: at other cuts that may not be enough."""
    make = atoms(23, 0.0, 3.35, 1)
    blueprint = fitted(make)
    assert blueprint.shares()["exact"] == pytest.approx(1, abs=1e-3)
    assert "extents do not divide" in generate(blueprint, 125).origin
    more = fitted(make, (8, 27, 64, 125))
    assert difference(make(125), generate(more, 125)) is None


@pytest.mark.parametrize("reach", [3.22, 3.78])
def test_layers_that_end_near_a_cut_are_said(reach: float) -> None:
    """As far as recordings know a layer may end at the cut itself, or just behind it; at 125 ranks it does not."""
    make = atoms(23, 0.0, reach, 1)
    made = generate(fitted(make), 125)
    assert difference(make(125), made) is not None
    assert "extents do not divide" in made.origin


def single(values: dict[int, int]) -> list[Data]:
    """One number of all ranks in each run."""
    return [
        Data(Where(variables(ranks, {}), *(np.arange(ranks) * i for i in (1, 0, 0))), np.full(ranks, value))
        for ranks, value in values.items()
    ]


def test_few_numbers_are_no_law() -> None:
    """By chance 23 / 7 of the points of some box are there: thousands of boxes are tried."""
    found = boxes.find(single({8: 8 * 210, 27: 8 * 171, 64: 8 * 122}), [Grid((0, 1))], [])
    assert found is None or found.label == "fitted"
    # As many parameters as numbers: the size of a point, points along a side, layers.
    for grid in (CUBE, Grid((0, 1)), Grid((0,))):
        found = boxes.find(single({8: 26, 27: 24, 64: 23}), [grid], [])
        assert found is None or found.label == "fitted"
    # Recordings of one number of ranks tell nothing of others.
    same = [one for _ in range(3) for one in single({64: 600})]
    assert boxes.find(same, [CUBE], []) is None


@pytest.mark.parametrize("sizes", [(8, 27, 64), (8, 27, 64, 125)])
def test_numbers_by_chance_are_not_exact(sizes: tuple[int, ...]) -> None:
    """Small sizes of messages that follow no law; some lie on one nevertheless: at most one in a hundred is exact."""
    rng = np.random.default_rng(3)
    exact = boxed = 0
    # All of them in proofs, as each takes a tenth of a second.
    for _ in range(300 if samples.seed() is None else 60):
        most = int(rng.integers(6, 40))
        values = sorted(rng.integers(most // 2, most, len(sizes)).tolist(), reverse=True)
        if len(set(values)) < len(sizes):
            continue
        found = boxes.find(single(dict(zip(sizes, values, strict=True))), [CUBE], [])
        boxed += found is not None
        exact += found is not None and found.label == "exact"
    assert boxed > exact
    assert exact <= 3


def halo(points: int, layers: int, many: bool):  # type: ignore[no-untyped-def]
    """Faces of boxes with layers of halo along the others: one after the other, or all alike."""

    def make(ranks: int) -> isthmus.Program:
        side = round(ranks ** (1 / 3))
        place = CUBE.place(np.arange(ranks), ranks)
        own = points // side
        b = ProgramBuilder(ranks)
        for axis in range(3):
            there = place.copy()
            there[axis] = (there[axis] + 1) % side
            peer = np.ravel_multi_index(tuple(there), CUBE.sides(ranks))
            back = np.argsort(peer)
            wide = [own + 2 * layers * (other < axis if many else 1) for other in range(3) if other != axis]
            request = b.irecv(None, back, 8 * wide[0] * wide[1])
            b.send(None, peer, 8 * wide[0] * wide[1])
            b.wait(None, request)
        return b.build()

    return make


@pytest.mark.parametrize(("points", "layers"), [(24, 1), (48, 2), (120, 1)])
def test_several_numbers_tell_layers_together(points: int, layers: int) -> None:
    """Three sizes of one kind of message leave three parameters open; messages with other layers decide them."""
    make = halo(points, layers, True)
    blueprint = fitted(make)
    assert blueprint.shares()["exact"] == pytest.approx(1)
    assert difference(generate(blueprint, 216), make(216)) is None
    # One kind alone: right here, but with as many parameters as numbers.
    blueprint = fitted(halo(points, layers, False))
    assert blueprint.shares()["exact"] == pytest.approx(0, abs=1e-6)
    # A fourth size makes it sure.
    if points == 120:
        assert fitted(halo(points, layers, False), (8, 27, 64, 125)).shares()["exact"] == pytest.approx(1)


def test_long_sides_take_no_longer() -> None:
    """Sides of prime length have a cut at every fraction."""
    rng = np.random.default_rng(1)
    data = [Data(one.where, 8 * rng.integers(1000, 1040, one.where.ranks)) for one in single({31: 1, 61: 1, 509: 1})]
    begin = time.process_time()
    assert boxes.find(data, [Grid((0, 1))], []) is None
    assert time.process_time() - begin < 5


def test_faces_with_layers_on_any_box() -> None:
    """Faces of a mesh with one layer of halo on all sides: (n / y + 2) (n / z + 2), on boxes that are no cubes."""

    def make(ranks: int) -> isthmus.Program:
        sides = CUBE.sides(ranks)
        b = ProgramBuilder(ranks)
        for axis in range(3):
            there = CUBE.place(np.arange(ranks), ranks)
            there[axis] = (there[axis] + 1) % sides[axis]
            peer = np.ravel_multi_index(tuple(there), sides)
            size = 8 * int(np.prod([120 // sides[other] + 2 for other in range(3) if other != axis]))
            request = b.irecv(None, np.argsort(peer), size)
            b.send(None, peer, size)
            b.wait(None, request)
        return b.build()

    blueprint = fitted(make, (8, 12, 24, 27, 36, 60))
    assert blueprint.shares()["exact"] == pytest.approx(1)
    for ranks in (18, 48, 64, 125, 1000):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_sides_of_two_ranks() -> None:
    """A side of two ranks has one neighbour, a longer one has two."""

    def make(ranks: int) -> isthmus.Program:
        sides = CUBE.sides(ranks)
        b = ProgramBuilder(ranks)
        for axis in range(3):
            for step in (-1, 1) if sides[axis] > 2 else (-1,):
                there = CUBE.place(np.arange(ranks), ranks)
                there[axis] = (there[axis] + step) % sides[axis]
                peer = np.ravel_multi_index(tuple(there), sides)
                request = b.irecv(None, np.argsort(peer), 64)
                b.send(None, peer, 64)
                b.wait(None, request)
        return b.build()

    blueprint = fitted(make)
    for ranks in (8, 27, 64, 125):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_blocks_that_are_skewed() -> None:
    """Cannon's product: each row shifts by its number, each column by its own, then both by one."""

    def make(ranks: int) -> isthmus.Program:
        side = round(ranks**0.5)
        row, column = np.divmod(np.arange(ranks), side)
        b = ProgramBuilder(ranks)

        def shift(place: str, rows: np.ndarray, columns: np.ndarray) -> None:  # type: ignore[type-arg]
            peer = (row - rows) % side * side + (column - columns) % side
            with b.location(place):
                request = b.irecv(None, np.argsort(peer), 2**20 // ranks)
                b.send(None, peer, 2**20 // ranks)
                b.wait(None, request)

        none = np.zeros(ranks, np.int64)
        shift("skew of rows", none, row)
        shift("skew of columns", column, none)
        for _ in range(side - 1):
            shift("rows", none, none + 1)
            shift("columns", none + 1, none)
        return b.build()

    blueprint = fitted(make, (16, 64, 256))
    assert blueprint.shares()["exact"] == pytest.approx(1)
    for ranks in (4, 16, 256, 1024):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_halving_and_doubling() -> None:
    """A sum over all ranks by recursive halving, and what comes back by doubling."""

    def make(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        rank = np.arange(ranks)
        steps = ranks.bit_length() - 1
        for place, order in (("halve", range(steps)), ("double", reversed(range(steps)))):
            for step in order:
                with b.location(place):
                    peer = rank ^ (ranks >> (step + 1))
                    request = b.irecv(None, peer, 2**19 >> step)
                    b.send(None, peer, 2**19 >> step)
                    b.wait(None, request)
        return b.build()

    blueprint = fitted(make, (4, 8, 16))
    assert blueprint.shares()["exact"] == pytest.approx(1)
    for ranks in (2, 16, 64, 512):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_a_side_that_never_changes() -> None:
    blueprint = fitted(lambda ranks: isthmus.example(f"stencil:ranks={ranks},steps=2"), (12, 15, 18))
    assert difference(isthmus.example("stencil:ranks=21,steps=2"), generate(blueprint, 21)) is None


def test_windows_as_text() -> None:
    first, last = "[0: 40 from +0 2/3..1 to +0 0..1/3 more 4]", "[2: 40 from +0 2/3..1 to +1 2/3..1 more 0]"
    words = f"windows 24 1/2 checked 1 of grid3 {first} {last}"
    found = rule(words)
    assert isinstance(found, Windows)
    assert str(found) == words
    assert str(rule(f"{words} (fitted)")) == f"{words} (fitted)"
    for bad in ("windows 24", words.replace("grid3", "grid2"), words.replace("2/3..1 to", "a..b to")):
        with pytest.raises(ValueError, match=r"24|Invalid literal"):
            rule(bad)


def test_means_of_boxes() -> None:
    """Particles that have moved: faces with layers, within half a percent, and growth that no box has."""
    rng = np.random.default_rng(5)
    sizes = (8, 27, 64)
    runs = [variables(ranks, {}) for ranks in (*sizes, 125)]
    true = [1e6 / round(ranks ** (1 / 3)) * (1 / round(ranks ** (1 / 3)) + 0.1) for ranks in (*sizes, 125)]
    noisy = [value * (1 + 0.002 * rng.standard_normal()) for value in true[:3]]
    found = volumes.mean(runs[:3], noisy, CUBE, (0, 0, 1))
    assert found is not None
    assert found(runs[3]) == pytest.approx(true[3], rel=0.01)
    assert volumes.mean(runs[:3], [10.0, 100.0, 500.0], CUBE) is None


def served(tasks: int):  # type: ignore[no-untyped-def]
    """A master that gives tasks to whom chance serves next, as examples/master_worker.c; nobody waits for long."""

    def make(ranks: int) -> isthmus.Program:
        rng = np.random.default_rng(ranks)
        b = ProgramBuilder(ranks)

        def message(place: str, source: int, peer: int, size: int, tag: int) -> None:
            with b.location(f"send of {place}"):
                b.send(source, peer, size, tag=tag)
            with b.location("work" if source == 0 else f"receive of {place}"):
                b.recv(peer, source, size, tag=tag)

        for worker in range(1, ranks):
            message("first", 0, worker, 24, 1)
        left = tasks - (ranks - 1)
        busy = list(range(1, ranks))
        while busy:
            # Whoever has waited longest, or one of the next two.
            worker = busy.pop(min(int(rng.integers(3)), len(busy) - 1))
            message("answer", worker, 0, 24, 2)
            if left:
                left -= 1
                message("next", 0, worker, 24, 1)
                busy.append(worker)
            else:
                message("stop", 0, worker, 0, 3)
        message("sum", 1, 0, 8, 2)
        b.reduce(None, 8)
        return b.build()

    return make


@pytest.mark.parametrize("sizes", [(8, 27, 64), (8, 16, 27, 48, 64)])
def test_chance_decides_who_is_served(sizes: tuple[int, ...]) -> None:
    make = served(100)
    blueprint = fitted(make, sizes)
    assert 0 < blueprint.shares()["guessed"] < 1
    for ranks in (16, 40):
        recorded, made = make(ranks), generate(blueprint, ranks)
        sends, theirs = (np.isin(one.kind, SENDS) for one in (recorded, made))
        assert sends.sum() == theirs.sum()
        assert recorded.amount[sends].sum() == made.amount[theirs].sum()
        assert (made.kind == EventKind.recv).sum() == sends.sum()
        assert deviation(recorded, made).collectives
        assert isthmus.simulate(made, "torus:4x4x4").deadlock is None


def test_a_program_that_differs_is_still_refused() -> None:
    make = served(100)
    with pytest.raises(InvalidInput, match="different programs"):
        fit([("a", make(8), {}), ("b", make(27), {}), ("c", isthmus.example("cg:ranks=64,steps=1"), {})])
