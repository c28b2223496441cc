"""Damaged inputs of every format: each is read or refused in one line; nothing crashes, hangs or shows a traceback.

    mutations.py [FORMAT...] [--cases N] [--seconds S] [--seed N]

Cases of a format are made from small valid files by changed bits, bytes, numbers (which become others of the file, its
length, neighbours, extremes), words, or pieces that are moved, cut or doubled. They run in child processes, each of
which does as many as it survives: a crash or an endless loop is a finding, which is printed with the seed of its case,
and not the end. Libraries that Isthmus itself runs in a child process run within this one; their ends are no findings
but count as "contained". Exit status 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import mmap
import os
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "py"))

from isthmus import InvalidInput, ParseError, Unsupported, collective, read, separate, simulate
from isthmus.loading import load
from isthmus.machine import Level, Machine
from isthmus.machine.placement import Placement
from isthmus.mapping import launch
from isthmus.recording.merge import merge
from isthmus.schedule import checksums

DATA = Path(__file__).resolve().parents[1] / "data"
#: Where files are written.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
#: Seconds after which a case counts as one that hangs.
HANGS = 60.0
#: Seconds of processor time after which a library that runs in a child process counts as one that hangs; a valid file
#: takes some milliseconds.
LIBRARY_HANGS = 0.3
#: Bytes of a child process.
MOST_MEMORY = 8 << 30
#: Where a child process tells the number of its case, and that it runs a library that is contained.
AT, INSIDE = 0, 24
#: A sentence for people; errors of the file system may come of names in a file.
REFUSALS = (ParseError, InvalidInput, Unsupported, OSError)

_TOKEN = re.compile(rb"\w+|\W")
_WORDS = [b"", b" ", b"\n", b"\0", b"0", b"-1", b"1", b"4294967295", b"9999999999999999999999", b"1e308", b"-", b"%",
          b"{", b"}", b"[", b"]", b"=", b":", b",", b"b", b"nan", b"\xff", "é".encode()]  # fmt: skip
_NUMBERS = [0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1]


def binary(data: bytes, rng: random.Random) -> bytes:
    """Change bits, bytes or numbers, or move, cut or double a piece; once or a few times."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not out:
            break
        at, kind = rng.randrange(len(out)), rng.randrange(8)
        other, length = rng.randrange(len(out)), rng.choice((1, 2, 4, 8, 16, 100))
        if kind <= 1:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            out[at] = rng.randrange(256)
        elif kind <= 4:
            size = rng.choice((1, 2, 4, 8, 8))
            at -= at % size
            out[at : at + size] = _number(out, at, size, rng).to_bytes(size, "little")
        elif kind == 5:
            out[at : at + length] = out[other : other + length]
        elif kind == 6:
            out[at:at] = out[other : other + length]
        elif rng.random() < 0.5:
            del out[at : at + length]
        else:
            del out[at:]
    return bytes(out)


def _number(data: bytearray, at: int, size: int, rng: random.Random) -> int:
    """In place of the number there: an extreme, one of the same size elsewhere, the length of the file, a neighbour."""
    now = int.from_bytes(data[at : at + size], "little")
    other = rng.randrange(max(len(data) // size, 1)) * size
    kind = rng.randrange(5)
    if kind <= 1:
        number = rng.choice(_NUMBERS)
    elif kind == 2:
        number = int.from_bytes(data[other : other + size], "little")
    elif kind == 3:
        number = len(data) // rng.choice((1, size))
    else:
        number = now + rng.choice((-8, -2, -1, 1, 2, 8, now))
    return number & (256**size - 1)


def text(data: bytes, rng: random.Random) -> bytes:
    """Change a character, a word, a number or a line; once or a few times."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(6)
        if kind == 0:
            data = binary(data, rng)
        elif kind == 1:
            data = data[:at] + rng.choice(_WORDS) + data[at:]
        elif kind <= 3:
            found = _TOKEN.search(data, at)
            if found:
                digits = found.group().isdigit()
                new = str(rng.choice(_NUMBERS)).encode() if digits and kind == 2 else rng.choice(_WORDS)
                data = data[: found.start()] + new + data[found.end() :]
        else:
            lines = data.split(b"\n")
            line = lines.pop(rng.randrange(len(lines)))
            for _ in range(rng.randrange(3)):
                lines.insert(rng.randrange(len(lines) + 1), line)
            data = b"\n".join(lines)
    return data


def columns(data: bytes, rng: random.Random) -> bytes:
    """Other numbers in the columns of an HDF5 file, whose checksums are right again."""
    content, places = _places(data)
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        begin, length, size = rng.choice(places)
        at = rng.randrange(length // size) * size
        number = _number(out[begin : begin + length], at, size, rng)
        out[begin + at : begin + at + size] = number.to_bytes(size, "little")
    with tempfile.NamedTemporaryFile(dir=MEMORY) as file:
        file.write(out)
        file.flush()
        checksums.seal(file.name)
        return Path(file.name).read_bytes()


@functools.cache
def _places(data: bytes) -> tuple[bytes, list[tuple[int, int, int]]]:
    """An HDF5 file without its checksums, and where numbers of columns are: offset, bytes, bytes of each."""
    import h5py

    found: list[tuple[int, int, int]] = []

    def look(name: str, dataset: object) -> None:
        if isinstance(dataset, h5py.Dataset) and dataset.dtype.kind in "iuf":
            found.extend((begin, length, dataset.dtype.itemsize) for begin, length in checksums.extents(dataset))

    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(look)
    return data[: data.index(checksums._MAGIC)], [place for place in found if place[1] > 0]


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


def _dumpi(folder: Path) -> None:
    from dumpi_traces import write_dumpi

    write_dumpi(_program(lists=False, nonblocking=False), folder)  # type: ignore[arg-type]


def _otf2(folder: Path) -> None:
    from otf2_traces import ProgramWriter

    ProgramWriter(_program(lists=False), folder / "t")  # type: ignore[arg-type]


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


def _machines(folder: Path) -> None:
    from isthmus.gallery import machines

    for name in ("cielo", "eos"):
        shutil.copy(machines()[name], folder / f"{name}.toml")


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
    "hdf5-columns": Format(_nouns_in_full, columns, read),
    "raw": Format(_raw, binary, lambda path: merge(path.parent), "*"),
    "otf2": Format(_otf2, binary, lambda path: read(_anchor(path)), "**/*.*", contained=True),
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


class Bench:
    """Valid inputs of one format in a folder of its own, written before child processes begin."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.format = name, FORMATS[name]
        self.folder = folder
        self.format.write(folder)
        self.files = sorted(p for p in folder.glob(self.format.files) if p.is_file())
        self.contents = [p.read_bytes() for p in self.files]
        self.whole = [self.format.read(path) for path in self.files]

    def run(self, case: int) -> str:
        """One case; "read" or "refused", another exception is a finding."""
        rng = random.Random(f"{self.name} {case}")
        which = rng.randrange(len(self.files))
        path, content = self.files[which], self.contents[which]
        changed = self.format.change(content, rng)
        # Written into the file that is there: a new one would take longer than all else.
        _overwrite(path, changed)
        try:
            found = self.format.read(path)
            if hasattr(found, "ranks"):
                repr(found)
            if self.format.checked and changed != content and found != self.whole[which]:
                raise AssertionError("a damaged file with checksums was read as something else")
        except REFUSALS as error:
            if "\n" in str(error):
                raise AssertionError(f"a message of several lines: {error}") from error
            return "refused"
        finally:
            if len(self.files) > 1:
                _overwrite(path, content)
        return "read"


def _overwrite(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(file, content)
    os.close(file)


class Contained:
    """In place of :func:`isthmus.separate.run`: the library runs in this process, which says so while it does. If it
    dies then, that is what a child process is for, and no finding."""

    def __init__(self, shared: mmap.mmap) -> None:
        self.shared = shared

    def run(
        self, module: str, source: str, target: str, limits: separate.Limits, progress: separate.Progress | None
    ) -> str | None:
        copy = sys.modules[module].copy
        struct.pack_into("Q", self.shared, INSIDE, 1)
        signal.setitimer(signal.ITIMER_PROF, LIBRARY_HANGS)
        try:
            return separate.attempt(copy, source, target, progress or (lambda done, total: None))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            struct.pack_into("Q", self.shared, INSIDE, 0)


def run(name: str, cases: Sequence[int], seconds: float = 1e9) -> tuple[Counter[str], list[str]]:
    """Cases of a format in child processes, one after the other: how they ended, and findings."""
    counts: Counter[str] = Counter()
    findings: list[str] = []
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="mutations-", dir=MEMORY) as folder:
        (Path(folder) / "w").mkdir()
        bench = Bench(name, Path(folder) / "w")
        done = 0
        while done < len(cases) and time.monotonic() < end:
            done, why, inside = _some(bench, cases, done, end, counts)
            if why and inside:
                counts["refused"] += 1
                counts["contained"] += 1
            elif why and FORMATS[name].contained and not _some(bench, cases[: done + 1], done, 1e99, Counter())[1]:
                # Alone nothing happens: the library broke the process in a case before.
                counts["refused"] += 1
                counts["contained"] += 1
            elif why:
                counts["findings"] += 1
                findings.append(f"{name} {cases[done]}: {why}")
            done += bool(why)
    return counts, findings


def _some(bench: Bench, cases: Sequence[int], first: int, end: float, counts: Counter[str]) -> tuple[int, str, bool]:
    """Cases from ``first`` on in a child process: the one at which it ended, how if not well, and whether within a
    library that is contained."""
    with mmap.mmap(-1, 64) as shared:
        struct.pack_into("Q", shared, AT, first)
        child = os.fork()
        if child == 0:
            _child(bench, cases, shared, end)
        why, inside = "", False
        ended = os.pidfd_open(child)
        try:
            before, since = -1, time.monotonic()
            while not select.select([ended], [], [], min(0.5, HANGS / 4))[0]:
                at = struct.unpack_from("Q", shared, AT)[0]
                if at != before:
                    before, since = at, time.monotonic()
                elif time.monotonic() - since > HANGS:
                    os.kill(child, signal.SIGKILL)
                    why = "hangs"
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finally:
            os.close(ended)
        at, was_read, refused, inside_number = struct.unpack("4Q", shared[:32])
        if status == 3:
            why = why or (bench.folder.parent / "why").read_text()
        elif status != 0:
            why = why or (f"signal {-status}" if status < 0 else f"exit status {status}")
            inside = bool(inside_number) and status < 0
    counts["read"] += was_read
    counts["refused"] += refused
    for path, content in zip(bench.files, bench.contents, strict=True):
        if why:
            _overwrite(path, content)
    return at, why, inside


def _child(bench: Bench, cases: Sequence[int], shared: mmap.mmap, end: float) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    separate.run = Contained(shared).run
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    try:
        at, was_read, refused = struct.unpack_from("Q", shared, AT)[0], 0, 0
        while at < len(cases) and time.monotonic() < end:
            if bench.run(cases[at]) == "read":
                was_read += 1
            else:
                refused += 1
            at += 1
            struct.pack_into("3Q", shared, 0, at, was_read, refused)
    except BaseException as error:
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        place = next((f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames)), "")
        (bench.folder.parent / "why").write_text(f"{type(error).__name__} at {place}: {error}"[:300])
        os._exit(3)
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", nargs="*", default=[*FORMATS], choices=[*FORMATS], metavar="FORMAT")
    parser.add_argument("--cases", type=int, default=1_000_000, help="of each format (default: 1,000,000)")
    parser.add_argument("--seconds", type=float, default=1e9, help="for each format at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    failed = False
    for name in options.format:
        begin, used = time.monotonic(), _processor_seconds()
        last = options.first + options.cases
        parts = [range(options.first + w, last, options.workers) for w in range(options.workers)]
        results = _in_processes(name, parts, options.seconds)
        counts = sum((Counter(r[0]) for r in results), Counter())
        total = counts["read"] + counts["refused"] + counts["findings"]
        print(
            f"{name}: {total:,} of {options.cases:,} cases in {time.monotonic() - begin:.0f} s "
            f"({_processor_seconds() - used:.1f} s of processors): {counts['refused']:,} refused, of these "
            f"{counts['contained']:,} contained, {counts['read']:,} read, {counts['findings']:,} findings",
            flush=True,
        )
        for line in [line for r in results for line in r[1]][:50]:
            print(f"  {line}", flush=True)
            failed = True
    return int(failed)


def _in_processes(name: str, parts: list[range], seconds: float) -> list[tuple[dict[str, int], list[str]]]:
    """Each part in a process of its own that has one thread, and may fork."""
    if len(parts) == 1:
        return [run(name, parts[0], seconds)]
    code = (
        "import sys, json; sys.path[:0] = [sys.argv[1]]; import mutations as m\n"
        "name, (first, end, step), seconds = json.loads(sys.argv[2])\n"
        "print(json.dumps(m.run(name, range(first, end, step), seconds)))\n"
    )
    words = [sys.executable, "-c", code, str(Path(__file__).parent)]
    running = [
        subprocess.Popen([*words, json.dumps([name, [p.start, p.stop, p.step], seconds])], stdout=subprocess.PIPE)
        for p in parts
    ]
    return [json.loads(process.communicate()[0]) for process in running]


def _processor_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    sys.exit(main())
