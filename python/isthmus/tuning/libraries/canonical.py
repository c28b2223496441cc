"""Choices written in one way: what does the same is equal."""

from __future__ import annotations

import functools

from ...errors import InvalidInput
from ...schedule.event import ROOTED
from ..choice import Choice, Option

# Trees of a general family that have a name of their own: (collectives, name) -> family and the radix it stands for.
_ROOTED = tuple(kind.name for kind in ROOTED)
_SPECIAL: dict[tuple[str, str], tuple[str, int]] = {
    **{(kind, "binomial"): ("knomial", 2) for kind in (*_ROOTED, "barrier")},
    **{(kind, "binary"): ("kary", 2) for kind in ("bcast", "reduce")},
    **{(kind, name): ("chain", 1) for kind in ("bcast", "reduce") for name in ("pipeline", "ring")},
    ("allgather", "dissemination"): ("bruck", 2),
    ("allreduce", "recursive_doubling"): ("recursive_multiplying", 2),
    ("allreduce", "binomial"): ("reduce_bcast", 2),
    ("reduce_scatter", "recursive_doubling"): ("recursive_multiplying", 2),
}
#: Special names that have no segments of their own.
_WHOLE = ("binomial", "ring")
#: Special names that say less than their family.
_PLAIN = ("ring", "dissemination")


def canonical(collective: str, choice: Choice) -> Choice:
    """The choice with all its options, defaults too, special trees as those of their family.

    Examples
    --------
    >>> print(canonical("bcast", Choice("binomial")))
    knomial,radix=2,segment=0
    """
    options = {**_defaults(collective, choice.name), **choice.options}
    name = choice.name
    family = _SPECIAL.get((collective, name))
    if family is not None:
        options = {"radix": family[1], **({"segment": 0} if _segmented(collective) else {}), **options}
        if name in _WHOLE:
            options["segment"] = 0
        name = family[0]
    if collective == "barrier" and name == "nway" and isinstance(options.get("radix"), int):
        name, options = "dissemination", {**options, "radix": int(str(options["radix"])) + 1}
    if (collective, name) == ("allreduce", "segmented_ring") and options.get("segment") == 0:
        name, options = "ring", {}
    if options.get("segment") == 0 and not _segmented(collective) and "segment" not in _defaults(collective, name):
        del options["segment"]
    # Receives ahead of the additions matter to segments only.
    if collective == "reduce" and options.get("segment") == 0:
        options.pop("window", None)
    return Choice(name, options)


def pretty(collective: str, choice: Choice) -> Choice:
    """The shortest way to write a choice: special names, no options that are defaults."""
    full = canonical(collective, choice)
    named = dict(full.options)
    for (kind, name), (family, radix) in _SPECIAL.items():
        if kind != collective or family != full.name or named.get("radix") != radix:
            continue
        if not _known(kind, name) or (name in _WHOLE and named.get("segment", 0) != 0):
            continue
        if name in _PLAIN and _known(kind, family):
            continue
        rest = {
            key: value for key, value in named.items() if key != "radix" and not (name in _WHOLE and key == "segment")
        }
        return Choice(name, _without_defaults(kind, name, rest))
    return Choice(full.name, _without_defaults(collective, full.name, named))


def _without_defaults(collective: str, name: str, options: dict[str, Option]) -> dict[str, Option]:
    standard = _defaults(collective, name)
    # Radixes are shown always: nobody knows the default.
    return {key: value for key, value in options.items() if key in ("radix", "segment") or standard.get(key) != value}


def _segmented(collective: str) -> bool:
    return collective in ("bcast", "reduce")


@functools.cache
def _defaults(collective: str, name: str) -> dict[str, Option]:
    """Options of an algorithm as they are where they are not given; none for names that Isthmus does not know."""
    from ...collectives import describe

    try:
        info = describe(collective, name)
    except InvalidInput:
        return {}
    return {
        option.name: option.standard
        for option in info.options
        if option.standard is not None and option.name in ("radix", "segment", "window")
    }


@functools.cache
def _known(collective: str, name: str) -> bool:
    from ...collectives import algorithms

    return name in algorithms(collective)
