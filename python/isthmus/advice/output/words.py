"""Algorithms of collectives in words: for the page, the report and the sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...tuning.choice import Choice
from ...tuning.libraries.canonical import pretty
from ...units import percent, span, text

if TYPE_CHECKING:
    from ..collectives.comparison import Choices
    from ..collectives.tuner import Compared


def size_words(c: Compared) -> str:
    """Which calls: collective and size."""
    use = c.use
    size = "" if use.collective == "barrier" else f" of {span(use.low, use.high)}"
    return f"{use.collective}{size}"


def calls_words(c: Compared) -> str:
    """Which calls: collective, size, ranks."""
    return f"{size_words(c)} on {c.use.ranks:,} ranks"


def algorithm_words(collective: str, choice: Choice) -> str:
    """An algorithm with what it is told, without what says nothing."""
    short = pretty(collective, choice)
    return str(Choice(short.name, {key: value for key, value in short.options.items() if value != 0}))


def now_words(c: Compared) -> str:
    """The algorithm of now."""
    return algorithm_words(c.use.collective, c.now)


def best_words(c: Compared) -> str:
    """The best algorithm that was found."""
    if c.best is None:
        return "not tuned"
    return algorithm_words(c.use.collective, c.best) if c.saving > 0 else "the same"


def whole_words(found: Choices) -> str:
    """The program with the algorithms of now and with better ones."""
    now = f"{text(found.before, 's', 3)} with the current algorithms"
    many = found.excerpt
    sure = "" if many is None else f" Both times are estimates from pieces with {percent(many)} of its events."
    if many is not None and (not found.tuned or found.table is None):
        sure = sure.replace("Both times are estimates", "The time is an estimate")
    if not found.tuned:
        return f"The program takes {now}; no others were tried.{sure}"
    if found.table is None:
        return f"The program takes {now}; no others that were tried make it faster.{sure}"
    part = found.saving / found.before
    kinds = " and ".join(found.table.collectives)
    return (
        f"The program takes {now}, {text(found.after, 's', 3)} ({percent(part)} less) with better ones for {kinds}."
        + sure
    )


def source_words(found: Choices) -> str:
    """Whose decisions count now."""
    return f"those given, otherwise {found.library}" if found.given else str(found.library)
