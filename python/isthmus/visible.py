"""Text for terminals: control characters of names are shown, not sent, as they move and hide things; bars of blocks."""

from __future__ import annotations

import io
import re

# C0 (but tab and newline), DEL, C1, and what turns the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# Headings of tables are bold on a terminal; nothing else is sent there.
_OURS = re.compile("(\x1b\\[[01]m)")
_BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"


def visible(text: str) -> str:
    r"""The text with control characters written out, as ``\x1b``.

    Examples
    --------
    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def guard(stream: io.TextIOWrapper) -> None:
    """Let a stream write out control characters from now on."""
    if "write" in vars(stream):
        return  # it does
    write = stream.write

    def guarded(text: str) -> int:
        if not _CONTROL.search(text):
            return write(text)
        parts = _OURS.split(text)
        return write("".join(part if i % 2 else visible(part) for i, part in enumerate(parts)))

    stream.write = guarded  # type: ignore[method-assign]


def bar(share: float, width: int = _BAR) -> str:
    """A bar of blocks, an eighth of a character exact."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
