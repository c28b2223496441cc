"""One vocabulary: the same option has the same words, form and meaning in all commands."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import isthmus
from isthmus.cli import cli, main
from isthmus.cli.options import SHARED, whole_numbers
from isthmus.errors import InvalidInput
from isthmus.mpi.launcher import parse_launch


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, (*path, name))


COMMANDS = dict(leaves(cli))
# Every study has the options of study run, from one declaration.
OWN = {path: command for path, command in COMMANDS.items() if path[0] != "study" or path[1] in ("list", "run")}


def options() -> dict[str, list[tuple[tuple[str, ...], click.Option]]]:
    found = defaultdict(list)
    for path, command in OWN.items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for word in (*parameter.opts, *parameter.secondary_opts):
                    found[word].append((path, parameter))
    return found


def test_an_option_of_several_commands_is_declared_once() -> None:
    declared = {word for option in SHARED.values() for part in option.words for word in part.split("/")}
    several = {word for word, found in options().items() if len(found) > 1}
    assert several - declared == set()
    assert {word for word in declared if word.startswith("-")} <= set(options())


@pytest.mark.parametrize("name", sorted(SHARED))
def test_the_same_words_and_form(name: str) -> None:
    option = SHARED[name]
    word = option.words[0].partition("/")[0]
    for path, found in options()[word]:
        if (name, path) == ("time", ("tune", "verify")):
            continue  # times the rules, and may say for how long
        assert (found.help or "").startswith(option.sentence), path
        assert found.metavar == option.form.get("metavar"), path
        assert found.is_flag == (option.form.get("is_flag", False) or "/" in option.words[0]), path
        assert set(found.opts) | set(found.secondary_opts) == {
            part for words in option.words for part in words.split("/") if part.startswith("-")
        }, path
        allowed = option.form.get("type")
        if isinstance(allowed, click.Choice):
            assert isinstance(found.type, click.Choice)
            assert set(allowed.choices) <= set(found.type.choices), path
        elif allowed is not None:
            assert type(found.type) is type(allowed), path


def test_every_command_has_json() -> None:
    # What completion prints is for a shell, and upcc prints nothing.
    without = [path for path, command in COMMANDS.items() if all("--json" not in p.opts for p in command.params)]
    assert without == [("completion",), ("upcc",)]


def test_what_is_written_is_always_behind_o() -> None:
    """No command takes the file that it writes as an argument."""
    for path, command in COMMANDS.items():
        arguments = [p.name for p in command.params if isinstance(p, click.Argument) and p.get_usage_pieces(_context())]
        assert not {"target", "output", "out"} & set(arguments), path


def _context() -> click.Context:
    return click.Context(cli)


def test_programs_are_named_alike() -> None:
    """Where FILE is a program, it may be an example."""
    for path, command in COMMANDS.items():
        names = {word for p in command.params for word in p.opts}
        if "--unit" in names:
            assert "--example" in names, path


# Old spellings


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    isthmus.collective("bcast", ranks=8, bytes=1000).save("bcast.goal")
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("simulate bcast.goal ring-16", "simulate bcast.goal --machine ring-16", "--machine ring-16"),
        ("schedule convert bcast.goal a.h5", "schedule convert bcast.goal -o a.h5", "-o a.h5"),
        ("machine route ring-16 0 3 --method minimal", "machine route ring-16 0 3 --routing minimal", "--routing"),
        ("machine route ring-16 0 3 --method=minimal", "machine route ring-16 0 3 --routing minimal", "--routing"),
        ("machine convert ring-16 --to spec", "machine convert ring-16 --format spec", "--format"),
    ],
)
def test_old_spellings_work_with_a_note(
    old: str, new: str, says: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*new.split(), "--json"])
    expected = capsys.readouterr()
    assert expected.err == ""
    main([*old.split(), "--json"])
    found = capsys.readouterr()
    first, second = (json.loads(text) for text in (found.out, expected.out))
    assert {**first, "wall": 0} == {**second, "wall": 0}
    assert f"is now {says}" in found.err
    assert found.err.count("\n") == 1


def test_values_of_old_options_are_not_renamed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["machine", "show", "ring-16", "--input-format", "--from"])
    assert "is now" in capsys.readouterr().err  # a word is known by its place only behind "--"
    main(["simulate", "bcast.goal", "--machine", "ring-16", "--breakdown", "b.png"])
    found = capsys.readouterr()
    assert "wrote b.png" in found.out
    assert "--plot breakdown=" in found.err


def test_pictures_of_links_are_asked_for_as_all_pictures(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "bcast.goal", "--machine", "ring-16", "--ranks-per-node", "1", "--model", "flow", "--json"]
    new = ["--plot", "load=a.png", "--plot", "time=b.svg", "--plot=network=c.html", "--plot", "breakdown=d.png"]
    main([*words, *new])
    found = capsys.readouterr()
    written = ["a.png", "b.svg", "c.html", "d.png"]
    assert (json.loads(found.out)["files"], found.err) == ({"plot": written}, "")
    before = {path: (files / path).read_bytes() for path in written if not path.endswith(".html")}
    old = ["--plot-links", "a.png", "--plot-links", "time=b.svg", "--plot-links=network=c.html", "--breakdown", "d.png"]
    main([*words, *old])
    found = capsys.readouterr()
    assert json.loads(found.out)["files"] == {"plot": written}
    assert found.err.count("--plot-links is now --plot [load=]") == 3
    assert {path: (files / path).read_bytes() for path in before} == before


@pytest.mark.parametrize("words", ["simulate bcast.goal", "schedule convert bcast.goal", "simulate --machine ring-16"])
def test_what_is_missing_is_said(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert "is missing" in err or "give FILE" in err


def test_one_of_two_spellings(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("simulate bcast.goal ring-16 --machine ring-16", "schedule convert bcast.goal a.h5 -o a.h5"):
        with pytest.raises(SystemExit) as stop:
            main(words.split())
        assert stop.value.code == 2
        assert "give only one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "show",
        "simulate --machine eos",
        "schedule validate",
        "schedule lower -o p.h5",
        "schedule pattern",
        "schedule convert -o p.h5",
    ],
)
def test_examples_everywhere(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*words.split(), "--example", "lammps", "--json"])
    assert json.loads(capsys.readouterr().out)


# Launchers and numbers


@pytest.mark.parametrize(
    ("text", "words", "ranks"),
    [
        ("mpirun", ["mpirun"], None),
        ("mpirun -n 4", ["mpirun", "-n", "4"], 4),
        ("mpirun --oversubscribe -np 12", ["mpirun", "--oversubscribe", "-np", "12"], 12),
        ("mpirun -c 3 -H a,b", ["mpirun", "-c", "3", "-H", "a,b"], 3),
        ("srun --ntasks=8 -c 2 --mpi=pmix", ["srun", "--ntasks=8", "-c", "2", "--mpi=pmix"], 8),
        ("srun -n8 -c 2", ["srun", "-n8", "-c", "2"], 8),
        ("'my mpirun' -n 2", ["my mpirun", "-n", "2"], 2),
        ("env sh -c 'exec \"$@\"' - mpirun -n 2", ["env", "sh", "-c", 'exec "$@"', "-", "mpirun", "-n", "2"], 2),
        ("wrapper -c 4", ["wrapper", "-c", "4"], 4),
    ],
)
def test_launchers(text: str, words: list[str], ranks: int | None) -> None:
    assert parse_launch(text) == (words, ranks)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "mpirun -n",
        "mpirun -n x",
        "mpirun -c x",
        "mpirun -n 0",
        "mpirun -n 4 -n 5",
        "mpirun -n4 --np 4",
        "srun --ntasks=",
        "mpirun '",
    ],
)
def test_wrong_launchers(text: str) -> None:
    with pytest.raises(InvalidInput, match="--launch"):
        parse_launch(text)


def test_numbers() -> None:
    assert whole_numbers("--ranks", "1-3,8, 5") == [1, 2, 3, 5, 8]
    for wrong in ("", "x", "0", "3-1", "1,,2", "-4", "1-", "²"):
        with pytest.raises(InvalidInput, match="--ranks"):
            whole_numbers("--ranks", wrong)
