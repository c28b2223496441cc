"""The verb ``advise``."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput, Unsupported
from ..lowering.rules import Rules
from ..machine import Allocation, Machine, Noise
from ..machine.placement import Placement
from ..schedule.computation import scaled
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..simulation.simulate import located, simulate
from ..tuning.decisions import Decisions
from .advice import Advice, Prediction
from .analysis.excerpt import excerpt
from .analysis.pieces import NotInPieces, pieces_of
from .analysis.piecewise import predict_in_pieces
from .analysis.pipelining import Overlap, overlaps
from .analysis.prediction import MOST_RECORDED, even_schedule, predict
from .analysis.simulator import Simulator
from .analysis.what_if import balanced
from .collectives.comparison import choices
from .collectives.library import library_of
from .output.sentences import WORTH, notes_on, sentences_on
from .settings.limits import mpi_settings

#: Operations of a large program of which its collectives' algorithms are compared, about.
_EXCERPT = 1_000_000
#: Operations up to which calls are hidden in the whole program, and in what is simulated in its place beyond.
_HIDE_WHOLE, _HIDE_EXCERPT = 300_000, 150_000
#: Operations of the pieces in which parameters of MPI are looked for in a program that is simulated in pieces.
_SETTINGS_EXCERPT = 500_000
#: Operations of such pieces at most: where collectives are far apart, pieces are as long.
_SETTINGS_MOST = 5_000_000
#: Simulations of the first machine and of each of the others, about; for the bar of progress.
_FIRST, _FIRST_PIECES, _OTHERS = 40, 12, 6
#: Programs with more operations, about, are simulated piece by piece.
_MOST_AT_ONCE = 5_000_000


def advise(
    program: Program | Schedule,
    machines: Machine | str | Sequence[Machine | str],
    *,
    ranks_per_node: int | None = None,
    placement: Allocation | Placement | ArrayLike | None = None,
    scale_compute: float = 1.0,
    collectives: Mapping[str, Rules] | Decisions | None = None,
    model: str = "loggops",
    routing: str = "minimal",
    noise: Noise | None = None,
    seed: int = 0,
    mpi: str | None = None,
    tune_seconds: float = 10.0,
    name: str = "",
    progress: bool = False,
) -> Advice:
    """Analyse what limits a program on one or more machines, what would help, and by how much.

    Parameters
    ----------
    program : Program or Schedule
        A schedule has no calls, and no computation to balance or scale.
    machines : Machine or str, or a sequence of them
        The first is analysed in detail, the others are compared with it. Strings are passed to :func:`isthmus.load`.
    ranks_per_node : int, optional
        Ranks per node, by default one per core; ranks fill node after node from the first on.
    placement : Allocation, Placement or array of int, or a list of them, optional
        Where the ranks sit instead, as for :func:`isthmus.simulate`: on the first machine, or one for each machine;
        None stands for the usual order.
    scale_compute : float
        Factor for all computation: 0.5 models cores twice as fast as those on which the program was recorded.
    collectives : mapping or DecisionTable, optional
        Algorithms, see :func:`isthmus.lower`.
    model, routing, noise, seed
        As for :func:`isthmus.simulate`.
    mpi : str, optional
        MPI library whose choices are compared with the best algorithms: "openmpi" or "mpich", with or without a version
        ("openmpi-5.0.8"). If given, all predictions use its algorithms. By default the library of the recording, else
        Open MPI, for the comparison only.
    tune_seconds : float
        Approximate time to search for better algorithms of collectives, seconds; 0: no search.
    name : str
        Name of the program in the report.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    Advice
        ``print`` shows a summary, ``save("report.html")`` writes the report.

    Raises
    ------
    InvalidInput
        If a machine is too small, or the program hangs on a machine.
    Unsupported
        If ``scale_compute`` is given for a schedule.

    Notes
    -----
    With a model that has contention, the report also has a table of the links and the cost of contention. Costs are
    then varied together with the links and at a few points only, as every change may alter the order in which messages
    are served.

    Up to four million operations, the critical path covers the whole run; for larger programs, it covers a part of
    about that size, which the report names. Without noise and with the model "loggops", programs of more than about
    five million operations are analysed piece by piece, with the memory of one piece, if they can be cut after
    collectives of all ranks. What a rank sends to another that is still in such a collective is then received after it,
    which made times of recordings differ by 1e-5 at most. Savings by algorithms of collectives are estimated from
    pieces between the beginning and the end of the program, if it can be cut and the pieces represent all of it.

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
        raise InvalidInput(f"cannot advise on {type(program).__name__}: must be a Program or a Schedule")
    if not 0 < scale_compute < 1e9:
        raise InvalidInput(f"scale_compute = {scale_compute}: must be more than 0")
    if not 0 <= tune_seconds < math.inf:
        raise InvalidInput(f"tune_seconds = {tune_seconds}: must be 0 or more")
    chosen = [machines] if isinstance(machines, (str, os.PathLike, Machine)) else list(machines)
    if not chosen:
        raise InvalidInput("machines: give at least one")
    loaded = [_loaded(machine) for machine in chosen]
    placements = _placements(loaded, program.ranks, ranks_per_node, placement)
    what = program
    if scale_compute != 1.0:
        if not isinstance(program, Program):
            raise Unsupported("scale_compute: the computation of a schedule cannot be scaled; give a program")
        what = scaled(program, scale_compute)

    def lowered(one: Program) -> Schedule:
        from ..lowering.lower import lower

        return lower(one, collectives=collectives)

    library = library_of(program, mpi)
    given = _given(collectives)
    if mpi is not None:
        collectives = _before(given, library.decisions(placements[0].ranks_per_node))
    where = list(zip(loaded, placements, strict=True))
    found = None
    if isinstance(what, Program) and model == "loggops" and not any(_noisy(machine, noise) for machine in loaded):
        found = _in_pieces(what, where, collectives, seed, progress)
    if found is None:
        schedule = lowered(what) if isinstance(what, Program) else what
        even = even_schedule(what, lowered)
        planned = len(schedule) * (_FIRST + _OTHERS * (len(loaded) - 1))
        with Simulator(noise, seed, progress, planned, len(schedule), model, routing) as simulator:
            predictions = tuple(
                predict(what, schedule, *place, simulator, even=even, collectives=collectives, detailed=number == 0)
                for number, place in enumerate(where)
            )
            simulations = simulator.simulations
        del even, schedule  # others come now
    else:
        predictions, simulations = found
    options: dict[str, Any] = {"model": model, "routing": routing, "noise": noise, "seed": seed}
    first = predictions[0]
    looked = first.timeline if len(first.timeline.schedule) == first.operations else None
    if looked is None and isinstance(what, Program):
        some = excerpt(what, round(_SETTINGS_EXCERPT / first.operations * len(what)))
        if some is not None and len(some) / len(what) * first.operations <= _SETTINGS_MOST:
            t = simulate(some, loaded[0], placements[0], collectives=collectives, record="ops", **options)
            looked = t if t.makespan > 0 and t.deadlock is None else None
            simulations += 1
    if looked is not None:
        parameters, more = mpi_settings(looked, loaded[0], placements[0], library, options, WORTH)
        if looked is not first.timeline:
            parameters = parameters.of_excerpt(first.time / looked.makespan, len(looked.schedule) / first.operations)
        simulations += more
        predictions = (replace(first, settings=parameters), *predictions[1:])
    if isinstance(what, Program):
        pieces = None
        if predictions[0].operations > MOST_RECORDED:
            few = excerpt(what, round(_EXCERPT / predictions[0].operations * len(what)))
            if few is not None:
                alike = simulate(few, loaded[0], placements[0], collectives=collectives, record="finish", **options)
                if alike.makespan > 0 and alike.deadlock is None:
                    pieces = few, predictions[0].time / alike.makespan
        better = choices(
            what,
            loaded[0],
            placements[0],
            library,
            given,
            seconds=tune_seconds,
            progress=progress,
            pieces=pieces,
            **options,
        )
        simulations += 0 if better is None else better.simulations
        hidden, more = _hidden(what, predictions[0], loaded[0], placements[0], collectives, options)
        simulations += more
        predictions = (replace(predictions[0], choices=better, overlaps=hidden), *predictions[1:])
    notes = notes_on(predictions, what, scale_compute, model, routing)
    if predictions[0].choices is not None and predictions[0].choices.compared:
        notes += predictions[0].choices.notes
    sentences = sentences_on(predictions, what)
    return Advice(
        name or "program",
        what,
        predictions,
        tuple(s for s in sentences if not s.bound),
        tuple(s for s in sentences if s.bound),
        notes,
        scale_compute,
        simulations,
        model,
        routing,
    )


def _hidden(
    program: Program,
    p: Prediction,
    machine: Machine,
    placement: Allocation | Placement,
    collectives: Mapping[str, Rules] | Decisions | None,
    options: Mapping[str, Any],
) -> tuple[tuple[Overlap, ...], int]:
    """Calls that could be hidden, and the simulations that this took; none where that could save too little."""
    bound = p.what_if("overlap")
    if bound is None or bound.saving < WORTH * p.time:
        return (), 0
    some: Program | None = program
    if p.operations > _HIDE_WHOLE:
        some = excerpt(program, round(_HIDE_EXCERPT / p.operations * len(program)), located=True)
    if some is None:
        return (), 0
    taken = 0

    def time(one: Program) -> float:
        nonlocal taken
        taken += 1
        return simulate(one, machine, placement, collectives=collectives, record="finish", **options).makespan

    before = time(some)
    if not before > 0:
        return (), taken
    scale = p.time / before
    found = overlaps(some, time, before)
    return tuple(replace(one, time=one.time * scale, saving=one.saving * scale) for one in found), taken


def _noisy(machine: Machine, noise: Noise | None) -> bool:
    given = machine.noise if noise is None else noise
    return given is not None and given.kind != "none"


def _in_pieces(
    program: Program,
    where: Sequence[tuple[Machine, Allocation | Placement]],
    collectives: Mapping[str, Rules] | Decisions | None,
    seed: int,
    progress: bool,
) -> tuple[tuple[Prediction, ...], int] | None:
    """Predictions of a large program piece by piece, and the simulations that they took; None where it is to be
    simulated as a whole."""
    pieces = pieces_of(program, collectives, _MOST_AT_ONCE)
    if pieces is None:
        return None
    even: Program | None = balanced(program)
    if even is program:
        even = None
    planned = pieces.operations * (_FIRST_PIECES + _OTHERS * (len(where) - 1))
    with Simulator(None, seed, progress, planned, pieces.size) as simulator:
        try:
            predictions = tuple(
                predict_in_pieces(pieces, *place, simulator, even=even, collectives=collectives, detailed=number == 0)
                for number, place in enumerate(where)
            )
        except NotInPieces:
            return None
        return predictions, simulator.simulations


def _given(collectives: Mapping[str, Rules] | Decisions | None) -> Decisions | None:
    """Algorithms that the user chose, for any number of ranks."""
    from ..tuning.programs import Given

    return Given(collectives) if isinstance(collectives, Mapping) else collectives


def _before(first: Decisions | None, then: Decisions) -> Decisions:
    from ..tuning.programs import InTurn

    return then if first is None else InTurn(first, then)


def _loaded(machine: Machine | str) -> Machine:
    if isinstance(machine, Machine):
        return machine
    from ..loading import load

    return load(machine)


def _placements(
    machines: Sequence[Machine], ranks: int, ranks_per_node: int | None, given: Any
) -> list[Allocation | Placement]:
    """Where the ranks sit on each machine."""
    one = given is None or isinstance(given, (Allocation, Placement)) or np.asarray(given, dtype=object).ndim != 1
    if one or not any(x is None or isinstance(x, (Allocation, Placement)) or np.ndim(x) for x in given):
        given = [given]
    if len(given) > len(machines):
        raise InvalidInput(f"{len(given)} placements for {len(machines)} machines: give one for each")
    out: list[Allocation | Placement] = []
    for machine, said in zip_longest(machines, given):
        if said is None:
            said = place(machine, ranks, ranks_per_node)
        elif not isinstance(said, (Allocation, Placement)):
            said = Placement(machine, said)
        located(ranks, machine, said)  # refuses what does not fit
        out.append(said)
    return out


def place(machine: Machine, ranks: int, ranks_per_node: int | None) -> Allocation:
    """The default placement: ranks fill node after node."""
    per_node = machine.node.cores if ranks_per_node is None else ranks_per_node
    if not 1 <= per_node <= machine.node.cores:
        raise InvalidInput(
            f"{per_node} ranks per node: must be 1 to {machine.node.cores}, the cores of a node of {machine.name}"
        )
    nodes = -(-ranks // per_node)
    if nodes > machine.nodes:
        raise InvalidInput(
            f"{machine.name} is too small: {ranks:,} ranks with {per_node} on each node need {nodes:,} nodes, "
            f"but it has {machine.nodes:,}"
        )
    return machine.allocate(nodes, ranks_per_node=per_node)
