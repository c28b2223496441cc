"""From a blueprint the program of any number of ranks, whole arrays of ranks at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..schedule.event import EVENT_COLUMNS, NO_COMMUNICATOR, NONE, NULL, CollectiveKind, EventKind
from ..schedule.program import Program
from .assemble import Compact, assemble
from .blueprint import Blueprint, Repeat, Statement, Step
from .doubts import ALL, sentence
from .families import local
from .formulas import variables
from .matching import RECEIVES, SENDS, Balance, mend
from .rules import ITERATED, Rule, Same
from .streams import ADDRESSED, END, OPENING, WAITING
from .where import Where

Ints = NDArray[np.int64]
#: Events of a program, at most: more do not fit the memory of a workstation.
MOST = 1 << 30
_BY_ITERATION = ("place", *ITERATED)


def generate(blueprint: Blueprint, ranks: int, parameters: Mapping[str, int] | None = None) -> Program:
    """The program of so many ranks.

    Raises
    ------
    InvalidInput
        For a number of ranks that the blueprint cannot have, and formulas that become negative.
    """
    if len(blueprint.sizes) == 1 and ranks != blueprint.sizes[0]:
        raise InvalidInput(
            f"ranks={ranks:,}: the skeleton holds one recording, of {blueprint.sizes[0]:,} ranks: fit at least three "
            "sizes for others"
        )
    return _Generator(blueprint, ranks, {**blueprint.parameters, **(parameters or {})}).program()


class _Generator:
    """Walks along an outline with all ranks at once."""

    def __init__(self, blueprint: Blueprint, ranks: int, parameters: Mapping[str, int]) -> None:
        self.blueprint, self.ranks = blueprint, ranks
        self.variables = variables(ranks, parameters)
        self.rank = np.arange(ranks)
        self.nothing = np.zeros(ranks, np.int64)
        self.chunks: list[dict[str, Any]] = []
        self.compact = Compact()
        self.events = 0
        self.details: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self.detail_size = 1
        self.locations: dict[str, int] = {}
        self.phases: dict[str, int] = {}
        self.next_request = np.ones(ranks, np.int64)
        #: The first request of each rank that is open, where requests are waited for in order.
        self.oldest = np.ones(ranks, np.int64)
        #: For each statement, requests of its last openings that are not complete, by rank; 0 for none.
        self.open: dict[int, list[NDArray[np.int64]]] = {}
        self.depth = self._depths()
        self.visits: dict[tuple[int, str], Ints] = {}
        self.kept: dict[tuple[int, str], tuple[object, NDArray[np.generic]]] = {}
        #: For each statement why its numbers are not proved here, see :class:`.where.Where`.
        self.doubts: dict[int, set[str]] = {}
        #: Sends less receives, and what each statement added to it when it was last looked at.
        self.balance = Balance()
        self.counted: dict[int, tuple[Ints, Ints, object, Balance]] = {}
        self._communicators()

    def _depths(self) -> dict[int, int]:
        """How many openings of each statement waits look back to."""
        out: dict[int, int] = {}
        for step in self.blueprint.statements():
            for one in step.waits[1] if step.waits else ():
                for number, age in one:
                    out[number] = max(out.get(number, 1), age + 1)
        return out

    def _communicators(self) -> None:
        self.first_of: list[int] = [0]
        self.colors: list[Ints] = [self.nothing]
        self.local: list[Ints] = [self.rank]
        self.sizes: list[Ints] = [np.full(self.ranks, self.ranks)]
        members: list[Ints] = [self.rank]
        lengths = [self.ranks]
        for family in self.blueprint.families[1:]:
            assert family is not None
            color = family.color(self.variables)
            self.first_of.append(len(lengths))
            self.colors.append(color)
            self.local.append(local(color))
            inside = np.flatnonzero(color >= 0)
            order = inside[np.argsort(color[inside], kind="stable")]
            count = np.bincount(color[inside]) if len(inside) else np.zeros(0, np.int64)
            self.sizes.append(np.where(color >= 0, count[np.maximum(color, 0)] if len(count) else 0, 0))
            members.append(order)
            lengths += count.tolist()
        self.comm_first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
        self.comm_ranks = np.concatenate(members).astype(np.uint32)

    # Rules.

    def where(
        self, ranks: Ints, visit: Ints | None, inner: int, partner: Ints | None = None, family: int = 0,
        number: int = ALL,
    ) -> Where:  # fmt: skip
        given = self.variables
        if family:
            size = self.sizes[family][ranks]
            given = {**given, "C": int(size.max(initial=1))}
        visits = np.zeros(len(ranks), np.int64) if visit is None else visit
        return Where(given, ranks, visits, np.full(len(ranks), inner), partner, self.doubts.setdefault(number, set()))

    def numbers(
        self, step: Statement, name: str, ranks: Ints, visit: Ints, inner: int, partner: Ints | None = None
    ) -> Any:
        """Numbers of a rule; one number where it is the same for all."""
        rule = step.rules.get(name)
        if rule is None:
            return 0
        what = f"{name} of {step.call.name}" + (f" at {step.call.location}" if step.call.location else "")
        if isinstance(rule, Same):
            return round(rule(self.one(step, ranks), what)[0].item()) if len(ranks) else 0
        where = self.where(ranks, visit, inner, partner, step.call.family, step.number)
        if _varies(rule):
            return rule(where, what)
        key = (step.number, name)
        kept = self.kept.get(key)
        if kept is None or kept[0] is not ranks:
            kept = self.kept[key] = (ranks, rule(where, what))
        return kept[1]

    def one(self, step: Statement, ranks: Ints) -> Where:
        """The first of some ranks, for what is the same for all."""
        return self.where(ranks[:1], None, 0, family=step.call.family, number=step.number)

    def visit(self, step: Statement | Repeat, name: str, ranks: Ints) -> Ints:
        """How often each of these ranks was here before; counts them."""
        key = (step.number, name)
        count = self.visits.setdefault(key, np.zeros(self.ranks, np.int64))
        found = count[ranks]
        count[ranks] += 1
        return found

    # Walking.

    def program(self) -> Program:
        role = self.blueprint.role(self.where(self.rank, self.nothing, 0), "roles").astype(np.int64)
        for number, body in enumerate(self.blueprint.roles):
            ranks = self.rank if (role == number).all() else np.flatnonzero(role == number)
            if len(ranks):
                self.walk(body, ranks, 0)
        return self._built()

    def walk(self, body: Sequence[Step], ranks: Ints, inner: int) -> None:
        for step in body:
            if isinstance(step, Statement):
                self.statement(step, ranks, inner)
                continue
            visit = self.visit(step, "times", ranks)
            counts = step.times(self.where(ranks, visit, inner), f"times of loop {step.number}").astype(np.int64)
            least, most = int(counts.min(initial=0)), int(counts.max(initial=0))
            if least < 0:
                raise InvalidInput(
                    f"loop {step.number} would be run {least} times at {self.ranks:,} ranks: the program cannot be "
                    "extrapolated to so many ranks"
                )
            for iteration in range(most):
                self.walk(step.body, ranks if iteration < least else ranks[counts > iteration], iteration)

    def statement(self, step: Statement, ranks: Ints, inner: int) -> None:
        when = step.rules["when"]
        if not (isinstance(when, Same) and when.formula.constant and when.formula({"P": 1}) == 1):
            key = (step.number, "taken")
            if _varies(when):
                before = self.visit(step, "when", ranks)
                chosen = when(self.where(ranks, before, inner, number=step.number), "whether").astype(bool)
                ranks = ranks[chosen]
            else:
                kept = self.kept.get(key)
                if kept is None or kept[0] is not ranks:
                    chosen = when(self.where(ranks, None, inner, number=step.number), "whether").astype(bool)
                    kept = self.kept[key] = (ranks, ranks if chosen.all() else ranks[chosen])
                # The same array as before, so that what goes with it is known.
                self.kept[key] = (kept[0], kept[1])
                ranks = kept[1]  # type: ignore[assignment]
        if not len(ranks):
            return
        visit = self.visit(step, "done", ranks) if any(_varies(r) for r in step.rules.values()) or step.waits else None
        visits = self.nothing[: len(ranks)] if visit is None else visit
        if "before" in step.rules:
            self.compute(step, ranks, visits, inner)
        call = step.call
        if call.kind == END:
            return
        out: dict[str, Any] = {"rank": ranks, "kind": call.kind, "what": call.what}
        if call.location:
            out["location"] = self.locations.setdefault(call.location, len(self.locations))
        if call.phase:
            out["phase"] = self.phases.setdefault(call.phase, len(self.phases))
        if call.kind in WAITING:
            self.wait(step, ranks, visits, inner, out)
            return
        partner = self.peers(step, ranks, visits, inner, out)
        out["comm"] = self.comm(call.family, ranks)
        out["tag"] = self.numbers(step, "tag", ranks, visits, inner)
        if isinstance(partner, np.ndarray) and call.kind in (*RECEIVES, *SENDS):
            self.count(step, ranks, partner, out)
        receives = call.kind in RECEIVES and isinstance(partner, np.ndarray)
        out["amount"] = self.numbers(step, "bytes", ranks, visits, inner, partner if receives else None)
        if isinstance(out["amount"], np.ndarray) and out["amount"].min() < 0:
            raise InvalidInput(
                f"bytes of {call.name} at {call.location}: {out['amount'].min()} at {self.ranks:,} ranks: below 0, so "
                "the program cannot be extrapolated to so many ranks"
            )
        if call.kind == EventKind.comm_create:
            self.create(step, ranks, visits, inner, out)
        if call.listed:
            self.lists(step, ranks, visits, inner, out)
        if call.opens:
            request = self.next_request[ranks]
            self.next_request[ranks] += 1
            out["request"] = request
            opened = self.open.setdefault(step.number, [])
            column = np.zeros(self.ranks, np.int64)
            column[ranks] = request
            opened.append(column)
            del opened[: -self.depth.get(step.number, 1)]
        self.add(out)

    def compute(self, step: Statement, ranks: Ints, visits: Ints, inner: int) -> None:
        amount = self.numbers(step, "before", ranks, visits, inner)
        if isinstance(amount, np.ndarray):
            some = amount > 0
            if not some.all():
                ranks, amount = ranks[some], amount[some]
            if len(ranks):
                self.add({"rank": ranks, "kind": int(EventKind.compute), "amount": amount} | self._place(step))
        elif amount:
            self.add({"rank": ranks, "kind": int(EventKind.compute), "amount": amount} | self._place(step))

    def _place(self, step: Statement) -> dict[str, Any]:
        return {"phase": self.phases.setdefault(step.call.phase, len(self.phases))} if step.call.phase else {}

    def comm(self, family: int, ranks: Ints) -> Any:
        return self.colors[family][ranks] + self.first_of[family] if family else 0

    def inside(self, family: int, ranks: Ints, peer: NDArray[np.int64], what: str) -> NDArray[np.int64]:
        """World ranks as ranks within the communicators of a family."""
        if not family:
            return peer
        real = peer >= 0
        other = peer[real]
        if (self.colors[family][other] != self.colors[family][ranks[real]]).any():
            raise InvalidInput(f"{what}: the peer is not in the communicator at {self.ranks:,} ranks")
        out = peer.copy()
        out[real] = self.local[family][other]
        return out

    def peers(
        self, step: Statement, ranks: Ints, visits: Ints, inner: int, out: dict[str, Any]
    ) -> NDArray[np.int64] | None:
        """The peers within the communicator go to ``out``; returns those of the world."""
        call = step.call
        what = f"{call.name} at {call.location}"
        if call.kind not in ADDRESSED:
            out["peer"] = self.numbers(step, "peer", ranks, visits, inner)
            return None
        if step.item is None:
            found = np.asarray(self.numbers(step, "peer", ranks, visits, inner), np.int64)
            peer = np.broadcast_to(found, len(ranks)).copy()
            peer[peer >= self.ranks] = NULL
        else:
            key = (step.number, "item")
            kept = self.kept.get(key)
            if kept is None or kept[0] is not ranks:
                there, outside = step.item.chart.peers(step.item.symbol, self.ranks)
                kept = self.kept[key] = (ranks, np.where(outside, NULL, there)[ranks])
            peer = kept[1]  # type: ignore[assignment]
            if "open" in step.rules:
                closed = np.asarray(self.numbers(step, "open", ranks, visits, inner), np.int64)
                peer = np.where(closed == 1, NULL, peer)
        out["peer"] = self.inside(call.family, ranks, peer, what)
        return peer

    def count(self, step: Statement, ranks: Ints, partner: Ints, out: dict[str, Any]) -> None:
        """Messages of both sides; those that are the same again and again are looked at once."""
        single = not isinstance(out["tag"], np.ndarray)
        kept = self.counted.get(step.number)
        if kept is None or not single or kept[0] is not ranks or kept[1] is not partner or kept[2] != out["tag"]:
            kept = ranks, partner, out["tag"], Balance()
            one = kept[3].receive if step.call.kind in RECEIVES else kept[3].send
            one(ranks, partner, out["tag"], out["comm"])
            if single:
                self.counted[step.number] = kept
        self.balance.add(kept[3])

    def create(self, step: Statement, ranks: Ints, visits: Ints, inner: int, out: dict[str, Any]) -> None:
        joins = np.broadcast_to(np.asarray(self.numbers(step, "joins", ranks, visits, inner)), len(ranks)).astype(bool)
        colors = self.colors[step.call.creates][ranks]
        made = (colors + self.first_of[step.call.creates]).astype(np.uint64)
        out["amount"] = np.where(joins & (colors >= 0), made, np.uint64(NO_COMMUNICATOR))

    def lists(self, step: Statement, ranks: Ints, visits: Ints, inner: int, out: dict[str, Any]) -> None:
        call = step.call
        if call.kind == EventKind.sendrecv:
            columns = [
                np.broadcast_to(np.asarray(self.numbers(step, name, ranks, visits, inner), np.int64), len(ranks))
                for name in ("source", "source_tag", "received")
            ]
            self.balance.receive(ranks, columns[0], columns[1], out["comm"])
            columns[0] = self.inside(call.family, ranks, columns[0], f"{call.name} at {call.location}")
            out["detail"] = self.detail(np.stack(columns, axis=1))
            return
        if call.what == CollectiveKind.neighbor_alltoall:
            width = np.broadcast_to(np.asarray(self.numbers(step, "width", ranks, visits, inner), np.int64), len(ranks))
        else:
            width = self.sizes[call.family][ranks] * (2 if call.what == CollectiveKind.alltoall else 1)
        places = np.zeros(len(ranks), np.int64)
        for one in np.unique(width).tolist():
            chosen = np.flatnonzero(width == one)
            if len(chosen) * one > MOST // 8:
                raise InvalidInput(
                    f"{call.name} at {call.location}: its lists would have {len(chosen) * one:,} numbers at "
                    f"{self.ranks:,} ranks"
                )
            within = np.tile(np.arange(one), len(chosen))
            where = Where(
                self.variables, np.repeat(ranks[chosen], one), np.repeat(visits[chosen], one), within,
                doubts=self.doubts.setdefault(step.number, set()),
            )  # fmt: skip
            places[chosen] = self.detail(step.rules["list"](where, f"bytes of {call.name}").reshape(len(chosen), one))
        out["detail"] = places

    def detail(self, rows: NDArray[Any]) -> Any:
        """Keeps rows as lists, equal ones once; returns where."""
        table = np.ascontiguousarray(rows, np.int64)
        unique, index = np.unique(table, axis=0, return_inverse=True)
        kept = np.concatenate([np.full((len(unique), 1), unique.shape[1]), unique], axis=1)
        places = self.detail_size + np.arange(len(unique)) * kept.shape[1]
        self.details.append(kept.reshape(-1))
        self.detail_size += kept.size
        return places[index.reshape(-1)]

    def wait(self, step: Statement, ranks: Ints, visits: Ints, inner: int, out: dict[str, Any]) -> None:
        kind = step.call.kind
        done = np.broadcast_to(np.asarray(self.numbers(step, "done", ranks, visits, inner), np.int64), len(ranks))
        if kind in (EventKind.test, EventKind.waitany):
            out["amount"] = done
        if step.waits is None:
            for opened in self.open.values():
                for column in opened:
                    column[ranks] = 0
            if len(ranks) == self.ranks:
                self.open.clear()
            self.oldest[ranks] = self.next_request[ranks]
            self.add(out)
            return
        by, lists = step.waits
        if by == "oldest":
            self._wait_for_oldest(ranks, out)
            return
        index = np.full(len(ranks), inner if by == "inner" else 0) if by != "visit" else visits
        for one in np.unique(np.minimum(index, len(lists) - 1)).tolist():
            chosen = np.flatnonzero(np.minimum(index, len(lists) - 1) == one)
            self._wait(step, ranks[chosen], done[chosen], lists[one], {**out, "rank": ranks[chosen]})

    def _wait_for_oldest(self, ranks: Ints, out: dict[str, Any]) -> None:
        ranks = ranks[self.oldest[ranks] < self.next_request[ranks]]
        if not len(ranks):
            return
        request = self.oldest[ranks]
        self.oldest[ranks] += 1
        for opened in self.open.values():
            for column in opened:
                column[ranks[column[ranks] == request]] = 0
        self.add({**out, "rank": ranks, "request": request})

    def _wait(
        self, step: Statement, ranks: Ints, done: Ints, wanted: Sequence[tuple[int, int]], out: dict[str, Any]
    ) -> None:
        kind = step.call.kind
        columns = [
            opened[-1 - age] for number, age in wanted if len(opened := self.open.get(number, [])) > age
        ]  # fmt: skip
        if not columns:
            return
        table = np.stack([column[ranks] for column in columns], axis=1)
        count = np.count_nonzero(table, axis=1)
        order = np.argsort(table == 0, axis=1, kind="stable")
        table = np.take_along_axis(table, order, axis=1)
        for size in np.unique(count[count > 0]).tolist():
            some = np.flatnonzero(count == size)
            part = {**out, "rank": ranks[some]}
            if kind in (EventKind.wait, EventKind.waitall):
                self.oldest[ranks[some]] += size if kind == EventKind.waitall else 1
            if "amount" in out:
                part["amount"] = done[some]
            if kind in (EventKind.wait, EventKind.test):
                part["request"] = table[some, 0]
                self._close(columns, order[some, 0], ranks[some], done[some] if kind == EventKind.test else None)
            else:
                part["detail"] = self.detail(table[some, :size])
                if kind == EventKind.waitall:
                    for i in range(size):
                        self._close(columns, order[some, i], ranks[some], None)
                else:
                    which = np.minimum(done[some], size - 1)
                    self._close(columns, order[some, which], ranks[some], None)
            self.add(part)

    def _close(self, columns: Sequence[Ints], which: Ints, ranks: Ints, done: Ints | None) -> None:
        for i, column in enumerate(columns):
            chosen = which == i if done is None else (which == i) & (done > 0)
            column[ranks[chosen]] = 0

    # Building.

    def add(self, out: dict[str, Any]) -> None:
        out = {name: self.compact.number(value) for name, value in out.items()} | {
            "rank": self.compact.small(out["rank"])
        }
        self.events += len(out["rank"])
        if self.events > MOST:
            raise InvalidInput(f"at {self.ranks:,} ranks the program has more than {MOST:,} events, the most that are "
                               "generated")  # fmt: skip
        self.chunks.append(out)

    def _built(self) -> Program:
        texts = {"location": self.locations, "phase": self.phases}
        wanted = {**EVENT_COLUMNS, **{name: np.uint32 for name, known in texts.items() if known}}
        made: dict[str, Any]
        first, made = assemble(self.chunks, self.ranks, wanted, {name: NONE for name in texts if name in wanted})
        details = np.concatenate(self.details)
        origin = self.blueprint.origin(self.ranks, sentence(self.blueprint, self.ranks, self.doubts))
        if not self.balance.even and len(self.blueprint.source) > 1:
            details, lone = mend(made, details, first.astype(np.int64), self._within)
            origin = "; ".join(filter(None, (origin, lone)))
        return Program(
            first=first, details=details, comm_first=self.comm_first, comm_ranks=self.comm_ranks,
            locations=tuple(self.locations), phases=tuple(self.phases),
            origin=origin, **made,
        )  # fmt: skip

    def _within(self, comm: Ints, ranks: Ints) -> Ints:
        """Ranks of the world as ranks within these communicators."""
        out = ranks.copy()
        family = np.searchsorted(self.first_of, comm, side="right") - 1
        for one in np.unique(family[comm > 0]).tolist():
            chosen = (family == one) & (comm > 0)
            out[chosen] = self.local[one][ranks[chosen]]
        return out


def _varies(rule: Rule) -> bool:
    """Whether numbers may differ from visit to visit."""
    rules = getattr(rule, "rules", None)
    if rules is not None:
        return any(_varies(one) for one in rules.values()) or rule.feature.name in _BY_ITERATION  # type: ignore[union-attr]
    return rule.form not in ("", "peer", "windows") and not (rule.form == "block" and not getattr(rule, "turn", 0))


__all__ = ["MOST", "OPENING", "generate"]
