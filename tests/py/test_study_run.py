"""The verb and the command: figures, pages, tables, settings, interruption."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import isthmus
from isthmus.cli import cli
from isthmus.studies.reading import catalogue


@pytest.mark.sampled(6, always=["contention-distance", "saturation"])
@pytest.mark.parametrize("name", catalogue())
def test_quick_forms(name: str, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    outcome = isthmus.study(name, tmp_path, quick=True, progress=lambda done, total: seen.append((done, total)))
    total = len(outcome.study.points)
    assert seen == [(i, total) for i in range(1, total + 1)]
    assert not outcome.failures
    assert outcome.summary is not None
    assert set(outcome.summary.findings) == {p.name for p in outcome.study.published}
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")
    page = Path(outcome.page).read_text()
    for published in outcome.study.published:
        assert published.source.split(",")[0] in page
    assert "<svg" in page
    # Nothing is fetched.
    assert not re.search(r'(src|href)="(?!#)', re.sub(r'xlink:href="#[^"]*"', "", page))


def test_command(tmp_path: Path) -> None:
    words = ["study", "contention-distance", "-o", str(tmp_path), "--set", "machine=bgp-8x8x16", "--set", "hops=1,8",
             "--set", "bytes=4,1MiB", "--workers", "1"]  # fmt: skip
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert "published  Contention can increase the latency of messages up to 8 times" in result.output
    assert f"wrote {tmp_path}/index.html" in result.output
    again = json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout)
    assert again["computed"] == 0
    assert {f["verdict"] for f in again["findings"].values()} <= {"agrees", "partly", "differs", "open"}
    assert again["findings"]["factor"]["verdict"] == "agrees"


def test_list() -> None:
    result = CliRunner().invoke(cli, ["study", "list"], catch_exceptions=False)
    assert all(name in result.output for name in catalogue())
    listed = json.loads(CliRunner().invoke(cli, ["study", "list", "--json"], catch_exceptions=False).stdout)
    assert [s["name"] for s in listed] == catalogue()


def test_failures_are_the_exit_status(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('format = 1\nname = "a"\nkind = "simulation"\n[[grid]]\nwork = "allreduce"\nmachine = "ring-16"\n')
    result = CliRunner().invoke(cli, ["study", "run", str(file), "-o", str(tmp_path / "o")], catch_exceptions=False)
    assert result.exit_code == 1
    assert "failed: " in result.output
    assert "need 64 nodes: ring-16 has 16" in result.output


def test_interruption_keeps_what_is_done(tmp_path: Path) -> None:
    class Interrupted:
        """Two answers, then Ctrl-C."""

        def __init__(self) -> None:
            from isthmus.studies.backend import Serial

            self.serial = Serial()

        def submit(self, task: object) -> None:
            self.serial.submit(task)  # type: ignore[arg-type]

        def results(self):  # type: ignore[no-untyped-def]
            for number, done in enumerate(self.serial.results()):
                if number == 2:
                    raise KeyboardInterrupt
                yield done

        def close(self) -> None:
            self.serial.close()

    study = isthmus.Study.load("contention-distance").changed({"machine": "bgp-8x8x16", "bytes": 4})
    with pytest.raises(KeyboardInterrupt):
        isthmus.study(study, tmp_path, backend=Interrupted())
    assert isthmus.study(study, tmp_path).computed == len(study.points) - 2
