"""Words and inserted text laid out so that every word stands on the line of the user's file where it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .tokens import Token

#: Words of the user and text between them, in lists of any depth.
Pieces = list[Any]


def flat(pieces: Iterable[Any]) -> Iterable[str | Token]:
    for piece in pieces:
        if isinstance(piece, list):
            yield from flat(piece)
        else:
            yield piece


def text_of(pieces: Pieces) -> str:
    """On one line."""
    return " ".join(piece if isinstance(piece, str) else piece.text for piece in flat(pieces))


def layout(pieces: Pieces) -> str:
    """The file, with line markers."""
    out: list[str] = []
    file, line, glued = "", 0, False
    for piece in flat(pieces):
        if isinstance(piece, str):
            out.append(" ")
            out.append(piece)
            glued = False
            continue
        if piece.kind == "end":
            continue
        if piece.file != file or piece.line != line:
            if piece.file == file and line < piece.line <= line + 4:
                out.append("\n" * (piece.line - line))
            else:
                name = piece.file.replace("\\", "\\\\").replace('"', '\\"')
                out.append(f'\n# {piece.line} "{name}"\n')
            file, line = piece.file, piece.line
        elif piece.space or not glued:
            out.append(" ")
        if piece.kind == "pragma":
            out.append(f"\n{piece.text}\n")
            line = -1
        else:
            out.append(piece.text)
            line += piece.text.count("\n")
        glued = True
    out.append("\n")
    return "".join(out)
