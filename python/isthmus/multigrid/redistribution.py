"""Which coarse levels to gather on fewer processes, and what that saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import percent, text
from .costs import Costs
from .cycle import cycle, exchange_seconds, visits, working_set
from .hierarchy import LOCAL_LEVELS, GridLevel, Hierarchy
from .operators import ELEMENT, Operator
from .search import best_switches
from .thresholds import thresholds

if TYPE_CHECKING:
    from ..machine import Machine

#: Less than this share of a cycle is not worth it.
_LEAST = 0.05
#: Bytes of a nonzero in a matrix: its value and its column.
_NONZERO = 12


@dataclass(frozen=True, slots=True, repr=False)
class Redistribution(Tabular):
    """What a cycle takes with coarse levels gathered, by the model and by rules of solvers.

    Attributes
    ----------
    switches : mapping from int to int
        Level to the number of parts on which it and the coarser ones are; empty: nothing is gathered.
    seconds, before : float
        A cycle with and without that.
    reasons : sequence of str
        What the rule that decides during the setup found on each coarse level.
    rules : mapping from str to pair
        Of that rule (``"during the setup"``) and of every solver its switches and the seconds of a cycle by the same
        model.
    """

    switches: Mapping[int, int]
    seconds: float
    before: float
    reasons: Sequence[str]
    rules: Mapping[str, tuple[Mapping[int, int], float]]

    def frame(self) -> Sequence[dict[str, Any]]:
        """Return a row per rule: where it switches, seconds of a cycle, how many times faster than without."""
        every = {"none": ({}, self.before), "best found": (self.switches, self.seconds), **self.rules}
        return [
            {"rule": name, "switches": _words(switches), "seconds": seconds, "speedup": self.before / seconds}
            for name, (switches, seconds) in every.items()
        ]

    def __repr__(self) -> str:
        return f"<Redistribution: {_words(self.switches)}>"

    def __str__(self) -> str:
        if self.switches:
            head = "; ".join(
                f"redistribute level {level} to {parts} process{'es' if parts > 1 else ''}"
                for level, parts in self.switches.items()
            )
            saved = 1 - self.seconds / self.before
            lines = [f"{head}: a cycle takes {text(self.seconds, 's', 3)} instead of {text(self.before, 's', 3)}, "
                     f"{percent(saved)} less"]  # fmt: skip
        else:
            lines = [f"redistribute nothing: a cycle takes {text(self.before, 's', 3)}"]
        lines += ["", *self.reasons, ""]
        rows = [("rule", "switches", "cycle", "times as fast")]
        rows += [(r["rule"], r["switches"], text(r["seconds"], "s", 3), f"{r['speedup']:.2f}") for r in self.frame()]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines += ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join(lines)


def _words(switches: Mapping[int, int]) -> str:
    return ", ".join(f"level {level} to {parts}" for level, parts in switches.items()) or "nowhere"


def first_known(hierarchy: Hierarchy) -> int:
    """Return the first coarse level that can be gathered: of an enlarged hierarchy fine levels are made up."""
    return max(int(hierarchy.facts.get(LOCAL_LEVELS, 1)), 1)


def roots(rows: NDArray[np.uint64], count: int) -> NDArray[np.uint32]:
    """Return to whom each part gives its rows: as many neighbouring parts that have rows to each of ``count`` roots."""
    active = np.flatnonzero(rows)
    out = np.arange(len(rows), dtype=np.uint32)
    group = np.arange(len(active)) * count // len(active)
    first = np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1])
    out[active] = active[first][group]
    # Parts without rows here have none on coarser levels either.
    return out


def gathered(hierarchy: Hierarchy, switches: Mapping[int, int]) -> Hierarchy:
    """Return the hierarchy whose levels from each switch on are on so many parts.

    Interpolation to the last level above a switch keeps its parts: vectors are gathered and scattered on the level.

    Raises
    ------
    InvalidInput
        If a level is none of the coarse ones, or does not have more parts with rows, or the hierarchy is extrapolated.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.multigrid import boxes, hierarchy
    >>> line = lambda n: sp.csr_array(np.eye(n) * 2 - np.eye(n, k=1) - np.eye(n, k=-1))
    >>> pairs = sp.csr_array((np.ones(16), (np.arange(16), np.arange(16) // 2)))
    >>> found = gathered(hierarchy([(line(16), pairs), line(8)], boxes((16,), 8)), {1: 2})
    >>> [level.matrix.active for level in found.levels]
    [8, 2]
    """
    hierarchy.check_exchanges()
    levels = list(hierarchy.levels)
    for level, count in sorted(switches.items()):
        if not 0 < level < len(levels):
            raise InvalidInput(f"level {level}: must be one of the coarse levels 1 to {len(levels) - 1}")
        if not 1 <= count < levels[level].matrix.active:
            raise InvalidInput(f"level {level} to {count} parts: must be from 1 to {levels[level].matrix.active - 1}")
        to = roots(levels[level].matrix.rows, count)
        for i in range(level, len(levels)):
            one = levels[i]
            joined = [
                None if o is None else o.gathered(to) for o in (one.matrix, one.interpolation, one.own_restriction)
            ]
            assert joined[0] is not None
            levels[i] = GridLevel(joined[0], joined[1], joined[2])
    return Hierarchy(tuple(levels), hierarchy.facts)


def collectives(hierarchy: Hierarchy, level: int, count: int, costs: Costs, *, redundant: bool = False) -> float:
    """Return seconds of a gather of a level's vector to its roots and a scatter back, once each.

    By binomial trees: ``ceil(log2 g) alpha + bytes of a root beta`` for groups of g parts. Redundant, every part of a
    group computes what its root does: an all-gather, and nothing to scatter.
    """
    rows, active = hierarchy.levels[level].matrix.rows, hierarchy.levels[level].matrix.active
    group = ceil(active / count)
    size = int(np.bincount(roots(rows, count), weights=rows).max()) * ELEMENT
    alpha = costs.alpha + (costs.farthest - costs.nearest) * costs.gamma
    once = ceil(log2(group)) * alpha + size * costs.beta
    return once if redundant else 2 * once


def price(hierarchy: Hierarchy, switches: Mapping[int, int], costs: Costs, redundant: bool, options: Any) -> float:
    """Return seconds of a cycle with levels gathered, and of the collectives that this takes."""
    seconds, now = 0.0, hierarchy
    for level, count in sorted(switches.items()):
        seconds += _switch(now, level, count, costs, redundant, options)
        now = gathered(now, {level: count})
    return seconds + cycle(now, costs, **options).seconds


def _switch(
    hierarchy: Hierarchy, level: int, count: int, costs: Costs, redundant: bool, settings: Mapping[str, Any]
) -> float:
    """Seconds of collectives in a cycle: a pair of them whenever it comes from the level above."""
    times = visits(settings.get("shape", "V"), level - 1)
    return times * collectives(hierarchy, level, count, costs, redundant=redundant)


def redistribute(
    hierarchy: Hierarchy,
    costs: Costs | Machine | str,
    *,
    cores: int = 1,
    redundant: bool = False,
    caches: Sequence[float] | None = None,
    least: float = _LEAST,
    hypre_threshold: int = 1000,
    **options: Any,
) -> Redistribution:
    """Decide by the model which coarse levels are gathered on fewer parts.

    Of all ways to gather levels on powers of two, of the way that the following rule finds, and of the thresholds of
    solvers, the one with the shortest cycle is returned, if it gains ``least``. Ways on which the matrix of a part
    falls into a larger class of sizes (no longer fits into a cache that it fitted into) are left out.

    The rule, with which a solver decides while it sets up, is that of Gahvari, Gropp, Jordan, Schulz and Yang. Setup
    comes to the levels one after the other and knows the matrix of each, not yet its interpolation, for which the
    matrix stands in. On each coarse level, numbers of parts are powers of two up to the largest number of sends.
    Seconds of the level with the best of them, T_switch, have the collectives; below T_noswitch the level is switched,
    unless a root's matrix falls into a larger class of sizes, or the cycle gains less than ``least``.

    Parameters
    ----------
    hierarchy : Hierarchy
    costs : Costs, Machine or str
        Of a machine that says nothing of products the time of an operation follows from its memory bandwidth.
    cores : int
        Processes of a node.
    redundant : bool
        All parts of a group compute the same: nothing is scattered.
    caches : sequence of float, optional
        Bytes of the caches of a core, which part classes of sizes; by default those of the machine.
    least : float
        Share of a cycle that has to be gained.
    hypre_threshold : int
        Rows of hypre's rule (``HYPRE_BoomerAMGSetSeqThreshold``), whose default is 0, never.
    **options
        Of :func:`cycle`.

    Raises
    ------
    InvalidInput
        If the hierarchy is extrapolated, or as :func:`cycle`.

    Returns
    -------
    Redistribution
        ``rules`` has what thresholds of solvers do, by the rules and defaults of their code; all but PETSc's have to be
        switched on there. hypre: at most so many rows, to one process. PETSc's GAMG: fewer than 50 rows of a process,
        to the number with 50 each that is a divisor of the number of all processes; the coarsest level to one. MueLu:
        from level 2 on fewer than 800 rows of a process, to 800 each. AMGCL: a process with at most 10,000 rows, eight
        neighbours become one.
    """
    hierarchy.check_exchanges()
    if isinstance(costs, Costs):
        paid, sizes = costs, tuple(caches or ())
    else:
        from ..loading import load

        machine = load(costs) if isinstance(costs, str) else costs
        paid = Costs.of(machine, nodes=-(-hierarchy.parts // cores)).with_flop_of(machine, cores)
        sizes = tuple(caches) if caches is not None else sizes_of_classes(machine)
    settings = {"cores": cores, **options}
    before = cycle(hierarchy, paid, **settings).seconds
    switches: dict[int, int] = {}
    reasons: list[str] = []
    now, spent = hierarchy, 0.0
    first = first_known(hierarchy)
    if len(hierarchy) == 1:
        reasons.append("level 0 is the only one: there is no coarse level to gather")
    for level in range(first, len(hierarchy)):
        matrix = now.levels[level].matrix
        largest = min(matrix.most[0], matrix.active - 1)
        if largest < 1:
            reasons.append(f"level {level}: on {matrix.active} part{'s' if matrix.active > 1 else ''} already")
            continue
        times = visits(settings.get("shape", "V"), level)
        stay = times * _level(matrix, paid, settings)
        best: tuple[float, int] | None = None
        for power in range(int(log2(largest)) + 1):
            count = 1 << power
            moved = matrix.gathered(roots(matrix.rows, count))
            if _size_class(moved, sizes) > _size_class(matrix, sizes):
                continue
            there = times * _level(moved, paid, settings) + _switch(now, level, count, paid, redundant, settings)
            if best is None or there < best[0]:
                best = there, count
        if best is None:
            reasons.append(f"level {level}: stays; on fewer parts matrices would no longer fit into a cache")
            continue
        told = f"T_switch {text(best[0], 's', 3)} on {best[1]}, T_noswitch {text(stay, 's', 3)}"
        if best[0] >= stay:
            reasons.append(f"level {level}: stays; {told}")
            continue
        current = cycle(now, paid, **settings).seconds + spent
        after = price(now, {level: best[1]}, paid, redundant, settings) + spent
        if current - after < least * before:
            reasons.append(
                f"level {level}: stays; {told}, the cycle would gain {percent(max((current - after) / before, 0))}"
            )
            continue
        reasons.append(f"level {level}: switches; {told}")
        spent += _switch(now, level, best[1], paid, redundant, settings)
        now = gathered(now, {level: best[1]})
        switches[level] = best[1]
    if not paid.flop:
        reasons.append(
            "computation is not counted, since the time of a floating-point operation (flop) is not known: gathering "
            "may cost more than it saves"
        )
    rules: dict[str, tuple[Mapping[int, int], float]] = {}
    rules["during the setup"] = switches, cycle(now, paid, **settings).seconds + spent
    for name, rule in thresholds(hypre_threshold).items():
        taken = rule(hierarchy)
        if any(level < first for level in taken):
            reasons.append(f"{name}: left out, it gathers levels on which who sends to whom is not known")
            continue
        rules[name] = taken, price(hierarchy, taken, paid, redundant, settings)
    searched = _searched(hierarchy, paid, sizes, redundant, settings)
    found = [(searched, price(hierarchy, searched, paid, redundant, settings))]
    found += [told for told in rules.values() if _fits(hierarchy, told[0], sizes)]
    chosen, seconds = min(found, key=lambda told: told[1])
    if before - seconds < least * before:
        chosen, seconds = {}, before
    return Redistribution(chosen, seconds, before, reasons, rules)


def sizes_of_classes(machine: Machine) -> tuple[float, ...]:
    """Return sizes that part classes: those of measured products, otherwise those of caches."""
    measured = tuple(one.up_to for one in machine.node.spmv if one.up_to)
    return measured or tuple(float(one.size) for one in machine.node.caches)


def _searched(
    hierarchy: Hierarchy, costs: Costs, sizes: Sequence[float], redundant: bool, settings: Any
) -> Mapping[int, int]:
    """The best way to gather levels on powers of two."""
    if len(hierarchy) < 2:
        return {}
    active = hierarchy.levels[1].matrix.active
    switches = best_switches(
        hierarchy,
        [1 << power for power in range(max(active - 1, 0).bit_length())],
        lambda count: gathered(hierarchy, {1: count}),
        lambda way: (told := cycle(way, costs, **settings)).compute + told.smooth + told.transfer,
        lambda way, level, count: _switch(way, level, count, costs, redundant, settings),
        lambda way, level: (
            level >= first_known(hierarchy)
            and _size_class(way.levels[level].matrix, sizes) <= _size_class(hierarchy.levels[level].matrix, sizes)
        ),
    )
    # Gathered in steps, a level may have fewer parts with rows than in one.
    out: dict[int, int] = {}
    now = hierarchy
    for level, count in sorted(switches.items()):
        if count < now.levels[level].matrix.active:
            out[level] = count
            now = gathered(now, {level: count})
    return out


def _fits(hierarchy: Hierarchy, switches: Mapping[int, int], sizes: Sequence[float]) -> bool:
    """Is no level that is gathered in a larger class of sizes than before?"""
    now = gathered(hierarchy, switches)
    return all(
        _size_class(now.levels[level].matrix, sizes) <= _size_class(hierarchy.levels[level].matrix, sizes)
        for level in switches
    )


def _level(matrix: Operator, costs: Costs, settings: Any) -> float:
    """Seconds of a level as setup knows it: without its interpolation, for which two more products stand."""
    options = {key: settings[key] for key in ("penalties", "cores") if key in settings}
    alone = Hierarchy((GridLevel(matrix, None),))
    known = cycle(alone, costs, **settings).seconds
    flops = 2 * 2 * int(matrix.nonzeros.max()) * costs.flop_of(working_set(matrix))
    return known + 2 * exchange_seconds(costs, matrix, options.get("penalties", ()), options["cores"]) + flops


def _size_class(matrix: Operator, caches: Sequence[float]) -> int:
    held = int(matrix.nonzeros.max()) * _NONZERO
    return sum(held > cache for cache in caches)
