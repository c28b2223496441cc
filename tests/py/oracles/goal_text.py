"""GOAL text as plain lists of operations; no comments, one statement a line."""

from __future__ import annotations

import re
from pathlib import Path

from .loggops import ANY, CALC, RECV, SEND, Op

KINDS = {"send": SEND, "recv": RECV, "calc": CALC}
STATEMENT = re.compile(
    r"(\w+): (send|recv|calc) (\d+)b?(?: (?:to|from) (-?\d+))?(?: tag (-?\d+))?(?: cpu (\d+))?(?: nic (\d+))?"
)
DEPENDENCY = re.compile(r"(\w+) (i?)requires (\w+)")


def read(path: str | Path) -> list[list[Op]]:
    """Operations per rank; the amount of a calc is in whatever unit the file means."""
    ranks: list[list[Op]] = []
    labels: dict[str, int] = {}
    for line in Path(path).read_text().splitlines():
        if line.startswith("rank "):
            ranks.append([])
            labels = {}
        elif found := STATEMENT.fullmatch(line.strip()):
            label, kind, amount, peer, tag, cpu, nic = found.groups()
            labels[label] = len(ranks[-1])
            peer, tag = (ANY if x == "-1" else int(x or 0) for x in (peer, tag))
            ranks[-1].append(Op(KINDS[kind], int(amount), peer, tag, cpu=int(cpu or 0), nic=int(nic or 0)))
        elif found := DEPENDENCY.fullmatch(line.strip()):
            op, on_start, on = ranks[-1][labels[found[1]]], found[2], labels[found[3]]
            (op.after_start if on_start else op.after).append(on)
        elif line.strip() not in ("", "}") and not line.startswith("num_ranks "):
            raise ValueError(f"{path}: {line}")
    return ranks
