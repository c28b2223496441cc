"""Open MPI: algorithms of its component "tuned" by version, and how it counts sizes.

Facts from its sources, ``ompi/mca/coll/tuned`` and ``ompi/mca/coll/base``, at v4.1.4, v5.0.8 and main of August 2026.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...errors import InvalidInput
from ...units import shown
from ..choice import Choice
from .library import Algorithm

Version = tuple[int, int, int]

#: Releases that are known, major and minor.
SERIES = ((4, 0), (4, 1), (5, 0), (6, 0))

#: Its collectives that each of ours stands for, with their numbers in rules files.
NUMBERS = {
    "allgather": {"allgather": 0},
    "allreduce": {"allreduce": 2},
    "alltoall": {"alltoall": 3},
    "barrier": {"barrier": 6},
    "bcast": {"bcast": 7},
    "exscan": {"exscan": 8},
    "gather": {"gather": 9},
    "reduce": {"reduce": 11},
    "reduce_scatter": {"reduce_scatter": 12, "reduce_scatter_block": 13},
    "scan": {"scan": 14},
    "scatter": {"scatter": 15},
}

#: Its size in rules counts the blocks of all ranks where ours is one rank's block.
COUNTS_ALL = frozenset({"allgather", "alltoall", "gather", "scatter", "reduce_scatter", "reduce_scatter_block"})

#: Why some collectives get the same rule for all sizes.
ONE_RULE = {
    "barrier": "a barrier has no size",
    "scan": "its rules see the size of one element times the number of ranks, whatever the length of the vector",
    "exscan": "its rules see the size of one element times the number of ranks, whatever the length of the vector",
    "scatter": "its rules read the send count, which only the root need give: ranks that read different sizes would "
    "run different algorithms and hang",
    "gather": "its rules read the send count, which a root that passes MPI_IN_PLACE need not give: ranks that read "
    "different sizes would run different algorithms and hang",
}

FAN, SEGMENT, REQUESTS = "faninout", "seg_size", "reqs"
_S = {"segment": SEGMENT}
_MAIN = (6, 0, 0)


def _a(
    number: int, name: str, choice: str | None, steer: dict[str, str] | None = None, since: Version = (4, 0, 0)
) -> tuple[Version, Algorithm]:
    return since, Algorithm(name, None if choice is None else Choice.of(choice), number, steer or {})


_ALGORITHMS = {
    "allgather": [
        _a(1, "linear", "linear"),
        _a(2, "bruck", "bruck,radix=2"),
        _a(3, "recursive_doubling", "recursive_doubling"),
        _a(4, "ring", "ring"),
        _a(5, "neighbor", "neighbor_exchange"),
        _a(6, "two_proc", None),
        _a(7, "sparbit", "sparbit", since=(5, 0, 0)),
        _a(8, "direct-messaging", None, since=_MAIN),
    ],
    "allreduce": [
        _a(1, "basic_linear", "linear"),
        _a(2, "nonoverlapping", None),
        _a(3, "recursive_doubling", "recursive_doubling"),
        _a(4, "ring", "ring"),
        _a(5, "segmented_ring", "segmented_ring,segment=0", _S),
        _a(6, "rabenseifner", "rabenseifner"),
        _a(7, "allgather_reduce", None, since=_MAIN),
    ],
    "alltoall": [
        _a(1, "linear", "linear,window=0"),
        _a(2, "pairwise", "pairwise"),
        _a(3, "modified_bruck", "bruck,radix=2"),
        _a(4, "linear_sync", "linear,window=0", {"window": REQUESTS}),
        _a(5, "two_proc", None),
    ],
    "barrier": [
        _a(1, "linear", "linear"),
        _a(2, "double_ring", None),
        _a(3, "recursive_doubling", "recursive_doubling"),
        _a(4, "bruck", "dissemination,radix=2"),
        _a(5, "two_proc", None),
        _a(6, "tree", "binomial"),
    ],
    # Without a fan-out its chain is one; receives are two ahead of the additions, as reduce has them by default.
    "bcast": [
        _a(1, "basic_linear", "linear"),
        _a(3, "pipeline", "chain,radix=1,segment=0", _S),
        _a(2, "chain", "chain,radix=1,segment=0", {"radix": FAN, **_S}),
        _a(4, "split_binary_tree", "split_binary,segment=0", _S),
        _a(5, "binary_tree", "kary,radix=2,segment=0", _S),
        _a(6, "binomial", "knomial,radix=2,segment=0", _S),
        _a(7, "knomial", "knomial,radix=4,segment=0", _S),
        _a(8, "scatter_allgather", "scatter_allgather"),
        _a(9, "scatter_allgather_ring", "scatter_allgather_ring"),
    ],
    "exscan": [_a(1, "linear", "linear"), _a(2, "recursive_doubling", "recursive_doubling")],
    "gather": [
        _a(1, "basic_linear", "linear"),
        _a(2, "binomial", "binomial"),
        _a(3, "linear_sync", None, _S),
    ],
    "reduce": [
        _a(1, "linear", "linear"),
        _a(3, "pipeline", "chain,radix=1,segment=0", _S),
        _a(2, "chain", "chain,radix=1,segment=0", {"radix": FAN, **_S}),
        _a(4, "binary", "kary,radix=2,segment=0", _S),
        _a(5, "binomial", "knomial,radix=2,segment=0", _S),
        _a(6, "in-order_binary", None, _S),
        _a(7, "rabenseifner", "rabenseifner"),
        _a(8, "knomial", "knomial,radix=4,segment=0", _S, since=_MAIN),
    ],
    "reduce_scatter": [
        _a(1, "non-overlapping", "linear"),
        _a(2, "recursive_halving", "recursive_halving"),
        _a(3, "ring", "ring"),
        _a(4, "butterfly", "butterfly"),
    ],
    "reduce_scatter_block": [
        _a(1, "basic_linear", "linear"),
        _a(2, "recursive_doubling", None),
        _a(3, "recursive_halving", "recursive_halving"),
        _a(4, "butterfly", "butterfly"),
    ],
    "scan": [_a(1, "linear", "linear"), _a(2, "recursive_doubling", "recursive_doubling")],
    "scatter": [
        _a(1, "basic_linear", "linear"),
        _a(2, "binomial", "binomial"),
        _a(3, "linear_nb", "linear"),
    ],
}


def algorithms(collective: str, version: Version, radix: int = 4) -> list[Algorithm]:
    """The algorithms of one of its collectives in a version.

    Parameters
    ----------
    collective : str
        As Open MPI calls it.
    version : tuple of int
        Rules have a number of requests from 5.0.7 on.
    radix : int
        Radix of its k-nomial trees, which no rule can set: a parameter sets it for the whole run.
    """
    out = []
    for since, algorithm in _ALGORITHMS[collective]:
        if since > version:
            continue
        if algorithm.name == "knomial" and algorithm.choice is not None:
            algorithm = replace(algorithm, choice=algorithm.choice.replace(radix=radix))
        if version < (5, 0, 7):
            algorithm = replace(algorithm, steer={k: v for k, v in algorithm.steer.items() if v != REQUESTS})
        elif version >= (6, 0, 0) and algorithm.name == "bruck":
            algorithm = replace(algorithm, name="bruck-k-fanout", steer={"radix": FAN})
        out.append(algorithm)
    return out


def parse_version(text: str) -> Version:
    """A version such as 5.0.8 or 4.1.

    Raises
    ------
    InvalidInput
        For other texts and for unknown releases. Every patch release of a series in SERIES is known: its rules are
        those of the last one that was looked at.

    Examples
    --------
    >>> parse_version("5.0.8")
    (5, 0, 8)
    """
    match = re.match(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", text)
    if not match:
        raise InvalidInput(f"version {text!r} of Open MPI: expected a version such as 5.0.8")
    version = (int(match[1]), int(match[2]), int(match[3] or 0))
    if version[:2] not in SERIES:
        known = ", ".join(f"{major}.{minor}" for major, minor in SERIES)
        raise InvalidInput(
            f"version {shown(text)} of Open MPI: must be one of {known}, with any patch number, such as 5.0.8"
        )
    return version
