"""Studies of multigrid solvers: their data, their models beside independent ones, what their pages say."""

from __future__ import annotations

from typing import Any

import pytest

from isthmus import InvalidInput
from isthmus.multigrid import boxes
from isthmus.studies import cycles_page, exchanges, levels
from isthmus.studies.parameters import kind_named


def measure(kind: str, **values: Any) -> dict[str, Any]:
    found = kind_named(kind)
    return found.measure({**{p.name: p.default for p in found.parameters}, **values})


# Sums over all levels, ms, as evaluated with the same data and formulas by another program.
SUMS = {
    ("elasticity", 8192): {"measured": 17.83, "node_aware": 5.90, "queue": 17.54, "contention": 22.43},
    ("anisotropic", 128): {"measured": 1.18, "node_aware": 0.82, "queue": 0.96, "contention": 1.29},
    ("anisotropic", 512): {"measured": 2.76, "node_aware": 1.73, "queue": 2.29, "contention": 3.17},
    ("anisotropic", 1024): {"measured": 4.15, "node_aware": 2.51, "queue": 3.60, "contention": 4.92},
}


@pytest.mark.parametrize("case", SUMS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_exchanges_on_blue_waters(case: tuple[str, int]) -> None:
    problem, ranks = case
    rows = [
        measure("exchanges", problem=problem, ranks=ranks, level=level)
        for one, size, level in exchanges.table()
        if (one, size) == case
    ]
    for name, expected in SUMS[case].items():
        assert 1e3 * sum(r[name] for r in rows) == pytest.approx(expected, abs=0.011)


def test_an_exchange_by_hand() -> None:
    """119 short and 2 eager messages over the network, 792 B to the same socket."""
    found = measure("exchanges", level=0)
    aware = 119 * 2.2656e-6 + 7152 * 7.4204e-10 + 2 * 6.9511e-6 + 3744 * 1.33032e-9 + 792 * 4.56243e-10
    assert found["node_aware"] == pytest.approx(aware, rel=1e-12)
    assert found["queue"] - aware == pytest.approx(8.40127e-9 * 121**2, rel=1e-9)
    hops = 78086184 / 17173056
    assert found["contention"] - found["queue"] == pytest.approx(9.28644e-11 * hops**3 * 17173056 / 256, rel=1e-9)
    # The machine's alpha, 2.161 us, and beta for the most messages and bytes of a rank, and the queue.
    assert found["ours"] == pytest.approx(121 * 2.161e-6 + 11688 * 0.3448e-9 + 8.40127e-9 * 121**2, rel=1e-9)
    with pytest.raises(InvalidInput, match="no data of level 9 of elasticity on 8192 ranks"):
        measure("exchanges", level=9)


@pytest.mark.parametrize("name", levels.names())
def test_counts_that_come_along(name: str) -> None:
    """The finest level is the 7-point Laplace operator on 200 x 200 x 200 points in boxes."""
    for parts in levels.cuts(name):
        found = levels.shipped(name, parts)
        finest = found.levels[0].matrix
        assert found.parts == parts
        assert int(finest.rows.sum()) == 200**3
        assert int(finest.nonzeros.sum()) <= 7 * 200**3 - 6 * 200**2
        assert finest.most[:2] == (6, 6)
        held = boxes((200, 200, 200), parts)
        assert finest.active == int(held.max()) + 1
        rows = [int(level.matrix.rows.sum()) for level in found.levels]
        assert rows == sorted(rows, reverse=True)
        assert all(level.matrix.most[0] < parts for level in found.levels)
    with pytest.raises(InvalidInput, match="is not cut into 100 parts: into 64, 128"):
        levels.shipped(name, 100)
    with pytest.raises(InvalidInput, match="no counts of nothing: must be one of laplace"):
        levels.shipped("nothing", 64)


def test_the_published_table_by_itself() -> None:
    """Three constants, as other programs fit them."""
    k, messages = cycles_page.communication_of(cycles_page.MODELLED)
    assert k == pytest.approx(5.02e-3, abs=5e-6)
    assert messages == pytest.approx({1024: 4.70e-3, 8192: 6.69e-3}, abs=5e-6)


def test_messages_of_cycles_on_eos() -> None:
    """Every message costs alpha + 5 gamma, bytes add little; both sizes are within 10 % of the published ones."""
    for cores, published in ((1024, 4.70e-3), (8192, 6.69e-3)):
        bare = measure("cycles", machine="eos", cores=cores, bandwidth=False)
        assert bare["communication"] == pytest.approx(bare["messages"] * (0.24e-6 + 5 * 0.42e-6), rel=1e-12)
        for grown in (False, True):
            found = measure("cycles", machine="eos", cores=cores, grown=grown)
            assert found["communication"] == pytest.approx(published, rel=0.1)
    with pytest.raises(InvalidInput, match="threads = 3: must be a divisor of cores = 1024"):
        measure("cycles", machine="eos", cores=1024, threads=3)
    with pytest.raises(InvalidInput, match="has more than 128 parts"):
        measure("cycles", machine="eos", cores=1024, threads=8, grown=True)
