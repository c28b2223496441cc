"""The verb run: schedules and programs carried out by ranks of MPI, as processes of this node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.schedule.schedule import OpKind

LAUNCHERS = ["mpirun", "mpirun.mpich"]


def launch(ranks: int, name: str = "mpirun") -> str:
    """A launcher that starts more ranks than there are cores."""
    return f"{name} -n {ranks}" + (" --oversubscribe" if name == "mpirun" else "")


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_collectives_are_carried_out_as_they_are_written(ranks: int, name: str, tmp_path: Path) -> None:
    schedule = isthmus.collective("allreduce", ranks=ranks, bytes=24000, algorithm="ring")
    ran = isthmus.run(schedule, launch=launch(ranks, name), repetitions=3, check=True)
    assert ran.source == "measured"
    assert ran.schedule == schedule
    kind = schedule.ops["kind"]
    assert ((ran.end_ps >= ran.start_ps) & (ran.start_ps >= 0)).all()
    # Nothing begins before all that it waits for, no message arrives before it is sent, and ranks end with their last.
    needs = schedule.dependencies()
    before = np.where(needs.start, ran.start_ps[needs.on], ran.end_ps[needs.on])
    assert (ran.start_ps[needs.op] >= before).all()
    sends = kind == OpKind.send
    assert (ran.end_ps[ran.partner[sends]] >= ran.start_ps[sends]).all()
    for rank in range(ranks):
        own = slice(int(schedule.op_first[rank]), int(schedule.op_first[rank + 1]))
        assert ran.finish_ps[rank] >= ran.end_ps[own].max(initial=0)
    assert (ran._breakdown >= 0).all()
    assert (ran._breakdown.sum(axis=1) == ran.makespan_ps).all()
    ran.save(tmp_path / "ran.h5")
    again = isthmus.read(tmp_path / "ran.h5")
    assert again == ran
    assert isinstance(again, isthmus.Timeline)
    assert again.ran == ran.ran
    assert "measured" in str(again)


def test_clocks_that_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ranks are taken to have clocks of their own, messages still arrive after they were sent."""
    monkeypatch.setenv("ISTHMUS_CLOCKS", "measured")
    schedule = isthmus.collective("allgather", ranks=3, bytes=3000, algorithm="ring")
    ran = isthmus.run(schedule, launch=f"{launch(3)} -x ISTHMUS_CLOCKS", repetitions=2)
    sends = schedule.ops["kind"] == OpKind.send
    # It is one clock: what it is found to differ by is who waited for a core meanwhile.
    assert (ran.end_ps[ran.partner[sends]] >= ran.start_ps[sends] - 200_000_000_000).all()


def test_computations_take_their_time_or_that_of_a_factor() -> None:
    schedule = isthmus.Schedule.of(
        2,
        rank=[0, 0, 1],
        kind=["calc", "send", "recv"],
        amount=[0, 8, 8],
        seconds=[0.2, 0, 0],
        peer=[0, 1, 0],
        op=1,
        on=0,
    )
    for factor, least in ((1.0, 0.2), (2.0, 0.4)):
        ran = isthmus.run(schedule, launch=launch(2), repetitions=1, compute=factor)
        assert ran.end_ps[0] - ran.start_ps[0] >= least * 1e12
        assert ran.end_ps[2] >= ran.end_ps[0]
        assert ran.breakdown["compute"][0] == pytest.approx((ran.end_ps[0] - ran.start_ps[0]) * 1e-12)
    without = isthmus.run(schedule, launch=launch(2), repetitions=5, compute=0)
    assert without.ran is not None
    assert without.ran.least < 0.2


def test_schedules_that_cannot_be_carried_out() -> None:
    waits = isthmus.Schedule.of(
        2, rank=[0, 0, 1, 1], kind=["recv", "send"] * 2, amount=8, peer=[1, 1, 0, 0], op=[1, 3], on=[0, 2]
    )
    with pytest.raises(InvalidInput, match=r"^the schedule deadlocks: rank 0 waits at operation 0 \(recv\)"):
        isthmus.run(waits)
    with pytest.raises(InvalidInput, match="it starts 3 ranks, and the schedule has 2"):
        isthmus.run(isthmus.collective("barrier", ranks=2), launch="mpirun -n 3")


def test_ranks_that_send_before_they_receive() -> None:
    """A schedule may count on the memory between ranks, however often one copy of the sender's memory were faster."""
    rounds = 600
    ops = 2 * rounds
    chain = np.arange(1, ops)
    schedule = isthmus.Schedule.of(
        2,
        rank=np.repeat([0, 1], ops),
        kind=["send", "recv"] * ops,
        amount=32 << 10,
        peer=np.repeat([1, 0], ops),
        op=np.concatenate([chain, chain + ops]),
        on=np.concatenate([chain, chain + ops]) - 1,
    )
    assert isthmus.run(schedule, launch=launch(2), repetitions=2, wait=60).ran.repetitions == 2
