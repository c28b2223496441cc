"""Cycles as programs beside the model of a cycle, closed forms, and messages counted one by one."""

from __future__ import annotations

import importlib
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus import InvalidInput, Level, Pattern, Program, simulate
from isthmus.cli import main
from isthmus.multigrid import (
    Costs,
    GridLevel,
    Hierarchy,
    Operator,
    boxes,
    cycle,
    gathered,
    hierarchy,
    program,
    redistribute,
)
from isthmus.multigrid.redistribution import price, roots
from isthmus.schedule.program import EventKind
from test_multigrid import laplace
from test_multigrid_models import crowd, line

ALPHA, BETA, FLOP = 1e-6, 1e-9, 1e-9
#: A sender is busy for alpha and all bytes of a message, and nothing else takes time: byte (s - 1) of O, and one more.
POSTAL = Level(o_send=ALPHA + BETA, O=BETA, O_recv=0.0, S=1e9)
#: The same by interfaces, for ranks with one partner.
WIRE = Level(L=ALPHA + BETA, g=ALPHA + BETA, G=BETA, S=1e9)


def ring(points: int, parts: int) -> Hierarchy:
    """A closed line with linear interpolation, on which all parts hold and send the same on every level."""
    levels = []
    matrix = sp.csr_array(laplace(points))
    matrix = sp.csr_array(matrix + sp.csr_array(([-1.0, -1.0], ([0, points - 1], [points - 1, 0])), (points, points)))
    while matrix.shape[0] > parts:
        n = matrix.shape[0]
        rows = np.arange(n)
        odd = rows[1::2]
        p = sp.csr_array(
            (
                np.concatenate([np.ones(n // 2), np.full(n, 0.5)]),
                (np.concatenate([rows[::2], odd, odd]), np.concatenate([rows[::2], odd - 1, (odd + 1) % n]) // 2),
            )
        )
        levels.append((matrix, p, rows % 2 == 0))
        matrix = sp.csr_array(p.T @ matrix @ p)
    return hierarchy([*levels, matrix], boxes((points,), parts))


def random_hierarchy(seed: int, parts: int = 9) -> Hierarchy:
    """Levels with parts that hold much, little and nothing, and restrictions of their own."""
    rng = np.random.default_rng(seed)
    levels, rows = [], 60
    owner = rng.permutation(np.concatenate([np.arange(parts), rng.integers(0, parts, rows - parts)]))
    matrices = []
    while rows > 4:
        coarse = rows // 3
        chosen = np.zeros(rows, bool)
        chosen[rng.choice(rows, coarse, replace=False)] = True
        a = sp.csr_array(sp.random_array((rows, rows), density=0.1, rng=rng) + sp.eye_array(rows))
        p = sp.csr_array(sp.random_array((rows, coarse), density=0.2, rng=rng))
        matrices.append((a, p, chosen))
        rows = coarse
    found = hierarchy([*matrices, sp.csr_array(np.ones((rows, rows)))], owner)
    for number, level in enumerate(found.levels):
        own = level.interpolation.reversed() if level.interpolation is not None and number % 2 else None
        levels.append(GridLevel(level.matrix, level.interpolation, own))
    return Hierarchy(tuple(levels))


def order(levels: int, shape: str, level: int = 0) -> list[tuple[int, str]]:
    """Slow: what is visited and done, level by level: down is a restriction, up an interpolation."""
    if shape == "hypre-W":
        return counted(levels)
    if level == levels - 1:
        return [(level, "end")]
    out = [(level, "before"), (level, "residual"), (level, "down")]
    for each in {"V": "V", "W": "WW", "F": "FV"}[shape]:
        out += order(levels, each, level + 1)
    return [*out, (level, "up"), (level, "after")]


def counted(levels: int) -> list[tuple[int, str]]:
    """Slow: BoomerAMG's W-cycle by counters: how often each level still goes down before it goes up."""
    left = [1] + [2] * (levels - 1)
    out: list[tuple[int, str]] = []
    level, sweep = 0, "before"
    while True:
        out.append((level, "end" if level == levels - 1 else sweep))
        left[level] -= 1
        if left[level] >= 0 and level < levels - 1:
            out += [(level, "residual"), (level, "down")]
            level, sweep = level + 1, "before"
            left[level] = max(left[level], 2)
        elif level:
            level, sweep = level - 1, "after"
            out.append((level, "up"))
        else:
            return out


def products(found: Hierarchy, shape: str, before: int, after: int) -> list[tuple[Operator, bool]]:
    """Slow: every product of a cycle, and whether it is with the transpose."""
    out: list[tuple[Operator, bool]] = []
    for number, what in order(len(found), shape):
        level = found.levels[number]
        times = {"before": before, "after": after, "residual": 1, "end": before + after + 1}
        if what in times:
            out += [(level.matrix, False)] * times[what]
        elif what == "up":
            assert level.interpolation is not None
            out.append((level.interpolation, False))
        elif level.own_restriction is not None:
            out.append((level.own_restriction, False))
        else:
            assert level.interpolation is not None
            out.append((level.interpolation, True))
    return out


def messages(made: Program) -> Counter[tuple[str, int, int, int]]:
    """Slow: every send of a program with its place."""
    out: Counter[tuple[str, int, int, int]] = Counter()
    for rank in range(made.ranks):
        for i in range(int(made.first[rank]), int(made.first[rank + 1])):
            if made.kind[i] == EventKind.isend:
                out[made.locations[made.location[i]], rank, int(made.peer[i]), int(made.amount[i])] += 1
    return out


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
@pytest.mark.parametrize("smoother", ["jacobi", "symmetric-gauss-seidel", "chebyshev"])
def test_messages_are_those_of_the_hierarchy(shape: str, smoother: str) -> None:
    found = random_hierarchy(1)
    sweeps, degree = (2, 1), 3
    made = program(found, FLOP, shape=shape, smoother=smoother, sweeps=sweeps, degree=degree)
    made.validate()
    each, work = {"jacobi": (1, 1), "symmetric-gauss-seidel": (1, 2), "chebyshev": (degree, degree)}[smoother]
    often = Counter(order(len(found), shape))
    expected: Counter[tuple[str, int, int, int]] = Counter()
    for number, level in enumerate(found.levels):
        before, after, down, end = (often[number, what] for what in ("before", "after", "down", "end"))
        sweep = 2 * before + after + 3 * end
        uses = [(f"level {number} smoothing", level.matrix, sweep * each)]
        uses.append((f"level {number} residual", level.matrix, down + end))
        if level.interpolation is not None:
            uses.append((f"level {number} interpolation", level.interpolation, down))
            uses.append((f"level {number} restriction", level.restriction or level.interpolation, down))
        for place, operator, times in uses:
            dense = operator.exchange.matrix()
            for source, target in zip(*np.nonzero(dense), strict=True):
                expected[place, int(source), int(target), int(dense[source, target])] += times
    assert messages(made) == expected
    # Two operations for every nonzero of every product.
    flops = sum(2 * int(o.nonzeros.sum()) for o, _ in products(found, shape, 2 * work, work))
    assert made.amount[made.kind == EventKind.compute].sum() == flops * 1000


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
def test_events_are_known_before(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of as many events as are allowed is built, one of more is refused; marks of cycles do not count."""
    module, found = importlib.import_module("isthmus.multigrid.program"), random_hierarchy(3)
    count = len(program(found, FLOP, shape=shape).kind) - found.parts
    monkeypatch.setattr(module, "MOST", count)
    program(found, FLOP, shape=shape)
    monkeypatch.setattr(module, "MOST", count - 1)
    with pytest.raises(InvalidInput, match=f"would have {count:,} events"):
        program(found, FLOP, shape=shape)


def test_a_cycle_is_repeated() -> None:
    found = random_hierarchy(2)
    one, three = program(found, FLOP), program(found, FLOP, cycles=3)
    assert {key: 3 * n for key, n in messages(one).items()} == messages(three)
    assert (three.amount[three.kind == EventKind.iteration].reshape(-1, 3) == [0, 1, 2]).all()


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
@pytest.mark.parametrize("smoother", ["l1-jacobi", "symmetric-gauss-seidel", "chebyshev"])
def test_simulation_is_the_model_where_all_ranks_do_the_same(shape: str, smoother: str) -> None:
    """No rank waits for another, so the largest numbers of a level are those of every rank."""
    found = ring(64, 8)
    costs = Costs(alpha=ALPHA, beta=BETA, flop=FLOP)
    told = cycle(found, costs, shape=shape, smoother=smoother, sweeps=(1, 2))
    made = program(found, FLOP, shape=shape, smoother=smoother, sweeps=(1, 2))
    assert simulate(made, POSTAL).makespan == pytest.approx(told.seconds, rel=1e-9)
    assert simulate(program(found, FLOP, cycles=5), POSTAL).makespan == pytest.approx(
        5 * cycle(found, costs).seconds, rel=1e-9
    )


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
def test_with_one_partner_interfaces_are_the_model(shape: str) -> None:
    found = line(32, 2)
    told = cycle(found, Costs(alpha=ALPHA, beta=BETA), shape=shape)
    assert simulate(program(found, shape=shape), WIRE).makespan == pytest.approx(told.seconds, rel=1e-9)


def clocks(found: Hierarchy, shape: str) -> np.ndarray:
    """Slow: when every rank is through a cycle, where a message of any size costs its sender alpha."""
    clock = np.zeros(found.parts)
    for operator, transposed in products(found, shape, 1, 1):
        dense = operator.exchange.matrix()
        dense = dense.T if transposed else dense
        work = 2 * FLOP * operator.nonzeros
        if transposed:
            clock = clock + work
        after = clock.copy()
        for rank in range(found.parts):
            # The order of targets is that of the operator's messages.
            e = operator.exchange
            pairs = zip(e.sources().tolist(), e.peer.tolist(), strict=True)
            sent = [(t if not transposed else s) for s, t in pairs if (s if not transposed else t) == rank]
            assert sorted(sent) == np.flatnonzero(dense[rank]).tolist()
            for number, target in enumerate(sent):
                arrives = clock[rank] + (number + 1) * ALPHA
                after[target] = max(after[target], arrives)
            after[rank] = max(after[rank], clock[rank] + len(sent) * ALPHA)
        clock = after if transposed else after + work
    return clock


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
@pytest.mark.parametrize("seed", range(5))
def test_ranks_that_differ_wait_for_what_they_need(seed: int, shape: str) -> None:
    """The model adds the largest number of every step, as if all ranks waited for the slowest: simulated is less."""
    found = random_hierarchy(seed)
    took = simulate(program(found, FLOP, shape=shape), Level(o_send=ALPHA, S=1e9)).makespan
    assert took == pytest.approx(clocks(found, shape).max(), rel=1e-9)
    model = cycle(found, Costs(alpha=ALPHA, beta=0, flop=FLOP), shape=shape).seconds
    assert took <= model * (1 + 1e-12)
    # No rank is faster than what it does itself.
    own = sum(
        2 * FLOP * o.nonzeros + ALPHA * (o.receives if back else o.sends) for o, back in products(found, shape, 1, 1)
    )
    assert took >= own.max() * (1 - 1e-12)


def test_gaps_of_receivers_are_what_the_model_has_not() -> None:
    """Three parts that all send to each other: the first of two messages of two ranks meet at the third."""
    found = hierarchy([sp.csr_array(np.ones((3, 3)))], [0, 1, 2])
    model = cycle(found, Costs(alpha=ALPHA, beta=0)).seconds
    assert simulate(program(found), Level(o_send=ALPHA)).makespan == pytest.approx(model)
    assert simulate(program(found), Level(L=ALPHA, g=ALPHA)).makespan > model * 1.1


def test_coarsest_level_by_one_rank_and_by_all() -> None:
    found = line(64, 8)
    last = found.levels[-1].matrix
    rows = int(last.rows.sum())
    assert last.active == 2
    smooth = simulate(program(found), POSTAL).makespan
    rest = smooth - 3 * (ALPHA + 8 * BETA)
    # One message of a row there and one back; or one each way at the same time. The solution has rows^2 entries.
    for coarsest, exchanges in (("gather", 2), ("allgather", 1)):
        took = simulate(program(found, coarsest=coarsest), POSTAL).makespan
        assert took == pytest.approx(rest + exchanges * (ALPHA + 8 * BETA), abs=2e-8)
        made = program(found, FLOP, coarsest=coarsest)
        made.validate()
        place = made.locations.index(f"level {len(found) - 1} solve")
        there = made.amount[(made.kind == EventKind.compute) & (made.location == place)]
        assert there.tolist() == [2 * rows**2 * 1000] * (1 if coarsest == "gather" else 2)
        # Below each restriction of the level above there is one solution, also where a cycle would come back at once.
        for shape, solutions in (("V", 1), ("W", 2 ** (len(found) - 2)), ("F", len(found) - 1)):
            made = program(found, coarsest=coarsest, shape=shape)
            calls = made.kind == EventKind.collective
            assert int(calls.sum()) == 2 * exchanges * solutions
    alone = hierarchy([laplace(4)], [0, 0, 0, 0], parts=1)
    assert simulate(program(alone, FLOP, coarsest="gather"), POSTAL).makespan == pytest.approx(32 * FLOP)


def test_gathered_levels_send_what_the_model_counts() -> None:
    found, switches = line(256, 16), {2: 4, 4: 2}
    made = program(found, FLOP, switches=switches)
    made.validate()
    expected = messages(program(gathered(found, switches), FLOP))
    assert messages(made) == expected
    # A gather and a scatter in each group: 16 ranks to 4, then 4 to 2.
    calls = made.kind == EventKind.collective
    assert Counter(made.locations[i] for i in made.location[calls]) == {
        "level 2 gather": 16, "level 2 scatter": 16, "level 4 gather": 4, "level 4 scatter": 4,
    }  # fmt: skip
    root = roots(found.levels[2].matrix.rows, 4)
    members = [set(np.flatnonzero(root == r).tolist()) for r in np.unique(root)]
    first = made.comm_first.astype(int)
    assert [set(made.comm_ranks[first[i] : first[i + 1]].tolist()) for i in range(1, 5)] == members
    # Every rank gives its own rows once.
    assert made.details[made.details > 0].max() <= 8 * int(found.levels[2].matrix.rows.max())
    took = simulate(made, POSTAL, collectives={"gather": "binomial", "scatter": "binomial"}).makespan
    assert took > cycle(gathered(found, switches), Costs(alpha=ALPHA, beta=BETA, flop=FLOP)).seconds


def test_a_switch_costs_two_collectives_for_each_visit_of_the_level_above() -> None:
    """Four parts of a crowd to one: the level is then of one rank, so only collectives are left of it."""
    found = hierarchy([(laplace(8), sp.csr_array(np.eye(8))), sp.csr_array(np.ones((8, 8)))], boxes((8,), 4))
    plain = Level(o_send=ALPHA, S=1e9)
    for shape in "VWF":
        took = simulate(
            program(found, shape=shape, switches={1: 1}), plain,
            collectives={"gather": "binomial", "scatter": "binomial"},
        ).makespan  # fmt: skip
        # Two rounds each way; three exchanges of two messages above.
        assert took == pytest.approx(3 * 2 * ALPHA + 2 * 2 * ALPHA, abs=1e-12), shape


@pytest.mark.parametrize("shape", ["V", "W", "F", "hypre-W"])
@pytest.mark.parametrize("redundant", [False, True])
def test_gathered_cycles_take_what_redistribution_says(shape: str, redundant: bool) -> None:
    """The third level to one rank: it gathers and scatters whenever the cycle comes from the second."""
    same = sp.csr_array(np.eye(8))
    found = hierarchy([(laplace(8), same), (laplace(8), same), sp.csr_array(np.ones((8, 8)))], boxes((8,), 4))
    told = redistribute(found, Costs(alpha=ALPHA, beta=0), shape=shape, redundant=redundant)
    assert told.rules["MueLu, 800 rows a process"][0] == {2: 1}
    options = {"shape": shape, "redundant": redundant}
    for switches in ({1: 1}, {2: 1}, {1: 2, 2: 1}, told.switches):
        made = program(found, switches=switches, **options)
        took = simulate(
            made, Level(o_send=ALPHA, S=1e9),
            collectives={"gather": "binomial", "scatter": "binomial", "allgather": "recursive_doubling"},
        ).makespan  # fmt: skip
        assert took == pytest.approx(price(found, switches, Costs(alpha=ALPHA, beta=0), redundant, {"shape": shape}))
    assert took == pytest.approx(told.seconds)


def test_redundant_groups_compute_and_exchange_everywhere() -> None:
    found = crowd()
    usual, made = program(found, FLOP, switches={1: 4}), program(found, FLOP, switches={1: 4}, redundant=True)
    made.validate()
    one, copies = messages(usual), messages(made)
    size = 64 // 4
    for place in usual.locations:
        there = sum(n for key, n in one.items() if key[0] == place)
        expected = size * there if place.startswith("level 1 ") else there
        assert sum(n for key, n in copies.items() if key[0] == place) == expected

    # Nobody sends more than a root of the usual program, and nothing comes back.
    def most(all_: Counter[tuple[str, int, int, int]]) -> int:
        by: Counter[int] = Counter()
        for (place, rank, _, _), n in all_.items():
            by[rank] += n if place.startswith("level 1 ") else 0
        return max(by.values())

    assert most(copies) == most(one)
    assert "level 1 scatter" not in made.locations
    # All of a group have the same right side at the end: nested groups, and a coarsest level that one rank solves.
    nested = line(256, 16)
    for coarsest in ("smooth", "gather", "allgather"):
        both = program(nested, FLOP, switches={2: 8, 4: 2}, redundant=True, coarsest=coarsest, shape="W")
        both.validate()
        assert simulate(both, "eos").makespan > 0


def large() -> Hierarchy:
    """Ten levels on 8,192 parts with as many partners as a Laplace problem has of 8 million rows, on every part."""
    parts = 8192
    counts = [(8192, 6, 5), (8192, 18, 14), (8192, 26, 18), (8192, 26, 20), (8192, 69, 24), (7238, 170, 52),
              (1881, 223, 91), (231, 159, 66), (39, 37, 15), (7, 6, 0)]  # fmt: skip

    def operator(active: int, sends: int, nonzeros: int) -> Operator:
        rank, away = np.arange(active), np.arange(1, sends + 1)
        source = np.repeat(rank, sends)
        target = (source + np.tile(away, active)) % active
        rows = np.where(np.arange(parts) < active, 1, 0).astype(np.uint64)
        exchange = Pattern.of(parts, source=source, target=target, bytes=np.full(len(source), 64))
        return Operator(rows, rows * np.uint64(nonzeros), exchange)

    levels = [
        GridLevel(operator(active, sends, 1000), operator(active, below, 100) if below else None)
        for active, sends, below in counts
    ]
    return Hierarchy(tuple(levels))


def test_ten_levels_on_8192_ranks() -> None:
    found = large()
    begin = time.perf_counter()
    made = program(found, FLOP)
    took = time.perf_counter() - begin
    per_level = [3 * len(level.matrix.exchange) for level in found.levels]
    per_level += [2 * len(level.interpolation.exchange) for level in found.levels if level.interpolation is not None]
    assert int((made.kind == EventKind.isend).sum()) == sum(per_level)
    # 4.4 s on one core of the machine where it was written; others run beside.
    assert took < 60
    with pytest.raises(InvalidInput, match="events: must be at most 200,000,000"):
        program(found, shape="W")


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels, out = str(tmp_path / "levels.h5"), str(tmp_path / "cycle.h5")
    found = line(64, 8)
    found.save(levels)
    main(["multigrid", "program", levels, "--cost", "flop=1e-9", "--sweeps", "2,1", "--cycle", "W", "-o", out])
    assert "wrote" in capsys.readouterr().out
    assert isthmus.read(out) == program(found, 1e-9, sweeps=(2, 1), shape="W")
    main(["multigrid", "program", levels, "--gather", "2=4", "--gather", "3=2", "--coarsest", "gather", "-o", out])
    assert "level 2 is gathered on 4 ranks" in capsys.readouterr().out
    for words in (
        ["show", out], ["simulate", out, "--machine", "eos"], ["map", out, "--machine", "torus:4x4"],
        ["advise", out, "--machine", "eos"],
    ):  # fmt: skip
        main(words)
        assert capsys.readouterr().out
    crowd().save(levels)
    main(["multigrid", "program", levels, "--machine", "eos", "--gather", "model", "--json"])
    told = json.loads(capsys.readouterr().out)
    chosen = isthmus.multigrid.redistribute(crowd(), "eos", cores=16).switches
    assert {int(level): parts for level, parts in told["switches"].items()} == dict(chosen)
    assert told["switches"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--gather", "model"], "give --machine"),
        (["--gather", "2"], "--gather 2: expected LEVEL=N"),
        (["--gather", "1=4", "--gather", "1=2"], "level 1 is given twice"),
        (["--gather", "1=4", "--gather", "model"], "or model alone"),
        (["--gather", "9=1"], "level 9: must be one of the coarse levels"),
        (["--gather", "1=64"], "level 1 to 64 parts: must be from 1 to"),
        (["--sweeps", "1"], "--sweeps 1: expected two numbers"),
        (["--smoother", "sor"], "must be one of jacobi"),
        (["--coarsest", "lu"], "must be one of smooth, gather, allgather"),
        (["--cost", "alpha=1e-6"], "without --machine"),
        (["--cost", "flop=-1"], "flop = -1"),
        (["--cost", "flop"], "expected NAME=NUMBER"),
        (["--ranks-per-node", "4"], "give --machine, too"),
        (["-o", "cycle.txt"], "cycle.txt"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = str(tmp_path / "levels.h5")
    line(64, 8).save(levels)
    with pytest.raises(SystemExit) as ended:
        main(["multigrid", "program", levels, *words])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert told in err
    assert not out
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: program(line(64, 8), cycles=0), "cycles = 0"),
        (lambda: program(line(64, 8), shape="X"), "must be one of V, W, F"),
        (lambda: program(line(64, 8), float("nan")), "flop = nan"),
        (lambda: program(line(64, 8), sweeps=(-1, 1)), "at least 0 and 1"),
    ],
)
def test_numbers_that_are_wrong_are_said(call: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call()  # type: ignore[operator]
