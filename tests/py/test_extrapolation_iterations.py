"""Fitted programs whose ranks call in other orders, and whose sends all have their receives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import isthmus
from isthmus import ProgramBuilder
from isthmus.errors import InvalidInput
from isthmus.extrapolation import Blueprint, difference, fit, generate, text
from isthmus.extrapolation.fold import Loop, fold
from isthmus.extrapolation.matching import Side, _alone
from isthmus.extrapolation.text import parse_text


def fitted(make, sizes: tuple[int, ...]) -> Blueprint:  # type: ignore[no-untyped-def]
    """A blueprint, by way of its text."""
    return parse_text(text(fit([(f"{ranks}", make(ranks), {}) for ranks in sizes])))


def ring(b: ProgramBuilder, ranks: np.ndarray, owner: int, size: int) -> None:
    """From the owner around the ranks, as HPL sends panels: not back to the owner."""
    count = len(ranks)
    for k in range(count - 1):
        here, there = int(ranks[(owner + k) % count]), int(ranks[(owner + k + 1) % count])
        with b.location("a.c:9" if k else "a.c:7"):
            b.send(here, there, size)
        with b.location("a.c:8"):
            b.recv(there, here, size)


def panels(ranks: int) -> isthmus.Program:
    """Columns that ranks own in turn, and that become shorter."""
    b = ProgramBuilder(ranks)
    for _ in range(2):
        for k in range(24):
            ring(b, np.arange(ranks), k % ranks, 64 * (24 - k))
        with b.location("a.c:20"):
            b.allreduce(None, 8)
    return b.build()


def summa(ranks: int) -> isthmus.Program:
    """A product of matrices on a square: blocks go along rows, then along columns, from another owner each time."""
    b = ProgramBuilder(ranks)
    side = round(ranks**0.5)
    grid = np.arange(ranks).reshape(side, side)
    for k in range(side):
        for row in grid:
            ring(b, row, k, 1000)
        for column in grid.T:
            ring(b, column, k, 2000)
    return b.build()


def sweep(ranks: int) -> isthmus.Program:
    """A wavefront over planes from each of four corners of a box."""
    b = ProgramBuilder(ranks)
    sides = next((ranks // y, y) for y in range(round(ranks**0.5), 0, -1) if ranks % y == 0)
    for corner in range(4):
        steps = (-1 if corner & 1 else 1), (-1 if corner & 2 else 1)
        for _ in range(5):
            for rank in range(ranks):
                place = rank // sides[1], rank % sides[1]
                for line, sign in (("s.c:9", -1), ("s.c:11", 1)):
                    for axis in (0, 1):
                        there = list(place)
                        there[axis] += sign * steps[axis]
                        if not 0 <= there[axis] < sides[axis]:
                            continue
                        peer = there[0] * sides[1] + there[1]
                        with b.location(line):
                            call = b.recv if sign < 0 else b.send
                            call(rank, peer, 1000 * (axis + 2), tag=corner)
    return b.build()


@pytest.mark.parametrize(
    ("make", "sizes", "others"),
    [(panels, (4, 6, 9), (5, 12)), (summa, (9, 16, 25), (36, 49)), (sweep, (6, 12, 16), (20, 36))],
)
def test_ranks_in_other_orders(make, sizes, others) -> None:  # type: ignore[no-untyped-def]
    blueprint = fitted(make, sizes)
    assert blueprint.shares()["exact"] == pytest.approx(1)
    for ranks in (*sizes, *others):
        assert difference(make(ranks), generate(blueprint, ranks)) is None


def test_a_loop_begins_with_its_first_line() -> None:
    lines = {0: ("a.c", 3), 1: ("a.c", 5), 2: ("a.c", 9)}
    sequence = np.array([2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
    assert fold(sequence) == (Loop((2, 0, 1)), 2)
    assert fold(sequence, lines) == (2, Loop((0, 1, 2)))
    # Lines of several files say nothing of each other.
    assert fold(sequence, {**lines, 1: ("b.c", 5)}) == (Loop((2, 0, 1)), 2)


def messages(program: isthmus.Program) -> tuple[Counter[object], Counter[object]]:
    """Sends and receives, one by one."""
    sends: Counter[object] = Counter()
    receives: Counter[object] = Counter()
    for rank in range(program.ranks):
        for event in program.events(rank):
            kind = event.kind.name
            if kind in ("send", "isend", "sendrecv") and event.peer >= 0:
                sends[rank, event.peer, event.tag] += 1
            if kind in ("recv", "irecv") and event.peer >= 0:
                receives[event.peer, rank, event.tag] += 1
            if kind == "sendrecv" and event.detail is not None and event.detail[0] >= 0:
                receives[event.detail[0], rank, event.detail[1]] += 1
    return sends, receives


@pytest.mark.parametrize("seed", range(3))
def test_irregular_peers_are_matched_or_refused(seed: int) -> None:
    def make(ranks: int) -> isthmus.Program:
        """Few messages between ranks at random, by blocking, nonblocking or combined calls."""
        b = ProgramBuilder(ranks)
        rng = np.random.default_rng([seed, ranks])
        for _ in range(3):
            to = rng.permutation(ranks)
            if seed % 3 == 0:
                b.sendrecv(None, to, 100, np.argsort(to), 100)
                continue
            some = np.flatnonzero(rng.random(ranks) < 0.7) if seed % 3 == 1 else np.arange(ranks)
            for rank in some.tolist():
                b.isend(rank, int(to[rank]), 100, tag=seed)
            for rank in some.tolist():
                b.recv(int(to[rank]), rank, 100, tag=seed)
            b.waitall(None)
        b.barrier(None)
        return b.build()

    try:
        blueprint = fit([(f"{n}", make(n), {}) for n in (8, 12, 16)])
    except InvalidInput as error:
        refused = str(error)
    else:
        refused = ""
        for ranks in (8, 12, 16, 20, 33):
            sends, receives = both_sides(blueprint, ranks)
            assert sends == receives
    assert not refused or "does not follow the order" in refused


def both_sides(blueprint: Blueprint, ranks: int) -> tuple[Counter[object], Counter[object]]:
    """Messages of the program; none where it is refused as they do not agree."""
    try:
        return messages(generate(blueprint, ranks))
    except InvalidInput as error:
        if "would have no receive" not in str(error):
            raise
        return Counter(), Counter()


def shifts(ranks: int) -> isthmus.Program:
    b = ProgramBuilder(ranks)
    rank = np.arange(ranks)
    for _ in range(3):
        b.isend(None, (rank + 1) % ranks, 100)
        b.irecv(None, (rank - 1) % ranks, 100)
        b.waitall(None)
    b.sendrecv(None, (rank + 2) % ranks, 50, (rank - 2) % ranks, 50)
    return b.build()


def test_messages_without_a_partner() -> None:
    words = text(fit([(f"{n}", shifts(n), {}) for n in (8, 12, 16)]))
    # A receive fewer on one rank: its message is left out, and that is said.
    at = words.index("irecv")
    begin = words.index("\n", at) + 1
    fewer = parse_text(words[:begin] + "      when: by first: 0: 0; 1: 1\n" + words[begin:])
    program = generate(fewer, 40)
    sends, receives = messages(program)
    assert sends == receives
    assert sum(sends.values()) == 3 * 39 + 40
    assert "; 3 sends would have no receive, and 0 receives no send: they are left out, 0.9 % of all" in str(program)
    assert isthmus.simulate(program, "torus:8x8").deadlock is None
    # Receives from elsewhere: most have no partner.
    with pytest.raises(InvalidInput, match=r"at 40 ranks 120 sends would have no receive, and 120 receives no send"):
        generate(parse_text(words.replace("irecv peer ring(-1)", "irecv peer ring(-3)")), 40)
    # The source of a sendrecv on the first ranks.
    source = words.index("source: ")
    end = words.index("\n", source)
    some = parse_text(f"{words[:source]}source: by is 1: 0: step rank 5; 1: {words[source + 8 : end]}{words[end:]}")
    program = generate(some, 40)
    sends, receives = messages(program)
    assert sends == receives
    assert sum(sends.values()) == 3 * 40 + 39


def test_a_part_that_follows_no_rule_is_left_out() -> None:
    def make(ranks: int) -> isthmus.Program:
        """Twelve shifts, and one message from each rank to that of its square."""
        b = ProgramBuilder(ranks)
        rank = np.arange(ranks)
        for _ in range(12):
            b.irecv(None, (rank - 1) % ranks, 100)
            b.isend(None, (rank + 1) % ranks, 100)
            b.waitall(None)
        for one in rank.tolist():
            b.isend(one, one * one % ranks, 10, tag=7)
        for one in rank.tolist():
            for source in np.flatnonzero(rank * rank % ranks == one).tolist():
                b.recv(one, source, 10, tag=7)
        b.waitall(None)
        return b.build()

    blueprint = fit([(f"{n}", make(n), {}) for n in (8, 12, 16)])
    for ranks in (8, 12, 16, 17, 20, 33):
        program = generate(blueprint, ranks)
        sends, receives = messages(program)
        assert sends == receives
        assert {(one, (one + 1) % ranks, 0) for one in range(ranks)} <= set(sends)
        assert sum(sends.values()) >= 12 * ranks
        assert isthmus.simulate(program, "torus:8x8").deadlock is None
    assert "7.7 % of all" in str(generate(blueprint, 17))


def test_partners_of_any_source_and_tag() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        n, m = rng.integers(0, 16, 2)
        sends = Side(
            np.arange(n), rng.integers(0, 3, n), rng.integers(0, 3, n), rng.integers(0, 2, n), np.zeros(n, int)
        )
        receives = Side(
            np.arange(m), rng.integers(-1, 3, m), rng.integers(0, 3, m), rng.integers(-1, 2, m), np.zeros(m, int)
        )
        lone_sends, lone_receives = _alone(sends, receives)
        assert n - len(lone_sends) == m - len(lone_receives)
        for i in lone_sends.tolist():
            for j in lone_receives.tolist():
                fits = sends.target[i] == receives.target[j] and (
                    receives.source[j] in (-1, sends.source[i])) and receives.tag[j] in (-1, sends.tag[i])  # fmt: skip
                assert not fits
        assert n - len(lone_sends) == most_pairs(sends, receives)


def most_pairs(sends: Side, receives: Side) -> int:
    """As many as find a partner at most, found one by one along augmenting paths."""
    partner: dict[int, int] = {}

    def finds(i: int, seen: set[int]) -> bool:
        for j in range(len(receives.event)):
            fits = sends.target[i] == receives.target[j] and (
                receives.source[j] in (-1, sends.source[i])) and receives.tag[j] in (-1, sends.tag[i])  # fmt: skip
            if not fits or j in seen:
                continue
            seen.add(j)
            if j not in partner or finds(partner[j], seen):
                partner[j] = i
                return True
        return False

    return sum(finds(i, set()) for i in range(len(sends.event)))


def test_trees_of_more_bits_are_said_to_be_unknown() -> None:
    def make(ranks: int) -> isthmus.Program:
        """A sum along a binomial tree, by hand."""
        b = ProgramBuilder(ranks)
        for bit in range((ranks - 1).bit_length()):
            for rank in range(1 << bit, ranks, 2 << bit):
                with b.location("t.c:7"):
                    b.send(rank, rank - (1 << bit), 64)
                with b.location("t.c:8"):
                    b.recv(rank - (1 << bit), rank, 64)
        return b.build()

    blueprint = fitted(make, (8, 12, 16))
    assert difference(make(14), generate(blueprint, 14)) is None
    assert "bits of the rank" not in str(generate(blueprint, 14))
    said = "go along bits of the rank, of which 21 ranks have 5, and those recorded 4 at most"
    assert said in str(generate(blueprint, 21))
