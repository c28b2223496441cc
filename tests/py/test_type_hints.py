"""Annotations of public names are types that a program can read."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypedDict, get_args, get_origin, get_overloads, get_type_hints, is_typeddict

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from isthmus.extras import Later
from isthmus.schedule.collective_calls import CollectiveCalls, Requests


def functions(thing: Any) -> Iterator[tuple[str, Any]]:
    """A class or function with what is public in it."""
    yield thing.__name__, thing
    if not inspect.isclass(thing):
        return
    for name in dir(thing):
        found = inspect.getattr_static(thing, name)
        if isinstance(found, property):
            found = found.fget
        found = getattr(found, "__func__", getattr(found, "func", found))
        if inspect.isfunction(found) and found.__module__.startswith("isthmus") and not name.startswith("_"):
            yield f"{thing.__name__}.{name}", found


@pytest.mark.parametrize("name", isthmus.__all__)
def test_hints_of_every_public_name(name: str) -> None:
    thing = getattr(isthmus, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        for called, found in functions(thing):
            assert get_type_hints(found) is not None, called


def says_any(hint: Any) -> bool:
    """Whether `Any` stands in a type. What NumPy's own types are made of is not ours."""
    if hint is Any:
        return True
    kind = get_origin(hint) or hint
    if getattr(kind, "__module__", "").partition(".")[0] in ("numpy", "networkx", "scipy", "pandas", "matplotlib"):
        return False
    if is_typeddict(hint):
        return any(map(says_any, get_type_hints(hint).values()))
    # Arguments of a callable are a list.
    return any(map(says_any, hint if isinstance(hint, list) else get_args(hint)))


def test_any_is_found_wherever_it_stands() -> None:
    options = get_type_hints(isthmus.compare)["options"]
    assert not says_any(options)
    assert says_any(Mapping[str, list[Any]])
    assert says_any(Callable[[Any], int])
    assert says_any(isthmus.Machine | tuple[Any, ...])
    assert not says_any(NDArray[np.integer[Any]] | None)
    assert says_any(TypedDict("Loose", {"model": Any}))


#: Nested numbers, lists and dicts as JSON has them, which no union says that type checkers could use.
PLAIN = {("Advice.json", "return")}


def test_public_names_say_their_types() -> None:
    """No parameter and no result of a public function is `Any` where a union can be said."""
    things = [getattr(isthmus, name) for name in isthmus.__all__]
    found = {
        (called, name)
        for thing in things
        if inspect.isclass(thing) or inspect.isfunction(thing)
        for called, function in functions(thing)
        for name, hint in get_type_hints(function).items()
        if says_any(hint)
    }
    assert found == PLAIN


@pytest.mark.parametrize(
    ("handed", "on", "without"),
    [
        (isthmus.compare, isthmus.simulate, ("what", "machine", "placement")),
        (isthmus.prove, isthmus.collective, ("kind", "algorithm", "buffers", "count", "under_way", "ordered")),
    ],
)
def test_options_that_are_handed_on_are_those_that_are_taken(handed: Any, on: Any, without: tuple[str, ...]) -> None:
    """Their type names each with the type that it has there."""
    (last,) = (p.name for p in inspect.signature(handed).parameters.values() if p.kind is p.VAR_KEYWORD)
    (options,) = get_args(get_type_hints(handed)[last])
    taken = {name: hint for name, hint in get_type_hints(on).items() if name not in (*without, "return")}
    assert get_type_hints(options) == taken


def test_requests_are_there_where_calls_are_nonblocking() -> None:
    """What type checkers read of every collective: nothing, a request, or either."""
    names = [name for name, member in vars(CollectiveCalls).items() if inspect.isfunction(member) and name[0] != "_"]
    assert len(names) == 13
    for name in names:
        declared = get_overloads(getattr(CollectiveCalls, name))
        assert [(hints["nonblocking"], hints["return"]) for hints in map(get_type_hints, declared)] == [
            (Literal[False], type(None)),
            (Literal[True], Requests),
            (bool, Requests | None),
        ], name
        whole = inspect.signature(getattr(isthmus.ProgramBuilder, name)).parameters
        assert all(list(inspect.signature(one).parameters) == list(whole) for one in declared), name


def test_what_hints_say() -> None:
    hints = get_type_hints(isthmus.simulate)
    assert hints["return"] is isthmus.Timeline
    assert isthmus.Program in hints["what"].__args__
    assert get_type_hints(isthmus.Machine.allocate)["return"] is isthmus.Allocation
    assert get_type_hints(isthmus.Machine.route)["return"].__args__[1].__args__ == (np.uint32,)


def test_packages_that_are_not_installed_are_any() -> None:
    missing: Any = Later("no_such_package")
    assert missing.Frame is Any
    assert missing.module.Frame is Any
    code = (
        "import sys; sys.modules['pandas'] = None; import isthmus, typing;"
        "print(typing.get_type_hints(isthmus.Machine.to_pandas)['return'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "typing.Any"
