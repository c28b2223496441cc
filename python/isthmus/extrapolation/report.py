"""How certain each call of a blueprint is, and what it does, as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rules import Same, worst

if TYPE_CHECKING:
    from .blueprint import Blueprint, Statement

#: Letters of a rule that are shown.
_SHOWN = 60


def sites(blueprint: Blueprint) -> list[dict[str, Any]]:
    """Places of the program with their calls: label, share of the bytes, peers and bytes; the largest share first."""
    labels = blueprint.labels()
    found: dict[tuple[str, str], list[Statement]] = {}
    for step in blueprint.statements():
        if step.call.name != "end":
            found.setdefault((step.call.name, step.call.location), []).append(step)
    rows = [
        {
            "call": name,
            "place": place,
            "label": worst(labels[step.number] for step in steps),
            "share": sum(step.share for step in steps),
            "peers": _joined(_peer(step) for step in steps),
            "bytes": _joined(str(step.rules["bytes"]) for step in steps if "bytes" in step.rules),
        }
        for (name, place), steps in found.items()
    ]
    return sorted(rows, key=lambda row: -row["share"])


def _peer(step: Statement) -> str:
    if step.item is not None:
        return str(step.item)
    rule = step.rules.get("peer")
    if rule is None:
        return ""
    return f"root {rule}" if isinstance(rule, Same) else str(rule)


def _joined(words: Any) -> str:
    out = ", ".join(dict.fromkeys(word for word in words if word))
    return out if len(out) <= _SHOWN else out[: _SHOWN - 3] + "..."
