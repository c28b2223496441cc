"""Rank 0 stands for all ranks where all do the same: the verdict is that of the proof which looks at every rank."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import isthmus
from isthmus import Contract, InvalidInput, Unsupported, _core
from isthmus.collectives import algorithms
from isthmus.proof.sweep import KINDS, Case, cases
from sketches import Sketch, sketch
from test_prove_mutations import changed

RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 20)
ALL = [(kind, name) for kind in KINDS for name in algorithms(kind)]
#: Algorithms in which all ranks do the same, for some numbers of ranks at least.
ALIKE = [
    ("barrier", "dissemination"), ("allgather", "ring"), ("allreduce", "ring"), ("alltoall", "bruck"),
    ("alltoall", "linear"), ("alltoall", "pairwise"),
]  # fmt: skip


def proved(schedule: isthmus.Schedule, contract: Contract) -> bool:
    """The verdict, which must be the same in both ways; is it reached by rank 0 alone?"""
    *fast, alone = _core.prove(schedule.arrays, contract.core, 10, True)
    *slow, one = _core.prove(schedule.arrays, contract.core, 10, False)
    assert not one
    assert fast == slow
    assert not alone or fast[1] == 0
    return bool(alone)


def generated(case: Case) -> isthmus.Schedule | None:
    try:
        return isthmus.collective(case.kind, algorithm=(case.algorithm, case.options), buffers=True, **case.arguments)
    except (InvalidInput, Unsupported):
        return None


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_algorithm_has_one_verdict(kind: str, name: str) -> None:
    alone = 0
    for case in (case for ranks in RANKS for case in cases(kind, name, ranks)):
        schedule = generated(case)
        if schedule is None:
            continue
        for ordered in (False, True):
            alone += proved(schedule, Contract.collective(kind, ordered=ordered, **case.arguments))
    if (kind, name) in ALIKE:
        assert alone > 10


def test_a_contract_of_another_collective() -> None:
    # All ranks do the same, and not what is asked for.
    schedule = isthmus.collective("alltoall", ranks=6, bytes=4, algorithm="bruck", in_place=False, buffers=True)
    for kind, size in (
        ("allreduce", 24),
        ("allreduce", 23),
        ("reduce_scatter", 4),
        ("allgather", 4),
        ("barrier", None),
    ):
        sizes = {} if size is None else {"bytes": size}
        contract = Contract.collective(kind, ranks=6, **sizes)
        assert _core.prove(schedule.arrays, contract.core, 10, True)[1] > 0
        proved(schedule, contract)


def calls(kind: str, name: str) -> list[tuple[Sketch, Contract]]:
    """Those of few ranks that rank 0 stands for."""
    out = []
    for case in (case for ranks in (3, 4, 5, 6, 8) for case in cases(kind, name, ranks)):
        schedule = generated(case)
        if schedule is None or len(schedule) > 400 or case.arguments.get("bytes") == 0:
            continue
        contract = Contract.collective(kind, **case.arguments)
        if proved(schedule, contract):
            out.append((sketch(schedule), contract))
    return out


def verdict(s: Sketch, contract: Contract) -> str:
    """ "refused", "alone", "all" or "wrong"."""
    try:
        schedule = s.schedule()
        alone = proved(schedule, contract)
    except (InvalidInput, Unsupported):
        return "refused"
    if alone:
        return "alone"
    return "all" if _core.prove(schedule.arrays, contract.core, 10, False)[1] == 0 else "wrong"


def rows_alike(s: Sketch, at: int) -> list[int]:
    """The operations of all ranks that are as far from their first one, of its kind, as this one is."""
    row = s.rows[at]
    place = [i for i, r in enumerate(s.rows) if (r.rank, r.kind) == (row.rank, row.kind)].index(at)
    found = [[i for i, r in enumerate(s.rows) if (r.rank, r.kind) == (rank, row.kind)] for rank in range(s.ranks)]
    return [of[place] for of in found if place < len(of)]


def changed_alike(s: Sketch, random: Random) -> Sketch:
    """The same mistake on every rank."""
    at = random.randrange(len(s.rows))
    alike = rows_alike(s, at)
    row = s.rows[at]
    what = random.choice(("peer", "forget", "start", "offset", "size", "both sizes", "mode", "tag", "leave", "swap"))
    by = random.choice([-2, -1, 1, 2, row.amount])
    side = random.choice(["at", "into"])
    which = random.randrange(9)
    pairs = zip(alike, rows_alike(s, random.randrange(len(s.rows))), strict=False)
    if what == "leave":
        for i in sorted(alike, reverse=True):
            s = s.without(i)
        return s
    if what == "swap":
        for i, j in pairs:
            a, b = s.rows[i], s.rows[j]
            if a.kind == b.kind:
                s = s.changed(i, at=b.at, into=b.into).changed(j, at=a.at, into=a.into)
        return s
    if what == "both sizes" and row.kind in ("send", "recv"):
        # Most algorithms send everything in messages of one size.
        alike = [i for i, r in enumerate(s.rows) if r.kind in ("send", "recv") and r.amount == row.amount]
    for i in alike:
        r = s.rows[i]
        if what == "peer" and r.kind in ("send", "recv"):
            s = s.changed(i, peer=(r.peer + 1) % s.ranks)
        elif what in ("forget", "start") and r.after:
            after = [n for k, n in enumerate(r.after) if k != which % len(r.after)]
            along = [r.after[which % len(r.after)]] if what == "start" else []
            s = s.changed(i, after=after, along=[*r.along, *along])
        elif what == "offset" and getattr(r, side) is not None:
            place = getattr(r, side)
            size = s.buffers[place[0]][r.rank]
            s = s.changed(i, **{side: (place[0], (place[1] + by) % max(1, size))})
        elif what in ("size", "both sizes"):
            s = s.changed(i, amount=max(0, r.amount + (-1 if by < 0 else 1)))
        elif what == "mode" and r.kind in ("send", "reduce"):
            s = s.changed(i, mode=1 - r.mode)
        elif what == "tag":
            s = s.changed(i, tag=r.tag + 1)
    return s


@pytest.mark.parametrize(("kind", "name"), ALIKE)
def test_mistakes_have_one_verdict(kind: str, name: str) -> None:
    found = {"one": set(), "all": set()}
    random = Random(kind + name)
    good = calls(kind, name)
    assert good
    for _ in range(120):
        s, contract = random.choice(good)
        found["one"].add(verdict(changed(s, random), contract))
        found["all"].add(verdict(changed_alike(s, random), contract))
    assert "wrong" in found["one"]
    # Some do no harm.
    assert found["all"] >= {"wrong", "alone"}


def test_a_race_on_all_ranks() -> None:
    s = sketch(isthmus.collective("alltoall", ranks=7, bytes=8, algorithm="bruck", in_place=False, buffers=True))
    contract = Contract.collective("alltoall", ranks=7, bytes=8, in_place=False)
    assert proved(s.schedule(), contract)
    # Messages no longer wait for their copies.
    hasty = Sketch(s.ranks, s.buffers, [replace(r, after=[]) if r.kind == "send" else r for r in s.rows])
    proof = isthmus.prove(hasty.schedule(), contract)
    assert {d.kind for d in proof.defects} == {"race"}
    proved(hasty.schedule(), contract)


def test_buffers_that_are_larger_on_one_rank() -> None:
    s = sketch(isthmus.collective("allgather", ranks=5, bytes=8, algorithm="ring", in_place=False, buffers=True))
    contract = Contract.collective("allgather", ranks=5, bytes=8, in_place=False)
    assert proved(s.schedule(), contract)
    s.buffers["output"][3] += 8
    assert not proved(s.schedule(), contract)


def test_many_ranks() -> None:
    schedule = isthmus.collective("alltoall", ranks=3000, bytes=8, algorithm="bruck", buffers=True)
    contract = Contract.collective("alltoall", ranks=3000, bytes=8)
    defects, count, _, messages, checked, _, alone = _core.prove(schedule.arrays, contract.core, 10)
    assert (defects, count, alone) == ([], 0, True)
    assert messages == 3000 * 12
    assert checked == 3000**2 * 8


def test_peers_that_are_no_rotation() -> None:
    # Every message meets another, on a circle through the ranks in another order, but brings the block of a wrong rank.
    s = sketch(isthmus.collective("allgather", ranks=5, bytes=8, algorithm="ring", in_place=False, buffers=True))
    contract = Contract.collective("allgather", ranks=5, bytes=8, in_place=False)
    circle = [0, 1, 3, 2, 4]  # rank 0 has its own neighbours
    step = {"send": 1, "recv": -1}
    rows = [replace(r, peer=circle[(circle.index(r.rank) + step[r.kind]) % 5]) if r.kind in step else r for r in s.rows]
    broken = Sketch(s.ranks, s.buffers, rows).schedule()
    assert not proved(broken, contract)
    assert "unmatched" not in {d.kind for d in isthmus.prove(broken, contract).defects}
    assert not isthmus.prove(broken, contract)
