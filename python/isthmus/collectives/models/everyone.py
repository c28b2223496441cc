"""Everybody directly to everybody, all at once."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from .cost import Cost, Work
from .flights import windowed
from .forms import form
from .one_rank import MOST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .parameters import Parameters


@form(("alltoall", "linear"))
def _alltoall(p: Parameters, ranks: int, sizes: NDArray[np.int64], *, algorithm: str, window: int = 0) -> Cost:
    """P-1 sends, one after the other, with the messages that come in between: (P-1) (2o + (s-1)G) + L where the
    interface keeps up with the processor, otherwise told message by message; at least what processor and interface take
    with fewer than all under way."""
    count = ranks - 1
    m = p.message(sizes)
    work = (Work.send(m) + Work.recv(m)).times(count)
    if count == 0:
        return Cost(sizes * 0, work, np.ones(len(sizes), bool))
    # Sends have been there first, and go as long as the interface lets them; messages come as they are sent.
    way = m.way + m.ahead
    first = np.maximum(count * m.send, way)
    # The i-th message has come by i * send + way, and is handled not before the i-1 before it.
    time = np.maximum(first + (count - 1) * m.recv_cpu, (count - 1) * m.send + way) + m.recv_cpu
    for at in np.flatnonzero(m.gap > m.send):
        time[at] = _between(
            count, int(m.way[at]), int(m.send[at]), int(m.ahead[at]), int(m.recv_cpu[at]), int(m.gap[at])
        )
    if 0 < window < count:
        # Sends wait for others, messages do not wait for all sends.
        least = np.maximum(work.cpu, m.way + (count - 1) * np.maximum(m.recv_cpu, m.gap) + m.recv)
        if 2 * count > MOST:
            return Cost(least, work, np.zeros(len(sizes), bool))
        found, exact = windowed(p, count, sizes, window, least)
        return Cost(found, work, exact)
    return Cost(time, work, np.ones(len(sizes), bool))


def _between(count: int, way: int, send: int, ahead: int, recv: int, gap: int) -> int:
    """Messages are handled while the interface keeps the next send from going."""
    cpu = sending = receiving = 0
    under_way: deque[int] = deque()  # when the processor can have each of the messages that come next
    sent = handled = 0
    before: tuple[int, ...] = ()
    before_at = 0
    while handled < count:
        begin = max(cpu, sending) if sent < count else -1
        come = max(under_way[0], cpu) if under_way else -1
        # At the same moment a send goes first: it has been there from the begin.
        if come < 0 or 0 <= begin <= come:
            receiving = max(begin + way, receiving)
            under_way.append(receiving + ahead)
            cpu, sending, receiving = begin + send, begin + gap, receiving + gap
            sent += 1
            continue
        cpu = come + recv
        under_way.popleft()
        handled += 1
        # One message sent and one handled, and all is as before, only later: so it goes on until the last send.
        state = (sent - handled, sending - cpu, receiving - cpu, *(at - cpu for at in under_way))
        if state == before and sent < count:
            rest = count - sent
            later = (cpu - before_at) * rest
            cpu, sending, receiving = cpu + later, sending + later, receiving + later
            under_way = deque(at + later for at in under_way)
            sent, handled = sent + rest, handled + rest
        before, before_at = state, cpu
    return cpu
