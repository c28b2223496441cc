"""Isthmus predicts, explains and improves the communication of parallel programs on real interconnects.

- ``entry``: where the command begins; Ctrl-C is one line from there on
- ``environment``: the programs and packages on this computer that Isthmus can use, and what to install
- ``errors``: errors of the Python layer; every message says what was given and what it must be
- ``examples``: recorded programs that come with Isthmus
- ``extras``: packages that only some functions need: the extras of pyproject.toml
- ``filekinds``: kinds of files by content, so that messages can name a file given in the wrong place
- ``files``: files that are written completely or left untouched
- ``hostlist``: Slurm nodelist expressions such as ``tux[0-3,7],login1,rack[1-2]n[01-16]``
- ``interruption``: Ctrl-C of commands: they stop within two seconds, with nothing half-written
- ``loading``: loading of machines: catalogue name, file, one-line specification
- ``named``: the grammar of named things in one line: ``NAME|FILE:key=value,...``
- ``one_line``: one-line forms of collectives, algorithms and noise; :mod:`isthmus.named` has the grammar
- ``progress``: progress bars of long tasks: simulations, tuning, studies
- ``reading``: reading of programs, schedules and timelines from files, whatever their format
- ``separate``: libraries that crash, loop or print on damaged files: a child process gives them the file, and writes
  its content to a file with checksums
- ``sweeps``: the verb ``sweep``: many simulations in one table
- ``tabular``: what public classes have in common in notebooks and for data frames
- ``threads``: threads for independent work in the core, which can be interrupted
- ``toml_text``: TOML with the line numbers of keys, for messages
- ``units``: quantities with units: text in and out, SI floats inside
- ``views``: methods that turn objects into pictures, text or files, by name
- ``visible``: text for terminals: control characters of names are shown, not sent, as they move and hide things; bars
  of blocks
- ``advice/``: the verb ``advise`` and its report: what limits a program on a machine, and what would help
- ``cli/``: the command line
- ``collectives/``: collectives and their algorithms: schedules of single collectives, and the registry that lowering
  chooses from
- ``comparison/``: the verb ``compare``: differences between things of one kind
- ``extrapolation/``: programs of any number of ranks from recordings of a few
- ``gallery/``: the catalogue: machines and recorded programs that come with Isthmus, one file each
- ``html/``: what HTML pages share: markup, style and the frame of the page
- ``imports/``: import of other tools' files: machines, traces and graphs
- ``laws/``: values as functions of one parameter, such as the number of ranks, found from a few sizes
- ``lowering/``: from programs to schedules: collectives become messages; communication patterns
- ``machine/``: machines, their parts and text forms, and the nodes that jobs get
- ``mapping/``: mapping: placements of ranks, their costs, and better ones
- ``measuring/``: measuring a machine: raw samples, what is fitted to them, and the machine file that comes out
- ``mpi/``: the MPI of the user: which one a command uses, C compiled for it, ranks started with it and stopped again
- ``multigrid/``: multigrid solvers on many processes: what every level holds and exchanges, and what a cycle costs
- ``plot/``: pictures of interconnects, routes and loads
- ``proof/``: proofs that a schedule does what it has to do, in every execution
- ``queueing/``: queues of machines: which nodes a job gets and when, how its time varies, and where it is done first
- ``recording/``: recordings of real MPI programs: raw traces become Programs that know when, where and how long every
  call took
- ``running/``: the verb ``run``: ranks carry out schedules and programs, and say when everything happened
- ``schedule/``: programs in terms of MPI, and schedules: DAGs of operations that are simulated and run
- ``simulation/``: simulation of a program or schedule on a machine: what happens when, and why
- ``skeletons/``: applications as Programs with parameters
- ``studies/``: studies: experiments at many points, their ledgers, figures and pages
- ``tuning/``: choosing algorithms of collectives: tuning, decision tables, files for MPI libraries
- ``upc/``: programs in UPC become C that uses libisthmus

>>> import isthmus
>>> machine = isthmus.load("torus-4x4x4")
>>> machine.distance(0, 63)
3
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true; the typing module alone would take as long as all of this

__version__ = "0.1.0"

# The one list of public names. Type checkers read it as it stands, the code below it as a table of what to import when
# a name is first used, so that `import isthmus` and the command line start at once.
if TYPE_CHECKING:
    from ._core import Topology as Topology
    from .advice.advice import Advice as Advice
    from .advice.advise import advise as advise
    from .collectives import collective as collective
    from .comparison.compare import compare as compare
    from .errors import InvalidInput as InvalidInput
    from .errors import ParseError as ParseError
    from .errors import Unsupported as Unsupported
    from .examples import example as example
    from .loading import catalogue as catalogue
    from .loading import load as load
    from .lowering.lower import lower as lower
    from .lowering.pattern import pattern as pattern
    from .machine import Allocation as Allocation
    from .machine import Curve as Curve
    from .machine import Level as Level
    from .machine import Levels as Levels
    from .machine import Machine as Machine
    from .machine import Measured as Measured
    from .machine import Node as Node
    from .machine import Noise as Noise
    from .machine import Piece as Piece
    from .machine import Provenance as Provenance
    from .machine import alpha_beta_gamma as alpha_beta_gamma
    from .machine import wormhole_latency as wormhole_latency
    from .machine.placement import Placement as Placement
    from .mapping.map import map as map
    from .mapping.metrics import evaluate as evaluate
    from .mapping.rebalance.rebalance import rebalance as rebalance
    from .mapping.structure import structure as structure
    from .measuring.measure import measure as measure
    from .proof import Contract as Contract
    from .proof import Proof as Proof
    from .proof.prove import prove as prove
    from .reading import read as read
    from .recording.profile import profile as profile
    from .recording.record import record as record
    from .running.run import run as run
    from .schedule.builder import ProgramBuilder as ProgramBuilder
    from .schedule.pattern import Pattern as Pattern
    from .schedule.program import ANY as ANY
    from .schedule.program import NULL as NULL
    from .schedule.program import Program as Program
    from .schedule.schedule import Schedule as Schedule
    from .schedule.schedule import together as together
    from .simulation.network import PacketOptions as PacketOptions
    from .simulation.simulate import simulate as simulate
    from .simulation.timeline import Timeline as Timeline
    from .studies.run import study as study
    from .studies.study import Study as Study
    from .sweeps import sweep as sweep
    from .tuning.measured.result import MeasuredTuning as MeasuredTuning
    from .tuning.measured.tune_measured import tune_measured as tune_measured
    from .tuning.table import DecisionTable as DecisionTable
    from .tuning.tune import tune as tune


def _listed() -> dict[str, str]:
    """Module of every public name, from the list above; read when it is first needed."""
    if not _LAZY:
        import re

        assert __spec__ is not None
        source = __spec__.loader.get_source(__name__)  # type: ignore[union-attr]
        pattern = re.compile(r"^    from \.([\w.]+) import (\w+) as \2$", re.MULTILINE)
        _LAZY.update((name, module) for module, name in pattern.findall(source))
    return _LAZY


_LAZY: dict[str, str] = {}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "__all__":
            return ["__version__", *_listed()]
        if name not in _listed():
            raise AttributeError(f"module 'isthmus' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted(["__version__", *_listed()])
