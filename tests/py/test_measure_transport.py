"""The transport of libisthmus: known machines are found again from the times of their schedules; files; the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import isthmus
import mpi_programs as programs
from isthmus import InvalidInput, Machine
from isthmus.machine import Measured
from isthmus.measuring import check, plan, transport
from isthmus.measuring.document import describe
from isthmus.measuring.fit import fit_schedules
from isthmus.measuring.node import NodeShape
from isthmus.measuring.places import Places
from isthmus.measuring.samples import Item, Samples, Series
from isthmus.measuring.schedules import COLLECTIVES, SIZES, in_state, items, launch, schedule_of, states

SHAPE = NodeShape({"cores": 2}, "test", [], {0: 0, 1: 1}, {0: 0, 1: 0})
PLACES = Places(("here", "here"), (0, 1), ((0,), (1,)))
START, FLAG = 150e-9, 70e-9


def truth() -> Machine:
    """A node whose messages change with the size, and whose copies and reductions are no lines."""

    def piece(L: float, G: float, O: float, **more: float) -> dict[str, float]:  # noqa: E741
        return {"L": L, "o_send": 50e-9, "o_recv": 50e-9, "g": 0.0, "G": G, "O": O, "O_recv": G, **more}

    pieces = [piece(700e-9, 0.2e-9, 0.05e-9, above=4096), piece(2e-6, 0.4e-9, 0.2e-9, above=1 << 17)]
    level = piece(100e-9, 0.3e-9, 0.1e-9, S=65536) | {"pieces": pieces}
    node = {
        "cores": 2,
        "start": START,
        "copy": [{"bytes": size, "time": round(1e-8 + 5e-11 * size**1.05, 12)} for size in SIZES],
        "reduce": [{"bytes": size, "time": round(2e-8 + 8e-11 * size**1.04, 12)} for size in SIZES],
    }
    ring = {"kind": "ring", "dims": [1]}
    return Machine.from_dict({"format": 3, "topology": ring, "node": node, "level": {"socket": level}})


def timed(machine: Machine, chosen: Iterable[Item], flag: float = FLAG, slower: float = 1.0) -> Samples:
    """Samples of items: what the simulator says, twice in each of eight rounds."""
    out = []
    for one in chosen:
        p = one.parameters
        finish = isthmus.simulate(schedule_of(str(p["what"]), int(p["bytes"]), int(p["n"])), machine).finish
        row = [slower * float(finish.max()), slower * float(finish[0]), flag]
        out.append(Series.of(one, [[row, row]] * 8, "budget"))
    return Samples(out)


def test_a_known_machine_is_found_again() -> None:
    true = truth()
    samples, unseen = check.apart(timed(true, items(0, 1)))
    fit = fit_schedules(samples, 0, 1, repetitions=5)
    assert fit.start == pytest.approx(START, abs=1e-12)
    assert fit.level.S == 65536
    for found, given in ((fit.copy, true.node.copy), (fit.combine, true.node.reduce)):
        assert [one.bytes for one in found] == [one.bytes for one in given]
        assert [one.time for one in found] == pytest.approx([one.time for one in given], abs=2e-12)
    # What it predicts is what it was measured at, and collectives that it never saw.
    predicted = transport.machine_of(fit)
    for one in samples:
        if one.parameters["what"] != "late":
            again = timed(predicted, [one.item])[one.item.name]
            assert again.column()[0] == pytest.approx(one.column()[0], rel=1e-5), one.item.line
    # Of messages that are larger than all of these, the time is in proportion.
    half, far = (
        isthmus.simulate(schedule_of("message", size), predicted).makespan for size in (SIZES[-1], 4 * SIZES[-1])
    )
    assert far == pytest.approx(4 * half, rel=1e-2)
    compared = transport.checked(unseen, {"socket": fit}, {"socket": [(0, 1)]})
    assert {one.kind for one in compared} == {"trips", "exchange", "burst", *COLLECTIVES}
    errors = {f"{one}": one.error for one in compared if one.kind in COLLECTIVES}
    assert len(errors) == 81
    assert np.median(np.abs(list(errors.values()))) < 1e-3
    # What a message waits for, and what its receiver does meanwhile, is not told apart by its time.
    assert max(map(abs, errors.values())) < 0.07, errors


def test_numbers_have_intervals_that_hold_them() -> None:
    random, true = np.random.default_rng(3), truth()
    series = [
        Series.of(one.item, [values * random.normal(1, 0.02, (2, 1)) for values in np.split(one.values, 8)], "budget")
        for one in timed(true, items(0, 1, quick=True))
    ]
    fit = fit_schedules(check.apart(Samples(series))[0], 0, 1, repetitions=100)
    low, high = fit.intervals["start"]
    assert 0 <= low < fit.start < high
    assert low <= START <= high
    values = {f"copy.{i}.time": one.time for i, one in enumerate(fit.copy)}
    values |= {f"combine.{i}.time": one.time for i, one in enumerate(fit.combine)}
    for path, value in values.items():
        low, high = fit.intervals[path]
        assert low <= value <= high
        assert fit.samples[path] == 16


def test_the_machine_file(tmp_path: Path) -> None:
    """All of it is in the file, which says what carried the messages; reading it back predicts the same."""
    missing: list[str] = []
    here = described(timed(truth(), items(0, 1)), missing)
    text = here.toml()
    assert text.startswith("format = 3\n")
    assert not missing
    known = here.measured
    assert known is not None
    assert known.transport == "isthmus"
    assert known.check.startswith("96 times that were not used in the fit are predicted with a median error of 0")
    assert here.node.start == pytest.approx(START, abs=1e-12)
    assert [one.bytes for one in here.node.reduce] == list(SIZES)
    assert "messages of isthmus" in str(here)
    rows = {row["path"]: row for row in here.frame()}
    assert rows["node.copy.3.time"]["samples"] == 16
    assert rows["level.socket.pieces.4.G"]["interval"]
    here.save(tmp_path / "here.toml")
    again = isthmus.load(tmp_path / "here.toml")
    schedule = isthmus.collective("scan", ranks=2, bytes=5000, buffers=True)
    seconds = isthmus.simulate(schedule, again).makespan
    assert seconds == isthmus.simulate(schedule, here).makespan
    assert seconds == pytest.approx(isthmus.simulate(schedule, truth()).makespan, rel=0.05)


def described(samples: Samples, missing: list[str]) -> Machine:
    return describe(
        samples, SHAPE, PLACES, name="here", base=None, measured=Measured(transport="isthmus", ranks=2), missing=missing
    )


def test_sizes_that_were_not_measured_are_no_nonsense() -> None:
    """Where time was up before large messages, these are predicted in proportion to the largest that were measured,
    though the line between the last two sizes is steep, as another protocol begins there."""
    series = []
    for one in timed(truth(), items(0, 1)):
        what, size = one.parameters["what"], int(one.parameters["bytes"])
        later = {"trips": 8 * 100e-9, "exchange": 150e-9}.get(str(what), 0.0) * (size == 256)
        if what not in ("trips", "exchange") or size <= 256:
            series.append(Series.of(one.item, np.split(one.values + np.array([later, later, 0.0]), 8)))
    predicted = transport.machine_of(fit_schedules(check.apart(Samples(series))[0], 0, 1, repetitions=2))
    for what in ("message", "exchange"):
        schedule = schedule_of(what, 1 << 20)
        ratio = isthmus.simulate(schedule, predicted).makespan / isthmus.simulate(schedule, truth()).makespan
        assert 0.3 < ratio < 3, what


def test_only_samples_of_one_state_count() -> None:
    """In another state messages take three times as long: the most frequent state is taken, and all are said."""
    true, every = truth(), items(0, 1, quick=True)
    fast, slow = timed(true, every), timed(true, every, 4 * FLAG, 3.0)
    fewer = Samples([Series.of(one.item, one.by_round("last") and np.split(one.values, 8)[:5]) for one in slow])
    both = fast.joined(fewer)
    assert states(both) == [(FLAG, pytest.approx(8 / 13)), (4 * FLAG, pytest.approx(5 / 13))]
    said: list[str] = []
    chosen = transport.one_state(both, said)
    assert len(said) == 1
    assert "a flag between two ranks took 70 ns in 62 %, 280 ns in 38 % of the samples" in said[0]
    fit = fit_schedules(check.apart(chosen)[0], 0, 1, repetitions=2)
    assert fit.start == pytest.approx(START, abs=1e-12)
    other = fit_schedules(check.apart(in_state(both, 4 * FLAG))[0], 0, 1, repetitions=2)
    assert other.start == pytest.approx(3 * START, abs=1e-11)
    assert transport.one_state(fast, said) is fast
    assert len(said) == 1


def test_what_was_not_measured_is_said() -> None:
    missing: list[str] = []
    here = described(
        Samples([one for one in timed(truth(), items(0, 1)) if one.parameters["what"] != "trips"]), missing
    )
    assert missing == ["Messages of libisthmus within a socket were not fitted: there are no messages of two sizes."]
    assert not here.node.start
    few = [one for one in timed(truth(), items(0, 1)) if one.parameters["what"] not in ("empty", "late")]
    missing.clear()
    here = described(Samples(few), missing)
    assert here.level.socket.L
    assert not here.node.copy
    assert any("copies and reductions" in one for one in missing)


def test_plans() -> None:
    found = launch(PLACES, SHAPE, False, 10.0)
    assert found is not None
    assert len({one.name for one in found.items}) == len(found.items)
    assert len(items(0, 1, quick=True)) < len(items(0, 1)) / 2
    assert launch(Places(("here",), (0,), ((0,),)), SHAPE, False, 10.0) is None
    assert plan.chosen(None, "isthmus") == ("stream", "flops", "noise", "loggp")
    assert plan.chosen("loggp,stream", "isthmus") == ("stream", "loggp")
    with pytest.raises(
        InvalidInput, match="--only queues: is measured of MPI alone; --transport isthmus has stream, f"
    ):
        plan.chosen("loggp,queues", "isthmus")
    with pytest.raises(InvalidInput, match="--transport 'tcp': must be one of mpi, isthmus"):
        isthmus.measure(transport="tcp")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ranks need two cores")
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_the_command(name: str, tmp_path: Path) -> None:
    words = ["--transport", "isthmus", "--only", "loggp", "--quick", "--budget", "3s", "-o", "here.toml"]
    start = " ".join(programs.launcher(name, 2))
    command = [sys.executable, "-m", "isthmus", "measure", *words, "--launch", start]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    here = isthmus.load(tmp_path / "here.toml")
    assert here.measured is not None
    assert here.measured.transport == "isthmus"
    assert here.measured.mpi.startswith("Open MPI" if name == "openmpi" else "MPICH")
    samples = Samples.load(tmp_path / "here.h5")
    # On a busy computer time may be up before all had their turn, and then the file says so.
    assert len(samples.of("schedule")) > 20
    assert all((one.column() > 0).all() and (one.column("flag") > 0).all() for one in samples.of("schedule"))
    bad = subprocess.run(
        [*command[:3], "measure", "--transport", "tcp"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert bad.returncode == 2
    assert "--transport" in bad.stderr
