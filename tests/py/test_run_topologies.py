"""isthmus run -- COMMAND: communicators whose ranks may be reordered, answered by the mapper."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.mapping import launch
from isthmus.running.taken import Reordered, Taken
from mpi_programs import compiled
from test_run_program import MPIS, run

RANKS, ROWS = 12, 4
KEPT = {"no order was found that has fewer hop-bytes", "a wrong argument"}
Edges = Iterable[tuple[int, int, int]]


def placed(machine: str, ranks: int, file: Path, order: str = "random") -> isthmus.Placement:
    """Ranks somewhere on a machine, and the file that says where."""
    placement = isthmus.Placement.of(isthmus.load(machine).allocate(), ranks, order, seed=3)
    launch.write(placement, "places", file)
    return placement


def weight(a: int, b: int) -> int:
    return 1 + (a * 7 + b * 3) % 5


def grid(extents: tuple[int, ...], wraps: tuple[bool, ...]) -> list[tuple[int, int, int]]:
    """Neighbours of MPI's grids, whose last coordinate varies fastest; each pair once."""
    at = np.arange(np.prod(extents)).reshape(extents)
    out: list[tuple[int, int, int]] = []
    for d, (extent, wrap) in enumerate(zip(extents, wraps, strict=True)):
        last = extent if wrap else extent - 1
        pairs = zip(np.take(at, range(last), d).flat, np.roll(at, -1, d).take(range(last), d).flat, strict=True)
        out += [(int(a), int(b), 1) for a, b in pairs]
    return out


def graph(weigh: Callable[[int, int], int], every_other: int) -> list[tuple[int, int, int]]:
    """Far neighbours of all ranks, near ones of some."""
    out = [(r, (r + RANKS // 2) % RANKS, weigh(r, (r + RANKS // 2) % RANKS)) for r in range(RANKS)]
    near = [(r, (r + 1) % RANKS) for r in range(RANKS) if r % every_other]
    return out + [(a, b, weigh(a, b)) for a, b in near]


def one(a: int, b: int) -> int:
    return 1


#: The communicators of arranged.c: how they are made, the ranks that there were, and who are neighbours.
MADE: dict[str, tuple[str, list[int], Edges]] = {
    "cart": ("cart", [*range(RANKS)], grid((ROWS, RANKS // ROWS), (True, False))),
    "part": ("cart", [*range(RANKS)], grid((ROWS - 1, RANKS // ROWS), (True, True))),
    "even": ("cart", [*range(RANKS - 2, -1, -2)], grid((RANKS // 2,), (True,))),
    "odd": ("cart", [*range(RANKS - 1, 0, -2)], grid((RANKS // 2,), (True,))),
    "graph": ("graph", [*range(RANKS)], 2 * graph(one, 1)[:RANKS]),
    "dist_graph": ("dist_graph", [*range(RANKS)], graph(one, 3)),
    "weighted": ("dist_graph", [*range(RANKS)], graph(weight, 3)),
    "adjacent": ("dist_graph_adjacent", [*range(RANKS)], graph(one, 3)),
    "adjacent_weighted": ("dist_graph_adjacent", [*range(RANKS)], graph(weight, 3)),
}


#: Those of arranged.F90.
FROM_FORTRAN = ("cart", "graph", "dist_graph", "weighted", "adjacent", "adjacent_weighted")


def compared(
    placement: isthmus.Placement, printed: str, found: list[dict[str, object]], names: Iterable[str] = MADE
) -> None:
    """What is reported is what the orders that the program has seen make of the hop-bytes."""
    seen: dict[str, list[int]] = {}
    for line in printed.splitlines():
        if line.startswith("order "):
            kind, rank, old = line.split()[1:]
            assert len(seen.setdefault(kind, [])) == int(rank)
            seen[kind].append(int(old))
    assert seen.keys() == set(names)
    sums = {MADE[name][0]: [0, 0.0, 0.0] for name in names}
    for name in names:
        kind, before, edges = MADE[name]

        def hop_bytes(ranks: list[int], edges: Edges = edges) -> float:
            nodes = placement.node
            return sum(w * int(placement.machine.distance(nodes[ranks[a]], nodes[ranks[b]])) for a, b, w in edges)

        if name != "part":
            assert sorted(seen[name]) == sorted(before)
        was, now = hop_bytes(before), hop_bytes(seen[name])
        assert now <= was, name
        if now < was:
            for i, more in enumerate((1, was, now)):
                sums[kind][i] += more
    assert {str(made["kind"]): [made["done"], made["hop_bytes_before"], made["hop_bytes"]] for made in found} == sums


@pytest.mark.parametrize("name", MPIS)
def test_every_function(name: str, tmp_path: Path) -> None:
    placement = placed("torus:4x3", RANKS, tmp_path / "places")
    program = compiled("arranged.c", name, tmp_path)
    found, printed = run(name, RANKS, program, str(ROWS), ISTHMUS_PLACES=str(tmp_path / "places"))
    assert " checks, 0 wrong" in printed
    compared(placement, printed, found["reordered"])
    assert sum(made["done"] for made in found["reordered"]) >= 8
    assert {why for made in found["reordered"] for why in made["kept"]} <= KEPT


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("module", ["MPIF", "MPI", "F08"])
def test_fortran(name: str, module: str, tmp_path: Path) -> None:
    placement = placed("torus:4x3", RANKS, tmp_path / "places")
    options = ["-ffree-line-length-none", "-fallow-argument-mismatch", f"-D{module}"]
    program = compiled("arranged.F90", name, tmp_path, *options)
    found, printed = run(name, RANKS, program, str(ROWS), ISTHMUS_PLACES=str(tmp_path / "places"))
    assert " checks, 0 wrong" in printed
    compared(placement, printed, found["reordered"], FROM_FORTRAN)
    assert sum(made["done"] for made in found["reordered"]) == len(FROM_FORTRAN)


def test_mpi4py(tmp_path: Path) -> None:
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import mpi4py"], capture_output=True, check=False).returncode:
        pytest.skip("mpi4py is not installed")
    placement = placed("torus:4x3", RANKS, tmp_path / "places")
    script = tmp_path / "ordered.py"
    script.write_text(
        "from mpi4py import MPI\nw = MPI.COMM_WORLD\n"
        f"c = w.Create_cart([{ROWS}, {RANKS // ROWS}], [True, False], reorder=True)\n"
        "old = c.gather(w.rank)\n"
        "if old: [print('order cart', i, r) for i, r in enumerate(old)]\n"
    )
    found, printed = run("openmpi", RANKS, python, script, ISTHMUS_PLACES=str(tmp_path / "places"))
    compared(placement, printed, found["reordered"], ["cart"])
    assert found["reordered"][0]["done"] == 1


@pytest.mark.parametrize("name", MPIS)
def test_without_places_of_its_ranks(name: str, tmp_path: Path) -> None:
    """A program whose places are not known, or those of others, gets what the MPI library makes; no rank waits."""
    program = compiled("arranged.c", name, tmp_path)
    placed("torus:3x3", 9, tmp_path / "nine")
    (tmp_path / "silent").write_text(
        "isthmus places 1\n" + "".join(f"rank {r} node {r} n{r} core 0 at\n" for r in range(4))
    )
    for places, why, said in (
        ("", "the places of the ranks are not known", ""),
        ("nine", "the file of places cannot be used", "has places of 9 ranks, and the program has 4"),
        ("none", "the file of places cannot be used", "none: No such file or directory"),
        ("silent", "the file of places cannot be used", "does not say hops"),
    ):
        settings = {"ISTHMUS_PLACES": str(tmp_path / places)} if places else {}
        found, printed = run(name, 4, program, "2", **settings)
        assert " checks, 0 wrong" in printed
        kept = {reason for made in found["reordered"] for reason in made["kept"]}
        assert kept - KEPT == {why}
        assert not any(made["done"] for made in found["reordered"])
        assert said in printed
    placed("mesh:4", 4, tmp_path / "places")
    settings = {"ISTHMUS_PLACES": str(tmp_path / "places")}
    found, printed = run(name, 4, program, "2", options=("--reproducible",), **settings)
    assert not any(made["done"] for made in found["reordered"])


def test_one_rank_and_two(tmp_path: Path) -> None:
    program = compiled("arranged.c", "openmpi", tmp_path)
    for ranks in (1, 2):
        placed("torus:2x2,cores=2", ranks, tmp_path / "places")
        found, printed = run("openmpi", ranks, program, "1", ISTHMUS_PLACES=str(tmp_path / "places"))
        assert " checks, 0 wrong" in printed
        assert not any(made["done"] for made in found["reordered"])


def test_the_table() -> None:
    made = Reordered("cart", 2, 40, 30.5, {"no memory": 1}), Reordered("graph", 0, 0, 0, {"no memory": 1, "x": 3})
    assert str(Taken(0, 2, 2, (), made)).splitlines() == [
        "2 ranks called no collectives",
        "reordered 2 of 7 communicators that may be: 40 hop-bytes became 30.5",
        "not reordered: 3 communicators, x",
        "not reordered: 2 communicators, no memory",
    ]
