"""The tree of functions of a profile as lines of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .by_function import FunctionTree

#: Levels that are shown unless told otherwise.
DEPTH = 4
# Functions below this share of everything are left out, unless all are asked for.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Row:
    """A line: a node of the tree with its words, set in by its level; ``node`` -1: others, which were left out."""

    words: str
    node: int


def rows(tree: FunctionTree, depth: int | None, full: bool) -> list[Row]:
    """Lines of the tree, callers before what they call and the most important first.

    Functions that do nothing but call one other share a line with it. Importance is time in MPI and computation, or
    bytes and calls where times mean nothing.
    """
    below: list[list[int]] = [[] for _ in range(len(tree))]
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            below[parent].append(node)
    measured = bool(np.isfinite(tree.time).all())
    moved = (tree.sent + tree.received).astype(np.float64)
    weights = [tree.time + tree.computing] if measured else [moved, tree.calls.astype(np.float64), tree.computing]
    whole = [float(weight[0]) for weight in weights]
    share = np.max([w / x if x else np.zeros(len(tree)) for w, x in zip(weights, whole, strict=True)], axis=0)
    out: list[Row] = []

    def add(node: int, level: int) -> None:
        names = [tree.name[node]]
        while len(below[node]) == 1 and not tree.mpi[below[node][0]] and tree.own[node] <= _LEAST * tree.own.sum():
            node = below[node][0]
            names.append(tree.name[node])
        if len(names) > 2:
            names[1:-1] = ["…"]
        out.append(Row("  " * level + " > ".join(names), node))
        if not tree.mpi[node]:
            children(node, level + 1)

    def children(node: int, level: int) -> None:
        if level >= (depth or (len(tree) if full else DEPTH)):
            return
        ordered = sorted(below[node], key=lambda child: (-share[child], child))
        shown = [child for child in ordered if full or share[child] >= _LEAST]
        for child in shown:
            add(child, level)
        if len(ordered) > len(shown):
            out.append(Row(f"{'  ' * level}and {len(ordered) - len(shown)} more", -1))

    children(0, 0)
    return out
