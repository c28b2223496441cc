"""Exchanges in steps: who sends what to whom beside a slow oracle, and what they take beside closed forms."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import InvalidInput, Pattern
from isthmus.cli import main
from isthmus.multigrid import Costs, boxes, hierarchy, node_aware
from isthmus.multigrid.node_aware import WAYS, Step, steps
from isthmus.multigrid.operators import Operator
from test_multigrid import two_levels

PAID = Costs(alpha=2e-6, beta=1e-9, node_alpha=5e-7, node_beta=1e-10)


def random_operator(parts: int, seed: int) -> Operator:
    random = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(parts) for b in range(parts) if a != b and random.random() < 0.3]
    source, target = (np.array([pair[i] for pair in pairs], np.uint32) for i in (0, 1))
    size = random.integers(1, 100, len(pairs)) * 8
    exchange = Pattern.of(parts, source=source, target=target, bytes=size, messages=np.ones(len(pairs), np.int64))
    return Operator(np.ones(parts, np.uint64), np.ones(parts, np.uint64), exchange)


def carried(operator: Operator) -> list[tuple[int, int, int]]:
    e = operator.exchange
    return list(zip(e.sources().tolist(), e.peer.tolist(), e.bytes.tolist(), strict=True))


def table(step: Step) -> dict[tuple[int, int], float]:
    found = dict(zip(zip(step.source.tolist(), step.target.tolist(), strict=True), step.bytes.tolist(), strict=True))
    assert len(found) == len(step.source)
    return found


@pytest.mark.parametrize(("parts", "cores"), [(12, 4), (13, 4), (7, 1), (6, 8), (27, 5), (64, 16)])
def test_all_bytes_arrive(parts: int, cores: int) -> None:
    operator = random_operator(parts, parts)
    messages = carried(operator)
    between = defaultdict(int)
    for a, b, size in messages:
        if a // cores != b // cores:
            between[a // cores, b // cores] += size
    for way in WAYS:
        found = [table(step) for step in steps(way, operator, cores)]
        balance = defaultdict(float)
        for step in found:
            for (a, b), size in step.items():
                assert a != b
                assert 0 <= b < parts
                balance[a] -= size
                balance[b] += size
        # What is handed on leaves nothing: all that is left is what each process needs.
        for rank in range(parts):
            want = sum(size * ((b == rank) - (a == rank)) for a, b, size in messages)
            assert balance[rank] == pytest.approx(want)
        crossing = defaultdict(float)
        for step in found:
            for (a, b), size in step.items():
                if a // cores != b // cores:
                    crossing[a // cores, b // cores] += size
        assert crossing == pytest.approx(between)
    gather, across, spread = (table(step) for step in steps("three steps", operator, cores))
    assert all(a // cores == b // cores for step in (gather, spread) for a, b in step)
    # One message for each pair of nodes, dealt to the processes: no one has two more than another of its node.
    assert sorted((a // cores, b // cores) for a, b in across) == sorted(between)
    for end in (0, 1):
        dealt = np.bincount([pair[end] for pair in across], minlength=parts)
        for node in range(0, parts, cores):
            assert np.ptp(dealt[node : node + cores]) <= 1
    first, second = (table(step) for step in steps("two steps", operator, cores))
    assert all(a // cores != b // cores for a, b in first)
    assert all(a // cores == b // cores for a, b in second)
    assert all(a % cores == b % cores for a, b in first if b // cores < parts // cores)


def test_what_steps_take() -> None:
    """Four nodes of four processes, all of which need 8 B of each: by hand."""
    everybody = hierarchy([sp.csr_array(np.ones((16, 16)))], boxes((16,), 16))
    found = node_aware(everybody, PAID, cores=4)
    direct = 3 * 5e-7 + 12 * 2e-6 + 3 * 8e-10 + 12 * 8e-9
    # To each of three partners 8 B for each of four processes; each of these then hands on what it got from three.
    two = 3 * (2e-6 + 32e-9) + 3 * (5e-7 + 3 * 8e-10 + 8e-10)
    # The fourth process hands 32 B, and the 8 B that stay, to each of the three that send 128 B to a node.
    gather = 3 * 5e-7 + 3 * 40e-10
    three = gather + (2e-6 + 128e-9) + 3 * (5e-7 + 32e-10)
    assert [found.seconds[way][0] for way in WAYS] == pytest.approx([direct, two, three], rel=1e-12)
    assert [found.messages[way][0] for way in WAYS] == [12, 3, 1]
    assert found.best == ["three steps"]
    # A level alone has three exchanges: two sweeps and the residual.
    assert found.cycle["best"] == pytest.approx(3 * three)
    # 1,536 B leave each node directly or in steps; at 1 MB/s they take longer than all else.
    limited = node_aware(everybody, Costs(alpha=2e-6, beta=1e-9, node_alpha=5e-7, injection=1e6), cores=4)
    assert limited.seconds["direct"][0] == pytest.approx(12 * 4 * 8e-6)
    assert limited.seconds["two steps"][0] == pytest.approx(384e-6 + 3 * 5e-7)


def test_levels_shapes_and_bad_input() -> None:
    found = two_levels()
    once = node_aware(found, PAID, cores=2)
    assert once.cycle["best"] <= min(once.cycle[way] for way in WAYS)
    assert len(once.frame()) == len(found)
    # One process a node: steps are direct messages.
    alone = node_aware(found, PAID, cores=1)
    assert all(alone.seconds[way] == pytest.approx(alone.seconds["direct"]) for way in WAYS)
    assert alone.best == ["direct"] * len(found)
    assert "No exchange takes less" in str(alone)
    twice = node_aware(found, PAID, cores=2, shape="W").cycle["direct"]
    deep = once.cycle["direct"] + 3 * once.seconds["direct"][1]
    assert twice == pytest.approx(deep)
    with pytest.raises(InvalidInput, match="inside a node are not known"):
        node_aware(found, Costs(alpha=1e-6, beta=0))
    with pytest.raises(InvalidInput, match="shape 'X'"):
        node_aware(found, PAID, shape="X")
    with pytest.raises(InvalidInput, match="cores = 0"):
        node_aware(found, PAID, cores=0)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "levels.h5"
    two_levels().save(path)
    main(["multigrid", "exchange", str(path), "--machine", "eos", "--ranks-per-node", "2"])
    assert "three steps" in capsys.readouterr().out
    main(["multigrid", "exchange", str(path), "--machine", "eos", "--ranks-per-node", "2", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [row["level"] for row in told["levels"]] == [0, 1]
    assert set(told["cycle"]) == {*WAYS, "best"}
