"""LogGOPS simulation, written for reading: one heap of events, dictionaries for the clocks, lists for the queues.

Times are whole picoseconds. After Hoefler, Schneider, Lumsdaine, "LogGOPSim: simulating large-scale applications in the
LogGOPS model", 2010, with put, get, copy and reduce beside its send, recv and calc, and with sends by rendezvous that
begin when their receives have been posted.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

SEND, RECV, CALC, PUT, GET, COPY, REDUCE = range(1, 8)
WITH_PEER = (SEND, RECV, PUT, GET)
ANY = 0xFFFFFFFF  # source or tag of a receive


@dataclass
class Op:
    """One operation of a rank; `after` and `after_start` number operations of the same rank that it waits for."""

    kind: int
    amount: int = 0
    peer: int = 0
    tag: int = 0
    comm: int = 0
    cpu: int = 0
    nic: int = 0
    after: list[int] = field(default_factory=list)
    after_start: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Parameters:
    """LogGOPS parameters in ps and ps per byte; S in bytes. `pieces` hold for messages of more than `above` bytes, and
    leave S to what they are pieces of."""

    L: int = 0
    o_send: int = 0
    o_recv: int = 0
    g: int = 0
    G: float = 0
    O: float = 0  # noqa: E741 - the literature's name
    S: float = 65535
    O_recv: float | None = None
    after: int = 1
    above: int = 0
    pieces: tuple[Parameters, ...] = ()

    def of(self, size: int) -> Parameters:
        """Of messages of this size."""
        larger = [piece for piece in self.pieces if size > piece.above]
        return replace(larger[-1], S=self.S) if larger else self

    def wire(self, size: int) -> int:
        return nearest(max(size - self.after, 0) * self.G)

    def handling(self, size: int) -> int:
        return nearest(max(size - self.after, 0) * self.O)

    def receiving(self, size: int) -> int:
        return self.handling(size) if self.O_recv is None else nearest(max(size - self.after, 0) * self.O_recv)


def nearest(x: float) -> int:
    return math.floor(x + 0.5)


# Rank and number within it.
At = tuple[int, int]
# Rank, CPU stream, start and length of a piece of work: what is to be added to its length.
Noise = Callable[[int, int, int, int], int]
# Rank, the other rank of the message, number of the interface: a name of the interface.
Interface = Callable[[int, int, int], Hashable]


@dataclass
class Result:
    """Of one simulation; operations that never started or ended have no entry."""

    finish: list[int]
    start: dict[At, int]
    end: dict[At, int]
    pairs: list[tuple[At, At]]  # send, recv
    stuck: list[At]
    work: dict[str, list[int]]  # by what the CPU did, per rank

    @property
    def makespan(self) -> int:
        return max(self.finish, default=0)


class Simulation:
    """`params(source, target)` are those of a message on this way; `whole`: a message keeps its receiver's processor
    all the time, as in LogGOPSim."""

    def __init__(
        self,
        ranks: list[list[Op]],
        params: Callable[[int, int], Parameters],
        noise: Noise = lambda rank, cpu, start, work: 0,
        interface: Interface = lambda rank, peer, nic: (rank, nic),
        copy_rate: float = 0,
        reduce_rate: float = 0,
        whole: bool = False,
    ) -> None:
        self.ranks, self.params, self.noise, self.interface = ranks, params, noise, interface
        self.whole = whole
        self.rate = {CALC: 1, COPY: copy_rate, REDUCE: reduce_rate}
        self.cpu_free: dict[At, int] = defaultdict(int)  # rank and stream
        self.not_before: dict[At, int] = defaultdict(int)  # operations that wait for another stream
        self.send_free: dict[Hashable, int] = defaultdict(int)  # interface
        self.recv_free: dict[Hashable, int] = defaultdict(int)
        self.posted: dict[int, list[At]] = defaultdict(list)  # rank: receives in the order of posting
        self.unexpected: dict[int, list[At]] = defaultdict(list)  # rank: sends in the order of arrival
        self.handled: dict[At, int] = {}  # send, put, get: when the CPU was through with it
        self.landed: dict[At, int] = {}  # send: when so much of it is there that the receiver's CPU can handle it
        self.received: dict[At, int] = {}  # send: the same at the receiver
        # Of every source, target, tag and communicator: sends that were issued; when receives are posted, and which.
        self.issued: dict[Hashable, list[At]] = defaultdict(list)
        self.announced: dict[Hashable, list[tuple[int, At]]] = defaultdict(list)
        self.aside: set[At] = set()  # sends that wait for their receives, or have
        self.wild = {r for r, ops in enumerate(ranks) for op in ops if op.kind == RECV and ANY in (op.peer, op.tag)}
        self.by_rendezvous = not whole and any(
            op.kind == SEND and op.amount > params(r, op.peer).S for r, ops in enumerate(ranks) for op in ops
        )
        self.queue: list[tuple] = []
        self.stamps = 0
        self.ready: list[At] = []
        self.by_end: set[At] = set()
        self.waits: dict[At, int] = {}
        self.done_frees: dict[At, list[At]] = defaultdict(list)
        self.start_frees: dict[At, list[At]] = defaultdict(list)
        for r, ops in enumerate(ranks):
            for i, op in enumerate(ops):
                self.waits[r, i] = len(op.after) + len(op.after_start)
                for j in op.after:
                    self.done_frees[r, j].append((r, i))
                for j in op.after_start:
                    self.start_frees[r, j].append((r, i))
        kinds = ("compute", "send_overhead", "recv_overhead", "noise")
        self.result = Result([0] * len(ranks), {}, {}, [], [], {kind: [0] * len(ranks) for kind in kinds})
        self.is_done: set[At] = set()

    def run(self) -> Result:
        self.ready = [at for at, n in self.waits.items() if n == 0]
        self.release(0)
        while self.queue:
            now, stamp, handle, at = heapq.heappop(self.queue)
            free = handle(now, at)
            if free > now:  # resources are busy until then: try again, before whatever was added later
                heapq.heappush(self.queue, (free, stamp, handle, at))
            self.release(now)
        for (rank, _), free in self.cpu_free.items():
            self.result.finish[rank] = max(self.result.finish[rank], free)
        self.result.stuck = [at for at in self.waits if at not in self.is_done]
        return self.result

    def add(self, time: int, handle: Callable[[int, At], int], at: At) -> None:
        heapq.heappush(self.queue, (time, self.stamps, handle, at))
        self.stamps += 1

    def op(self, at: At) -> Op:
        return self.ranks[at[0]][at[1]]

    def near(self, at: At) -> Hashable:
        """Interface of the rank that has the operation."""
        return self.interface(at[0], self.op(at).peer, self.op(at).nic)

    def far(self, at: At) -> Hashable:
        """Interface of its peer."""
        return self.interface(self.op(at).peer, at[0], self.op(at).nic)

    def release(self, now: int) -> None:
        """Puts operations that have nothing more to wait for into the queue: by rank, kind, number.

        As LogGOPSim does it, those that were freed by a start come before those that were freed by an end.
        """
        for at in sorted(self.ready, key=lambda at: (at[0], self.op(at).kind, self.whole and at in self.by_end, at[1])):
            op = self.op(at)
            time = max(now, self.cpu_free[at[0], op.cpu], self.not_before[at])
            if op.kind in (SEND, PUT):
                time = max(time, self.send_free[self.near(at)])
            handle = {SEND: self.send, RECV: self.recv, PUT: self.send, GET: self.get}.get(op.kind, self.local)
            self.add(time, handle, at)
            if op.kind == RECV and self.is_paired(at[0]):
                key = (op.peer, at[0], op.tag, op.comm)
                self.announced[key].append((time, at))
                place = len(self.announced[key])
                if len(self.issued[key]) >= place and self.issued[key][place - 1] in self.aside:
                    self.add(time, self.send, self.issued[key][place - 1])
        self.ready = []

    def is_paired(self, rank: int) -> bool:
        """The n-th send to it takes the n-th receive, counted when one is issued and the other is ready."""
        return self.by_rendezvous and rank not in self.wild

    def stands_aside(self, now: int, at: At) -> bool:
        """A send is issued: does it have to wait for its receive to be posted?"""
        op = self.op(at)
        key = (at[0], op.peer, op.tag, op.comm)
        if not self.is_paired(op.peer) or at in self.issued[key]:
            return False
        self.issued[key].append(at)
        posted = self.announced[key][len(self.issued[key]) - 1 :][:1]
        if op.amount <= self.params(at[0], op.peer).S or (posted and posted[0][0] <= now):
            return False
        if posted:
            self.add(posted[0][0], self.send, at)
        self.aside.add(at)
        self.started(now, at)
        return True

    def started(self, now: int, at: At) -> None:
        self.result.start[at] = now
        self.freed(self.start_frees[at])

    def done(self, end: int, at: At) -> None:
        self.result.end[at] = end
        self.is_done.add(at)
        for dependant in self.done_frees[at]:  # on whatever stream, it waits for the work
            self.not_before[dependant] = max(self.not_before[dependant], end)
        self.freed(self.done_frees[at], by_end=True)

    def freed(self, dependants: list[At], by_end: bool = False) -> None:
        for at in dependants:
            self.waits[at] -= 1
            if self.waits[at] == 0:
                self.ready.append(at)
                if by_end:
                    self.by_end.add(at)

    def occupy(self, now: int, rank: int, cpu: int, what: str, work: int) -> int:
        """The CPU stream works from now on; how much longer than `work` because of noise."""
        noise = self.noise(rank, cpu, now, work)
        self.cpu_free[rank, cpu] = now + work + noise
        self.result.work[what][rank] += work
        self.result.work["noise"][rank] += noise
        return noise

    # Handlers of events: what happens at `now`, or, if that has to wait, until when at least. They return that time.

    def local(self, now: int, at: At) -> int:
        op, rank = self.op(at), at[0]
        if self.cpu_free[rank, op.cpu] > now:
            return self.cpu_free[rank, op.cpu]
        self.occupy(now, rank, op.cpu, "compute", nearest(op.amount * self.rate[op.kind]))
        self.started(now, at)
        self.done(self.cpu_free[rank, op.cpu], at)
        return now

    def send(self, now: int, at: At) -> int:
        """Of a message, or of the bytes of a put."""
        op, rank = self.op(at), at[0]
        free = max(self.cpu_free[rank, op.cpu], self.send_free[self.near(at)])
        if free > now:
            return free
        if op.kind == SEND and self.stands_aside(now, at):
            return now
        p = self.params(rank, op.peer).of(op.amount)
        noise = self.occupy(now, rank, op.cpu, "send_overhead", p.o_send + p.handling(op.amount))
        self.send_free[self.near(at)] = now + p.g + p.wire(op.amount)
        if at in self.aside:
            self.result.start[at] = now
        else:
            self.started(now, at)
        self.add(now + noise + p.o_send + p.L, self.put_arrives if op.kind == PUT else self.message, at)
        self.handled[at] = self.cpu_free[rank, op.cpu]
        if op.kind == SEND and op.amount <= p.S:
            self.done(self.handled[at], at)
        return now

    def recv(self, now: int, at: At) -> int:
        self.started(now, at)
        if self.is_paired(at[0]):
            self.release(now)
        for send in self.unexpected[at[0]]:
            if self.fits(send, at):
                self.unexpected[at[0]].remove(send)
                self.match(now, send, at)
                return now
        self.posted[at[0]].append(at)
        return now

    def message(self, now: int, send: At) -> int:
        """The head of a message has arrived: first it takes the interface, then the processor, so that it is handled o
        after its last byte has arrived."""
        op = self.op(send)
        rank = op.peer
        p = self.params(send[0], rank).of(op.amount)
        by_wire, by_cpu = p.wire(op.amount), p.receiving(op.amount)
        if send not in self.landed:
            free = max(self.recv_free[self.far(send)], self.cpu_free[rank, op.cpu] if self.whole else 0)
            if free > now:
                return free
            self.recv_free[self.far(send)] = now + p.g + by_wire
            self.landed[send] = now if self.whole else now + max(0, by_wire - by_cpu)
        free = max(self.landed[send], self.cpu_free[rank, op.cpu])
        if free > now:
            return free
        self.occupy(now, rank, op.cpu, "recv_overhead", p.o_recv + (max(by_cpu, by_wire) if self.whole else by_cpu))
        self.received[send] = self.cpu_free[rank, op.cpu]
        for recv in self.posted[rank]:
            if self.fits(send, recv):
                self.posted[rank].remove(recv)
                self.match(now, send, recv)
                return now
        self.unexpected[rank].append(send)
        return now

    def fits(self, send: At, recv: At) -> bool:
        s, r = self.op(send), self.op(recv)
        if r.peer not in (ANY, send[0]) or r.tag not in (ANY, s.tag) or r.comm != s.comm:
            return False
        if not self.is_paired(recv[0]):
            return True
        key = (send[0], recv[0], s.tag, s.comm)
        return self.announced[key][self.issued[key].index(send) :][:1] == [(self.result.start[recv], recv)]

    def match(self, now: int, send: At, recv: At) -> None:
        self.result.pairs.append((send, recv))
        self.done(max(now, self.received[send]), recv)
        s, rank = self.op(send), send[0]
        if s.amount > self.params(rank, s.peer).S:
            self.cpu_free[rank, s.cpu] = max(self.cpu_free[rank, s.cpu], now)
            self.send_free[self.near(send)] = max(self.send_free[self.near(send)], now)
            self.done(max(now, self.handled[send]), send)

    def put_arrives(self, now: int, at: At) -> int:
        """At the interface of the target."""
        op = self.op(at)
        if self.recv_free[self.far(at)] > now:
            return self.recv_free[self.far(at)]
        p = self.params(at[0], op.peer).of(op.amount)
        self.recv_free[self.far(at)] = now + p.g + p.wire(op.amount)
        self.add(now + p.wire(op.amount) + self.params(op.peer, at[0]).of(op.amount).L, self.complete, at)
        return now

    def get(self, now: int, at: At) -> int:
        op, rank = self.op(at), at[0]
        if self.cpu_free[rank, op.cpu] > now:
            return self.cpu_free[rank, op.cpu]
        p = self.params(rank, op.peer).of(op.amount)
        noise = self.occupy(now, rank, op.cpu, "send_overhead", p.o_send)
        self.handled[at] = self.cpu_free[rank, op.cpu]
        self.started(now, at)
        self.add(now + noise + p.o_send + p.L, self.get_answers, at)
        return now

    def get_answers(self, now: int, at: At) -> int:
        """The interface of the target sends the bytes."""
        op = self.op(at)
        if self.send_free[self.far(at)] > now:
            return self.send_free[self.far(at)]
        p = self.params(op.peer, at[0]).of(op.amount)
        self.send_free[self.far(at)] = now + p.g + p.wire(op.amount)
        self.add(now + p.L, self.get_arrives, at)
        return now

    def get_arrives(self, now: int, at: At) -> int:
        """At the interface of the initiator."""
        op, rank = self.op(at), at[0]
        if self.recv_free[self.near(at)] > now:
            return self.recv_free[self.near(at)]
        p = self.params(op.peer, rank).of(op.amount)
        self.recv_free[self.near(at)] = now + p.g + p.wire(op.amount)
        self.add(now + p.wire(op.amount), self.complete, at)
        return now

    def complete(self, now: int, at: At) -> int:
        """A put or get is done."""
        self.done(max(now, self.handled[at]), at)
        self.result.finish[at[0]] = now
        return now


def simulate(ranks: list[list[Op]], params: Parameters | Callable[[int, int], Parameters], **more) -> Result:
    """See Simulation; `params` may be one set for all messages."""
    each = params if callable(params) else (lambda source, target: params)
    return Simulation(ranks, each, **more).run()
