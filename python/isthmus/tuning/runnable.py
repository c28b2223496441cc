"""Decisions for the collectives of a program, restricted to algorithms that can run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..collectives import algorithms, describe
from .choice import Choice
from .rule import KINDS

if TYPE_CHECKING:
    from ..schedule.program import Program

#: What stands in for algorithms that do not run on every number of ranks: what sends alike on all of them.
_AKIN = {
    ("allgather", "neighbor_exchange"): "ring",
    ("allreduce", "bucket"): "ring",
    ("allreduce", "swing"): "recursive_doubling",
    ("alltoall", "torus"): "pairwise",
}
#: Algorithms in which ranks go in pairs.
_EVEN = frozenset({("allgather", "neighbor_exchange")})


@dataclass(frozen=True)
class Replaced:
    """A choice that cannot be followed, and its replacement.

    Parameters
    ----------
    collective : str
    ranks : int
    wanted, running : Choice
        What was decided, and what runs instead.
    why : str
    """

    collective: str
    ranks: int
    wanted: Choice
    running: Choice
    why: str

    def __str__(self) -> str:
        return f"{self.collective} on {self.ranks:,} ranks: {self.wanted} {self.why}; {self.running} instead"


def used(program: Program) -> dict[str, list[int]]:
    """Return the collectives that a program calls, each with its numbers of ranks, ascending.

    A fence counts as a barrier, the making of a communicator as an allgather, as in :func:`isthmus.lower`.
    """
    import numpy as np

    from ..schedule.program import CollectiveKind, EventKind

    kind, what = program.kind, program.what.astype(np.int64)
    what = np.where(kind == EventKind.fence, CollectiveKind.barrier, what)
    what = np.where(kind == EventKind.comm_create, CollectiveKind.allgather, what)
    called = np.isin(kind, (EventKind.collective, EventKind.fence, EventKind.comm_create))
    pairs = np.unique(what[called] << 32 | program.comm[called])
    members = np.diff(program.comm_first.astype(np.int64))
    found: dict[str, set[int]] = {}
    for number, comm in zip((pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist(), strict=True):
        if 0 < number <= len(KINDS) and comm < len(members):
            found.setdefault(CollectiveKind(number).name, set()).add(int(members[comm]))
    return {name: sorted(found[name]) for name in KINDS if name in found}


def runnable(
    collective: str, choice: Choice, ranks: int, world: int | None = None, *, strange: bool = False
) -> tuple[Choice, str]:
    """Return the choice, or its replacement if it cannot run on this number of ranks.

    Extents (``dims``) have to multiply to the number of ranks, a list of ``groups`` has to name one for every rank of
    the world, and neighbour exchange needs an even number. Otherwise an algorithm that sends alike stands in (ring for
    bucket and neighbour exchange, recursive doubling for swing, pairwise for a torus), or else the default of the
    collective.

    Parameters
    ----------
    collective : str
    choice : Choice
    ranks : int
        Ranks of the communicator.
    world : int, optional
        Ranks of the program; by default ``ranks``.
    strange : bool
        The default stands in for names that Isthmus does not know too, and options that it does not know are left out;
        otherwise they stay, for others to refuse.

    Returns
    -------
    Choice
    str
        Why something stands in; empty where nothing does.

    Examples
    --------
    >>> runnable("allgather", Choice("ring"), 7)[1]
    ''
    """
    names = algorithms(collective)
    why = ""
    if strange and choice.name in names:
        taken = {option.name for option in describe(collective, choice.name).options}
        if unknown := [key for key in choice.parts[0].options if key not in taken]:
            plain = Choice(choice.name, {k: v for k, v in choice.options.items() if k not in unknown})
            return plain, f"takes no {', '.join(unknown)}"
    if choice.name not in names:
        why = "is not an algorithm of Isthmus" if strange else ""
    elif isinstance(dims := choice.options.get("dims"), tuple) and math.prod(dims) != ranks:
        why = f"is for {math.prod(dims):,} ranks"
    elif isinstance(groups := choice.options.get("groups"), tuple) and len(groups) != (world or ranks):
        why = f"has groups of {len(groups):,} ranks"
    elif (collective, choice.name) in _EVEN and ranks % 2:
        why = "needs an even number"
    if not why:
        return choice, ""
    akin = _AKIN.get((collective, choice.name), names[0])
    return Choice(akin if akin in names else names[0], choice.parts[1]), why
