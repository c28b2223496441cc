"""The ledger: killed runs continue, nothing is there twice, other files are refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.studies.ledger import SCHEMA, Ledger, key
from isthmus.studies.parameters import kind_named

STUDY = """
format = 1
name = "small"
kind = "simulation"
[[grid]]
work = "allreduce"
algorithm = "ring"
machine = "torus-4x4x4"
ranks = 64
bytes = [{sizes}]
"""


def write(folder: Path, sizes: range) -> str:
    path = folder / "small.toml"
    path.write_text(STUDY.format(sizes=", ".join(str(s) for s in sizes)))
    return str(path)


def rows(ledger: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(ledger) as db:
        found = db.execute("SELECT key, id, inputs, finished FROM points ORDER BY id").fetchall()
    db.close()
    return found


def test_run_that_is_killed_continues(tmp_path: Path) -> None:
    file = write(tmp_path, range(1000, 1120))
    command = [sys.executable, "-m", "isthmus", "study", "run", file, "-o", str(tmp_path / "out"), "--workers", "2"]
    ledger = tmp_path / "out" / "ledger.sqlite"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until and (not ledger.exists() or _count(ledger) < 5):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = rows(ledger)
    assert 5 <= len(before) < 120
    outcome = isthmus.study(file, tmp_path / "out", workers=2)
    after = rows(ledger)
    assert outcome.computed == 120 - len(before)
    assert after[: len(before)] == before
    assert len({row[0] for row in after}) == len(after) == 120
    assert isthmus.study(file, tmp_path / "out").computed == 0
    assert rows(ledger) == after


def _count(ledger: Path) -> int:
    db = sqlite3.connect(ledger, timeout=10)
    try:
        return int(db.execute("SELECT count(*) FROM points").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        db.close()


def test_changed_inputs_and_versions_make_new_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    assert isthmus.study(write(tmp_path, range(8, 10)), out).computed == 2
    assert isthmus.study(write(tmp_path, range(9, 12)), out).computed == 2
    monkeypatch.setattr(isthmus, "__version__", "0.1.0+test")
    assert isthmus.study(write(tmp_path, range(9, 12)), out).computed == 3
    assert len(rows(out / "ledger.sqlite")) == 7


def test_changed_machine_file_makes_new_rows(tmp_path: Path) -> None:
    from isthmus.studies import parameters

    machine = tmp_path / "m.toml"
    text = STUDY.replace("torus-4x4x4", str(machine)).format(sizes="1000")
    (tmp_path / "small.toml").write_text(text)
    makespans = []
    for bandwidth in ("1GB/s", "2GB/s"):
        isthmus.load(f"torus:4x4x4 link={bandwidth}").save(machine)
        parameters._machine_digest.cache_clear()
        outcome = isthmus.study(str(tmp_path / "small.toml"), tmp_path / "out")
        assert outcome.computed == 1
        makespans.append(outcome.rows[0]["time"])
    assert makespans[0] > makespans[1]
    assert len(rows(tmp_path / "out" / "ledger.sqlite")) == 2


def test_failed_points_are_kept_and_replaced(tmp_path: Path) -> None:
    kind = kind_named("simulation")
    point = isthmus.Study.load(write(tmp_path, range(8, 9))).points[0]
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.add("s", kind, point, results=None, error="no", wall=1.0)
        assert ledger.find([key(kind, point)])[key(kind, point)].error == "no"
        ledger.add("s", kind, point, results={"time": 1.0}, error=None, wall=2.0)
        ledger.add("s", kind, point, results={"time": 3.0}, error=None, wall=4.0)
        entry = ledger.find([key(kind, point)])[key(kind, point)]
        assert (entry.results, entry.error, entry.wall) == ({"time": 1.0}, None, 2.0)
        assert len(ledger) == 1


def test_schema_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    db.close()
    with pytest.raises(InvalidInput, match=f"schema {SCHEMA + 1}, but this Isthmus reads {SCHEMA}"):
        Ledger(path)


def test_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_text("not a database, but long enough to be looked at " * 20)
    with pytest.raises(InvalidInput, match="not a ledger"):
        Ledger(path)
    os.unlink(path)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(InvalidInput, match="another program"):
        Ledger(path)
