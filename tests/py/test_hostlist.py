"""Nodelist expressions: known expansions, round trips, errors with their column."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.errors import InvalidInput
from isthmus.hostlist import MAX_NAMES, HostlistError, compress, expand


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", []),
        ("login1", ["login1"]),
        ("tux[0-3,7],login1", ["tux0", "tux1", "tux2", "tux3", "tux7", "login1"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[099-101]", ["n099", "n100", "n101"]),
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("[1-2]", ["1", "2"]),
        ("a[1]b", ["a1b"]),
        ("a1 a2\n", ["a1", "a2"]),
        ("a1, a2", ["a1", "a2"]),
        ("a[3,1-2,1]", ["a3", "a1", "a2", "a1"]),
        ("cab1-r[0-1]-sw.ib", ["cab1-r0-sw.ib", "cab1-r1-sw.ib"]),
    ],
)
def test_expansion(expression: str, names: list[str]) -> None:
    assert expand(expression) == names


def test_three_dimensions_run_last_fastest() -> None:
    names = expand("rack[1-2]c[0-1]n[01-16]")
    assert len(names) == 64
    assert names[0] == "rack1c0n01"
    assert names[16] == "rack1c1n01"
    assert names[-1] == "rack2c1n16"


@pytest.mark.parametrize(
    ("names", "expression"),
    [
        ([], ""),
        (["a"], "a"),
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n9", "n010"], "n[9,010]"),
        (["n3", "n2", "n1"], "n[3,2,1]"),
        (["n1", "n1"], "n[1,1]"),
        (["r1n01", "r1n02", "r2n01", "r2n02"], "r[1-2]n[01-02]"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["a1", "b1", "a2"], "a1,b1,a2"),
    ],
)
def test_compression(names: list[str], expression: str) -> None:
    assert compress(names) == expression
    assert expand(expression) == names


@pytest.mark.parametrize(
    ("expression", "column", "words"),
    [
        ("tux[0-3", 4, "never closed"),
        ("tux0-3]", 7, "without a '['"),
        ("tux[]", 5, "got nothing"),
        ("tux[1,]", 7, "got nothing"),
        ("tux[a-b]", 5, "'a-b'"),
        ("tux[1-]", 5, "'1-'"),
        ("tux[1-2-3]", 5, "'1-2-3'"),
        ("tux[000x133]", 5, "'000x133'"),
        ("tux[5,3-1]", 7, "must ascend"),
        ("tux[[1]]", 5, "'[1'"),
        ("a,,b", 3, "empty name"),
        (",a", 1, "empty name"),
        ("a,", 2, "empty name"),
        ("tux[1-9999999999999999999]", 5, "digits"),
        ("a,tux[0-99999999]", 3, "100,000,001 names"),
        ("t[0-9999]n[0-9999]", 1, "100,000,000 names"),
    ],
)
def test_errors_know_their_column(expression: str, column: int, words: str) -> None:
    with pytest.raises(HostlistError) as caught:
        expand(expression)
    assert caught.value.column == column
    assert words in str(caught.value)
    assert isinstance(caught.value, InvalidInput)


def test_limit_counts_all_names() -> None:
    assert len(expand("a[1-5],b[1-5]", limit=10)) == 10
    with pytest.raises(HostlistError, match="11 names or more; at most 10 are allowed"):
        expand("a[1-5],b[1-6]", limit=10)
    with pytest.raises(HostlistError):
        expand(f"n[0-{MAX_NAMES}]")


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a[1", "a]"])
def test_names_that_no_expression_can_hold(name: str) -> None:
    with pytest.raises(InvalidInput):
        compress(["ok", name])


_names = st.builds(
    "".join,
    st.lists(
        st.one_of(st.sampled_from(["n", "rack", "-", ".", "x"]), st.from_regex(r"\A0?[0-9]{1,3}\Z")),
        min_size=1,
        max_size=5,
    ),
)


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.lists(_names, max_size=40))
def test_round_trip_keeps_names_and_order(names: list[str]) -> None:
    assert expand(compress(names)) == names


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.integers(0, 120),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(0, 9),
    st.integers(1, 5),
)
def test_grids_fold_into_one_expression(first: int, count: int, width: int, rack: int, racks: int) -> None:
    names = [f"r{r}n{str(n).zfill(width)}" for r in range(rack, rack + racks) for n in range(first, first + count)]
    folded = compress(names)
    assert expand(folded) == names
    assert "],r" not in folded or len(folded.split("],r")) == 1


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.text(alphabet="ab019[],- \tx", max_size=30))
def test_any_text_expands_or_is_refused(text: str) -> None:
    column = None
    try:
        names = expand(text, limit=100_000)
    except HostlistError as error:
        column = error.column
    if column is None:
        assert expand(compress(names)) == names
    else:
        assert 1 <= column <= len(text)


def test_large_lists_are_quick() -> None:
    names = expand("rack[001-100]n[0001-1000]")
    assert len(names) == 100_000
    assert compress(names) == "rack[001-100]n[0001-1000]"
