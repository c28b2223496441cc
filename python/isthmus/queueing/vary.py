"""How the time of a program varies: over the nodes that a queue gives it, its neighbours there, and noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..loading import load as load_machine
from ..lowering.lower import lower
from ..machine import Machine, Noise
from ..schedule.operation import OpKind
from ..schedule.program import Program
from ..schedule.schedule import Schedule
from ..simulation import simulate
from ..units import shown, text
from .easy import Scheduler
from .neighbours import Near, beside, traffic
from .policies import policy as policy_named
from .queue import jobs_of
from .variation import Variation, Varied
from .workload import Jobs, Workload

if TYPE_CHECKING:
    from ..lowering.rules import Collectives
    from ..skeletons import Family
    from .policies import Policy

#: Part of the time between the first and the last submission in which jobs are put into the queue.
_FROM, _TO = 0.25, 0.95
#: How often traffic of others is made longer until it lasts as long as the program.
_LONGER = 3


@dataclass(frozen=True)
class Given:
    """What a job got: its nodes, those of the jobs beside it, seconds that it waited."""

    nodes: NDArray[np.int64]
    others: tuple[NDArray[np.int64], ...]
    wait: float


def given(
    machine: Machine, jobs: Jobs, policy: Policy, sizes: Mapping[int, float], samples: int, seed: int
) -> dict[int, list[Given]]:
    """Put one more job into the queue, of each size (nodes to seconds that it runs), at random times.

    The queue goes on as if the job had not been there: each sample is of a copy.
    """
    at = Scheduler(jobs, policy, machine.nodes, seed)
    order = policy.order(machine)
    span = float(jobs.submit[-1])
    times = np.sort(np.random.default_rng(seed).uniform(_FROM * span, _TO * span, samples))
    out: dict[int, list[Given]] = {size: [] for size in sizes}
    for time in times.tolist():
        at.run_until(time)
        for size, seconds in sizes.items():
            one = at.copy()
            number = one.add(size, seconds, seconds)
            while number not in one.running:
                one.step()
            others = tuple(order[places] for job, places in one.running.items() if job != number)
            out[size].append(Given(order[one.running[number]], others, float(one.start[number]) - time))
    return out


def vary(
    family: Family,
    machine: Machine | str,
    ranks: Sequence[int],
    *,
    policies: Sequence[str] = ("linear",),
    workload: Workload | None = None,
    load: float | None = None,
    per_node: int | None = None,
    ranks_per_node: int | None = None,
    times: int = 1,
    background: float = 0.1,
    samples: int = 20,
    repeats: int = 4,
    model: str = "flow",
    noise: Noise | None = None,
    collectives: Collectives | None = None,
    seed: int = 0,
    report: Callable[[int, int], None] | None = None,
) -> Variation:
    """Simulate a program on the nodes that the queue of a machine gives it, beside the jobs that run then.

    Parameters
    ----------
    family : Family
        The program at any number of ranks, see :func:`isthmus.skeletons.family`.
    machine : Machine or str
    ranks : sequence of int
    policies, workload, load, per_node
        The queue; see :func:`isthmus.queueing.queue`.
    ranks_per_node : int, optional
        By default one per core.
    times : int
        How often the program is done in a job, which says how long the job runs.
    background : float
        Share of its interface's bandwidth that each node of another job sends all the time, to nodes of the same job.
    samples : int
        Allocations of each size under each policy.
    repeats : int
        Simulations of each with other noise.
    model, noise, collectives
        Of :func:`isthmus.simulate`; noise by default that of the machine.
    seed : int
    report : callable, optional
        Called with the allocations done and their number.

    Returns
    -------
    Variation

    Raises
    ------
    InvalidInput
        A number is out of range, or the machine too small.
    """
    where = load_machine(machine) if isinstance(machine, str) else machine
    if not isinstance(where, Machine):
        raise InvalidInput(f"machine: {shown(machine)}; must be a Machine, a name or a specification")
    _check(policies, ranks, times, background, samples, repeats)
    chosen = [policy_named(name) for name in dict.fromkeys(policies)]
    each = ranks_per_node or where.node.cores
    if each > where.node.cores:
        raise InvalidInput(f"ranks per node = {each}: {where.name} has {where.node.cores} cores on a node")
    programs: dict[int, Schedule] = {}
    alone: dict[int, float] = {}
    for size in sorted(set(ranks)):
        nodes = -(-size // each)
        if nodes > where.nodes:
            raise InvalidInput(f"{size:,} ranks, {each} a node, need {nodes:,} nodes: {where.name} has {where.nodes:,}")
        what = family.at(size)
        programs[size] = lower(what, collectives=collectives) if isinstance(what, Program) else what
        alone[size] = simulate(programs[size], where, np.arange(size) // each, record="finish").makespan
    jobs, source = jobs_of(where, workload, load=load, per_node=per_node, seed=seed)
    asked = {-(-size // each): times * alone[size] for size in programs}
    rows: list[Varied] = []
    done, total = 0, len(chosen) * len(programs) * samples
    for policy in chosen:
        got = given(where, jobs, policy, asked, samples, seed)
        for size, schedule in programs.items():
            measured = []
            for i, one in enumerate(got[-(-size // each)]):
                measured.append(_times(schedule, where, each, one, background, repeats, model, noise, seed + i))
                done += 1
                if report is not None:
                    report(done, total)
            placed, beside_others, all_ = (np.array(column) for column in zip(*measured, strict=True))
            waits = np.array([one.wait for one in got[-(-size // each)]])
            rows.append(Varied(policy.name, size, -(-size // each), waits, placed, beside_others, all_))
    notes = [
        f"{samples} allocations of each, at random times of {len(jobs):,} jobs of {source}; the job runs the program "
        f"{times:,} {'time' if times == 1 else 'times'}",
        f"nodes of other jobs send {100 * background:g} % of what their interfaces could, to nodes of the same job"
        if background
        else "other jobs send nothing",
    ]
    if _quiet(where, noise):
        notes.append(f"{where.name} has no noise in its description; give one to see what it adds (--noise)")
    return Variation(family.name, where.name, times, tuple(rows), tuple(notes))


def _check(
    policies: Sequence[str], ranks: Sequence[int], times: int, background: float, samples: int, repeats: int
) -> None:
    if not policies:
        raise InvalidInput("policies: give at least one")
    if not ranks:
        raise InvalidInput("no number of ranks is given: expected some, such as 16..1024")
    if not 0 <= background <= 1:
        raise InvalidInput(f"background = {background}: must be a share from 0 to 1")
    for name, value in (("times", times), ("samples", samples), ("repeats", repeats), ("ranks", min(ranks))):
        if value < 1:
            raise InvalidInput(f"{name} = {value}: must be 1 or more")


def _quiet(machine: Machine, noise: Noise | None) -> bool:
    return (machine.noise if noise is None else noise).kind == "none"


def _times(
    schedule: Schedule,
    machine: Machine,
    each: int,
    got: Given,
    background: float,
    repeats: int,
    model: str,
    noise: Noise | None,
    seed: int,
) -> tuple[float, float, list[float]]:
    """Seconds on these nodes alone, beside others, and beside others with noise."""
    ranks = schedule.ranks
    where = got.nodes[np.arange(ranks) // each]
    calm = Noise()

    def run(what: Schedule, at: NDArray[np.int64], noise: Noise | None, seed: int) -> float:
        t = simulate(what, machine, at, model=model, record="finish", noise=noise, seed=seed)
        if t.deadlock is not None:
            raise InvalidInput(
                f"on {ranks:,} ranks the program does not end: deadlock after {text(t.makespan, 's', 4)}"
            )
        return float(t.finish[:ranks].max())

    placed = run(schedule, where, calm, seed)
    others = [nodes for nodes in got.others if len(nodes) > 1] if background and model != "loggops" else []
    loaded, whole, at = placed, schedule, where
    if others:
        nodes_of = np.concatenate(others)
        sends = schedule.ops["kind"] == OpKind.send
        begin = schedule.op_first.astype(np.int64)
        source = np.repeat(np.arange(ranks), begin[1:] - begin[:-1])[sends]
        near = Near(machine, where[source], where[schedule.ops["peer"][sends].astype(np.int64)])
        lasts = 1.25 * placed
        for _ in range(_LONGER):
            other, used = traffic(
                machine, [len(nodes) for nodes in others], background, lasts, seed,
                lambda a, b: near(nodes_of[a], nodes_of[b]),
            )  # fmt: skip
            if other is None:
                loaded, whole, at = placed, schedule, where
                break
            whole, at = beside(schedule, other), np.concatenate([where, nodes_of[used]])
            loaded = run(whole, at, calm, seed)
            if loaded <= lasts:
                break
            lasts = 1.25 * loaded
    if _quiet(machine, noise):
        return placed, loaded, [loaded] * repeats
    return placed, loaded, [run(whole, at, noise, seed * repeats + r) for r in range(repeats)]
