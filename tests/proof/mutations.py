"""Damaged inputs of every format: each is read or refused in one line; nothing crashes, hangs or shows a traceback.

    mutations.py [FORMAT...] [--cases N] [--seconds S] [--seed N]

Cases of a format are made from valid files by a few changed bits, bytes, numbers, words, or pieces that are moved, cut
or doubled. They run in child processes, so that a crash or an endless loop is a finding, which is printed with the seed
of its case, and not the end. Exit status 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "py"))

from isthmus import InvalidInput, ParseError, Unsupported, collective, read, simulate
from isthmus.loading import load
from isthmus.machine import Level
from isthmus.recording.merge import merge
from isthmus.schedule import hdf5, unsealed

DATA = Path(__file__).resolve().parents[1] / "data"
#: Seconds after which a case counts as one that hangs.
HANGS = 60.0
#: Seconds more for the first of a child process, which writes the valid files first.
STARTS = 10.0
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
            size, form = rng.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
            at -= at % size
            out[at : at + size] = struct.pack(f"<{form}", rng.choice(_NUMBERS) & (256**size - 1))
        elif kind == 5:
            out[at : at + length] = out[other : other + length]
        elif kind == 6:
            out[at:at] = out[other : other + length]
        elif rng.random() < 0.5:
            del out[at : at + length]
        else:
            del out[at:]
    return bytes(out)


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


@dataclass(frozen=True)
class Format:
    """How valid inputs are written into a folder, what changes a file of them, and what reads them."""

    write: Callable[[Path], object]
    change: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path], object]
    #: Of the files in the folder, those that are changed.
    files: str = "*"


def _nouns(folder: Path) -> None:
    program = read(DATA / "program-version-1.h5")
    program.save(folder / "program.h5")  # type: ignore[union-attr]
    schedule = collective("alltoall", ranks=4, bytes=8, algorithm="bruck", buffers=True)
    schedule.save(folder / "schedule.h5")
    simulate(collective("allreduce", ranks=4, bytes=64), Level(L=1e-6), record="ops").save(folder / "timeline.h5")


@contextmanager
def _copied(path: str) -> Iterator[str]:
    """What :func:`unsealed.copied` does, with a fork in place of a new Python, which would take most of the time."""
    copy = os.path.join(tempfile.gettempdir(), f"isthmus-{os.getpid()}.h5")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            os._exit(unsealed._main(path, copy, "1"))
        except BaseException:
            os._exit(77)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        if status == 77:
            raise AssertionError("the child process that copies a file ended with a traceback")
        if status != 0:
            raise ParseError(path, None, None, "damaged")
        yield copy
    finally:
        Path(copy).unlink(missing_ok=True)


def _goal(folder: Path) -> None:
    for name in ("gather_64_512", "linear_alltoall_16_1", "scatter_64_512"):
        shutil.copy(DATA / f"goal/{name}.goal", folder)
    collective("alltoall", ranks=4, bytes=8, algorithm="bruck", buffers=True).save(folder / "buffers.goal")


def _goal_binary(folder: Path) -> None:
    collective("alltoall", ranks=4, bytes=8, algorithm="linear").save(folder / "x.bin")
    read(DATA / "goal/gather_64_512.goal").save(folder / "y.bin")  # type: ignore[union-attr]


def _program(**options: bool) -> object:
    from recorded_programs import random_program

    return random_program(random.Random(5), 3, 12, **options)


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
    names = [f"s{i}" for i in range(6)]
    lines = [f"{a} {b}" for a, b in zip(names, names[1:] + names[:1], strict=True)]
    (folder / "a.edges").write_text("\n".join([*lines, *(f"{name} n{i}" for i, name in enumerate(names))]) + "\n")


def _read_metis(path: Path) -> object:
    from isthmus.imports.metis import read_metis

    return read_metis(path)


FORMATS: dict[str, Format] = {
    "hdf5": Format(_nouns, binary, read),
    "hdf5-unsealed": Format(lambda folder: shutil.copy(DATA / "program-version-1.h5", folder), binary, read),
    "raw": Format(_raw, binary, lambda path: merge(path.parent), "*"),
    "otf2": Format(_otf2, binary, lambda path: read(_anchor(path)), "**/*.*"),
    "dumpi": Format(_dumpi, text, lambda path: read(path)),
    "goal": Format(_goal, text, read),
    "goal-binary": Format(_goal_binary, binary, read),
    "metis": Format(_metis, text, _read_metis),
    "edges": Format(_edges, text, lambda path: load(path)),
}


def _anchor(path: Path) -> Path:
    return next(p for folder in (path.parent, *path.parents) for p in folder.glob("*.otf2"))


class Bench:
    """Valid inputs of one format in a folder of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.format = name, FORMATS[name]
        hdf5.copied = _copied
        self.folder = folder
        self.format.write(folder)
        self.files = sorted(p for p in folder.glob(self.format.files) if p.is_file())
        self.contents = [p.read_bytes() for p in self.files]
        for path in self.files:
            self.format.read(path)

    def run(self, case: int) -> str:
        """One case; "read" or "refused", another exception is a finding."""
        rng = random.Random(f"{self.name} {case}")
        which = rng.randrange(len(self.files))
        path, content = self.files[which], self.contents[which]
        path.write_bytes(self.format.change(content, rng))
        try:
            found = self.format.read(path)
            if hasattr(found, "ranks"):
                repr(found)
        except REFUSALS as error:
            if "\n" in str(error):
                raise AssertionError(f"a message of several lines: {error}") from error
            return "refused"
        finally:
            path.write_bytes(content)
        return "read"


def run(name: str, cases: Iterable[int], seconds: float = 1e9) -> tuple[Counter[str], list[str]]:
    """Cases of a format in child processes, one after the other: how they ended, and findings."""
    left = list(cases)
    counts: Counter[str] = Counter()
    findings: list[str] = []
    end = time.monotonic() + seconds
    done = 0
    while done < len(left) and time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="mutations-") as folder, mmap.mmap(-1, 40) as shared:
            shared[:40] = struct.pack("5Q", done, 0, 0, 0, 0)
            child = os.fork()
            if child == 0:
                _child(name, Path(folder), left, shared, end)
            before, since = -1, time.monotonic()
            hung = False
            while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
                time.sleep(0.02)
                at = struct.unpack_from("Q", shared)[0]
                if at != before:
                    before, since = at, time.monotonic()
                elif time.monotonic() - since > HANGS + STARTS * (at == done):
                    os.kill(child, signal.SIGKILL)
                    hung = True
                    ended = os.waitpid(child, 0)
                    break
            at, was_read, refused, _, finished = struct.unpack("5Q", shared[:40])
            counts["read"] += was_read
            counts["refused"] += refused
            done = at
            if finished:
                break
            status = os.waitstatus_to_exitcode(ended[1])
            why = "hangs" if hung else f"signal {-status}" if status < 0 else ""
            if status == 3 and not hung:
                why = (Path(folder) / ".why").read_text()
            counts["findings"] += 1
            findings.append(f"{name} {left[done]}: {why or f'exit status {status}'}")
            done += 1
    return counts, findings


def _child(name: str, folder: Path, cases: list[int], shared: mmap.mmap, end: float) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        (folder / "w").mkdir()
        bench = Bench(name, folder / "w")
        at, was_read, refused = struct.unpack_from("3Q", shared)
        while at < len(cases) and time.monotonic() < end:
            if bench.run(cases[at]) == "read":
                was_read += 1
            else:
                refused += 1
            at += 1
            struct.pack_into("3Q", shared, 0, at, was_read, refused)
        struct.pack_into("Q", shared, 32, 1)
    except BaseException as error:
        import traceback

        frames = traceback.extract_tb(error.__traceback__)
        place = next((f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames)), "")
        (folder / ".why").write_text(f"{type(error).__name__} at {place}: {error}"[:300])
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
        begin = time.monotonic()
        last = options.first + options.cases
        parts = [range(options.first + w, last, options.workers) for w in range(options.workers)]
        with ThreadPoolExecutor(options.workers) as pool:
            results = list(pool.map(partial(run, name, seconds=options.seconds), parts))
        counts = sum((r[0] for r in results), Counter())
        total = sum(counts.values())
        print(
            f"{name}: {total:,} of {options.cases:,} cases in {time.monotonic() - begin:.0f} s: {counts['refused']:,} "
            f"refused, {counts['read']:,} read, {counts['findings']:,} findings",
            flush=True,
        )
        for line in [line for r in results for line in r[1]][:50]:
            print(f"  {line}", flush=True)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
