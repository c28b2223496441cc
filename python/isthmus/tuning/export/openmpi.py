"""Rules files of Open MPI's component "tuned": version 1 (4.x to 5.0.6), version 2 (from 5.0.7), JSON (from 6.0).

Facts from ``coll_tuned_dynamic_file.c``, ``coll_tuned_dynamic_rules.c`` and ``coll_tuned_decision_dynamic.c`` of
v4.1.4, v5.0.8 and main of August 2026. A file that the library cannot read is ignored without a word, and so is one of
a later version. 6.0 still reads the older forms, but takes a communicator size for the first that a rule does not apply
to; it gets JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...errors import InvalidInput
from ..choice import Option
from ..decisions import Decisions
from ..defaults.openmpi import OpenMpiDefaults
from ..libraries import openmpi as library
from .export import Export, Loss, Placed, Request, common_radix, joined, losses, one_rule, placed, rank_counts
from .guard import Guard

OPTIONS = ("by_size",)
#: Of the library's k-nomial trees.
_RADIX = 4

BLOCKING = (
    "Open MPI's files steer blocking collectives only: nonblocking, persistent and neighbourhood collectives keep "
    "their own algorithms"
)
_HAN = (
    "on communicators of several nodes its component han stands before tuned: OMPI_MCA_coll_han_priority=0 above "
    "switches it off"
)


@dataclass(frozen=True)
class Line:
    """One rule as Open MPI counts: from so many bytes on, an algorithm (0: the library's own rules)."""

    size: int
    number: int
    name: str
    fan: int = 0
    segment: int = 0
    requests: int = 0


#: Rules by collective of Open MPI and communicator size.
Rules = dict[str, dict[int, list[Line]]]


def write(decisions: Decisions, request: Request) -> Export:
    """The rules file for a version of Open MPI."""
    if not request.version:
        raise InvalidInput("target openmpi: give the version, such as openmpi-5.0.8; it decides the format of the file")
    version = library.parse_version(request.version)
    by_size = set(request.options.get("by_size") or ())
    if not by_size <= {"gather", "scatter"}:
        raise InvalidInput(f"by_size {sorted(by_size)}: must be gather or scatter")
    # One parameter sets it for the whole run.
    radix = common_radix(decisions, ("bcast", "reduce"), request, "knomial", _RADIX)
    rules, lost, notes = _rules(decisions, request, version, by_size, radix)
    if radix != _RADIX and not _has(rules, "knomial"):
        # Nothing is left of the rules that wanted it, and the library's own trees are better off with theirs.
        radix = _RADIX
        rules, lost, notes = _rules(decisions, request, version, by_size, radix)
    settings = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": "{file}"}
    if radix != _RADIX:
        settings["OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix"] = str(radix)
    if version >= (5, 0, 0):
        settings["OMPI_MCA_coll_han_priority"] = "0"
        notes.append(_HAN)
    if version >= (6, 0, 0):
        form, text = "rules in JSON, read from 6.0 on", format_json(rules)
    elif version >= (5, 0, 7):
        form, text = "rules file, version 2, read from 5.0.7 on", format_classic(rules, 2)
    else:
        form, text = "rules file, version 1, read up to 5.0", format_classic(rules, 1)
    return Export(f"openmpi-{request.version}", form, text, settings, lost, [BLOCKING, *notes])


def _rules(
    decisions: Decisions, request: Request, version: library.Version, by_size: set[str], radix: int
) -> tuple[Rules, list[Loss], list[str]]:
    rules: Rules = {}
    lost: list[Loss] = []
    notes: list[str] = []
    for kind in decisions.collectives:
        if kind not in library.NUMBERS:
            notes.append(f"{kind}: Open MPI has no rules for it")
            continue
        counts = rank_counts(decisions, kind, request)
        for name in library.NUMBERS[kind]:
            algorithms = library.algorithms(name, version, radix)
            guard = _guard(request, name, radix)
            one = kind in library.ONE_RULE and kind not in by_size
            rows: dict[int, list[Line]] = {}
            for ranks, following in zip(counts, [*counts[1:], None], strict=True):
                given = placed(decisions, kind, ranks, algorithms, request.predict, None if one else guard)
                if one:
                    if len(given) > 1:
                        notes.append(f"{name}, {ranks} ranks: one algorithm for all sizes: {library.ONE_RULE[kind]}")
                    given = [one_rule(decisions, kind, ranks, given, guard)]
                lost += losses(name, ranks, given)
                given = joined(given)
                all_blocks = name in library.COUNTS_ALL and len(given) > 1
                for size in sizes_between(ranks, following) if all_blocks else [ranks]:
                    rows[size] = [_line(p, size if all_blocks else 1) for p in given]
            rules[name] = rows
    return rules, lost, notes


def _guard(request: Request, name: str, radix: int) -> Guard | None:
    """With what the library decides for a collective by its own name, and with the radix of the whole run."""
    if request.guard is None or not isinstance(request.guard.own, OpenMpiDefaults):
        return request.guard
    own = request.guard.own
    return request.guard.of(
        OpenMpiDefaults(request.version, ordered=own.ordered, block=name == "reduce_scatter_block", radix=radix)
    )


def _has(rules: Rules, algorithm: str) -> bool:
    return any(line.name == algorithm for rows in rules.values() for lines in rows.values() for line in lines)


def sizes_between(ranks: int, following: int | None) -> list[int]:
    """Communicator sizes up to the next tuned one, each by a quarter larger than the one before.

    Open MPI's size of a collective of blocks grows with the communicator, so that one threshold would mean ever smaller
    blocks; repeated rules keep the blocks within a quarter. Beyond the last tuned size they end at four times that.
    """
    out = [ranks]
    end = 4 * ranks + 1 if following is None else following
    while (size := max(out[-1] + 1, out[-1] * 5 // 4)) < end:
        out.append(size)
    return out


def _line(p: Placed, blocks: int) -> Line:
    if p.fit is None:
        return Line(p.low * blocks, 0, "ignore")

    def number(key: str) -> int:
        value: Option = p.fit.parameters.get(key, 0) if p.fit else 0
        return value if isinstance(value, int) else 0

    algorithm = p.fit.algorithm
    sizes = (number(library.FAN), number(library.SEGMENT), number(library.REQUESTS))
    return Line(p.low * blocks, algorithm.number, algorithm.name, *sizes)


def format_classic(rules: Rules, version: int) -> str:
    """Version 1 or 2 of the rules file."""
    lines = ["rule-file-version-2"] if version == 2 else []
    lines.append(f"{len(rules)} # collectives")
    numbers = {name: number for names in library.NUMBERS.values() for name, number in names.items()}
    for name, rows in sorted(rules.items(), key=lambda item: numbers[item[0]]):
        # Without rules for smaller communicators the first ones would hold for them too.
        every = {0: [Line(0, 0, "ignore")], **rows} if min(rows) > 0 else rows
        lines += [f"{numbers[name]} # {name}", f"{len(every)} # communicator sizes"]
        for ranks, of_ranks in sorted(every.items()):
            lines += [f"{ranks} # ranks and more", f"{len(of_ranks)} # message sizes"]
            for line in of_ranks:
                last = f" {line.requests}" if version == 2 else ""
                lines.append(f"{line.size} {line.number} {line.fan} {line.segment}{last} # {line.name}")
    return "\n".join(lines) + "\n"


def format_json(rules: Rules) -> str:
    """Version 3 of the rules file. The first rule that fits counts; names guard against numbers that change."""
    collectives = {}
    for name, rows in rules.items():
        of_name = []
        counts = sorted(rows)
        for ranks, following in zip(counts, [*counts[1:], None], strict=True):
            fitting: dict[str, object] = {"comm_size_min": ranks}
            if following is not None:
                fitting["comm_size_max"] = following - 1
            fitting["rules"] = [
                _json_rule(line, after)
                for line, after in zip(rows[ranks], [*rows[ranks][1:], None], strict=True)
                if line.number
            ]
            of_name.append(fitting)
        collectives[name] = of_name
    return json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=1) + "\n"


def _json_rule(line: Line, after: Line | None) -> dict[str, object]:
    rule: dict[str, object] = {"msg_size_min": line.size, "msg_size_max": "inf" if after is None else after.size - 1}
    rule["alg"] = line.name
    for key, value in ((library.FAN, line.fan), (library.SEGMENT, line.segment), (library.REQUESTS, line.requests)):
        if value:
            rule[key] = value
    return rule
