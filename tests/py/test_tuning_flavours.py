"""Flavours of collectives in the tuner, in tables, in programs and in files for libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.cli import main
from isthmus.collectives import flavours
from isthmus.tuning.candidates import candidates
from isthmus.tuning.choice import Choice
from isthmus.tuning.export import export
from isthmus.tuning.scenario import Scenario
from isthmus.tuning.search.result import Source
from isthmus.tuning.search.sweep import sweep
from isthmus.tuning.table import DecisionTable, Point, Row
from isthmus.tuning.tune import tune

LEVEL = isthmus.Level(L=1e-6, o_send=0.3e-6, o_recv=0.4e-6, g=0.5e-6, G=0.1e-9, S=8192)
MACHINE = "torus:4x4x4 link=5GB/s hop=50ns cores=4"
WORDS = ["message", "put", "get", "size", "eager", "rendezvous", "my", "none"]
#: Every flavour that these words have.
ALL = [
    {},
    {"protocol": "eager"},
    {"protocol": "rendezvous"},
    {"access": "put", "sync": "none"},
    {"access": "put"},
    {"access": "get", "sync": "none"},
    {"access": "get"},
]


def test_words_give_every_flavour_once() -> None:
    assert sorted(map(str, flavours.combinations(WORDS))) == sorted(map(str, ALL))
    assert flavours.combinations(None) == [{}]
    assert all(choice.parts[1] == {} for choice in candidates("barrier", Scenario(LEVEL, 4), flavours=WORDS))
    with pytest.raises(InvalidInput, match="flavour 'fast': must be one of message, put, get"):
        flavours.combinations(["fast"])


@pytest.mark.parametrize("kind", ["bcast", "allreduce", "scatter", "alltoall"])
def test_the_best_flavour_is_never_left_out(kind: str) -> None:
    sizes = [8, 1000, 20_000, 1 << 20]
    for machine in (LEVEL, isthmus.load(MACHINE)):
        scenario = Scenario(machine, 9)
        options: dict[str, Any] = {"segment": [0], "radix": [2, 3], "window": [4]}
        tried = candidates(kind, scenario, options=options, flavours=WORDS)
        few, whole = (sweep(kind, scenario, sizes, tried, exhaustive=every) for every in (False, True))
        assert few.simulations < whole.simulations
        best = np.nanmin(whole.seconds, axis=0)
        assert (np.nanmin(few.seconds, axis=0) == best).all()
        assert (few.source[whole.seconds <= best * 1.1] == Source.simulated).all()


def test_a_table_keeps_flavours_and_a_program_follows_them(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    for number, flavour in enumerate(ALL):
        choice = Choice("binomial", flavour)
        table = DecisionTable({"bcast": [Row(8, [Point(8, choice)])]})
        table.save(path)
        assert ("version = 2" in path.read_text()) == (number > 0)
        assert DecisionTable.load(path) == table
        builder = isthmus.ProgramBuilder(8)
        builder.bcast(None, 100_000)
        schedule = isthmus.lower(builder.build(), collectives=table)
        schedule.validate()
        alone = isthmus.collective("bcast", ranks=8, bytes=100_000, algorithm=choice.argument)
        # What follows in a program waits until accesses have ended, which nobody is told at a loose exit; and data that
        # are got come from what was before, which a loose entry takes to be there.
        told = (
            {**flavour, "sync": "my-my" if flavour["access"] == "get" else "none-my"} if "sync" in flavour else flavour
        )
        follows = isthmus.collective("bcast", ranks=8, bytes=100_000, algorithm=Choice("binomial", told).argument)
        assert isthmus.simulate(schedule, LEVEL).makespan == isthmus.simulate(follows, LEVEL).makespan
        assert isthmus.simulate(alone, LEVEL).makespan == pytest.approx(
            isthmus.simulate(isthmus.collective("bcast", ranks=8, bytes=100_000, **flavour), LEVEL).makespan
        )


def test_only_collectives_with_that_flavour_access_memory() -> None:
    builder = isthmus.ProgramBuilder(4)
    builder.bcast(None, 1000)
    builder.allreduce(None, 64)
    request = builder.irecv(1, -1, 8)
    builder.send(0, 1, 8)
    builder.wait(1, request)
    builder.bcast(None, 1000, 2, nonblocking=True)
    program = builder.build()
    plain = isthmus.lower(program)
    mixed = isthmus.lower(program, collectives={"bcast": ("binomial", {"access": "put", "sync": "none"})})
    mixed.validate()
    assert "6 put" in str(mixed)
    assert "put" not in str(plain)
    assert isthmus.simulate(mixed, LEVEL).makespan > 0
    with pytest.raises(InvalidInput, match="sync 'all' of bcast: a program synchronises with its own barriers"):
        isthmus.lower(program, collectives={"bcast": ("binomial", {"sync": "all"})})


def test_libraries_have_messages_only() -> None:
    points = [Point(8, Choice("binomial", {"access": "put"})), Point(4096, Choice("binomial"))]
    file = export(DecisionTable({"bcast": [Row(16, points)]}), "openmpi-4.1.4")
    (loss,) = file.losses
    assert str(loss).endswith("no binomial,access=put; binomial instead, loss not known")
    assert any("do not choose puts" in note for note in file.notes)
    priced = export(
        DecisionTable({"bcast": [Row(16, points)]}), "openmpi-4.1.4", predict=lambda *call: 2 - ("put" in str(call[3]))
    )
    assert priced.losses[0].loss == 1


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    where = ["--machine", "loggops:L=2us,o=1us,g=1us,G=1ns", "--ranks", "8", "--sizes", "8,64KiB"]
    assert main(["tune", "scatter", *where, "--flavours", "put,none", "-o", "t.toml"]) in (0, None)
    assert all(p.choice.parts[1] == {"access": "put", "sync": "none"} for *_, p in DecisionTable.load("t.toml").items())


def test_the_number_of_workers_makes_no_difference() -> None:
    one, two = (tune("bcast", LEVEL, ranks=24, sizes=[8, 4096, 1 << 20], workers=workers) for workers in (1, 2))
    assert one.table == two.table
    assert (one.sweeps[0].source == two.sweeps[0].source).all()
