"""The plain text from which libisthmus decides."""

from __future__ import annotations

from dataclasses import replace

from ...collectives import algorithms
from ..choice import LIBRARY, Choice
from ..decisions import Decisions
from ..plain_text import format_plain
from ..table import DecisionTable, Point, Provenance, Row
from .export import Export, Loss, Request, rank_counts

OPTIONS: tuple[str, ...] = ()


def write(decisions: Decisions, request: Request) -> Export:
    """The table itself: points and rules at every number of ranks.

    Algorithms that Isthmus has not are left to the default of the library. How data move and who waits for whom is
    followed in spaces of memory that ranks share; elsewhere messages stand in for puts and gets.
    A table of an MPI library becomes one of Isthmus, as the library would refuse it otherwise.
    """
    lost: list[Loss] = []
    rows = {
        kind: [_row(decisions, kind, ranks, request, lost) for ranks in rank_counts(decisions, kind, request)]
        for kind in decisions.collectives
    }
    modes = {}
    if isinstance(decisions, DecisionTable):
        modes = {
            kind: {mode: [_written(kind, row, lost) for row in rows] for mode, rows in by_mode.items()}
            for kind, by_mode in decisions.modes.items()
        }
    notes = []
    provenance = decisions.provenance if isinstance(decisions, DecisionTable) else Provenance()
    if provenance.library:
        words = f"the decisions were made for {provenance.library}: that they suit libisthmus was not measured"
        notes.append(words)
        provenance = replace(provenance, library="", note="; ".join(filter(None, (provenance.note, words))))
    text = format_plain(DecisionTable(rows, provenance, modes))
    return Export("isthmus", "plain text of decisions", text, {"ISTHMUS_TABLE": "{file}"}, lost, notes)


def _row(decisions: Decisions, kind: str, ranks: int, request: Request, lost: list[Loss]) -> Row:
    if isinstance(decisions, DecisionTable) and request.ranks is None:
        row = decisions.row(kind, ranks)
    else:
        row = Row(ranks, tuple(Point(rule.bytes, rule.choice) for rule in decisions.rules(kind, ranks)), tuned=False)
    return _written(kind, row, lost)


def _written(kind: str, row: Row, lost: list[Loss]) -> Row:
    for rule, following in zip(row.rules, [*row.rules[1:], None], strict=True):
        if rule.choice != _ours(kind, rule.choice):
            high = None if following is None else following.bytes - 1
            lost.append(Loss(kind, row.ranks, rule.bytes, high, rule.choice, _known(kind, rule.choice), None))
    points = [
        replace(p, choice=_ours(kind, p.choice), runner_up=None if p.runner_up is None else _ours(kind, p.runner_up))
        for p in row.points
    ]
    return Row(row.ranks, tuple(points), row.tuned)


def _known(kind: str, choice: Choice) -> Choice | None:
    """The choice without the protocol, which is up to the transport."""
    if choice.name not in algorithms(kind):
        return None
    return Choice(choice.name, {key: value for key, value in choice.options.items() if key != "protocol"})


def _ours(kind: str, choice: Choice) -> Choice:
    return _known(kind, choice) or LIBRARY
