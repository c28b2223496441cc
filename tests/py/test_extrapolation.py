"""Programs fitted to recordings of a few sizes: against skeletons of any size, call by call."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import ProgramBuilder
from isthmus.cli import main
from isthmus.errors import InvalidInput, ParseError
from isthmus.extrapolation import Blueprint, deviation, difference, fit, generate, leave_out_largest, text
from isthmus.extrapolation.assemble import Compact, assemble
from isthmus.extrapolation.text import parse_text


def status(*words: str) -> int:
    """The exit status of a command."""
    try:
        main(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def fitted(make, sizes: tuple[int, ...] = (8, 27, 64)) -> Blueprint:  # type: ignore[no-untyped-def]
    """A blueprint, by way of its text."""
    return parse_text(text(fit([(f"{ranks}", make(ranks), {}) for ranks in sizes])))


def skeleton(name: str):  # type: ignore[no-untyped-def]
    words, _, more = name.partition(":")
    return lambda ranks: isthmus.example(f"{words}:ranks={ranks}" + (f",{more}" if more else ""))


@pytest.mark.parametrize("name", ["cth:steps=1,exchanges=2,sums=2", "cg:steps=3", "xnobel:steps=1,exchanges=2,sums=1"])
def test_halos_in_three_dimensions_are_exact_at_512(name: str) -> None:
    blueprint = fitted(skeleton(name))
    assert blueprint.shares()["exact"] == pytest.approx(1)
    for ranks in (8, 27, 64, 125, 512):
        assert difference(skeleton(name)(ranks), generate(blueprint, ranks)) is None


@pytest.mark.parametrize("name", ["stencil:steps=2", "stencil:steps=2,solves=3"])
def test_halos_in_two_dimensions_on_any_rectangle(name: str) -> None:
    blueprint = fitted(skeleton(name), (9, 12, 16, 20, 36))
    for ranks in (24, 25, 144, 200):
        assert difference(skeleton(name)(ranks), generate(blueprint, ranks)) is None


def exchange(ranks: int, near: bool) -> isthmus.Program:
    """Recursive doubling, or a message to each other rank in turn."""
    b = ProgramBuilder(ranks)
    rank = np.arange(ranks)
    for step in range(ranks.bit_length() - 1 if near else ranks - 1):
        peer = rank ^ (1 << step) if near else (rank + step + 1) % ranks
        source = peer if near else (rank - step - 1) % ranks
        sent = b.isend(None, peer, 8 << step if near else 100, tag=3)
        received = b.irecv(None, source, 8 << step if near else 100, tag=3)
        b.waitall(None, np.stack([sent, received], axis=1))
    return b.build()


@pytest.mark.parametrize("near", [True, False])
def test_numbers_of_peers_that_grow(near: bool) -> None:
    blueprint = fitted(lambda ranks: exchange(ranks, near), (4, 8, 16))
    for ranks in (4, 8, 16, 32, 128):
        assert difference(exchange(ranks, near), generate(blueprint, ranks)) is None


def uneven(ranks: int) -> isthmus.Program:
    """A ring in which parts of 1,000 rows differ by one, and parts of the line are put together at rank 0."""
    b = ProgramBuilder(ranks)
    rank = np.arange(ranks)
    rows = 1000 * (rank + 1) // ranks - 1000 * rank // ranks
    for _ in range(3):
        request = b.irecv(None, (rank - 1) % ranks, 8 * np.roll(rows, 1))
        b.send(None, (rank + 1) % ranks, 8 * rows)
        b.wait(None, request)
    for other in range(1, ranks):
        b.send(other, 0, 24)
        b.recv(0, other, 24)
    b.gather(None, 8, root=ranks - 1)
    return b.build()


def test_uneven_parts_and_a_root() -> None:
    blueprint = fitted(uneven, (5, 8, 11, 14))
    for ranks in (5, 6, 11, 30, 77):
        assert difference(uneven(ranks), generate(blueprint, ranks)) is None


def test_communicators_of_rows_and_columns() -> None:
    def make(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        side = round(ranks**0.5)
        rows = b.split(np.arange(ranks) // side)
        columns = b.split(np.arange(ranks) % side)
        for _ in range(4):
            b.alltoall(None, 2**20 // ranks, comm=rows)
            b.allreduce(None, 8, comm=columns)
        return b.build()

    blueprint = fitted(make, (4, 16, 64))
    for ranks in (4, 16, 256):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_a_million_ranks() -> None:
    blueprint = fitted(skeleton("stencil:steps=1"), (16, 64, 144))
    program = generate(blueprint, 2**20)
    assert program.ranks == 2**20
    sends = program.kind == 4
    assert int(sends.sum()) == 4 * 1024 * 1023
    assert "extrapolated to 1,048,576 ranks" in str(program)


def test_what_has_no_rule_is_guessed_and_stays_matched() -> None:
    def make(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        rng = np.random.default_rng(ranks)
        rank = np.arange(ranks)
        for _ in range(40):
            size = rng.integers(900, 1100, ranks)
            request = b.irecv(None, (rank - 1) % ranks, np.roll(size, 1))
            b.send(None, (rank + 1) % ranks, size)
            b.wait(None, request)
        return b.build()

    blueprint = fitted(make)
    assert blueprint.shares()["guessed"] == pytest.approx(1)
    found = deviation(make(216), generate(blueprint, 216))
    assert found.cells == 216
    assert found.bytes < 0.1
    program = generate(blueprint, 216)
    assert isthmus.simulate(program, "torus:6x6x6").deadlock is None
    sent = {(int(r), int(p)): int(program.amount[i]) for i, r, p in _of(program, 2)}
    received = {(int(p), int(r)): int(program.amount[i]) for i, r, p in _of(program, 5)}
    assert sent == received


@pytest.mark.filterwarnings("error")
def test_peers_of_which_some_are_none_have_no_mean() -> None:
    """Halos on 2 x 1, 3 x 1 and 2 x 2 ranks: one kind of box is not enough for a rule."""

    def make(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        sides = (2, 2) if ranks == 4 else (ranks, 1)
        at = np.stack(np.unravel_index(np.arange(ranks), sides))
        for _ in range(3):
            for step in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                there = at + np.array(step)[:, None]
                inside = ((there >= 0) & (there < np.array(sides)[:, None])).all(0)
                peer = np.where(inside, np.ravel_multi_index(tuple(there), sides, mode="clip"), -2)
                with b.location("halo.c:1"):
                    b.irecv(None, peer, 8)
                with b.location("halo.c:2"):
                    b.isend(None, peer, 8)
            b.waitall(None)
        return b.build()

    blueprint = fitted(make, (2, 3, 4))
    assert "inf" not in text(blueprint)
    assert "peer: turn" in text(blueprint)
    with pytest.raises(InvalidInput, match="would have no receive"):
        generate(blueprint, 64)


def _of(program: isthmus.Program, kind: int):  # type: ignore[no-untyped-def]
    at = np.flatnonzero(program.kind == kind)
    return zip(at, program.rank_of_events()[at], program.peer[at], strict=True)


@pytest.mark.parametrize(
    "name", ["lammps", "amr:ranks=24", "pop:ranks=30,solves=2", "bfs:ranks=12", "sweep:ranks=16,steps=1"]
)
def test_one_recording_is_packed_without_loss(name: str) -> None:
    program = isthmus.example(name)
    content = text(fit([("one", program, {})], alone=True))
    made = generate(parse_text(content), program.ranks)
    assert difference(program, made) is None
    assert len(content) < 10**6


def test_a_long_run_is_as_short_as_a_short_one() -> None:
    few, many = (
        text(fit([("one", skeleton(f"cth:steps={n},exchanges=2,sums=2")(64), {})], alone=True)) for n in (2, 200)
    )
    assert len(many) < len(few) + 100


def test_bad_input() -> None:
    halo, other = skeleton("stencil:steps=2"), skeleton("fft:steps=2")
    with pytest.raises(InvalidInput, match="recordings of 2 numbers of ranks"):
        fit([("a", halo(4), {}), ("b", halo(9), {})])
    with pytest.raises(InvalidInput, match="different programs"):
        fit([("a", halo(4), {}), ("b", halo(9), {}), ("c", other(16), {})])
    with pytest.raises(InvalidInput, match="both of 4 ranks with the same parameters"):
        fit([("a", halo(4), {}), ("b", skeleton("stencil:steps=3")(4), {}), ("c", halo(9), {}), ("d", halo(16), {})])
    with pytest.raises(InvalidInput, match="different parameters"):
        fit([("a", halo(4), {"n": 1}), ("b", halo(9), {}), ("c", halo(16), {})])

    def fewer(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        for _ in range(100 - ranks):
            b.allreduce(None, 8)
        return b.build()

    blueprint = fitted(fewer)
    assert difference(fewer(99), generate(blueprint, 99)) is None
    with pytest.raises(InvalidInput, match=r"-P \+ 100 gives -28 at P = 128: below 0"):
        generate(blueprint, 128)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("isthmus skeleton 1", "isthmus skeleton 9", "reads 'isthmus skeleton 1' only"),
        ("bytes: ", "bites: ", "must be one of when, peer"),
        ("bytes: 8192", "bytes: 12q", "is no rule"),
        ("peer grid2", "peer cube2", "cannot be read"),
        ("role 0", "roll 0", "must be a recording"),
    ],
)
def test_damaged_texts(old: str, new: str, message: str) -> None:
    content = text(fit([(f"{n}", skeleton("stencil:steps=2")(n), {}) for n in (9, 16, 25)]))
    assert old in content
    with pytest.raises(ParseError, match=message):
        parse_text(content.replace(old, new, 1))


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ranks in (8, 27, 64, 125):
        skeleton("cth:steps=1,exchanges=1,sums=1")(ranks).save(f"r{ranks}.h5")
    assert status("skeleton", "fit", "r8.h5", "r27.h5", "r64.h5", "--predict", "r125.h5", "-o", "app.skeleton") == 0
    assert isthmus.read("app.skeleton").ranks == 64
    assert isthmus.read("app.skeleton:ranks=216").ranks == 216
    assert isthmus.example("app.skeleton:ranks=27").ranks == 27
    assert status("skeleton", "pack", "r64.h5", "-o", "r64.skeleton") == 0
    assert status("show", "app.skeleton:ranks=512") == 0
    assert status("show", "r64.skeleton:ranks=65") == 2
    assert status("skeleton", "fit", "r8.h5:n=4", "r27.h5:n=4", "r64.h5:n=4", "--scaling", "weak") == 2


def test_what_was_extrapolated_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.skeleton"
    path.write_text(text(fit([(f"{n}", skeleton("stencil:steps=2")(n), {}) for n in (9, 16, 25)])))
    assert status("simulate", f"{path}:ranks=64", "--machine", "torus:8x8", "--json") == 0
    out, err = capsys.readouterr()
    assert "extrapolated to 64 ranks, 2.56 times beyond recordings of 9, 16 and 25" in err
    assert list(json.loads(out)["extrapolated"]) == [f"{path}:ranks=64"]
    assert status("show", f"{path}:ranks=25") == 0
    out, err = capsys.readouterr()
    assert "extrapolated" not in out + err
    saved = tmp_path / "saved.h5"
    isthmus.read(f"{path}:ranks=64").save(saved)
    assert "extrapolated to 64" in str(isthmus.read(saved))


def test_what_differs_is_said_in_words() -> None:
    """Peer, tag, bytes and communicator, no numbers of the inside."""

    def one(size: int) -> isthmus.Program:
        b = isthmus.ProgramBuilder(2)
        comm = b.communicator([1, 0])
        b.send([0], [1], [8], tag=3)
        b.recv([1], [0], [8], tag=3)
        b.allreduce(None, size, comm=comm)
        return b.build()

    found = difference(one(4), one(16))
    assert found is not None
    assert str(found) == (
        "rank 0, call 1: allreduce, peer 0, tag 0, 4 bytes, on a communicator of 2 ranks against "
        "allreduce, peer 0, tag 0, 16 bytes, on a communicator of 2 ranks"
    )
    assert difference(one(4), one(4)) is None


def blocks_of(points: int):  # type: ignore[no-untyped-def]
    """A ring of ranks, each of which sends its part of so many points, cut evenly."""

    def make(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        rank = np.arange(ranks)
        size = 8 * (points * (rank + 1) // ranks - points * rank // ranks)
        b.isend(None, (rank + 1) % ranks, size)
        b.irecv(None, (rank - 1) % ranks, size[(rank - 1) % ranks])
        b.waitall(None)
        return b.build()

    return make


def test_extents_that_do_not_divide_are_said() -> None:
    """A formula that is exact in all recordings gives a fraction; one more recording shows the cut."""
    make = blocks_of(60)
    program = generate(fitted(make, (4, 10, 15)), 49)
    assert "100 % of the bytes come from a formula that gives a fraction here" in program.origin
    assert difference(make(49), program) is not None
    assert "fraction" not in generate(fitted(make, (4, 10, 15)), 20).origin
    known = fitted(make, (4, 10, 15, 16))
    assert "of these" not in generate(known, 49).origin
    assert difference(make(49), generate(known, 49)) is None


def test_only_bytes_that_are_in_doubt_are_said() -> None:
    """Those of the first call, beside ten times as many that every number of ranks has."""

    def make(ranks: int) -> isthmus.Program:
        b = ProgramBuilder(ranks)
        rank = np.arange(ranks)
        size = 8 * (60 * (rank + 1) // ranks - 60 * rank // ranks)
        b.send(None, (rank + 1) % ranks, size)
        b.recv(None, (rank - 1) % ranks, size[(rank - 1) % ranks])
        b.allreduce(None, 320)
        return b.build()

    assert "9.1 % of the bytes come from a formula" in generate(fitted(make, (4, 10, 15)), 49).origin


def test_boxes_of_another_kind_are_said() -> None:
    blueprint = fitted(skeleton("cth:steps=1,exchanges=2,sums=2"))
    assert "depend on a box of 5 x 5 x 4 ranks" in generate(blueprint, 100).origin
    assert "of these" not in generate(blueprint, 125).origin


@pytest.mark.parametrize("points", [60, 64])
def test_the_largest_recording_left_out(points: int) -> None:
    """60 points divide by all but the largest number of ranks, 64 by none but the first."""
    given = [(str(n), blocks_of(points)(n), {}) for n in (4, 10, 15, 49)]
    left_out = leave_out_largest(given)
    assert left_out is not None
    name, found = left_out
    assert name == "49"
    assert (found.first == "") == (points == 64)
    assert leave_out_largest(given[:3]) is None


def test_events_by_rank() -> None:
    """Whole columns beside events that are appended to lists."""
    rng = np.random.default_rng(3)
    ranks, chunks = 5000, []
    expected: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
    for number in range(9):
        rank = np.flatnonzero(rng.random(ranks) < rng.choice([0.01, 0.5, 1.0]))
        many = rng.integers(-2, 2**40, len(rank)) if number % 2 else number
        chunks.append({"rank": rank, "kind": number, "amount": many})
        for one, value in zip(rank.tolist(), np.broadcast_to(many, len(rank)).tolist(), strict=True):
            expected[one].append((number, value))
    compact = Compact()
    small = [{name: value if name == "rank" else compact.number(value) for name, value in c.items()} for c in chunks]
    first, made = assemble(small, ranks, {"kind": np.uint8, "amount": np.int64, "phase": np.uint32}, {"phase": 7})
    assert np.diff(first.astype(np.int64)).tolist() == list(map(len, expected))
    flat = [pair for row in expected for pair in row]
    assert list(zip(made["kind"].tolist(), made["amount"].tolist(), strict=True)) == flat
    assert (made["phase"] == 7).all()


def neighbours(sides: tuple[int, int, int]) -> isthmus.Program:
    """As HPCG: receives from all neighbours in a box in the order of ranks, sends, and a wait for one after another.

    The first side is fastest.
    """
    ranks = int(np.prod(sides))
    b = ProgramBuilder(ranks)
    place = np.stack(np.unravel_index(np.arange(ranks), sides[::-1]), axis=1)
    step = place[None] - place[:, None]
    near = (np.abs(step).max(2) == 1).tolist()
    for _ in range(2):
        for rank in range(ranks):
            peers = [peer for peer in range(ranks) if near[rank][peer]]
            size = [8 * 16 ** int((step[rank, peer] == 0).sum()) for peer in peers]
            opened = [b.irecv([rank], peer, many, tag=99) for peer, many in zip(peers, size, strict=True)]
            for peer, many in zip(peers, size, strict=True):
                b.send([rank], peer, many, tag=99)
            for one in opened:
                b.wait([rank], one)
        b.allreduce(None, 8)
    return b.build()


def test_waits_for_one_neighbour_after_another() -> None:
    """What an iteration waits for differs by rank; with 27 neighbours in all, a ring would explain the peers, too."""

    def made(ranks: int) -> isthmus.Program:
        side = round(ranks ** (1 / 3))
        return neighbours((side, side, side))

    blueprint = fitted(made)
    assert "for oldest" in text(blueprint)
    assert blueprint.shares()["exact"] == pytest.approx(1)
    for ranks in (27, 125):
        assert difference(made(ranks), generate(blueprint, ranks)) is None


@pytest.mark.parametrize("sides", [(2, 2, 3), (3, 2, 2)])
def test_sides_of_a_box_in_another_order(sides: tuple[int, int, int]) -> None:
    """Small boxes: the ring has no more steps than the box, and boxes with other orders explain all pairs.

    How many neighbours a rank waits for is not told by boxes that are two wide: messages are compared.
    """
    given = {8: (2, 2, 2), 12: sides, 27: (3, 3, 3)}
    blueprint = fitted(lambda ranks: neighbours(given[ranks]), tuple(given))
    for ranks in (64, 125):
        side = round(ranks ** (1 / 3))
        found = deviation(neighbours((side, side, side)), generate(blueprint, ranks))
        assert (found.cells, found.bytes, found.collectives) == (0, 0, True)
