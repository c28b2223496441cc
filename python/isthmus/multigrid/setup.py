"""The verb ``setup``: what the setup of a solver sends on every level, and how long that takes, by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import text
from .costs import Costs
from .cycle import working_set
from .hierarchy import Hierarchy
from .operators import ELEMENT, Operator

if TYPE_CHECKING:
    from ..machine import Machine

#: What setup does on a level, in this order.
STAGES = ("coarsening", "interpolation", "product")
COARSENINGS = ("pmis", "hmis")
#: Bytes of a number of a row of a process, of a row of all, and of a value.
_LOCAL, _GLOBAL, _VALUE = 4, 8, 8
#: Sums over all ranks after which coarsening has decided on all points; on a level with few rows.
ROUNDS, _FEW_ROUNDS, _FEW_ROWS = 7, 3, 64
#: Share of a row of the product to which a rank contributes that does not own it, as recorded.
_PART = 0.4
#: Collectives of a level beside rounds of coarsening: numbers of rows and nonzeros.
_SUMS = {"coarsening": 1, "interpolation": 1, "product": 2}


@dataclass(frozen=True, slots=True)
class Stage:
    """What the rank with most sends in a stage of a level.

    Attributes
    ----------
    messages, bytes : int
    collectives : int
    """

    messages: int
    bytes: int
    collectives: int


@dataclass(frozen=True, slots=True, repr=False)
class Setup(Tabular):
    """What setup sends and takes on every level; made by :func:`setup`.

    Attributes
    ----------
    levels : tuple of mapping from str to Stage
        By stage: ``coarsening``, ``interpolation``, ``product``.
    taken : tuple of mapping from str to float
        Seconds of each.
    """

    levels: tuple[dict[str, Stage], ...]
    taken: tuple[dict[str, float], ...]

    @property
    def seconds(self) -> float:
        return float(sum(sum(one.values()) for one in self.taken))

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per level and stage: messages, bytes and collectives of a rank, seconds."""
        return [
            {"level": number, "stage": stage, "messages": one.messages, "bytes": one.bytes,
             "collectives": one.collectives, "seconds": self.taken[number][stage]}
            for number, level in enumerate(self.levels)
            for stage, one in level.items()
        ]  # fmt: skip

    def __repr__(self) -> str:
        return f"<Setup: {len(self.levels)} levels, {text(self.seconds, 's', 4)}>"

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("level", "stage", "messages", "bytes", "collectives", "time")]
        rows += [
            (str(r["level"]), r["stage"], f"{r['messages']:,}", text(r["bytes"], "B", 3), str(r["collectives"]),
             text(r["seconds"], "s", 3))
            for r in self.frame()
        ]  # fmt: skip
        rows.append(("sum", "", *(f"{sum(r[name] for r in self.frame()):,}" for name in ("messages",)), "", "",
                     text(self.seconds, "s", 3)))  # fmt: skip
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def setup(
    hierarchy: Hierarchy,
    costs: Costs | Machine | str,
    *,
    coarsening: str = "hmis",
    rounds: int | Sequence[int] = ROUNDS,
    unknowns: int = 1,
) -> Setup:
    """Model the setup of BoomerAMG with PMIS or HMIS and extended interpolation: messages, bytes and seconds.

    What is sent follows from exchanges of the hierarchy, as hypre 2.26 does it; the recorder sees the same counts (see
    :func:`setup_counts`). For a, p and n, the most that a rank sends to with A and P of a level and with A of the next:

    - coarsening: in k rounds, each with a sum over all ranks, 3 k - 1 exchanges of A (PMIS) or 3 (k - 1) (HMIS);
      one more where points have several unknowns
    - interpolation: columns and values of A that neighbours need, about 8 B a nonzero, in 5 exchanges; numbers of
      points in 2 exchanges with neighbours and theirs, for which n stands; lists of who sends what for these and for P,
      4 n + 4 and 4 p + 4 messages
    - product P^T A P: rows of P in 3 exchanges of A, rows of the product in 3 exchanges of P, and the list for the next
      A, 4 n + 4 messages

    A message takes alpha with distance, a byte beta, a collective alpha for each of ``log2`` of the active ranks twice
    (there and back). Computation: two operations for each nonzero of A times those of a row of P, and of P times those
    of a row of the next A.

    Parameters
    ----------
    hierarchy : Hierarchy
    costs : Costs, Machine or str
    coarsening : {"hmis", "pmis"}
    rounds : int or sequence of int
        Rounds of coarsening, of each level; hypre takes 5 to 8, on levels with fewer than 64 rows about 3, which is
        taken there if one number is given.
    unknowns : int
        Of a point, which are coarsened apart.

    Returns
    -------
    Setup

    Raises
    ------
    InvalidInput
        If there is no such coarsening, or rounds are not above 0 and one for each level but the last.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.multigrid import Costs, boxes, hierarchy, setup
    >>> line = lambda n: sp.csr_array(np.eye(n) * 2 - np.eye(n, k=1) - np.eye(n, k=-1))
    >>> pairs = sp.csr_array((np.ones(512), (np.arange(512), np.arange(512) // 2)))
    >>> found = setup(hierarchy([(line(512), pairs), line(256)], boxes((512,), 8)), Costs(alpha=1e-6, beta=0))
    >>> found.levels[0]["coarsening"]  # 18 exchanges of two messages, the first two of 8 B a row, and a list of 12
    Stage(messages=48, bytes=160, collectives=8)
    """
    if coarsening not in COARSENINGS:
        raise InvalidInput(f"coarsening {coarsening!r}: must be one of {', '.join(COARSENINGS)}")
    count = len(hierarchy) - 1
    given = [rounds] * count if isinstance(rounds, int) else list(rounds)
    if len(given) != count or any(one < 1 for one in given):
        raise InvalidInput(
            f"rounds = {rounds}: must be 1 or more, one number or {count}, one for each level but the last"
        )
    paid = costs if isinstance(costs, Costs) else Costs.of(costs)
    alpha = paid.alpha + (paid.farthest - paid.nearest) * paid.gamma
    levels, taken = [], []
    for number in range(count):
        here = hierarchy.levels[number].matrix
        k = given[number]
        if isinstance(rounds, int) and int(here.rows.sum()) < _FEW_ROWS:
            k = min(k, _FEW_ROUNDS)
        stages = _stages(hierarchy, number, coarsening, k, int(unknowns > 1))
        work = _operations(hierarchy, number)
        steps = ceil(log2(max(here.active, 2)))
        taken.append(
            {
                stage: one.messages * alpha
                + one.bytes * paid.beta
                + one.collectives * 2 * steps * alpha
                + work.get(stage, 0.0) * paid.flop_of(working_set(here))
                for stage, one in stages.items()
            }
        )
        levels.append(stages)
    return Setup(tuple(levels), tuple(taken))


def _stages(hierarchy: Hierarchy, number: int, coarsening: str, k: int, more: int) -> dict[str, Stage]:
    level, below = hierarchy.levels[number], hierarchy.levels[number + 1].matrix
    p = level.interpolation
    assert p is not None
    a = level.matrix
    to_a, to_p, to_n = a.most[0], max(p.most[:2]), below.most[0]
    # Elements that go in one exchange; a row of a matrix has a length and numbers, and values where it has any.
    rows, rows_of_p = a.most[2] // ELEMENT, max(p.most[2:]) // ELEMENT
    exchanges = (3 * k - 1 if coarsening == "pmis" else 3 * (k - 1)) + more
    first = min(2, exchanges)
    numbers = rows * (_VALUE * first + _LOCAL * (exchanges - first))
    wide, narrow, next_wide = _row(a), _row(p), _row(below)
    return {
        "coarsening": Stage(exchanges * to_a + (_list(to_a) if number == 0 else 0), numbers, k + _SUMS["coarsening"]),
        "interpolation": Stage(
            5 * to_a + 2 * (to_a + to_n) + _list(to_n) + _list(to_p),
            round(rows * (3 * _LOCAL + wide * _GLOBAL)),
            _SUMS["interpolation"],
        ),
        "product": Stage(
            3 * to_a + 3 * to_p + _list(to_n),
            round(
                rows * (_LOCAL + narrow * (_GLOBAL + _VALUE))
                + rows_of_p * (_LOCAL + _PART * next_wide * (_GLOBAL + _VALUE))
            ),
            _SUMS["product"],
        ),
    }


def _list(sends: int) -> int:
    """Messages in which a rank finds out who needs what of it."""
    return 4 * sends + 4 if sends else 0


def _row(operator: Operator) -> float:
    """Nonzeros of a row, in the mean."""
    return int(operator.nonzeros.sum()) / max(int(operator.rows.sum()), 1)


def _operations(hierarchy: Hierarchy, number: int) -> dict[str, float]:
    """Floating-point operations of the part with most."""
    level, below = hierarchy.levels[number], hierarchy.levels[number + 1].matrix
    p = level.interpolation
    assert p is not None
    a, of_p = float(level.matrix.nonzeros.max()), float(p.nonzeros.max())
    return {
        "interpolation": 2.0 * a * _row(p),
        "product": 2.0 * a * _row(p) + 2.0 * of_p * _row(below),
    }
