"""The parts of a machine besides its interconnect: nodes, LogGP parameters per level, noise.

Every field carries its unit and its allowed range, which the readers and writers of all formats go by.
"""

from __future__ import annotations

import bisect
import dataclasses
from dataclasses import dataclass
from typing import Any, TypedDict

NOISE_KINDS = ("none", "periodic", "exponential", "file")
CORE_ORDERS = ("block", "cyclic")


def _field(default: Any, unit: str, doc: str, **more: Any) -> Any:
    return dataclasses.field(default=default, metadata={"unit": unit, "doc": doc, **more})


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Caches of one level of a node."""

    level: int = _field(1, "", "1 is nearest to the core", least=1)
    size: float = _field(0.0, "B", "size of one, for data")
    cores: int = _field(1, "", "cores that share one", least=1)


@dataclass(frozen=True, kw_only=True)
class Threads:
    """Memory bandwidth of some cores of a node."""

    threads: int = _field(1, "", "number of cores that use memory at once", least=1)
    bandwidth: float = _field(0.0, "B/s", "memory bandwidth of all of them together")


@dataclass(frozen=True, kw_only=True)
class Spmv:
    """Speed of sparse matrix-vector products up to a size, as caches make classes of it."""

    up_to: float = _field(0.0, "B", "largest working set of the class: matrix and vectors; 0 for any size")
    time_per_flop: float = _field(0.0, "s", "time of a floating-point operation, one core")


@dataclass(frozen=True, kw_only=True)
class WorkTime:
    """How long a core takes to copy or to reduce so many bytes; between two of these times lie those of other sizes."""

    bytes: float = _field(1.0, "B", "bytes that are copied, or combined with as many", least=1)
    time: float = _field(0.0, "s", "time, with what the operation itself costs")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the machine; numbers of cores and domains count the whole node."""

    sockets: int = _field(1, "", "packages of a node", least=1)
    numa: int = _field(1, "", "NUMA domains of a node, a multiple of sockets", least=1)
    cores: int = _field(1, "", "cores of a node, a multiple of numa", least=1)
    core_order: str = _field("block", "", "cores numbered socket by socket, or round the sockets", choices=CORE_ORDERS)
    nics: int = _field(1, "", "network interfaces", least=0)
    nic_bandwidth: float | None = _field(None, "B/s", "injection bandwidth of one interface, one direction")
    gpus: int = _field(0, "", "accelerators", least=0)
    gpu_flops: float | None = _field(None, "flop/s", "peak rate of one accelerator")
    gpu_memory_bandwidth: float | None = _field(None, "B/s", "memory bandwidth of one accelerator")
    memory: float | None = _field(None, "B", "memory of a node")
    memory_bandwidth: float | None = _field(None, "B/s", "memory bandwidth of a node")
    stream: tuple[tuple[float, ...], ...] | None = _field(
        None, "B/s", "STREAM bandwidth, rows by NUMA domain of the cores, columns by NUMA domain of the memory"
    )
    clock: float | None = _field(None, "Hz", "clock of a core")
    flops: float | None = _field(None, "flop/s", "peak rate of a node without its accelerators")
    caches: tuple[Cache, ...] = _field((), "", "caches, level by level", of=Cache)
    memory_bandwidth_by_threads: tuple[Threads, ...] = _field(
        (), "", "memory bandwidth by the number of cores that use it", of=Threads
    )
    spmv: tuple[Spmv, ...] = _field((), "", "speed of sparse matrix-vector products by working set", of=Spmv)
    power: float | None = _field(None, "W", "power that a busy node draws, with its share of everything else")
    price: float | None = _field(None, "", "price of a node for an hour, in any currency")
    start: float = _field(0.0, "s", "from the call that begins a schedule until its operations are carried out")
    copy: tuple[WorkTime, ...] = _field((), "", "times of copies by size, the smallest first", of=WorkTime)
    reduce: tuple[WorkTime, ...] = _field((), "", "times of reductions by size, the smallest first", of=WorkTime)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """LogGOPS parameters of the messages of one level that have more than so many bytes: all of them, in place of the
    level's own.

    A message of s bytes costs ``(s - after) G`` and so on beside what does not depend on its size. ``after`` is 1 as in
    LogGP, so that L, the overheads and g are those of a message of one byte if all were like these; where the line
    through the times of the piece would be below 0 there, it is larger, and they are those of a message of that many
    bytes.
    """

    above: float = _field(0.0, "B", "for messages of more bytes than these, up to those of the next piece")
    after: float = _field(1.0, "B", "bytes that cost nothing by the byte: the first, as in LogGP, or more")
    L: float = _field(0.0, "s", "latency")
    o_send: float = _field(0.0, "s", "processor time to send a message")
    o_recv: float = _field(0.0, "s", "processor time to receive a message")
    g: float = _field(0.0, "s", "time between two messages of one interface")
    G: float = _field(0.0, "s/B", "time per byte")
    O: float = _field(0.0, "s/B", "processor time per byte")  # noqa: E741 - the literature's name
    O_recv: float | None = _field(None, "s/B", "processor time per byte of the receiver; without it that of the sender")

    @property
    def O_of_receiver(self) -> float:
        """O_recv, or O where that is not given, seconds per byte."""
        return self.O if self.O_recv is None else self.O_recv


@dataclass(frozen=True, kw_only=True)
class Level:
    """LogGOPS parameters of one level (Hoefler, Schneider, Lumsdaine, "LogGOPSim", 2010), after LogP (Culler et al.,
    1993) and LogGP (Alexandrov et al., 1995).

    Where one line over all sizes does not describe a level, as protocols change with the size and caches end,
    ``pieces`` give other parameters for larger messages, the smallest first.
    """

    L: float = _field(0.0, "s", "latency")
    o_send: float = _field(0.0, "s", "processor time to send a message")
    o_recv: float = _field(0.0, "s", "processor time to receive a message")
    g: float = _field(0.0, "s", "time between two messages of one interface")
    G: float = _field(0.0, "s/B", "time per byte")
    O: float = _field(0.0, "s/B", "processor time per byte")  # noqa: E741 - the literature's name
    S: float = _field(65535.0, "B", "largest message that is sent eagerly; above it rendezvous")
    per_hop: float = _field(0.0, "s", "added for every link of a route beyond the first (network only)")
    O_recv: float | None = _field(None, "s/B", "processor time per byte of the receiver; without it that of the sender")
    queue: float | None = _field(
        None, "B", "of a large message, what goes before a later one of its node; without it all of it", least=1
    )
    pieces: tuple[Piece, ...] = _field((), "", "what holds for messages of more than so many bytes", of=Piece)

    @property
    def O_of_receiver(self) -> float:
        """O_recv, or O where that is not given, seconds per byte."""
        return self.O if self.O_recv is None else self.O_recv

    @property
    def all_pieces(self) -> tuple[Piece, ...]:
        """The level's own parameters as a piece for all messages, and the pieces."""
        own = {name: getattr(self, name) for name in ("L", "o_send", "o_recv", "g", "G", "O", "O_recv")}
        return (Piece(**own), *self.pieces)

    def piece(self, bytes: float) -> Piece:
        """Return the parameters that hold for a message of this size."""
        return self.all_pieces[bisect.bisect_left([piece.above for piece in self.pieces], bytes)]

    def least(self) -> Level:
        """Return a level without pieces at which no message takes longer: the least of every parameter."""
        if not self.pieces:
            return self
        pieces = self.all_pieces
        times = {name: min(getattr(p, name) for p in pieces) for name in ("L", "o_send", "o_recv", "g")}
        # The smallest message of a piece has the fewest bytes that cost something, of all but the first.
        part = [(p.above - p.after) / (p.above - 1) if p.above > 1 else 1.0 for p in pieces]
        rates = {
            name: min(share * getattr(p, of) for share, p in zip(part, pieces, strict=True))
            for name, of in (("G", "G"), ("O", "O"), ("O_recv", "O_of_receiver"))
        }
        return Level(**times, **rates, S=self.S, per_hop=self.per_hop, queue=self.queue)


# What a level has where neither the machine nor its specification says: a current cluster, to the order of magnitude.
DEFAULT_LEVELS = {
    "socket": Level(L=0.2e-6, o_send=0.1e-6, o_recv=0.1e-6, g=0.1e-6, G=0.1e-9),
    "node": Level(L=0.3e-6, o_send=0.15e-6, o_recv=0.15e-6, g=0.15e-6, G=0.15e-9),
    # G and per_hop follow from the links: one over the slowest bandwidth on the way, the first class's latency.
    "network": Level(L=1e-6, o_send=0.3e-6, o_recv=0.3e-6, g=0.3e-6),
}


@dataclass(frozen=True, kw_only=True)
class Levels:
    """LogGP parameters within a socket, between sockets of a node, and between nodes."""

    socket: Level = DEFAULT_LEVELS["socket"]
    node: Level = DEFAULT_LEVELS["node"]
    network: Level = DEFAULT_LEVELS["network"]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Operating system noise: the time that it takes from every core."""

    kind: str = _field("none", "", "model", choices=NOISE_KINDS)
    period: float | None = _field(None, "s", "time between two interruptions, or its mean")
    duration: float | None = _field(None, "s", "length of an interruption, or its mean")
    file: str | None = _field(None, "", "trace of interruptions: lines of start and duration in s")


@dataclass(frozen=True, repr=False)
class Provenance:
    """Source of a number, its status, and a note; of a measured one its interval (95 %, in SI units), the number of
    samples and the method."""

    source: str = ""
    status: str = "stated"
    note: str = ""
    interval: tuple[float, float] | None = None
    samples: int | None = None
    method: str = ""

    def __repr__(self) -> str:
        # What only measured numbers have is left out of others.
        known = vars(self)
        shown = [f"{key}={known[key]!r}" for key in known if key in ("source", "status", "note") or known[key]]
        return f"Provenance({', '.join(shown)})"


STATUSES = ("exact", "derived", "estimated", "recalled", "measured", "stated")


class ValueRow(TypedDict):
    """What the table of a machine says of one value."""

    path: str
    value: str | int | float | bool
    source: str
    status: str
    note: str
    interval: str
    samples: int | None
    method: str
