"""Places in the program: addresses become "file.c:57" by addr2line of GNU binutils, where it and line numbers exist."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

from .raw import Place

# Programs that are looked up in are given up after so long.
_SECONDS = 60


class Site(NamedTuple):
    """A place, the same in all processes."""

    module: str
    offset: int
    symbol: str

    def __str__(self) -> str:
        if not self.module and not self.offset:
            return self.symbol or "unknown"
        name = f"{os.path.basename(self.module) or 'unknown'}+{self.offset:#x}"
        return f"{name} ({self.symbol})" if self.symbol else name


class Sites:
    """Numbers of places, which become texts at the end."""

    def __init__(self) -> None:
        self._number: dict[Site, int] = {}

    def numbers(self, places: dict[int, Place]) -> dict[int, int]:
        """For the ids of one file the numbers of their places."""
        return {id: self[place] for id, place in places.items()}

    def __getitem__(self, place: Place) -> int:
        site = Site(place.module, place.offset if place.module else place.address, place.symbol)
        return self._number.setdefault(site, len(self._number))

    def texts(self) -> list[str]:
        """A text for every number: "file.c:57", or module, offset and symbol."""
        sites = list(self._number)
        readable = _demangled([site.symbol for site in sites])
        texts = [str(site._replace(symbol=symbol)) for site, symbol in zip(sites, readable, strict=True)]
        by_module: dict[str, list[Site]] = {}
        for site in sites:
            by_module.setdefault(site.module, []).append(site)
        for module, of_module in by_module.items():
            for site, line in zip(of_module, _lines(module, of_module), strict=False):
                if line:
                    texts[self._number[site]] = line
        return texts


def _lines(module: str, sites: list[Site]) -> list[str]:
    """For every place "file.c:57", or nothing where that is not known."""
    if not os.path.isfile(module):
        return []
    # A call returns to the instruction after it, which may be of the next line.
    addresses = [f"{max(site.offset - 1, 0):#x}" for site in sites]
    return [_line(line) for line in _filtered(["addr2line", "-e", module], addresses)]


def _line(text: str) -> str:
    path, _, number = text.split(" (discriminator")[0].rpartition(":")
    return f"{os.path.basename(path)}:{number}" if number.isdigit() and number != "0" and path != "??" else ""


def _demangled(symbols: list[str]) -> list[str]:
    """Names as they stand in C++ sources, without types of arguments."""
    if not any(symbol.startswith("_Z") for symbol in symbols):
        return symbols
    names = _filtered(["c++filt", "-p"], symbols)
    return names if len(names) == len(symbols) else symbols


def _filtered(command: list[str], lines: list[str]) -> list[str]:
    """What a tool of GNU binutils makes of lines; nothing where it is missing or fails."""
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
