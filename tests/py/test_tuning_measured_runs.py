"""isthmus tune --measured with real libraries: what is forced, stopping and going on, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.errors import InvalidInput
from isthmus.measuring.programs import mpi_program
from isthmus.mpi.launcher import Launcher
from isthmus.tuning.choice import Choice
from isthmus.tuning.measured.runs import Case, Launches
from isthmus.tuning.measured.trials import library_of
from isthmus.tuning.table import DecisionTable
from mpi_programs import installed


def status_of(words: list[str]) -> int:
    """Exit status of a command."""
    try:
        main(words)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def launch(name: str, options: str = "-n 2") -> str:
    run = installed(name).tool("mpirun")
    if run is None:
        pytest.skip(f"mpirun of {name} is not installed")
    return f"{run} {options}"


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_tables_and_rules_come_out(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tuned.toml"
    words = ["tune", "barrier", "bcast", "--measured", "--launch", launch(name), "--sizes", "64", "--time", "16s"]
    assert status_of([*words, "-o", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ranks"] == 2
    assert found["launches"] >= 3
    # On a machine with other work not all launches may fit into the time; then a note says so.
    tried = {d["collective"] for d in found["decisions"]}
    assert tried == {"barrier", "bcast"} or (tried and found["notes"])
    assert all(d["default"] > 0 for d in found["decisions"])
    table = DecisionTable.load(out)
    assert table.provenance.source == "measured"
    assert table.provenance.library.startswith(name)
    assert not (tmp_path / "tuned.journal").exists()
    # What is left to the library, all of it here maybe, can be simulated and exported.
    for kind in table.collectives:
        assert table.at(2)[kind]
    if found["rules"]:
        assert Path(found["rules"]).is_file()


def test_settings_force_what_they_say(tmp_path: Path) -> None:
    """Segments of 8 kB of a pipeline take several times as long as no segments for 1 MiB between two ranks."""
    launcher = Launcher.parse(launch("openmpi"))
    mpi = launcher.mpi()
    trials = {t.choice: t for t in library_of(mpi, 2, ["bcast"]).trials["bcast"]}
    always = library_of(mpi, 2, ["bcast"]).always
    whole = trials[Choice("binomial")]
    pieces = next(t for c, t in trials.items() if c.options.get("segment") == 8192)
    runs = Launches(launcher, mpi_program(mpi), 2, tmp_path)
    case = Case("bcast", 1 << 20)
    times = []
    for i, trial in enumerate((whole, pieces) * 2):
        found = runs.times({**always, **trial.settings}, [case], 4.0, f"k{i}")
        if case not in found:
            pytest.skip("other work on this machine lets no start be in time")
        times.append(float(np.min(found[case])))
    assert min(times[::2]) != pytest.approx(min(times[1::2]), rel=0.05)


def test_rules_that_the_user_has_do_not_stop_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI takes its file of rules before a forced algorithm. Segments of 64 B are many times slower than none."""
    rules = tmp_path / "bad.conf"
    rules.write_text("1\n7\n1\n0\n1\n0 3 0 64\n")
    launcher = Launcher.parse(launch("openmpi"))
    mpi = launcher.mpi()
    library = library_of(mpi, 2, ["bcast"])
    (whole,) = (t for t in library.trials["bcast"] if t.choice == Choice("binomial"))
    runs = Launches(launcher, mpi_program(mpi), 2, tmp_path)
    monkeypatch.setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
    monkeypatch.setenv("OMPI_MCA_coll_tuned_dynamic_rules_filename", str(rules))
    case = Case("bcast", 1 << 18)
    own = runs.times({}, [case], 2.0, "own")
    forced = runs.times({**library.always, **whole.settings}, [case], 2.0, "forced")
    if case not in own or case not in forced:
        pytest.skip("other work on this machine lets no start be in time")
    assert np.min(forced[case]) < np.min(own[case]) / 2


def test_a_search_that_was_stopped_goes_on(tmp_path: Path) -> None:
    launcher = Launcher.parse(launch("openmpi"))
    mpi = launcher.mpi()
    cases = [Case("barrier", 0), Case("allreduce", 64)]
    first = Launches(launcher, mpi_program(mpi), 2, tmp_path)
    one = first.times({}, cases, 1.0, "coarse0.0.d0")
    again = Launches(launcher, mpi_program(mpi), 2, tmp_path)
    two = again.times({}, cases, 0.9, "coarse0.0.d0")
    assert again.kept == 1
    assert all(np.array_equal(one[case], two[case]) for case in cases)
    # Under other settings, or half written, it is done anew.
    again.times({"A": "b"}, cases, 1.0, "coarse0.0.d0")
    assert again.kept == 1
    journal = tmp_path / "coarse0.0.d0"
    journal.write_bytes(journal.read_bytes()[:-5])
    again.times({"A": "b"}, cases, 1.0, "coarse0.0.d0")
    assert again.kept == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--launch", "{mpirun} -n 64"], "64 ranks on"),
        (["--launch", "{mpirun} -n 1"], "at least two"),
        (["--launch", "{mpirun} -n 2", "--ranks", "3"], "--launch starts 2"),
        (["--launch", "nowhere -n 2"], "there is no program nowhere"),
        (["--launch", "{mpirun} -n 2", "--sizes", "0"], "bytes from 1"),
    ],
)
def test_what_is_refused(options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mpirun = launch("openmpi", "").strip()
    out = tmp_path / "t.toml"
    given = [option.format(mpirun=mpirun) for option in options]
    assert status_of(["tune", "--measured", *given, "-o", str(out)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_launcher_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ended with status|did not|hung"):
        isthmus.tune_measured("barrier", launch=launch("openmpi", "-n 2 --no-such-option"), seconds=3)
    (tmp_path / "x").write_text("mine")
    with pytest.raises(InvalidInput, match="holds no tuning"):
        isthmus.tune_measured("barrier", launch=launch("openmpi"), folder=tmp_path)
    assert (tmp_path / "x").read_text() == "mine"


def test_ranks_that_share_cores_are_marked() -> None:
    ranks = len(os.sched_getaffinity(0)) + 1
    words = launch("openmpi", f"--oversubscribe -n {ranks}")
    found = isthmus.tune_measured("barrier", launch=words, oversubscribe=True, seconds=3)
    (note,) = (note for note in found.notes if "shared" in note)
    assert note.startswith(f"{ranks} ranks shared {ranks - 1} cores")
    assert note in found.table.provenance.note


def test_rules_are_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.toml"
    table.write_text(
        'format = "isthmus decision table"\nversion = 1\n[[bcast]]\nranks = 2\nsizes = "from"\n'
        'rules = [{ bytes = 0, algorithm = "library" }, { bytes = 4096, algorithm = "chain,radix=1,segment=1024" }]\n'
    )
    kept = tmp_path / "kept.toml"
    words = ["tune", "verify", str(table), "--time", "4s", "--launch", launch("openmpi"), "-o", str(kept), "--json"]
    status = status_of(words)
    found = json.loads(capsys.readouterr().out)
    # What is left to the library is named where it is slower with the file.
    (rule,) = (rule for rule in found["rules"] if rule["algorithm"] != "library")
    assert (rule["low"], rule["algorithm"]) == (4096, "chain,radix=1,segment=1024")
    assert status == (0 if rule["holds"] else 1)
    left = DecisionTable.load(kept)
    assert ("bcast" in left.collectives) == rule["holds"]
