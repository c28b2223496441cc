"""Patterns of applications, and what the studies of maps say of known results."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.skeletons.halos import Halo, pop, program, square, stencil, wrf
from isthmus.studies.applications import openatom
from isthmus.studies.mapping import measure
from isthmus.studies.mapping_page import summarise
from isthmus.studies.parameters import kind_named


def degrees(halo: Halo) -> dict[int, int]:
    """How many ranks have so many neighbours."""
    found, count = np.unique(np.bincount(halo.source, minlength=halo.ranks), return_counts=True)
    return dict(zip(found.tolist(), count.tolist(), strict=True))


@pytest.mark.parametrize(("ranks", "sides"), [(1, (1, 1)), (64, (8, 8)), (512, (32, 16)), (7, (7, 1))])
def test_most_square_box(ranks: int, sides: tuple[int, int]) -> None:
    assert square(ranks) == sides


def test_stencil_and_weather_have_four_neighbours_but_at_the_edges() -> None:
    for halo in (stencil(64), wrf(64)):
        assert degrees(halo) == {2: 4, 3: 24, 4: 36}
        there = set(zip(halo.source.tolist(), halo.target.tolist(), strict=True))
        assert there == {(b, a) for a, b in there}
    assert wrf(64).points.sum() == 425 * 300


def test_ocean_leaves_land_out_and_is_symmetric() -> None:
    halo = pop(200)
    assert halo.ranks == 200
    assert set(np.concatenate([halo.source, halo.target]).tolist()) <= set(range(200))
    assert max(degrees(halo)) == 8
    assert min(degrees(halo)) < 8
    there = dict(zip(zip(halo.source.tolist(), halo.target.tolist(), strict=True), halo.bytes.tolist(), strict=True))
    assert all(there[b, a] == size for (a, b), size in there.items())
    assert len(there) == len(halo.source)


def test_openatom_sends_every_coefficient_to_its_pairs() -> None:
    states, planes, grain, points = 12, 4, 4, 64
    work = openatom(states, planes, grain, points)
    assert work.sizes == {"gspace": 48, "realspace": 48, "pairs": 4 * 6, "density": 4}
    plane = 16 * points
    one_way = states * planes * (plane // planes) * planes + states * planes * plane // 4
    # A state is in as many pairs of blocks as there are blocks.
    one_way += states * planes * plane * (states // grain)
    assert int(work.pattern.bytes.sum()) == 2 * one_way


def test_programs_do_what_they_say() -> None:
    halo = stencil(16, bytes=100)
    what = program(halo, steps=3, point=1e-6, spread=0.0, solves=2)
    assert what.ranks == 16
    messages = isthmus.pattern(what).messages.sum()
    assert int(messages) == 3 * (1 + 2) * len(halo.source)


def point(**settings: object) -> dict[str, object]:
    out = {p.name: p.default for p in kind_named("mapping").parameters}
    return out | {"machine": "torus:4x4", "placement": "default", "seconds": 0.2, **settings}


def test_maps_have_fewer_hops_than_the_order_of_the_ranks() -> None:
    rows = [
        {**(given := point(application=what, machine="torus:4x4x4", placement=placement)), **measure(given)}
        for what in ("stencil", "wrf", "pop", "openatom", "namd")
        for placement in ("default", "mapped")
    ]
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        assert after["hop_bytes"] <= before["hop_bytes"]
        assert after["hop_bytes"] >= after.get("least", 0)
    summary = summarise(rows)
    assert len(summary.rows) == len(rows)
    assert {len(row) for row in summary.rows} == {len(summary.columns)}


def test_an_ocean_that_waits_does_not_gain() -> None:
    rows = []
    for placement in ("default", "mapped"):
        given = point(
            application="pop", machine="torus:4x4x4", placement=placement, steps=1, point=4e-5, spread=0.2, solves=2
        )
        rows.append({**given, **measure(given)})
    assert rows[1]["time"] == pytest.approx(rows[0]["time"], rel=0.03)
    assert rows[0]["waiting"] > 0.2
    assert summarise(rows).findings["time"].verdict == "agrees"


def test_patches_near_each_other_then_computes_near_both() -> None:
    rows = {}
    for placement in ("default", "bisection", "patches", "mapped"):
        given = point(application="namd", machine="torus:3x5x5", placement=placement)
        rows[placement] = {**given, **measure(given)}
    hop_bytes = [row["hop_bytes"] for row in rows.values()]
    assert hop_bytes == sorted(hop_bytes, reverse=True)
    assert hop_bytes[-1] < 0.8 * hop_bytes[0]
    assert summarise(list(rows.values())).findings["hops"].verdict == "agrees"
    # Patches that are mapped worse than they come are no agreement.
    rows["patches"]["hop_bytes"] = 2 * hop_bytes[0]
    assert summarise(list(rows.values())).findings["hops"].verdict == "differs"


def test_weather_gains_where_messages_meet() -> None:
    rows = []
    for machine, times in (("torus:8x8x8", (10.0, 9.9)), ("torus:8x8x16", (10.0, 8.4))):
        for placement, time in zip(("default", "mapped"), times, strict=True):
            given = point(application="wrf", machine=machine, placement=placement, steps=2, point=1e-5)
            ranks = {"torus:8x8x8": 512, "torus:8x8x16": 1024}[machine]
            rows.append(
                {**given, "ranks": ranks, "time": time, "computing": 5 / time, "hops": 1.0, "message_hops": 1.0}
            )
            rows[-1] |= {"hop_bytes": 1.0, "least": 1.0, "link": 1.0, "waiting": 0.1}
    found = summarise(rows).findings["gain"]
    assert found.verdict == "agrees"
    assert found.ours == "communication on 512 nodes: 2 % less, the run 1 %; 1,024 nodes: 32 % less, the run 16 %"
    rows[-1]["time"] = 9.0
    assert summarise(rows).findings["gain"].verdict == "partly"
    rows[1]["time"] = 9.0
    assert summarise(rows).findings["gain"].verdict == "differs"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"application": "wrf", "placement": "patches"}, "placement = .patches.: wrf has no patches"),
        ({"application": "namd", "steps": 1}, "steps = 1: namd is a pattern here"),
        ({"application": "stencil", "tasks": 17}, "17"),
    ],
)
def test_errors(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        measure(point(**settings))
