"""Random schedules and programs with every column in use. Hypothesis draws a seed: failures shrink in size only."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from isthmus import ANY, NULL, Program, ProgramBuilder, Schedule
from isthmus.schedule.schedule import ALL_ONES, SLICES

KINDS = ("send", "recv", "calc", "put", "get", "copy", "reduce")
# A column of the arguments of Schedule.of for each operation, and dependencies by numbers of operations.
Columns = dict[str, Any]


def random_columns(random: Random, ranks: int, ops: int, buffers: int = 0) -> Columns:
    """Arguments of Schedule.of: operations in any order of ranks, dependencies on operations given before."""
    table: Columns = {
        "rank": [random.randrange(ranks) for _ in range(ops)],
        "kind": [random.choice(KINDS) for _ in range(ops)],
        "amount": [random.choice([0, 1, 8, 2**40]) for _ in range(ops)],
        "peer": [random.randrange(ranks) for _ in range(ops)],
        "tag": [random.randrange(4) for _ in range(ops)],
        "comm": [random.randrange(3) for _ in range(ops)],
        "cpu": [random.choice([0, 1, 255]) for _ in range(ops)],
        "nic": [random.choice([0, 1, 255]) for _ in range(ops)],
        "op": [],
        "on": [],
        "start": [],
    }
    for i in range(ops):
        if table["kind"][i] == "recv" and random.random() < 0.3:
            table["peer"][i] = ANY
            table["tag"][i] = ANY
        before = [j for j in range(i) if table["rank"][j] == table["rank"][i]]
        for j in random.sample(before, min(len(before), random.randrange(4))):
            table["op"].append(i)
            table["on"].append(j)
            table["start"].append(random.random() < 0.3)
    if buffers:
        table["buffers"] = {f"büffer {b}": [2**41 + random.randrange(9) for _ in range(ranks)] for b in range(buffers)}
        slices = np.zeros(ops, SLICES)
        copies = zip(table["kind"], table["amount"], strict=True)
        slices["block"] = [random.randrange(4) if kind == "copy" and size <= 8 else 0 for kind, size in copies]
        for side, without in (("from", ("recv", "calc")), ("to", ("send", "calc"))):
            named = [ALL_ONES if kind in without else random.randrange(buffers) for kind in table["kind"]]
            slices[side]["buffer"] = named
            slices[side]["offset"] = [random.randrange(100, 200) for _ in range(ops)]
            slices[side]["stride"] = (slices["block"] != 0) * [random.choice([-2, -1, 1, 3]) for _ in range(ops)]
        table["slices"] = slices
    return table


@st.composite
def schedule_columns(draw: st.DrawFn) -> tuple[int, Columns]:
    """Ranks, and the other arguments of Schedule.of."""
    ranks, ops = draw(st.integers(1, 6)), draw(st.integers(0, 40))
    return ranks, random_columns(draw(st.randoms(use_true_random=False)), ranks, ops, draw(st.integers(0, 2)))


schedules = schedule_columns().map(lambda drawn: Schedule.of(drawn[0], **drawn[1]))


def fill(b: ProgramBuilder, random: Random, steps: int) -> None:
    """Steps that all ranks take together, so that the program is valid whatever they are."""
    ranks, everyone = b.ranks, np.arange(b.ranks)
    right, left = (everyone + 1) % ranks, (everyone - 1) % ranks
    comms = [(0, everyone)]
    for _ in range(steps):
        comm, members = random.choice(comms)
        size, kind = len(members), random.randrange(12)
        if kind == 0:
            b.compute(None, [random.random() for _ in range(ranks)])
        elif kind == 1:
            sent, got = b.isend(None, right, random.randrange(100), 5), b.irecv(None, ANY, 100, ANY)
            b.test(None, sent, False)
            b.waitany(None, np.stack([sent, got], 1), 1)
            b.wait(None, sent)
        elif kind == 2:
            b.isend(None, right, 10, tag=everyone)
            b.irecv(None, left, 10, tag=left)
            b.waitall(None)
        elif kind == 3:
            b.sendrecv(None, right, 7, left, 7, 1, ANY)
        elif kind == 4:
            b.send(0, NULL, 3)
            b.recv(ranks - 1, NULL, 3)
        elif kind == 5:
            name = random.choice(["bcast", "reduce", "gather", "scatter"])
            b.collective(name, members, 24, random.randrange(size), comm)
        elif kind == 6:
            name = random.choice(["gather", "allgather", "scatter", "reduce_scatter"])
            b.collective(name, members, 0, 0, comm, counts=[random.randrange(9) for _ in range(size)])
        elif kind == 7:
            table = np.array([[random.randrange(9) for _ in range(size)] for _ in range(size)])
            b.alltoall(members, counts=np.hstack([table, table.T]), comm=comm)
        elif kind == 8:
            pairs = [[(j, 4, 5)] if (j := size - 1 - i) != i else [] for i in range(size)]
            done = b.neighbor_alltoall(members, pairs, comm, nonblocking=True)
            b.waitall(members, done[:, None])
        elif kind == 9:
            b.put(members, 0, 8, comm)
            b.get(members, size - 1, 9, comm)
            b.flush(members, comm=comm)
            b.fence(members, comm)
            b.lock(members, 0, comm)
            b.unlock(members, 0, comm)
        elif kind == 10:
            b.iteration(None, random.randrange(5))
        elif kind == 11:
            color = np.array([random.randrange(-1, 2) for _ in members])
            made = b.split(color, [random.randrange(3) for _ in members], comm)
            comms += [(c, b.build().members(c)) for c in set(made.tolist()) - {-1}]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    random = draw(st.randoms(use_true_random=False))
    b = ProgramBuilder(draw(st.integers(1, 6)))
    fill(b, random, draw(st.integers(0, 8)))
    if draw(st.booleans()):
        with b.phase("Lösung"), b.location("solve.f90:12"):
            fill(b, random, 2)
        with b.phase("output"):
            fill(b, random, 1)
    return b.build()
