"""Tables of calls and messages of pieces of a program, added up to those of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .calls import Call, Pair, SizeClass


def all_calls(tables: Iterable[Iterable[Call]], ranks: int | None = None) -> tuple[Call, ...]:
    """By name and location; with the number of ranks the most of the critical path first, and only what matters."""
    rows: dict[tuple[str, str], Call] = {}
    for table in tables:
        for call in table:
            key = (call.name, call.location)
            has = rows.get(key)
            rows[key] = call if has is None else _more_calls(has, call)
    if ranks is None:
        return tuple(rows.values())
    kept = [c for c in rows.values() if c.path + c.busy + c.waiting > 0 or c.messages]
    return tuple(sorted(kept, key=lambda c: -(c.path + 1e-9 * ranks * (c.busy + c.waiting))))


def _more_calls(a: Call, b: Call) -> Call:
    return replace(
        a,
        calls=a.calls + b.calls,
        messages=a.messages + b.messages,
        bytes=a.bytes + b.bytes,
        path=a.path + b.path,
        path_shares={name: time + b.path_shares[name] for name, time in a.path_shares.items()},
        busy=a.busy + b.busy,
        waiting=a.waiting + b.waiting,
    )


def all_pairs(tables: Iterable[Iterable[Pair]]) -> tuple[Pair, ...]:
    """Return the table by sender and receiver; the largest share of the critical path first."""
    rows: dict[tuple[int, int], Pair] = {}
    for table in tables:
        for pair in table:
            key = (pair.sender, pair.receiver)
            if key in rows:
                has = rows[key]
                pair = replace(
                    has,
                    messages=has.messages + pair.messages,
                    bytes=has.bytes + pair.bytes,
                    path=has.path + pair.path,
                )
            rows[key] = pair
    return tuple(sorted(rows.values(), key=lambda p: (-p.path, p.sender, p.receiver)))


def all_sizes(tables: Iterable[Iterable[SizeClass]]) -> tuple[SizeClass, ...]:
    """Return the table by powers of two, ascending."""
    rows: dict[int, SizeClass] = {}
    for table in tables:
        for size in table:
            key = size.low.bit_length()
            if key in rows:
                has = rows[key]
                size = SizeClass(
                    min(has.low, size.low),
                    max(has.high, size.high),
                    has.messages + size.messages,
                    has.bytes + size.bytes,
                    has.path + size.path,
                )
            rows[key] = size
    return tuple(rows[key] for key in sorted(rows))
