"""Recordings for a skeleton are of one program and one input, as far as their commands say."""

from __future__ import annotations

from pathlib import Path

import pytest

import isthmus
from isthmus.cli import main
from isthmus.mpi.command import program_of
from recordings import recorded


def fit(monkeypatch: pytest.MonkeyPatch, folder: Path, commands: dict[int, str], *words: str, name: str = "") -> int:
    """The exit status of a fit of recordings with these commands by number of ranks."""
    monkeypatch.chdir(folder)
    files = []
    for ranks, command in commands.items():
        program = isthmus.example(f"stencil:ranks={ranks},steps=2")
        recorded(program, command=command).save(f"r{ranks}.h5")
        files.append(f"r{ranks}.h5" + name.format(n=10 * ranks))
    try:
        main(["skeleton", "fit", *files, "-o", "app.skeleton", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("mpirun -n 2 a 3 : -n 4 ./b 5", ("a", "3", ":", "./b", "5")),
        ("mpirun.openmpi --mca btl self -x A=1 -H h1,h2 -np 8 /p/app -n 60", ("/p/app", "-n", "60")),
        ("env A=2 mpiexec -n 4 numactl --interleave=all ./x 3", ("./x", "3")),
        ("perf stat -e cycles ./x", ("./x",)),
        ("time -p srun -N2 -n 16 --mpi=pmix ./x in.lj", ("./x", "in.lj")),
        ("mpirun -n 8 python -m pkg.part 7", ("pkg.part", "7")),
        ("python app.py -c 3", ("app.py", "-c", "3")),
        ("sh -c cmd", ()),
        ("isthmus run bcast", ()),
        ("mpirun -n 4", ()),
        ("", ()),
    ],
)
def test_programs_of_commands(command: str, program: tuple[str, ...]) -> None:
    assert program_of(command.split()) == program


@pytest.mark.parametrize(
    ("template", "other", "name"),
    [
        ("mpirun -n {n} ./heat 64", "mpirun -n {n} ./wave 64", ""),
        ("mpirun -n {n} ./heat 64", "mpirun -n {n} ./wave 64", ":n={n}"),
        ("mpirun -n {n} python heat.py", "mpirun -n {n} python wave.py", ""),
        ("./cg.A.{n}", "./cg.B.{n}", ""),
    ],
)
def test_different_programs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], template: str, other: str,
    name: str,
) -> None:  # fmt: skip
    commands = {9: template.format(n=9), 16: other.format(n=16), 25: template.format(n=25)}
    assert fit(monkeypatch, tmp_path, commands, name=name) == 2
    err = capsys.readouterr().err
    assert "r9.h5 is a recording of " in err
    assert "r16.h5 of " in err
    assert not Path("app.skeleton").exists()


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("mpirun -n {n} ./heat 64", ""),
        ("srun -n {n} build/heat -P {s} {s} -n 64", ""),
        ("./amg -P {s} 1 -Q {s}", ""),
        ("./cg.A.{n} --out=o{n}.txt", ""),
        ("mpirun -n {n} ./heat {m}", ":n={n}"),
        ("./cg.{l}", ":n={n}"),
        ("", ""),
        ("mpirun -n {n} './heat", ""),
    ],
)
def test_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], template: str, name: str
) -> None:
    sizes = ((9, 3, "A"), (16, 4, "B"), (25, 5, "C"))
    commands = {n: template.format(n=n, s=s, m=10 * n, l=letter) for n, s, letter in sizes}
    assert fit(monkeypatch, tmp_path, commands, name=name) == 0
    assert "note" not in capsys.readouterr().err


def test_other_arguments_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = {n: f"mpirun -n {n} ./heat {10 * n} 5" for n in (9, 16, 25)}
    assert fit(monkeypatch, tmp_path, commands) == 0
    assert "arguments of heat differ (r9.h5: 90, r16.h5: 160)" in capsys.readouterr().err
    assert fit(monkeypatch, tmp_path, commands, "--scaling", "weak") == 0
    assert capsys.readouterr().err == ""
    # A number that is the same in all says nothing of what differs; the recording to predict is looked at, too.
    assert fit(monkeypatch, tmp_path, commands, name=":n=5") == 0
    assert "r16.h5: 160" in capsys.readouterr().err
    commands = {n: f"mpirun -n {n} ./heat 8 5" for n in (9, 16, 25)}
    other = recorded(isthmus.example("stencil:ranks=36,steps=2"), command="mpirun -n 36 ./heat 8")
    other.save(tmp_path / "r36.h5")
    assert fit(monkeypatch, tmp_path, commands, "--predict", "r36.h5") == 0
    assert "arguments of heat differ (r9.h5: 8 5, r36.h5: 8)" in capsys.readouterr().err
