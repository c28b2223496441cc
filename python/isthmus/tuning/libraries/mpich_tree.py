"""The trees by which MPICH selects algorithms: taken from an installed library, and walked as it walks them.

A tree is nested tables. A key is a condition such as ``"comm_size<8"``, a leaf ``"algorithm=NAME"`` with its parameters
as keys. The first key of a table that holds counts; keys that end in ``any`` always hold.

MPICH walks a tree in two steps: conditions on the communicator when that is made, up to the first condition on a call,
and the rest with every call. In the second step ``comm_size<8`` holds for 8 ranks too (seen in 4.0.2 and 5.0.2, and
modelled here); ``comm_size<=7`` means the same in both. Facts from ``src/mpi/coll/src/csel.c`` of v4.0.2 and v5.0.1.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import InvalidInput, ParseError
from ..rule import Rule, merged

Tree = dict[str, Any]

#: Collectives of which MPICH knows the size of the message and not only the sum of all; reading it for another one
#: ends the program.
HAVE_SIZE = frozenset({"bcast", "reduce", "allreduce", "alltoall"})
#: Those of which it knows the sum over all ranks. That of gather and scatter leaves out the size of an element.
HAVE_TOTAL = HAVE_SIZE | {"allgather", "reduce_scatter", "reduce_scatter_block"}


@dataclass(frozen=True)
class Situation:
    """The call that conditions are tested on.

    Parameters
    ----------
    collective : str
        As MPICH calls it.
    ranks : int
    bytes : int
        As of :func:`isthmus.collective`.
    element : int
        Bytes of an element of the vector.
    commutative, built_in : bool
        Properties of the operator.
    several_nodes : bool
        The communicator spans several nodes and has several ranks on one.
    consecutive : bool
        Ranks of a node follow each other.
    in_place : bool
        MPI_IN_PLACE is passed.
    """

    collective: str
    ranks: int
    bytes: int = 0
    element: int = 8
    commutative: bool = True
    built_in: bool = True
    several_nodes: bool = False
    consecutive: bool = False
    in_place: bool = False

    @property
    def total(self) -> int:
        return self.bytes * self.ranks

    @property
    def count(self) -> int:
        return -(-self.bytes // self.element)


def select(tree: Tree, situation: Situation, called: bool = False) -> tuple[str, dict[str, str]] | None:
    """The algorithm that a tree selects, and its parameters; None where no branch fits.

    ``called``: a condition on the call was met before.
    """
    for key, inner in tree.items():
        name = re.sub(r"\s", "", key)
        if name.startswith(("algorithm=", "composition=")):
            return name.partition("=")[2], dict(word.partition("=")[::2] for word in inner)
        called = called or not _OF_COMMUNICATOR.match(name)
        if _holds(name, situation, called):
            return select(inner, situation, called)
    return None


_OF_COMMUNICATOR = re.compile(r"collective|comm_|is_node_consecutive|any$|.*=any$")


def _holds(key: str, at: Situation, called: bool) -> bool:
    if key == "any" or key.endswith("=any"):
        return True
    match = re.fullmatch(r"(comm_size|avg_msg_size|total_msg_size|count)(<=?)(\d+)", key)
    if match:
        values = {"comm_size": at.ranks, "avg_msg_size": at.bytes, "total_msg_size": at.total, "count": at.count}
        value, limit = values[match[1]], int(match[3])
        up_to = match[2] == "<=" or (match[1] == "comm_size" and called)
        return value <= limit if up_to else value < limit
    power = 1 << (at.ranks.bit_length() - 1)
    known = {
        "collective": at.collective,
        "comm_type": "intra",
        "comm_hierarchy": "parent" if at.several_nodes else "flat",
        "is_commutative": _yes(at.commutative),
        "is_op_built_in": _yes(at.built_in),
        "is_sendbuf_inplace": _yes(at.in_place),
        "is_block_regular": "yes",
        "is_node_consecutive": _yes(at.consecutive),
        "is_multi_threaded": "no",
    }
    word, equals, asked = key.partition("=")
    if equals and word in known:
        return known[word] == asked
    special = {"comm_size=pow2": power == at.ranks, "count<pow2": at.count < power, "comm_size=node_comm_size": False}
    if key in special:
        return special[key]
    raise InvalidInput(f"selection tree of MPICH: condition {key!r} is not known")


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def thresholds(tree: Tree, situation: Situation) -> list[int]:
    """Sizes, as of :func:`isthmus.collective`, at which the selection of a collective may change; 0 is the first."""
    found = {0}

    def walk(inner: Tree, called: bool) -> None:
        for key, below in inner.items():
            name = re.sub(r"\s", "", key)
            if name.startswith(("algorithm=", "composition=")):
                return
            called = called or not _OF_COMMUNICATOR.match(name)
            match = re.fullmatch(r"(avg_msg_size|total_msg_size|count)(<=?)(\d+)", name)
            if match:
                first = int(match[3]) + (match[2] == "<=")
                scale = situation.ranks if match[1] == "total_msg_size" else 1
                unit = situation.element if match[1] == "count" else 1
                found.add(-(-first // scale) * unit - (unit - 1) * (first > 0))
            elif name == "count<pow2":
                found.add(((1 << (situation.ranks.bit_length() - 1)) - 1) * situation.element + 1)
            elif not _holds(name, situation, called):
                continue
            walk(below, called)
            if not match and name != "count<pow2":
                # What follows a condition that does not depend on the size and holds is never reached.
                return

    walk(tree, False)
    return sorted(found)


def rules(tree: Tree, situation: Situation, name: Any) -> tuple[Rule, ...]:
    """The rules of a collective; ``name(algorithm, parameters)`` makes choices."""
    out = []
    for size in thresholds(tree, situation):
        # Calls of no bytes return at once, whatever the tree says of them.
        found = select(tree, replace(situation, bytes=max(size, 1)))
        if found is None:
            raise InvalidInput(f"selection tree of MPICH: no branch fits {situation.collective} of {size} bytes")
        out.append(Rule(size, name(*found)))
    return merged(out)


@dataclass(frozen=True)
class Installed:
    """The selection tree of an installed MPICH, and the algorithms that it has.

    Parameters
    ----------
    tree : dict
        Its selection tree.
    algorithms : frozenset of str
        Algorithms that a tree may name, such as ``"MPIR_Bcast_intra_binomial"``.
    """

    tree: Tree
    algorithms: frozenset[str]


def installed(library: str) -> Installed:
    """The selection tree that is compiled into a shared library of MPICH, and the algorithms it knows.

    Parameters
    ----------
    library : str
        Path, such as ``/usr/lib/x86_64-linux-gnu/libmpich.so.12``.

    Raises
    ------
    InvalidInput
        If there is none in it: MPICH before 4.0, or another library.
    """
    content = Path(library).read_bytes()
    names = frozenset(word.decode() for word in re.findall(rb"\0algorithm=(MPIR_\w+)(?=\0)", content))
    for match in re.finditer(rb'\{\s*"collective=', content):
        end = content.find(b"\0", match.start())
        try:
            tree = json.loads(content[match.start() : end])
        except ValueError:
            continue
        # The device has trees of its own, without the i-collectives.
        if "collective=ibcast" in tree:
            return Installed(tree, names)
    raise InvalidInput(f"{library}: it has no selection tree; MPICH has one from 4.0")


def read_tree(text: str, file: str) -> Tree:
    """A selection tree from its text; raises ParseError."""
    try:
        tree = json.loads(text)
    except ValueError as error:
        raise ParseError(file, None, None, f"not a selection tree: {error}") from None
    if not isinstance(tree, dict) or not any(str(key).startswith("collective=") for key in tree):
        raise ParseError(file, None, None, "not a selection tree of MPICH: expected keys such as collective=bcast")
    return tree
