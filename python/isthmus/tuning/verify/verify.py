"""The verb ``verify``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from ...recording.mpi import OPEN_MPI
from ..choice import Choice
from ..decisions import Decisions
from .probe import Case, Counts, Probe, build

if TYPE_CHECKING:
    from ..compare import Predict

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
    """What was found in one case.

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
    """What was found.

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


def verify(
    what: Decisions | str | os.PathLike[str],
    mpirun: Sequence[str],
    *,
    ranks: int = 6,
    mpicc: str | None = None,
    predict: Predict | None = None,
    most_bytes: int = 1 << 20,
    ucc: str | None = None,
) -> Report:
    """Run a program under an MPI library and see whether it does what a table or file says.

    Every case, a collective at a size, is run three times: with the file, without it, and with the algorithm forced by
    a parameter of the library. The number of messages and bytes that every rank sends is the evidence.

    Parameters
    ----------
    what : Decisions or path
        A table, which is exported for the version of the library first, or an exported file; or what the library is
        said to decide by itself (:func:`isthmus.tuning.defaults.defaults`), which is then compared with what it does.
    mpirun : sequence of str
        The launcher and its options, such as ``["mpirun", "--oversubscribe"]``.
    ranks : int
        Ranks to run. Rules of more ranks are tried on so few: they are relabelled in a copy of the file.
    mpicc : str, optional
        The compiler, where the launcher does not tell.
    predict : callable, optional
        As of :func:`isthmus.tuning.export.export`.
    most_bytes : int
        Largest size of a message, in bytes.
    ucc : str, optional
        Look at UCC instead: where it is installed, or ``"auto"`` for that of ``ucc_info``. A file of UCC needs no word.

    Raises
    ------
    InvalidInput
        If the program cannot be compiled or run.
    Unsupported
        If messages cannot be counted, and where UCC is wanted and there is none.
    ParseError
        If the file is none of the library's.
    """
    from . import ucc as of_ucc

    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        if ucc is not None or of_ucc.reads(what):
            probe = build(mpirun, ranks, folder, mpicc, of_ucc.installed(ucc or "auto"))
            return of_ucc.report(what, probe, folder, predict, most_bytes)
        probe = build(mpirun, ranks, folder, mpicc)
        module = import_module(".openmpi" if probe.mpi.family == OPEN_MPI else ".mpich", __package__)
        plan: Plan = module.plan(what, probe, folder, predict, most_bytes)
        return Report(str(probe.mpi), ranks, _verdicts(probe, plan), plan.notes)


def _verdicts(probe: Probe, plan: Plan) -> list[Verdict]:
    if not plan.trials:
        return []
    cases = [trial.case for trial in plan.trials]
    own = probe.run(cases, plan.without)
    with_file = own if plan.model else probe.run(cases, plan.with_file)
    forced = _forced(probe, plan)
    out = []
    for trial, seen, alone, asked in zip(plan.trials, with_file, own, forced, strict=True):
        if plan.model:
            says = AS_MODELLED if alone == asked else OTHER
        elif seen == asked:
            says = ALIKE if seen == alone else IN_EFFECT
        else:
            says = IGNORED if seen == alone else OTHER
        schedule = schedule_counts(trial, probe.ranks)
        out.append(Verdict(trial.case[0], trial.case[1], trial.algorithm, says, seen, alone, asked, schedule))
    return out


def schedule_counts(trial: Trial, ranks: int) -> Counts | None:
    """What each rank sends in Isthmus' schedule of the algorithm."""
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


def _forced(probe: Probe, plan: Plan) -> list[Counts]:
    """Counts under forced algorithms, in as few runs as there are different ones of a collective."""
    out: list[Counts] = [()] * len(plan.trials)
    waiting = list(range(len(plan.trials)))
    while waiting:
        first = plan.trials[waiting[0]]
        settings: dict[str, str] = dict(first.forced)
        chosen: dict[str, Mapping[str, str]] = {first.case[0]: first.forced}
        now, later = [waiting[0]], []
        for i in waiting[1:]:
            trial = plan.trials[i]
            fits = trial.forced == first.forced if first.composed else not trial.composed
            if fits and chosen.setdefault(trial.case[0], trial.forced) == trial.forced:
                now.append(i)
                settings |= trial.forced
            else:
                later.append(i)
        base = plan.with_file if first.composed else plan.without
        found = probe.run([plan.trials[i].case for i in now], {**base, **settings})
        for i, counts in zip(now, found, strict=True):
            out[i] = counts
        waiting = later
    return out
