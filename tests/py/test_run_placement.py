"""Ranks started where a file for the launcher places them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus.errors import InvalidInput, ParseError
from isthmus.mapping import launch
from isthmus.mapping.launch.starting import starting
from isthmus.mpi.command import take_apart
from isthmus.mpi.detection import find
from isthmus.mpi.launcher import captured
from isthmus.running.host import at_home
from isthmus.running.placing import placed

CORES = sorted(os.sched_getaffinity(0))
needs_two = pytest.mark.skipif(len(CORES) < 2 or CORES[:2] != [0, 1], reason="ranks are bound to cores 0 and 1")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The same placement in all formats that a launcher is known to read."""
    machine = isthmus.load("torus:2x2 cores=2 hosts=node[0-3]")
    placement = isthmus.Placement(machine, node=[1, 0, 1, 0], core=[0, 0, 1, 1])
    for one in launch.formats():
        if one.name not in ("bluegene", "fugaku", "places"):
            launch.write(placement, one.name, tmp_path / one.name)
    return tmp_path


@pytest.mark.parametrize(
    ("format", "launcher", "family", "version", "words", "variables"),
    [
        ("rankfile", "mpirun", "Open MPI", "4.1.4", ["--rankfile", "FILE"], {}),
        ("rankfile", "mpirun", "Open MPI", "5.0.11", ["--map-by", "rankfile:file=FILE"], {}),
        ("hostfile", "mpirun", "Open MPI", "4.1.4", ["--map-by", "seq", "--hostfile", "FILE"], {}),
        ("hostfile", "mpirun", "Open MPI", "5.0.11", ["--map-by", "seq:file=FILE"], {}),
        ("hostfile", "srun", None, "4.2.0", ["--distribution=arbitrary"], {"SLURM_HOSTFILE": "FILE"}),
        (
            "cray",
            "srun",
            None,
            "",
            ["-m", "block"],
            {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": "FILE"},
        ),
        ("jsrun", "jsrun", None, "", ["--erf_input", "FILE"], {}),
    ],
)
def test_launchers_get_what_their_manuals_say(
    format: str,
    launcher: str,
    family: str | None,
    version: str,
    words: list[str],
    variables: dict[str, str],
    files: Path,
) -> None:
    file = str(files / format)
    found, given = starting(file, launcher, family, version, 4)
    assert found == [word.replace("FILE", file) for word in words]
    assert given == {key: value.replace("FILE", file) for key, value in variables.items()}


def test_files_that_do_not_fit(files: Path) -> None:
    for format, launcher, family, said in (
        ("flux", "mpirun", "Open MPI", "mpirun does not read a file of format flux: must be rankfile or hostfile"),
        ("rankfile", "mpiexec", "MPICH", "mpiexec does not read a file of format rankfile: must be hydra"),
        ("rankfile", "mpirun", "Open MPI", "the file places 4 ranks, and 3 are started"),
    ):
        with pytest.raises(InvalidInput, match=said):
            starting(files / format, launcher, family, "4.1.4", 3)
    (files / "other").write_text("# nothing\n!\n")
    with pytest.raises(ParseError, match="begins like none of the formats"):
        starting(files / "other", "mpirun", "Open MPI", "4.1.4")


@needs_two
@pytest.mark.parametrize("swapped", [False, True])
def test_ranks_are_where_the_file_says(swapped: bool, tmp_path: Path) -> None:
    file = tmp_path / "ranks.txt"
    file.write_text("".join(f"rank {r}=localhost slot={1 - r if swapped else r}\n" for r in range(2)))
    told = "echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)"
    command = take_apart(["mpirun.openmpi", "-n", "2", "sh", "-c", told])
    found = placed(command, find(command), file, tmp_path, 2)
    ended = captured(found.command.words, {**os.environ, **found.variables}, limit=100)
    assert ended.status == 0, ended.last_words()
    cores = {int(words[0]): int(words[-1]) for words in map(str.split, ended.output.splitlines())}
    assert cores == ({0: 1, 1: 0} if swapped else {0: 0, 1: 1})


@needs_two
def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "ranks.txt").write_text("rank 0=localhost slot=1\nrank 1=localhost slot=0\n")
    run = [sys.executable, "-m", "isthmus", "run"]
    words = ["--placement", "ranks.txt", "--launch", "mpirun.openmpi -n 2"]
    done = subprocess.run([*run, "barrier:ranks=2", *words], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "mpirun.openmpi --rankfile" in done.stdout
    told = "echo $OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)"
    done = subprocess.run(
        [*run, *words, "--", "sh", "-c", told], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert sorted(line.split()[0::2] for line in done.stdout.splitlines()) == [["0", "1"], ["1", "0"]]
    bad = subprocess.run(
        [*run, "barrier:ranks=3", "--placement", "ranks.txt"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert bad.returncode == 2
    assert bad.stderr == "isthmus: --placement ranks.txt: the file places 2 ranks, and 3 are started\n"


@needs_two
def test_the_only_node_of_a_machine_is_this_computer(tmp_path: Path) -> None:
    told = "echo $OMPI_COMM_WORLD_RANK $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)"
    machine = isthmus.load("mesh:1 cores=2")
    launch.write(isthmus.Placement(machine, [0, 0], [1, 0]), "rankfile", tmp_path / "rf")
    launch.write(isthmus.Placement(machine, [0, 0], [1, 0]), "hydra", tmp_path / "hosts")
    run = [sys.executable, "-m", "isthmus", "run", "--placement"]
    for file, launcher in (("rf", "mpirun.openmpi"), ("hosts", "mpirun.mpich")):
        # Options of the program are not those of its launcher.
        command = [*run, file, "--", launcher, "-n", "2", "sh", "-c", told, "-f", "-H"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        assert sorted(line.split()[0::2] for line in done.stdout.splitlines()) == [["0", "1"], ["1", "0"]], launcher


def test_names_that_somebody_knows_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE", "COBALT_NODEFILE"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "rf"

    def host(text: str, *words: str) -> str:
        file.write_text(text)
        return Path(at_home(file, ["mpirun", "-n", "2", *words], tmp_path)).read_text()

    here = socket.gethostname()
    assert host("# ranks\nrank 0=node0 slot=1\nrank 1 = node0 slot=0\n") == (
        f"# ranks\nrank 0={here} slot=1\nrank 1 = {here} slot=0\n"
    )
    assert host("node0\nnode0\n") == f"{here}\n{here}\n"
    assert host("node0:2 binding=user:1,0\n") == f"{here}:2 binding=user:1,0\n"
    kept = ["rank 0=node0 slot=0\nrank 1=node1 slot=0\n", "localhost\nlocalhost\n", f"{here}:2\n", "0,1\n"]
    assert [host(text) for text in kept] == kept
    assert host("node0\n", "-H", "far") == "node0\n"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert host("node0\n") == "node0\n"
