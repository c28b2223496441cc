"""Call paths of all ranks as one tree: every path is its caller's path and a place, and stands in it once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..schedule.recording import NONE
from .sites import Frame, Sites

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .raw import Trace

# Frames of Python that the interpreter makes for itself.
_SHIMS = ("<shim>", "<interpreter trampoline>")


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """Paths, parents before children.

    Attributes
    ----------
    parent : array of uint32
        The path of the caller; all ones where there is none.
    place : array of uint32
        Index into ``frames``.
    frames : tuple of Frame
        The different ones.
    """

    parent: NDArray[np.uint32]
    place: NDArray[np.uint32]
    frames: tuple[Frame, ...]

    def __len__(self) -> int:
        return len(self.parent)


class Paths:
    """Numbers of paths, which become a tree at the end."""

    def __init__(self) -> None:
        self.sites = Sites()
        self._number: dict[tuple[int, int], int] = {}

    def numbers(self, trace: Trace) -> dict[int, int]:
        """For the ids of one file the numbers of their paths; a path whose place was lost is that of its caller."""
        site_number = self.sites.numbers(trace.sites)
        found: dict[int, int] = {}
        for id, (parent, site) in trace.paths.items():
            above = found.get(parent, -1)
            if site in site_number:
                found[id] = self._number.setdefault((above, site_number[site]), len(self._number))
            elif above >= 0:
                found[id] = above
        return found

    def finish(self) -> tuple[Tree, NDArray[np.uint32]]:
        """The tree, and for every number the path it became: addresses of one line are one place."""
        of_site = self.sites.frames()
        frames: dict[Frame, int] = {}
        nodes: dict[tuple[int, int], int] = {}
        became: list[int] = []
        for parent, site in self._number:
            at = became[parent] if parent >= 0 else NONE
            # An address in code that was inlined is as many places as there were calls in the source.
            for frame in reversed(of_site[site]):
                if frame.module in _SHIMS:
                    continue
                place = frames.setdefault(frame, len(frames))
                at = nodes.setdefault((at, place), len(nodes))
            became.append(at)
        columns = np.array(list(nodes), np.uint32).reshape(-1, 2)
        return Tree(columns[:, 0].copy(), columns[:, 1].copy(), tuple(frames)), np.array([*became, NONE], np.uint32)


def chains(tree: Tree, paths: Sequence[int]) -> list[list[int]]:
    """For every path itself and those that it comes from, the innermost first."""
    parent = tree.parent.tolist()
    out = []
    for path in paths:
        chain = []
        while path != NONE:
            chain.append(path)
            path = parent[path]
        out.append(chain)
    return out
