"""Isthmus predicts, explains and improves the communication of parallel programs on real interconnects.

>>> import isthmus
>>> machine = isthmus.load("torus-4x4x4")
>>> machine.distance(0, 63)
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Name -> module: imported on first use, so that `import isthmus` and the command line start at once.
_LAZY = {
    "ANY": "schedule.program",
    "Advice": "advice.advice",
    "Allocation": "machine",
    "Contract": "proof",
    "DecisionTable": "tuning.table",
    "InvalidInput": "errors",
    "Level": "machine",
    "Levels": "machine",
    "Machine": "machine",
    "NULL": "schedule.program",
    "Node": "machine",
    "Noise": "machine",
    "PacketOptions": "simulation.network",
    "ParseError": "errors",
    "Pattern": "schedule.pattern",
    "Placement": "mapping.placement",
    "Program": "schedule.program",
    "ProgramBuilder": "schedule.builder",
    "Proof": "proof",
    "Provenance": "machine",
    "Schedule": "schedule.schedule",
    "Study": "studies.study",
    "Timeline": "simulation.timeline",
    "Topology": "_core",
    "Unsupported": "errors",
    "advise": "advice.advise",
    "alpha_beta_gamma": "machine",
    "catalogue": "loading",
    "collective": "collectives",
    "evaluate": "mapping.metrics",
    "example": "examples",
    "load": "loading",
    "lower": "schedule.lower",
    "map": "mapping.map",
    "pattern": "schedule.pattern",
    "profile": "recording.profile",
    "prove": "proof",
    "read": "schedule.reading",
    "rebalance": "mapping.rebalance.rebalance",
    "record": "recording.record",
    "simulate": "simulation.simulate",
    "structure": "mapping.structure",
    "study": "studies.run",
    "sweep": "sweeps",
    "together": "schedule.schedule",
    "tune": "tuning.tune",
    "wormhole_latency": "machine",
}
__all__ = ["__version__", *_LAZY]

if TYPE_CHECKING:
    from ._core import Topology as Topology
    from .advice.advice import Advice as Advice
    from .advice.advise import advise as advise
    from .collectives import collective as collective
    from .errors import InvalidInput as InvalidInput
    from .errors import ParseError as ParseError
    from .errors import Unsupported as Unsupported
    from .examples import example as example
    from .loading import catalogue as catalogue
    from .loading import load as load
    from .machine import Allocation as Allocation
    from .machine import Level as Level
    from .machine import Levels as Levels
    from .machine import Machine as Machine
    from .machine import Node as Node
    from .machine import Noise as Noise
    from .machine import Provenance as Provenance
    from .machine import alpha_beta_gamma as alpha_beta_gamma
    from .machine import wormhole_latency as wormhole_latency
    from .mapping.map import map as map
    from .mapping.metrics import evaluate as evaluate
    from .mapping.placement import Placement as Placement
    from .mapping.rebalance.rebalance import rebalance as rebalance
    from .mapping.structure import structure as structure
    from .proof import Contract as Contract
    from .proof import Proof as Proof
    from .proof.prove import prove as prove
    from .recording.profile import profile as profile
    from .recording.record import record as record
    from .schedule.builder import ProgramBuilder as ProgramBuilder
    from .schedule.lower import lower as lower
    from .schedule.pattern import Pattern as Pattern
    from .schedule.pattern import pattern as pattern
    from .schedule.program import ANY as ANY
    from .schedule.program import NULL as NULL
    from .schedule.program import Program as Program
    from .schedule.reading import read as read
    from .schedule.schedule import Schedule as Schedule
    from .schedule.schedule import together as together
    from .simulation.network import PacketOptions as PacketOptions
    from .simulation.simulate import simulate as simulate
    from .simulation.timeline import Timeline as Timeline
    from .studies.run import study as study
    from .studies.study import Study as Study
    from .sweeps import sweep as sweep
    from .tuning.table import DecisionTable as DecisionTable
    from .tuning.tune import tune as tune


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'isthmus' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
