"""Runs of collectives under settings of the library; journals let a stopped search continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...files import write_atomically
from ...measuring.samples import Item, read_journal
from ...mpi.launcher import Launcher

#: Repetitions of a case in one launch.
_LEAST, _MOST = 5, 50
#: Seconds that a launcher may take beside the budget before it is taken to hang.
_SLACK = 60.0


@dataclass(frozen=True, order=True)
class Case:
    """A collective of the library at a size.

    Parameters
    ----------
    name : str
        As MPI calls it, such as ``"reduce_scatter_block"``.
    bytes : int
        As of :func:`isthmus.collective`.
    """

    name: str
    bytes: int


#: Seconds of every repetition.
Times = Mapping[Case, NDArray[np.float64]]


class Runs(Protocol):
    """What starts launches."""

    @property
    def ranks(self) -> int:
        """Ranks of every launch."""

    def times(self, settings: Mapping[str, str], cases: Sequence[Case], seconds: float, key: str) -> Times:
        """Run cases in turn under environment variables.

        Parameters
        ----------
        settings : mapping of str to str
        cases : sequence of Case
        seconds : float
            The launch should take no longer, its start left out.
        key : str
            Of this launch among those of the search: a launch that a stopped search has done is not done again.

        Returns
        -------
        mapping of Case to array of float
            Without those that could not be run.
        """


class Launches:
    """Runs of the measuring program under a launcher; each has a journal in a folder.

    Parameters
    ----------
    launcher : Launcher
    program : path
        As :func:`isthmus.measuring.programs.mpi_program` gives it.
    ranks : int
    folder : path
        For journals; it must exist.
    seed : int
        Of the order of cases.
    """

    def __init__(self, launcher: Launcher, program: Path, ranks: int, folder: Path, seed: int = 1) -> None:
        self.launcher, self.program, self._ranks, self.folder, self.seed = launcher, program, ranks, folder, seed
        #: Launches of an earlier search that were used again.
        self.kept = 0

    @property
    def ranks(self) -> int:
        return self._ranks

    def times(self, settings: Mapping[str, str], cases: Sequence[Case], seconds: float, key: str) -> Times:
        """Run cases; see :class:`Runs`.

        Raises
        ------
        InvalidInput
            If the launcher fails, hangs, or starts another number of ranks.
        OSError
            If journals cannot be written.
        """
        items = [
            Item(f"c{i}", "collective", {"name": case.name, "bytes": case.bytes, "ranks": self._ranks})
            for i, case in enumerate(cases)
        ]
        journal, plan = self.folder / key, self.folder / f"{key}.plan"
        head = [f"budget {seconds:.3f}", "tolerance 0.01", f"samples {_LEAST} {_MOST}", f"seed {self.seed}"]
        body = [f"setting {name}={value}" for name, value in sorted(settings.items())] + [item.line for item in items]
        # Of a launch that is used again the time that it had does not matter.
        if _is_whole(journal) and plan.is_file() and plan.read_text(encoding="utf-8").splitlines()[5:] == body:
            self.kept += 1
        else:
            lines = ["isthmus-plan 1", *head, *(f"item {item.line}" for item in items)]
            run_plan = self.folder / f"{key}.items"
            write_atomically(run_plan, "\n".join(lines) + "\n")
            journal.unlink(missing_ok=True)
            ended = self.launcher.run(
                self.program, str(run_plan), str(journal), ranks=self._ranks, variables=settings,
                limit=10 * seconds + _SLACK,
            )  # fmt: skip
            if ended.status != 0 or not journal.is_file():
                what = f"hung for {ended.seconds:.0f} s" if ended.late else f"ended with status {ended.status}"
                forced = ", ".join(f"{name}={value}" for name, value in settings.items()) or "no setting"
                raise InvalidInput(f"{self.launcher} {what} ({forced}): {ended.last_words()}")
            write_atomically(plan, "\n".join(["isthmus-plan 1", *head, *body]) + "\n")
            run_plan.unlink()
        found = read_journal(journal, items, key)
        return {
            case: found[item.name].column("time")
            for item, case in zip(items, cases, strict=True)
            if not found[item.name].skipped and len(found[item.name])
        }


def _is_whole(journal: Path) -> bool:
    try:
        return journal.read_bytes().endswith(b"\nend\n")
    except OSError:
        return False
