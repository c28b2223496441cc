"""Skeletons: programs with parameters, by one grammar everywhere, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.schedule.program import EventKind
from isthmus.skeletons import SKELETONS, skeleton


def sends(program: isthmus.Program) -> np.ndarray:
    return np.isin(program.kind, [EventKind.send, EventKind.isend])


@pytest.mark.parametrize("name", SKELETONS)
def test_every_skeleton_runs(name: str) -> None:
    """By its defaults, on one rank, on a prime number of ranks, and at the least that its parameters allow."""
    program = skeleton(name)
    assert program.ranks == 64
    assert (sends(program) | (program.kind == EventKind.collective)).any()
    assert isthmus.simulate(program, "torus-4x4x4").deadlock is None
    assert sends(skeleton(f"{name}:ranks=1")).sum() == 0
    assert isthmus.simulate(skeleton(f"{name}:ranks=13"), "torus-4x4x4").deadlock is None
    least = ",".join(f"{p.name}={p.text(p.least)}" for p in SKELETONS[name].parameters if p.name != "ranks")
    assert skeleton(f"{name}:ranks=8,{least}").ranks == 8


@pytest.mark.parametrize("name", SKELETONS)
def test_every_parameter_changes_the_program(name: str) -> None:
    """From another value comes another program, but for the seed where nothing is random."""
    base = {"ranks": "48", "spread": "0.1", "solves": "1", "steps": "2", "every": "1", "tiles": "4"}
    base |= dict.fromkeys(("iterations", "reals", "integers", "exchanges"), "2")
    given = {p.name: base[p.name] for p in SKELETONS[name].parameters if p.name in base}

    def built(**more: str) -> tuple[bytes, ...]:
        p = SKELETONS[name].build({**given, **more})
        return tuple(np.asarray(column).tobytes() for column in (p.first, p.amount, p.peer, p.details))

    before = built()
    for p in SKELETONS[name].parameters:
        more = 3 * p.default + 2 if p.default else 2 if p.whole else 0.5
        value = min(more, p.most) if p.default < p.most else p.least
        assert built(**{p.name: p.text(value)}) != before, p.name
    assert built() == before


def test_stencil_by_closed_form() -> None:
    """w x h ranks have 2 (w (h - 1) + h (w - 1)) messages a step; solver iterations as many, and a sum."""
    program = skeleton("stencil:ranks=24,bytes=1000,steps=3,solves=2,compute=2ms")
    links = 2 * (6 * 3 + 4 * 5)
    assert sends(program).sum() == links * 3 * (1 + 2)
    assert (program.amount[sends(program)] == 1000).sum() == links * 3
    assert (program.kind == EventKind.collective).sum() == 24 * 3 * 2
    seconds = program.amount[program.kind == EventKind.compute].sum() / 1e12
    assert seconds == pytest.approx(24 * 3 * 2e-3 * (1 + 2e-3))


def test_multigrid_by_closed_form() -> None:
    """A V-cycle on 4 x 4 x 4 ranks visits levels 0, 1, 0: six messages of every rank each."""
    program = skeleton("multigrid:ranks=64,bytes=4KiB,cycles=2")
    amounts, numbers = np.unique(program.amount[sends(program)], return_counts=True)
    assert dict(zip(amounts.tolist(), numbers.tolist(), strict=True)) == {4096: 64 * 6 * 2 * 2, 1024: 64 * 6 * 2}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("stencli:ranks=4", "a close one is stencil"),
        ("stencil:rank=4", "must be one of ranks=..., bytes=..."),
        ("stencil:ranks=4,ranks=5", "ranks is given twice"),
        ("stencil:ranks=0", "ranks=0: must be a whole number from 1 to"),
        ("stencil:ranks=2.5", "ranks=2.5: must be a whole number from 1 to"),
        ("stencil:compute=5", "a time needs one"),
        ("stencil:bytes=1s", "bytes=1s"),
        ("stencil:spread=-1", "spread=-1: must be a number from 0 to 10"),
    ],
)
def test_what_is_refused(text: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(isthmus.InvalidInput, match=reason.replace(".", r"\.")):
        skeleton(text)
    for words in (["skeleton", "show", text], ["show", "--example", text]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    main(["skeleton", "list"])
    shown = capsys.readouterr().out
    for one in SKELETONS.values():
        assert one.doc.split(":")[0] in shown
        assert all(p.name in shown for p in one.parameters)
    assert "from 1 to 1,048,576" in shown
    assert "lammps" in shown
    main(["skeleton", "list", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found] == list(SKELETONS)
    assert found[0]["parameters"][0] == {
        "name": "ranks", "doc": "ranks", "default": 64, "least": 1, "most": 2**20, "unit": "", "whole": True,
        "origin": "", "follows": "",
    }  # fmt: skip


def test_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What skeleton show prints and writes is what show prints, and what every command takes by this name."""
    monkeypatch.chdir(tmp_path)
    name = "stencil:ranks=16,bytes=1kB,steps=2"
    main(["skeleton", "show", name, "-o", "s.h5"])
    printed = capsys.readouterr().out
    for words in (["show", "s.h5"], ["show", "--example", name], ["show", name]):
        main(words)
        assert capsys.readouterr().out + "wrote s.h5\n" == printed
    main(["skeleton", "show", name, "--json"])
    first = capsys.readouterr().out
    main(["show", "s.h5", "--json"])
    assert capsys.readouterr().out == first
    main(["simulate", "--example", name, "--machine", "torus-4x4x4", "--json"])
    assert json.loads(capsys.readouterr().out)["ranks"] == 16
    assert isthmus.example(name).ranks == 16
    for words in (["skeleton", "show", name, "-o", "s.txt"], ["show", "--example", "lammps:ranks=4"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.h5"]


@pytest.mark.parametrize(
    "text", ["cth:ranks=27,steps=3", "charon:ranks=8,steps=2", "sage:ranks=16,steps=1", "fft:ranks=16", "umt:ranks=12",
             "stencil:ranks=16,solves=3", "openatom:ranks=16"],
)  # fmt: skip
def test_numbers_of_pieces_are_those_of_the_program(text: str) -> None:
    """Whatever is built piece by piece: events, messages, bytes, collectives and computation."""
    from isthmus.schedule.tally import Tally
    from isthmus.skeletons import tally

    found, whole = tally(text), Tally.of(skeleton(text))
    assert found is not None
    assert str(found) == str(whole)
    assert found.summary() == whole.summary()
    assert tally("no-such-skeleton") is None
