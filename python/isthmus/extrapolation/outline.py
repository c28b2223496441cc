"""The outline of a program: what calls follow each other in which loops, for each role of ranks.

It is folded from the richest sequences of calls, joined with those of ranks that do a little more or less, and then
every rank's calls are read along it: each statement is one call or none, each loop any number of times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .fold import Loop, Node, fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

#: Part of different calls that two sequences must have in common to be one role.
_ALIKE = 0.4
#: Sequences longer than this are not joined with others.
_LONGEST = 1500
#: Bits of a token that tell the item of the vocabulary.
BITS = 64


@dataclass(eq=False)
class Statement:
    """A call of the outline; ``bit`` is its item in the vocabulary, -1 for a peer without one, or no peer."""

    call: int
    bit: int
    number: int = -1

    @property
    def key(self) -> tuple[int, int]:
        return self.call, self.bit


@dataclass(eq=False)
class Repeat:
    """A loop of the outline."""

    body: list[Step]
    number: int = -1


Step = Statement | Repeat


def steps(body: Sequence[Step]) -> Iterator[Step]:
    """All steps, outer ones first."""
    for step in body:
        yield step
        if isinstance(step, Repeat):
            yield from steps(step.body)


@dataclass(eq=False)
class Reading:
    """Calls of a rank along the outline.

    Attributes
    ----------
    taken : dict of int to list of int
        For each statement, the index of the call at each time that it is come to, or -1.
    inner : dict of int to list of int
        The iteration of the loop around it, at each of these times.
    counts : dict of int to list of int
        For each loop, how many times, whenever it is come to.
    """

    taken: dict[int, list[int]] = field(default_factory=dict)
    inner: dict[int, list[int]] = field(default_factory=dict)
    counts: dict[int, list[int]] = field(default_factory=dict)


def read(body: Sequence[Step], calls: Sequence[int], masks: Sequence[int], strict: bool = True) -> Reading | None:
    """Read calls along an outline; None if some are left over.

    ``strict``: in every iteration of a loop the same statements are taken.
    """
    log: list[tuple[Step, int, int]] = []
    size = len(calls)

    def run(body: Sequence[Step], at: int, iteration: int) -> tuple[int, tuple[bool, ...]]:
        pattern = []
        for step in body:
            if isinstance(step, Statement):
                fits = (
                    at < size
                    and calls[at] == step.call
                    and (bool(masks[at] >> step.bit & 1) if step.bit >= 0 else not masks[at])
                )
                log.append((step, at if fits else -1, iteration))
                at += fits
                pattern.append(fits)
                continue
            count, first = 0, None
            while at < size:
                mark = len(log)
                then, found = run(step.body, at, count)
                if then == at or (strict and first is not None and found != first):
                    del log[mark:]
                    break
                first, at, count = found, then, count + 1
            log.append((step, count, iteration))
            pattern.append(count > 0)
        return at, tuple(pattern)

    end, _ = run(body, 0, 0)
    if end < size:
        return None
    out = Reading()
    for step, value, iteration in log:
        if isinstance(step, Statement):
            out.taken.setdefault(step.number, []).append(value)
            out.inner.setdefault(step.number, []).append(iteration)
        else:
            out.counts.setdefault(step.number, []).append(value)
    return out


def _of(nodes: Sequence[Node]) -> list[Step]:
    """Steps of a folded sequence of tokens."""
    return [
        Repeat(_of(node.body)) if isinstance(node, Loop) else Statement(node // BITS, node % BITS - 1) for node in nodes
    ]


def _keys(body: Sequence[Step], calls: bool = False) -> set[object]:
    return {step.call if calls else step.key for step in steps(body) if isinstance(step, Statement)}


def _likeness(one: Step, other: Step) -> float:
    if isinstance(one, Statement) or isinstance(other, Statement):
        return 2.0 if isinstance(one, Statement) and isinstance(other, Statement) and one.key == other.key else 0.0
    mine, theirs = _keys(one.body), _keys(other.body)
    common = len(mine & theirs)
    return 1 + 2.0 * common if common and common >= 0.3 * min(len(mine), len(theirs)) else 0.0


def join(one: Sequence[Step], other: Sequence[Step]) -> list[Step]:
    """The shortest outline along which both can be read: what they share once, what they do not in turn."""
    likeness = np.array([[_likeness(a, b) for b in other] for a in one]).reshape(len(one), len(other))
    best = np.zeros((len(one) + 1, len(other) + 1))
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            best[i, j] = max(
                best[i + 1, j], best[i, j + 1], likeness[i, j] + best[i + 1, j + 1] if likeness[i, j] else 0
            )
    out: list[Step] = []
    i = j = 0
    while i < len(one) and j < len(other):
        a, b = one[i], other[j]
        if likeness[i, j] and best[i, j] == likeness[i, j] + best[i + 1, j + 1]:
            both = isinstance(a, Repeat) and isinstance(b, Repeat)
            out.append(Repeat(join(a.body, b.body)) if both else a)  # type: ignore[union-attr]
            i, j = i + 1, j + 1
        elif best[i, j] == best[i + 1, j]:
            out.append(a)
            i += 1
        else:
            out.append(b)
            j += 1
    return [*out, *one[i:], *other[j:]]


def number(roles: Sequence[Sequence[Step]]) -> None:
    """Give all steps numbers."""
    for i, step in enumerate(step for body in roles for step in steps(body)):
        step.number = i


def first_bits(masks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lowest bit of each mask, from 1; 0 for none."""
    low = masks & -masks
    return np.where(masks > 0, np.log2(np.maximum(low, 1)).astype(np.int64) + 1, 0)


@dataclass(eq=False)
class Sequence_:
    """Calls that some ranks make alike."""

    ranks: list[int]
    calls: list[int]
    masks: list[int]

    def outline(self, lines: Sequence[tuple[str, int]] = ()) -> list[Step]:
        """Its own outline; ``lines``: file and line of each call."""
        tokens = np.array(self.calls, np.int64) * BITS + first_bits(np.array(self.masks, np.int64))
        places = {token: lines[token // BITS] for token in np.unique(tokens).tolist()} if lines else {}
        return _of(fold(tokens, {token: place for token, place in places.items() if place[1]}))

    @property
    def richness(self) -> tuple[int, int, int]:
        """Different statements with one meaning, then calls in all, then ranks."""
        clear = {(c, m) for c, m in zip(self.calls, self.masks, strict=True) if m & (m - 1) == 0}
        return len(clear), len(self.calls), len(self.ranks)


def sequences(first: NDArray[np.int64], call: NDArray[np.int64], mask: NDArray[np.int64]) -> list[Sequence_]:
    """Ranks by what they call."""
    found: dict[bytes, Sequence_] = {}
    both = np.stack([call, mask], axis=1)
    for rank in range(len(first) - 1):
        part = slice(int(first[rank]), int(first[rank + 1]))
        key = both[part].tobytes()
        if key not in found:
            found[key] = Sequence_([], call[part].tolist(), mask[part].tolist())
        found[key].ranks.append(rank)
    return list(found.values())


def line_of(location: str) -> tuple[str, int]:
    """File and line of a place in a program; line 0 if it is not known.

    >>> line_of("sweep.c:12"), line_of("libfoo.so+0x12")
    (('sweep.c', 12), ('libfoo.so+0x12', 0))
    """
    name, _, line = location.rpartition(":")
    return (name, int(line)) if line.isdigit() else (location, 0)


def roles_of(found: Sequence[Sequence_], lines: Sequence[tuple[str, int]] = ()) -> list[list[Step]]:
    """Outlines of roles, such that every sequence can be read along one of them; ``lines``: where each call stands."""
    roles: list[list[Step]] = []
    members: list[list[Sequence_]] = []
    for one in sorted(found, key=lambda s: s.richness, reverse=True):
        if any(read(body, one.calls, one.masks) for body in roles):
            at = next(i for i, body in enumerate(roles) if read(body, one.calls, one.masks))
            members[at].append(one)
            continue
        own = one.outline(lines)
        mine = _keys(own, calls=True)
        likeness = [len(mine & _keys(body, calls=True)) / max(len(mine | _keys(body, calls=True)), 1) for body in roles]
        at = int(np.argmax(likeness)) if likeness else -1
        if at >= 0 and likeness[at] >= _ALIKE and max(len(own), len(roles[at])) <= _LONGEST:
            joined = join(roles[at], own)
            number([joined])
            if all(read(joined, s.calls, s.masks) for s in [*members[at], one]):
                roles[at] = joined
                members[at].append(one)
                continue
        number([own])
        roles.append(own)
        members.append([one])
    number(roles)
    return roles
