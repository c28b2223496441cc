"""Counts of hierarchies at numbers of parts that were not given, beside the hierarchies themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import InvalidInput
from isthmus.cli import main
from isthmus.multigrid import (
    Costs,
    Hierarchy,
    boxes,
    cycle,
    extrapolate,
    gathered,
    hierarchy,
    node_aware,
    program,
    redistribute,
)
from isthmus.multigrid.outline import MOST, consistent, made, outline
from test_multigrid import laplace
from test_multigrid_models import line

COSTS = Costs(alpha=2e-6, beta=1e-9, flop=5e-10)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_operators_have_the_largest_numbers_that_they_are_made_of(data: st.DataObject) -> None:
    parts = data.draw(st.integers(2, 40))
    numbers = {
        name: data.draw(st.integers(0, 5000))
        for name in ("rows", "active", "nonzeros", "messages", "bytes", "nonzeros_most", "bytes_sent", "bytes_received")
    } | {name: data.draw(st.integers(0, parts - 1)) for name in ("sends", "receives")}
    wanted = consistent(numbers, parts)
    found = outline(made(numbers, parts))
    assert {name: found[name] for name in (*MOST, "rows", "active", "nonzeros")} == {
        name: wanted[name] for name in (*MOST, "rows", "active", "nonzeros")
    }
    assert found["messages"] <= wanted["messages"]
    assert found["bytes"] <= wanted["bytes"]


def test_a_made_operator_has_the_outline_of_a_real_one() -> None:
    real = line(256, 16).levels[0].matrix
    assert outline(made(outline(real), 16)) | {"messages": 0, "bytes": 0} == outline(real) | {"messages": 0, "bytes": 0}


def test_a_line_follows_exact_laws() -> None:
    found = extrapolate([line(8 * parts, parts) for parts in (4, 8, 16, 32)], 256)
    true = line(8 * 256, 256)
    assert (found.scaling, found.beyond) == ("weak", 8)
    for told, level in zip(found.levels[:4], true.levels, strict=False):
        for name, operator in (("A", level.matrix), ("P", level.interpolation)):
            assert operator is not None
            expected = outline(operator)
            assert {q: e.value for q, e in told[name].items()} == expected
            assert all(e.by == "exact" and e.low == e.high == e.value for e in told[name].values())
    assert len(found.levels) == len(true)
    seconds = [cycle(one, COSTS).seconds for one in (found.hierarchy, true)]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.05)
    for one in found.left_out.values():
        assert one.sums["rows"] < 0.01
    assert list(found.left_out) == [8, 16, 32]


def test_strong_scaling_keeps_the_matrices() -> None:
    matrix = laplace(24, 24, 24)
    found = extrapolate([hierarchy([matrix], boxes((24,) * 3, parts)) for parts in (8, 27, 64, 216)], 512)
    true = outline(hierarchy([matrix], boxes((24,) * 3, 512)).levels[0].matrix)
    told = {q: e.value for q, e in found.levels[0]["A"].items()}
    assert found.scaling == "strong"
    assert len(found.levels) == 1
    # 6 (P - P^(2/3)) messages, each of a face of 64 elements.
    for name in ("rows", "nonzeros", "active", "messages"):
        assert told[name] == true[name], name
    assert told["bytes"] == pytest.approx(true["bytes"], rel=0.05)


def test_pyamg_cut_into_parts() -> None:
    pyamg = pytest.importorskip("pyamg")
    cut = {}
    for side in (2, 3, 4, 5, 6):
        shape = (6 * side,) * 3
        # PMIS draws random numbers; this is the same each time.
        solver = pyamg.ruge_stuben_solver(pyamg.gallery.poisson(shape, format="csr"), CF="RS", interpolation="direct")
        cut[side**3] = hierarchy(solver, boxes(shape, side**3))
    true = cut.pop(216)
    found = extrapolate(list(cut.values()), 216)
    assert abs(len(found.levels) - len(true)) <= 1
    for told, level in zip(found.levels, true.levels, strict=False):
        rows = int(level.matrix.rows.sum())
        if rows > 1000:
            assert told["A"]["rows"].value == pytest.approx(rows, rel=0.03)
            assert told["A"]["nonzeros"].value == pytest.approx(int(level.matrix.nonzeros.sum()), rel=0.05)
    seconds = [cycle(one, COSTS).communication for one in (found.hierarchy, true)]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.3)
    assert "left out" in str(found)
    assert "beyond their range, 1.73 times above the largest" in str(found)


def test_what_is_refused_has_one_sentence() -> None:
    some = [line(8 * parts, parts) for parts in (4, 8, 16)]
    with pytest.raises(InvalidInput, match="2 hierarchies: a law needs at least 3, on different numbers of parts"):
        extrapolate(some[:2], 64)
    with pytest.raises(InvalidInput, match="two hierarchies on 4 parts"):
        extrapolate([*some, some[0]], 64)
    with pytest.raises(InvalidInput, match="1 parts: must be at least 2"):
        extrapolate(some, 1)
    with pytest.raises(InvalidInput, match=r"32 on 4, 64 on 8, 1024 on 16 parts: neither as many in all nor"):
        extrapolate([*some[:2], line(1024, 16)], 64)
    with pytest.raises(InvalidInput, match="different solvers"):
        extrapolate([*some[:2], Hierarchy(some[2].levels, {"solver": "other"})], 64)
    told = extrapolate(some, 64)
    assert not told.left_out
    assert "No size was left out" in str(told)
    with pytest.raises(InvalidInput, match="on 64 parts is extrapolated itself"):
        extrapolate([*some, told.hierarchy], 128)
    inside = Costs(alpha=1e-6, beta=1e-9, node_alpha=1e-7)
    for needs_messages in (
        lambda: redistribute(told.hierarchy, COSTS),
        lambda: gathered(told.hierarchy, {1: 2}),
        lambda: node_aware(told.hierarchy, inside),
        lambda: program(told.hierarchy),
    ):
        with pytest.raises(InvalidInput, match="who sends to whom"):
            needs_messages()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for parts in (4, 8, 16, 32):
        line(8 * parts, parts).save(f"h{parts}.h5")
    files = ["h4.h5", "h8.h5", "h16.h5", "h32.h5"]
    main(["multigrid", "extrapolate", *files, "--ranks", "64", "-o", "h64.h5", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == "h64.h5"
    (one,) = told["extrapolations"]
    assert (one["parts"], one["scaling"], one["beyond"]) == (64, "weak", 2)
    assert set(one["left_out"]) == {"8", "16", "32"}
    main(["multigrid", "model", "h64.h5", "--machine", "eos", "--cost", "flop=1e-10"])
    assert "extrapolated from 4, 8, 16 and 32 parts" in capsys.readouterr().out
    main(["show", "h64.h5"])
    assert "on 64 parts, extrapolated from 4, 8, 16 and 32 parts" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["multigrid", "extrapolate", "h4.h5", "h8.h5", "--ranks", "64"])
    with pytest.raises(SystemExit):
        main(["multigrid", "extrapolate", *files, "--ranks", "64,128", "-o", "h.h5"])
    assert left.value.code == 2
    assert "a law needs at least 3" in capsys.readouterr().err
