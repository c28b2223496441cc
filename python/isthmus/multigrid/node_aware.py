"""Exchanges that send less between nodes: two and three steps beside messages from process to process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import percent, text
from .costs import Costs
from .cycle import check_shape, exchanges_of, exchanges_on
from .hierarchy import Hierarchy
from .operators import Operator

if TYPE_CHECKING:
    from ..machine import Machine

#: How an exchange is carried out, the usual way first.
WAYS = ("direct", "two steps", "three steps")
Parts = NDArray[np.int64]
Bytes = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class NodeAware(Tabular):
    """Seconds of the exchanges of each level, each way; made by :func:`node_aware`.

    Attributes
    ----------
    seconds : mapping from str to array of float64, levels
        Of one exchange for a product with the matrix.
    messages : mapping from str to array of int64, levels
        The most messages to other nodes that one process sends.
    cycle : mapping from str to float
        Of all exchanges of a cycle, each operator on each level in that way; ``"best"``: each in its best way.
    """

    seconds: Mapping[str, NDArray[np.float64]]
    messages: Mapping[str, NDArray[np.int64]]
    cycle: Mapping[str, float]

    @property
    def best(self) -> Sequence[str]:
        """The way with the shortest exchange on each level; the simpler one of two that take the same."""
        rows = np.array([self.seconds[way] for way in WAYS])
        return [WAYS[int(i)] for i in rows.argmin(axis=0)]

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per level: seconds and messages each way, and the best."""
        return [
            {"level": level, "best": best}
            | {f"{key}_seconds": float(self.seconds[way][level]) for key, way in _KEYS.items()}
            | {f"{key}_messages": int(self.messages[way][level]) for key, way in _KEYS.items()}
            for level, best in enumerate(self.best)
        ]

    def __repr__(self) -> str:
        return f"<NodeAware: {len(self.best)} levels>"

    def __str__(self) -> str:
        table = [["level", *WAYS, "best"]]
        for level, best in enumerate(self.best):
            cells = [f"{text(float(self.seconds[way][level]), 's', 3)} ({self.messages[way][level]})" for way in WAYS]
            table.append([str(level), *cells, best])
        table.append(["cycle", *(text(self.cycle[way], "s", 3) for way in WAYS), text(self.cycle["best"], "s", 3)])
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in table]
        saved = 1 - self.cycle["best"] / self.cycle["direct"] if self.cycle["direct"] else 0.0
        lines += [
            "",
            "An exchange for a product with the matrix; in brackets the most messages of a process to other nodes.",
            f"Exchanges of a cycle, each in its best way, take {percent(saved)} less than directly."
            if saved > 0
            else "No exchange takes less in steps than directly.",
        ]
        return "\n".join(lines)


_KEYS = {way.replace(" ", "_"): way for way in WAYS}


def node_aware(
    hierarchy: Hierarchy,
    costs: Costs | Machine | str,
    *,
    cores: int = 1,
    shape: str = "V",
    smoother: str = "jacobi",
    sweeps: tuple[int, int] = (1, 1),
    degree: int = 2,
) -> NodeAware:
    """Compare exchanges from process to process with those that gather what goes to the same node.

    Processes are placed in blocks of ``cores`` on nodes. In two steps, each process sends what any process of another
    node needs to its partner there, the one with the same number, which hands it on. In three, the processes of a node
    first gather what goes to each other node at one of them, which sends one message; the receiver hands it on. The
    largest messages of a node are dealt to its processes in turn. A step takes as long as its slowest process:
    messages times alpha and bytes times beta, with ``node_alpha`` and ``node_beta`` inside a node, and for those to
    other nodes no less than the bytes of the node over ``injection``, where that is known. What stays on the node goes
    directly, in the step that gathers.

    Parameters
    ----------
    hierarchy : Hierarchy
    costs : Costs, Machine or str
    cores : int
        Processes of a node.
    shape, smoother, sweeps, degree
        As of :func:`cycle`: how often each operator is exchanged.

    Returns
    -------
    NodeAware

    Raises
    ------
    InvalidInput
        If costs inside a node are not known, or the hierarchy is extrapolated.

    Notes
    -----
    Elements that several processes of a node need are counted once for each: bytes between nodes are at most these, so
    that steps gain at least as much.

    References
    ----------
    Bienz, Gropp and Olson, "Node aware sparse matrix-vector multiplication", Journal of Parallel and Distributed
    Computing 130, 2019; "Reducing communication in algebraic multigrid with multi-step node aware communication",
    International Journal of High Performance Computing Applications 34, 2020.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.multigrid import Costs, boxes, hierarchy, node_aware
    >>> everybody = hierarchy([sp.csr_array(np.ones((64, 64)))], boxes((64,), 64))
    >>> paid = Costs(alpha=2e-6, beta=1e-9, node_alpha=5e-7, node_beta=1e-10)
    >>> node_aware(everybody, paid, cores=4).best
    ['three steps']
    """
    paid = costs if isinstance(costs, Costs) else Costs.of(costs)
    hierarchy.check_exchanges()
    if cores < 1:
        raise InvalidInput(f"cores = {cores}: must be at least 1")
    if not paid.node_alpha and not paid.node_beta:
        raise InvalidInput("costs inside a node are not known; give node_alpha= and node_beta=")
    check_shape(shape)
    around = exchanges_of(smoother, sweeps, degree)
    levels = len(hierarchy)
    seconds = {way: np.zeros(levels) for way in WAYS}
    messages = {way: np.zeros(levels, np.int64) for way in WAYS}
    total = dict.fromkeys((*WAYS, "best"), 0.0)
    for i, level in enumerate(hierarchy.levels):
        exchanges, times = exchanges_on(shape, i, levels, around)
        uses = [(exchanges + times, level.matrix), (times, level.interpolation), (times, level.restriction)]
        for often, operator in uses:
            if operator is None:
                continue
            found = {way: _exchange(way, operator, paid, cores) for way in WAYS}
            for way, (spent, most) in found.items():
                total[way] += often * spent
                if operator is level.matrix:
                    seconds[way][i], messages[way][i] = spent, most
            total["best"] += often * min(spent for spent, _ in found.values())
    return NodeAware(seconds, messages, total)


@dataclass(frozen=True, slots=True)
class Step:
    """Messages at once, one for each pair."""

    source: Parts
    target: Parts
    bytes: Bytes


def steps(way: str, operator: Operator, cores: int) -> list[Step]:
    """Return the messages of an exchange, step by step; none that a process sends itself."""
    e, parts = operator.exchange, operator.parts
    source, target = e.sources().astype(np.int64), e.peer.astype(np.int64)
    size = e.bytes.astype(np.float64)
    if way == "direct":
        return [_joined(parts, (source, target, size))]
    near = source // cores == target // cores
    stays = source[near], target[near], size[near]
    source, target, size = source[~near], target[~near], size[~near]
    if way == "two steps":
        there = target // cores
        # The last node may have fewer processes.
        partner = there * cores + source % np.minimum(cores, parts - there * cores)
        return [_joined(parts, (source, partner, size)), _joined(parts, (partner, target, size), stays)]
    nodes = -(-parts // cores)
    pair, which = np.unique(source // cores * nodes + target // cores, return_inverse=True)
    total = np.bincount(which, weights=size, minlength=len(pair)).astype(np.float64)
    sender = _dealt(pair // nodes, total, cores, parts)[which]
    receiver = _dealt(pair % nodes, total, cores, parts)[which]
    return [
        _joined(parts, (source, sender, size), stays),
        _joined(parts, (sender, receiver, size)),
        _joined(parts, (receiver, target, size)),
    ]


def _dealt(node: Parts, size: Bytes, cores: int, parts: int) -> Parts:
    """Who of its node has to do with each message: the largest of each node are dealt in turn."""
    order = np.lexsort((-size, node))
    sorted_node = node[order]
    first = np.searchsorted(sorted_node, sorted_node)
    turn = np.arange(len(node)) - first
    out = np.empty(len(node), np.int64)
    out[order] = sorted_node * cores + turn % np.minimum(cores, parts - sorted_node * cores)
    return out


def _joined(parts: int, *messages: tuple[Parts, Parts, Bytes]) -> Step:
    """One message for each pair of processes, from (source, target, bytes)."""
    source, target = (np.concatenate([one[i] for one in messages]) for i in (0, 1))
    size = np.concatenate([one[2] for one in messages])
    other = source != target
    key, which = np.unique(source[other] * parts + target[other], return_inverse=True)
    total = np.bincount(which, weights=size[other], minlength=len(key)).astype(np.float64)
    return Step(key // parts, key % parts, total)


def _exchange(way: str, operator: Operator, costs: Costs, cores: int) -> tuple[float, int]:
    """Seconds of an exchange, and the most messages of a process to other nodes."""
    alpha = costs.alpha + (costs.farthest - costs.nearest) * costs.gamma
    seconds, most, parts = 0.0, 0, operator.parts
    for step in steps(way, operator, cores):
        far = step.source // cores != step.target // cores
        sent = np.bincount(step.source, weights=np.where(far, alpha, costs.node_alpha), minlength=parts)
        sent += np.bincount(
            step.source, weights=step.bytes * np.where(far, costs.beta, costs.node_beta), minlength=parts
        )
        slowest = float(sent.max(initial=0))
        if costs.injection and far.any():
            leaving = np.bincount(step.source[far] // cores, weights=step.bytes[far])
            slowest = max(slowest, float(leaving.max()) / costs.injection)
        seconds += slowest
        most = max(most, int(np.bincount(step.source[far], minlength=1).max()))
    return seconds, most
