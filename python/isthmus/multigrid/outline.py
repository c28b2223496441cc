"""What models need to know of an operator on many parts: sums and largest numbers, without who sends to whom."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..schedule.pattern import Pattern
from .operators import ELEMENT, Operator

#: Sums over all parts.
SUMS = ("rows", "active", "nonzeros", "messages", "bytes")
#: The most that one part has.
MOST = ("nonzeros_most", "sends", "receives", "bytes_sent", "bytes_received")
QUANTITIES = (*SUMS, *MOST)


def outline(operator: Operator) -> dict[str, int]:
    """Return the numbers of an operator that models use."""
    sends, receives, sent, received = operator.most
    return {
        "rows": int(operator.rows.sum()),
        "active": operator.active,
        "nonzeros": int(operator.nonzeros.sum()),
        "messages": len(operator.exchange),
        "bytes": int(operator.exchange.bytes.sum()),
        "nonzeros_most": int(operator.nonzeros.max()),
        "sends": sends,
        "receives": receives,
        "bytes_sent": sent,
        "bytes_received": received,
    }


def consistent(numbers: Mapping[str, int], parts: int) -> dict[str, int]:
    """Return numbers that one operator can have: predictions of each alone may contradict each other."""
    n = dict(numbers)
    n["rows"] = max(n["rows"], 1)
    n["active"] = min(max(n["active"], 1), n["rows"], parts)
    n["nonzeros_most"] = max(min(n["nonzeros_most"], n["nonzeros"]), -(-n["nonzeros"] // n["active"]))
    for name in ("sends", "receives"):
        n[name] = min(n[name], parts - 1)
    if not min(n["sends"], n["receives"], n["messages"]):
        return n | dict.fromkeys(("sends", "receives", "messages", "bytes", "bytes_sent", "bytes_received"), 0)
    n["messages"] = max(n["messages"], n["sends"] + n["receives"])
    for most, count in (("bytes_sent", "sends"), ("bytes_received", "receives")):
        n[most] = max(n[most], ELEMENT * n[count])
    n["bytes_sent"] = min(n["bytes_sent"], n["sends"] * n["bytes_received"])
    n["bytes_received"] = min(n["bytes_received"], n["receives"] * n["bytes_sent"])
    n["bytes"] = max(n["bytes"], n["bytes_sent"] + n["bytes_received"])
    return n


def made(numbers: Mapping[str, int], parts: int) -> Operator:
    """Make an operator with these numbers; who sends to whom is made up.

    The first part has the most of everything, and the others have equal shares of the rest. Where all parts are nearly
    equal, sums of messages and bytes come out lower than given, the largest numbers do not.
    """
    n = consistent(numbers, parts)
    rows, nonzeros = (np.zeros(parts, np.uint64) for _ in range(2))
    rows[: n["active"]] = _shares(n["rows"], n["active"])
    nonzeros[0] = n["nonzeros_most"]
    if n["active"] > 1:
        nonzeros[1 : n["active"]] = _shares(n["nonzeros"] - n["nonzeros_most"], n["active"] - 1)
    return Operator(rows, nonzeros, _exchange(n, parts))


def _shares(total: int, count: int) -> NDArray[np.uint64]:
    out = np.full(count, total // count, np.uint64)
    out[count - total % count :] += np.uint64(1)
    return out


def _exchange(n: Mapping[str, int], parts: int) -> Pattern:
    """The first part sends and receives most; the others send to those that follow in a ring, equally many each."""
    sends, receives, others = n["sends"], n["receives"], parts - 1
    if not sends:
        return Pattern.of(parts, source=[], target=[], bytes=[])
    to, frm = np.arange(1, sends + 1), np.arange(1, receives + 1)
    ring = max(min(n["messages"] - sends - receives, others * (min(sends, receives) - 1), others * (others - 1)), 0)
    each = _shares(ring, others).astype(np.int64)
    senders = np.repeat(np.arange(others), each)
    offsets = np.arange(ring) - np.repeat(np.cumsum(each) - each, each) + 1
    source = np.concatenate([np.zeros(sends, np.int64), frm, senders + 1])
    target = np.concatenate([to, np.zeros(receives, np.int64), (senders + offsets) % others + 1])
    out, into = _shares(n["bytes_sent"], sends), _shares(n["bytes_received"], receives)
    rest = np.zeros(ring, np.uint64)
    if ring:
        # So that no other part sends or receives more than the first.
        room = min(n["bytes_sent"] - int(into.max()), n["bytes_received"] - int(out.max()))
        left = n["bytes"] - n["bytes_sent"] - n["bytes_received"]
        rest[:] = _shares(max(min(left, ring * (max(room, 0) // int(each.max()))), 0), ring)
        if int(rest.max()) * int(each.max()) > max(room, 0):
            rest[:] = max(room, 0) // int(each.max())
    return Pattern.of(parts, source=source, target=target, bytes=np.concatenate([out, into, rest]))
