"""Memory of MPI by ranks: bytes counted by hand, and what the finding makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.studies.memory import KIND
from isthmus.studies.memory_page import summarise

EACH = "P,100,10,5,5:S,1000,4"


def point(**changed: object) -> dict[str, object]:
    return {"machine": "ring:4,cores=4,memory=64MB", "ranks": 16, "queues": EACH, "contact": 1.0} | changed


def test_bytes_by_hand() -> None:
    """12 ranks of other nodes, each with 10 buffers of 100 bytes and 3 for credits; 4 shared ones of 1,000 bytes."""
    found = KIND.measure(point())
    assert found["each"] == 1300
    assert found["bytes"] == 12 * 1300 + 4000
    assert found["share"] == pytest.approx((12 * 1300 + 4000) / 16e6)
    assert KIND.measure(point(contact=0.25))["bytes"] == 3 * 1300 + 4000
    # On one node there is shared memory.
    assert KIND.measure(point(ranks=3))["bytes"] == 4000


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="its node says no memory"):
        KIND.measure(point(machine="ring:4"))
    with pytest.raises(InvalidInput, match="receive queues 'Q'"):
        KIND.measure(point(queues="Q"))


@pytest.mark.parametrize(
    ("share", "verdict", "said"), [(0.5, "differs", "contact with 30 %"), (0.18, "agrees", "contact with 91 %")]
)
def test_finding(share: float, verdict: str, said: str) -> None:
    """From a share of a fortieth without contact, a sixth is so far on the line to that with contact."""
    rows = [
        point(machine="m", ranks=16384, contact=contact) | {"bytes": 1.0, "each": 1.0, "share": value}
        for contact, value in ((1.0, share), (0.0, 0.025))
    ]
    found = summarise(rows).findings["sixth"]
    assert found.verdict == verdict
    part = (1 / 6 - 0.025) / (share - 0.025)
    assert said == f"contact with {part * 100:.0f} %"
    assert said in found.ours
    assert (
        summarise([point(machine="m") | {"bytes": 1.0, "each": 1.0, "share": 0.1}]).findings["sixth"].verdict == "open"
    )


def test_study(tmp_path: Path) -> None:
    outcome = isthmus.study("redsky-memory", tmp_path)
    largest = {row["contact"]: row for row in outcome.rows if row["ranks"] == 16384 and row["each"]}
    # Buffers of 128 bytes: 256, and 3 for credits; 1.5 GB for each of 8 ranks.
    assert largest[1.0]["bytes"] - largest[0.0]["bytes"] == 128 * 259 * (16384 - 8)
    assert largest[1.0]["share"] == pytest.approx(largest[1.0]["bytes"] / 1.5e9)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
