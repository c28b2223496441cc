"""The text that dumpi2ascii of SST DUMPI prints of one rank: calls with their arguments, header and footer.

    MPI_Isend entering at walltime 1296777956.739674000, cputime 0.008347000 seconds in thread 0.
    int count=1
    MPI_Datatype datatype=9 (MPI_INT)
    MPI_Request request=[2]
    MPI_Isend returning at walltime 1296777956.739689000, cputime 0.008362000 seconds in thread 0.

Lists stand in brackets, ``<IGNORED>`` stands for what was not recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...errors import ParseError
from ...units import shown

_CALL = re.compile(
    r"(MPIX?_\w+) (entering|returning) at walltime (-?\d{1,20})\.(\d{9}), "
    r"cputime (-?\d{1,20})\.(\d{9}) seconds in thread (\d{1,9})\.$"
)
_ARGUMENT = re.compile(r"[\w ]*?(\w+)(?:\[-?\d+\])*=(.*)$")
_NUMBER = re.compile(r"-?\d+")
_WORDS = re.compile(r"\([^)]*\)")
_STATUS = re.compile(r"\{bytes=(-?\d+), cancelled=(-?\d+), source=(-?\d+), tag=(-?\d+), error=(-?\d+)\}")
_SIZE = re.compile(r"Datatype (\d{1,10}) \(.*\) has size (-?\d{1,18})$")
_COUNT = re.compile(r"MPIX?_\w+ called (\d{1,15}) times and ignored (\d{1,15}) times$")
#: Sizes (bytes) and times (nanoseconds, of the 22nd century) from here on are none: sums and differences fit 64 bits.
MOST = 1 << 60
MOST_TIME = 1 << 62


@dataclass(frozen=True, slots=True)
class Status:
    bytes: int
    cancelled: bool
    source: int
    tag: int


@dataclass(slots=True)
class Call:
    """One call; times are nanoseconds."""

    line: int
    name: str
    thread: int
    begin: int
    cpu_begin: int
    end: int = 0
    cpu_end: int = 0
    arguments: dict[str, str] = field(default_factory=dict)


class Arguments:
    """Arguments of a call by name.

    Parameters
    ----------
    path : str
        For messages.
    """

    def __init__(self, path: str, call: Call) -> None:
        self.path = path
        self.call = call

    def number(self, name: str) -> int:
        """A number, or a handle."""
        found = _NUMBER.search(self._text(name))
        if found is None:
            raise self.wrong(name, f"{self._text(name)!r} is not a number")
        return self._int(name, found.group())

    def numbers(self, name: str) -> list[int]:
        """A list of numbers; empty where it was not recorded."""
        return [self._int(name, number) for number in _NUMBER.findall(_WORDS.sub("", self._text(name)))]

    def statuses(self, name: str) -> list[Status]:
        """Statuses; empty where they were not recorded."""
        found = []
        for numbers in _STATUS.findall(self._text(name)):
            size, cancelled, source, tag, _ = (self._int(name, number) for number in numbers)
            found.append(Status(size, cancelled != 0, source, tag))
        return found

    def size(self, name: str, size: int) -> int:
        """Bytes that follow from this argument, checked."""
        if not 0 <= size < MOST:
            raise self.wrong(name, f"{shown(size)} bytes: must be 0 to {MOST - 1}")
        return size

    def _int(self, name: str, text: str) -> int:
        if len(text) > 11 or not -(1 << 31) <= int(text) < 1 << 31:
            raise self.wrong(name, f"{text[:30]} is not a 32-bit number, as arguments of MPI must be")
        return int(text)

    def has(self, name: str) -> bool:
        return name in self.call.arguments

    def _text(self, name: str) -> str:
        if name not in self.call.arguments:
            raise self.wrong(name, "the argument is missing")
        return self.call.arguments[name]

    def wrong(self, name: str, message: str) -> ParseError:
        """The error to raise."""
        return ParseError(self.path, self.call.line, f"{self.call.name} {name}", message)


class RankText:
    """Reads the file of one rank; what is not of a call is there when all calls are read.

    Attributes
    ----------
    sizes : dict of int to int
        Bytes of datatypes (``dumpi2ascii -X``).
    header : dict of str to str
    ignored : int
        Calls that dumpi did not record.
    whole : bool
        Whether the last call is there to its end.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.sizes: dict[int, int] = {}
        self.header: dict[str, str] = {}
        self.ignored = 0
        self.whole = True

    def calls(self) -> Iterator[Call]:
        """Calls in their order.

        Raises
        ------
        ParseError
            For a call that ends before it begins, or an argument that is none.
        """
        call: Call | None = None
        last = ""
        with open(self.path, encoding="utf-8", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                text = line.rstrip("\n")
                if found := _CALL.match(text):
                    name, what, *times, thread = found.groups()
                    wall, cpu = (int(times[i]) * 10**9 + int(times[i + 1]) for i in (0, 2))
                    if not -MOST_TIME < wall < MOST_TIME or not -MOST_TIME < cpu < MOST_TIME:
                        raise ParseError(self.path, number, name, f"a time of more than {MOST_TIME // 10**9} s")
                    if what == "entering":
                        self.whole &= call is None
                        call = Call(number, name, int(thread), wall, cpu)
                    elif call is None or call.name != name:
                        raise ParseError(self.path, number, name, "the call returns but was never entered")
                    else:
                        call.end, call.cpu_end = wall, cpu
                        yield call
                        call = None
                elif call is not None:
                    last = self._argument(call, text, last, number)
                else:
                    self._other(text)
        self.whole &= call is None

    def _argument(self, call: Call, text: str, last: str, number: int) -> str:
        # Rows of two-dimensional lists stand on lines of their own, the next argument behind the last bracket.
        if text.startswith(", [") and last:
            call.arguments[last] += text
            return last
        found = _ARGUMENT.match(text.removeprefix("]"))
        if found is None:
            if text.startswith("string ") or not text.strip() or last.startswith("argv"):
                return last
            raise ParseError(self.path, number, call.name, f"{text[:60]!r} is not an argument")
        call.arguments[found.group(1)] = found.group(2)
        return found.group(1)

    def _other(self, text: str) -> None:
        if found := _SIZE.match(text):
            self.sizes[int(found.group(1))] = int(found.group(2))
        elif found := _COUNT.match(text):
            self.ignored += int(found.group(2))
        elif "=" in text:
            key, _, value = text.partition("=")
            self.header.setdefault(key, value)
