"""Errors of the Python layer; every message says what was given and what it must be."""

from __future__ import annotations


class InvalidInput(ValueError):
    """An argument is wrong, or a request cannot be fulfilled."""


class Unsupported(NotImplementedError):
    """The request is valid, but this object does not support it; the message names an alternative."""


class ParseError(ValueError):
    """A file is malformed.

    Parameters
    ----------
    file : str
        Path of the file as the caller gave it.
    line : int or None
        Line of the defect, counted from 1; None if the defect concerns the file as a whole.
    field : str or None
        Key, attribute or record at fault, as spelled in the file.
    message : str
        One sentence: what was given and what it must be.

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
