"""An algorithm of a library, and the nearest one to a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import InvalidInput
from ..choice import Choice, Option
from .canonical import canonical, pretty

#: Seconds of collective, ranks, bytes and algorithm.
Predict = Callable[[str, int, int, Choice], float]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm that a library has.

    Parameters
    ----------
    name : str
        As the library calls it.
    choice : Choice or None
        What it does with the library's own parameters, in the terms of Isthmus; None: Isthmus has nothing like it.
    number : int
        By which the library knows it, where it does.
    steer : mapping of str to str
        Options of the choice that can be set, and the library's parameter for each.
    fixed : mapping of str to int, float or str
        Parameters of the library that go with it always.
    """

    name: str
    choice: Choice | None
    number: int = 0
    steer: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Option] = field(default_factory=dict)

    def running(self, collective: str, wanted: Choice) -> Choice | None:
        """The algorithm that runs with parameters as close to a choice as possible, in canonical form."""
        if self.choice is None:
            return None
        full = canonical(collective, wanted).options
        taken = {key: value for key, value in full.items() if key in self.steer}
        return canonical(collective, self.choice.replace(**taken))


@dataclass(frozen=True)
class Fit:
    """The library's realisation of a choice.

    Parameters
    ----------
    algorithm : Algorithm
    parameters : mapping of str to int, float or str
        Parameters of the library.
    running : Choice
        What that is in the terms of Isthmus.
    loss : float or None
        How much longer it takes than what was chosen, relative to it, at worst over the sizes looked at; 0 where it is
        the same, None where no times were to be had.
    """

    algorithm: Algorithm
    parameters: Mapping[str, Option]
    running: Choice
    loss: float | None

    @property
    def exact(self) -> bool:
        return self.loss == 0.0


def same(algorithms: Iterable[Algorithm], collective: str, wanted: Choice) -> Fit | None:
    """The algorithm that does exactly what was chosen; None where the library has none."""
    full = canonical(collective, wanted)
    for algorithm in algorithms:
        if algorithm.running(collective, wanted) == full:
            return Fit(algorithm, parameters(algorithm, full), pretty(collective, full), 0.0)
    return None


def parameters(algorithm: Algorithm, running: Choice) -> dict[str, Option]:
    """The library's parameters for what it is to run, given in canonical form."""
    steered = {name: running.options[key] for key, name in algorithm.steer.items() if key in running.options}
    return {**algorithm.fixed, **steered}


def fit(
    algorithms: Sequence[Algorithm],
    collective: str,
    ranks: int,
    sizes: Sequence[int],
    wanted: Choice,
    predict: Predict | None,
) -> Fit | None:
    """The algorithm of a library that does what was chosen, or is the fastest of those that it has.

    Parameters
    ----------
    algorithms : sequence of Algorithm
        What the library has for this collective.
    collective : str
    ranks : int
    sizes : sequence of int
        Bytes at which times count: sizes of the rule.
    wanted : Choice
    predict : callable, optional
        Seconds of collective, ranks, bytes and algorithm. Without it only an algorithm of the same name, with other
        options, stands in for one that the library does not have. Flavours no library has: messages stand in.

    Returns
    -------
    Fit or None
        None where nothing can stand in; the library is then left to decide.
    """
    plain, flavour = wanted.parts
    found = same(algorithms, collective, plain)
    if found is not None and not flavour:
        return found
    candidates = [(a, running) for a in algorithms if (running := a.running(collective, wanted)) is not None]
    if predict is None and found is not None:
        return replace(found, loss=None)
    if predict is None:
        family = canonical(collective, wanted).name
        akin = [Fit(a, parameters(a, r), pretty(collective, r), None) for a, r in candidates if r.name == family]
        return akin[0] if akin else None
    best: tuple[float, float, Algorithm, Choice] | None = None
    aims = [_time(predict, collective, ranks, size, wanted) for size in sizes]
    for algorithm, running in candidates:
        try:
            ratios = [
                _time(predict, collective, ranks, size, pretty(collective, running)) / aim
                for size, aim in zip(sizes, aims, strict=True)
            ]
        except InvalidInput:
            # Such as an algorithm for powers of two.
            continue
        mean = sum(ratios) / len(ratios)
        if best is None or mean < best[0]:
            best = (mean, max(ratios), algorithm, running)
    if best is None:
        return None
    # Ties and luck: a stand-in that is faster loses nothing, but it is not the same.
    loss = max(best[1] - 1, 5e-324)
    return Fit(best[2], parameters(best[2], best[3]), pretty(collective, best[3]), loss)


def _time(predict: Predict, collective: str, ranks: int, size: int, choice: Choice) -> float:
    return max(predict(collective, ranks, size, choice), 1e-15)
