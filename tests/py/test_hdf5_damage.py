"""Damaged HDF5 files: changed bytes are found, whether the file has checksums or not; nothing crashes or hangs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from isthmus import InvalidInput, ParseError, Program, Schedule, collective, read, simulate
from isthmus.machine import Level
from isthmus.schedule import checksums, unsealed
from isthmus.schedule.checksums import BLOCK, Checksums, extents, writing
from isthmus.schedule.hdf5_columns import Column, open_columns, write_columns

#: Written by Isthmus before there were checksums.
OLD = Path(__file__).parents[1] / "data" / "program-version-1.h5"


def timeline(path: Path) -> None:
    simulate(collective("allreduce", ranks=4, bytes=64), Level(L=1e-6), record="ops").save(path)


MAKERS: dict[str, Callable[[Path], None]] = {
    "program": lambda path: read(OLD).save(path),
    "schedule": lambda path: collective("alltoall", ranks=4, bytes=8, buffers=True).save(path),
    "timeline": timeline,
}


@pytest.mark.parametrize("noun", MAKERS)
def test_each_changed_byte_is_found(noun: str, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    MAKERS[noun](path)
    content = path.read_bytes()
    # All of the superblock, of the table, and of the rest each eleventh byte.
    places = [*range(1000), *range(1000, len(content), 11), *range(len(content) - 40, len(content))]
    for at in places:
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(ParseError):
            read(path)


@pytest.mark.parametrize("noun", MAKERS)
def test_cut_and_shifted_files(noun: str, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    MAKERS[noun](path)
    content = path.read_bytes()
    rng = random.Random(noun)
    for _ in range(200):
        begin, end = sorted(rng.sample(range(9, len(content)), 2))
        insert = rng.randbytes(rng.choice((0, 0, 1, end - begin)))
        changed = content[:begin] + insert + content[end:]
        # A cut end is left to the child process, which takes long: see the next tests.
        if changed != content and changed.endswith(content[-32:]):
            path.write_bytes(changed)
            with pytest.raises(ParseError, match="the file is damaged: "):
                read(path)
    for keep in range(len(content) - 1, len(content) - 60, -1):
        path.write_bytes(content[:keep])
        if keep > path_content_end(content):
            with pytest.raises(ParseError, match="the file is damaged: its end"):
                read(path)


def path_content_end(content: bytes) -> int:
    return content.rindex(b"\x93isthcrc", 0, len(content) - 32)


# What they do in libhdf5 2.0: a crash (849, 921), an error (883), an endless loop (3056) and a KeyError (112).
@pytest.mark.parametrize("at", [112, 849, 883, 921, 3056])
def test_changed_bytes_of_files_without_checksums(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsealed, "_SECONDS", 1)
    content = bytearray(OLD.read_bytes())
    content[at] ^= 0xFF
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    with pytest.raises(ParseError, match="not an HDF5 file, or a damaged one") as error:
        read(path)
    assert "\n" not in str(error.value)


def test_files_without_checksums_are_read(tmp_path: Path) -> None:
    old = read(OLD)
    assert isinstance(old, Program)
    old.save(tmp_path / "new.h5")
    assert Checksums.of(str(OLD)) is None
    assert Checksums.of(str(tmp_path / "new.h5")) is not None
    assert read(tmp_path / "new.h5") == old
    # Another program may add to a file, which cuts its checksums off; nobody has to know of what it added.
    with h5py.File(tmp_path / "new.h5", "r+") as file:
        file["mine/table"] = np.ones((3, 4))
        file["mine/complex"] = np.ones(3, complex)
        file["mine/none"] = h5py.Empty("f4")
        file["mine/link"] = h5py.SoftLink("/nowhere")
        file["mine/other"] = h5py.ExternalLink("nowhere.h5", "/")
        file.attrs["mine"] = [1, 2, 3]
    assert Checksums.of(str(tmp_path / "new.h5")) is None
    assert read(tmp_path / "new.h5") == old


def test_an_incomplete_column_without_checksums(tmp_path: Path) -> None:
    # Chunks that were never written would be read as zeros, and filled in a copy without end.
    path = tmp_path / "x.h5"
    Schedule.of(1, rank=np.zeros(10, int), kind="calc", amount=np.arange(10)).save(path)
    with h5py.File(path, "r+") as file:
        del file["ops/amount"]
        file.create_dataset("ops/amount", (2**50,), "u8", chunks=(16,))[0] = 1
    with pytest.raises(ParseError, match="ops/amount stores 1 chunks of"):
        read(path)


def large(path: Path) -> None:
    rng = np.random.default_rng(7)
    columns = [Column(name, rng.integers(0, 2**62, 400_000), "s", name) for name in ("a", "b")]
    write_columns(path, "other", columns, compression="none")


def test_columns_are_verified_when_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.h5"
    large(path)
    with h5py.File(path) as file:
        places = sorted(extents(file["b"]))
        assert sum(length for _, length in places) == 4 * 2**20  # whole chunks
    content = bytearray(path.read_bytes())
    content[places[1][0] + places[1][1] // 2] ^= 4
    path.write_bytes(content)
    blocks = []
    sums = checksums._sums
    monkeypatch.setattr(
        checksums,
        "_sums",
        lambda stream, first, last, size: blocks.append(last - first) or sums(stream, first, last, size),
    )
    with open_columns(path) as (_, _, reader):
        # Opening a file of 6.4 MB takes the few blocks that are not data alone.
        assert sum(blocks) * BLOCK < len(content) / 4
        assert len(reader.column("a", np.int64)) == 400_000
        assert sum(blocks) * BLOCK < len(content) * 0.8
        # Parts of a column can be verified alone: the first chunk is whole, and so is the last one.
        reader.checksums.verify(reader.file["b"], 0, 1000)
        reader.checksums.verify(reader.file["b"], 399_000, 400_000)
        with pytest.raises(ParseError, match="do not match their checksum"):
            reader.column("b", np.int64)


def test_contiguous_columns_can_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    values = np.random.default_rng(1).integers(0, 2**62, 200_000)
    with writing(path) as (_, file):
        file.attrs.update({"format": "isthmus", "noun": "other", "version": 1})
        file["a"] = values
    with open_columns(path) as (_, _, reader):
        ((offset, length),) = extents(reader.file["a"], 1000, 150_000)
        reader.checksums.verify(reader.file["a"], 1000, 150_000)
        mapped = np.memmap(path, np.int64, "r", offset, (length // 8,))
        assert np.array_equal(mapped, values[1000:150_000])
    content = bytearray(path.read_bytes())
    content[offset + length + 3 * BLOCK] ^= 1
    path.write_bytes(content)
    with open_columns(path) as (_, _, reader):
        reader.checksums.verify(reader.file["a"], 1000, 150_000)
        with pytest.raises(ParseError, match="do not match their checksum"):
            reader.column("a", np.int64)


def test_checksums_are_written_with_the_file_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.h5"
    MAKERS["schedule"](path)
    before = path.read_bytes()
    monkeypatch.setattr(checksums, "seal", lambda path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        MAKERS["program"](path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.h5"]


@pytest.mark.parametrize("noun", MAKERS)
def test_wrong_contents_with_right_checksums(noun: str, tmp_path: Path) -> None:
    # Structure, types, sizes and numbers are checked, whoever wrote them.
    path = tmp_path / "x.h5"
    MAKERS[noun](path)
    content = path.read_bytes()[: path_content_end(path.read_bytes())]
    rng = random.Random(noun)
    refused = 0
    for _ in range(150):
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            change(file, rng)
        checksums.seal(path)
        try:
            found = read(path)
        except (ParseError, InvalidInput):
            refused += 1
        else:
            repr(found)
    assert refused > 30


def change(file: h5py.File, rng: random.Random) -> None:
    """One thing of a file that is not as Isthmus writes it."""
    names: list[str] = []
    file.visititems(lambda name, found: names.append(name))
    name = rng.choice(names)
    kind = rng.randrange(6)
    if kind == 0:
        del file.attrs[rng.choice(list(file.attrs))]
        return
    if kind == 1:
        file.attrs[rng.choice(list(file.attrs))] = rng.choice([0, -1, 1e300, "", "x", b"\xff", [1, 2]])
        return
    old = file[name][:] if isinstance(file[name], h5py.Dataset) else np.arange(3)
    del file[name]
    if kind == 2:
        file[name] = rng.choice([old[:-1], old[:, None], np.array(3), np.arange(len(old)), ["a"] * len(old)])
    elif kind >= 3 and old.dtype.kind in "iuf" and len(old):
        if old.dtype.kind == "f":
            old[rng.randrange(len(old))] = rng.choice([np.nan, np.inf, -1.0, 1e300])
        else:
            most = np.iinfo(old.dtype).max
            old[rng.randrange(len(old))] = rng.choice([0, 1, 7, most, most // 2, np.iinfo(old.dtype).min])
        file[name] = old
