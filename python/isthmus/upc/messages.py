"""What a program is refused for, at its place in the user's source."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput
from .tokens import Token, words_of


def place(token: Token, before: int) -> str:
    """``file:line:column``; ``before``: tokens with the same text that stand before it on the line."""
    column = token.column
    try:
        line = Path(token.file).read_text(errors="replace").splitlines()[token.line - 1]
    except (OSError, IndexError):
        return f"{token.file}:{token.line}:{column}"
    # The preprocessor leaves one space where there were many: the word is looked up in the line as it was written.
    at = [start for start, text in words_of(line) if text == token.text]
    if at:
        column = at[min(before, len(at) - 1)] + 1
    return f"{token.file}:{token.line}:{column}"


class UpcError(InvalidInput):
    """A program that UPC does not allow, or that cannot be read."""
