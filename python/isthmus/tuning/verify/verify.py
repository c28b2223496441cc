"""The verb ``verify``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ...mpi.command import launched
from ...mpi.detection import OPEN_MPI
from ..decisions import Decisions
from . import ucc as of_ucc
from .probe import Counts, Probe, build
from .verdict import ALIKE, AS_MODELLED, IGNORED, IN_EFFECT, OTHER, Plan, Report, Verdict, schedule_counts

if TYPE_CHECKING:
    from ..compare import Predict


def verify(
    what: Decisions | str | os.PathLike[str],
    mpirun: Sequence[str],
    *,
    ranks: int | None = None,
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
        The launcher and its options, such as ``["mpirun", "--oversubscribe", "-n", "8"]``, run as they are given.
    ranks : int, optional
        Ranks to run, where the launcher does not say how many; by default 6. Rules of more ranks are tried on so few:
        they are relabelled in a copy of the file.
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
        If the program cannot be compiled or run, and for two different numbers of ranks.
    Unsupported
        If messages cannot be counted, and where UCC is wanted and there is none.
    ParseError
        If the file is none of the library's.
    """
    ranks = ranks or launched(mpirun) or 6
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
