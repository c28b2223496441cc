"""Sends by rendezvous: when their messages begin, whose receives they take, and what that is worth elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.schedule.schedule import OpKind
from oracles import loggops
from oracles.loggops import ANY, CALC, RECV, SEND, Op, Parameters
from schedule_strategies import level_of, schedule_of

MODELS = ("loggops", "flow", "reserve", "packet")
LARGE = 100_001  # 100 us on the links below
#: One interface and one link in each direction between two nodes: messages meet nobody.
TWO = "ring:4 link=1GB/s hop=100ns per_hop=100ns L=2us o=1us g=0s G=1ns/B S=64KiB cores=2"
ALONE = 1_000_000 + 2_000_000 + 100_000_000 + 1_000_000  # ps: o, L, bytes, o


def simulated(b: isthmus.ProgramBuilder, model: str = "loggops", **more: object) -> isthmus.Timeline:
    return isthmus.simulate(b.build(), isthmus.Machine.parse(TWO), [0, 1], model=model, record="ops", **more)


def ends(t: isthmus.Timeline, kind: OpKind) -> list[int]:
    return t.end_ps[t.schedule.ops["kind"] == kind].tolist()


def starts(t: isthmus.Timeline, kind: OpKind) -> list[int]:
    return t.start_ps[t.schedule.ops["kind"] == kind].tolist()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("sent", "posted"), [(0, 0), (0, 3), (7, 0), (5, 40), (400, 400), (400, 401)])  # us
@pytest.mark.parametrize("blocking", [False, True])
def test_one_message_begins_when_both_are_there(model: str, sent: int, posted: int, blocking: bool) -> None:
    b = isthmus.ProgramBuilder(2)
    b.compute([0, 1], [sent * 1e-6, posted * 1e-6])
    (b.send if blocking else b.isend)(0, 1, LARGE)
    (b.recv if blocking else b.irecv)(1, 0, LARGE)
    b.waitall([0, 1])
    t = simulated(b, model)
    assert t.finish_ps[1] == max(sent, posted) * 1_000_000 + ALONE
    assert t.finish_ps[0] == max(sent, posted) * 1_000_000 + ALONE - 1_000_000
    assert starts(t, OpKind.send) == [max(sent, posted) * 1_000_000]
    assert t.breakdown_ps["late_receiver"].tolist() == [max(posted - sent, 0) * 1_000_000, 0]
    assert sum(int(share.sum()) for share in t.breakdown_ps.values()) == 2 * t.makespan_ps
    assert t.critical_path().end_ps[-1] == t.makespan_ps
    # As LogGOPSim has it, the message was on its way.
    old = simulated(b, receive="loggopsim")
    assert starts(old, OpKind.send) == [sent * 1_000_000]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("sent", "posted"), [(5, 40), (0, 3), (7, 0)])  # us
def test_a_send_waits_from_when_it_stands_aside(model: str, sent: int, posted: int, tmp_path: Path) -> None:
    b = isthmus.ProgramBuilder(2)
    b.compute([0, 1], [sent * 1e-6, posted * 1e-6])
    b.isend(0, 1, LARGE)
    b.compute(0, 1e-6)
    b.irecv(1, 0, LARGE)
    b.waitall([0, 1])
    t = simulated(b, model)
    t.save(tmp_path / "t.h5")
    for each in (t, isthmus.read(tmp_path / "t.h5")):
        bars = each.waits([0])
        begins, late = max(sent, posted) * 1_000_000, posted > sent
        # Without a receive from its being issued, else from the end of its overhead.
        assert bars.begin.tolist() == [sent * 1_000_000 if late else begins + 1_000_000]
        assert bars.end.tolist() == [t.finish_ps[0]]
        send = each.schedule.ops["kind"] == OpKind.send
        assert each.start_ps[send].tolist() == [begins]
        assert each.parked_ps.sum() == max(posted - sent, 0) * 1_000_000
        assert each.parked_ps.shape == ((len(each.schedule),) if late else (0,))
        assert each == t


@pytest.mark.parametrize("model", MODELS)
def test_the_path_leads_from_the_receiver_to_the_sender(model: str) -> None:
    b = isthmus.ProgramBuilder(2)
    b.compute(1, 50e-6)
    b.send(0, 1, LARGE)
    b.recv(1, 0, LARGE)
    t = simulated(b, model)
    path = t.critical_path()
    assert (path.rank[0], path.begin_ps[0], path.end_ps[0], path.via[0]) == (1, 0, 50_000_000, "compute")
    assert (path.begin_ps[1:] == path.end_ps[:-1]).all()
    assert path.end_ps[-1] == t.makespan_ps == 50_000_000 + ALONE
    if model == "loggops":
        found = t.sensitivities()
        assert [found[name].slope for name in ("L", "o", "G")] == [1, 2, LARGE - 1]
        assert found["compute"].slope == pytest.approx(50e-6)


@pytest.mark.parametrize("model", MODELS)
def test_computation_goes_on_while_a_send_stands_aside(model: str) -> None:
    """Isend, computation, Wait: the processor begins with the message after what it does."""
    b = isthmus.ProgramBuilder(2)
    b.isend(0, 1, LARGE)
    b.compute([0, 1], [30e-6, 10e-6])
    b.recv(1, 0, LARGE)
    b.waitall([0, 1])
    t = simulated(b, model)
    assert t.finish_ps[1] == 30_000_000 + ALONE
    assert starts(t, OpKind.calc) == [0, 0]


@pytest.mark.parametrize("model", MODELS)
def test_an_early_message_takes_no_other_send_s_receive(model: str) -> None:
    """The first send waits; the second one, eager and of the same tag, comes before it and takes the second receive."""
    b = isthmus.ProgramBuilder(2)
    b.isend(0, 1, LARGE)
    b.isend(0, 1, 8)
    b.compute(1, 50e-6)
    b.irecv(1, 0, LARGE)
    b.irecv(1, 0, 8)
    b.waitall([0, 1])
    t = simulated(b, model)
    ops = t.schedule.ops
    for send in np.flatnonzero(ops["kind"] == OpKind.send):
        assert ops["amount"][send] == ops["amount"][t.partner[send]]
    large, small = np.flatnonzero(ops["kind"] == OpKind.recv)
    assert t.end_ps[large] == 50_000_000 + ALONE
    # It had come long before, and is handled after the computation.
    assert t.end_ps[small] == 51_000_000


@pytest.mark.parametrize("model", MODELS)
def test_three_sends_of_one_tag_begin_each_with_its_own_receive(model: str) -> None:
    b = isthmus.ProgramBuilder(2)
    for _ in range(3):
        b.isend(0, 1, LARGE)
    for _ in range(3):
        b.compute(1, 500e-6)
        b.irecv(1, 0, LARGE)
    b.waitall([0, 1])
    t = simulated(b, model)
    # The receiver handles each message after its next computation, for 1 us.
    assert starts(t, OpKind.send) == [500_000_000, 1_000_000_000, 1_501_000_000]
    assert ends(t, OpKind.recv) == [1_001_000_000, 1_502_000_000, 1_501_000_000 + ALONE]


@pytest.mark.parametrize("model", MODELS)
def test_to_ranks_with_wildcards_messages_begin_when_they_are_sent(model: str) -> None:
    """All messages to them, those that a receive names among them."""
    level = Parameters(L=2000, o_send=1000, o_recv=1000, G=1, S=50)
    late = [CALC, 50_000]
    ranks = [
        [Op(SEND, 10_001, 1, tag=0), Op(SEND, 10_001, 1, tag=1)],
        [Op(*late), Op(RECV, 10_001, ANY, tag=0, after=[0]), Op(RECV, 10_001, 0, tag=1, after=[0])],
    ]
    t = isthmus.simulate(schedule_of(ranks), level_of(level), record="ops")
    assert t.start_ps[:2].tolist() == [0, 10_000]
    ranks[1][1] = Op(RECV, 10_001, 0, tag=0, after=[0])
    t = isthmus.simulate(schedule_of(ranks), level_of(level), record="ops")
    assert t.start_ps[:2].tolist() == [50_000, 60_000]
    machine = isthmus.Machine.parse(TWO)
    t = isthmus.simulate(schedule_of(ranks), machine, [0, 1], record="ops", model=model)
    assert t.deadlock is None


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ["send first", "receive first"])
def test_exchanges_that_block_in_waitall_only_come_to_their_end(model: str, order: str) -> None:
    b = isthmus.ProgramBuilder(2)
    for _ in range(3):
        for post in (b.isend, b.irecv) if order == "send first" else (b.irecv, b.isend):
            post(None, [1, 0], LARGE)
        b.waitall(None)
    t = simulated(b, model)
    assert t.deadlock is None
    # Either direction has links and interfaces of its own. The first rank that sends finds no receive and goes on; the
    # second one finds one, and posts its own after the overhead of its send.
    assert t.makespan_ps == 3 * (ALONE + (1_000_000 if order == "send first" else 0))


@pytest.mark.parametrize("model", MODELS)
def test_sends_that_both_block_first_are_a_deadlock(model: str) -> None:
    def both(size: int) -> isthmus.Timeline:
        b = isthmus.ProgramBuilder(2)
        b.send(None, [1, 0], size)
        b.recv(None, [1, 0], size)
        return simulated(b, model)

    stuck = both(65_537)
    assert stuck.makespan_ps == 0
    assert [w.rank for w in stuck.deadlock.cycle] in ([0, 1], [1, 0])
    assert "rank 0 waits for rank 1 to receive (send, operation 0, tag 0)" in str(stuck.deadlock)
    # Up to S they are eager.
    assert both(65_536).deadlock is None


@pytest.mark.parametrize("model", ["flow", "reserve", "packet"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_of_two_ranks_take_in_all_models_what_the_oracle_says(model: str, seed: int) -> None:
    """Two nodes have a link each way and messages follow each other on it: nobody shares."""
    rng = np.random.default_rng(seed)
    p = Parameters(L=2_000_000, o_send=1_000_000, o_recv=1_000_000, g=0, G=1000, S=int(rng.choice([0, 5_000, 20_000])))
    programs: list[list[Op]] = [[], []]
    for _ in range(30):
        a = int(rng.integers(2))
        tag, size = int(rng.integers(2)), int(rng.integers(1, 40_000))
        programs[a].append(Op(SEND, size, 1 - a, tag=tag))
        programs[1 - a].append(Op(RECV, size, a, tag=tag))
        programs[a].append(Op(CALC, int(rng.integers(1, 40_000_000))))
    for program in programs:
        # Sends and receives go on once they have begun, computation waits for what comes some operations before it.
        for i, op in enumerate(program):
            if op.kind == CALC:
                op.after = [j for j in (i - 7,) if j >= 0]
            else:
                op.after = [j for j in range(i - 1, -1, -1) if program[j].kind == CALC][:1]
    slow = loggops.simulate(programs, p)
    assert not slow.stuck
    machine = isthmus.Machine.parse(
        f"ring:4 link=1GB/s hop=100ns per_hop=100ns L=2us o=1us g=0s G=1ns/B S={int(p.S)} cores=1"
    )
    t = isthmus.simulate(schedule_of(programs), machine, [0, 1], model=model, record="ops")
    assert t.finish_ps.tolist() == slow.finish
    assert t.start_ps.tolist() == [slow.start[r, i] for r in range(2) for i in range(len(programs[r]))]
    assert sum(int(share.sum()) for share in t.breakdown_ps.values()) == 2 * t.makespan_ps
    path = t.critical_path()
    assert (path.begin_ps[1:] == path.end_ps[:-1]).all()
    assert (path.begin_ps[0], path.end_ps[-1]) == (0, t.makespan_ps)


@pytest.mark.parametrize("model", MODELS)
def test_iterations_that_repeat_are_left_out_with_the_same_result(model: str) -> None:
    rank = np.arange(16)
    b = isthmus.ProgramBuilder(16)
    for _ in range(200):
        b.isend(None, (rank + 1) % 16, LARGE)
        b.compute(None, 20e-6 + rank % 3 * 5e-6)
        b.irecv(None, (rank - 1) % 16, LARGE)
        b.compute(None, 10e-6)
        b.waitall(None)
    machine = isthmus.Machine.parse("ring:16 link=1GB/s hop=50ns cores=1")
    loop = isthmus.lower(b.build())
    t = isthmus.simulate(loop, machine, model=model, record="ops")
    assert t.skipped_iterations > 0
    assert t == isthmus.simulate(loop, machine, model=model, record="ops", skip=False)


@pytest.mark.parametrize("model", ["flow", "reserve", "packet"])
def test_a_sender_waits_for_bytes_that_others_delay(model: str) -> None:
    """Two messages share a link: what either send frees begins when its last byte has arrived."""
    m = isthmus.Machine.parse("ring:8 link=1GB/s hop=100ns per_hop=100ns L=100ns o=0s g=0s G=0 S=0 cores=1")
    b = isthmus.ProgramBuilder(8)
    b.isend(0, 2, 1_000_001)
    b.isend(1, 3, 1_000_001)
    b.irecv(2, 0, 1_000_001)
    b.irecv(3, 1, 1_000_001)
    b.waitall([0, 1, 2, 3])
    b.compute([0, 1], 1e-6)
    t = isthmus.simulate(b.build(), m, model=model, record="ops")
    received = t.finish_ps[2:4]
    assert received.max() >= 2_000_000_000
    assert np.array_equal(t.finish_ps[:2], received + 1_000_000)
