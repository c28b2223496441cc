"""Decision tables for tests: one by hand, and any."""

from __future__ import annotations

from hypothesis import strategies as st

from isthmus.tuning.choice import Choice
from isthmus.tuning.rule import KINDS
from isthmus.tuning.table import SOURCES, DecisionTable, Point, Provenance, Row


def starting(ranks: int, *rules: tuple[int, str]) -> Row:
    """A row in which rules begin at sizes."""
    return Row(ranks, tuple(Point(size, Choice.of(text)) for size, text in rules), tuned=False)


_names = st.sampled_from(["binomial", "ring", "knomial", "chain", "recursive_doubling"])
_options = st.dictionaries(
    st.sampled_from(["radix", "segment", "window", "dims", "latency"]),
    st.one_of(
        st.integers(0, 2**40),
        st.floats(1e-9, 1e3),
        st.lists(st.integers(1, 64), min_size=2, max_size=3).map(tuple),
    ),
    max_size=2,
)
choices = st.builds(Choice, _names, _options)
_times = st.none() | st.floats(0, 1e6)
_points = st.builds(
    Point,
    st.integers(0, 2**40),
    choices,
    seconds=_times,
    runner_up=st.none() | choices,
    runner_up_seconds=_times,
    bound=_times,
    interval=st.none() | st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)).map(lambda pair: (min(pair), max(pair))),
)


@st.composite
def _rows(draw: st.DrawFn) -> list[Row]:
    out = []
    for ranks in sorted(draw(st.sets(st.integers(1, 2**20), min_size=1, max_size=3))):
        points = sorted(
            {p.bytes: p for p in draw(st.lists(_points, min_size=1, max_size=5))}.values(), key=lambda p: p.bytes
        )
        tuned = points[0].bytes > 0 or draw(st.booleans())
        out.append(Row(ranks, tuple(points), tuned))
    return out


_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
tables = st.builds(
    DecisionTable,
    st.dictionaries(st.sampled_from(KINDS), _rows(), max_size=3),
    st.builds(
        Provenance,
        machine=_words,
        note=_words,
        date=_words,
        library=_words,
        source=st.sampled_from(["", *SOURCES]),
        sync=_words,
    ),
)
