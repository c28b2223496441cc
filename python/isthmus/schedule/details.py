"""Details of events: lists of numbers in one array, each preceded by its length."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from . import columns
from .event import NONE, PEERED, ROOTED, CollectiveKind, EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .program import Program


def ranges(begin: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers begin[i], begin[i] + 1, ... of lengths[i] numbers, one range after another."""
    lengths = lengths.astype(np.int64)
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    out = np.arange(total)
    out += np.repeat(begin.astype(np.int64) - (ends - lengths), lengths)
    return out


def expand(details: NDArray[np.int64], detail: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of these details, one after another, and how many each has."""
    lengths = np.where(detail == 0, 0, details[detail])
    return details[ranges(detail.astype(np.int64) + 1, lengths)], lengths


def relabelled(program: Program, to: NDArray[np.uint32]) -> Program:
    """The program with rank r called to[r]; see :meth:`Program.relabel`."""
    ranks = program.ranks
    if len(to) != ranks or not np.array_equal(np.sort(to), np.arange(ranks)):
        raise InvalidInput(f"relabel needs a permutation of the {ranks} ranks")
    lengths = columns.lengths(program.first)
    at = np.empty(ranks, np.int64)
    at[to] = np.arange(ranks)
    order = ranges(program.first[at], lengths[at])
    named: dict[str, Any] = {
        name: getattr(program, name)[order] for name in ("kind", "what", "tag", "comm", "amount", "request")
    }
    for name in ("location", "phase"):
        if len(column := getattr(program, name)):
            named[name] = column[order]
    peer, detail = program.peer[order], program.detail[order]
    world = named["comm"] == 0
    rooted = (named["kind"] == EventKind.collective) & columns.among(named["what"], ROOTED)
    in_range = world & (columns.among(named["kind"], PEERED) | rooted) & (peer >= 0) & (peer < ranks)
    # Communicators other than the world have the same members under new names: nothing changes for their peers.
    peer = np.where(in_range, to.astype(np.int32)[np.where(in_range, peer, 0)], peer)
    details, detail = _relabelled_details(program.details, detail, _meaning(named, world), to.astype(np.int64))
    comm_ranks = to[program.comm_ranks]
    comm_ranks[:ranks] = np.arange(ranks)
    first = np.concatenate([[0], np.cumsum(lengths[at])]).astype(np.uint64)
    if program.recording is not None:
        events = np.empty(len(order), np.int64)
        events[order] = np.arange(len(order))
        named["recording"] = program.recording.relabelled(to, events)
    return replace(program, first=first, peer=peer, detail=detail, details=details, comm_ranks=comm_ranks, **named)


# What of a detail are ranks of the world.
_NOTHING, _SOURCE, _BLOCKS, _NEIGHBORS = range(4)


def _meaning(table: dict[str, NDArray[Any]], world: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The case of each event, among those above."""
    collective = world & (table["kind"] == EventKind.collective)
    neighbors = collective & (table["what"] == CollectiveKind.neighbor_alltoall)
    cases = [world & (table["kind"] == EventKind.sendrecv), neighbors, collective]
    return np.select(cases, [_SOURCE, _NEIGHBORS, _BLOCKS], _NOTHING)


def _relabelled_details(
    details: NDArray[np.int64], detail: NDArray[np.uint32], meaning: NDArray[np.int64], to: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """New details, each used with one meaning only, and where those of the events are."""
    ranks = len(to)
    with_detail = np.flatnonzero(detail)
    pairs = detail[with_detail].astype(np.int64) * 4 + meaning[with_detail]
    different, index = np.unique(pairs, return_inverse=True)
    old, case = different // 4, different % 4
    lengths = details[old]
    begin = np.concatenate([[1], 1 + np.cumsum(lengths + 1)])
    if begin[-1] > NONE:
        raise InvalidInput(f"details would take {begin[-1]} numbers: must be at most {NONE}")
    new = np.zeros(begin[-1], np.int64)
    new[begin[:-1]] = lengths
    values, _ = expand(details, old.astype(np.uint32))
    owner = np.repeat(np.arange(len(old)), lengths)
    offset = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    # Blocks are one list, or two halves, of one number for each rank.
    blocks = (case[owner] == _BLOCKS) & (lengths[owner] % ranks == 0)
    offset = np.where(blocks, offset - offset % ranks + to[offset % ranks], offset)
    named = ((case[owner] == _SOURCE) & (offset == 0)) | ((case[owner] == _NEIGHBORS) & (offset % 3 == 0))
    named &= (values >= 0) & (values < ranks)
    values = np.where(named, to[np.where(named, values, 0)], values)
    new[begin[owner] + 1 + offset] = values
    places = np.zeros(len(detail), np.uint32)
    places[with_detail] = begin[index]
    return new, places
