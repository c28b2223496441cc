"""Simulation: when everything in a program or schedule happens on a machine, and why."""

from .simulate import simulate as simulate
from .timeline import SHARES as SHARES
from .timeline import Timeline as Timeline
