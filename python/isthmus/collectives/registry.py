"""The registry of algorithms: their names and options, and how to add new ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core, units
from ..errors import InvalidInput

#: What an algorithm is: it writes the operations of ``call.rank`` into ``out``.
Algorithm = Callable[["_core.CollectiveCall", "_core.CollectiveOut"], Any]

#: A value of an option: a number, a word, or several of them.
Value = int | float | str | Sequence[int] | Sequence[str] | NDArray[np.integer[Any]]

#: How an algorithm is chosen: by name, or by name and options.
Choice = str | tuple[str, Mapping[str, Value]]

# Algorithms written in Python; the core looks them up here.
_functions: dict[tuple[str, str], Algorithm] = {}


class Registered(str):
    """An algorithm written in Python: the name by which it is chosen, and the function itself.

    It stands wherever the name of an algorithm may, and :func:`isthmus.prove` proves it. Calling it calls the function.

    Attributes
    ----------
    kind : str
        Collective that it carries out.
    function : callable
    """

    kind: str
    function: Algorithm

    def __new__(cls, kind: str, name: str, function: Algorithm) -> Registered:
        made = super().__new__(cls, name)
        made.kind, made.function = kind, function
        return made

    def __call__(self, call: _core.CollectiveCall, out: _core.CollectiveOut) -> Any:
        return self.function(call, out)

    def __repr__(self) -> str:
        return f"<Registered: {self.kind} by {str(self)!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return register, (self.kind, str(self), self.function)


#: Options that are times: seconds here, picoseconds in the core.
_TIMES = ("latency", "overhead", "gap")


def algorithms(kind: str) -> tuple[str, ...]:
    """Names of the algorithms of a collective, its default first.

    Examples
    --------
    >>> algorithms("scan")
    ('recursive_doubling', 'linear', 'binomial')
    """
    return tuple(_core.collective_algorithms(kind))


def describe(kind: str, name: str | None = None) -> _core.AlgorithmInfo:
    """Describes an algorithm: its steps, publication and options; without a name, the default algorithm.

    Examples
    --------
    >>> describe("barrier", "dissemination").words
    'in round k every rank tells the one 2^k further'
    """
    return _core.collective_algorithm_info(kind, name or "")


def default_of(option: _core.OptionInfo) -> str:
    """The default of an option of :func:`describe`, as it is written on the command line; empty if it has none."""
    if option.standard is None:
        return ""
    return units.text(option.standard * 1e-12, "s") if option.name in _TIMES else str(option.standard)


def register(kind: str, name: str, function: Algorithm) -> Registered:
    """Add an algorithm, for all that takes names of algorithms; one that was added before is replaced.

    On the command line, ``--plugin FILE`` runs a Python file that calls this function.

    Parameters
    ----------
    kind : str
        Collective, such as ``"bcast"``.
    name : str
        By which it is chosen.
    function : callable
        Called as ``function(call, out)`` for every rank, twice: once to count operations, once to write them.
        ``call`` has ``kind``, ``rank``, ``ranks``, ``root``, ``bytes``, ``in_place`` and ``counts`` (an array, empty
        where the collective has none). ``out.send(to, bytes)``, ``out.recv(source, bytes)``, ``out.copy(bytes)`` and
        ``out.reduce(bytes)`` append an operation and return its number; ``out.require(op, on)`` makes ``op`` wait until
        ``on`` is done, ``out.require_start(op, on)`` until it has started. Ranks are those of the communicator.
        Operations that no other waits for are what the collective ends with. ``at=`` and ``into=``, pairs of a buffer
        ("input", "output" or "scratch") and an offset, say what is read and written, for proofs and real runs; a
        reduction is ``into = into (+) at``, with ``first=True`` ``into = at (+) into``.

    Returns
    -------
    Registered
        The name, which knows its collective and function; :func:`isthmus.prove` takes it with the arguments of a call.

    Raises
    ------
    InvalidInput
        For an unknown collective, or the name of a textbook algorithm.

    Examples
    --------
    A broadcast along the chain of ranks, root 0 only:

    >>> from isthmus import collective
    >>> def chain(call, out):
    ...     got = out.recv(call.rank - 1, call.bytes) if call.rank > 0 else None
    ...     if call.rank + 1 < call.ranks:
    ...         sent = out.send(call.rank + 1, call.bytes)
    ...         if got is not None:
    ...             out.require(sent, got)
    >>> mine = register("bcast", "my chain", chain)
    >>> print(collective("bcast", ranks=4, bytes=8, algorithm=mine))
    Schedule of 4 ranks, 6 operations (3 send, 3 recv), 24 B in 3 messages, 2 dependencies
    """
    if not callable(function):
        raise InvalidInput(f"algorithm {name!r} of {kind} is {function!r}: expected a function of call and out")
    _core.register_collective(kind, name)
    _functions[kind, name] = function
    return Registered(kind, name, function)


def named(algorithm: Choice | None) -> tuple[str, list[tuple[str, list[int]]]]:
    """Name and options of a choice, as the core takes them; an empty name is the default.

    Raises
    ------
    InvalidInput
        For what is neither a name nor a pair of name and options, and for options that are no numbers.
    """
    if algorithm is None:
        return "", []
    if isinstance(algorithm, str):
        return algorithm, []
    if not (
        isinstance(algorithm, Sequence)
        and len(algorithm) == 2
        and isinstance(algorithm[0], str)
        and isinstance(algorithm[1], Mapping)
    ):
        raise InvalidInput(f"algorithm {algorithm!r}: must be a name, or a pair of a name and its options")
    return algorithm[0], [(str(key), _values(str(key), value)) for key, value in algorithm[1].items()]


def _values(name: str, value: Any) -> list[int]:
    """An option's numbers, times in picoseconds."""
    out = []
    for one in value if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else [value]:
        if name in _TIMES and isinstance(one, (int, float, np.number)) and 0 <= one < 9e6:
            out.append(round(float(one) * 1e12))
            continue
        try:
            number = operator.index(one)
        except TypeError:
            number = -1
        if not 0 <= number < 2**63:
            raise InvalidInput(f"option {name} = {one!r}: must be a whole number below 2^63")
        out.append(number)
    return out
