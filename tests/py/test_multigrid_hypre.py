"""Hierarchies of hypre on real ranks, their files, and the commands on them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus import InvalidInput, ParseError, Program, multigrid
from isthmus.cli import main
from isthmus.mpi.detection import OPEN_MPI, installed
from isthmus.mpi.launcher import Launcher
from isthmus.multigrid import Hierarchy, Operator, boomeramg, boxes, hierarchy, hypre
from isthmus.multigrid.counts_file import read_counts
from isthmus.schedule.program import EventKind
from test_multigrid import laplace, pairs_of


def _there() -> bool:
    try:
        hypre.installed()
    except InvalidInput:
        return False
    return any(mpi.family == OPEN_MPI for mpi in installed())


OPEN = next((mpi.mpicc for mpi in installed() if mpi.family == OPEN_MPI), "")
needs_hypre = pytest.mark.skipif(not _there(), reason="hypre is not installed")


def launch(ranks: int) -> str:
    return f"{Path(OPEN).parent / 'mpirun.openmpi'} -n {ranks} --oversubscribe"


@needs_hypre
@pytest.mark.parametrize("problem", [name for name in hypre.PROBLEMS if name != "rotated"])
def test_counts_of_ranks_are_those_of_the_matrix(problem: str) -> None:
    """Level 0 on real ranks is the generated matrix of one rank, cut into the same boxes."""
    grid = (6, 5, 4)
    real = boomeramg(problem, grid, launch=launch(4))
    cut = boomeramg(problem, grid, parts=4)
    assert real.levels[0].matrix == cut.levels[0].matrix
    assert str(real.facts["solver"]).startswith("hypre ")
    assert real.frame()[0]["rows"] == 120 * (3 if problem == "elasticity" else 1)


@needs_hypre
def test_a_restriction_of_its_own_is_cut_too() -> None:
    """Approximate ideal restriction: on level 0 that of one rank, cut, is that of real ranks."""
    rotated = {"coarsening": "pmis", "options": {"restrict": 1}}
    real = boomeramg("laplace7", (8, 6, 4), launch=launch(4), **rotated)
    cut = boomeramg("laplace7", (8, 6, 4), parts=4, **rotated)
    for found in (real, cut):
        own = found.levels[0].own_restriction
        assert own is not None
        assert own != found.levels[0].interpolation.reversed()  # type: ignore[union-attr]
    assert real.levels[0].own_restriction.most[0] == cut.levels[0].own_restriction.most[0]  # type: ignore[union-attr]


@needs_hypre
@pytest.mark.parametrize("by", ["metis", "kahip"])
def test_hierarchies_are_cut_by_a_partitioner(by: str) -> None:
    """As if the parts were given; fewer messages and bytes than ranges of rows where these are scattered."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30))
    plane = sp.kronsum(line, line).tocsr()
    mixed = np.random.default_rng(2).permutation(900)
    scattered = plane[mixed][:, mixed]
    found = boomeramg(scattered, parts=12, partition=by)
    owner = multigrid.cut(scattered, 12, by=by)
    given = boomeramg(scattered, partition=owner)
    ranges = boomeramg(scattered, parts=12)
    assert found.parts == 12
    assert [level.matrix for level in found.levels] == [level.matrix for level in given.levels]
    for mine, theirs in zip(found.frame()[:2], ranges.frame()[:2], strict=True):
        assert mine["A_bytes"] < 0.5 * theirs["A_bytes"]
        assert mine["A_sends"] < theirs["A_sends"]
    with pytest.raises(InvalidInput, match="parts of 5 rows are given, the matrix has 900"):
        boomeramg(scattered, partition=[0, 1, 2, 3, 4])
    for wrong, words in (
        ({"partition": by}, "give the number of parts"),
        ({"partition": "mtis"}, "must be boxes, metis"),
    ):
        with pytest.raises(InvalidInput, match=words):
            boomeramg(scattered, **wrong)
    with pytest.raises(InvalidInput, match="only one rank's can"):
        boomeramg(scattered, partition=owner, launch=launch(2))


@needs_hypre
def test_three_unknowns_of_a_point_stay_on_one_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = boomeramg("elasticity", (5, 5, 5), parts=6, partition="metis")
    assert (found.levels[0].matrix.rows % 3 == 0).all()
    parts = tmp_path / "parts"
    parts.write_text("".join(f"{row // 125}\n" for row in range(375)))
    out = str(tmp_path / "levels.h5")
    main(["multigrid", "counts", "elasticity", "--points", "5x5x5", "--partition", str(parts), "-o", out])
    assert Hierarchy.load(out).levels[0].matrix.rows.tolist() == [125, 125, 125]
    parts.write_text("0\none\n")
    with pytest.raises(SystemExit):
        main(["multigrid", "counts", "elasticity", "--points", "5x5x5", "--partition", str(parts)])
    assert "parts:2: 'one': expected the part of a row, from 0" in capsys.readouterr().err


@needs_hypre
@pytest.mark.parametrize("points", [(2, 2, 2), (8, 8, 8)])
def test_one_part_has_pictures(points: tuple[int, int, int], tmp_path: Path) -> None:
    """It sends nothing, of which there is no logarithm."""
    alone = boomeramg("laplace7", points)
    for what in ("levels", "exchange"):
        alone.plot(tmp_path / f"{what}.png", what)
    multigrid.scenarios(alone, "eos").plot(tmp_path / "scenarios.png")
    assert len(list(tmp_path.iterdir())) == 3


@needs_hypre
def test_counts_of_all_levels_are_those_of_real_packages() -> None:
    """A hierarchy of one rank, cut, beside the communication packages that hypre makes on as many ranks: PMIS."""
    real, cut = (
        boomeramg("laplace7", (24, 24, 24), coarsening="pmis", launch=launch(8)),
        boomeramg("laplace7", (24, 24, 24), coarsening="pmis", parts=8),
    )
    for one, other in zip(real.frame()[:3], cut.frame()[:3], strict=True):
        assert other["rows"] == pytest.approx(one["rows"], rel=0.01)
        assert other["A_sends"] == pytest.approx(one["A_sends"], rel=0.15)
    # What one sends another receives, on every rank and operator.
    for level in real.levels:
        for operator in (level.matrix, level.interpolation, level.restriction):
            if operator is not None:
                assert operator.sends.sum() == operator.receives.sum()
                assert operator.bytes_sent.sum() == operator.exchange.bytes.sum()


@needs_hypre
def test_a_laplace_matrix_and_cycles() -> None:
    found = boomeramg(laplace(12, 12), launch=launch(3), cycles=4)
    assert found.levels[0].matrix == Operator.of(laplace(12, 12), *[np.arange(144) // 48] * 2, 3)
    assert 0 < float(found.facts["reduction"]) < 1e-2
    assert float(found.facts["cycle"]) > 0
    assert float(found.facts["product_0"]) >= 0


def sends(made: Program) -> Counter[tuple[int, int, int]]:
    """Messages of every rank to every other, by size."""
    rank = np.repeat(np.arange(made.ranks), np.diff(made.first.astype(np.int64)))
    here = made.kind == EventKind.isend
    return Counter(zip(rank[here].tolist(), made.peer[here].tolist(), made.amount[here].tolist(), strict=True))


@needs_hypre
@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["relax=0"], {"smoother": "jacobi"}),
        (["relax=3", "sweeps=2"], {"smoother": "gauss-seidel", "sweeps": (2, 2)}),
        (["relax=6"], {"smoother": "symmetric-gauss-seidel"}),
        (["relax=16"], {"smoother": "chebyshev", "degree": 2}),
        (["relax=0", "cycle=2"], {"smoother": "jacobi", "shape": "hypre-W"}),
    ],
)
def test_a_cycle_of_hypre_sends_what_its_program_sends(words: list[str], options: dict, tmp_path: Path) -> None:
    """BoomerAMG recorded with two cycles and with three: every message of the third, its ranks and size."""
    run = [*launch(8).split(), str(hypre.program(hypre.mpi_of(Launcher.parse(launch(8)), None), None))]
    run += ["problem=laplace7", "points=16x16x16", "boxes=2x2x2", f"out={tmp_path / 'counts'}", "coarsen=8", "interp=6"]
    found = []
    for cycles in (2, 3):
        out = tmp_path / f"{cycles}.h5"
        command = [sys.executable, "-m", "isthmus", "record", "-o", str(out), "--mpicc", OPEN, "--"]
        subprocess.run([*command, *run, f"cycles={cycles}", *words], check=True, capture_output=True)
        found.append(sends(isthmus.read(out)))
    levels = read_counts(tmp_path / "counts")
    expected = sends(multigrid.program(levels, coarsest="allgather", **options))
    # It solves twice, once with the norm of the residual after every cycle.
    for key in expected:
        expected[key] *= 2
    norm = levels.levels[0].matrix.exchange
    expected.update(zip(norm.sources().tolist(), norm.peer.tolist(), norm.bytes.tolist(), strict=True))
    assert {key: n - found[0][key] for key, n in found[1].items() if n != found[0][key]} == expected


@needs_hypre
def test_generated_problems_are_what_they_say() -> None:
    """Matrices of one rank: symmetric in structure, stencils of the right size, smooth vectors nearly in the kernel."""
    for problem, most in (("laplace7", 7), ("laplace27", 27), ("anisotropic", 7), ("jumps", 7), ("elasticity", 81)):
        frame = boomeramg(problem, (6, 6, 6)).frame()[0]
        assert frame["nonzeros_per_row"] <= most
    assert boomeramg("rotated", (9, 9)).frame()[0]["nonzeros_per_row"] == pytest.approx((3 * 9 - 2) ** 2 / 81)
    rotated = boomeramg("rotated", (30, 30), options={"epsilon": 0.01, "angle": 30}, cycles=10)
    assert float(rotated.facts["reduction"]) < 1e-2
    elastic = boomeramg("elasticity", (8, 8, 8), cycles=20)
    assert float(elastic.facts["reduction"]) < 1e-2


@needs_hypre
def test_a_program_of_a_user(tmp_path: Path) -> None:
    """Called, and preloaded into a program that does not call it."""
    mpi = next(one for one in installed() if one.mpicc == OPEN)
    flags = [flag for flag in hypre.installed().flags if flag.startswith("-I")]
    source, app = tmp_path / "app.c", tmp_path / "app"
    source.write_text(
        """#include <HYPRE.h>
#include <HYPRE_parcsr_ls.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  HYPRE_Init();
  HYPRE_IJMatrix ij;
  HYPRE_BigInt low = 50 * rank, high = 50 * rank + 49;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, low, high, low, high, &ij);
  HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(ij);
  for (HYPRE_BigInt i = low; i <= high; ++i) {
    HYPRE_BigInt columns[3] = {i, i ? i - 1 : i + 1, i < 99 ? i + 1 : i - 1};
    double values[3] = {2, -1, -1};
    HYPRE_Int count = i == 0 || i == 99 ? 2 : 3;
    HYPRE_IJMatrixSetValues(ij, 1, &count, &i, columns, values);
  }
  HYPRE_IJMatrixAssemble(ij);
  HYPRE_ParCSRMatrix a;
  HYPRE_IJMatrixGetObject(ij, (void **)&a);
  HYPRE_Solver amg;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetup(amg, a, NULL, NULL);
  HYPRE_Finalize();
  MPI_Finalize();
}
"""
    )
    subprocess.run([mpi.mpicc, "-w", *flags, str(source), "-lHYPRE", "-o", str(app)], check=True)
    main(["multigrid", "trace", "-o", str(tmp_path / "h.h5"), "--", *launch(2).split(), str(app)])
    found = Hierarchy.load(tmp_path / "h.h5")
    assert (found.parts, found.frame()[0]["rows"], found.frame()[0]["A_sends"]) == (2, 100, 1)
    with pytest.raises(InvalidInput, match="set no BoomerAMG"):
        hypre.traced([*launch(2).split(), "true"], tmp_path / "none", mpi.mpicc)


def small() -> Hierarchy:
    fine, p = laplace(16), pairs_of(16)
    made = hierarchy([(fine, p), p.T @ fine @ p], boxes((16,), 4))
    return Hierarchy(made.levels, {"solver": "by hand", "setup": 0.25})


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "levels.h5"
    small().save(path)
    back = Hierarchy.load(path)
    assert back.levels == small().levels
    assert back.facts == small().facts
    main(["show", str(path)])
    assert capsys.readouterr().out.rstrip() == str(small())
    main(["show", str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["levels"] == list(small().frame())
    for kind in ("levels", "exchange"):
        main(["show", str(path), "--plot", f"{kind}={tmp_path / kind}.png"])
        assert (tmp_path / f"{kind}.png").stat().st_size > 5000
    with pytest.raises(InvalidInput, match="must end in"):
        small().save(tmp_path / "levels.txt")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ParseError):
        Hierarchy.load(path)


TEXT = """isthmus hierarchy 1
solver hypre 2.26.0
ranks 2
operator 0 A 4 4
0 2 5 1:1
1 2 5 0:1
operator 0 P 4 2
0 2 2
1 2 3 0:1
operator 1 A 2 2
0 1 2 1:1
1 1 2 0:1
end
"""


def test_counts_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_text(TEXT)
    found = read_counts(path)
    p = found.levels[0].interpolation
    assert p is not None
    assert (list(p.sends), list(p.receives)) == ([0, 1], [1, 0])
    turned = found.levels[0].restriction
    assert turned is not None
    assert (list(turned.sends), list(turned.bytes_sent)) == ([1, 0], [8, 0])
    assert multigrid.Hierarchy.load(path).levels == found.levels


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("hierarchy 1", "hierarchy 2", ":1: expected 'isthmus hierarchy 1'"),
        ("end\n", "", "ends here"),
        ("1 2 5 0:1", "1 2 5 7:1", ":6: a partner of rank 1"),
        ("1 2 5 0:1", "1 2 5 0-1", ":6: expected PARTNER:ELEMENTS"),
        ("1 2 5 0:1", "1 3 5 0:1", "ranks hold 5 rows: expected 4"),
        ("0 2 2\n", "0 2\n", ":8: expected rank 0"),
        ("0 2 2\n", "0 2 x\n", "'x': expected a whole number"),
        ("operator 1 A", "operator 0 A", "once a level"),
        ("operator 1 A", "operator 2 A", "level 1 of 2"),
        ("solver", "solved", "expected fact, operator or end"),
    ],
)
def test_damaged_counts(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "counts"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ParseError, match=words):
        read_counts(path)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: boomeramg("poisson", (4, 4, 4)), "problem 'poisson': must be one of laplace7"),
        (lambda: boomeramg("laplace7", (4, 4)), "points of laplace7: 4x4x1: expected 3 numbers"),
        (lambda: boomeramg("laplace7", (4, 4, 4), coarsening="best"), "coarsening 'best': must be cljp"),
        (lambda: boomeramg("laplace7", (4, 4, 4), parts=65), "cannot be cut into 65 boxes"),
        (lambda: boomeramg("laplace7", (4, 4, 4), options={"speed": 1}), "option speed: must be one of"),
        (lambda: boomeramg(sp.csr_array((4, 5))), "4 rows and 5 columns: must be square"),
        (lambda: boomeramg(laplace(4), parts=5), "a matrix of 4 rows in 5 parts"),
    ],
)
@needs_hypre
def test_what_is_wrong_is_said(call: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call()  # type: ignore[operator]


def test_without_hypre(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypre, "_FOLDERS", ("/nowhere",))
    monkeypatch.delenv("HYPRE_DIR", raising=False)
    with pytest.raises(InvalidInput, match="hypre is not installed: apt install libhypre-dev"):
        boomeramg("laplace7", (4, 4, 4))
    monkeypatch.setenv("HYPRE_DIR", "/nowhere")
    with pytest.raises(InvalidInput, match="HYPRE_DIR=/nowhere: there is no include"):
        boomeramg("laplace7", (4, 4, 4))
