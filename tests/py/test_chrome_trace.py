"""Traces for Perfetto and chrome://tracing keep the rules of the Trace Event Format."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput
from oracles.loggops import ANY, CALC, COPY, PUT, RECV, SEND, Op, Parameters
from schedule_strategies import Ranks, arbitrary, complete, level_of, parameters, schedule_of, schedules

P = Parameters(L=2_500_000, o_send=1_500_000, o_recv=1_500_000, g=1_000_000, G=6000, S=1000)


def trace(t: isthmus.Timeline, path: Path, **more: Any) -> list[dict[str, Any]]:
    t.save_chrome(path, **more)
    read = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events: list[dict[str, Any]] = json.loads(read)["traceEvents"]
    return events


def ps(microseconds: float) -> int:
    return round(microseconds * 1e6)


def check(events: list[dict[str, Any]]) -> None:
    """Slices of a thread do not overlap; flows begin and end once, in slices; asynchronous slices close."""
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    named: set[tuple[str, int, int]] = set()
    for e in events:
        assert {"ph", "pid", "name"} <= e.keys()
        if e["ph"] == "M":
            named.add((e["name"], e["pid"], e.get("tid", -1)))
        if e["ph"] == "X":
            slices[e["pid"], e["tid"]].append((ps(e["ts"]), ps(e["ts"]) + ps(e["dur"])))
    for (pid, tid), found in slices.items():
        assert ("process_name", pid, -1) in named
        assert ("process_sort_index", pid, -1) in named
        assert ("thread_name", pid, tid) in named
        found.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(found))
    flows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    waits: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    seen_slice = False
    for e in events:
        seen_slice = seen_slice or e["ph"] == "X"
        if e["ph"] in "sf":
            assert seen_slice
            flows[e["id"]].append(e)
            # Slices are sorted and apart: the one that began last at this time holds it, or one of no length before it.
            found = slices[e["pid"], e["tid"]]
            begin, end = found[bisect_right(found, (ps(e["ts"]), 2**62)) - 1]
            assert begin <= ps(e["ts"]) <= end
        if e["ph"] in "be":
            waits[e["cat"], e["id"]].append(e)
    for pair in flows.values():
        assert [e["ph"] for e in pair] == ["s", "f"]
        assert pair[1]["bp"] == "e"
        assert ps(pair[0]["ts"]) <= ps(pair[1]["ts"])
        assert pair[0]["args"]["bytes"] == pair[1]["args"]["bytes"]
        assert (pair[0]["args"]["peer"], pair[1]["args"]["peer"]) == (pair[1]["pid"], pair[0]["pid"])
    for pair in waits.values():
        assert [e["ph"] for e in pair] == ["b", "e"]
        assert pair[0]["name"] == pair[1]["name"]
        assert ps(pair[0]["ts"]) < ps(pair[1]["ts"])


def kinds(events: list[dict[str, Any]]) -> dict[str, int]:
    out: dict[str, int] = defaultdict(int)
    for e in events:
        out[e["ph"]] += 1
    return out


EXAMPLE: Ranks = [
    [Op(CALC, 1_234_567), Op(SEND, 1000, 1, tag=7, after=[0]), Op(COPY, 9, after=[1])],
    [Op(RECV, 1000, ANY, tag=ANY)],
    [Op(PUT, 5, 0)],
]


def test_example(tmp_path: Path) -> None:
    t = isthmus.simulate(schedule_of(EXAMPLE), level_of(P), record="ops")
    events = trace(t, tmp_path / "t.json")
    check(events)
    found = {(e["name"], e["pid"]): e for e in events if e["ph"] == "X"}
    assert set(found) == {("calc", 0), ("send", 0), ("copy", 0), ("handle", 1), ("put", 2)}
    assert found["calc", 0]["dur"] == 1.234567
    assert found["send", 0]["args"] == {"op": 1, "bytes": 1000, "peer": 1, "tag": 7}
    # The receive is from any with any tag: the slice says what came.
    assert found["handle", 1]["args"] == {"op": 0, "bytes": 1000, "peer": 0, "tag": 7}
    assert found["handle", 1]["ts"] == pytest.approx(1.234567 + 1.5 + 2.5 + 5.994)
    assert found["copy", 0]["args"] == {"op": 2, "bytes": 9}
    waits = {(e["name"], e["pid"]) for e in events if e["ph"] == "b"}
    assert waits == {("wait for message", 1), ("put on its way", 2)}


def test_packed_is_the_same_and_the_same_again(tmp_path: Path) -> None:
    t = isthmus.simulate(schedule_of(EXAMPLE), level_of(P), record="ops")
    assert trace(t, tmp_path / "t.json.gz") == trace(t, tmp_path / "t.json")
    first = (tmp_path / "t.json.gz").read_bytes()
    t.save_chrome(tmp_path / "t.json.gz")
    assert (tmp_path / "t.json.gz").read_bytes() == first


@given(st.one_of(schedules(complete, ranks=4, ops=10), schedules(arbitrary, ranks=4, ops=10)), parameters())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_simulation(tmp_path: Path, ranks: Ranks, p: Parameters) -> None:
    t = isthmus.simulate(schedule_of(ranks), level_of(p), record="ops")
    events = trace(t, tmp_path / "t.json")
    check(events)
    number = kinds(events)
    handled = int((t.handled_ps >= 0).sum())
    sends = t.schedule.ops["kind"] == SEND
    assert number["s"] == number["f"] == handled
    assert number["X"] == int(((t.start_ps >= 0) & (t.schedule.ops["kind"] != RECV)).sum()) + handled
    assert handled <= int((sends & (t.start_ps >= 0)).sum())


def test_many_blocks(tmp_path: Path) -> None:
    """More events than are written at once."""
    s = isthmus.collective("alltoall", ranks=150, bytes=3000, algorithm="linear")
    t = isthmus.simulate(s, level_of(P), record="ops")
    events = trace(t, tmp_path / "t.json")
    check(events)
    assert kinds(events)["X"] == len(s)
    assert kinds(events)["s"] == len(s) // 2


def test_some_ranks_and_times(tmp_path: Path) -> None:
    s = isthmus.collective("alltoall", ranks=8, bytes=8)
    t = isthmus.simulate(s, level_of(P), record="ops")
    events = trace(t, tmp_path / "t.json", ranks=[2, 5])
    check(events)
    assert {e["pid"] for e in events} == {2, 5}
    # Messages between the two only.
    assert kinds(events)["s"] == 2
    begin, end = 0.3 * t.makespan, 0.5 * t.makespan
    events = trace(t, tmp_path / "t.json", window=(begin, end))
    check(events)
    times = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X"]
    assert 0 < len(times) < len(s)
    assert all(a * 1e-6 <= end and b * 1e-6 >= begin for a, b in times)


def test_nothing(tmp_path: Path) -> None:
    t = isthmus.simulate(schedule_of([[], []]), level_of(P), record="ops")
    assert {e["ph"] for e in trace(t, tmp_path / "t.json")} == {"M"}
    assert trace(t, tmp_path / "t.json", ranks=[]) == []


def test_wrong_requests(tmp_path: Path) -> None:
    t = isthmus.simulate(schedule_of(EXAMPLE), level_of(P))
    with pytest.raises(InvalidInput, match="record='ops'"):
        t.save_chrome(tmp_path / "t.json")
    t = isthmus.simulate(schedule_of(EXAMPLE), level_of(P), record="ops")
    for wrong, words in (({"path": "t.txt"}, "json"), ({"ranks": [9]}, "rank 9"), ({"window": (1, 0)}, "window")):
        path = tmp_path / str(wrong.pop("path", "t.json"))
        with pytest.raises(InvalidInput, match=words):
            t.save_chrome(path, **wrong)
    assert list(tmp_path.iterdir()) == []
