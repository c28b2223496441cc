"""Files of ranks that name one node as a machine file does, made to name this computer."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from pathlib import Path

from ..mapping.launch.starting import looked_at, names_hosts

#: What comes before the name of a host in a line, and the name.
_NAMES = {
    "rankfile": re.compile(r"^(\s*rank\s+\d+\s*=\s*)([^\s#]+)", re.MULTILINE),
    "hostfile": re.compile(r"^(\s*)([^\s#]+)", re.MULTILINE),
    "hydra": re.compile(r"^(\s*)([^\s:#]+)", re.MULTILINE),
}
#: Set where a batch system says which hosts there are.
_BATCH = ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE", "COBALT_NODEFILE")


def at_home(file: str | os.PathLike[str], words: Sequence[str], folder: Path) -> str | os.PathLike[str]:
    """Return a file of ranks whose host the launcher can reach.

    ``isthmus map`` takes the names of nodes from the machine; where that has none, they are ``node0`` and so on. Ranks
    that are all on one such node can only be on this computer if nobody else says which hosts there are.

    Parameters
    ----------
    file : path
        In any format that :func:`isthmus.mapping.launch.starting.starting` takes.
    words : sequence of str
        The launcher with its options.
    folder : Path
        For a file with the name of this computer.
    """
    pattern = _NAMES.get(looked_at(file)[0])
    if pattern is None or names_hosts(words) or any(os.environ.get(name) for name in _BATCH):
        return file
    text = Path(file).read_text(encoding="utf-8-sig")
    names = {found[2] for found in pattern.finditer(text)}
    here = socket.gethostname()
    if len(names) != 1 or _is_known(name := names.pop(), here):
        return file
    out = folder / "ranks-here"
    out.write_text(pattern.sub(lambda found: found[1] + (here if found[2] == name else found[2]), text))
    return out


def _is_known(name: str, here: str) -> bool:
    if name in (here, here.partition(".")[0], "localhost"):
        return True
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True
