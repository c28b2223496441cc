"""The grammar of what is named in one line: ``NAME|FILE:key=value,...``.

It is the same for machines, collectives, algorithms, schedules, tables and noise. A NAME or FILE comes first; behind a
colon stand parameters as ``key=value``, separated by commas. Commas within brackets belong to the value, as in
``nodes=nid[1,3]``. A file whose own name has a colon is taken as it is where it exists.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from . import units
from .errors import InvalidInput


@dataclass(frozen=True)
class Named:
    """A name or file, and the text of its parameters.

    Attributes
    ----------
    name : str
    parameters : str
        What stands behind the colon; empty where there is none.
    text : str
        All of it, for messages.
    """

    name: str
    parameters: str
    text: str

    def values(self, *allowed: str, first: str = "") -> dict[str, str]:
        """The parameters by key; see :func:`pairs`."""
        return pairs(self.text, self.parameters, allowed, first)


def named(text: str) -> Named:
    """Take ``NAME|FILE:key=value,...`` apart.

    Examples
    --------
    >>> named("cielo:cores=8,L=2us")
    Named(name='cielo', parameters='cores=8,L=2us', text='cielo:cores=8,L=2us')
    """
    ends = [found.start() for found in re.finditer(":", text)]
    if not ends or os.path.exists(text):
        return Named(text, "", text)
    # A path may have colons of its own: the longest head that is a file counts, otherwise the first colon.
    end = next((end for end in reversed(ends) if os.path.exists(text[:end])), ends[0])
    return Named(text[:end], text[end + 1 :], text)


def split(text: str) -> list[str]:
    """Parts between commas that are not in brackets, without blanks around them."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def pairs(text: str, rest: str, allowed: tuple[str, ...], first: str = "") -> dict[str, str]:
    """key=value, separated by commas; ``first`` is the key of a value that comes first and has none.

    Raises
    ------
    InvalidInput
        For an unknown key, one that is given twice, and a part without key or value.
    """
    out: dict[str, str] = {}
    for i, part in enumerate(filter(None, split(rest))):
        key, equals, value = (word.strip() for word in part.partition("="))
        if first and i == 0 and not equals:
            key, value = first, part
        if key not in allowed or not value:
            raise InvalidInput(f"{units.shown(text)}: {units.shown(part)}: must be one of {'=..., '.join(allowed)}=...")
        if key in out:
            raise InvalidInput(f"{units.shown(text)}: {key} is given twice")
        out[key] = value
    return out
