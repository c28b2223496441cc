"""What each kind of call becomes, on traces written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import Program
from isthmus.recording import raw
from isthmus.recording.merge import merge
from isthmus.schedule.recording import Recording
from raw_traces import SECOND, RawTrace, recv, send

INTER = 1 << 63 | 5
#: What a call every 2 us computes between calls.
PAUSE = "compute 1 us"


def merged(directory: Path, *traces: RawTrace, **options: str) -> Program:
    for trace in traces:
        trace.write(directory)
    program = merge(directory, **options)
    program.validate()
    isthmus.lower(program).validate()
    assert isthmus.simulate(program, "torus-4x4x4").deadlock is None
    return program


def lines(program: Program, rank: int, *, pauses: bool = False) -> list[str]:
    return [str(event) for event in program.events(rank) if pauses or str(event) != PAUSE]


def recording(program: Program) -> Recording:
    assert program.recording is not None
    return program.recording


def pair(make: Callable[[RawTrace, int], None]) -> list[RawTrace]:
    """Two ranks, each of which does what ``make`` does with its trace and the other's rank."""
    traces = [RawTrace(rank, 2) for rank in range(2)]
    for rank, trace in enumerate(traces):
        make(trace, 1 - rank)
    return traces


def test_a_gap_is_what_the_processor_was_busy_in_it(tmp_path: Path) -> None:
    t = RawTrace(0, 1)
    t.collective("MPI_Barrier", 1, gap=5000)
    t.collective("MPI_Barrier", 1, gap=5000, cpu_gap=3000)
    t.collective("MPI_Barrier", 1, gap=5000, cpu_gap=9000)
    t.collective("MPI_Barrier", 1, gap=0)
    t.header["finalize_begin"] = t.now + 7000
    p = merged(tmp_path, t)
    expected = [
        "compute 5 us",
        "barrier",
        "compute 3 us",
        "barrier",
        "compute 5 us",
        "barrier",
        "barrier",
        "compute 7 us",
    ]
    assert lines(p, 0, pauses=True) == expected
    assert recording(p).wall[0] == pytest.approx(26e-6)


@pytest.mark.parametrize(
    ("polls", "computed"),
    [
        # 100 polls of 90 ns in 10 us: a loop that only waits.
        ({"count": 100, "lasts": 10_000, "inside": 9_000}, 4),
        # 11 polls, one every 100 us: the program works in between, also before the one that succeeds.
        ({"count": 11, "lasts": 1_000_000, "inside": 11_000}, 993),
        ({"count": 1, "lasts": 100, "inside": 100}, 4),
    ],
)
def test_gaps_of_a_loop_that_polls(tmp_path: Path, polls: dict[str, int], computed: int) -> None:
    t = RawTrace(0, 1)
    t.collective("MPI_Ibarrier", 1, request=1, gap=1000)
    t.polls("MPI_Test", gap=1000, site="a", **polls)
    t.done("MPI_Test", (1, 0), site="a", gap=200)
    t.collective("MPI_Barrier", 1, gap=1000)
    p = merged(tmp_path, t)
    # One before each of the two barriers and the loop, one after the last.
    assert p.amount[p.kind == 1].sum() / 1e6 == pytest.approx(computed)
    r = recording(p)
    assert r.count.tolist() == [1, polls["count"], 1, 1]
    assert r.event.tolist()[1] == -1


def test_work_after_a_poll_that_found_nothing_counts(tmp_path: Path) -> None:
    t = RawTrace(0, 1)
    t.polls("MPI_Iprobe", 1, lasts=100, inside=100)
    t.collective("MPI_Barrier", 1, gap=8000)
    assert lines(merged(tmp_path, t), 0) == ["compute 8 us", "barrier"]


def test_blocking_messages_and_wildcards(tmp_path: Path) -> None:
    a, b = RawTrace(0, 2), RawTrace(1, 2)
    a.messages("MPI_Send", send(1, 100, 7), site="x.c:1")
    a.messages("MPI_Ssend", send(1, 50, 8, mode=raw.SYNCHRONOUS))
    a.messages("MPI_Send", send(raw.NULL, 50, 8))
    b.messages("MPI_Recv", recv(0, 100, 7, asked_peer=raw.ANY, asked_tag=raw.ANY))
    b.messages("MPI_Recv", recv(0, 50, 8, asked_tag=raw.ANY))
    b.messages("MPI_Recv", recv(raw.NULL, 0, raw.ANY))
    p = merged(tmp_path, a, b)
    assert lines(p, 0) == [f"send 100 B to 1 tag 7 at app+{sum(b'x.c:1'):#x} (x.c:1)", "send 50 B to 1 tag 8"]
    assert lines(p, 1) == ["recv 100 B from 0 tag 7", "recv 50 B from 0 tag 8"]
    assert recording(p).event[2] == recording(p).event[5] == -1
    free = merge(tmp_path, wildcards="free")
    assert lines(free, 1) == ["recv 100 B from any tag any", "recv 50 B from 0 tag any"]


def test_buffered_sends_are_not_waited_for(tmp_path: Path) -> None:
    def exchange(t: RawTrace, other: int) -> None:
        t.messages("MPI_Bsend", send(other, 10**7, mode=raw.BUFFERED))
        t.messages("MPI_Recv", recv(other, 10**7))

    p = merged(tmp_path, *pair(exchange))
    assert lines(p, 0) == ["isend 10 MB to 1 tag 0 request 1", "recv 10 MB from 1 tag 0"]


def test_requests(tmp_path: Path) -> None:
    def exchange(t: RawTrace, other: int) -> None:
        t.messages("MPI_Irecv", recv(raw.ANY, 10**6, raw.ANY, request=1, world=raw.ANY))
        t.messages("MPI_Irecv", recv(raw.NULL, 10, request=2))
        t.messages("MPI_Irecv", recv(other, 10, 99, request=3))
        t.messages("MPI_Isend", send(other, 64, 5, request=4))
        t.messages("MPI_Isend", send(other, 65, 6, request=5))
        t.messages("MPI_Recv", recv(other, 65, 6))
        t.done("MPI_Waitany", (2, raw.RECEIVED, raw.NULL, raw.ANY, 0))
        t.done("MPI_Test", (1, raw.RECEIVED, other, 5, 64))
        t.done("MPI_Wait", (3, raw.CANCELLED))
        t.done("MPI_Request_free", (5, raw.FREED))
        t.done("MPI_Waitsome", (4, 0), (77, 0))
        t.done("MPI_Waitall")

    p = merged(tmp_path, *pair(exchange))
    assert lines(p, 0) == [
        "irecv 64 B from 1 tag 5 request 1",
        "irecv 0 B from none tag 0 request 2",
        "irecv 10 B from none tag 0 request 3",
        "isend 64 B to 1 tag 5 request 4",
        "isend 65 B to 1 tag 6 request 78",
        "recv 65 B from 1 tag 6",
        "wait request 2",
        "test request 1 completed 1",
        "wait request 3",
        "wait request 4",
    ]
    r = recording(p)
    assert r.peer[:12].tolist() == [1, -1, -1, 1, 1, 1, -1, 1, -1, 1, 1, -1]
    assert r.received[:12].tolist() == [0, 0, 0, 0, 0, 65, 0, 64, 0, 0, 0, 0]
    assert r.sent[:12].sum() == 129


def test_persistent_requests_and_isendrecv(tmp_path: Path) -> None:
    def exchange(t: RawTrace, other: int) -> None:
        for i in range(2):
            start = [send(other, 8, 1, request=1), recv(raw.ANY, 8, 1, request=2)]
            t.messages("MPI_Startall", *start, form=raw.START)
            t.done("MPI_Waitall", (1, 0), (2, raw.RECEIVED, other, 1, 8))
            t.messages("MPI_Isendrecv", send(other, 9, 2, request=3 + i), recv(other, 100, 2, request=3 + i))
            t.done("MPI_Wait", (3 + i, raw.RECEIVED, other, 2, 9))
        t.done("MPI_Request_free", (1, raw.FREED))

    p = merged(tmp_path, *pair(exchange))
    once = ["isend 8 B to 1 tag 1 request 1", "irecv 8 B from 1 tag 1 request 2", "waitall requests 1 2"]
    assert lines(p, 0) == [
        *once, "isend 9 B to 1 tag 2 request 3", "irecv 9 B from 1 tag 2 request 5", "waitall requests 3 5",
        *once, "isend 9 B to 1 tag 2 request 4", "irecv 9 B from 1 tag 2 request 6", "waitall requests 4 6",
    ]  # fmt: skip


def test_recording_switched_off_in_between(tmp_path: Path) -> None:
    def exchange(t: RawTrace, other: int) -> None:
        t.messages("MPI_Start", send(other, 8, request=1), form=raw.START)
        t.mark(raw.OFF)
        # The wait, and another round, are not seen.
        t.mark(raw.ON, gap=10**6)
        t.messages("MPI_Start", send(other, 8, request=1), form=raw.START)
        t.messages("MPI_Recv", recv(other, 8))
        t.messages("MPI_Recv", recv(other, 8))
        t.done("MPI_Waitall", (1, 0), (50, 0))

    p = merged(tmp_path, *pair(exchange))
    assert lines(p, 0) == [
        "isend 8 B to 1 tag 0 request 51",
        "isend 8 B to 1 tag 0 request 1",
        "recv 8 B from 1 tag 0",
        "recv 8 B from 1 tag 0",
        "wait request 1",
    ]


def test_collectives(tmp_path: Path) -> None:
    traces = [RawTrace(rank, 3) for rank in range(3)]
    for rank, t in enumerate(traces):
        t.collective("MPI_Bcast", 2, 100, root=2, gap=1000 + 500 * rank)
        t.collective("MPI_Gatherv", 5, 10 * rank, root=1, counts=[0, 10, 20] if rank == 1 else [])
        t.collective("MPI_Scatterv", 7, 10 * rank, root=1, counts=[0, 10, 20] if rank == 1 else [])
        t.collective("MPI_Reduce_scatter", 9, counts=[4, 5, 6])
        t.collective("MPI_Ialltoallv", 8, request=9, counts=[rank, 1, 2, 0, rank, 5])
        t.collective("MPI_Neighbor_alltoall", 12, counts=[(rank + 1) % 3, 7, 0, (rank + 2) % 3, 0, 7])
        t.collective("MPI_Gather_init", 5, 1, root=0, request=0, flags=raw.CREATED_ONLY)
        t.collective("MPI_Start", 5, 1, root=0, request=10, flags=raw.PERSISTENT)
        t.done("MPI_Waitall", (9, 0), (10, 0))
        t.collective("MPI_File_open", raw.OTHER_COLLECTIVE)
    p = merged(tmp_path, *traces)
    assert [line for line in lines(p, 0) if not line.startswith("compute")] == [
        "bcast 100 B root 2",
        "gather bytes 0 10 20 root 1",
        "scatter bytes 0 10 20 root 1",
        "reduce_scatter bytes 4 5 6",
        "alltoall bytes 0 1 2 0 0 5 request 9",
        "neighbor_alltoall bytes 1 7 0 2 0 7",
        "gather 1 B root 0 request 10",
        "waitall requests 9 10",
        "barrier",
    ]
    r = recording(p)
    # Rank 0 comes 1000 ns before the last, as long as its call takes.
    assert [r.wait[int(r.first[rank])] for rank in range(3)] == [1000, 500, 0]
    assert r.wait[4] == r.wait[8] == -1


def test_blocks_that_nobody_lists(tmp_path: Path) -> None:
    # The communicator has the ranks in another order.
    order = [2, 0, 1]
    traces = [RawTrace(rank, 3) for rank in range(3)]
    for rank, t in enumerate(traces):
        t.comm(50, order.index(rank), order)
        t.collective("MPI_Gatherv", 5, 10 * rank, root=1, comm=50)
        t.collective("MPI_Alltoallv", 8, 10 * rank, comm=50)
        t.collective("MPI_Alltoall", 8, 7, comm=50)
    p = merged(tmp_path, *traces)
    assert lines(p, 0) == [
        "gather bytes 20 0 10 root 1 comm 1", "alltoall bytes 0 0 0 20 0 10 comm 1", "alltoall 7 B comm 1"
    ]  # fmt: skip
    assert lines(p, 2)[1] == "alltoall bytes 20 20 20 20 0 10 comm 1"


def test_collectives_of_a_killed_rank_are_cut(tmp_path: Path) -> None:
    traces = [RawTrace(rank, 3, flags=1 if rank else 4) for rank in range(3)]
    for rank, t in enumerate(traces):
        t.collective("MPI_Barrier", 1)
        t.messages("MPI_Send", send((rank + 1) % 3, 8))
        if rank == 0:
            continue
        t.messages("MPI_Recv", recv((rank - 1) % 3, 8))
        t.collective("MPI_Ibarrier", 1, request=1)
        t.done("MPI_Wait", (1, 0))
    p = merged(tmp_path, *traces)
    assert lines(p, 0) == ["barrier", "send 8 B to 1 tag 0"]
    assert lines(p, 1) == ["barrier", "send 8 B to 2 tag 0", "recv 8 B from 0 tag 0", *cut_request(1)]
    assert lines(p, 2) == ["barrier", "recv 8 B from 1 tag 0", *cut_request(1)]
    assert recording(p).notes == (
        "left out: 2 calls of collectives that not all members recorded",
        "left out: 1 send without a partner in the recording",
    )
    assert recording(p).ending.tolist() == [4, 1, 1]


def cut_request(request: int) -> list[str]:
    return [f"isend 0 B to none tag 0 request {request}", f"wait request {request}"]


def test_communicators(tmp_path: Path) -> None:
    traces = [RawTrace(rank, 4) for rank in range(4)]
    for rank, t in enumerate(traces):
        half, place = 100 + rank % 2, rank // 2
        t.comm(half, place, [rank % 2, 2 + rank % 2])
        t.created("MPI_Comm_split", half)
        t.messages("MPI_Sendrecv", *(f(1 - place, 8, comm=half, world=(rank + 2) % 4) for f in (send, recv)))
        t.collective("MPI_Bcast", 2, 8, root=1, comm=half)
        t.created("MPI_Comm_split", 0 if rank else 7)
        if rank == 0:
            t.comm(7, 0, [0])
        t.comm(200, rank, range(4))
        t.created("MPI_Comm_idup", 200, request=5)
        t.done("MPI_Wait", (5, 0))
        t.collective("MPI_Barrier", 1, comm=200)
        t.created("MPI_Comm_free", half, parent=half, freed=1)
        if rank % 2:
            t.comm(300, place, [1, 3])
            t.created("MPI_Comm_create_group", 300)
        t.collective("MPI_Allreduce", 4, 8, comm=2 + rank)
    p = merged(tmp_path, *traces)
    # In the order of their ids, rank by rank: self of 0, 7, 100, 200, self of 1, 101, ...
    members = [p.members(c).tolist() for c in range(p.communicators)]
    assert sorted(members[1:]) == [[0], [0], [0, 1, 2, 3], [0, 2], [1], [1, 3], [1, 3], [2], [3]]
    half, dup, mine = (
        next(i for i, m in enumerate(members) if i and m == want) for want in ([1, 3], [0, 1, 2, 3], [3])
    )
    group = next(i for i, m in enumerate(members) if i > half and m == [1, 3])
    assert lines(p, 3) == [
        f"comm_create {half} from 0",
        f"sendrecv 8 B to 0 tag 0 and 8 B from 0 tag 0 comm {half}",
        f"bcast 8 B root 1 comm {half}",
        "comm_create none from 0",
        "barrier request 5",
        "wait request 5",
        f"barrier comm {dup}",
        f"barrier comm {group}",
        f"allreduce 8 B comm {mine}",
    ]
    r = recording(p)
    assert r.peer[int(r.first[3]) + 1] == 1
    assert r.comm[int(r.first[3]) + 1] == half


def test_intercommunicators_are_unions(tmp_path: Path) -> None:
    groups = [2, 0], [1, 3]
    traces = [RawTrace(rank, 4) for rank in range(4)]
    for rank, t in enumerate(traces):
        mine, other = groups if rank in groups[0] else groups[::-1]
        place = mine.index(rank)
        t.comm(INTER, place, mine, other)
        t.created("MPI_Intercomm_create", INTER)
        t.messages("MPI_Sendrecv", *(f(place, 8, comm=INTER, world=other[place]) for f in (send, recv)))
        # Rank 3 sends to the first group.
        root = 1 if rank in groups[0] else raw.ROOT if rank == 3 else raw.NULL
        t.collective("MPI_Bcast", 2, 100 if root != raw.NULL else 0, root=root, comm=INTER, flags=raw.INTER)
    p = merged(tmp_path, *traces)
    assert p.members(1).tolist() == [1, 3, 2, 0]
    assert lines(p, 2) == [
        "barrier comm 1", "sendrecv 8 B to 0 tag 0 and 8 B from 0 tag 0 comm 1", "bcast 100 B root 1 comm 1"
    ]  # fmt: skip
    assert lines(p, 3)[1:] == ["sendrecv 8 B to 3 tag 0 and 8 B from 3 tag 0 comm 1", "bcast 100 B root 1 comm 1"]
    assert recording(p).peer[int(recording(p).first[3]) + 1] == 0


def test_messages_to_another_world(tmp_path: Path) -> None:
    t = RawTrace(0, 1)
    t.comm(9, 0, [0], [raw.OUTSIDE])
    t.created("MPI_Comm_spawn", 9)
    t.messages("MPI_Send", send(0, 8, comm=9, world=raw.OUTSIDE))
    t.messages("MPI_Irecv", recv(0, 8, comm=9, world=raw.OUTSIDE, request=1))
    t.done("MPI_Wait", (1, raw.RECEIVED, 0, 0, 8))
    t.collective("MPI_Barrier", 1, comm=9, flags=raw.INTER)
    p = merged(tmp_path, t)
    assert lines(p, 0) == ["comm_create none from 0", "irecv 8 B from none tag 0 request 1", "wait request 1"]
    assert recording(p).unmodelled == {"MPI_Irecv": 1, "MPI_Send": 1}
    assert len(recording(p).notes) == 2


def test_one_sided(tmp_path: Path) -> None:
    def exchange(t: RawTrace, other: int) -> None:
        t.created("MPI_Win_create", 1, window=3)
        t.rma("MPI_Win_fence", raw.FENCE, window=3)
        t.rma("MPI_Put", raw.PUT, other, 100, window=3)
        t.rma("MPI_Get", raw.GET, other, 0, 50, window=3)
        t.rma("MPI_Fetch_and_op", raw.GET_ACCUMULATE, other, 8, 9, window=3)
        t.rma("MPI_Rput", raw.PUT, other, 4, window=3, request=1)
        t.done("MPI_Wait", (1, 0))
        t.rma("MPI_Win_lock_all", raw.LOCK_ALL, window=3)
        t.rma("MPI_Win_flush_all", raw.FLUSH_ALL, window=3)
        t.rma("MPI_Win_unlock_all", raw.UNLOCK_ALL, window=3)
        t.rma("MPI_Win_lock", raw.LOCK, other, window=3)
        t.rma("MPI_Win_flush_local", raw.FLUSH_LOCAL, other, window=3)
        t.rma("MPI_Win_unlock", raw.UNLOCK, other, window=3)
        t.created("MPI_Win_free", 0, parent=0, window=3, freed=1)

    p = merged(tmp_path, *pair(exchange))
    assert lines(p, 0) == [
        "allgather 8 B", "fence", "put 100 B to 1", "get 50 B from 1", "put 8 B to 1", "get 9 B from 1", "put 4 B to 1",
        "flush 1", "flush all", "unlock all", "lock 1", "flush 1", "unlock 1", "barrier",
    ]  # fmt: skip
    r = recording(p)
    assert (r.sent[:14].sum(), r.received[:14].sum()) == (112, 59)
    assert r.peer[2] == 1


def test_post_start_complete_wait(tmp_path: Path) -> None:
    origin, target = RawTrace(0, 2), RawTrace(1, 2)
    for _ in range(2):
        origin.rma("MPI_Win_start", raw.WIN_START, group=[1])
        origin.rma("MPI_Put", raw.PUT, 1, 100)
        origin.rma("MPI_Win_complete", raw.COMPLETE)
        target.rma("MPI_Win_post", raw.POST, group=[0])
        target.rma("MPI_Win_wait", raw.WIN_WAIT)
    p = merged(tmp_path, origin, target)
    assert len(lines(p, 0)) == 2 * len(["irecv", "put", "wait", "flush", "isend"])
    posted, completed = 0x7FFFFFFF, 0x7FFFFFFE
    assert lines(p, 0)[:5] == [
        f"irecv 0 B from 1 tag {posted} request 1",
        "put 100 B to 1",
        "wait request 1",
        "flush all",
        f"isend 0 B to 1 tag {completed} request 3",
    ]
    assert lines(p, 1)[:3] == [
        f"isend 0 B to 0 tag {posted} request 1", f"irecv 0 B from 0 tag {completed} request 3", "wait request 3"
    ]  # fmt: skip


def test_local_work_files_and_what_is_not_modelled(tmp_path: Path) -> None:
    t = RawTrace(0, 1)
    t.call("MPI_Pack", raw.PLAIN, lasts=5000, gap=0)
    t.call("MPI_Probe", raw.PLAIN, lasts=5000, gap=0)
    t.call("MPI_Send", raw.PLAIN, lasts=5000, gap=0, error=3)
    t.call("MPI_Comm_spawn_multiple", raw.PLAIN, gap=0)
    t.io("MPI_File_write_at", 4096, lasts=9000, gap=0)
    t.header["finalize_begin"] = t.now
    p = merged(tmp_path, t)
    assert lines(p, 0) == ["compute 5 us", "compute 9 us"]
    assert recording(p).unmodelled == {"MPI_Comm_spawn_multiple": 1, "MPI_File_write_at": 1}
    assert recording(p).event.tolist() == [0, -1, -1, -1, 1]


def test_marks(tmp_path: Path) -> None:
    t = RawTrace(0, 1)
    t.mark(raw.ITERATION, 4, gap=2000)
    t.collective("MPI_Barrier", 1)
    t.mark(raw.PHASE, 7)
    t.collective("MPI_Barrier", 1)
    p = merged(tmp_path, t)
    assert lines(p, 0) == [
        "compute 2 us",
        "iteration 4",
        "barrier",
        "compute 1 us in phase 7",
        "barrier in phase 7",
        "compute 1 us in phase 7",
    ]
    assert p.phases == ("phase 7",)


def test_threads_that_overlap(tmp_path: Path) -> None:
    # The first thread receives what the other rank sends only after it got the second thread's message.
    first, second, other = RawTrace(0, 2), RawTrace(0, 2, thread=1), RawTrace(1, 2)
    first.messages("MPI_Recv", recv(1, 8, 1), gap=1000, lasts=100_000)
    first.collective("MPI_Barrier", 1)
    second.messages("MPI_Send", send(1, 8, 2), gap=30_000)
    second.messages("MPI_Sendrecv", send(1, 9, 3), recv(1, 9, 3))
    other.messages("MPI_Recv", recv(0, 8, 2), gap=30_000)
    other.messages("MPI_Send", send(0, 8, 1))
    other.messages("MPI_Sendrecv", send(0, 9, 3), recv(0, 9, 3))
    other.collective("MPI_Barrier", 1)
    p = merged(tmp_path, first, second, other)
    assert lines(p, 0, pauses=True)[:7] == [
        PAUSE,
        "irecv 8 B from 1 tag 1 request 1",
        "isend 8 B to 1 tag 2 request 2",
        "wait request 2",
        PAUSE,
        "isend 9 B to 1 tag 3 request 3",
        "irecv 9 B from 1 tag 3 request 4",
    ]
    assert "barrier request 1" in lines(p, 1)
    r = recording(p)
    assert r.thread[: int(r.first[1])].tolist() == [0, 1, 1, 0]
    assert np.all(np.diff(r.begin[: int(r.first[1])]) >= 0)


def test_threads_that_compute_at_the_same_time_do_not_add_up(tmp_path: Path) -> None:
    threads = [RawTrace(0, 1, thread=i) for i in range(3)]
    for i, t in enumerate(threads):
        t.call("MPI_Get_count", raw.PLAIN, gap=0, lasts=0)
        t.collective("MPI_Barrier", 1, comm=2, gap=1_000_000, cpu_gap=500_000 if i else 100_000, lasts=10_000)
    threads[0].header["finalize_begin"] = threads[0].now
    p = merged(tmp_path, *threads)
    assert p.amount[p.kind == 1].sum() == 500_000 * 1000


def test_a_thread_that_waits_for_others_does_not_compute(tmp_path: Path) -> None:
    main, other = RawTrace(0, 1), RawTrace(0, 1, thread=1)
    main.collective("MPI_Barrier", 1, comm=2, gap=1000, lasts=5000)
    other.collective("MPI_Barrier", 1, comm=2, gap=5000)
    other.collective("MPI_Barrier", 1, comm=2, gap=900_000, cpu_gap=1000)
    main.header["finalize_begin"] = other.now + 3000
    p = merged(tmp_path, main, other)
    assert p.amount[p.kind == 1].sum() == (1000 + 1000 + 3000) * 1000


def test_threads_that_complete_each_other_s_requests(tmp_path: Path) -> None:
    # Both were given the same handle, one after the other, and the recorder saw them complete in another order.
    def exchange(t: RawTrace, other: int) -> None:
        t.messages("MPI_Isend", send(other, 8, 5, request=1))
        t.messages("MPI_Isend", send(other, 9, 6, request=2))
        t.messages("MPI_Irecv", recv(other, 10, 5, request=3))
        t.messages("MPI_Irecv", recv(raw.ANY, 10, 6, request=4))
        t.done("MPI_Waitall", (3, raw.RECEIVED, other, 6, 9), (4, raw.RECEIVED, other, 5, 8), (1, 0), (2, 0))

    p = merged(tmp_path, *pair(exchange))
    assert lines(p, 0)[2:4] == ["irecv 9 B from 1 tag 5 request 3", "irecv 8 B from 1 tag 6 request 4"]
    assert recording(p).notes == ()


def test_processes_that_are_not_of_the_program(tmp_path: Path) -> None:
    late = RawTrace(0, 2, pid=7, started_realtime_ns=1_800_000_000 * SECOND)
    late.collective("MPI_Barrier", 1)
    child = RawTrace(0, 1, pid=8, started_realtime_ns=1_800_000_000 * SECOND)
    lost = RawTrace(-1, -1)
    traces = pair(lambda t, other: t.collective("MPI_Barrier", 1))
    p = merged(tmp_path, late, child, lost, *traces)
    assert len(recording(p)) == 2
    assert recording(p).notes == (
        "left out: 1 process that ended before MPI_Init did",
        "left out: 2 processes of other MPI programs, or started by this one",
    )


def test_ranks_without_a_trace(tmp_path: Path) -> None:
    t = RawTrace(2, 4)
    t.collective("MPI_Barrier", 1)
    p = merged(tmp_path, t)
    r = recording(p)
    assert p.ranks == 4
    assert r.notes[0] == "no trace of 3 ranks: 0, 1, 3"
    assert [r.hosts[i] for i in r.host] == ["unknown", "unknown", "node0", "unknown"]
    assert np.isnan(r.wall).tolist() == [True, True, False, True]
