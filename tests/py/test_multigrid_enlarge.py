"""Hierarchies of problems that grow with the parts, beside these problems themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import InvalidInput
from isthmus.multigrid import Costs, Hierarchy, boxes, cycle, enlarged, hierarchy
from isthmus.multigrid.extrapolation import extrapolate
from test_multigrid_models import line


def square(side: int, parts: int) -> Hierarchy:
    """Five points on a square, coarsened by squares of four rows as long as sides are even."""
    levels = []
    n = side
    while n % 2 == 0:
        T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
        A = sp.csr_array(sp.kron(T, sp.eye_array(n)) + sp.kron(sp.eye_array(n), T))
        x, y = np.divmod(np.arange(n * n), n)
        P = sp.csr_array((np.ones(n * n), (np.arange(n * n), (x // 2) * (n // 2) + y // 2)))
        levels.append((A, P))
        n //= 2
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    last = sp.csr_array(sp.kron(T, sp.eye_array(n)) + sp.kron(sp.eye_array(n), T))
    return hierarchy([*levels, last], boxes((side, side), parts))


@pytest.mark.parametrize("parts", [144, 576])
def test_is_the_hierarchy_of_the_large_problem(parts: int) -> None:
    """1,024 rows a part on 36 parts, 36,864 rows on many, and 1,024 a part on many."""
    found = enlarged(square(192, 36), square(192, parts))
    true = square(32 * round(parts**0.5), parts)
    assert len(found) == len(true)
    for one, other in zip(found.levels, true.levels, strict=True):
        assert int(one.matrix.rows.sum()) == int(other.matrix.rows.sum())
        assert one.matrix.active == other.matrix.active
        assert one.matrix.most == other.matrix.most
        assert int(one.matrix.nonzeros.max()) == int(other.matrix.nonzeros.max())
    costs = Costs(alpha=1e-6, beta=1e-9, gamma=1e-7, farthest=5, flop=1e-9)
    assert cycle(found, costs).seconds == pytest.approx(cycle(true, costs).seconds, rel=1e-12)
    assert "levels 0 to 2 as on 36 parts" in str(found.facts["enlarged"])


def test_refusals() -> None:
    small, cut = square(192, 36), square(192, 144)
    with pytest.raises(InvalidInput, match="must be more"):
        enlarged(cut, small)
    with pytest.raises(InvalidInput, match="enlarged hierarchy cannot be enlarged"):
        enlarged(small, enlarged(small, cut))
    with pytest.raises(InvalidInput, match="rows a part: must be 50 or more on the finest level"):
        enlarged(square(64, 256), square(64, 1024))
    with pytest.raises(InvalidInput, match=r"the coarsest level has 1.02e\+03 rows a part"):
        enlarged(Hierarchy(small.levels[:1]), cut)
    with pytest.raises(InvalidInput, match="no level of the problem on 144 parts has about 16 rows a part"):
        enlarged(small, Hierarchy(square(1536, 144).levels[:2]))
    told = extrapolate([line(64 * n, n) for n in (2, 4, 8)], 16).hierarchy
    with pytest.raises(InvalidInput, match="extrapolated"):
        enlarged(told, cut)
