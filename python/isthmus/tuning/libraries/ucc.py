"""UCC: algorithms of its layer over UCX (tl/ucp) in the terms of Isthmus.

Facts from ``src/components/tl/ucp`` and ``src/utils/ucc_coll_utils.c`` of openucx/ucc, main of August 2026, and from
runs of that version.
"""

from __future__ import annotations

from dataclasses import replace

from ..choice import Choice
from .library import Algorithm

#: Its size counts the blocks of all ranks where ours is one rank's block.
COUNTS_ALL = frozenset({"allgather", "alltoall", "gather"})


def _a(name: str, choice: str, variable: str = "", fixed: bool = False) -> tuple[Algorithm, str]:
    steer = {"radix": variable} if variable and not fixed else {}
    return Algorithm(name, Choice.of(choice), steer=steer), variable if fixed else ""


def _of(name: str, choice: str, **variables: int | str) -> tuple[Algorithm, str]:
    """An algorithm that is the one of Isthmus only with some variables set."""
    fixed = {f"UCC_TL_UCP_{variable}": value for variable, value in variables.items()}
    return Algorithm(name, Choice.of(choice), fixed=fixed), ""


def _radix(name: str) -> str:
    return f"UCC_TL_UCP_{name}_KN_RADIX"


# Most trees have one radix for all sizes. Others may change with the size; where they are not set UCC takes
# them from the number of ranks.
_ALGORITHMS: dict[str, list[tuple[Algorithm, str]]] = {
    "barrier": [_a("knomial", "recursive_multiplying,radix=8", _radix("BARRIER"), True)],
    "bcast": [
        _a("knomial", "knomial,radix=4,segment=0", _radix("BCAST"), True),
        _of("sag_knomial", "scatter_allgather", BCAST_SAG_KN_RADIX=2),
        _a("dbt", "double_tree,segment=0"),
    ],
    "reduce": [
        _a("knomial", "knomial,radix=4,segment=0", _radix("REDUCE"), True),
        _a("dbt", "double_tree,segment=0"),
        _of("srg", "rabenseifner", REDUCE_SRG_KN_RADIX=2),
    ],
    "allreduce": [
        _a("knomial", "recursive_multiplying,radix=4", _radix("ALLREDUCE")),
        _of("knomial", "recursive_doubling", ALLREDUCE_KN_RADIX=2),
        _of("sra_knomial", "rabenseifner", ALLREDUCE_SRA_KN_RADIX=2),
        _a("dbt", "double_tree,segment=0"),
        _of("ring", "ring", REDUCE_SCATTER_RING_BIDIRECTIONAL="n"),
    ],
    "allgather": [
        _of("knomial", "recursive_doubling", ALLGATHER_KN_RADIX=2),
        _a("ring", "ring"),
        _a("neighbor", "neighbor_exchange"),
        _a("bruck", "bruck,radix=2"),
        _a("sparbit", "sparbit"),
    ],
    "alltoall": [
        _of("pairwise", "pairwise", ALLTOALL_PAIRWISE_NUM_POSTS=1),
        _a("bruck", "bruck,radix=2"),
    ],
    "gather": [_a("knomial", "knomial,radix=4", _radix("GATHER"), True)],
    "reduce_scatter": [
        _of("ring", "ring", REDUCE_SCATTER_RING_BIDIRECTIONAL="n"),
        _of("knomial", "recursive_halving", REDUCE_SCATTER_KN_RADIX=2),
    ],
}
COLLECTIVES = tuple(_ALGORITHMS)
#: Radixes that may change with the size.
RANGED = frozenset(map(_radix, ("ALLREDUCE", "ALLREDUCE_SRA", "ALLGATHER", "BCAST_SAG", "REDUCE_SRG")))
#: Names of trees of radix 2.
OF_TWO = {"knomial": "binomial", "recursive_multiplying": "recursive_doubling"}


def named(collective: str) -> bool:
    """Whether rules may name an algorithm; a rule that does so where they may not makes UCC drop all rules."""
    return len(_ALGORITHMS[collective]) > 1


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
