"""Sizes of datatypes in dumpi traces: numbers of basic ones, and of those that the program makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from .dumpi_text import Arguments

#: Bytes of MPI_CHAR and those after it, as dumpi numbers them; sizes of C are those of 64-bit Linux.
_FIRST = 2
_BASIC = (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)


class Types:
    """Sizes of the datatypes of one rank.

    Parameters
    ----------
    sizes : mapping of int to int
        That the trace gives; they go before those that are computed.

    Attributes
    ----------
    unknown : int
        Messages whose datatype is not known: they count a byte for each element.
    """

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self._sizes = dict(enumerate(_BASIC, _FIRST))
        self._given = sizes
        self.unknown = 0

    def bytes(self, count: int, datatype: int) -> int:
        """Bytes of so many elements."""
        size = self._given.get(datatype, self._sizes.get(datatype))
        if size is None or size < 0:
            self.unknown += 1
            size = 1
        return max(count, 0) * size

    def made(self, a: Arguments) -> None:
        """The program makes a datatype, with one of the calls MPI_Type_*."""
        if not a.has("newtype"):
            return
        kind = a.call.name.removeprefix("MPI_Type_").removeprefix("create_")
        if kind == "struct":
            lengths = a.numbers("lengths" if a.has("lengths") else "blocklengths")
            size = sum(self.bytes(n, t) for n, t in zip(lengths, a.numbers("oldtypes"), strict=False))
        else:
            size = self.bytes(_elements(kind, a), a.number("oldtype"))
        self._sizes[a.number("newtype")] = a.size("newtype", size)


def _elements(kind: str, a: Arguments) -> int:
    """The number of old datatypes in the new one."""
    match kind:
        case "contiguous":
            return a.number("count")
        case "vector" | "hvector" | "indexed_block":
            return a.number("count") * a.number("blocklength")
        case "indexed" | "hindexed":
            return sum(a.numbers("lengths" if a.has("lengths") else "blocklengths"))
        case "subarray":
            return prod(a.numbers("subsizes"))
        case "darray":
            return prod(a.numbers("gsizes")) // max(prod(a.numbers("psizes")), 1)
    return 1
