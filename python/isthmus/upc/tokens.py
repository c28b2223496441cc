"""Words of a preprocessed C program, with the places where the user wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(
    r"(?P<space>[ \t\f\v\r]+|\\\n)"
    r"|(?P<newline>\n)"
    r"|(?P<line>(?<![^\n])[ \t]*\#[^\n]*)"
    r"|(?P<comment>/\*.*?\*/|//[^\n]*)"
    r'|(?P<string>(?:L|u8|u|U)?"(?:[^"\\\n]|\\.)*")'
    r"|(?P<character>(?:L|u|U)?'(?:[^'\\\n]|\\.)*')"
    r"|(?P<name>[A-Za-z_$\x80-\U0010ffff][\w$]*)"
    r"|(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)"
    r"|(?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[][(){}.&*+~!/%<>^|?:;=,\-])"
    r"|(?P<other>.)",
    re.S,
)
_MARKER = re.compile(r'\s*#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"([ \d]*)')
#: Names of C in the headers of a system, words of UPC elsewhere.
_OF_UPC = frozenset(["shared", "strict", "relaxed"])


class Token:
    """One word."""

    __slots__ = ("column", "file", "kind", "line", "space", "text")

    def __init__(self, kind: str, text: str, file: str, line: int, column: int, space: bool) -> None:
        self.kind = (
            kind  #: string, character, name, plain (a name that would be a word of UPC), number, sign, pragma, end
        )
        self.text = text
        self.file = file
        self.line = line
        self.column = column
        self.space = space  #: whether a space stands before it

    def __repr__(self) -> str:
        return f"{self.text!r} at {self.file}:{self.line}"


def words_of(line: str) -> Iterator[tuple[int, str]]:
    """Words of one line and where they begin."""
    for match in _WORD.finditer(line):
        if match.lastgroup not in ("space", "newline", "comment"):
            yield match.start(), match.group()


def tokens_of(text: str, file: str) -> list[Token]:
    """All words of a preprocessed file; pragmas are one word each, and the last one is the end."""
    found: list[Token] = []
    line, begin, space, start, system = 1, 0, False, file, False
    for match in _WORD.finditer(text):
        kind = match.lastgroup or "other"
        word = match.group()
        if kind == "newline":
            line += 1
            begin = match.end()
            space = True
        elif kind in ("space", "comment"):
            space = True
            line += word.count("\n")
        elif kind == "line":
            marker = _MARKER.match(word)
            if marker:
                line = int(marker[1]) - 1
                file = re.sub(r"\\(.)", r"\1", marker[2])
                system = "3" in marker[3].split()
                if file == "<stdin>":
                    file = start
            elif word.lstrip(" \t#").startswith("pragma"):
                found.append(Token("pragma", word.strip(), file, line, 1, True))
        else:
            if system and word in _OF_UPC:
                kind = "plain"
            found.append(Token(kind, word, file, line, match.start() - begin + 1, space))
            space = False
    found.append(Token("end", "", file, line, 1, True))
    return found
