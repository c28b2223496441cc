"""Operations of a Schedule: their kinds, and the records that hold them and the bytes they move."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class OpKind(IntEnum):
    """Kinds of operations; the numbers of binary GOAL where GOAL has the operation."""

    send = 1
    recv = 2
    calc = 3
    put = 4
    get = 5
    copy = 6
    reduce = 7


#: One operation. ``amount`` is in bytes (calc: picoseconds); ``first_edge`` is its first dependant, counted from the
#: first edge of its rank; ``needs`` is how many operations it waits for; ``mode`` is of a reduce 1 where the
#: operand from its ``from`` slice comes first, of a send 1 for eager and 2 for rendezvous, otherwise 0.
OPS = np.dtype(
    [("amount", "<u8"), ("peer", "<u4"), ("tag", "<u4"), ("comm", "<u4"), ("first_edge", "<u4"), ("needs", "<u4"),
     ("kind", "u1"), ("cpu", "u1"), ("nic", "u1"), ("mode", "u1")]
)  # fmt: skip
#: A part of a buffer, ``offset`` in bytes; its length is the amount of the operation. ``stride``: of a copy of blocks.
SLICE = np.dtype([("buffer", "<u4"), ("stride", "<i4"), ("offset", "<u8")])
#: Where the bytes of an operation come from and go to. A copy may move blocks of ``block`` bytes (the last may be
#: shorter), which begin ``stride`` blocks after each other on each side; ``block`` 0: all in one piece.
SLICES = np.dtype([("from", SLICE), ("to", SLICE), ("block", "<u8")])
#: Peer and tag of receives from whoever sends whatever, buffer of slices that name none: all ones.
ALL_ONES = 0xFFFFFFFF
#: Bit of an edge: the dependant may start when the operation has started.
START_BIT = 0x80000000
