"""The verb ``advise``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, Unsupported
from ..machine import Machine, Noise
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from .advice import Advice
from .prediction import Simulator, even_schedule, predict
from .sentences import notes_on, sentences_on
from .variation import scaled

if TYPE_CHECKING:
    from ..machine import Allocation

#: Simulations of the first machine and of each of the others, about; for the bar of progress.
_FIRST, _OTHERS = 40, 6


def advise(
    program: Program | Schedule,
    machines: Machine | str | Sequence[Machine | str],
    *,
    ranks_per_node: int | None = None,
    scale_compute: float = 1.0,
    collectives: Mapping[str, Any] | None = None,
    model: str = "loggops",
    routing: str = "minimal",
    noise: Noise | None = None,
    seed: int = 0,
    name: str = "",
    progress: bool = False,
) -> Advice:
    """What limits a program on machines, what would help, and by how much at most.

    Parameters
    ----------
    program : Program or Schedule
        A schedule has no calls and no computation that could be balanced or scaled.
    machines : Machine or str, or a sequence of them
        The first is looked at in detail, the others are compared with it. Names are what :func:`isthmus.load` takes.
    ranks_per_node : int, optional
        By default one rank per core; ranks fill node after node from the first on.
    scale_compute : float
        Multiplies all computation: 0.5 stands for cores twice as fast as those that the program was recorded on.
    collectives : mapping, optional
        Algorithms, see :func:`isthmus.lower`.
    model, routing, noise, seed
        As for :func:`isthmus.simulate`.
    name : str
        What the page calls the program.
    progress : bool
        A bar on standard error.

    Returns
    -------
    Advice
        ``print`` shows the page, ``save("report.html")`` writes the report.

    Raises
    ------
    InvalidInput
        For a machine that is too small, and a program that hangs on a machine.
    Unsupported
        For ``scale_compute`` of a schedule.

    Notes
    -----
    With a model in which messages meet there is a table of the links, and what contention costs; costs are then varied
    at a few points only, links with them, as the order in which messages are served may change with every one.

    Of up to four million operations everything is recorded. Larger programs are simulated without critical path, calls
    and messages, which a note of the result says.

    Examples
    --------
    >>> import isthmus
    >>> b = isthmus.ProgramBuilder(64)
    >>> b.compute(None, 1e-3)
    >>> b.allreduce(None, 8)
    >>> advice = isthmus.advise(b.build(), "cielo")
    >>> f"{advice.predictions[0].efficiency.parallel:.3f}"
    '0.988'
    """
    if not isinstance(program, (Program, Schedule)):
        raise InvalidInput(f"{type(program).__name__}: advice on a Program or a Schedule is possible")
    if not 0 < scale_compute < 1e9:
        raise InvalidInput(f"scale_compute = {scale_compute}: more than 0 is allowed")
    chosen = [machines] if isinstance(machines, (str, os.PathLike, Machine)) else list(machines)
    if not chosen:
        raise InvalidInput("machines: at least one is needed")
    loaded = [_loaded(machine) for machine in chosen]
    placements = [place(machine, program.ranks, ranks_per_node) for machine in loaded]
    what = program
    if scale_compute != 1.0:
        if not isinstance(program, Program):
            raise Unsupported("scale_compute: a schedule's computation cannot be scaled, that of a program can")
        what = scaled(program, scale_compute)

    def lowered(one: Program) -> Schedule:
        from ..schedule.lower import lower

        return lower(one, collectives=collectives)

    schedule = lowered(what) if isinstance(what, Program) else what
    even = even_schedule(what, lowered)
    planned = len(schedule) * (_FIRST + _OTHERS * (len(loaded) - 1))
    with Simulator(noise, seed, progress, planned, len(schedule), model, routing) as simulator:
        predictions = tuple(
            predict(
                what, schedule, machine, placement, simulator, even=even, collectives=collectives, detailed=number == 0
            )
            for number, (machine, placement) in enumerate(zip(loaded, placements, strict=True))
        )
    return Advice(
        name or "program",
        what,
        predictions,
        sentences_on(predictions, what),
        notes_on(predictions, what, scale_compute, model, routing),
        scale_compute,
        simulator.simulations,
        model,
        routing,
    )


def _loaded(machine: Machine | str) -> Machine:
    if isinstance(machine, Machine):
        return machine
    from ..loading import load

    return load(machine)


def place(machine: Machine, ranks: int, ranks_per_node: int | None) -> Allocation:
    """The default placement: ranks fill node after node."""
    per_node = machine.node.cores if ranks_per_node is None else ranks_per_node
    if not 1 <= per_node <= machine.node.cores:
        raise InvalidInput(
            f"{per_node} ranks per node: a node of {machine.name} has {machine.node.cores} cores, "
            f"1 to {machine.node.cores} are allowed"
        )
    nodes = -(-ranks // per_node)
    if nodes > machine.nodes:
        raise InvalidInput(
            f"{machine.name} is too small: {ranks:,} ranks, {per_node} a node, need {nodes:,} nodes, "
            f"and it has {machine.nodes:,}"
        )
    return machine.allocate(nodes, ranks_per_node=per_node)
