"""Proofs of schedules drawn by hand: what is right is proved, and every kind of mistake has its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import Contract, InvalidInput, Unsupported, prove
from oracles.executing import Task, first_wrong, random_data, task
from sketches import Row, Sketch

DATA = random_data(np.random.default_rng(1), 4)
RING = "allreduce:ranks=3,bytes=6,in_place=no"


def ring(ranks: int = 3, block: int = 2) -> Sketch:
    """An allreduce round the circle: every rank's input is copied, then parts are reduced, then gathered."""
    s = Sketch.of(ranks, input=ranks * block, output=ranks * block, scratch=block)
    for r in range(ranks):
        last = (s.copy(r, ranks * block, ("input", 0), ("output", 0)),)
        for step in range(2 * (ranks - 1)):
            out, into = (r - step) % ranks, (r - step - 1) % ranks
            sent = s.send(r, (r + 1) % ranks, block, ("output", out * block), *last)
            if step < ranks - 1:
                got = s.recv(r, (r - 1) % ranks, block, ("scratch", 0), *last)
                last = (s.reduce(r, block, ("scratch", 0), ("output", into * block), sent, got),)
            else:
                last = (sent, s.recv(r, (r - 1) % ranks, block, ("output", into * block), *last))
    return s


def kinds(s: Sketch, as_: Contract | str, **options: bool) -> set[str]:
    return {d.kind for d in prove(s.schedule(), as_, **options).defects}


def number(s: Sketch, rank: int, kind: str, which: int = 0) -> int:
    return [i for i, row in enumerate(s.rows) if (row.rank, row.kind) == (rank, kind)][which]


def test_a_ring_is_proved() -> None:
    proof = prove(ring().schedule(), RING)
    assert proof
    assert (proof.count, proof.operations, proof.messages, proof.bytes_checked) == (0, 33, 12, 18)
    assert not proof.needs_eager
    assert str(proof).startswith("allreduce of 3 ranks: proved; 33 operations, 12 messages, 18 B checked in ")
    assert first_wrong(ring().schedule(), task("allreduce", ranks=3, bytes=6, in_place=False)) is None


def test_a_ring_is_not_in_the_order_of_ranks() -> None:
    proof = prove(ring().schedule(), RING, ordered=True)
    assert {d.kind for d in proof.defects} == {"order"}
    assert first_wrong(ring().schedule(), task("allreduce", ranks=3, bytes=6, in_place=False, ordered=True)) is not None


def test_wrong_peer() -> None:
    s = ring()
    at = number(s, 0, "send")
    assert kinds(s.changed(at, peer=2), RING) == {"unmatched"}


def test_missing_dependency() -> None:
    s = ring()
    at = number(s, 1, "reduce")
    received = number(s, 1, "recv")
    broken = s.changed(at, after=[i for i in s.rows[at].after if i != received])
    proof = prove(broken.schedule(), RING)
    assert {d.kind for d in proof.defects} >= {"race"}
    race = next(d for d in proof.defects if d.kind == "race")
    assert (race.rank, race.operation) == (1, 3)
    assert race.text == (
        "rank 1, operation 3 (reduce 2 B): it reads scratch [0, 2) while rank 1, operation 2 (recv 2 B from rank 0, "
        "tag 0) may use it: neither waits until the other is done"
    )


def test_a_buffer_is_not_free_before_its_send_is_done() -> None:
    s = ring()
    # The part that is sent first is overwritten three rounds later only; the next receive in scratch is soon enough.
    at = number(s, 2, "reduce")
    sent = number(s, 2, "send")
    broken = s.changed(at, after=[i for i in s.rows[at].after if i != sent])
    assert kinds(broken, RING) == {"race"}


def test_swapped_offset() -> None:
    s = ring()
    a, b = number(s, 0, "send"), number(s, 0, "send", 1)
    places = s.rows[a].at, s.rows[b].at
    assert kinds(s.changed(a, at=places[1]).changed(b, at=places[0]), RING) == {"offset"}


def test_wrong_size() -> None:
    s = ring()
    at = number(s, 0, "recv", 2)
    proof = prove(s.changed(at, amount=1).schedule(), RING)
    assert [d.kind for d in proof.defects] == ["size"]
    assert proof.defects[0].text == (
        "rank 0, operation 8 (recv 1 B from rank 2, tag 0): it meets rank 2, operation 7 (send 2 B to rank 0, tag 0): "
        "the message is truncated"
    )


def test_counted_twice_and_not_at_all() -> None:
    s = Sketch.of(2, input=4, output=4, scratch=4)
    for r in (0, 1):
        own = s.copy(r, 4, ("input", 0), ("output", 0))
        got = s.recv(r, 1 - r, 4, ("scratch", 0))
        s.send(r, 1 - r, 4, ("input", 0))
        s.reduce(r, 4, ("scratch", 0), ("output", 0), own, got)
    line = "allreduce:ranks=2,bytes=4,in_place=no"
    assert prove(s.schedule(), line)
    at = number(s, 1, "reduce")
    again = Sketch(2, s.buffers, [*s.rows, Row(1, "reduce", 4, at=("scratch", 0), into=("output", 0), after=[at])])
    proof = prove(again.schedule(), line)
    assert [str(d) for d in proof.defects] == [
        "twice: rank 1, operation 4 (reduce 4 B): output [0, 4) holds bytes [0, 4) of ranks 0-1, scratch [0, 4) holds "
        "bytes [0, 4) of rank 0: rank 0 is counted twice"
    ]
    proof = prove(s.without(at).schedule(), line)
    assert [str(d) for d in proof.defects] == [
        "result: rank 1, in the end: output [0, 4) holds bytes [0, 4) of rank 1 instead of bytes [0, 4) of ranks 0-1"
    ]


def test_order_of_operands() -> None:
    s = Sketch.of(2, input=4, output=4)
    s.send(0, 1, 4, ("input", 0))
    got = s.recv(1, 0, 4, ("output", 0))
    at = s.reduce(1, 4, ("input", 0), ("output", 0), got)
    contract = Contract.of(
        2,
        start=[(r, "input", 0, 4, r, 0) for r in (0, 1)],
        end=[(1, "output", 0, 4, (0, 1), 0)],
        constant=["input"],
        ordered=True,
    )
    assert prove(s.schedule(), contract)
    proof = prove(s.changed(at, mode=1).schedule(), contract)
    assert [str(d) for d in proof.defects] == [
        "order: rank 1, operation 1 (reduce 4 B): output [0, 4) holds bytes [0, 4) of rank 0, input [0, 4) holds bytes "
        "[0, 4) of rank 1: rank 0 would stand right of rank 1, which is not the order of ranks"
    ]


def test_the_circle_of_ranks_is_no_order() -> None:
    # 1 + 2 + 0 is next to each other on the circle only.
    s = Sketch.of(3, input=1, output=1, scratch=1)
    s.send(1, 2, 1, ("input", 0))
    s.send(0, 2, 1, ("input", 0))
    first = s.recv(2, 1, 1, ("output", 0))
    last = s.reduce(2, 1, ("input", 0), ("output", 0), first)
    got = s.recv(2, 0, 1, ("scratch", 0))
    s.reduce(2, 1, ("scratch", 0), ("output", 0), last, got)
    start = [(r, "input", 0, 1, r, 0) for r in range(3)]
    end = [(2, "output", 0, 1, (0, 2), 0)]
    assert prove(s.schedule(), Contract.of(3, start=start, end=end))
    assert kinds(s, Contract.of(3, start=start, end=end, ordered=True)) == {"order"}


def exchange(eager: bool = False) -> Sketch:
    """Two ranks that send before they receive."""
    s = Sketch.of(2, input=8, output=8)
    for r in (0, 1):
        sent = s.send(r, 1 - r, 4, ("input", 4 * (1 - r)))
        if eager:
            s.rows[sent].mode = 1
        got = s.recv(r, 1 - r, 4, ("output", 4 * (1 - r)), sent)
        s.copy(r, 4, ("input", 4 * r), ("output", 4 * r), got)
    return s


def test_deadlock() -> None:
    proof = prove(exchange().schedule(), "alltoall:ranks=2,bytes=4,in_place=no")
    assert proof.needs_eager
    assert [str(d) for d in proof.defects] == [
        "deadlock: rank 0, operation 0 (send 4 B to rank 1, tag 0) waits for rank 1, operation 1 (recv 4 B from "
        "rank 0, tag 0) waits for rank 1, operation 0 (send 4 B to rank 0, tag 0) waits for rank 0, operation 1 "
        "(recv 4 B from rank 1, tag 0) waits for the first, and 6 operations never end; it ends only if sends do "
        "not wait for their receives (eager protocol)"
    ]
    assert prove(exchange(eager=True).schedule(), "alltoall:ranks=2,bytes=4,in_place=no")


def test_deadlock_whatever_the_protocol() -> None:
    s = Sketch.of(2, input=8, output=8)
    for r in (0, 1):
        got = s.recv(r, 1 - r, 4, ("output", 4 * (1 - r)))
        s.send(r, 1 - r, 4, ("input", 4 * (1 - r)), got)
    proof = prove(s.schedule(), "alltoall:ranks=2,bytes=4")
    assert not proof.needs_eager
    assert [d.kind for d in proof.defects] == ["deadlock"]


def test_start_dependencies_do_not_wait_for_receives() -> None:
    s = Sketch.of(2, input=8, output=8)
    for r in (0, 1):
        sent = s.send(r, 1 - r, 4, ("input", 4 * (1 - r)))
        s.recv(r, 1 - r, 4, ("output", 4 * (1 - r)), along=(sent,))
    assert prove(s.schedule(), "alltoall:ranks=2,bytes=4")


def pair(after: bool = False, cpu: int = 0, late: bool = False) -> Sketch:
    """Two messages of one channel; the first of the receives waits for another one where `late`."""
    s = Sketch.of(2, input=2, output=4)
    s.send(0, 1, 1, ("input", 0))
    s.send(0, 1, 1, ("input", 1))
    if late:
        s.send(0, 1, 0, ("input", 0), tag=1)
        wait = (s.recv(1, 0, 0, ("output", 0), tag=1),)
    first = s.recv(1, 0, 1, ("output", 0), *(wait if late else ()))
    second = s.recv(1, 0, 1, ("output", 1), *((first,) if after else ()))
    s.rows[second].cpu = cpu
    return s


def test_matching_that_depends_on_time() -> None:
    contract = Contract.of(2, start=[(0, "input", 0, 2, 0, 0)], end=[(1, "output", 0, 2, 0, 0)])
    assert prove(pair().schedule(), contract)
    assert prove(pair(late=True, after=True).schedule(), contract)
    assert kinds(pair(late=True), contract) == {"timing"}
    assert kinds(pair(cpu=1), contract) == {"timing"}


def test_receives_from_any_rank() -> None:
    contract = Contract.of(2, start=[(0, "input", 0, 2, 0, 0)], end=[(1, "output", 0, 2, 0, 0)])
    s = pair()
    at = number(s, 1, "recv")
    assert prove(s.changed(at, peer=-1, tag=-1).schedule(), contract)
    s = pair(late=True, after=True)
    assert prove(s.changed(number(s, 1, "recv"), peer=-1).schedule(), contract)
    with pytest.raises(Unsupported, match=r"rank 1, operation 0 \(recv 0 B from rank 0, any tag\): it may take"):
        prove(s.changed(number(s, 1, "recv"), tag=-1).schedule(), contract)


def test_unwritten_data() -> None:
    s = Sketch.of(2, output=8, scratch=8)
    s.send(0, 1, 8, ("scratch", 0))
    s.recv(1, 0, 8, ("output", 0))
    proof = prove(s.schedule(), "bcast:ranks=2,bytes=8")
    # What comes of a mistake is no second one.
    assert [str(d) for d in proof.defects] == [
        "unwritten: rank 0, operation 0 (send 8 B to rank 1, tag 0): it reads scratch [0, 8), which nothing has written"
    ]


def test_inputs_are_only_read() -> None:
    s = Sketch.of(1, input=4, output=4, scratch=4)
    first = s.copy(0, 4, ("input", 0), ("output", 0))
    s.copy(0, 4, ("output", 0), ("input", 0), first)
    assert kinds(s, "allreduce:ranks=1,bytes=4,in_place=no") == {"constant"}


def test_copies_onto_themselves() -> None:
    s = Sketch.of(1, output=8)
    s.copy(0, 4, ("output", 0), ("output", 2))
    contract = Contract.of(1, start=[(0, "output", 0, 4, 0, 0)], end=[(0, "output", 2, 4, 0, 0)])
    assert kinds(s, contract) == {"race"}


def test_copies_of_blocks() -> None:
    """A transposition of 4 x 3 blocks of two bytes, and copies that meet others or themselves."""
    s = Sketch.of(1, input=24, output=24)
    for i in range(3):
        s.add(Row(0, "copy", 8, at=("input", 2 * i), into=("output", 8 * i), block=2, strides=(3, 1)))
    start = [(0, "input", 6 * i + 2 * j, 2, 0, 8 * j + 2 * i) for i in range(4) for j in range(3)]
    contract = Contract.of(1, start=start, end=[(0, "output", 0, 24, 0, 0)])
    assert prove(s.schedule(), contract)
    assert kinds(s.changed(1, at=("input", 20), into=("output", 14), strides=(-3, -1)), contract) == set()
    assert kinds(s.changed(1, at=("input", 20), strides=(-3, 1)), contract) == {"result"}
    assert kinds(s.changed(1, strides=(2, 1)), contract) == {"result"}
    assert kinds(s.changed(1, into=("output", 6), strides=(3, 2)), contract) >= {"race"}
    # Every second block to the blocks between them, and a byte further.
    s = Sketch.of(1, a=17)
    s.add(Row(0, "copy", 8, at=("a", 0), into=("a", 2), block=2, strides=(2, 2)))
    start = [(0, "a", 4 * i, 2, 0, 2 * i) for i in range(4)]
    contract = Contract.of(1, start=start, end=[(0, "a", 4 * i + 2, 2, 0, 2 * i) for i in range(4)])
    assert prove(s.schedule(), contract)
    assert "which overlap" in prove(s.changed(0, into=("a", 3)).schedule(), contract).defects[0].text


@pytest.mark.parametrize("stride", [1, -1])
def test_blocks_without_gaps_race_at_both_ends(stride: int) -> None:
    """Four blocks of two bytes in either direction beside a piece below or above, and one byte too near."""
    first = 0 if stride == 1 else 6
    contract = Contract.of(1, start=[(0, "input", 0, 16, 0, 0)], end=[])
    for beside, low, wrong in ((0, 8, 7), (8, 0, 1)):
        s = Sketch.of(1, input=16, output=16)
        s.copy(0, 8, ("input", 0), ("output", beside))
        s.add(Row(0, "copy", 8, at=("input", 0), into=("output", low + first), block=2, strides=(1, stride)))
        assert kinds(s, contract) == set()
        assert kinds(s.changed(1, into=("output", wrong + first)), contract) == {"race"}


def test_a_barrier_waits_for_all() -> None:
    s = Sketch.of(3, scratch=0)
    for r in (1, 2):
        s.send(r, 0, 0, ("scratch", 0))
    got = [s.recv(0, r, 0, ("scratch", 0)) for r in (1, 2)]
    for r in (1, 2):
        s.send(0, r, 0, ("scratch", 0), *got)
        s.recv(r, 0, 0, ("scratch", 0))
    assert prove(s.schedule(), "barrier:ranks=3")
    early = s.changed(number(s, 0, "send"), after=got[:1])
    proof = prove(early.schedule(), "barrier:ranks=3")
    assert [str(d) for d in proof.defects] == [
        "synchronisation: rank 1 may leave when it has heard of ranks 0-1 only, before the others have begun"
    ]
    assert first_wrong(early.schedule(), task("barrier", ranks=3), orders=100) is not None


def test_many_defects_are_counted() -> None:
    s = Sketch.of(40, output=8)
    for r in range(1, 40):
        s.send(0, r, 8, ("output", 0))
    proof = prove(s.schedule(), "bcast:ranks=40,bytes=8", most_defects=3)
    assert (proof.count, len(proof.defects)) == (39, 3)
    assert str(proof).splitlines()[-1] == "  ... and 36 more"


def test_what_is_no_question() -> None:
    s = ring().schedule()
    with pytest.raises(InvalidInput, match="the schedule has 3 ranks, allreduce of 4 is to be proved"):
        prove(s, "allreduce:ranks=4,bytes=6")
    with pytest.raises(
        InvalidInput, match=r"allreduce needs bytes \[0, 7\) of buffer 'input' on rank 0, which has 6 B"
    ):
        prove(s, "allreduce:ranks=3,bytes=7,in_place=no")
    with pytest.raises(InvalidInput, match="as_="):
        prove(s)
    with pytest.raises(InvalidInput, match="do not say which buffers"):
        prove(isthmus.collective("bcast", ranks=3, bytes=8), "bcast:ranks=3,bytes=8")
    with pytest.raises(InvalidInput, match="needs a buffer 'input'"):
        prove(Sketch.of(2, output=8).schedule(), "alltoall:ranks=2,bytes=4")
    with pytest.raises(InvalidInput, match="rank 2 does not exist: there are 2 ranks"):
        Contract.of(2, start=[(2, "x", 0, 8, 0, 0)], end=[])
    with pytest.raises(InvalidInput, match="start, row 0: 2 values"):
        Contract.of(2, start=[(2, "x")], end=[])
    with pytest.raises(InvalidInput, match="bytes at the start are of one rank"):
        Contract.of(2, start=[(0, "x", 0, 8, (0, 1), 0)], end=[])


def handed_over(kind: str) -> Sketch:
    """Rank 0 hands 4 bytes to rank 1 by a put or a get, and both tell each other."""
    s = Sketch.of(2, input=4, output=4)
    if kind == "put":
        moved = s.add(Row(0, "put", 4, 1, at=("input", 0), into=("output", 0)))
        s.send(0, 1, 0, ("input", 0), along=(moved,))
        told = s.recv(1, 0, 0, ("output", 0))
        s.copy(1, 4, ("output", 0), ("input", 0), told)
    else:
        told = s.recv(1, 0, 0, ("output", 0))
        s.send(0, 1, 0, ("input", 0))
        moved = s.add(Row(1, "get", 4, 0, at=("input", 0), into=("output", 0), after=[told]))
        s.copy(1, 4, ("output", 0), ("input", 0), moved)
        sent = s.send(1, 0, 0, ("output", 0), moved)
        again = s.recv(0, 1, 0, ("input", 0))
        s.copy(0, 4, ("output", 0), ("input", 0), again)
        assert sent
    return s


@pytest.mark.parametrize("kind", ["put", "get"])
def test_puts_and_gets(kind: str) -> None:
    s = handed_over(kind)
    start = [(0, "input", 0, 4, 0, 0), (0, "output", 0, 4, 1, 0)]
    contract = Contract.of(2, start=start, end=[(1, "input", 0, 4, 0, 0)])
    proof = prove(s.schedule(), contract)
    assert proof, proof
    assert first_wrong(s.schedule(), Task([(0, 0, 0, DATA), (0, 1, 0, DATA + 1)], [(1, 0, 0, DATA)])) is None
    # The copy of the receiver, and the sender's next use of the buffer, wait for words that are not told.
    for at in [i for i, row in enumerate(s.rows) if row.kind == "copy"]:
        broken = s.changed(at, after=[])
        assert {d.kind for d in prove(broken.schedule(), contract).defects} >= {"race"}
        assert first_wrong(broken.schedule(), Task([(0, 0, 0, DATA), (0, 1, 0, DATA + 1)], [(1, 0, 0, DATA)]))
    if kind == "put":
        (told,) = [i for i, row in enumerate(s.rows) if row.kind == "send"]
        assert kinds(s.changed(told, along=[]), contract) == {"race"}
        assert first_wrong(s.changed(told, along=[]).schedule(), Task([(0, 0, 0, DATA)], [(1, 0, 0, DATA)]))


def test_goal_with_buffers(tmp_path: Path) -> None:
    path = tmp_path / "ring.goal"
    ring().schedule().save(path)
    assert isthmus.read(path) == ring().schedule()
    assert prove(isthmus.read(path), RING)
    ring().schedule().save(path, seconds_per_byte=1e-9)
    assert len(isthmus.read(path).slices) == 0
    for kind in ("put", "get"):
        s = handed_over(kind).schedule()
        s.save(path)
        assert isthmus.read(path) == s
    s = exchange(eager=True).schedule()
    s.save(path)
    assert isthmus.read(path) == s


WRITTEN = """\
num_ranks 2
rank 0 {
buffer input 8
buffer output 8
copy: recv 8b from 1 into output
buffer: reduce 8b at input into output first
buffer requires copy
}
rank 1 {
buffer input 8
send 8b to 0 at input eager
}
"""


def test_goal_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "x.goal"
    path.write_text(WRITTEN)
    start = [(0, "input", 0, 8, 0, 0), (1, "input", 0, 8, 1, 0)]
    contract = Contract.of(2, start=start, end=[(0, "output", 0, 8, (0, 1), 0)], ordered=True)
    assert prove(isthmus.read(path), contract)
    for old, new, line, said in [
        ("into output first", "into outputs first", 6, "outputs: no buffer has this name yet: 'buffer NAME BYTES'"),
        ("buffer output 8\n", "buffer input 8\n", 4, "input: the rank has this buffer already"),
        ("at input eager", "at input first", 11, "send: expected 'tag', 'cpu', 'nic' or the end of the line"),
        ("into output first", "into output+x first", 6, "into: expected the offset"),
        ("buffer output 8", "buffer output", 4, "buffer: expected the number of bytes"),
    ]:
        path.write_text(WRITTEN.replace(old, new, 1))
        with pytest.raises(isthmus.ParseError) as error:
            isthmus.read(path)
        assert str(error.value).startswith(f"{path}:{line}: {said}")
