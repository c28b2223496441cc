"""The first noun: machines, their parts, their text forms, and the partitions that jobs get.

- ``allocation``: the nodes of a job, and the conversions between rank, (node, socket, core) and coordinates
- ``description``: the canonical description of a machine: nested dicts of plain SI values, and the provenance of each
- ``formula``: formulas of curves, evaluated without trusting who wrote them
- ``graph``: networks given cable by cable
- ``kinds``: the kinds of interconnects: their parameters, and how the core builds each
- ``machine``: the Machine: an interconnect, its nodes, LogGP parameters per level, and the source of every number
- ``measured``: what a measurement adds to a machine: how it was taken, and curves of what the model has no parameter
  for
- ``models``: closed forms for one message on a quiet network
- ``mpi_memory``: memory that MPI takes of a rank, of its own and for each peer
- ``networkx``: conversion of interconnects from and to NetworkX graphs
- ``node_pairs``: node ids and pairs as users give them: numbers, or arrays that are broadcast against each other
- ``parts``: the parts of a machine besides its interconnect: nodes, LogGP parameters per level, noise
- ``placement``: the Placement: which rank sits on which core of which node
- ``spec``: one-line specifications: ``torus:8x8x16 link=425MB/s hop=64ns cores=4``
- ``text``: the output of ``print(machine)`` and ``isthmus machine show``
- ``toml``: the TOML form of a machine: reading with line numbers, writing with provenance
"""

from .allocation import Allocation, Location
from .description import Description
from .machine import Machine
from .measured import Curve, Measured
from .models import alpha_beta_gamma, wormhole_latency
from .parts import Cache, Level, Levels, Node, Noise, Piece, Provenance, Spmv, Threads, WorkTime

__all__ = [
    "Allocation",
    "Cache",
    "Curve",
    "Description",
    "Level",
    "Levels",
    "Location",
    "Machine",
    "Measured",
    "Node",
    "Noise",
    "Piece",
    "Provenance",
    "Spmv",
    "Threads",
    "WorkTime",
    "alpha_beta_gamma",
    "wormhole_latency",
]
