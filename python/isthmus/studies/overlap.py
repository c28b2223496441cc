"""Programs that hide communication: how much of it is left, with blocking calls, with tests, with a thread.

With tests, messages are begun on the program's processor, which waits until the network has taken those before: as in
LogGOPS, and less than a library with queues in the network adapter hides. With a thread, they cost it nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..simulation.network import MODELS
from .parameters import Kind, Parameter, Point, Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..machine import Machine
    from ..schedule.program import Program
    from ..skeletons import Skeleton

#: How exchanges go on: not at all beside computation, where the program looks at them, or at any time.
WAYS = ("blocking", "tests", "thread")
#: Tilings of a loop that are tried, each tile number as long as the one before was not better.
_TILES, _WINDOWS = (4, 8, 16, 32, 64, 128), (1, 2, 4)
#: What makes other programs blocking.
_SWITCHES = ("hidden", "ahead")


@functools.lru_cache(maxsize=8)
def _machine(machine: str) -> Machine:
    from ..loading import load

    return load(machine)


def measure(point: Point) -> Point:
    """Time, computation of the rank that computes most, and of all ranks, seconds; by the best tiling."""
    from ..skeletons.catalogue import read

    skeleton, given = read(point["program"])
    if not all("=" in pair for pair in point["algorithms"].split(",") if pair):
        raise InvalidInput(
            f"algorithms {point['algorithms']!r}: must be COLLECTIVE=ALGORITHM, with commas between them"
        )
    if taken := {"ranks", "tiles", "window", "tests", *_SWITCHES} & set(given):
        raise InvalidInput(f"program {point['program']!r}: {min(taken)} is set by the study")
    best: Point = {}
    for found in _tried(point, skeleton, given):
        if not best or found["time"] < best["time"]:
            best = found
    return best


def _tried(point: Point, skeleton: Skeleton, given: dict[str, str]) -> Iterator[Point]:
    """Times with tilings, as long as they become less; only the first where nothing is to be chosen."""
    names = {p.name for p in skeleton.parameters}
    loop = "tiles" in names
    if not loop and not names & set(_SWITCHES):
        raise InvalidInput(f"program {skeleton.name!r}: has none of tiles, {', '.join(_SWITCHES)}")
    tests = {"tests": point["tests"] if point["way"] != "blocking" else 0}
    if point["way"] == "blocking" or not loop:
        tiling = {"tiles": 1, "window": 1} if loop else {}
        on = int(point["way"] != "blocking")
        switches = {name: on for name in _SWITCHES if name in names}
        yield _once(point, skeleton, given, {**tests, **tiling, **switches})
        return
    if point["tiles"]:
        yield _once(point, skeleton, given, {**tests, "tiles": point["tiles"], "window": 1})
        return
    least = float("inf")
    for tiles in _TILES:
        found = [_once(point, skeleton, given, {**tests, "tiles": tiles, "window": window}) for window in _WINDOWS]
        yield from found
        before, least = least, min(one["time"] for one in found)
        if least >= before:
            break


def _once(point: Point, skeleton: Skeleton, given: dict[str, str], more: dict[str, int]) -> Point:
    """One simulation. Parameters hold at ``base`` ranks; the problem stays as large as it is there."""
    from ..lowering.lower import lower
    from ..simulation import simulate

    ranks, machine = point["ranks"], _machine(point["machine"])
    cores = point["per_node"] or machine.node.cores
    nodes = -(-ranks // cores)
    if nodes > machine.nodes:
        raise InvalidInput(f"ranks = {ranks}: {machine.nodes} nodes hold {machine.nodes * cores}")
    values = skeleton.values(given)
    for p in skeleton.parameters:
        values[p.name] = p.resized(values[p.name], point["base"] / ranks, 1.0)
    program = skeleton.of(values | more | {"ranks": ranks})
    chosen = dict(pair.split("=", 1) for pair in point["algorithms"].split(",") if pair)
    schedule = lower(program, collectives=chosen or None, progress_stream=int(point["way"] == "thread"))
    computed = computation(program)
    timeline = simulate(schedule, machine, machine.allocate(nodes, ranks_per_node=cores), model=point["model"])
    return {
        "time": timeline.makespan,
        "computation": float(computed.max()),
        "work": float(computed.sum()),
        "tiles": more.get("tiles", 0),
        "window": more.get("window", 0),
    }


def computation(program: Program) -> NDArray[np.float64]:
    """Computation of each rank, seconds."""
    from ..schedule.program import EventKind

    amounts = np.where(program.kind == EventKind.compute, program.amount, 0)
    sums = np.concatenate([[0], np.cumsum(amounts, dtype=np.float64)])
    return np.diff(sums[program.first.astype(np.int64)]) / 1e12


def _summarise(rows: Sequence[Point]) -> Summary:
    from .overlap_page import summarise

    return summarise(rows)


KIND = Kind(
    name="overlap",
    doc="a program that hides communication behind computation: what is left of it",
    version=1,
    parameters=(
        Parameter("claim", "text", "the published statement that it is compared with"),
        Parameter("program", "text", "a skeleton that overlaps, with its parameters at so many ranks as base says"),
        Parameter("machine", "machine", "ranks fill its nodes one after the other"),
        Parameter("ranks", "whole", "how many; the problem stays as large", least=1, most=2**20),
        Parameter("base", "whole", "ranks at which parameters of the program hold", 1, least=1, most=2**20),
        Parameter("per_node", "whole", "ranks on a node; 0: one on every core", 0, most=4096),
        Parameter("way", "choice", "how exchanges go on beside computation", choices=WAYS),
        Parameter("tests", "whole", "looks at exchanges under way in a tile", 8, most=1000),
        Parameter("algorithms", "text", "of collectives, as gather=linear,bcast=binary; others by default", ""),
        Parameter("tiles", "whole", "tiles of a loop that is not blocking, window 1; 0: what is best by simulation", 0),
        Parameter("model", "choice", "of the network", "loggops", MODELS),
    ),
    measure=measure,
    summarise=_summarise,
)
