"""The traffic of links in a simulation with contention."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..machine import Machine
from ..schedule.schedule import OpKind
from ..tabular import Tabular
from ..units import amount, percent, text
from ..views import view

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from .timeline import Timeline


class HotLink(NamedTuple):
    """One link; ``utilisation`` is its bytes divided by its bandwidth times the makespan."""

    link: int
    kind: str
    source: str
    target: str
    bytes: float
    utilisation: float


class Stream(NamedTuple):
    """Messages between two ranks over a link; ``lost`` is the seconds they lost to others on their whole route."""

    sender: int
    receiver: int
    messages: int
    bytes: int
    lost: float


@dataclass(frozen=True, eq=False)
class Traffic(Tabular):
    """Bytes that every link of the network carried in a simulation.

    Attributes
    ----------
    timeline : Timeline
        Simulation that the traffic belongs to.
    bytes : ndarray of float64, shape (links,)
    slices : ndarray of float32, shape (links, slices)
        Bytes by time slice; no columns if no slices were requested.
    width_ps : int
        Length of a slice, picoseconds.
    route_op : ndarray of uint64
        With ``record="ops"``: the messages that took links, by the index of their send, put or get.
    route_first, route_links : ndarrays of uint64 and uint32
        The links of message i of ``route_op`` are ``route_links[route_first[i] : route_first[i + 1]]``.
    """

    timeline: Timeline
    bytes: NDArray[np.float64]
    slices: NDArray[np.float32]
    width_ps: int
    route_op: NDArray[np.uint64]
    route_first: NDArray[np.uint64]
    route_links: NDArray[np.uint32]

    @classmethod
    def of(cls, timeline: Timeline, result: dict[str, Any]) -> Traffic | None:
        """Make the traffic from the result of the core; None for models without contention."""
        if not len(result.get("link_bytes", ())):
            return None
        links = len(result["link_bytes"])
        slices = result["link_slices"].reshape(links, -1) if len(result["link_slices"]) else np.empty((links, 0), "f4")
        first = np.concatenate([np.zeros(1, np.uint64), result["route_ends"]])
        arrays = (result["link_bytes"], slices, result["route_messages"], first, result["route_links"])
        for array in arrays:
            array.setflags(write=False)
        return cls(timeline, arrays[0], arrays[1], result["slice_width"], *arrays[2:])

    @property
    def machine(self) -> Machine:
        """Machine that the links belong to."""
        assert isinstance(self.timeline.machine, Machine)
        return self.timeline.machine

    @property
    def makespan_ps(self) -> int:
        """Duration of the simulation, picoseconds."""
        return self.timeline.makespan_ps

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Utilisation of every link, 0 to 1: its bytes divided by its bandwidth times the makespan."""
        return self.bytes / np.maximum(self._bandwidth() * (self.makespan_ps / 1e12), 1e-300)

    @property
    def times(self) -> NDArray[np.float64]:
        """Edges of the time slices up to the one in which the simulation ends, seconds."""
        used = min(self.slices.shape[1], -(-self.makespan_ps // self.width_ps)) if self.slices.size else 0
        return np.arange(used + 1) * (self.width_ps / 1e12)

    def frame(self) -> dict[str, NDArray[Any]]:
        """Return one row per link: link, class in words, from and to (vertices of the topology), bytes, utilisation."""
        topology = self.machine.topology
        link = np.arange(len(self.bytes), dtype=np.uint32)
        ends = topology.link_ends(link)
        names = np.array([name for name, _, _ in topology.link_classes])
        return {
            "link": link,
            "class": names[topology.link_class(link)],
            "from": ends[:, 0],
            "to": ends[:, 1],
            "bytes": self.bytes,
            "utilisation": self.utilisation,
        }

    def over_time(self) -> NDArray[np.float64]:
        """Return the utilisation of every link in every slice, shape (links, slices); needs ``slices`` of simulate."""
        if not self.slices.shape[1]:
            raise InvalidInput("links over time: this simulation has only sums; simulate with slices=100 or so")
        most = self._bandwidth() * (self.width_ps / 1e12)
        out: NDArray[np.float64] = self.slices[:, : len(self.times) - 1] / most[:, None]
        return out

    def hottest(self, count: int = 10) -> list[HotLink]:
        """Return the most used links, by utilisation."""
        topology = self.machine.topology
        use = self.utilisation
        order = np.argsort(-use, kind="stable")[:count]
        order = order[self.bytes[order] > 0]
        classes = topology.link_class(order.astype(np.uint32))
        ends = topology.link_ends(order.astype(np.uint32))
        return [
            HotLink(
                int(link),
                topology.link_classes[int(classes[i])][0],
                topology.label(int(ends[i][0])),
                topology.label(int(ends[i][1])),
                float(self.bytes[link]),
                float(use[link]),
            )
            for i, link in enumerate(order)
        ]

    def messages(self, link: int) -> NDArray[np.uint64]:
        """Return the messages over a link, as indices of their operations; needs ``record="ops"``."""
        if not len(self.route_op) and self.bytes.any():
            raise InvalidInput('messages of a link: simulate with record="ops"')
        place = np.flatnonzero(self.route_links == link)
        out: NDArray[np.uint64] = self.route_op[np.searchsorted(self.route_first, place, side="right") - 1]
        return out

    def streams(self, link: int) -> list[Stream]:
        """Return who sends to whom over a link, most bytes first; needs ``record="ops"``."""
        t = self.timeline
        op = self.messages(link).astype(np.int64)
        ops = t.schedule.ops[op]
        owner = np.searchsorted(t.schedule.op_first.view(np.int64), op, side="right") - 1
        other, fetched = ops["peer"].astype(np.int64), ops["kind"] == OpKind.get
        pair = np.where(fetched, other, owner) * t.ranks + np.where(fetched, owner, other)
        found, place = np.unique(pair, return_inverse=True)
        messages = np.bincount(place, minlength=len(found))
        size = np.bincount(place, ops["amount"].astype(np.float64), len(found))
        lost = np.bincount(place, t.lost_ps[op] / 1e12, len(found))
        return [
            Stream(*divmod(int(found[i]), t.ranks), int(messages[i]), int(size[i]), float(lost[i]))
            for i in np.argsort(-size, kind="stable")
        ]

    def table(self, links: int = 5, streams: int = 3) -> str:
        """Return the most used links in words, with who sends most over each; needs ``record="ops"``."""
        lines = ["hottest links, with who sends over them"]
        for hot in self.hottest(links):
            lines.append(_link_words(hot))
            found = self.streams(hot.link)
            for s in found[:streams]:
                one = "message" if s.messages == 1 else "messages"
                lines.append(
                    f"    {amount(s.bytes):>10}  rank {s.sender} to {s.receiver}, {s.messages:,} {one}, lost "
                    f"{text(s.lost, 's', 3)} to contention"
                )
            if more := found[streams:]:
                lines.append(
                    f"    {amount(sum(s.bytes for s in more)):>10}  {len(more):,} more pairs of ranks, "
                    f"{sum(s.messages for s in more):,} messages"
                )
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "load") -> Figure:
        """Draw the load of links; see :func:`isthmus.plot.traffic.plot_traffic`."""
        drawn: Figure = view("Traffic.plot")(self, path, kind)
        return drawn

    def _bandwidth(self) -> NDArray[np.float64]:
        topology = self.machine.topology
        of_class = np.array([c[1] for c in topology.link_classes])
        out: NDArray[np.float64] = of_class[topology.link_class(np.arange(len(self.bytes), dtype=np.uint32))]
        return out

    def __str__(self) -> str:
        used = self.bytes > 0
        lines = [f"traffic: {amount(float(self.bytes.sum()))} over {int(used.sum()):,} of {len(used):,} links"]
        return "\n".join([*lines, *map(_link_words, self.hottest(5))])


def _link_words(hot: HotLink) -> str:
    where = f"link {hot.link} ({hot.kind}) from {hot.source} to {hot.target}"
    return f"  {percent(hot.utilisation, 1):>7}  {amount(hot.bytes):>10}  {where}"
