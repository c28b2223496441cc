"""Skeletons of applications by closed forms, slow oracles, and recordings of programs of their kind."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.schedule.program import CollectiveKind, EventKind
from isthmus.skeletons import SKELETONS, skeleton
from isthmus.skeletons.catalogue import read
from isthmus.skeletons.hydro import slabs
from isthmus.skeletons.parts import Box, cells_of_halo
from isthmus.skeletons.refined import contacts, refined

ROOT = Path(__file__).parents[2]


def sends(program: isthmus.Program) -> np.ndarray:
    """Rows of rank, peer and bytes, in the world."""
    which = np.isin(program.kind, [EventKind.send, EventKind.isend]) & (program.peer >= 0)
    rank = np.repeat(np.arange(program.ranks), np.diff(program.first.astype(np.int64)))
    return np.stack([rank[which], program.peer[which], program.amount[which]], 1).astype(np.int64)


def calls(program: isthmus.Program) -> Counter[tuple[CollectiveKind, int]]:
    """Calls of collectives: kind and bytes."""
    which = program.kind == EventKind.collective
    pairs = zip(program.what[which].tolist(), program.amount[which].tolist(), strict=True)
    return Counter((CollectiveKind(kind), amount) for kind, amount in pairs)


@pytest.mark.parametrize(
    ("sides", "periodic"), [((3, 4), False), ((2, 3, 4), False), ((2, 3, 4), True), ((1, 5), True)]
)
def test_halos_of_boxes(sides: tuple[int, ...], periodic: bool) -> None:
    box = Box(sides, periodic)
    place = [*np.ndindex(*sides)]
    expected = Counter()
    for one, step in itertools.product(place, itertools.product((-1, 0, 1), repeat=len(sides))):
        there = tuple(a + s for a, s in zip(one, step, strict=True))
        if periodic:
            there = tuple(a % side for a, side in zip(there, sides, strict=True))
        if there in place and there != one:
            expected[place.index(one), place.index(there), 5 ** step.count(0)] += 1
    halo = box.halo(cells_of_halo(5))
    assert Counter(zip(*(column.tolist() for column in halo), strict=True)) == expected
    faces = box.halo(cells_of_halo(5), 1)
    assert len(faces.source) == sum(n for key, n in expected.items() if key[2] == 5 ** (len(sides) - 1))
    for axis in range(len(sides)):
        line = box.lines(axis)
        assert len(set(line.tolist())) == box.ranks // sides[axis]
        assert all(
            (line[i] == line[j]) == (place[i][:axis] + place[i][axis + 1 :] == place[j][:axis] + place[j][axis + 1 :])
            for i, j in itertools.combinations(range(box.ranks), 2)
        )


def test_cth() -> None:
    """4 x 4 x 4 ranks have 2 x 3 x 48 faces; one message a variable has as many bytes."""
    packed = skeleton("cth:ranks=64,cells=10,variables=7,exchanges=5,sums=12,steps=3,compute=1s")
    assert len(sends(packed)) == 288 * 5 * 3
    assert set(sends(packed)[:, 2]) == {100 * 7 * 8}
    assert calls(packed) == {(CollectiveKind.allreduce, 8): 64 * 12 * 3}
    assert packed.amount[packed.kind == EventKind.compute].sum() == 64 * 3 * 10**12
    single = skeleton("cth:ranks=64,cells=10,variables=7,exchanges=5,sums=12,steps=3,packed=0")
    assert len(sends(single)) == 7 * len(sends(packed))
    assert sends(single)[:, 2].sum() == sends(packed)[:, 2].sum()


@pytest.mark.parametrize(("ranks", "cells"), [(8, 27), (13, 100), (64, 8), (5, 1000), (1, 64)])
def test_slabs_of_sage(ranks: int, cells: int) -> None:
    """Cell by cell."""
    edge = round((ranks * cells) ** (1 / 3))
    owner = np.arange(ranks * cells) // cells
    expected: Counter[tuple[int, int]] = Counter()
    for away in (1, edge, edge**2):
        for low, high in zip(owner[:-away].tolist(), owner[away:].tolist(), strict=True):
            if low != high:
                expected[low, high] += 1
                expected[high, low] += 1
    found = slabs(ranks, cells)
    assert {(s, t): n for s, t, n in zip(*(c.tolist() for c in found), strict=True)} == expected


def test_sage() -> None:
    program = skeleton("sage:ranks=27,cells=1000,reals=3,integers=2,sums=7,steps=2")
    once = slabs(27, 1000).bytes.sum()
    assert sends(program)[:, 2].sum() == 2 * (3 * 8 + 2 * 4) * once
    assert calls(program) == {(CollectiveKind.allreduce, 8): 27 * 7 * 2}


def test_cg() -> None:
    """A rank in the middle of 3 x 3 x 3 has 26 neighbours."""
    program = skeleton("cg:ranks=27,cells=10,sums=2,steps=4")
    middle = sends(program)[sends(program)[:, 0] == 13]
    assert Counter(middle[:, 2].tolist()) == {800: 6 * 4, 80: 12 * 4, 8: 8 * 4}
    assert calls(program) == {(CollectiveKind.allreduce, 8): 27 * 2 * 4}


def test_charon() -> None:
    """As much to a neighbour as back; most messages are small; half the sums grow up to the restart."""
    program = skeleton("charon:ranks=64,iterations=35,steps=1")
    matrix = np.zeros((64, 64))
    np.add.at(matrix, (sends(program)[:, 0], sends(program)[:, 1]), sends(program)[:, 2])
    assert (matrix == matrix.T).all()
    partners = np.count_nonzero(matrix, axis=1)
    assert 6 <= partners.min() < 18 <= partners.max()
    assert np.median(sends(program)[:, 2]) < 1000
    sums = {amount // 8: n for (_, amount), n in calls(program).items()}
    assert sums == {1: 64 * (35 + 1 + 2), **dict.fromkeys(range(2, 6), 128), **dict.fromkeys(range(6, 31), 64)}


def test_sweep() -> None:
    """Two wavefronts a corner; no longer than if the pipeline were filled anew for each."""
    program = skeleton("sweep:ranks=12,cells=20,planes=5,angles=3,steps=2,compute=32ms")
    # 4 x 3 ranks: 3 x 3 links in one dimension, 4 x 2 in the other, 8 octants of 4 blocks.
    assert len(sends(program)) == 17 * 8 * 4 * 2
    assert set(sends(program)[:, 2]) == {20 * 5 * 3 * 8}
    alone = skeleton("sweep:ranks=1,cells=20,planes=5,angles=3,steps=2,compute=32ms")
    fast = isthmus.simulate(program, "torus:4x3").makespan
    assert fast > isthmus.simulate(alone, "torus:4x3").makespan
    # From a corner to one elsewhere the pipeline fills anew: at most once a corner.
    assert fast < 2 * 32e-3 * (1 + 8 * 5 / (8 * 4)) + 0.01


def test_umt() -> None:
    """Through each face of 2 x 2 x 2 ranks in half of the octants."""
    program = skeleton("umt:ranks=8,zones=64,groups=10,angles=2,iterations=3,sums=4,steps=1")
    assert len(sends(program)) == 24 * 4 * 2 * 3
    assert set(sends(program)[:, 2]) == {8 * 10 * 4 * 16}
    assert calls(program) == {(CollectiveKind.allreduce, 8): 8 * 4 * 3}


@pytest.mark.parametrize("pencils", [0, 1])
def test_fft(pencils: int) -> None:
    """A transform moves all of the cube but what stays, once or twice."""
    program = skeleton(f"fft:ranks=16,points=32,pencils={pencils},steps=3")
    block = 32**3 * 16 // 16 // (4 if pencils else 16)
    assert calls(program) == {(CollectiveKind.alltoall, block): 16 * 3 * (1 + pencils)}


def test_namd() -> None:
    """Thirteen neighbours a rank get coordinates, and forces come back; the mesh every third step."""
    program = skeleton("namd:ranks=64,atoms=64000,cutoff=12,every=3,steps=7")
    out = sends(program)
    assert (np.bincount(out[:, 0]) == 26 * 7).all()
    edge = (1000 / 0.1) ** (1 / 3)
    atoms = [0.1 * edge ** (3 - away) * 12**away for away in (1, 2, 3)]
    number = np.array([3, 6, 4]) * 64 * 7
    for size in (32, 24):
        for n, count in zip(atoms, number, strict=True):
            assert (out[:, 2] == size * round(n)).sum() == count
    collectives = Counter(kind for (kind, _), n in calls(program).items() for _ in range(n))
    assert collectives == {CollectiveKind.alltoall: 64 * 3 * 6, CollectiveKind.allreduce: 64 * 7}


def test_openatom() -> None:
    """On 4 x 4 ranks: 8 states and 16 planes each; a sphere in the cube of coefficients."""
    program = skeleton("openatom:ranks=16,states=32,points=64,steps=2")
    column = 8 * round(64**3 * np.pi / 16) * 16 // 16
    sphere = 8 * round(64**3 * np.pi / 48) * 16 // 4
    assert calls(program) == {
        (CollectiveKind.alltoall, column): 16 * 2 * 2,
        (CollectiveKind.allreduce, 64**3 * 8 // 4): 16 * 2,
        (CollectiveKind.allgather, sphere): 16 * 2,
        (CollectiveKind.reduce_scatter, sphere): 16 * 2,
        (CollectiveKind.allreduce, 64): 16 * 2,
    }


def test_bfs() -> None:
    """All edges, both ways, 16 B each."""
    program = skeleton("bfs:ranks=32,scale=24,degree=16,steps=1")
    volume = sum(amount * n for (kind, amount), n in calls(program).items() if kind == CollectiveKind.alltoall) * 32
    assert volume == pytest.approx(2 * 16 * 2**24 * 16, rel=0.001)


@pytest.mark.parametrize("levels", [0, 1, 2, 3])
def test_blocks_of_a_refined_mesh(levels: int) -> None:
    """Cell by cell of the finest level: all of the cube once, neighbours, levels that differ by one, along a curve."""
    side = 4
    mesh = refined(side, levels)
    fine = side << levels
    owner = np.full((fine, fine, fine), -1)
    for number, (level, x, y, z) in enumerate(mesh.tolist()):
        w = 1 << (levels - level)
        part = owner[x * w : (x + 1) * w, y * w : (y + 1) * w, z * w : (z + 1) * w]
        assert (part == -1).all()
        part[:] = number
    assert (owner >= 0).all()
    assert (levels == 0) == (len(mesh) == side**3)
    expected: Counter[tuple[int, int]] = Counter()
    for axis in range(3):
        low, high = np.take(owner, range(fine - 1), axis), np.take(owner, range(1, fine), axis)
        different = low != high
        expected.update(zip(low[different].tolist(), high[different].tolist(), strict=True))
    pairs = {frozenset(pair) for pair in expected}
    one, other, finer = contacts(mesh)
    assert len(one) == len(pairs)
    assert {frozenset(pair) for pair in zip(one.tolist(), other.tolist(), strict=True)} == pairs
    assert (mesh[one, 0] - mesh[other, 0] == finer).all()
    # Few ranks apart along the curve: two in three neighbours of a block are near it.
    assert np.median(np.abs(one - other)) < len(mesh) / 8


def test_many_ranks() -> None:
    """131,072 ranks, and a closed form."""
    program = skeleton("cth:ranks=131072,exchanges=1,sums=1,steps=1")
    which = np.count_nonzero(program.kind == EventKind.isend)
    assert which == 2 * sum(131072 // s * (s - 1) for s in (64, 64, 32))


def test_defaults_say_where_they_come_from() -> None:
    for one in SKELETONS.values():
        assert {p.origin for p in one.parameters} <= {"", "stated", "source", "recalled", "assumed"}
        assert bool(one.source) == any(p.origin for p in one.parameters)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("mpicc.openmpi") is None or not Path("/usr/include/fftw3.h").exists():
        pytest.skip("Open MPI or FFTW is not installed")
    folder = tmp_path_factory.mktemp("examples")
    command = ["make", "-s", "-C", ROOT / "examples", "MPICC=mpicc.openmpi", "MPIFC=mpifort.openmpi", f"OUT={folder}"]
    subprocess.run([*command, f"{folder}/halo3d", f"{folder}/fft3d"], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("halo3d 24 10", "cth:ranks=8,cells=12,variables=1,exchanges=1,sums=0,steps=10"),
        # One transform, then three times there and back.
        ("fft3d 16 3", "fft:ranks=4,points=16,pencils=1,steps=7"),
    ],
)
def test_like_a_recording(examples: Path, tmp_path: Path, program: str, text: str) -> None:
    """Messages and exchanges among ranks of a row are those of the example, cell by cell."""
    built = skeleton(text)
    name, *arguments = program.split()
    launch = ["mpirun.openmpi", "--oversubscribe", "-n", str(built.ranks), str(examples / name), *arguments]
    command = [sys.executable, "-m", "isthmus", "record", "-o", "x.h5", "--", *launch]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    recorded = isthmus.read(tmp_path / "x.h5")
    assert isinstance(recorded, isthmus.Program)
    assert Counter(map(tuple, sends(recorded).tolist())) == Counter(map(tuple, sends(built).tolist()))
    exchanges = [
        {key: n for key, n in calls(p).items() if key[0] == CollectiveKind.alltoall} for p in (recorded, built)
    ]
    assert exchanges[0] == exchanges[1]


def test_algebraic_multigrid_has_the_messages_of_its_hierarchy() -> None:
    """Message by message the cycle that :mod:`isthmus.multigrid` makes of the same hierarchy."""
    pyamg = pytest.importorskip("pyamg")
    from isthmus.multigrid import boxes, hierarchy
    from isthmus.multigrid import program as cycle

    np.random.seed(1)
    matrix = pyamg.gallery.poisson((18, 12, 12), format="csr")
    solver = pyamg.ruge_stuben_solver(matrix, CF="PMIS", interpolation="direct", max_coarse=9)
    expected = cycle(hierarchy(solver, boxes((18, 12, 12), (3, 2, 2))))
    made = skeleton("amg:ranks=12,points=6,products=0,sums=0,steps=1")
    assert sends(made).tolist() == sends(expected).tolist()
    # Computation goes by nonzeros, and is what was asked for on average.
    seconds = made.amount[made.kind == EventKind.compute].sum() / 1e12
    assert seconds / 12 == pytest.approx(1e-2, rel=1e-6)


def test_algebraic_multigrid_grows() -> None:
    """Fine levels grow with the points of a rank, coarse ones stay as they were computed."""
    pytest.importorskip("pyamg")
    from isthmus.skeletons import algebraic

    small, large = algebraic.levels(512, 10), algebraic.levels(512, 80)
    computed = algebraic._computed((8, 8, 8), 15)
    assert small[0].rows == 1000
    assert large[0].rows == pytest.approx(80**3)
    assert [one.rows for one in large[-4:]] == [one.rows for one in computed[-4:]]
    rows = [one.rows for one in large]
    assert all(2 < a / b < 40 for a, b in itertools.pairwise(rows))
    faces = np.bincount(large[0].matrix.messages.source, large[0].matrix.messages.bytes)
    assert faces.max() == 6 * 80**2 * 8
    assert np.bincount(large[0].matrix.messages.source).max() == 6


def test_algebraic_multigrid_too_large() -> None:
    """A rank has at least 4^3 points where a smaller problem is computed: a million ranks would take 47 GB."""
    with pytest.raises(isthmus.InvalidInput, match="67,108,864 rows would be computed: must be at most 262,144, or"):
        skeleton("amg:ranks=1048576")


def test_algebraic_multigrid_in_pieces() -> None:
    """Pieces one after the other are the program."""
    pytest.importorskip("pyamg")
    found, given = read("amg:ranks=8,points=6,steps=2")
    whole = found.build(given)
    pieces = found.pieces(found.values(given))
    parts = [pieces.build(number) for number in range(len(pieces))]
    assert len(parts) > 2
    assert np.concatenate([sends(one) for one in parts]).shape == sends(whole).shape
    assert sum(int((one.kind == EventKind.collective).sum()) for one in parts) == 8 * 6
