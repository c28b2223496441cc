"""HDF5 files: round trips, one defect each, versions, and files that stay whole."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from isthmus import InvalidInput, ParseError, Program, ProgramBuilder, Schedule, collective, lower, read
from isthmus.schedule import columns as columns_of
from isthmus.schedule import hdf5_columns
from isthmus.schedule.hdf5_columns import Column, open_columns, write_columns
from isthmus.schedule.schedule import SLICES
from noun_strategies import programs, schedules

thorough = settings(
    max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@thorough
@given(schedules)
def test_schedules_come_back(tmp_path: Path, s: Schedule) -> None:
    s.save(tmp_path / "s.h5")
    assert read(tmp_path / "s.h5") == s


@thorough
@given(programs())
def test_programs_come_back(tmp_path: Path, p: Program) -> None:
    p.save(tmp_path / "p.hdf5")
    assert read(tmp_path / "p.hdf5") == p


def example_schedule() -> Schedule:
    slices = np.zeros(4, SLICES)
    slices["to"]["offset"] = [0, 1, 2, 3]  # of buffer 0
    return Schedule.of(
        2,
        rank=[0, 1, 1, 1],
        kind=["send", "recv", "calc", "reduce"],
        amount=[8, 8, 5, 4],
        peer=[1, 0, 0, 0],
        tag=[3, 3, 0, 0],
        op=[2, 3],
        on=[1, 2],
        start=[False, True],
        buffers={"x": [10, 20]},
        slices=slices,
    )


def example_program() -> Program:
    b = ProgramBuilder(2)
    b.compute(None, [1e-6, 2e-6])
    with b.phase("Lösung"), b.location("a.c:1"):
        b.sendrecv(None, [1, 0], 8, [1, 0])
    b.split([0, 0])
    b.allreduce(None, 8, 1)
    return b.build()


@pytest.mark.parametrize("compression", ["auto", "gzip", "none"])
def test_compressions(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "x.h5"
    n = 300_000  # more than one chunk
    s = Schedule.of(10, rank=np.arange(n) // (n // 10), kind="calc", amount=np.arange(n), op=[1], on=[0])
    s.save(path, compression=compression)
    with h5py.File(path) as file:
        amount = file["ops/amount"]
        assert (amount.compression, amount.shuffle) == ((None, False) if compression == "none" else ("gzip", True))
        assert amount.attrs["unit"] == "B"
        assert amount.attrs["meaning"]
        # Columns of one number take no room.
        assert file["ops/kind"].id.get_storage_size() == 0
        assert np.all(file["ops/kind"][:] == 3)
        assert dict(file.attrs) == {"format": "isthmus", "noun": "schedule", "version": 1}
    assert read(path) == s
    s = collective("alltoall", ranks=5, bytes=8, algorithm="bruck", buffers=True)
    s.save(path, compression=compression)
    with h5py.File(path) as file:
        assert file.attrs["version"] == 4  # of copies of blocks
    assert read(path) == s
    example_program().save(path, compression=compression)
    assert read(path) == example_program()


def test_large_columns_are_compressed_on_request_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5_columns, "AUTO", 3)
    for compression, expected in (("auto", None), ("gzip", "gzip")):
        example_schedule().save(tmp_path / "s.h5", compression=compression)
        with h5py.File(tmp_path / "s.h5") as file:
            assert file["ops/amount"].compression == expected
            assert file["op_first"].compression == "gzip"


def test_unknown_compression_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "s.h5"
    example_schedule().save(path)
    with pytest.raises(InvalidInput, match="must be auto, gzip or none"):
        example_schedule().save(path, compression="zip")
    assert read(path) == example_schedule()


def test_a_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.h5"
    example_schedule().save(path)
    monkeypatch.setattr(hdf5_columns, "_is_constant", lambda values: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        example_program().save(path)
    assert read(path) == example_schedule()
    assert [p.name for p in tmp_path.iterdir()] == ["s.h5"]


Defect = Callable[[h5py.File], Any]


def replaced(name: str, values: Any) -> Defect:
    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = values

    return change


def attribute(name: str, value: Any) -> Defect:
    return lambda file: file.attrs.__setitem__(name, value)


def deleted(name: str) -> Defect:
    return lambda file: file.__delitem__(name)


ANY_NOUN: list[tuple[Defect, str]] = [
    (attribute("format", "other"), "format: an HDF5 file that Isthmus did not write"),
    (lambda file: file.attrs.__delitem__("format"), "format: an HDF5 file that Isthmus did not write"),
    (attribute("version", 7), "version: the file has version 7: this Isthmus reads"),
    (attribute("version", 0), "version: the file has version 0: must be 1 or more"),
    (attribute("version", "1"), "version: the attribute is of type str instead of int"),
    (lambda file: file.attrs.__delitem__("version"), "version: the attribute is missing"),
    (lambda file: file.attrs.__delitem__("noun"), "noun: the attribute is missing"),
    (attribute("noun", "song"), "noun: 'song' is unknown: must be program, schedule or timeline"),
]
OF_SCHEDULES: list[tuple[Defect, str]] = [
    (deleted("ops"), "ops/kind: the dataset is missing"),
    (deleted("ops/peer"), "ops/peer: the dataset is missing"),
    (deleted("edges"), "edges: the dataset is missing"),
    (replaced("ops/peer", np.zeros(4)), "ops/peer: the dataset is of type float64 instead of uint32"),
    (replaced("ops/peer", np.zeros(4, ">u4")), "ops/peer: the dataset is of type >u4 instead of uint32"),
    (replaced("ops/peer", np.zeros(5, "u4")), "ops/peer: the dataset has 5 elements instead of 4"),
    (replaced("ops/peer", np.zeros((2, 2), "u4")), "ops/peer: the dataset has the shape (2, 2)"),
    (replaced("ops/peer", np.uint32(0)), "ops/peer: the dataset has the shape ()"),
    (replaced("ops/peer", np.full(4, 2, "u4")), "rank 0"),
    (replaced("ops/kind", np.full(4, 9, "u1")), "rank 0"),
    (replaced("ops/needs", np.zeros(4, "u4")), "rank 1"),
    (replaced("ops/first_edge", np.full(4, 7, "u4")), "rank"),
    (replaced("op_first", np.array([0, 1, 5], "u8")), "op_first"),
    (replaced("op_first", np.array([0, 5, 4], "u8")), "op_first"),
    (replaced("op_first", np.array([0], "u8")), "op_first: a schedule needs at least one rank"),
    (replaced("edge_first", np.array([0, 2], "u8")), "edge_first: the dataset has 2 elements instead of 3"),
    (replaced("edge_first", np.array([0, 2, 1], "u8")), "edge"),
    (replaced("edges", np.array([1, 3], "u4")), "rank 1"),
    (replaced("edges", np.array([1], "u4")), "edge"),
    (replaced("buffers/names", np.zeros(1)), "buffers/names: the dataset is of type float64 instead of text"),
    (replaced("buffers/names", ["x", "y"]), "buffers/bytes: the dataset has 2 elements instead of 4"),
    (replaced("buffers/bytes", np.zeros(2, "u8")), "buffer"),
    (deleted("buffers"), "buffer"),
    (deleted("slices/to/offset"), "slices/to/offset: the dataset is missing"),
]
OF_PROGRAMS: list[tuple[Defect, str]] = [
    (deleted("kind"), "kind: the dataset is missing"),
    (deleted("phases"), "phases: the dataset is missing"),
    (replaced("kind", [b"a"]), "kind: the dataset is of type text instead of uint8"),
    (replaced("amount", np.zeros(1, "u8")), "amount: the dataset has 1 elements instead of 8"),
    (replaced("amount", np.zeros(8, "i8")), "amount: the dataset is of type int64 instead of uint64"),
    (replaced("location", np.zeros(7, "u4")), "location: the dataset has 7 elements instead of 8"),
    (replaced("location", np.full(8, 1, "u4")), "location 1 does not exist, there are 1"),
    (replaced("first", np.zeros(0, "u8")), "first: the dataset is empty"),
    (replaced("first", np.zeros(1, "u8")), "first has 1 elements"),
    (replaced("first", np.array([0, 9, 8], "u8")), "first decreases"),
    (replaced("kind", np.full(8, 20, "u1")), "rank 0, event 0 (kind 20): kind 20 does not exist"),
    (replaced("comm", np.full(8, 2, "u4")), "comm 2 does not exist"),
    (replaced("detail", np.full(8, 99, "u4")), "detail 99 does not exist"),
    (replaced("details", np.full(9, 99, "i8")), "detail of 99 numbers"),
    (replaced("comm_first", np.array([0, 2, 3], "u8")), "comm_first goes from 0 to 3 instead of from 0 to 4"),
    (replaced("comm_first", np.zeros(0, "u8")), "comm_first: the dataset is empty"),
    (replaced("phases", np.array([b"\xff"], dtype=h5py.string_dtype())), "phases: the texts cannot be read"),
]
CASES = [
    *((example_schedule, *case) for case in [*ANY_NOUN, *OF_SCHEDULES]),
    *((example_program, *case) for case in [*ANY_NOUN, *OF_PROGRAMS]),
]


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("make", "defect", "words"), CASES, ids=[f"{make.__name__}-{w}" for make, _, w in CASES])
def test_one_defect(tmp_path: Path, make: Callable[[], Any], defect: Defect, words: str) -> None:
    path = tmp_path / "x.h5"
    make().save(path)
    with h5py.File(path, "r+") as file:
        defect(file)
    with pytest.raises(ParseError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("keep", [20, 100, 0.5, -1])
def test_truncated(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "x.h5"
    example_schedule().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(ParseError, match=r"not an HDF5 file, or a damaged one|the file is damaged: its end"):
        read(path)


def test_damaged_chunk(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    Schedule.of(1, rank=np.zeros(1000, int), kind="calc", amount=np.arange(1000)).save(path)
    with h5py.File(path) as file:
        chunk = file["ops/amount"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset : chunk.byte_offset + chunk.size] = bytes(chunk.size)
    path.write_bytes(content)
    with pytest.raises(ParseError, match=r"the file is damaged: bytes 0 to [0-9]+ do not match their checksum"):
        read(path)
    with h5py.File(path, "r+"):
        pass  # which cuts the checksums off: the filter of the chunk finds the damage
    with pytest.raises(ParseError, match=r"not an HDF5 file, or a damaged one \(Can't synchronously read data"):
        read(path)


def test_columns_too_long_for_any_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    example_schedule().save(path)
    with h5py.File(path, "r+") as file:
        del file["edges"]
        file.create_dataset("edges", shape=(2**62,), dtype="u4", chunks=(1024,))
    with pytest.raises(ParseError, match="edges: 4611686018427387904 elements do not fit into memory"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"\0\1\2", b"[machine]\nname = 'x'\n", b"\x89HDF"])
def test_other_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    words = "not known: must be one of HDF5 written by Isthmus, GOAL text|is empty: expected a program|a binary file"
    with pytest.raises(ParseError, match=words):
        read(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.h5")


def test_columns_of_another_noun(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    columns = [
        Column("a/b", np.arange(3.0), "s", "times"),
        Column("names", ["ä", ""]),
        Column("none", np.empty(0, "u4")),
    ]
    write_columns(path, "other", columns, {"seed": 7, "scale": 0.5, "model": "loggp"})
    with open_columns(path) as (noun, version, reader):
        assert (noun, version) == ("other", 1)
        assert [reader.attribute("seed", int), reader.attribute("scale", float)] == [7, 0.5]
        assert reader.attribute("model", str) == "loggp"
        assert reader.column("a/b", np.float64, 3).tolist() == [0, 1, 2]
        assert reader.texts("names") == ["ä", ""]
        assert reader.size("none") == 0
        assert reader.has("none")
        assert not reader.has("a/c")
        assert len(reader.column("none", np.uint32)) == 0
    with pytest.raises(ParseError, match="noun: 'other' is unknown: must be program, schedule or timeline"):
        read(path)


def test_a_million_operations(tmp_path: Path) -> None:
    n = 1_000_000
    rng = np.random.default_rng(3)
    s = Schedule.of(
        100, rank=np.arange(n) // (n // 100), kind="send", peer=rng.integers(0, 100, n), amount=rng.integers(0, 99, n)
    )
    s.save(tmp_path / "s.h5")
    assert read(tmp_path / "s.h5") == s


@pytest.mark.parametrize("room", [True, False])
def test_large_columns_are_mapped_where_reports_do_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    """So that the system can have their memory back; without room in the folder of temporary files they are not."""
    b = ProgramBuilder(2)
    for tag in range(40):
        b.send(0, 1, 8, tag)
        b.recv(1, 0, 8, tag)
    program = b.build()
    program.save(tmp_path / "p.h5")
    monkeypatch.setattr(columns_of, "LARGE", 10)
    if not room:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    found = read(tmp_path / "p.h5")
    assert isinstance(found, Program)
    assert found == program

    def is_mapped(column: Any) -> bool:
        while isinstance(column, np.ndarray):
            column = column.base
        return isinstance(getattr(column, "obj", column), mmap.mmap)

    assert [is_mapped(found.tag), is_mapped(found.peer)] == [room, False]


def test_columns_of_one_number_take_no_memory(tmp_path: Path) -> None:
    """Read again they are as they were, and lowering, comparing and saving take them as any others."""
    size = 100_000
    b = ProgramBuilder(2)
    b.send(0, 1, np.full(size, 8))
    b.recv(1, 0, np.full(size, 8))
    program = b.build()
    program.save(tmp_path / "a.h5")
    found = read(tmp_path / "a.h5")
    assert isinstance(found, Program)
    assert found.amount.strides == found.tag.strides == (0,)
    assert found.kind.strides == (1,)
    assert found == program
    assert lower(found) == lower(program)
    found.save(tmp_path / "b.h5")
    assert read(tmp_path / "b.h5") == program
    with pytest.raises(ValueError, match="read-only"):
        found.amount[0] = 1
