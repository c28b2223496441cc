"""The section of advice on placement."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.advice.analysis.remapping import Placing
from isthmus.advice.output.html.sections import sections
from isthmus.cli import main
from isthmus.mapping import launch


def ring(ranks: int, step: int, bytes: int) -> isthmus.Program:
    """Every rank sends to the one ``step`` further; the least computation."""
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(3):
        b.irecv(None, (rank - step) % ranks, bytes)
        b.isend(None, (rank + step) % ranks, bytes)
        b.compute(None, 1e-6)
        b.waitall(None)
    return b.build()


@pytest.fixture(scope="module")
def advice() -> isthmus.Advice:
    return isthmus.advise(ring(32, 5, 100_000), "ring:32")


def placing_of(advice: isthmus.Advice) -> Placing:
    found = advice.predictions[0].placing
    assert found is not None
    return found


def test_before_and_after_by_simulation(advice: isthmus.Advice) -> None:
    found = placing_of(advice)
    machine = advice.predictions[0].machine
    schedule = isthmus.lower(advice.program)  # type: ignore[arg-type]
    placement = found.mapped.placement
    assert found.before == isthmus.simulate(schedule, machine, machine.allocate(), model="flow").makespan
    assert found.after == isthmus.simulate(schedule, machine, placement, model="flow").makespan
    # One link a message instead of five, on which nobody else is.
    assert found.mapped.before["default"].average_dilation == 5
    assert found.mapped.metrics.average_dilation == 1
    assert found.saving > 0.5 * found.before


def test_page_report_and_json_have_it(advice: isthmus.Advice) -> None:
    page = str(advice)
    assert "communication-aware placement" in page
    assert "isthmus map writes the file for the launcher" in page
    section = sections.placement(advice)
    assert section is not None
    for words in ("simulated time (flow model)", "maximum congestion", "bytes in network", "Methods tried"):
        assert words in section.body
    plain = json.loads(json.dumps(advice.json()["predictions"][0]["placing"]))
    assert plain["after"]["average_dilation"] == 1
    assert plain["before"]["time"] > plain["after"]["time"]
    assert sorted(plain["node"]) == list(range(32))


def test_other_machines_are_only_compared() -> None:
    found = isthmus.advise(ring(16, 3, 1000), ["ring:16", "torus:4x4"])
    assert found.predictions[0].placing is not None
    assert found.predictions[1].placing is None


def test_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    one_node = isthmus.advise(ring(8, 3, 1000), "ring:16 cores=8")
    assert one_node.predictions[0].placing is None
    assert sections.placement(one_node) is None
    assert "placement by" not in str(one_node)
    b = isthmus.ProgramBuilder(4)
    b.compute(None, 1e-3)
    assert isthmus.advise(b.build(), "ring:4").predictions[0].placing is None
    monkeypatch.setattr("isthmus.advice.analysis.remapping._MOST", 10)
    assert isthmus.advise(ring(8, 3, 1000), "ring:8").predictions[0].placing is None


def test_no_sentence_where_nothing_is_gained() -> None:
    found = isthmus.advise(ring(16, 1, 1000), "ring:16")
    assert placing_of(found).saving == 0
    assert not any(s.topic == "placement" for s in found.sentences)


def test_advice_on_a_placement_that_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The time of that placement, by the file of a launcher too; the section compares others with it."""
    program = ring(32, 5, 100_000)
    machine = isthmus.load("ring:32 cores=2")
    best = isthmus.map(isthmus.pattern(program), machine.allocate(ranks_per_node=1), model=None, seconds=1).placement
    found = isthmus.advise(program, [machine, "ring:64"], placement=best, model="flow", tune_seconds=0)
    assert found.predictions[0].time == isthmus.simulate(program, machine, best, model="flow").makespan
    assert placing_of(found).before == found.predictions[0].time
    assert placing_of(found).now.average_dilation == 1
    assert found.predictions[1].time == isthmus.simulate(program, "ring:64", model="flow").makespan
    assert "32 ranks on 32 nodes, 1 a node, as given" in str(found)
    launch.write(best, "cray", tmp_path / "order", machine.allocate(ranks_per_node=1))
    program.save(tmp_path / "p.h5")

    def command(*words: str) -> float:
        spec = ["--machine", machine.spec, "--model", "flow", "--tune-time", "0", "--json"]
        main(["advise", str(tmp_path / "p.h5"), *spec, *words])
        return float(json.loads(capsys.readouterr().out)["predictions"][0]["time"])

    assert command("--placement", str(tmp_path / "order")) == found.predictions[0].time
    cyclic = machine.allocate(16, ranks_per_node=2, order="cyclic")
    expected = isthmus.simulate(program, machine, cyclic, model="flow").makespan
    assert command("--placement", "cyclic", "--nodes", "16") == expected
    with pytest.raises(isthmus.InvalidInput, match="2 placements for 1 machine"):
        isthmus.advise(program, machine, placement=[best, best])
    with pytest.raises(isthmus.InvalidInput, match="31 node ids for 32 ranks"):
        isthmus.advise(program, machine, placement=np.arange(31))
