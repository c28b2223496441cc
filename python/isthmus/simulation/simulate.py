"""The verb ``simulate``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import InvalidInput
from ..lowering.rules import Collectives
from ..machine import Allocation, Level, Levels, Machine, Node, Noise, Piece
from ..machine.allocation import Location
from ..machine.placement import Placement
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..units import parse, shown
from .network import RECEIVE, RECEIVES, PacketOptions, set_network, whole
from .timeline import Timeline


def simulate(
    what: Program | Schedule,
    machine: Machine | Level | str,
    placement: Allocation | Placement | ArrayLike | None = None,
    *,
    model: str = "loggops",
    receive: str = RECEIVE,
    handshakes: bool = False,
    routing: str = "minimal",
    slices: int = 0,
    resolution: float | None = None,
    packet: PacketOptions | None = None,
    record: str = "ranks",
    collectives: Collectives | None = None,
    noise: Noise | None = None,
    seed: int = 0,
    copy_rate: float | None = None,
    reduce_rate: float | None = None,
    symmetry: bool = True,
    skip: bool = True,
    progress: bool | Callable[[int, int], None] = False,
    path_part: tuple[int, int] | None = None,
    until: float | None = None,
    after: NDArray[np.int64] | None = None,
) -> Timeline:
    """Simulate a program or schedule on a machine and return its timeline.

    Parameters
    ----------
    what : Program or Schedule
        A program is lowered first, see :func:`isthmus.lower`.
    machine : Machine, Level or str
        A machine, or whatever :func:`isthmus.load` accepts; or one set of LogGOPS parameters for all pairs of ranks,
        where each rank has its own interfaces.
    placement : Allocation, Placement or array of int, optional
        Where the ranks sit: an allocation of the machine, a placement, or a node id per rank (the ranks of a node take
        its cores in their order). By default one rank per core, node after node.
    model : str
        Network model. "loggops": no contention (Hoefler, Schneider and Lumsdaine, "LogGOPSim: simulating large-scale
        applications in the LogGOPS model", 2010); "flow": messages on the same links share their bandwidth max-min
        fairly; "reserve": each message reserves its links, one after the other; "packet": packets wait in the buffers
        of switches.
    receive : {"loggp", "loggopsim"}
        How long a message occupies its receiver's processor. "loggp": for o_recv and O of its bytes once the last byte
        has arrived; the processor is free until then (Alexandrov et al., "LogGP", 1995). "loggopsim", for comparison
        with LogGOPSim: from the arrival of its head for o_recv plus O or G of its bytes, whichever takes longer.
    handshakes : bool
        Messages by rendezvous between nodes wait for a request of their sender and the answer of their receiver, which
        are messages of one byte: an answer waits behind what its rank is sending. What the latency of a piece above
        ``S`` is more than that of the smallest messages is taken for them, up to the time that both take, and left out.
        The timeline is that of the schedule with these messages.
    routing : {"minimal", "random", "valiant", "adaptive"}
        Routes of messages between nodes, in models with contention: the machine's deterministic minimal routes, random
        minimal routes, Valiant's through a random intermediate, or for each message the less loaded of the last two.
    slices : int
        Minimum number of time slices in which the traffic of every link is counted; 0 for sums only.
    resolution : float, optional
        For the "flow" model: messages whose ends differ by less than this share of their own duration leave the links
        at the same moment. 0 is exact; by default 0.01.
    packet : PacketOptions, optional
        For the "packet" model: sizes of packets and buffers.
    record : {"finish", "ranks", "ops"}
        What to record. "finish": finish times only; "ranks": also where the time of every rank went; "ops": also begin
        and end of every operation, and the data for the critical path and sensitivities (about 70 bytes per operation).
    collectives : dict or DecisionTable, optional
        Algorithms for the collectives of a program, see :func:`isthmus.lower`.
    noise : Noise, optional
        Operating system noise; by default the machine's.
    seed : int
        Seed of the noise and of random routes.
    copy_rate, reduce_rate : float, optional
        Seconds per byte of copy and reduce operations. By default the times that the machine gives by size; without
        them derived from the memory bandwidth of a node, shared by its cores: two bytes moved per byte copied, three
        per byte reduced; 0 if the machine does not give it.
    symmetry : bool
        Simulate only one of several indistinguishable ranks if that gives exactly the same result.
    skip : bool
        Skip iterations that repeat others if that gives exactly the same result.
    progress : bool or callable
        True: show a progress bar on standard error. A callable is called with the number of operations done and their
        total.
    path_part : (int, int), optional
        With ``record="ops"``: a pair (start, length) in operations. Data for the critical path are kept only from when
        ``start`` operations are done, for about ``length`` operations. :meth:`Timeline.critical_path` then covers that
        part, sensitivities are not available, and no iterations are skipped.
    until : float, optional
        Stop the simulation when the makespan is known to exceed this time, seconds. :attr:`Timeline.stopped` is then
        True, the makespan is a lower bound above ``until``, and everything else is the state at that point; ranks and
        iterations that were not simulated themselves are not counted.
    after : ndarray of int64, optional
        :attr:`Timeline.free_ps` of a completed simulation that comes before this one, on the same machine and placement
        and with the model "loggops". Processors and interfaces start when they became free there, and all times count
        from its beginning. What is sent to a rank before it starts is received when it starts.

    Returns
    -------
    Timeline

    Raises
    ------
    InvalidInput
        If a parameter is out of range or belongs to another model, or a placement does not fit.
    Unsupported
        If the machine does not have such routes, or its network is too large for the model.

    Examples
    --------
    >>> import isthmus
    >>> barrier = isthmus.collective("barrier", ranks=1024, algorithm="dissemination")
    >>> isthmus.simulate(barrier, isthmus.Level(L=2.5e-6, o_send=1.5e-6, o_recv=1.5e-6, g=1e-6, G=6e-9)).makespan
    5.5e-05
    """
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from .timeline import RECORDS, Timeline

    if record not in RECORDS:
        raise InvalidInput(f"record = {shown(record)}: must be one of {', '.join(RECORDS)}")
    if isinstance(what, Program):
        from ..lowering.lower import lower

        what = lower(what, collectives=collectives)
    elif collectives is not None:
        raise InvalidInput("collectives: a schedule has none left to choose algorithms for; give a program")
    if not isinstance(what, Schedule):
        raise InvalidInput(f"{type(what).__name__} cannot be simulated: must be a Program or a Schedule")
    if isinstance(machine, (str, os.PathLike)):
        from ..loading import load

        machine = load(machine)
    timed = machine
    if handshakes and isinstance(machine, (Machine, Level)):
        from .handshakes import without_round_trips

        what = _with_handshakes(what, machine, placement)
        timed = without_round_trips(machine)
    # Iterations that are left out are in no log: a part that lies among them would be empty.
    skip = skip and path_part is None
    if path_part is not None and record != "ops":
        raise InvalidInput(f'path_part needs record="ops", and record is {shown(record)}')
    make_options = partial(
        all_options,
        what.ranks,
        timed,
        (placement, record, noise, seed, copy_rate, reduce_rate, symmetry, skip, receive),
        (model, routing, slices, resolution, packet),
        path_part,
    )
    options = make_options()
    stop = None if until is None else in_ps(parse(until, "s"), "until")
    if after is not None:
        if model != "loggops" or not len(after):
            raise InvalidInput(
                'after: must be free_ps of a simulation just made with model="loggops", the only model that can go on'
            )
        options.go_on(after)
    begin = time.perf_counter()
    report = _reporter(len(what), progress)
    try:
        result = _core.simulate(what.arrays, options, report, stop)
    finally:
        if report is not None:
            report.close()
    wall = time.perf_counter() - begin
    return Timeline(
        what,
        machine,
        result,
        wall=wall,
        record=record,
        model=model,
        routing=routing,
        make_options=make_options,
        goes_on=after is not None,
    )


def all_options(
    ranks: int,
    machine: Machine | Level,
    place: tuple[Any, ...],
    network: tuple[Any, ...],
    path_part: tuple[int, int] | None,
) -> _core.SimulationOptions:
    """Return parameters of :func:`simulate` as the core takes them: of core_options, of the network, and of the log.

    Raises
    ------
    InvalidInput
        As :func:`simulate`.
    """
    options = core_options(ranks, machine, *place)
    set_network(options, isinstance(machine, Machine), *network)
    if path_part is not None:
        first, most = (whole(number, "path_part", 0, 2**62) for number in path_part)
        # A message has five entries: start, handle and those of the receive, which are three.
        options.log_part(from_=first, most=max(5 * most // 2, 1))
    return options


def _with_handshakes(
    schedule: Schedule, machine: Machine | Level, placement: Allocation | Placement | ArrayLike | None
) -> Schedule:
    from .handshakes import with_handshakes

    if isinstance(machine, Machine):
        return with_handshakes(schedule, located(schedule.ranks, machine, placement).node, machine.level.network)
    return with_handshakes(schedule, None, machine)


def in_ps(seconds: float, name: str) -> int:
    """Return seconds as whole picoseconds.

    Raises
    ------
    InvalidInput
        For a number out of range, which the message calls ``name``.
    """
    ps = seconds * 1e12
    if not 0 <= ps < 2**60:
        raise InvalidInput(f"{name} = {seconds} s: must be 0 to 1.1e6 s")
    return round(ps)


def _costs(piece: Piece, name: str) -> dict[str, Any]:
    """Times in ps and rates in ps per byte."""
    times = {f: in_ps(getattr(piece, f), f"{name}.{f}") for f in ("L", "o_send", "o_recv", "g")}
    rates = {f: rate for f in ("G", "O", "O_recv") if (rate := getattr(piece, f)) is not None}
    for f, rate in rates.items():
        if not 0 <= rate * 1e12 < 1e15:
            raise InvalidInput(f"{name}.{f} = {rate} s/B: must be 0 to 1000 s/B")
    return times | {f: rate * 1e12 for f, rate in rates.items()}


def _level(level: Level, name: str) -> _core.LevelCost:
    own, *pieces = level.all_pieces
    eager = min(max(level.S, 0.0), float(2**63))
    cost = _core.LevelCost(**_costs(own, name), S=int(eager), per_hop=in_ps(level.per_hop, f"{name}.per_hop"))
    for i, piece in enumerate(pieces):
        where = f"{name}.pieces[{i}]"
        before = pieces[i - 1].above if i else 0
        if not before < piece.above < 2**63 or not 1 <= piece.after <= piece.above:
            raise InvalidInput(
                f"{where}: above = {piece.above:g} and after = {piece.after:g} bytes: above must exceed {before:g}, "
                "and after from 1 to above"
            )
        costs = {"O_recv": piece.O * 1e12} | _costs(piece, where)
        cost.add_piece(above=int(piece.above), after=round(piece.after), **costs)
    return cost


def core_options(
    ranks: int,
    machine: Machine | Level,
    placement: Allocation | Placement | ArrayLike | None,
    record: str,
    noise: Noise | None,
    seed: int,
    copy_rate: float | None,
    reduce_rate: float | None,
    symmetry: bool,
    skip: bool,
    receive: str = RECEIVE,
) -> _core.SimulationOptions:
    """Return parameters of :func:`simulate` as the core takes them, except those of the network.

    Raises
    ------
    InvalidInput
        For parameters out of range, unknown names, and a placement that does not fit.
    """
    if receive not in RECEIVES:
        raise InvalidInput(f"receive = {shown(receive)}: must be one of {', '.join(RECEIVES)}")
    if isinstance(machine, Level):
        if placement is not None:
            raise InvalidInput("placement needs a machine")
        levels = Levels(socket=machine, node=machine, network=machine)
        node, byte = Node(), 0.0
    elif isinstance(machine, Machine):
        levels = machine.level
        node, bandwidth = machine.node, machine.node.memory_bandwidth
        byte = node.cores / bandwidth if bandwidth else 0.0
        noise = machine.noise if noise is None else noise
    else:
        raise InvalidInput(f"machine: {type(machine).__name__}; must be a Machine, a Level, a name or specification")
    seed = whole(seed, "seed", 0, 2**64 - 1)
    rates = [2 * byte if copy_rate is None else copy_rate, 3 * byte if reduce_rate is None else reduce_rate]
    if not all(0 <= rate < 1e3 for rate in rates):
        raise InvalidInput(f"copy_rate, reduce_rate = {rates} s/B: must be 0 to 1000 s/B")
    options = _core.SimulationOptions(
        socket=_level(levels.socket, "socket"),
        node=_level(levels.node, "node"),
        network=_level(levels.network, "network"),
        record=record,
        receive=receive,
        seed=seed,
        copy_rate=rates[0] * 1e12,
        reduce_rate=rates[1] * 1e12,
        start=round(node.start * 1e12),
        symmetry=symmetry,
        skip=skip,
    )
    for reduces, rate, times in ((False, copy_rate, node.copy), (True, reduce_rate, node.reduce)):
        for one in times if rate is None else ():
            options.add_time(reduces=reduces, bytes=int(one.bytes), time=one.time * 1e12)
    if isinstance(machine, Machine):
        _place(options, ranks, machine, placement)
    if noise is not None and noise.kind != "none":
        _set_noise(options, noise)
    return options


def _place(
    options: _core.SimulationOptions, ranks: int, machine: Machine, placement: Allocation | Placement | ArrayLike | None
) -> None:
    if ranks == 0 and placement is None:
        return
    where = located(ranks, machine, placement)
    nics = max(machine.node.nics, 1)
    # Cores are spread over the interfaces in blocks, as the sockets to which they are attached are.
    nic = where.core.astype(np.int64) * nics // machine.node.cores
    nodes, sockets, interfaces = (np.ascontiguousarray(a, np.uint32) for a in (where.node, where.socket, nic))
    options.place(topology=machine.topology, node=nodes, socket=sockets, nic=interfaces, nics=nics)


def located(ranks: int, machine: Machine, placement: Allocation | Placement | ArrayLike | None) -> Location:
    """Return where ranks sit.

    Parameters
    ----------
    ranks : int
        From 1.
    machine : Machine
    placement : Allocation, Placement, array of int or None
        As of :func:`simulate`.

    Raises
    ------
    InvalidInput
        For a placement that does not fit.
    """
    if placement is None:
        cores = machine.node.cores
        if ranks > machine.cores:
            raise InvalidInput(
                f"{ranks} ranks: {machine.name} has {machine.cores} cores; give a placement to share cores"
            )
        placement = machine.allocate(-(-ranks // cores))
    if isinstance(placement, (Allocation, Placement)) and placement.machine != machine:
        noun = "an allocation" if isinstance(placement, Allocation) else "a placement"
        raise InvalidInput(f"placement: {noun} belongs to another machine")
    if isinstance(placement, Allocation):
        if placement.ranks < ranks:
            raise InvalidInput(f"placement: it has {placement.ranks} ranks, the schedule has {ranks}")
        return placement.location(np.arange(ranks))
    if not isinstance(placement, Placement):
        placement = Placement(machine, placement)
    if placement.ranks != ranks:
        raise InvalidInput(f"placement: {placement.ranks} node ids for {ranks} ranks; must be one for each rank")
    where: Location = placement.location
    return where


def _set_noise(options: _core.SimulationOptions, noise: Noise) -> None:
    if noise.kind == "file":
        from .noise import read_noise

        starts, durations, length = read_noise(noise.file)
        options.noise_from_file(starts=starts, durations=durations, length=length)
        return
    if noise.period is None or noise.duration is None:
        raise InvalidInput(f"noise of kind {noise.kind}: give period and duration")
    period, duration = in_ps(noise.period, "noise.period"), in_ps(noise.duration, "noise.duration")
    options.noise(noise.kind, period=period, duration=duration)


def _reporter(total: int, progress: bool | Callable[[int, int], None]) -> Any:
    if progress is False:
        return None
    from ..progress import Reporter

    return Reporter(total, None if progress is True else progress)
