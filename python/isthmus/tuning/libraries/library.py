"""An algorithm of a library, and the nearest one to a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import InvalidInput
from ..choice import Choice, Option

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

    def running(self, wanted: Choice) -> Choice | None:
        """What it does with its parameters set as near to a choice as they can be."""
        if self.choice is None:
            return None
        taken = {key: value for key, value in wanted.options.items() if key in self.steer}
        return plain(self.choice.replace(**taken))


@dataclass(frozen=True)
class Fit:
    """How a library does what was chosen.

    Parameters
    ----------
    algorithm : Algorithm
    parameters : mapping of str to int, float or str
        Of the library.
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


def plain(choice: Choice) -> Choice:
    """The same choice written in one way: without options that say nothing, trees of radix 2 by their own name."""
    options = {key: value for key, value in choice.options.items() if not (key in ("segment", "window") and value == 0)}
    name = choice.name
    if name == "knomial" and options.get("radix") == 2:
        name, options = "binomial", {key: value for key, value in options.items() if key != "radix"}
    elif name == "recursive_multiplying" and options.get("radix") == 2:
        name, options = "recursive_doubling", {key: value for key, value in options.items() if key != "radix"}
    elif name in ("bruck", "dissemination") and options.get("radix") == 2:
        options = {key: value for key, value in options.items() if key != "radix"}
    elif name == "chain" and options.get("radix") == 1:
        options = {key: value for key, value in options.items() if key != "radix"}
    return Choice(name, options)


def same(algorithms: Iterable[Algorithm], wanted: Choice) -> Fit | None:
    """The algorithm that does exactly what was chosen; None where the library has none."""
    for algorithm in algorithms:
        if algorithm.running(wanted) == plain(wanted):
            return Fit(algorithm, parameters(algorithm, wanted), plain(wanted), 0.0)
    return None


def parameters(algorithm: Algorithm, wanted: Choice) -> dict[str, Option]:
    """The library's parameters for the options of a choice."""
    own = {} if algorithm.choice is None else algorithm.choice.options
    options = {key: wanted.options.get(key, own.get(key)) for key in algorithm.steer}
    steered = {algorithm.steer[key]: value for key, value in options.items() if value is not None}
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
        options, stands in for one that the library does not have.

    Returns
    -------
    Fit or None
        None where nothing can stand in; the library is then left to decide.
    """
    found = same(algorithms, wanted)
    if found is not None:
        return found
    candidates = [(a, running) for a in algorithms if (running := a.running(wanted)) is not None]
    if predict is None:
        akin = [pair for pair in candidates if pair[1].name == plain(wanted).name]
        return Fit(akin[0][0], parameters(akin[0][0], wanted), akin[0][1], None) if akin else None
    best: tuple[float, float, Algorithm, Choice] | None = None
    aims = [_time(predict, collective, ranks, size, wanted) for size in sizes]
    for algorithm, running in candidates:
        try:
            ratios = [
                _time(predict, collective, ranks, size, running) / aim for size, aim in zip(sizes, aims, strict=True)
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
    return Fit(best[2], parameters(best[2], wanted), best[3], loss)


def _time(predict: Predict, collective: str, ranks: int, size: int, choice: Choice) -> float:
    return max(predict(collective, ranks, size, choice), 1e-15)
