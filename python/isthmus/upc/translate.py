"""A preprocessed UPC program becomes C."""

from __future__ import annotations

import sys

from .emit import Emission
from .statements import Parser
from .tokens import tokens_of
from .writer import layout


def translate(text: str, file: str, threads: int | None = None) -> str:
    """Return a preprocessed file of UPC as one of C.

    Parameters
    ----------
    text : str
        What the preprocessor of a C compiler wrote, with line markers.
    file : str
        Its name, for messages.
    threads : int, optional
        The number of threads, where it is fixed; otherwise THREADS is known when the program runs.

    Raises
    ------
    UpcError
        If UPC does not allow the program: ``file:line:column: why``.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20000))
    try:
        Parser.anonymous = 0
        parser = Parser(tokens_of(text, file), threads)
        nodes = parser.translation_unit()
        return layout(Emission(parser.tokens, threads).program(nodes))
    finally:
        sys.setrecursionlimit(limit)
