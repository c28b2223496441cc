"""Dynamic load balancing that knows the network: measured loads, where objects are, what moving them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InvalidInput
from ...machine.allocation import Allocation
from ...machine.placement import Placement
from ...schedule.pattern import Pattern
from ...units import amount, percent, shown, text
from ..problem import edges_of
from .object_moves import Mover
from .object_places import Residence

METHODS = ("refine", "greedy")


class Burden(NamedTuple):
    """Cost of a placement of objects per step.

    Attributes
    ----------
    maximum : float
        Work of the most loaded core, seconds.
    average : float
        Work of every core if it were spread in proportion to their speeds, seconds.
    hop_bytes : float
        Bytes times links on shortest paths; data shared by proxies count once.
    """

    maximum: float
    average: float
    hop_bytes: float

    @property
    def imbalance(self) -> float:
        """Maximum divided by average, minus 1."""
        return self.maximum / self.average - 1 if self.average else 0.0


@dataclass(frozen=True, eq=False)
class Rebalanced:
    """Result of :func:`isthmus.rebalance`: the new places of objects; ``print`` shows it.

    Attributes
    ----------
    placement : Placement
    before, after : Burden
    moved : array of int64
        Objects on another node or core than before, ascending.
    migration : float
        Bytes of moved objects that change their node.
    migration_hop_bytes : float
        Migrated bytes times the links that they travel.
    """

    placement: Placement
    before: Burden
    after: Burden
    moved: NDArray[np.int64]
    migration: float
    migration_hop_bytes: float

    def __str__(self) -> str:
        objects, moved = self.placement.ranks, len(self.moved)
        share = moved / objects if objects else 0.0
        lines = [
            f"{moved:,} of {objects:,} objects move ({percent(share)}), {amount(self.migration)} to other nodes",
            f"  {'':16} {'before':>12} {'after':>12}",
        ]
        rows = {
            "most of a core": [text(burden.maximum, "s", 4) for burden in (self.before, self.after)],
            "imbalance": [percent(burden.imbalance) for burden in (self.before, self.after)],
            "hop-bytes": [amount(burden.hop_bytes) for burden in (self.before, self.after)],
        }
        lines += [f"  {name:16} {before:>12} {after:>12}" for name, (before, after) in rows.items()]
        return "\n".join(lines)


def rebalance(
    pattern: Pattern,
    placement: Placement,
    *,
    job: Allocation | None = None,
    fixed: ArrayLike | None = None,
    migration: ArrayLike = 0.0,
    steps: float = 100.0,
    tolerance: float = 0.03,
    method: str = "refine",
    proxies: bool = False,
    aware: bool = True,
    busy: ArrayLike = 0.0,
    speeds: ArrayLike = 1.0,
) -> Rebalanced:
    """Move objects to balance the load of cores and to keep objects near those that they communicate with.

    "refine" first unloads the overloaded cores: among their objects and the cores that can take them, it picks the pair
    with the lowest cost per second of work. Then it makes all moves that pay off. "greedy" first places all movable
    objects anew, the heaviest first, each on the cheapest core that can take it, and then also makes all moves that pay
    off. A move costs ``steps`` times the change of hop-bytes per step, plus the hop-bytes of moving the object.

    Parameters
    ----------
    pattern : Pattern
        Bytes per step between objects; ``load``: measured seconds of each object per step.
    placement : Placement
        Current places of objects. Any number of them may be on a core.
    job : Allocation, optional
        Nodes and cores that objects may move to; by default all cores of the nodes in use.
    fixed : array of bool, shape (objects,), optional
        Objects that stay.
    migration : array of float, shape (objects,) or ()
        Bytes of each object when it moves to another node.
    steps : float
        Number of steps for which the new placement will be used.
    tolerance : float
        Allowed excess load of a core: 0.03 is 3 % more than the average core, the heaviest object or the work that
        stays on a core, whichever is largest.
    method : {"refine", "greedy"}
    proxies : bool
        Data that a fixed object exchanges with the movable objects on a node cross the network once for all of them, as
        with NAMD's patches, whose atoms are shared by all computes of a node.
    aware : bool
        False: balance as if all nodes were one hop apart, for comparison.
    busy : array of float, shape (places, cores), (places, 1) or ()
        Other work of cores per step, seconds; a place is a node of the job.
    speeds : array of float, shape (places,) or ()
        Relative speeds of the cores of nodes.

    Returns
    -------
    Rebalanced

    Raises
    ------
    InvalidInput
        If an argument has the wrong shape or is out of range, or an object is outside the job.

    Notes
    -----
    After Bhatele, Kale and Kumar, "Dynamic topology aware load balancing algorithms for molecular dynamics
    applications", ICS 2009: there a compute goes to an underloaded processor in the brick between its two patches; here
    to the one with the least hop-bytes, which on a torus lies in that brick where it has room.
    """
    job = Allocation(placement.machine, placement.nodes) if job is None else job
    objects, shape = pattern.ranks, (len(job), job.ranks_per_node)
    if objects != placement.ranks:
        raise InvalidInput(
            f"{objects:,} objects, but the placement has {placement.ranks:,} ranks: must be one for each"
        )
    if method not in METHODS:
        raise InvalidInput(f"method {shown(method)} of balancing: must be one of {', '.join(METHODS)}")
    for name, number in (("steps", steps), ("tolerance", tolerance)):
        if not 0 <= number < np.inf:
            raise InvalidInput(f"{name} = {shown(number)}: must be a number from 0")
    load, speed = _numbers("load", pattern.load, (objects,)), _numbers("speeds", speeds, shape[:1])
    if not (speed > 0).all():
        raise InvalidInput("speeds: must be numbers above 0")
    others = _numbers("busy", busy, shape)
    place = _places(placement, job)
    residence = Residence(job, load, edges_of(pattern, False), _movable(fixed, objects), proxies, speed, others, aware)
    for o in range(objects):
        residence.put(o, int(place[o]), int(placement.core[o]))
    before = _burden(residence)
    size = _numbers("migration", migration, (objects,))
    mover = Mover(residence, size, float(steps), residence.least() * (1 + tolerance))
    if method == "greedy":
        mover.place_anew()
    mover.unload()
    mover.improve()
    moved = np.flatnonzero((residence.place != place) | (residence.core != placement.core))
    away = residence.place != place
    hops = np.asarray(job.machine.route_length(placement.node, job.nodes[residence.place]), dtype=np.float64)
    return Rebalanced(
        Placement(placement.machine, job.nodes[residence.place], residence.core),
        before,
        _burden(residence),
        moved,
        float(size[away].sum()),
        float(size @ hops),
    )


def _burden(residence: Residence) -> Burden:
    return Burden(float(residence.time.max()), residence.average(), residence.hop_bytes())


def _places(placement: Placement, job: Allocation) -> NDArray[np.int64]:
    """Node of every object, counted in the job."""
    if job.machine != placement.machine:
        raise InvalidInput(
            f"the job is on {job.machine.name}, the placement on {placement.machine.name}: must be the same machine"
        )
    place = job._index(placement.node)
    if (place < 0).any():
        name = placement.machine.hostnames[placement.node[place < 0][0]]
        raise InvalidInput(f"object {int(np.argmax(place < 0))} is on {name}, which is not in the job")
    if placement.ranks and placement.core.max() >= job.ranks_per_node:
        o, last = int(np.argmax(placement.core >= job.ranks_per_node)), job.ranks_per_node - 1
        raise InvalidInput(f"object {o} is on core {placement.core[o]}: the job uses cores 0 to {last} of each node")
    return place


def _movable(fixed: ArrayLike | None, objects: int) -> NDArray[np.bool_]:
    if fixed is None:
        return np.ones(objects, dtype=bool)
    given = np.asarray(fixed)
    if given.shape != (objects,) or given.dtype != bool:
        raise InvalidInput(
            f"fixed has shape {given.shape} and type {given.dtype}: must have true or false for each of "
            f"{objects:,} objects"
        )
    out: NDArray[np.bool_] = ~given
    return out


def _numbers(name: str, given: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Numbers from 0, one for all or an array that fits."""
    numbers = np.asarray(given, dtype=np.float64)
    try:
        out = np.broadcast_to(numbers, shape)
    except ValueError:
        raise InvalidInput(f"{name} of shape {numbers.shape}: must be {shape} or one number") from None
    if not (np.isfinite(out) & (out >= 0)).all():
        raise InvalidInput(f"{name}: must be numbers from 0")
    return out
