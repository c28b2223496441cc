"""Finds the user's own code on call paths: the place that tables name, behind libraries and wrappers.

In a Python program it is the innermost line outside the standard library and installed packages. Otherwise it is in the
program file, unless nothing but one function of that (a ``main`` that hands over) calls others: then a shared library
may be the program. A library that is entered from at least as many places as there are places in it that call out is a
wrapper, and so is a function with one or two such places that is called from more places than that.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..schedule.recording import NONE
from .paths import Tree, chains
from .sites import Frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.program import Program

_INSTALLED = re.compile(r"/(site|dist)-packages/|/lib(64)?/python\d[\d.]*/|^<frozen ")
# What MPI libraries consist of, and the recorder: never the program's own.
_MPI = re.compile(r"lib(p?mpi|mpich|isthmus-record|open-(rte|pal)|uc[pst]|fabric|psm)[^/]*$")
# What headers of libisthmus do where they are included.
_INLINE = re.compile(r"isthmus(_|::)")
_MAIN = ("main", "main program")
# Places in a function that calls nothing but its one or two calls of MPI.
_THIN = 2


def own(tree: Tree, used: NDArray[np.uint32], patterns: Sequence[str] = ()) -> NDArray[np.uint32]:
    """For every path the one on it that ends in the user's own code: itself, or one that it comes from.

    Parameters
    ----------
    tree : Tree
    used : array of uint32
        Paths of calls; others get all ones.
    patterns : sequence of str
        What is own: names of functions, files or modules, with ``*`` and ``?`` as in shells. By default that follows
        from who calls whom, see above.

    Returns
    -------
    array of uint32, shape (paths,)
    """
    paths = np.unique(used[used != NONE]).tolist()
    found = np.full(len(tree), NONE, np.uint32)
    if patterns:
        matching = [_matches(frame, patterns) for frame in tree.frames]
        place = tree.place.tolist()
        for path, chain in zip(paths, chains(tree, paths), strict=True):
            found[path] = next((node for node in chain if matching[place[node]]), path)
        return found
    for path, at in _Callers(tree, chains(tree, paths)).own().items():
        found[path] = at
    return found


def with_own(program: Program, patterns: Sequence[str]) -> Program:
    """A recorded program whose places are those in the code of these names; see :func:`own`.

    Raises
    ------
    InvalidInput
        Where no call paths were recorded, and for patterns that no place matches.
    """
    recording = program.recording
    if recording is None or not len(recording.path_parent):
        raise InvalidInput("finding own code needs call paths, and this program has none: record it again")
    texts = zip(recording.sites, recording.site_function, recording.site_module, strict=True)
    tree = Tree(recording.path_parent, recording.path_site, tuple(Frame(*text) for text in texts))
    for pattern in patterns:
        if not any(_matches(frame, [pattern]) for frame in tree.frames):
            raise InvalidInput(
                f"own code {pattern!r}: the recording has no function, source file or module of this name"
            )
    path = own(tree, recording.path, patterns)
    of_path = np.append(tree.place, np.uint32(NONE))[np.minimum(np.append(path, NONE), len(tree))]
    site = of_path[np.minimum(recording.path, len(tree))].astype(np.uint32)
    changed = replace(recording, site=site)
    if not len(program.location):
        return replace(program, recording=changed)
    # Events have the place of their call; those of one call stand together, computations of their own between them.
    call = np.flatnonzero(recording.event >= 0)
    call = call[np.argsort(recording.event[call], kind="stable")]
    at = np.searchsorted(recording.event[call], np.arange(len(program)), side="right") - 1
    names: dict[str, int] = {}
    number = np.array([*(names.setdefault(text, len(names)) for text in recording.sites), NONE], np.uint32)
    there = (program.location != NONE) & (at >= 0)
    location = np.full(len(program), NONE, np.uint32)
    location[there] = number[np.minimum(site[call[at[there]]], len(number) - 1)]
    return replace(program, recording=changed, location=location, locations=tuple(names))


def _matches(frame: Frame, patterns: Sequence[str]) -> bool:
    source = frame.text.rpartition(":")[0]
    names = (frame.function, source, frame.module, os.path.basename(frame.module))
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def is_python(frame: Frame) -> bool:
    """Whether a place is a line of Python, whose module is its source."""
    return bool(frame.module) and frame.text.rpartition(":")[0] == os.path.basename(frame.module)


class _Callers:
    """Callers and callees on some paths, each given from the innermost place outwards."""

    def __init__(self, tree: Tree, chains: list[list[int]]) -> None:
        self.place: list[int] = tree.place.tolist()
        self.frames = tree.frames
        self.python = [is_python(frame) for frame in tree.frames]
        self.chains = chains

    def own(self) -> dict[int, int]:
        """For every path where its own code is."""
        found = {chain[0]: at for chain in self.chains if (at := self._in_python(chain)) is not None}
        native = [chain for chain in self.chains if chain[0] not in found]
        inline = {frame.function for frame in self.frames if _INLINE.match(frame.function)}
        native = self._outside(native, lambda frame: frame.function, inline)
        native = self._outside(native, lambda frame: frame.module, self._wrapping_modules(native))
        # A wrapper may call a wrapper: the outer one then has a single place that calls out.
        for most in (_THIN, 1, 1):
            native = self._outside(native, _unit, self._wrappers(native, most))
        for chain, before in zip(native, (c for c in self.chains if c[0] not in found), strict=True):
            found[before[0]] = chain[0]
        return found

    def _in_python(self, chain: list[int]) -> int | None:
        lines = [node for node in chain if self.python[self.place[node]]]
        own = (node for node in lines if not _INSTALLED.search(self.frames[self.place[node]].module))
        return next(own, lines[0] if lines else None)

    def _frame(self, node: int) -> Frame:
        return self.frames[self.place[node]]

    def _outside(self, chains: list[list[int]], key: Callable[[Frame], str], wrappers: set[str]) -> list[list[int]]:
        """The paths without their innermost places in wrappers; all of a path that has nothing else."""
        out = []
        for chain in chains:
            at = 0
            while at < len(chain) and key(self._frame(chain[at])) in wrappers:
                at += 1
            out.append(chain[at:] if at < len(chain) else chain)
        return out

    def _wrapping_modules(self, chains: list[list[int]]) -> set[str]:
        """Shared libraries that are none of the program."""
        program = self._program(chains)
        functions: set[str] = set()
        entries: defaultdict[str, set[int]] = defaultdict(set)
        exits: defaultdict[str, set[int]] = defaultdict(set)
        for chain in chains:
            modules = [self._frame(node).module for node in chain]
            inside = next((i for i, module in enumerate(modules) if module == program), None)
            if inside is not None:
                functions.add(self._frame(chain[inside]).function)
            for i, module in enumerate(modules):
                if i == 0 or modules[i - 1] != module:
                    exits[module].add(self.place[chain[i]])
                if i + 1 < len(modules) and modules[i + 1] != module:
                    entries[module].add(self.place[chain[i + 1]])
        wrapping = {m for m in exits if m != program and len(entries[m]) >= max(2, len(exits[m]))}
        wrapping |= {m for m in exits if _MPI.match(os.path.basename(m))}
        if len(functions) > 1:
            wrapping |= exits.keys() - {program}
        return wrapping

    def _program(self, chains: list[list[int]]) -> str:
        """The program file: where ``main`` is, or most paths begin."""
        outer = [self._frame(chain[-1]) for chain in chains]
        number = Counter(frame.module for frame in outer if frame.function in _MAIN) or Counter(f.module for f in outer)
        return max(number, key=lambda module: number[module], default="")

    def _wrappers(self, chains: list[list[int]], most: int) -> set[str]:
        """Functions called from more places than there are in them that call out, of which there are few."""
        inner: defaultdict[str, set[int]] = defaultdict(set)
        callers: defaultdict[str, set[int]] = defaultdict(set)
        for chain in chains:
            unit = _unit(self._frame(chain[0]))
            inner[unit].add(self.place[chain[0]])
            outer = next((node for node in chain if _unit(self._frame(node)) != unit), None)
            if outer is not None:
                callers[unit].add(self.place[outer])
        return {unit for unit in inner if len(inner[unit]) <= most and len(callers[unit]) > len(inner[unit])}


def _unit(frame: Frame) -> str:
    """A function with the file that it is in."""
    return f"{frame.module}:{frame.function or frame.text}"
