"""Queues: EASY beside a slow one and its guarantee, workloads and their files, policies, the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.cli import cli
from isthmus.errors import InvalidInput, ParseError
from isthmus.queueing import POLICIES, Jobs, Workload, lublin, queue, read_swf, write_swf
from isthmus.queueing.easy import Scheduler
from isthmus.queueing.policies import hilbert, runs
from isthmus.queueing.workload import FIELDS
from oracles.easy import easy


def jobs_of(rows: list[tuple[float, int, float, float]]) -> Jobs:
    submit, nodes, run, more = (
        np.array(column, float) for column in zip(*sorted(rows, key=lambda row: row[0]), strict=True)
    )
    return Jobs(np.arange(len(rows)), submit, nodes.astype(np.int64), run, run + more)


def scheduled(jobs: Jobs, places: int, policy: str = "linear", seed: int = 0) -> Scheduler:
    """All jobs done; on the way, no node has two jobs."""
    at = Scheduler(jobs, POLICIES[policy], places, seed)
    while at.next_event < np.inf:
        at.step()
        used = np.concatenate([np.empty(0, int), *at.running.values()])
        assert len(np.unique(used)) == len(used) == places - at.count
        assert not at.free[used].any()
    return at


ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 8), st.integers(0, 20), st.integers(0, 15)), min_size=1, max_size=40
)


@settings(max_examples=150, deadline=None)
@given(ROWS)
def test_starts_are_those_of_the_slow_scheduler(rows: list[tuple[float, int, float, float]]) -> None:
    jobs = jobs_of(rows)
    expected = easy(8, *(column.tolist() for column in (jobs.submit, jobs.nodes, jobs.run, jobs.estimate)))
    for policy in ("linear", "random", "by-size"):
        assert scheduled(jobs, 8, policy).start.tolist() == expected


@pytest.mark.parametrize("policy", sorted(POLICIES))
@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_no_head_waits_beyond_its_reservation(policy: str, rows: list[tuple[float, int, float, float]]) -> None:
    at = scheduled(jobs_of(rows), 8, policy)
    assert all(at.start[job] <= time for job, time in at.reserved.items())


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(0, 40), st.integers(1, 8), st.sampled_from(sorted(POLICIES)))
def test_a_copy_goes_on_like_the_original(
    rows: list[tuple[float, int, float, float]], time: int, nodes: int, policy: str
) -> None:
    jobs = jobs_of(rows)
    at = Scheduler(jobs, POLICIES[policy], 8)
    at.run_until(time)
    with_probe, copy = at.copy(), at.copy()
    probe = with_probe.add(nodes, 5.0, 5.0)
    with_probe.run()
    copy.run()
    assert with_probe.start[probe] >= time
    assert np.array_equal(copy.start, scheduled(jobs, 8, policy).start, equal_nan=True)
    at.run()
    assert np.array_equal(copy.start, at.start)
    # The probe is one more job of the workload.
    rows = [(s, n, r, e - r) for s, n, r, e in zip(jobs.submit, jobs.nodes, jobs.run, jobs.estimate, strict=True)]
    late = [row for row in rows if row[0] > time]
    early = [row for row in rows if row[0] <= time]
    columns = [np.array(c, float) for c in zip(*early, (time, nodes, 5.0, 0.0), *late, strict=True)]
    together = Jobs(np.arange(len(columns[0])), columns[0], columns[1].astype(int), columns[2], columns[2] + columns[3])
    if policy != "random":
        whole = scheduled(together, 8, policy)
        assert whole.start[len(early)] == with_probe.start[probe]


def test_backfilling_as_published() -> None:
    """The picture of every paper: a job of the queue's end goes into the hole before the reservation, no longer one."""
    #       submit nodes run
    rows = [(0, 6, 10), (1, 8, 5), (2, 2, 8), (2, 2, 9)]
    jobs = jobs_of([(*row, 0) for row in rows])
    # The second waits for the first until 10. The third fits before that (2 + 8), the fourth does not (2 + 9) and runs
    # behind the second.
    assert scheduled(jobs, 8).start.tolist() == [0, 10, 2, 15]
    # Where the head leaves two nodes over, the fourth may run beside it.
    jobs = jobs_of([(0, 6, 10, 0), (1, 6, 5, 0), (2, 2, 9, 0)])
    assert scheduled(jobs, 8).start.tolist() == [0, 10, 2]


def test_contiguous_jobs_wait_for_a_hole() -> None:
    # Ends of the first and third job leave 2 + 2 nodes apart: linear starts a job of 4 on them, contiguous cannot.
    jobs = jobs_of([(0, 2, 5, 0), (0, 2, 20, 0), (0, 2, 5.5, 0), (0, 2, 20.5, 0), (1, 4, 1, 0)])
    assert scheduled(jobs, 8, "linear").start[4] == 5.5
    assert scheduled(jobs, 8, "contiguous").start[4] == 20


@pytest.mark.parametrize("machine", ["torus:4x4x4", "fattree-k4", "dragonfly:a=4,p=2,h=2,g=9"])
def test_policies_give_what_they_say(machine: str) -> None:
    where = isthmus.load(machine)
    found = queue(where, lublin(where.nodes, 400, load=0.9), policies=list(POLICIES))
    for name, nodes in found.nodes.items():
        assert [len(n) for n in nodes] == found.jobs.nodes.tolist()
        if name == "contiguous":
            assert all(np.array_equal(n, np.arange(n[0], n[0] + len(n))) for n in nodes)
    waits = {name: found.wait(name).tolist() for name in found.start}
    assert waits["linear"] == waits["random"] == waits["curve"] == waits["by-size"]
    assert np.mean(waits["contiguous"]) >= np.mean(waits["linear"])
    small = found.jobs.nodes == 1
    assert np.mean([n[0] for n, s in zip(found.nodes["by-size"], small, strict=True) if s]) > 0.7 * where.nodes
    apart = {row["policy"]: row["links"] for row in found.frame() if row["fewest_nodes"] == 8}
    assert apart["random"] == max(apart.values())


def test_the_curve_visits_neighbours() -> None:
    torus = isthmus.load("torus:8x8x8")
    order = hilbert(torus)
    assert sorted(order.tolist()) == list(range(512))
    assert (torus.distance(order[1:], order[:-1]) == 1).all()
    tree = isthmus.load("fattree-k4")
    assert hilbert(tree).tolist() == list(range(tree.nodes))


def test_runs_of_free_places() -> None:
    starts, lengths = runs(np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], bool))
    assert (starts.tolist(), lengths.tolist()) == ([0, 3, 6], [2, 1, 3])
    assert runs(np.zeros(3, bool))[0].tolist() == []


# Workloads


def swf(*rows: dict[str, float], **header: object) -> str:
    lines = [f"; {key}: {value}" for key, value in header.items()]
    for number, row in enumerate(rows, 1):
        values = dict.fromkeys(FIELDS, -1) | {"job": number, "submit": 0, "status": 1} | row
        lines.append(" ".join(str(v) for v in values.values()))
    return "\n".join(lines) + "\n"


def test_all_fields_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a.swf"
    file.write_text(
        "; Version: 2.2\n;  MaxNodes: 8\n; MaxProcs: 32\n; Note: one\n; Note: two\n;;; a line of words: no key\n\n"
        "1 10 5 100 4 99.5 1000 6 200 2000 1 3 4 5 6 7 -1 -1\n2 12 -1 0 1 -1 -1 -1 -1 -1 5 -1 -1 -1 -1 -1 1 30 ; said\n"
    )
    found = read_swf(file)
    assert found.header == {"Version": "2.2", "MaxNodes": "8", "MaxProcs": "32", "Note": "one\ntwo"}
    first = [found.fields[field][0] for field in FIELDS]
    assert first == [1, 10, 5, 100, 4, 99.5, 1000, 6, 200, 2000, 1, 3, 4, 5, 6, 7, -1, -1]
    assert found.processors_per_node == 4
    jobs = found.jobs(8)
    assert (jobs.nodes.tolist(), jobs.run.tolist(), jobs.estimate.tolist()) == ([2, 1], [100, 0], [200, 0])
    write_swf(found, tmp_path / "b.swf")
    again = read_swf(tmp_path / "b.swf")
    assert again.header == found.header
    assert all(np.array_equal(again.fields[f], found.fields[f]) for f in FIELDS)
    packed = tmp_path / "c.swf.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_swf(packed).header == found.header
    packed.write_bytes(gzip.compress(file.read_bytes())[:40])
    with pytest.raises(ParseError, match="damaged by compression"):
        read_swf(packed)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 2 3", "3 values: must be 18 numbers"),
        ("1 2 3 4 5 6 7 8 9 10 1 12 13 14 15 16 17 18 19", "19 values"),
        ("1 0 0 x 1 1 1 1 1 1 1 1 1 1 1 1 1 1", r"field 4 \(run\): 'x': must be a number"),
        ("1 0 0 nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1", r"field 4 \(run\)"),
        ("1 0 0 -5 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "'-5': must be a number from 0, or -1 for unknown"),
        ("1 -1 0 5 1 1 1 1 1 1 1 1 1 1 1 1 1 1", r"field 2 \(submit\): '-1': must be a number from 0$"),
        ("1 0 0 5 1.5 1 1 1 1 1 1 1 1 1 1 1 1 1", r"field 5 \(processors\): '1.5': must be a whole number"),
        ("1 0 0 5 1 1 1 1 1 1 9 1 1 1 1 1 1 1", "must be a whole number from 0 to 5"),
        ("1 0 0 1e300 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "'1e300'"),
    ],
)
def test_bad_lines_are_refused_with_their_number(line: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "a.swf"
    file.write_text(swf({"run": 5, "processors": 1}, Version=2) + "\n" + line + "\n")
    with pytest.raises(ParseError, match=f":4: .*{says}"):
        read_swf(file)
    file.write_text("; Version: 2\n")
    with pytest.raises(ParseError, match="holds no jobs"):
        read_swf(file)


def test_jobs_that_cannot_run_are_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "a.swf"
    file.write_text(
        swf(
            {"run": 5, "processors": 99},
            {"run": -1, "processors": 1},
            {"run": 0, "processors": 1},
            {"run": 9, "requested_processors": 2, "requested_time": 4},
            {"run": 7, "processors": 0},
        )
    )
    jobs = read_swf(file).jobs(8)
    assert (jobs.number.tolist(), jobs.estimate.tolist()) == ([3, 4], [0, 9])
    assert (jobs.too_large, jobs.unknown, jobs.overran) == (1, 2, 1)
    assert len(jobs.notes()) == 3
    file.write_text(swf({"run": 5, "processors": 99}))
    with pytest.raises(InvalidInput, match="none of its 1 jobs can run: 1 ask for more than 8 nodes"):
        read_swf(file).jobs(8)


def test_zero_length_jobs_start_and_end_at_once() -> None:
    jobs = jobs_of([(0, 8, 0, 0)] * 50 + [(0, 8, 3, 0), (0, 1, 0, 0)])
    assert scheduled(jobs, 8).start.max() == 3
    found = queue("torus:2x2x2", Workload({f: np.zeros(5) for f in FIELDS} | {"processors": np.ones(5)}, {}, "zeros"))
    assert found.wait().tolist() == [0] * 5
    assert found.utilisation("linear") == 1.0
    assert "5 jobs on 8 nodes" in str(found)


def test_the_model_has_its_published_shares() -> None:
    """244 of 1,000 jobs are serial, 576 more have a power of two; logs of times are gammas of known means."""
    found = lublin(128, 40_000, load=None, seed=3)
    size = found.fields["processors"]
    power = np.log2(size) == np.floor(np.log2(size))
    assert np.mean(size == 1) == pytest.approx(0.244, abs=0.01)
    # Others are powers of two by chance.
    assert 0.82 <= np.mean(power) <= 0.88
    assert size.max() == 128
    log = np.log(np.maximum(found.fields["run"], 1))
    serial = log[size == 1].mean()
    p = -0.0054 + 0.78
    assert serial == pytest.approx(p * 4.2 * 0.94 + (1 - p) * 312 * 0.03, rel=0.03)
    # More jobs in the afternoon than at night.
    hour = found.fields["submit"] % 86400 / 3600
    assert np.mean((hour > 12) & (hour < 18)) > 3 * np.mean(hour < 6)
    assert lublin(128, 100, seed=3).fields["submit"][0] >= 0
    assert np.array_equal(lublin(64, 50, seed=1).fields["run"], lublin(64, 50, seed=1).fields["run"])


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (400, 512), (512, 512)])
def test_workloads_of_tiny_or_huge_jobs(sizes: tuple[int, int]) -> None:
    found = lublin(512, 500, load=0.7, sizes=sizes, seed=1)
    size = found.fields["processors"]
    assert (size.min() >= sizes[0]) & (size.max() <= sizes[1])
    assert found.jobs(512).load(512) == pytest.approx(0.7)
    queued = queue("torus:8x8x8", found, policies=["linear", "contiguous"])
    assert (queued.wait() >= 0).all()
    if sizes[0] > 256:
        # One after the other.
        order = np.argsort(queued.start["linear"])
        ends = queued.start["linear"] + queued.jobs.run
        assert (queued.start["linear"][order][1:] >= ends[order][:-1]).all()


def test_numbers_out_of_range() -> None:
    for wrong in ({"nodes": 0, "jobs": 1}, {"nodes": 4, "jobs": 0}, {"nodes": 4, "jobs": 5, "sizes": (2, 9)}):
        with pytest.raises(InvalidInput, match="must"):
            lublin(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="hardly any such jobs"):
        lublin(4096, 100, sizes=(2049, 2050))
    with pytest.raises(InvalidInput, match="load = -1"):
        lublin(4, 5, load=-1)
    with pytest.raises(InvalidInput, match="must be one of linear, contiguous"):
        queue("torus:2x2x2", policies=["nearest"])


# The command


def run(*words: str) -> str:
    return CliRunner().invoke(cli, ["queue", *words], catch_exceptions=False).stdout


def test_command(tmp_path: Path) -> None:
    file = tmp_path / "a.swf"
    said = run("workload", "torus:8x8x8", "--jobs", "300", "--load", "0.9", "-o", str(file))
    assert "300 jobs" in said
    out = tmp_path / "done.swf"
    words = ["simulate", "torus:8x8x8", "--workload", str(file), "--policy", "linear", "--policy", "random"]
    found = json.loads(run(*words, "-o", str(out), "--json"))
    assert found["jobs"] == 300
    assert {row["policy"] for row in found["classes"]} == {"linear", "random"}
    assert found["load"] == pytest.approx(0.9, rel=0.01)
    done = read_swf(out)
    assert (done.fields["wait"] >= 0).all()
    assert "slowdown" in run(*words)
    picture = tmp_path / "waits.png"
    assert f"wrote {picture}" in run(*words, "--plot", str(picture))
    assert picture.read_bytes()[:4] == b"\x89PNG"


ARCHIVE = """;   --- a log as the archive keeps them: indented comments, rulers, notes over several lines ---
;       Version: 2.2
;      Computer: Bull / Dell mix
;  Installation: UNILU \xe9t\xe9
;    Conversion: somebody@example.org - uncleaned version
;
; MaxJobs: 11
; MaxRecords: 13
; UnixStartTime: 1400749079
; TimeZoneString: Europe/Luxembourg
; MaxNodes: 3
; MaxProcs: 8
;     Note: Scheduler is OAR (http://oar.imag.fr/)
;     Note: nodes differ
; 1| 2| 3| 4| 5
;  |  |  |  |

    1        0 477768  100   4  32096 89734  4 108000    -1  1   1   1   1  1 -1 -1 -1
    2       10     -1   -1  -1     -1    -1  4    600    -1  5   2   1   1  1 -1 -1 -1
    3       10      5    0   2   0.00     0 -1     -1    -1  0   2   1   1  1 -1 -1 -1
\t4       12      1   50   2 358.00  2560  2     20    -1  0   5   5   6  1 -1  1 30
    5       12      1   50  64 358.00  2560 64    432    -1  1   5   5   6  1 -1 -1 -1
; Queue:  2  besteffort     besteffort
    6       40      1   30   2     -1    -1  2    100    -1  1   1   1   1  0 -1 -1 -1
    6       40      1   10   2     -1    -1  2    100    -1  2   1   1   1  0 -1 -1 -1
    6       -0     20   20   2     -1    -1  2    100    -1  3   1   1   1  0 -1 -1 -1
    7       60      1   30   2     -1    -1  2    100    -1  2   1   1   1  0 -1 -1 -1
    8       50      0   1.5  1     -1    -1 -1     -1    -1 -1  -1  -1  -1 -1 -1 -1 -1
    9       70      0   30   0     -1    -1  0     60    -1  1   1   1   1  0 -1 -1 -1
   10       70      0 2000   1     -1    -1  1   2000    -1  0   1   1   1  0 -1 -1 -1 ; killed
"""


def test_a_log_with_all_that_the_format_allows(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(ARCHIVE.encode("latin-1").replace(b"\n", b"\r\n"))
    log = read_swf(path)
    assert len(log) == 12
    assert log.header["Computer"] == "Bull / Dell mix"
    assert log.header["Note"].endswith("nodes differ")
    jobs = log.jobs(16)
    assert jobs.number.tolist() == [1, 3, 4, 6, 8, 7, 10]
    assert jobs.nodes.tolist() == [4, 2, 2, 2, 1, 2, 1]
    assert (jobs.overran, jobs.too_large, jobs.unknown, jobs.parts) == (1, 1, 2, 2)
    said = " ".join(jobs.notes())
    assert "8 processors on 3 nodes, which is no whole number a node: each processor is taken for a node" in said
    assert "2 lines are parts of jobs that have a line for the whole" in said
    assert not log.jobs(16, per_node=4).said
    assert log.jobs(16, per_node=4).nodes.tolist() == [1, 1, 1, 16, 1, 1, 1, 1]
    queued = queue("torus:4x4", log)
    assert (queued.wait() >= 0).all()
