"""Completion of the command line, near names of commands, and what the doctor finds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus import environment
from isthmus.cli import main

ISTHMUS = Path(sys.executable).with_name("isthmus")


def completed(line: str) -> list[str]:
    words = line.split(" ")
    env = {**os.environ, "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_ISTHMUS_COMPLETE": "bash_complete"}
    done = subprocess.run([ISTHMUS], env=env, capture_output=True, text=True, check=True)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("isthmus sim", {"simulate"}),
        ("isthmus machine sh", {"show"}),
        ("isthmus machine show ciel", {"cielo"}),
        ("isthmus machine show torus-4", {"torus-4x4x4"}),
        ("isthmus machine show dragonfly:", {"dragonfly:"}),
        ("isthmus map --machine eo", {"eos"}),
        ("isthmus map --objective t", {"time"}),
        ("isthmus map --method multi", {"multilevel"}),
        ("isthmus map --format rankf", {"rankfile"}),
        ("isthmus advise --example lam", {"lammps"}),
        ("isthmus simulate allr", {"allreduce:"}),
        ("isthmus tune search red", {"reduce", "reduce_scatter"}),
        ("isthmus tune search allreduce --algorithm raben", {"rabenseifner"}),
        ("isthmus prove --all --kind bca", {"bcast"}),
    ],
)
def test_names(line: str, found: set[str]) -> None:
    assert set(completed(line)) == found


def test_options_and_files() -> None:
    assert "--machine" in completed("isthmus map --ma")
    assert completed("isthmus machine show ./ciel") == ["./ciel"]  # left to the shell


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", shell])
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert f"_ISTHMUS_COMPLETE={shell}_complete" in script.read_text()
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(script)], check=True)


def test_bash_completes_for_real(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["completion", "bash"])
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    lines = f"source {script}; COMP_WORDS=(isthmus machine show ciel); COMP_CWORD=3; _isthmus_completion {ISTHMUS}"
    done = subprocess.run(
        ["bash", "-c", lines + '; echo "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["cielo"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("isthmus machine show ciel", ["cielo"]),
        ("isthmus skel", ["skeleton"]),
        ("isthmus skeleton show sten", ["stencil:"]),
        ("isthmus map --objective t", ["time"]),
        ("isthmus simulate --example lam", ["lammps"]),
    ],
)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_complete_for_real(
    shell: str, line: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script runs in the shell itself; zsh's own functions, which need a terminal, print what they are given."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    main(["completion", shell])
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    if shell == "fish":
        words = f"source {script}; complete -C '{line}'"
        command = ["fish", "--no-config", "-c", words]
    else:
        words = (
            "compdef() { }; compadd() { print -l -- ${(P)argv[-1]} }; "
            "_describe() { print -l -- ${${(P)argv[3]}%%:*} }; "
            f"source {script}; words=({line}); CURRENT=${{#words}}; _isthmus_completion"
        )
        command = ["zsh", "-f", "-c", words]
    env = {**os.environ, "PATH": f"{ISTHMUS.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert [word.split("\t")[0] for word in done.stdout.split("\n") if word] == found


def test_unknown_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    with pytest.raises(SystemExit) as stop:
        main(["completion"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "isthmus: completion for tcsh: must be one of bash, zsh, fish\n"


@pytest.mark.parametrize(("wrong", "right"), [("simulte", "simulate"), ("maps", "map"), ("reccord", "record")])
def test_near_commands(wrong: str, right: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([wrong])
    assert stop.value.code == 2
    assert f"No such command '{wrong}'. Did you mean '{right}'" in capsys.readouterr().err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    found = {(c["topic"], c["name"]): c for c in json.loads(capsys.readouterr().out)}
    assert found["Python", "numpy"]["state"] == "there"
    for name, compiler in (("Open MPI", "mpicc.openmpi"), ("MPICH", "mpicc.mpich")):
        if shutil.which(compiler):
            assert any(key[1].startswith(name) for key in found)
    main(["doctor"])
    assert capsys.readouterr().out.endswith("Everything that Isthmus needs is installed.\n")


def test_doctor_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = environment.importlib.metadata.version

    def version(name: str) -> str:
        if name in ("matplotlib", "h5py"):
            raise environment.importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(environment.importlib.metadata, "version", version)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SystemExit) as stop:
        main(["doctor"])
    assert stop.value.code == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "pip install 'isthmus[plot]'" in text
    assert "apt install libopenmpi-dev" in text
    assert text.endswith("Missing: h5py.")
