"""Modes of synchronisation: every collective with each of the nine is proved, and what lacks a part of one is not."""

from __future__ import annotations

from itertools import product

import pytest

import isthmus
from isthmus import Contract, InvalidInput, collective, prove
from isthmus.collectives import algorithms, describe
from sketches import sketch

KINDS = ["bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall"]
KINDS += ["reduce_scatter", "scan", "exscan"]
SYNCS = ["none", "my", "all"]
MODES = list(product(SYNCS, SYNCS))


def named(kind: str) -> list[str]:
    """Algorithms that come with Isthmus."""
    return [name for name in algorithms(kind) if describe(kind, name).reference]


def exists(kind: str, name: str, ranks: int) -> bool:
    """Does the algorithm serve so many ranks?"""
    try:
        collective(kind, ranks=ranks, bytes=24, algorithm=name)
    except InvalidInput:
        return False
    return True


@pytest.mark.parametrize("access", ["message", "put", "get"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_algorithm_keeps_every_mode(kind: str, access: str) -> None:
    for (number, name), sync in product(enumerate(named(kind)), MODES):
        for ranks in (2, 8) if number else (1, 2, 5, 8):
            line = f"{kind}:ranks={ranks},bytes=24,algorithm={name},access={access},sync={'-'.join(sync)}"
            if exists(kind, name, ranks):
                proof = prove(line)
                assert proof.ok, f"{line}: {proof}"


@pytest.mark.parametrize("access", ["message", "put", "get"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_looser_than_the_contract_is_rejected(kind: str, access: str) -> None:
    """Dropping any part of a strict mode is found, and nothing is found where none is missing."""
    order = {name: number for number, name in enumerate(SYNCS)}
    for built, asked in product(MODES, MODES):
        made = collective(kind, ranks=4, bytes=24, buffers=True, access=access, sync=built)
        proof = prove(made, Contract.collective(kind, ranks=4, bytes=24, sync=asked))
        strict_enough = all(order[b] >= order[a] for a, b in zip(asked, built, strict=True))
        if strict_enough:
            assert proof.ok, (built, asked, str(proof))
            continue
        missing = [a for a, b in zip(asked, built, strict=True) if order[b] < order[a]]
        if access != "message" and "all" not in missing:
            continue  # some have it by themselves: see below
        if access == "message" and "all" not in missing:
            assert proof.ok, (built, asked, str(proof))  # receivers take messages when they have entered
        elif "all" in missing and not proof.ok:
            assert proof.defects[0].kind == "synchronisation"
        else:
            # Each rank waits for all of them in the collective itself.
            assert kind in ("allreduce", "allgather", "alltoall", "reduce_scatter"), (built, asked)


def test_loose_puts_are_too_early_and_too_late_for_my() -> None:
    for kind in ("bcast", "scatter"):
        early = collective(kind, ranks=5, bytes=8, buffers=True, access="put", sync=("none", "my"))
        proof = prove(early, Contract.collective(kind, ranks=5, bytes=8, sync="my"))
        assert "before rank 1 has entered, which sync 'my' on entry forbids" in str(proof)
        late = collective(kind, ranks=5, bytes=8, buffers=True, access="put", sync=("my", "none"))
        proof = prove(late, Contract.collective(kind, ranks=5, bytes=8, sync="my"))
        assert "has left, which sync 'my' on exit forbids" in str(proof)


def test_loose_gets_wait_for_nobody() -> None:
    """Blocks that are there on entry are announced by no message; those that come first are."""
    counts = {}
    for name, sync in product(("linear", "binomial"), ("none", "my")):
        made = collective("scatter", ranks=8, bytes=8, access="get", sync=sync, algorithm=name)
        counts[name, sync] = sum(made.frame()["kind"] == "send")
    assert counts["linear", "none"] == 0
    assert counts["linear", "my"] == 2 * 7
    assert 0 < counts["binomial", "none"] < counts["binomial", "my"] == 2 * 7


def test_messages_of_the_barriers_around_are_needed() -> None:
    """Between a power of two ranks each message is the only way from some rank to another."""
    made = collective("alltoall", ranks=4, bytes=8, buffers=True, access="put", sync="all", algorithm="linear")
    contract = Contract.collective("alltoall", ranks=4, bytes=8, sync="all")
    assert prove(made, contract).ok
    rows = sketch(made)
    last = max(row.tag for row in rows.rows)
    found = 0
    for number, row in enumerate(rows.rows):
        if row.kind != "send" or row.tag not in (0, last):
            continue
        found += 1
        (other,) = (
            i
            for i, r in enumerate(rows.rows)
            if (r.kind, r.rank, r.peer, r.tag) == ("recv", row.peer, row.rank, row.tag)
        )
        mutant = rows
        for index in (number, other):
            mutant = mutant.changed(index, kind="calc", peer=0, tag=0, amount=0)
        proof = prove(mutant.schedule(), contract)
        # On exit neighbours know of each other from the blocks that they got.
        if row.tag == 0 or (row.peer - row.rank) % 4 == 2:
            assert {defect.kind for defect in proof.defects} == {"synchronisation"}
    assert found == 2 * 4 * 2


def test_more_than_64_ranks_and_one() -> None:
    for ranks in (1, 64, 65, 130):
        assert prove(f"bcast:ranks={ranks},bytes=8,access=put,sync=all").ok
    made = collective("bcast", ranks=130, bytes=8, buffers=True, access="put", sync=("all", "my"))
    proof = prove(made, Contract.collective("bcast", ranks=130, bytes=8, sync="all"))
    assert not proof.ok


def test_loose_scatters_on_the_xt5() -> None:
    """Published: 4 times as fast as strict ones, small, on 1,536 cores."""
    times = {}
    for sync in ("all", "none"):
        made = collective("scatter", ranks=1536, bytes=8, access="put", sync=sync, count=8)
        times[sync] = isthmus.simulate(made, "jaguar").makespan
    assert times["all"] > 4 * times["none"]


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(InvalidInput, match="sync 'loose': must be one of none, my, all"):
        Contract.collective("bcast", ranks=4, bytes=8, sync="loose")
