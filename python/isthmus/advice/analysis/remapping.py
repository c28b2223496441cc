"""The effect of another placement of the ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...lowering.pattern import pattern
from ...machine import Allocation
from ...machine.placement import Placement
from ...mapping.map import map as map_ranks
from ...mapping.metrics import evaluate
from ...mapping.trial import Trial

if TYPE_CHECKING:
    from ...machine import Machine
    from ...mapping.mapped import Mapped
    from ...mapping.metrics import Metrics
    from ...schedule.schedule import Schedule
    from .simulator import Simulator

#: Operations up to which placements are compared: messages that share links take long to simulate.
_MOST = 1_000_000
#: Processor time for methods of mapping, about.
_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Placing:
    """The ranks as they are and as they had better be, on the same nodes.

    Attributes
    ----------
    mapped : Mapped
        By simulated time, of all messages, those of collectives included; as now where nothing is faster.
    now : Metrics
        Metrics of the ranks as they are.
    before, after : float
        Seconds of the program under the flow model, in which placement matters most.
    """

    mapped: Mapped
    now: Metrics
    before: float
    after: float

    @property
    def saving(self) -> float:
        """Seconds; never negative."""
        return self.before - self.after


def placing(
    schedule: Schedule, machine: Machine, placement: Allocation | Placement, simulator: Simulator
) -> Placing | None:
    """Another placement on the nodes of the job; None where there is nothing to choose, or too much to simulate.

    A placement that does not fill nodes evenly is compared with others that have as many ranks a node at most.
    """
    job = placement
    if isinstance(job, Placement):
        job = Allocation(machine, job.nodes, ranks_per_node=min(job.ranks_per_node, machine.node.cores))
    if schedule.ranks > job.ranks:
        return None  # cores are shared
    used = -(-schedule.ranks // job.ranks_per_node)
    if used < 2 or len(schedule) > _MOST:
        return None
    found = pattern(schedule)
    if not len(found):
        return None
    mapped = map_ranks(schedule, job, seconds=_SECONDS, seed=simulator.seed % 2**63)

    def time(where: Allocation | Placement) -> float:
        return simulator.run(schedule, machine, where, "finish", "flow").makespan

    before, after = simulator.map(time, [placement, mapped.placement])
    now = evaluate(found, placement) if isinstance(placement, Placement) else mapped.before["default"]
    if after > before:
        # Ranks sit better than in any order that was found; or noise, which map does not simulate, decides.
        order = np.argsort(job.nodes)
        place = order[np.searchsorted(job.nodes, now.placement.node, sorter=order)].astype(np.uint32)
        kept = Trial("the current placement", {}, 0.0, place, mapped.problem.hop_bytes(place), lambda _: now)
        return Placing(replace(mapped, best=kept), now, before, before)
    return Placing(mapped, now, before, after)
