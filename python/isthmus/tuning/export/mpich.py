"""Selection trees of MPICH, from 4.0 on: JSON that stands for the library's own tree.

The file replaces the whole tree: a collective or a branch that is missing ends the program in MPI_Init. The tuned
collectives are therefore put into the tree of the very library. What was not tuned keeps its branches, and so do
smaller communicators and the cases in which an algorithm is not allowed.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Collection

from ...errors import InvalidInput
from ...mpi.detection import MPICH, probe
from ...toml_text import read_text
from ..decisions import Decisions
from ..libraries import mpich as library
from ..libraries.mpich_tree import HAVE_SIZE, HAVE_TOTAL, Installed, Tree, installed, read_tree
from .export import Export, Loss, Placed, Request, joined, losses, one_rule, placed, rank_counts
from .openmpi import sizes_between

OPTIONS = ("tree", "library")
_LARGEST = 2**31 - 1
_PAGE = 4096

_NOTES = (
    "the tree decides for the whole communicator only with MPIR_CVAR_DEVICE_COLLECTIVES=none as above: otherwise the "
    "device takes collectives apart by node first, and has algorithms of its own in shared memory",
    "the file replaces the library's own tree: it fits the version that it was made from, and no other",
    "nonblocking, persistent and neighbourhood collectives keep the branches of the library's own tree",
)


def write(decisions: Decisions, request: Request) -> Export:
    """The library's own tree with the tuned collectives in it."""
    there, version = _library(request)
    tree = copy.deepcopy(there.tree)
    lost: list[Loss] = []
    notes: list[str] = []
    for kind in decisions.collectives:
        if kind not in library.NAMES:
            notes.append(f"{kind}: rules of it are for blocking collectives with counts; MPICH's own stay")
            continue
        for name in library.NAMES[kind]:
            key = f"collective={name}"
            if key not in tree:
                raise InvalidInput(f"selection tree of MPICH: {key} is missing; the library would fail in MPI_Init")
            tree[key] = _collective(decisions, kind, name, tree[key], there.algorithms, request, lost, notes)
    settings = {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": "{file}", "MPIR_CVAR_DEVICE_COLLECTIVES": "none"}
    target = f"mpich-{version}" if version else "mpich"
    return Export(target, "selection tree in JSON", format_tree(tree), settings, lost, [*_NOTES, *notes])


def format_tree(tree: Tree) -> str:
    """The text of a tree.

    MPICH maps the file and reads up to a zero byte, which follows only where the file does not fill its last page.
    """
    text = json.dumps(tree, indent=1) + "\n"
    return text + "\n" if len(text.encode()) % _PAGE == 0 else text


def _library(request: Request) -> tuple[Installed, str]:
    given = request.options.get("tree")
    if given is not None:
        if isinstance(given, dict):
            return Installed(given, _named(given)), request.version
        tree = read_tree(read_text(given), os.fspath(given))
        return Installed(tree, _named(tree)), request.version
    path = request.options.get("library")
    if path is not None:
        return installed(os.path.realpath(path)), request.version
    for name in ("mpicc.mpich", "mpicc"):
        found = shutil.which(name)
        mpi = probe(found) if found else None
        if mpi is not None and mpi.family == MPICH and request.version in ("", mpi.version):
            return installed(mpi.library), mpi.version
    wanted = f"MPICH {request.version}" if request.version else "MPICH"
    raise InvalidInput(
        f"{wanted} is not installed here: give its own selection tree, from its library "
        "(library=.../libmpi.so.12) or its sources (tree=maint/tuning/coll/mpir/generic.json)"
    )


def _named(tree: Tree) -> frozenset[str]:
    """Algorithms that a tree names: with nothing but a tree, these are sure to be there."""
    out: set[str] = set()
    for key, inner in tree.items():
        if key.startswith("algorithm="):
            out.add(key.partition("=")[2])
        else:
            out |= _named(inner)
    return frozenset(out)


def _collective(
    decisions: Decisions, kind: str, name: str, own: Tree, there: Collection[str], request: Request,
    lost: list[Loss], notes: list[str],
) -> Tree:  # fmt: skip
    known = library.known(name, there)
    guards = {item.algorithm.name: item.guards for item in known}
    inside = own.get("comm_type=intra", own)
    branches: Tree = {}
    counts = rank_counts(decisions, kind, request)
    if counts[0] > 1:
        branches[f"comm_size<={counts[0] - 1}"] = inside
    last: Tree = {}
    for ranks, following in zip(counts, [*counts[1:], None], strict=True):
        one = name not in HAVE_TOTAL
        guard = None if one else request.guard
        given = placed(decisions, kind, ranks, [item.algorithm for item in known], request.predict, guard)
        if one:
            if len(given) > 1:
                notes.append(f"{name}, {ranks} ranks: one algorithm for all sizes: MPICH's trees do not know its size")
            given = [one_rule(decisions, kind, ranks, given, request.guard)]
        lost += losses(name, ranks, given)
        given = joined(given)
        sizes = [ranks] if name in HAVE_SIZE or len(given) == 1 else sizes_between(ranks, following)
        for size, after in zip(sizes, [*sizes[1:], following], strict=True):
            last = _by_size(given, name, size, guards, inside)
            if after is not None:
                branches[f"comm_size<={after - 1}"] = last
    branches["comm_size=any"] = last
    if "comm_type=intra" in own:
        return {**own, "comm_type=intra": branches}
    return {"comm_type=intra": branches, "comm_type=inter": own}


def _by_size(given: list[Placed], name: str, ranks: int, guards: dict[str, tuple[str, ...]], own: Tree) -> Tree:
    measure = "avg_msg_size" if name in HAVE_SIZE else "total_msg_size"
    scale = 1 if name in HAVE_SIZE else ranks
    if len(given) == 1:
        return _leaf(given[0], guards, own)
    out: Tree = {}
    for p in given[:-1]:
        limit = (p.high or 0) * scale
        if limit > _LARGEST:
            # The reader of conditions has 32 bits.
            out[f"{measure}=any"] = _leaf(p, guards, own)
            return out
        out[f"{measure}<={limit}"] = _leaf(p, guards, own)
    out[f"{measure}=any"] = _leaf(given[-1], guards, own)
    return out


def _leaf(p: Placed, guards: dict[str, tuple[str, ...]], own: Tree) -> Tree:
    if p.fit is None:
        return own
    name = p.fit.algorithm.name
    tree: Tree = {f"algorithm={name}": {f"{key}={value}": {} for key, value in p.fit.parameters.items()}}
    for guard in guards[name]:
        allowed, otherwise = library.GUARDS[guard]
        # What always holds stands last.
        pair = {allowed: tree, otherwise: own}
        tree = dict(sorted(pair.items(), key=lambda item: item[0].endswith("=any")))
    return tree
