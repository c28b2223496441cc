"""A problem solved by hypre's BoomerAMG, and on its hierarchy with coarse levels gathered, beside each other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from .hypre import boomeramg, described, mpi_of, settings, solving_program, started
from .node_aware import node_aware
from .redistribution import gathered, redistribute
from .solution import Solution, read_solution

if TYPE_CHECKING:
    import scipy.sparse

    from ..machine import Machine
    from .costs import Costs
    from .hierarchy import Hierarchy

#: Levels of which the solver can be told to exchange in steps.
_MOST_LEVELS = 64
#: How messages of halos travel.
EXCHANGES = ("runtime", "mpi")


def solve(
    problem: str | scipy.sparse.sparray | scipy.sparse.spmatrix,
    points: Sequence[int] | None = None,
    *,
    launch: str | None = None,
    gather: Mapping[int, int] | Costs | Machine | str | None = None,
    early: bool = False,
    steps: Sequence[int] | Costs | Machine | str | None = None,
    ranks_per_node: int = 0,
    cores: int = 1,
    caches: Sequence[float] | None = None,
    hypre_threshold: int = 0,
    redundant: bool = False,
    tolerance: float = 1e-8,
    iterations: int = 100,
    repeats: int = 3,
    exchange: str = "runtime",
    coarsening: str = "hmis",
    interpolation: str = "extended+i",
    elements: int = 4,
    aggressive: int = 0,
    threshold: float = 0.25,
    unknowns: int | None = None,
    options: Mapping[str, float] | None = None,
    mpicc: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
    watch: Callable[[], None] | None = None,
) -> Solution:
    """Solve a problem on real ranks: by BoomerAMG, on its hierarchy as it is, and with coarse levels gathered.

    With ``steps`` also with exchanges by way of one rank of each node. Each of these iterates until the residual is
    ``tolerance`` times the right-hand side, alone and as preconditioner of conjugate gradients. Matrices and kernels
    are hypre's; halo exchanges are schedules of libisthmus, vectors of gathered levels come and go by its collectives.
    The right-hand side has a fixed random number for each row.

    Parameters
    ----------
    problem : str or sparse matrix
    points : sequence of int
    launch : str, optional
        As of :func:`boomeramg`.
    gather : mapping, or Costs, Machine or str, optional
        Levels and the number of ranks on which they and the coarser ones are, such as ``{2: 16, 4: 1}``; or what
        messages cost, with which :func:`redistribute` decides on the counts of this hierarchy. Default: nothing is
        gathered.
    early : bool
        Gather these levels also while the setup runs, so that fewer ranks coarsen them; with costs the rule of
        :func:`redistribute` for that, "during the setup", decides on each level once its matrix is there, and takes
        the time of an operation on it where ``flop`` is 0.
    steps : sequence of int, "all", or Costs, Machine or str, optional
        Solve also with exchanges in three steps on these levels, and with the levels of ``gather`` gathered; with
        costs, those on which :func:`node_aware` finds three steps faster than direct messages.
    ranks_per_node : int
        So many consecutive ranks are a node of these steps; 0: those that share memory.
    cores : int
    caches : sequence of float, optional
        Ranks of a node and bytes of its caches, for these decisions.
    hypre_threshold : int
        Solve also with hypre's own gathering of levels with at most so many rows (``HYPRE_BoomerAMGSetSeqThreshold``).
    redundant : bool
        With that, all ranks solve these levels (``HYPRE_BoomerAMGSetRedundant``); otherwise one does.
    tolerance : float
    iterations : int
        Most cycles, and most iterations of conjugate gradients.
    repeats : int
        Seconds are the least of so many setups and solutions.
    exchange : str
        ``"runtime"``, or ``"mpi"``: messages and collectives of our cycles are those of MPI.
    coarsening, interpolation, elements, aggressive, threshold, unknowns, options, mpicc, directory, say, watch
        As of :func:`boomeramg`. ``options["relax"]`` is the smoother: 0 and 7 Jacobi, 18 l1-Jacobi, 16 Chebyshev, 3, 4
        and 6 hybrid Gauss-Seidel, 8, 13 and 14 hybrid l1 Gauss-Seidel; default: 13 down and 14 up.

    Returns
    -------
    Solution

    Raises
    ------
    InvalidInput
        If a level to gather does not exist or there are fewer ranks, if a smoother is none of these, or as
        :func:`boomeramg`.

    Examples
    --------
    >>> from isthmus import multigrid
    >>> multigrid.solve("laplace7", (30, 30, 30), launch="mpirun -n 8", gather={1: 2})  # doctest: +SKIP
    <Solution: level 1 to 2: 17 cycles, hypre 16>
    """
    if ranks_per_node < 0:
        raise InvalidInput(f"ranks_per_node {ranks_per_node}: must be from 0")
    if exchange not in EXCHANGES:
        raise InvalidInput(f"exchange {exchange!r}: must be {' or '.join(EXCHANGES)}")
    if not 0 < tolerance < 1:
        raise InvalidInput(f"tolerance {tolerance:g}: must be between 0 and 1")
    for name, value in (("iterations", iterations), ("repeats", repeats)):
        if value < 1:
            raise InvalidInput(f"{name} {value}: must be from 1")
    words: dict[str, float | str] = dict(settings(coarsening, interpolation, elements, aggressive, threshold, options))
    if words.get("seq"):
        raise InvalidInput("option seq: give hypre_threshold, which is solved beside")
    launcher, ranks = started(launch)
    built = solving_program(mpi_of(launcher, mpicc), say)
    switches: Mapping[int, int] = {}
    if early and gather is None:
        raise InvalidInput("early: give gather, the levels or what messages cost")
    counts: Hierarchy | None = None
    listed = isinstance(steps, Sequence) and (steps == "all" or not isinstance(steps, str))
    if not (gather is None or isinstance(gather, Mapping)) or not (steps is None or listed):
        counts = boomeramg(
            problem, points, launch=launch, coarsening=coarsening, interpolation=interpolation, elements=elements,
            aggressive=aggressive, threshold=threshold, unknowns=unknowns, options=options, mpicc=mpicc,
            directory=directory, say=say, watch=watch,
        )  # fmt: skip
    if isinstance(gather, Mapping):
        switches = dict(sorted(gather.items()))
        _check(switches, ranks)
    elif gather is not None and counts is not None:
        switches = redistribute(counts, gather, cores=cores, caches=caches).switches if len(counts) > 1 else {}
    words |= {"tolerance": tolerance, "most": iterations, "repeats": repeats}
    if early:
        words |= {"early": 1, **({} if isinstance(gather, Mapping) else _costs(gather, cores, ranks, caches))}
    if switches:
        words["gather"] = ",".join(f"{level}:{count}" for level, count in switches.items())
    if steps is not None:
        words["steps"] = _in_steps(steps, counts, switches, cores) if not listed else _listed(steps)
        if not words["steps"]:
            del words["steps"]
    if ranks_per_node:
        words["node"] = ranks_per_node
    if hypre_threshold:
        words |= {"rows": hypre_threshold, "redundant": int(redundant)}
    with tempfile.TemporaryDirectory(prefix="isthmus-", dir=directory) as folder:
        out = os.path.join(folder, "solution")
        arguments = [*described(problem, points, ranks, unknowns, folder)[0], f"out={out}"]
        arguments += [f"{name}={value}" for name, value in words.items()]
        variables = {"ISTHMUS_EXCHANGE": "mpi"} if exchange == "mpi" else {}
        done = launcher.run(built, *arguments, variables=variables, watch=watch)
        if done.status or not os.path.isfile(out):
            ours = ("gather: ", "stay: ", "early: ", "steps: ")
            first = next((line for line in done.errors.splitlines() if line.startswith(ours)), None)
            raise InvalidInput(first or f"hypre failed (exit status {done.status}): {done.last_words()}")
        return read_solution(out, switches, _facts(ranks, exchange, words))


def _costs(gather: Costs | Machine | str | None, cores: int, ranks: int, caches: Sequence[float] | None) -> Any:
    """What the C side decides with: the latency is that between the farthest nodes, as messages of the model pay."""
    from ..loading import load
    from .costs import Costs

    if not isinstance(gather, Costs):
        assert gather is not None
        gather = Costs.of(load(gather) if isinstance(gather, str) else gather, nodes=-(-ranks // cores))
    alpha = gather.alpha + (gather.farthest - gather.nearest) * gather.gamma
    found = {"alpha": alpha, "beta": gather.beta, "flop": gather.flop}
    return found | ({"cache": max(caches)} if caches else {})


def _listed(steps: Any) -> str:
    """Levels as the C side reads them."""
    if steps == "all":
        return "all"
    for level in steps:
        if not 0 <= level < _MOST_LEVELS:
            raise InvalidInput(f"steps on level {level}: must be from 0 to {_MOST_LEVELS - 1}")
    return ",".join(map(str, sorted(set(steps))))


def _in_steps(costs: Any, counts: Hierarchy | None, switches: Mapping[int, int], cores: int) -> str:
    """The levels on which three steps take less than direct messages."""
    assert counts is not None
    seconds = node_aware(gathered(counts, switches), costs, cores=cores).seconds
    return _listed([i for i, (d, t) in enumerate(zip(seconds["direct"], seconds["three steps"], strict=True)) if t < d])


def _check(switches: Mapping[int, int], ranks: int) -> None:
    for level, count in switches.items():
        if level < 1:
            raise InvalidInput(f"gather level {level}: must be a coarse level, from 1")
        if not 1 <= count <= ranks:
            raise InvalidInput(f"gather level {level} to {count}: must be from 1 to {ranks}, the number of ranks")


def _facts(ranks: int, exchange: str, words: Mapping[str, Any]) -> dict[str, Any]:
    return {"ranks": ranks, "cores": len(os.sched_getaffinity(0)), "exchange": exchange, "relax": words.get("relax")}
