"""Rules files of Open MPI's component "han", which takes collectives apart by node.

From 5.0 on it comes before "tuned" on communicators of several nodes. This file hands collectives back to tuned, whose
own rules file then decides, except where a table chooses a hierarchical algorithm. Facts from
``ompi/mca/coll/han/coll_han_dynamic_file.c`` of v5.0.8, where components go by name: the number that the header beside
it speaks of makes the library drop the file.
"""

from __future__ import annotations

from ...errors import InvalidInput
from ..decisions import Decisions
from ..libraries import openmpi as library
from .export import Export, Request, rank_counts
from .openmpi import BLOCKING

OPTIONS: tuple[str, ...] = ()

#: Levels of a communicator by number, components by name.
_WITHIN, _BETWEEN, _WHOLE = 0, 1, 2
_TUNED, _HAN = "tuned", "han"
_HAVE = ("barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter")


def write(decisions: Decisions, request: Request) -> Export:
    """The file for a version of Open MPI."""
    if not request.version:
        raise InvalidInput("target openmpi-han: give the version, such as openmpi-han-5.0.8")
    version = library.parse_version(request.version)
    if version < (5, 0, 0):
        raise InvalidInput(
            f"target openmpi-han-{request.version}: Open MPI before 5.0 does not use han by itself, and 4.1.4 crashes "
            "when it reads such a file"
        )
    kinds = [kind for kind in _HAVE if kind in decisions.collectives]
    lines = [f"{len(kinds)} # collectives"]
    for kind in kinds:
        rows = {ranks: _components(decisions, kind, ranks) for ranks in rank_counts(decisions, kind, request)}
        # The first size has to be 1: communicators smaller than those that were tuned stay with han.
        rows = rows if 1 in rows else {1: [(0, _HAN)], **rows}
        within = {1: [(0, _TUNED)]}
        lines += [f"{library.NUMBERS[kind][kind]} # {kind}", "3 # levels"]
        for level, name, of_level in (
            (_WITHIN, "within", within),
            (_BETWEEN, "between", within),
            (_WHOLE, "whole", rows),
        ):
            lines += [f"{level} # {name}", f"{len(of_level)} # sizes of communicators"]
            for ranks, components in of_level.items():
                lines += [f"{ranks} # ranks and more", f"{len(components)} # message sizes"]
                lines += [f"{size} {component}" for size, component in components]
    settings = {
        "OMPI_MCA_coll_han_use_dynamic_file_rules": "1",
        "OMPI_MCA_coll_han_dynamic_rules_filename": "{file}",
    }
    notes = [BLOCKING, "tuned needs its rules file beside this one: export for openmpi as well"]
    return Export(f"openmpi-han-{request.version}", "rules file of han", "\n".join(lines) + "\n", settings, [], notes)


def _components(decisions: Decisions, kind: str, ranks: int) -> list[tuple[int, str]]:
    """From which size on which component; han's size is that of the vector or of one block, as ours."""
    out: list[tuple[int, str]] = []
    for rule in decisions.rules(kind, ranks):
        component = _HAN if rule.choice.name == "hierarchical" else _TUNED
        if not out or out[-1][1] != component:
            out.append((rule.bytes, component))
    return out
