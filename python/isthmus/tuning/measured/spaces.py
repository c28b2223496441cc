"""Tuning of collectives on the memory of spaces by real runs, for every mode of synchronisation.

A program of libisthmus (``probes/spaces.c``) carries out every case by all candidates in turns, beside what the library
takes by itself. Times of one launch differ from those of the next, so ratios within launches are compared; candidates
that two launches show to be slower are not timed again. Journals of launches are kept beside the table: the same
command run again adds to them, so that intervals get narrower and a search that was stopped goes on.
"""

from __future__ import annotations

import datetime
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...files import write_atomically
from ...measuring.programs import spaces_program
from ...mpi.launcher import Launcher
from ...tabular import Tabular
from ...units import text
from ..choice import LIBRARY, Choice
from ..table import MODES, DecisionTable, Point, Provenance, Row
from .gain import ENOUGH, Gain, gain
from .result import Decision, interval, points

#: Collectives on the memory of spaces that move blocks.
KINDS = ("bcast", "scatter", "gather", "allgather", "alltoall")
#: Bytes at which every candidate is tried.
SIZES = (8, 64, 512, 4096, 32768, 262144)
RADICES = (3, 4, 8)
SEGMENTS = (8192, 65536)
#: Launches of every candidate; those of what is left after them are as many as time allows, up to ``_MOST`` in a run.
_FIRST, _MOST = 2, 25
#: Bytes of a block.
_LARGEST = 1 << 30
#: What is no more than this slower than the default is timed again, as many as ``_KEPT`` of a case.
_NEAR, _KEPT = 0.05, 3
#: What gains less is not worth a rule.
_LEAST = 0.02
_ROUNDS = 4
#: Seconds of a batch of calls.
_BATCH = (2e-5, 5e-3)
_SLACK = 60.0

_Case = tuple[str, str, int]  # collective, mode, bytes


@dataclass(frozen=True, eq=False)
class SpacesTuning(Tabular):
    """Result of :func:`isthmus.tuning.measured.spaces.tune_spaces`.

    Attributes
    ----------
    ranks : int
    decisions : mapping of str to sequence of Decision
        By mode of synchronisation; those whose choice is ``library`` are left to what libisthmus takes by itself.
    launches : int
        Those of earlier runs included.
    wall : float
        Seconds of this run.
    notes : tuple of str
    """

    ranks: int
    decisions: Mapping[str, Sequence[Decision]]
    launches: int
    wall: float
    notes: tuple[str, ...] = ()

    @property
    def gains(self) -> list[tuple[str, Decision]]:
        """Modes and decisions that are faster than the default by more than their interval."""
        return [(mode, d) for mode, of in self.decisions.items() for d in of if d.choice != LIBRARY]

    @property
    def table(self) -> DecisionTable:
        """The decision table: rows of modes, for as many ranks as were timed.

        Rules begin and end at sizes at which they were timed; all else is left to the library.
        """
        from ... import __version__

        modes: dict[str, dict[str, list[Row]]] = {}
        own = Point(0, LIBRARY)
        for mode, of in self.decisions.items():
            for kind in dict.fromkeys(d.collective for d in of):
                found = [d for d in of if d.collective == kind]
                if all(d.choice == LIBRARY for d in found):
                    continue
                modes.setdefault(kind, {})[mode] = [
                    *([Row(1, (own,), tuned=False)] if self.ranks > 1 else []),
                    Row(self.ranks, tuple(points(found)), tuned=False),
                    Row(self.ranks + 1, (own,), tuned=False),
                ]
        provenance = Provenance(
            isthmus=__version__,
            date=datetime.date.today().isoformat(),
            source="measured",
            sync="barrier",
            note="; ".join(self.notes),
        )
        return DecisionTable({}, provenance, modes)

    def frame(self) -> dict[str, NDArray[np.generic]]:
        """Return the decisions as columns: collective, sync, bytes, algorithm, seconds, default, ratio, low, high."""
        rows = [(mode, d) for mode, of in self.decisions.items() for d in of]
        nan = float("nan")
        return {
            "collective": np.array([d.collective for _, d in rows], str),
            "sync": np.array([mode for mode, _ in rows], str),
            "bytes": np.array([d.bytes for _, d in rows], np.int64),
            "algorithm": np.array([str(d.choice) for _, d in rows], str),
            "seconds": np.array([d.seconds for _, d in rows], float),
            "default": np.array([d.default for _, d in rows], float),
            "ratio": np.array([nan if d.gain is None else d.gain.ratio for _, d in rows], float),
            "low": np.array([nan if d.gain is None else d.gain.low for _, d in rows], float),
            "high": np.array([nan if d.gain is None else d.gain.high for _, d in rows], float),
        }

    def __str__(self) -> str:
        count = sum(len(of) for of in self.decisions.values())
        lines = [
            f"spaces of {self.ranks} ranks: {len(self.gains)} of {count} decisions are faster than the library's own; "
            f"{self.launches} launches, {self.wall:.0f} s"
        ]
        for mode, d in self.gains:
            within = "" if d.gain is None else f", {interval(d.gain)} of the default's {text(d.default, 's', 3)}"
            size = text(float(d.bytes), "B", 4)
            lines.append(f"  {d.collective} sync={mode} {size}: {d.choice}, {text(d.seconds, 's', 3)}{within}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def tune_spaces(
    collective: str | Iterable[str] = "all",
    *,
    launch: str,
    modes: Sequence[str] = MODES,
    sizes: Sequence[int] = SIZES,
    seconds: float = 540.0,
    mpicc: str | None = None,
    folder: str | os.PathLike[str],
    force: bool = False,
    progress: Callable[[float, str], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> SpacesTuning:
    """Choose algorithms of collectives on the memory of spaces by timing them, for every mode of synchronisation.

    Parameters
    ----------
    collective : str or iterable of str
        Of :data:`KINDS`, or "all".
    launch : str
        The launcher and its options: ``"isthmus run -n 2 --"``, or one of MPI such as ``"mpirun -n 8"``.
    modes : sequence of str
        Of :data:`isthmus.tuning.table.MODES`.
    sizes : sequence of int
        Bytes of the vector of a broadcast, or of one rank's block.
    seconds : float
        For all launches of this run.
    mpicc : str, optional
        The compiler, where the launcher does not tell.
    folder : path
        Where journals of launches are kept. A later run of the same search adds to them.
    force : bool
        Start again, whatever is in the folder.
    progress : callable, optional
        Called with the share that is done, and words.
    say : callable, optional
        Told what is compiled.

    Returns
    -------
    SpacesTuning

    Raises
    ------
    InvalidInput
        For unknown names, if the launcher fails or hangs, and if the folder holds another search.
    """
    kinds = list(KINDS) if collective == "all" else [collective] if isinstance(collective, str) else list(collective)
    kinds = list(KINDS) if kinds == ["all"] else list(dict.fromkeys(kinds))
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput(f"collective {kind!r}: those of spaces that are tuned are {', '.join(KINDS)}")
    for mode in modes:
        if mode not in MODES:
            raise InvalidInput(f"mode {mode!r}: must be one of {', '.join(MODES)}")
    tried = sorted(set(sizes))
    if not tried or tried[0] < 1 or tried[-1] > _LARGEST:
        raise InvalidInput(f"sizes to tune: must be bytes from 1 to {_LARGEST}")
    if not seconds > 0:
        raise InvalidInput(f"time {seconds:g} s: must be more than 0")
    launcher = Launcher.parse(launch)
    own = os.path.basename(launcher.words[0]) == "isthmus" and launcher.words[1:2] == ("run",)
    program = spaces_program(None if own else launcher.mpi(mpicc), say)
    words = f"{launch}\n{kinds}\n{list(modes)}\n{tried}\n"
    search = _Search(launcher, program, Path(folder), force, words, seconds, progress)
    search.begin()
    cases = {
        (kind, mode, size): candidates(kind, search.ranks, size, search.near)
        for kind in kinds
        for mode in modes
        for size in tried
    }
    search.run(cases)
    decisions: dict[str, list[Decision]] = {mode: [] for mode in modes}
    for kind, mode, size in cases:
        decisions[mode].append(search.decision((kind, mode, size)))
    return SpacesTuning(search.ranks, decisions, search.launches, search.passed, tuple(search.notes))


def candidates(kind: str, ranks: int, bytes: int, near: bool) -> list[Choice]:
    """Algorithms that differ on so many ranks, and how they move blocks.

    Parameters
    ----------
    kind : str
    ranks, bytes : int
    near : bool
        All ranks share memory; else blocks go by messages.

    Examples
    --------
    >>> [str(choice) for choice in candidates("gather", 2, 8, False)]
    ['binomial', 'linear_sync']
    >>> [str(choice) for choice in candidates("gather", 2, 8, True)][:3]
    ['binomial,access=message', 'binomial,access=put', 'binomial,access=get']
    """
    from ...collectives import algorithms, describe
    from ...collectives import collective as schedule
    from ...collectives.flavours import ACCESSES

    found: list[tuple[Choice, object]] = []
    for name in algorithms(kind):
        if not describe(kind, name).reference:
            continue
        taken = {option.name for option in describe(kind, name).options}
        variants = [Choice(name)]
        if "radix" in taken:
            variants += [Choice(name, {"radix": radix}) for radix in RADICES if radix < max(ranks, 3)]
        if "segment" in taken:
            variants += [v.replace(segment=size) for v in variants[:] for size in SEGMENTS if 2 * size <= bytes]
        for choice in variants:
            try:
                made = schedule(kind, ranks=ranks, bytes=bytes, algorithm=choice.argument)
            except InvalidInput:
                continue
            if all(made != other for _, other in found):
                found.append((choice, made))
    if not near:
        return [choice for choice, _ in found]
    return [choice.replace(access=access) for choice, _ in found for access in ACCESSES]


@dataclass
class _Times:
    """By launch: a candidate's, and the default's of the same launches."""

    mine: list[float] = field(default_factory=list)
    default: list[float] = field(default_factory=list)

    @property
    def gain(self) -> Gain:
        return gain(self.mine, self.default)


class _Search:
    def __init__(
        self, launcher: Launcher, program: Path, folder: Path, force: bool, words: str, seconds: float,
        progress: Callable[[float, str], None] | None,
    ) -> None:  # fmt: skip
        self.launcher, self.program, self.folder, self.seconds = launcher, program, folder, seconds
        self.progress = progress
        self.known: dict[_Case, dict[str, _Times]] = {}
        self.defaults: dict[_Case, list[float]] = {}
        self.notes: list[str] = []
        self.launches = self.ranks = 0
        self.near = False
        self._begin = time.monotonic()
        stated = folder / "spaces"
        if force and stated.is_file():
            for old in folder.iterdir():
                old.unlink()
        if folder.is_dir() and any(folder.iterdir()):
            if not stated.is_file():
                raise InvalidInput(f"{folder} holds no tuning of spaces: remove it, or choose another output")
            if stated.read_text(encoding="utf-8", errors="replace") != words:
                raise InvalidInput(
                    f"{folder} holds another tuning of spaces: --force starts again, the command of that one adds to it"
                )
        self._is_new = not stated.is_file()
        folder.mkdir(exist_ok=True)
        write_atomically(stated, words)

    @property
    def passed(self) -> float:
        return time.monotonic() - self._begin

    def begin(self) -> None:
        """Find out how many ranks there are, and take what earlier runs measured."""
        try:
            self._launch([], "start", 0.0)
        except BaseException:
            if self._is_new:  # nothing is known that another command would have to add to
                shutil.rmtree(self.folder, ignore_errors=True)
            raise
        for journal in sorted(self.folder.glob("launch-*.journal")):
            plan = journal.with_suffix(".plan")
            if plan.is_file():
                self._take(plan.read_text(encoding="utf-8"), journal)

    def run(self, cases: Mapping[_Case, Sequence[Choice]]) -> None:
        """Time candidates until time is up."""
        wanted = {case: [str(choice) for choice in of] for case, of in cases.items()}
        start = 0.5
        for number in range(_FIRST + _MOST):
            left = self.seconds - self.passed
            first = self._fewest(wanted) < _FIRST
            remaining = max(1, _FIRST - self._fewest(wanted)) if first else max(1, ENOUGH + 2 - number)
            if number > 0 and left < start:
                break  # every run adds a launch
            left = max(left, start)
            share = 0.45 * left / remaining if first else left / max(remaining, 1)
            plan = wanted if first else {case: self._good(case, of) for case, of in wanted.items()}
            plan = {case: of for case, of in plan.items() if of}
            if not plan:
                break  # nothing is open
            if self.progress:
                what = "every algorithm" if first else "the fastest"
                self.progress(min(self.passed / self.seconds, 1.0), what)
            began = self.passed
            least = self._batches(plan) * _BATCH[0] * 2
            key = f"launch-{time.time_ns()}"
            text_of_plan = self._launch(list(plan.items()), key, max(share - start, least))
            self._take(text_of_plan, self.folder / f"{key}.journal")
            start = max(start, 1.1 * (self.passed - began) - max(share - start, least)) if number else start
        if self._fewest(wanted) < _FIRST:
            self.notes.append("time ended before every algorithm was timed twice: the command run again goes on")

    def decision(self, case: _Case) -> Decision:
        kind, _, size = case
        default = float(np.median(self.defaults[case])) if self.defaults.get(case) else float("nan")
        best: tuple[float, str, Gain] | None = None
        for name, times in self.known.get(case, {}).items():
            if not times.mine:
                continue
            one = times.gain
            if one.is_sure and one.ratio < 1 - _LEAST and (best is None or one.ratio < best[0]):
                best = (one.ratio, name, one)
        if best is None:
            return Decision(kind, size, LIBRARY, default, default, None)
        return Decision(kind, size, Choice.of(best[1]), best[2].ratio * default, default, best[2])

    def _fewest(self, wanted: Mapping[_Case, Sequence[str]]) -> int:
        return min(len(self.defaults.get(case, ())) for case in wanted)

    def _good(self, case: _Case, names: Sequence[str]) -> list[str]:
        known = self.known.get(case, {})
        near = [
            (known[name].gain.ratio, name)
            for name in names
            if name in known and known[name].mine and known[name].gain.ratio < 1 + _NEAR
        ]
        open_ones = [name for ratio, name in sorted(near)[:_KEPT] if ratio < 1]
        # Nothing to be gained, or known well enough.
        if not open_ones or all(len(known[name].mine) >= _MOST for name in open_ones):
            return []
        return open_ones

    @staticmethod
    def _batches(plan: Mapping[_Case, Sequence[str]]) -> int:
        return sum(_ROUNDS * (len(of) + 1) for of in plan.values())

    def _launch(self, plan: Sequence[tuple[_Case, Sequence[str]]], key: str, seconds: float) -> str:
        batch = min(max(0.7 * seconds / max(self._batches(dict(plan)), 1), _BATCH[0]), _BATCH[1])
        lines = [f"rounds {_ROUNDS}", f"batch {batch:.9f}"]
        for (kind, mode, size), names in plan:
            enter, _, leave = mode.partition("-")
            lines.append(f"case {kind} {enter} {leave or enter} {size} - {' '.join(names)}".rstrip())
        body = "\n".join(lines) + "\n"
        path, journal = self.folder / f"{key}.plan", self.folder / f"{key}.journal"
        write_atomically(path, body)
        ended = self.launcher.run(
            self.program, str(path), str(journal), variables={"ISTHMUS_TABLE": ""}, limit=10 * seconds + _SLACK
        )
        whole = journal.is_file() and journal.read_bytes().endswith(b"\nend\n")
        if ended.status != 0 or not whole:
            journal.unlink(missing_ok=True)
            what = f"hung for {ended.seconds:.0f} s" if ended.late else f"ended with status {ended.status}"
            raise InvalidInput(f"{self.launcher} {what}: {ended.last_words()}")
        words = journal.read_text(encoding="ascii").split("\n", 1)[0].split()
        self.ranks, self.near = int(words[1]), words[3] == "1"
        if self.ranks < 2:
            raise InvalidInput(f"--launch {self.launcher}: {self.ranks} rank; a collective needs at least two")
        return body

    def _take(self, plan: str, journal: Path) -> None:
        """Add the times of a launch: the least of the rounds, which other work on these cores disturbs least."""
        cases: list[tuple[_Case, list[str]]] = []
        for line in plan.splitlines():
            words = line.split()
            if words[0] == "case":
                mode = words[2] if words[2] == words[3] else f"{words[2]}-{words[3]}"
                cases.append(((words[1], mode, int(words[4])), words[5:]))
        found: dict[tuple[int, int], float] = {}
        for line in journal.read_text(encoding="ascii").splitlines()[1:-1]:
            words = line.split()
            if len(words) > 2:
                found[int(words[0]), int(words[1])] = min(float(word) for word in words[2:])
        self.launches += bool(cases)
        for number, (case, names) in enumerate(cases):
            default = found.get((number, 0))
            if default is None:
                continue
            self.defaults.setdefault(case, []).append(default)
            for k, name in enumerate(names[1:], 1):
                if (number, k) in found:
                    times = self.known.setdefault(case, {}).setdefault(name, _Times())
                    times.mine.append(found[number, k])
                    times.default.append(default)
