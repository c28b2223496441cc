"""The verb ``study``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidInput
from ..extras import optional
from .backend import Backend, Processes, Task
from .ledger import Ledger, key
from .live import Live
from .outcome import Outcome
from .page import write
from .parameters import Value
from .spool import collect
from .study import Study


def study(
    what: Study | str,
    folder: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    set: Mapping[str, Value | Sequence[Value]] | None = None,
    workers: int | None = None,
    on: str | None = None,
    backend: Backend | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Outcome:
    """Compute the points of a study, draw its figure and write its page.

    Points that the ledger of the folder holds for the same inputs and versions are not computed again.

    Parameters
    ----------
    what : Study or str
        A study, a name of the catalogue, or a TOML file.
    folder : str, optional
        Folder for its files, by default ``study-NAME`` in the current folder.
    quick : bool
        Run the quick form, which takes seconds.
    set : dict, optional
        New values of parameters, one value or a list each.
    workers : int, optional
        Number of processes; by default one per core. Of a queue: how many to ask for.
    on : str, optional
        Compute points on workers of Dask: ``"local"`` on this machine, ``"slurm"``, ``"pbs"`` or ``"lsf"`` in jobs of a
        queue (with options of dask-jobqueue: ``"slurm:cores=8,memory=16GB,walltime=01:00:00"``), or at the scheduler
        ``"tcp://HOST:PORT"``.
    backend : Backend, optional
        Where to compute points instead. It is not closed.
    progress : bool or callable
        True: show a progress bar on standard error. A callable is called with the points done and their total.

    Returns
    -------
    Outcome

    Raises
    ------
    InvalidInput
        If a study or parameter is unknown, or a value is out of range.
    ParseError
        If the file is malformed.
    Unsupported
        If Matplotlib, or a package that ``on`` needs, is missing.
    ConnectionError
        If the scheduler of Dask goes away. Run again to continue.

    Examples
    --------
    >>> outcome = isthmus.study("contention-distance", "out", quick=True)  # doctest: +SKIP
    >>> outcome.page  # doctest: +SKIP
    'out/index.html'
    """
    if on is not None and backend is not None:
        raise InvalidInput("on and backend: give one of them")
    chosen = Study.load(what) if isinstance(what, str) else what
    if quick:
        chosen = chosen.quick()
    if set:
        chosen = chosen.changed(set)
    optional("matplotlib", "figures", "plot")
    place = os.fspath(folder) if folder is not None else f"study-{chosen.name}"
    if os.path.exists(place) and not os.path.isdir(place):
        raise InvalidInput(f"{place}: is a file, expected a folder")
    os.makedirs(place, exist_ok=True)
    kind = chosen.experiment
    points = chosen.points
    keys = [key(kind, point) for point in points]
    with Ledger(os.path.join(place, "ledger.sqlite")) as ledger:
        collect(place, chosen.name, ledger)
        there = ledger.find(keys)
        todo = [i for i, k in enumerate(keys) if k not in there or there[k].results is None]
        if todo:
            at = backend or _backend(on, place, min(workers, len(todo)) if workers else None)
            try:
                _compute(chosen, place, ledger, points, todo, at, progress)
            finally:
                if backend is None:
                    at.close()
        found = ledger.find(keys)
    entries = [found[k] for k in keys]
    rows = [{**e.inputs, **e.results} for e in entries if e.results is not None]
    outcome = Outcome(chosen, place, entries, len(todo), kind.summarise(rows) if rows else None)
    if outcome.summary is not None:
        write(outcome)
    return outcome


def _backend(on: str | None, place: str, workers: int | None) -> Backend:
    if on is None:
        return Processes(workers)
    from .cluster import Cluster

    return Cluster(on, place, workers)


def _compute(
    chosen: Study,
    place: str,
    ledger: Ledger,
    points: list[dict[str, Any]],
    todo: list[int],
    at: Backend,
    progress: bool | Callable[[int, int], None],
) -> None:
    from ..progress import Reporter

    callback = progress if callable(progress) else None if progress else _silent
    report = Reporter(len(todo), callback, chosen.name, "points", at_once=True)
    live = Live(place, chosen, len(points), len(points) - len(todo))
    try:
        for number in todo:
            at.submit(Task(number, chosen.kind, points[number]))
        for count, done in enumerate(at.results(), 1):
            ledger.add(
                chosen.name, chosen.experiment, points[done.number], results=done.results, error=done.error,
                wall=done.wall, host=done.host,
            )  # fmt: skip
            live.add(done, points[done.number])
            report(count)
    finally:
        report.close()
        live.close()


def _silent(done: int, total: int) -> None:
    """Progress that nobody wants to see."""
