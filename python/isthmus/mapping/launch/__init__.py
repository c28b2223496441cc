"""Files for launchers: placements written and read, one format per module.

- ``bluegene``: IBM Blue Gene mapfiles: line i has the coordinates of rank i in the partition, then t, its place on
  the node
- ``coordinates``: coordinates of ranks within a job, for launchers of tori
- ``cray``: Cray MPICH rank orders: the ranks of the first node, of the second, and so on, separated by commas
- ``flux``: flux task maps: ``[[nodeid, nnodes, ppn, repeat], ...]``, nodes counted from 0 in the job
- ``fugaku``: rank maps of Fujitsu's job manager and MPI (Fugaku, FX1000, FX100): line i has the coordinates of rank
  i's node
- ``hostfile``: open MPI sequential hostfiles: one host a line, line i for rank i
- ``hydra``: host files of MPICH's launcher: ``node07:2 binding=user:1,0``, hosts in the order of their ranks
- ``jsrun``: explicit resource files of IBM's jsrun (Summit, Sierra): ``rank: 5: { host: 2; cpu: {5} }``
- ``order``: ranks in the order of places: what launchers with a fixed order of places, and reordered communicators,
  need
- ``rankfile``: open MPI rankfiles: ``rank 3=node07 slot=1:5``, socket and core within the socket, as hwloc numbers
  them
- ``places``: what a running program asks libisthmus for: dimensions, coordinates of ranks, hops
- ``reading``: what the readers of all formats share: lines, names of nodes, complete sets of ranks
- ``slurm``: Slurm hostfiles of ``srun --distribution=arbitrary``: one host a task, in the order of the ranks
- ``starting``: the options and variables with which a launcher starts ranks where a file places them
- ``table``: A plain table with a header: rank, node (a name or an id), and core
"""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import filekinds
from ...errors import InvalidInput, ParseError
from ...files import write_atomically
from ...machine.allocation import Allocation
from ...machine.machine import Machine
from ...units import shown
from .reading import Reading

if TYPE_CHECKING:
    from ...machine.placement import Placement


@dataclass(frozen=True)
class Format:
    """A file format of a launcher.

    Attributes
    ----------
    name : str
    title : str
        Description of the format in one line.
    command : str
        Command that starts a program with the file, with ``{file}`` and ``{ranks}``; empty if no launcher reads it.
    cores : bool
        Whether the file gives cores. Other files give nodes only, and the ranks of a node take its cores in order.
    job : bool
        Whether nodes are numbered, or coordinates given, within the job; such a file is read with the job's allocation.
    options : tuple of str
        Keyword arguments of :func:`write` and :func:`read`.
    """

    name: str
    title: str
    command: str
    cores: bool
    job: bool
    options: tuple[str, ...] = ()


_FORMATS = (
    Format("table", "plain table: rank, node, core", "", True, False),
    Format("rankfile", "Open MPI rankfile", "mpirun --rankfile {file} -np {ranks}", True, False),
    Format(
        "hostfile", "Open MPI sequential hostfile", "mpirun --map-by seq --hostfile {file} -np {ranks}", False, False
    ),
    Format("hydra", "MPICH host file", "mpiexec -f {file} -n {ranks}", True, False, ("bind",)),
    Format(
        "cray",
        "Cray MPICH rank order",
        "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE={file} srun -m block -n {ranks} --ntasks-per-node=...",
        False,
        True,
    ),
    Format(
        "slurm",
        "Slurm hostfile of an arbitrary distribution",
        "SLURM_HOSTFILE={file} srun --distribution=arbitrary -n {ranks}",
        False,
        False,
    ),
    Format("bluegene", "IBM Blue Gene mapfile", "runjob --mapping {file} --np {ranks} :", False, True),
    Format("jsrun", "IBM jsrun explicit resource file", "jsrun --erf_input {file}", True, True, ("threads",)),
    Format("fugaku", "Fujitsu rank map (Fugaku, FX1000)", "mpiexec --vcoordfile {file} -n {ranks}", False, True),
    Format("flux", "Flux task map", 'flux run --taskmap=manual:"$(cat {file})" -n {ranks}', False, True),
    Format("places", "places that a running program asks libisthmus for", "", True, False),
)

# What the first line that is neither empty nor a comment looks like; the first that fits is taken.
_FIRST_LINES = (
    ("places", re.compile(r"isthmus places \d")),
    ("table", re.compile(r"rank[\s,]+(?:node|host)\b", re.IGNORECASE)),
    ("rankfile", re.compile(r"rank\s+\d+\s*=", re.IGNORECASE)),
    ("hydra", re.compile(r"[\w.+-]+:\d+(?:\s+\w+=|$)")),
    ("jsrun", re.compile(r"[\w-]+(?:\s+\d+)?\s*:")),
    ("flux", re.compile(r"[\[{]")),
    ("fugaku", re.compile(r"\(")),
    ("bluegene", re.compile(r"\d+(?:\s+\d+)+$")),
    ("cray", re.compile(r"\d[\d\s,-]*$")),
    ("slurm", re.compile(r"\S+\*\d+$")),
    ("hostfile", re.compile(r"[\w.+-]+(?:\s|$)")),
    ("slurm", re.compile(r"[\w.-]+\[")),
)


def formats() -> tuple[Format, ...]:
    """Return all formats.

    Examples
    --------
    >>> [f.name for f in formats()]
    ['table', 'rankfile', 'hostfile', 'hydra', 'cray', 'slurm', 'bluegene', 'jsrun', 'fugaku', 'flux', 'places']
    """
    return _FORMATS


def text(placement: Placement, format: str, job: Allocation | None = None, **options: Any) -> str:
    """Return a placement as the text of a launcher's file.

    Parameters
    ----------
    placement : Placement
    format : str
        A name of :func:`formats`.
    job : Allocation, optional
        The nodes of the job in their order, for formats that number nodes or give coordinates within the job. By
        default the nodes in use, in ascending order.
    **options
        ``bind`` (hydra): whether the file binds ranks to cores, True by default; ``threads`` (jsrun): hardware threads
        of a core that the job uses, 1 by default; 4 on Summit unless the job asked for ``smt1``.

    Raises
    ------
    InvalidInput
        If the format or an option is unknown, a node is not in the job, or the format cannot express the placement.
    Unsupported
        If the machine lacks the coordinates that the format needs.
    """
    found = _format(format, options)
    if not placement.ranks:
        raise InvalidInput(f"the placement has no ranks: a {found.name} file needs at least one")
    if job is None:
        job = Allocation(placement.machine, placement.nodes)
    elif job.machine != placement.machine:
        raise InvalidInput(
            f"the job is on {job.machine.name}, the placement on {placement.machine.name}: must be the same machine"
        )
    elif (outside := job._index(placement.nodes) < 0).any():
        name = placement.machine.hostnames[placement.nodes[outside][0]]
        raise InvalidInput(f"node {name} is not in the job: it has {len(job)} other nodes")
    out: str = _module(found).text(placement, job, **options)
    return out


def write(
    placement: Placement, format: str, file: str | os.PathLike[str], job: Allocation | None = None, **options: Any
) -> None:
    """Write a placement for a launcher, atomically; parameters and errors are those of :func:`text`."""
    write_atomically(file, text(placement, format, job, **options))


def read(
    file: str | os.PathLike[str], where: Machine | Allocation, format: str | None = None, **options: Any
) -> Placement:
    """Read a placement from a launcher's file.

    Parameters
    ----------
    file : path
    where : Machine or Allocation
        Machine or job of the placement. Formats that number nodes or give coordinates within the job need the job's
        allocation, unless the job is the whole machine.
    format : str, optional
        A name of :func:`formats`; by default told from the content.
    **options
        Those of :func:`text`.

    Raises
    ------
    ParseError
        If the file is malformed, the machine or job has no such node or core, or ranks are missing or given twice.
    InvalidInput
        If the format or an option is unknown.
    OSError
        If the file cannot be read.
    """
    if format is not None:
        _format(format, options)
    path = os.fspath(file)
    filekinds.require(file, (), "a file of ranks for a launcher, or of nodes, one in each line")
    with open(file, "rb") as stream:
        data = stream.read()
    reading = Reading(data, path, where)
    found = _format(format or detect(reading), options)
    out: Placement = _module(found).read(reading, **options)
    return out


def detect(reading: Reading) -> str:
    """Detect the format from the first line; raises ParseError if no format fits."""
    for number, line in reading.lines():
        if (name := format_of_line(line)) is not None:
            return name
        message = f"begins like none of the formats, which are {_names()}"
        raise ParseError(reading.path, number, shown(line), message)
    raise ParseError(reading.path, None, None, "the file has no ranks")


def format_of_line(line: str) -> str | None:
    """Return the format of a file whose first line this is, comments left out; None if no format fits."""
    return next((name for name, pattern in _FIRST_LINES if pattern.match(line)), None)


def _names() -> str:
    return ", ".join(f.name for f in _FORMATS)


def _format(name: str, options: dict[str, Any]) -> Format:
    for found in _FORMATS:
        if found.name == name:
            break
    else:
        raise InvalidInput(f"format {shown(name)} of a placement: must be one of {_names()}")
    for option in options:
        if option not in found.options:
            raise InvalidInput(f"option {option} of format {name}: must be one of {', '.join(found.options) or 'none'}")
    return found


def _module(found: Format) -> Any:
    return importlib.import_module(f"{__name__}.{found.name}")
