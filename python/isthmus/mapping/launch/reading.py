"""The common part of the readers of all formats: lines, names of nodes, complete sets of ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ...errors import InvalidInput, ParseError
from ...imports.source import checked_lines
from ...machine.allocation import Allocation
from ...machine.machine import Machine
from ...machine.placement import Placement
from ...units import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_WHOLE = re.compile(r"[0-9]{1,9}")
_RELATIVE = re.compile(r"\+n[0-9]{1,9}", re.IGNORECASE)


class Reading:
    """A file that is being read, and what it is for.

    Parameters
    ----------
    data : bytes
    path : str
        For messages.
    where : Machine or Allocation

    Attributes
    ----------
    machine : Machine
    given : bool
        Is the job an allocation that the caller gave, not the whole machine?
    """

    def __init__(self, data: bytes, path: str, where: Machine | Allocation) -> None:
        if not isinstance(where, (Machine, Allocation)):
            raise InvalidInput(f"a file of ranks for {shown(where)}: must be a Machine or an Allocation")
        self.path = path
        self.where = where
        self.given = isinstance(where, Allocation)
        self.machine = where.machine if isinstance(where, Allocation) else where
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ParseError(path, line, None, f"byte 0x{data[error.start]:02x} is not UTF-8") from None
        self._lines = checked_lines(self.text, path)
        self._nodes: dict[str, int] = {}

    @cached_property
    def job(self) -> Allocation:
        """The allocation, or all usable nodes of the machine."""
        return self.where if isinstance(self.where, Allocation) else self.where.allocate()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and content of the lines without comments and blanks around them, where something is left."""
        for number, line in enumerate(self._lines, 1):
            if content := line.partition("#")[0].strip():
                yield number, content

    def fail(self, line: int | None, field: str | None, message: str) -> NoReturn:
        raise ParseError(self.path, line, field, message)

    def whole(self, text: str, line: int, what: str) -> int:
        """A whole number from 0."""
        if not _WHOLE.fullmatch(text):
            self.fail(line, what, f"is {shown(text)}: must be a whole number from 0")
        return int(text)

    def node(self, name: str, line: int) -> int:
        """Node id of a host name, or of ``+n3``, the fourth node of the job."""
        found = self._nodes.get(name)
        if found is None:
            found = self.nth(int(name[2:]), line) if _RELATIVE.fullmatch(name) else self._named(name, line)
            self._nodes[name] = found
        return found

    def _named(self, name: str, line: int) -> int:
        try:
            found = self.machine.node_id(name)
        except InvalidInput as error:
            self.fail(line, None, str(error))
        if self.given and self.job.rank_at(found) < 0:
            self.fail(line, None, f"node {shown(name)} is not in the job, which has {len(self.job)} nodes")
        return found

    def id_or_name(self, word: str, line: int) -> int:
        """Node id of a node that is given by its id or its name."""
        if not _WHOLE.fullmatch(word):
            return self.node(word, line)
        node, last = int(word), self.machine.topology.nodes - 1
        if node > last:
            self.fail(line, None, f"node {node} of {self.machine.name}: nodes are 0 to {last}")
        return self.node(self.machine.hostnames[node], line)

    def nth(self, index: int, line: int) -> int:
        """Node id of a node of the job, counted from 0."""
        if index >= len(self.job):
            has = (
                f"the job has {len(self.job)} nodes" if self.given else f"{self.machine.name} has {len(self.job)} nodes"
            )
            self.fail(line, None, f"node {index} of the job, counted from 0: {has}")
        return int(self.job.nodes[index])

    def at(self, coordinates: Sequence[Sequence[int]], lines: Sequence[int]) -> NDArray[np.uint32]:
        """Nodes at coordinates within the job, one row and one line of the file each."""
        inside = np.array(coordinates, dtype=np.int64)
        dims = self.job.dims
        wrong = (inside >= np.array(dims)).any(axis=1)
        node = np.zeros(len(inside), dtype=np.uint32)
        if not wrong.any():
            node = self.machine.nodes_at((inside + np.array(self.job.origin)) % np.array(self.machine.topology.dims))
            wrong = np.asarray(self.job._index(node) < 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            whose = "the job" if self.given else self.machine.name
            size = " x ".join(map(str, dims))
            at = ", ".join(map(str, coordinates[row]))
            self.fail(lines[row], None, f"no node at ({at}): {whose} is {size}")
        return node

    def core(self, core: int, line: int) -> int:
        """A core that nodes have."""
        if core >= self.machine.node.cores:
            self.fail(
                line, None, f"core {core}: nodes of {self.machine.name} have cores 0 to {self.machine.node.cores - 1}"
            )
        return core

    def ranked(self, entries: Sequence[tuple[int, int, int, int]]) -> Placement:
        """A placement from (line, rank, node, core), in any order."""
        if not entries:
            self.fail(None, None, "the file has no ranks")
        table = np.array(entries, dtype=np.int64)
        table = table[np.argsort(table[:, 1], kind="stable")]
        line, rank = table[:, 0], table[:, 1]
        twice = np.flatnonzero(rank[1:] == rank[:-1])
        if len(twice):
            first, again = line[twice[0]], line[twice[0] + 1]
            self.fail(int(again), f"rank {rank[twice[0]]}", f"is already given in line {first}")
        if (gap := rank != np.arange(len(rank))).any():
            missing = int(np.argmax(gap))
            self.fail(None, f"rank {missing}", f"is missing: the file goes up to rank {rank[-1]}")
        return Placement(self.machine, table[:, 2], table[:, 3])

    def ordered(self, nodes: Sequence[int] | NDArray[np.uint32]) -> Placement:
        """A placement from the node of each rank, whose ranks take its cores in their order."""
        if not len(nodes):
            self.fail(None, None, "the file has no ranks")
        return Placement(self.machine, np.asarray(nodes, dtype=np.uint32))
