"""Whatever a line can name: a machine, a table, a placement, a graph, a hierarchy, a program, a schedule or
a timeline."""

from __future__ import annotations

import os
from typing import Any

from .. import filekinds
from ..errors import InvalidInput
from ..named import named
from .inputs import parse_level, read_any

THINGS = """A thing is a machine (a name of the catalogue, a file, a specification, loggops:L=...), a decision table (a
file, or openmpi or mpich), a timeline, program or schedule (HDF5, GOAL, traces, the name of an example, or a skeleton
such as stencil:ranks=256), a graph in METIS format, a multigrid hierarchy, or one collective such as
allreduce:ranks=1024,bytes=8,algorithm=ring."""


def read_thing(text: str, unit: str = "ns") -> Any:
    """The noun of ``NAME|FILE:key=value,...``.

    Raises
    ------
    InvalidInput
        For a name that is nothing of these.
    ParseError
        For a damaged file.
    """
    from ..examples import known
    from ..gallery import machines
    from ..loading import load
    from ..machine.kinds import KINDS
    from ..schedule.program import CollectiveKind
    from ..tuning.defaults import LIBRARIES
    from .tune_table import read_decisions

    name = named(text).name
    if not os.path.exists(name):
        if name.partition("-")[0] in LIBRARIES:
            return read_decisions(text)
        if name in machines() or (name.split() and name.split()[0] in KINDS):
            return load(text)
        if (level := parse_level(text)) is not None:
            return level
        if name in known() or name in CollectiveKind.__members__:
            return read_any(text, unit)
        if os.path.splitext(name)[1] or "/" in name:
            return read_any(text, unit)  # a file that is not there
        return load(text)
    kind = filekinds.kind_of(name)
    if kind == filekinds.TABLE:
        return read_decisions(text)
    if kind in (filekinds.MACHINE, filekinds.NETWORK, filekinds.EDGES):
        return load(text)
    if kind == filekinds.GRAPH:
        from ..schedule.pattern import Pattern

        return Pattern.read(name)
    if kind is None and name.endswith((".toml", ".conf")):
        return load(text)
    if kind == filekinds.SAMPLES:
        from ..measuring.samples import Samples

        return Samples.load(name)
    if kind in (filekinds.HIERARCHY, filekinds.COUNTS):
        from ..multigrid import Hierarchy

        return Hierarchy.load(name)
    return read_any(text, unit)


def placement_of(path: str, machine: str, nodes: str | None, per_node: int | None) -> Any:
    """The placement that a file of a launcher describes, on a machine."""
    from ..loading import load
    from ..machine import Machine
    from .inputs import _job_of_file, read_placement

    where = load(machine)
    assert isinstance(where, Machine)
    if not os.path.exists(path):
        raise InvalidInput(f"{path}: there is no such file; --machine applies only to a placement")
    return read_placement(_job_of_file(where, nodes, per_node), path, where.nodes * where.node.cores)
