"""Skeletons in pieces: what they take of memory, which pieces are the same, what is said of too many ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.comparison.in_pieces import InPieces
from isthmus.schedule.program import EventKind
from isthmus.skeletons import skeleton
from isthmus.skeletons.catalogue import read, tally
from isthmus.skeletons.steps import Noted, Pieces


def pieces_of(text: str) -> Pieces:
    found, given = read(text)
    return found.pieces(found.values(given))


def arrays(pieces: Pieces) -> list[np.ndarray]:
    """All different arrays that the calls of pieces hold."""
    found: dict[int, np.ndarray] = {}
    for piece in pieces._calls:
        for _, arguments, more in piece:
            found |= {id(value): value for value in (*arguments, *more.values()) if isinstance(value, np.ndarray)}
    return list(found.values())


@pytest.mark.parametrize("name", ["osem", "summa", "compress", "cholesky", "sage", "charon", "amg"])
def test_memory_does_not_grow_with_steps(name: str) -> None:
    """Arrays that a skeleton makes anew in each step are kept once."""
    one, three = (arrays(pieces_of(f"{name}:ranks=32,steps={steps}")) for steps in (1, 3))
    contents = {(one.dtype.str, one.tobytes()) for one in three}
    assert len(three) == len(contents)
    # Sizes of compressed blocks are other ones in each step.
    assert name == "compress" or len(three) == len(one)


def test_pieces_whose_arrays_differ_in_one_element_are_not_the_same() -> None:
    noted = Noted(1000)
    for rank in (0, 1, 1, 999):
        seconds = np.full(1000, 1e-3)
        seconds[rank] = 2e-3
        noted.compute(None, seconds)
        noted.cut()
    pieces = noted.pieces()
    assert pieces.keys == (0, 1, 1, 2)
    for number, rank in enumerate((0, 1, 1, 999)):
        assert np.flatnonzero(pieces.build(number).amount == 2e9).tolist() == [rank]


def test_pieces_whose_arrays_differ_in_type_or_shape_are_not_the_same() -> None:
    noted = Noted(4)
    for counts in (np.ones(4, np.int64), np.ones((4, 4), np.int64), np.ones(4, np.int32)):
        noted.alltoall(None, counts=counts)
        noted.cut()
    assert noted.pieces().keys == (0, 1, 2)


def test_ranks_without_tiles_compute_nothing() -> None:
    program = skeleton("cholesky:ranks=32,points=256,panel=64")
    rank = np.repeat(np.arange(32), np.diff(program.first.astype(np.int64)))
    assert set(rank[program.kind == EventKind.compute].tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("text", ["charon:ranks=64,iterations=4,steps=1", "charon:ranks=27,rows=300,compute=1ms"])
@pytest.mark.parametrize("machine", ["cielo", "redsky"])
def test_cycles_in_pieces_take_as_long(text: str, machine: str) -> None:
    """Cuts inside a V-cycle, wherever ranks compute for long."""
    found, given = read(text)
    values = found.values(given)
    pieces = found.pieces(values)
    whole = found.of(values)
    per_piece = [np.count_nonzero(pieces.build(n).kind == EventKind.isend) for n in range(len(pieces))]
    assert sum(per_piece) == np.count_nonzero(whole.kind == EventKind.isend)
    # Of the eight exchanges of an iteration those on the levels below the finest are in one piece, with the next.
    assert max(per_piece) <= sum(per_piece) * 6 / 8 / (values["iterations"] * values["steps"])
    there = isthmus.load(machine)
    ran = InPieces(pieces, there, None, 1.0, {})
    assert ran.makespan_ps == pytest.approx(isthmus.simulate(whole, there).makespan_ps, rel=5e-3)


def test_parts_are_not_negative() -> None:
    """Equal pieces differ by more than is computed here."""
    found, given = read("sage:ranks=27,steps=1,compute=10us")
    ran = InPieces(found.pieces(found.values(given)), isthmus.load("cielo"), None, 1.0, {})
    parts = ran.parts(0.0)
    assert min(parts.amounts.values()) >= 0
    assert sum(parts.amounts.values()) == ran.makespan_ps


#: Skeletons with more ranks than parts of their problem, and the parts.
ALIKE = ", but are taken to compute and communicate as the others"
IDLE = {
    "cholesky:ranks=32,points=256,panel=64": "4 columns of tiles for 32 ranks: 28 have none",
    "summa:ranks=64,points=4": "16 blocks of the matrices for 64 ranks: 48 have none" + ALIKE,
    "fft:ranks=64,points=4": "16 pencils for 64 ranks: 48 have none" + ALIKE,
    "fft:ranks=64,points=16,pencils=0": "16 planes for 64 ranks: 48 have none" + ALIKE,
    "heat:ranks=1000,points=5": "125 blocks of points for 1,000 ranks: 875 have none",
    "poisson:ranks=64,points=16,extents=1": "16 blocks of points for 64 ranks: 48 have none",
    "namd:ranks=64,atoms=50": "50 atoms for 64 ranks: 14 have none" + ALIKE,
    "openatom:ranks=64,states=4,points=6": "24 planes of states for 64 ranks: 40 have none" + ALIKE,
    "wrf:ranks=131072,steps=1": "108,800 boxes of columns for 131,072 ranks: 22,272 have none",
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), IDLE.items())
def test_more_ranks_than_parts_is_said(text: str, words: str) -> None:
    found = tally(text)
    assert found is not None
    assert found.origin == words
    assert str(found).endswith(words)
    if found.ranks < 2000:
        assert skeleton(text).origin == words


@pytest.mark.parametrize("name", ["cholesky", "summa", "fft", "heat", "poisson", "namd", "openatom", "wrf", "cth"])
def test_enough_parts_say_nothing(name: str) -> None:
    found = tally(f"{name}:ranks=16")
    assert found is not None
    assert not found.origin


def test_commands_say_that_ranks_have_no_part(capsys: Any, tmp_path: Path) -> None:
    text = "fft:ranks=64,points=16,pencils=0,steps=1"
    words = IDLE["fft:ranks=64,points=16,pencils=0"]
    for file in ([text], ["--example", text]):
        main(["simulate", *file, "--machine", "eos", "--json"])
        out, err = capsys.readouterr()
        assert json.loads(out)["origin"] == {text: words}
        assert err == f"isthmus: note: {text}: {words}\n"
    main(["show", text, "--json"])
    assert json.loads(capsys.readouterr().out)["origin"] == words
    file = str(tmp_path / "fft.h5")
    skeleton(text).save(file)
    main(["show", file, "--json"])
    assert json.loads(capsys.readouterr().out)["origin"] == words
    main(["compare", "fft:points=16,pencils=0,steps=1", "--machine", "eos", "--machine", "cielo",
                 "--ranks", "16,64", "--strong"])  # fmt: skip
    assert f"note: {words}" in capsys.readouterr().out
