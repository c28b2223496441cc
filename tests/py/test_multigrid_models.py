"""Terms of the model of a cycle beside closed forms, and what is decided by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus import InvalidInput, Pattern
from isthmus.cli import main
from isthmus.multigrid import Costs, Hierarchy, boxes, cycle, gathered, hierarchy, reach, redistribute, scenarios
from isthmus.multigrid.cycle import working_set
from isthmus.multigrid.hierarchy import GridLevel
from isthmus.multigrid.operators import Operator
from isthmus.multigrid.redistribution import collectives, roots
from test_multigrid import laplace, pairs_of, two_levels

PLAIN = Costs(alpha=1e-6, beta=1e-9)
#: One exchange of an inner part of a line: two messages of 8 B.
EXCHANGE = 2e-6 + 16e-9


def line(points: int, parts: int) -> Hierarchy:
    """A line, coarsened by pairs down to two points."""
    matrix, levels = laplace(points), []
    while matrix.shape[0] > 2:
        p = pairs_of(matrix.shape[0])
        levels.append((matrix, p))
        matrix = sp.csr_array(p.T @ matrix @ p)
    return hierarchy([*levels, matrix], boxes((points,), parts))


def test_shapes_of_cycles() -> None:
    found = line(64, 4)
    v = cycle(found, PLAIN)
    for shape, visits in (("W", [2**i for i in range(len(found))]), ("F", [i + 1 for i in range(len(found))])):
        told = cycle(found, PLAIN, shape=shape)
        assert told.smooth == pytest.approx(v.smooth * visits, rel=1e-12)
        assert told.transfer == pytest.approx(v.transfer * visits, rel=1e-12)


@pytest.mark.parametrize(
    ("smoother", "exchanges", "products"),
    [
        ("jacobi", 3, 3),
        ("l1-jacobi", 3, 3),
        ("gauss-seidel", 3, 3),
        ("symmetric-gauss-seidel", 3, 5),
        ("chebyshev", 7, 7),
    ],
)
def test_smoothers(smoother: str, exchanges: int, products: int) -> None:
    costs = replace(PLAIN, flop=1e-9)
    told, least = cycle(two_levels(), costs, smoother=smoother, degree=3), cycle(two_levels(), costs, sweeps=(0, 0))
    assert told.smooth == pytest.approx([exchanges * EXCHANGE] * 2, rel=1e-12)
    # The coarsest level has no interpolation: without sweeps one product, the residual.
    assert told.compute[1] == pytest.approx(products * least.compute[1], rel=1e-12)
    more = cycle(two_levels(), costs, smoother=smoother, degree=3, sweeps=(2, 1))
    assert more.smooth[0] == pytest.approx(((exchanges - 1) * 3 // 2 + 1) * EXCHANGE, rel=1e-12)


def test_injection_queue_and_contention() -> None:
    found = two_levels()
    # Four processes of a node share 1 GB/s: 4 ns a byte.
    rate = Costs(alpha=1e-6, beta=1e-9, injection=1e9)
    told = cycle(found, rate, penalties=["injection"], cores=4)
    assert told.smooth == pytest.approx([3 * (2e-6 + 16 * 4e-9)] * 2, rel=1e-12)
    assert cycle(found, rate, penalties=["injection"]).smooth == pytest.approx([3 * EXCHANGE] * 2, rel=1e-12)
    queue = cycle(found, Costs(alpha=1e-6, beta=1e-9, search=1e-7), penalties=["queue"])
    assert queue.smooth == pytest.approx([3 * (EXCHANGE + 4e-7)] * 2, rel=1e-12)
    # Six messages of 8 B over two links of twelve on average, 1 ns for each byte.
    busy = Costs(alpha=1e-6, beta=1e-9, farthest=4, links=12, contended=1e-9)
    told = cycle(found, busy, penalties=["contention"])
    assert told.smooth == pytest.approx([3 * (EXCHANGE + 48 * 2 / 12 * 1e-9)] * 2, rel=1e-12)


def test_restriction_sends_what_interpolation_receives() -> None:
    """Two points of one part interpolate from the other part's only coarse row."""
    fine = laplace(6)
    p = sp.csr_array(([1.0] * 7, ([0, 1, 2, 3, 4, 5, 0], [0, 0, 0, 1, 2, 3, 1])))
    found = hierarchy([(fine, p, [1, 0, 0, 1, 1, 1]), p.T @ fine @ p], [0, 0, 0, 1, 2, 3])
    level = found.levels[0]
    assert level.interpolation is not None
    assert level.restriction is not None
    assert list(level.interpolation.sends) == [0, 1, 0, 0]
    assert list(level.restriction.sends) == [1, 0, 0, 0]
    assert cycle(found, PLAIN).transfer[0] == pytest.approx(2 * (1e-6 + 8e-9), rel=1e-12)


def test_distances_and_links() -> None:
    torus = isthmus.load("torus:8x8x8")
    # Boxes of 2 x 2 x 2 and 4 x 4 x 4; the whole torus with its rings.
    assert reach(torus, 8) == (3, 2 * 3 * 4)
    assert reach(torus, 64) == (9, 2 * 3 * 16 * 3)
    assert reach(torus, 512) == (12, torus.topology.links)
    assert reach(isthmus.load("torus:4x4"), 8) == (3, 2 * (4 * 2 + 4))  # 2 x 4: rings of 4 along one side
    tree = isthmus.load("fattree-k4")
    nodes = tree.topology.nodes
    far, links = reach(tree, nodes)
    assert far == tree.topology.diameter()[0]
    assert links == tree.topology.links
    # Nodes in one pod of four, or spread over all: links of nodes both times.
    pod = reach(tree, nodes // 4)
    assert pod[0] == 4
    assert pod[1] < links
    eos = isthmus.load("eos")
    every = reach(eos, eos.topology.nodes)[1]
    kinds = eos.topology.link_class(np.arange(eos.topology.links, dtype=np.uint32))
    assert every == pytest.approx(eos.topology.links - (1 - 4.7 / 5.25) * int((kinds == 2).sum()))
    with pytest.raises(InvalidInput, match="takes 513 nodes: must be from 1 to 512"):
        reach(torus, 513)


def test_scenarios(tmp_path: Path) -> None:
    found = line(64, 8)
    costs = Costs(alpha=1e-6, beta=1e-9, gamma=1e-7, farthest=5, hardware=2, links=100, search=1e-8)
    told = scenarios(found, costs, cores=4)
    assert told.best is None
    assert told.levels["alpha-beta"] == pytest.approx(cycle(found, PLAIN).smooth + cycle(found, PLAIN).transfer)
    names = "alpha-beta-gamma + alpha + gamma + links"
    one = cycle(found, costs, penalties=["alpha", "gamma", "links"], cores=4)
    assert told.levels[names] == pytest.approx(one.compute + one.smooth + one.transfer)
    # What is measured is 3 % above a scenario: that one is found.
    assert scenarios(found, costs, cores=4, measured=1.03 * told.levels[names]).best == names
    with pytest.raises(InvalidInput, match="one for each level"):
        scenarios(found, costs, measured=[1.0])
    told.plot(tmp_path / "scenarios.png")
    assert (tmp_path / "scenarios.png").stat().st_size > 5000


def merged(found: Hierarchy, level: int, owner: np.ndarray) -> tuple[list[int], int]:
    """Slow: partners and rows where each part's rows belong to another."""
    exchange = found.levels[level].matrix.exchange
    pairs = {(owner[s], owner[t]) for s, t in zip(exchange.sources(), exchange.peer, strict=True)}
    sends = [sum(s == p != t for s, t in pairs) for p in range(found.parts)]
    return sends, int(np.bincount(owner, weights=found.levels[level].matrix.rows).max())


def test_gathered_levels() -> None:
    shape = (12, 12)
    fine = laplace(*shape)
    p = sp.csr_array(sp.kron(pairs_of(12), pairs_of(12)))
    found = hierarchy([(fine, p), p.T @ fine @ p], boxes(shape, 9))
    for count in (1, 2, 4, 8):
        to = roots(found.levels[1].matrix.rows, count)
        here = gathered(found, {1: count}).levels[1].matrix
        sends, rows = merged(found, 1, to)
        assert list(here.sends) == sends
        assert here.most[0] <= count - 1
        assert int(here.rows.max()) == rows
        assert here.active == count
        assert here.nonzeros.sum() == found.levels[1].matrix.nonzeros.sum()
        # Messages of one pair are one.
        assert (here.exchange.messages == 1).all()
    assert gathered(found, {1: 1}).levels[0] == found.levels[0]


def test_collectives_of_a_switch() -> None:
    found = line(64, 16)
    # On level 1, 32 rows on 16 parts: four groups of four, eight rows each.
    assert collectives(found, 1, 4, PLAIN) == pytest.approx(2 * (2e-6 + 64e-9), rel=1e-12)
    assert collectives(found, 1, 4, PLAIN, redundant=True) == pytest.approx(2e-6 + 64e-9, rel=1e-12)


def crowd() -> Hierarchy:
    """A small coarse level that all parts need of each other."""
    fine, p = laplace(256), sp.csr_array(sp.kron(sp.eye_array(64), np.ones((4, 1))))
    coarse = sp.csr_array(np.ones((64, 64)))
    return hierarchy([(fine, p), coarse], boxes((256,), 64))


def test_during_the_setup_the_rule_decides() -> None:
    found = crowd()
    costs = Costs(alpha=1e-6, beta=1e-10, flop=1e-10)
    told = redistribute(found, costs)
    ruled, seconds = told.rules["during the setup"]
    assert set(ruled) == {1}
    # The best of all powers of two: what setup compares is five exchanges and products, and two collectives.
    times = {}
    for count in (1, 2, 4, 8, 16, 32):
        matrix = gathered(found, {1: count}).levels[1].matrix
        sends, _, sent, _ = matrix.most
        times[count] = 5 * (sends * 1e-6 + sent * 1e-10) + 10 * int(matrix.nonzeros.max()) * 1e-10
        times[count] += collectives(found, 1, count, costs)
    assert ruled[1] == min(times, key=times.__getitem__)
    saved = cycle(found, costs).seconds - cycle(gathered(found, ruled), costs).seconds
    assert told.before - seconds == pytest.approx(saved - collectives(found, 1, ruled[1], costs))
    assert "redistribute level 1 to" in str(told)
    # Rules of thumb are priced by the same model.
    switches, seconds = told.rules["hypre, 1000 rows"]
    assert switches == {1: 1}
    assert seconds == pytest.approx(cycle(gathered(found, {1: 1}), costs).seconds + collectives(found, 1, 1, costs))
    assert all(told.seconds <= other * (1 + 1e-12) for _, other in told.rules.values())


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
@pytest.mark.parametrize("latency", [1e-7, 1e-6, 1e-5])
def test_no_way_is_better_than_what_is_found(shape: str, latency: float) -> None:
    """All ways to gather a small hierarchy on powers of two, one by one."""
    found = line(128, 32)
    costs = Costs(alpha=latency, beta=1e-9, flop=1e-8, gamma=1e-8, farthest=4)

    def price(switches: dict[int, int]) -> float:
        seconds, now = 0.0, found
        for level, count in sorted(switches.items()):
            visits = {"V": 1, "F": level}.get(shape, 2 ** (level - 1))
            seconds += visits * collectives(now, level, count, costs)
            now = gathered(now, {level: count})
        return seconds + cycle(now, costs, shape=shape).seconds

    def ways(level: int, have: int) -> Iterator[dict[int, int]]:
        if level == len(found):
            yield {}
            return
        have = min(have, found.levels[level].matrix.active)
        yield from ways(level + 1, have)
        for power in range((have - 1).bit_length()):
            for rest in ways(level + 1, 1 << power):
                yield {level: 1 << power, **rest}

    least = min(map(price, ways(1, 32)))
    told = redistribute(found, costs, least=0, shape=shape, caches=[])
    assert told.seconds == pytest.approx(least, rel=1e-12)
    assert told.seconds == pytest.approx(price(dict(told.switches)), rel=1e-12)


def uneven(*held: list[int]) -> Hierarchy:
    """Levels whose parts have so many rows each, and nothing to send."""
    parts = len(held[0])
    alone = Pattern.of(parts, source=[], target=[], bytes=[], messages=[])
    operators = [Operator(np.array(rows, np.uint64), np.array(rows, np.uint64), alone) for rows in held]
    return Hierarchy((*(GridLevel(one, one) for one in operators[:-1]), GridLevel(operators[-1], None)))


def test_thresholds_are_those_of_the_code_of_solvers() -> None:
    """Each number of processes by hand, from hypre 2.2x, PETSc 3.17's gamg.c, MueLu's heuristic, AMGCL's merge.hpp."""

    def rule(solver: str, *held: list[int]) -> dict[int, int]:
        told = redistribute(uneven(*held), PLAIN)
        return dict(next(switches for name, (switches, _) in told.rules.items() if name.startswith(solver)))

    twelve = [1000] * 12
    # 12,000, 300, 124 rows: 300 / 50 are 6; one on the coarsest level, whatever it has.
    assert rule("PETSc", twelve, [25] * 12, [10] * 11 + [14]) == {1: 6, 2: 1}
    # 275 and 274 rows want 6 and 5; of the divisors of 12 both 6 and 4 are near 5, 6 by 5/6 and 4 by 4/5.
    assert rule("PETSc", twelve, [23] * 11 + [22], [1] * 12) == {1: 6, 2: 1}
    assert rule("PETSc", twelve, [23] * 10 + [22] * 2, [1] * 12) == {1: 6, 2: 1}
    # 224 rows want 4. 400 want 8: 6 by 6/8, where 12 is 8/12; 450 want 9, to which 12 is nearer: nothing changes.
    assert rule("PETSc", twelve, [19] * 8 + [18] * 4, [1] * 12) == {1: 4, 2: 1}
    assert rule("PETSc", twelve, [34] * 4 + [33] * 8, [1] * 12) == {1: 6, 2: 1}
    assert rule("PETSc", twelve, [38] * 6 + [37] * 6, [1] * 12) == {2: 1}
    # The smallest part counts, not the mean; eight neighbours become one, the last block is what is left.
    assert rule("AMGCL", [20000] * 12, [12000] * 11 + [9000], [5] * 12) == {1: 2, 2: 1}
    assert rule("AMGCL", [20000] * 12, [12000] * 12, [5] * 12) == {2: 2}
    # Nothing before level 2; 1,700 rows on 2; 700 on one.
    assert rule("MueLu", twelve, [200] * 12, [141] * 11 + [149], [58] * 11 + [62]) == {2: 2, 3: 1}
    # Direct solution takes what has at most nine rows.
    assert rule("hypre", twelve, [200] * 12, [80] * 12, [1] * 12) == {2: 1}
    assert rule("hypre", twelve, [200] * 12, [1] * 9 + [0] * 3) == {}


def test_when_nothing_is_gathered() -> None:
    found = crowd()
    # Messages cost nothing beside computation; a gain of less than was asked for; matrices that leave a cache.
    assert not redistribute(found, Costs(alpha=1e-12, beta=0, flop=1e-6)).switches
    assert not redistribute(found, Costs(alpha=1e-6, beta=0), least=0.999).switches
    assert "would gain" in redistribute(found, Costs(alpha=1e-6, beta=0), least=0.999).reasons[0]
    assert "computation is not counted" in redistribute(found, Costs(alpha=1e-6, beta=0)).reasons[-1]
    assert "not counted" not in str(redistribute(found, Costs(alpha=1e-6, beta=0, flop=1e-9)))
    cached = redistribute(found, Costs(alpha=1e-6, beta=0), caches=[1000.0])
    assert not cached.switches
    assert "no longer fit" in cached.reasons[0]
    alone = hierarchy([laplace(8)], boxes((8,), 4))
    assert not redistribute(alone, PLAIN).switches


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "levels.h5"
    crowd().save(path)
    main(["multigrid", "model", str(path), "--machine", "eos", "--cost", "flop=1e-10", "--measured", "1e-4,1e-3"])
    out = capsys.readouterr().out
    assert "* alpha-beta" in out
    assert "measured" in out
    gathered_file = tmp_path / "gathered.h5"
    main(["multigrid", "redistribute", str(path), "--machine", "eos", "-o", str(gathered_file)])
    assert "redistribute level 1 to" in capsys.readouterr().out
    main(["multigrid", "redistribute", str(path), "--machine", "eos", "--json"])
    told = json.loads(capsys.readouterr().out)
    (parts,) = told["switches"].values()
    assert Hierarchy.load(gathered_file).levels[1].matrix.active == parts


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cycle(two_levels(), PLAIN, shape="X"), "must be one of V, W, F"),
        (lambda: cycle(two_levels(), PLAIN, smoother="sor"), "must be one of jacobi"),
        (lambda: cycle(two_levels(), PLAIN, penalties=["injection"]), "give injection="),
        (lambda: cycle(two_levels(), PLAIN, penalties=["contention"]), "give links="),
        (lambda: gathered(two_levels(), {0: 1}), "level 0: must be one of the coarse levels 1 to 1"),
        (lambda: gathered(two_levels(), {1: 4}), "level 1 to 4 parts: must be from 1 to 3"),
    ],
)
def test_what_is_wrong_is_said(call: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words.replace("(", r"\(")):
        call()  # type: ignore[operator]


def test_classes_of_sizes_have_their_own_time() -> None:
    """The fine level is beyond the class, the coarse one within it."""
    levels = hierarchy([line_matrix(4096, 1024), line_matrix(1024)], boxes((4096,), 4))
    sizes = [working_set(level.matrix) for level in levels.levels]
    assert sizes == [(12 * 3 + 20) * 1024, (12 * 3 + 20) * 256]
    costs = Costs(alpha=0, beta=0, flop=1e-9, classes=((sizes[1], 1e-10),))
    told = cycle(levels, costs)
    plain = cycle(levels, replace(costs, classes=()))
    assert told.compute[0] == plain.compute[0]
    assert told.compute[1] == pytest.approx(plain.compute[1] / 10, rel=1e-12)


def line_matrix(rows: int, coarse: int = 0) -> Any:
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(rows, rows)).tocsr()
    if not coarse:
        return A
    return A, sp.csr_array((np.ones(rows), (np.arange(rows), np.arange(rows) * coarse // rows)))


def test_an_unknown_time_of_operations_follows_from_the_memory() -> None:
    """Six bytes an operation, and 16 processes share 102.4 GB/s; what is known stays."""
    eos = isthmus.load("eos")
    costs = Costs.of(eos)
    assert costs.flop == 0
    assert costs.with_flop_of(eos, 16).flop == pytest.approx(6 * 16 / 102.4e9)
    known = replace(costs, flop=1e-9)
    assert known.with_flop_of(eos, 16) is known
    torus = isthmus.load("torus:4x4")
    assert Costs.of(torus).with_flop_of(torus, 16).flop == 0
