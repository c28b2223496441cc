"""bench/probes.py: which runs are compared with each other, and what is read from other benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
probes = pytest.importorskip("probes")


def test_runs_are_compared_in_one_state_of_the_machine() -> None:
    around = [(0.11, 0.12), (0.12, 0.36), (0.36, 0.35), (0.35, 0.11), (0.105, 0.11), (0.37, 0.9)]
    assert probes.states(around) == [0, -1, 1, -1, 0, -1]
    assert probes.states([(1.0, 1.2), (1.2, 1.3)]) == [0, 0]


def test_tables_of_other_benchmarks() -> None:
    text = "# OSU MPI Latency Test v5.3\n# Size   Latency (us)\n8     0.11250\n9   0.1\n64   x\n1024    0.69\n"
    assert probes.rows(text, 1) == [(8, 0.1125), (1024, 0.69)]
    assert probes.rows("  #bytes #repetitions t[usec]\n   64    1000    0.53   120.5\n", 2) == [(64, 0.53)]


def test_lines_of_netgauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "8193 10 4.0 12.0 20.0 0.125 0.05 0.07 0.9 0.0001 0.01\n"
    monkeypatch.setattr(probes, "undisturbed", tuple)
    out = tmp_path / "ng.out"
    monkeypatch.setattr(probes, "mpirun", lambda *_: out.write_text("# size n ...\n" + line))
    found = probes.netgauge(Path("netgauge"), "openmpi", tmp_path)
    assert found["prtt", 1] == pytest.approx(0.25e-6)
    assert (found["prtt", 8193], found["prtt of 10", 8193]) == pytest.approx((4e-6, 12e-6))
    assert found["G", 0] == pytest.approx(1e-10)


def test_medians_of_runs() -> None:
    runs = [{("a", 8): 1.0}, {("a", 8): 5.0, ("b", 8): 1.0}, {("a", 8): 2.0}]
    assert probes.medians(runs) == {("a", 8): 2.0}
    assert probes.medians([]) == {}


def test_means_stand_beside_medians(capsys: pytest.CaptureFixture[str]) -> None:
    ours = [{("a", 8): 1.0, ("a" + probes.MEAN, 8): 1.5}, {("a", 8): 1.02, ("a" + probes.MEAN, 8): 1.7}]
    probes.compare("OSU", ours, [{("a", 8): 2.0, ("b", 8): 1.0}, {("a", 8): 2.04}])
    out = capsys.readouterr().out
    assert "median -50.0 %, mean -20.8 %, least of runs -50.0 %" in out
    assert "OSU a, median: 0 of 1 within 3 %" in out
    assert "OSU b" not in out


def test_what_is_chance_is_told_from_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    steady = [{("a", 8): 1.0 + 0.001 * i} for i in range(6)]
    slower = [{("a", 8): 1.2 + 0.001 * i} for i in range(6)]
    wild = [{("a", 8): time} for time in (0.6, 0.8, 1.0, 1.2, 1.4, 1.6)]
    low, high, alone = probes.by_chance(steady, slower, ("a", 8))
    assert -0.18 < low <= high < -0.15
    assert alone < 0.01
    low, high, alone = probes.by_chance(steady, wild, ("a", 8))
    assert low < 0 < high
    assert alone > 0.2
    probes.against_itself("OSU", steady, slower)
    probes.against_itself("OSU", steady, wild)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("OSU a: the interval of ours over theirs reaches within 3 % at 0 of 1 sizes")
    assert "reaches within 3 % at 1 of 1 sizes" in second
    assert second.endswith("at 1 sizes by more than 3 %")
