"""Collectives as textbooks have them, as plain lists of operations; the closed forms of their LogGOPS times."""

from __future__ import annotations

from .loggops import RECV, SEND, Op, Parameters

Ranks = list[list[Op]]


def step(p: Parameters, size: int) -> int:
    """One message between idle ranks, O = 0."""
    return p.o_send + p.L + p.o_recv + p.wire(size)


def log2_up(n: int) -> int:
    return (n - 1).bit_length()


def binomial_broadcast(ranks: int, size: int) -> Ranks:
    """From rank 0: rank r receives from r without its lowest bit, then sends to r + 2^k for lower k, largest first."""
    out: Ranks = []
    for r in range(ranks):
        ops = [Op(RECV, size, r & (r - 1))] if r else []
        below = (r & -r).bit_length() - 1 if r else log2_up(ranks)
        ops += [Op(SEND, size, r + 2**k, after=[0] if r else []) for k in reversed(range(below)) if r + 2**k < ranks]
        out.append(ops)
    return out


def rounds(plan: list[tuple[int, int, int]]) -> list[Op]:
    """A send and a receive at a time: to, from, bytes; each pair after the one before."""
    ops: list[Op] = []
    for to, source, size in plan:
        after = [len(ops) - 2, len(ops) - 1] if ops else []
        ops += [Op(SEND, size, to, after=list(after)), Op(RECV, size, source, after=list(after))]
    return ops


def dissemination(ranks: int, size: int) -> Ranks:
    """Round k: to rank r + 2^k."""
    return [
        rounds([((r + 2**k) % ranks, (r - 2**k) % ranks, size) for k in range(log2_up(ranks))]) for r in range(ranks)
    ]


def halving_doubling(ranks: int, size: int) -> Ranks:
    """Allreduce of a power of two ranks: exchanges of size/2, size/4, ..., and back."""
    steps = range(1, log2_up(ranks) + 1)
    out = []
    for r in range(ranks):
        plan = [(r ^ ranks >> k, r ^ ranks >> k, size >> k) for k in steps]
        out.append(rounds(plan + plan[::-1]))
    return out


def halving_doubling_time(p: Parameters, ranks: int, size: int) -> int:
    return sum(2 * step(p, size >> k) for k in range(1, log2_up(ranks) + 1))


def ring_allreduce(ranks: int, size: int) -> Ranks:
    """2 (P - 1) rounds of size/P, rounded down, to the next rank."""
    return [rounds([((r + 1) % ranks, (r - 1) % ranks, size // ranks)] * (2 * (ranks - 1))) for r in range(ranks)]


def ring_allreduce_time(p: Parameters, ranks: int, size: int) -> int:
    return 2 * (ranks - 1) * step(p, size // ranks)


def linear_alltoall(ranks: int, size: int) -> Ranks:
    """All receives and sends at once, to the next rank first."""
    return [
        [Op(kind, size, (r + sign * d) % ranks) for kind, sign in ((RECV, -1), (SEND, 1)) for d in range(1, ranks)]
        for r in range(ranks)
    ]
