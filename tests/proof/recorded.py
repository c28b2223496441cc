"""The same matrices from a recording: from its raw traces and from the Program that was made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isthmus.recording import raw
from isthmus.schedule.program import Program

#: Bytes and messages, 2 x ranks x ranks.
Matrix = NDArray[np.int64]
Matrices = dict[str, Matrix]


def _members(traces: list[raw.Trace]) -> dict[int, tuple[int, ...]]:
    """World ranks of the communicators, by id."""
    return {comm.id: comm.local for trace in traces for comm in trace.comms if comm.local}


def of_raw(folder: Path, ranks: int) -> Matrices:
    """Bytes and messages between all pairs, as the recorder wrote them down.

    Returns
    -------
    dict of str to array, 2 x ranks x ranks
        ``E``: messages of the application; ``S``, ``R``: one-sided, written and read; ``w``: messages that an alltoallw
        is made of; ``p``: those of ``E`` that persistent requests sent.
    """
    traces = [raw.read_trace(path) for path in sorted(folder.rglob("*.trace"))]
    members = _members(traces)
    found = {letter: np.zeros((2, ranks, ranks), np.int64) for letter in "ESRwp"}
    for trace in traces:
        rank = int(trace.header["rank"])
        step, messages = trace.items[raw.MESSAGE].step, trace.items[raw.MESSAGE].item
        sent = (messages["direction"] == 0) & (messages["world"] >= 0)
        started = sent & (trace.steps["form"][step] == raw.START)
        for letter, some in (("E", messages[sent]), ("p", messages[started])):
            np.add.at(found[letter][0, rank], some["world"], some["bytes"].astype(np.int64))
            np.add.at(found[letter][1, rank], some["world"], 1)
        _one_sided(trace, rank, found)
        _alltoallw(trace, rank, members, found["w"])
    return found


def _one_sided(trace: raw.Trace, rank: int, found: Matrices) -> None:
    item = trace.items[raw.RMA].item
    for letter, kinds, column in (
        ("S", (raw.PUT, raw.ACCUMULATE, raw.GET_ACCUMULATE), "bytes"),
        ("R", (raw.GET, raw.GET_ACCUMULATE), "fetched"),
    ):
        some = item[np.isin(item["kind"], kinds) & (item["world"] >= 0)]
        np.add.at(found[letter][0, rank], some["world"], some[column].astype(np.int64))
        np.add.at(found[letter][1, rank], some["world"], 1)


def _alltoallw(trace: raw.Trace, rank: int, members: dict[int, tuple[int, ...]], matrix: Matrix) -> None:
    items = trace.items[raw.COLLECTIVE]
    begin = np.concatenate([[0], np.cumsum(items.item["counts"].astype(np.int64))])
    for step, item, at in zip(items.step, items.item, begin[:-1], strict=True):
        name = trace.functions[int(trace.steps["function"][step])].lower()
        if "alltoallw" not in name or item["flags"] & (raw.IN_PLACE | raw.INTER) or item["request"]:
            continue
        world = np.array(members[int(item["comm"])])
        sizes = trace.counts[at : at + len(world)]
        others = world != rank
        np.add.at(matrix[0, rank], world[others], sizes[others])
        np.add.at(matrix[1, rank], world[others], 1)


def of_program(program: Program) -> Matrices:
    """Bytes and messages between all pairs, from the events of the Program."""
    from isthmus.schedule.program import EventKind

    ranks = program.ranks
    rank = np.repeat(np.arange(ranks), np.diff(program.first.astype(np.int64)))
    sends = (EventKind.send, EventKind.isend, EventKind.sendrecv)
    sent = np.flatnonzero(np.isin(program.kind, sends) & (program.peer >= 0))
    comm, peer = program.comm[sent], program.peer[sent]
    world = program.comm_ranks[program.comm_first[comm].astype(np.int64) + peer]
    matrix = np.zeros((2, ranks, ranks), np.int64)
    np.add.at(matrix[0], (rank[sent], world), program.amount[sent].astype(np.int64))
    np.add.at(matrix[1], (rank[sent], world), 1)
    return {"E": matrix}
