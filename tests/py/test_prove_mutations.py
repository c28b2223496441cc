"""Seeded bugs: a proof catches every one that any legal execution shows."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import isthmus
from isthmus import Contract, InvalidInput, prove
from isthmus.collectives import algorithms
from isthmus.proof.sweep import KINDS, REDUCTIONS, Case, cases
from oracles.executing import first_wrong, task
from sketches import Row, Sketch, sketch

SEEDS = 12
MISTAKES = (
    "peer", "forget", "offset", "swap", "size", "again", "leave", "mode", "tag", "start", "stream", "eager", "block",
)  # fmt: skip


def small(kind: str, algorithm: str) -> Case:
    """One call of each algorithm that the oracle has time for; roots, sizes, options and places all come up."""
    ranks = 4 if Random(algorithm + kind).random() < 0.5 else 5
    found = [case for case in cases(kind, algorithm, ranks) if case.arguments.get("bytes") != 0 and works(case)]
    return Random(kind + algorithm).choice(found)


def works(case: Case) -> bool:
    """Does the algorithm exist for so many ranks and such options?"""
    try:
        generated(case)
    except InvalidInput:
        return False
    return True


def generated(case: Case) -> isthmus.Schedule:
    return isthmus.collective(case.kind, algorithm=(case.algorithm, case.options), buffers=True, **case.arguments)


def spoilt(s: Sketch, random: Random) -> Sketch:
    """A sketch with one mistake."""
    return next(out for out in iter(lambda: changed(s, random), None) if out is not s)


def changed(s: Sketch, random: Random) -> Sketch:
    """The same sketch if the mistake chosen has no place."""
    at = random.randrange(len(s.rows))
    row = s.rows[at]
    what = random.choice(MISTAKES)
    if what == "peer":
        return s.changed(at, peer=(row.peer + random.randrange(1, s.ranks)) % s.ranks)
    if what == "forget" and row.after:
        return s.changed(at, after=random.sample(row.after, len(row.after) - 1))
    if what == "start" and row.after:
        on = random.choice(row.after)
        return s.changed(at, after=[n for n in row.after if n != on], along=[*row.along, on])
    if what == "offset":
        side = random.choice([side for side in ("at", "into") if getattr(row, side)] or ["at"])
        place = getattr(row, side)
        return (
            s
            if place is None
            else s.changed(at, **{side: (place[0], max(0, place[1] + random.choice([-2, -1, 1, 2])))})
        )
    if what == "swap":
        others = [i for i, r in enumerate(s.rows) if i != at and (r.rank, r.kind) == (row.rank, row.kind)]
        if others:
            other = random.choice(others)
            return s.changed(at, at=s.rows[other].at, into=s.rows[other].into).changed(other, at=row.at, into=row.into)
    if what == "size":
        out = s.changed(at, amount=max(0, row.amount + random.choice([-1, 1])))
        pair = [i for i, r in enumerate(s.rows) if {r.kind, row.kind} == {"send", "recv"} and r.peer == row.rank]
        # Often both sides are wrong in the same way.
        if pair and random.random() < 0.7:
            other = random.choice([i for i in pair if s.rows[i].rank == row.peer] or pair)
            out = out.changed(other, amount=out.rows[at].amount)
        return out
    if what == "again" and row.kind in ("copy", "reduce"):
        twice = replace(row, after=[at], along=[])
        return Sketch(s.ranks, s.buffers, [*s.rows, twice])
    if what == "leave":
        return s.without(at)
    if what == "block" and row.block:
        change = random.choice([(1, 0), (0, 1), (-1, 0), (0, -1)])
        strides = row.strides[0] + change[0], row.strides[1] + change[1]
        return random.choice([s.changed(at, strides=strides), s.changed(at, block=row.block + 1)])
    if what == "mode" and row.kind == "reduce":
        return s.changed(at, mode=1 - row.mode)
    if what == "eager" and row.kind == "send":
        return s.changed(at, mode=1)
    if what == "tag":
        return s.changed(at, tag=row.tag + 1)
    if what == "stream":
        return s.changed(at, cpu=1)
    return s


def verdict(s: Sketch, contract: Contract) -> str:
    """What the proof says: "", or the kind of the first defect."""
    try:
        schedule = s.schedule()
        proof = prove(schedule, contract)
    except InvalidInput as error:
        return f"refused: {error}"
    return "" if proof else proof.defects[0].kind


@pytest.mark.sampled(30)
@pytest.mark.parametrize(("kind", "algorithm"), [(kind, name) for kind in KINDS for name in algorithms(kind)])
def test_no_bug_that_shows_is_proved(kind: str, algorithm: str) -> None:
    case = small(kind, algorithm)
    schedule = generated(case)
    ordered = kind in REDUCTIONS and bool(prove(schedule, Contract.collective(kind, ordered=True, **case.arguments)))
    contract = Contract.collective(kind, ordered=ordered, **case.arguments)
    asked = task(kind, ordered=ordered, **case.arguments)
    proof = prove(schedule, contract)
    assert proof, proof
    assert first_wrong(schedule, asked, orders=3) is None
    whole = sketch(schedule)
    assert sketch(whole.schedule()).ordered() == whole.ordered()
    assert whole.schedule().ops["amount"].tolist() == schedule.ops["amount"].tolist()
    caught = 0
    for seed in range(SEEDS):
        broken = spoilt(whole, Random(seed))
        if verdict(broken, contract):
            caught += 1
        else:
            assert first_wrong(broken.schedule(), asked, orders=8, seed=seed) is None, (seed, broken)
    assert caught > 0


def test_the_oracle_finds_bugs() -> None:
    # A race that only some orders show, and a wrong result that all show.
    s = Sketch.of(2, input=0, output=4, scratch=4)
    first = s.send(0, 1, 4, ("output", 0))
    s.add(Row(0, "copy", 2, at=("output", 0), into=("output", 2)))
    s.recv(1, 0, 4, ("output", 0))
    asked = task("bcast", ranks=2, bytes=4)
    assert first_wrong(s.schedule(), asked) is not None
    assert first_wrong(s.without(first + 1).schedule(), asked) is None
    assert first_wrong(s.without(first + 1).changed(1, into=("scratch", 0)).schedule(), asked) is not None
