"""The runs that show whether MPICH follows a selection tree."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ...files import write_atomically
from ...toml_text import read_text
from ..decisions import Decisions
from ..defaults.mpich import MpichDefaults
from ..export.export import Request
from ..export.mpich import write
from ..libraries import mpich as library
from ..libraries.mpich_tree import HAVE_SIZE, HAVE_TOTAL, Situation, Tree, installed, read_tree, select, thresholds
from ..table import DecisionTable
from .probe import Probe
from .verdict import Plan, Trial

if TYPE_CHECKING:
    from ..compare import Predict

_FILE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"


def plan(
    what: Decisions | str | os.PathLike[str], probe: Probe, folder: str, predict: Predict | None, most_bytes: int
) -> Plan:
    """Trials of a table or selection tree; see :func:`isthmus.tuning.verify.verify`."""
    own = installed(probe.mpi.library)
    notes = []
    if isinstance(what, MpichDefaults):
        every = [name for names in library.NAMES.values() for name in names if f"collective={name}" in what.tree]
        known = [trial for name in every for trial in _trials(what.tree, name, probe.ranks, most_bytes)]
        return Plan([t for t in known if t.algorithm.split()[0] in own.algorithms], {}, {}, model=True)
    if isinstance(what, Decisions):
        if isinstance(what, DecisionTable):
            few = _on(what, probe.ranks)
            if few != what:
                notes.append(f"rules of more ranks are tried on {probe.ranks}, in a copy of the table")
            what = few
        exported = write(what, Request(probe.mpi.version, predict, None, {"library": probe.mpi.library}))
        path = os.path.join(folder, "tree.json")
        write_atomically(path, exported.text)
        tree = read_tree(exported.text, path)
    else:
        path = os.path.abspath(what)
        tree = read_tree(read_text(what), path)
    trials = []
    for names in library.NAMES.values():
        for name in names:
            if tree.get(f"collective={name}") != own.tree.get(f"collective={name}"):
                trials += _trials(tree, name, probe.ranks, most_bytes)
    return Plan(trials, {_FILE: path}, {}, notes)


def _on(table: DecisionTable, ranks: int) -> DecisionTable:
    """The table with rules for so few ranks."""
    rows = {}
    for kind, of_kind in table.rows.items():
        row = table.row(kind, ranks)
        rows[kind] = of_kind if row.ranks <= ranks else (replace(row, ranks=ranks),)
    return DecisionTable(rows, table.provenance)


def _trials(tree: Tree, name: str, ranks: int, most_bytes: int) -> list[Trial]:
    situation = Situation(name, ranks, element=1)
    branch = {f"collective={name}": tree[f"collective={name}"]}
    starts = thresholds(branch, situation) if name in HAVE_SIZE or name in HAVE_TOTAL else [0]
    sizes = {max(start, 1) for start in starts} | {start - 1 for start in starts if start > 1}
    if name == "barrier":
        sizes = {0}
    out = []
    for size in sorted(size for size in sizes if size <= most_bytes):
        found = select(branch, replace(situation, bytes=size))
        if found is None:
            continue
        algorithm, parameters = found
        words = " ".join([algorithm, *(f"{key}={value}" for key, value in parameters.items())])
        choice = library.choice(name, algorithm, parameters)
        out.append(Trial((name, size), words, library.forcing(name, algorithm, parameters), choice=choice))
    return out
