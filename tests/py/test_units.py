"""Quantities with units: what is read, what is written, and that the two agree exactly."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isthmus import InvalidInput, units

UNITS = ["", "B", "B/s", "s", "s/B", "Hz", "flop/s"]


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("7", "", 7.0),
        ("1e3", "", 1000.0),
        (".5", "", 0.5),
        ("5.", "", 5.0),
        ("-2", "s", -2.0),
        ("+2s", "s", 2.0),
        ("425 MB/s", "B/s", 425e6),
        ("425MB/s", "B/s", 425e6),
        ("  425  MB/s ", "B/s", 425e6),
        ("1 kB/s", "B/s", 1e3),
        ("1 KB/s", "B/s", 1e3),
        ("1 TB/s", "B/s", 1e12),
        ("1 GiB/s", "B/s", 2.0**30),
        ("200 Gbit/s", "B/s", 25e9),
        ("200Gb/s", "B/s", 25e9),
        ("8 bit/s", "B/s", 1.0),
        ("8 Kibit/s", "B/s", 1024.0),
        ("8 Mibit/s", "B/s", 2.0**20),
        ("1.5 KiB", "B", 1536.0),
        ("2 GiB", "B", 2.0**31),
        ("1 TiB", "B", 2.0**40),
        ("2 GB", "B", 2e9),
        ("1 PB", "B", 1e15),
        ("64ns", "s", 64e-9),
        ("0.2 us", "s", 200e-9),
        ("0.2 µs", "s", 200e-9),
        ("1 ms", "s", 1e-3),
        ("3 ps", "s", 3e-12),
        ("2.35 ns/B", "s/B", 2.35e-9),
        ("1e-10 s/B", "s/B", 1e-10),
        ("850 MHz", "Hz", 850e6),
        ("2.4GHz", "Hz", 2.4e9),
        ("13.6 Gflop/s", "flop/s", 13.6e9),
        ("1 Eflop/s", "flop/s", 1e18),
        ("1E3 MB", "B", 1e9),
    ],
)
def test_spellings(text: str, unit: str, value: float) -> None:
    assert units.parse(text, unit) == value


def test_plain_numbers_are_si() -> None:
    assert units.parse(425, "B/s") == 425.0
    assert units.parse(0.5, "s") == 0.5
    assert units.parse("425", "B/s", plain=True) == 425.0


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("5", "s", "'5' has no unit: a time needs one, as 5ns or 5us"),
        (" 0.5 ", "s", "as 0.5ns or 0.5us"),
        ("1e-6", "s", "as 1e-6s"),
        ("1000000000", "B/s", "a bandwidth needs one, as 1000000000B/s"),
        ("12.5", "B/s", "as 12.5GB/s or 12.5Gbit/s"),
        ("6", "s/B", "a time per byte needs one, as 6ns/B or 6ps/B"),
        ("2", "Hz", "as 2GHz or 2MHz"),
        ("2", "flop/s", "as 2Gflop/s or 2Tflop/s"),
    ],
)
def test_a_number_without_a_unit_is_refused_with_the_likely_spelling(value: str, unit: str, words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        units.parse(value, unit)
    assert words in str(error.value)
    # Each spelling that is proposed is one.
    for word in words.rpartition("as ")[2].split(" or "):
        assert units.parse(word, unit) > 0


def test_what_needs_no_unit() -> None:
    assert units.parse("0", "s") == units.parse("0.0", "B/s") == 0
    assert (units.parse("65535", "B"), units.parse("0.5", "")) == (65535, 0.5)


def test_decimal_prefixes_round_once() -> None:
    # 0.2 * 1e-6 would be 2.0000000000000002e-07, and 1.1 * 1e-3 is not 1.1e-3 either.
    for mantissa in range(1, 1000):
        assert units.parse(f"{mantissa / 10} us", "s") == float(f"{mantissa / 10}e-6")
        assert units.parse(f"{mantissa / 10} GB/s", "B/s") == float(f"{mantissa / 10}e9")


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("425 MB", "B/s", ["'425 MB'", "MB/s"]),
        ("425 MB/s", "B", ["'425 MB/s'", "MB", "MiB"]),
        ("5 m", "s", ["'5 m'", "ms", "us"]),
        ("5 min", "s", ["'5 min'", "ms"]),
        ("5 mb/s", "B/s", ["'5 mb/s'", "MB/s"]),
        ("5 Mhz", "Hz", ["'5 Mhz'", "MHz"]),
        ("5 GFLOPS", "flop/s", ["'5 GFLOPS'", "Gflop/s"]),
        ("1 s", "", ["'1 s'", "plain number"]),
        ("", "s", ["''", "ns"]),
        ("fast", "B/s", ["'fast'", "GB/s"]),
        ("1,5 GB/s", "B/s", ["'1,5 GB/s'", "GB/s"]),
        ("1 2 GB/s", "B/s", ["'1 2 GB/s'"]),
        ("--1 s", "s", ["'--1 s'"]),
        ("1e", "s", ["'1e'"]),
        ("0x10", "B", ["'0x10'"]),
        ("nan", "s", ["'nan'"]),
        ("inf", "s", ["'inf'"]),
        ("1e999", "s", ["'1e999'", "finite"]),
        ("１ s", "s", ["'１ s'"]),
        (math.nan, "s", ["nan", "finite"]),
        (math.inf, "s", ["inf", "finite"]),
        (10**400, "B", ["finite", "1.8e+308"]),
        pytest.param(10**5000, "B", ["finite", "digits"], id="huge integer"),
        (True, "s", ["True", "'4 s'"]),
        (None, "B", ["None", "'4 B'"]),
        ([1], "", ["[1]", "'4'"]),
    ],
)
def test_refusals_name_what_was_got_and_what_is_allowed(value: object, unit: str, words: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        units.parse(value, unit)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


def test_messages_stay_short() -> None:
    with pytest.raises(InvalidInput) as caught:
        units.parse("x" * 100_000, "s")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.25e8, "B/s", "425 MB/s"),
        (1e9, "B/s", "1 GB/s"),
        (999.5e6, "B/s", "999.5 MB/s"),
        (1024.0, "B", "1 KiB"),
        (2.0**31, "B", "2 GiB"),
        (2e9, "B", "2 GB"),
        (1000.0, "B", "1 kB"),
        (128000.0, "B", "128 kB"),
        (1200.0, "B", "1200 B"),
        (65535.0, "B", "65535 B"),
        (1234567.0, "B", "1.234567 MB"),
        (64e-9, "s", "64 ns"),
        (1e-6, "s", "1 us"),
        (0.0, "s", "0 s"),
        (-0.0, "s", "0 s"),
        (2.35e-9, "s/B", "2.35 ns/B"),
        (7.0, "", "7"),
        (1.36e10, "flop/s", "13.6 Gflop/s"),
    ],
)
def test_text(value: float, unit: str, text: str) -> None:
    assert units.text(value, unit) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (123456.0, 3, "123 kB"),
        (999999.0, 3, "1000 kB"),
        (1.0, 4, "1 B"),
        (5.8e9, 4, "5.8 GB"),
        (9e22, 3, "90000000 PB"),
        (2.0**33, 4, "8 GiB"),
    ],
)
def test_text_with_few_digits(value: float, digits: int, text: str) -> None:
    assert units.text(value, "B", digits) == text


@settings(max_examples=400, derandomize=True, deadline=None)
@given(st.sampled_from(UNITS), st.floats(0, allow_infinity=False, allow_nan=False))
@example("B", 1023.0 * 1024)
@example("s", 5e-324)
@example("B/s", 1.7976931348623157e308)
@example("s", 0.1 + 0.2)
def test_round_trip_is_exact(unit: str, value: float) -> None:
    assert units.parse(units.text(value, unit), unit) == value


@settings(max_examples=250, derandomize=True, deadline=None)
@given(st.sampled_from(UNITS), st.integers(1, 99_999), st.integers(-14, 20))
def test_round_trip_of_what_people_write(unit: str, mantissa: int, exponent: int) -> None:
    value = float(f"{mantissa}e{exponent}")
    text = units.text(value, unit)
    assert units.parse(text, unit) == value
    assert units.parse(text.replace(" ", ""), unit) == value
    assert units.text(-value, unit) == f"-{text}"


@settings(max_examples=250, derandomize=True, deadline=None)
@given(st.text(max_size=20) | st.from_regex(r"[0-9.e+-]{1,8} ?[kKMGTPEiunpm]{0,2}[Bbs/Hzit]{0,5}", fullmatch=True))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    for unit in UNITS:
        try:
            assert math.isfinite(units.parse(text, unit))
        except InvalidInput:
            continue


def test_amounts_of_a_column_are_in_powers_of_1000():
    assert [units.amount(x) for x in (0, 1, 1024, 2**20, 2**20 + 1, 3 * 2**30)] == [
        "0 B", "1 B", "1.024 kB", "1.049 MB", "1.049 MB", "3.221 GB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (9216, 15910, "9.216 kB to 15.91 kB"),
        (9216, 16384, "9.216 kB to 16.38 kB"),
        (8, 1024, "8 B to 1.024 kB"),
        (1024, 1500, "1.024 kB to 1500 B"),
        (64, 64, "64 B"),
        (2000, 3000, "2 kB to 3 kB"),
    ],
)
def test_a_range_is_in_powers_of_1000(low: int, high: int, words: str) -> None:
    assert units.span(low, high) == words


@given(st.lists(st.one_of(st.integers(0, 2**40), st.integers(0, 2**30).map(lambda k: k * 1024), st.just(10**6))))
def test_a_column_has_one_family_of_units(sizes: list[int]) -> None:
    words = units.column(sizes)
    assert not (any(word.endswith("iB") for word in words) and any(word[-2] in "kMGTP" for word in words))
    assert [units.parse(word, "B") for word in words] == sizes


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (0.0, "0 %"), (1e-5, "< 0.1 %"), (0.0049, "0.5 %"), (0.086, "8.6 %"), (0.0994, "9.9 %"), (0.0996, "10 %"),
        (0.174, "17 %"), (1.0, "100 %"), (3.06, "306 %"), (-0.001, "-0.1 %"), (-1e-5, "0 %"), (-0.25, "-25 %"),
    ],
)  # fmt: skip
def test_shares(part: float, words: str) -> None:
    assert units.percent(part) == words


def test_shares_of_columns_and_differences() -> None:
    assert [units.percent(x, 1) for x in (0.0, 1e-5, 0.0006, 0.086, 0.9994)] == [
        "0.0 %", "< 0.1 %", "0.1 %", "8.6 %", "99.9 %",
    ]  # fmt: skip
    assert [units.percent(x, 1, sign=True) for x in (0.0, -1e-6, 1e-6, -0.25, 0.003)] == [
        "0.0 %", "0.0 %", "0.0 %", "-25.0 %", "+0.3 %",
    ]  # fmt: skip
    assert units.percent(0.856, 0) == "86 %"
    assert units.percent(-0.002213, 2, sign=True) == "-0.22 %"
