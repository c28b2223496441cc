"""Closed forms for one message on a quiet network."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

#: One number, or one for each element of an array.
Numbers = float | NDArray[np.floating[Any]] | NDArray[np.integer[Any]]


@overload
def wormhole_latency(bytes: float, hops: float, *, bandwidth: float, flit: float) -> float: ...
@overload
def wormhole_latency(bytes: Numbers, hops: Numbers, *, bandwidth: float, flit: float) -> Numbers: ...
def wormhole_latency(bytes: Numbers, hops: Numbers, *, bandwidth: float, flit: float) -> Numbers:
    """Return the time of a message over ``hops`` links with wormhole routing: ``(L_f / B) D + L / B``.

    Distance adds one flit per link, so that without contention it matters for short messages only.

    Parameters
    ----------
    bytes : float or array
        Message length L in B.
    hops : int or array
        Links D on the route.
    bandwidth : float
        Link bandwidth B in B/s.
    flit : float
        Flit length L_f in B.

    Returns
    -------
    float or array
        Seconds.

    References
    ----------
    Bhatele and Kale, "Mapping parallel applications on the machine topology: lessons learned"; Ni and McKinley,
    "A survey of wormhole routing techniques in direct networks", 1993.

    Examples
    --------
    >>> wormhole_latency(0.0, 4, bandwidth=425e6, flit=32.0) * 1e9  # ns
    301.17647058823525
    """
    return flit / bandwidth * hops + bytes / bandwidth


@overload
def alpha_beta_gamma(bytes: float, hops: float, *, alpha: float, beta: float, gamma: float) -> float: ...
@overload
def alpha_beta_gamma(bytes: Numbers, hops: Numbers, *, alpha: float, beta: float, gamma: float) -> Numbers: ...
def alpha_beta_gamma(bytes: Numbers, hops: Numbers, *, alpha: float, beta: float, gamma: float) -> Numbers:
    """Return the time of a message from latency, bandwidth and distance: ``alpha + n beta + h gamma``.

    Parameters
    ----------
    bytes : float or array
        Message length n in B.
    hops : int or array
        Distance h in links.
    alpha : float
        Seconds per message.
    beta : float
        Seconds per byte.
    gamma : float
        Seconds per link.

    Returns
    -------
    float or array
        Seconds.

    References
    ----------
    Gahvari, Gropp, Jordan, Schulz and Yang, "Algebraic multigrid on a dragonfly network: first experiences on a Cray
    XC30", PMBS 2014.
    """
    return alpha + beta * bytes + gamma * hops
