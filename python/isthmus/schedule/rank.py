"""The operations of one rank of a schedule in readable form."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..units import mixed, text
from .columns import lengths
from .operation import ALL_ONES, START_BIT, OpKind

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RankOperations:
    """Operations of one rank with what they wait for; ``str`` lists them, one a line.

    Attributes
    ----------
    number : int
        The rank.
    ops : structured array of dtype ``OPS``
    """

    def __init__(self, number: int, ops: NDArray[Any], edges: NDArray[np.uint32]) -> None:
        self.number = number
        self.ops = ops
        on = np.repeat(np.arange(len(ops)), lengths(np.append(ops["first_edge"], len(edges))))
        to = edges & ~np.uint32(START_BIT)
        order = np.argsort(to, kind="stable")
        self._on = on[order]
        self._start = edges[order] >= START_BIT
        self._first = np.searchsorted(to[order], np.arange(len(ops) + 1))

    def __len__(self) -> int:
        return len(self.ops)

    def requires(self, operation: int) -> list[tuple[int, bool]]:
        """Return the operations that one waits for (numbers within the rank), and whether only for their start."""
        if not 0 <= operation < len(self):
            raise InvalidInput(f"rank {self.number} has no operation {operation}: it has {len(self)}")
        of = slice(self._first[operation], self._first[operation + 1])
        return [(int(on), bool(start)) for on, start in zip(self._on[of], self._start[of], strict=True)]

    @cached_property
    def _decimal(self) -> bool:
        """Sizes are in powers of 1000 where some are no multiples of 1024."""
        return mixed(np.unique(self.ops["amount"][self.ops["kind"] != OpKind.calc]).tolist())

    def describe(self, operation: int) -> str:
        """Return one operation as a line of text."""
        waits = self.requires(operation)
        op = self.ops[operation]
        kind, peer, tag = OpKind(op["kind"]), int(op["peer"]), int(op["tag"])
        words = [kind.name]
        if kind == OpKind.calc:
            words.append(text(int(op["amount"]) / 1e12, "s"))
        else:
            words.append(text(int(op["amount"]), "B", decimal=self._decimal))
        if kind in (OpKind.send, OpKind.recv, OpKind.put, OpKind.get):
            words += ["from" if kind in (OpKind.recv, OpKind.get) else "to", "any" if peer == ALL_ONES else str(peer)]
        if kind in (OpKind.send, OpKind.recv):
            words += ["tag", "any" if tag == ALL_ONES else str(tag)]
        for name in ("comm", "cpu", "nic"):
            if op[name]:
                words += [name, str(op[name])]
        if op["mode"]:
            words.append(
                "with its operands swapped" if kind == OpKind.reduce else ("", "eager", "rendezvous")[op["mode"]]
            )
        for verb, wanted in (("requires", False), ("requires start of", True)):
            if on := [str(number) for number, start in waits if start == wanted]:
                words += [verb, " ".join(on)]
        return " ".join(words)

    def __str__(self) -> str:
        return "\n".join([f"rank {self.number}", *(f"  {i}: {self.describe(i)}" for i in range(len(self)))])
