"""The verb ``export``, and what all targets share."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ... import units
from ...errors import InvalidInput
from ...files import write_atomically
from ..choice import LIBRARY, Choice
from ..decisions import Decisions
from ..libraries.library import Algorithm, Fit, Predict, fit
from ..table import DecisionTable
from .guard import Guard, Part, spread

#: Targets and the module of each; all have ``write(decisions, request) -> Export``.
_TARGETS = {"openmpi": "openmpi", "openmpi-han": "han", "mpich": "mpich", "ucc": "ucc", "isthmus": "isthmus"}

FLAVOURS = (
    "files do not choose puts, gets and protocols: messages stand in, whose protocol the library decides by size, for "
    "all collectives alike"
)
#: Said where there is no guard.
UNGUARDED = (
    "rules were not compared with what the library decides by itself, which may be faster: that needs a machine and a "
    "library whose decisions are known, openmpi or mpich"
)


@dataclass(frozen=True)
class Loss:
    """A range of sizes in which the library does something else than was chosen.

    Parameters
    ----------
    collective : str
    ranks : int
    low, high : int or None
        First and last size in bytes; None: any.
    wanted : Choice
    running : Choice or None
        What stands in; None where the library is left to decide.
    loss : float or None
        How much longer that takes, relative; None where it is not known.
    own : float or None
        How much longer the choice, or what stands in for it, takes than what the library decides by itself, relative to
        that: not less, and so the library is left to decide. None where that is not why.
    slower : float or None
        How much longer it takes with the file than without it, relative to that. None if it does not.
    """

    collective: str
    ranks: int
    low: int
    high: int | None
    wanted: Choice
    running: Choice | None
    loss: float | None
    own: float | None = None
    slower: float | None = None

    def __str__(self) -> str:
        return self.line(units.mixed(self.sizes))

    @property
    def sizes(self) -> list[int]:
        """The sizes that it names."""
        return [size for size in (self.low, self.high) if size is not None]

    def line(self, decimal: bool) -> str:
        """A sentence, with sizes in powers of 1000 only where ``decimal``."""
        ends = [units.text(size, "B", decimal=decimal) for size in self.sizes]
        words = " to ".join(ends if self.high is not None else [*ends, "any size"])
        return f"{self.collective}, {self.ranks} ranks, {words}: {self._words()}" + self._without()

    def _words(self) -> str:
        if self.running is not None:
            if self.loss == 0:
                return str(self.wanted)
            return f"no {self.wanted}; {self.running} instead, {self._cost()}"
        if self.own is None:
            return f"no {self.wanted}; the library decides"
        longer = f"up to {units.percent(self.own)} slower" if self.own >= 0.0005 else "no faster"
        return f"{self.wanted} is {longer} than what the library decides by itself; the library decides"

    def _without(self) -> str:
        return "" if self.slower is None else f"; up to {units.percent(self.slower)} slower than without the file"

    def _cost(self) -> str:
        if self.loss is None:
            return "loss not known"
        return f"loss {units.percent(self.loss)}" if self.loss >= 0.0005 else "no slower"


@dataclass(frozen=True)
class Export:
    """A file for a library, and what to know about it.

    Parameters
    ----------
    target : str
        Such as ``"openmpi-5.0.8"``.
    format : str
        Format of the file, in words.
    text : str
        Its content.
    settings : mapping of str to str
        Environment variables that make the library read it; ``{file}`` stands for its path.
    losses : sequence of Loss
        Where the library does something else.
    notes : sequence of str
        What the file cannot do.
    """

    target: str
    format: str
    text: str
    settings: Mapping[str, str]
    losses: Sequence[Loss] = ()
    notes: Sequence[str] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file; it is either complete or as it was before."""
        write_atomically(path, self.text)

    def environment(self, path: str | os.PathLike[str]) -> dict[str, str]:
        """Environment variables for a run with the file at that path."""
        file = os.path.abspath(path)
        return {key: value.replace("{file}", file) for key, value in self.settings.items()}

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """For people: how to use the file, what is lost, what it cannot do."""
        lines = [f"{self.target}: {self.format}", "use it with:"]
        settings = self.settings if path is None else self.environment(path)
        lines += [f"  export {key}='{value}'" for key, value in settings.items()]
        if self.losses:
            decimal = units.mixed(size for loss in self.losses for size in loss.sizes)
            lines += ["what the library does otherwise, or slower:"]
            lines += [f"  {loss.line(decimal)}" for loss in self.losses]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


@dataclass(frozen=True)
class Request:
    """The request to an exporter."""

    version: str
    predict: Predict | None
    ranks: tuple[int, ...] | None
    options: Mapping[str, Any] = field(default_factory=dict)
    guard: Guard | None = None


def export(
    decisions: Decisions,
    target: str,
    *,
    predict: Predict | None = None,
    ranks: Iterable[int] | None = None,
    guard: Guard | None = None,
    **options: Any,
) -> Export:
    """A file that makes an MPI library decide as a table says.

    Parameters
    ----------
    decisions : Decisions
        A table, or the rules of another library.
    target : str
        ``"openmpi-5.0.8"`` (the version decides the format), ``"openmpi-han-5.0.8"``, ``"mpich"`` or ``"mpich-4.0.2"``,
        ``"ucc"``, ``"isthmus"`` (the plain text that libisthmus reads).
    predict : callable, optional
        Seconds of collective, ranks, bytes and choice, such as :func:`isthmus.tuning.compare.predictor`. With it an
        algorithm that the library does not have is replaced by the fastest that it has, and the loss is known.
    ranks : iterable of int, optional
        Numbers of ranks to write rules for; by default those of the table's rows.
    guard : Guard, optional
        Leaves to the library what it decides no worse by itself; ``losses`` tell where. Without it rules are written
        whether or not they are better than that, and a note says so.
    **options
        Options of the target. openmpi: ``by_size=("gather", "scatter")``, collectives whose callers pass the same
        counts on all ranks and may have rules by size. mpich: ``tree=`` (the library's own selection tree, a path or
        plain data) or ``library=`` (a shared library to take it from). ucc: ``section="vendor=intel model=skylake"``,
        ``ppn=``.

    Raises
    ------
    InvalidInput
        For an unknown target or option, and where the library's own tree is needed and not found.
    """
    match = re.fullmatch(r"(openmpi-han|[a-z]+)(?:-(\d[\w.]*))?", target)
    if match is None or match[1] not in _TARGETS:
        names = "openmpi-VERSION, openmpi-han-VERSION, mpich, mpich-VERSION, ucc, isthmus"
        raise InvalidInput(f"target {target!r}: must be one of {names}")
    module = import_module(f".{_TARGETS[match[1]]}", __package__)
    unknown = sorted(set(options) - set(module.OPTIONS))
    if unknown:
        raise InvalidInput(f"option {unknown[0]} of {target}: must be one of {', '.join(module.OPTIONS) or 'none'}")
    given = None if ranks is None else tuple(sorted(set(ranks)))
    write: Callable[[Decisions, Request], Export] = module.write
    made = write(decisions, Request(match[2] or "", predict, given, options, guard))
    if match[1] != "isthmus" and isinstance(decisions, DecisionTable) and decisions.modes:
        words = "rows of modes of synchronisation are left out: calls of MPI name none"
        made = replace(made, notes=[*made.notes, words])
    if guard is None and match[1] not in ("openmpi-han", "isthmus") and not _was_compared(decisions, target):
        made = replace(made, notes=[*made.notes, _timed_with(decisions, target) or UNGUARDED])
    if any(loss.wanted.parts[1] for loss in made.losses):
        return replace(made, notes=[*made.notes, FLAVOURS])
    return made


def _was_compared(decisions: Decisions, target: str) -> bool:
    """Was the table timed beside the decisions of this library?"""
    if not isinstance(decisions, DecisionTable):
        return False
    return decisions.provenance.source == "measured" and decisions.provenance.library == target


def _timed_with(decisions: Decisions, target: str) -> str:
    """What a table is worth that was timed with another library; empty for other tables."""
    if not isinstance(decisions, DecisionTable) or decisions.provenance.source != "measured":
        return ""
    library = decisions.provenance.library or "another library"
    return (
        f"the rules were timed with {library}, beside its own decisions: whether the same algorithms are faster than "
        f"what {target} decides by itself was not measured"
    )


def rank_counts(decisions: Decisions, collective: str, request: Request) -> tuple[int, ...]:
    """The numbers of ranks to write rules for."""
    if request.ranks is not None:
        return request.ranks
    if isinstance(decisions, DecisionTable):
        return tuple(row.ranks for row in decisions.rows[collective])
    raise InvalidInput("these decisions hold for any number of ranks: say for which to write rules")


def common_radix(
    decisions: Decisions, kinds: Iterable[str], request: Request, algorithm: str, otherwise: int, of_two: str = ""
) -> int:
    """The radix that most rules want of an algorithm, for libraries in which one setting holds for a whole run.

    ``of_two`` is the name of the algorithm with radix 2, where the library has no other for it.
    """
    wanted: Counter[int] = Counter()
    for kind in kinds:
        if kind not in decisions.collectives:
            continue
        for ranks in rank_counts(decisions, kind, request):
            for rule in decisions.rules(kind, ranks):
                value = rule.choice.options.get("radix")
                if rule.choice.name == algorithm and isinstance(value, int) and value > 2:
                    wanted[value] += 1
                elif rule.choice.name == of_two:
                    wanted[2] += 1
    return wanted.most_common(1)[0][0] if wanted else otherwise


@dataclass(frozen=True)
class Placed:
    """A rule with what the library does for it; ``fit`` is None where the library decides, ``own`` and ``slower`` are
    those of a loss.
    """

    low: int
    high: int | None
    wanted: Choice
    fit: Fit | None
    own: float | None = None
    slower: float | None = None


def placed(
    decisions: Decisions,
    collective: str,
    ranks: int,
    algorithms: Sequence[Algorithm],
    predict: Predict | None,
    guard: Guard | None = None,
) -> list[Placed]:
    """The rules of a collective in a library's terms."""
    rules = decisions.rules(collective, ranks)
    tuned = _sizes(decisions, collective, ranks)
    out = []
    for rule, following in zip(rules, [*rules[1:], None], strict=True):
        high = None if following is None else following.bytes - 1
        sizes = [size for size in tuned if rule.bytes <= size and (high is None or size <= high)] or [rule.bytes]
        own = rule.choice == LIBRARY
        found = None if own else fit(algorithms, collective, ranks, sizes, rule.choice, predict)
        if found is None or guard is None:
            out.append(Placed(rule.bytes, high, rule.choice, found))
            continue
        parts = guard.split(collective, ranks, rule.bytes, high, sizes, found.running)
        out += [_guarded(rule.choice, found, part) for part in parts]
    return out


def _guarded(wanted: Choice, found: Fit, part: Part) -> Placed:
    if part.kept:
        return Placed(part.low, part.high, wanted, found, None, part.slower)
    # Where it is what the library decides anyway, nothing is lost.
    return Placed(part.low, part.high, LIBRARY if part.same else wanted, None, part.by, part.slower)


def losses(collective: str, ranks: int, rules: Iterable[Placed]) -> list[Loss]:
    """Return the rules that the library does not follow exactly, or that make it slower."""
    out = []
    for p in rules:
        if p.fit is None:
            if p.wanted != LIBRARY or p.slower is not None:
                out.append(Loss(collective, ranks, p.low, p.high, p.wanted, None, None, p.own, p.slower))
        elif not p.fit.exact or p.slower is not None:
            out.append(Loss(collective, ranks, p.low, p.high, p.wanted, p.fit.running, p.fit.loss, None, p.slower))
    return out


def joined(rules: Iterable[Placed]) -> list[Placed]:
    """Neighbours for which the library does the same become one."""
    out: list[Placed] = []
    for p in rules:
        last = out[-1].fit if out else None
        if out and _does(p.fit) == _does(last):
            out[-1] = Placed(out[-1].low, p.high, out[-1].wanted, last)
        else:
            out.append(p)
    return out


def one_rule(
    decisions: Decisions, collective: str, ranks: int, rules: Sequence[Placed], guard: Guard | None = None
) -> Placed:
    """The rule that most tuned sizes follow, for libraries that cannot tell sizes apart.

    With a guard, the first one in that order that is slower than what the library decides at none of them.
    """
    tuned = _sizes(decisions, collective, ranks)

    def weight(p: Placed) -> int:
        return sum(p.low <= size and (p.high is None or size <= p.high) for size in tuned)

    most = sorted(rules, key=weight, reverse=True)
    if guard is None:
        return Placed(0, None, most[0].wanted, most[0].fit)
    sizes = tuned if len(tuned) > 1 else spread(tuned[0], None)
    whole = [
        _guarded(p.wanted, p.fit, guard.whole(collective, ranks, sizes, p.fit.running))
        for p in most
        if p.fit is not None
    ]
    left = whole[0] if whole else Placed(0, None, most[0].wanted, None)
    return next((p for p in whole if p.fit is not None), left)


def _does(fit: Fit | None) -> object:
    return None if fit is None else (fit.algorithm.name, fit.parameters)


def _sizes(decisions: Decisions, collective: str, ranks: int) -> list[int]:
    if isinstance(decisions, DecisionTable):
        return [point.bytes for point in decisions.row(collective, ranks).points]
    return [rule.bytes for rule in decisions.rules(collective, ranks)]
