"""Each kind of file where another is wanted: one sentence that says what it is and what is needed, exit status 2."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import shutil
from pathlib import Path

import h5py
import pytest

from dumpi_traces import write_dumpi
from isthmus import Schedule, collective, read, simulate
from isthmus.cli import main
from isthmus.machine import Level
from otf2_traces import ProgramWriter
from recorded_programs import random_program, write_traces

DATA = Path(__file__).parents[1] / "data"
#: What reads one file, and the kinds that it takes.
WORK = {"program.h5", "schedule.h5", "a.goal", "a.bin", "trace", "trace/traces.otf2", "dumpi", "dumpi/dumpi-0001.txt"}
MACHINES = {"machine.toml", "a.edges", "topology.yaml", "topology.conf"}
DOORS = {
    "show {}": WORK | MACHINES | {"timeline.h5", "table.toml", "a.graph"},
    "simulate {} --machine torus:4x4x4": WORK,
    "simulate schedule.h5 --machine {}": MACHINES,
    "simulate schedule.h5 --machine torus:4x4x4 --placement {}": {"nodes.txt"},
    "simulate program.h5 --machine torus:4x4x4 --collectives {}": {"table.toml"},
    "schedule validate {}": WORK,
    "schedule convert {} -o out.h5": WORK,
    "machine show {}": MACHINES,
    "machine show torus:4x4x4 --node {}": {"node.xml"},
    "map {} --machine torus:4x4x4 --time 0.01s": WORK | {"a.graph"},
    "map schedule.h5 --machine torus:2x2 --balance 0.1 --speeds {}": {"nodes.txt"},
    "tune show {}": {"table.toml"},
    "study run {} -o out": {"study.toml"},
    "prove {} --as allreduce:ranks=4,bytes=64": WORK,
    "advise {} --machine torus:4x4x4 --tune-time 0": WORK,
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    program = read(DATA / "program-version-1.h5")
    program.save(folder / "program.h5")  # type: ignore[union-attr]
    schedule = collective("allreduce", ranks=4, bytes=64)
    schedule.save(folder / "schedule.h5")
    simulate(schedule, Level(L=1e-6)).save(folder / "timeline.h5")
    linear = collective("alltoall", ranks=4, bytes=64, algorithm="linear")
    assert isinstance(linear, Schedule)
    linear.save(folder / "a.goal")
    linear.save(folder / "a.bin")
    with h5py.File(folder / "foreign.h5", "w") as file:
        file["x"] = [1]
    for name in ("dumpi", "raw", "folder"):
        (folder / name).mkdir()
    drawn = random_program(random.Random(5), 3, 8, lists=False, nonblocking=False)
    ProgramWriter(drawn, folder / "trace")
    write_dumpi(drawn, folder / "dumpi")
    write_traces(drawn, folder / "raw")
    shutil.copy(next((folder / "raw").iterdir()), folder / "a.trace")
    shutil.copy(DATA / "imports/dgx-h100.nccl.xml", folder / "node.xml")
    shutil.copy(DATA / "imports/topology.yaml", folder / "topology.yaml")
    shutil.copy(next((DATA / "imports/tree").glob("*.conf")), folder / "topology.conf")
    (folder / "machine.toml").write_text('format = 1\n[topology]\nkind = "torus"\ndims = [4, 4]\n')
    (folder / "table.toml").write_text('format = "isthmus decision table"\nversion = 1\n')
    (folder / "study.toml").write_text('format = 1\nname = "a"\nkind = "simulation"\n[[grid]]\nwork = "x"\n')
    (folder / "a.graph").write_text("3 2\n2\n1 3\n2\n")
    (folder / "a.edges").write_text("a b\nb c\n")
    (folder / "nodes.txt").write_text("0\n1\n2\n3\n")
    (folder / "empty").write_text("")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "packed.gz").write_bytes(gzip.compress(b"num_ranks 1\n"))
    return folder


#: Words that say what a file is; what is not here is told by its defects only.
WORDS = {
    "foreign.h5": "HDF5 file", "program.h5": "HDF5 file", "schedule.h5": "HDF5 file",
    "timeline.h5": "HDF5 file|timeline",
    "a.goal": "GOAL text", "a.bin": "binary GOAL", "trace": "folder of an OTF2", "trace/traces.otf2": "OTF2",
    "trace/traces.def": "OTF2", "dumpi": "folder of dumpi", "dumpi/dumpi-0001.txt": "dumpi trace", "raw": "raw traces",
    "a.trace": "raw trace", "machine.toml": "machine in TOML", "table.toml": "decision table", "study.toml": "study",
    "node.xml": "XML|a node, not a network", "topology.yaml": "network", "topology.conf": "network", "a.graph": "METIS",
    "a.edges": "edge list",
    "empty": "empty|is missing|format = 1|speeds = ", "folder": "a folder, in which", "picture.png": "picture",
    "binary": "binary file", "packed.gz": "gzip",
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_wrong_kinds(door: str, kinds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kinds)
    before = sorted(os.listdir(kinds))
    for name, words in WORDS.items():
        if name in DOORS[door]:
            continue
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error), pytest.raises(SystemExit) as end:
            main(door.format(name).split())
        said = error.getvalue()
        assert (end.value.code, out.getvalue(), said.count("\n")) == (2, "", 1), (name, said)
        assert any(word in said for word in words.split("|")), (name, said)
        assert name in said or name == "empty"
        assert len(said) < 300
        assert not any(word in said for word in ("UTF-8", "iconv", "numbers in their names", "not TOML")), (name, said)
    assert sorted(os.listdir(kinds)) == before


@pytest.mark.parametrize("name", sorted(WORK))
def test_right_kinds(name: str, kinds: Path) -> None:
    assert len(read(kinds / name)) > 0  # type: ignore[arg-type]
