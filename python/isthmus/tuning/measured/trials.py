"""What can be asked of an MPI library: its algorithms, and the settings that force each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...errors import Unsupported
from ...mpi.detection import MPICH, OPEN_MPI, Mpi
from ..choice import LIBRARY, Choice
from ..export.openmpi import Line
from ..libraries import mpich, openmpi
from ..libraries.canonical import canonical, pretty
from ..libraries.library import Algorithm
from ..libraries.mpich_tree import installed
from ..verify.openmpi import COMPOSED, forcing

#: Bytes of segments, and other values of options, that are tried.
SEGMENTS = (0, 8192, 65536)
FANS = (2, 4, 8)
REQUESTS = (4, 16)

#: Collectives of a library that stand for one of ours: a decision must not make any of them slower.
Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Trial:
    """An algorithm of a library, and how it is forced.

    Parameters
    ----------
    choice : Choice
        What it is in the terms of Isthmus; ``LIBRARY`` is the library's own decision.
    settings : mapping of str to str
        Environment variables that force it; they steer no other collective.
    smallest : int
        Bytes below which it does the same as another candidate, such as segments larger than the message.
    alone : bool
        It calls other collectives, which then must be as the library has them.
    """

    choice: Choice
    settings: Mapping[str, str] = field(default_factory=dict)
    smallest: int = 0
    alone: bool = False

    def __hash__(self) -> int:
        return hash(self.choice)


#: The library's own decision.
DEFAULT = Trial(LIBRARY)


@dataclass(frozen=True)
class Library:
    """An MPI library whose collectives can be steered.

    Parameters
    ----------
    target : str
        As of :func:`isthmus.tuning.export.export`, such as ``"openmpi-4.1.4"``.
    names : mapping of str to tuple of str
        Our collectives, and the library's that each stands for.
    trials : mapping of str to tuple of Trial
        By our collective; without the default.
    always : mapping of str to str
        Environment variables without which nothing can be forced, in every run but that of the plain default.
    notes : tuple of str
        What is not tried.
    """

    target: str
    names: Names
    trials: Mapping[str, tuple[Trial, ...]]
    always: Mapping[str, str]
    notes: tuple[str, ...] = ()


def library_of(mpi: Mpi, ranks: int, collectives: Iterable[str]) -> Library:
    """The candidates of an installed library.

    Parameters
    ----------
    mpi : Mpi
    ranks : int
        Radices from here on are left out.
    collectives : iterable of str
        Ours; those that the library's files do not steer are left out.

    Raises
    ------
    Unsupported
        For libraries other than Open MPI and MPICH.
    """
    if mpi.family == OPEN_MPI:
        return _openmpi(mpi, ranks, collectives)
    if mpi.family == MPICH:
        return _mpich(mpi, ranks, collectives)
    raise Unsupported(f"{mpi}: the collectives of Open MPI and MPICH can be steered, those of other libraries cannot")


def _openmpi(mpi: Mpi, ranks: int, collectives: Iterable[str]) -> Library:
    version = openmpi.parse_version(mpi.version)
    trials: dict[str, tuple[Trial, ...]] = {}
    unlike: list[str] = []
    kinds = [kind for kind in collectives if kind in openmpi.NUMBERS]
    for kind in kinds:
        found: dict[Choice, Trial] = {}
        for name in openmpi.NUMBERS[kind]:
            for algorithm in openmpi.algorithms(name, version):
                if algorithm.choice is None:
                    unlike.append(f"{name} {algorithm.name}")
                    continue
                for wanted in _variants(algorithm, ranks):
                    _add(
                        found,
                        kind,
                        algorithm,
                        wanted,
                        forcing(name, _line(algorithm, wanted)),
                        (name, algorithm.number) in COMPOSED,
                    )
        trials[kind] = tuple(found.values())
    # A file of rules that the user has comes before what is forced.
    always = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": ""}
    if version >= (5, 0, 0):
        always["OMPI_MCA_coll_han_priority"] = "0"
    return Library(
        f"openmpi-{mpi.version}", {k: tuple(openmpi.NUMBERS[k]) for k in kinds}, trials, always, _left(unlike)
    )


def _line(algorithm: Algorithm, wanted: Choice) -> Line:
    values = {word: wanted.options[key] for key, word in algorithm.steer.items() if key in wanted.options}
    numbers = [int(str(values.get(word, 0))) for word in (openmpi.FAN, openmpi.SEGMENT, openmpi.REQUESTS)]
    return Line(0, algorithm.number, algorithm.name, *numbers)


def _mpich(mpi: Mpi, ranks: int, collectives: Iterable[str]) -> Library:
    there = installed(mpi.library).algorithms
    trials: dict[str, tuple[Trial, ...]] = {}
    unlike: list[str] = []
    kinds = [kind for kind in collectives if kind in mpich.NAMES]
    for kind in kinds:
        found: dict[Choice, Trial] = {}
        for name in mpich.NAMES[kind]:
            for item in mpich.known(name, there):
                algorithm = item.algorithm
                if algorithm.choice is None:
                    unlike.append(algorithm.name.removeprefix("MPIR_"))
                    continue
                if "power of two" in item.guards and ranks & (ranks - 1):
                    continue
                for wanted in _variants(algorithm, ranks):
                    values = {
                        word: wanted.options[key] for key, word in algorithm.steer.items() if key in wanted.options
                    }
                    settings = mpich.forcing(name, algorithm.name, {**algorithm.fixed, **values})
                    _add(found, kind, algorithm, wanted, settings)
        trials[kind] = tuple(found.values())
    # As the exported file has it: the tree decides for the whole communicator.
    always = {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}
    return Library(f"mpich-{mpi.version}", {k: mpich.NAMES[k] for k in kinds}, trials, always, _left(unlike))


def _left(unlike: list[str]) -> tuple[str, ...]:
    return (f"not tried, as Isthmus has nothing like them: {', '.join(unlike)}",) if unlike else ()


def _variants(algorithm: Algorithm, ranks: int) -> list[Choice]:
    """An algorithm with the values of its options that are tried."""
    assert algorithm.choice is not None
    out = [algorithm.choice]
    tried = {"segment": SEGMENTS, "radix": [fan for fan in FANS if fan < max(ranks, 3)]}
    tried["window"] = [n for n in REQUESTS if n < ranks]
    for key in algorithm.steer:
        if key in tried:
            out += [c.replace(**{key: value}) for c in out for value in tried[key]]
    return list(dict.fromkeys(out))


def _add(
    found: dict[Choice, Trial],
    kind: str,
    algorithm: Algorithm,
    wanted: Choice,
    settings: Mapping[str, str],
    alone: bool = False,
) -> None:
    """Two collectives of the library that stand for one of ours are forced together."""
    choice = pretty(kind, wanted)
    key = canonical(kind, wanted)
    segment = wanted.options.get("segment", 0)
    smallest = 2 * segment if "segment" in algorithm.steer and isinstance(segment, int) and segment else 0
    old = found.get(key)
    found[key] = Trial(choice, {**settings, **(old.settings if old else {})}, smallest, alone)
