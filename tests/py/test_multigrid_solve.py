"""Solves on hypre's hierarchy with coarse levels gathered, beside BoomerAMG itself."""

from __future__ import annotations

import json
import os
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus import InvalidInput, ParseError, multigrid
from isthmus.cli import main
from isthmus.multigrid import boomeramg, gathered, hypre, solve
from isthmus.multigrid.redistribution import roots
from isthmus.multigrid.solution import read_solution
from test_multigrid_hypre import OPEN, launch, needs_hypre

ROOT = Path(__file__).parents[2]


def convection(nx: int, ny: int) -> sp.csr_array:
    """Flow along both axes, upwind: a matrix that is not symmetric."""

    def line(n: int, flow: float) -> sp.dia_array:
        return sp.diags_array([-np.ones(n - 1) * (1 + flow), np.full(n, 2 + flow), -np.ones(n - 1)], offsets=[-1, 0, 1])

    return sp.csr_array(sp.kron(line(nx, 1.5), sp.eye_array(ny)) + sp.kron(sp.eye_array(nx), line(ny, 0.7)))


def compared(problem: Any, points: Any, ranks: int, gather: dict[int, int], **more: Any) -> multigrid.Solution:
    settings = {"iterations": 20, "repeats": 1, "exchange": "mpi"} | more
    return solve(problem, points, launch=launch(ranks), gather=gather, **settings)


CASES: list[tuple[Any, Any, int, dict[int, int], dict[str, float], str]] = [
    # Jacobi, as hypre's loop over rows and as a product
    ("laplace7", (7, 5, 3), 7, {1: 3}, {"relax": 0, "weight": 0.7}, "runtime"),
    ("laplace7", (7, 5, 3), 3, {1: 1}, {"relax": 7}, "runtime"),
    # l1-Jacobi: coarse and other rows in turn, W-cycles, three unknowns of a point
    ("laplace27", (9, 8, 7), 3, {2: 2}, {"relax": 18, "order": 1}, "mpi"),
    ("rotated", (20, 17), 4, {2: 1}, {"relax": 18, "cycle": 2, "sweeps": 2}, "mpi"),
    ("elasticity", (5, 4, 4), 4, {1: 2}, {"relax": 18}, "mpi"),
    # F-cycles, of V- and W-cycles
    ("laplace7", (12, 10, 9), 4, {2: 2}, {"relax": 18, "fcycle": 1}, "mpi"),
    ("rotated", (30, 27), 3, {1: 2, 3: 1}, {"relax": 7, "fcycle": 1, "cycle": 2}, "runtime"),
    ("laplace7", (10, 9, 8), 4, {1: 2}, {"relax": 18, "restrict": 1}, "mpi"),
    # Not symmetric; three switches; ranks without rows on coarse levels; as many as there are ranks
    (convection(15, 11), None, 7, {1: 4, 2: 2, 3: 1}, {"relax": 18}, "mpi"),
    (convection(3, 3), None, 7, {1: 7}, {"relax": 18, "coarse_rows": 1}, "mpi"),
    # Chebyshev with bounds of hypre's setup
    ("anisotropic", (8, 8, 8), 4, {1: 2, 2: 1}, {"relax": 16}, "runtime"),
    (convection(20, 15), None, 7, {1: 5, 2: 3}, {"relax": 16, "degree": 4}, "mpi"),
    # One rank, one level
    ("jumps", (8, 7, 6), 1, {1: 1}, {"relax": 18}, "runtime"),
    ("laplace7", (6, 6, 6), 2, {}, {"relax": 18, "levels": 1}, "runtime"),
]


@needs_hypre
@pytest.mark.parametrize(("problem", "points", "ranks", "gather", "options", "exchange"), CASES)
def test_residuals_are_those_of_boomeramg(
    problem: Any, points: Any, ranks: int, gather: dict[int, int], options: dict[str, float], exchange: str
) -> None:
    found = compared(problem, points, ranks, gather, options=options, exchange=exchange, steps="all", ranks_per_node=2)
    hypre_run = found.runs["hypre"]
    assert hypre_run.cycles > 5
    ours = ("stay", "gather", "steps") if gather else ("stay", "steps")
    for name in ours:
        run = found.runs[name]
        assert run.cycles == hypre_run.cycles
        assert run.iterations == hypre_run.iterations
        for mine, theirs in ((run.residuals, hypre_run.residuals), (run.pcg_residuals, hypre_run.pcg_residuals)):
            assert mine == pytest.approx(theirs, rel=1e-11, abs=1e-14)
        assert [level["rows"] for level in run.levels] == [level["rows"] for level in hypre_run.levels]
    if gather:
        parts = [level["parts"] for level in found.runs["gather"].levels]
        before = [level["parts"] for level in hypre_run.levels]
        for level, count in gather.items():
            assert parts[level] == min(count, before[level])
    # Counters of ours beside what MPI sees, of hypre's beside its communication packages.
    for name in ("hypre", *(ours if exchange == "mpi" else ())):
        run = found.runs[name]
        assert run.mpi[:2] == (round(run.sum("messages") * run.cycles), round(run.sum("bytes") * run.cycles))
    if exchange == "runtime":
        assert found.runs["stay"].mpi[:2] == found.runs["steps"].mpi[:2] == (0, 0)
    assert found.runs["stay"].sum("messages") == found.runs["hypre"].sum("messages")


@needs_hypre
@pytest.mark.parametrize(
    ("problem", "points", "ranks", "gather", "options"),
    [
        ("laplace7", (12, 12, 12), 4, {1: 2, 2: 1}, {}),  # hybrid l1 Gauss-Seidel, hypre's default
        ("laplace27", (12, 10, 8), 3, {1: 1}, {"relax": 3}),
        ("anisotropic", (10, 10, 10), 4, {1: 2}, {"relax": 6}),
        (convection(20, 16), None, 7, {1: 3, 2: 1}, {"relax": 8}),
    ],
)
def test_hybrid_gauss_seidel_takes_as_many_iterations(
    problem: Any, points: Any, ranks: int, gather: dict[int, int], options: dict[str, float]
) -> None:
    found = compared(problem, points, ranks, gather, options=options, iterations=80)
    ours, theirs = found.runs["gather"], found.runs["hypre"]
    assert theirs.residuals[-1] < 1e-8
    assert ours.cycles <= 1.1 * theirs.cycles
    # Where nothing is gathered blocks are the same, and residuals too.
    assert found.runs["stay"].residuals == pytest.approx(theirs.residuals, rel=1e-11, abs=1e-14)


@needs_hypre
def test_messages_are_those_that_the_counts_say() -> None:
    """Levels of a solve beside the hierarchy of counts, gathered by the functions of the model."""
    switches = {1: 3, 2: 2}
    found = compared("laplace7", (10, 9, 8), 5, switches, options={"relax": 18}, hypre_threshold=60)
    counts = boomeramg("laplace7", (10, 9, 8), launch=launch(5))
    for name, levels in (("stay", counts.levels), ("gather", gathered(counts, switches).levels)):
        for number, (level, seen) in enumerate(zip(levels, found.runs[name].levels, strict=True)):
            last = number == len(levels) - 1
            # Smoothed before and after, and the residual; then down and up. The coarsest is solved.
            sends = level.matrix.sends.astype(int) * (0 if last else 3)
            size = level.matrix.bytes_sent.astype(int) * (0 if last else 3)
            if level.interpolation is not None and level.restriction is not None:
                sends += level.interpolation.sends.astype(int) + level.restriction.sends.astype(int)
                size += level.interpolation.bytes_sent.astype(int) + level.restriction.bytes_sent.astype(int)
            assert seen["messages"] == sends.sum()
            # Counts do not know which elements several of the joined parts need: they have those once for each.
            assert seen["bytes"] == size.sum() if name == "stay" else size.sum() / 2 <= seen["bytes"] <= size.sum()
            assert (seen["most_messages"], seen["parts"]) == (sends.max(), level.matrix.active)
            assert seen["collectives"] == (2 if name == "gather" and number in switches else last and seen["parts"] > 1)
    threshold = found.runs["threshold"]
    assert threshold.mpi[:2] == (
        round(threshold.sum("messages") * threshold.cycles),
        round(threshold.sum("bytes") * threshold.cycles),
    )
    assert len(threshold.levels) < len(counts)


def in_steps(dense: np.ndarray, node: np.ndarray) -> tuple[int, int, int, int]:
    """Slow: messages and bytes of an exchange in three steps, those to other nodes, and the most of these of a rank."""
    first: set[tuple[int, int]] = set()
    second: set[tuple[int, int]] = set()
    third: set[tuple[int, int]] = set()
    size = 0
    members = {name: np.flatnonzero(node == name) for name in set(node.tolist())}
    number = {name: i for i, name in enumerate(sorted(members))}
    for source, target in zip(*np.nonzero(dense), strict=True):
        here, there = node[source], node[target]
        way = [source, target]
        if here != there:
            gives = members[here][number[there] % len(members[here])]
            takes = members[there][number[here] % len(members[there])]
            way = [source, gives, takes, target]
            second.add((gives, takes))
            third |= {(takes, target)} - {(target, target)}
        first |= {(source, way[1])} - {(source, source)}
        size += dense[source, target] * sum(a != b for a, b in pairwise(way))
    far = np.zeros(len(node), int)
    for gives, _ in second:
        far[gives] += 1
    return len(first) + len(second) + len(third), int(size), len(second), int(far.max())


@needs_hypre
@pytest.mark.parametrize(("ranks", "per_node"), [(7, 3), (6, 2), (4, 1), (4, 4)])
def test_messages_in_three_steps_are_those_of_their_definition(ranks: int, per_node: int) -> None:
    found = compared("laplace7", (12, 10, 8), ranks, {}, options={"relax": 18}, steps=[0, 1], ranks_per_node=per_node)
    counts = boomeramg("laplace7", (12, 10, 8), launch=launch(ranks))
    node = np.arange(ranks) // per_node
    for number, (level, direct) in enumerate(zip(counts.levels, found.runs["stay"].levels, strict=True)):
        seen = found.runs["steps"].levels[number]
        if number > 1 or per_node >= ranks:
            assert seen == direct
            continue
        assert level.interpolation is not None
        dense = level.matrix.exchange.matrix(), level.interpolation.exchange.matrix()
        matrix, up, down = (in_steps(one, node) for one in (*dense, dense[1].T))
        assert [3 * m + u + d for m, u, d in zip(matrix[:3], up, down, strict=False)] == [
            seen["messages"], seen["bytes"], seen["far"],
        ]  # fmt: skip
        assert seen["most_far"] >= 3 * matrix[3]
        if per_node == 1:
            assert seen == direct
        elif number == 1:
            assert seen["far"] < direct["far"]


@needs_hypre
def test_steps_are_where_the_model_has_them_faster(capsys: pytest.CaptureFixture[str]) -> None:
    costs = multigrid.Costs(alpha=1e-3, beta=1e-9, node_alpha=1e-6, node_beta=1e-10)
    found = compared("laplace7", (12, 10, 8), 6, {}, steps=costs, cores=3, ranks_per_node=3)
    told = multigrid.node_aware(boomeramg("laplace7", (12, 10, 8), launch=launch(6)), costs, cores=3)
    faster = told.seconds["three steps"] < told.seconds["direct"]
    assert faster.any()
    for direct, steps, taken in zip(found.runs["stay"].levels, found.runs["steps"].levels, faster, strict=True):
        assert (steps["far"] < direct["far"]) == (taken and direct["far"] > 0)  # the coarsest level is solved
    near = multigrid.Costs(alpha=1e-6, beta=1e-9, node_alpha=1e-3, node_beta=1e-6)
    assert "steps" not in compared("laplace7", (8, 8, 8), 4, {}, steps=near, cores=2).runs
    with pytest.raises(InvalidInput, match="steps on level 64: must be from 0 to 63"):
        compared("laplace7", (8, 8, 8), 4, {}, steps=[64])
    words = ["multigrid", "solve", "laplace7", "--points", "8x8x8", "--launch", launch(4)]
    for word, why in (("x", "must be the number of a level, all or model"), ("model", "give --machine")):
        with pytest.raises(SystemExit):
            main([*words, "--steps", word])
        assert f"--steps {word}: {why}" in capsys.readouterr().err
    main([*words, "--steps", "1", "--ranks-per-node", "2", "--repeats", "1"])
    assert "Messages of a cycle to other nodes" in capsys.readouterr().out


@needs_hypre
def test_a_solver_of_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user's conjugate gradients and hypre's, on ranks with different numbers of rows, one of them with none."""
    main(["multigrid", "library", "--amg", "--mpicc", OPEN])
    flags = capsys.readouterr().out.split()
    source, app = Path(__file__).parent / "amg_cg.c", tmp_path / "app"
    subprocess.run([OPEN, "-w", str(source), "-o", str(app), *flags, "-lHYPRE", "-lm"], check=True)

    def words(ranks: int, gather: str) -> list[str]:
        run = [*launch(ranks).split(), str(app), gather]
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout.split(maxsplit=3)

    by_hypre, by_us, by_pcg = map(int, words(4, "1:2,2:1"))
    assert 3 < by_hypre == by_us < 100
    assert by_pcg > 3
    assert words(3, "9:1")[1:] == ["-1", "-1", "level 9 to 1: the hierarchy has levels 0 to 2\n"]
    for wrong in ("1", "1:", "1:2,", "2:1,1:1", "0:1", "1:0", "a:b", "1:2 "):
        assert words(1, wrong) == ["cannot", "be", "read"]


@needs_hypre
def test_the_guide_from_a_program_to_gathered_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its program as it is, what it is advised, and with the levels gathered: it takes as many iterations."""
    source, app, levels = ROOT / "examples/hypre/poisson.c", tmp_path / "poisson", str(tmp_path / "levels.h5")
    include = [flag for flag in hypre.installed().flags if flag.startswith("-I")]
    subprocess.run([OPEN, *include, str(source), "-o", str(app), "-lHYPRE", "-lm"], check=True)
    main(["multigrid", "trace", "-o", levels, "--", *launch(8).split(), str(app), "16"])
    capsys.readouterr()
    main(["multigrid", "redistribute", levels, "--machine", "eos", "--ranks-per-node", "1", "--json"])
    switches = json.loads(capsys.readouterr().out)["switches"]
    assert switches
    cycle = str(tmp_path / "cycle.h5")
    main(["multigrid", "program", levels, "--machine", "eos", "--gather", "model", "-o", cycle])
    assert "is estimated from the memory bandwidth of a node" in capsys.readouterr().out
    # The time of operations is not left out where the machine has none.
    assert "compute" in str(isthmus.read(cycle))
    main(["multigrid", "library", "--amg", "--mpicc", OPEN])
    flags = capsys.readouterr().out.split()
    gathered = tmp_path / "gathered"
    subprocess.run([OPEN, "-DGATHER", str(source), "-o", str(gathered), *flags, "-lHYPRE", "-lm"], check=True)

    def iterations(program: Path, *words: str) -> str:
        run = [*launch(8).split(), str(program), *words]
        out = subprocess.run(run, check=True, capture_output=True, text=True).stdout
        assert out.startswith("correct: 4096 rows on 8 ranks, "), out
        return out.split(";")[0]

    given = ",".join(f"{level}:{ranks}" for level, ranks in switches.items())
    assert iterations(app, "16") == iterations(gathered, "16", given)
    bad = subprocess.run([*launch(2).split(), str(gathered), "16", "2:x"], capture_output=True, text=True)
    assert bad.returncode == 2
    assert "poisson: 2:x: expected levels and their ranks, such as 2:16,4:1" in bad.stderr


@needs_hypre
@pytest.mark.parametrize(
    ("problem", "points", "ranks", "more"),
    [
        ("elasticity", (5, 4, 4), 4, {"options": {"relax": 18}}),
        ("anisotropic", (8, 8, 8), 4, {"options": {"relax": 16}, "exchange": "runtime"}),
        ("rotated", (20, 17), 4, {"options": {"relax": 18, "cycle": 2}, "coarsening": "cljp"}),
        ("laplace7", (12, 12, 12), 4, {"aggressive": 2}),
    ],
)
def test_a_setup_in_parts_is_that_of_boomeramg(
    problem: str, points: tuple[int, ...], ranks: int, more: dict[str, Any]
) -> None:
    """Levels that are set up one after the other, where all ranks go on."""
    # Twice where all ranks have rows: coarsening depends on their numbers.
    all_stay = {1: ranks} if "aggressive" in more else {1: ranks, 2: ranks}
    found = compared(problem, points, ranks, all_stay, early=True, **more)
    theirs, ours = found.runs["hypre"], found.runs["early"]
    assert ours.switches == all_stay
    assert [level["rows"] for level in ours.levels] == [level["rows"] for level in theirs.levels]
    assert ours.residuals == pytest.approx(theirs.residuals, rel=1e-11, abs=1e-14)
    assert ours.pcg_residuals == pytest.approx(theirs.pcg_residuals, rel=1e-11, abs=1e-14)


@needs_hypre
def test_levels_are_gathered_while_the_setup_runs() -> None:
    # The last level, too; the hierarchy is another one, convergence hardly.
    found = compared(convection(15, 11), None, 7, {1: 4, 2: 2, 3: 1}, early=True, options={"relax": 18}, iterations=99)
    theirs, ours = found.runs["hypre"], found.runs["early"]
    assert ours.switches == {1: 4, 2: 2, 3: 1}
    assert [level["parts"] for level in ours.levels][:4] == [7, 4, 2, 1]
    assert ours.residuals[-1] < 1e-8
    assert ours.cycles <= 1.3 * theirs.cycles
    assert ours.mpi[:2] == (round(ours.sum("messages") * ours.cycles), round(ours.sum("bytes") * ours.cycles))
    with pytest.raises(InvalidInput, match="gather: level 9 to 1: the hierarchy has levels 0 to 3"):
        compared(convection(15, 11), None, 2, {1: 1, 9: 1}, early=True)
    with pytest.raises(InvalidInput, match="early: give gather"):
        solve("laplace7", (6, 6, 6), launch=launch(2), early=True)


@needs_hypre
@pytest.mark.parametrize("cost", [1e-4, 1e-6])
def test_the_rule_decides_while_the_setup_runs(cost: float) -> None:
    """With the numbers of the model in Python, whose sums are those of a cycle: once it pays, and once it does not."""
    costs = multigrid.Costs(alpha=cost, beta=1e-9, flop=1e-9)
    found = compared("laplace7", (12, 12, 12), 4, costs, early=True, options={"relax": 18})  # type: ignore[arg-type]
    counts = boomeramg("laplace7", (12, 12, 12), launch=launch(4))
    early = found.runs["early"].switches
    if cost == 1e-6:
        assert not early.keys() & {1, 2}
        assert not multigrid.redistribute(counts, costs).rules["during the setup"][0].keys() & {1, 2}
        return
    # By hand: two sweeps, a residual and two products in place of interpolation; collectives of binomial trees.
    matrix = counts.levels[1].matrix
    seconds = {
        count: 5 * (most.most[0] * cost + most.most[1] * 1e-9 + 2 * int(most.nonzeros.max()) * 1e-9) + switch
        for count in (0, 1, 2)
        for most in [matrix.gathered(roots(matrix.rows, count)) if count else matrix]
        for switch in [2 * (np.log2(4 / count) * cost + 8e-9 * matrix.rows.sum() / count) if count else 0]
    }
    assert early[1] == min(seconds, key=lambda count: seconds[count])


@needs_hypre
def test_the_model_decides(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["multigrid", "solve", "laplace7", "--points", "8x8x8", "--launch", launch(4), "--option", "relax=18"]
    command += ["--repeats", "1", "--iterations", "5", "--exchange", "mpi"]
    model = ["--gather", "model", "--machine", "eos", "--ranks-per-node", "1", "--cost", "flop=1e-12"]
    main([*command, *model, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["switches"]
    gather = [row for row in told["levels"] if row["run"] == "gather"]
    for level, count in told["switches"].items():
        assert gather[int(level)]["parts"] == count
    main([*command, *model, "--cost", "flop=1"])
    out = capsys.readouterr().out
    assert out.startswith("the model gathers nothing here\n")
    assert ("4 ranks on" in out) == (len(os.sched_getaffinity(0)) < 4)


@needs_hypre
def test_bad_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(words: str, **more: Any) -> None:
        with pytest.raises(InvalidInput, match=words):
            compared("laplace7", (6, 6, 6), 2, **more)

    refused(r"gather: level 9 to 1: the hierarchy has levels 0 to \d", gather={9: 1})
    refused("gather level 1 to 3: must be from 1 to 2, the number of ranks", gather={1: 3})
    refused("gather level 0: must be a coarse level, from 1", gather={0: 1})
    refused("stay: this smoother is not served: take 0, 3, 4", gather={}, options={"relax": 15})
    refused("exchange 'tcp': must be runtime or mpi", gather={}, exchange="tcp")
    refused("tolerance 1: must be between 0 and 1", gather={}, tolerance=1.0)
    refused("repeats 0: must be from 1", gather={}, repeats=0)
    refused("option seq: give hypre_threshold", gather={}, options={"seq": 100})

    def stopped(*options: str) -> str:
        command = ["multigrid", "solve", "laplace7", "--points", "6x6x6", "--launch", launch(2)]
        with pytest.raises(SystemExit) as stop:
            main([*command, *options])
        assert stop.value.code == 2
        return capsys.readouterr().err

    assert "--gather model: give --machine" in stopped("--gather", "model")
    unused = "--machine, --cost and --ranks-per-node are for --gather model"
    assert unused in stopped("--gather", "1=1", "--machine", "eos")
    monkeypatch.setattr(hypre, "_FOLDERS", (str(tmp_path),))
    monkeypatch.delenv("HYPRE_DIR", raising=False)
    assert "apt install libhypre-dev" in stopped("--gather", "1=1")


def test_damaged_results(tmp_path: Path) -> None:
    path = tmp_path / "out"
    run = "setup 1\nresiduals 1 0.1\nmpi 0 0 0\nlevel 8 2 1 8 1 8 0 1 1\nsolve 2\npcg 3\npcg_residuals 1 0.2\n"
    whole = f"isthmus solve 1\nrun hypre\n{run}run stay\n{run}end\n"

    def read(text: str) -> multigrid.Solution:
        path.write_text(text)
        return read_solution(path, {}, {"ranks": 2, "cores": 1, "exchange": "mpi"})

    found = read(whole)
    assert found.runs["stay"].pcg_residuals == [1, 0.2]
    assert found.difference("stay") == 0
    assert "2 ranks on 1 core:" in str(found)
    assert repr(found) == "<Solution: nothing gathered: 1 cycles, hypre 1>"
    assert [row["run"] for row in found.frame()] == ["hypre", "stay"]
    for old, new, words in [
        ("solve 1", "solve 2", "expected 'isthmus solve 1'"),
        ("end\n", "", "the file ends here"),
        ("run stay", "run mine", "expected one of hypre, stay"),
        ("mpi 0 0 0", "mpi 0 0", "expected 3 numbers"),
        ("0.1", "x", "expected numbers"),
        ("pcg 3", "cg 3", "cg: expected setup"),
        (f"run stay\n{run}", "", "expected runs hypre and stay"),
    ]:
        with pytest.raises(ParseError, match=words):
            read(whole.replace(old, new, 1))
