"""One program at many numbers of ranks: with as much work for each rank, or with as much work in all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InvalidInput

if TYPE_CHECKING:
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from .skeleton import Skeleton
    from .steps import Pieces

#: What stays when the number of ranks grows: the work of a rank, or that of the job.
SCALINGS = ("weak", "strong")


@dataclass(frozen=True)
class Family:
    """One program at many numbers of ranks.

    Attributes
    ----------
    name : str
    at : callable
        From a number of ranks to the Program or Schedule.
    scaling : {"weak", "strong", ""}
        What stays when ranks are added: the work of each, or that of all; ``""`` where only its author knows.
    ranks : int or None
        The only number of ranks that it has; None for any.
    collective : bool
        All of it is one collective.
    notes : tuple of str
        What to say beside results.
    pieces : callable, optional
        From a number of ranks to the Program in pieces.
    """

    name: str
    at: Callable[[int], Program | Schedule]
    scaling: str = ""
    ranks: int | None = None
    collective: bool = False
    notes: tuple[str, ...] = ()
    pieces: Callable[[int], Pieces] | None = None


def family(skeleton: Skeleton, given: Mapping[str, str], scaling: str | None, base: int) -> Family:
    """A skeleton at many numbers of ranks.

    Parameters
    ----------
    skeleton : Skeleton
    given : mapping of str to str
        Parameters as text. They hold at the number of ranks that is among them, or at ``base``.
    scaling : {"weak", "strong"} or None
        None: weak, unless the size of the problem is fixed.
    base : int

    Raises
    ------
    InvalidInput
        For a number that is not allowed, and for a scaling that the skeleton does not have.
    """
    fixed = skeleton.sized
    scaling = scaling or ("strong" if fixed == "job" else "weak")
    if scaling not in SCALINGS:
        raise InvalidInput(f"scaling {scaling!r}: must be one of {', '.join(SCALINGS)}")
    if fixed == {"weak": "job", "strong": "rank"}[scaling]:
        of = {"job": "all ranks together", "rank": "each rank"}[fixed]
        other = {"weak": "strong", "strong": "weak"}[scaling]
        raise InvalidInput(
            f"{skeleton.name}: no parameter says how large the problem of {of} is, so that it has only {other} scaling"
        )
    if not any(p.follows for p in skeleton.parameters) and not fixed:
        raise InvalidInput(f"{skeleton.name}: none of its parameters says what grows with the number of ranks")
    values = skeleton.values(given)
    at = int(values["ranks"]) if "ranks" in given else base
    followers = {p.name for p in skeleton.parameters if p.follows}

    def at_size(ranks: int) -> dict[str, float]:
        rank, job = (at / ranks, 1.0) if scaling == "strong" else (1.0, ranks / at)
        out = dict(values)
        for p in skeleton.parameters:
            try:
                out[p.name] = p.resized(values[p.name], rank, job)
            except InvalidInput as error:
                raise InvalidInput(f"{skeleton.name} on {ranks:,} ranks, with {scaling} scaling: {error}") from None
        return out | {"ranks": ranks}

    named = ", ".join(f"{p.name}={p.text(values[p.name])}" for p in skeleton.parameters if p.name in followers)
    note = f"{named} hold at {at:,} ranks" if scaling == "strong" or _of_job(skeleton) else ""
    return Family(
        skeleton.name, lambda ranks: skeleton.of(at_size(ranks)), scaling, notes=(note,) if note else (),
        pieces=lambda ranks: skeleton.pieces(at_size(ranks)),
    )  # fmt: skip


def _of_job(skeleton: Skeleton) -> bool:
    return any("job" in p.follows for p in skeleton.parameters)
