"""Backends: errors and deaths are answers; results are the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.studies import Study, backend
from isthmus.studies.backend import Processes, Serial, Task

GOOD = {"work": "allreduce", "bytes": [8, 1000], "machine": "ring-16", "ranks": 16}


def study(**values: object) -> Study:
    kind = "simulation"
    from isthmus.studies.parameters import kind_named
    from isthmus.studies.study import complete, read_values

    grid = {name: read_values(kind_named(kind), name, value, name) for name, value in {**GOOD, **values}.items()}
    return Study(name="t", title="t", kind=kind, grids=(complete(kind_named(kind), grid),))


def test_backends_agree(tmp_path: Path) -> None:
    serial = isthmus.study(study(), tmp_path / "a", backend=Serial())
    assert serial.rows == isthmus.study(study(), tmp_path / "b", workers=2).rows
    assert len(serial.rows) == 2


def test_errors_are_kept_in_their_rows(tmp_path: Path) -> None:
    # 64 ranks, one a node, are too many for a ring of 16.
    for at in (Serial(), None):
        outcome = isthmus.study(
            study(ranks=[16, 64], bytes=8), tmp_path / "out", backend=at, workers=1 if at is None else None
        )
        assert [e.results is None for e in outcome.entries] == [False, True]
        assert "need 64 nodes" in str(outcome.failures[0].error)
        assert "need 64 nodes" in Path(outcome.page).read_text()
    # What failed is tried again, what did not is not.
    assert outcome.computed == 1


def test_all_points_fail(tmp_path: Path) -> None:
    outcome = isthmus.study(study(ranks=64), tmp_path / "out", backend=Serial())
    assert outcome.summary is None
    assert len(outcome.failures) == 2
    assert not Path(outcome.page).exists()


def test_worker_that_dies_costs_its_point(monkeypatch: pytest.MonkeyPatch) -> None:
    start, dead = backend._start, []

    def dies_once() -> subprocess.Popen[str]:
        if dead:
            return start()
        dead.append(True)
        code = "import os, signal; input(); os.kill(os.getpid(), signal.SIGKILL)"
        return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(backend, "_start", dies_once)
    at = Processes(1)
    for number, point in enumerate(study().points):
        at.submit(Task(number, "simulation", point))
    done = {d.number: d for d in at.results()}
    at.close()
    assert done[0].error == "the process that computed it was ended by signal 9"
    assert done[1].error is None
    assert done[1].results is not None


def test_workers_leave_with_their_caller() -> None:
    process = backend._start()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    assert process.stdout is not None
    process.stdout.close()


def test_workers_out_of_range() -> None:
    with pytest.raises(InvalidInput, match="1 or more"):
        Processes(0)
    at = Processes()
    assert at.workers == len(os.sched_getaffinity(0))
    at.close()
