"""Flavours of collectives: how data move, how ranks synchronise, and how many calls are in progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..schedule.schedule import together

if TYPE_CHECKING:
    from ..schedule.schedule import Schedule
    from .registry import Choice

ACCESSES = ("message", "put", "get")
SYNCS = ("none", "my", "all")
PROTOCOLS = ("size", "eager", "rendezvous")
#: What may stand beside the options of an algorithm.
KEYS = ("access", "sync", "protocol")
_NAMES = {"access": ACCESSES, "sync": SYNCS, "protocol": PROTOCOLS}
#: As the core numbers them where it lowers programs.
_NUMBERS = ("size", "eager", "rendezvous", "put", "put asked", "get")


def split(algorithm: Choice | None) -> tuple[Choice | None, dict[str, Any]]:
    """An algorithm with its own options, and what they say of its flavour.

    Examples
    --------
    >>> split(("binomial", {"access": "put"}))
    ('binomial', {'access': 'put'})
    """
    if algorithm is None or isinstance(algorithm, str) or not isinstance(algorithm, Sequence) or len(algorithm) != 2:
        return algorithm, {}
    name, options = algorithm[0], algorithm[1]
    if not isinstance(options, Mapping) or not any(key in options for key in KEYS):
        return algorithm, {}
    own = {key: value for key, value in options.items() if key not in KEYS}
    return (name, own) if own else name, {key: options[key] for key in KEYS if key in options}


def combinations(words: Sequence[str] | None) -> list[dict[str, str]]:
    """Flavours from their words, every one once: protocols go with messages, the synchronisation with puts and gets.

    Examples
    --------
    >>> combinations(["message", "put", "none"])
    [{}, {'access': 'put', 'sync': 'none'}]
    """
    given = list(words or ())
    unknown = [word for word in given if not any(word in names for names in _NAMES.values())]
    if unknown:
        raise InvalidInput(
            f"flavour {unknown[0]!r}: must be one of {', '.join(name for names in _NAMES.values() for name in names)}"
        )
    accesses, syncs, protocols = ([word for word in names if word in given] for names in _NAMES.values())
    found = []
    for access in accesses or ["message"]:
        message = access == "message"
        for protocol in (protocols or ["size"]) if message else ["size"]:
            for sync in syncs or ["my"]:
                # Messages tell of themselves when a buffer is free.
                flavour = {"access": access, "sync": "my" if message and sync == "none" else sync, "protocol": protocol}
                found.append({key: word for key, word in flavour.items() if word != _STANDARD[key]})
    return [flavour for k, flavour in enumerate(found) if flavour not in found[:k]]


def of_mode(mode: str, words: Sequence[str] | None) -> list[dict[str, str]]:
    """Flavours of one mode of synchronisation: how blocks move as the words say, by default in every way.

    Raises
    ------
    InvalidInput
        For words of synchronisation, which the mode says, and for a mode that there is not.

    Examples
    --------
    >>> of_mode("none-my", ["message", "put"])
    [{'access': 'message'}, {'access': 'put', 'sync': 'none-my'}]
    """
    enter, leave = synchronisation(mode)
    for word in (enter, leave):
        if word not in SYNCS:
            raise InvalidInput(f"mode {mode!r}: must be none, my, all, or two of them joined by -")
    given = list(words or ())
    if said := [word for word in given if word in SYNCS]:
        raise InvalidInput(f"flavour {said[0]!r}: the mode of synchronisation, {mode}, says it")
    if not any(word in ACCESSES for word in given):
        given += ACCESSES
    found = []
    for flavour in combinations(given):
        access = flavour.get("access", "message")
        # Messages tell of themselves when a buffer is free.
        sides = ["my" if access == "message" and side == "none" else side for side in (enter, leave)]
        sync = sides[0] if sides[0] == sides[1] else "-".join(sides)
        found.append({**flavour, "access": access, **({} if sync == "my" else {"sync": sync})})
    return found


def number(kind: str, flavour: Mapping[str, Any]) -> int:
    """A flavour as the core knows it in a program.

    Raises
    ------
    InvalidInput
        For unknown words, and barriers around a collective, which a program has where it calls them.
    """
    full = {**_STANDARD, **flavour}
    enter, leave = synchronisation(full["sync"])
    _check(full["access"], enter, leave, full["protocol"])
    if "all" in (enter, leave):
        raise InvalidInput(f"sync {full['sync']!r} of {kind}: a program synchronises with its own barriers")
    access = "put asked" if full["access"] == "put" and enter == "my" else full["access"]
    return _NUMBERS.index(full["protocol"] if access == "message" else access)


_STANDARD = {"access": "message", "sync": "my", "protocol": "size"}


def synchronisation(sync: str | Sequence[str]) -> tuple[str, str]:
    """On entry and exit: of "none-all" or ("none", "all"); of one word, the same."""
    if isinstance(sync, str):
        enter, dash, leave = sync.partition("-")
        return (enter, leave) if dash else (enter, enter)
    return (sync[0], sync[1]) if len(sync) == 2 else ("", "")


def _check(access: str, enter: str, leave: str, protocol: str) -> None:
    for name, value in (("access", access), ("sync", enter), ("sync", leave), ("protocol", protocol)):
        if value not in _NAMES[name]:
            raise InvalidInput(f"{name} {value!r}: must be one of {', '.join(_NAMES[name])}")
    if access != "message" and protocol != "size":
        raise InvalidInput(f"protocol {protocol!r} applies to messages, not to access {access!r}")


def flavoured(
    schedule: Schedule,
    barrier: Callable[[], Schedule],
    access: str,
    sync: str | Sequence[str],
    protocol: str,
    count: int,
    under_way: int,
) -> Schedule:
    """The schedule of one collective in a flavour; see :func:`isthmus.collective`, which calls this.

    Parameters
    ----------
    schedule : Schedule
        A schedule of messages.
    barrier : callable
        Makes a barrier of the same ranks.
    """
    enter, leave = synchronisation(sync)
    _check(access, enter, leave, protocol)
    if not 1 <= count <= 1_000_000 or under_way < 0:
        raise InvalidInput(f"count = {count}, under_way = {under_way}: must be 1 to 1,000,000 and 0 or more")
    if access != "message":
        schedule = schedule.one_sided(access, ask=enter == "my", tell=leave != "none")
    elif protocol != "size":
        schedule = schedule.with_protocol(protocol)
    if "all" in (enter, leave):
        around = [barrier()]
        schedule = together(
            [*around * (enter == "all"), schedule, *around * (leave == "all")],
            under_way=1,
        )
    return schedule if count == 1 else together([schedule] * count, under_way=under_way)
