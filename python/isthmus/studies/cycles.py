"""Cycles of a multigrid solver by the model, on a machine, by number of cores and mix of processes and threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import InvalidInput
from ..multigrid import Costs, Hierarchy, cycle
from ..multigrid.enlarge import enlarged
from .levels import cuts, names, shipped
from .parameters import Kind, Parameter, Point, Summary

#: Parts from which a problem is enlarged: as many rows of a part as in the published runs.
_SMALL = 128


def levels(counts: str, parts: int, grown: bool) -> Hierarchy:
    """Return a hierarchy that comes with Isthmus, cut into parts, or enlarged to so many."""
    if not grown:
        return shipped(counts, parts)
    if _SMALL not in cuts(counts) or parts <= _SMALL:
        raise InvalidInput(f"parts = {parts}: a problem that grows has more than {_SMALL} parts")
    return enlarged(shipped(counts, _SMALL), shipped(counts, parts))


def measure(point: Point) -> Point:
    """Seconds of messages of a cycle, and what goes into them."""
    cores, threads = point["cores"], point["threads"]
    if cores % threads:
        raise InvalidInput(f"threads = {threads}: must be a divisor of cores = {cores}")
    found = levels(point["counts"], cores // threads, point["grown"])
    costs = Costs.of(point["machine"], nearest=point["nearest"], farthest=max(point["farthest"], point["nearest"]))
    if not point["bandwidth"]:
        costs = replace(costs, beta=0.0)
    told = cycle(found, costs)
    crowded = cycle(found, costs, penalties=("alpha", "gamma"), cores=max(point["cores_of_node"] // threads, 1))
    messages = cycle(found, Costs(alpha=1.0, beta=0.0)).communication
    work = cycle(found, Costs(alpha=0.0, beta=0.0, flop=1.0))
    return {
        "levels": len(found),
        "rows": int(found.levels[0].matrix.rows.sum()),
        "messages": int(messages),
        "communication": told.communication,
        "crowded": crowded.communication,
        "operations": float(work.compute.sum()),
    }


def _summarise(rows: Sequence[Point]) -> Summary:
    from .cycles_page import summarise

    return summarise(rows)


KIND = Kind(
    name="cycles",
    doc="what messages of a multigrid cycle take by the model, by cores and threads",
    version=1,
    parameters=(
        Parameter("counts", "choice", "a hierarchy that comes with Isthmus", "laplace-hmis", tuple(names())),
        Parameter(
            "grown", "yes", "as many rows of a part on all numbers of parts, 62,500; false: 8 million in all", False
        ),
        Parameter("cores", "whole", "processes times threads", least=1, most=1e7),
        Parameter("threads", "whole", "of a process", 1, least=1, most=1e4),
        Parameter("machine", "machine", "whose latency, distances and bandwidth are taken"),
        Parameter("farthest", "whole", "links between the farthest nodes", 7, most=1e4),
        Parameter("nearest", "whole", "of these the links that alpha has already; fewer than farthest", 2, most=1e4),
        Parameter("bandwidth", "yes", "whether bytes take time", True),
        Parameter("cores_of_node", "whole", "cores of a node", 16, least=1, most=1e4),
    ),
    measure=measure,
    summarise=_summarise,
)
