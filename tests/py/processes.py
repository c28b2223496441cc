"""Processes that are interrupted."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def used(number: int) -> float:
    """Seconds that a process has computed so far."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def hear() -> None:
    """A shell starts what is in the background with interrupts ignored, and so all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
