"""One run of a program that is simulated piece by piece, and the parts of its critical path."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..errors import InvalidInput
from ..lowering.lower import lower
from ..schedule.computation import scaled
from ..schedule.operation import OpKind
from ..simulation import simulate
from ..units import text
from .alike import Run, Shapes
from .parts import Parts, finished, sums_on_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Level, Machine
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from ..simulation.timeline import Timeline
    from ..skeletons.steps import Pieces


#: Paths of pieces of a shape that are followed, each by one more simulation; they stand for those of the others.
PATHS = 4


@dataclass(frozen=True)
class _Path:
    """The critical path of a piece: sums of its parts, the rank with which it begins, and how long it is."""

    sums: Mapping[str, int]
    rank: int
    ends: tuple[int, int]


def operations_of(pieces: Pieces, collectives: Any, most: int) -> tuple[int, int]:
    """Operations of all pieces, and of the largest; one of them above ``most`` at least if there are more."""
    known: dict[Any, int] = {}
    total = 0
    for number, key in enumerate(pieces.keys):
        if key not in known:
            known[key] = len(lower(pieces.build(number), collectives=collectives))
        total += known[key]
        if total > most:
            # The rest by the mean so far.
            return round(total / (number + 1) * len(pieces)), max(known.values())
    return total, max(known.values(), default=0)


class InPieces:
    """A program on a machine, piece by piece.

    Every piece starts where processors and interfaces became free in the one before. Times differ from those of the
    whole program by what ranks that are ahead send to others that are still in the piece before, and by pieces for
    which others stand (:mod:`.alike`): one of the same shape that ranks began alike, or, where the mean of those that
    were simulated is sure, each of them in turn. With noise, which depends on the time, all pieces are simulated.

    Parameters
    ----------
    pieces : Pieces
    machine : Machine or Level
    place : optional
        As :func:`isthmus.simulate` takes it.
    factor : float
        By which computation is multiplied.
    options : mapping
        Of :func:`isthmus.simulate`; the model is "loggops".

    Attributes
    ----------
    makespan_ps : int
    operations, simulated : int
        Of the whole program, and of the pieces that were simulated.
    error : float or None
        Share of the makespan by which pieces that stand for others may change it, with 95 % confidence. None: it is
        the time of all pieces simulated one by one, to the picosecond.
    """

    def __init__(
        self, pieces: Pieces, machine: Machine | Level, place: Any, factor: float, options: Mapping[str, Any]
    ) -> None:
        self._pieces, self._machine, self._place, self._factor = pieces, machine, place, factor
        self._collectives = options.get("collectives")
        left_out = ("collectives", "record", "path_part", "after", "until", "progress")
        self._options = {name: value for name, value in options.items() if name not in left_out}
        noise = options.get("noise") or getattr(machine, "noise", None)
        self._repeats = noise is None or noise.kind == "none"
        self._computes: dict[Hashable, int] = {}
        #: Runs of pieces, when each began, and how much longer it is taken to be for the sizes of its sums.
        self._runs: list[tuple[Run, int, int]] = []
        self._shapes = Shapes(pieces, self._time_of_sums)
        self.operations = self.simulated = 0
        self._forward()
        last, begin, longer = self._runs[-1]
        self.makespan_ps = begin + last.took + longer

    @property
    def error(self) -> float | None:
        """See the attributes."""
        error = self._shapes.error()
        return None if error is None else error / max(self.makespan_ps, 1)

    def _schedule(self, number: int, last: int | None = None) -> Schedule:
        program = self._pieces.build(number, last)
        # The computation at the end becomes longer or shorter, too; its length does not matter.
        return lower(program if self._factor == 1 else scaled(program, self._factor), collectives=self._collectives)

    def _simulated(self, schedule: Schedule, before: NDArray[np.int64] | None, **more: Any) -> Timeline:
        t = simulate(schedule, self._machine, self._place, after=before, **self._options, **more)
        if t.deadlock is not None:
            raise InvalidInput(
                f"on {schedule.ranks:,} ranks the program does not end: deadlock after {text(t.makespan, 's', 4)}"
            )
        return t

    def _time_of_sums(self, program: Program) -> int:
        schedule = lower(program, collectives=self._collectives)
        self.simulated += len(schedule)
        return self._simulated(schedule, None, record="finish").makespan_ps

    def _forward(self) -> None:
        counts: dict[Hashable, int] = {}
        free: NDArray[np.int64] | None = None
        base = 0
        for number, shape in enumerate(self._pieces.shapes):
            run, longer = None, 0
            if self._repeats and free is not None:
                run, longer = self._shapes.like(number, free - base)
            if run is None:
                schedule = self._schedule(number)
                counts[shape] = len(schedule)
                self.simulated += len(schedule)
                calc = schedule.ops["kind"] == OpKind.calc
                self._computes[shape] = int(schedule.ops["amount"][calc].sum(dtype=np.uint64))
                t = self._simulated(schedule, free, record="finish")
                before = np.zeros_like(t.free_ps) if free is None else free - base
                run = Run(number, before, t.free_ps - base, t.finish_ps - base)
                # In the first all ranks begin at once, and messages meet otherwise than ever after.
                if number:
                    self._shapes.add(run)
                del t, schedule
                _core.release_memory()
            self.operations += counts[shape]
            self._runs.append((run, base, longer))
            # Before the first rank goes on, nothing is needed.
            first = base + run.first + longer
            free = np.maximum(run.free + base + longer, first)
            base = first

    def parts(self, memory: float) -> Parts:
        """The parts of the critical path, from its end to its beginning; ``memory``: see :func:`on_path`."""
        rank = int(self._runs[-1][0].finish.argmax())
        sums = {"computation": 0, "bandwidth": 0, "collective_bandwidth": 0}
        known: dict[int, _Path] = {}
        of_shape: dict[Hashable, list[int]] = {}
        until = self.makespan_ps
        # By how much pieces that stand for others end earlier or later on another rank.
        differ = 0
        for number in reversed(range(len(self._runs))):
            run, base, longer = self._runs[number]
            of, mine = run.number, of_shape.setdefault(self._pieces.shapes[number], [])
            if of not in known and number and self._repeats and len(mine) >= PATHS:
                # Those of others of the shape in turn.
                of = mine[number % len(mine)]
            path = known.get(of)
            if path is None:
                path = self._path(of, rank)
                if self._repeats:
                    known[of] = path
                    if of:
                        mine.append(of)
            for name, amount in path.sums.items():
                sums[name] = sums.get(name, 0) + amount
            sums["collective_bandwidth"] += longer
            begin, end = path.ends
            differ += until - (base + end + longer)
            until = base + begin
            rank = path.rank
            if number:
                before, begun, added = self._runs[number - 1]
                finish = begun + int(before.finish[rank]) + added
                if of == number:
                    # The interface of the rank was not free yet.
                    sums["bandwidth"] += until - finish
                else:
                    differ += until - finish
                until = finish
        sums["bandwidth"] += until
        mean = sum(self._computes[shape] for shape in self._pieces.shapes) // self._pieces.ranks
        return finished(_spread(sums, differ), mean, memory, self.makespan_ps)

    def _path(self, number: int, rank: int) -> _Path:
        """Of the piece that was simulated at this number, the path that ends with this rank."""
        _, base, _ = self._runs[number]
        free = None
        if number:
            before, begun, longer = self._runs[number - 1]
            free = np.maximum(before.free + begun + longer, base)
        schedule = self._schedule(number, rank)
        t = self._simulated(schedule, free, record="ops", path_part=(0, 2 * len(schedule)))
        path = t.critical_path()
        # The last step is the computation that lets the rank end last.
        sums = sums_on_path(t, path, len(path) - 1)
        found = _Path(sums, int(path.rank[0]), (int(path.begin_ps[0]) - base, int(path.begin_ps[-1]) - base))
        del t, path, schedule
        _core.release_memory()
        return found


def _spread(sums: dict[str, int], differ: int) -> dict[str, int]:
    """Parts with a difference added to those that are not computation, in proportion; none is below 0."""
    out = dict(sums)
    others = {name: amount for name, amount in sums.items() if name != "computation" and amount > 0}
    whole = sum(others.values())
    if whole and whole + differ >= 0:
        for name, amount in others.items():
            out[name] += differ * amount // whole
    # What rounding leaves, or all of it.
    most = max(out, key=lambda name: out[name])
    out[most] += sum(sums.values()) + differ - sum(out.values())
    for name in [name for name, amount in out.items() if amount < 0]:
        out[most] += out.pop(name)
    return out
