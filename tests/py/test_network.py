"""Messages that share links: closed forms, agreement of the models where nothing is shared, sums that add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus

MODELS = ("flow", "reserve", "packet")
RING = "ring:16 link=1GB/s hop=50ns cores=1"


def machine(spec: str = RING) -> isthmus.Machine:
    return isthmus.Machine.parse(spec)


def shift(ranks: int, by: int, size: int, m: isthmus.Machine) -> isthmus.ProgramBuilder:
    """Every rank sends to the one `by` places on."""
    b = isthmus.ProgramBuilder(ranks)
    rank = np.arange(ranks)
    got = b.irecv(None, (rank - by) % ranks, size)
    b.isend(None, (rank + by) % ranks, size)
    b.waitall(None)
    assert len(got) == ranks
    return b


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("spec", [RING, "torus:4x4x4 link=1GB/s hop=50ns cores=1", "dragonfly-small", "fattree-k4"])
def test_nothing_is_lost_where_nobody_meets(model: str, spec: str) -> None:
    m = isthmus.load(spec)
    b = isthmus.ProgramBuilder(2)
    for size in (0, 1, 2, 1000, 65535, 65536, 1_000_000):
        b.compute(None, [3e-6, 1e-6])
        b.send(0, 1, size)
        b.recv(1, 0, size)
        b.send(1, 0, size)
        b.recv(0, 1, size)
    nodes = [0, m.nodes - 1]
    alone = isthmus.simulate(b.build(), m, nodes, record="ops")
    other = isthmus.simulate(b.build(), m, nodes, record="ops", model=model)
    slower = min(c[1] for c in m.topology.link_classes) * m.level.network.G < 1
    if slower:
        pytest.skip("links slower than the interfaces")
    assert np.array_equal(alone.finish_ps, other.finish_ps)
    assert np.array_equal(alone.start_ps, other.start_ps)
    assert np.array_equal(alone.end_ps, other.end_ps)
    assert other.lost_in_all_ps == 0
    assert not other.breakdown_ps["contention"].any()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("late", [0, 500_000, 5_000_000])  # ns; the message takes 1 ms
@pytest.mark.parametrize("eager", [False, True])
def test_messages_to_a_late_receiver_begin_when_they_are_asked_for(model: str, late: int, eager: bool) -> None:
    largest = "2MB" if eager else "0"
    m = isthmus.Machine.parse(
        f"ring:4 link=1GB/s hop=100ns per_hop=100ns L=100ns o=1us g=0s G=1ns/B S={largest} cores=1"
    )
    b = isthmus.ProgramBuilder(4)
    b.isend(0, 1, 1_000_001)
    b.compute(1, late * 1e-9)
    b.irecv(1, 0, 1_000_001)
    b.waitall(None)
    alone = isthmus.simulate(b.build(), m, record="ops")
    other = isthmus.simulate(b.build(), m, record="ops", model=model)
    assert np.array_equal(alone.finish_ps, other.finish_ps)
    assert np.array_equal(alone.end_ps, other.end_ps)
    # Eager: o, L, the bytes and o, or the processor is busy until the message has long been there; the sender has o.
    if eager:
        assert other.finish_ps[1] == max(1_000_000 + 100_000 + 1_000_000_000 + 1_000_000, late * 1000 + 1_000_000)
        assert other.finish_ps[0] == 1_000_000
        return
    # Rendezvous: all of it from the moment that the receive is posted, and the sender waits for the last byte.
    assert other.finish_ps[1] == late * 1000 + 1_000_000 + 100_000 + 1_000_000_000 + 1_000_000
    assert other.finish_ps[0] == late * 1000 + 1_000_000 + 100_000 + 1_000_000_000
    assert other.start_ps[0] == late * 1000


@pytest.mark.parametrize("by", [1, 2, 3, 5])
def test_flows_round_a_ring_share_its_links(by: int) -> None:
    # All messages go the same way round: every link carries `by` of them all the time.
    m, size = machine(), 1_000_001
    t = isthmus.simulate(shift(16, by, size, m).build(), m, np.arange(16), model="flow", record="ops")
    level = m.level.network
    alone = (size - 1) * level.G
    assert t.lost_ps.max() == pytest.approx((by - 1) * alone * 1e12, rel=1e-9)
    assert t.lost_ps[t.lost_ps > 0].min(initial=t.lost_ps.max()) == t.lost_ps.max()
    used = t.traffic.bytes[t.traffic.bytes > 0]
    assert len(used) == 16
    assert np.allclose(used, by * (size - 1))
    assert t.traffic.utilisation.max() <= 1


def test_reservation_serves_one_after_the_other() -> None:
    # Ranks 0 and 1 send to rank 2 over one link; 1 is closer. The link carries first the one and then the other.
    m, size = machine(), 1_000_001
    b = isthmus.ProgramBuilder(4)
    b.isend(0, 2, size)
    b.isend(1, 3, size)
    b.recv(2, 0, size)
    b.recv(3, 1, size)
    b.waitall([0, 1])
    t = isthmus.simulate(b.build(), m, np.arange(4), model="reserve", record="ops")
    alone = round((size - 1) * m.level.network.G * 1e12)
    assert sorted(t.lost_ps[t.lost_ps > 0]) == [alone]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_add_up_and_the_path_is_the_makespan(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(MODELS))
    routing = data.draw(st.sampled_from(["minimal", "random", "valiant", "adaptive"]))
    m = isthmus.load(data.draw(st.sampled_from(["torus:3x3x2 link=1GB/s hop=50ns cores=2", "dragonfly-small"])))
    ranks = 12
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(data.draw(st.integers(1, 3))):
        order = np.array(data.draw(st.permutations(range(ranks))))
        size = data.draw(st.sampled_from([8, 5_000, 70_000, 300_000]))
        back = np.argsort(order)
        b.irecv(None, back, size)
        b.isend(None, order, size)
        b.compute(None, np.arange(ranks) * 1e-6)
        b.waitall(None)
    p = b.build()
    t = isthmus.simulate(p, m, record="ops", model=model, routing=routing, seed=3)
    assert t.deadlock is None
    total = sum(int(v.sum()) for v in t.breakdown_ps.values())
    assert total == ranks * t.makespan_ps
    path = t.critical_path()
    assert sum(path.shares_ps.values()) == t.makespan_ps
    again = isthmus.simulate(p, m, record="ops", model=model, routing=routing, seed=3)
    assert np.array_equal(again.end_ps, t.end_ps)
    assert np.array_equal(again.lost_ps, t.lost_ps)
    assert t.lost_in_all_ps == t.lost_ps.sum()


def test_traffic_over_time_adds_up(tmp_path: object) -> None:
    m = machine()
    program = shift(16, 3, 200_000, m).build()
    for model in MODELS:
        t = isthmus.simulate(program, m, np.arange(16), model=model, record="ops", slices=50)
        assert t.traffic.slices.sum(axis=1) == pytest.approx(t.traffic.bytes, rel=1e-3)
        assert t.traffic.over_time().max() <= 1.001
        hot = t.traffic.hottest(3)
        assert hot[0].utilisation == t.traffic.utilisation.max()
        assert len(t.traffic.messages(hot[0].link)) == 3
        path = f"{tmp_path}/{model}.h5"
        t.save(path)
        back = isthmus.read(path)
        assert back == t
        assert back.model == model
        assert np.array_equal(back.traffic.slices, t.traffic.slices)


def test_what_a_network_cannot_do_is_said() -> None:
    m = machine()
    program = shift(16, 1, 100, m).build()
    with pytest.raises(isthmus.InvalidInput, match="messages can share links only on a machine"):
        isthmus.simulate(program, m.level.network, model="flow")
    with pytest.raises(isthmus.InvalidInput, match="resolution = 2"):
        isthmus.simulate(program, "torus-4x4x4", model="flow", resolution=2)
    with pytest.raises(isthmus.InvalidInput, match="routing = 'shortest'"):
        isthmus.simulate(program, m, model="flow", routing="shortest")
    t = isthmus.simulate(program, m, model="flow", record="ops")
    with pytest.raises(isthmus.Unsupported, match="does not depend linearly"):
        t.sensitivities()
    with pytest.raises(isthmus.InvalidInput, match="slices=100"):
        t.traffic.over_time()


def test_resolution_lets_flows_end_together() -> None:
    """By hand: over one link of 1 GB/s, 1.000 and 1.005 MB at once; half the rate until the shorter one ends."""
    machine = isthmus.Machine.parse("ring:8 link=1GB/s hop=0s L=0s o=0s g=0s G=0 S=1TB cores=4")
    b = isthmus.ProgramBuilder(6)
    b.compute([2], 1.995e-3)
    b.send([0, 1, 2], [3, 4, 5], np.array([1_000_000, 1_005_000, 1_000_000]) + 1)
    b.recv([3, 4, 5], [0, 1, 2], np.array([1_000_000, 1_005_000, 1_000_000]) + 1)
    where = np.array([0, 0, 0, 1, 1, 1])
    exact = isthmus.simulate(b.build(), machine, where, model="flow", resolution=0)
    # After 1.995 ms each of the first two has sent 0.9975 MB; then three share the link.
    assert exact.finish[3] == pytest.approx(1.995e-3 + 3 * (1e6 - 0.9975e6) / 1e9, rel=1e-9)
    rest = (1_005_000 - 0.9975e6) - (1e6 - 0.9975e6)
    assert exact.finish[4] == pytest.approx(exact.finish[3] + 2 * rest / 1e9, rel=1e-9)
    assert exact.makespan == pytest.approx(3.005e-3, rel=1e-9)
    coarse = isthmus.simulate(b.build(), machine, where, model="flow", resolution=0.01)
    assert coarse.finish[3] == pytest.approx(exact.finish[3], rel=0.01)
    assert coarse.makespan < exact.makespan
