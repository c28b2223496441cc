"""Schedules drawn operation by operation, and taken apart into rows that can be changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from isthmus import Schedule
from isthmus.schedule.schedule import ALL_ONES, SLICES

Place = tuple[str, int]


@dataclass
class Row:
    """One operation; ``after`` numbers rows that it waits for, ``along`` those whose start it waits for."""

    rank: int
    kind: str
    amount: int
    peer: int = 0
    tag: int = 0
    at: Place | None = None
    into: Place | None = None
    block: int = 0
    strides: tuple[int, int] = (0, 0)
    mode: int = 0
    cpu: int = 0
    after: list[int] = field(default_factory=list)
    along: list[int] = field(default_factory=list)


@dataclass
class Sketch:
    """Rows of all ranks in any order; ``buffers``: bytes of each on every rank."""

    ranks: int
    buffers: dict[str, list[int]]
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, ranks: int, **buffers: int) -> Sketch:
        return cls(ranks, {name: [size] * ranks for name, size in buffers.items()})

    def add(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def send(
        self, rank: int, to: int, amount: int, at: Place, *after: int, tag: int = 0, along: tuple[int, ...] = ()
    ) -> int:
        return self.add(Row(rank, "send", amount, to, tag, at=at, after=[*after], along=[*along]))

    def recv(
        self, rank: int, source: int, amount: int, into: Place, *after: int, tag: int = 0, along: tuple[int, ...] = ()
    ) -> int:
        return self.add(Row(rank, "recv", amount, source, tag, into=into, after=[*after], along=[*along]))

    def copy(self, rank: int, amount: int, at: Place, into: Place, *after: int) -> int:
        return self.add(Row(rank, "copy", amount, at=at, into=into, after=[*after]))

    def reduce(self, rank: int, amount: int, at: Place, into: Place, *after: int, first: bool = False) -> int:
        return self.add(Row(rank, "reduce", amount, at=at, into=into, after=[*after], mode=int(first)))

    def schedule(self) -> Schedule:
        names = list(self.buffers)
        slices = np.zeros(len(self.rows), SLICES)
        for side, places in (("from", [r.at for r in self.rows]), ("to", [r.into for r in self.rows])):
            slices[side]["buffer"] = [ALL_ONES if p is None else names.index(p[0]) for p in places]
            slices[side]["offset"] = [0 if p is None else p[1] for p in places]
        slices["block"] = [r.block for r in self.rows]
        slices["from"]["stride"], slices["to"]["stride"] = ([r.strides[i] for r in self.rows] for i in range(2))
        pairs = [(i, on, False) for i, r in enumerate(self.rows) for on in r.after]
        pairs += [(i, on, True) for i, r in enumerate(self.rows) for on in r.along]
        op, on, start = zip(*pairs, strict=True) if pairs else ((), (), ())
        columns = {name: [getattr(r, name) for r in self.rows] for name in ("rank", "amount", "peer", "tag")}
        columns |= {name: [getattr(r, name) for r in self.rows] for name in ("mode", "cpu")}
        return Schedule.of(
            self.ranks,
            **columns,
            kind=[r.kind for r in self.rows],
            op=op,
            on=on,
            start=start if pairs else False,
            buffers=self.buffers,
            slices=slices,
        )

    def ordered(self) -> Sketch:
        """The same with dependencies in the order of their numbers."""
        rows = [replace(row, after=sorted(row.after), along=sorted(row.along)) for row in self.rows]
        return Sketch(self.ranks, self.buffers, rows)

    def changed(self, number: int, **fields: object) -> Sketch:
        """The same with one row changed."""
        rows = list(self.rows)
        rows[number] = replace(rows[number], **fields)  # type: ignore[arg-type]
        return Sketch(self.ranks, self.buffers, rows)

    def without(self, number: int) -> Sketch:
        """The same without one row; what waited for it does not wait."""

        def kept(numbers: list[int]) -> list[int]:
            return [n - (n > number) for n in numbers if n != number]

        rows = [replace(r, after=kept(r.after), along=kept(r.along)) for i, r in enumerate(self.rows) if i != number]
        return Sketch(self.ranks, self.buffers, rows)


def sketch(schedule: Schedule) -> Sketch:
    """A schedule as rows."""
    names = list(schedule.buffers)
    first = schedule.op_first.astype(np.int64)
    out = Sketch(schedule.ranks, {name: [int(n) for n in sizes] for name, sizes in schedule.buffers.items()})
    kinds = {1: "send", 2: "recv", 3: "calc", 4: "put", 5: "get", 6: "copy", 7: "reduce"}
    ranks = np.repeat(np.arange(schedule.ranks), np.diff(first))
    for rank, op, slices in zip(ranks, schedule.ops, schedule.slices, strict=True):
        at, into = (
            None if slices[side]["buffer"] == ALL_ONES else (names[slices[side]["buffer"]], int(slices[side]["offset"]))
            for side in ("from", "to")
        )
        peer, tag = (-1 if op[name] == ALL_ONES else int(op[name]) for name in ("peer", "tag"))
        row = Row(int(rank), kinds[int(op["kind"])], int(op["amount"]), peer, tag, at, into, int(slices["block"]))
        row.strides = int(slices["from"]["stride"]), int(slices["to"]["stride"])
        row.mode = int(op["mode"])
        row.cpu = int(op["cpu"])
        out.add(row)
    deps = schedule.dependencies()
    for op, on, start in zip(deps.op.tolist(), deps.on.tolist(), deps.start.tolist(), strict=True):
        (out.rows[op].along if start else out.rows[op].after).append(on)
    return out
