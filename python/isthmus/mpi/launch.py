"""Running a command whose ranks get environment variables, with or without libraries loaded into them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from ..errors import InvalidInput
from .command import Command, launcher_name
from .detection import MPICH, OPEN_MPI, launcher_family


def with_variables(
    command: Command, settings: Mapping[str, str], preload: Path | None = None, last: bool = False
) -> tuple[list[str], dict[str, str]]:
    """Return command line and environment that give variables to the ranks, on other hosts too.

    Parameters
    ----------
    command : Command
        What is to be run.
    settings : mapping
        Environment variables.
    preload : Path, optional
        A library to load into the ranks, and if possible only there.
    last : bool
        Load it behind those that the command or the environment names, rather than before them.
    """
    words = list(command.words)
    environment = dict(os.environ)

    def beside(others: str) -> str:
        return " ".join(filter(None, (others, str(preload)) if last else (str(preload), others)))

    # Another verb around this one has given its library to the launcher, and there is one list.
    lists = _lists(words, (command.launcher or 0) + 1) if preload and command.launcher is not None else {}
    if lists and len(lists) >= (1 if "-genv" in words else len(command.parts)):
        for at, (head, libraries, tail) in lists.items():
            words[at] = head + beside(libraries) + tail
        preload = None
    loaded = beside(environment.get("LD_PRELOAD", "")) if preload else ""
    values = {"LD_PRELOAD": loaded, **settings} if loaded else dict(settings)
    if command.launcher is None:
        return words, environment | values
    path = command.path(command.launcher) or words[command.launcher]
    name, family = launcher_name(words[command.launcher]), launcher_family(path)
    if family == OPEN_MPI:
        # The values are taken from the environment of mpirun but for LD_PRELOAD, which would be loaded into mpirun too.
        environment |= settings
        options = ["-x", f"LD_PRELOAD={loaded}"] if loaded else []
        options += [word for key in settings for word in ("-x", key)]
        for at in reversed(command.parts):
            words[at:at] = options
    elif family == MPICH:
        at = command.parts[0]
        words[at:at] = [word for key, value in values.items() for word in ("-genv", key, value)]
    elif name == "srun":
        environment |= settings
        at = command.parts[0]
        given = next((i for i in range(at, len(words)) if words[i].startswith("--export=")), None)
        if given is None:
            words.insert(at, f"--export=ALL,LD_PRELOAD={loaded}" if loaded else "--export=ALL")
        else:
            words[given] += "".join(f",{key}={value}" for key, value in values.items())
    else:
        environment |= values
    return words, environment


def _lists(words: Sequence[str], begin: int) -> dict[int, tuple[str, str, str]]:
    """Words by which a launcher is told what to load into the ranks, as what is before the libraries, they, and what
    is behind."""
    found = {}
    for at in range(begin, len(words)):
        if words[at - 1] == "-x" and words[at].startswith("LD_PRELOAD="):
            head, _, libraries = words[at].partition("=")
            found[at] = f"{head}=", libraries, ""
        elif list(words[at - 2 : at]) == ["-genv", "LD_PRELOAD"]:
            found[at] = "", words[at], ""
        elif match := re.fullmatch("(--export=(?:.*,)?LD_PRELOAD=)([^,]*)(.*)", words[at]):
            found[at] = match[1], match[2], match[3]
    return found


def loadable(library: Path, folder: Path) -> Path:
    """Return a library under a path that LD_PRELOAD takes, which is a list with blanks and colons between.

    Raises
    ------
    InvalidInput
        If there is no such path: neither its own nor one in the folder, where a link to it is made.
    """
    for path in (library, folder / library.name):
        if not set(str(path)) & set(" :,"):
            if path != library:
                path.symlink_to(library)
            return path
    raise InvalidInput(
        f"{library}: LD_PRELOAD cannot take a path with blanks, colons or commas: set XDG_CACHE_HOME to another folder"
    )


def run(words: list[str], environment: Mapping[str, str], stdout: int | None = None) -> int:
    """Run a command to its end; forward signals that ask it to stop, and still wait for it.

    Returns
    -------
    int
        Its exit status as shells give it: 128 and the number of the signal that ended it. A launcher that was told to
        end and says that all went well (MPICH's does at times) has ended by that signal too.
    """
    process = subprocess.Popen(words, env=dict(environment), stdout=stdout)
    with forwarding([process]) as told:
        status = process.wait()
    if status == 0 and told:
        return 128 + told[0]
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def forwarding(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[list[int]]:
    """Forward signals that ask this process to stop to others, also to those that are added; gives the list of them."""
    told: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        told.append(number)
        # Ctrl-C on a terminal has reached the command already, and a second one would be a harsher order.
        if not (number == signal.SIGINT and _in_foreground()):
            for process in processes:
                process.send_signal(number)

    old = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError):  # not in the main thread
                old[number] = signal.signal(number, forward)
        yield told
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
