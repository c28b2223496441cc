"""Machines over numbers of ranks: parts add up, crossovers are where closed forms have them, bad input is refused."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.comparison import alike, in_pieces, over_sizes
from isthmus.comparison.crossover import DOUBTS, crossings
from isthmus.comparison.over_sizes import compare_sizes
from isthmus.comparison.rates import Roofline, computing, rates
from isthmus.comparison.sizes import SizeComparison
from isthmus.errors import InvalidInput
from isthmus.schedule.counters import Counters
from isthmus.schedule.program import EventKind
from isthmus.skeletons import SKELETONS, Family, family

FAT = "fattree:k=4,n=3,cores=4,sockets=2,L=2us,o=0.4us,g=0.3us,noise=exponential,noise.period=1ms,noise.duration=20us"
FLY = "dragonfly:a=4,p=2,h=2,g=9,cores=4,L=1us,o=0.9us"


def of(text: str, scaling: str | None = None, base: int = 4) -> Family:
    from isthmus.skeletons.catalogue import read

    skeleton, given = read(text)
    return family(skeleton, given, scaling, base)


def adds_up(found: SizeComparison) -> None:
    for at, row in enumerate(found.runs):
        for run in row:
            assert sum(run.parts.amounts.values()) == run.makespan_ps * run.parts.scale
        for i in range(1, len(row)):
            names = {name for run in (row[0], row[i]) for name in run.parts.amounts}
            exact = sum((row[i].parts.exact(n) - row[0].parts.exact(n) for n in names), Fraction(0))
            assert exact == row[i].makespan_ps - row[0].makespan_ps
            why = found.why(i)[at]
            parts = [value for name, value in why.items() if name not in ("ranks", "longer")]
            assert math.fsum(parts) == pytest.approx(why["longer"], abs=1e-14)


@pytest.mark.parametrize("model", ["loggops", "flow"])
@pytest.mark.parametrize(
    "text",
    ["stencil:steps=2,solves=2,spread=0.3", "fft:points=64,steps=2", "sweep:steps=1", "cg:steps=2", "amr:steps=2",
     "bfs:scale=14", "multigrid:cycles=2", "pop:steps=1,spread=0.2", "namd:steps=4"],
)  # fmt: skip
def test_parts_add_up_exactly(text: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the path and as means, with noise and contention, on fat trees, dragonflies and a machine of the catalogue."""
    machines = [isthmus.load(one) for one in (FAT, FLY, "eos")]
    given: Any = {"reference": machines[2], "bound": (0.3, 0.5)} if text.startswith("stencil") else {}
    if given:
        machines[:2] = [isthmus.load(f"{one},memory_bandwidth=20GB/s,clock=2GHz") for one in (FAT, FLY)]
        machines[2] = given["reference"]
    names = ["fat", "fly", "eos"]
    found = compare_sizes(of(text), machines, names, [4, 24], model=model, **given)
    assert {run.parts.way for row in found.runs for run in row} == {"path"}
    adds_up(found)
    monkeypatch.setattr(over_sizes, "PATH_MOST", 0)
    means = compare_sizes(replace(of(text), pieces=None), machines, names, [4, 24], model=model, **given)
    assert {run.parts.way for row in means.runs for run in row} == {"mean"}
    adds_up(means)
    assert [[run.makespan_ps for run in row] for row in means.runs] == [
        [run.makespan_ps for run in row] for row in found.runs
    ]


def test_parts_are_what_they_are_called() -> None:
    """Two ranks, every cost known: computation, imbalance, a message, a barrier."""
    b = isthmus.ProgramBuilder(2)
    b.compute([0, 1], [3e-3, 1e-3])
    b.irecv([1], [0], [1001])
    b.isend([0], [1], [1001])
    b.waitall(None)
    b.barrier(None)
    program = b.build()
    level = isthmus.Level(L=5e-6, o_send=1e-6, o_recv=2e-6, g=0.0, G=1e-9)
    slow = isthmus.Level(L=9e-6, o_send=1e-6, o_recv=2e-6, g=0.0, G=3e-9)
    found = compare_sizes(Family("two", lambda _: program, ranks=2), [level, slow], ["a", "b"], [2])
    adds_up(found)
    parts = found.runs[0][0].parts.amounts
    assert (parts["cores"], parts["imbalance"]) == (2_000_000_000, 1_000_000_000)
    assert parts["latency"] == 5_000_000
    assert parts["bandwidth"] == 1_000_000
    (why,) = found.why(1)
    assert why["latency"] == pytest.approx(4e-6)
    assert why["bandwidth"] == pytest.approx(2e-6)
    assert why["collectives"] == pytest.approx(4e-6)
    assert why["imbalance"] == why["cores"] == 0


def rounds(seconds: float) -> Family:
    """Computation, then a barrier in log2(P) rounds."""

    def at(ranks: int) -> isthmus.Program:
        b = isthmus.ProgramBuilder(ranks)
        b.compute(None, seconds)
        b.barrier(None)
        return b.build()

    return Family("rounds", at, "weak")


def machine(flops: str, latency: str, status: str = "exact") -> isthmus.Machine:
    return isthmus.Machine.from_dict({
        "format": 1, "name": f"m{latency}".replace(" ", ""), "topology": {"kind": "hypercube", "n": 10},
        "node": {"cores": 1, "flops": flops},
        "level": {"network": {"L": {"value": latency, "status": status}, "o_send": "1 us", "o_recv": "1 us", "g": 0,
                              "G": 0, "per_hop": 0}},
    })  # fmt: skip


@pytest.mark.parametrize("where", [3.5, 5.5, 7.25])
def test_crossover_in_closed_form(where: float) -> None:
    """C f + n a against C + n b, n = log2 P: they meet at n = C (f - 1) / (b - a)."""
    near, far = 1e-6, 4e-6
    compute = where * (far - near) / (1.5 - 1)
    slow, fast = machine("2 Gflop/s", "1 us"), machine("3 Gflop/s", "4 us")
    sizes = [2**n for n in range(1, 11)]
    options: Any = {"reference": fast, "bound": (0.0, 0.0), "collectives": {"barrier": "dissemination"}}
    found = compare_sizes(rounds(compute), [slow, fast], ["slow", "fast"], sizes, **options)
    for n, row in enumerate(found.runs, 1):
        assert row[0].seconds == pytest.approx(compute * 1.5 + n * (near + 2e-6), rel=1e-9)
        assert row[1].seconds == pytest.approx(compute + n * (far + 2e-6), rel=1e-9)
    (one,) = found.crossovers
    assert (one.before, one.after) == ("fast", "slow")
    assert math.log2(one.ranks) == pytest.approx(where, abs=0.04)
    assert one.between == (2 ** math.floor(where), 2 ** math.ceil(where))
    # No number is uncertain, but what is between two sizes: a run of that size would find it there.
    assert one.low is not None
    assert one.high is not None
    assert 2 ** math.floor(where) <= one.low < 2**where < one.high <= 2 ** math.ceil(where)
    assert one.high / one.low < 1.3
    assert one.share == 1.0
    assert f"at {one.ranks:,.0f} ranks slow overtakes fast" in str(found)


def test_a_crossover_between_two_sizes_may_be_anywhere() -> None:
    slow, fast = machine("2 Gflop/s", "1 us"), machine("3 Gflop/s", "4 us")
    options: Any = {"reference": fast, "bound": (0.0, 0.0), "collectives": {"barrier": "dissemination"}}
    (one,) = compare_sizes(rounds(5.5 * 3e-6 / 0.5), [slow, fast], ["slow", "fast"], [8, 512], **options).crossovers
    assert one.low is not None
    assert one.high is not None
    assert (math.log2(one.low), math.log2(one.high)) == pytest.approx((3.3, 8.7), abs=0.2)


def test_uncertainty_of_a_crossover_in_closed_form() -> None:
    """An estimated latency, log-normal: the quantiles of n = C (f - 1) / (b - a) follow."""
    where, near, far = 6.3, 1e-6, 8e-6
    compute = where * (far - near) / 0.5
    slow, fast = machine("2 Gflop/s", "1 us"), machine("3 Gflop/s", "8 us", "estimated")
    sizes = [2**n for n in range(1, 11)]
    options: Any = {"reference": fast, "bound": (0.0, 0.0), "collectives": {"barrier": "dissemination"}}
    (one,) = compare_sizes(rounds(compute), [slow, fast], ["slow", "fast"], sizes, **options).crossovers
    spread = math.log1p(DOUBTS["estimated"]) * 1.6449 / 1.96
    for end, sign in ((one.low, 1), (one.high, -1)):
        assert end is not None
        expected = compute * 0.5 / (far * math.exp(sign * spread) - near)
        assert math.log2(end) == pytest.approx(expected, abs=0.08)
    assert one.share > 0.99


def test_uncertain_share_of_memory() -> None:
    """A range of the share moves the crossover; its middle is the estimate."""
    a, b = (isthmus.load(f"hypercube:10,cores=1,name={n},flops={f}Gflop/s,memory_bandwidth={m}GB/s,L={latency}us")
            for n, f, m, latency in (("a", 2, 8, 1), ("b", 3, 4, 9)))  # fmt: skip
    sizes = [2**n for n in range(1, 11)]
    found = compare_sizes(rounds(1.4e-4), [a, b], ["a", "b"], sizes, reference=b, bound=(0.0, 0.2))
    (one,) = found.crossovers
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.ranks < one.high
    # Of time on b, s goes by memory and 1 - s by cores: on a (1 - s) 1.5 + s 0.5.
    for share, end in ((0.19, one.low), (0.01, one.high)):
        (there,) = compare_sizes(
            rounds(1.4e-4), [a, b], ["a", "b"], sizes, reference=b, bound=(share, share)
        ).crossovers
        assert math.log2(there.ranks) == pytest.approx(math.log2(end), abs=0.15)


def test_crossings() -> None:
    sizes = [1, 2, 4, 8, 16]
    assert crossings(sizes, [-1, 1, 1, 1, 1])[0] == pytest.approx((2**0.5, 0))
    assert crossings(sizes, [-1, -1, 0, 1, 1])[0] == pytest.approx((4, 1))
    assert crossings(sizes, [-1, 0, -1, -1, -1]) == []
    assert crossings(sizes, [0, 0, 0, 0, 0]) == []
    assert [round(at, 6) for at, _ in crossings(sizes, [1, -1, 3, -1, -1])] == [
        round(x, 6) for x in (2**0.5, 2**1.25, 2**2.75)
    ]


def test_rates_of_cores() -> None:
    """The figures of Doerfler and Rajan: 54 GB/s and 31 GB/s of a node, 16 and 8 cores."""
    cielo, red = isthmus.load("cielo"), isthmus.load("redsky")
    assert rates(cielo).memory == pytest.approx(54.9e9 / 16, rel=1e-2)
    assert rates(red).memory == pytest.approx(30.946e9 / 8)
    assert rates(red).flops == pytest.approx(11.72e9)
    (there, home), words = computing([cielo, red], red, (0.5, 1.0), [None, None])
    assert home.factor == pytest.approx(1)
    assert there.memory == pytest.approx(0.75 * 30.946 / 8 / (54.906 / 16), rel=1e-3)
    assert there.cores == pytest.approx(0.25 * 93.76 / 8 / (153.6 / 16))
    assert "75 % of computation on redsky goes by memory bandwidth" in words
    with pytest.raises(InvalidInput, match="says no memory_bandwidth"):
        computing([isthmus.load("ring:4 clock=1GHz")], red, (0.5, 0.5), [None])
    threads = {"memory_bandwidth_by_threads": [{"threads": 1, "bandwidth": 1e10}, {"threads": 4, "bandwidth": 2e10}]}
    half = isthmus.Machine.from_dict({"format": 1, "topology": {"kind": "ring", "dims": [4]},
                                      "node": {"cores": 4, **threads}})  # fmt: skip
    assert rates(half).memory == 5e9
    assert rates(half, 1).memory == 1e10


def test_share_of_memory_from_counters() -> None:
    red = isthmus.load("redsky")
    assert Roofline.of(of("stencil:ranks=2,steps=1").at(2)) is None
    one = np.zeros(2, np.uint32)
    names, misses = ("cycles", "cache-misses"), np.array([[0, 0], [30_000_000, 10_000_000]])
    counted = Counters(names, one, one, one, one + 1, np.array([0.5, 0.5]), misses)
    recorded: Any = SimpleNamespace(recording=SimpleNamespace(counters=counted))
    # 40 million lines of 64 bytes in a second, at the 3.87 GB/s that a core has.
    share = 40e6 * 64 / (30.946e9 / 8)
    cielo = isthmus.load("cielo")
    (there,), words = Roofline.of(recorded).computing([cielo], red, [None])
    assert there.bound == pytest.approx((share, share))
    assert there == computing([cielo], red, (share, share), [None])[0][0]
    assert words.startswith("roofline of counted bytes (flops were not): ")


def counted(names: tuple[str, ...], seconds: list[float], *values: list[int]) -> Any:
    """A program with made counters: this machine has none that could be read."""
    one = np.zeros(len(seconds), np.uint32)
    counters = Counters(names, one, one, one, one + 1, np.array(seconds), np.array(values))
    return SimpleNamespace(recording=SimpleNamespace(counters=counters))


def test_roofline_of_flops_and_bytes() -> None:
    """By hand: every part of the program by the longer of the times of its flops and its bytes."""
    cielo, red = isthmus.load("cielo"), isthmus.load("redsky")
    seconds, flops, misses = [1.0, 2.0, 0.5, 0.25], [11_720_000_000, 10**9, 10**10, 0], [10**6, 10**8, 0, 0]
    # Intel's counters: instructions with 1 and 4 operations.
    by_1, by_4 = [f % 4000 for f in flops], [f // 4000 * 1000 for f in flops]
    found = Roofline.of(counted(("flops-by-1", "cache-misses", "flops-by-4"), seconds, by_1, misses, by_4))
    assert found is not None
    assert found.flops is not None
    assert found.flops.tolist() == flops
    here, there = rates(red), rates(cielo)
    expected = np.zeros(2)
    share = 0.0
    for s, f, m in zip(seconds, flops, misses, strict=True):
        roofs = [(f / r.flops, 64 * m / r.memory) for r in (here, there)]
        ratio = max(roofs[1]) / max(roofs[0]) if f or m else here.flops / there.flops
        expected[int(roofs[1][1] > roofs[1][0])] += s / 3.75 * ratio
        share += s / 3.75 * (roofs[0][1] > roofs[0][0])
    (one, home), words = found.computing([cielo, red], red, [None, None])
    assert (one.cores, one.memory) == pytest.approx(tuple(expected))
    assert one.bound == pytest.approx((share, share))
    assert 0.5 < share < 0.6
    assert home.factor == pytest.approx(1)
    assert words.startswith("roofline of counted flops and bytes: ")
    assert f"{one.factor:.4g} on cielo" in words


def test_roofline_is_said_and_falls_back_to_bytes() -> None:
    cielo, red = isthmus.load("cielo"), isthmus.load("redsky")
    program = counted(("flops", "cache-misses"), [1.0], [10**9], [10**7])
    silent = isthmus.load("ring:4 memory_bandwidth=10GB/s clock=1GHz")
    found = Roofline.of(program)
    assert found is not None
    _, words = found.computing([silent, cielo], red, [None, None])
    assert "(without flops, for ring:4" in words
    share = 64e7 / (30.946e9 / 8)
    assert found.computing([silent], red, [None])[0] == computing([silent], red, (share, share), [None])[0]
    # Counters that found nothing are none: all would be bound by memory.
    none = Roofline.of(counted(("flops", "cache-misses"), [1.0], [0], [10**7]))
    assert none is not None
    one, words = none.computing([cielo], red, [None])
    assert one == computing([cielo], red, (share, share), [None])[0]
    assert words.startswith("roofline of counted bytes (the counters of flops found none): ")
    # Flops alone do not say what goes by memory.
    assert Roofline.of(counted(("flops",), [1.0], [10**9])) is None
    assert Roofline.of(counted(("flops", "cache-misses"), [0.0], [0], [0])) is None


def test_a_recording_with_counters_is_compared_by_its_roofline(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a share that is given goes before what was counted."""
    cielo, red = isthmus.load("cielo"), isthmus.load("redsky")
    made = Roofline.of(counted(("flops", "cache-misses"), [1.0, 1.0], [10**10, 10**6], [0, 10**7]))
    monkeypatch.setattr(Roofline, "of", lambda program: made)
    family = Family("recorded", of("stencil:steps=2").at, ranks=16)
    found = compare_sizes(family, [red, cielo], ["redsky", "cielo"], [16], reference=red)
    assert any(note.startswith("roofline of counted flops and bytes: ") for note in found.notes)
    stated = compare_sizes(family, [red, cielo], ["redsky", "cielo"], [16], reference=red, bound=(0.5, 0.5))
    assert any("50 % of computation on redsky goes by memory bandwidth" in note for note in stated.notes)
    assert not any("roofline" in note for note in stated.notes)


@pytest.mark.parametrize(
    "name", [name for name, one in SKELETONS.items() if one.sized != "rank" and name != "multigrid"]
)
def test_strong_scaling_divides_the_work(name: str) -> None:
    """Computation of all ranks together stays, and no skeleton sends more to a neighbour than before."""
    given = {
        "bfs": "scale=16,steps=1",
        "charon": "steps=1,iterations=2",
        "amr": "blocks=64,steps=1",
        "sage": "reals=2,sums=1",
    }
    programs = [of(f"{name}:{given.get(name, 'steps=1')}", "strong", 8).at(ranks) for ranks in (8, 64)]
    work = [float(p.amount[p.kind == EventKind.compute].sum()) for p in programs]
    assert work[1] == pytest.approx(work[0], rel=0.02)
    largest = [int(p.amount[p.kind == EventKind.isend].max(initial=0)) for p in programs]
    assert largest[1] <= largest[0]


def test_weak_scaling_keeps_the_work_of_a_rank() -> None:
    small, large = (of("fft:points=64,ranks=8", "weak").at(ranks) for ranks in (8, 64))
    sent = [p.amount[p.kind == EventKind.collective].sum() / p.ranks * (p.ranks**0.5) for p in (small, large)]
    assert sent[0] == pytest.approx(sent[1], rel=0.25)
    assert of("cg", "weak").at(8).amount.max() == of("cg", "weak").at(64).amount.max()
    assert of("wrf").scaling == "strong"


def test_speed_up_and_cost() -> None:
    a = isthmus.load("hypercube:6,cores=2,name=a,price=0.5,power=200W,L=1us")
    b = isthmus.load("hypercube:6,cores=1,name=b,L=1us")
    weak = compare_sizes(rounds(1e-2), [a, b], ["a", "b"], [4, 32])
    rows = {(row["ranks"], row["machine"]): row for row in weak.frame()}
    slow = rows[32, "a"]["time"] / rows[4, "a"]["time"]
    assert rows[32, "a"]["efficiency"] == pytest.approx(1 / slow)
    assert rows[32, "a"]["speed_up"] == pytest.approx(32 / slow)
    assert (rows[32, "a"]["nodes"], rows[32, "b"]["nodes"]) == (16, 32)
    hours = 16 * rows[32, "a"]["time"] / 3600
    assert rows[32, "a"]["money"] == pytest.approx(0.5 * hours)
    assert rows[32, "a"]["energy"] == pytest.approx(200 * 3600 * hours)
    assert rows[32, "b"]["money"] is None
    strong = compare_sizes(of("stencil:compute=10ms", "strong"), [a, b], ["a", "b"], [4, 32])
    rows = {(row["ranks"], row["machine"]): row for row in strong.frame()}
    assert rows[32, "b"]["speed_up"] == pytest.approx(4 * rows[4, "b"]["time"] / rows[32, "b"]["time"])
    assert 0.8 < rows[32, "b"]["efficiency"] < 1


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_sizes, "_free", lambda: 5e5)
    found = compare_sizes(of("stencil"), [isthmus.load(FAT), isthmus.load(FLY)], ["fat", "fly"], [4, 16, 60])
    assert found.ranks == (4, 16)
    assert "60 ranks are left out" in found.left_out[0]


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["compare", "stencil:steps=2", "--machine", "redsky", "--machine", "cielo", "--ranks", "16..100",
             "--reference", "redsky", "--memory-bound", "0.5..0.9"]  # fmt: skip
    main([*words, "-o", "page.html", "--plot", "p.svg", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert [row["ranks"] for row in said["rows"]] == [16, 16, 32, 32, 64, 64, 100, 100]
    assert said["files"] == ["page.html", "p.svg"]
    for one in said["parts"]:
        (row,) = [r for r in said["rows"] if (r["ranks"], r["machine"]) == (one["ranks"], one["machine"])]
        assert sum(one["amounts"].values()) == row["time_ps"] * one["units_in_a_picosecond"]
    page = Path("page.html").read_text("utf-8")
    assert "no crossover" in page
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)|url\((?!#)|@import""", page)
    main(words)
    text = capsys.readouterr().out
    assert "redsky is faster than cielo from 16 to 100 ranks" in text
    assert "Why: time of cielo beyond that of redsky" in text
    # A collective, and LogGOPS parameters.
    main(["compare", "barrier:algorithm=dissemination", "--machine", "loggops:L=1us,o=1us", "--machine", "eos",
          "--ranks", "8,64", "--json"])  # fmt: skip
    said = json.loads(capsys.readouterr().out)
    assert [row["time"] for row in said["rows"] if row["machine"].startswith("loggops")] == pytest.approx([9e-6, 18e-6])
    assert {name for row in said["why"]["eos"] for name in row} == {"ranks", "longer", "collectives"}
    # A program that was recorded, at its own size.
    main(["compare", "lammps", "--machine", "cielo", "--machine", "eos", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert len(said["rows"]) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["stencil", "--machine", "cielo", "--ranks", "8"], "given once"),
        (["stencil", "--machine", "cielo", "--machine", "eos"], "--ranks is missing"),
        (["stencil", "--machine", "ring:4", "--machine", "eos", "--ranks", "2..8"], "ring:4 has 4 cores; the largest"),
        (["lammps", "--machine", "cielo", "--machine", "eos", "--ranks", "9"], "is a program of"),
        (["lammps", "--machine", "cielo", "--machine", "eos", "--weak"], "only skeletons and collectives scale"),
        (["pop", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--strong"], "only weak scaling"),
        (["wrf", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--weak"], "only strong scaling"),
        (["charon:rows=9,ranks=8", "--machine", "cielo", "--machine", "eos", "--ranks", "8,512", "--strong"],
         "charon on 512 ranks, with strong scaling: rows would be"),
        (["stencil", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--memory-bound", "0.5"], "--reference"),
        (["stencil", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--reference", "eos"], "which share"),
        (["stencil", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--memory-bound", "1.5",
          "--reference", "eos"], "must be a share"),
        (["stencil", "--machine", "cielo", "--machine", "cielo", "--ranks", "8"], "given twice"),
        (["stencil", "--machine", "cielo", "--machine", "eos", "--ranks", "8..4"], "8..4"),
        (["stencil", "cg", "--machine", "cielo", "--machine", "eos", "--ranks", "8"], "2 things"),
        (["cielo", "eos", "--strong"], "needs --machine"),
        (["barrier", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--strong"], "weak scaling"),
        (["stencil", "--machine", "cielo", "--machine", "eos", "--ranks", "8", "--nodes", "4"], "one number of ranks"),
    ],
)  # fmt: skip
def test_bad_input(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["compare", *words])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert expected in error
    assert len(error.strip().splitlines()) == 1


NOISY = "redsky:noise=periodic,noise.period=5ms,noise.duration=50us"


@pytest.mark.parametrize(
    ("text", "exact"),
    [("charon:iterations=3,steps=2,spread=0.2", True), ("umt:steps=1,spread=0.1", True),
     ("cg:steps=4,spread=0.3", True),
     ("amr:steps=3", True), ("namd:steps=5,spread=0.1", True), ("fft:points=64,steps=2", False),
     ("openatom:steps=2", False), ("cth:steps=1", False), ("sage:sums=9,reals=20", False), ("xnobel:steps=1", False),
     ("bfs:scale=14", False), ("sweep:steps=2", False), ("pop:steps=2,solves=2,spread=0.2", False)],
)  # fmt: skip
@pytest.mark.parametrize("ranks", [24, 64])
def test_pieces_are_the_whole(text: str, exact: bool, ranks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skeletons whose ranks compute for long after every cut have the same times to the picosecond, and the same path.

    Others and those of which equal pieces are simulated once have nearly the same.
    """
    machines = [isthmus.load(one) for one in ("cielo", "redsky", NOISY)]
    given: Any = {"reference": machines[1], "bound": (0.5, 0.5)}
    if exact:
        monkeypatch.setattr(alike, "ENOUGH", 1000)
    whole = compare_sizes(of(text), machines, ["a", "b", "c"], [ranks], **given)
    monkeypatch.setattr(over_sizes, "PATH_MOST", 0)
    pieces = compare_sizes(of(text), machines, ["a", "b", "c"], [ranks], **given)
    assert any("in pieces" in note for note in pieces.notes)
    adds_up(pieces)
    for one, other in zip(whole.runs[0], pieces.runs[0], strict=True):
        assert other.parts.way == "path"
        if not exact:
            assert other.seconds == pytest.approx(one.seconds, rel=0.015)
            continue
        assert other.makespan_ps == one.makespan_ps
        for part in one.parts.amounts:
            assert other.parts.seconds(part) == pytest.approx(one.parts.seconds(part), abs=0.02 * one.seconds)


def test_equal_pieces_are_simulated_once() -> None:
    pieces = of("cth:steps=4").pieces
    assert pieces is not None
    noted = pieces(27)
    assert len(noted) == 76
    assert len(set(noted.keys)) == 2
    eos = isthmus.load("eos")
    run = in_pieces.InPieces(noted, eos, None, 1.0, {})
    assert run.error is None
    assert run.operations == len(isthmus.lower(of("cth:steps=4").at(27)))
    assert run.simulated < run.operations / 9
    # Interruptions depend on the time.
    noisy = in_pieces.InPieces(noted, isthmus.load(NOISY), None, 1.0, {})
    assert noisy.simulated == noisy.operations


@pytest.mark.parametrize(
    "text",
    ["charon:steps=2", "charon:steps=2,seed=4", "charon:steps=2,iterations=17,rows=1000",
     "sage:reals=200,integers=9,sums=70",
     "xnobel:steps=4", "namd:steps=40,spread=0.1", "umt:steps=6"],
)  # fmt: skip
@pytest.mark.parametrize("machine", ["cielo", "redsky"])
def test_pieces_that_stand_for_others(text: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is that of all pieces one by one, up to the error that is said; sums of other sizes are made up for."""
    cut = of(text).pieces
    assert cut is not None
    pieces, there = cut(96), isthmus.load(machine)
    some = in_pieces.InPieces(pieces, there, None, 1.0, {})
    monkeypatch.setattr(alike, "ENOUGH", 10**6)
    monkeypatch.setattr(in_pieces, "PATHS", 10**6)
    every = in_pieces.InPieces(pieces, there, None, 1.0, {})
    assert every.error is None
    assert some.operations == every.operations
    if some.error is None:
        assert some.makespan_ps == every.makespan_ps
    else:
        assert 0 < some.error < 0.01
        # 19 of 20 are to be within it.
        assert some.makespan_ps == pytest.approx(every.makespan_ps, rel=2 * some.error)
    if text.startswith(("charon:steps=2", "sage", "xnobel")):
        assert some.simulated < 0.6 * every.simulated
    for part, amount in every.parts(0.5).amounts.items():
        assert some.parts(0.5).amounts.get(part, 0) == pytest.approx(amount, abs=0.01 * every.makespan_ps)


def test_sums_between_others_are_on_their_line() -> None:
    """29 sizes of the sums of charon: as many simulations as their times need, and the times are right."""
    cut = of("charon").pieces
    assert cut is not None
    pieces, there = cut(48), isthmus.load("cielo")
    timed: list[int] = []

    def time(program: isthmus.Program) -> int:
        timed.append(isthmus.simulate(program, there).makespan_ps)
        return timed[-1]

    sums = alike.Sums(pieces, time)
    often = [n for n, shape in enumerate(pieces.shapes) if pieces.shapes.count(shape) > 50]
    varying = [n for n in often if len(pieces.sizes[n]) == 2]
    assert len({pieces.sizes[n] for n in varying}) == 29
    found = {pieces.sizes[n]: sums(n) for n in varying}
    assert len(timed) < 15
    for sizes, alone in found.items():
        assert alone == pytest.approx(isthmus.simulate(pieces.sums(sizes), there).makespan_ps, rel=2e-4)


@pytest.mark.parametrize("name", list(SKELETONS))
def test_pieces_have_the_events_of_the_whole(name: str) -> None:
    """Event by event on every rank, communicators included."""
    given = {"bfs": "bfs:scale=14", "charon": "charon:iterations=2,steps=1", "sage": "sage:reals=4,sums=3",
             "multigrid": "multigrid:cycles=2"}  # fmt: skip
    text = given.get(name, f"{name}:steps=2")
    text += ",solves=2" if name in ("stencil", "pop", "wrf") else ""
    whole, cut = of(text).at(12), of(text).pieces
    assert cut is not None
    noted = cut(12)
    assert len(noted) > 1
    parts = [noted.build(number) for number in range(len(noted))]
    for column in ("kind", "peer", "tag", "comm", "amount", "what"):
        for rank in range(12):
            events = [getattr(p, column)[int(p.first[rank]) : int(p.first[rank + 1])] for p in parts]
            mine = getattr(whole, column)[int(whole.first[rank]) : int(whole.first[rank + 1])]
            np.testing.assert_array_equal(np.concatenate(events), mine, err_msg=column)
