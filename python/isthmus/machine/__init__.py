"""The first noun: machines, their parts, their text forms, and the partitions that jobs get."""

from .allocation import Allocation, Location
from .description import Description
from .machine import Machine
from .models import alpha_beta_gamma, wormhole_latency
from .parts import Level, Levels, Node, Noise, Provenance

__all__ = [
    "Allocation",
    "Description",
    "Level",
    "Levels",
    "Location",
    "Machine",
    "Node",
    "Noise",
    "Provenance",
    "alpha_beta_gamma",
    "wormhole_latency",
]
