"""Plans: what is measured in which launch, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import InvalidInput
from .node import NodeShape
from .places import Places
from .samples import Item, Value

#: What may be measured, and what it is; in the order in which it is shown.
PARTS = {
    "stream": "memory bandwidth (STREAM), by NUMA domain and by number of threads",
    "flops": "peak of a core, and sparse matrix-vector products by working set",
    "noise": "interruptions of each core by the operating system",
    "loggp": "LogGP parameters of each level",
    "messages": "latency, bandwidth, both directions, and message rate",
    "queues": "the cost of long queues of posted and of unexpected messages",
    "collectives": "every collective, blocking and nonblocking",
    "contention": "pairs of nodes that communicate at once, by distance",
    "startup": "time of launch and MPI_Init, and memory of MPI",
}
#: What carries the messages that are measured, and the parts that can be measured with it.
TRANSPORTS = {"mpi": tuple(PARTS), "isthmus": ("stream", "flops", "noise", "loggp")}
#: The launch that finds out where ranks land.
SURVEY = "survey"
#: Parts that need no MPI.
ALONE = ("stream", "flops", "noise")
#: Shares of the budget.
_SHARES = {
    "stream": 1.5,
    "flops": 1.2,
    "noise": 1.0,
    "loggp": 4.0,
    "messages": 2.0,
    "queues": 0.6,
    "collectives": 3.0,
    "contention": 1.0,
    "startup": 1.2,
}
#: Seconds of a whole measurement; launchers and fits come on top.
FULL, QUICK = 170.0, 17.0
TOLERANCE = 0.02
COLLECTIVES = (
    *("barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "gather", "gatherv", "scatter", "scatterv", "scan", "exscan"),
)
_SEVERAL = ("allreduce", "bcast", "allgather", "alltoall")
#: Messages above are hardly ever sent eagerly, messages up to this size hardly ever by rendezvous.
_EAGER, _RENDEZVOUS = 1 << 17, 1 << 10
#: Items with such names are for the check of what was fitted: no fit and no curve takes them.
UNSEEN = "check."
#: Sizes of half round trips that no fit has, sizes of other messages, and lengths of bursts, for the check.
_BETWEEN = (5, 100, 700, 2500, 5000, 20_000, 80_000, 300_000, 700_000, 1_500_000, 3_000_000)
_SIZES = (1, 100, 700, 2500, 5000, 20_000, 80_000, 300_000, 1_500_000, 1 << 22)
_BURSTS = (2, 8, 64)
#: Sizes of messages of data that was just written: below, such cache lines are a few.
_FRESH = (1024, 4096, 16384, 65536, 262144, 1 << 20, 1 << 22)
#: What a rank does with data of its own in a collective, by the tables of a node, and sizes.
LOCAL = ("copy", "reduce")
_LOCAL_SIZES = (8, 64, 512, 2048, 4096, 16384, 65536, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22)
#: Bytes of a stream, where messages are not so large that eight are more.
_STREAM = 1 << 21
#: Bytes of a message behind which others of its node wait: more than queues hold.
LARGE = 1 << 22
#: Most bytes of a burst.
_BURST = 1 << 23
#: Collectives of --quick.
_QUICK = ("barrier", *_SEVERAL)
#: Bytes of the working set of a sparse matrix-vector product for each row: 27 entries of 12 bytes, and the vectors.
ROW = 27 * 12 + 20
OPS = ("copy", "scale", "add", "triad")


@dataclass(frozen=True)
class Launch:
    """Items that one run of a program measures.

    Attributes
    ----------
    name : str
        Such as ``"mpi"``: journals are called by it.
    program : {"node", "mpi"}
    items : tuple of Item
    budget : float
        Seconds.
    ranks : int or None
        How many ranks to start; None: as the launcher's words say.
    least, most : int
        Samples of an item.
    tolerance : float
        Half width of the interval of a median at which an item ends, relative.
    bind : tuple of int
        Processor to which each rank binds itself; empty: as the launcher starts them.
    """

    name: str
    program: str
    items: tuple[Item, ...]
    budget: float
    ranks: int | None = None
    least: int = 8
    most: int = 1000
    tolerance: float = TOLERANCE
    bind: tuple[int, ...] = ()

    def text(self, seed: int) -> str:
        """The plan as the program reads it."""
        head = [
            "isthmus-plan 1",
            f"budget {self.budget:.3f}",
            f"tolerance {self.tolerance:g}",
            f"samples {self.least} {self.most}",
            f"seed {seed}",
            *(["bind " + " ".join(map(str, self.bind))] if self.bind else []),
        ]
        return "\n".join([*head, *(f"item {item.line}" for item in self.items), ""])

    def without(self, done: Iterable[str], budget: float) -> Launch:
        """Return what is left of it when some items are done."""
        gone = set(done)
        return replace(self, items=tuple(item for item in self.items if item.name not in gone), budget=budget)


def chosen(only: str | Sequence[str] | None, transport: str = "mpi") -> tuple[str, ...]:
    """Parts of a list such as ``"loggp,stream"``, in the order of :data:`PARTS`; for None all that the transport has.

    Raises
    ------
    InvalidInput
        For a transport or a part that there is not.
    """
    if transport not in TRANSPORTS:
        raise InvalidInput(f"--transport {transport!r}: must be one of {', '.join(TRANSPORTS)}")
    if only is None:
        return TRANSPORTS[transport]
    words = [word.strip() for word in only.split(",")] if isinstance(only, str) else list(only)
    for word in words:
        if word not in PARTS:
            raise InvalidInput(f"--only {word!r}: must be one of {', '.join(PARTS)}")
        if word not in TRANSPORTS[transport]:
            some = ", ".join(TRANSPORTS[transport])
            raise InvalidInput(f"--only {word}: is measured of MPI alone; --transport {transport} has {some}")
    return tuple(part for part in PARTS if part in words)


class _Items:
    """Items with names made of what they are."""

    def __init__(self) -> None:
        self.list: list[Item] = []
        self._names: set[str] = set()

    def add(self, kind: str, /, before: str = "", **parameters: Value) -> None:
        name = before + ".".join([kind, *(str(value) for value in parameters.values())]).replace(",", "+")
        if name not in self._names:
            self._names.add(name)
            self.list.append(Item(name, kind, parameters))


def sizes(quick: bool, most: int = 1 << 22) -> list[int]:
    """Sizes of messages in bytes: powers of two, and between them one more where protocols change."""
    if quick:
        # Libraries send up to some size between 64 and 512 bytes in another way, such as within the first message, and
        # the largest messages do not stay in caches. A piece of the fit takes three sizes.
        some = (1, 8, 64, 128, 256, 512, 2048, 4096, 8192, 16384, 65536, 262144, 1 << 20, 1 << 21, 1 << 22)
        return [size for size in some if size <= most]
    powers = [1 << k for k in range(most.bit_length()) if 1 << k <= most]
    between = [3 << k for k in range(7, 17) if 3 << k <= most]
    return sorted({*powers, *between})


def _stream_of(size: int) -> int:
    """Messages of a stream: so many that its ends do not count, and not many where each is long."""
    return max(8, min(32, _STREAM // size))


def survey(ranks: int | None) -> Launch:
    """A launch that finds out where ranks land."""
    return Launch(SURVEY, "mpi", (Item("clock", "clock", {}),), 1.0, ranks, 1, 50)


def node_launch(shape: NodeShape, parts: Sequence[str], quick: bool, budget: float) -> Launch | None:
    """Everything that needs no MPI; None if nothing of it is wanted."""
    items = _Items()
    if "stream" in parts:
        _stream(items, shape, quick)
    if "flops" in parts:
        items.add("fma")
        top = max((cache["size"] for cache in shape.table.get("caches", [])), default=32 << 20)
        size = 16 << 10
        while size <= min(4 * top, 256 << 20):
            items.add("spmv", rows=max(size // ROW, 8))
            size *= 4 if quick else 2
    if "noise" in parts:
        some = shape.first_processors
        most = 2 if quick else 8
        step = -(-len(some) // most)
        for cpu in some[::step]:
            items.add("noise", kind="fwq", core=cpu, quantum=1e-4, seconds=0.25 if quick else 2.0)
        if not quick:
            items.add("noise", kind="ftq", core=some[0], quantum=1e-3, seconds=2.0)
    if not items.list:
        return None
    return Launch("node", "node", tuple(items.list), budget, most=200 if quick else 1000)


def _stream(items: _Items, shape: NodeShape, quick: bool) -> None:
    """By number of threads within the first NUMA domain, and each domain with the memory of each."""
    domains = sorted(set(shape.numa_of.values()))
    first = len({shape.core_of[cpu] for cpu, domain in shape.numa_of.items() if domain == domains[0]})
    threads = _counts(first, quick)
    for op in ("triad", "copy") if quick else OPS:
        for count in threads:
            items.add("stream", op=op, threads=count)
    if len(domains) > 1:
        for of_cores in domains:
            for of_memory in domains:
                inside = len({shape.core_of[cpu] for cpu, domain in shape.numa_of.items() if domain == of_cores})
                items.add("stream", op="triad", threads=inside, numa_core=of_cores, numa_memory=of_memory)


def _counts(most: int, quick: bool) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... up to all; where it is quick fewer."""
    found = {1, most}
    step = 1
    while step < most:
        found |= {step} if quick and step not in (1, 2) else {step, min(most, step * 3 // 2)}
        step *= 2
    return sorted(count for count in found if 1 <= count <= most)


def mpi_launch(
    shape: NodeShape,
    places: Places,
    parts: Sequence[str],
    quick: bool,
    budget: float,
    hops: Callable[[str, str], int] | None = None,
) -> Launch | None:
    """Everything that needs MPI but launches of other numbers of ranks; None if nothing of it is wanted."""
    items = _Items()
    pairs = places.pairs(shape)
    if "loggp" in parts and pairs:
        a, b = next(iter(pairs.values()))[0]
        for what in LOCAL:
            for size in _LOCAL_SIZES[::2] if quick else _LOCAL_SIZES:
                items.add("local", a=a, b=b, what=what, bytes=size)
    for level, found in pairs.items():
        a, b = found[0]
        if "loggp" in parts:
            _loggp(items, a, b, quick)
        if "messages" in parts:
            _messages(items, a, b, quick)
        if "loggp" in parts and level == "network":
            _other_pairs(items, found, quick)
            third = next(
                (ranks[0] for host, ranks in places.nodes.items() if host not in (places.hosts[a], places.hosts[b])),
                None,
            )
            if third is not None:
                items.add("behind", members=f"{a},{b},{third}", bytes=LARGE)
        if "loggp" in parts:
            _unseen(items, a, b, quick, places.ranks == 2)
        if "queues" in parts:
            for kind in ("posted", "unexpected"):
                for length in (0, 16, 256) if quick else (0, 1, 4, 16, 64, 256, 1024):
                    items.add("queue", a=a, b=b, kind=kind, length=length)
    if places.ranks > 1 and "messages" in parts:
        _rates(items, places, quick)
    if "collectives" in parts and places.ranks > 1:
        _collectives(items, places.ranks, quick)
    if "contention" in parts and len(places.nodes) > 3 and hops is not None:
        _contention(items, places, hops)
    if not items.list:
        return None
    bind = tuple(cpus[0] for cpus in places.allowed) if places.bound_here else ()
    return Launch("mpi", "mpi", tuple(items.list), budget, None, 8, 200 if quick else 1000, bind=bind)


def _loggp(items: _Items, a: int, b: int, quick: bool) -> None:
    """What the fit of a level takes: half round trips, times in calls, distances of messages in streams."""
    for size in sizes(quick):
        items.add("pingpong", a=a, b=b, bytes=size)
        items.add("window", a=a, b=b, bytes=size, n=_stream_of(size))
        items.add("isendcall", a=a, b=b, bytes=size)
        if size <= _EAGER:
            items.add("sendcall", a=a, b=b, bytes=size)
            items.add("receivecall", a=a, b=b, bytes=size, how="wait")
        if size > _RENDEZVOUS:
            items.add("receivecall", a=a, b=b, bytes=size, how="posted")
    items.add("threshold", a=a, b=b)


def _unseen(items: _Items, a: int, b: int, quick: bool, ring: bool) -> None:
    """Messages that the fit does not see, to compare it with; rings where there are two ranks, of one level then."""
    for size in _BETWEEN[1::3] if quick else _BETWEEN:
        items.add("pingpong", UNSEEN, a=a, b=b, bytes=size)
    some = _SIZES[1::3] if quick else _SIZES
    for n in _BURSTS[1:2] if quick else _BURSTS:
        for size in some:
            if size * n <= _BURST:
                items.add("burst", UNSEEN, a=a, b=b, bytes=size, n=n)
    for size in some:
        items.add("sendrecv", UNSEEN, a=a, b=b, bytes=size)
    for size in _SIZES[::2] if ring and not quick else ():
        items.add("ring", UNSEEN, bytes=size)


def _messages(items: _Items, a: int, b: int, quick: bool) -> None:
    some = sizes(quick)
    for size in some if quick else some[::2]:
        items.add("pingpong", a=a, b=b, bytes=size)
        items.add("sendrecv", a=a, b=b, bytes=size)
        items.add("window", a=a, b=b, bytes=size, n=_stream_of(size))
        if not quick:
            items.add("bidirectional", a=a, b=b, bytes=size, n=_stream_of(size))
    for size in _FRESH[::2] if quick else _FRESH:
        items.add("fresh", a=a, b=b, bytes=size)


def _other_pairs(items: _Items, found: list[tuple[int, int]], quick: bool) -> None:
    """The other way, and other pairs of nodes: are links alike in both directions, and nodes alike?"""
    a, b = found[0]
    for first, second in [(b, a), *([] if quick else found[1:4])]:
        for size in (8, 1 << 16, 1 << 20):
            items.add("pingpong", a=first, b=second, bytes=size)
            items.add("window", a=first, b=second, bytes=size, n=_stream_of(size))


def _rates(items: _Items, places: Places, quick: bool) -> None:
    """Message rate as applications see it, by ranks of a node (Barrett et al., Sandia's benchmark)."""
    most = max(len(ranks) for ranks in places.nodes.values())
    for ranks in _counts(min(most, places.ranks), quick):
        for mode in ("single", "pair", "prepost", "allstart"):
            if ranks < 2:
                continue
            for cold in (0,) if quick else (0, 1):
                items.add("rate", mode=mode, bytes=8, cold=cold, ranks=ranks, peers=min(6, ranks - 1))
    if len(places.nodes) > 1 and most > 1:
        for senders in _counts(most, quick):
            items.add("inject", senders=senders, bytes=1 << 20)


def _collectives(items: _Items, ranks: int, quick: bool) -> None:
    counts = sorted({ranks, *(1 << k for k in range(1, 20) if 1 << k < ranks)})
    for count in counts[-2:] if quick else counts:
        for name in _QUICK if quick else COLLECTIVES:
            some = (8, 8192, 262144) if quick else (8, 64, 512, 4096, 32768, 262144, 1 << 20)
            for size in (0,) if name == "barrier" else some:
                if size * count <= 1 << 25:
                    items.add("collective", name=name, bytes=size, ranks=count, blocking=1)
        for name in ("allreduce",) if quick else _SEVERAL:
            for size in (8, 262144) if quick else (8, 4096, 65536, 1 << 20):
                for tests in (0,) if quick else (0, 4, 16, 64):
                    if size * count <= 1 << 25:
                        items.add("collective", name=name, bytes=size, ranks=count, blocking=0, tests=tests)


def _contention(items: _Items, places: Places, hops: Callable[[str, str], int]) -> None:
    """Pairs of nodes at one distance, all at once and one after another (Bhatele and Kale)."""
    first = [(host, ranks[0]) for host, ranks in places.nodes.items()]
    by_hops: dict[int, list[tuple[int, int]]] = {}
    for i, (host, rank) in enumerate(first):
        for other, second in first[i + 1 :]:
            by_hops.setdefault(hops(host, other), []).append((rank, second))
    for distance, pairs in sorted(by_hops.items()):
        taken: set[int] = set()
        chosen: list[str] = []
        for a, b in pairs:
            if a not in taken and b not in taken and len(chosen) < 32:
                taken |= {a, b}
                chosen.append(f"{a}-{b}")
        for size in (8, 1 << 20):
            for alone in (0, 1):
                items.add("shift", distance=distance, bytes=size, pairs=",".join(chosen), alone=alone)


def startup_launches(ranks: int, quick: bool, budget: float) -> list[Launch]:
    """One launch for each number of ranks and repetition."""
    counts = sorted({1, ranks, *(1 << k for k in range(1, 20) if 1 << k < ranks)})
    times = 2 if quick else 4
    each = budget / (times * len(counts))
    return [
        Launch(
            f"startup-{count}-{turn}",
            "mpi",
            (Item(f"startup.{count}.{turn}", "startup", {"ranks": count}),),
            each,
            count,
            1,
            1,
        )
        for turn in range(times)
        for count in counts
    ]


def shares(parts: Sequence[str], budget: float) -> dict[str, float]:
    """Seconds of each part."""
    total = sum(_SHARES[part] for part in parts)
    return {part: budget * _SHARES[part] / total for part in parts} if parts else {}
