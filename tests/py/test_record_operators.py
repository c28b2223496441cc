"""Reductions by operators that do not commute: recorded as such, and predicted with algorithms that keep the order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
import mpi_programs as programs
from isthmus.advice.analysis.event_of_operation import events_of_operations
from isthmus.errors import InvalidInput
from isthmus.recording.merge import merge
from isthmus.schedule.program import CollectiveKind, EventKind
from isthmus.tuning.defaults import defaults

#: What rank 0 of operators.c calls, and whether its operator commutes.
CALLED = [
    ("allreduce", False), ("allreduce", True), ("allreduce", True), ("reduce", False), ("reduce", True),
    ("reduce_scatter", False), ("reduce_scatter", False), ("scan", False), ("exscan", True), ("allreduce", False),
    ("allreduce", True), ("allreduce", False),
]  # fmt: skip


def called(program: isthmus.Program, rank: int) -> list[tuple[str, bool]]:
    """Collectives of a rank, and whether their operators commute."""
    of = slice(int(program.first[rank]), int(program.first[rank + 1]))
    at = np.flatnonzero(program.kind[of] == EventKind.collective) + of.start
    return [(CollectiveKind(program.what[i]).name, program.tag[i] == 0) for i in at.tolist()]


def recorded(source: str, name: str, folder: Path) -> isthmus.Program:
    programs.installed(name)
    program = programs.compiled(source, name, folder)
    run = programs.run([*programs.launcher(name, 3), str(program)], name, folder)
    assert run.status == 0, run.errors
    return merge(folder / "raw")


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_c(name: str, tmp_path: Path) -> None:
    program = recorded("operators.c", name, tmp_path)
    assert [called(program, rank) for rank in range(3)] == [CALLED] * 3
    program.save(tmp_path / "app.h5")
    again = isthmus.read(tmp_path / "app.h5")
    assert np.array_equal(again.tag, program.tag)
    isthmus.simulate(program, "eos")
    with pytest.raises(InvalidInput, match=r"allreduce by ring .* does not commute needs .* calls have"):
        isthmus.advise(again, "eos", collectives={"allreduce": "ring"}, tune_seconds=0)
    advice = isthmus.advise(again, "eos")
    found = advice.predictions[0].choices
    assert found is not None
    # Only of exscan all operators commute.
    assert {c.use.collective for c in found.compared} <= {"exscan"}
    assert any("do not commute" in note for note in found.notes)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_fortran(name: str, tmp_path: Path) -> None:
    program = recorded("operators.f90", name, tmp_path)
    assert called(program, 1) == [("allreduce", True), ("allreduce", False), ("reduce", True)]


def built(*calls: tuple[str, int, bool], ranks: int = 6, root: int = 0) -> isthmus.Program:
    b = isthmus.ProgramBuilder(ranks)
    for kind, size, commutes in calls:
        b.collective(kind, None, size, root if kind == "reduce" else 0, commutes=commutes)
    return b.build()


def of_calls(program: isthmus.Program, **options: Any) -> list[int]:
    """How many operations each call becomes."""
    number = events_of_operations(program, isthmus.lower(program, **options), options.get("collectives"))
    return np.bincount(number % (len(program) // program.ranks)).tolist()


def test_only_calls_whose_operators_do_not_commute_are_kept_in_order() -> None:
    program = built(("reduce_scatter", 600, True), ("reduce_scatter", 600, False), ("allreduce", 60_000, False))
    program.validate()
    one, other = (of_calls(built(("reduce_scatter", 600, True)), collectives={"reduce_scatter": name})[0]
                  for name in ("pairwise", "linear"))  # fmt: skip
    assert one != other
    assert of_calls(program)[:2] == [one, other]
    # What libraries and tables decide gives way.
    table = of_calls(program, collectives=defaults("openmpi"))
    assert table[1] == other
    assert str(program.events(0)[1]).startswith("reduce_scatter 600 B in order")


def test_rules_are_refused_where_such_calls_would_take_them() -> None:
    program = built(("allreduce", 8, False), ("allreduce", 60_000, True))
    # The ring is for others only.
    small = [(64, "recursive_doubling"), (None, "ring")]
    plain = of_calls(built(("allreduce", 8, True), ("allreduce", 60_000, True)), collectives={"allreduce": small})
    assert of_calls(program, collectives={"allreduce": small}) == plain
    for rules in ("ring", [(8, "ring"), (None, "linear")], [(6, None, "swing")]):
        with pytest.raises(
            InvalidInput, match=r"allreduce by (ring|swing) combines .*; 6 of the program's calls have one"
        ):
            isthmus.lower(program, collectives={"allreduce": rules})
    # For fewer ranks than call it.
    isthmus.lower(program, collectives={"allreduce": [(5, None, "ring")]})


def test_reduce_to_another_root_is_taken_as_it_is() -> None:
    program = built(("reduce", 600, False), ranks=4, root=2)
    usual = built(("reduce", 600, True), ranks=4, root=2)
    assert isthmus.lower(program) == isthmus.lower(usual)
    assert isthmus.lower(program, collectives={"reduce": "linear"}) == isthmus.lower(
        usual, collectives={"reduce": "linear"}
    )
    with pytest.raises(InvalidInput, match=r"reduce by double_tree combines .* needs one of"):
        isthmus.lower(built(("reduce", 600, False)), collectives={"reduce": "double_tree"})


def test_wrong_marks() -> None:
    with pytest.raises(InvalidInput, match=r"bcast has no operator"):
        isthmus.ProgramBuilder(2).collective("bcast", None, 8, commutes=False)
    b = isthmus.ProgramBuilder(2)
    for rank in range(2):
        b.collective("allreduce", rank, 8, commutes=rank == 0)
    with pytest.raises(InvalidInput, match=r"differs in whether the operator commutes"):
        b.build().validate()
