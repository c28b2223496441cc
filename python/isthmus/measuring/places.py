"""Where the ranks of a launch landed: nodes and cores, and which pairs of ranks stand for which level."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from .node import NodeShape, processors
from .samples import Samples

LEVELS = ("socket", "node", "network")


@dataclass(frozen=True)
class Places:
    """Places of ranks.

    Attributes
    ----------
    hosts : tuple of str
        Name of the node of each rank.
    core : tuple of int
        Processor on which each rank was seen; -1 where nobody knows.
    allowed : tuple of tuple of int
        Processors on which each rank may run; empty where nobody knows.
    bound_here : bool
        The programs that measure bind ranks to cores themselves, since the launcher does not.
    """

    hosts: tuple[str, ...]
    core: tuple[int, ...]
    allowed: tuple[tuple[int, ...], ...]
    bound_here: bool = False

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.hosts)

    @property
    def nodes(self) -> dict[str, list[int]]:
        """Ranks of each node, nodes in the order of their first rank."""
        out: dict[str, list[int]] = {}
        for rank, host in enumerate(self.hosts):
            out.setdefault(host, []).append(rank)
        return out

    @classmethod
    def of(cls, samples: Samples) -> Places:
        """Read them from the facts of the last launch that stated them."""
        known = next(facts for facts in reversed(samples.facts.values()) if "ranks" in facts)
        count = int(known["ranks"])

        def each(key: str, default: str) -> list[str]:
            words = known.get(key, "").split()
            return words if len(words) == count else [default] * count

        return cls(
            tuple(each("hosts", "?")),
            tuple(int(word) if word.isdecimal() else -1 for word in each("cores_begin", "")),
            tuple(tuple(_list(word)) for word in each("affinity", "")),
        )

    def bound(self, rank: int, shape: NodeShape) -> bool:
        """Whether a rank stays on one core (or on hardware threads of one core)."""
        return len({shape.core_of.get(cpu, cpu) for cpu in self.allowed[rank]}) == 1

    def binding(self, shape: NodeShape) -> Places | None:
        """Return places with each rank on a core of its own; None where the launcher binds them, or it cannot be done.

        Ranks that move take two or three times as long for small messages, at random. Of several nodes nothing is known
        but the cores of this one; emulated ones even share them.
        """
        everybody = range(self.ranks)
        if len(self.nodes) > 1 or self.ranks < 2 or all(self.bound(rank, shape) for rank in everybody):
            return None
        taken: set[int] = set()
        chosen: dict[int, int] = {}
        for rank in sorted(everybody, key=lambda rank: len(self.allowed[rank])):
            free = [cpu for cpu in self.allowed[rank] if shape.core_of.get(cpu, -1) not in {*taken, -1}]
            if not free:
                return None
            chosen[rank] = free[0]
            taken.add(shape.core_of[free[0]])
        return Places(self.hosts, self.core, tuple((chosen[rank],) for rank in everybody), True)

    def socket(self, rank: int, shape: NodeShape) -> int | None:
        """Socket on which a rank stays; None where it may move between sockets."""
        sockets = {shape.socket_of.get(cpu, -1) for cpu in self.allowed[rank] or (self.core[rank],)}
        return sockets.pop() if len(sockets) == 1 else None

    def level(self, a: int, b: int, shape: NodeShape) -> str | None:
        """Level of messages between two ranks: None where they are on a node but move between its sockets."""
        if self.hosts[a] != self.hosts[b]:
            return "network"
        if len(set(shape.socket_of.values())) <= 1:
            return "socket"
        first, second = self.socket(a, shape), self.socket(b, shape)
        if first is None or second is None:
            return None
        return "socket" if first == second else "node"

    def pairs(self, shape: NodeShape, most: int = 64) -> dict[str, list[tuple[int, int]]]:
        """Pairs of ranks of each level: those of rank 0 first, of the ranks that have the most neighbours after it."""
        out: dict[str, list[tuple[int, int]]] = {}
        for a, b in combinations(range(self.ranks), 2):
            level = self.level(a, b, shape)
            if level is not None and len(out.setdefault(level, [])) < most:
                out[level].append((a, b))
        return {level: out[level] for level in LEVELS if level in out}

    def crowded(self, shape: NodeShape) -> str:
        """Say which ranks share a core, or that there are more ranks than cores; empty where neither holds."""
        for host, ranks in self.nodes.items():
            known = [rank for rank in ranks if self.allowed[rank]]
            where: dict[int, int] = {}
            for rank in known:
                if not self.bound(rank, shape):
                    continue
                core = shape.core_of.get(self.allowed[rank][0], self.allowed[rank][0])
                if core in where:
                    cpu = self.allowed[rank][0]
                    return f"ranks {where[core]} and {rank} are bound to the same core ({cpu}) of {host}"
                where[core] = rank
            usable = {shape.core_of.get(cpu, cpu) for rank in known for cpu in self.allowed[rank]}
            if known and len(known) > len(usable):
                cores = f"{len(usable)} core{'' if len(usable) == 1 else 's'}"
                return f"{len(known)} ranks share {cores} of {host}"
        return ""


def _list(text: str) -> list[int]:
    try:
        return processors(text.strip())
    except ValueError:
        return []
