"""Decision tables: the algorithm of a collective by number of ranks and size."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..tabular import Tabular
from ..views import view
from .choice import LIBRARY, Choice
from .decisions import Decisions
from .rule import KINDS, Rule, merged

#: Modes of synchronisation on entry and exit, as rows of tables name them.
MODES = tuple(a if a == b else f"{a}-{b}" for a in ("none", "my", "all") for b in ("none", "my", "all"))


@dataclass(frozen=True)
class Point:
    """The decision at one size.

    Parameters
    ----------
    bytes : int
        Size as for :func:`isthmus.collective`.
    choice : Choice
        The algorithm to take.
    seconds : float, optional
        Its predicted time.
    runner_up : Choice, optional
        The second best.
    runner_up_seconds : float, optional
        Its predicted time.
    bound : float, optional
        Seconds that no algorithm can do without.
    interval : pair of float, optional
        Seconds between which the time of the choice lies, where it was measured: a confidence interval of 95 %.
    """

    bytes: int
    choice: Choice
    seconds: float | None = None
    runner_up: Choice | None = None
    runner_up_seconds: float | None = None
    bound: float | None = None
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.interval is not None:
            low, high = self.interval
            if not 0 <= low <= high < math.inf:
                raise InvalidInput(
                    f"the interval of {self.bytes} bytes is {low} to {high}: expected seconds that ascend"
                )
            object.__setattr__(self, "interval", (float(low), float(high)))

    @property
    def margin(self) -> float | None:
        """Extra time of the runner-up relative to the choice; None if a time is unknown."""
        if not self.seconds or self.runner_up_seconds is None:
            return None
        return self.runner_up_seconds / self.seconds - 1


@dataclass(frozen=True)
class Row:
    """The decisions at one number of ranks.

    Parameters
    ----------
    ranks : int
        Smallest number of ranks to which the decisions apply, up to the next row.
    points : sequence of Point
        Decisions by ascending size.
    tuned : bool
        True: the sizes are those that were tuned, and rules change somewhere between them. False: each size is where a
        rule begins, the first is 0.
    """

    ranks: int
    points: tuple[Point, ...]
    tuned: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))
        if self.ranks < 1:
            raise InvalidInput(f"a row of {self.ranks} ranks: expected a number from 1")
        if not self.points:
            raise InvalidInput(f"the row of {self.ranks} ranks has no sizes: expected at least one")
        sizes = [point.bytes for point in self.points]
        if sizes[0] < 0 or any(a >= b for a, b in itertools.pairwise(sizes)):
            raise InvalidInput(f"the row of {self.ranks} ranks: expected sizes from 0 that ascend")
        if not self.tuned and sizes[0] != 0:
            raise InvalidInput(f"the row of {self.ranks} ranks begins at {sizes[0]} bytes: rules must begin at 0")

    @functools.cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Rules with the sizes at which the algorithm changes."""
        if not self.tuned:
            return merged(Rule(p.bytes, p.choice) for p in self.points)
        starts = [0, *(crossover(a, b) for a, b in zip(self.points, self.points[1:], strict=False))]
        return merged(Rule(start, p.choice) for start, p in zip(starts, self.points, strict=True))


def crossover(low: Point, high: Point) -> int:
    """Return the first size between two tuned ones at which the choice of the upper one applies.

    Where each choice is the runner-up at the other's size, four times are known, and it is where the two straight
    lines of log time over log size cross: a time that is a + b n is between constant and proportional, so that such a
    line is close over the short way between neighbouring sizes. Otherwise it is the geometric mean of the two sizes:
    tuned sizes are mostly powers of a number, and then it is equally far from both.

    Returns
    -------
    int
        Larger than the lower size, not larger than the upper one.
    """
    begin, end = math.log(max(low.bytes, 0.5)), math.log(high.bytes)
    part = 0.5
    if low.runner_up == high.choice and high.runner_up == low.choice:
        times = (low.seconds, low.runner_up_seconds, high.seconds, high.runner_up_seconds)
        if all(time is not None and 0 < time < math.inf for time in times):
            first, second, third, fourth = (math.log(time) for time in times if time)
            ahead, behind = second - first, fourth - third  # by how much the choices lead, in logs
            if ahead >= 0 and behind >= 0 and ahead + behind > 0:
                part = ahead / (ahead + behind)
    # Powers of two come out a rounding error above themselves.
    middle = math.ceil(math.exp(begin + part * (end - begin)) * (1 - 1e-12))
    return min(max(middle, low.bytes + 1), high.bytes)


@dataclass(frozen=True)
class Provenance:
    """Origin of a decision table, as texts; empty if unknown.

    Parameters
    ----------
    machine, placement, model : str
        What was simulated: the machine, where the ranks sat, the model of the network.
    isthmus : str
        Version of Isthmus.
    date : str
        ISO 8601.
    note : str
        Anything else.
    library : str
        The MPI library whose algorithms these are, such as ``"openmpi-5.0.8"``; empty: those of Isthmus.
    source : {"", "model", "measured", "online"}
        Where the times come from: simulations, runs, or the runs of programs while they went on.
    sync : str
        How runs were kept in step, such as ``"barrier"`` or ``"window"``; empty where nothing ran.
    """

    machine: str = ""
    placement: str = ""
    model: str = ""
    isthmus: str = ""
    date: str = ""
    note: str = ""
    library: str = ""
    source: str = ""
    sync: str = ""

    def __post_init__(self) -> None:
        if self.source not in ("", *SOURCES):
            raise InvalidInput(f"source {self.source!r}: must be one of {', '.join(SOURCES)}")


#: Where times of decisions may come from.
SOURCES = ("model", "measured", "online")


@dataclass(frozen=True)
class DecisionTable(Tabular, Decisions):
    """Algorithms by collective, number of ranks and size.

    Between tuned numbers of ranks the row of the largest one at or below counts, below the smallest the smallest: it is
    what Open MPI does with its own rules, so that a table and the file made from it agree at every number of ranks, and
    an algorithm that was never tried at more ranks is not taken for fewer. Between tuned sizes see :func:`crossover`;
    the first and the last tuned size hold down to 0 and up to any size.

    Parameters
    ----------
    rows : mapping of str to sequence of Row
        By collective; ranks ascend.
    provenance : Provenance
    modes : mapping of str to mapping of str to sequence of Row
        By collective and mode of synchronisation, one of :data:`MODES`: rows for calls that name this mode, as those of
        spaces (:doc:`/howto/pgas`) do. A mode without rows has ``rows``.

    Raises
    ------
    InvalidInput
        For an unknown collective or mode, and rows that do not ascend.

    Examples
    --------
    >>> fast = Point(8, Choice("knomial", {"radix": 4}))
    >>> table = DecisionTable({"bcast": [Row(64, [fast, Point(8192, Choice("binomial"))])]})
    >>> print(table.lookup("bcast", 100, 200), "/", table.lookup("bcast", 100, 300))
    knomial,radix=4 / binomial
    """

    #: A table is made here, or by hand: an unknown name is a mistake.
    strange = False

    rows: Mapping[str, Sequence[Row]]
    provenance: Provenance = field(default_factory=Provenance)
    modes: Mapping[str, Mapping[str, Sequence[Row]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = {kind: tuple(self.rows[kind]) for kind in sorted(self.rows, key=_order) if self.rows[kind]}
        object.__setattr__(self, "rows", rows)
        modes: dict[str, dict[str, tuple[Row, ...]]] = {}
        for kind in sorted(self.modes, key=_order):
            for mode in sorted(self.modes[kind], key=_order_of_mode):
                if self.modes[kind][mode]:
                    modes.setdefault(kind, {})[mode] = tuple(self.modes[kind][mode])
        object.__setattr__(self, "modes", modes)
        for words, of_kind in [
            *rows.items(),
            *((f"{kind} with sync={mode}", of) for kind, by in modes.items() for mode, of in by.items()),
        ]:
            ranks = [row.ranks for row in of_kind]
            if any(a >= b for a, b in itertools.pairwise(ranks)):
                raise InvalidInput(f"{words}: expected rows of ranks that ascend, got {ranks}")

    def __str__(self) -> str:
        points = sum(1 for _ in self.entries())
        kinds = dict.fromkeys([*self.rows, *self.modes])
        of = f" for {self.provenance.machine}" if self.provenance.machine else ""
        return f"Decision table{of}: {', '.join(kinds) or 'no collectives'}; {points} decisions"

    @property
    def collectives(self) -> tuple[str, ...]:
        return tuple(self.rows)

    def row(self, collective: str, ranks: int) -> Row:
        """Return the row that applies at this number of ranks."""
        self._known(collective)
        rows = self.rows[collective]
        return rows[max(bisect.bisect_right([row.ranks for row in rows], ranks) - 1, 0)]

    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        return self.row(collective, ranks).rules

    def concrete(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        rules = self.rules(collective, ranks)
        if all(rule.choice != LIBRARY for rule in rules):
            return rules
        from ..collectives import algorithms
        from .defaults import LIBRARIES, defaults
        from .runnable import runnable

        name = self.provenance.library
        known = defaults(name) if name.partition("-")[0] in LIBRARIES else None
        own = [Rule(0, Choice(algorithms(collective)[0]))]
        if known is not None and collective in known.collectives:
            own = [
                Rule(r.bytes, runnable(collective, r.choice, ranks, strange=known.strange)[0])
                for r in known.rules(collective, ranks)
            ]
        out: list[Rule] = []
        for rule, following in zip(rules, [*rules[1:], None], strict=True):
            if rule.choice != LIBRARY:
                out.append(rule)
                continue
            inside = [r for r in own if r.bytes > rule.bytes and (following is None or r.bytes < following.bytes)]
            first = next(r for r in reversed(own) if r.bytes <= rule.bytes)
            out += [Rule(rule.bytes, first.choice), *inside]
        return merged(out)

    def items(self) -> Iterator[tuple[str, Row, Point]]:
        """Return every decision with its collective and row, but for those of modes of synchronisation."""
        for kind, rows in self.rows.items():
            for row in rows:
                for point in row.points:
                    yield kind, row, point

    def entries(self) -> Iterator[tuple[str, str, Row, Point]]:
        """Return every decision with its collective, its mode of synchronisation ("": any) and its row."""
        for kind in sorted({*self.rows, *self.modes}, key=_order):
            for mode, rows in [("", self.rows.get(kind, ())), *self.modes.get(kind, {}).items()]:
                for row in rows:
                    for point in row.points:
                        yield kind, mode, row, point

    def of_mode(self, mode: str) -> DecisionTable:
        """Return the table that calls of one mode of synchronisation follow.

        Raises
        ------
        InvalidInput
            For none of :data:`MODES`.
        """
        _order_of_mode(mode)
        by_mode = {kind: rows[mode] for kind, rows in self.modes.items() if mode in rows}
        return DecisionTable({**self.rows, **by_mode}, self.provenance)

    def frame(self) -> dict[str, NDArray[np.generic]]:
        """Return all decisions as columns of equal length, one row per decision.

        Returns
        -------
        dict of str to array
            collective, sync, ranks, bytes, algorithm, seconds, runner_up, runner_up_seconds, margin, bound, tuned;
            texts are empty and times are NaN where nothing is known.
        """
        import numpy as np

        rows = list(self.entries())

        def number(value: float | None) -> float:
            return math.nan if value is None else value

        columns: dict[str, Any] = {
            "collective": np.array([kind for kind, _, _, _ in rows], dtype=str),
            "sync": np.array([mode for _, mode, _, _ in rows], dtype=str),
            "ranks": np.array([row.ranks for _, _, row, _ in rows], np.int64),
            "bytes": np.array([p.bytes for *_, p in rows], np.int64),
            "algorithm": np.array([str(p.choice) for *_, p in rows], dtype=str),
            "seconds": np.array([number(p.seconds) for *_, p in rows], float),
            "runner_up": np.array([str(p.runner_up or "") for *_, p in rows], dtype=str),
            "runner_up_seconds": np.array([number(p.runner_up_seconds) for *_, p in rows], float),
            "margin": np.array([number(p.margin) for *_, p in rows], float),
            "bound": np.array([number(p.bound) for *_, p in rows], float),
            "tuned": np.array([row.tuned for _, _, row, _ in rows], bool),
        }
        return columns

    def only(self, *collectives: str) -> DecisionTable:
        """Return the table restricted to these collectives."""
        for kind in collectives:
            if kind not in self.modes:
                self._known(kind)
        return DecisionTable(
            {kind: self.rows[kind] for kind in collectives if kind in self.rows},
            self.provenance,
            {kind: self.modes[kind] for kind in collectives if kind in self.modes},
        )

    def merge(self, other: DecisionTable) -> DecisionTable:
        """Merge two tables; rows of ``other`` replace rows of the same collective, mode and ranks.

        Provenance that differs is kept side by side.
        """
        rows = {
            kind: _merged(self.rows.get(kind, ()), other.rows.get(kind, ())) for kind in {**self.rows, **other.rows}
        }
        modes = {}
        for kind in {**self.modes, **other.modes}:
            mine_of, theirs_of = self.modes.get(kind, {}), other.modes.get(kind, {})
            modes[kind] = {
                mode: _merged(mine_of.get(mode, ()), theirs_of.get(mode, ())) for mode in {**mine_of, **theirs_of}
            }
        mine, theirs = vars(self.provenance), vars(other.provenance)
        both = {key: "; ".join(dict.fromkeys(filter(None, (mine[key], theirs[key])))) for key in mine}
        if both["source"] not in ("", *SOURCES):
            # One word for all rows would be wrong for some.
            both["note"] = "; ".join(filter(None, (both["note"], f"sources: {both['source']}")))
            both["source"] = ""
        return DecisionTable(rows, Provenance(**both), modes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as TOML, as JSON (.json), or as plain text for C (.txt)."""
        view("DecisionTable.save")(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DecisionTable:
        """Read a table.

        Raises
        ------
        ParseError
            With file, line and field of the first defect.
        OSError
            If the file cannot be read.
        """
        found: DecisionTable = view("DecisionTable.load")(path)
        return found


def _merged(first: Sequence[Row], second: Sequence[Row]) -> list[Row]:
    by_ranks = {row.ranks: row for rows in (first, second) for row in rows}
    return [by_ranks[ranks] for ranks in sorted(by_ranks)]


def _order_of_mode(mode: Any) -> int:
    if mode not in MODES:
        raise InvalidInput(f"sync {mode!r}: must be one of {', '.join(MODES)}")
    return MODES.index(mode)


def _order(kind: Any) -> int:
    if kind not in KINDS:
        raise InvalidInput(f"collective {kind!r}: must be one of {', '.join(KINDS)}")
    return KINDS.index(kind)
