"""Tuning of UCC: a string for ``UCC_TL_UCP_TUNE``, and sections of ``ucc.conf``.

Facts from the user's guide, ``contrib/ucc.conf``, ``src/utils/ucc_parser.c`` and ``src/coll_score`` of openucx/ucc,
main of August 2026.
"""

from __future__ import annotations

from ...errors import InvalidInput
from ..decisions import Decisions
from ..libraries import ucc as library
from .export import Export, Loss, Placed, Request, common_radix, joined, losses, placed, rank_counts

OPTIONS = ("section", "ranks_per_node")

_NOTES = (
    "UCC takes part only where it is used: Open MPI needs OMPI_MCA_coll_ucc_enable=1 and "
    "OMPI_MCA_coll_ucc_priority=100; UCC_LOG_LEVEL=info prints the scores that came out of the string",
    "all collectives of UCC are nonblocking inside, so that MPI_Ibcast and its like follow the same rules",
)


#: Of a range of team sizes: tokens, and values of radixes by size.
Teams = dict[tuple[int, int | None], tuple[list[str], dict[str, list[str]]]]


def write(decisions: Decisions, request: Request) -> Export:
    """One token for each rule in a string, or, with ``section=``, a section of ucc.conf for each number of ranks."""
    lost: list[Loss] = []
    notes: list[str] = []
    teams: Teams = {}
    # Sections must not overlap: every number of ranks at which anything changes begins one.
    kinds = [kind for kind in decisions.collectives if kind in library.COLLECTIVES]
    bounds = sorted({ranks for kind in kinds for ranks in rank_counts(decisions, kind, request)})
    for kind in decisions.collectives:
        if kind not in library.COLLECTIVES:
            notes.append(f"{kind}: the layer of UCC over UCX has no choice of algorithms for it")
            continue
        tree = library.tree(kind)
        radix = None if tree is None else common_radix(decisions, (kind,), request, *tree, library.OF_TWO[tree[0]])
        first = rank_counts(decisions, kind, request)[0]
        for ranks, following in zip(bounds, [*bounds[1:], None], strict=True):
            if ranks < first:
                continue
            given = placed(decisions, kind, ranks, library.algorithms(kind, radix), request.predict)
            lost += losses(kind, ranks, given)
            _add(teams.setdefault((ranks, following), ([], {})), kind, ranks, joined(given))
    section = request.options.get("section")
    if section is not None:
        text = _sections(teams, str(section), request.options.get("ranks_per_node"))
        settings = {"UCC_CONFIG_FILE": "{file}"}
        return Export("ucc", "sections of ucc.conf", text, settings, lost, [*_NOTES, *notes])
    settings, text = _string(teams)
    return Export("ucc", "variables of the environment, one a line", text, settings, lost, [*_NOTES, *notes])


def _add(team: tuple[list[str], dict[str, list[str]]], kind: str, ranks: int, rules: list[Placed]) -> None:
    tokens, radixes = team
    blocks = ranks if kind in library.COUNTS_ALL else 1
    for p in rules:
        if p.fit is None:
            continue
        size = "" if kind == "barrier" else f":{_range(p, blocks)}"
        tokens.append(f"{kind}{size}:host:{{team}}inf:@{p.fit.algorithm.name}")
        for name, value in p.fit.parameters.items():
            if name not in library.RANGED:
                radixes[name] = [str(value)]
            else:
                radixes.setdefault(name, []).append(f"{_range(p, blocks)}:host:{value}")


def _range(p: Placed, blocks: int) -> str:
    return f"{p.low * blocks}-{'inf' if p.high is None else (p.high + 1) * blocks}"


def _string(teams: Teams) -> tuple[dict[str, str], str]:
    """Tokens with team sizes; a radix holds for all team sizes, those of the most ranks count."""
    tokens = []
    radixes: dict[str, list[str]] = {}
    for (ranks, following), (of_team, of_radix) in sorted(teams.items(), key=lambda item: item[0][0]):
        team = f"[{ranks}-{'inf' if following is None else following - 1}]:"
        tokens += [token.format(team=team) for token in of_team]
        radixes |= of_radix
    settings = {"UCC_TL_UCP_TUNE": "#".join(tokens)}
    settings |= {name: ",".join(ranges) for name, ranges in sorted(radixes.items())}
    return settings, "".join(f"{name}={value}\n" for name, value in settings.items())


def _sections(teams: Teams, section: str, per_node: object) -> str:
    """A section for each range of team sizes. Its key is what UCC compares with the machine it runs on."""
    if per_node is not None and (not isinstance(per_node, int) or per_node < 1):
        raise InvalidInput(f"ranks_per_node {per_node!r}: a whole number from 1 is needed")
    lines = []
    for (ranks, following), (tokens, radixes) in sorted(teams.items(), key=lambda item: item[0][0]):
        size = str(ranks) if following == ranks + 1 else f"{ranks}-{following - 1 if following else 2**31 - 1}"
        words = [section, f"team_size={size}", *([f"ppn={per_node}"] if per_node else [])]
        lines.append(f"[{' '.join(filter(None, words))}]")
        lines.append(f"UCC_TL_UCP_TUNE={'#'.join(token.format(team='') for token in tokens)}")
        lines += [f"{name}={','.join(ranges)}" for name, ranges in sorted(radixes.items())]
        lines.append("")
    return "\n".join(lines)
