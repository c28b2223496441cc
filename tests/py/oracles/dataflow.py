"""Programs and schedules without time: who meets whom, and who waits for whom; slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from isthmus import Schedule

ANY = -1


@dataclass
class Call:
    """One event of a rank. ``send`` and ``recv`` are (peer, tag); ``completes`` numbers earlier calls of the rank."""

    send: tuple[int, int] | None = None
    recv: tuple[int, int] | None = None
    compute: bool = False
    blocking: bool = True
    completes: list[int] = field(default_factory=list)

    def parts(self) -> Iterator[tuple[str, tuple[int, int] | None]]:
        """Its operations, in order."""
        if self.send is not None:
            yield "send", self.send
        if self.recv is not None:
            yield "recv", self.recv
        if self.compute:
            yield "calc", None


#: An operation: rank, and number among the rank's operations.
Op = tuple[int, int]


@dataclass
class Outcome:
    """What has started and is done in the end, and which send met which receive."""

    started: set[Op] = field(default_factory=set)
    done: set[Op] = field(default_factory=set)
    matches: set[tuple[Op, Op]] = field(default_factory=set)


class Mail:
    """Matches messages as MPI does: in the order of sending and of posting."""

    def __init__(self, ranks: int, eager: bool, outcome: Outcome) -> None:
        self.unexpected: list[list[tuple[Op, int, object]]] = [[] for _ in range(ranks)]
        self.posted: list[list[tuple[Op, int, int, object]]] = [[] for _ in range(ranks)]
        self.eager = eager
        self.outcome = outcome

    def _match(self, send: Op, recv: Op) -> None:
        self.outcome.matches.add((send, recv))
        self.outcome.done |= {send, recv}

    def send(self, op: Op, to: int, tag: int, comm: object = None) -> None:
        if self.eager:
            self.outcome.done.add(op)
        for entry in self.posted[to]:
            recv, source, wanted, where = entry
            if source in (ANY, op[0]) and wanted in (ANY, tag) and where == comm:
                self.posted[to].remove(entry)
                return self._match(op, recv)
        return self.unexpected[to].append((op, tag, comm))

    def recv(self, op: Op, source: int, wanted: int, comm: object = None) -> None:
        for entry in self.unexpected[op[0]]:
            send, tag, where = entry
            if source in (ANY, send[0]) and wanted in (ANY, tag) and where == comm:
                self.unexpected[op[0]].remove(entry)
                return self._match(send, op)
        return self.posted[op[0]].append((op, source, wanted, comm))


def operations(calls: list[Call]) -> list[tuple[int, str]]:
    """Call and kind of every operation of a rank."""
    return [(i, kind) for i, call in enumerate(calls) for kind, _ in call.parts()]


def interpret(program: list[list[Call]], eager: bool) -> Outcome:
    """Ranks run in turn, each until it blocks."""
    outcome = Outcome()
    mail = Mail(len(program), eager, outcome)
    numbers: list[dict[int, list[Op]]] = []
    for rank, calls in enumerate(program):
        table: dict[int, list[Op]] = {i: [] for i in range(len(calls))}
        for number, (i, _) in enumerate(operations(calls)):
            table[i].append((rank, number))
        numbers.append(table)
    at = [0] * len(program)
    posted = [-1] * len(program)
    moved = True
    while moved:
        moved = False
        for rank, calls in enumerate(program):
            while at[rank] < len(calls):
                call = calls[at[rank]]
                mine = numbers[rank][at[rank]]
                if posted[rank] < at[rank]:
                    posted[rank] = at[rank]
                    moved = True  # what is posted may let a rank before this one go on
                    for op, (kind, message) in zip(mine, call.parts(), strict=True):
                        outcome.started.add(op)
                        if message is None:
                            outcome.done.add(op)
                        elif kind == "send":
                            mail.send(op, *message)
                        else:
                            mail.recv(op, *message)
                awaited = [op for i in call.completes for op in numbers[rank][i]] + (mine if call.blocking else [])
                if not outcome.done.issuperset(awaited):
                    break
                at[rank] += 1
                moved = True
    return outcome


def before(calls: list[Call]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Pairs of operations of a rank: the second starts only after the first is done, or after it has started."""
    ops = operations(calls)
    complete = {i: i if call.blocking else len(calls) for i, call in enumerate(calls)}
    for i, call in enumerate(calls):
        for other in call.completes:
            complete[other] = min(complete[other], i)
    pairs = [(a, b) for a in range(len(ops)) for b in range(a + 1, len(ops)) if ops[a][0] < ops[b][0]]
    return {(a, b) for a, b in pairs if complete[ops[a][0]] < ops[b][0]}, set(pairs)


@dataclass
class Node:
    kind: int
    amount: int
    peer: int
    tag: int
    comm: int
    edges: list[tuple[int, bool]] = field(default_factory=list)
    needs: int = 0


def nodes(schedule: Schedule, rank: int) -> list[Node]:
    """Operations of a rank with their dependants (number, on start)."""
    first, end = int(schedule.op_first[rank]), int(schedule.op_first[rank + 1])
    found = [
        Node(int(o["kind"]), int(o["amount"]), _signed(o["peer"]), _signed(o["tag"]), int(o["comm"]))
        for o in schedule.ops[first:end]
    ]
    for op, on, start in zip(*(column.tolist() for column in schedule.dependencies()), strict=True):
        if first <= op < end:
            found[on - first].edges.append((op - first, start))
            found[op - first].needs += 1
    return found


def _signed(number: int) -> int:
    return ANY if number == 0xFFFFFFFF else int(number)


def reached(graph: list[Node]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """As :func:`before`, by paths: those that begin with a full dependency, and all."""
    order: list[int] = []
    needs = [node.needs for node in graph]
    free = [i for i, n in enumerate(needs) if n == 0]
    while free:
        order.append(free.pop())
        for to, _ in graph[order[-1]].edges:
            needs[to] -= 1
            if needs[to] == 0:
                free.append(to)
    assert len(order) == len(graph), "cycle"
    below: list[set[int]] = [set() for _ in graph]
    full: list[set[int]] = [set() for _ in graph]
    for i in reversed(order):
        for to, start in graph[i].edges:
            below[i] |= {to} | below[to]
            if not start:
                full[i] |= {to} | below[to]
        # What has started after a calc of 0 ps has started after it was done.
        if graph[i].kind == 3:
            full[i] |= below[i]
    pairs = lambda sets: {(i, j) for i, to in enumerate(sets) for j in to}  # noqa: E731
    return pairs(full), pairs(below)


def execute(schedule: Schedule, eager: bool) -> Outcome:
    """Ranks run in turn; each starts its operations as soon as they may, in their order."""
    outcome = Outcome()
    mail = Mail(schedule.ranks, eager, outcome)
    graphs = [nodes(schedule, rank) for rank in range(schedule.ranks)]
    released: set[tuple[Op, bool]] = set()
    moved = True
    while moved:
        moved = False
        for rank, graph in enumerate(graphs):
            for number, node in enumerate(graph):
                op = (rank, number)
                if op not in outcome.started and node.needs == 0:
                    moved = True
                    outcome.started.add(op)
                    if node.kind == 1:
                        mail.send(op, node.peer, node.tag, node.comm)
                    elif node.kind == 2:
                        mail.recv(op, node.peer, node.tag, node.comm)
                    else:
                        outcome.done.add(op)
                for reason, on_start in ((outcome.started, True), (outcome.done, False)):
                    if op in reason and (op, on_start) not in released:
                        moved = True
                        released.add((op, on_start))
                        for to, start in node.edges:
                            graph[to].needs -= start == on_start
    return outcome
