"""The section of advice on collectives: what the library takes, what is better, the files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.advice.collectives.comparison import Choices
from isthmus.advice.collectives.library import library_of
from isthmus.advice.collectives.tuner import as_run
from isthmus.advice.collectives.usage import uses
from isthmus.advice.output.html.sections import sections
from isthmus.cli import main
from isthmus.tuning.choice import LIBRARY, Choice
from isthmus.tuning.defaults import defaults
from isthmus.tuning.export.export import Loss, export
from isthmus.tuning.programs import Given, InTurn
from isthmus.tuning.table import DecisionTable, Point, Row

MACHINE = "torus:4x4x2 link=5GB/s hop=50ns cores=4"
SLOW = {"allreduce": "linear", "bcast": "linear"}


def work(ranks: int = 32, steps: int = 3) -> isthmus.Program:
    """Sums and broadcasts of all, sums in rows, one nonblocking broadcast, little computation."""
    b = isthmus.ProgramBuilder(ranks)
    rows = np.array([b.communicator(np.arange(r, r + 8)) for r in range(0, ranks, 8)])
    me = np.arange(ranks)
    for _ in range(steps):
        b.compute(None, 50e-6 + me * 1e-7)
        b.allreduce(None, 200_000)
        b.allreduce(None, 8, comm=rows[me // 8])
        b.bcast(None, 500_000, root=3)
    b.collective("bcast", None, 64, nonblocking=True)
    b.waitall(None)
    return b.build()


def advise(program: isthmus.Program, **options: Any) -> isthmus.Advice:
    return isthmus.advise(program, MACHINE, ranks_per_node=1, **{"tune_seconds": 20.0, **options})


@pytest.fixture(scope="module")
def advice() -> isthmus.Advice:
    return advise(work(), collectives=SLOW)


def found_in(advice: isthmus.Advice) -> Choices:
    found = advice.predictions[0].choices
    assert found is not None
    return found


def test_uses_of_collectives() -> None:
    found = {(u.collective, u.ranks, u.bytes, u.nonblocking): (u.calls, u.per_rank) for u in uses(work())}
    assert found == {
        ("allreduce", 32, 200_000, False): (3, 3),
        ("allreduce", 8, 8, False): (12, 3),
        ("bcast", 32, 500_000, False): (3, 3),
        ("bcast", 32, 64, True): (1, 1),
    }


def test_sizes_are_those_that_decide() -> None:
    b = isthmus.ProgramBuilder(4)
    b.allgather(None, counts=[1, 2, 3, 10])
    b.allgather(None, 5)
    b.barrier(None)
    b.allreduce(None, 0)
    found = {u.collective: u for u in uses(b.build())}
    assert (found["allgather"].low, found["allgather"].high, found["allgather"].calls) == (4, 5, 2)
    assert found["allgather"].limits == (4, 7)
    assert found["allreduce"].limits == (0, 0)
    assert found["barrier"].limits == (0, None)
    assert uses(isthmus.ProgramBuilder(2).build()) == []


def test_now_and_best_by_simulation(advice: isthmus.Advice) -> None:
    """Oracle: the program and single calls simulated again."""
    found = found_in(advice)
    machine = advice.predictions[0].machine
    job = machine.allocate(32, ranks_per_node=1)
    assert isinstance(advice.program, isthmus.Program)
    assert found.before == advice.predictions[0].time
    again = isthmus.simulate(advice.program, machine, job, collectives=InTurn(Given(SLOW), defaults("openmpi")))
    assert found.before == again.makespan
    assert found.table is not None
    assert found.after == isthmus.simulate(advice.program, machine, job, collectives=found.table).makespan
    assert found.after < 0.5 * found.before
    for c in found.compared:
        if c.use.ranks == 32:
            for choice, seconds in ((c.now, c.now_seconds), (c.best, c.best_seconds)):
                assert choice is not None
                one = isthmus.collective(
                    c.use.collective,
                    ranks=32,
                    bytes=c.use.bytes,
                    algorithm=choice.argument,  # type: ignore[arg-type]
                )
                assert isthmus.simulate(one, machine, job).makespan == seconds
        assert c.bound is not None
        assert c.best_seconds is not None
        assert c.bound <= c.best_seconds <= c.now_seconds
        assert c.now == Choice("linear")


def test_what_is_not_tuned_stays(advice: isthmus.Advice) -> None:
    found = found_in(advice)
    assert found.table is not None
    by = {(c.use.collective, c.use.ranks): c for c in found.compared}
    best = by["allreduce", 32].best
    assert found.table.lookup("allreduce", 32, 200_000) == best
    assert found.table.lookup("allreduce", 32, 131_072) == best
    assert found.table.lookup("allreduce", 32, 131_071) == Choice("linear")
    assert found.table.lookup("allreduce", 32, 262_144) == Choice("linear")
    assert {row.ranks for row in found.table.rows["allreduce"]} == {8, 32}


def test_page_report_and_json_have_it(advice: isthmus.Advice) -> None:
    page = str(advice)
    assert "collective algorithms" in page
    assert "allreduce of 200 kB on 32 ranks" in page
    assert "those given, otherwise Open MPI 4.1, by default" in page
    assert any(s.topic == "collectives" for s in advice.sentences)
    assert "Nonblocking and persistent calls (1 of bcast) keep their algorithms" in page.replace("\n    ", " ")
    section = sections.collectives(advice)
    assert section is not None
    for words in ("The whole program", "linear", "lower bound", "--export-collectives"):
        assert words in section.body
    plain = json.loads(json.dumps(advice.json()["predictions"][0]["choices"]))
    assert plain["after"] == found_in(advice).after
    assert plain["library"] == "openmpi-4.1"
    assert {row["collective"] for row in plain["compared"]} == {"allreduce", "bcast"}


def test_files_leave_to_the_library_what_was_not_tuned() -> None:
    found = found_in(advise(work(), mpi="openmpi-4.1.4"))
    assert found.table is not None
    exported = found.export()
    assert exported.file.target == "openmpi-4.1.4"
    assert " 0 0 0 # ignore" in exported.file.text
    assert exported.time < found.before
    # Of what it lacks it has something nearly as good.
    assert exported.time <= 1.5 * found.after


def test_what_libraries_lack_is_simulated_as_they_run_it() -> None:
    now = Given({"allreduce": [(99, "linear"), (None, "ring")]})
    rules = DecisionTable(
        {
            "allreduce": [
                Row(8, [Point(0, LIBRARY), Point(64, Choice("bruck")), Point(128, Choice("binomial"))], tuned=False),
                Row(16, [Point(0, Choice("bruck")), Point(50, LIBRARY)], tuned=False),
            ]
        }
    )
    losses = [
        Loss("allreduce", 8, 64, 127, Choice("bruck"), Choice("recursive_doubling"), 0.5),
        Loss("allreduce", 16, 0, 49, Choice("bruck"), None, None),
    ]
    run = as_run(rules, losses, now)
    sizes = [(0, "linear"), (63, "linear"), (64, "recursive_doubling"), (127, "recursive_doubling"), (128, "binomial")]
    for size, name in sizes:
        assert run.lookup("allreduce", 8, size).name == name
    assert [run.lookup("allreduce", 16, size).name for size in (0, 50, 99, 100)] == ["linear"] * 3 + ["ring"]


def test_rules_of_the_library_are_no_loss() -> None:
    table = DecisionTable({"bcast": [Row(4, [Point(0, LIBRARY), Point(100, Choice("binomial"))], tuned=False)]})
    made = export(table, "openmpi-4.1.4", predict=lambda *_: 1.0)
    assert made.losses == []
    assert made.text.splitlines()[-2:] == ["0 0 0 0 # ignore", "100 6 0 0 # binomial"]


def test_one_rule_for_all_sizes_where_files_cannot_tell_them_apart() -> None:
    b = isthmus.ProgramBuilder(32)
    for _ in range(3):
        b.scan(None, 8)
        b.scan(None, 10_000)
    found = found_in(advise(b.build()))
    assert found.table is not None
    assert len(found.table.rows["scan"][0].points) > 1
    exported = found.export()
    lines = exported.file.text.splitlines()
    assert lines[lines.index("32 # ranks and more") + 1] == "1 # message sizes"
    assert exported.time < found.before


def test_library_of_a_recording() -> None:
    program = isthmus.example("lammps")
    assert (library_of(program).target, library_of(program).why) == ("openmpi-4.1.4", "with which it was recorded")

    def recorded(words: str) -> str:
        assert program.recording is not None
        recording = dataclasses.replace(program.recording, library=words)
        return library_of(dataclasses.replace(program, recording=recording)).target

    assert recorded("MPICH Version:\t4.0.2\nMPICH Release date: ...") == "mpich-4.0.2"
    assert recorded("Open MPI v5.0.8rc1, package: x") == "openmpi-5.0.8"
    assert recorded("Intel(R) MPI Library 2021.9") == "openmpi-4.1"
    assert library_of(program, "mpich").target == "mpich"
    assert str(library_of(work())) == "Open MPI 4.1"
    assert recorded("Open MPI v99.9.0, package: x") == "openmpi-4.1"
    for wrong in ("mvapich", "openmpi-", "openmpi-x"):
        with pytest.raises(isthmus.InvalidInput, match="must be openmpi or mpich"):
            library_of(program, wrong)


def test_releases_that_are_not_known_are_refused() -> None:
    """Known ones are named; a patch release that came later is one of its series."""
    for wrong in ("openmpi-99.9", "openmpi-3.1", "openmpi-4.2.1", "openmpi-7"):
        with pytest.raises(isthmus.InvalidInput, match=r"must be one of 4\.0, 4\.1, 5\.0, 6\.0, with any patch"):
            library_of(None, wrong)
    for wrong in ("mpich-99.9", "mpich-3.4.2", "mpich-6"):
        with pytest.raises(isthmus.InvalidInput, match=r"must be one of 4\.0, 4\.1, 4\.2, 4\.3, 5\.0, with any patch"):
            library_of(None, wrong)
    for right in ("openmpi", "openmpi-5", "openmpi-5.0.99", "openmpi-4.1", "mpich-4.3.7", "mpich-5", "mpich-4.1"):
        assert library_of(None, right).target.startswith(right)


def test_predictions_follow_a_library_that_is_named() -> None:
    program = work(steps=1)
    found = advise(program, mpi="mpich", tune_seconds=0)
    assert found.predictions[0].time == found_in(found).before
    assert not found_in(found).tuned
    assert "no others were tried" in str(found)
    with pytest.raises(isthmus.InvalidInput, match="nothing to export"):
        found_in(found).export()


def test_nothing_to_say(advice: isthmus.Advice) -> None:
    b = isthmus.ProgramBuilder(4)
    b.compute(None, 1e-3)
    none = advise(b.build())
    assert none.predictions[0].choices is None
    assert sections.collectives(none) is None
    b.barrier(None)
    little = advise(b.build())
    assert found_in(little).compared == ()
    assert "collective algorithms" not in str(little)
    schedule = isthmus.collective("allreduce", ranks=8, bytes=8)
    assert isthmus.advise(schedule, MACHINE).predictions[0].choices is None
    with pytest.raises(isthmus.InvalidInput, match="tune_seconds = -1"):
        advise(work(), tune_seconds=-1)


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    work().save("p.h5")

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            main(["advise", "p.h5", "--machine", MACHINE, "--ranks-per-node", "1", *words])
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        return status, *capsys.readouterr()

    slow = ("--collectives", "allreduce=linear", "--collectives", "bcast=linear", "--tune-time", "60s")
    status, out, err = run(*slow, "--mpi", "openmpi-4.1.4", "--export-collectives", "rules.conf")
    assert (status, err) == (0, "")
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename='" in out
    assert "the program with this file: " in out
    assert out.splitlines()[-1] == "wrote rules.conf"
    assert Path("rules.conf").read_text().startswith("2 # collectives\n")
    status, out, err = run(*slow, "--export-collectives", "t.toml", "--json")
    assert json.loads(out)["files"] == {"collectives": "t.toml"}
    assert DecisionTable.load("t.toml").rows["bcast"][0].ranks == 32
    wrong = {
        ("--export-collectives", "no/rules.conf"): "there is no folder no",
        ("--export-collectives", "x.conf", "--tune-time", "0"): "switches the search for algorithms off",
        ("--mpi", "lam"): "must be openmpi or mpich",
        ("--tune-time", "soon"): "--tune-time",
        ("--tune-time", "-1s"): "a time from 0",
    }
    for words, says in wrong.items():
        status, out, err = run(*words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert says in err
