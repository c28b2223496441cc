"""Real MPI libraries follow exported files, and files that they ignore are found out."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from isthmus.cli import main
from isthmus.errors import InvalidInput
from isthmus.tuning.defaults import defaults
from isthmus.tuning.export import export
from isthmus.tuning.table import DecisionTable
from isthmus.tuning.verify import verify
from isthmus.tuning.verify.probe import build
from isthmus.tuning.verify.verdict import AS_MODELLED, IN_EFFECT
from mpi_programs import installed
from tables import starting

RANKS = 5
BOTH = DecisionTable(
    {
        "bcast": [starting(4, (0, "binomial"), (2048, "scatter_allgather_ring"))],
        "allreduce": [starting(4, (0, "ring"), (256, "recursive_doubling"))],
        # Of more ranks than are run here.
        "allgather": [starting(64, (0, "ring"), (512, "bruck,radix=2"))],
    }
)


def launcher(name: str) -> list[str]:
    """``mpirun`` of Debian's library; others are named by ISTHMUS_TEST_MPIRUN, commands separated by semicolons."""
    if name == "other":
        named = os.environ.get("ISTHMUS_TEST_MPIRUN")
        if not named:
            pytest.skip("ISTHMUS_TEST_MPIRUN names no other launcher")
        return shlex.split(named.split(";")[0])
    run = installed(name).tool("mpirun")
    if run is None:
        pytest.skip(f"mpirun of {name} is not installed")
    return [run, "--oversubscribe"] if name == "openmpi" else [run]


@pytest.mark.parametrize("name", ["openmpi", "mpich", "other"])
def test_a_table_is_in_effect(name: str) -> None:
    report = verify(BOTH, launcher(name), ranks=RANKS)
    assert report.ok, [(v.collective, v.bytes, v.says) for v in report.verdicts]
    shown = {verdict.collective for verdict in report.verdicts if verdict.says == IN_EFFECT}
    assert {"bcast", "allgather"} <= shown
    assert any("more ranks" in note for note in report.notes)
    assert "follows the file" in str(report)
    # The algorithms are what they are taken for: rings send one message more than ranks less two.
    ring = next(v for v in report.verdicts if v.collective == "allgather" and v.bytes == 1)
    assert ring.with_file == ((RANKS - 1, RANKS - 1),) * RANKS
    assert all(v.as_schedule for v in report.verdicts if v.collective == "allgather")


@pytest.mark.parametrize(("name", "of"), [("openmpi", "openmpi"), ("mpich", "mpich")])
def test_a_library_decides_as_modelled(name: str, of: str) -> None:
    report = verify(defaults(of), launcher(name), ranks=RANKS, most_bytes=1 << 14)
    assert report.ok, [(v.collective, v.bytes, v.algorithm, v.says) for v in report.verdicts if v.says != AS_MODELLED]
    assert len(report.verdicts) > 20


def test_a_file_of_a_later_version_is_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = launcher("openmpi")
    if not installed("openmpi").mpi.version.startswith("4."):
        pytest.skip("it is not Open MPI 4")
    bcast = BOTH.only("bcast")
    path = tmp_path / "rules"
    export(bcast, "openmpi-5.0.8").save(path)
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["tune", "verify", str(path), "--launch", shlex.join(run), "--ranks", str(RANKS), "--json"])
    assert stop.value.code == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert "does not read the file" in found["report"]


def noting(folder: Path, run: list[str], more: str = "") -> tuple[Path, Path]:
    """A launcher that notes how it is called, and where."""
    path, notes = folder / "mpirun", folder / "notes"
    start = f"shift 2; exec {shlex.join(run)} {more}" if more else f"exec {shlex.join(run)}"
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{notes}\n{start} "$@"\n')
    path.chmod(0o755)
    return path, notes


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_launcher_runs_as_it_is_given(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, notes = noting(tmp_path, launcher(name))
    mpicc = installed(name).mpi.mpicc
    table = tmp_path / "t.toml"
    BOTH.only("bcast").save(table)
    main(["tune", "verify", str(table), "--launch", f"{run} -n 4 -wdir /", "--mpicc", mpicc, "--json"])
    assert json.loads(capsys.readouterr().out)["ranks"] == 4
    lines = notes.read_text().splitlines()
    assert len(lines) >= 3
    assert all(line.startswith("-n 4 -wdir / /") and "bcast=" in line for line in lines if "/probe" in line)
    # Where none is said, it is added.
    notes.unlink()
    report = verify(BOTH.only("bcast"), [str(run)], ranks=3, mpicc=mpicc)
    assert all(len(verdict.with_file) == 3 for verdict in report.verdicts)
    assert all(line.startswith("-n 3 /") for line in notes.read_text().splitlines() if "/probe" in line)


def test_a_launcher_that_starts_other_ranks(tmp_path: Path) -> None:
    run, _ = noting(tmp_path, launcher("openmpi"), "-n 3")
    with pytest.raises(InvalidInput, match=r"started 3 ranks, not 2: give their number with -n"):
        verify(BOTH.only("bcast"), [str(run)], ranks=2, mpicc=installed("openmpi").mpi.mpicc)


@pytest.mark.parametrize(
    ("launch", "ranks", "reason"),
    [
        ("mpirun -n 4", "5", "--ranks 5: --launch starts 4"),
        ("mpirun -n 1", None, "--launch starts 1 rank"),
        ("mpirun", "1", "one number of ranks, at least 2"),
        ("mpirun", "2,3", "one number of ranks, at least 2"),
    ],
)
def test_numbers_of_ranks_that_are_refused(
    launch: str, ranks: str | None, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["tune", "verify", "openmpi", "--launch", launch, *(["--ranks", ranks] if ranks else [])])
    assert stop.value.code == 2
    assert reason in capsys.readouterr().err


def test_wrong_launchers(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no such program"):
        verify(BOTH, ["no-such-mpirun"])
    with pytest.raises(InvalidInput, match="at least two"):
        build(["mpirun"], 1, str(tmp_path))
    with pytest.raises(InvalidInput, match="it starts 4 ranks, but 3 must run"):
        build(["mpirun", "-n", "4"], 3, str(tmp_path))
