"""A program on several machines at many numbers of ranks: who is faster up to which size, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ..errors import InvalidInput
from ..lowering.lower import lower
from ..machine import Allocation, Level, Machine
from ..machine.placement import Placement
from ..schedule.computation import scaled
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..simulation import simulate
from ..units import amount, percent, text
from .crossover import Uncertain, crossovers, doubts
from .in_pieces import InPieces, operations_of
from .parts import on_average, on_path
from .rates import Computing, Roofline, computing
from .sizes import At, SizeComparison

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..simulation.options import Options
    from ..simulation.timeline import Timeline
    from ..skeletons import Family
    from ..skeletons.steps import Pieces

#: Operations up to which a program is simulated in one go, with its critical path if it cannot be cut into pieces, and
#: bytes that one takes with and without the path, about.
PATH_MOST, _PATH_BYTES, _BYTES = 8_000_000, 300, 130
#: Share of the memory that is free which a simulation may take.
_OF_FREE = 0.8

#: From a machine and a number of ranks to where they sit; None: block, a rank on each core.
Places = Callable[[Machine | Level, int], "Allocation | Placement | ArrayLike | None"]


def compare_sizes(
    family: Family,
    machines: Sequence[Machine | Level],
    names: Sequence[str],
    ranks: Sequence[int],
    *,
    reference: Machine | None = None,
    bound: tuple[float, float] | None = None,
    places: Places | None = None,
    report: Callable[[int, int], None] | None = None,
    **options: Unpack[Options],
) -> SizeComparison:
    """Simulate a program at several numbers of ranks on several machines, and say where one overtakes another.

    Parameters
    ----------
    family : Family
        The program at any number of ranks, see :func:`isthmus.skeletons.family`.
    machines : sequence of Machine or Level
        Two or more; the others are compared with the first.
    names : sequence of str
        What they are called.
    ranks : sequence of int
        The smallest is what speed-up and efficiency refer to. The largest is simulated last.
    reference : Machine, optional
        Where the computation times of the program hold, all cores of a node busy. Without it they hold everywhere.
    bound : (float, float), optional
        Range of the share of computation there that goes by memory bandwidth; by default, computation is scaled by a
        roofline of cache misses and floating-point operations of the recording, if they were counted.
    places : callable, optional
        From a machine and a number of ranks to where they sit.
    report : callable, optional
        Called with the simulations done and their number.
    **options
        Of :func:`isthmus.simulate`.

    Returns
    -------
    SizeComparison

    Raises
    ------
    InvalidInput
        If a machine is too small, or does not say what the reference needs, or the program has only one size.
    """
    sizes = sorted(set(ranks))
    if len(machines) < 2:
        raise InvalidInput(f"{len(machines)} machine: expected at least two to compare")
    if family.ranks is not None and sizes != [family.ranks]:
        raise InvalidInput(
            f"{family.name} is a program of {family.ranks:,} ranks and is compared at these only: "
            "for other sizes fit a skeleton to recordings of several sizes"
        )
    _check_sizes(machines, names, sizes, places)
    notes = [*family.notes]
    computed = [Computing()] * len(machines)
    if reference is not None:
        by: tuple[float, float] | Roofline | None = bound
        if by is None and family.ranks is not None:
            program = family.at(family.ranks)
            by = Roofline.of(program) if isinstance(program, Program) else None
        if by is None:
            raise InvalidInput(
                "computation is to be scaled from one machine to others, but nobody says which share of it goes by "
                "memory bandwidth: give it (memory_bound), or a recording in which cache-misses were counted"
            )
        computed, note = _computing(machines, reference, by)
        notes.append(note)
    elif bound is not None:
        raise InvalidInput("the share of computation bound by memory needs the machine where it was: give a reference")
    else:
        notes.append("computation takes as long on all machines: give --reference and --memory-bound to scale it")
    rows: list[list[At]] = []
    left: list[str] = []
    origin = ""  # what is to be said of the largest program
    known: list[tuple[int, int]] = []
    pieces = False
    for number, size in enumerate(sizes):
        cut = _cut(family, size, options)
        expected, each = (_expected(known, size), _BYTES) if cut is None else (cut[1], _PATH_BYTES)
        if expected * each > _OF_FREE * _free():
            left.append(
                f"{size:,} ranks are left out: about {expected:,} operations at once need {amount(expected * each)} of "
                f"memory, and {amount(_free())} are free"
            )
            break
        what = family.at(size) if cut is None else cut[0]
        origin = getattr(what, "origin", "")
        pieces = pieces or cut is not None
        row = []
        operations = 0
        for i, (machine, one) in enumerate(zip(machines, computed, strict=True)):
            place = None if places is None else places(machine, size)
            at, operations = _at(what, machine, place, one, family.collective, options)
            row.append(at)
            if report is not None:
                report(number * len(machines) + i + 1, len(sizes) * len(machines))
        known.append((size, operations))
        rows.append(row)
    if origin:
        notes.append(origin)
    done = sizes[: len(rows)]
    if not done:
        raise InvalidInput(left[0])
    if any(at.parts.way == "mean" for row in rows for at in row):
        most = (
            max(size for size, row in zip(done, rows, strict=True) if row[0].parts.way == "path")
            if any(row[0].parts.way == "path" for row in rows)
            else 0
        )
        notes.append(
            f"above {most:,} ranks, parts are means over ranks instead of parts of the critical path, which would need "
            "too much memory: what collectives and imbalance cost is in overhead, latency, bandwidth and waiting"
        )
    if pieces:
        notes.append(_of_pieces(done, rows, names))
    found = []
    shares = {}
    uncertain = [
        Uncertain(
            [row[i].parts for row in rows],
            _doubts(machine, done, reference is not None),
            computed[i],
            [row[i].error or 0.0 for row in rows],
        )
        for i, machine in enumerate(machines)
    ]
    for i in range(1, len(machines)):
        crossed, often = crossovers((names[0], names[i]), done, uncertain[0], uncertain[i])
        found += crossed
        shares[names[i]] = often
    prices = [(machine.node.price, machine.node.power) if isinstance(machine, Machine) else (None, None)
              for machine in machines]  # fmt: skip
    return SizeComparison(
        family.name, family.scaling, tuple(names), tuple(done), tuple(map(tuple, rows)), tuple(found), shares,
        tuple(prices), tuple(left), tuple(notes),
    )  # fmt: skip


def at_size(
    family: Family, ranks: int, machine: Machine, reference: Machine, share: float, **options: Unpack[Options]
) -> At:
    """One program at one size on one machine, its computation scaled from another; see :func:`compare_sizes`."""
    (one,), _ = _computing([machine], reference, (share, share))
    cut = _cut(family, ranks, {**options})
    what = family.at(ranks) if cut is None else cut[0]
    return _at(what, machine, None, one, family.collective, {**options})[0]


def _of_pieces(sizes: Sequence[int], rows: Sequence[Sequence[At]], names: Sequence[str]) -> str:
    """What is said of times of programs in pieces: how far they may be from those of all pieces one by one."""
    said = f"programs of more than {PATH_MOST / 1e6:g} million operations are simulated in pieces, one after the other"
    inexact = [
        (at.error, size, name)
        for size, row in zip(sizes, rows, strict=True)
        for at, name in zip(row, names, strict=True)
        if at.error is not None
    ]
    if not inexact:
        return (
            f"{said}, and of pieces that are the same and that ranks begin alike to the picosecond one: times are near "
            "those of the whole, not equal to them"
        )
    error, size, name = max(inexact)
    return (
        f"{said}, and some stand for others that ranks begin otherwise and whose times scatter around the same mean: "
        f"this may change times by up to {percent(error, 2)} ({name}, {size:,} ranks), with 95 % confidence, beside "
        "what pieces one after the other differ from the whole"
    )


def _check_sizes(
    machines: Sequence[Machine | Level], names: Sequence[str], sizes: Sequence[int], places: Places | None
) -> None:
    if not sizes:
        raise InvalidInput("no number of ranks is given: expected some, such as 16..1024")
    for machine, name in zip(machines, names, strict=True):
        if isinstance(machine, Machine) and places is None and sizes[-1] > machine.cores:
            fits = [size for size in sizes if size <= machine.cores]
            more = f"; the largest of these that fits has {fits[-1]:,}" if fits else ""
            raise InvalidInput(f"{sizes[-1]:,} ranks: {name} has {machine.cores:,} cores{more}")
        if places is not None:
            places(machine, sizes[-1])


def _computing(
    machines: Sequence[Machine | Level], reference: Machine, by: tuple[float, float] | Roofline
) -> tuple[list[Computing], str]:
    real = [machine for machine in machines if isinstance(machine, Machine)]
    if len(real) < len(machines):
        raise InvalidInput("LogGOPS parameters have no cores: computation can be scaled only between machines")
    if isinstance(by, Roofline):
        return by.computing(real, reference, [None] * len(real))
    return computing(real, reference, by, [None] * len(real))


def _cut(family: Family, ranks: int, options: Mapping[str, Any]) -> tuple[Pieces, int] | None:
    """A large program in pieces, and the operations of the largest; None where it is simulated in one go."""
    if family.pieces is None or options.get("model", "loggops") != "loggops" or options.get("handshakes"):
        return None
    pieces = family.pieces(ranks)
    if len(pieces) < 2:
        return None
    total, largest = operations_of(pieces, options.get("collectives"), PATH_MOST)
    return (pieces, largest) if total > PATH_MOST else None


def _at(
    what: Program | Schedule | Pieces,
    machine: Machine | Level,
    place: Any,
    one: Computing,
    collective: bool,
    options: Mapping[str, Any],
) -> tuple[At, int]:
    """One run, and its number of operations."""
    if isinstance(what, (Program, Schedule)):
        schedule = _lowered(what, one.factor, options)
        return _run(schedule, machine, place, one, collective, options), len(schedule)
    run = InPieces(what, machine, place, one.factor, options)
    parts = run.parts(one.memory / one.factor)
    return At(run.makespan_ps, _nodes(machine, what.ranks, place), parts, run.error), run.operations


def _lowered(what: Program | Schedule, factor: float, options: Mapping[str, Any]) -> Schedule:
    if isinstance(what, Schedule):
        if factor != 1:
            raise InvalidInput("the computation of a schedule cannot be scaled between machines; give a program")
        return what
    program = what if factor == 1 else scaled(what, factor)
    return lower(program, collectives=options.get("collectives"))


def _run(
    schedule: Schedule,
    machine: Machine | Level,
    place: Any,
    one: Computing,
    collective: bool,
    options: Mapping[str, Any],
) -> At:
    with_path = len(schedule) <= PATH_MOST and len(schedule) * _PATH_BYTES <= _OF_FREE * _free()
    given: Any = {name: value for name, value in options.items() if name not in ("collectives", "record")}
    t: Timeline = simulate(schedule, machine, place, record="ops" if with_path else "ranks", **given)
    if t.deadlock is not None:
        raise InvalidInput(
            f"on {schedule.ranks:,} ranks the program does not end: deadlock after {text(t.makespan, 's', 4)}"
        )
    memory = one.memory / one.factor
    parts = on_path(t, memory, collective) if with_path else on_average(t, memory)
    return At(t.makespan_ps, _nodes(machine, schedule.ranks, place), parts)


def _nodes(machine: Machine | Level, ranks: int, place: Any) -> int | None:
    if isinstance(machine, Level):
        return None
    if isinstance(place, Allocation):
        return len(place.nodes)
    return -(-ranks // machine.node.cores) if place is None else len(set(Placement(machine, place).location.node))


def _doubts(machine: Machine | Level, sizes: Sequence[int], computes: bool) -> list[dict[str, float]]:
    cores = machine.node.cores if isinstance(machine, Machine) else 0
    out = [doubts(machine, size > cores) for size in sizes]
    # Computation that is the same everywhere cannot make a difference.
    return out if computes else [one | dict.fromkeys(("cores", "memory"), 0.0) for one in out]


def _expected(known: Sequence[tuple[int, int]], size: int) -> int:
    """Operations at the next size, from those before."""
    if not known:
        return 0
    (ranks, operations) = known[-1]
    per_rank = operations / ranks
    growth = per_rank / (known[-2][1] / known[-2][0]) if len(known) > 1 and known[-2][1] else 1.0
    return int(per_rank * max(growth, 1.0) * size)


def _free() -> float:
    """Bytes of memory that programs can still have; without end where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return float(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return float("inf")
