"""Flavours of collectives: puts and gets in place of messages, barriers around, several under way, protocols."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import InvalidInput, Level, collective, together
from isthmus.collectives import algorithms, describe
from isthmus.schedule.schedule import OpKind

#: Overheads, gaps and latencies that differ, so that no two costs can be mistaken for each other.
LEVEL = Level(L=5e-6, o_send=1e-6, o_recv=2e-6, g=3e-6, G=1e-9, S=1 << 40)
KINDS = ("barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall", "reduce_scatter")


def moved(schedule: isthmus.Schedule) -> dict[tuple[int, int], int]:
    """Bytes from rank to rank."""
    out: dict[tuple[int, int], int] = {}
    first = schedule.arrays.op_first
    for rank in range(schedule.ranks):
        for op in schedule.ops[int(first[rank]) : int(first[rank + 1])]:
            pair = (rank, int(op["peer"])) if op["kind"] != OpKind.get else (int(op["peer"]), rank)
            if op["kind"] in (OpKind.send, OpKind.put, OpKind.get) and op["amount"]:
                out[pair] = out.get(pair, 0) + int(op["amount"])
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_all_algorithms_in_all_flavours_move_the_same_bytes_and_end(kind: str) -> None:
    for name, access, sync in product(
        [name for name in algorithms(kind) if describe(kind, name).reference],
        ("put", "get"),
        ("none", "my", "all", ("none", "all"), ("all", "none")),
    ):
        plain = collective(kind, ranks=7, bytes=100, algorithm=name)
        other = collective(kind, ranks=7, bytes=100, algorithm=name, access=access, sync=sync)
        other.validate()
        assert moved(other) == moved(plain), (name, access, sync)
        timeline = isthmus.simulate(other, LEVEL)
        assert timeline.deadlock is None
        if "none" not in (sync, sync[1]):  # a loose exit leaves messages out
            assert timeline.makespan >= isthmus.simulate(plain, LEVEL).makespan - 1e-12, (name, access, sync)


def test_a_put_costs_what_its_parts_cost() -> None:
    once: dict[str, Any] = {"ranks": 2, "bytes": 1001, "algorithm": "linear"}
    # The put occupies the interface for g + 1000 G; the message behind it then takes o, L and o.
    behind = 3e-6 + 1000e-9 + 1e-6 + 5e-6 + 2e-6
    told = collective("bcast", **once, access="put", sync=("none", "my"))
    assert isthmus.simulate(told, LEVEL).finish[1] == pytest.approx(behind, rel=1e-9)
    # Where nobody is told, it is done when its bytes are there and that is known.
    untold = collective("bcast", **once, access="put", sync="none")
    assert [str(untold.rank(1)), str(told.rank(1))] == ["rank 1", "rank 1\n  0: recv 0 B from 0 tag 0"]
    # Told first that the buffer is free: o, L and o more, and the put not before.
    asked = isthmus.simulate(collective("bcast", **once, access="put"), LEVEL)
    assert asked.finish[1] == pytest.approx(behind + 1e-6 + 5e-6 + 2e-6, rel=1e-9)


def test_barriers_around_are_barriers() -> None:
    plain, barrier = collective("scatter", ranks=9, bytes=64), collective("barrier", ranks=9)
    strict = collective("scatter", ranks=9, bytes=64, sync="all")
    count = [len(s.ops) for s in (plain, barrier, strict)]
    assert count[2] >= count[0] + 2 * count[1]
    times = [isthmus.simulate(s, LEVEL).makespan for s in (plain, barrier, strict)]
    assert times[0] + times[1] < times[2] <= times[0] + 2 * times[1] + 1e-12
    # Nobody is through before everybody has entered: the fastest rank ends after the slowest way through a barrier.
    assert isthmus.simulate(strict, LEVEL).finish.min() >= times[1]


def test_several_under_way_overlap() -> None:
    times = {
        n: isthmus.simulate(collective("allreduce", ranks=16, bytes=8, count=8, under_way=n), LEVEL).makespan
        for n in (0, 1, 2, 8)
    }
    assert times[0] == times[8] < times[1]
    assert times[0] <= times[2] < times[1]
    one = isthmus.simulate(collective("allreduce", ranks=16, bytes=8), LEVEL).makespan
    assert one < times[0]
    assert times[1] <= 8 * one + 1e-12


def test_protocols_are_those_of_machines_with_other_limits() -> None:
    always = Level(L=5e-6, o_send=1e-6, o_recv=2e-6, g=3e-6, G=1e-9, S=0)
    plain = collective("allgather", ranks=6, bytes=1000, algorithm="linear")
    eager, rendezvous = plain.with_protocol("eager"), plain.with_protocol("rendezvous")
    assert np.array_equal(isthmus.simulate(rendezvous, LEVEL).finish, isthmus.simulate(plain, always).finish)
    assert np.array_equal(isthmus.simulate(eager, always).finish, isthmus.simulate(plain, LEVEL).finish)
    assert not np.array_equal(isthmus.simulate(eager, LEVEL).finish, isthmus.simulate(rendezvous, LEVEL).finish)
    assert eager.with_protocol("size") == plain


def test_modes_survive_files(tmp_path: Any) -> None:
    schedule = collective("bcast", ranks=4, bytes=8, protocol="rendezvous")
    schedule.save(tmp_path / "s.h5")
    assert isthmus.read(tmp_path / "s.h5") == schedule
    assert (schedule.ops["mode"][schedule.ops["kind"] == OpKind.send] == 2).all()


def test_together_keeps_messages_apart() -> None:
    # Rank 1 receives in the other order: with one tag the sizes would not fit.
    first = isthmus.Schedule.of(2, rank=[0, 1], kind=["send", "recv"], peer=[1, 0], amount=10)
    second = isthmus.Schedule.of(2, rank=[0, 1], kind=["send", "recv"], peer=[1, 0], amount=20, tag=3)
    both = together([first, second, first])
    both.validate()
    assert both.ops["tag"][:3].tolist() == [0, 4, 5]
    assert moved(both) == {(0, 1): 40}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"access": "push"}, "access 'push': must be one of message, put, get"),
        ({"sync": "loose"}, "sync 'loose': must be one of none, my, all"),
        ({"sync": ("all",)}, "sync '': must be one of none"),
        ({"protocol": "fast"}, "protocol 'fast': must be one of size"),
        ({"access": "put", "protocol": "eager"}, "protocol 'eager' applies to messages, not to access 'put'"),
        ({"count": 0}, "count = 0, under_way = 0"),
    ],
)
def test_bad_flavours_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        collective("bcast", ranks=4, bytes=8, **options)


def test_bad_schedules_are_refused() -> None:
    wild = isthmus.Schedule.of(2, rank=[0, 1], kind=["send", "recv"], peer=[1, -1], amount=10)
    with pytest.raises(InvalidInput, match="rank 1, operation 0 receives from any rank"):
        wild.one_sided("put")
    lonely = isthmus.Schedule.of(2, rank=[0], kind=["send"], peer=[1], amount=10)
    with pytest.raises(InvalidInput, match="rank 0, operation 0: no rank receives its message"):
        lonely.one_sided("get")
    short = isthmus.Schedule.of(2, rank=[0, 1], kind=["send", "recv"], peer=[1, 0], amount=[10, 9])
    with pytest.raises(InvalidInput, match="rank 0 sends 10 bytes to rank 1, which receives 9"):
        short.one_sided("put")
    with pytest.raises(InvalidInput, match="together: give at least one schedule"):
        together([])
    with pytest.raises(InvalidInput, match="schedules of 2 and of 3 ranks"):
        together([lonely, collective("barrier", ranks=3)])
