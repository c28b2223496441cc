"""A preprocessed UPC program becomes C."""

from __future__ import annotations

import sys

from .emit import Emission
from .emit_local import PLAIN, Improve
from .statements import Parser
from .tokens import tokens_of
from .writer import layout


def translate(
    text: str, file: str, threads: int | None = None, improve: Improve = PLAIN, report: list[str] | None = None
) -> str:
    """Return a preprocessed file of UPC as one of C.

    Parameters
    ----------
    text : str
        What the preprocessor of a C compiler wrote, with line markers.
    file : str
        Its name, for messages.
    threads : int, optional
        The number of threads, where it is fixed; otherwise THREADS is known when the program runs.

    improve : Improve, optional
        What is done for speed; by default nothing.
    report : list of str, optional
        Takes a line for every loop and access that was or could not be improved.

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
        emission = Emission(parser.tokens, threads, improve)
        written = layout(emission.program(nodes))
        if report is not None:
            report += emission.report
        return written
    finally:
        sys.setrecursionlimit(limit)
