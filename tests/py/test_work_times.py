"""Times of copies and reductions by size, and the start of schedules: in machine files, and in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import Machine, ParseError
from isthmus.machine import WorkTime
from isthmus.machine.toml import parse_toml
from isthmus.simulation.critical import critical_path, sensitivities
from isthmus.simulation.makespans import Makespans
from isthmus.simulation.work import work_bound

FILE = """\
format = 3
[topology]
kind = "ring"
dims = [1]

[node]
cores = 4
start = { value = "150 ns", status = "measured", interval = ["140 ns", "160 ns"] }

[[node.copy]]
bytes = "8 B"
time = "20 ns"

[[node.copy]]
bytes = "1 KiB"
time = { value = "120 ns", status = "measured", samples = 12 }

[[node.copy]]
bytes = "4 KiB"
time = "1120 ns"

[[node.reduce]]
bytes = "64 B"
time = "100 ns"

[level.socket]
L = "1 us"
o_send = "100 ns"
o_recv = "200 ns"
g = "0 s"
G = "0 s/B"
"""
START = 150_000


def machine(text: str = FILE) -> Machine:
    return Machine(parse_toml(text, "here.toml"))


def work(kind: str, bytes: int, ranks: int = 1) -> isthmus.Schedule:
    return isthmus.Schedule.of(ranks, rank=range(ranks), kind=[kind] * ranks, amount=bytes)


def test_files_have_them_and_older_forms_do_not(tmp_path: Path) -> None:
    here = machine()
    assert here.node.copy == (
        WorkTime(bytes=8.0, time=20e-9), WorkTime(bytes=1024.0, time=120e-9), WorkTime(bytes=4096.0, time=1120e-9)
    )  # fmt: skip
    assert here.node.start == pytest.approx(150e-9)
    here.save(tmp_path / "again.toml")
    again = isthmus.load(tmp_path / "again.toml")
    assert again == here
    assert again.toml() == here.toml()
    assert here.toml().startswith("format = 3\n")
    assert "  work           schedules begin after 150 ns, copies 20 ns of 8 B to 1.12 us of 4 KiB, red" in str(here)
    rows = {row["path"]: row for row in here.frame()}
    assert rows["node.copy.1.time"]["value"] == "120 ns"
    assert rows["node.start"]["interval"] == "140 ns to 160 ns"
    # Each of the new fields makes the form a new one; a machine without them is written as before.
    head = '[topology]\nkind = "ring"\ndims = [1]\n'
    for part, form in (
        ('[node]\nstart = "1 us"\n', 3),
        ('[[node.copy]]\nbytes = 1\ntime = "1 ns"\n', 3),
        ('[[node.reduce]]\nbytes = 1\ntime = "1 ns"\n', 3),
        ('[measured]\ntransport = "isthmus"\n', 3),
        ('[measured]\nmpi = "MPICH"\n', 2),
        ("[node]\ncores = 2\n", 1),
    ):
        assert machine(head + part).toml().startswith(f"format = {form}\n"), part


def test_versions_before_are_read_as_before() -> None:
    """A file of format 2 has rates from its memory bandwidth, and no start."""
    text = FILE[: FILE.index("[[node.copy]]")].replace("format = 3", "format = 2")
    text = "\n".join('memory_bandwidth = "8 GB/s"' if "start" in line else line for line in text.splitlines())
    assert isthmus.simulate(work("copy", 1000), machine(text)).makespan == pytest.approx(2 * 1000 * 4 / 8e9)
    assert isthmus.simulate(work("reduce", 1000), machine(text)).makespan == pytest.approx(3 * 1000 * 4 / 8e9)


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ('bytes = "1 KiB"', 'bytes = "8 B"', "node.copy.1.bytes", "must be more than in the table before"),
        ('bytes = "1 KiB"\n', "", "node.copy.1.bytes", "must be more than in the table before"),
        ('bytes = "8 B"', "bytes = 0", "node.copy.0.bytes", "must be a number from 1 B"),
        ('bytes = "8 B"', "bytes = 8.5", "node.copy.0.bytes", "is 8.5 B: must be whole bytes"),
        ('bytes = "64 B"', "bytes = -3", "node.reduce.0.bytes", "must be a number from 0"),
        ('time = "20 ns"', 'time = "20 B"', "node.copy.0.time", "B"),
        ('time = "20 ns"', "time = inf", "node.copy.0.time", "inf"),
        ('time = "20 ns"', "size = 3", "node.copy.0.size", "unknown key: must be one of bytes, time"),
        ('value = "150 ns"', 'value = "-150 ns"', "node.start", "must be a number from 0"),
        ("[[node.reduce]]", "[node.reduce]", "node.reduce", "must be a list of tables"),
    ],
)
def test_wrong_values_are_refused(old: str, new: str, field: str, words: str) -> None:
    assert FILE.count(old) == 1
    with pytest.raises(ParseError) as error:
        machine(FILE.replace(old, new))
    assert error.value.field == field
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("kind", "bytes", "time"),
    [
        ("copy", 0, 20_000), ("copy", 1, 20_000), ("copy", 8, 20_000), ("copy", 516, 70_000), ("copy", 1024, 120_000),
        ("copy", 2560, 620_000), ("copy", 4096, 1_120_000), ("copy", 16384, 4_480_000),
        ("reduce", 1, 100_000), ("reduce", 64, 100_000), ("reduce", 640, 1_000_000),
    ],
)  # fmt: skip
def test_times_between_sizes_lie_on_lines(kind: str, bytes: int, time: int) -> None:
    """Of fewer bytes as of the fewest, of more in proportion; picoseconds."""
    found = isthmus.simulate(work(kind, bytes, 3), machine())
    assert found.finish_ps.tolist() == [START + time] * 3
    assert found.breakdown_ps["compute"].tolist() == [time] * 3
    assert found.breakdown_ps["idle"].tolist() == [START] * 3


def test_rates_that_are_given_hold_in_place_of_times() -> None:
    assert isthmus.simulate(work("copy", 1024), machine(), copy_rate=1e-9).makespan_ps == START + 1_024_000
    assert isthmus.simulate(work("copy", 1024), machine(), reduce_rate=1e-9).makespan_ps == START + 120_000
    assert isthmus.simulate(work("reduce", 64), machine(), reduce_rate=0.0).makespan_ps == START


def test_messages_begin_after_the_start() -> None:
    message = isthmus.Schedule.of(2, rank=[0, 1], kind=["send", "recv"], peer=[1, 0], amount=8)
    assert isthmus.simulate(message, machine()).makespan_ps == START + 1_300_000


def test_a_collective_is_what_its_operations_are() -> None:
    """Two ranks copy their input, exchange it and combine: one after the other on each."""
    here = machine()
    schedule = isthmus.collective("allreduce", ranks=2, bytes=64, algorithm="recursive_doubling", buffers=True)
    kinds = schedule.frame()["kind"].tolist()
    copies, reductions = kinds.count("copy") // 2, kinds.count("reduce") // 2
    # A copy of 64 bytes lies between those of 8 and 1024.
    copy = 20_000 + 100_000 * 56 / 1016
    expected = START + 1_300_000 + reductions * 100_000 + copies * copy
    assert reductions == 1
    assert isthmus.simulate(schedule, here).makespan_ps == pytest.approx(expected, abs=2)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ways_to_simulate_agree(ranks: int) -> None:
    here = machine()
    schedule = isthmus.collective("allreduce", ranks=ranks, bytes=3000, buffers=True)
    whole = isthmus.simulate(schedule, here)
    assert isthmus.simulate(schedule, here, symmetry=True).makespan_ps == whole.makespan_ps
    assert isthmus.simulate(schedule, here, record="finish").makespan_ps == whole.makespan_ps
    assert Makespans(ranks, here)(schedule)[0] == whole.makespan
    ops = isthmus.simulate(schedule, here, record="ops")
    # The critical path begins when the schedule does.
    assert sum(critical_path(ops).shares_ps.values()) == whole.makespan_ps - START
    found = sensitivities(ops, ("L", "compute"), verify=True)
    assert found["L"].slope == ranks / 2
    assert found["compute"].slope == pytest.approx(critical_path(ops).shares["compute"], abs=1e-11)
    assert min(one.upper for one in found.values()) > 1e-7  # as simulated again with other parameters


@pytest.mark.parametrize("size", [1, 8, 500, 1024, 3000, 4096, 100_000])
def test_the_least_work_is_no_more_than_the_time(size: int) -> None:
    schedule = isthmus.collective("allreduce", ranks=2, bytes=1, buffers=True)
    bound = work_bound(schedule, machine(), unit=1, sizes=[size])
    assert bound is not None
    whole = isthmus.simulate(isthmus.collective("allreduce", ranks=2, bytes=size, buffers=True), machine())
    assert 0 < bound[0] <= whole.makespan


def test_repeated_programs_begin_once() -> None:
    """Iterations that are not simulated one by one take as long as those that are."""
    b = isthmus.ProgramBuilder(2)
    for _ in range(200):
        for rank in (0, 1):
            b.allreduce(rank, 64)
    program = b.build()
    skipped, whole = (isthmus.simulate(program, machine(), skip=skip).makespan_ps for skip in (True, False))
    assert skipped == whole


def test_tuning_leaves_out_only_what_is_slower() -> None:
    """Closed forms and bounds hold with times by size too: the same is found as with all simulated."""
    found, every = (
        isthmus.tune("allreduce", machine(), ranks=4, sizes=[8, 700, 50_000, 1 << 20], exhaustive=exhaustive)
        for exhaustive in (False, True)
    )
    few, all_of_them = found.sweeps[0], every.sweeps[0]
    best = np.nanmin(all_of_them.seconds, axis=0)
    assert (np.nanmin(few.seconds, axis=0) == best).all()
    assert (best >= few.bound).all()
    known = ~np.isnan(few.seconds) & ~np.isnan(all_of_them.seconds)
    assert (few.seconds[known] <= all_of_them.seconds[known]).all()
