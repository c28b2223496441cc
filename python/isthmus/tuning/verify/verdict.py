"""The cases of a verification and their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..choice import Choice
from .probe import Case, Counts

#: What can be said of a case.
IN_EFFECT, IGNORED, ALIKE, OTHER = "in effect", "ignored", "not told apart", "something else"
AS_MODELLED = "as modelled"


@dataclass(frozen=True)
class Trial:
    """A case to run, and what should happen in it.

    Parameters
    ----------
    case : tuple of str and int
    algorithm : str
        That the file asks for, as the library calls it.
    forced : mapping of str to str
        Environment variables that make the library run that algorithm without the file.
    composed : bool
        The algorithm calls other collectives, which then must decide as they do with the file.
    choice : Choice, optional
        The algorithm in the terms of Isthmus.
    """

    case: Case
    algorithm: str
    forced: Mapping[str, str]
    composed: bool = False
    choice: Choice | None = None


@dataclass(frozen=True)
class Plan:
    """All trials of a file.

    Parameters
    ----------
    trials : sequence of Trial
    with_file : mapping of str to str
        Environment variables of the run with the file.
    without : mapping of str to str
        The same without it.
    notes : sequence of str
    model : bool
        There is no file: what is tried is what the library is said to do by itself.
    """

    trials: Sequence[Trial]
    with_file: Mapping[str, str]
    without: Mapping[str, str]
    notes: Sequence[str] = ()
    model: bool = False


@dataclass(frozen=True)
class Verdict:
    """The result of one case.

    Parameters
    ----------
    collective : str
        As MPI calls it.
    bytes : int
        As of :func:`isthmus.collective`.
    algorithm : str
        That the file asks for.
    says : str
        ``"in effect"``: the messages of the forced algorithm and not those of the library's own choice. ``"ignored"``:
        the other way round. ``"not told apart"``: both send the same messages. ``"something else"``: neither. Without a
        file ``"as modelled"`` or ``"something else"``.
    with_file, own, forced : tuple
        Messages and bytes that each rank sent.
    schedule : tuple or None
        Messages and bytes that each rank sends in Isthmus' schedule of the algorithm; None where it has none.
    """

    collective: str
    bytes: int
    algorithm: str
    says: str
    with_file: Counts
    own: Counts
    forced: Counts
    schedule: Counts | None

    @property
    def as_schedule(self) -> bool | None:
        """The library sends what Isthmus' schedule of the algorithm sends; None where that has none."""
        return None if self.schedule is None else self.schedule == self.forced


@dataclass(frozen=True)
class Report:
    """The result of a verification.

    Parameters
    ----------
    library : str
        Such as ``"Open MPI 4.1.4"``.
    ranks : int
    verdicts : sequence of Verdict
    notes : sequence of str
    """

    library: str
    ranks: int
    verdicts: Sequence[Verdict]
    notes: Sequence[str]

    @property
    def ok(self) -> bool:
        """Something was shown to be in effect, or as modelled, and nothing to be ignored or otherwise wrong."""
        says = {verdict.says for verdict in self.verdicts}
        return bool({IN_EFFECT, AS_MODELLED} & says) and not {IGNORED, OTHER} & says

    def __str__(self) -> str:
        says = [verdict.says for verdict in self.verdicts]
        parts = [
            f"{says.count(word)} {word}" for word in (IN_EFFECT, AS_MODELLED, ALIKE, IGNORED, OTHER) if word in says
        ]
        found = ", ".join(parts) or "nothing to look at"
        if AS_MODELLED in says:
            end = "the library decides as modelled" if self.ok else "the library does not decide as modelled"
        elif self.ok:
            end = "the library follows the file"
        elif IGNORED in says and IN_EFFECT not in says and OTHER not in says:
            end = "the library does not read the file"
        elif {IGNORED, OTHER} & set(says):
            end = "the library does not do all that the file says"
        else:
            end = "nothing is proved: the library does the same without the file"
        same = [verdict.as_schedule for verdict in self.verdicts if verdict.schedule is not None]
        also = f"; {sum(map(bool, same))} of {len(same)} send what Isthmus' schedules send" if same else ""
        return f"{self.library}, {self.ranks} ranks: {len(says)} cases, {found}: {end}{also}"


def schedule_counts(trial: Trial, ranks: int) -> Counts | None:
    """Messages and bytes that each rank sends in Isthmus' schedule of the algorithm."""
    import numpy as np

    from ...collectives import algorithms, collective
    from ...schedule.schedule import OpKind

    kind = trial.case[0].removesuffix("_block")
    if trial.choice is None or trial.choice.name not in algorithms(kind):
        return None
    schedule = collective(kind, ranks=ranks, bytes=trial.case[1], algorithm=trial.choice.argument)
    sends = schedule.ops["kind"] == OpKind.send
    rank = np.repeat(np.arange(ranks), np.diff(schedule.op_first).astype(np.int64))[sends]
    messages = np.bincount(rank, minlength=ranks)
    sizes = np.bincount(rank, weights=schedule.ops["amount"][sends].astype(float), minlength=ranks)
    return tuple(zip(messages.tolist(), sizes.astype(np.int64).tolist(), strict=True))
