"""The parts of a schedule: what every rank has to do, as bytes that libisthmus reads.

``runtime/executor/part.hpp`` describes them.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, ParseError
from ..machine import Level
from ..schedule.columns import lengths
from ..schedule.schedule import ALL_ONES, SLICES, OpKind, Schedule
from ..simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from ..simulation import Timeline

_HEADER = np.dtype(
    [("mark", "S8"), ("version", "<u4"), ("rank", "<u4"), ("ranks", "<u4"), ("buffers", "<u4"), ("steps", "<u4"),
     ("edges", "<u4"), ("element_bytes", "<u4"), ("checksum", "<u4")]
)  # fmt: skip
_STEP = np.dtype(
    [("amount", "<u8"), ("from", "<u8"), ("to", "<u8"), ("block", "<u8"), ("from_stride", "<i4"),
     ("to_stride", "<i4"), ("peer", "<u4"), ("tag", "<u4"), ("comm", "<u4"), ("first_edge", "<u4"),
     ("from_buffer", "u1"), ("to_buffer", "u1"), ("kind", "u1"), ("order", "u1"), ("unused", "<u4")]
)  # fmt: skip
_MARK, _VERSION = b"isthpart", 1
_NO_BUFFER = 0xFF
_LINE = 64  # bytes of a line of cache, at whose beginnings buffers begin
#: The most bytes of messages on one rank, each of which has memory of its own where what arrives is checked.
_MOST_CHECKED = 2**30
#: Bytes up to which libisthmus sends without waiting for the receiver; a schedule is looked at for deadlock with it.
EAGER = 65536


def meetings(schedule: Schedule) -> Timeline:
    """Find out which send every receive gets, and that the schedule comes to its end.

    Where the schedule leaves it open, because it receives from whoever sends, it is what happens in a simulation.

    Raises
    ------
    InvalidInput
        If messages do not match, or ranks wait for each other for ever.
    """
    schedule.validate()
    found = simulate(schedule, Level(L=1e-6, o_send=1e-7, o_recv=1e-7, g=1e-7, G=1e-10, S=EAGER), record="ops")
    if found.deadlock is not None:
        waiting = found.deadlock.waiting[0]
        raise InvalidInput(
            f"the schedule deadlocks: rank {waiting.rank} waits at operation {waiting.op} ({waiting.kind.name}) for "
            f"ever, and {len(found.deadlock.waiting):,} operations in all; isthmus simulate explains it"
        )
    if found.orphans:
        raise InvalidInput(f"{len(found.orphans):,} messages are never received, such as {found.orphans[0]}")
    return found


def write_parts(
    schedule: Schedule, partner: NDArray[np.int64], path: str | os.PathLike[str], *, compute: float, check: bool
) -> None:
    """Write the parts of all ranks into one file.

    Parameters
    ----------
    schedule : Schedule
        Without puts and gets.
    partner : array of int64
        The send of every receive, and vice versa.
    path : path
    compute : float
        Factor of the computations.
    check : bool
        Give every message memory of its own, so that what arrives can be compared with what was sent.

    Raises
    ------
    InvalidInput
        If so much memory is not to be had.
    """
    ops = schedule.ops
    rank = np.repeat(np.arange(schedule.ranks), lengths(schedule.op_first))
    steps = np.zeros(len(schedule), _STEP)
    for name in ("first_edge", "kind"):
        steps[name] = ops[name]
    kind = ops["kind"]
    steps["order"] = np.where(kind == OpKind.reduce, ops["mode"], 0)
    sends, receives = np.flatnonzero(kind == OpKind.send), np.flatnonzero(kind == OpKind.recv)
    amount = ops["amount"].copy()
    # A receive may have room for more than its message; what comes is what was sent.
    amount[receives] = amount[partner[receives]]
    calc = kind == OpKind.calc
    amount[calc] = np.minimum(amount[calc] * compute, 2.0**62)
    steps["amount"] = amount
    _number(steps, sends, receives, partner, rank, ops["peer"])
    if check or not len(schedule.slices):
        places, room = _own_memory(steps, rank, schedule.ranks, check)
    else:
        places, room = _given_memory(schedule, steps, rank)
    for side in ("from", "to"):
        there = places[side]["buffer"] != ALL_ONES
        steps[side] = places[side]["offset"]
        steps[f"{side}_stride"] = places[side]["stride"]
        steps[f"{side}_buffer"] = np.where(there, 0, _NO_BUFFER)
    steps["block"] = places["block"]
    reduces = steps[kind == OpKind.reduce]
    whole = not any((reduces[name] % 8).any() for name in ("amount", "from", "to"))
    with open(path, "wb") as file:
        _write(file, schedule, steps, room, 8 if whole else 1)


def _number(
    steps: NDArray[Any],
    sends: NDArray[np.int64],
    receives: NDArray[np.int64],
    partner: NDArray[np.int64],
    rank: NDArray[np.int64],
    peer: NDArray[np.uint32],
) -> None:
    """Peers of messages, and tags that number the messages from one rank to another: only one receive fits each."""
    order = sends[np.lexsort((sends, peer[sends], rank[sends]))]
    pair = rank[order] * np.int64(2**32) + peer[order]
    new = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]])) if len(order) else order
    begins = np.repeat(new, np.diff(np.append(new, len(order))))
    steps["tag"][order] = np.arange(len(order)) - begins
    steps["peer"][sends] = peer[sends]
    steps["tag"][receives] = steps["tag"][partner[receives]]
    steps["peer"][receives] = rank[partner[receives]]


def _own_memory(
    steps: NDArray[Any], rank: NDArray[np.int64], ranks: int, check: bool
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Memory where a schedule names none: for each other rank as much as the largest message to it, and from it, takes.

    So many messages as are exchanged with it use the same memory, as they do in a program. To be checked, every message
    has its own.
    """
    places = np.zeros(len(steps), SLICES)
    kind, amount = steps["kind"], steps["amount"].astype(np.int64)
    room = np.zeros(ranks, np.int64)
    for side, group in (("from", OpKind.send), ("to", OpKind.recv)):
        places[side]["buffer"] = ALL_ONES
        places[side]["stride"] = 1
        both = np.isin(kind, (OpKind.copy, OpKind.reduce))
        for chosen, apart in ((kind == group, True), (both, False)):
            index = np.flatnonzero(chosen)
            if not len(index):
                continue
            key = index if check and apart else rank[index] * 2**32 + (steps["peer"][index] if apart else 0)
            own, member = np.unique(key, return_inverse=True)
            size = np.zeros(len(own), np.int64)
            np.maximum.at(size, member, amount[index])
            owner = np.zeros(len(own), np.int64)
            owner[member] = rank[index]
            offset = _behind(size, owner, room)
            places[side]["buffer"][index] = 0
            places[side]["offset"][index] = offset[member]
    if check and room.max(initial=0) > _MOST_CHECKED:
        worst = int(room.argmax())
        raise InvalidInput(
            f"rank {worst} sends and receives {int(room[worst]):,} B, and to be checked every message needs memory of "
            f"its own: must be {_MOST_CHECKED:,} B or less"
        )
    return places, room


def _behind(size: NDArray[np.int64], owner: NDArray[np.int64], room: NDArray[np.int64]) -> NDArray[np.int64]:
    """Offsets of pieces that lie one after the other on each rank, behind the room that is taken, which grows."""
    order = np.argsort(owner, kind="stable")
    padded = -(-size[order] // _LINE) * _LINE
    ends = np.cumsum(padded)
    of = owner[order]
    first = np.searchsorted(of, of)  # of the same rank
    offset = np.empty(len(size), np.int64)
    offset[order] = room[of] + (ends - padded) - (ends - padded)[first]
    np.add.at(room, of, padded)
    return offset


def _given_memory(
    schedule: Schedule, steps: NDArray[Any], rank: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The buffers that a schedule names, one behind the other."""
    places = schedule.slices.copy()
    room = np.zeros(schedule.ranks, np.int64)
    sizes = list(schedule.buffers.values())
    begin = np.zeros((len(sizes) + 1, schedule.ranks), np.int64)
    for i, size in enumerate(sizes):
        begin[i + 1] = begin[i] - (-size.astype(np.int64) // _LINE) * _LINE
    room = begin[-1].copy()
    moving = steps["amount"] > 0
    for side, kinds in (
        ("from", (OpKind.send, OpKind.copy, OpKind.reduce)),
        ("to", (OpKind.recv, OpKind.copy, OpKind.reduce)),
    ):
        used = places[side]["buffer"] != ALL_ONES
        missing = np.flatnonzero(moving & np.isin(steps["kind"], kinds) & ~used)
        if len(missing):
            at = int(missing[0] - schedule.op_first[rank[missing[0]]])
            raise InvalidInput(
                f"operation {at} of rank {rank[missing[0]]} names no buffer, and others do: must be all or none"
            )
        where = np.where(used, places[side]["buffer"], 0)
        places[side]["offset"][used] += begin[where, rank][used].astype(np.uint64)
    return places, room


def _write(file: BinaryIO, schedule: Schedule, steps: NDArray[Any], room: NDArray[np.int64], element: int) -> None:
    ranks = schedule.ranks
    op_first, edge_first = schedule.op_first.view(np.int64), schedule.edge_first.view(np.int64)
    count, edges = lengths(op_first), lengths(edge_first)
    size = _HEADER.itemsize + 8 + count * (_STEP.itemsize + 4) + edges * 4
    padded = -(-size // 8) * 8
    begin = 24 + 16 * ranks + np.concatenate([[0], np.cumsum(padded)[:-1]])
    file.write(b"isthruns" + np.array([_VERSION, ranks], "<u8").tobytes())
    file.write(np.stack([begin, size], axis=1).astype("<u8").tobytes())
    needs = np.ascontiguousarray(schedule.ops["needs"])
    for r in range(ranks):
        mine, its = slice(op_first[r], op_first[r + 1]), slice(edge_first[r], edge_first[r + 1])
        pieces: Sequence[bytes] = (
            np.array([room[r]], "<u8").tobytes(), steps[mine].tobytes(), needs[mine].tobytes(),
            schedule.edges[its].tobytes(),
        )  # fmt: skip
        checksum = 0
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
        header = np.zeros(1, _HEADER)
        header[0] = (_MARK, _VERSION, r, ranks, 1, count[r], edges[r], element, checksum)
        file.write(header.tobytes() + b"".join(pieces) + bytes(int(padded[r] - size[r])))


def read_parts(parts: Sequence[bytes], names: Sequence[str] = ("input", "output", "scratch")) -> Schedule:
    """Join the parts of all ranks, as ``isthmus_describe`` gives them, to a schedule.

    Parameters
    ----------
    parts : sequence of bytes
        One for each rank, in any order.
    names : sequence of str
        Names of the buffers.

    Raises
    ------
    ParseError
        If the parts are damaged, or not those of one schedule.
    """
    read = sorted((_read_part(part, i) for i, part in enumerate(parts)), key=lambda part: int(part[0]["rank"]))
    headers = [header for header, *_ in read]
    given = [(int(h["rank"]), int(h["ranks"]), int(h["buffers"])) for h in headers]
    if given != [(r, len(parts), len(names)) for r in range(len(parts))]:
        raise ParseError(
            "part 0", None, None, f"ranks, numbers of ranks and of buffers are {given}: must be those of one schedule"
        )
    steps = np.concatenate([steps for _, _, steps, _, _ in read])
    count = [int(h["steps"]) for h in headers]
    op, on, start = [], [], []
    base = 0
    for _, _, own, _, edges in read:
        ends = np.append(own["first_edge"][1:], len(edges)).astype(np.int64)
        on.append(base + np.repeat(np.arange(len(own)), ends - own["first_edge"]))
        op.append(base + (edges & ~np.uint32(0x80000000)).astype(np.int64))
        start.append(edges >= 0x80000000)
        base += len(own)
    slices = np.zeros(len(steps), SLICES)
    for side in ("from", "to"):
        slices[side]["buffer"] = steps[f"{side}_buffer"]
        slices[side]["buffer"][steps[f"{side}_buffer"] == _NO_BUFFER] = ALL_ONES
        slices[side]["offset"] = steps[side]
        slices[side]["stride"] = steps[f"{side}_stride"]
    slices["block"] = steps["block"]
    sizes = np.stack([size for _, size, *_ in read])
    return Schedule.of(
        len(parts),
        rank=np.repeat(np.arange(len(parts)), count),
        kind=steps["kind"],
        amount=steps["amount"],
        peer=steps["peer"],
        tag=steps["tag"],
        comm=steps["comm"],
        mode=np.where(steps["kind"] == OpKind.reduce, steps["order"], 0),
        op=np.concatenate(op),
        on=np.concatenate(on),
        start=np.concatenate(start),
        buffers={name: sizes[:, i] for i, name in enumerate(names)},
        slices=slices,
    )


def _read_part(part: bytes, number: int) -> tuple[Any, ...]:
    """Header, sizes of buffers, steps, needs and edges."""
    where = f"part {number}"
    if len(part) < _HEADER.itemsize:
        raise ParseError(where, None, None, f"it has {len(part)} bytes: its header alone has {_HEADER.itemsize}")
    header = np.frombuffer(part, _HEADER, 1)[0]
    if header["mark"] != _MARK or header["version"] != _VERSION:
        raise ParseError(where, None, None, f"it is no part of a schedule in version {_VERSION}")
    counts = (("<u8", "buffers"), (_STEP, "steps"), ("<u4", "steps"), ("<u4", "edges"))
    at, found = _HEADER.itemsize, []
    for dtype, name in counts:
        size = np.dtype(dtype).itemsize * int(header[name])
        if len(part) < at + size:
            raise ParseError(where, None, None, f"it has {len(part)} bytes, and ends before its {name}")
        found.append(np.frombuffer(part, dtype, int(header[name]), at))
        at += size
    if zlib.crc32(part[_HEADER.itemsize :]) != header["checksum"]:
        raise ParseError(where, None, None, "it is damaged: its checksum is wrong")
    return (header, *found)
