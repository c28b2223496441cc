"""UCC: algorithms of its layer over UCX (tl/ucp) in the terms of Isthmus.

Facts from ``src/components/tl/ucp`` and ``src/utils/ucc_coll_utils.c`` of openucx/ucc, main of August 2026.
"""

from __future__ import annotations

from dataclasses import replace

from ..choice import Choice
from .library import Algorithm

#: Its size counts the blocks of all ranks where ours is one rank's block.
COUNTS_ALL = frozenset({"allgather", "alltoall", "gather", "scatter"})


def _a(name: str, choice: str, variable: str = "", fixed: bool = False) -> tuple[Algorithm, str]:
    steer = {"radix": variable} if variable and not fixed else {}
    return Algorithm(name, Choice.of(choice), steer=steer), variable if fixed else ""


def _radix(name: str) -> str:
    return f"UCC_TL_UCP_{name}_KN_RADIX"


# Of most radixes there is one for all sizes; that of allreduce may change with the size.
_ALGORITHMS: dict[str, list[tuple[Algorithm, str]]] = {
    "barrier": [_a("knomial", "recursive_multiplying,radix=8", _radix("BARRIER"), True)],
    "bcast": [
        _a("knomial", "knomial,radix=4,segment=0", _radix("BCAST"), True),
        _a("sag_knomial", "scatter_allgather"),
        _a("dbt", "double_tree,segment=0"),
    ],
    "reduce": [
        _a("knomial", "knomial,radix=4,segment=0", _radix("REDUCE"), True),
        _a("dbt", "double_tree,segment=0"),
        _a("srg", "rabenseifner"),
    ],
    "allreduce": [
        _a("knomial", "recursive_multiplying,radix=4", _radix("ALLREDUCE")),
        (Algorithm("knomial", Choice("recursive_doubling"), fixed={_radix("ALLREDUCE"): 2}), ""),
        _a("sra_knomial", "rabenseifner"),
        _a("dbt", "double_tree,segment=0"),
        _a("ring", "ring"),
    ],
    "allgather": [
        _a("knomial", "recursive_doubling"),
        _a("ring", "ring"),
        _a("neighbor", "neighbor_exchange"),
        _a("bruck", "bruck,radix=2"),
        _a("sparbit", "sparbit"),
    ],
    "alltoall": [_a("pairwise", "pairwise"), _a("bruck", "bruck,radix=2")],
    "gather": [_a("knomial", "knomial,radix=4", _radix("GATHER"), True)],
    "scatter": [_a("knomial", "knomial,radix=4", _radix("SCATTER"), True)],
    "reduce_scatter": [_a("ring", "ring")],
}
COLLECTIVES = tuple(_ALGORITHMS)
#: Radixes that may change with the size.
RANGED = frozenset({_radix("ALLREDUCE")})
#: Names of trees of radix 2.
OF_TWO = {"knomial": "binomial", "recursive_multiplying": "recursive_doubling"}


def algorithms(collective: str, radix: int | None = None) -> list[Algorithm]:
    """Algorithms of a collective; ``radix``: of its k-nomial tree, where one holds for all sizes."""
    out = []
    for algorithm, variable in _ALGORITHMS[collective]:
        if variable and radix is not None and algorithm.choice is not None:
            algorithm = replace(algorithm, choice=algorithm.choice.replace(radix=radix), fixed={variable: radix})
        out.append(algorithm)
    return out


def tree(collective: str) -> tuple[str, int] | None:
    """Name and radix, in the terms of Isthmus, of the tree of which one radix holds for all sizes."""
    for algorithm, variable in _ALGORITHMS[collective]:
        if variable and algorithm.choice is not None:
            radix = algorithm.choice.options["radix"]
            assert isinstance(radix, int)
            return algorithm.choice.name, radix
    return None
