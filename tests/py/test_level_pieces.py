"""Levels whose parameters depend on the size of the message: files, specifications, simulation, bounds, what-ifs."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, Level, Machine, ParseError, Piece
from isthmus.advice.analysis.what_if import changed
from isthmus.collectives.models import bound, cost
from isthmus.simulation.work import work_bound
from isthmus.tuning.scenario import Scenario

TEXT = """
format = 2
name = "here"

[sources]
run = "a run"

[topology]
kind = "torus"
dims = [4]

[node]
sockets = 2
cores = 4

[level.socket]
L = "200 ns"
o_send = "100 ns"
O = "0.1 ns/B"
O_recv = "0.3 ns/B"

[[level.socket.pieces]]
above = "8 KiB"
L = { value = "900 ns", source = "run", status = "measured" }
G = "0.25 ns/B"
O_recv = "0.2 ns/B"

[[level.socket.pieces]]
above = "64 KiB"
after = "32 KiB"
L = "1 us"
o_send = "3 us"
O = "0.5 ns/B"
"""
LINE = {line: number for number, line in enumerate(TEXT.split("\n"), 1)}


def machine(text: str = TEXT) -> Machine:
    from isthmus.machine.toml import parse_toml

    return Machine(parse_toml(text, "here.toml"))


def seconds(level: Level | Machine, size: int, **more: object) -> float:
    exchange = isthmus.collective("bcast", ranks=2, bytes=size, algorithm="linear")
    return isthmus.simulate(exchange, level, **more).makespan  # type: ignore[arg-type]


def test_file_gives_pieces_and_is_written_and_read_back() -> None:
    here = machine()
    level = here.level.socket
    assert level.O_recv == 0.3e-9
    assert [piece.above for piece in level.pieces] == [8192, 65536]
    assert level.pieces[0] == Piece(above=8192, L=900e-9, G=0.25e-9, O_recv=0.2e-9)
    assert level.pieces[1] == Piece(above=65536, after=32768, L=1e-6, o_send=3e-6, O=0.5e-9)
    assert level.pieces[1].O_of_receiver == 0.5e-9
    assert here.provenance("level.socket.pieces.0.L").status == "measured"
    again = machine(here.toml())
    assert again == here
    assert again.level == here.level
    assert again.description.provenance == here.description.provenance
    assert again.toml() == here.toml()
    rows = {row["path"]: row for row in here.frame()}
    assert rows["level.socket.pieces.0.L"]["status"] == "measured"
    assert rows["level.socket.pieces.1.after"]["value"] == "32 KiB"
    assert pickle.loads(pickle.dumps(here)).level == here.level
    assert "> 64 KiB" in str(here)
    assert "O_recv" in str(here)


def test_specification_gives_pieces_and_is_read_back() -> None:
    here = machine()
    again = Machine.parse(here.spec)
    assert again.level == here.level
    changed = isthmus.load("torus-4x4x4:socket.pieces=8KiB:L=2us:G=1ns/B;64KiB:L=5us:after=32KiB,node.O_recv=1ns/B")
    assert changed.level.socket.pieces == (Piece(above=8192, L=2e-6, G=1e-9), Piece(above=65536, L=5e-6, after=32768))
    assert changed.level.node.O_recv == 1e-9
    with pytest.raises(ParseError, match="pieces such as 8KiB"):
        isthmus.load("torus-4x4x4:socket.pieces=L=2us")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('above = "64 KiB"', 'above = "4 KiB"', 'above = "64 KiB"', "above those of the piece before"),
        ('above = "8 KiB"', "above = 0", 'above = "8 KiB"', "whole bytes above"),
        ('above = "8 KiB"', 'above = "1.5 B"', 'above = "8 KiB"', "whole bytes above"),
        ('after = "32 KiB"', 'after = "65 KiB"', 'after = "32 KiB"', "from 1 to above"),
        ('after = "32 KiB"', "after = 0", 'after = "32 KiB"', "from 1 to above"),
        ('o_send = "3 us"', 'o_send = "-3 us"', 'o_send = "3 us"', "a number from 0"),
        ('o_send = "3 us"', 'o = "3 us"', 'o_send = "3 us"', "unknown key"),
        ('o_send = "3 us"', 'S = "3 kB"', 'o_send = "3 us"', "unknown key"),
        ('O_recv = "0.3 ns/B"', 'O_recv = "0.3 ns"', 'O_recv = "0.3 ns/B"', "s/B"),
    ],
)
def test_errors_name_the_line(old: str, new: str, line: str, message: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        machine(TEXT.replace(old, new))
    assert error.value.line == LINE[line]


def test_errors_of_missing_bytes_and_of_no_tables() -> None:
    with pytest.raises(ParseError, match="has no above") as error:
        machine(TEXT.replace('above = "8 KiB"\n', "\n"))
    assert error.value.line == TEXT.split("\n").index("[[level.socket.pieces]]") + 1
    with pytest.raises(ParseError, match="list of tables"):
        machine(TEXT[: TEXT.index("[[")] + "pieces = 3\n")
    flat = Level(pieces=(Piece(above=8), Piece(above=8)))
    with pytest.raises(InvalidInput, match=r"pieces\[1\]: above = 8"):
        seconds(flat, 1)
    with pytest.raises(InvalidInput, match=r"pieces\[0\].*after"):
        seconds(Level(pieces=(Piece(above=8, after=9),)), 1)


def test_a_message_takes_what_its_piece_says() -> None:
    here = machine()
    for size, expected in (
        (1, 300e-9 + 100e-9),  # default of o_recv
        (8192, 300e-9 + 8191 * 0.3e-9 + 100e-9),
        (8193, 900e-9 + 8192 * 0.25e-9),
        (65536, 900e-9 + 65535 * 0.25e-9),
        (65537, 3e-6 + 1e-6 + 32769 * 0.5e-9),
    ):
        # The level has G = 0.1 ns/B by default, less than O_recv.
        assert seconds(here, size) == pytest.approx(expected, rel=1e-9), size
    assert here.message_time(65537, 0, 0, level="socket") == pytest.approx(4e-6 + 32769e-9)


@pytest.mark.parametrize("model", ["flow", "reserve", "packet"])
def test_quiet_networks_take_the_same_pieces(model: str) -> None:
    network = "L=1us,o=0.3us,G=1ns/B,pieces=4KiB:L=3us:o_send=1us:G=0.25ns/B:O=0.1ns/B;64KiB:L=2us:after=4KiB:G=2ns/B"
    here = isthmus.load(f"torus-4x4x4:link=100GB/s,{network}")
    for size in (1, 4096, 4097, 65536, 65537, 10**6):
        exchange = isthmus.collective("bcast", ranks=2, bytes=size, algorithm="linear")
        times = [isthmus.simulate(exchange, here, [0, 1], model=m).makespan for m in ("loggops", model)]
        assert times[1] == pytest.approx(times[0], rel=1e-6 if model != "packet" else 0.02), size


def random_level(random: Random) -> Level:
    def numbers() -> dict[str, float]:
        times = {name: random.choice([0, 1, random.random()]) * 1e-6 for name in ("L", "o_send", "o_recv", "g")}
        return times | {name: random.choice([0, random.random()]) * 1e-9 for name in ("G", "O", "O_recv")}

    aboves = sorted(random.sample([1, 2, 8, 100, 1000, 20000], random.randint(1, 3)))
    pieces = tuple(Piece(**numbers(), above=above, after=random.randint(1, above)) for above in aboves)
    return Level(**numbers(), S=random.choice([0, 500, 1e9]), pieces=pieces)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_not_above_the_simulation(seed: int) -> None:
    random = Random(seed)
    level = random_level(random)
    least = level.least()
    sizes = [1, 2, 3, 8, 9, 100, 101, 1000, 1001, 20000, 20001, 100000]
    for collective, algorithm in (("alltoall", "linear"), ("allreduce", "ring"), ("bcast", "binomial")):
        schedules = [isthmus.collective(collective, ranks=8, bytes=8 * size, algorithm=algorithm) for size in sizes]
        simulated = np.array([isthmus.simulate(s, level).makespan for s in schedules])
        assert (simulated >= [isthmus.simulate(s, least).makespan * (1 - 1e-9) - 1e-11 for s in schedules]).all()
        assert (bound(collective, level, ranks=8, sizes=[8 * n for n in sizes]).time <= simulated + 1e-11).all()
        one = isthmus.collective(collective, ranks=8, bytes=8, algorithm=algorithm)
        worked = work_bound(one, level, unit=1, sizes=sizes)
        assert worked is not None
        assert (worked <= simulated + 1e-11).all()
        found = cost(collective, algorithm, level, ranks=8, sizes=[8 * n for n in sizes])
        assert not found.exact.any()
    assert Scenario(level, 8).fastest == least


def test_closed_forms_of_one_message_after_another_are_those_of_the_piece() -> None:
    level = Level(L=1e-6, o_send=2e-7, o_recv=3e-7, G=1e-9, pieces=(Piece(above=100, L=5e-6, o_send=1e-6, G=2e-9),))
    for size in (10, 1000):
        exchange = isthmus.collective("allgather", ranks=6, bytes=size, algorithm="ring")
        found = cost("allgather", "ring", level, ranks=6, sizes=[size])
        assert found.time[0] == pytest.approx(isthmus.simulate(exchange, level).makespan, rel=1e-9)


def test_what_ifs_change_pieces_too() -> None:
    here = machine()
    slower = changed(here, {"latency": 2.0, "overhead": 3.0, "bandwidth": 0.5}).level.socket
    assert slower.O_recv == pytest.approx(0.9e-9)
    assert pytest.approx(1.8e-6) == slower.pieces[0].L
    assert pytest.approx(0.125e-9) == slower.pieces[0].G
    assert slower.pieces[0].O_recv == pytest.approx(0.6e-9)
    assert slower.pieces[1].o_send == pytest.approx(9e-6)
    assert slower.pieces[1].O_recv is None
    assert [piece.above for piece in slower.pieces] == [8192, 65536]


def test_timelines_keep_levels_with_pieces(tmp_path) -> None:
    exchange = isthmus.collective("allgather", ranks=6, bytes=100, algorithm="ring")
    plain = Level(L=1e-6, G=1e-9)
    for level in (plain, machine().level.socket):
        timeline = isthmus.simulate(exchange, level)
        path = tmp_path / "timeline.h5"
        timeline.save(path)
        assert isthmus.read(path).machine == level


def test_critical_path_and_advice_know_pieces() -> None:
    here = machine()
    exchange = isthmus.collective("allgather", ranks=4, bytes=100_000, algorithm="ring")
    timeline = isthmus.simulate(exchange, here, record="ops")
    path = timeline.critical_path()
    assert int((path.end_ps - path.begin_ps).sum()) == timeline.makespan_ps
    # Three rounds on one path: each pays o at both ends, and O of the bytes after 32 KiB where it is received.
    found = timeline.sensitivities(["L", "o", "O"], verify=True)
    assert (found["L"].slope, found["o"].slope) == (3, 6)
    assert found["O"].slope == pytest.approx(3 * (100_000 - 32_768))
