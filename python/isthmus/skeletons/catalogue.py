"""All skeletons with their parameters, and how each is built."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..named import named
from .skeleton import Parameter, Skeleton

if TYPE_CHECKING:
    from ..schedule.program import Program
    from .halos import Halo

_RANKS = Parameter("ranks", "ranks", 64, 1, 2**20)
_COMPUTE = Parameter("compute", "mean computation of a rank in a step", 1e-3, 0, 1e3, "s", whole=False)
_SEED = Parameter("seed", "seed of the random numbers", 1, 0, 2**32 - 1)
_STEPS = (
    Parameter("steps", "time steps", 10, 1, 100_000),
    _COMPUTE,
    Parameter("spread", "standard deviation of the ranks' computation over its mean", 0, 0, 10, whole=False),
    Parameter("solves", "iterations of a solver in a step: a small exchange and a sum over all ranks", 0, 0, 10_000),
)


def _steps(halo: Halo, steps: int, compute: float, spread: float, solves: int, seed: int) -> Program:
    from .halos import program

    return program(halo, steps, compute / max(float(halo.points.mean()), 1.0), spread, solves, seed)


def _stencil(ranks: int, bytes: int, seed: int, **more: float) -> Program:
    import numpy as np

    from .halos import stencil

    halo = stencil(ranks)
    sized = replace(halo, bytes=np.full_like(halo.bytes, bytes))
    return _steps(sized, seed=seed, **more)  # type: ignore[arg-type]


def _wrf(ranks: int, levels: int, fields: int, seed: int, **more: float) -> Program:
    from .halos import wrf

    return _steps(wrf(ranks, levels=levels, fields=fields), seed=seed, **more)  # type: ignore[arg-type]


def _pop(ranks: int, levels: int, seed: int, **more: float) -> Program:
    from .halos import pop

    return _steps(pop(ranks, seed, levels), seed=seed, **more)  # type: ignore[arg-type]


def _multigrid(ranks: int, bytes: int, compute: float, cycles: int) -> Program:
    from .multigrid import cycles as built

    return built(1, ranks, bytes, compute, cycles)


SKELETONS = {
    skeleton.name: skeleton
    for skeleton in (
        Skeleton(
            "multigrid",
            "V-cycles of a multigrid solver on the most cubic grid of ranks: six neighbours, 2^l ranks away on level l",
            (
                _RANKS,
                Parameter("bytes", "message to a neighbour on the finest level", 32768, 0, 2**30, "B"),
                Parameter("compute", "computation of a rank on the finest level", 1e-3, 0, 1e3, "s", whole=False),
                Parameter("cycles", "V-cycles", 10, 1, 100_000),
            ),
            _multigrid,
        ),
        Skeleton(
            "pop",
            "Ocean model: eight neighbours, periodic from west to east, blocks that are all land left out",
            (_RANKS, Parameter("levels", "levels of the ocean", 42, 1, 10_000), *_STEPS, _SEED),
            _pop,
        ),
        Skeleton(
            "stencil",
            "Five-point stencil on the most square grid of ranks, open at its edges",
            (_RANKS, Parameter("bytes", "message to a neighbour", 8192, 0, 2**30, "B"), *_STEPS, _SEED),
            _stencil,
        ),
        Skeleton(
            "wrf",
            "Weather model on 425 x 300 columns (CONUS at 12 km): halos of three points, boxes that differ by a point",
            (
                _RANKS,
                Parameter("levels", "levels of the atmosphere", 35, 1, 10_000),
                Parameter("fields", "fields that are exchanged", 10, 1, 10_000),
                *_STEPS,
                _SEED,
            ),
            _wrf,
        ),
    )
}


def skeleton(text: str) -> Program:
    """The program of ``NAME:key=value,...``.

    Raises
    ------
    InvalidInput
        For an unknown name or parameter, and a value that is not allowed.

    Examples
    --------
    >>> skeleton("stencil:ranks=16,steps=2").ranks
    16
    """
    what = named(text)
    found = SKELETONS.get(what.name)
    if found is None:
        close = difflib.get_close_matches(what.name, SKELETONS, 1)
        hint = f"; a close one is {close[0]}" if close else ""
        raise InvalidInput(f"skeleton {what.name!r}: must be one of {', '.join(SKELETONS)}{hint}")
    return found.build(what.values(*(p.name for p in found.parameters)))
