"""The setup of hypre's BoomerAMG in a recorded program: what every rank sends on each level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..schedule.program import Program
from .setup import STAGES, Stage

_SETUP = "hypre_BoomerAMGSetup"
#: Counts of nonzeros: those of a product where they follow it, before the first level of the matrix that is given.
_NUMBERS = "numbers"
#: Beginnings of functions that setup calls, and the stage of each. The order on a level is that of STAGES.
_FUNCTIONS = (
    ("hypre_BoomerAMGCreateS", "coarsening"),
    ("hypre_BoomerAMGCoarsen", "coarsening"),
    ("hypre_BoomerAMGCoarseParms", "coarsening"),
    ("hypre_BoomerAMGBuildCoarseOperator", "product"),
    ("hypre_ParCSRMatrixRAP", "product"),
    ("hypre_ParCSRMatrixSetNumNonzeros", _NUMBERS),
    ("hypre_BoomerAMGBuild", "interpolation"),
)
_SENDS = ("MPI_Isend", "MPI_Send", "MPI_Issend", "MPI_Rsend", "MPI_Irsend", "MPI_Start", "MPI_Startall")
_COLLECTIVES = ("MPI_Allreduce", "MPI_Scan", "MPI_Exscan", "MPI_Bcast", "MPI_Allgather", "MPI_Allgatherv", "MPI_Reduce")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded of a stage of a level.

    Attributes
    ----------
    most : Stage
        The most messages, bytes and collectives of a rank.
    messages, bytes : int
        Of all ranks.
    seconds : float
        The longest of a rank, from its first call to its last: meaningless where ranks share processors.
    """

    most: Stage
    messages: int
    bytes: int
    seconds: float


def setup_counts(program: Program) -> tuple[dict[str, Recorded], ...]:
    """Count what the setup of BoomerAMG sends on each level, from a program that was recorded.

    Functions of hypre are known by their names on the paths of calls; a level begins where coarsening follows a
    product. The last level is counted only as far as hypre tries to coarsen it.

    Parameters
    ----------
    program : Program
        Recorded by ``isthmus record``, with a shared hypre or one with symbols. The last setup counts if it has several
        one after the other.

    Returns
    -------
    tuple of dict from str to Recorded
        For each level the stages that send.

    Raises
    ------
    InvalidInput
        If the program has no recording with paths of calls, or sets no BoomerAMG up.
    """
    recording = program.recording
    if recording is None or not len(recording.path_parent):
        raise InvalidInput("the program has no paths of calls: record it with isthmus record")
    stages = _stage_of_paths(recording)
    if not any(stage is not None for stage in stages):
        raise InvalidInput(f"the program never calls {_SETUP}, or its functions have no names in the recording")
    sums: list[dict[str, list[dict[str, Any]]]] = []
    for rank in range(program.ranks):
        for level, found in enumerate(_of_rank(recording, rank, stages)):
            while len(sums) <= level:
                sums.append({stage: [] for stage in STAGES})
            for stage, one in found.items():
                sums[level][stage].append(one)
    return tuple(
        {stage: _joined(each) for stage, each in level.items() if each} for level in sums if any(level.values())
    )


def _stage_of_paths(recording: Any) -> list[str | None]:
    """The stage of every path: that of the function which setup calls."""
    out: list[str | None] = []
    inside: list[bool] = []
    for parent, site in zip(recording.path_parent.tolist(), recording.path_site.tolist(), strict=True):
        name = recording.site_function[site]
        above = parent if parent < len(out) else -1
        inherited = out[above] if above >= 0 else None
        below_setup = above >= 0 and inside[above]
        inside.append(below_setup or name == _SETUP)
        if inherited is None and below_setup:
            inherited = next((stage for start, stage in _FUNCTIONS if name.startswith(start)), None)
        out.append(inherited)
    return out


def _of_rank(recording: Any, rank: int, stages: list[str | None]) -> list[dict[str, dict[str, Any]]]:
    mine = slice(int(recording.first[rank]), int(recording.first[rank + 1]))
    levels: list[dict[str, dict[str, Any]]] = [{}]
    seen = -1
    known = len(stages)
    columns = (recording.path, recording.function, recording.count, recording.sent, recording.begin, recording.end)
    for path, function, count, sent, begin, end in zip(*(c[mine].tolist() for c in columns), strict=True):
        stage = stages[path] if path < known else None
        if stage is None or (stage == _NUMBERS and seen != len(STAGES) - 1):
            continue
        stage = STAGES[-1] if stage == _NUMBERS else stage
        place = STAGES.index(stage)
        if place < seen and seen == len(STAGES) - 1:
            levels.append({})
        seen = place
        one = levels[-1].setdefault(stage, {"calls": Counter(), "bytes": 0, "begin": begin, "end": end})
        name = recording.functions[function]
        if name in _SENDS:
            one["calls"]["messages"] += count
            one["bytes"] += sent
        elif name in _COLLECTIVES:
            one["calls"]["collectives"] += count
        one["end"] = max(one["end"], end)
    return levels


def _joined(each: list[dict[str, Any]]) -> Recorded:
    messages = [one["calls"]["messages"] for one in each]
    most = Stage(max(messages), max(o["bytes"] for o in each), max(o["calls"]["collectives"] for o in each))
    longest = max((one["end"] - one["begin"]) * 1e-9 for one in each)
    return Recorded(most, sum(messages), int(np.sum([o["bytes"] for o in each])), longest)
