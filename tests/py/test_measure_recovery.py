"""Parameters of levels are recovered from measurements that the simulator made with them."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, Level, Levels, Piece
from isthmus.measuring.fit import LevelFit, fit_level
from isthmus.measuring.samples import Item, Samples, Series
from measure_by_simulation import PAIRS, SIZES, Simulator, machine_of, measured, plan, random_levels

NAMES = ("L", "o_send", "o_recv", "g", "G", "O", "O_recv")
#: Sets of parameters: ./bootstrap test takes a sample by its seed, another one each time.
SETS = 200
SEED = os.environ.get("ISTHMUS_SAMPLE_SEED")
WHOLE = SEED is None
SEEDS = range(SETS) if SEED is None else np.random.default_rng(int(SEED)).choice(SETS, 6, replace=False).tolist()


def check(true: Level, fit: LevelFit, tolerance: float) -> bool:
    """No number that is said to be known is wrong; returns whether all are known."""
    assert [a <= p.above <= b for (a, b), p in zip(fit.changes, true.pieces, strict=True)] == [True] * len(true.pieces)
    assert fit.level.S == true.S
    assert not fit.outliers
    every = True
    for i, piece in enumerate(true.all_pieces):
        for name in NAMES:
            path = name if i == 0 else f"pieces.{i - 1}.{name}"
            found = fit.parameters[path]
            assert found.low <= found.value <= found.high
            if found.identified:
                assert found.value == pytest.approx(getattr(piece, name), rel=tolerance), path
            else:
                assert found.note, path
                every = False
    return every


def test_noise_free_measurements_give_the_parameters() -> None:
    all_known, slowest = [], 0.0
    for seed in SEEDS:
        levels = random_levels(np.random.default_rng(seed))
        samples = measured(Simulator(machine_of(levels)), plan({name: getattr(levels, name).S for name in PAIRS}))
        known = True
        for name, pair in PAIRS.items():
            begin = time.process_time()
            fit = fit_level(samples, [pair], repetitions=2)
            slowest = max(slowest, time.process_time() - begin)
            known &= check(getattr(levels, name), fit, 0.01)
        all_known.append(known)
    assert np.mean(all_known) >= 0.95
    assert slowest < 2


def test_noisy_measurements_give_what_they_tell() -> None:
    known = []
    for seed in SEEDS[:: 4 if WHOLE else 3]:
        random = np.random.default_rng(seed)
        levels = random_levels(random)
        items = plan({name: getattr(levels, name).S for name in PAIRS})
        samples = measured(Simulator(machine_of(levels)), items, noise=0.05, random=random)
        for name, pair in PAIRS.items():
            true, fit = getattr(levels, name), fit_level(samples, [pair])
            assert fit.level.S == true.S
            if len(fit.changes) != len(true.pieces):
                continue  # one that noise hides, or a change within it
            for i, piece in enumerate(true.all_pieces):
                for parameter in NAMES:
                    found = fit.parameters[parameter if i == 0 else f"pieces.{i - 1}.{parameter}"]
                    known.append(found.identified)
                    if found.identified:
                        assert found.value == pytest.approx(getattr(piece, parameter), rel=0.05), found.path
    assert np.mean(known) > 0.4


def simple(**more: float) -> Levels:
    level = Level(
        **{"L": 1e-6, "o_send": 2e-7, "o_recv": 3e-7, "g": 5e-7, "G": 1e-9, "O": 2e-10, "O_recv": 1e-10, **more}
    )
    return Levels(socket=level, node=level, network=level)


def of(levels: Levels, *kinds: str, model: str = "loggops") -> Samples:
    items = [i for i in plan({name: getattr(levels, name).S for name in PAIRS}, ["network"]) if i.kind in kinds]
    return measured(Simulator(machine_of(levels), model), items)


def test_what_cannot_be_told_apart_is_reported_with_what_is_known() -> None:
    network = [PAIRS["network"]]
    alone = fit_level(of(simple(), "pingpong"), network)
    assert alone.parameters["L"].note == "o_send + L + o_recv = 1.5 us together"
    assert not any(alone.parameters[name].identified for name in NAMES)
    assert alone.parameters["G"].note == "the larger of G and O_recv is 1 ns/B"
    assert "S" not in alone.parameters
    # The sum is right, so that predictions of what was measured are.
    level = alone.level
    assert level.o_send + level.L + level.o_recv == pytest.approx(1.5e-6)
    sends = fit_level(of(simple(), "pingpong", "isendcall"), network)
    assert sends.parameters["o_send"].identified
    assert sends.parameters["L"].note == "L + o_recv = 1.3 us together"
    # An interface that is faster than the processors: nothing shows how fast.
    hidden = simple(g=1e-7, G=5e-11)
    fit = fit_level(of(hidden, "pingpong", "isendcall", "receivecall", "window", "threshold"), network)
    assert [name for name in NAMES if not fit.parameters[name].identified] == ["g", "G"]
    assert "at most O_recv" in fit.parameters["G"].note
    assert fit.parameters["g"].low == 0 <= 1e-7 <= fit.parameters["g"].high
    with pytest.raises(InvalidInput, match="no ping-pong"):
        fit_level(of(simple(), "isendcall"), network)


def test_outliers_are_named_and_move_nothing() -> None:
    samples = of(simple(), "pingpong", "isendcall", "receivecall", "window", "threshold")
    spoilt = Samples(
        Series.of(s.item, [s.column() * (3 if s.item.name == "network.pingpong.512" else 1)], "most") for s in samples
    )
    fit = fit_level(spoilt, [PAIRS["network"]])
    assert fit.outliers == ["network.pingpong.512"]
    assert pytest.approx(1e-6, rel=0.01) == fit.level.L
    assert pytest.approx(1e-9, rel=0.01) == fit.level.G


def test_nothing_is_negative_where_a_straight_line_would_be() -> None:
    """A piece that is steeper than what comes before begins below 0, continued to one byte: bytes count later."""
    steep = Piece(above=32768, after=30000, L=1e-6, o_send=2e-7, o_recv=3e-7, g=5e-7, G=4e-9, O=2e-10, O_recv=1e-10)
    levels = simple(S=32768.0)
    levels = Levels(
        socket=levels.socket, node=levels.node, network=Level(**{**vars(levels.network), "pieces": (steep,)})
    )
    samples = of(levels, "pingpong", "sendcall", "isendcall", "receivecall", "window", "threshold")
    fit = fit_level(samples, [PAIRS["network"]])
    piece = fit.level.pieces[0]
    assert piece.after > 1000
    assert all(getattr(piece, name) >= 0 for name in NAMES)
    again = Simulator(machine_of(Levels(socket=levels.socket, node=levels.node, network=fit.level)))
    for size in (40_000, 100_000, 1_000_000):
        item = Item("x", "pingpong", {"a": 0, "b": 3, "bytes": size})
        assert again.value(item) == pytest.approx(Simulator(machine_of(levels)).value(item), rel=0.01)


@pytest.mark.parametrize("model", ["flow", "packet"])
def test_measurements_of_a_model_that_is_not_the_fitted_one_are_predicted(model: str) -> None:
    worst = 0.0
    for seed in SEEDS[:: 20 if WHOLE else 3]:
        levels = random_levels(np.random.default_rng(seed))
        machine = Simulator(machine_of(levels), model)
        items = plan({name: getattr(levels, name).S for name in PAIRS}, ["network"])
        fit = fit_level(measured(machine, items), [PAIRS["network"]], repetitions=2)
        fitted = Simulator(machine_of(Levels(socket=levels.socket, node=levels.node, network=fit.level)))
        a, b = PAIRS["network"]
        for bytes in (3, 700, 5000, 50_000, 1_000_000):
            for n in (2, 8, 64):
                burst = Item("burst", "burst", {"a": a, "b": b, "bytes": bytes, "n": n})
                worst = max(worst, abs(fitted.value(burst) / machine.value(burst) - 1))
            both = Item("both", "sendrecv", {"a": a, "b": b, "bytes": bytes})
            worst = max(worst, abs(fitted.value(both) / machine.value(both) - 1))
    assert worst < 0.1


def test_pieces_of_the_fit_go_into_a_machine_file(tmp_path) -> None:
    levels = random_levels(np.random.default_rng(1))
    fit = fit_level(measured(Simulator(machine_of(levels)), plan({n: getattr(levels, n).S for n in PAIRS})), [(0, 3)])
    machine = machine_of(Levels(socket=fit.level, node=fit.level, network=fit.level))
    machine.save(tmp_path / "here.toml")
    assert isthmus.load(tmp_path / "here.toml").level.network.pieces == machine.level.network.pieces
    assert "S " in str(fit)
    assert max(SIZES) == 4 << 20
