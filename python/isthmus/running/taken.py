"""What was taken over of an MPI program's collectives, and what that gained: the counts of its ranks, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import ParseError
from ..tabular import Tabular
from ..units import amount, percent, text

#: How files of counts begin.
HEAD = "isthmus counts 1"
#: Classes of sizes: those of the vector or block up to so many bytes; the last one is above, then what has no size.
SIZES: tuple[int | None, ...] = (64, 1024, 16384, 262144, 4194304, None, None)
_UNKNOWN = len(SIZES) - 1
_COMPARED = "compared"
#: The MPI library does these on purpose: they are not among the calls that could not be taken over.
_CHOSEN = (_COMPARED, "the MPI library's own is faster")

_HEADS = ("collective", "size", "calls", "by Isthmus", "by MPI", "data", "time", "MPI's own")


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one side, seconds, means over the ranks: a median, and its interval of 95 %.

    Parameters
    ----------
    calls : int
        Calls that were timed on a rank.
    low, median, high : float
    """

    calls: int
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """Calls of one collective and class of sizes.

    Parameters
    ----------
    collective : str
    size : int
        Number of the class, see :data:`SIZES`.
    taken : int
        Calls that were carried out by libisthmus, of all ranks.
    bytes : int
        What they moved: vectors or blocks, as the calls give them.
    left : mapping of str to int
        Calls that went to the MPI library, by reason.
    ours, theirs : Times or None
        Times of calls that were compared.
    """

    collective: str
    size: int
    taken: int
    bytes: int
    left: Mapping[str, int]
    ours: Times | None
    theirs: Times | None

    @property
    def words(self) -> str:
        """The class in words: ``up to 1 KiB``."""
        if self.size == _UNKNOWN:
            return "any"
        most = SIZES[self.size]
        return f"above {text(4194304, 'B')}" if most is None else f"up to {text(most, 'B')}"


@dataclass(frozen=True, slots=True)
class Reordered:
    """Communicators with a topology in which the program let ranks be reordered.

    Parameters
    ----------
    kind : str
        How they were made: ``"cart"``, ``"graph"``, ``"dist_graph"`` or ``"dist_graph_adjacent"``.
    done : int
        Communicators whose ranks were reordered.
    before, after : float
        Hop-bytes of those: bytes, or weights of neighbours, times the links between them, as it was and in the new
        order.
    kept : mapping of str to int
        Communicators that the MPI library made as it does, by reason.
    """

    kind: str
    done: int
    before: float
    after: float
    kept: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Used:
    """Where ranks were started, and what that is worth.

    Parameters
    ----------
    name : str
        ``"mapped"``, or the file that placed them.
    hop_bytes, usual : float
        Predicted hop-bytes, and those of the ranks as their launcher starts them.
    sockets, usual_sockets : float
        Bytes between sockets of a node, of both.
    kept : str
        Why ranks started as usual; empty where they did not.
    """

    name: str
    hop_bytes: float
    usual: float
    sockets: float = 0.0
    usual_sockets: float = 0.0
    kept: str = ""

    def __str__(self) -> str:
        if self.kept:
            return f"ranks started in the usual order ({amount(self.usual)} hop-bytes): {self.kept}"
        how = "by what they exchange" if self.name == "mapped" else f"by {self.name}"
        out = f"ranks were placed {how}: {amount(self.hop_bytes)} hop-bytes, {amount(self.usual)} in the usual order"
        if self.sockets < self.usual_sockets:
            out += f"; {amount(self.sockets)} between sockets, {amount(self.usual_sockets)} in the usual order"
        return out


@dataclass(frozen=True, slots=True)
class Taken(Tabular):
    """How a program ended whose collectives were taken over, and what became of them.

    Parameters
    ----------
    status : int
        Exit status of the command, as shells give it.
    ranks : int
        Ranks that wrote down what they did; 0: the program called no MPI.
    expected : int
        Ranks of the program.
    rows : tuple of Row
    reordered : tuple of Reordered
    placement : Used, optional
        Where ranks were started, if that was chosen and what they exchange is known.
    """

    status: int
    ranks: int
    expected: int
    rows: tuple[Row, ...]
    reordered: tuple[Reordered, ...] = ()
    placement: Used | None = None

    @property
    def share(self) -> float | None:
        """Calls that were carried out by libisthmus, of those that were not left to the MPI library on purpose."""
        taken = sum(row.taken for row in self.rows)
        left = sum(count for row in self.rows for why, count in row.left.items() if why not in _CHOSEN)
        return taken / (taken + left) if taken + left else None

    def frame(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows; times in seconds."""
        return [
            {
                "collective": row.collective,
                "size": row.words,
                "taken": row.taken,
                "bytes": row.bytes,
                "left": sum(row.left.values()),
                "isthmus_s": row.ours.median if row.ours else None,
                "library_s": row.theirs.median if row.theirs else None,
            }
            for row in self.rows
        ]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain numbers."""
        return {
            "status": self.status,
            "ranks": self.ranks,
            "share": self.share,
            "collectives": [
                {
                    "collective": row.collective,
                    "most_bytes": SIZES[row.size],
                    "taken": row.taken,
                    "bytes": row.bytes,
                    "left": dict(row.left),
                    "isthmus": _plain(row.ours),
                    "library": _plain(row.theirs),
                }
                for row in self.rows
            ],
            "reordered": [
                {
                    "kind": made.kind,
                    "done": made.done,
                    "hop_bytes_before": made.before,
                    "hop_bytes": made.after,
                    "kept": dict(made.kept),
                }
                for made in self.reordered
            ],
            "placement": None if self.placement is None else asdict(self.placement),
        }

    def __str__(self) -> str:
        return self._taken() if self.placement is None else f"{self._taken()}\n{self.placement}"

    def _taken(self) -> str:
        if not self.ranks:
            return "no collectives were seen: the program called no MPI, or not the MPI that was found"
        if not self.rows:
            return "\n".join([f"{_many(self.ranks, 'rank')} called no collectives", *self._orders()])
        lines = [
            ("collective", "size", "calls", "by Isthmus", "by MPI", "data", "time", "MPI's own"),
            *map(_cells, self.rows),
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        out = []
        for line in lines:
            cells = [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
            out.append("  ".join(cells).rstrip())
        return "\n".join([*out, *self._sentences()])

    def _sentences(self) -> list[str]:
        out = []
        if self.share is not None:
            compared = sum(row.left.get(_COMPARED, 0) for row in self.rows)
            beside = f"; {_many(compared, 'more')} went to the MPI library to be compared" if compared else ""
            out.append(f"{percent(self.share)} of the calls were carried out by Isthmus{beside}")
        reasons: dict[str, int] = {}
        for row in self.rows:
            for why, count in row.left.items():
                if why != _COMPARED:
                    _add(reasons, why, count)
        for why, count in sorted(reasons.items(), key=lambda item: -item[1]):
            out.append(f"by the MPI library: {_many(count, 'call')}, {why}")
        gained = sum((row.theirs.median - row.ours.median) * row.taken for row in self.rows if row.ours and row.theirs)
        if any(row.ours and row.theirs for row in self.rows):
            gained /= max(self.ranks, 1)
            word = "saved" if gained >= 0 else "lost"
            out.append(f"time {word}, as far as both were timed: {text(abs(gained), 's', 3)} on each rank")
        out += self._orders()
        if self.ranks < self.expected:
            out.append(f"{self.expected - self.ranks} of {self.expected} ranks left no counts")
        return out

    def _orders(self) -> list[str]:
        """What became of communicators that may be reordered."""
        if not self.reordered:
            return []
        done = sum(made.done for made in self.reordered)
        reasons: dict[str, int] = {}
        for made in self.reordered:
            for why, count in made.kept.items():
                _add(reasons, why, count)
        asked = done + sum(reasons.values())
        line = f"reordered {done:,} of {_many(asked, 'communicator')} that may be"
        if done:
            before, after = (sum(getattr(made, name) for made in self.reordered) for name in ("before", "after"))
            line += f": {before:,.6g} hop-bytes became {after:,.6g}"
        kept = sorted(reasons.items(), key=lambda item: -item[1])
        return [line, *(f"not reordered: {_many(count, 'communicator')}, {why}" for why, count in kept)]


def _plain(times: Times | None) -> dict[str, float] | None:
    if times is None:
        return None
    return {"calls": times.calls, "low": times.low, "median": times.median, "high": times.high}


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 or noun == 'more' else 's'}"


def _cells(row: Row) -> tuple[str, ...]:
    left = sum(row.left.values())
    return (
        row.collective,
        row.words,
        f"{row.taken + left:,}",
        f"{row.taken:,}",
        f"{left:,}",
        text(row.bytes, "B", 3),
        text(row.ours.median, "s", 3) if row.ours else "-",
        text(row.theirs.median, "s", 3) if row.theirs else "-",
    )


def read_counts(folder: Path, status: int) -> Taken:
    """Return what the ranks wrote into a folder.

    Raises
    ------
    ParseError
        For a line that no version of the library writes.
    """
    counts = _Counts()
    files = sorted(folder.glob("*.counts"))
    for path in files:
        counts.read(path)
    return Taken(status, len(files), counts.expected, counts.rows(), counts.reordered())


def _add(reasons: dict[str, int], why: str, count: int) -> None:
    reasons[why] = reasons.get(why, 0) + count


class _Counts:
    """The counts of all ranks, by collective and class."""

    def __init__(self) -> None:
        self.expected = 0
        self._taken: dict[tuple[str, int], list[int]] = {}
        self._left: dict[tuple[str, int], dict[str, int]] = {}
        self._times: dict[tuple[str, int, str], list[Times]] = {}
        self._orders: dict[str, list[float]] = {}
        self._kept: dict[str, dict[str, int]] = {}

    def read(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        if not lines or lines[0] != HEAD:
            raise ParseError(str(path), 1, None, f"expected '{HEAD}'")
        for number, line in enumerate(lines[1:], 2):
            try:
                self._line(line)
            except (ValueError, IndexError):
                raise ParseError(str(path), number, None, f"'{line}' is no line of counts") from None

    def _line(self, line: str) -> None:
        what, name, number, *rest = line.split(" ")
        if what == "rank":
            self.expected = int(number)
            return
        if what == "reordered":
            sums = self._orders.setdefault(name, [0.0] * 3)
            for i, word in enumerate((number, *rest[:2])):
                sums[i] += float(word)
            return
        if what == "kept":
            _add(self._kept.setdefault(name, {}), " ".join(rest), int(number))
            return
        key = name, int(number)
        if not 0 <= key[1] < len(SIZES):
            raise ValueError
        if what == "taken":
            moved = self._taken.setdefault(key, [0, 0])
            moved[0] += int(rest[0])
            moved[1] += int(rest[1])
        elif what == "left":
            _add(self._left.setdefault(key, {}), " ".join(rest[2:]), int(rest[0]))
        elif what == "time":
            low, median, high = (1e-9 * float(word) for word in rest[2:5])
            self._times.setdefault((*key, rest[0]), []).append(Times(int(rest[1]), low, median, high))
        else:
            raise ValueError

    def rows(self) -> tuple[Row, ...]:
        keys = sorted(dict.fromkeys([*self._taken, *self._left]))
        return tuple(map(self._row, keys))

    def reordered(self) -> tuple[Reordered, ...]:
        kinds = sorted({*self._orders, *self._kept})
        sums = {kind: self._orders.get(kind, [0.0] * 3) for kind in kinds}
        return tuple(Reordered(k, int(sums[k][0]), sums[k][1], sums[k][2], self._kept.get(k, {})) for k in kinds)

    def _row(self, key: tuple[str, int]) -> Row:
        taken, size = self._taken.get(key, [0, 0])
        times = self._mean(key, "isthmus"), self._mean(key, "library")
        return Row(*key, taken, size, self._left.get(key, {}), *times)

    def _mean(self, key: tuple[str, int], side: str) -> Times | None:
        found = self._times.get((*key, side))
        if not found:
            return None
        low, median, high = (sum(getattr(t, name) for t in found) / len(found) for name in ("low", "median", "high"))
        return Times(min(t.calls for t in found), low, median, high)
