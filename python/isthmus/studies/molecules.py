"""Molecular dynamics in the manner of NAMD: patches of atoms in space, computes that need two of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..machine.placement import Placement
from ..schedule.pattern import Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from ..machine.allocation import Allocation

#: Bytes of the position and of the force of an atom.
_ATOM = 24
#: Share of the pairs of atoms within the cutoff, by the number of dimensions in which two patches differ.
_WITHIN = (0.5, 0.5, 0.2, 0.1)


@dataclass(frozen=True, eq=False)
class Molecules:
    """Patches, and computes of every patch with itself and with each of its neighbours; patches are the first objects.

    Attributes
    ----------
    pattern : Pattern
        Per step: positions from patches to computes, forces back, seconds of each object.
    fixed : array of bool
        Patches.
    coordinates : array of float64, shape (patches, 3)
        Coordinates of the patches.
    """

    pattern: Pattern
    fixed: NDArray[np.bool_]
    coordinates: NDArray[np.float64]

    @property
    def patches(self) -> int:
        return len(self.coordinates)

    @property
    def exchange(self) -> Pattern:
        """Bytes that neighbouring patches send to the computes that need both, as if to each other."""
        p, n = self.pattern, self.patches
        first = p.first.astype(np.int64)
        two = n + np.flatnonzero(np.diff(first)[n:] == 2)
        a, b = p.peer[first[two]], p.peer[first[two] + 1]
        bytes = p.bytes[first[two]] + p.bytes[first[two] + 1]
        return Pattern.of(
            n,
            source=np.concatenate([a, b]),
            target=np.concatenate([b, a]),
            bytes=np.concatenate([bytes, bytes]),
            load=p.load[:n],
        )


def molecules(
    dims: Sequence[int], *, atoms: float = 300.0, spread: float = 0.3, pair: float = 2e-9, seed: int = 0
) -> Molecules:
    """A periodic box of patches with unequal numbers of atoms.

    Parameters
    ----------
    dims : three int
        Patches in every dimension.
    atoms : float
        Mean number of atoms of a patch.
    spread : float
        Standard deviation of the number of atoms over its mean.
    pair : float
        Seconds for a pair of atoms.
    seed : int

    Notes
    -----
    Patches are as wide as the cutoff, so that each has 26 neighbours; the structure is that of Bhatele, Kale and Kumar,
    ICS 2009. Seconds follow from pairs of atoms and the share of them within the cutoff, bytes from atoms.
    """
    if len(dims) != 3 or not all(d >= 1 for d in dims):
        raise InvalidInput(f"dims = {tuple(dims)}: must be three numbers from 1")
    n = int(np.prod(dims))
    where = np.stack(np.unravel_index(np.arange(n), tuple(dims)), axis=1)
    number = np.maximum(1, np.random.Generator(np.random.PCG64(seed)).normal(atoms, spread * atoms, n)).round()
    first, second, share = [np.arange(n)], [np.arange(n)], [np.full(n, _WITHIN[0])]
    for step in product((-1, 0, 1), repeat=3):
        neighbour = np.ravel_multi_index(tuple(((where + step) % dims).T), tuple(dims))
        kept = np.arange(n) < neighbour
        first.append(np.arange(n)[kept])
        second.append(neighbour[kept])
        share.append(np.full(int(kept.sum()), _WITHIN[np.count_nonzero(step)]))
    a, b, within = np.concatenate(first), np.concatenate(second), np.concatenate(share)
    # In boxes of one or two patches in a dimension, a pair is found several times.
    _, kept = np.unique(a * n + b, return_index=True)
    a, b, within = a[kept], b[kept], within[kept]
    compute = n + np.arange(len(a))
    other = a != b
    patch, needs = np.concatenate([a, b[other]]), np.concatenate([compute, compute[other]])
    bytes = (number[patch] * _ATOM).astype(np.uint64)
    # Patches integrate the equations of motion of their atoms.
    load = np.concatenate([number * 10 * pair, number[a] * number[b] * within * pair])
    pattern = Pattern.of(
        n + len(a),
        source=np.concatenate([patch, needs]),
        target=np.concatenate([needs, patch]),
        bytes=np.concatenate([bytes, bytes]),
        load=load,
    )
    return Molecules(pattern, np.arange(n + len(a)) < n, where.astype(np.float64))


def bisect(coordinates: ArrayLike, weight: ArrayLike, job: Allocation) -> NDArray[np.int64]:
    """Places of objects in a job by recursive bisection of both, so that neighbours in space are neighbours there.

    Parameters
    ----------
    coordinates : array of float, shape (objects, dimensions)
    weight : array of float, shape (objects,) or ()
        Parts of the objects get weight in proportion to their nodes.
    job : Allocation
        Its nodes are cut across the longest extent of their coordinates, the objects across the longest of theirs.

    Returns
    -------
    array of int64, shape (objects,)
        Indices of nodes of the job. A single object gets the node nearest to the middle of its part.

    Notes
    -----
    Berger and Bokhari, "A partitioning strategy for nonuniform problems on multiprocessors", IEEE Trans. Comput. 1987.
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2 or not points.shape[1] or not np.isfinite(points).all():
        raise InvalidInput(
            f"coordinates of shape {points.shape}: must be finite numbers of shape (objects, dimensions)"
        )
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), len(points))
    dims = np.array(job.machine.topology.dims)
    places = ((job.machine.coordinates(job.nodes).astype(np.int64) - np.array(job.origin)) % dims).astype(np.float64)
    out = np.zeros(len(points), dtype=np.int64)
    parts = [(np.arange(len(points)), np.arange(len(places)))]
    while parts:
        objects, nodes = parts.pop()
        if not len(objects):
            continue
        if len(nodes) == 1:
            out[objects] = nodes[0]
        elif len(objects) == 1:
            away = np.abs(places[nodes] - places[nodes].mean(axis=0)).sum(axis=1)
            out[objects] = nodes[away.argmin()]
        else:
            nodes, objects = _along(places, nodes), _along(points, objects)
            half = len(nodes) // 2
            reached = np.cumsum(weights[objects])
            cut = int(np.abs(reached - reached[-1] * half / len(nodes)).argmin()) + 1
            parts += [(objects[:cut], nodes[:half]), (objects[cut:], nodes[half:])]
    return out


def _along(points: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """Points sorted along the dimension of their longest extent, then along the others."""
    chosen = points[which]
    order = np.argsort(-np.ptp(chosen, axis=0), kind="stable")
    return which[np.lexsort(chosen[:, order[::-1]].T)]


def start(box: Molecules, job: Allocation, *, seconds: float | None = None, seed: int = 0) -> Placement:
    """Patches near their neighbours, one core after the other of each node; computes with their first patch.

    Takes bisections by work and by number of patches, in both orders, and keeps the one with the least hop-bytes
    between neighbouring patches.

    Parameters
    ----------
    box : Molecules
    job : Allocation
    seconds : float, optional
        Processor time, about, for :func:`isthmus.map`, which may find shorter ways than bisection.
    seed : int
        Of :func:`isthmus.map`.
    """
    n, nodes = box.patches, len(job)
    exchange = box.exchange
    bytes = exchange.bytes.astype(np.float64)
    candidates = [
        bisect(box.coordinates, box.pattern.load[:n], job),
        bisect(box.coordinates, 1.0, job),
        np.arange(n) * nodes // n,
    ]
    if seconds is not None:
        from ..mapping.map import map

        mapped = map(exchange, job, balance=0.0 if n > nodes else None, seconds=seconds, seed=seed)
        candidates.append(mapped.best.place.astype(np.int64))

    def hop_bytes(place: NDArray[np.int64]) -> float:
        at = job.nodes[place]
        return float(bytes @ job.machine.route_length(at[exchange.sources()], at[exchange.peer]))

    place = min(candidates, key=hop_bytes)
    core = np.zeros(n, dtype=np.int64)
    for p in np.unique(place):
        on = np.flatnonzero(place == p)
        core[on] = np.arange(len(on)) % job.ranks_per_node
    first = box.pattern.peer[box.pattern.first[n:-1].astype(np.int64)].astype(np.int64)
    home = np.concatenate([np.arange(n), first])
    return Placement(job.machine, job.nodes[place[home]], core[home])
