"""The verb: recordings of a few sizes become a blueprint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidInput
from ..schedule.event import ROOTED, CollectiveKind, EventKind
from ..units import percent
from . import families as families_
from . import observe as observe_
from . import outline
from .blueprint import Blueprint, Repeat, Statement, Step
from .boxes import proved, tells, whole
from .charts import Grid
from .compare import Deviation, deviation
from .discover import Hints, discover, discover_peer, discover_times, spread
from .formulas import variables
from .generate import generate
from .iterations import in_turns
from .rules import Rule, Spread
from .streams import ADDRESSED, WAITING, Registry, Stream, stream
from .vocabulary import Vocabulary
from .where import Data
from .windows import Windows

if TYPE_CHECKING:
    from ..schedule.program import Program
    from .observe import Observed

#: Sizes that a fit needs.
FEWEST = 3
#: Computation with so many different values, at most, may follow a rule: it was not measured.
_EVEN = 3
#: Part of the bytes of a program that is taken to be exact as a whole.
_EXACT = 1 - 1e-9
#: Part that must be exact where calls of some ranks are in no order that others have.
_HALF = 0.5
#: Part of the calls that recordings of one program have in common, at least.
_COMMON = 0.5


def fit(programs: Sequence[tuple[str, Program, Mapping[str, int]]], *, alone: bool = False) -> Blueprint:
    """Fit a blueprint to recordings.

    Parameters
    ----------
    programs : sequence of (str, Program, mapping)
        Name for messages, program, and named numbers of the problem.
    alone : bool
        Of a single recording: it can be generated at its own number of ranks, without loss.

    Raises
    ------
    InvalidInput
        For too few sizes, recordings of different programs or inputs, and contradictory ones.
    """
    _check(programs, alone)
    registry = Registry()
    ordered = sorted(programs, key=lambda one: (one[1].ranks, sorted(one[2].items())))
    names = [name for name, _, _ in ordered]
    streams = [stream(program, registry, parameters) for _, program, parameters in ordered]
    _check_calls(names, streams, registry)
    vocabulary = Vocabulary(streams, len(registry.calls))
    masks = [vocabulary.masks(one) for one in streams]
    runs = [variables(one.ranks, one.parameters) for one in streams]
    grids = _grids(vocabulary, streams[-1])
    families: list[families_.Family | None] = [None]
    for number in range(1, len(registry.families)):
        families.append(families_.find(streams, runs, number, grids))
    source = tuple((name, one.ranks, dict(one.parameters)) for name, one in zip(names, streams, strict=True))

    def along(roles: list[list[outline.Step]], observed: Sequence[Observed]) -> Blueprint:
        fitter = _Fitter(observed, registry, vocabulary, grids, alone, observe_.shares(observed[-1], roles))
        role = discover([one.roles() for one in observed], Hints(None, grids, alone, "roles", True))
        bodies = [[fitter.step(step) for step in body] for body in roles]
        fitter.again()
        return Blueprint(source, dict(streams[-1].parameters), families, role, bodies)

    made: Blueprint | None = None
    refused = InvalidInput("")
    try:
        roles = outline.roles_of(
            outline.sequences(streams[-1].first, streams[-1].call, masks[-1]),
            [outline.line_of(call.location) for call in registry.calls],
        )
        observed = [
            observe_.observe(one, run, mask, roles, registry, name)
            for name, one, run, mask in zip(names, streams, runs, masks, strict=True)
        ]
        made = along(roles, observed)
    except InvalidInput as error:
        if alone:
            raise
        refused = error
    if made is not None and (alone or made.shares()["exact"] > _EXACT):
        return made
    # Ranks that make their calls in other orders: all of them along one body, in which calls are left out.
    turns = in_turns(streams, masks, registry, runs)
    if turns is not None:
        try:
            other = along(*turns)
        except InvalidInput:
            if made is None:
                raise
            return made
        exact = other.shares()["exact"]
        if exact >= _HALF if made is None else exact > made.shares()["exact"]:
            return other
        refused = InvalidInput(f"{refused}. As loops of which each rank does other calls, rules would give only "
                               f"{percent(exact)} of its bytes")  # fmt: skip
    if made is None:
        raise refused
    return made


def leave_out_largest(programs: Sequence[tuple[str, Program, Mapping[str, int]]]) -> tuple[str, Deviation] | None:
    """How far the program fitted to all recordings but those of most ranks is from the last of these, and its name.

    None where a fit without them has too few sizes, or is refused.
    """
    ordered = sorted(programs, key=lambda one: (one[1].ranks, sorted(one[2].items())))
    name, largest, parameters = ordered[-1]
    rest = [one for one in ordered if one[1].ranks < largest.ranks]
    if len({program.ranks for _, program, _ in rest}) < FEWEST:
        return None
    try:
        return name, deviation(largest, generate(fit(rest), largest.ranks, parameters))
    except InvalidInput:
        return None


def _check(programs: Sequence[tuple[str, Program, Mapping[str, int]]], alone: bool) -> None:
    given = {tuple(sorted(parameters)) for _, _, parameters in programs}
    if len(given) > 1:
        raise InvalidInput("recordings have different parameters: give each of them the same names, such as "
                           "r8.h5:n=64 r27.h5:n=96")  # fmt: skip
    sizes = {program.ranks for _, program, _ in programs}
    if alone:
        return
    if len(sizes) < FEWEST:
        words = ", ".join(map(str, sorted(sizes)))
        raise InvalidInput(
            f"recordings of {len(sizes)} number{'s' * (len(sizes) != 1)} of ranks ({words}): a fit needs at least "
            f"{FEWEST}, such as 8, 27 and 64; isthmus skeleton pack keeps a single one"
        )
    seen: dict[object, tuple[str, Program]] = {}
    for name, program, parameters in programs:
        key = (program.ranks, tuple(sorted(parameters.items())))
        other = seen.setdefault(key, (name, program))
        mine, theirs = (int(np.count_nonzero(p.kind != EventKind.compute)) for p in (program, other[1]))
        if mine != theirs:
            raise InvalidInput(f"{other[0]} and {name} are both of {program.ranks} ranks with the same parameters, but "
                               f"have {theirs:,} and {mine:,} calls: name what was scaled, as {name}:n=64")  # fmt: skip


def _check_calls(names: Sequence[str], streams: Sequence[Stream], registry: Registry) -> None:
    largest = Counter(streams[-1].call.tolist())
    for name, one in zip(names, streams, strict=True):
        mine = Counter(one.call.tolist())
        common = sum(count for call, count in mine.items() if call in largest)
        if common < _COMMON * sum(mine.values()):
            strange = next(registry.calls[call] for call, _ in mine.most_common() if call not in largest)
            place = f" at {strange.location}" if strange.location else ""
            raise InvalidInput(
                f"{name} and {names[-1]} are recordings of different programs: the first calls {strange.name}{place}, "
                "the second never does"
            )


def _grids(vocabulary: Vocabulary, largest: Stream) -> tuple[Grid, ...]:
    """Grids by how many calls use them."""
    count: Counter[Grid] = Counter()
    for call, items in vocabulary.items.items():
        for item in items:
            if isinstance(item.chart, Grid) and len(item.chart.order) > 1:
                count[Grid(item.chart.order)] += int((largest.call == call).sum())
    return tuple(grid for grid, _ in count.most_common())


class _Fitter:
    """Finds the rules of steps."""

    def __init__(
        self, observed: Sequence[Observed], registry: Registry, vocabulary: Vocabulary, grids: tuple[Grid, ...],
        alone: bool, shares: Mapping[int, float],
    ) -> None:  # fmt: skip
        self.observed, self.registry, self.vocabulary = observed, registry, vocabulary
        self.grids, self.alone, self.shares = grids, alone, shares
        self.totals: list[int] = []
        #: Boxes whose number of points along sides was taken before others told it.
        self.untold: list[tuple[dict[str, Rule], str, list[Data], Hints]] = []
        self.boxes: list[tuple[dict[str, Rule], str, list[Data]]] = []

    def again(self) -> None:
        """Boxes with the numbers of points along sides that others told later, or that several tell together."""
        for rules, name, data, hints in self.untold if self.totals else ():
            rules[name] = discover(data, hints)
        alike: dict[int, list[tuple[dict[str, Rule], str, list[Data], Windows]]] = {}
        layers: dict[int, set[int]] = {}
        for rules, name, data in self.boxes:
            found = rules[name]
            if not isinstance(found, Windows):
                continue
            total = int(found.windows[0].total({"P": 1}))
            if found.label == "exact":
                layers.setdefault(total, set()).update(one.more for one in found.windows if one.more)
            elif whole(used := [one for one in data if len(one.values)], found):
                alike.setdefault(total, []).append((rules, name, used, found))
        for total, several in alike.items():
            new = total not in self.totals
            if proved([(data, found) for *_, data, found in several], layers.get(total, set()), new):
                for rules, name, _, found in several:
                    rules[name] = replace(found, label="exact")

    def step(self, step: outline.Step) -> Step:
        """The step with its rules."""
        if isinstance(step, outline.Repeat):
            data = [one.times(step) for one in self.observed]
            times = discover_times(data, Hints(None, self.grids, self.alone, f"times of loop {step.number}"))
            return Repeat(times, [self.step(inner) for inner in step.body], step.number)
        return self.statement(step)

    def statement(self, step: outline.Statement) -> Statement:
        call = self.registry.calls[step.call]
        item = self.vocabulary.items[step.call][step.bit] if step.bit >= 0 else None
        place = f"{call.name} at {call.location}" if call.location else call.name
        self.hints = Hints(item, self.grids, self.alone, place)
        self.calls = [one.calls(step) for one in self.observed]
        made = Statement(call, item, step.number, share=self.shares.get(step.number, 0.0))
        rules = made.rules
        rules["when"] = discover([one.taken(step) for one in self.observed], self._named("whether", place, flag=True))
        kind = call.kind
        if kind in ADDRESSED and item is None:
            peers = [one.of(c, one.stream.peer[c.values]) for one, c in zip(self.observed, self.calls, strict=True)]
            rules["peer"] = discover_peer(peers, self._named("peer", place))
        elif kind in ADDRESSED and self._none():
            # Where the step leaves the grid, calls are made without a peer.
            rules["open"] = discover(
                self._data(lambda s, at: (s.peer[at] == -2).astype(np.int64)), self._named("open", place, flag=True)
            )
        if kind in (*ADDRESSED, EventKind.collective, EventKind.iteration):
            if not (kind == EventKind.collective and call.listed):
                self._bytes(rules, "bytes", self._data(lambda s, at: s.amount[at]), place)
            rules["tag"] = discover(self._data(lambda s, at: s.tag[at]), self._named("tag", place))
        if kind == EventKind.collective and call.what in ROOTED:
            rules["peer"] = discover(self._data(lambda s, at: s.peer[at]), self._named("root", place))
        if kind == EventKind.comm_create:
            rules["joins"] = discover(self._data(lambda s, at: (s.amount[at] >= 0).astype(np.int64)),
                                      self._named("joins", place, flag=True))  # fmt: skip
        if kind in (EventKind.test, EventKind.waitany):
            rules["done"] = discover(self._data(lambda s, at: s.amount[at]), self._named("done", place))
        if kind in WAITING:
            made.waits = observe_.waits(self.observed, step, kind)
        if call.listed and kind in (EventKind.sendrecv, EventKind.collective):
            self._lists(made, place)
        before = self._data(lambda s, at: s.before[at])
        if any((one.values > 0).any() for one in before):
            rules["before"] = self._times(before, place)
        return made

    def _bytes(self, rules: dict[str, Rule], name: str, data: list[Data], place: str) -> None:
        hints = self._named(name, place)
        found = rules[name] = discover(data, hints)
        if isinstance(found, Windows):
            self.boxes.append((rules, name, data))
        if isinstance(found, Windows) and (found.label == "fitted" or not tells(found)):
            self.untold.append((rules, name, data, hints))

    def _named(self, what: str, place: str, flag: bool = False) -> Hints:
        return Hints(self.hints.item, self.hints.grids, self.hints.alone, f"{what} of {place}", flag, self.totals)

    def _data(self, column: object) -> list[Data]:
        return [
            one.of(calls, column(one.stream, calls.values))  # type: ignore[operator]
            for one, calls in zip(self.observed, self.calls, strict=True)
        ]

    def _none(self) -> bool:
        return any((one.stream.peer[c.values] == -2).any() for one, c in zip(self.observed, self.calls, strict=True))

    def _times(self, data: Sequence[Data], place: str) -> Rule:
        """Computation: the same for all, or a spread."""
        used = [one for one in data if len(one.values)]
        if all(len(np.unique(one.values)) <= _EVEN for one in used):
            rule = discover(used, self._named("computation before", place))
            if rule.label == "exact":
                return rule
        return spread(used, Hints(None, (), self.alone, f"computation before {place}"))

    def _lists(self, made: Statement, place: str) -> None:
        lists = [one.lists(calls) for one, calls in zip(self.observed, self.calls, strict=True)]
        if made.call.kind == EventKind.sendrecv:
            for i, name in enumerate(("source", "source_tag", "received")):
                parts = [one.part(one.where.inner == i) for one in lists]
                flat = [Data(c.where, p.values) for c, p in zip(self.calls, parts, strict=True)]
                if name == "source":
                    worlds = [self._world(one, calls, part)
                              for one, calls, part in zip(self.observed, self.calls, flat, strict=True)]  # fmt: skip
                    made.rules[name] = discover_peer(worlds, self._named(name, place))
                else:
                    self._bytes(made.rules, name, flat, place)
            return
        if made.call.what == CollectiveKind.neighbor_alltoall and not self.alone:
            raise InvalidInput(f"{place}: neighbourhood collectives are not extrapolated")
        made.rules["list"] = discover(lists, self._named("bytes", place))
        widths = [Data(c.where, one.stream.program.details[one.stream.detail[c.values]])
                  for one, c in zip(self.observed, self.calls, strict=True)]  # fmt: skip
        made.rules["width"] = discover(widths, self._named("length of the list", place))

    def _world(self, one: Observed, calls: Data, part: Data) -> Data:
        """Sources as ranks of the world."""
        program = one.stream.program
        comm = program.comm[one.stream.event[calls.values]].astype(np.int64)
        values = part.values.copy()
        inside = (comm > 0) & (values >= 0)
        values[inside] = program.comm_ranks[program.comm_first[comm[inside]].astype(np.int64) + values[inside]]
        return Data(part.where, values)


__all__ = ["FEWEST", "Spread", "fit", "leave_out_largest"]
