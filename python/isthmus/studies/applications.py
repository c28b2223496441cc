"""Programs of several arrays of tasks, as in Charm++: who sends how much to whom. Sizes are typical, not measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..schedule.pattern import Pattern


@dataclass(frozen=True, eq=False)
class Arrays:
    """Several arrays of tasks and what they exchange in one step."""

    pattern: Pattern
    sizes: dict[str, int] = field(default_factory=dict)


def openatom(states: int, planes: int, grain: int = 8, points: int = 4096) -> Arrays:
    """Electronic structure in the manner of OpenAtom.

    GSpace (states x planes of coefficients) and RealSpace (states x planes) exchange the transposes of a Fourier
    transform state by state; PairCalculators, for every plane and pair of blocks of ``grain`` states, get coefficients
    of both blocks and send corrections back; Density gets the sum over states plane by plane. ``points`` complex
    numbers of 16 bytes make a plane of a state.
    """
    blocks = -(-states // grain)
    first, second = np.triu_indices(blocks)
    sizes = {
        "gspace": states * planes, "realspace": states * planes, "pairs": planes * len(first), "density": planes,
    }  # fmt: skip
    begin = dict(zip(sizes, np.concatenate([[0], np.cumsum(list(sizes.values()))[:-1]]).tolist(), strict=True))
    plane = 16 * points
    s, p, q = (a.reshape(-1) for a in np.mgrid[0:states, 0:planes, 0:planes])
    links = [(begin["gspace"] + s * planes + p, begin["realspace"] + s * planes + q, plane // planes)]
    s, p = (a.reshape(-1) for a in np.mgrid[0:states, 0:planes])
    links.append((begin["realspace"] + s * planes + p, begin["density"] + p, plane // 4))
    for block, other in ((first, second), (second, first)):
        for pair, (i, j) in enumerate(zip(block.tolist(), other.tolist(), strict=True)):
            if block is second and i == j:
                continue
            mine = np.arange(i * grain, min(states, (i + 1) * grain))
            s, p = (a.reshape(-1) for a in np.meshgrid(mine, np.arange(planes)))
            links.append((begin["gspace"] + s * planes + p, begin["pairs"] + p * len(first) + pair, plane))
    source, target = np.concatenate([a for a, _, _ in links]), np.concatenate([b for _, b, _ in links])
    bytes = np.concatenate([np.full(len(a), size) for a, _, size in links])
    pattern = Pattern.of(
        sum(sizes.values()),
        source=np.concatenate([source, target]), target=np.concatenate([target, source]),
        bytes=np.concatenate([bytes, bytes]),
    )  # fmt: skip
    return Arrays(pattern, sizes)
