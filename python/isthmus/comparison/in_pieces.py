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
from .parts import Parts, finished, sums_on_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Level, Machine
    from ..schedule.schedule import Schedule
    from ..simulation.timeline import Timeline
    from ..skeletons.steps import Pieces


#: An equal piece is not simulated again if ranks begin it with differences that are the same up to this share of the
#: time that it takes.
ALIKE = 2e-3
#: Nor is it where so many like it were simulated, whatever the ranks began with, and their times differ by no more than
#: this share: they stand for the others in turn, so that what one is too short another is too long.
ENOUGH, STEADY = 4, 1e-2


@dataclass(frozen=True, eq=False)
class _Run:
    """A piece that was simulated; times count from that at which the first rank had finished the piece before it.

    Attributes
    ----------
    before, free : array of int64
        When resources were free before it, and after it.
    finish : array of int64
        When ranks had finished.
    took : int
    """

    before: NDArray[np.int64]
    free: NDArray[np.int64]
    finish: NDArray[np.int64]
    took: int


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
    whole program by what ranks that are ahead send to others that are still in the piece before, and by pieces that
    are taken to be as equal ones before them: as one that ranks began alike, or, where times of equal pieces hardly
    differ, as each of some in turn. With noise, which depends on the time, all pieces are simulated.

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
        #: How often runs stood for equal pieces, by the number of the piece that was simulated.
        self._stood: dict[int, int] = {}
        #: Runs of pieces, when each began, and the numbers of the pieces that they were made for.
        self._runs: list[tuple[_Run, int, int]] = []
        self.operations = self.simulated = 0
        self._forward()
        last, begin, _ = self._runs[-1]
        self.makespan_ps = begin + int(last.finish.max())

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

    def _forward(self) -> None:
        known: dict[Hashable, list[tuple[_Run, int]]] = {}
        counts: dict[Hashable, int] = {}
        free: NDArray[np.int64] | None = None
        base = 0
        for number, key in enumerate(self._pieces.keys):
            alike = known.setdefault(key, [])
            run, of = (None, number) if free is None or not self._repeats else self._like(alike, free - base, number)
            if run is None:
                schedule = self._schedule(number)
                counts[key] = len(schedule)
                self.simulated += len(schedule)
                calc = schedule.ops["kind"] == OpKind.calc
                self._computes[key] = int(schedule.ops["amount"][calc].sum(dtype=np.uint64))
                t = self._simulated(schedule, free, record="finish")
                before = np.zeros_like(t.free_ps) if free is None else free - base
                run = _Run(before, t.free_ps - base, t.finish_ps - base, int(t.finish_ps.max()) - base)
                # In the first all ranks begin at once, and messages meet otherwise than ever after.
                if number:
                    alike.append((run, number))
                del t, schedule
                _core.release_memory()
            self.operations += counts[key]
            self._runs.append((run, base, of))
            # Before the first rank goes on, nothing is needed.
            first = base + int(run.finish.min())
            free = np.maximum(run.free + base, first)
            base = first

    def _like(self, runs: list[tuple[_Run, int]], before: NDArray[np.int64], number: int) -> tuple[_Run | None, int]:
        """Of runs of equal pieces the one that begins most alike, if it is alike enough."""
        best, error, of = None, 0, number
        for run, which in runs:
            off = int(np.abs(run.before - before).max())
            if off <= ALIKE * run.took and (best is None or off < error):
                best, error, of = run, off, which
        if best is None and len(runs) >= ENOUGH:
            times = [run.took for run, _ in runs]
            if max(times) - min(times) <= STEADY * min(times):
                best, of = min(runs, key=lambda one: self._stood.get(one[1], 0))
                self._stood[of] = self._stood.get(of, 0) + 1
        return best, of

    def parts(self, memory: float) -> Parts:
        """The parts of the critical path, from its end to its beginning; ``memory``: see :func:`on_path`."""
        rank = int(self._runs[-1][0].finish.argmax())
        sums = {"computation": 0, "bandwidth": 0}
        known: dict[int, _Path] = {}
        until = self.makespan_ps
        for number in reversed(range(len(self._runs))):
            _, base, of = self._runs[number]
            path = known.get(of)
            if path is None:
                path = self._path(of, rank)
                if self._repeats:
                    known[of] = path
            for name, amount in path.sums.items():
                sums[name] = sums.get(name, 0) + amount
            begin, end = path.ends
            # Another rank of an equal piece ends a little earlier or later.
            sums["computation"] += until - (base + end)
            until = base + begin
            rank = path.rank
            if number:
                before, begun, _ = self._runs[number - 1]
                finish = begun + int(before.finish[rank])
                # The interface of the rank was not free yet; or an equal piece began a little otherwise.
                sums["bandwidth" if of == number else "computation"] += until - finish
                until = finish
        sums["bandwidth"] += until
        if sums["computation"] < 0:
            # What equal pieces differ by is more than is computed.
            most = max(sums, key=lambda name: sums[name])
            sums[most] += sums["computation"]
            sums["computation"] = 0
        mean = sum(self._computes[key] for key in self._pieces.keys) // self._pieces.ranks
        return finished(sums, mean, memory, self.makespan_ps)

    def _path(self, number: int, rank: int) -> _Path:
        """Of the piece that was simulated at this number, the path that ends with this rank."""
        _, base, _ = self._runs[number]
        free = None
        if number:
            before, begun, _ = self._runs[number - 1]
            free = np.maximum(before.free + begun, base)
        schedule = self._schedule(number, rank)
        t = self._simulated(schedule, free, record="ops", path_part=(0, 2 * len(schedule)))
        path = t.critical_path()
        # The last step is the computation that lets the rank end last.
        sums = sums_on_path(t, path, len(path) - 1)
        found = _Path(sums, int(path.rank[0]), (int(path.begin_ps[0]) - base, int(path.begin_ps[-1]) - base))
        del t, path, schedule
        _core.release_memory()
        return found
