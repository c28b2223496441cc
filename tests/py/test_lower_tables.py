"""Decision tables for the collectives of programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import DecisionTable
from isthmus.cli import main
from isthmus.collectives import algorithms, describe
from isthmus.tuning.choice import Choice
from isthmus.tuning.decisions import rules_for
from isthmus.tuning.defaults import LIBRARIES, defaults
from isthmus.tuning.programs import Given, InTurn
from isthmus.tuning.rule import KINDS
from isthmus.tuning.runnable import runnable, used
from isthmus.tuning.table import Point, Row

MACHINE, DOUBLING = "torus-4x4x4", "recursive_doubling"


def table(**rows: Row) -> DecisionTable:
    return DecisionTable({kind: [row] for kind, row in rows.items()})


def of(ranks: int, *rules: tuple[int, str]) -> Row:
    return Row(ranks, tuple(Point(size, Choice.of(name)) for size, name in rules), tuned=False)


def alone(kind: str, ranks: int, bytes: int, algorithm: str) -> int:
    return len(isthmus.collective(kind, ranks=ranks, bytes=bytes, algorithm=algorithm))


def test_every_size_and_communicator_takes_its_own_rule() -> None:
    """Oracle: the operations of each call alone, with the algorithm that the table says."""
    rows = [of(1, (0, "binomial"), (1000, "ring")), of(5, (0, "linear")), of(12, (0, "ring"), (64, DOUBLING))]
    decisions = DecisionTable({"allreduce": rows})
    expected = 0
    b = isthmus.ProgramBuilder(12)
    comms = {12: 0} | {ranks: b.communicator(range(ranks)) for ranks in (3, 5, 7)}
    for ranks, comm in comms.items():
        for size in (0, 8, 63, 64, 999, 1000, 50_000):
            b.allreduce(np.arange(ranks), size, comm=comm)
            expected += alone("allreduce", ranks, size, decisions.lookup("allreduce", ranks, size).name)
    assert len(isthmus.lower(b.build(), collectives=decisions)) == expected
    assert expected != len(isthmus.lower(b.build()))


def test_blocks_decide_by_the_size_of_one() -> None:
    b = isthmus.ProgramBuilder(8)
    b.allgather(None, 100)
    decisions = table(allgather=of(8, (0, "recursive_doubling"), (101, "ring")))
    assert len(isthmus.lower(b.build(), collectives=decisions)) == alone("allgather", 8, 100, "recursive_doubling")


def test_fence_and_communicators_count() -> None:
    b = isthmus.ProgramBuilder(4)
    b.fence(None)
    b.reduce(None, 8)
    assert used(b.build()) == {"barrier": [4], "reduce": [4]}
    linear = isthmus.lower(b.build(), collectives=table(barrier=of(1, (0, "linear"))))
    assert len(linear) == alone("barrier", 4, 0, "linear") + alone("reduce", 4, 8, "binomial")


@pytest.mark.parametrize("library", LIBRARIES)
def test_decisions_of_libraries(library: str) -> None:
    b = isthmus.ProgramBuilder(13)
    for size in (8, 100_000):
        b.barrier(None)
        b.bcast(None, size, root=2)
        b.reduce(None, size, root=1)
        b.allreduce(None, size)
        for name in ("allgather", "alltoall", "reduce_scatter", "scan", "exscan"):
            getattr(b, name)(None, size)
        b.gather(None, size, root=3)
        b.scatter(None, size, root=3)
    program = b.build()
    decisions = defaults(library, ranks_per_node=4)
    assert isthmus.simulate(program, MACHINE, collectives=decisions).deadlock is None
    rules, replaced = rules_for(decisions, program)
    assert set(rules) == set(KINDS) - {"neighbor_alltoall"}
    for r in replaced:
        assert r.running.name in algorithms(r.collective)
        assert r.why in str(r)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_run_has_a_stand_in(kind: str) -> None:
    """Every algorithm on every number of ranks: it runs, or what stands in for it does."""
    for name in [name for name in algorithms(kind) if describe(kind, name).reference]:
        for ranks in (1, 2, 3, 6, 7, 8, 12):
            choice, _ = runnable(kind, Choice(name), ranks)
            counts = np.empty((0, 3), int) if kind == "neighbor_alltoall" else None
            isthmus.collective(kind, ranks=ranks, bytes=8, algorithm=choice.argument, counts=counts).validate()


def test_extents_and_groups_of_other_numbers_of_ranks() -> None:
    dims, groups = Choice("bucket", {"dims": (2, 3)}), Choice("hierarchical", {"groups": (0, 0, 1, 1)})
    if "bucket" in algorithms("allreduce"):
        assert runnable("allreduce", dims, 6) == (dims, "")
        assert runnable("allreduce", dims, 7) == (Choice("ring"), "is for 6 ranks")
    if "hierarchical" in algorithms("allreduce"):
        assert runnable("allreduce", groups, 2, world=4) == (groups, "")
        assert runnable("allreduce", groups, 4, world=8)[1] == "has groups of 4 ranks"
    assert runnable("allreduce", Choice("nobody has this"), 4, strange=True)[0].name == algorithms("allreduce")[0]


def test_what_a_user_chose_counts_first() -> None:
    chosen = Given({"allreduce": [(4, 100, "linear"), (None, 10, "binomial")], "bcast": "linear"})
    given = InTurn(chosen, defaults("openmpi"))
    assert [(r.bytes, r.choice.name) for r in given.rules("allreduce", 4)] == [(0, "linear"), (101, DOUBLING)]
    assert [(r.bytes, r.choice.name) for r in given.rules("allreduce", 5)] == [(0, "binomial"), (11, DOUBLING)]
    assert given.lookup("bcast", 64, 8) == Choice("linear")
    assert given.rules("gather", 64) == defaults("openmpi").rules("gather", 64)
    with pytest.raises(isthmus.InvalidInput, match="must be one of"):
        chosen.rules("gather", 2)


def test_bad_input() -> None:
    b = isthmus.ProgramBuilder(4)
    b.allreduce(None, 8)
    with pytest.raises(isthmus.InvalidInput, match="rign"):
        isthmus.lower(b.build(), collectives=table(allreduce=of(1, (0, "rign"))))
    with pytest.raises(isthmus.InvalidInput, match="list; must be a mapping or a decision table"):
        isthmus.lower(b.build(), collectives=["ring"])  # type: ignore[arg-type]


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    b = isthmus.ProgramBuilder(64)
    b.allreduce(None, 100_000)
    b.allgather(None, 100_000)
    b.build().save("p.h5")
    table(allreduce=of(1, (0, "ring"))).save("t.toml")

    def run(*given: str) -> tuple[int, str, str]:
        arguments = [word for text in given for word in ("--collectives", text)]
        capsys.readouterr()
        try:
            main(["simulate", "p.h5", "--machine", MACHINE, "--record", "finish", "--json", *arguments])
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        return status, *capsys.readouterr()

    def ends(*given: str) -> float:
        status, out, err = run(*given)
        assert status == 0
        assert all(line.startswith("note: ") for line in err.splitlines())
        return float(json.loads(out)["makespan"])

    assert ends("t.toml") == ends("allreduce=ring") != ends()
    assert ends("t.toml", "allreduce=binomial") == ends("allreduce=binomial")
    assert ends("openmpi") == ends("openmpi-4.1")
    wrong = ((["x.toml"], "x.toml"), (["ring"], "must be kind=algorithm"), (["t.toml"] * 2, "one decision table"))
    for given, words in wrong:
        status, out, err = run(*given)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert words in err
