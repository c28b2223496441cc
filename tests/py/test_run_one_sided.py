"""Puts and gets of schedules as messages: what they do is proved, carried out by MPI, and shown as it was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.running.carried import carried
from isthmus.schedule.schedule import OpKind, Schedule
from isthmus.simulation.timeline import Timeline
from test_prove_all import ALL, KINDS, cases
from test_run import LAUNCHERS, launch

FLAVOURS = ({"access": "put"}, {"access": "get"}, {"access": "put", "sync": "my"})


def proof(found: Schedule, contract: isthmus.Contract) -> isthmus.Proof:
    """With a put of nothing: then the prover orders operations of a rank by messages of others, too."""
    nothing = Schedule.of(found.ranks, rank=0, kind=["put"], amount=0, peer=found.ranks - 1)
    return isthmus.prove(isthmus.together([found, nothing]), contract)


def as_messages(schedule: Schedule) -> Schedule:
    found = Schedule(schedule.arrays.two_sided()[0])
    assert not np.isin(found.ops["kind"], (OpKind.put, OpKind.get)).any()
    found.validate()
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_proved_as_before(kind: str) -> None:
    """The messages fulfil the contract of the puts and gets, and the simulation comes to its end."""
    for name in [name for of, name in ALL if of == kind]:
        case = [case for case in cases(kind, name, 6) if not case.options][-1]
        contract = isthmus.Contract.collective(kind, **case.arguments)
        for flavour in FLAVOURS:
            given = isthmus.collective(kind, algorithm=name, buffers=True, **case.arguments, **flavour)
            found = as_messages(given)
            assert proof(found, contract), (name, flavour)
            assert isthmus.simulate(found, "torus:4x4").deadlock is None


#: Rank 0 tells rank 1 behind a put, which needs not be over; rank 1 answers with what it got. Whose message that is,
#: rank 1 may leave open.
BEHIND = """num_ranks 2
rank 0 {{
buffer a 100
buffer b 100
l1: put 100b to 1 at a into b
l2: send 0b to 1 tag 7
l2 irequires l1
l3: recv 100b from 1 into b tag 8
}}
rank 1 {{
buffer a 100
buffer b 100
l1: recv 0b from {source} tag 7
l2: send 100b to 0 at b tag 8
l2 requires l1
}}
"""


@pytest.mark.parametrize("source", ["0", "-1"])
def test_a_message_behind_a_put(source: str, tmp_path: Path) -> None:
    (tmp_path / "behind.goal").write_text(BEHIND.format(source=source))
    given = isthmus.read(tmp_path / "behind.goal")
    assert isinstance(given, Schedule)
    found = as_messages(given)
    # Where the receive is known, its dependant waits for the bytes; elsewhere the message waits until they are there.
    put, there = 0, 2
    told = next(i for i in range(len(found)) if found.ops["tag"][i] == 7 and found.ops["kind"][i] == OpKind.send)
    needs = found.dependencies()
    edges = set(zip(needs.op.tolist(), needs.on.tolist(), needs.start.tolist(), strict=True))
    first = int(found.op_first[1])
    assert ((told, put, True) in edges) == (source == "0") or (told, there, False) in edges
    assert ((told, there, False) in edges) == (source == "-1")
    assert ((first + 1, first + 3, False) in edges) == (source == "0")
    ran = isthmus.run(given, launch=launch(2), repetitions=2)
    assert ran.schedule == given


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("access", ["put", "get"])
def test_carried_out(access: str, name: str, tmp_path: Path) -> None:
    """Every operation has its times, in the order of its dependencies, also a put or get; all bytes are there."""
    for ranks, size, call, check in ((2, 64, "allreduce", False), (3, 200_000, "allgather", True)):
        given = isthmus.collective(call, ranks=ranks, bytes=size, access=access, buffers=True)
        assert (given.ops["kind"] == getattr(OpKind, access)).any()
        ran = isthmus.run(given, launch=launch(ranks, name), repetitions=2, check=check)
        assert ran.schedule == given
        assert ((ran.end_ps >= ran.start_ps) & (ran.start_ps >= 0)).all()
        needs = given.dependencies()
        before = np.where(needs.start, ran.start_ps[needs.on], ran.end_ps[needs.on])
        assert (ran.start_ps[needs.op] >= before).all()
        sends = given.ops["kind"] == OpKind.send
        assert (given.ops["kind"][ran.partner[sends]] == OpKind.recv).all()
        assert (ran.partner[np.isin(given.ops["kind"], (OpKind.put, OpKind.get))] == -1).all()
        predicted = isthmus.simulate(given, "mesh:4", record="ops")
        assert (ran.messages, ran.bytes) == (predicted.messages, predicted.bytes)
    ran.save(tmp_path / "ran.h5")
    again = isthmus.read(tmp_path / "ran.h5")
    assert isinstance(again, Timeline)
    assert again == ran
    assert str(isthmus.compare(ran, predicted))


def test_over_mpi_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_TRANSPORT", "mpi")
    given = isthmus.collective("alltoall", ranks=3, bytes=5000, access="put", buffers=True)
    ran = isthmus.run(given, launch=f"{launch(3)} -x ISTHMUS_TRANSPORT", repetitions=2, check=True)
    assert ran.schedule == given


def test_a_target_that_computes() -> None:
    """A put is done when its bytes have landed, which takes the target's help."""
    given = Schedule.of(2, rank=[0, 1], kind=["put", "calc"], amount=[8, 0], seconds=[0, 0.05], peer=[1, 0])
    ran = isthmus.run(given, launch=launch(2), repetitions=1)
    assert ran.ran is not None
    assert ran.end_ps[1] - ran.start_ps[1] >= 0.05e12


def test_without_and_wrong() -> None:
    plain = isthmus.collective("allreduce", ranks=3, bytes=1000)
    assert carried(plain).schedule is plain
    lonely = Schedule.of(2, rank=[0, 0], kind=["put", "recv"], amount=8, peer=1)
    with pytest.raises(InvalidInput, match="rank 0"):
        isthmus.run(lonely, launch=launch(2))
    many = Schedule.of(
        2, rank=[0, 0, 1], kind=["put", "send", "recv"], amount=8, peer=[1, 1, 0], comm=[0, 2**32 - 2, 2**32 - 2]
    )
    with pytest.raises(InvalidInput, match="communicator 4294967294: puts and gets need three more"):
        isthmus.run(many, launch=launch(2))
