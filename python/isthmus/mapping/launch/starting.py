"""The options and variables with which a launcher starts ranks where a file places them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import filekinds
from ...errors import InvalidInput, ParseError
from ...imports.source import checked_lines
from . import format_of_line, hydra

#: What takes which files: of a launcher its words for a format and a file, and its variables.
_Start = tuple[Sequence[str], dict[str, str]]


#: Versions of Open MPI before the launcher of PRRTE.
_OLD = ("1.", "2.", "3.", "4.")


def _open_mpi(version: str, format: str, file: str) -> _Start | None:
    new = not version.startswith(_OLD)
    if format == "rankfile":
        return (["--map-by", f"rankfile:file={file}"] if new else ["--rankfile", file]), {}
    if format == "hostfile":
        return (["--map-by", f"seq:file={file}"] if new else ["--map-by", "seq", "--hostfile", file]), {}
    return None


def _slurm(version: str, format: str, file: str) -> _Start | None:
    if format in ("slurm", "hostfile"):
        return ["--distribution=arbitrary"], {"SLURM_HOSTFILE": file}
    if format == "cray":
        return ["-m", "block"], {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": file}
    return None


def _jsrun(version: str, format: str, file: str) -> _Start | None:
    return (["--erf_input", file], {}) if format == "jsrun" else None


def _mpich(version: str, format: str, file: str) -> _Start | None:
    if format != "hydra":
        return None
    text = Path(file).read_text(encoding="utf-8", errors="replace") if file else ""
    scattered = hydra.RANKMAP.search(text)
    if scattered and not has_rankmap("MPICH", version):
        raise InvalidInput(
            f"--placement {file}: ranks of a host do not follow each other, which MPICH {version} cannot start: "
            "MPICH 5 can"
        )
    return ["-f", file, *(["-rankmap", scattered[1]] if scattered else [])], {}


def has_rankmap(family: str | None, version: str) -> bool:
    """Tell whether a launcher starts ranks in any order: MPICH before 5 gives its hosts their ranks one by one."""
    return family != "MPICH" or int(re.match("[0-9]*", version)[0] or 0) >= 5  # type: ignore[index]


@dataclass(frozen=True, slots=True)
class _Launcher:
    """What a launcher reads.

    ``starts`` has its words for a format; ``read`` are its formats in words; ``cores`` and ``nodes`` are the formats,
    and their options, for placements with and without cores; ``instead`` are its options, with a value each, that
    mean the same as a file, and would contradict it.
    """

    starts: Callable[[str, str, str], _Start | None]
    read: str
    cores: tuple[str, dict[str, Any]]
    nodes: tuple[str, dict[str, Any]]
    instead: str = ""


_MPICH_HOSTS = "-f -hosts --hosts -hostfile --hostfile -machinefile --machinefile -host --host"
_LAUNCHERS = {
    "Open MPI": _Launcher(
        _open_mpi,
        "rankfile or hostfile",
        ("rankfile", {}),
        ("hostfile", {}),
        "--map-by -map-by --rank-by -rank-by --npernode -npernode --npersocket -npersocket",
    ),
    "MPICH": _Launcher(
        _mpich,
        "hydra",
        ("hydra", {}),
        ("hydra", {"bind": False}),
        f"{_MPICH_HOSTS} -ppn --ppn -rankmap --rankmap",
    ),
    "srun": _Launcher(_slurm, "slurm, hostfile or cray", ("slurm", {}), ("slurm", {}), "--distribution -m"),
    "jsrun": _Launcher(_jsrun, "jsrun", ("jsrun", {}), ("jsrun", {})),
}
_HOSTS = ("--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile", "-machinefile")
_BINDING = ("--bind-to", "-bind-to", "-map-by", "--map-by")


def names_hosts(words: Sequence[str]) -> bool:
    """Tell whether the words of a launcher say on which hosts ranks are to be."""
    return any(word.partition("=")[0] in (*_HOSTS, *_MPICH_HOSTS.split()) for word in words)


def contradicting(launcher: str | None, family: str | None, version: str, file: str | os.PathLike[str]) -> list[str]:
    """Return the options of a launcher, with a value each, that a file of ranks takes the place of.

    Parameters are those of :func:`starting`.
    """
    known = _known(launcher, family)
    if known is None:
        return []
    format, _ = looked_at(file)
    binds = format == "rankfile" or (format == "hydra" and b"binding=" in Path(file).read_bytes())
    # With a hostfile in the order of ranks, other hosts would come before it.
    ordered = family == "Open MPI" and format == "hostfile" and version.startswith(_OLD)
    return [*known.instead.split(), *(_BINDING if binds else ()), *(_HOSTS if ordered else ())]


def format_for(launcher: str | None, family: str | None, cores: bool = True) -> tuple[str, dict[str, Any]]:
    """Return the format, and its options, of the file that tells a launcher where ranks are to be.

    Parameters
    ----------
    launcher, family : str or None
        As for :func:`starting`.
    cores : bool
        Whether it is to bind ranks to cores, where it can be told that.

    Raises
    ------
    InvalidInput
        If no file is known that it reads.
    """
    known = _known(launcher, family)
    if known is None:
        raise InvalidInput(f"--placement: {_unknown(launcher)}")
    return known.cores if cores else known.nodes


def reads(launcher: str | None, family: str | None, version: str, file: str | os.PathLike[str]) -> bool:
    """Tell whether a launcher reads files of the format that a file begins like; parameters as for :func:`starting`."""
    known = _known(launcher, family)
    format, _ = looked_at(file)
    return known is not None and known.starts(version, format, "") is not None


def _known(launcher: str | None, family: str | None) -> _Launcher | None:
    return _LAUNCHERS.get(launcher or "") or _LAUNCHERS.get(family or "")


def _unknown(launcher: str | None) -> str:
    return (
        f"{launcher or 'a program without a launcher'} reads no file of ranks that is known here: "
        f"{', '.join(_LAUNCHERS)} do"
    )


def looked_at(file: str | os.PathLike[str]) -> tuple[str, int]:
    """Return the format of a file of ranks, and its number of lines that say something.

    Raises
    ------
    ParseError
        If it is of no format of a launcher.
    OSError
        If it cannot be read.
    """
    shown = os.fspath(file)
    filekinds.require(file, (), "a file of ranks for a launcher")
    with open(file, "rb") as stream:
        text = stream.read().decode("utf-8-sig", errors="replace")
    lines = [content for line in checked_lines(text, shown) if (content := line.partition("#")[0].strip())]
    if not lines:
        raise ParseError(shown, None, None, "the file has no ranks")
    format = format_of_line(lines[0])
    if format is None:
        raise ParseError(shown, None, None, "the file begins like none of the formats of launchers")
    return format, len(lines)


def starting(
    file: str | os.PathLike[str], launcher: str | None, family: str | None, version: str, ranks: int | None = None
) -> tuple[list[str], dict[str, str]]:
    """Return the words behind a launcher's name, and the variables, with which it starts ranks as a file places them.

    Parameters
    ----------
    file : path
        What :func:`isthmus.mapping.launch.write` writes, or ``isthmus map -o``.
    launcher : str or None
        Name of the launcher, such as ``"mpirun"`` or ``"srun"``; None for none.
    family : str or None
        MPI of a launcher that belongs to one: ``"Open MPI"``.
    version : str
        Of that MPI.
    ranks : int, optional
        How many ranks are started: those of the file.

    Raises
    ------
    InvalidInput
        If the launcher does not read files of this format, or the file places another number of ranks.
    ParseError
        If the file is of no format.
    OSError
        If it cannot be read.
    """
    shown = os.fspath(file)
    format, lines = looked_at(file)
    known = _known(launcher, family)
    if known is None:
        raise InvalidInput(f"--placement {shown}: {_unknown(launcher)}")
    found = known.starts(version, format, os.path.realpath(file))
    if found is None:
        raise InvalidInput(
            f"--placement {shown}: {launcher} does not read a file of format {format}: must be {known.read}, which "
            "isthmus map --format writes"
        )
    if ranks is not None and format in ("rankfile", "hostfile") and lines != ranks:
        raise InvalidInput(f"--placement {shown}: the file places {lines} ranks, and {ranks} are started")
    words, variables = found
    return list(words), variables
