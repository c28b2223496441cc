"""One choice: an algorithm of a collective with its options."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..collectives.flavours import KEYS
from ..errors import InvalidInput
from ..units import shown

#: What an option may be: a number, a word, or extents such as those of a torus.
Option = int | float | str | tuple[int, ...]
#: A name, or a name with options, as the argument ``algorithm`` of :func:`isthmus.collective`.
Argument = str | tuple[str, dict[str, Option]]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ .+-]*")
_KEY = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Choice:
    """An algorithm and its options, as :func:`isthmus.collective` takes them.

    Parameters
    ----------
    name : str
        Name of the algorithm, such as ``"knomial"``.
    options : mapping of str to int, float, str or sequence of int
        Options such as ``{"radix": 4, "segment": 8192}``, sorted by name so that equal choices compare equal.
        ``access``, ``sync`` and ``protocol`` among them are its flavour.

    Examples
    --------
    >>> print(Choice("knomial", {"segment": 8192, "radix": 4}))
    knomial,radix=4,segment=8192
    """

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise InvalidInput(f"algorithm {shown(self.name)}: expected a name of letters, digits and _")
        if not isinstance(self.options, Mapping):
            raise InvalidInput(
                f"options of {self.name} are {shown(self.options)}: expected a table of names and values"
            )
        plain = {key: _option(self.name, key, self.options[key]) for key in sorted(self.options, key=str)}
        object.__setattr__(self, "options", plain)

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.options.items())))

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{key}={_text(value)}" for key, value in self.options.items())])

    def replace(self, **options: Option) -> Choice:
        """Return the same algorithm with some options changed."""
        return Choice(self.name, {**self.options, **options})

    @property
    def parts(self) -> tuple[Choice, dict[str, str]]:
        """The algorithm with its own options, and its flavour: the options access, sync and protocol."""
        own = {key: value for key, value in self.options.items() if key not in KEYS}
        return Choice(self.name, own), {key: str(value) for key, value in self.options.items() if key in KEYS}

    @property
    def argument(self) -> Argument:
        """The ``algorithm=`` argument of :func:`isthmus.collective`: a name, or a name with options."""
        return (self.name, dict(self.options)) if self.options else self.name

    @classmethod
    def of(cls, value: Any) -> Choice:
        """Make a choice from a choice, a name, a pair of name and options, or the text form.

        Raises
        ------
        InvalidInput
            For anything else.

        Examples
        --------
        >>> Choice.of("ring") == Choice("ring")
        True
        >>> Choice.of("bucket,dims=4x4").options
        {'dims': (4, 4)}
        """
        if isinstance(value, Choice):
            return value
        if isinstance(value, (tuple, list)) and len(value) == 2:
            return cls(value[0], value[1])
        if not isinstance(value, str):
            raise InvalidInput(f"algorithm {shown(value)}: expected a name, with or without options")
        name, *parts = (part.strip() for part in value.split(","))
        options: dict[str, Option] = {}
        for part in parts:
            key, equals, text = part.partition("=")
            if not equals or not text or key in options:
                raise InvalidInput(f"algorithm {shown(value)}: option {shown(part)} is not a new NAME=VALUE")
            options[key] = _read(text)
        return cls(name, options)


#: What a library decides by itself: in tables for exporters, which leave these sizes alone.
LIBRARY = Choice("library")


def _option(algorithm: str, key: Any, value: Any) -> Option:
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidInput(f"option {shown(key)} of {algorithm}: expected a name of small letters, digits and _")
    if isinstance(value, str) and value and not set(value) & set(",=\n"):
        return value
    if isinstance(value, float):
        return value
    try:
        if isinstance(value, (list, tuple)) and value:
            return tuple(operator.index(item) for item in value)
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InvalidInput(
        f"option {key} of {algorithm} is {shown(value)}: expected a number, a word or a list of whole numbers"
    )


def _text(value: Option) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read(text: str) -> Option:
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"[0-9]{1,9}(x[0-9]{1,9})+", text):
        return tuple(map(int, text.split("x")))
    try:
        return float(text)
    except ValueError:
        return text
