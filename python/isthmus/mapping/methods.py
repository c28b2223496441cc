"""The table of mapping methods: name -> function."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..units import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .problem import Problem

#: A method: the problem and its options to the place of every task, shape (tasks,); None where it does not apply.
Function = Callable[["Problem", Mapping[str, Any]], "NDArray[np.uint32] | None"]


@dataclass(frozen=True)
class Method:
    """A way to map.

    Attributes
    ----------
    name : str
    words : str
        What it does, in a sentence.
    run : callable
        Problem and options to the place of every task; None where it does not apply.
    options : dict of str to object
        The options that it takes, with their defaults.
    needs : str
        Where it applies, in a sentence; empty: everywhere.
    """

    name: str
    words: str
    run: Function
    options: Mapping[str, Any]
    needs: str = ""


_METHODS: dict[str, Method] = {}
#: Modules of this package whose functions are in the table.
_MODULES = ("regular", "graphs")


def methods() -> Mapping[str, Method]:
    """All methods by name."""
    for module in _MODULES:
        import_module(f".{module}", __package__)
    return _METHODS


def method(name: str, words: str, needs: str = "", **options: Any) -> Callable[[Function], Function]:
    """Puts a function into the table, under a name, with the defaults of its options."""

    def put(function: Function) -> Function:
        _METHODS[name] = Method(name, words, function, options, needs)
        return function

    return put


def find(name: str, options: Mapping[str, Any]) -> tuple[Method, dict[str, Any]]:
    """A method and its options, defaults filled in; raises InvalidInput for names that there are not."""
    known = methods()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f" (close: {close[0]})" if close else ""
        raise InvalidInput(f"method {name!r}{hint}: must be one of auto, {', '.join(known)}")
    found = known[name]
    for key in options:
        if key not in found.options:
            allowed = f"must be one of {', '.join(found.options)}" if found.options else "it has none"
            raise InvalidInput(f"option {key!r} of method {name}: {allowed}")
        _check(name, key, options[key], found.options[key])
    return found, {**found.options, **options}


def _check(method: str, key: str, value: Any, default: Any) -> None:
    """Raises InvalidInput for an option that is no number though its default is one."""
    if isinstance(default, str):
        return
    whole = isinstance(default, int)
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < np.inf:
        allowed = f"a {'whole ' * whole}number from 0"
        raise InvalidInput(f"option {key!r} of method {method}: {shown(value)}; must be {allowed}")


def _oblivious(problem: Problem, order: str) -> NDArray[np.uint32]:
    """Places in an order that does not look at bytes: by turns where it goes round, else filled one after another."""
    capacity = problem.capacity.astype(np.int64)
    place = np.repeat(np.arange(problem.places), capacity)
    if order == "cyclic":
        turn = np.arange(len(place)) - np.repeat(np.cumsum(capacity) - capacity, capacity)
        place = place[np.lexsort([place, turn])]
    elif order == "random":
        place = np.random.Generator(np.random.PCG64(problem.seed)).permutation(place)
    return place[: problem.tasks].astype(np.uint32)


@method("default", "the order of the allocation")
def _default(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _oblivious(problem, problem.job.order)


@method("block", "node after node")
def _block(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _oblivious(problem, "block")


@method("cyclic", "round the nodes")
def _cyclic(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _oblivious(problem, "cyclic")


@method("random", "any free place, each as likely")
def _random(problem: Problem, options: Mapping[str, Any]) -> NDArray[np.uint32]:
    return _oblivious(problem, "random")
