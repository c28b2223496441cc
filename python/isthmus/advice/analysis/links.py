"""Traffic of the links, the calls that cause it, and the loss to contention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plot.common import merged_classes
from ...schedule.schedule import OpKind
from ...simulation.traffic import HotLink, Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...simulation.timeline import Timeline
    from .calls import Rows

#: Links of which messages are told, and how much of each.
_LINKS, _STREAMS, _CALLS = 10, 3, 2


@dataclass(frozen=True)
class CallUse:
    """Messages that the calls of one function at one place send, over one link or all; ``lost``: seconds."""

    name: str
    location: str
    messages: int
    bytes: int
    lost: float


@dataclass(frozen=True)
class LinkUse:
    """One link with its messages.

    Attributes
    ----------
    hot : HotLink
    messages : int
    pairs : int
        Pairs of ranks.
    streams : tuple of Stream
        The pairs of ranks with most bytes.
    calls : tuple of CallUse
        The calls with most bytes; none of a schedule.
    """

    hot: HotLink
    messages: int
    pairs: int
    streams: tuple[Stream, ...]
    calls: tuple[CallUse, ...]


@dataclass(frozen=True)
class ClassUse:
    """Links of one class, both directions together; load is that of those that carry something."""

    name: str
    links: int
    used: int
    bandwidth: float
    mean: float
    most: float


@dataclass(frozen=True)
class NetworkUse:
    """The network under a program.

    Attributes
    ----------
    bytes : float
        Over all links; a byte counts on every link of its way.
    links, used : int
        All links, and those that carry something.
    mean, most : float
        Load of those: bytes over what they could have carried until the end, 0 to 1.
    classes : tuple of ClassUse
    messages, delayed : int
        Between nodes, and those that lost time to others.
    lost : float
        Seconds that all messages together lost.
    on_path : float
        Seconds that messages of the critical path lost on it.
    hottest : tuple of LinkUse
    calls : tuple of CallUse
        By what their messages lost, the most first; none of a schedule.
    """

    bytes: float
    links: int
    used: int
    mean: float
    most: float
    classes: tuple[ClassUse, ...]
    messages: int
    delayed: int
    lost: float
    on_path: float
    hottest: tuple[LinkUse, ...]
    calls: tuple[CallUse, ...]


def network_use(
    timeline: Timeline, rows: Rows | None, event: NDArray[np.integer[Any]] | None, on_path: float
) -> NetworkUse | None:
    """Network use in a simulation with ``record="ops"``; None in models without contention.

    Parameters
    ----------
    timeline : Timeline
    rows, event : Rows, array of integers, optional
        The call of every event, and the event of every operation; None for a schedule.
    on_path : float
        Seconds of the critical path lost to contention.
    """
    traffic = timeline.traffic
    if traffic is None:
        return None
    used = traffic.bytes > 0
    load = traffic.utilisation
    sent = traffic.route_op.astype(np.int64)

    def calls(op: NDArray[np.int64]) -> list[CallUse]:
        return [] if rows is None or event is None else _calls(timeline, rows, event, op)

    hottest = []
    for hot in traffic.hottest(_LINKS):
        streams = traffic.streams(hot.link)
        by_bytes = sorted(calls(traffic.messages(hot.link).astype(np.int64)), key=lambda c: -c.bytes)
        number = sum(s.messages for s in streams)
        hottest.append(LinkUse(hot, number, len(streams), tuple(streams[:_STREAMS]), tuple(by_bytes[:_CALLS])))
    return NetworkUse(
        float(traffic.bytes.sum()),
        len(used),
        int(used.sum()),
        float(load[used].mean()) if used.any() else 0.0,
        float(load.max(initial=0.0)),
        _classes(traffic.machine.topology, used, load),
        len(sent),
        int((timeline.lost_ps[sent] > 0).sum()),
        timeline.lost_in_all_ps / 1e12,
        on_path,
        tuple(hottest),
        tuple(sorted((c for c in calls(sent) if c.lost > 0), key=lambda c: -c.lost)),
    )


def _calls(timeline: Timeline, rows: Rows, event: NDArray[np.integer[Any]], op: NDArray[np.int64]) -> list[CallUse]:
    """Messages by the call that sends them."""
    row = rows.row[event[op]]
    total = len(rows.names)
    kind, amount = (timeline.schedule.ops[name][op] for name in ("kind", "amount"))
    assert not np.isin(kind, (OpKind.recv, OpKind.calc)).any()
    messages = np.bincount(row, minlength=total)
    size, lost = (np.bincount(row, w.astype(np.float64), total) for w in (amount, timeline.lost_ps[op]))
    return [
        CallUse(rows.names[i], rows.locations[i], int(messages[i]), int(size[i]), float(lost[i]) / 1e12)
        for i in np.flatnonzero(messages)
    ]


def _classes(topology: Any, used: NDArray[np.bool_], load: NDArray[np.float64]) -> tuple[ClassUse, ...]:
    """A row for every class of links that differ in more than their direction."""
    kind = topology.link_class(np.arange(topology.links, dtype=np.uint32))
    merged, _ = merged_classes(topology.link_classes)
    out = []
    for name, bandwidth, latency, _ in merged:
        mine = [
            i for i, c in enumerate(topology.link_classes) if (c[0].rstrip("+-"), *c[1:]) == (name, bandwidth, latency)
        ]
        of = np.isin(kind, mine)
        carry = load[of & used]
        mean, most = (float(carry.mean()), float(carry.max())) if len(carry) else (0.0, 0.0)
        out.append(ClassUse(name, int(of.sum()), len(carry), bandwidth, mean, most))
    return tuple(out)
