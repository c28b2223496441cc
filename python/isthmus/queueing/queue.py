"""The verb ``queue``: jobs of a workload on a machine, the nodes they get and how long they wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InvalidInput
from ..loading import load as load_machine
from ..machine import Machine
from ..units import shown
from .easy import Scheduler
from .lublin import lublin
from .policies import policy as policy_named
from .queued import Queued
from .workload import Jobs, Workload

#: Jobs of a synthetic workload where none is given.
JOBS = 5000


def jobs_of(
    machine: Machine, workload: Workload | None, *, load: float | None, per_node: int | None, seed: int
) -> tuple[Jobs, str]:
    """Return the jobs on a machine and where they are from; without a workload those of the model, at load 0.8."""
    if workload is None:
        workload = lublin(machine.nodes, JOBS, load=0.8 if load is None else load, seed=seed)
    elif not isinstance(workload, Workload):
        raise InvalidInput(f"workload: {shown(workload)}; must be a Workload")
    return workload.jobs(machine.nodes, per_node=per_node, load=load), workload.name


def queue(
    machine: Machine | str,
    workload: Workload | None = None,
    *,
    policies: Sequence[str] = ("linear",),
    load: float | None = None,
    per_node: int | None = None,
    seed: int = 0,
) -> Queued:
    """Simulate the queue of a machine: first come, first served with EASY backfilling.

    Parameters
    ----------
    machine : Machine or str
        A machine, or whatever :func:`isthmus.load` accepts.
    workload : Workload, optional
        Jobs and when they are submitted; by default 5,000 jobs of the model of Lublin and Feitelson.
    policies : sequence of str
        Which nodes jobs get: names of :data:`isthmus.queueing.POLICIES`.
    load : float, optional
        Change the times between submissions so that this share of the machine is asked for; by default those of the
        workload, 0.8 without one.
    per_node : int, optional
        Processors of the workload that are one node of the machine; by default what its header says, otherwise 1.
    seed : int
        Of random allocations and of the synthetic workload.

    Returns
    -------
    Queued

    Raises
    ------
    InvalidInput
        A name or number out of range, or no job can run on the machine.

    Examples
    --------
    >>> from isthmus.queueing import lublin, queue
    >>> queued = queue("torus:8x8x8", lublin(512, 1000, load=0.7))
    >>> bool((queued.wait() >= 0).all())
    True
    """
    where = load_machine(machine) if isinstance(machine, str) else machine
    if not isinstance(where, Machine):
        raise InvalidInput(f"machine: {shown(machine)}; must be a Machine, a name or a specification")
    if not policies:
        raise InvalidInput("policies: give at least one")
    chosen = [policy_named(name) for name in dict.fromkeys(policies)]
    jobs, source = jobs_of(where, workload, load=load, per_node=per_node, seed=seed)
    starts, places = {}, {}
    for one in chosen:
        at = Scheduler(jobs, one, where.nodes, seed)
        order = one.order(where)
        got: list[np.ndarray] = [np.empty(0, np.int64)] * len(jobs)
        while at.next_event < np.inf:
            for job in at.step():
                got[job] = order[at.running[job]]
        starts[one.name], places[one.name] = at.start, got
    return Queued(where, jobs, source, starts, places)
