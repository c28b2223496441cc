"""dumpi traces as text: programs come back, derived datatypes and communicators, damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import isthmus
from dumpi_traces import CHAR, WORLD, DumpiText, numbers, status, write_dumpi
from isthmus import ParseError, Program
from isthmus.imports.traces.dumpi import read_dumpi
from recorded_programs import described, random_program

PAUSE = "compute 1 us"
INT = "9 (MPI_INT)"
NONE = "<IGNORED>"


@settings(max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 20), st.booleans())
def test_programs_come_back(tmp_path: Path, seed: int, ranks: int, steps: int, lists: bool) -> None:
    program = random_program(Random(seed), ranks, steps, lists=False, nonblocking=False)
    for path in tmp_path.iterdir():
        path.unlink()
    write_dumpi(program, tmp_path, statuses=lists)
    found = isthmus.read(tmp_path)
    found.validate()
    isthmus.lower(found).validate()
    for rank in range(ranks):
        assert [_listed(line) for line in described(found, rank)] == [
            _listed(line) for line in described(program, rank)
        ]


def _listed(line: str) -> str:
    """dumpi knows reductions that are scattered with counts only."""
    if line.startswith("reduce_scatter"):
        return "reduce_scatter"
    return line


def written(folder: Path, ranks: int, make: Callable[[DumpiText, int], None]) -> Program:
    for rank in range(ranks):
        text = DumpiText(rank)
        make(text, rank)
        text.call("MPI_Finalize", gap=1000)
        text.write(folder)
    program = isthmus.read(folder / "dumpi-0000.txt")
    program.validate()
    isthmus.lower(program).validate()
    return program


def events(program: Program, rank: int) -> list[str]:
    return [line for line in described(program, rank) if line != PAUSE]


def test_the_example_of_sst_dumpi(tmp_path: Path) -> None:
    """The calls of tests/traces/testtrace-0000.txt on a ring of four ranks."""

    def make(t: DumpiText, rank: int) -> None:
        t.call("MPI_Comm_rank", f"MPI_Comm comm={WORLD}", f"int rank={rank}")
        t.call("MPI_Barrier", f"MPI_Comm comm={WORLD}")
        to, by = (rank + 1) % 4, (rank - 1) % 4
        t.call(
            "MPI_Isend", "int count=1", f"MPI_Datatype datatype={INT}", f"int dest={to}", "int tag=1337",
            f"MPI_Comm comm={WORLD}", "MPI_Request request=[2]",
        )  # fmt: skip
        t.call(
            "MPI_Recv", "int count=1", f"MPI_Datatype datatype={INT}", f"int source={by}", "int tag=1337",
            f"MPI_Comm comm={WORLD}", f"MPI_Status status={NONE}", gap=5000,
        )  # fmt: skip
        t.call("MPI_Wait", "MPI_Request request=[2]", f"MPI_Status status=[{status(1606419960, 9, 9)}]")
        t.call(
            "MPI_Allreduce",
            "int count=1",
            f"MPI_Datatype datatype={INT}",
            "MPI_Op op=3 (MPI_SUM)",
            f"MPI_Comm comm={WORLD}",
        )

    p = written(tmp_path, 4, make)
    assert events(p, 1) == [
        "barrier", "isend 4 B to 2 tag 1337 request 1", "compute 5 us", "recv 4 B from 0 tag 1337", "wait request 1",
        "allreduce 4 B",
    ]  # fmt: skip
    r = p.recording
    assert r is not None
    assert r.hosts == ("node0", "node1")
    assert r.started == "2011-02-04T00:05:56Z"
    assert r.wall.tolist() == pytest.approx([12e-6] * 4)
    assert r.init.tolist() == pytest.approx([1e-6] * 4)
    assert r.ending.tolist() == [1] * 4
    assert r.functions[r.function[2]] == "MPI_Barrier"


def test_wildcards_without_statuses(tmp_path: Path) -> None:
    """What a receive took that does not say it is what nobody else took."""

    def make(t: DumpiText, rank: int) -> None:
        kind = f"MPI_Datatype datatype={CHAR}"
        comm = f"MPI_Comm comm={WORLD}"
        if rank == 0:
            for source, tag in (("-1 (MPI_ANY_SOURCE)", 5), (1, "-1 (MPI_ANY_TAG)"), ("-1 (MPI_ANY_SOURCE)", 7)):
                t.call(
                    "MPI_Recv",
                    "int count=9",
                    kind,
                    f"int source={source}",
                    f"int tag={tag}",
                    comm,
                    f"MPI_Status status={NONE}",
                )
        else:
            t.call("MPI_Send", "int count=8", kind, "int dest=0", f"int tag={5 if rank == 2 else 6}", comm)
            t.call("MPI_Send", "int count=8", kind, "int dest=-2", "int tag=6", comm)

    p = written(tmp_path, 3, make)
    # The last is of a rank that does not exist, which some libraries number as they do any source.
    assert events(p, 0) == ["recv 9 B from any tag 5", "recv 9 B from 1 tag any"]
    assert events(p, 1) == ["send 8 B to 0 tag 6"]


def test_datatypes(tmp_path: Path) -> None:
    made = [
        ("contiguous", ["int count=3"], 12),
        ("vector", ["int count=2", "int blocklength=5", "int stride=7"], 40),
        ("indexed", ["int count=2", "int lengths[2]=[1, 2]", "int indices[2]=[0, 9]"], 12),
        ("create_subarray", ["int ndims=2", "int sizes[2]=[9, 9]", "int subsizes[2]=[2, 3]"], 24),
        ("create_resized", ["int lb=0", "int extent=99"], 4),
    ]

    def make(t: DumpiText, rank: int) -> None:
        for i, (kind, lines, _) in enumerate(made):
            old, new = f"MPI_Datatype oldtype={INT}", f"MPI_Datatype newtype={28 + i} (user-defined-datatype)"
            t.call(f"MPI_Type_{kind}", *lines, old, new)
        t.call(
            "MPI_Type_struct", "int count=2", "int lengths[2]=[2, 1]", "int indices[2]=[0, 8]",
            "MPI_Datatype oldtypes[2]=[14 (MPI_DOUBLE), 28 (user-defined-datatype)]", "MPI_Datatype newtype=40 (x)",
        )  # fmt: skip
        for number in [*range(28, 28 + len(made)), 40, 77]:
            t.call(
                "MPI_Bcast",
                "int count=1",
                f"MPI_Datatype datatype={number} (x)",
                "int root=0",
                f"MPI_Comm comm={WORLD}",
            )

    p = written(tmp_path, 1, make)
    assert [e.amount for e in p.events(0) if e.what] == [*(size for _, _, size in made), 28, 1]
    assert p.recording is not None
    assert p.recording.notes == ("the datatype of 1 messages is not known: they count a byte for each element",)
    path = tmp_path / "dumpi-0000.txt"
    path.write_text(path.read_text() + "Datatype 28 (user-defined-datatype) has size 50\nDatatype 77 (x) has size 6\n")
    assert [e.amount for e in isthmus.read(path).events(0) if e.what][-2:] == [66, 6]


def test_communicators(tmp_path: Path) -> None:
    def make(t: DumpiText, rank: int) -> None:
        old, other = f"MPI_Comm oldcomm={WORLD}", "(user-defined-comm)"
        # Numbered against the order of the ranks: 5, 3, 1 and 4, 2, 0.
        t.call(
            "MPI_Comm_split", old, f"int color={rank % 2}", f"int key={-rank}", f"MPI_Comm newcomm={20 + rank} {other}"
        )
        t.call(
            "MPI_Bcast",
            "int count=1",
            f"MPI_Datatype datatype={CHAR}",
            "int root=2",
            f"MPI_Comm comm={20 + rank} {other}",
        )
        t.call(
            "MPI_Cart_create",
            old,
            "int ndim=2",
            "int dims[2]=[2, 3]",
            "int periods[2]=[0, 0]",
            "int reorder=0",
            f"MPI_Comm newcomm=50 {other}",
        )
        t.call(
            "MPI_Cart_sub",
            "int ndim=2",
            f"MPI_Comm oldcomm=50 {other}",
            "int remain_dims[2]=[1, 0]",
            f"MPI_Comm newcomm=51 {other}",
        )
        t.call("MPI_Barrier", f"MPI_Comm comm=51 {other}")
        t.call("MPI_Comm_group", f"MPI_Comm comm={WORLD}", "MPI_Group group=3 (x)")
        t.call(
            "MPI_Group_incl",
            "MPI_Group group=3 (x)",
            "int count=4",
            "int ranks[4]=[4, 0, 2, 1]",
            "MPI_Group newgroup=4 (x)",
        )
        t.call(
            "MPI_Group_range_excl",
            "MPI_Group group=4 (x)",
            "int count=1",
            "int ranges[1][3]=[[0, 0, 1]",
            "]MPI_Group newgroup=5 (x)",
        )
        new = 60 if rank in (0, 1, 2) else 1
        t.call("MPI_Comm_create", old, "MPI_Group group=5 (x)", f"MPI_Comm newcomm={new} {other}")
        if new == 60:
            t.call("MPI_Barrier", f"MPI_Comm comm=60 {other}")
            # The handle comes again.
            t.call("MPI_Comm_dup", f"MPI_Comm oldcomm=60 {other}", f"MPI_Comm newcomm=51 {other}")
            t.call("MPI_Barrier", f"MPI_Comm comm=51 {other}")

    p = written(tmp_path, 6, make)
    named = [line for line in events(p, 2) if not line.startswith("compute")]
    assert named == [
        "comm_create [4, 2, 0]", "bcast 1 B root 2 among [4, 2, 0]", "comm_create [0, 1, 2, 3, 4, 5]",
        "comm_create [2, 5] among [0, 1, 2, 3, 4, 5]", "barrier among [2, 5]", "comm_create [0, 2, 1]",
        "barrier among [0, 2, 1]", "comm_create [0, 2, 1] among [0, 2, 1]", "barrier among [0, 2, 1]",
    ]  # fmt: skip
    assert p.recording is not None
    assert p.recording.notes == ()


def test_persistent_polls_lists_and_one_sided(tmp_path: Path) -> None:
    def make(t: DumpiText, rank: int) -> None:
        comm, kind = f"MPI_Comm comm={WORLD}", f"MPI_Datatype datatype={CHAR}"
        other = 1 - rank
        t.call("MPI_Send_init", "int count=8", kind, f"int dest={other}", "int tag=1", comm, "MPI_Request request=[5]")
        t.call(
            "MPI_Recv_init", "int count=8", kind, f"int source={other}", "int tag=1", comm, "MPI_Request request=[6]"
        )
        for _ in range(2):
            t.call("MPI_Startall", "int count=2", f"MPI_Request requests[2]={numbers([5, 6])}")
            t.call(
                "MPI_Testall",
                "int count=2",
                "MPI_Request requests[2]=[5, 6]",
                "int flag=0",
                f"MPI_Status statuses[2]={NONE}",
            )
            t.call(
                "MPI_Waitany",
                "int count=2",
                "MPI_Request requests[2]=[5, 6]",
                "int index=1",
                f"MPI_Status status={NONE}",
            )
            some = ["MPI_Request requests[2]=[5, 1]", "int outcount=1", "int indices[1]=[0]"]
            t.call("MPI_Waitsome", "int count=2", *some, f"MPI_Status statuses[1]={NONE}")
        t.call("MPI_Request_free", "MPI_Request request=[5]")
        lists = [
            "int commsize=2",
            "int sendcounts[2]=[1, 2]",
            f"MPI_Datatype sendtype={CHAR}",
            "int recvcounts[2]=[3, 4]",
        ]
        lists[1:] = lists[1:] if rank else ["int sendcounts[2]=[1, 3]", *lists[2:3], "int recvcounts[2]=[1, 1]"]
        t.call("MPI_Alltoallv", *lists, f"MPI_Datatype recvtype={CHAR}", comm)
        t.call(
            "MPI_Win_create",
            "int size=80",
            "int dispunit=1",
            "MPI_Info info=0 (x)",
            comm,
            "MPI_Win win=4 (user-defined-win)",
        )
        access = [
            "int origincount=5",
            f"MPI_Datatype origintype={CHAR}",
            f"int targetrank={other}",
            "MPI_Win win=4 (x)",
        ]
        t.call("MPI_Put", *access)
        t.call("MPI_Win_fence", "int assertion=0 (x)", "MPI_Win win=4 (x)")
        t.call("MPI_File_write", "MPI_File file=4 (x)")

    p = written(tmp_path, 2, make)
    once = [
        "isend 8 B to 1 tag 1 request {}",
        "irecv 8 B from 1 tag 1 request {}",
        "wait request {}",
        "wait request {}",
    ]
    assert events(p, 0) == [
        *(line.format(n) for line, n in zip(once * 2, [1, 2, 2, 1, 3, 4, 4, 3], strict=True)),
        "alltoall bytes 1 3 1 1", "allgather 8 B", "put 5 B to 1", "fence",
    ]  # fmt: skip
    r = p.recording
    assert r is not None
    assert r.unmodelled == {"MPI_File_write": 2}


def test_processor_time_where_ranks_share_processors(tmp_path: Path) -> None:
    def make(t: DumpiText, rank: int) -> None:
        t.call("MPI_Barrier", f"MPI_Comm comm={WORLD}", gap=100_000, cpu=30_000)
        t.call("MPI_Barrier", f"MPI_Comm comm={WORLD}", gap=10_000, cpu=20_000)

    assert events(written(tmp_path, 1, make), 0) == ["compute 30 us", "barrier", "compute 10 us", "barrier"]


def test_threads(tmp_path: Path) -> None:
    def make(t: DumpiText, rank: int) -> None:
        for thread in range(2):
            dest = [f"int dest={1 - rank}", f"int tag={thread}", f"MPI_Comm comm={WORLD}"]
            t.call("MPI_Send", "int count=8", f"MPI_Datatype datatype={CHAR}", *dest, thread=thread)
            source = [f"int source={1 - rank}", *dest[1:], f"MPI_Status status={NONE}"]
            t.call("MPI_Recv", "int count=8", f"MPI_Datatype datatype={CHAR}", *source, thread=thread)

    p = written(tmp_path, 2, make)
    assert p.recording is not None
    assert sorted(set(p.recording.thread.tolist())) == [0, 1]
    assert [line.split()[0] for line in events(p, 0) if "compute" not in line] == ["send", "recv", "send", "recv"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("MPI_Send returning at walltime 5.000000000, cputime 0.000000000 seconds in thread 0.",
         "10: MPI_Send: the call returns but was never entered"),
        ("MPI_Wait entering at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.\nwhat is this",
         "11: MPI_Wait: 'what is this' is not an argument"),
        ("MPI_Barrier entering at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.\n"
         "MPI_Barrier returning at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.",
         "10: MPI_Barrier comm: the argument is missing"),
        ("MPI_Barrier entering at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.\nMPI_Comm comm=x\n"
         "MPI_Barrier returning at walltime 1.000000000, cputime 0.000000000 seconds in thread 0.",
         "10: MPI_Barrier comm: 'x' is not a number"),
    ],
)  # fmt: skip
def test_damage(tmp_path: Path, line: str, words: str) -> None:
    text = DumpiText(0)
    text.lines[7:7] = []
    text.lines = (
        text.lines[:7]
        + ["MPI_Init entering" + text.lines[7].removeprefix("MPI_Init entering"), "int argc=1"][:0]
        + text.lines[7:]
    )
    text.lines = text.lines[:8] + text.lines[-1:] + line.split("\n")
    path = text.write(tmp_path)
    with pytest.raises(ParseError) as caught:
        isthmus.read(path)
    assert str(caught.value) == f"{path}:{words}"


def test_a_message_to_a_rank_of_any_number_takes_no_memory(tmp_path: Path) -> None:
    text = DumpiText(0)
    kind, comm = f"MPI_Datatype datatype={CHAR}", f"MPI_Comm comm={WORLD}"
    text.call("MPI_Send", "int count=4", kind, f"int dest={2**31 - 1}", "int tag=0", comm)
    with pytest.raises(isthmus.InvalidInput, match="names rank 2147483647 of a communicator that has 1"):
        isthmus.read(text.write(tmp_path))


def test_files(tmp_path: Path) -> None:
    texts = [DumpiText(rank) for rank in range(3)]
    for text in texts:
        text.call("MPI_Barrier", f"MPI_Comm comm={WORLD}")
        text.write(tmp_path)
    seen: list[tuple[int, int]] = []
    assert read_dumpi(tmp_path, progress=lambda done, total: seen.append((done, total))).ranks == 3
    assert seen == [(1, 3), (2, 3), (3, 3)]
    # A call that is cut off is left out, and its partners with it.
    path = tmp_path / "dumpi-0002.txt"
    path.write_text("\n".join(texts[2].lines[:-1]) + "\n")
    found = isthmus.read(path).recording
    assert found is not None
    assert found.notes == (
        "1 of 3 files end within a call",
        "left out: 2 calls of collectives that not all members recorded",
    )
    (tmp_path / "dumpi-0001.txt").unlink()
    with pytest.raises(ParseError, match="the file of rank 1 is missing beside it"):
        isthmus.read(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParseError, match="a folder, in which there is no trace: expected a program or a schedule"):
        isthmus.read(tmp_path / "empty")
