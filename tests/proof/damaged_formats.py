"""Formats whose files are damaged: how small valid ones are made, what damages them, and what reads them."""

from __future__ import annotations

import functools
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from damage import binary, columns, held, text
from isthmus import InvalidInput, Program, Unsupported, collective, read, simulate
from isthmus.loading import load
from isthmus.machine import Level, Machine
from isthmus.machine.placement import Placement
from isthmus.mapping import launch
from isthmus.recording import merge as merging
from isthmus.recording import raw
from isthmus.recording.clocks import clocks
from isthmus.recording.headers import about
from isthmus.recording.merge import merge
from isthmus.schedule.hdf5 import read_noun

DATA = Path(__file__).resolve().parents[1] / "data"


@dataclass(frozen=True)
class Format:
    """How valid inputs are written into a folder, what changes a file of them, and what reads them."""

    write: Callable[[Path], object]
    change: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path], object]
    #: Of the files in the folder, those that are changed.
    files: str = "*"
    #: Has it checksums? Then what is read is what was written, or nothing.
    checked: bool = False
    #: Does a library read it that Isthmus runs in a child process?
    contained: bool = False
    #: A short way to the same result, without what other formats show, from a file and what it holds when whole.
    short: Callable[[Path, bytes], object] | None = None
    #: What a reader sees of a file.
    seen: Callable[[bytes], bytes] = bytes


def _nouns(folder: Path) -> None:
    program = read(DATA / "program-version-1.h5")
    program.save(folder / "program.h5")  # type: ignore[union-attr]
    schedule = collective("alltoall", ranks=4, bytes=8, algorithm="bruck", buffers=True)
    schedule.save(folder / "schedule.h5")
    simulate(collective("allreduce", ranks=4, bytes=64), Level(L=1e-6), record="ops").save(folder / "timeline.h5")


def _nouns_in_full(folder: Path) -> None:
    _program().save(folder / "program.h5", compression="none")  # type: ignore[attr-defined]
    schedule = collective("alltoall", ranks=3, bytes=8, algorithm="bruck", buffers=True)
    schedule.save(folder / "schedule.h5", compression="none")


def _goal(folder: Path) -> None:
    for name in ("gather_64_512", "linear_alltoall_16_1", "scatter_64_512"):
        shutil.copy(DATA / f"goal/{name}.goal", folder)
    collective("alltoall", ranks=4, bytes=8, algorithm="bruck", buffers=True).save(folder / "buffers.goal")


def _goal_binary(folder: Path) -> None:
    collective("alltoall", ranks=4, bytes=8, algorithm="linear").save(folder / "x.bin")
    read(DATA / "goal/gather_64_512.goal").save(folder / "y.bin")  # type: ignore[union-attr]


def _program(ranks: int = 2, steps: int = 5, **options: bool) -> object:
    from recorded_programs import random_program

    return random_program(random.Random(5), ranks, steps, **options)


def _raw(folder: Path) -> None:
    from recorded_programs import write_traces

    write_traces(_program(), folder, wild=True)  # type: ignore[arg-type]


def _seen_of_raw(data: bytes) -> bytes:
    """All but what is between the fields of the header and the records."""
    whole = len(data) >= raw.HEADER_BYTES
    return data[: raw.HEADER.itemsize] + data[raw.HEADER_BYTES :] if whole else b"cut off" + data


#: Of the header of a raw trace, what is text for people.
_TEXTS = ("host", "library", "command", "directory")


def _read_raw(path: Path, whole: bytes) -> object:
    """Where texts of the header alone are damaged, what is made of records is what was made of them before."""
    program, known = _merged_whole(path.parent)
    data = path.read_bytes()
    if _without_texts(data) != _without_texts(whole):
        return merge(path.parent)
    files, _ = merging._find(str(path.parent), [])
    headers = {rank: mine[0][1] for rank, mine in files.items()}
    of_host = clocks(headers)
    if of_host != known:
        return merge(path.parent)
    assert program.recording is not None
    run = about(program.ranks, headers, of_host, "")
    return replace(program, recording=replace(program.recording, **run))


@functools.cache
def _merged_whole(folder: Path) -> tuple[Program, Any]:
    """What is made of the files of a folder before one of them is damaged, and the clocks of their ranks."""
    files, _ = merging._find(str(folder), [])
    return merge(folder), clocks({rank: mine[0][1] for rank, mine in files.items()})


def _without_texts(data: bytes) -> bytes:
    if len(data) < raw.HEADER_BYTES:
        return data
    fields: Any = raw.HEADER.fields
    out = bytearray(_seen_of_raw(data))
    for name in _TEXTS:
        dtype, at = fields[name][:2]
        out[at : at + dtype.itemsize] = bytes(dtype.itemsize)
    return bytes(out)


def _dumpi(folder: Path) -> None:
    from dumpi_traces import write_dumpi

    write_dumpi(_program(lists=False, nonblocking=False), folder)  # type: ignore[arg-type]


def _otf2(folder: Path) -> None:
    from otf2_traces import ProgramWriter

    ProgramWriter(_program(lists=False), folder / "t")  # type: ignore[arg-type]


def _read_otf2(path: Path, whole: bytes) -> object:
    """Without the HDF5 file that the child process writes, and this one reads."""
    from isthmus.imports.traces import otf2

    made: list[object] = []
    with ExitStack() as stack:
        for place, name, other in (
            (otf2.Program, "save", lambda program, target, **_: made.append(program)),
            (otf2, "open_columns", _nothing),
            (otf2, "read_noun", lambda *_: made.pop()),
        ):
            stack.enter_context(mock.patch.object(place, name, other))
        return read(_anchor(path))


@contextmanager
def _nothing(path: str) -> Iterator[tuple[Any, Any, Any]]:
    yield None, None, None


def _metis(folder: Path) -> None:
    (folder / "a.graph").write_text("4 4 011\n1 2 5 3 1\n2 1 5 4 7\n1 1 1 4 2\n3 2 7 3 2\n")
    (folder / "b.graph").write_text("% plain\n5 5\n2 5\n1 3\n2 4\n3 5\n4 1\n")


def _edges(folder: Path) -> None:
    names = [f"s{i}" for i in range(4)]
    lines = [f"{a} {b}" for a, b in zip(names, names[1:] + names[:1], strict=True)]
    (folder / "a.edges").write_text("\n".join([*lines, *(f"{name} n{i}" for i, name in enumerate(names))]) + "\n")


def _read_metis(path: Path) -> object:
    from isthmus.imports.graphs.metis import read_metis

    return read_metis(path)


#: Every table of a machine, as the readers of the catalogue's see them.
_MACHINES = (
    """format = 1
name = "x"
notes = ["one", "two"]
compute_nodes = { value = 7, source = "site", status = "exact", note = "of 8" }
hostnames = "n[0-3,08-10],login1"
[sources]
site = "a page"
[topology]
kind = "torus"
dims = { value = [4, 2], source = "site" }
p = 1
wrap = [true, false]
names = "XY"
[links.default]
bandwidth = "5.25 GB/s"
latency = "100 ns"
[links.terminal]
bandwidth = { value = "10.2 GB/s", status = "measured" }
[links."X+"]
latency = 1e-7
[node]
sockets = 2
numa = 2
cores = 4
core_order = "cyclic"
nics = 1
memory = "64 GiB"
stream = [["40 GB/s", "15 GB/s"], ["15 GB/s", "40 GB/s"]]
[level.socket]
L = "90 ns"
[level.network]
L = "0.9 us"
o_send = "60 ns"
G = "0.1 ns/B"
S = "8 KiB"
per_hop = "0.4 us"
[noise]
kind = "periodic"
period = "10 ms"
duration = "25 us"
""",
    """title = "cables"
[topology]
kind = "graph"
nodes = ["a", "b", "c"]
switches = ["s", "t"]
edges = [["a", "s", "1 GB/s", "1 us", 1], ["b", "s"], ["c", "t", 2e9], ["s", "t", "4 GB/s", "50 ns", 2]]
[links.default]
bandwidth = "1 GB/s"
""",
    """[topology]
kind = "dragonfly"
a = [4, 2]
p = 2
h = 1
g = 3
parallel = [1, 3]
arrangement = "relative"
""",
)


def _machines(folder: Path) -> None:
    for i, words in enumerate(_MACHINES):
        (folder / f"{i}.toml").write_text(words)


def _specifications(folder: Path) -> None:
    for i, line in enumerate(
        ("torus:4x4x2 link=425MB/s hop=50ns", "dragonfly:a=4,p=2,h=2,g=9 sockets=2 cores=4", "fattree:k=4,n=3")
    ):
        (folder / str(i)).write_text(line)


def _specified(path: Path) -> object:
    return Machine.parse(path.read_bytes().decode("utf-8", "surrogateescape"))


def _ranks(folder: Path) -> None:
    placement = Placement.of(load("torus:2x2x2"), 8)
    for found in launch.formats():
        try:
            launch.write(placement, found.name, folder / found.name)
        except (InvalidInput, Unsupported):  # a format of machines of another kind
            continue


FORMATS: dict[str, Format] = {
    "hdf5": Format(_nouns, binary, read, checked=True, contained=True),
    "hdf5-unsealed": Format(
        lambda folder: shutil.copy(DATA / "program-version-1.h5", folder), binary, read, contained=True
    ),
    "hdf5-columns": Format(_nouns_in_full, columns, read, short=lambda path, whole: read_noun(*held(whole, path))),
    "raw": Format(_raw, binary, lambda path: merge(path.parent), "*", short=_read_raw, seen=_seen_of_raw),
    "otf2": Format(_otf2, binary, lambda path: read(_anchor(path)), "**/*.*", contained=True, short=_read_otf2),
    "dumpi": Format(_dumpi, text, lambda path: read(path)),
    "goal": Format(_goal, text, read),
    "goal-binary": Format(_goal_binary, binary, read),
    "metis": Format(_metis, text, _read_metis),
    "edges": Format(_edges, text, lambda path: load(path)),
    "machines": Format(_machines, text, lambda path: load(path)),
    "specifications": Format(_specifications, text, _specified),
    "ranks": Format(_ranks, text, lambda path: launch.read(path, load("torus:2x2x2"))),
}


def _anchor(path: Path) -> Path:
    return next(p for folder in (path.parent, *path.parents) for p in folder.glob("*.otf2"))
