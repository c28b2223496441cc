"""Where a job is done first: machines and policies by the expected time from submission to the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput
from ..tabular import Tabular
from .variation import Variation
from .workload import duration


@dataclass(frozen=True, eq=False)
class Decision(Tabular):
    """Machines and policies for one job, the best first.

    Attributes
    ----------
    program : str
    rows : tuple of dict
        Machine, policy, ranks, nodes, and means in seconds: wait, run, done, and the standard error of the last.
    notes : tuple of str
    """

    program: str
    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]

    def frame(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return list(self.rows)

    def json(self) -> dict[str, Any]:
        """Return everything as plain numbers."""
        return {
            "program": self.program, "rows": [{**row, "error": _finite(row["error"])} for row in self.rows],
            "said": self.sentence(), "notes": list(self.notes),
        }  # fmt: skip

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the table as texts."""
        columns = ["machine", "policy", "nodes", "wait: mean", "run: mean", "done after", "standard error"]
        rows = [
            [
                row["machine"], row["policy"], f"{row['nodes']:,}",
                *(duration(row[n]) for n in ("wait", "run", "done")),
                "unknown" if _finite(row["error"]) is None else duration(row["error"]),
            ]
            for row in self.rows
        ]  # fmt: skip
        return columns, rows

    def sentence(self) -> str:
        """Return what is best, and what is later by less than two standard errors of the difference."""
        best, *others = self.rows
        out = f"{best['machine']} with {best['policy']} is expected to be done first, after {duration(best['done'])}"
        close = [
            f"{row['machine']} with {row['policy']}" for row in others
            if not row["done"] - best["done"] > 2 * (row["error"] ** 2 + best["error"] ** 2) ** 0.5
        ]  # fmt: skip
        return f"{out}; not told apart from it: {', '.join(close)}" if close else out


def _finite(value: float) -> float | None:
    return None if value == float("inf") else value


def decide(variations: Sequence[Variation]) -> Decision:
    """Order machines and policies by when a job would be done.

    Parameters
    ----------
    variations : sequence of Variation
        Of one program at one number of ranks, see :func:`isthmus.queueing.vary`.

    Returns
    -------
    Decision

    Raises
    ------
    InvalidInput
        If programs or numbers of ranks differ.
    """
    asked = {(one.program, row.ranks, one.times) for one in variations for row in one.rows}
    if len(asked) != 1:
        raise InvalidInput(f"{len(asked)} different jobs: expected one program at one number of ranks, done as often")
    rows = []
    for one in variations:
        for row in one.rows:
            done, error = row.total(one.times)
            rows.append(
                {
                    "machine": one.machine, "policy": row.policy, "ranks": row.ranks, "nodes": row.nodes,
                    "wait": float(row.wait.mean()), "run": one.times * float(row.times.mean()), "done": done,
                    "error": error,
                }
            )  # fmt: skip
    notes = dict.fromkeys(note for one in variations for note in one.notes)
    return Decision(variations[0].program, tuple(sorted(rows, key=lambda row: row["done"])), tuple(notes))
