"""The output of ``print(mapped)`` and ``isthmus map``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..units import amount, text

if TYPE_CHECKING:
    from .mapped import Mapped

#: Pairs of ranks whose routes are compared with shortest paths.
_LOOKED_AT = 1 << 17


def report(mapped: Mapped) -> str:
    """The comparison with other placements, and the methods that were tried."""
    p = mapped.placement
    unchanged = " (ranks stay where they are)" if mapped.method == "default" else ""
    lines = [
        f"{p.ranks:,} ranks on {len(p.nodes):,} node{'s' * (len(p.nodes) != 1)} of {p.machine.name}, "
        f"{amount(mapped.metrics.bytes)}; method {mapped.method}{unchanged}"
    ]
    headings, rows = mapped.table()
    lines += columns([headings, *rows])
    if longer_routes(mapped):
        lines.append("Hops are links of the deterministic routes, some of which are longer than shortest paths.")
    if mapped.too_short is not None:
        lines.append(
            f"The time was too short{' for any search' * mapped.unsearched}: reading the pattern and computing its "
            f"metrics alone takes about {text(mapped.too_short, 's', 2)}."
        )
    if mapped.warning is not None:
        lines.append(mapped.warning)
    lines.append("")
    lines += tried(mapped)
    return "\n".join(lines)


def longer_routes(mapped: Mapped) -> bool:
    """Whether partners have a route longer than a shortest path; a sample is checked if there are very many."""
    machine, node = mapped.placement.machine, mapped.placement.node
    if machine.topology.kind != "dragonfly":
        return False
    a, b = node[mapped.pattern.sources()][:_LOOKED_AT], node[mapped.pattern.peer][:_LOOKED_AT]
    return bool((machine.topology.route_lengths(a, b) > machine.topology.distances(a, b)).any())


def tried(mapped: Mapped) -> list[str]:
    """The methods that were run, in their order; the one that was kept is marked."""
    simulated = any(t.metrics.time is not None for t in mapped.trials)
    rows = [["tried", "hop-bytes", "max link", "max dilation", *["simulated time"] * simulated, "CPU time"]]
    for t in mapped.trials:
        m = t.metrics
        rows.append(
            [
                f"{'*' if t is mapped.best else ' '} {t.name}",
                m.words("hop_bytes"),
                m.words("maximum_link_load"),
                m.words("maximum_dilation"),
                *[m.words("time")] * simulated,
                text(t.seconds, "s", 3),
            ]
        )
    return columns(rows)


def columns(rows: list[list[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        out.append("  ".join(cells).rstrip())
    return out
