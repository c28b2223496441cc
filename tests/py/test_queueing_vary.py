"""Times as distributions: parts of the variance, queues by hand, traffic of others, decisions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.cli import cli
from isthmus.errors import InvalidInput
from isthmus.queueing import POLICIES, Jobs, Variation, decide, vary
from isthmus.queueing.neighbours import MESSAGES, Near, beside, traffic
from isthmus.queueing.variation import Varied, shares
from isthmus.queueing.vary import given as given_by
from isthmus.skeletons import Family


def test_variance_of_a_known_mixture() -> None:
    """Half of the jobs take 1 s, half 3 s; others add 0.5 s to the slow ones; noise adds 0 or 0.2 s."""
    placed = np.array([1.0, 1.0, 3.0, 3.0])
    loaded = placed + np.array([0.0, 0.0, 0.5, 0.5])
    times = loaded[:, None] + np.array([0.0, 0.2])
    parts = shares(placed, loaded, times)
    # Means of jobs are 1.1 and 3.6: the parts are 1.25 times 1, 0.25 and 0, and the variance of noise is 0.1 squared.
    assert parts == pytest.approx({"placement": 1.25, "other jobs": 0.3125, "noise": 0.01})
    assert sum(parts.values()) == pytest.approx(times.var())


NUMBERS = st.lists(st.floats(0, 10), min_size=12, max_size=12)


@settings(max_examples=100, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_parts_add_up(placed: list[float], loaded: list[float], times: list[float]) -> None:
    t = np.array(times).reshape(4, 3)
    parts = shares(np.array(placed[:4]), np.array(loaded[:4]), t)
    assert sum(parts.values()) == pytest.approx(t.var(), abs=1e-9)


def test_a_queue_by_hand() -> None:
    """Three of four nodes are busy until 100 s; then a job on all four runs until 150 s. Ours comes at 10 to 38 s."""
    jobs = Jobs(
        np.arange(3), np.array([0.0, 10.0, 40.0]), np.array([3, 4, 4]), np.array([100.0, 50.0, 1.0]),
        np.array([100.0, 50.0, 1.0]),
    )  # fmt: skip
    machine = isthmus.load("torus:4")
    for seconds, size, start in ((5.0, 1, None), (500.0, 1, 150.0), (5.0, 2, 150.0)):
        found = given_by(machine, jobs, POLICIES["linear"], {size: seconds}, 5, 1)[size]
        times = np.sort(np.random.default_rng(1).uniform(10, 38, 5))
        expected = np.zeros(5) if start is None else start - times
        assert [one.wait for one in found] == pytest.approx(expected.tolist())
        if start is None:
            assert all(one.nodes.tolist() == [3] and [o.tolist() for o in one.others] == [[0, 1, 2]] for one in found)


def test_traffic_is_what_was_asked_for() -> None:
    machine = isthmus.load("torus:4x4x4")
    others, used = traffic(machine, [2, 5, 3], 0.25, 0.01, 7)
    assert others is not None
    assert used.tolist() == list(range(10))
    others.validate()
    ops = others.ops
    sends = ops["kind"] == 1
    expected = 0.25 * 0.01 / machine.level.network.G
    rank = np.repeat(np.arange(10), np.diff(others.op_first.astype(int)))
    assert np.bincount(rank[sends]).tolist() == [MESSAGES] * 10
    assert np.bincount(rank[sends], ops["amount"][sends]) == pytest.approx(np.full(10, expected), rel=1e-3)
    job = np.repeat([0, 1, 2], [2, 5, 3])
    assert (job[rank[sends]] == job[ops["peer"][sends]]).all()
    assert (rank[sends] != ops["peer"][sends]).all()
    last = isthmus.simulate(others, machine, np.arange(10), record="finish").makespan
    assert 0.01 * (1 - 1 / MESSAGES) < last < 0.011


def test_others_matter_only_on_shared_links() -> None:
    machine = isthmus.load("torus:16")
    b = isthmus.ProgramBuilder(2)
    b.send(0, 1, 1_000_000)
    b.recv(1, 0, 1_000_000)
    program = isthmus.lower(b.build())
    alone = isthmus.simulate(program, machine, np.array([0, 2]), model="flow").makespan
    others, _ = traffic(machine, [2], 0.9, 1.5 * alone, 1)
    assert others is not None
    both = beside(program, others)
    both.validate()

    def time(others: list[int]) -> float:
        t = isthmus.simulate(both, machine, np.array([0, 2, *others]), model="flow", record="finish")
        return float(t.finish[:2].max())

    assert time([8, 9]) == pytest.approx(alone, rel=1e-9)
    assert time([1, 3]) > 1.05 * alone


def test_messages_far_from_a_program_are_left_out() -> None:
    # The program goes from 0 to 2 of a ring; node 1 sends over its link, 3 over that of 1, and 8 far from both.
    machine = isthmus.load("torus:16")
    near = Near(machine, np.array([0]), np.array([2]))
    sources, targets = np.array([1, 2, 1, 3, 8, 2]), np.array([2, 4, 3, 5, 9, 1])
    assert near(sources, targets).tolist() == [True, True, True, False, False, False]
    # What 1 sends to 15 goes the other way, but through the interface of what it sends to 3.
    assert near(np.array([1, 1]), np.array([3, 15])).tolist() == [True, True]
    assert near(np.array([1]), np.array([15])).tolist() == [False]
    kept, used = traffic(machine, [2, 2], 0.5, 0.01, 1, lambda a, b: near(np.array([1, 3, 8, 9])[a], b % 2 + 9))
    assert kept is None
    assert not len(used)
    nodes = np.array([1, 3, 8, 10])
    some, used = traffic(machine, [2, 2], 0.5, 0.01, 1, lambda a, b: near(nodes[a], nodes[b]))
    assert some is not None
    assert used.tolist() == [0, 1]
    some.validate()
    # Only what node 1 sends is near: what 3 answers goes the other way.
    assert np.bincount(some.ops["kind"]).tolist()[1:3] == [MESSAGES, MESSAGES]
    whole, _ = traffic(machine, [2, 2], 0.5, 0.01, 1)
    assert whole is not None
    b = isthmus.ProgramBuilder(2)
    b.send(0, 1, 1_000_000)
    b.recv(1, 0, 1_000_000)
    program = isthmus.lower(b.build())
    times = [
        isthmus.simulate(beside(program, one), machine, np.array([0, 2, *nodes[ranks]]), model="flow", record="finish")
        .finish[:2].max()
        for one, ranks in ((some, used), (whole, np.arange(4)))
    ]  # fmt: skip
    assert times[0] == pytest.approx(times[1], rel=1e-9)


def family() -> Family:
    return Family("ring", lambda ranks: isthmus.collective("allreduce", ranks=ranks, bytes=100_000, algorithm="ring"))


def test_what_varies_is_told_apart() -> None:
    calm = vary(
        family(), "torus:4x4x4", [8], background=0.0, samples=6, repeats=2, ranks_per_node=1, policies=["random"]
    )
    assert calm.rows[0].shares() == pytest.approx({"placement": 1.0, "other jobs": 0.0, "noise": 0.0})
    assert (calm.rows[0].times == calm.rows[0].placed[:, None]).all()
    noise = isthmus.Noise(kind="exponential", period=1e-3, duration=1e-4)
    noisy = vary(
        family(), "torus:4x4x4", [8, 16], background=0.3, samples=6, repeats=2, ranks_per_node=1, noise=noise,
        policies=["linear", "random"],
    )  # fmt: skip
    assert [(row.policy, row.ranks) for row in noisy.rows] == [(p, n) for p in ("linear", "random") for n in (8, 16)]
    for row in noisy.rows:
        assert sum(row.shares().values()) == pytest.approx(1.0)
        assert (row.loaded >= row.placed * (1 - 1e-9)).all()
        assert row.shares()["noise"] > 0.1
    again = vary(
        family(), "torus:4x4x4", [8], background=0.0, samples=6, repeats=2, ranks_per_node=1, policies=["random"]
    )
    assert again.json() == calm.json()


def varied(machine: str, policy: str, wait: list[float], time: float) -> Variation:
    times = np.full((len(wait), 1), time)
    row = Varied(policy, 8, 8, np.array(wait), times[:, 0], times[:, 0], times)
    return Variation("p", machine, 10, (row,), ("assumed",))


def test_decisions_count_the_waiting() -> None:
    slow, fast = varied("slow", "linear", [0.0, 10.0], 20.0), varied("fast", "linear", [1000.0, 1010.0], 5.0)
    found = decide([fast, slow])
    # 5 + 10 x 20 and 1,005 + 10 x 5 seconds, each with a standard error of 5 s.
    assert [(row["machine"], row["done"], row["error"]) for row in found.rows] == [
        ("slow", 205.0, 5.0),
        ("fast", 1055.0, 5.0),
    ]
    assert found.sentence().startswith("slow with linear is expected to be done first")
    assert "told apart" not in found.sentence()
    close = varied("close", "random", [5.0, 15.0], 20.0)
    assert decide([slow, close]).sentence().endswith("not told apart from it: close with random")
    assert decide([varied("one", "linear", [3.0], 1.0)]).json()["rows"][0]["error"] is None
    with pytest.raises(InvalidInput, match="2 different jobs"):
        decide([slow, Variation("q", "m", 10, slow.rows, ())])


def test_commands(tmp_path: Path) -> None:
    words = ["stencil:steps=1", "--machine", "torus:4x4", "--ranks-per-node", "1", "--samples", "3", "--json"]
    picture = tmp_path / "times.png"
    done = CliRunner().invoke(
        cli, ["queue", "vary", *words, "--ranks", "4,8", "-o", str(picture)], catch_exceptions=False
    )
    found = json.loads(done.stdout)
    assert [row["ranks"] for row in found["rows"]] == [4, 8]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert found["files"] == [str(picture)]
    done = CliRunner().invoke(
        cli, ["queue", "decide", *words, "--machine", "torus:8x4", "--ranks", "4"], catch_exceptions=False
    )
    assert {row["machine"] for row in json.loads(done.stdout)["rows"]} == {"torus:4x4", "torus:8x4"}


def test_the_page_has_everything_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    def row(policy: str, ranks: int, placed: list[float], more: float) -> Varied:
        alone = np.array(placed)
        loaded = alone + more
        return Varied(
            policy, ranks, ranks, np.array([5.0, 7.0]), alone, loaded, loaded[:, None] + np.array([0.0, 0.25])
        )

    rows = (row("linear", 8, [1.0, 3.0], 0.5), row("random", 8, [2.0, 2.0], 0.0))
    found = Variation("a <b>", "torus:4 & more", 10, rows, ("nodes are <given>",))
    path = tmp_path / "page.html"
    found.save(path)
    page = path.read_text(encoding="utf-8")
    assert "a &lt;b&gt; on torus:4 &amp; more" in page
    assert "nodes are &lt;given&gt;" in page
    assert "<svg" in page
    for nowhere in ("<given>", 'src="http', 'href="http'):
        assert nowhere not in page
    # Alone, beside other jobs, with noise, 90 %; done after a wait of 6 s and ten times.
    for cell in ("2 s", "2.5 s", "2.625 s", "3.675 s", "32.2 s"):
        assert cell in page, cell
    assert "Times differ most on 8 ranks under linear: their standard deviation is 38 % of the mean" in page
    assert "98 % of the variance comes from placement" in page
    with pytest.raises(InvalidInput, match=r"page\.txt: must end in \.html"):
        found.save(tmp_path / "page.txt")
    found.save(tmp_path / "page.svg")
    assert b"<svg" in (tmp_path / "page.svg").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["page.html", "page.svg"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--ranks", "64"], "64 ranks, 1 a node, need 64 nodes: torus:4x4 has 16"),
        (["--ranks", "4", "--policy", "best"], "best"),
        (["--ranks", "4", "-o", "times.txt"], "times.txt"),
    ],
)
def test_refusals(more: list[str], said: str) -> None:
    words = ["queue", "vary", "stencil:steps=1", "--machine", "torus:4x4", "--ranks-per-node", "1", *more]
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, InvalidInput)
    assert said in str(result.exception)
