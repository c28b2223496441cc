"""Exchanges of multigrid levels that were measured on Blue Waters, and what models say of each."""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from ..errors import InvalidInput
from .parameters import Kind, Parameter, Point, Summary

PROBLEMS = ("elasticity", "anisotropic")
#: The data; its head says where they are from.
_FILE = "bluewaters_exchanges.csv"
_RANKS_OF_A_NODE, _NODES_OF_A_ROUTER = 16, 2
_CLASSES = ("short", "eager", "rendezvous")
# Seconds of a message and of a byte, fitted to the raw ping-pongs of the same authors by least squares.
_PATHS = {
    "network": ((2.2656e-6, 7.4204e-10), (6.9511e-6, 1.33032e-9), (4.0436e-6, 1.28278e-9)),
    "node": ((8.2823e-7, 2.10447e-9), (1.20544e-6, 1.03856e-9), (2.46482e-6, 1.61498e-10)),
    "socket": ((4.4224e-7, 4.56243e-10), (5.3234e-7, 3.10876e-10), (1.66569e-6, 1.60034e-10)),
}
# Constants of their code for the max-rate model, which knows no paths; of rendezvous also seconds of a byte of a node.
_MAX_RATE = ((4.0e-6, 1.6e-9), (1.1e-5, 5.9e-10), (2.0e-5, 2.8e-10))
_NODE_BYTE = 1.8e-10
# Fitted to their measurements of receives that are posted in the wrong order, and of links that are shared.
QUEUE, _CONTENTION = 8.40127e-9, 9.28644e-11


@functools.lru_cache(maxsize=1)
def table() -> dict[tuple[str, int, int], dict[str, float]]:
    """Return the measured levels by problem, ranks and level: counts, and seconds."""
    text = (files(__package__) / "data" / _FILE).read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    out = {}
    for row in rows:
        key = (row.pop("problem"), int(row.pop("ranks")), int(row.pop("level")))
        out[key] = {name: float(value) for name, value in row.items() if value}
    return out


def by_class(row: dict[str, float], paths: Sequence[str]) -> list[tuple[float, float]]:
    """Return messages and bytes of the ranks with most of each, short, eager and rendezvous."""
    return [
        tuple(sum(row[f"{path}_{name}_{what}"] for path in paths) for what in ("messages", "bytes"))  # type: ignore[misc]
        for name in _CLASSES
    ]


def node_aware(row: dict[str, float]) -> float:
    """Seconds by postal models of each path and protocol."""
    return sum(
        alpha * messages + beta * size
        for path, costs in _PATHS.items()
        for (messages, size), (alpha, beta) in zip(by_class(row, (path,)), costs, strict=True)
    )


def max_rate(row: dict[str, float]) -> float:
    """Seconds by the max-rate model: bytes of long messages share the rate of the node."""
    every = by_class(row, tuple(_PATHS))
    seconds = sum(a * n + b * s for (n, s), (a, b) in zip(every, _MAX_RATE, strict=True))
    beta = _MAX_RATE[-1][1]
    return seconds + every[-1][1] * (max(beta, _RANKS_OF_A_NODE * _NODE_BYTE) - beta)


def contention(row: dict[str, float], ranks: int) -> float:
    """Seconds that bytes of others take on links: by hops^3 bytes of a router, with the mean of hops."""
    hops = row["byte_hops"] / row["bytes"]
    return _CONTENTION * hops**3 * row["bytes"] / (ranks / _RANKS_OF_A_NODE / _NODES_OF_A_ROUTER)


def measure(point: Point) -> Point:
    """Seconds of an exchange of a level: measured, and by each model."""
    from ..multigrid import Costs
    from ..multigrid.cycle import exchange_seconds
    from ..multigrid.outline import made

    ranks, level = point["ranks"], point["level"]
    row = table().get((point["problem"], ranks, level))
    if row is None:
        there = sorted({key[1] for key in table() if key[0] == point["problem"]})
        raise InvalidInput(
            f"no data of level {level} of {point['problem']} on {ranks} ranks: there are "
            f"{', '.join(map(str, there))} ranks, 7 to 14 levels each"
        )
    messages = row["most_messages"]
    every = by_class(row, tuple(_PATHS))
    size = sum(size for _, size in every)
    costs = replace(Costs.of(point["machine"]), search=QUEUE, gamma=0.0)
    aware, links = node_aware(row), contention(row, ranks)
    # The most of each path may be those of different ranks; the authors' code adds them.
    queue = QUEUE * sum(count for count, _ in every) ** 2
    operator = made(
        {
            "rows": int(row["active"]), "active": int(row["active"]), "nonzeros": int(row["active"]),
            "nonzeros_most": 1, "messages": int(row["active"] * messages / 2), "bytes": int(row["bytes"]),
            "sends": int(messages), "receives": int(messages), "bytes_sent": int(size), "bytes_received": int(size),
        },
        ranks,
    )  # fmt: skip
    return {
        "messages": int(messages),
        "active": int(row["active"]),
        "sent": size,
        "postal": costs.alpha * messages + costs.beta * size,
        "max_rate": max_rate(row),
        "node_aware": aware,
        "queue": aware + queue,
        "contention": aware + queue + links,
        "ours": exchange_seconds(costs, operator, ("queue",)),
        "measured": row["measured"],
        "measured_node_aware": row.get("node_aware", 0.0),
    }


def _summarise(rows: Sequence[Point]) -> Summary:
    from .exchanges_page import summarise

    return summarise(rows)


KIND = Kind(
    name="exchanges",
    doc="exchanges of vectors on multigrid levels, measured on Blue Waters, beside models",
    version=1,
    parameters=(
        Parameter("problem", "choice", "whose levels", "elasticity", PROBLEMS),
        Parameter("ranks", "whole", "8192, of anisotropic also 128, 512, 1024, 2048 and 4096", 8192, least=1),
        Parameter("level", "whole", "from 0, the finest", most=20),
        Parameter("machine", "machine", "whose latency and bandwidth our model takes", "bluewaters"),
    ),
    measure=measure,
    summarise=_summarise,
)
