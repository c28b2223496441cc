"""The runs that show whether Open MPI follows a rules file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ...files import write_atomically
from ...toml_text import read_text
from ..choice import Choice
from ..decisions import Decisions
from ..defaults.openmpi import OpenMpiDefaults, running
from ..export.export import Request
from ..export.openmpi import Line, Rules, format_classic, format_json, write
from ..export.openmpi_reading import read_rules
from ..libraries import openmpi as library
from ..libraries.canonical import pretty
from .probe import Probe
from .verdict import Plan, Trial

if TYPE_CHECKING:
    from ..compare import Predict

_PREFIX = "OMPI_MCA_coll_tuned_"
#: Algorithms that call other collectives, and with them whatever those decide.
COMPOSED = {("allgather", 1), ("allreduce", 2), ("reduce_scatter", 1), ("reduce_scatter_block", 1)}


def plan(
    what: Decisions | str | os.PathLike[str], probe: Probe, folder: str, predict: Predict | None, most_bytes: int
) -> Plan:
    """Trials of a table or rules file; see :func:`isthmus.tuning.verify.verify`."""
    extra: dict[str, str] = {}
    if isinstance(what, OpenMpiDefaults):
        return _model(what, probe.ranks, most_bytes)
    if isinstance(what, Decisions):
        exported = write(what, Request(probe.mpi.version, predict, None))
        file, text = "the exported table", exported.text
        extra = {key: value for key, value in exported.settings.items() if "{file}" not in value}
    else:
        file, text = os.fspath(what), read_text(what)
    rules, version = read_rules(text, file)
    notes = []
    fitted = {name: _at(name, rows, probe.ranks) for name, rows in rules.items()}
    path = os.path.abspath(file)
    if isinstance(what, Decisions) or any(row != rules[name].get(probe.ranks) for name, row in fitted.items()):
        if any(relabelled(rows, probe.ranks) for rows in rules.values()):
            notes.append(f"rules of more ranks are tried on {probe.ranks}, in a copy of the file")
            copy: Rules = {name: {probe.ranks: lines} for name, lines in fitted.items()}
            text = format_json(copy) if version == 3 else format_classic(copy, version)
        path = os.path.join(folder, "rules.conf")
        write_atomically(path, text)
    dynamic = {f"{_PREFIX}use_dynamic_rules": "1", "OMPI_MCA_coll_han_priority": "0", **extra}
    radix = int(extra.get(f"{_PREFIX}bcast_algorithm_knomial_radix", 4))
    trials = [trial for name, lines in fitted.items() for trial in _trials(name, lines, probe.ranks, most_bytes, radix)]
    return Plan(trials, {**dynamic, f"{_PREFIX}dynamic_rules_filename": path}, dynamic, notes)


def _model(model: OpenMpiDefaults, ranks: int, most_bytes: int) -> Plan:
    """Trials of what Open MPI is said to decide by itself."""
    off = {"OMPI_MCA_coll_han_priority": "0"}
    trials = []
    for names in library.NUMBERS.values():
        for name in names:
            if name in ("scan", "exscan"):
                continue
            blocks = ranks if name == "reduce_scatter" else 1
            known = {a.number: a.name for a in library.algorithms(name, (5, 0, 0))}
            # Sizes of its own decisions are those of one block, sizes of rules those of all: lines have the latter.
            scale = ranks // blocks if name in library.COUNTS_ALL else 1
            lines = [Line(size * scale, number, known[number]) for size, number in model.numbers(name, ranks)]
            trials += _trials(name, lines, ranks, most_bytes)
    # Forced algorithms need what dynamic rules need.
    forced = [replace(trial, forced={**trial.forced, f"{_PREFIX}use_dynamic_rules": "1"}) for trial in trials]
    return Plan(forced, off, off, model=True)


def relabelled(rows: dict[int, list[Line]], ranks: int) -> bool:
    """Whether no rules of a collective hold for this few ranks."""
    return not any(0 < count <= ranks for count in rows)


def _at(name: str, rows: dict[int, list[Line]], ranks: int) -> list[Line]:
    """The rules that hold at so many ranks; those of the fewest ranks where none do."""
    if not relabelled(rows, ranks):
        return rows[max(count for count in rows if count <= ranks)]
    count = min((count for count in rows if count > 0), default=0)
    if count == 0:
        return rows.get(0, [])
    if name not in library.COUNTS_ALL:
        return rows[count]
    return [replace(line, size=line.size // count * ranks) for line in rows[count]]


def _trials(name: str, lines: list[Line], ranks: int, most_bytes: int, radix: int = 4) -> list[Trial]:
    """The first and the last size of every rule."""
    blocks = ranks if name in library.COUNTS_ALL else 1
    out = []
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        if line.number == 0:
            continue
        # Calls of no bytes may return at once.
        first = 0 if name == "barrier" else max(-(-line.size // blocks), 1)
        last = first if following is None else (following.size - 1) // blocks
        # The size of scans does not depend on the length of the vector.
        sizes = {64} if name in ("scan", "exscan") else {first, last}
        for size in sorted(size for size in sizes if first <= size <= most_bytes or name in ("scan", "exscan")):
            composed = (name, line.number) in COMPOSED
            choice = _choice(name, line, ranks, radix)
            out.append(Trial((name, size), _words(line), forcing(name, line), composed, choice))
    return out


def _choice(name: str, line: Line, ranks: int, radix: int) -> Choice | None:
    """The rule in the terms of Isthmus."""
    number = running(name, line.number, ranks)
    found = next(a for a in library.algorithms(name, (99, 0, 0), radix) if a.number == number)
    if found.choice is None:
        return None
    values = {library.FAN: line.fan, library.SEGMENT: line.segment, library.REQUESTS: line.requests}
    given = {key: values[word] for key, word in found.steer.items() if values[word] > 0}
    return pretty(name.removesuffix("_block"), found.choice.replace(**given))


def _words(line: Line) -> str:
    settings = {"faninout": line.fan, "segsize": line.segment, "max_requests": line.requests}
    return " ".join([line.name, *(f"{key}={value}" for key, value in settings.items() if value)])


def forcing(name: str, line: Line) -> dict[str, str]:
    prefix = f"{_PREFIX}{name}_algorithm"
    settings = {prefix: str(line.number)}
    if name not in ("barrier", "scan", "exscan"):
        settings[f"{prefix}_segmentsize"] = str(line.segment)
        settings[f"{prefix}_chain_fanout"] = settings[f"{prefix}_tree_fanout"] = str(line.fan)
    if name == "alltoall":
        settings[f"{prefix}_max_requests"] = str(line.requests)
    return settings
