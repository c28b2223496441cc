"""How long models of multigrid cycles take: one cycle of 10 levels on 8,192 ranks, and a sweep of machines and sizes.

    python bench/multigrid_models.py [HIERARCHY.h5]

Without a file, hierarchies that come with Isthmus are used, whose messages are made up. A hierarchy with all messages
is made by: isthmus multigrid counts laplace7 --points 200x200x200 --parts 8192 -o HIERARCHY.h5
"""

from __future__ import annotations

import sys
import time

from isthmus import multigrid
from isthmus.multigrid import Costs, GridLevel, Hierarchy, Operator
from isthmus.studies.levels import cuts, shipped

MACHINES = ("eos", "bluewaters", "mira", "titan", "summit", "cielo", "fugaku", "frontier")
_RUNS = 5


def fresh(hierarchy: Hierarchy) -> Hierarchy:
    """The same hierarchy, of which nobody has asked anything: largest numbers are counted again."""

    def copied(operator: Operator) -> Operator:
        return Operator(operator.rows, operator.nonzeros, operator.exchange)

    return Hierarchy(
        tuple(
            GridLevel(copied(level.matrix), None if level.interpolation is None else copied(level.interpolation))
            for level in hierarchy.levels
        )
    )


def best(call, count: int = _RUNS) -> float:  # type: ignore[no-untyped-def]
    """The shortest of several runs, seconds."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    given = Hierarchy.load(sys.argv[1]) if len(sys.argv) > 1 else shipped("laplace-hmis", 8192)
    messages = sum(len(level.matrix.exchange) for level in given.levels)
    print(f"{len(given)} levels on {given.parts:,} parts, {messages:,} messages of all A")
    costs = Costs.of("eos", flop=5e-10)
    copies = iter([fresh(given) for _ in range(_RUNS)])
    for what, call in (
        ("a cycle, counting the largest numbers first", lambda: multigrid.cycle(next(copies), costs)),
        ("a cycle after that", lambda: multigrid.cycle(given, costs)),
        ("all scenarios", lambda: multigrid.scenarios(given, costs)),
        ("setup", lambda: multigrid.setup(given, costs)),
    ):
        print(f"{what:44} {1e3 * best(call):8.3f} ms")
    sizes = cuts("laplace-hmis")[-6:]
    begin = time.perf_counter()
    for machine in MACHINES:
        for parts in sizes:
            multigrid.scenarios(fresh(shipped("laplace-hmis", parts)), machine, cores=16)
    told = f"{len(MACHINES)} machines x {len(sizes)} sizes ({sizes[0]} to {sizes[-1]} ranks), all scenarios"
    print(f"{told}, machines loaded first: {time.perf_counter() - begin:.2f} s")
    begin = time.perf_counter()
    for machine in MACHINES:
        paid = Costs.of(machine, nodes=512)
        for parts in sizes:
            multigrid.cycle(shipped("laplace-hmis", parts), paid)
    print(f"the same, one model: {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
