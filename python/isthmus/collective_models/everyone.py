"""Everybody directly to everybody, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .forms import form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("alltoall", "linear"))
def _alltoall(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str) -> Cost:
    """P-1 sends, one after the other, with the messages that come in between: (P-1) (2o + (s-1)G) + L where the
    interface keeps up with the processor, otherwise told message by message."""
    count = ranks - 1
    m = p.message(sizes)
    work = (Work.send(m) + Work.recv(m)).times(count)
    if count == 0:
        return Cost(sizes * 0, work, np.ones(len(sizes), bool))
    # Sends have been there first, and go as long as the interface lets them; messages come as they are sent.
    received = np.maximum(m.recv, m.gap)
    first = np.maximum(count * m.send, m.way)
    # The i-th message has come by i * send + way, and is handled not before the i-1 before it.
    time = np.maximum(first + (count - 1) * received, (count - 1) * m.send + m.way) + m.recv
    for at in np.flatnonzero(m.gap > m.send):
        time[at] = _between(count, m.way, int(m.send[at]), int(m.recv[at]), int(m.gap[at]))
    return Cost(time, work, np.ones(len(sizes), bool))


def _between(count: int, way: int, send: int, recv: int, gap: int) -> int:
    """Messages are handled while the interface keeps the next send from going."""
    cpu = sending = receiving = 0
    sent: list[int] = []
    handled = 0
    while handled < count:
        begin = max(cpu, sending) if len(sent) < count else -1
        come = max(sent[handled] + way, cpu, receiving) if handled < len(sent) else -1
        # At the same moment a send goes first: it has been there from the begin.
        if come < 0 or 0 <= begin <= come:
            sent.append(begin)
            cpu, sending = begin + send, begin + gap
        else:
            cpu, receiving = come + recv, come + gap
            handled += 1
    return cpu
