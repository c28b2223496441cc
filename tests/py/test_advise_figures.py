"""Advice on programs of which every figure is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.advice.advice import TIME_CLASSES, Prediction
from isthmus.errors import InvalidInput, Unsupported

US = 1e-6


def machine(L: float = 0, o: float = 0, g: float = 0, G: float = 0, nodes: int = 4, cores: int = 1) -> isthmus.Machine:
    """Nodes of one core; times in microseconds, G in nanoseconds per byte. Every message is eager."""
    return isthmus.load(f"ring:{nodes} cores={cores} hop=0s L={L}us o={o}us g={g}us G={G}ns/B S=1GB name=plain")


def one_message(bytes: int = 1001) -> isthmus.Program:
    b = isthmus.ProgramBuilder(2)
    with b.location("main.c:1"):
        b.send(0, 1, bytes)
    with b.location("main.c:2"):
        b.recv(1, 0, bytes)
    return b.build()


def uneven(compute: list[float]) -> isthmus.Program:
    b = isthmus.ProgramBuilder(len(compute))
    with b.location("solve.c:7"):
        b.compute(None, compute)
    with b.location("solve.c:9"):
        b.barrier(None)
    return b.build()


def saving(p: Prediction, name: str) -> float:
    found = p.what_if(name)
    assert found is not None
    return found.saving


def test_one_message() -> None:
    # o + L + o + 1000 G = 1 + 10 + 1 + 2 us.
    advice = isthmus.advise(one_message(), machine(L=10, o=1, G=2))
    (p,) = advice.predictions
    assert p.time == pytest.approx(14 * US)
    assert p.path == pytest.approx(
        {"compute": 0, "overhead": 2 * US, "latency": 10 * US, "bandwidth": 2 * US, "contention": 0, "noise": 0}
    )
    assert saving(p, "latency") == pytest.approx(10 * US)
    assert saving(p, "bandwidth") == pytest.approx(2 * US)
    assert saving(p, "overhead") == pytest.approx(2 * US)
    assert saving(p, "network") == pytest.approx(14 * US)
    # Each rank has one overhead; the receiver waits for the sender for no time, and for the wire until 11 us.
    assert saving(p, "overlap") == pytest.approx(13 * US)
    assert saving(p, "work") == pytest.approx(13 * US)
    mean = p.mean
    assert mean["overhead"] == pytest.approx(1 * US)
    assert mean["bandwidth"] == pytest.approx(1 * US)
    assert mean["latency"] == pytest.approx(5.5 * US)
    assert mean["idle"] == pytest.approx(6.5 * US)
    assert p.dominant == "network"
    assert "largest loss: network (latency)" in str(advice)


def test_calls_pairs_and_sizes_of_one_message() -> None:
    (p,) = isthmus.advise(one_message(), machine(L=10, o=1, G=2)).predictions
    (send, recv) = sorted(p.calls, key=lambda c: c.location)
    assert (send.name, send.location, send.calls, send.messages, send.bytes) == ("send", "main.c:1", 1, 1, 1001)
    assert (recv.name, recv.location, recv.calls, recv.messages, recv.bytes) == ("recv", "main.c:2", 1, 0, 0)
    # The message is on its way while the receiver is in its call.
    assert send.path == 0
    assert recv.path == pytest.approx(14 * US)
    assert send.busy == pytest.approx(0.5 * US)
    assert recv.busy == pytest.approx(0.5 * US)
    assert (send.waiting, recv.waiting) == pytest.approx((0, 6.5 * US))  # for 11 us, and for its bytes
    (pair,) = p.pairs
    assert (pair.sender, pair.receiver, pair.messages, pair.bytes) == (0, 1, 1, 1001)
    assert pair.path == pytest.approx(14 * US)
    (size,) = p.sizes
    assert (size.low, size.high, size.messages, size.bytes) == (1001, 1001, 1, 1001)
    assert size.path == pytest.approx(14 * US)


def test_nonblocking_receive_waits_in_its_wait() -> None:
    b = isthmus.ProgramBuilder(2)
    with b.location("post"):
        r = b.irecv(1, 0, 8)
    b.compute(0, 20 * US)
    b.send(0, 1, 8)
    with b.location("wait"):
        b.wait(1, r)
    (p,) = isthmus.advise(b.build(), machine(L=10, o=1)).predictions
    calls = {c.location: c for c in p.calls if c.location}
    assert "post" not in calls or calls["post"].path == calls["post"].waiting == 0
    # 20 us until it is sent, 11 us until it arrives; the mean of two ranks.
    assert calls["wait"].waiting == pytest.approx(15.5 * US)
    assert calls["wait"].path == pytest.approx(12 * US)
    assert p.mean["waiting"] == pytest.approx(10 * US)
    assert p.mean["synchronisation"] == 0


def test_imbalance_only() -> None:
    advice = isthmus.advise(uneven([1e-3, 3e-3, 1e-3, 3e-3]), machine())
    (p,) = advice.predictions
    assert p.time == pytest.approx(3e-3)
    e = p.efficiency
    assert (e.load_balance, e.serialisation, e.transfer) == pytest.approx((2 / 3, 1, 1))
    assert (e.communication, e.parallel) == pytest.approx((1, 2 / 3))
    assert p.path is not None
    assert p.path["compute"] == pytest.approx(3e-3)
    assert p.beyond == pytest.approx(1e-3)
    assert saving(p, "balance") == pytest.approx(1e-3)
    assert saving(p, "synchronisation") == pytest.approx(1e-3)
    assert saving(p, "overlap") == 0
    assert p.mean["synchronisation"] == pytest.approx(1e-3)
    assert p.mean["waiting"] == pytest.approx(0)
    assert all(s.none and set(s.tolerance.values()) == {None} for s in p.sensitivities)
    assert p.dominant == "imbalance"
    assert advice.sentences[0].topic == "balance"
    assert advice.sentences[0].gain == pytest.approx(1e-3)
    assert "Rank 1 computes 1.5 times the mean (3 ms against 2 ms)" in advice.sentences[0].text
    assert "100 % of the critical path" in advice.sentences[0].text


def test_balance_is_between_synchronisations() -> None:
    """The one rank computes first and the other after the barrier: in total they are even, but not between."""
    b = isthmus.ProgramBuilder(2)
    b.compute(None, [1e-3, 3e-3])
    b.barrier(None)
    b.compute(None, [3e-3, 1e-3])
    b.barrier(None)
    advice = isthmus.advise(b.build(), machine())
    (p,) = advice.predictions
    assert p.time == pytest.approx(6e-3)
    assert p.efficiency.load_balance == 1
    assert p.efficiency.serialisation == pytest.approx(4 / 6)
    assert saving(p, "balance") == pytest.approx(2e-3)
    assert "not always the same rank" in next(s.text for s in advice.sentences if s.topic == "balance")
    # Computation is lost where ranks wait for each other, and it is called so everywhere.
    assert p.dominant == "dependencies"
    (overlap,) = advice.bounds
    assert overlap.gain == pytest.approx(2e-3)
    assert "An ideal network alone saves 0 s. Ranks wait another 2 ms" in overlap.text


def on_a_grid(heavy: Any, *, rows: bool, all_of_them: bool) -> isthmus.Program:
    """On 4 x 4 ranks four times 1 ms, 5 ms where ``heavy(row, column, step)``; then sums in rows, and of all ranks, by
    a communicator that is not the world's."""
    b = isthmus.ProgramBuilder(16)
    rank = np.arange(16)
    of_row = np.array([b.communicator(np.arange(4) + 4 * i) for i in range(4)])[rank // 4]
    everyone = b.communicator(np.arange(16))
    for step in range(4):
        b.compute(None, 1e-3 + 4e-3 * heavy(rank // 4, rank % 4, step))
        if rows:
            b.allreduce(None, 8, comm=of_row)
        if all_of_them:
            b.allreduce(None, 8, comm=everyone)
    return b.build()


@pytest.mark.parametrize(
    ("heavy", "rows", "all_of_them", "time", "even"),
    [
        # One rank of each row after the other: the row waits for it, and evenly it computes 2 ms a step.
        (lambda row, column, step: column == step, True, False, 20e-3, 8e-3),
        # One row after the other: no row waits, and nothing can be gained.
        (lambda row, column, step: row == step, True, False, 8e-3, 8e-3),
        # The same where all wait for that row, with sums in rows or without.
        (lambda row, column, step: row == step, True, True, 20e-3, 8e-3),
        (lambda row, column, step: row == step, False, True, 20e-3, 8e-3),
        # Always the same rank: its row waits in every step, the others only at the end of the program.
        (lambda row, column, step: (row == 0) & (column == 0), True, False, 20e-3, 5e-3),
    ],
)
def test_synchronisations_of_any_communicator(
    heavy: Any, rows: bool, all_of_them: bool, time: float, even: float
) -> None:
    (p,) = isthmus.advise(
        on_a_grid(heavy, rows=rows, all_of_them=all_of_them), machine(nodes=16), tune_seconds=0
    ).predictions
    assert p.time == pytest.approx(time)
    assert saving(p, "balance") == pytest.approx(time - even, rel=1e-3, abs=1e-6)


def test_work_is_even_within_rows_and_columns_at_once() -> None:
    """As in a Fourier transform on a grid of ranks: an exchange in rows, one in columns, then all meet. By hand, in ms:

    3+1 1+3     The exchange in the first row is at 3, in the second at 1; in the first column at 4, in the second at 6.
    1+1 1+3     Even between meetings of all only, each would compute 3.5 and keep its proportions, 2.625+0.875 and
                0.875+2.625 in the first row: the second column would still end at 2.625 + 2.625 = 5.25.
    """
    work = np.array([[3e-3, 1e-3], [1e-3, 3e-3], [1e-3, 1e-3], [1e-3, 3e-3]])
    b = isthmus.ProgramBuilder(4)
    row = np.repeat([b.communicator([0, 1]), b.communicator([2, 3])], 2)
    column = np.tile([b.communicator([0, 2]), b.communicator([1, 3])], 2)
    b.compute(None, work[:, 0])
    b.alltoall(None, 8, comm=row)
    b.compute(None, work[:, 1])
    b.alltoall(None, 8, comm=column)
    b.barrier(None)
    (p,) = isthmus.advise(b.build(), machine(nodes=4), tune_seconds=0).predictions
    # All work is 14 ms. An oracle in loops: rows and columns even, and then the ranks, until neither changes anything.
    even = work.copy()
    for _ in range(1000):
        for group, step in (([0, 1], 0), ([2, 3], 0), ([0, 2], 1), ([1, 3], 1)):
            even[group, step] = even[group, step].mean()
        even *= even.sum() / 4 / even.sum(axis=1, keepdims=True)
    start = [max(even[0, 0], even[1, 0])] * 2 + [max(even[2, 0], even[3, 0])] * 2
    time = max(start + even[:, 1])
    assert time == pytest.approx(14e-3 / 4, rel=1e-6)  # nobody waits any more
    assert p.time == pytest.approx(6e-3)
    assert saving(p, "balance") == pytest.approx(p.time - time, rel=2e-3)


def test_the_parts_of_the_time_are_the_same_everywhere() -> None:
    advice = isthmus.advise(
        on_a_grid(lambda i, j, k: j == k, rows=True, all_of_them=True), machine(L=50, o=2, G=1, nodes=16)
    )
    (p,) = advice.predictions
    e, plain = p.efficiency, advice.json()["predictions"][0]
    assert sum(p.losses.values()) == pytest.approx(p.time)
    assert plain["losses"] == p.losses
    assert p.losses["computation"] == pytest.approx(8e-3) == e.parallel * p.time
    assert p.losses["imbalance"] == pytest.approx(0, abs=1e-12)
    assert p.losses["dependencies"] == pytest.approx(12e-3) == (1 - e.serialisation) * e.transfer * p.time
    assert p.losses["network"] == pytest.approx(saving(p, "network")) == (1 - e.transfer) * p.time
    assert plain["dominant"] == advice.json()["machines"][0]["dominant"] == p.dominant == "dependencies"
    assert "largest loss: dependencies" in str(advice)
    assert "<span>largest loss</span><b>dependencies</b>" in advice.html()
    part = f"{100 * p.losses['dependencies'] / p.time:.1f} %"
    assert part in next(line for line in str(advice).splitlines() if "dependencies between ranks" in line)
    assert part in advice.html()


def test_bounds_stand_apart_from_what_is_simulated() -> None:
    advice = isthmus.advise(
        on_a_grid(lambda i, j, k: j == k, rows=True, all_of_them=True), machine(L=50, o=2, G=1, nodes=16)
    )
    gains = [s.gain for s in advice.sentences]
    assert gains == sorted(gains, reverse=True)
    assert advice.sentences[0].topic == "balance"
    assert [(s.topic, s.bound) for s in advice.bounds] == [("overlap", True)]
    assert advice.bounds[0].gain >= gains[0]
    plain = advice.json()
    assert [s["topic"] for s in plain["bounds"]] == ["overlap"]
    assert not any(s["bound"] for s in plain["sentences"])
    page, text = str(advice), advice.html()
    assert page.index("\nadvice\n") < page.index(advice.sentences[0].text[:40]) < page.index("\nupper bounds\n")
    assert page.index("\nupper bounds\n") < page.index(advice.bounds[0].text[:40])
    assert text.index("<h3>Upper bounds</h3>") < text.index(advice.bounds[0].text[:40])


def test_ranks_that_compute_nothing_have_no_part_in_balance() -> None:
    """A master that only hands out work cannot take over any."""
    b = isthmus.ProgramBuilder(3)
    b.compute([1, 2], [1e-3, 3e-3])
    b.barrier(None)
    (p,) = isthmus.advise(b.build(), machine()).predictions
    assert p.time - saving(p, "balance") == pytest.approx(2e-3)


def test_latency_only() -> None:
    b = isthmus.ProgramBuilder(2)
    for _ in range(10):
        b.send(0, 1, 8)
        b.recv(1, 0, 8)
        b.send(1, 0, 8)
        b.recv(0, 1, 8)
    advice = isthmus.advise(b.build(), machine(L=3))
    (p,) = advice.predictions
    assert p.time == pytest.approx(60 * US)
    assert p.path is not None
    assert p.path["latency"] == pytest.approx(60 * US)
    latency, bandwidth, overhead = p.sensitivities
    assert (latency.name, latency.level, latency.value) == ("latency", "network", pytest.approx(3 * US))
    assert latency.ten_percent == pytest.approx(0.1)
    assert latency.curve == pytest.approx({f: f * 60 * US for f in (0, 0.25, 0.5, 1, 1.1, 2, 4)})
    for loss, factor in latency.tolerance.items():
        assert factor == pytest.approx(1 + loss, abs=0.0006)
    assert bandwidth.none
    assert overhead.none
    assert advice.sentences[0].topic == "latency"
    assert [s.topic for s in advice.bounds] == ["overlap"]


def test_bandwidth_only() -> None:
    (p,) = isthmus.advise(one_message(1_000_001), machine(G=1)).predictions
    assert p.time == pytest.approx(1e-3)
    assert p.path is not None
    assert p.path["bandwidth"] == pytest.approx(1e-3)
    bandwidth = next(s for s in p.sensitivities if s.name == "bandwidth")
    assert bandwidth.value == pytest.approx(1e9)
    assert bandwidth.ten_percent == pytest.approx(0.1)
    assert bandwidth.tolerance[0.05] == pytest.approx(1.05, abs=0.0006)
    assert p.dominant == "network"


def test_tolerance_beyond_a_bend() -> None:
    """A latency that computation hides: it may grow until it is longer, and then costs all of its growth."""
    b = isthmus.ProgramBuilder(2)
    r = b.irecv(1, 0, 8)
    b.send(0, 1, 8)
    b.compute(1, 100 * US)
    b.wait(1, r)
    (p,) = isthmus.advise(b.build(), machine(L=10)).predictions
    latency = p.sensitivities[0]
    assert p.time == pytest.approx(100 * US)
    assert latency.ten_percent == 0
    # 101, 105, 110 us are reached where the latency is that.
    assert list(latency.tolerance.values()) == pytest.approx([10.1, 10.5, 11], abs=0.006)


def test_scale_compute() -> None:
    program = uneven([2e-3, 2e-3])
    (p,) = isthmus.advise(program, machine(L=100), scale_compute=0.5).predictions
    (q,) = isthmus.advise(program, machine(L=100)).predictions
    assert q.time - p.time == pytest.approx(1e-3)
    assert "All computation times are multiplied by 0.5." in isthmus.advise(program, machine(), scale_compute=0.5).notes


def test_comparison_of_machines() -> None:
    advice = isthmus.advise(one_message(), [machine(L=10), machine(L=40), machine(L=10, o=0.01)])
    ratios = [row["ratio"] for row in advice.frame()]
    assert ratios == pytest.approx([1, 4, 1.002])
    assert [row["time"] for row in advice.frame()] == pytest.approx([10 * US, 40 * US, 10.02 * US])
    slower, same = (s.text for s in advice.sentences if s.topic == "machines")
    assert "4.00 times as long" in slower
    assert "as long as on plain" in same
    assert advice.predictions[1].sensitivities == () == advice.predictions[1].calls
    assert advice.predictions[1].path is not None


def test_placement_and_levels() -> None:
    program = one_message()
    (near,) = isthmus.advise(program, machine(L=10, cores=2)).predictions
    (far,) = isthmus.advise(program, machine(L=10, cores=2), ranks_per_node=1).predictions
    assert len(near.placement.nodes) == 1
    assert len(far.placement.nodes) == 2
    assert near.sensitivities[0].level == "socket"
    assert far.sensitivities[0].level == "network"
    assert {u.path for u in near.used if u.path.startswith("level.")} <= {f"level.socket.{f}" for f in (
        "L", "o_send", "o_recv", "g", "G", "O", "S")}  # fmt: skip


def test_provenance() -> None:
    advice = isthmus.advise(one_message(), "cielo", ranks_per_node=1)
    (p,) = advice.predictions
    used = {u.path: u for u in p.used}
    assert used["level.network.o_send"].status == "estimated"
    assert used["node.cores"].status == "exact"
    assert used["level.network.L"].source
    # What nobody gave and nothing gives is a default.
    (plain,) = isthmus.advise(one_message(), "ring:4 cores=1").predictions
    assert {u.path: u.status for u in plain.used}["level.network.L"] == "default"
    # A number without a source is named where the time hangs on it.
    assert any("level.network" in note and "estimated" in note for note in advice.notes)


def test_tolerances_of_large_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    from isthmus.advice.analysis import prediction

    program = uneven([1e-3, 3e-3, 1e-3, 3e-3])
    monkeypatch.setattr(prediction, "MOST_RECORDED", 1)
    monkeypatch.setattr(prediction, "MOST_REFINED", 0)
    advice = isthmus.advise(program, machine(L=10, o=1))
    (p,) = advice.predictions
    assert p.beyond is None
    assert sum(v or 0.0 for v in p.mean.values()) == pytest.approx(p.time)
    assert saving(p, "balance") == pytest.approx(1e-3)
    # Straight lines between the points of a straight curve are exact.
    refined = isthmus.advise(program, machine(L=10, o=1))
    assert not p.sensitivities[0].refined
    assert p.sensitivities[0].tolerance[0.01] == pytest.approx(refined.predictions[0].sensitivities[0].tolerance[0.01])


def test_a_schedule_has_no_calls() -> None:
    schedule = isthmus.collective("allreduce", ranks=4, bytes=8)
    (p,) = isthmus.advise(schedule, machine(L=10)).predictions
    assert p.calls == ()
    assert p.pairs
    assert p.what_if("balance") is None
    with pytest.raises(Unsupported, match="computation of a schedule"):
        isthmus.advise(schedule, machine(), scale_compute=2)


def test_efficient_programs_are_left_in_peace() -> None:
    b = isthmus.ProgramBuilder(4)
    b.compute(None, 1.0)
    b.barrier(None)
    advice = isthmus.advise(b.build(), machine(L=1))
    assert advice.sentences[0].topic == "efficient"
    assert "100 % of the time is computation" in advice.sentences[0].text


def test_nothing_at_all() -> None:
    with pytest.raises(InvalidInput, match="on plain the program takes no time"):
        isthmus.advise(isthmus.ProgramBuilder(2).build(), machine(L=1))


def test_noise_is_a_share() -> None:
    noise = isthmus.Noise(kind="periodic", period=1e-3, duration=1e-4)
    (p,) = isthmus.advise(uneven([0.01] * 4), machine(L=1), noise=noise, seed=3).predictions
    assert p.path is not None
    assert p.path["noise"] > 5e-4
    assert sum(p.path.values()) == pytest.approx(p.time)
    assert sum(v or 0.0 for v in p.mean.values()) == pytest.approx(p.time)


def test_shares_of_every_rank_add_up() -> None:
    rank = np.arange(16)
    b = isthmus.ProgramBuilder(16)
    for _ in range(3):
        b.irecv(None, (rank - 1) % 16, 100_000)
        b.isend(None, (rank + 1) % 16, 100_000)
        b.compute(None, 1e-4 + rank * 1e-6)
        b.waitall(None)
        b.allreduce(None, 64)
    (p,) = isthmus.advise(b.build(), "cielo", ranks_per_node=4).predictions
    assert list(p.by_rank) == list(TIME_CLASSES)
    together = sum(values for values in p.by_rank.values() if values is not None)
    assert together == pytest.approx(np.full(16, p.time))
    assert sum(c.path for c in p.calls) == pytest.approx(p.time)
    assert sum(c.busy + c.waiting for c in p.calls) + (p.mean["idle"] or 0) == pytest.approx(p.time)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            {"machines": "ring:4 name=plain"},
            "plain is too small: 8 ranks with 1 on each node need 8 nodes, but it has 4",
        ),
        ({"machines": "cielo", "ranks_per_node": 17}, "must be 1 to 16, the cores of a node of cielo"),
        ({"machines": "ciello"}, "close names are cielo"),
        ({"machines": []}, "at least one"),
        ({"machines": "cielo", "scale_compute": 0}, "scale_compute"),
    ],
)
def test_bad_input(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        isthmus.advise(uneven([1e-3] * 8), **arguments)


def test_a_program_that_hangs() -> None:
    b = isthmus.ProgramBuilder(2)
    b.recv(0, 1, 8)
    b.recv(1, 0, 8)
    with pytest.raises(InvalidInput, match="on plain the program deadlocks"):
        isthmus.advise(b.build(), machine())


def test_what_is_no_program() -> None:
    with pytest.raises(InvalidInput, match="cannot advise on str: must be a Program or a Schedule"):
        isthmus.advise("app.h5", "cielo")
