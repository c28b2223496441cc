"""MPICH: its algorithms in the terms of Isthmus.

Facts from ``src/mpi/coll/coll_algorithms.txt``, ``csel_container.c`` and the algorithms' sources, v4.0.2 and v5.0.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..choice import Choice, Option
from .canonical import pretty
from .library import Algorithm

#: Releases whose decisions are known, major and minor.
SERIES = ((4, 0), (4, 1), (4, 2), (4, 3), (5, 0))

#: Its collectives that each of ours stands for.
NAMES = {
    kind: (kind,)
    for kind in (
        "barrier",
        "bcast",
        "reduce",
        "allreduce",
        "gather",
        "allgather",
        "scatter",
        "alltoall",
        "scan",
        "exscan",
    )
} | {"reduce_scatter": ("reduce_scatter", "reduce_scatter_block")}

#: Conditions without which an algorithm is wrong: the branch of a tree in which it may stand, and the other ones.
GUARDS = {
    "power of two": ("comm_size=pow2", "comm_size=any"),
    "commutative": ("is_commutative=yes", "is_commutative=no"),
    "built in": ("is_op_built_in=yes", "is_op_built_in=no"),
    "not in place": ("is_sendbuf_inplace=no", "is_sendbuf_inplace=yes"),
    "an element for each": ("count=any", "count<pow2"),
}


@dataclass(frozen=True)
class Known:
    """An algorithm, what it needs, and its parameters as variables of the environment."""

    algorithm: Algorithm
    guards: tuple[str, ...] = ()
    variables: Mapping[str, str] | None = None


def _k(
    name: str, choice: str | None, *guards: str, steer: dict[str, str] | None = None,
    fixed: dict[str, Option] | None = None, variables: dict[str, str] | None = None,
) -> Known:  # fmt: skip
    made = None if choice is None else Choice.of(choice)
    return Known(Algorithm(name, made, 0, steer or {}, fixed or {}), guards, variables)


_K = {"radix": "k"}
_TREE = {"tree_type": "TREE_TYPE", "k": "TREE_KVAL", "is_non_blocking": "IS_NON_BLOCKING"}
_PIPELINED = _TREE | {"chunk_size": "TREE_PIPELINE_CHUNK_SIZE", "recv_pre_posted": "RECV_PRE_POST"}
_EXCHANGE = {"k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV"}
_BOTH = {"radix": "k", "segment": "chunk_size"}


def _trees(shape: str, family: str, fixed: dict[str, Option], steer: dict[str, str]) -> list[Known]:
    whole = {key: value for key, value in steer.items() if key != "segment"}
    kind: dict[str, Option] = {"tree_type": shape, "is_non_blocking": 1, **fixed}
    piped: dict[str, Option] = {**kind, "recv_pre_posted": 0}
    return [
        _k("MPIR_Bcast_intra_tree", f"{family},segment=0", steer=whole, fixed=kind, variables=_TREE),
        _k("MPIR_Bcast_intra_pipelined_tree", f"{family},segment=8192", steer=steer, fixed=piped, variables=_PIPELINED),
    ]


_PIECES = {"segment": "chunk_size"}
_KNOWN: dict[str, list[Known]] = {
    "barrier": [
        _k("MPIR_Barrier_intra_dissemination", "dissemination,radix=2"),
        _k("MPIR_Barrier_intra_k_dissemination", "dissemination,radix=2", steer=_K, variables={"k": "DISSEM_KVAL"}),
        _k("MPIR_Barrier_intra_recexch", None),
        _k("MPIR_Barrier_intra_smp", None),
    ],
    "bcast": [
        _k("MPIR_Bcast_intra_binomial", "binomial"),
        _k("MPIR_Bcast_intra_scatter_recursive_doubling_allgather", "scatter_allgather", "power of two"),
        _k("MPIR_Bcast_intra_scatter_ring_allgather", "scatter_allgather_ring"),
        _k("MPIR_Bcast_intra_smp", None),
        *_trees("knomial_1", "knomial,radix=2", {}, _BOTH),
        *_trees("kary", "kary,radix=2", {}, _BOTH),
        *_trees("kary", "chain,radix=1", {"k": 1}, _PIECES),
    ],
    "reduce": [
        _k("MPIR_Reduce_intra_binomial", "binomial"),
        _k("MPIR_Reduce_intra_reduce_scatter_gather", "rabenseifner", "built in", "an element for each"),
        _k("MPIR_Reduce_intra_smp", None),
    ],
    "allreduce": [
        _k("MPIR_Allreduce_intra_recursive_doubling", "recursive_doubling"),
        _k("MPIR_Allreduce_intra_reduce_scatter_allgather", "rabenseifner", "built in", "an element for each"),
        _k("MPIR_Allreduce_intra_ring", "ring", "commutative"),
        _k("MPIR_Allreduce_intra_recursive_multiplying", "recursive_multiplying,radix=2", "commutative", steer=_K,
           variables={"k": "RECURSIVE_MULTIPLYING_KVAL"}),
        _k("MPIR_Allreduce_intra_recexch", None),
        _k("MPIR_Allreduce_intra_tree", None),
        _k("MPIR_Allreduce_intra_k_reduce_scatter_allgather", None),
        _k("MPIR_Allreduce_intra_smp", None),
    ],
    "gather": [_k("MPIR_Gather_intra_binomial", "binomial")],
    "scatter": [_k("MPIR_Scatter_intra_binomial", "binomial")],
    "allgather": [
        _k("MPIR_Allgather_intra_recursive_doubling", "recursive_doubling", "power of two"),
        _k("MPIR_Allgather_intra_brucks", "bruck,radix=2"),
        _k("MPIR_Allgather_intra_k_brucks", "bruck,radix=2", steer=_K, variables={"k": "BRUCKS_KVAL"}),
        _k("MPIR_Allgather_intra_ring", "ring"),
        _k("MPIR_Allgather_intra_recexch_doubling", None),
        _k("MPIR_Allgather_intra_recexch_halving", None),
    ],
    "alltoall": [
        _k("MPIR_Alltoall_intra_brucks", "bruck,radix=2", "not in place"),
        _k("MPIR_Alltoall_intra_k_brucks", "bruck,radix=2", "not in place", steer=_K, variables={"k": "BRUCKS_KVAL"}),
        _k("MPIR_Alltoall_intra_pairwise", "pairwise", "not in place"),
        # Batches of MPIR_CVAR_ALLTOALL_THROTTLE messages, 32 by default.
        _k("MPIR_Alltoall_intra_scattered", "linear,window=32", "not in place"),
    ],
    "reduce_scatter": [
        _k("MPIR_Reduce_scatter_intra_recursive_halving", "recursive_halving", "commutative"),
        _k("MPIR_Reduce_scatter_intra_pairwise", "pairwise", "commutative"),
        _k("MPIR_Reduce_scatter_intra_recursive_doubling", None),
        _k("MPIR_Reduce_scatter_intra_noncommutative", None),
    ],
    "reduce_scatter_block": [
        _k("MPIR_Reduce_scatter_block_intra_recursive_halving", "recursive_halving", "commutative"),
        _k("MPIR_Reduce_scatter_block_intra_pairwise", "pairwise", "commutative"),
        _k("MPIR_Reduce_scatter_block_intra_recursive_doubling", None),
        _k("MPIR_Reduce_scatter_block_intra_noncommutative", None),
    ],
    "scan": [_k("MPIR_Scan_intra_recursive_doubling", "recursive_doubling"), _k("MPIR_Scan_intra_smp", None)],
    "exscan": [_k("MPIR_Exscan_intra_recursive_doubling", "recursive_doubling")],
}  # fmt: skip


def known(collective: str, there: Collection[str] | None = None) -> list[Known]:
    """Algorithms of one of its collectives; ``there``: only those that a library has."""
    return [item for item in _KNOWN[collective] if there is None or item.algorithm.name in there]


def choice(collective: str, name: str, parameters: Mapping[str, str]) -> Choice:
    """Translates an algorithm of MPICH with its parameters into a choice of Isthmus.

    One that Isthmus has nothing like keeps its own name, without collective and prefix.
    """
    for item in _KNOWN.get(collective, []):
        a = item.algorithm
        if a.name != name or a.choice is None:
            continue
        telling = {key: str(value) for key, value in a.fixed.items() if key in ("tree_type", "k")}
        if any(parameters.get(key, value) != value for key, value in telling.items()):
            continue
        options = {key: int(parameters[word]) for key, word in a.steer.items() if word in parameters}
        return pretty(collective, a.choice.replace(**options))
    return Choice(name.partition("_intra_")[2] or name)


def forcing(collective: str, name: str, parameters: Mapping[str, Option]) -> dict[str, str]:
    """Variables of the environment that make MPICH take an algorithm whatever the tree says."""
    prefix = f"MPIR_CVAR_{collective.upper()}"
    out = {f"{prefix}_INTRA_ALGORITHM": name.partition("_intra_")[2]}
    for item in _KNOWN.get(collective, []):
        if item.algorithm.name == name and item.variables:
            out |= {
                f"{prefix}_{item.variables[key]}": str(value)
                for key, value in parameters.items()
                if key in item.variables
            }
            break
    return out
