"""Timelines in HDF5 files: what is read is what was saved, and damaged files are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import isthmus
from isthmus.errors import InvalidInput, ParseError
from oracles.loggops import CALC, RECV, SEND, Op, Parameters
from schedule_strategies import Ranks, arbitrary, level_of, parameters, schedule_of, schedules

P = Parameters(L=10, o_send=1, o_recv=2, g=1, G=0.3, S=100)
# Ends stuck, with a message that nobody received.
STUCK: Ranks = [[Op(SEND, 8, 1, tag=6), Op(CALC, 9, after=[0])], [Op(RECV, 8, 0, tag=5), Op(CALC, 1, after=[0])]]


def stuck(record: str = "ops") -> isthmus.Timeline:
    return isthmus.simulate(schedule_of(STUCK), level_of(P), record=record)


@given(schedules(arbitrary, ranks=4, ops=8), parameters())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(tmp_path: Path, ranks: Ranks, p: Parameters) -> None:
    for record in ("finish", "ranks", "ops"):
        t = isthmus.simulate(schedule_of(ranks), level_of(p), record=record)
        t.save(tmp_path / "t.h5")
        u = isthmus.read(tmp_path / "t.h5")
        assert isinstance(u, isthmus.Timeline)
        assert u == t
        assert u.wall == t.wall
        assert str(u) == str(t)
        assert str(u.deadlock) == str(t.deadlock)


def test_a_machine_comes_with_it(tmp_path: Path) -> None:
    machine = isthmus.load("torus-4x4x4")
    t = isthmus.simulate(isthmus.collective("allreduce", ranks=64, bytes=1000), machine, record="ops")
    t.save(tmp_path / "t.hdf5", compression="gzip")
    u = isthmus.read(tmp_path / "t.hdf5")
    assert u == t
    assert u.machine == machine
    u.save_chrome(tmp_path / "u.json")
    t.save_chrome(tmp_path / "t.json")
    assert (tmp_path / "u.json").read_bytes() == (tmp_path / "t.json").read_bytes()
    with pytest.raises(InvalidInput, match="critical path"):
        u.critical_path()


def test_times_are_picoseconds_with_their_unit(tmp_path: Path) -> None:
    t = stuck()
    t.save(tmp_path / "t.h5")
    with h5py.File(tmp_path / "t.h5") as file:
        assert file.attrs["noun"] == "timeline"
        assert file["finish"][:].tolist() == t.finish_ps.tolist()
        assert file["finish"].attrs["unit"] == "ps"
        assert file["operations/start"].attrs["unit"] == "ps"
        assert file["schedule/ops/kind"][:].tolist() == t.schedule.ops["kind"].tolist()


def test_other_suffix(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\.h5"):
        stuck().save(tmp_path / "t.goal")
    assert list(tmp_path.iterdir()) == []


Defect = Callable[[h5py.File], None]


def replaced(name: str, values: object) -> Defect:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = values

    return change


def deleted(name: str) -> Defect:
    def change(file: h5py.File) -> None:
        del file[name]

    return change


def attribute(name: str, value: object) -> Defect:
    def change(file: h5py.File) -> None:
        if value is None:
            del file.attrs[name]
        else:
            file.attrs[name] = value

    return change


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("defect", "words"),
    [
        (deleted("finish"), "finish: the dataset is missing"),
        (replaced("finish", np.zeros(3, "i8")), "finish: the dataset has 3 elements instead of 2"),
        (replaced("finish", np.zeros(2, "f8")), "finish: the dataset is of type float64 instead of int64"),
        (deleted("breakdown/idle"), "breakdown/idle: the dataset is missing"),
        (deleted("operations/busy"), "operations/busy: the dataset is missing"),
        (replaced("operations/partner", np.full(4, 4, "i8")), "operations/partner: element 0 is 4"),
        (replaced("operations/partner", np.full(4, -2, "i8")), "operations/partner: element 0 is -2"),
        (replaced("stuck/op", np.full(2, 2, "u4")), "stuck/op: element 0 is 2"),
        (replaced("stuck/rank", np.full(2, 2, "u4")), "stuck/rank: element 0 is 2"),
        (replaced("stuck/started", np.zeros(1, "u1")), "stuck/started: the dataset has 1 elements instead of 2"),
        (replaced("orphans/source", np.full(1, 7, "u4")), "orphans/source: element 0 is 7"),
        (replaced("orphans/op", np.full(1, 2, "u4")), "orphans/op: element 0 is 2"),
        (deleted("schedule"), "schedule/ops/kind: the dataset is missing"),
        (replaced("schedule/ops/kind", np.full(4, 9, "u1")), "rank 0"),
        (replaced("schedule/ops/peer", np.zeros(3, "u4")), "schedule/ops/peer: the dataset has 3 elements"),
        (attribute("record", "everything"), "record: the attribute is 'everything'"),
        (attribute("record", None), "record: the attribute is missing"),
        (attribute("makespan_ps", "late"), "makespan_ps: the attribute is of type str instead of int"),
        (attribute("level.L", None), "level.L: the attribute is missing"),
        (attribute("noun", "study"), "noun"),
        (attribute("version", 99), "version"),
    ],
)
def test_one_defect(tmp_path: Path, defect: Defect, words: str) -> None:
    path = tmp_path / "t.h5"
    stuck().save(path)
    with h5py.File(path, "r+") as file:
        defect(file)
    with pytest.raises(ParseError) as error:
        isthmus.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_damaged_machine(tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    isthmus.simulate(isthmus.collective("barrier", ranks=4), "ring-16").save(path)
    with h5py.File(path, "r+") as file:
        del file["machine"]
        file["machine"] = ["[topology]\nkind = 'moebius'\n"]
    with pytest.raises(ParseError, match="moebius"):
        isthmus.read(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.h5"
    stuck("ranks").save(path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(h5py.File, "create_dataset", fail)
    with pytest.raises(OSError, match="disk full"):
        stuck().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
