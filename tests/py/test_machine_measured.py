"""Machine files of format 2: intervals, records, curves, and how a machine was measured."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus import Machine, ParseError, Unsupported
from isthmus.machine import Cache, Curve, Measured, Spmv, Threads
from isthmus.machine.toml import parse_toml

FILE = """\
format = 2
name = "here"

[sources]
measure = "isthmus measure, 2026-11-23"

[topology]
kind = "ring"
dims = [1]

[node]
cores = { value = 2, source = "measure", status = "exact" }

[node.memory_bandwidth]
value = "20 GB/s"
status = "measured"
interval = ["19 GB/s", "21 GB/s"]
samples = 40
method = "STREAM triad"

[[node.caches]]
level = 1
size = "48 KiB"

[[node.caches]]
level = 2
size = "1 MiB"
cores = 2

[[node.memory_bandwidth_by_threads]]
threads = 1
bandwidth = { value = "14 GB/s", status = "measured", interval = [13.5e9, "14.5 GB/s"] }

[[node.memory_bandwidth_by_threads]]
threads = 2
bandwidth = "20 GB/s"

[[node.spmv]]
up_to = "1 MiB"
time_per_flop = { value = "0.4 ns", status = "measured", samples = 12 }

[[node.spmv]]
time_per_flop = "0.9 ns"

[level.socket]
L = { value = "210 ns", source = "measure", status = "measured", interval = ["200 ns", "220 ns"], samples = 900 }

[measured]
date = "2026-11-23 09:00"
mpi = "Open MPI 4.1.4"
ranks = 2
load = "load average 0.1"
duration = 12.5
raw = "here.h5"
warnings = ["the ranks are not bound to cores"]

[curves.latency-socket]
kind = "latency"
title = "Latency within a socket"
x_unit = "B"
y_unit = "s"
x = [1, 1024, 1048576]
y = [4e-07, 5e-07, 0.0001]
low = [3.9e-07, 4.9e-07, 9.9e-05]
high = [4.1e-07, 5.1e-07, 0.000101]
parameters = { level = "socket", ranks = 2 }
"""


def machine(text: str = FILE) -> Machine:
    return Machine(parse_toml(text, "here.toml"))


def test_values_are_read() -> None:
    here = machine()
    known = here.provenance("level.socket.L")
    assert (known.interval, known.samples, known.status) == ((200e-9, 220e-9), 900, "measured")
    assert here.provenance("node.memory_bandwidth").method == "STREAM triad"
    assert here.provenance("node.spmv.0.time_per_flop").samples == 12
    assert here.node.caches == (Cache(level=1, size=49152.0), Cache(level=2, size=2.0**20, cores=2))
    assert here.node.memory_bandwidth_by_threads[1] == Threads(threads=2, bandwidth=20e9)
    assert here.node.spmv == (Spmv(up_to=2.0**20, time_per_flop=0.4e-9), Spmv(time_per_flop=0.9e-9))
    assert here.measured is not None
    assert here.measured.ranks == 2
    assert here.measured.warnings == ("the ranks are not bound to cores",)
    curve = here.curves["latency-socket"]
    assert (curve.x, curve.y_unit, curve.parameters["ranks"]) == ((1.0, 1024.0, 1048576.0), "s", 2)
    with pytest.raises(TypeError):
        here.curves["other"] = curve  # type: ignore[index]


def test_round_trips(tmp_path: Path) -> None:
    here = machine()
    here.save(tmp_path / "again.toml")
    again = isthmus.load(tmp_path / "again.toml")
    assert again == here
    assert again.frame() == here.frame()
    assert again.toml() == here.toml()
    copy = pickle.loads(pickle.dumps(here))
    assert copy == here
    assert copy.curves == here.curves
    assert (tmp_path / "again.toml").read_text().startswith("format = 2\n")


def test_timelines_keep_the_whole_machine(tmp_path: Path) -> None:
    schedule = isthmus.collective("allreduce", ranks=2, bytes=8)
    isthmus.simulate(schedule, machine()).save(tmp_path / "t.h5")
    assert isthmus.read(tmp_path / "t.h5").machine == machine()


def test_what_needs_nothing_new_is_written_as_before() -> None:
    for name in ("eos", "redsky"):
        assert isthmus.load(name).toml().startswith("format = 1\n")
    for part in (
        '[measured]\nmpi = "MPICH"\n',
        '[curves.a]\nkind = "latency"\nx = [1]\ny = [2]\n',
        "[node]\ncores = { value = 1, samples = 3 }\n",
        '[[node.spmv]]\ntime_per_flop = "1 ns"\n',
    ):
        text = machine(f'[topology]\nkind = "ring"\ndims = [2]\n{part}').toml()
        assert text.startswith("format = 2\n")
        assert machine(text) == machine(f'[topology]\nkind = "ring"\ndims = [2]\n{part}')


@pytest.mark.parametrize(
    ("old", "new", "field", "words"),
    [
        ("format = 2", "format = 4", "format", "is 4: this version of Isthmus reads formats 1 to 3"),
        ("format = 2", "format = true", "format", "is True"),
        ('["19 GB/s", "21 GB/s"]', '["19 GB/s"]', "node.memory_bandwidth", "must be [low, high]"),
        ('["19 GB/s", "21 GB/s"]', '["21 GB/s", "22 GB/s"]', "node.memory_bandwidth", "does not hold the value"),
        ('["19 GB/s", "21 GB/s"]', '["19", "21 GB/s"]', "node.memory_bandwidth", "has no unit"),
        ("samples = 40", "samples = 0", "node.memory_bandwidth", "a whole number from 1"),
        ('method = "STREAM triad"', "method = 3", "node.memory_bandwidth", "method 3: must be text"),
        ("level = 2", "level = 1", "node.caches.1.level", "must be more than in the table before"),
        ("threads = 2", "threads = 0", "node.memory_bandwidth_by_threads.1.threads", "a whole number from 1"),
        ('up_to = "1 MiB"\n', "", "node.spmv.1.up_to", "must be more than"),
        ("size = ", "bytes = ", "node.caches.0.bytes", "unknown key: must be one of level, size, cores"),
        ("ranks = 2\nload", "rank = 2\nload", "measured.rank", "unknown key: must be one of date, isthmus, mpi"),
        ("ranks = 2\nload", "ranks = -2\nload", "measured.ranks", "must be a number from 0"),
        ("warnings = [", "warnings = [1, ", "measured.warnings", "must be a list of texts"),
        ('raw = "here.h5"', "raw = 1", "measured.raw", "must be text"),
        ("x = [1, 1024", "x = [2048, 1024", "curves.latency-socket.x", "must ascend"),
        ("y = [4e-07, ", "y = [", "curves.latency-socket.y", "has 2 numbers: must have 3, one for every x"),
        ("y = [4e-07, ", "y = [nan, ", "curves.latency-socket.y", "must be a list of finite numbers in SI units"),
        ("low = [3.9e-07", "low = [4.2e-07", "curves.latency-socket.low", "is above high at a point"),
        ('y_unit = "s"', 'y_unit = "us"', "curves.latency-socket.y_unit", "is 'us': must be one of B, B/s, s"),
        ('kind = "latency"', "", "curves.latency-socket.kind", "is missing: a curve needs kind, x and y"),
        ("ranks = 2 }", "ranks = [] }", "curves.latency-socket.parameters.ranks", "must be a text or a number"),
    ],
)
def test_wrong_values_are_refused(old: str, new: str, field: str, words: str) -> None:
    assert old in FILE
    with pytest.raises(ParseError) as error:
        machine(FILE.replace(old, new, 1))
    assert error.value.field == field
    assert words in str(error.value)
    assert error.value.line is not None
    where = FILE.replace(old, new, 1).splitlines()[error.value.line - 1]
    assert where.strip("[]").split(" ")[0].split(".")[-1] in (*field.split("."), "format")


def test_words_have_no_interval() -> None:
    with pytest.raises(ParseError, match="core_order: has an interval, but only numbers can have one"):
        machine(FILE.replace("[node]\n", '[node]\ncore_order = { value = "block", interval = [1, 2] }\n'))


def test_report_and_table() -> None:
    text = str(machine())
    assert "  measured       2026-11-23 09:00, Open MPI 4.1.4, 2 ranks\n" in text
    assert "  curves         1 of latency\n" in text
    assert "  warnings       the ranks are not bound to cores" in text
    rows = {row["path"]: row for row in machine().frame()}
    assert rows["level.socket.L"]["interval"] == "200 ns to 220 ns"
    assert rows["node.spmv.0.time_per_flop"]["value"] == "400 ps"
    assert rows["node.cores"]["interval"] == ""


def test_changed_values_lose_their_interval(tmp_path: Path) -> None:
    (tmp_path / "here.toml").write_text(FILE)
    changed = isthmus.load(f"{tmp_path / 'here.toml'}:socket.L=1us")
    assert changed.level.socket.L == 1e-6
    assert changed.provenance("level.socket.L").interval is None
    assert changed.curves == machine().curves


def test_specifications_cannot_hold_records() -> None:
    with pytest.raises(Unsupported, match=r"node\.caches has no place in a specification: write TOML"):
        _ = machine().spec
    with pytest.raises(ParseError, match="spmv: unknown option"):
        Machine.parse("ring:4 spmv=3")


def test_commands_take_the_file(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    path.write_text(FILE)

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "isthmus", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    assert "values: 1 exact" in run("machine", "validate", "here.toml")
    shown = run("show", "here.toml")
    assert "interval (95 %)" in shown
    assert "200 ns to 220 ns" in shown
    assert "900" in shown
    out = json.loads(run("show", "here.toml", "--json"))
    assert out["measured"]["ranks"] == 2
    assert out["curves"]["latency-socket"]["y"][0] == 4e-07
    # Who has no specification is called by its name.
    found = json.loads(run("simulate", "allreduce:ranks=2,bytes=8", "--machine", "here.toml", "--json"))
    assert found["machine"] == "here"


def test_nouns_are_plain() -> None:
    curve = Curve(kind="rate", x=(1.0,), y=(2.0,), parameters={"ranks": 2})
    assert pickle.loads(pickle.dumps(curve)) == curve
    assert Measured().warnings == ()
