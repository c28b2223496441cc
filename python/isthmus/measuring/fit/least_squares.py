"""Linear least squares without negative solutions, and what the data cannot tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Singular values below this part of the largest one, of columns of length 1, are taken for 0.
RANK = 1e-7


def nonnegative(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x >= 0 that minimises |a x - b| (C. L. Lawson, R. J. Hanson, "Solving Least Squares Problems", 1974).

    Columns are scaled to the same length first; one of zeros gets 0.
    """
    scale = np.sqrt((a * a).sum(axis=0))
    used = np.flatnonzero(scale > 0)
    x = np.zeros(a.shape[1])
    if not len(used):
        return x
    # As many rows as unknowns say the same.
    q, m = np.linalg.qr(a[:, used] / scale[used])
    b = q.T @ b
    n = len(used)
    y = np.zeros(n)
    inside, tried = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    tolerance = 1e-14 * max(float(np.abs(b).max()), 1e-300)
    for _ in range(10 * n):
        gradient = m.T @ (b - m @ y)
        gradient[inside | tried] = -np.inf
        at = int(np.argmax(gradient))
        if not gradient[at] > tolerance:
            break
        inside[at] = True
        z = _within(m, b, inside)
        if z[at] <= 0:  # by rounding: it would leave at once, and come again
            inside[at], tried[at] = False, True
            continue
        tried[:] = False
        while (bad := inside & (z <= 0)).any():
            step = float((y[bad] / np.maximum(y[bad] - z[bad], 1e-300)).min())
            y = y + step * (z - y)
            inside &= ~(bad & (y <= 1e-15 * max(float(y.max()), 1e-300)))
            y[~inside] = 0
            z = _within(m, b, inside)
        y = z
    x[used] = y / scale[used]
    return x


def _within(m: NDArray[np.float64], b: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The solution with some unknowns alone, the others being 0."""
    z = np.zeros(m.shape[1])
    if inside.any():
        z[inside] = np.linalg.lstsq(m[:, inside], b, rcond=1e-12)[0]
    return z


def determined(a: NDArray[np.float64], combinations: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which combinations of the unknowns (rows) the design determines, however the unknowns are chosen.

    The rank is that of the design with columns of length 1; a combination is determined if no direction of singular
    value 0 changes it.
    """
    scale = np.sqrt((a * a).sum(axis=0))
    scale[scale == 0] = 1.0
    _, values, directions = np.linalg.svd(a / scale, full_matrices=True)
    rank = int((values > RANK * max(values.max(initial=0.0), 1e-300)).sum())
    wanted = combinations / scale
    length = np.sqrt((wanted * wanted).sum(axis=1))
    free = np.abs(wanted @ directions[rank:].T)
    out: NDArray[np.bool_] = (free < 1e-6 * length[:, None]).all(axis=1) if free.shape[1] else length > 0
    return out


def robust(
    a: NDArray[np.float64], b: NDArray[np.float64], sigma: NDArray[np.float64], *, turns: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a nonnegative solution that outliers do not move, and the weights of the rows.

    Huber's function by iteration: a residual beyond 1.5 times its standard deviation counts in proportion to its size
    only (P. J. Huber, "Robust estimation of a location parameter", 1964). The deviation is that of the row times a
    common factor, found from the residuals.
    """
    weights = 1 / sigma
    x = nonnegative(a * weights[:, None], b * weights)
    for _ in range(turns):
        residual = np.abs(a @ x - b) / sigma
        scale = max(1.4826 * float(np.median(residual)), 1e-3)
        factor = np.minimum(1.0, np.sqrt(1.5 * scale / np.maximum(residual, 1e-300)))
        new = factor / sigma
        y = nonnegative(a * new[:, None], b * new)
        done = bool(np.allclose(y, x, rtol=1e-9, atol=0))
        x, weights = y, new
        if done:
            break
    return x, weights
