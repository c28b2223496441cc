"""The verb ``study``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidInput
from ..extras import optional
from .backend import Backend, Processes, Task
from .ledger import Ledger, key
from .outcome import Outcome
from .page import write
from .parameters import Value
from .study import Study


def study(
    what: Study | str,
    folder: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    set: Mapping[str, Value | Sequence[Value]] | None = None,
    workers: int | None = None,
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
        Number of processes; by default one per core.
    backend : Backend, optional
        Where to compute points instead of local processes. It is not closed.
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
        If Matplotlib is missing.

    Examples
    --------
    >>> outcome = isthmus.study("contention-distance", "out", quick=True)  # doctest: +SKIP
    >>> outcome.page  # doctest: +SKIP
    'out/index.html'
    """
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
        there = ledger.find(keys)
        todo = [i for i, k in enumerate(keys) if k not in there or there[k].results is None]
        _compute(chosen, ledger, points, todo, backend, workers, progress)
        found = ledger.find(keys)
    entries = [found[k] for k in keys]
    rows = [{**e.inputs, **e.results} for e in entries if e.results is not None]
    outcome = Outcome(chosen, place, entries, len(todo), kind.summarise(rows) if rows else None)
    if outcome.summary is not None:
        write(outcome)
    return outcome


def _compute(
    chosen: Study,
    ledger: Ledger,
    points: list[dict[str, Any]],
    todo: list[int],
    backend: Backend | None,
    workers: int | None,
    progress: bool | Callable[[int, int], None],
) -> None:
    from ..progress import Reporter

    if not todo:
        return
    at = backend or Processes(min(workers or len(todo), len(todo)) if workers else None)
    callback = progress if callable(progress) else None if progress else _silent
    report = Reporter(len(todo), callback, chosen.name, "points", at_once=True)
    try:
        for number in todo:
            at.submit(Task(number, chosen.kind, points[number]))
        for count, done in enumerate(at.results(), 1):
            ledger.add(
                chosen.name, chosen.experiment, points[done.number], results=done.results, error=done.error,
                wall=done.wall,
            )  # fmt: skip
            report(count)
    finally:
        report.close()
        if backend is None:
            at.close()


def _silent(done: int, total: int) -> None:
    """Progress that nobody wants to see."""
