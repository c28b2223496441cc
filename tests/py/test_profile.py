"""Sums of profiles against loops over calls."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.errors import InvalidInput
from isthmus.recording.profile import CallTable, Profile, SizeTable, category, profile
from isthmus.schedule.recording import NONE
from recordings import Call, recorded

FUNCTIONS = ("MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Iprobe", "MPI_Init", "MPI_Finalize", "MPI_Comm_split")
FRAME = ("MPI_Init", "MPI_Finalize")
RANKS = 4


@st.composite
def calls(draw: st.DrawFn) -> Call:
    begin = draw(st.integers(0, 1000))
    length = draw(st.integers(0, 50))
    function = draw(st.sampled_from(FUNCTIONS))
    waits = function in ("MPI_Allreduce", "MPI_Comm_split") and draw(st.booleans())
    return Call(
        rank=draw(st.integers(0, RANKS - 1)),
        function=function,
        begin=begin,
        end=begin + length,
        sent=draw(st.integers(0, 3) | st.integers(0, 2**40)),
        received=draw(st.integers(0, 3)),
        site=draw(st.sampled_from([None, "a.c:1", "b.c:2"])),
        count=draw(st.integers(1, 5)) if function == "MPI_Iprobe" else 1,
        # Clocks are not exact: it may be longer than the call.
        wait=draw(st.integers(0, 60)) if waits else -1,
        thread=draw(st.sampled_from([0, 0, 0, 3])),
    )


def program(transfers: list[tuple[int, int, int]] | None = None, ranks: int = RANKS) -> isthmus.Program:
    b = isthmus.ProgramBuilder(ranks)
    for source, target, size in transfers or []:
        b.send(source, target, size)
        b.recv(target, source, size)
    return b.build()


def expected(made: list[Call], key: Callable[[Call], object]) -> dict[object, dict[str, float]]:
    """Sums by a loop."""
    groups: dict[object, list[Call]] = defaultdict(list)
    for call in made:
        if call.function not in FRAME:
            groups[key(call)].append(call)
    out = {}
    for name, members in groups.items():
        known = [c for c in members if c.wait >= 0]
        waited = [min(c.wait, c.end - c.begin) for c in known]
        single = [c.end - c.begin for c in members if c.count == 1]
        out[name] = {
            "calls": sum(c.count for c in members),
            "ranks": len({c.rank for c in members}),
            "time": sum(c.end - c.begin for c in members) * 1e-9,
            "longest": max(single, default=0) * 1e-9,
            "waiting": sum(waited) * 1e-9 if known else math.nan,
            "communicating": (sum(c.end - c.begin for c in known) - sum(waited)) * 1e-9 if known else math.nan,
            "sent": sum(c.sent for c in members),
            "received": sum(c.received for c in members),
        }
    return out


def rows(p: Profile, table: CallTable, by_site: bool) -> dict[object, dict[str, float]]:
    """The same of a table."""
    out: dict[object, dict[str, float]] = {}
    for i in range(len(table)):
        site = int(table.site[i])
        name = p.function_name(int(table.function[i]))
        key = (name, None if site == NONE else p.site_name(site)) if by_site else name
        assert key not in out
        names = [n for n in table.__dataclass_fields__ if n not in ("function", "site")]
        out[key] = {n: float(getattr(table, n)[i]) for n in names}
    return out


def same(a: dict[object, dict[str, float]], b: dict[object, dict[str, float]]) -> None:
    assert a.keys() == b.keys()
    for key in a:
        assert a[key] == pytest.approx(b[key], rel=1e-12, abs=1e-18, nan_ok=True), key


@given(st.lists(calls(), max_size=40), st.sampled_from([None, 0, 2]))
@settings(max_examples=80, deadline=None)
def test_tables_are_sums(made: list[Call], rank: int | None) -> None:
    p = profile(recorded(program(), made), rank=rank)
    mine = [c for c in made if rank is None or c.rank == rank]
    same(rows(p, p.functions, False), expected(mine, lambda c: c.function))
    same(rows(p, p.sites, True), expected(mine, lambda c: (c.function, c.site)))
    for table in (p.functions, p.sites):
        assert (np.diff(table.time) <= 0).all()
    collective = [max(c.sent, c.received) for c in mine if c.function == "MPI_Allreduce"]
    histogram(p.collectives, collective)


@given(st.lists(calls(), max_size=40))
@settings(max_examples=50, deadline=None)
def test_ranks_are_sums(made: list[Call]) -> None:
    p = profile(recorded(program(), made))
    for rank in range(RANKS):
        mine = [c for c in made if c.rank == rank and c.function not in FRAME]
        threads = max(len({c.thread for c in mine}), 1)

        def time(*functions: str, mine: list[Call] = mine, threads: int = threads) -> float:
            return sum(c.end - c.begin for c in mine if c.function in functions or not functions) * 1e-9 / threads

        together = ("MPI_Allreduce",)
        split = sum(c.end - c.begin for c in mine if c.function == "MPI_Comm_split" and c.wait >= 0) * 1e-9 / threads
        waited = sum(min(c.wait, c.end - c.begin) for c in mine if c.wait >= 0) * 1e-9 / threads
        t = p.ranks
        assert t.mpi[rank] == pytest.approx(time())
        assert t.waiting[rank] == pytest.approx(waited)
        assert t.collective[rank] == pytest.approx(time(*together) + split)
        assert t.completion[rank] == pytest.approx(time("MPI_Waitall", "MPI_Iprobe"))
        assert t.calls[rank] == sum(c.count for c in mine)
        assert t.sent[rank] == sum(c.sent for c in mine)
        assert t.received[rank] == sum(c.received for c in mine)
        if t.wall[rank] > 0:
            assert t.share[rank] == pytest.approx(t.mpi[rank] / t.wall[rank])


def histogram(table: SizeTable, sizes: list[int]) -> None:
    number, volume = Counter(s.bit_length() for s in sizes), Counter()
    for size in sizes:
        volume[size.bit_length()] += size
    assert len(table.low) == max((s.bit_length() for s in sizes), default=-1) + 1
    for k in range(len(table.low)):
        assert table.low[k] == (1 << (k - 1) if k else 0)
        assert table.number[k] == number[k]
        assert int(table.bytes[k]) == pytest.approx(volume[k], rel=1e-12)


@given(st.lists(st.integers(0, 58).map(lambda k: (1 << k) - 1) | st.integers(0, 2**58), max_size=20))
def test_sizes_by_powers_of_two(sizes: list[int]) -> None:
    histogram(SizeTable.of(np.array(sizes, np.uint64)), sizes)


transfers = st.lists(st.tuples(st.integers(0, RANKS - 1), st.integers(0, RANKS - 1), st.integers(0, 5000)), max_size=20)


@given(transfers, st.sampled_from([None, 1]))
@settings(max_examples=50, deadline=None)
def test_messages_partners_and_pairs(made: list[tuple[int, int, int]], rank: int | None) -> None:
    p = profile(recorded(program(made)), rank=rank)
    histogram(p.messages, [size for source, _, size in made if rank in (None, source)])
    for r in range(RANKS):
        partners = {a for a, b, _ in made if b == r} | {b for a, b, _ in made if a == r}
        assert p.ranks.partners[r] == len(partners - {r})
    volume, number = Counter(), Counter()
    for source, target, size in made:
        if rank is None or rank in (source, target):
            volume[source, target] += size
            number[source, target] += 1
    found = {(a, b): (size, n) for a, b, size, n in p.pairs}
    order = [size for _, _, size, _ in p.pairs]
    assert order == sorted(order, reverse=True)
    assert len(found) == min(len(volume), 10)
    assert order == sorted(volume.values(), reverse=True)[:10]
    assert all(found[pair] == (volume[pair], number[pair]) for pair in found)


def test_oversubscribed_runs_have_no_times() -> None:
    made = [
        Call(0, "MPI_Send", 0, 500, sent=8, peer=1),
        Call(1, "MPI_Allreduce", 0, 700, sent=16, received=16, wait=300),
        Call(1, "MPI_Allreduce", 800, 900, sent=16, received=16, wait=0),
    ]
    p = profile(recorded(program(ranks=2), made, cpus_online=np.ones(2, np.uint32)))
    assert p.oversubscribed is not None
    for table in (p.functions, p.sites):
        for name in ("time", "longest", "waiting", "communicating"):
            assert np.isnan(getattr(table, name)).all()
        # What moves most comes first, where times do not tell.
        assert [p.function_name(int(f)) for f in table.function] == ["MPI_Allreduce", "MPI_Send"]
        assert table.calls.tolist() == [2, 1]
        assert table.sent.tolist() == [32, 8]
    for name in ("mpi", "waiting", "collective", "completion", "share"):
        assert np.isnan(getattr(p.ranks, name)).all()
    assert np.isfinite(profile(recorded(program(ranks=2), made)).ranks.mpi).all()


def test_addresses_on_one_line_are_one_place() -> None:
    made = [Call(0, "MPI_Send", 10 * i, 10 * i + 2, site=f"a.c:{i}") for i in range(3)]
    p = profile(recorded(program(), made, sites=("a.c:7", "b.c:1", "a.c:7")))
    assert [p.site_name(int(i)) for i in p.sites.site] == ["a.c:7", "b.c:1"]
    assert p.sites.calls.tolist() == [2, 1]


def test_imbalance() -> None:
    b = isthmus.ProgramBuilder(4)
    b.compute(None, [1e-6, 1e-6, 1e-6, 5e-6])
    p = profile(recorded(b.build()))
    assert p.ranks.computing.tolist() == pytest.approx([1e-6, 1e-6, 1e-6, 5e-6])
    assert p.imbalance == pytest.approx(2.5)
    assert math.isnan(profile(recorded(program())).imbalance)


def test_nothing_recorded() -> None:
    p = profile(recorded(program()))
    assert len(p.functions) == len(p.sites) == len(p.messages.low) == len(p.pairs) == 0
    assert p.shape is None
    assert p.ranks.calls.tolist() == [0] * RANKS


def test_wrong_requests() -> None:
    with pytest.raises(InvalidInput, match="was not recorded"):
        profile(program())
    with pytest.raises(InvalidInput, match="ranks 0 to 3"):
        profile(recorded(program()), rank=4)


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("collective", "Barrier Ibcast Allreduce_init Alltoallw_c Neighbor_alltoallv Reduce_scatter_block"),
        ("collective", "Ineighbor_allgather Gatherv Iscan Exscan Scatterv_init_c"),
        ("message", "Send Isend Ssend Irsend Bsend_init Recv Imrecv Sendrecv_replace Isendrecv Start Startall"),
        ("message", "Psend_init Pready_range Recv_init Send_c"),
        ("completion", "Wait Waitall Testsome Iprobe Mprobe Probe Request_get_status"),
        ("one-sided", "Put Rget Accumulate Fetch_and_op Win_fence Win_lock_all Rget_accumulate"),
        ("I/O", "File_open File_write_at_all"),
        ("other", "Comm_split Init Type_commit Reduce_local Cart_create"),
    ],
)  # fmt: skip
def test_categories(name: str, functions: str) -> None:
    assert {category(f"MPI_{function}") for function in functions.split()} == {name}
