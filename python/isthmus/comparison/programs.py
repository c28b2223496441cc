"""A program or schedule on several machines, beside what was measured where it was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from numpy.typing import ArrayLike

from ..machine import Allocation
from ..machine.placement import Placement
from ..schedule.program import Program
from ..simulation import simulate
from .comparison import Comparison
from .times import compare_times, measured, predicted

#: Where the ranks sit, as :func:`isthmus.simulate` takes it.
Place = Allocation | Placement | ArrayLike

if TYPE_CHECKING:
    from ..machine import Level, Machine
    from ..schedule.schedule import Schedule
    from ..simulation.options import Options


def compare_machines_for(
    what: Program | Schedule,
    name: str,
    machines: Sequence[Machine | Level],
    names: Sequence[str],
    placements: Sequence[Place | None] | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Simulate on each machine; ``options`` are those of :func:`isthmus.simulate`."""
    times = [measured(what, name)] if isinstance(what, Program) and what.recording is not None else []
    columns = [name] * len(times) + list(names)
    for machine, one, place in zip(machines, names, placements or [None] * len(machines), strict=True):
        times.append(predicted(simulate(what, machine, place, **options), one))
    return replace(compare_times(times, columns), kind="machines for a program")
