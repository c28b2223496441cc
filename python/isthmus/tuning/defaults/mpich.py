"""The default decisions of MPICH."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidInput
from ...units import shown
from ..choice import Choice
from ..decisions import Decisions
from ..libraries import mpich as library
from ..libraries.mpich_tree import Situation, Tree, rules
from ..rule import Rule, merged

#: The decisions for one communicator of one level, the same from 4.0 to 5.0 but for the name of the barrier. Facts from
#: maint/tuning/coll/mpir/generic.json of pmodels/mpich v4.0.2 and v5.0.1.
_FLAT: dict[str, Any] = {
    "barrier": "dissemination",
    "bcast": {
        "comm_size<8": "binomial",
        "avg_msg_size<=12288": "binomial",
        "comm_size=pow2": {
            "avg_msg_size<=524288": "scatter_recursive_doubling_allgather",
            "any": "scatter_ring_allgather",
        },
        "any": "scatter_ring_allgather",
    },
    "reduce": {
        "avg_msg_size<=2048": "binomial",
        "is_op_built_in=no": "binomial",
        "count<pow2": "binomial",
        "any": "reduce_scatter_gather",
    },
    "allreduce": {
        "avg_msg_size<=8": "recursive_doubling",
        "is_op_built_in=no": "recursive_doubling",
        "count<pow2": "recursive_doubling",
        "any": "reduce_scatter_allgather",
    },
    "gather": "binomial",
    "scatter": "binomial",
    "allgather": {
        "comm_size=pow2": {"total_msg_size<524288": "recursive_doubling", "any": "ring"},
        "total_msg_size<81920": "brucks",
        "any": "ring",
    },
    "alltoall": {
        # Met only when called, where it holds for 8 ranks too.
        "is_sendbuf_inplace=no": {
            "comm_size<8": {"avg_msg_size<=32768": "scattered", "any": "pairwise"},
            "avg_msg_size<=256": "brucks",
            "avg_msg_size<=32768": "scattered",
            "any": "pairwise",
        },
    },
    "reduce_scatter": {
        "is_commutative=yes": {"total_msg_size<524288": "recursive_halving", "any": "pairwise"},
        "comm_size=pow2": "noncommutative",
        "any": "recursive_doubling",
    },
    "scan": "recursive_doubling",
    "exscan": "recursive_doubling",
}
#: What the device takes apart by node (compositions alpha and beta of ch4's generic.json); the rest stays flat.
_BY_NODE: dict[str, Any] = {
    "barrier": "by_node",
    "bcast": {"comm_size<8": "by_node", "avg_msg_size<12288": "by_node",
              "comm_size=pow2": {"avg_msg_size<524288": "by_node", "any": "flat"}, "any": "flat"},
    "reduce": {"is_commutative=yes": "by_node", "any": "flat"},
    "allreduce": {"is_commutative=yes": "by_node", "any": "flat"},
}  # fmt: skip
#: What stands here for algorithms that Isthmus has not.
_INSTEAD = {"noncommutative": Choice("butterfly"), "recursive_doubling": Choice("recursive_halving")}


def check_version(text: str) -> None:
    """Raise InvalidInput for a version of no known release; any patch of one, and no version at all, is fine."""
    known = [f"{major}.{minor}" for major, minor in library.SERIES]
    numbers = text.split(".")
    if text and not any(name.split(".")[: len(numbers)] == numbers[:2] for name in known):
        raise InvalidInput(
            f"version {shown(text)} of MPICH: must be one of {', '.join(known)}, with any patch number, such as 4.2.3"
        )


def _tree(name: str, node: Any) -> Tree:
    if isinstance(node, dict):
        return {key: _tree(name, below) for key, below in node.items()}
    return {f"algorithm=MPIR_{name.capitalize()}_intra_{node}": {}}


class MpichDefaults(Decisions):
    """The decisions of MPICH 4.0 to 5.0.

    Parameters
    ----------
    tree : dict, optional
        The selection tree of an installed library (:func:`isthmus.tuning.libraries.mpich_tree.installed`); by default
        the one that all these versions have.
    ranks_per_node : int
        With more than one, and more ranks than that, its device takes some collectives apart by node.
    ordered : bool
        The operator does not commute.
    element : int
        Bytes of an element of the vector: algorithms that give every rank a part need as many elements as ranks.
    """

    def __init__(
        self, tree: Tree | None = None, *, ranks_per_node: int = 1, ordered: bool = False, element: int = 8
    ) -> None:
        flat = {f"collective={name}": _tree(name, node) for name, node in _FLAT.items()}
        self.tree = flat if tree is None else tree
        self.ranks_per_node = ranks_per_node
        self.ordered = ordered
        self.element = element

    @property
    def collectives(self) -> tuple[str, ...]:
        return tuple(_FLAT)

    def rules(self, collective: str, ranks: int) -> tuple[Rule, ...]:
        self._known(collective)
        situation = Situation(collective, ranks, element=self.element, commutative=not self.ordered)
        flat = rules(self.tree, situation, lambda name, parameters: _choice(collective, name, parameters))
        if collective not in _BY_NODE or not 1 < self.ranks_per_node < ranks:
            return flat
        device = {f"collective={collective}": _tree(collective, _BY_NODE[collective])}
        return _overlaid(
            rules(device, situation, lambda name, _: Choice(name.rpartition("_intra_")[2])),
            flat,
            Choice("hierarchical", {"groups": self.ranks_per_node}),
        )


def _choice(collective: str, name: str, parameters: dict[str, str]) -> Choice:
    short = name.partition("_intra_")[2]
    if collective == "reduce_scatter" and short in _INSTEAD:
        return _INSTEAD[short]
    return library.choice(collective, name, parameters)


def _overlaid(device: tuple[Rule, ...], flat: tuple[Rule, ...], by_node: Choice) -> tuple[Rule, ...]:
    """The hierarchical algorithm where the device says by_node, otherwise the flat rules."""

    def at(rules: tuple[Rule, ...], size: int) -> Choice:
        return [rule.choice for rule in rules if rule.bytes <= size][-1]

    starts = sorted({rule.bytes for rule in (*device, *flat)})
    return merged(Rule(size, by_node if at(device, size).name == "by_node" else at(flat, size)) for size in starts)
