"""Errors of the Python layer; every message says what was got and what is allowed."""

from __future__ import annotations


class InvalidInput(ValueError):
    """A wrong argument or an infeasible request."""


class Unsupported(NotImplementedError):
    """A valid request that this object cannot serve; the message names the alternative."""


class ParseError(ValueError):
    """A malformed file.

    Parameters
    ----------
    file : str
        Path of the file as the caller gave it.
    line : int or None
        Line of the defect, counted from 1; None if the defect is of the file as a whole.
    field : str or None
        Key, attribute or record at fault, as it is spelled in the file.
    message : str
        One sentence: what was got and what is allowed.

    Examples
    --------
    >>> print(ParseError("topology.conf", 12, "SwitchName=s3", "no such child switch 's9'"))
    topology.conf:12: SwitchName=s3: no such child switch 's9'
    """

    def __init__(self, file: str, line: int | None, field: str | None, message: str) -> None:
        # All four go to args, so that the error survives pickling between processes.
        super().__init__(file, line, field, message)
        self.file = file
        self.line = line
        self.field = field
        self.message = message

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (where, self.field, self.message) if part)
