"""The default decisions of Open MPI."""

from __future__ import annotations

import bisect
import functools
import tomllib
from pathlib import Path

from ..choice import Choice
from ..decisions import Decisions
from ..libraries import openmpi as library
from ..libraries.canonical import pretty
from ..rule import Rule, merged

#: What stands here for algorithms that Isthmus has not: the nearest in what is sent to whom.
_INSTEAD = {
    ("allgather", 6): Choice("ring"),  # two ranks exchange their blocks
    ("alltoall", 5): Choice("pairwise"),  # the same
    ("allreduce", 2): Choice("binomial"),  # reduce, then bcast, each as it decides
    ("gather", 3): Choice("linear_sync", {"window": 1}),  # the root asks for each block, in two parts
    ("reduce", 6): Choice("binary", {"segment": 0}),  # ranks in order along the tree
    ("reduce_scatter_block", 2): Choice("recursive_halving"),
}
#: Collectives that han takes apart by node, from 5.0 on.
_BY_NODE = frozenset({"barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter"})


@functools.cache
def _table() -> dict[str, list[tuple[int, list[tuple[int, int]]]]]:
    text = (Path(__file__).parent / "openmpi.toml").read_text(encoding="utf-8")

    def pairs(line: str) -> list[tuple[int, int]]:
        return [(int(size), int(number)) for size, _, number in (word.partition(":") for word in line.split())]

    return {
        name: [(int(ranks), pairs(line)) for ranks, line in rows.items()] for name, rows in tomllib.loads(text).items()
    }


class OpenMpiDefaults(Decisions):
    """The fixed decision functions of Open MPI's component "tuned", the same from 4.1.0 to 5.0.10.

    Parameters
    ----------
    version : str
        From 5.0 on its component "han" comes before tuned on communicators of several nodes.
    ranks_per_node : int
        With more than one, and more ranks than that, "han" of 5.0 takes some collectives apart by node.
    ordered : bool
        The operator does not commute.
    block : bool
        reduce_scatter stands for MPI_Reduce_scatter_block, which has rules of its own.
    radix : int
        Of its k-nomial trees, a parameter of the whole run.

    Notes
    -----
    scan and exscan are linear: tuned has algorithms for them but does not decide without a file.
    """

    def __init__(
        self,
        version: str = "4.1",
        *,
        ranks_per_node: int = 1,
        ordered: bool = False,
        block: bool = False,
        radix: int = 4,
    ) -> None:
        self.version = library.parse_version(version if "." in version else f"{version}.0")
        self.ranks_per_node = ranks_per_node
        self.ordered = ordered
        self.block = block
        self.radix = radix

    @property
    def collectives(self) -> tuple[str, ...]:
        return tuple(library.NUMBERS)

    def numbers(self, name: str, ranks: int) -> list[tuple[int, int]]:
        """The rules as Open MPI has them: pairs of its message size and the number of an algorithm."""
        table = _table()
        rows = table.get(f"{name}_ordered", table[name]) if self.ordered else table[name]
        return rows[bisect.bisect_right([first for first, _ in rows], ranks) - 1][1]

    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        self._known(collective)
        if self.version >= (5, 0, 0) and collective in _BY_NODE and 1 < self.ranks_per_node < ranks:
            return (Rule(0, Choice("hierarchical", {"groups": self.ranks_per_node})),)
        if collective in ("scan", "exscan"):
            return (Rule(0, Choice("linear")),)
        name = "reduce_scatter_block" if collective == "reduce_scatter" and self.block else collective
        blocks = ranks if name == "reduce_scatter" else 1
        numbers = self.numbers(name, ranks)
        return merged(
            Rule(-(-size // blocks), _choice(name, running(name, number, ranks), self.radix))
            for size, number in numbers
        )


def running(name: str, number: int, ranks: int) -> int:
    """The algorithm that one gives way to where it does not work: recursive doubling to Bruck's, pairs to the ring."""
    if name == "allgather" and number == 3 and ranks & (ranks - 1):
        return 2
    if name == "allgather" and number == 5 and ranks % 2:
        return 4
    return number


@functools.cache
def _choice(name: str, number: int, radix: int) -> Choice:
    if (name, number) in _INSTEAD:
        return _INSTEAD[name, number]
    algorithm = next(a for a in library.algorithms(name, (5, 0, 10), radix) if a.number == number)
    assert algorithm.choice is not None, (name, number)
    return pretty("reduce_scatter" if name == "reduce_scatter_block" else name, algorithm.choice)
