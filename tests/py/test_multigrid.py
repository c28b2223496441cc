"""Counts of hierarchies beside dense matrices, and costs of cycles beside their closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import InvalidInput, multigrid
from isthmus.multigrid import Costs, Hierarchy, Operator, boxes, coarse_owner, cycle, hierarchy


def laplace(*shape: int) -> sp.csr_array:
    """The stencil with one neighbour on each side along each dimension."""
    out = sp.csr_array((int(np.prod(shape)),) * 2)
    for axis, extent in enumerate(shape):
        line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(extent, extent))
        before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
        out = out + sp.kron(sp.kron(sp.eye_array(before), line), sp.eye_array(after))
    return sp.csr_array(out)


def pairs_of(points: int) -> sp.csr_array:
    """Aggregates of two points each."""
    return sp.csr_array((np.ones(points), (np.arange(points), np.arange(points) // 2)))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("parts", [1, 2, 3, 8, 27])
def test_counts_are_those_of_the_dense_matrix(parts: int, index: type) -> None:
    rng = np.random.default_rng(parts)
    for rows, columns, density in ((40, 40, 0.1), (60, 25, 0.05), (25, 60, 0.3), (30, 30, 0.0)):
        matrix = sp.csr_array(sp.random_array((rows, columns), density=density, rng=rng))
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
        own, their = rng.integers(0, parts, rows), rng.integers(0, parts, columns)
        found = Operator.of(matrix, own, their, parts)
        dense = matrix.toarray() != 0
        expected = np.zeros((parts, parts), int)
        for p in range(parts):
            needed = dense[own == p].any(axis=0) & (their != p)
            for q in range(parts):
                expected[q, p] = 8 * int((needed & (their == q)).sum())
            assert found.rows[p] == (own == p).sum()
            assert found.nonzeros[p] == dense[own == p].sum()
        assert (found.exchange.matrix() == expected).all()
        assert (found.sends == (expected > 0).sum(axis=1)).all()
        assert (found.receives == (expected > 0).sum(axis=0)).all()
        assert (found.bytes_sent == expected.sum(axis=1)).all()


def test_boxes_are_even_and_have_little_surface() -> None:
    owner = boxes((10, 12, 14), 24)
    assert np.ptp(np.bincount(owner, minlength=24)) < 40
    assert (boxes((8, 8), 4).reshape(8, 8) == np.kron([[0, 1], [2, 3]], np.ones((4, 4)))).all()
    # A long grid is cut across.
    assert (boxes((100, 2), 4) == np.repeat(np.arange(4), 50)).all()
    assert (boxes((6, 4), (3, 2)).reshape(6, 4) == np.kron([[0, 1], [2, 3], [4, 5]], np.ones((2, 2)))).all()


def test_faces_of_boxes_are_what_neighbours_send() -> None:
    found = hierarchy([laplace(8, 8, 8)], boxes((8, 8, 8), 8)).levels[0].matrix
    assert (found.sends == 3).all()
    assert (found.bytes_sent == 3 * 16 * 8).all()


def test_a_coarse_row_goes_where_most_of_it_is() -> None:
    assert (coarse_owner(pairs_of(8), [0, 0, 0, 1, 1, 1, 1, 1]) == [0, 0, 1, 1]).all()
    # The point itself, with weight 1, against two neighbours with a quarter each.
    weights = sp.csr_array([[0.25, 0.0], [1.0, 0.0], [0.25, 0.5], [0.0, 1.0]])
    assert (coarse_owner(weights, [1, 0, 1, 2]) == [0, 2]).all()


def test_pyamg(capsys: pytest.CaptureFixture[str]) -> None:
    pyamg = pytest.importorskip("pyamg")
    shape = (20, 20, 20)
    solver = pyamg.ruge_stuben_solver(pyamg.gallery.poisson(shape, format="csr"), CF="PMIS", interpolation="direct")
    found = hierarchy(solver, boxes(shape, 8))
    assert len(found) == len(solver.levels)
    assert [row["rows"] for row in found.frame()] == [level.A.shape[0] for level in solver.levels]
    for level, ours in zip(solver.levels, found.levels, strict=True):
        assert int(ours.matrix.nonzeros.sum()) == level.A.nnz
    first = found.frame()[0]
    assert (first["A_sends"], first["A_bytes"], first["active"]) == (3, 2400, 8)
    lines = str(found).splitlines()
    assert lines[0] == f"Hierarchy of {len(found)} levels on 8 parts; the most that one part sends:"
    assert lines[2].split()[:6] == ["0", "8000", "6.7", "8", "3", "2400"]


def two_levels() -> Hierarchy:
    fine, p = laplace(16), pairs_of(16)
    return hierarchy([(fine, p), p.T @ fine @ p], boxes((16,), 4))


def test_a_cycle_is_what_its_formula_says() -> None:
    found = two_levels()
    costs = Costs(alpha=1e-6, beta=1e-9, gamma=1e-7, nearest=2, farthest=7, flop=1e-9)
    told = cycle(found, costs)
    message = 1e-6 + 5e-7
    # A part has two neighbours, of which it needs an element each; aggregates lie within parts.
    assert told.smooth == pytest.approx(3 * (2 * message + 16e-9) * np.ones(2), rel=1e-12)
    assert (told.transfer == 0).all()
    fine, coarse = (int(level.matrix.nonzeros.max()) for level in found.levels)
    assert told.compute == pytest.approx([2e-9 * (3 * fine + 2 * 4), 6e-9 * coarse], rel=1e-12)
    assert told.seconds == pytest.approx(sum(row["seconds"] for row in told.frame()), rel=1e-12)


def test_penalties() -> None:
    found = two_levels()
    base = Costs(alpha=1e-6, beta=1e-9, gamma=1e-7, farthest=4, hardware=1.5, links=12)
    plain = cycle(found, base)
    both = cycle(found, base, penalties=["alpha", "gamma"], cores=4)
    assert both.communication == pytest.approx(3 * 2 * (2 * 4 * (1e-6 + 4e-7) + 16e-9), rel=1e-12)
    wide = cycle(found, base, penalties=["beta"])
    assert wide.communication - plain.communication == pytest.approx(6 * 0.5 * 16e-9, rel=1e-9)
    # Six messages on twelve links.
    linked = cycle(found, base, penalties=["links"])
    assert linked.communication - plain.communication == pytest.approx(6 * 1.0 * 16e-9, rel=1e-9)


def test_processes_that_are_idle_do_not_crowd_their_nodes() -> None:
    fine, p = laplace(8), pairs_of(8)
    coarse = p.T @ fine @ p
    one = sp.csr_array(np.ones((4, 1)))
    found = hierarchy([(fine, p), (coarse, one), one.T @ coarse @ one], boxes((8,), 8))
    assert [level.matrix.active for level in found.levels] == [8, 4, 1]
    told = cycle(found, Costs(alpha=1e-6, beta=0), penalties=["alpha"], cores=4)
    assert told.smooth == pytest.approx([3 * 2 * 4e-6, 3 * 2 * 2e-6, 0], rel=1e-12)


def test_threads_share_the_computation() -> None:
    found, costs = two_levels(), Costs(alpha=0, beta=0, flop=1e-9)
    alone = cycle(found, costs).seconds
    assert cycle(found, costs, threads=4).seconds == pytest.approx(alone / 4)
    assert cycle(found, costs, threads=4, speedup=1.5).seconds == pytest.approx(alone / 1.5)


def test_costs_of_machines() -> None:
    eos = Costs.of("eos")
    # Gahvari et al. publish these two.
    assert (eos.alpha, eos.gamma) == (pytest.approx(0.24e-6), pytest.approx(0.42e-6))
    assert Costs.of("eos", farthest=7).farthest == 7
    assert cycle(two_levels(), "eos").seconds == cycle(two_levels(), eos).seconds


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hierarchy([sp.csr_array((4, 5))], [0, 0, 1, 1]), "4 rows and 5 columns: must be square"),
        (lambda: hierarchy([laplace(4)], [0, 0, 2, 2]), "part 1 of 3 owns no row"),
        (lambda: hierarchy([laplace(4)], [0, 1, 1]), "the matrix has 4 rows, owners are given for 3"),
        (lambda: hierarchy([laplace(4), laplace(2)], [0, 0, 1, 1]), "level 0: has no interpolation"),
        (lambda: hierarchy([(laplace(4), pairs_of(6)), laplace(2)], [0, 0, 1, 1]), "interpolation to 6 rows"),
        (lambda: hierarchy([(laplace(4), pairs_of(4)), laplace(3)], [0, 0, 1, 1]), "of the level above gives 2"),
        (lambda: hierarchy([np.eye(4)], [0, 0, 1, 1]), "level 0: must be a sparse matrix"),
        (lambda: hierarchy([], [0]), "at least one level"),
        (lambda: hierarchy([laplace(4)], [0.5] * 4), "a whole number"),
        (lambda: boxes((4, 4), 5), "cannot be cut into 5 boxes"),
        (lambda: boxes((4,), (5,)), "5 boxes along 4 points"),
        (lambda: multigrid.cut(laplace(4), 5), "5 parts of a matrix with 4 points: must be from 1 to 4"),
        (lambda: multigrid.cut(laplace(4), 2, unknowns=3), "3 unknowns of a point: must divide the 4 rows"),
        (lambda: multigrid.cut(sp.csr_array((4, 5)), 2), "must be square"),
        (lambda: multigrid.cut(laplace(4), 2, by="scotch"), "must be one of metis, kahip"),
        (lambda: coarse_owner(sp.csr_array((3, 1)), [0, 0, 0]), "coarse row 0 takes part in no fine row"),
        (lambda: cycle(two_levels(), "eos", penalties=["delta"]), "must be one of alpha, gamma, beta, links"),
        (lambda: cycle(two_levels(), "eos", cores=0), "cores = 0"),
        (lambda: Costs(alpha=-1, beta=0), "alpha = -1"),
        (lambda: Costs.of("eos", hops=3), "hops: no cost"),
        (lambda: cycle(two_levels(), Costs(alpha=0, beta=0), penalties=["links"]), "give links="),
    ],
)
def test_what_is_wrong_is_said(call: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words.replace(".", r"\.")):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("by", ["metis", "kahip"])
@pytest.mark.parametrize("parts", [1, 7, 60, 64])
def test_cuts_leave_no_part_empty(by: str, parts: int) -> None:
    """Also where points are few, and in graphs without edges, of one direction only, or in pieces."""
    random = sp.random_array((64, 64), density=0.03, rng=np.random.default_rng(parts)).tocsr()
    for matrix in (laplace(64), sp.eye_array(64).tocsr(), random, sp.block_diag([laplace(32)] * 2).tocsr()):
        held = np.bincount(multigrid.cut(matrix, parts, by=by), minlength=parts)
        assert held.min() >= 1
        assert held.sum() == 64
        assert len(held) == parts


def test_a_line_is_cut_where_it_is_thin() -> None:
    of = multigrid.cut(laplace(100), 4).astype(int)
    assert np.count_nonzero(np.diff(of)) == 3
    points = multigrid.cut(sp.kron(laplace(20), np.ones((3, 3))).tocsr(), 5, unknowns=3).reshape(-1, 3)
    assert (points == points[:, :1]).all()


def test_restriction_of_its_own() -> None:
    """R is counted where it is not the transpose of P, as in approximate ideal restriction."""
    pyamg = pytest.importorskip("pyamg")
    shape = (12, 12)
    air = pyamg.air_solver(pyamg.gallery.poisson(shape, format="csr"))
    owner = boxes(shape, 6)
    found = hierarchy(air, owner)
    first = found.levels[0]
    coarse = owner[np.flatnonzero(np.asarray(air.levels[0].splitting))]
    assert first.own_restriction == Operator.of(air.levels[0].R, coarse, owner, 6)
    assert first.restriction != first.interpolation.reversed()  # type: ignore[union-attr]
    p, r = pairs_of(8), sp.csr_array(np.ones((4, 8)))
    given = hierarchy([(laplace(8), p, None, r), laplace(4)], boxes((8,), 4))
    assert given.levels[0].restriction is not None
    assert given.levels[0].restriction.sends.tolist() == [3, 3, 3, 3]
    same = hierarchy([(laplace(8), p, None, p.T.tocsr()), laplace(4)], boxes((8,), 4))
    assert same == hierarchy([(laplace(8), p), laplace(4)], boxes((8,), 4))
    with pytest.raises(InvalidInput, match="level 0: restriction of 7 rows to 4, and interpolation of 4 to 8"):
        hierarchy([(laplace(8), p, None, sp.csr_array((4, 7))), laplace(4)], boxes((8,), 4))


def test_a_hierarchy_of_one_level_has_nothing_to_gather() -> None:
    one = hierarchy([laplace(8)], boxes((8,), 4))
    assert "1 level on 4 parts" in str(one)
    told = multigrid.redistribute(one, Costs(alpha=1e-6, beta=1e-9, flop=1e-9))
    assert told.switches == {}
    assert "level 0 is the only one: there is no coarse level to gather" in str(told)


def test_public_names() -> None:
    assert all(hasattr(multigrid, name) for name in multigrid.__all__)
