"""Applications on tori: what maps that know the network do to hops, links and time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..skeletons.halos import Halo, pop, program, stencil, wrf
from .applications import openatom
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from ..machine import Allocation, Machine
    from ..machine.placement import Placement

HALOS: dict[str, Callable[[int], Halo]] = {"stencil": stencil, "wrf": wrf, "pop": pop}
APPLICATIONS = (*HALOS, "openatom", "namd")
PLACEMENTS = ("default", "random", "bisection", "patches", "mapped")
#: Planes of OpenAtom; it has as many states as nodes for each plane.
_PLANES = 16


@functools.lru_cache(maxsize=4)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Hop-bytes, mean length of a byte's route and of a message's, most loaded link; seconds of a program's steps."""
    machine = _machine(point["machine"])
    what = point["application"]
    if point["placement"] in ("bisection", "patches") and what != "namd":
        raise InvalidInput(f"placement = '{point['placement']}': {what} has no patches, only namd has")
    if point["steps"] and what not in HALOS:
        raise InvalidInput(f"steps = {point['steps']}: {what} is a pattern here, not a program; must be 0")
    tasks = point["tasks"] or machine.nodes
    if what in HALOS:
        return _halo(point, HALOS[what](tasks), machine.allocate(tasks, ranks_per_node=1))
    job = machine.allocate(machine.nodes, ranks_per_node=1)
    return _openatom(point, job) if what == "openatom" else _namd(point, job)


def _halo(point: Point, halo: Halo, job: Allocation) -> Point:
    from ..machine.placement import Placement
    from ..mapping.map import map
    from ..mapping.metrics import evaluate

    pattern = halo.pattern
    placement = (
        map(pattern, job, seconds=point["seconds"], seed=point["seed"]).placement
        if point["placement"] == "mapped"
        else Placement.of(job, halo.ranks, point["placement"], seed=point["seed"])
    )
    m = evaluate(pattern, placement)
    # One rank a node: every partner is one link away at best.
    out = {
        "ranks": halo.ranks, "hop_bytes": m.hop_bytes, "hops": m.average_dilation, "message_hops": m.mean_distance,
        "link": m.maximum_link_load, "least": m.bytes,
    }  # fmt: skip
    return out | (_time(point, halo, placement) if point["steps"] else {})


def _time(point: Point, halo: Halo, placement: Placement) -> Point:
    """Makespan, and the mean parts of it that ranks compute and wait for others."""
    from ..simulation import simulate

    what = program(halo, point["steps"], point["point"], point["spread"], point["solves"])
    t = simulate(what, placement.machine, placement, model=point["model"], record="ranks")
    shares = {name: float(seconds.mean()) / t.makespan for name, seconds in t.breakdown.items()}
    return {
        "time": t.makespan,
        "computing": shares["compute"],
        "waiting": shares["late_sender"] + shares["late_receiver"] + shares["idle"],
    }


def _openatom(point: Point, job: Allocation) -> Point:
    from ..machine.placement import Placement
    from ..mapping.arrays import map_arrays
    from ..mapping.metrics import evaluate

    work = openatom(max(8, len(job) // _PLANES), _PLANES)
    ranks = work.pattern.ranks
    if point["placement"] == "mapped":
        placement = map_arrays(work.pattern, work.sizes, job, seconds=point["seconds"], seed=point["seed"]).placement
    else:
        # Every array over all nodes, in its own order or any.
        rng = np.random.default_rng(point["seed"])
        places = [np.arange(size) * len(job) // size for size in work.sizes.values()]
        if point["placement"] == "random":
            places = [rng.permutation(place) for place in places]
        placement = Placement(job.machine, job.nodes[np.concatenate(places)])
    m = evaluate(work.pattern, placement)
    return {
        "ranks": ranks, "hop_bytes": m.hop_bytes, "hops": m.average_dilation, "message_hops": m.mean_distance,
        "link": m.maximum_link_load,
    }  # fmt: skip


def _namd(point: Point, job: Allocation) -> Point:
    """Patches in order or at random, by bisection of space and torus, or mapped; computes anywhere or near both."""
    from ..machine.placement import Placement
    from ..mapping.rebalance.rebalance import rebalance
    from .molecules import molecules, start

    # About as many patches as nodes, in a cube.
    side = max(3, round(len(job) ** (1 / 3)))
    box = molecules((side, side, side), seed=point["seed"])
    # By bisection alone, or by the network in every way.
    seconds = None if point["placement"] == "bisection" else point["seconds"]
    if point["placement"] in ("default", "random"):
        patch = np.arange(box.patches) * len(job) // box.patches
        if point["placement"] == "random":
            patch = np.random.default_rng(point["seed"]).permutation(len(job))[patch]
        # Computes begin with their first patch.
        first = box.pattern.peer[box.pattern.first[box.patches : -1].astype(np.int64)].astype(np.int64)
        node = job.nodes[patch[np.concatenate([np.arange(box.patches), first])]]
        begin = Placement(job.machine, node, np.zeros_like(node))
    else:
        begin = start(box, job, seconds=seconds, seed=point["seed"])
    aware = point["placement"] == "mapped"
    done = rebalance(
        box.pattern, begin, job=job, fixed=box.fixed, method="greedy", proxies=True, aware=aware, tolerance=0.05
    )
    total = float(box.pattern.bytes.sum())
    return {
        "ranks": box.pattern.ranks, "hop_bytes": done.after.hop_bytes, "hops": done.after.hop_bytes / total,
        "imbalance": done.after.imbalance,
    }  # fmt: skip


def _summarise(rows: Sequence[Point]) -> Summary:
    from .mapping_page import summarise

    return summarise(rows)


KIND = Kind(
    name="mapping",
    doc="an application on a machine with one rank a node: hop-bytes and time of placements",
    version=2,
    parameters=(
        Parameter("application", "choice", "who talks to whom", choices=APPLICATIONS),
        Parameter("machine", "machine", "where it runs"),
        Parameter("tasks", "whole", "ranks of stencil, wrf and pop; 0: one a node", 0, most=2**24),
        Parameter(
            "placement",
            "choice",
            "of namd bisection: of patches only; patches: only they by the network",
            "default",
            PLACEMENTS,
        ),
        Parameter("seconds", "s", "processor time for a map, about", 10.0, least=0.01, most=1e6),
        Parameter("steps", "whole", "of a program to simulate; 0: none", 0, most=1000),
        Parameter("point", "s", "computation of a point and step", 1e-6, most=1.0),
        Parameter("spread", "number", "of the computation of ranks, standard deviation over mean", 0.0, most=10.0),
        Parameter("solves", "whole", "small exchanges with a sum over all ranks, per step", 0, most=10000),
        Parameter("model", "choice", "of the network", "flow", ("loggops", "flow", "reserve", "packet")),
        Parameter("seed", "whole", "of maps and random placements", 1, most=2**32),
    ),
    measure=measure,
    summarise=_summarise,
)
