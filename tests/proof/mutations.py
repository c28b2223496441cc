"""Damaged inputs of every format: each is read or refused in one line; nothing crashes, hangs or shows a traceback.

    mutations.py [FORMAT...] [--cases N] [--seconds S] [--first N] [--ledger FILE] [--workers N]

Cases of a format are made from small valid files by changed bits, bytes, numbers (which become others of the file, its
length, neighbours, extremes), words, or pieces that are moved, cut or doubled. They run in child processes, each of
which does as many as it survives: a crash or an endless loop is a finding, which is printed with the number of its
case, and not the end. Libraries that Isthmus itself runs in a child process run within this one; their ends are no
findings but count as "contained". A format may have a short way without what another format shows (the HDF5 file
between a library and us), and a file that is to its reader as an earlier one was ends as that did, and is not read
again: one case in a hundred goes the whole way. With a ledger, cases that were done before, in this run or another, are
not done again. Exit status 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import functools
import gc
import hashlib
import json
import mmap
import os
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

sys.path.append(str(Path(__file__).resolve().parents[1] / "py"))

from damaged_formats import FORMATS, Format
from isthmus import InvalidInput, ParseError, Unsupported, separate

__all__ = ["FORMATS", "Format", "run"]

#: Where files are written, also those of the code under test: making a folder on a disk takes longer than all else.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
#: Seconds of processor time, or asleep, after which a case counts as one that hangs. On a machine that is busy
#: otherwise, time by the clock says nothing.
HANGS = 30.0
#: Seconds of processor time after which a library that runs in a child process counts as one that hangs; a valid file
#: takes some milliseconds.
LIBRARY_HANGS = 0.3
#: Bytes of a child process.
MOST_MEMORY = 8 << 30
#: Where a child process tells the number of its case, that it runs a library that is contained, and how many of its
#: cases were as an earlier one.
AT, INSIDE, AGAIN = 0, 24, 32
#: Files of which is kept how they ended, at most.
KEPT = 1 << 20
#: Of so many cases one goes the whole way, where there is a short one.
WHOLE = 100
#: Seconds of processors from one entry of the ledger to the next.
STEP = 60.0
#: A sentence for people; errors of the file system may come of names in a file.
REFUSALS = (ParseError, InvalidInput, Unsupported, OSError)


class Bench:
    """Valid inputs of one format in a folder of its own, written before child processes begin."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.format = name, FORMATS[name]
        self.folder = folder
        self.format.write(folder)
        self.files = sorted(p for p in folder.glob(self.format.files) if p.is_file())
        self.contents = [p.read_bytes() for p in self.files]
        self.whole = [self.format.read(path) for path in self.files]
        self.endings = _endings(self.format)
        if self.format.short:
            with mmap.mmap(-1, 64) as shared, mock.patch.object(separate, "run", Contained(shared).run):
                short = [self.format.short(path, data) for path, data in zip(self.files, self.contents, strict=True)]
            assert short == self.whole, f"{name}: the short way reads a valid file as something else"

    def damaged(self, case: int) -> tuple[int, bytes, int]:
        """Which file a case damages, what it holds then, and the key of that in :attr:`endings`."""
        rng = random.Random(f"{self.name} {case}")
        which = rng.randrange(len(self.files))
        changed = self.format.change(self.contents[which], rng)
        seen = hashlib.blake2b(self.format.seen(changed), digest_size=8, salt=struct.pack("H", which))
        return which, changed, int.from_bytes(seen.digest(), "little")

    def run(self, case: int) -> tuple[str, bool]:
        """One case; "read" or "refused", another exception is a finding, and whether it was as an earlier one."""
        which, changed, key = self.damaged(case)
        before = self.endings.find(key) if case % WHOLE else None
        ended = before or self._read(case, which, changed)
        self.endings.note(key, ended)
        return ended, before is not None

    def _read(self, case: int, which: int, changed: bytes) -> str:
        path, content = self.files[which], self.contents[which]
        # Written into the file that is there: a new one would take longer than all else.
        _overwrite(path, changed)
        try:
            short = self.format.short if case % WHOLE else None
            found = short(path, content) if short else self.format.read(path)
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


class Endings:
    """How files ended, by 64 bits of what they held, in memory that child processes share; a few are forgotten."""

    def __init__(self) -> None:
        self.table = mmap.mmap(-1, 8 * KEPT)

    def find(self, key: int) -> str | None:
        """How a file ended, if it is known; the last bit of the key does not count."""
        found = struct.unpack_from("Q", self.table, 8 * (key % KEPT))[0]
        return ("refused", "read")[found & 1] if found and found >> 1 == key >> 1 else None

    def note(self, key: int, ended: str) -> None:
        struct.pack_into("Q", self.table, 8 * (key % KEPT), key & ~1 | (ended == "read"))


@functools.cache
def _endings(format: Format) -> Endings:
    return Endings()


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
            if (why and inside) or (why and FORMATS[name].contained and _harmless(bench, cases, done)):
                counts["refused"] += 1
                counts["contained"] += 1
                bench.endings.note(bench.damaged(cases[done])[2], "refused")
            elif why:
                counts["findings"] += 1
                findings.append(f"{name} {cases[done]}: {why}")
            done += bool(why)
    return counts, findings


def _harmless(bench: Bench, cases: Sequence[int], case: int) -> bool:
    """Whether a case alone ends well or within the library: what it did to the memory of the process, in this case or
    one before, may show only after it has returned."""
    _, why, inside = _some(bench, cases[: case + 1], case, 1e99, Counter())
    return not why or inside


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
            clock = _Clock(child)
            before, since = -1, 0.0
            while not select.select([ended], [], [], min(0.5, HANGS / 4))[0]:
                at, spent = struct.unpack_from("Q", shared, AT)[0], clock.spent()
                if at != before:
                    before, since = at, spent
                elif spent - since > HANGS:
                    os.kill(child, signal.SIGKILL)
                    why = "hangs"
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finally:
            os.close(ended)
        at, was_read, refused, inside_number, again = struct.unpack("5Q", shared[:40])
        if status == 3:
            why = why or (bench.folder.parent / "why").read_text()
        elif status != 0:
            why = why or (f"signal {-status}" if status < 0 else f"exit status {status}")
            inside = bool(inside_number) and status < 0
    counts["read"] += was_read
    counts["refused"] += refused
    counts["again"] += again
    for path, content in zip(bench.files, bench.contents, strict=True):
        if why:
            _overwrite(path, content)
    return at, why, inside


class _Clock:
    """Seconds that a process has computed or slept, but not those in which it waited for a processor."""

    def __init__(self, process: int) -> None:
        self.path = f"/proc/{process}/stat"
        self.asleep, self.computed, self.last = 0.0, 0.0, time.monotonic()

    def spent(self) -> float:
        try:
            fields = Path(self.path).read_text().rpartition(") ")[2].split()
        except OSError:
            return self.asleep + self.computed
        now, computed = time.monotonic(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if fields[0] == "S" and computed == self.computed:
            self.asleep += now - self.last
        self.computed, self.last = computed, now
        return self.asleep + self.computed


def _child(bench: Bench, cases: Sequence[int], shared: mmap.mmap, end: float) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    separate.run = Contained(shared).run
    tempfile.tempdir = MEMORY
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    # What is there now lives on: there is no use in looking through it again and again.
    gc.freeze()
    try:
        at, was_read, refused, again = struct.unpack_from("Q", shared, AT)[0], 0, 0, 0
        while at < len(cases) and time.monotonic() < end:
            ended, before = bench.run(cases[at])
            was_read += ended == "read"
            refused += ended == "refused"
            again += before
            at += 1
            struct.pack_into("3Q", shared, 0, at, was_read, refused)
            struct.pack_into("Q", shared, AGAIN, again)
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
    parser.add_argument("--ledger", type=Path, help="file of what was done, which is gone on with; shows progress")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    failed = False
    for name in options.format:
        done = Done(name, options.first, options.cases, options.ledger)
        end = time.monotonic() + options.seconds
        while done.left and time.monotonic() < end:
            done.step(options.workers, end)
        print(done.line(), flush=True)
        for line in done.findings[:50]:
            print(f"  {line}", flush=True)
            failed = True
    return int(failed)


class Done:
    """Cases of a format that were done, from the first on; with a ledger, in earlier runs too."""

    def __init__(self, name: str, first: int, cases: int, ledger: Path | None) -> None:
        self.name, self.first, self.cases, self.ledger = name, first, cases, ledger
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self.seconds = self.processors = 0.0
        known = self._known().get(name)
        if known:
            self.first, self.counts, self.findings = known["first"], Counter(known["counts"]), known["findings"]
            self.seconds, self.processors = known["seconds"], known["processors"]

    @property
    def total(self) -> int:
        return self.counts["read"] + self.counts["refused"] + self.counts["findings"]

    @property
    def left(self) -> int:
        return max(self.cases - self.total, 0)

    def step(self, workers: int, end: float) -> None:
        """Do as many as take a step's time, all of them where there is no ledger."""
        size = self.left
        if self.ledger:
            size = min(size, int(STEP * self.total / self.processors) + 1 if self.processors else 500)
        begin, used = time.monotonic(), _processor_seconds()
        at = self.first + self.total
        parts = [range(at + w, at + size, workers) for w in range(workers)]
        counts: Counter[str] = Counter()
        for some, findings in _in_processes(self.name, parts, end - begin):
            counts.update(some)
            self.findings += findings
        self.counts += counts
        self.seconds += time.monotonic() - begin
        self.processors += _processor_seconds() - used
        whole = counts["read"] + counts["refused"] + counts["findings"] == size
        # What several workers have done of a step that time ended is no range.
        if self.ledger and (whole or workers == 1):
            self._note()

    def _note(self) -> None:
        assert self.ledger is not None
        rate = self.total / max(self.processors, 1e-9)
        left = self.left / self.total * self.seconds if self.total else 0.0
        print(
            f"{self.name}: {self.total:,} of {self.cases:,} cases, {rate:.0f} a second of processors, "
            f"{left / 60:.0f} minutes left, {self.counts['findings']} findings",
            file=sys.stderr,
            flush=True,
        )
        known = self._known()
        known[self.name] = {
            "first": self.first, "counts": dict(self.counts), "findings": self.findings, "seconds": self.seconds,
            "processors": self.processors,
        }  # fmt: skip
        new = self.ledger.with_name(self.ledger.name + ".new")
        new.write_text(json.dumps(known, indent=1))
        new.replace(self.ledger)

    def _known(self) -> dict[str, dict[str, object]]:
        return json.loads(self.ledger.read_text()) if self.ledger and self.ledger.exists() else {}

    def line(self) -> str:
        counts = self.counts
        return (
            f"{self.name}: {self.total:,} of {self.cases:,} cases in {self.seconds:.0f} s "
            f"({self.processors:.1f} s of processors, {counts['again']:,} again): {counts['refused']:,} refused, "
            f"of these {counts['contained']:,} contained, {counts['read']:,} read, {counts['findings']:,} findings"
        )


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
