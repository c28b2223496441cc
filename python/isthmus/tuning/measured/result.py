"""What a tuning by real runs found."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...tabular import Tabular
from ...units import text
from ..choice import LIBRARY, Choice
from ..table import DecisionTable, Point, Provenance, Row, crossover
from .gain import Gain
from .guidelines import Violation


@dataclass(frozen=True)
class Decision:
    """What to do at one size.

    Parameters
    ----------
    collective : str
    bytes : int
    choice : Choice
        ``library``: nothing is faster than the library's default by more than the interval.
    seconds : float
        Its time.
    default : float
        That of the library's default, in launches beside it.
    gain : Gain or None
        Of the choice over the default.
    """

    collective: str
    bytes: int
    choice: Choice
    seconds: float
    default: float
    gain: Gain | None


@dataclass(frozen=True, eq=False)
class MeasuredTuning(Tabular):
    """Result of :func:`isthmus.tune_measured`.

    Attributes
    ----------
    target : str
        The library, as of :func:`isthmus.tuning.export.export`, such as ``"openmpi-4.1.4"``.
    ranks : int
    decisions : tuple of Decision
    violations : tuple of Violation
        Performance guidelines that the library's default does not keep.
    notes : tuple of str
    launches : int
    wall : float
        Seconds.
    """

    target: str
    ranks: int
    decisions: Sequence[Decision]
    violations: Sequence[Violation]
    notes: Sequence[str]
    launches: int
    wall: float

    @property
    def gains(self) -> list[Decision]:
        """Decisions that are faster than the library's default."""
        return [d for d in self.decisions if d.choice != LIBRARY]

    @property
    def table(self) -> DecisionTable:
        """The decision table: what to take by size, for as many ranks as were timed.

        A rule that takes the place of the library's own decision begins and ends at sizes at which it was timed: a
        library changes its protocol between two sizes, and so its decision may be much faster just beside a size at
        which it is slow. All else is left to the library, and so are larger messages and other numbers of ranks.
        """
        from ... import __version__

        rows = {}
        for kind in dict.fromkeys(d.collective for d in self.decisions):
            of = [d for d in self.decisions if d.collective == kind]
            if any(d.choice != LIBRARY for d in of):
                own = Point(0, LIBRARY)
                rows[kind] = [
                    *([Row(1, (own,), tuned=False)] if self.ranks > 1 else []),
                    Row(self.ranks, tuple(points(of)), tuned=False),
                    Row(self.ranks + 1, (own,), tuned=False),
                ]
        provenance = Provenance(
            isthmus=__version__,
            date=datetime.date.today().isoformat(),
            library=self.target,
            source="measured",
            sync="window",
            note="; ".join(self.notes),
        )
        return DecisionTable(rows, provenance)

    def frame(self) -> dict[str, NDArray[np.generic]]:
        """Return the decisions as columns: collective, bytes, algorithm, seconds, default, ratio, low, high."""
        known = [d.gain for d in self.decisions]
        nan = float("nan")
        return {
            "collective": np.array([d.collective for d in self.decisions], str),
            "bytes": np.array([d.bytes for d in self.decisions], np.int64),
            "algorithm": np.array([str(d.choice) for d in self.decisions], str),
            "seconds": np.array([d.seconds for d in self.decisions], float),
            "default": np.array([d.default for d in self.decisions], float),
            "ratio": np.array([nan if g is None else g.ratio for g in known], float),
            "low": np.array([nan if g is None else g.low for g in known], float),
            "high": np.array([nan if g is None else g.high for g in known], float),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.target}, {self.ranks} ranks: {len(self.gains)} of {len(self.decisions)} decisions are faster than "
            f"the library's own; {self.launches} launches in {self.wall:.0f} s"
        ]
        rows = [("collective", "bytes", "algorithm", "time", "default", "time / default")]
        rows += [
            (
                d.collective, text(float(d.bytes), "B", 4), str(d.choice), text(d.seconds, "s", 3),
                text(d.default, "s", 3), "" if d.gain is None else interval(d.gain),
            )
            for d in self.gains
        ]  # fmt: skip
        if self.gains:
            widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
            right = (False, True, False, True, True, False)
            lines += [
                "  "
                + "  ".join(
                    cell.rjust(width) if to_right else cell.ljust(width)
                    for cell, width, to_right in zip(row, widths, right, strict=True)
                ).rstrip()
                for row in rows
            ]
        if self.violations:
            lines.append("guidelines that the library's own decisions violate:")
            lines += [
                f"  {v.words}, {text(float(v.bytes), 'B', 4)}: {text(v.seconds, 's', 3)}, not more than "
                f"{text(v.limit, 's', 3)} expected ({v.factor:.2f} times)"
                for v in self.violations
            ]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def interval(found: Gain) -> str:
    """A ratio with its interval: ``0.81 (0.79 to 0.84)``."""
    return f"{found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})"


def points(decisions: Sequence[Decision]) -> Iterable[Point]:
    """Where rules begin: decisions by ascending size, and the ends of those before the library's own."""
    begin = 0
    for d, following in zip(decisions, [*decisions[1:], None], strict=True):
        yield _point(d, begin)
        if following is None:
            if d.choice != LIBRARY and d.collective != "barrier":
                yield Point(d.bytes + 1, LIBRARY)
        elif d.choice == LIBRARY or following.choice == d.choice:
            begin = following.bytes
        elif following.choice == LIBRARY:
            begin = d.bytes + 1
        else:
            begin = crossover(_point(d, d.bytes), _point(following, following.bytes))


def _point(d: Decision, begin: int) -> Point:
    within = None if d.gain is None else (d.gain.low * d.default, d.gain.high * d.default)
    other = None if d.gain is None else LIBRARY
    return Point(begin, d.choice, d.seconds, other, None if other is None else d.default, None, within)
