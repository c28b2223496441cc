"""What the program that solves has found: residuals, times, messages of every level."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ParseError
from ..tabular import Tabular
from ..units import text

_FIRST = "isthmus solve 1"
#: Runs in the file, and what they are called.
NAMES = {
    "hypre": "BoomerAMG",
    "stay": "nothing gathered",
    "gather": "gathered",
    "early": "gathered early",
    "steps": "in three steps",
    "threshold": "hypre's threshold",
}
_LEVEL = ("rows", "parts", "messages", "bytes", "most_messages", "most_bytes", "collectives", "far", "most_far")


@dataclass(slots=True)
class Run:
    """One way to solve.

    Attributes
    ----------
    setup, solve, pcg : float
        Seconds of the setup, of all cycles, and of conjugate gradients with one cycle as preconditioner.
    residuals, pcg_residuals : list of float
        Before and after each iteration, relative to the right-hand side.
    levels : list of mapping
        Of each level its rows, ranks that have some (``parts``), messages and bytes of all ranks in a cycle, the most
        of one rank, collectives of one rank, and messages to other nodes (``far``) of all and of one.
    mpi : tuple of int
        Messages, bytes and collectives in the cycles, of all ranks, as MPI sees them.
    switches : dict from int to int
        Levels that were gathered, and on how many ranks.
    """

    setup: float = 0.0
    solve: float = 0.0
    pcg: float = 0.0
    residuals: list[float] = field(default_factory=list)
    pcg_residuals: list[float] = field(default_factory=list)
    levels: list[Mapping[str, float]] = field(default_factory=list)
    mpi: tuple[int, ...] = ()
    switches: dict[int, int] = field(default_factory=dict)

    @property
    def cycles(self) -> int:
        """Number of cycles."""
        return len(self.residuals) - 1

    @property
    def iterations(self) -> int:
        """Number of iterations of conjugate gradients."""
        return len(self.pcg_residuals) - 1

    def sum(self, key: str) -> float:
        """Return the sum of a column over all levels."""
        return sum(level[key] for level in self.levels)


@dataclass(frozen=True, slots=True, repr=False)
class Solution(Tabular):
    """A problem solved in several ways.

    Attributes
    ----------
    runs : mapping from str to Run
        ``"hypre"`` is BoomerAMG, ``"stay"`` our cycles on its hierarchy, ``"gather"`` with levels gathered,
        ``"early"`` with levels gathered while the setup ran, on a hierarchy of its own, ``"steps"`` with these levels
        gathered and exchanges in three steps, ``"threshold"`` BoomerAMG with its own gathering.
    switches : mapping from int to int
        Levels that were gathered, and on how many ranks.
    facts : mapping
        Ranks, cores of this machine, how messages travelled.
    """

    runs: Mapping[str, Run]
    switches: Mapping[int, int]
    facts: Mapping[str, Any]

    def difference(self, name: str = "gather") -> float:
        """Return the largest difference of a run's residuals from BoomerAMG's, both relative to the right-hand side."""
        return max(abs(a - b) for a, b in zip(self.runs[name].residuals, self.runs["hypre"].residuals, strict=False))

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per run: iterations, seconds, messages and bytes of a cycle."""
        return [
            {
                "run": name,
                "cycles": run.cycles,
                "pcg_iterations": run.iterations,
                "residual": run.residuals[-1],
                "difference": self.difference(name),
                "setup": run.setup,
                "solve": run.solve,
                "pcg": run.pcg,
                "messages": run.sum("messages"),
                "bytes": run.sum("bytes"),
                "collectives": run.sum("collectives"),
            }
            for name, run in self.runs.items()
        ]

    def levels(self) -> Sequence[dict[str, Any]]:
        """Return a row per run and level, with what :class:`Run` has of it."""
        return [
            {"run": name, "level": number, **level}
            for name, run in self.runs.items()
            for number, level in enumerate(run.levels)
        ]

    def __repr__(self) -> str:
        words = ", ".join(f"level {level} to {count}" for level, count in self.switches.items()) or "nothing gathered"
        ours = self.runs.get("gather") or self.runs["stay"]
        return f"<Solution: {words}: {ours.cycles} cycles, hypre {self.runs['hypre'].cycles}>"

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("", "cycles", "PCG", "residual", "difference", "setup", "cycles take", "PCG takes")
        ]
        rows += [
            (
                NAMES[r["run"]], str(r["cycles"]), str(r["pcg_iterations"]), f"{r['residual']:.1e}",
                f"{r['difference']:.1e}", text(r["setup"], "s", 3), text(r["solve"], "s", 3), text(r["pcg"], "s", 3),
            )
            for r in self.frame()
        ]  # fmt: skip
        lines = [*_aligned(rows), "", "Messages of a cycle (sum of all ranks; the most of one), collectives of a rank:"]
        ours = [name for name in self.runs if name != "hypre"]
        rows = [("level", "rows", *(word for name in ours for word in ("ranks", NAMES[name], "collectives")))]
        for number in range(max(len(self.runs[name].levels) for name in ours)):
            row = [str(number), ""]
            for name in ours:
                of = self.runs[name].levels
                if number >= len(of):
                    row += ["", "", ""]
                    continue
                level = of[number]
                row[1] = row[1] or f"{level['rows']:.0f}"
                sent = f"{level['messages']:.0f}, {text(level['bytes'], 'B', 3)}"
                row += [f"{level['parts']:.0f}", f"{sent}; {level['most_messages']:.0f}", f"{level['collectives']:.0f}"]
            rows.append(tuple(row))
        lines += _aligned(rows)
        if "steps" in self.runs:
            lines += ["", "Messages of a cycle to other nodes (sum of all ranks; the most of one):"]
            rows = [("level", *(NAMES[name] for name in ours))]
            for number in range(max(len(self.runs[name].levels) for name in ours)):
                found = [self.runs[name].levels[number : number + 1] for name in ours]
                rows.append(
                    (str(number), *(f"{one[0]['far']:.0f}; {one[0]['most_far']:.0f}" if one else "" for one in found))
                )
            lines += _aligned(rows)
        ranks, cores = self.facts["ranks"], self.facts["cores"]
        if ranks > cores:
            where = f"{ranks} ranks on {cores} core{'s' if cores > 1 else ''}"
            lines += [
                "",
                f"{where}: ranks wait for their turn, and times are not those of a machine with a core for each",
            ]
        return "\n".join(lines)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def read_solution(path: str | os.PathLike[str], switches: Mapping[int, int], facts: Mapping[str, Any]) -> Solution:
    """Read what ``solvers/main_solve.c`` writes, where the format is described.

    Raises
    ------
    ParseError
        With the line that is wrong, for a file that is damaged, cut off or of another version.
    """
    with open(path, encoding="utf-8", errors="replace") as stream:
        lines = stream.read().splitlines()

    def fail(at: int, what: str) -> ParseError:
        return ParseError(os.fspath(path), at + 1, None, what)

    if not lines or lines[0] != _FIRST:
        raise fail(0, f"expected {_FIRST!r}")
    if lines[-1] != "end":
        raise fail(len(lines), "the file ends here: expected more lines up to 'end'")
    runs: dict[str, Run] = {}
    for at, line in enumerate(lines[1:-1], 1):
        key, *words = line.split(" ")
        if key == "run":
            if words not in [[name] for name in NAMES]:
                raise fail(at, f"run {' '.join(words)}: expected one of {', '.join(NAMES)}")
            run = runs[words[0]] = Run()
            continue
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            raise fail(at, f"{line!r}: expected numbers") from None
        counts = {"setup": 1, "solve": 1, "pcg": 1, "mpi": 3, "switch": 2, "level": len(_LEVEL)}
        if not runs or len(numbers) != counts.get(key, len(numbers) or 1):
            raise fail(at, f"{line!r}: expected {counts.get(key, 'some')} numbers of a run")
        if key in ("residuals", "pcg_residuals"):
            setattr(run, key, numbers)
        elif key == "level":
            run.levels.append(dict(zip(_LEVEL, numbers, strict=True)))
        elif key == "switch":
            run.switches[int(numbers[0])] = int(numbers[1])
        elif key == "mpi":
            run.mpi = tuple(map(int, numbers))
        elif key in counts:
            setattr(run, key, numbers[0])
        else:
            raise fail(at, f"{key}: expected setup, solve, pcg, residuals, pcg_residuals, mpi, switch or level")
    if not {"hypre", "stay"} <= runs.keys():
        raise fail(len(lines) - 1, "expected runs hypre and stay")
    return Solution(runs, switches, facts)
