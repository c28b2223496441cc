"""Runs of the programs that measure, and what is in their journals."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import mpi_programs
from isthmus.measuring.programs import mpi_program
from isthmus.measuring.samples import Item, Samples, read_journal
from isthmus.mpi.launcher import Ended, Launcher

#: Seconds; items end by their number of samples, long before this. But ranks share cores with other work here, so that
#: a message may take what the kernel gives others first.
BUDGET = 40


def plan(items: Sequence[str], budget: float = BUDGET, samples: str = "4 12", more: str = "") -> str:
    """The text of a plan: items as ``"ID KIND key=value ..."``."""
    head = f"isthmus-plan 1\nbudget {budget}\nsamples {samples}\nseed 3\n{more}"
    return head + "".join(f"item {item}\n" for item in items)


@functools.cache
def undisturbed() -> tuple[str, ...]:
    """What runs two ranks before all other work of the host, where that is permitted and each has a core."""
    words = ("chrt", "--rr", "1")
    allowed = shutil.which("chrt") and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if allowed and len(os.sched_getaffinity(0)) >= 2 else ()


def start(text: str, name: str, ranks: int, folder: Path, before: tuple[str, ...] = ()) -> Ended:
    """Run a plan; its journal is ``journal`` of the folder."""
    (folder / "plan").write_text(text)
    program = mpi_program(mpi_programs.installed(name).mpi)
    launcher = Launcher((*before, *mpi_programs.launcher(name, ranks)), ranks)
    return launcher.run(program, str(folder / "plan"), str(folder / "journal"), limit=120)


def measured(
    items: Sequence[str], name: str, ranks: int, folder: Path, before: tuple[str, ...] = (), **settings: float | str
) -> Samples:
    """The samples of a run that has to succeed."""
    folder.mkdir(exist_ok=True)
    (folder / "journal").unlink(missing_ok=True)
    ended = start(plan(items, **settings), name, ranks, folder, before)  # type: ignore[arg-type]
    assert ended.status == 0, ended.last_words(8)
    journal = (folder / "journal").read_text()
    assert journal.endswith("\nend\n")
    return read_journal(folder / "journal", [Item.parse(item) for item in items], "test")
