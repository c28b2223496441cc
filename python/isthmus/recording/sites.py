"""Places in the program: addresses become functions and "file.c:57" by addr2line of GNU binutils, where it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Literal, NamedTuple

from .raw import Place

# Programs that are looked up in are given up after so long.
_SECONDS = 60
#: A line of a header of libisthmus, which has parts of calls that are carried out where they are called.
_OWN = re.compile(r"/include/isthmus/[\w.]+:\d+")
# Procedures of Fortran modules as gfortran and flang, and as Intel's and NVIDIA's compilers name them.
_FORTRAN = re.compile(
    r"__(?P<module>\w+?)_MOD_(?P<name>\w+)|_QM(?P<flang>\w+?)P(?P<flang_name>\w+)|(?P<intel>\w+)_mp_(?P<intel_name>\w+?)_"
)


class Site(NamedTuple):
    """A place, the same in all processes; ``line``: ``offset`` is one of the file ``module``."""

    module: str
    offset: int
    symbol: str
    line: bool = False

    def __str__(self) -> str:
        if self.line:
            return f"{os.path.basename(self.module)}:{self.offset}"
        if not self.module and not self.offset:
            return self.symbol or "unknown"
        name = f"{os.path.basename(self.module) or 'unknown'}+{self.offset:#x}"
        return f"{name} ({self.symbol})" if self.symbol else name


class Frame(NamedTuple):
    """The description of a place for people.

    Parameters
    ----------
    text : str
        "file.c:57", or module, offset and symbol.
    function : str
        Name of the function around it; empty: not known.
    module : str
        File that the code is in: program, library, or source in Python.
    """

    text: str
    function: str
    module: str


class Sites:
    """Numbers of places, which become texts at the end."""

    def __init__(self) -> None:
        self._number: dict[Site, int] = {}

    def numbers(self, places: dict[int, Place]) -> dict[int, int]:
        """For the ids of one file the numbers of their places."""
        return {id: self[place] for id, place in places.items()}

    def __getitem__(self, place: Place) -> int:
        line = bool(place.module and place.offset and not place.address)
        site = Site(place.module, place.offset if place.module else place.address, place.symbol, line)
        return self._number.setdefault(site, len(self._number))

    def texts(self) -> list[str]:
        """A text for every number: "file.c:57", or module, offset and symbol."""
        return [frames[0].text for frames in self.frames()]

    def frames(self) -> list[tuple[Frame, ...]]:
        """For every number the place, and after it the places that its function was inlined to."""
        sites = list(self._number)
        found: dict[Site, list[tuple[str, str]]] = {}
        by_module: dict[str, list[Site]] = {}
        for site in sites:
            if not site.line:
                by_module.setdefault(site.module, []).append(site)
        for module, of_module in by_module.items():
            found |= zip(of_module, _looked_up(module, of_module), strict=False)
        names = [site.symbol for site in sites] + [name for lines in found.values() for name, _ in lines]
        readable = dict(zip(names, _demangled(names), strict=True))
        return [tuple(_frames(site, found.get(site, []), readable)) for site in sites]


def _frames(site: Site, lines: list[tuple[str, str]], readable: dict[str, str]) -> list[Frame]:
    symbol = readable[site.symbol]
    # Without line numbers a table of symbols may still know the function, a stripped one knows exported ones only.
    names = [readable[name] or (symbol if i == len(lines) - 1 else "") for i, (name, _) in enumerate(lines)]
    frames = [Frame(text, name, site.module) for name, (_, text) in zip(names, lines, strict=True) if text]
    name = names[-1] if names else symbol
    return frames or [Frame(str(site._replace(symbol=symbol or name)), name, site.module)]


def _looked_up(module: str, sites: list[Site]) -> list[list[tuple[str, str]]]:
    """For every place the symbol of its function and "file.c:57", then those it was inlined to; empty: not known."""
    if not os.path.isfile(module):
        return []
    # A call returns to the instruction after it, which may be of the next line.
    addresses = [f"{max(site.offset - 1, 0):#x}" for site in sites]
    known = _has_symbols(module)
    out: list[list[tuple[str, str]]] = []
    name, own = "", False
    for line in _filtered(["addr2line", "-a", "-f", "-i", "-e", module], addresses):
        if line.startswith("0x") and not name:
            out.append([])
            own = False
        elif not name:
            name = line
        elif out:
            place = _line(line)
            if own:  # what libisthmus does in its headers belongs to the line of the program that it was inlined to
                out[-1].pop()
            own = _OWN.search(line) is not None and (own or not out[-1])
            out[-1].append((name if name != "??" and (known or place) else "", place))
            name = ""
    return out if len(out) == len(sites) else []


def _has_symbols(module: str) -> bool:
    """Whether an ELF file has a table of all its symbols; with those it exports alone, others pass for the next one."""
    try:
        with open(module, "rb") as file:
            head = file.read(64)
            if head[:5] != b"\x7fELF\x02":
                return True
            order: Literal["little", "big"] = "little" if head[5] == 1 else "big"
            at, size, number = (int.from_bytes(head[a:b], order) for a, b in ((40, 48), (58, 60), (60, 62)))
            file.seek(at)
            table = file.read(size * number)
    except OSError:
        return False
    return any(int.from_bytes(table[i + 4 : i + 8], order) == 2 for i in range(0, len(table) - 7, max(size, 1)))


def _line(text: str) -> str:
    path, _, number = text.split(" (discriminator")[0].rpartition(":")
    return f"{os.path.basename(path)}:{number}" if number.isdigit() and number != "0" and path != "??" else ""


def _demangled(symbols: list[str]) -> list[str]:
    """Names as they stand in sources of C++ and Fortran, without types of arguments."""
    names = symbols
    if any(symbol.startswith("_Z") for symbol in symbols):
        filtered = _filtered(["c++filt", "-p"], [symbol or "-" for symbol in symbols])
        if len(filtered) == len(symbols):
            names = [name if symbol else "" for name, symbol in zip(filtered, symbols, strict=True)]
    return [_fortran(name) for name in names]


def _fortran(name: str) -> str:
    """``message_passing::mp_sum`` for the symbol of a procedure in a module; other names as they are."""
    name = re.sub(r"\.(constprop|part|isra|cold|_omp_fn)\.?\d*", "", name)
    if name in ("MAIN__", "MAIN_", "_QQmain"):
        return "main program"
    found = _FORTRAN.fullmatch(name)
    return "::".join(part.lower() for part in found.groups() if part) if found else name


def _filtered(command: list[str], lines: list[str]) -> list[str]:
    """The output of a tool of GNU binutils for these lines; empty if the tool is missing or fails."""
    tool = shutil.which(command[0])
    if tool is None:
        return []
    text = "".join(f"{line}\n" for line in lines)
    try:
        done = subprocess.run(
            [tool, *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.splitlines()
