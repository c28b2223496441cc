"""Coarse levels gathered on fewer processes: which, on how many, and what setup and cycles gain by the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2

from ..multigrid import Costs, Hierarchy, cycle, enlarged, gathered, redistribute, setup
from ..multigrid.redistribution import roots
from .levels import computed
from .parameters import Kind, Parameter, Point, Summary

#: Bytes of a nonzero of a matrix that is sent: its value and its column.
_NONZERO = 16


def moving(hierarchy: Hierarchy, switches: Mapping[int, int], costs: Costs) -> float:
    """Seconds in which the matrices of switched levels go to their roots, by binomial trees."""
    seconds, now = 0.0, hierarchy
    alpha = costs.alpha + (costs.farthest - costs.nearest) * costs.gamma
    for level, count in sorted(switches.items()):
        matrix = now.levels[level].matrix
        there = matrix.gathered(roots(matrix.rows, count))
        steps = ceil(log2(ceil(matrix.active / count)))
        seconds += steps * alpha + int(there.nonzeros.max()) * _NONZERO * costs.beta
        now = gathered(now, {level: count})
    return seconds


def measure(point: Point) -> Point:
    """Seconds of setup and of a cycle with and without gathered levels."""
    ranks, solver = point["ranks"], point["solver"]
    of = (solver, point["side"])
    one = enlarged(
        computed(*of, point["small"], point["coarsening"], point["problem"]),
        computed(*of, ranks, point["coarsening"], point["problem"]),
    )
    costs = Costs.of(point["machine"], farthest=point["farthest"], flop=point["flop"])
    # PyAMG coarsens by PMIS.
    coarsening = "pmis" if solver == "pyamg" else point["coarsening"]
    found = redistribute(one, costs, cores=point["cores_of_node"])
    unknowns = 3 if point["problem"] == "elasticity" else 1
    before = setup(one, costs, coarsening=coarsening, unknowns=unknowns).seconds
    out: Point = {
        "rows": int(one.levels[0].matrix.rows.sum()),
        "levels": len(one),
        "most_sends": max(level.matrix.most[0] for level in one.levels),
        "setup": before,
        "cycle": found.before,
        "computation": float(cycle(one, costs, cores=point["cores_of_node"]).compute.sum()),
    }
    rules = {"rule": found.rules["during the setup"], "best": (found.switches, found.seconds)}
    for name, (switches, seconds) in rules.items():
        out[f"{name}_switches"] = ", ".join(f"{level}: {count}" for level, count in switches.items()) or "none"
        out[f"{name}_cycle"] = seconds
        after = setup(gathered(one, switches), costs, coarsening=coarsening, unknowns=unknowns).seconds
        out[f"{name}_setup"] = after + moving(one, switches, costs)
    for name, (_, seconds) in found.rules.items():
        if name.startswith(("hypre", "PETSc")):
            out[f"{name.split(',')[0].split()[0].lower()}_cycle"] = seconds
    return out


def _summarise(rows: Sequence[Point]) -> Summary:
    from .gathering_page import summarise

    return summarise(rows)


KIND = Kind(
    name="gathering",
    doc="coarse levels of multigrid solvers gathered on fewer processes: gains of setup and cycles by the model",
    version=1,
    parameters=(
        Parameter("problem", "choice", "of hypre", "laplace7", ("laplace7", "elasticity")),
        Parameter("solver", "choice", "whose hierarchy is computed", "hypre", ("hypre", "pyamg")),
        Parameter("side", "whole", "points of the cube that is computed, along each dimension", 200, least=4, most=400),
        Parameter(
            "small", "whole", "parts of it that have as many rows as in the large problem", 288, least=8, most=1e5
        ),
        Parameter("ranks", "whole", "of the large problem", least=16, most=1e6),
        Parameter("coarsening", "choice", "of hypre", "hmis", ("hmis", "pmis")),
        Parameter("machine", "machine", "whose alpha, beta and gamma are taken", "eos"),
        Parameter("farthest", "whole", "links between the farthest nodes", 7, most=1e4),
        Parameter("flop", "s", "a floating-point operation of a core", 4.7e-10, least=0, most=1),
        Parameter("cores_of_node", "whole", "cores of a node", 16, least=1, most=1e4),
    ),
    measure=measure,
    summarise=_summarise,
)
