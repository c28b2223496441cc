"""Every algorithm of every collective is proved; `./bootstrap proof` takes more numbers of ranks."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, prove
from isthmus.cli import main
from isthmus.collectives import algorithms, register
from isthmus.proof.sweep import KINDS, cases, sweep

RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 33, 64, 96)
ALL = [(kind, name) for kind in KINDS for name in algorithms(kind)]


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_algorithm_is_proved(kind: str, name: str) -> None:
    (tally,) = sweep([kind], ranks=RANKS, names=[name])
    assert [f"{case}: {found}" for case, found in tally.failures] == []
    assert tally.proved == tally.cases > 0
    # Most algorithms exist for most numbers of ranks.
    assert tally.refused <= tally.cases


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_what_is_proved_is_what_is_simulated(kind: str, name: str) -> None:
    """Operations and dependencies are the same whether operations name buffers or not."""
    compared = 0
    for case in (case for ranks in (1, 2, 5, 8, 12, 27) for case in cases(kind, name, ranks)):
        make = partial(isthmus.collective, kind, algorithm=(name, case.options), **case.arguments)
        try:
            named = make(buffers=True)
        except InvalidInput:
            continue
        plain = make()
        for attribute in ("op_first", "ops", "edge_first", "edges"):
            assert np.array_equal(getattr(plain, attribute), getattr(named, attribute)), str(case)
        assert len(plain.slices) == 0
        assert len(named.slices) == len(named)
        compared += 1
    assert compared > 0


@pytest.mark.parametrize("kind", KINDS)
def test_in_flavours(kind: str) -> None:
    for name in [name for of, name in ALL if of == kind]:
        case = [case for case in cases(kind, name, 6) if not case.options][-1]
        contract = isthmus.Contract.collective(kind, **case.arguments)
        for flavour in ({"access": "put"}, {"access": "get"}, {"access": "put", "sync": "my"}, {"protocol": "eager"}):
            schedule = isthmus.collective(kind, algorithm=name, buffers=True, **case.arguments, **flavour)
            assert prove(schedule, contract), (name, flavour)


def test_many_ranks() -> None:
    proof = prove("allreduce:ranks=300,bytes=1kB,algorithm=ring")
    assert proof
    assert proof.messages == 300 * 2 * 299
    proof = prove("alltoall:ranks=300,bytes=8,algorithm=linear")
    assert proof
    assert proof.messages == 300 * 299


def test_cases_cover_what_the_page_says() -> None:
    found = list(cases("gather", "binomial", 9))
    assert {case.arguments["root"] for case in found} == {0, 4, 8}
    assert {case.arguments["in_place"] for case in found} == {True, False}
    assert {case.arguments.get("bytes") for case in found} == {0, 3, None}
    assert any(0 in case.arguments["counts"] for case in found if "counts" in case.arguments)
    assert len(list(cases("gather", "binomial", 1000))) == 1
    options = [case.options for case in cases("bcast", "knomial", 9)]
    assert {"radix", "segment"} <= {name for option in options for name in option}


def status(*words: str) -> int:
    try:
        main(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_exit_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("prove", "bcast:ranks=5,bytes=100") == 0
    assert capsys.readouterr().out.startswith("bcast of 5 ranks: proved; ")
    path = str(tmp_path / "x.goal")
    isthmus.collective("bcast", ranks=5, bytes=100, buffers=True).save(path)
    assert status("prove", path, "--as", "bcast:ranks=5,bytes=100") == 0
    assert status("prove", path, "--as", "bcast:ranks=5,bytes=100,root=1") == 1
    out = capsys.readouterr().out
    assert "not proved" in out
    assert "unwritten: rank 0, operation 0 (send 100 B to rank 4, tag 0): it reads output [0, 100)" in out
    assert status("prove", "bcast:ranks=5,bytes=100,access=put,sync=my") == 0
    assert status("prove", "bcast:ranks=5,bytes=100,count=3") == 2
    assert "prove one collective at a time" in capsys.readouterr().err
    assert status("prove", path) == 2
    assert "say with --as what the schedule must do" in capsys.readouterr().err
    assert status("prove", path, "--as", "bcast:ranks=4,bytes=100") == 2
    assert status("prove") == 2
    assert status("prove", "--all", "--ranks", "4-x") == 2
    assert status("prove", "--all", "--kind", "broadcast") == 2
    assert status("prove", path, "--kind", "bcast") == 2


def test_a_wrong_algorithm_fails_the_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(call: isthmus._core.CollectiveCall, out: isthmus._core.CollectiveOut) -> None:
        if call.rank == call.root:
            for r in range(call.ranks):
                if r != call.root:
                    out.send(r, call.bytes, at=("output", 0))
        elif call.rank != 3:
            out.recv(call.root, call.bytes, into=("output", 0))

    register("bcast", "deaf on 3", wrong)
    assert status("prove", "--all", "--kind", "bcast", "--algorithm", "deaf on 3", "--ranks", "1-4") == 1
    out = capsys.readouterr().out
    assert "unmatched: rank 0, operation 2 (send 0 B to rank 3, tag 0): it has no other side" in out
    (tally,) = sweep(["bcast"], ranks=[1, 2, 3], names=["deaf on 3"])
    assert (tally.cases, tally.proved, tally.failures) == (18, 18, [])
    with pytest.raises(InvalidInput, match="whole number"):
        prove("bcast:ranks=2,bytes=1", most_defects=0)
