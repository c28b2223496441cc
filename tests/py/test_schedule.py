"""Schedules from columns, against lists of operations per rank; relabelling; what is rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import ANY, InvalidInput, Schedule
from isthmus.schedule.schedule import ALL_ONES, OPS, SLICES, START_BIT, OpKind
from noun_strategies import Columns, schedule_columns, schedules

thorough = settings(max_examples=150, derandomize=True, deadline=None)


def plain(ranks: int, table: Columns) -> list[list[dict[str, Any]]]:
    """Operations of each rank with what they wait for, one at a time."""
    number, out = {}, [[] for _ in range(ranks)]
    for i, rank in enumerate(table["rank"]):
        number[i] = len(out[rank])
        op = {name: table[name][i] for name in ("kind", "amount", "peer", "tag", "comm", "cpu", "nic")}
        if op["kind"] in ("calc", "copy", "reduce"):
            op |= {"peer": 0, "tag": 0, "comm": 0}
        if op["kind"] in ("put", "get"):
            op["tag"] = 0
        out[rank].append(op | {"waits": []})
    for op, on, start in zip(table["op"], table["on"], table["start"], strict=True):
        out[table["rank"][op]][number[op]]["waits"].append((number[on], start))
    for op in (op for rank in out for op in rank):
        op["waits"].sort()
    return out


def listed(s: Schedule) -> list[list[dict[str, Any]]]:
    """The same, read from the arrays."""
    out = []
    for rank in range(s.ranks):
        ops = s.ops[s.op_first[rank] : s.op_first[rank + 1]]
        edges = s.edges[s.edge_first[rank] : s.edge_first[rank + 1]]
        row = []
        for op in ops:
            fields = {name: int(op[name]) for name in ("amount", "peer", "tag", "comm", "cpu", "nic")}
            fields |= {name: ANY for name in ("peer", "tag") if fields[name] == ALL_ONES}
            row.append({"kind": OpKind(op["kind"]).name, **fields, "waits": []})
        ends = [*ops["first_edge"], len(edges)][1:]
        for i, (begin, end) in enumerate(zip(ops["first_edge"], ends, strict=True)):
            for edge in edges[begin:end]:
                row[edge & ~np.uint32(START_BIT)]["waits"].append((i, bool(edge & START_BIT)))
        assert [len(op["waits"]) for op in row] == ops["needs"].tolist()
        for op in row:
            op["waits"].sort()
        out.append(row)
    return out


@thorough
@given(schedule_columns())
def test_columns_become_the_operations_of_each_rank(drawn: tuple[int, Columns]) -> None:
    ranks, table = drawn
    s = Schedule.of(ranks, **table)
    assert s.ranks == ranks
    assert len(s) == len(table["rank"])
    assert listed(s) == plain(ranks, table)
    for rank, row in enumerate(plain(ranks, table)):
        assert [sorted(s.requires(rank, i)) for i in range(len(row))] == [op["waits"] for op in row]
    order = np.argsort(table["rank"], kind="stable")
    assert {name: sizes.tolist() for name, sizes in s.buffers.items()} == table.get("buffers", {})
    assert np.array_equal(s.slices, table["slices"][order] if "slices" in table else np.empty(0, SLICES))


@thorough
@given(schedules)
def test_views_make_the_same_schedule_again(s: Schedule) -> None:
    rank = np.repeat(np.arange(s.ranks), np.diff(s.op_first.astype(int)))
    fields = {name: s.ops[name] for name in ("kind", "amount", "peer", "tag", "comm", "cpu", "nic")}
    op, on, start = s.dependencies()
    slices = s.slices if s.buffers else None
    again = Schedule.of(s.ranks, rank=rank, **fields, op=op, on=on, start=start, buffers=s.buffers, slices=slices)
    assert again == s


@thorough
@given(schedules, st.randoms(use_true_random=False))
def test_relabel_moves_ranks_and_peers(s: Schedule, random: Any) -> None:
    to = random.sample(range(s.ranks), s.ranks)
    moved = s.relabel(to)
    expected: list[Any] = [None] * s.ranks
    for rank, row in enumerate(listed(s)):
        for op in row:
            if op["kind"] in ("send", "recv", "put", "get") and op["peer"] != ANY:
                op["peer"] = to[op["peer"]]
        expected[to[rank]] = row
    assert listed(moved) == expected
    for name, sizes in s.buffers.items():
        assert np.array_equal(moved.buffers[name][to], sizes)
    assert moved.relabel(np.argsort(to)) == s


def test_views_are_read_only_and_of_the_same_memory() -> None:
    parts = {"buffers": {"a": 9}, "slices": np.zeros(2, SLICES)}
    s = Schedule.of(1, rank=[0, 0], kind=["send", "recv"], amount=8, op=1, on=0, **parts)
    for view in (s.ops, s.op_first, s.edge_first, s.edges, s.slices, s.buffers["a"]):
        assert not view.flags.writeable
    assert s.ops.dtype == OPS
    assert s.ops.ctypes.data == s.arrays.ops.ctypes.data
    assert (OPS.itemsize, SLICES.itemsize) == (32, 40)
    ops = s.ops
    del s
    assert ops["amount"].tolist() == [8, 8]
    with pytest.raises(AttributeError):
        Schedule.of(1, rank=0, kind="calc").ranks = 2  # type: ignore[misc]


def test_scalars_hold_for_all_and_seconds_for_calc_only() -> None:
    s = Schedule.of(3, rank=[0, 1, 2], kind=["calc", "copy", "calc"], amount=64, seconds=[1e-6, np.nan, 2.5e-12], cpu=3)
    assert s.ops["amount"].tolist() == [1_000_000, 64, 2]  # half a picosecond goes to the even one
    assert s.ops["cpu"].tolist() == [3, 3, 3]
    assert Schedule.of(1, rank=0, kind=3, amount=7) == Schedule.of(1, rank=[0], kind=OpKind.calc, seconds=7e-12)
    one = Schedule.of(1, rank=np.zeros(3, int), kind="calc", op=[1, 2], on=0)
    assert [one.requires(0, i) for i in range(3)] == [[], [(0, False)], [(0, False)]]


def test_extremes() -> None:
    empty = Schedule.of(1, rank=[], kind=[])
    assert (len(empty), empty.ranks, len(empty.edges)) == (0, 1, 0)
    assert empty == Schedule.of(1, rank=[], kind="calc")
    assert empty != Schedule.of(2, rank=[], kind=[])
    assert str(empty) == "Schedule of 1 rank, 0 operations, 0 dependencies"
    assert str(empty.rank(0)) == "rank 0"
    assert all(len(column) == 0 for column in empty.dependencies())
    assert empty.relabel([0]) == empty
    largest = Schedule.of(1, rank=0, kind="put", amount=2**63 - 1, tag=ALL_ONES - 1, comm=ALL_ONES)
    assert largest.ops["amount"][0] == 2**63 - 1


def test_equality_sees_every_part() -> None:
    table: Columns = {
        "rank": [0, 0],
        "kind": "copy",
        "op": 1,
        "on": 0,
        "buffers": {"a": 9},
        "slices": np.zeros(2, SLICES),
    }
    s = Schedule.of(1, **table)
    other = np.zeros(2, SLICES)
    other["to"]["offset"] = 1
    assert s == Schedule.of(1, **table)
    assert s != "schedule"
    for change in (
        {"kind": "reduce"},
        {"start": True},
        {"buffers": {"b": 9}},
        {"buffers": {"a": 8}},
        {"slices": other},
    ):
        assert s != Schedule.of(1, **(table | change))


def test_text_for_people() -> None:
    s = Schedule.of(
        2,
        rank=[0, 1, 1, 1],
        kind=["send", "recv", "calc", "get"],
        amount=[1000, 1000, 0, 24],
        seconds=1e-6,
        peer=[1, ANY, 0, 0],
        tag=[4, ANY, 0, 0],
        comm=[2, 2, 0, 0],
        op=[2, 3, 3],
        on=[1, 1, 2],
        start=[False, True, False],
    )
    assert str(s.rank(1)).splitlines() == [
        "rank 1",
        "  0: recv 1 kB from any tag any comm 2",
        "  1: calc 1 us requires 0",
        "  2: get 24 B from 0 requires 1 requires start of 0",
    ]
    assert str(s) == (
        "Schedule of 2 ranks, 4 operations (1 send, 1 recv, 1 calc, 1 get), 1 KiB in 2 messages, 1 us of computation, "
        "3 dependencies"
    )
    assert repr(s) == "<Schedule: 2 ranks, 4 operations, 3 dependencies>"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rank": [0, 2, 1]}, "operation 1 is on rank 2: ranks are 0 to 1"),
        ({"rank": -1}, "rank is -1"),
        ({"rank": [0, 1]}, "columns differ in length: rank 2, kind 3"),
        ({"rank": [[0, 1]]}, "rank has 2 dimensions"),
        ({"rank": [0, 0.5, 1]}, "whole numbers"),
        ({"kind": ["send", "sent", "calc"]}, "kind 'sent' is unknown: must be one of send, recv, calc"),
        ({"kind": [1, 2, 8]}, "operation 2 (of rank 1): kind 8 is unknown"),
        ({"kind": 0}, "operation 0 (of rank 0): kind 0 is unknown"),
        ({"amount": [1, -2, 3]}, "amount[1] is -2"),
        ({"amount": np.uint64(2**63)}, "operation 0 (of rank 0): amount 9223372036854775808 is too large"),
        ({"seconds": [0, 0, -1]}, "operation 2 (of rank 1): calc of -1"),
        ({"seconds": np.inf}, "operation 2 (of rank 1): calc of inf seconds"),
        ({"seconds": np.nan}, "calc of nan"),
        ({"seconds": 9.3e6}, "must be 0 to 9.2e6"),
        ({"seconds": "long"}, "seconds must hold numbers only"),
        ({"peer": [2, 0, 0]}, "operation 0 (of rank 0): send to rank 2, but ranks are 0 to 1"),
        ({"peer": [1, 2, 0]}, "operation 1 (of rank 1): recv from rank 2, but ranks are 0 to 1"),
        ({"peer": ANY}, "operation 0 (of rank 0): send to any rank"),
        ({"peer": -2}, "peer is -2"),
        ({"tag": ANY}, "operation 0 (of rank 0): a send cannot have any tag"),
        ({"tag": 2**32}, "tag is 4294967296"),
        ({"cpu": 256}, "cpu is 256: must be 0 to 255"),
        ({"nic": -1}, "nic is -1"),
        ({"op": 2}, "op and on belong together"),
        ({"op": [2, 2], "on": [1, 1, 1]}, "columns differ in length"),
        ({"op": 2, "on": 2}, "operation 2 (of rank 1): depends on itself"),
        ({"op": 2, "on": 3}, "dependency 0: operation 2 on operation 3, but there are 3 operations"),
        ({"op": 2, "on": 0}, "operation 2 (of rank 1): depends on operation 0 of rank 0"),
        ({"buffers": {"a": [1, 2, 3]}}, "buffer a has 3 sizes"),
        ({"slices": np.zeros(3, np.uint8)}, "slices have shape (3,)"),
        ({"slices": np.zeros(2, SLICES), "buffers": {"a": 1}}, "slices have shape (2,)"),
        ({"slices": np.zeros(3, SLICES)}, "operation 0 (of rank 0): buffer 0 does not exist, there are 0"),
    ],
)
def test_what_is_rejected(change: Columns, words: str) -> None:
    good = {"rank": [0, 1, 1], "kind": ["send", "recv", "calc"], "peer": [1, 0, 0], "op": 2, "on": 1}
    Schedule.of(2, **good)
    if set(change) == {"op"}:
        del good["on"]
    with pytest.raises(InvalidInput) as error:
        Schedule.of(2, **(good | change))
    assert words in str(error.value)


@pytest.mark.parametrize("ranks", [0, -1, 1.5, 2**32])
def test_ranks_that_are_rejected(ranks: Any) -> None:
    with pytest.raises(InvalidInput, match="ranks is"):
        Schedule.of(ranks, rank=[], kind=[])


@pytest.mark.parametrize(
    ("to", "words"), [([0], "2 ranks"), ([0, 2], "rank 1 becomes 2"), ([1, 1], "ranks 0 and 1 both become 1")]
)
def test_no_permutation(to: list[int], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Schedule.of(2, rank=0, kind="calc").relabel(to)


def test_unknown_rank_operation_and_suffix(tmp_path: Path) -> None:
    s = Schedule.of(2, rank=0, kind="calc")
    for rank in (-1, 2):
        with pytest.raises(InvalidInput, match=f"rank {rank} does not exist: ranks are 0 to 1"):
            s.rank(rank)
    with pytest.raises(InvalidInput, match="rank 0 has no operation 1: it has 1"):
        s.requires(0, 1)
    with pytest.raises(InvalidInput, match=r"must end in \.h5, .hdf5, .goal or .bin"):
        s.save(tmp_path / "s.txt")


def test_validate_reports_a_cycle() -> None:
    s = Schedule.of(1, rank=[0, 0], kind="calc", op=[0, 1], on=[1, 0])
    with pytest.raises(InvalidInput, match="rank 0"):
        s.validate()
    Schedule.of(1, rank=[0, 0], kind="calc", op=[0], on=[1]).validate()


@pytest.mark.parametrize("suffix", [".goal", ".bin"])
def test_goal_files_are_read_by_content(tmp_path: Path, suffix: str) -> None:
    s = Schedule.of(2, rank=[0, 1, 1], kind=["send", "recv", "calc"], peer=[1, 0, 0], amount=3000, op=2, on=1)
    s.save(tmp_path / f"s{suffix}", unit="ps")
    (tmp_path / f"s{suffix}").rename(tmp_path / "anything")
    assert isthmus.read(tmp_path / "anything", unit="ps") == s


def test_a_million_operations() -> None:
    n, ranks = 1_000_000, 100
    rank = np.arange(n) % ranks  # interleaved
    s = Schedule.of(ranks, rank=rank, kind="calc", amount=np.arange(n), op=np.arange(ranks, n), on=np.arange(n - ranks))
    assert np.array_equal(s.ops["amount"].reshape(ranks, -1), np.arange(n).reshape(-1, ranks).T)
    assert np.array_equal(s.ops["needs"].reshape(ranks, -1)[:, 1:], np.ones((ranks, n // ranks - 1)))
    assert np.array_equal(s.edges.reshape(ranks, -1), np.tile(np.arange(1, n // ranks), (ranks, 1)))
    order = np.argsort(rank, kind="stable")
    op, on, start = s.dependencies()
    assert Schedule.of(ranks, rank=rank[order], kind="calc", amount=order, op=op, on=on, start=start) == s
