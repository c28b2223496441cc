"""The algorithms of reductions that combine operands in rank order, for operators that do not commute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from .registry import algorithms, describe

if TYPE_CHECKING:
    from .registry import Choice

#: What an algorithm's ``order`` says, in words.
ORDERS = {
    "": "",
    "ranks": "of ranks",
    "from root": "of ranks from the root on",
    "in groups": "of ranks where groups have consecutive ranks",
    "any": "another: operators have to commute",
}


def keeps_order(kind: str, algorithm: Choice | None = None, *, ranks: int = 0, root: int = 0) -> bool:
    """Return whether an algorithm combines operands in rank order; True if it combines nothing.

    Brackets may stand anywhere, as in MPI. The answer is proved for all algorithms and many numbers of ranks by
    :func:`isthmus.prove` with ``ordered=True``.

    Parameters
    ----------
    kind : str
        Collective.
    algorithm : str or (str, dict), optional
        By default the first of :func:`isthmus.collectives.algorithms`.
    ranks, root : int
        Arguments of the call. Groups matter only where the option ``groups`` names the group of every rank.

    Raises
    ------
    InvalidInput
        For an algorithm that the collective does not have.

    Examples
    --------
    >>> keeps_order("allreduce", "ring"), keeps_order("allreduce", "rabenseifner")
    (False, True)
    >>> keeps_order("reduce", "binomial"), keeps_order("reduce", "binomial", root=1)
    (True, False)
    """
    name, options = (algorithm, {}) if isinstance(algorithm, str) or algorithm is None else algorithm
    order = describe(kind, name).order
    if order == "in groups":
        return _consecutive(options.get("groups"), ranks)
    return order in ("", "ranks") or (order == "from root" and root == 0)


def _consecutive(groups: Any, ranks: int) -> bool:
    """Whether groups have consecutive ranks; groups given by their number do."""
    group = np.atleast_1d(np.asarray([] if groups is None else groups))
    if len(group) != ranks or ranks < 2:
        return True
    return int((np.diff(group) != 0).sum()) + 1 == len(np.unique(group))


def require_order(kind: str, algorithm: Choice | None, *, ranks: int = 0, root: int = 0) -> None:
    """Raise InvalidInput where an algorithm does not combine operands in the order of ranks; names those that do."""
    if keeps_order(kind, algorithm, ranks=ranks, root=root):
        return
    name = algorithm if isinstance(algorithm, str) or algorithm is None else algorithm[0]
    info = describe(kind, name)
    keeping = [one for one in algorithms(kind) if keeps_order(kind, one, ranks=ranks, root=root)]
    words = ORDERS[info.order].partition(":")[0]
    order = f"in the order {words}" if info.order != "any" else "in another order than that of ranks"
    needs = f"one of {', '.join(keeping)}" if keeping else "root 0, and of many algorithms any that begins at the root"
    raise InvalidInput(
        f"{kind} by {info.name} combines operands {order}, but an operator that does not commute needs {needs}"
    )
