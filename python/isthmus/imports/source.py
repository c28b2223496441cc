"""Checks of the text that all importers make before they look at the format."""

from __future__ import annotations

import re

from isthmus.errors import ParseError

# Control characters other than tab, newline, vertical tab, form feed and carriage return, and
# lone surrogates: none of the formats has them, every binary file soon does.
_BINARY = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


def checked_lines(text: str, path: str) -> list[str]:
    """Split text into lines without their ends, refusing empty and binary files.

    Raises
    ------
    ParseError
        The text is empty or holds a character that no text file has.
    """
    check_text(text, path)
    # Not str.splitlines(): it also splits at characters that may stand in a description.
    return text.replace("\r\n", "\n").split("\n")


def check_text(text: str, path: str) -> None:
    """Refuse empty and binary files; see `checked_lines`."""
    if not text.strip():
        raise ParseError(path, None, None, "the file is empty")
    bad = _BINARY.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        raise ParseError(path, line, None, f"character U+{ord(bad.group()):04X} in a text file")


def shown(text: str, length: int = 60) -> str:
    """Quote what was got for a message, cut to a length that leaves the message readable."""
    return repr(text if len(text) <= length else text[: length - 3] + "...")


def listed(names: list[str], most: int = 8) -> str:
    """Join names for a message; of a long list the first ones and the number of the others."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
