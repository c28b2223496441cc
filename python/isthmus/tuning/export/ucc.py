"""Tuning of UCC: a string for ``UCC_TL_UCP_TUNE``, and sections of ``ucc.conf``.

Facts from the user's guide, ``contrib/ucc.conf``, ``src/utils`` and ``src/coll_score`` of openucx/ucc, main of August
2026, and from runs of that version.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import InvalidInput
from ..decisions import Decisions
from ..libraries import ucc as library
from .export import Export, Loss, Placed, Request, common_radix, joined, losses, placed, rank_counts

OPTIONS = ("section", "ranks_per_node")

_NOTES = (
    "UCC takes part only where it is used: Open MPI needs OMPI_MCA_coll_ucc_enable=1 and "
    "OMPI_MCA_coll_ucc_priority=100; UCC_LOG_LEVEL=debug prints the algorithms that came out of the rules",
    "all collectives of UCC are nonblocking inside, so that MPI_Ibcast and its like follow the same rules",
)
_FILE_NOTE = "the file takes the place of the ucc.conf that came with UCC; the environment comes before the file"
TUNE = "UCC_TL_UCP_TUNE"
#: What a section may be of, beside the team size. UCC refuses a file with any other word.
_KEYS = ("vendor", "model", "ppn", "sock", "nnodes")
#: Longest line and name of a section that UCC's reader of files takes.
_LINE, _SECTION = 8189, 127


@dataclass
class Team:
    """The settings for a range of team sizes: tokens, and the values of each variable by size."""

    tokens: list[str] = field(default_factory=list)
    variables: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


#: By first and last number of ranks.
Teams = dict[tuple[int, int | None], Team]


def write(decisions: Decisions, request: Request) -> Export:
    """One token for each rule in a string, or, with ``section=``, a section of ucc.conf for each number of ranks."""
    lost: list[Loss] = []
    notes = list(_NOTES)
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
            team = teams.setdefault((ranks, None if following is None else following - 1), Team())
            _add(team, kind, ranks, joined(given))
    section = request.options.get("section")
    if section is not None:
        text = _sections(teams, str(section), request.options.get("ranks_per_node"))
        notes.append(_FILE_NOTE)
        return Export("ucc", "sections of ucc.conf", text, {"UCC_CONFIG_FILE": "{file}"}, lost, notes)
    settings, more = _string(teams)
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    return Export("ucc", "variables of the environment, one a line", text, settings, lost, [*notes, *more])


def _add(team: Team, kind: str, ranks: int, rules: list[Placed]) -> None:
    blocks = ranks if kind in library.COUNTS_ALL else 1
    for p, following in zip(rules, [*rules[1:], None], strict=True):
        if p.fit is None:
            continue
        low, high = p.low * blocks, None if p.high is None else (p.high + 1) * blocks - 1
        if library.named(kind):
            own = following is not None and following.fit is None
            team.tokens.append(f"{kind}:{_token_range(low, high, own)}:host:{{team}}inf:@{p.fit.algorithm.name}")
        for name, value in p.fit.parameters.items():
            sizes = f"{low}-{'inf' if high is None else high}"
            team.variables.setdefault(name, []).append((sizes, str(value)))


def _token_range(low: int, high: int | None, own: bool) -> str:
    """Sizes of a rule as UCC reads them; ``own``: after them its own choice holds.

    Ranges hold at both ends. Where two meet at a size it belongs to the one with the higher score, to the second one
    if these are the same: rules that follow each other share it, but a rule before UCC's own choice would take it. A
    rule for a single size is an error to UCC.
    """
    if high is None:
        return f"{low}-inf"
    return f"{low}-{high if own and high > low else high + 1}"


def _value(values: list[tuple[str, str]]) -> str:
    """Value of a variable: a single one if it is the same at all sizes."""
    if len({value for _, value in values}) == 1:
        return values[0][1]
    return ",".join(f"{sizes}:host:{value}" for sizes, value in values)


def _string(teams: Teams) -> tuple[dict[str, str], list[str]]:
    """Tokens with team sizes; a radix holds for all team sizes, those of the most ranks count."""
    tokens = []
    variables: dict[str, str] = {}
    notes = []
    for (ranks, last), team in sorted(teams.items(), key=lambda item: item[0][0]):
        sizes = f"[{ranks}-{'inf' if last is None else last}]:"
        tokens += [token.format(team=sizes) for token in team.tokens]
        found = {name: _value(values) for name, values in team.variables.items()}
        changed = sorted(name for name in found if variables.get(name, found[name]) != found[name])
        notes += [
            f"{name} is for {ranks} ranks and more, fewer want another: sections can have both" for name in changed
        ]
        variables |= found
    settings = {TUNE: "#".join(tokens)} if tokens else {}
    return settings | dict(sorted(variables.items())), notes


def _sections(teams: Teams, section: str, per_node: object) -> str:
    """A section for each range of team sizes. Its key is what UCC compares with the machine it runs on."""
    if per_node is not None and (not isinstance(per_node, int) or per_node < 1):
        raise InvalidInput(f"ranks_per_node {per_node!r}: expected a whole number from 1")
    for word in section.split():
        key, _, value = word.partition("=")
        if key not in _KEYS or not value:
            raise InvalidInput(f"section {section!r}: {word!r} must be one of {', '.join(f'{key}=' for key in _KEYS)}")
    # UCC reads most variables when it starts: in a section, for one team, they have no effect.
    common = {
        name: values[0][1]
        for team in teams.values()
        for name, values in team.variables.items()
        if name not in library.RANGED
    }
    lines = [*(f"{name}={value}" for name, value in sorted(common.items())), ""] if common else []
    for (ranks, last), team in sorted(teams.items(), key=lambda item: item[0][0]):
        size = str(ranks) if last == ranks else f"{ranks}-{last or 2**31 - 1}"
        words = [*section.split(), f"team_size={size}", *([f"ppn={per_node}"] if per_node else [])]
        ranged = {name: _value(values) for name, values in team.variables.items() if name in library.RANGED}
        values = {TUNE: "#".join(token.format(team="") for token in team.tokens), **dict(sorted(ranged.items()))}
        lines += [f"[{' '.join(words)}]", *(f"{name}={value}" for name, value in values.items() if value), ""]
    for line in lines:
        if len(line) > (_SECTION + 2 if line.startswith("[") else _LINE):
            raise InvalidInput(f"UCC cannot read a line of {len(line)} characters: {line[:40]} ...")
    return "\n".join(lines)
