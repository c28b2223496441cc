"""Raw samples of measurements: journals of runs, and the HDF5 file beside the machine file.

A journal is the text that a probe appends to while it runs, so that a run that is killed keeps what it has. Each line
stands for itself: ``sample ID ROUND VALUES`` are repetitions of an item of the plan, ``done ID REASON`` and ``skip ID
REASON`` end it, ``machine KEY VALUES`` is what the run knows about where it ran.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import units
from ..errors import InvalidInput, ParseError
from ..schedule.hdf5_columns import Column, open_columns, write_columns
from ..tabular import Tabular

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Value = int | float | str

JOURNAL = "isthmus-journal 1"
#: The version of the HDF5 format that has samples.
_VERSION = 5
#: Why an item ended: its interval is small enough, it has the most samples that were asked for, time is up.
ENDS = ("tolerance", "most", "budget")
#: What a repetition consists of, by kind; of all others it is one time.
COLUMNS: dict[str, tuple[str, ...]] = {
    "collective": ("time", "skew"),
    "nonblocking": ("time", "cpu", "pure", "exposed"),
    "schedule": ("last", "first_member", "flag"),
    "startup": ("launch", "init", "finalize", "memory_before", "memory_after", "memory_contacted"),
}
_NAME = re.compile(r"[A-Za-z0-9_.:+-]{1,120}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")


@dataclass(frozen=True)
class Item:
    """One thing that is measured: a kind of measurement and its parameters.

    Attributes
    ----------
    name : str
        Name that is unique in a plan, without blanks.
    kind : str
        Kind of measurement, such as ``"pingpong"``.
    parameters : mapping of str to int, float or str
        For example ``{"a": 0, "b": 1, "bytes": 8}``; sizes in bytes, times in seconds.
    """

    name: str
    kind: str
    parameters: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, text in (("name", self.name), ("kind", self.kind)):
            if not _NAME.fullmatch(text):
                raise InvalidInput(f"{what} {units.shown(text)} of an item: may have only letters, digits and _.:+-")
        for key, value in self.parameters.items():
            if not _KEY.fullmatch(key) or re.search(r"\s", str(value)) or str(value) == "":
                raise InvalidInput(
                    f"parameter {key}={units.shown(value)} of {self.name}: must be a word without blanks"
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """What one repetition consists of."""
        if self.kind == "collective" and self.parameters.get("blocking", 1) == 0:
            return COLUMNS["nonblocking"]
        return COLUMNS.get(self.kind, ("time",))

    @property
    def line(self) -> str:
        """The item as a line of a plan, without its first word."""
        words = [
            f"{key}={value!r}" if isinstance(value, float) else f"{key}={value}"
            for key, value in self.parameters.items()
        ]
        return " ".join([self.name, self.kind, *words])

    @classmethod
    def parse(cls, line: str) -> Item:
        """Read what :attr:`line` gives.

        Examples
        --------
        >>> Item.parse("pp.8 pingpong a=0 b=1 bytes=8").parameters["bytes"]
        8
        """
        words = line.split()
        if len(words) < 2:
            raise InvalidInput(f"item {units.shown(line)}: expected a name and a kind")
        parameters: dict[str, Value] = {}
        for word in words[2:]:
            key, equals, text = word.partition("=")
            if not equals or key in parameters:
                raise InvalidInput(f"item {words[0]}: {units.shown(word)}: must be key=value, each key once")
            parameters[key] = _value(text)
        return cls(words[0], words[1], parameters)


def _value(text: str) -> Value:
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]*\.?[0-9]+(e[+-]?[0-9]{1,3})?", text):
        return float(text)
    return text


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one item.

    Attributes
    ----------
    item : Item
    values : ndarray of float64, shape (samples, columns)
        Seconds, unless the kind says otherwise; columns as ``item.columns`` names them.
    rounds : ndarray of uint32, shape (samples,)
        Round in which each was taken: samples of a round were taken together, rounds lie apart.
    ended : str
        ``"tolerance"``, ``"most"`` or ``"budget"``; empty while it was not ended.
    skipped : str
        Why it could not be measured; empty if it could.
    """

    item: Item
    values: NDArray[np.float64]
    rounds: NDArray[np.uint32]
    ended: str = ""
    skipped: str = ""

    def __post_init__(self) -> None:
        self.values.flags.writeable = False
        self.rounds.flags.writeable = False

    @classmethod
    def of(cls, item: Item, rounds: Sequence[ArrayLike], ended: str = "", skipped: str = "") -> Series:
        """Make a series from the values of each round: shape (samples,) or (samples, columns) each."""
        width = len(item.columns)
        parts = [np.asarray(values, np.float64).reshape(-1, width) for values in rounds]
        numbers = [np.full(len(part), i, np.uint32) for i, part in enumerate(parts)]
        empty = np.empty((0, width))
        return cls(
            item,
            np.concatenate([empty, *parts]),
            np.concatenate([np.empty(0, np.uint32), *numbers]).astype(np.uint32),
            ended,
            skipped,
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def kind(self) -> str:
        """Kind of measurement."""
        return self.item.kind

    @property
    def parameters(self) -> Mapping[str, Value]:
        """Parameters of the item."""
        return self.item.parameters

    def column(self, name: str | None = None) -> NDArray[np.float64]:
        """Return one column, by default the first; shape (samples,)."""
        columns = self.item.columns
        if name is not None and name not in columns:
            raise InvalidInput(f"{self.item.name} has no column {name!r}: must be one of {', '.join(columns)}")
        return self.values[:, columns.index(name) if name else 0]

    def by_round(self, name: str | None = None) -> list[NDArray[np.float64]]:
        """Return one column as an array for each round that has samples, in the order of rounds."""
        column = self.column(name)
        return [column[self.rounds == number] for number in np.unique(self.rounds)]

    def __repr__(self) -> str:
        state = f"skipped: {self.skipped}" if self.skipped else self.ended or "not ended"
        return f"<Series {self.item.line}: {len(self)} samples, {state}>"


class Samples(Tabular):
    """Samples of all items of a plan, and the facts that the runs stated.

    Parameters
    ----------
    series : iterable of Series
        Names of their items differ.
    facts : mapping of str to mapping of str to str, optional
        What each launch knew about where it ran, such as ``{"mpi": {"ranks": "2"}}``.
    """

    def __init__(self, series: Iterable[Series], facts: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._series: dict[str, Series] = {}
        for one in series:
            if one.item.name in self._series:
                raise InvalidInput(f"two items are called {one.item.name}: names must differ")
            self._series[one.item.name] = one
        self.facts: dict[str, dict[str, str]] = {launch: dict(known) for launch, known in (facts or {}).items()}

    def __len__(self) -> int:
        return len(self._series)

    def __iter__(self) -> Iterator[Series]:
        return iter(self._series.values())

    def __getitem__(self, name: str) -> Series:
        return self._series[name]

    def __contains__(self, name: object) -> bool:
        return name in self._series

    def of(self, kind: str, /, **parameters: Value) -> list[Series]:
        """Return the series of a kind that have samples and these parameters.

        Examples
        --------
        >>> one = Series.of(Item("a", "pingpong", {"a": 0, "b": 1, "bytes": 8}), [[1e-6, 2e-6]])
        >>> [len(found) for found in Samples([one]).of("pingpong", a=0)]
        [2]
        """
        return [
            one
            for one in self
            if one.kind == kind
            and len(one)
            and all(one.parameters.get(key) == value for key, value in parameters.items())
        ]

    def fact(self, key: str, launch: str | None = None) -> str:
        """Return what the runs said of ``key``; the first launch that knows it, empty if none does."""
        for name, known in self.facts.items():
            if launch in (None, name) and key in known:
                return known[key]
        return ""

    @property
    def finished(self) -> bool:
        """Whether every item was ended or skipped."""
        return all(one.ended or one.skipped for one in self)

    def joined(self, other: Samples) -> Samples:
        """Return the samples of both; of items in both, the rounds of ``other`` come after those of these."""
        out = dict(self._series)
        for one in other:
            before = out.get(one.item.name)
            if before is None or not len(before):
                out[one.item.name] = one
                continue
            if before.item != one.item:
                raise InvalidInput(
                    f"item {one.item.name} is {before.item.line} in one run and {one.item.line} in another"
                )
            rounds = one.rounds + np.uint32(int(before.rounds.max()) + 1)
            out[one.item.name] = Series(
                one.item,
                np.concatenate([before.values, one.values]),
                np.concatenate([before.rounds, rounds]).astype(np.uint32),
                one.ended or before.ended,
                one.skipped if not len(one) and not before.ended else "",
            )
        return Samples(out.values(), {**self.facts, **other.facts})

    def frame(self) -> list[dict[str, Any]]:
        """Return one row per item: name, kind, parameters, samples, median of the first column (SI), end."""
        return [
            {
                "item": one.item.name,
                "kind": one.kind,
                "parameters": " ".join(one.item.line.split()[2:]),
                "samples": len(one),
                "median": float(np.median(one.column())) if len(one) else None,
                "ended": one.skipped or one.ended,
            }
            for one in self
        ]

    def __str__(self) -> str:
        samples, skipped = sum(map(len, self)), sum(bool(one.skipped) for one in self)
        kinds = dict.fromkeys(one.kind for one in self)
        return f"{len(self)} items, {samples:,} samples, {skipped} skipped; kinds: {', '.join(kinds) or 'none'}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all samples to an HDF5 file, whole or not at all."""
        every = list(self)
        empty = np.empty(0)
        facts = [(launch, key, text) for launch, known in self.facts.items() for key, text in known.items()]
        columns = [
            Column("items/line", [one.item.line for one in every], "", "name, kind and parameters of each item"),
            Column("items/ended", [one.ended for one in every], "", "why no more samples were taken"),
            Column("items/skipped", [one.skipped for one in every], "", "why it could not be measured"),
            Column("items/samples", np.array([len(one) for one in every], np.uint64), "", "number of samples"),
            Column(
                "rounds", np.concatenate([empty, *(one.rounds for one in every)]).astype(np.uint32), "", "of samples"
            ),
            Column("values", np.concatenate([empty, *(one.values.reshape(-1) for one in every)]), "", "row by row, SI"),
            Column("facts/launch", [fact[0] for fact in facts], "", "which launch says so"),
            Column("facts/key", [fact[1] for fact in facts], "", "what is said"),
            Column("facts/value", [fact[2] for fact in facts], "", "in words"),
        ]
        write_columns(path, "samples", columns, version=_VERSION)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Samples:
        """Read what :meth:`save` wrote; raises ParseError for anything else."""
        with open_columns(path) as (noun, _, reader):
            if noun != "samples":
                raise reader.fail("noun", f"the file holds a {noun}: expected samples of isthmus measure")
            lines, ended, skipped = (reader.texts(f"items/{name}") for name in ("line", "ended", "skipped"))
            count = reader.column("items/samples", np.uint64, len(lines)).astype(np.int64)
            rounds, values = reader.column("rounds", np.uint32), reader.column("values", np.float64)
            if not len(lines) == len(ended) == len(skipped):
                raise reader.fail("items", f"{len(lines)} items have {len(ended)} ends and {len(skipped)} reasons")
            try:
                items = [Item.parse(line) for line in lines]
            except InvalidInput as error:
                raise reader.fail("items/line", str(error)) from None
            numbers = int((count * [len(item.columns) for item in items]).sum()) if items else 0
            if (count < 0).any() or count.sum() != len(rounds) or numbers != len(values):
                raise reader.fail("values", f"{len(rounds)} samples with {len(values)} numbers do not fit the items")
            series, row, at = [], 0, 0
            for item, rows, end, reason in zip(items, count.tolist(), ended, skipped, strict=True):
                size = rows * len(item.columns)
                shape = values[at : at + size].reshape(rows, -1) if rows else np.empty((0, len(item.columns)))
                series.append(Series(item, shape.copy(), rounds[row : row + rows].copy(), end, reason))
                row, at = row + rows, at + size
            facts: dict[str, dict[str, str]] = {}
            stated = [reader.texts(f"facts/{name}") for name in ("launch", "key", "value")]
            if len({len(column) for column in stated}) != 1:
                raise reader.fail("facts", "launches, keys and values are not equally many")
            for launch, key, text in zip(*stated, strict=True):
                facts.setdefault(launch, {})[key] = text
            try:
                return cls(series, facts)
            except InvalidInput as error:
                raise reader.fail("items/line", str(error)) from None


def read_journal(path: str | os.PathLike[str], items: Iterable[Item], launch: str) -> Samples:
    """Read the journal of one launch.

    Parameters
    ----------
    path : path
        Journal; its last line may be torn off, as the run may have been killed.
    items : iterable of Item
        Items of the plan of this launch; those without a line in the journal have no samples.
    launch : str
        Name of the launch, for the facts.

    Raises
    ------
    ParseError
        For a line that is not as a probe writes it, with its number.
    OSError
        If it cannot be read.
    """
    file = os.fspath(path)
    plan = {item.name: item for item in items}
    with open(file, encoding="utf-8", errors="replace") as stream:
        lines = stream.read().split("\n")[:-1]  # what has no end of line was being written
    found = _Journal(file, plan)
    if lines and lines[0] != JOURNAL:
        raise ParseError(file, 1, None, f"{units.shown(lines[0])}: a journal begins with '{JOURNAL}'")
    for number, line in enumerate(lines[1:], 2):
        found.line(number, line)
    series = [
        Series(
            item,
            np.array(found.values[name], np.float64).reshape(-1, len(item.columns)),
            np.array(found.rounds[name], np.uint32),
            found.ended.get(name, ""),
            found.skipped.get(name, ""),
        )
        for name, item in plan.items()
    ]
    return Samples(series, {launch: found.facts})


class _Journal:
    """The lines of a journal, one after another."""

    def __init__(self, file: str, plan: Mapping[str, Item]) -> None:
        self.file = file
        self.plan = plan
        self.values: dict[str, list[float]] = {name: [] for name in plan}
        self.rounds: dict[str, list[int]] = {name: [] for name in plan}
        self.ended: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.facts: dict[str, str] = {}

    def line(self, number: int, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "machine":
            key, _, text = rest.partition(" ")
            # What is said twice, at the beginning and at the end, is kept as first said under its own name.
            self.facts.setdefault(key, text)
            return
        if word in ("end", ""):
            return
        if word not in ("begin", "sample", "done", "skip"):
            raise ParseError(self.file, number, word, "unknown: must be begin, sample, done, skip, machine or end")
        name, _, rest = rest.partition(" ")
        if name not in self.plan:
            raise ParseError(self.file, number, word, f"item {units.shown(name)} is not in the plan of this run")
        if word == "sample":
            self.sample(number, name, rest.split())
        elif word == "done":
            if rest not in ENDS:
                raise ParseError(self.file, number, word, f"{units.shown(rest)}: must be {', '.join(ENDS)}")
            self.ended[name] = rest
        elif word == "skip":
            self.skipped[name] = rest or "no reason was given"

    def sample(self, number: int, name: str, words: list[str]) -> None:
        width = len(self.plan[name].columns)
        try:
            turn, values = int(words[0]), [float(word) for word in words[1:]]
        except (ValueError, IndexError):
            raise ParseError(self.file, number, "sample", "expected a round and numbers") from None
        if not 0 <= turn < 2**32 or not all(map(math.isfinite, values)):
            raise ParseError(self.file, number, "sample", "expected a round from 0 and finite numbers")
        if len(values) % width:
            raise ParseError(self.file, number, "sample", f"{len(values)} numbers: must be a multiple of {width}")
        self.values[name] += values
        self.rounds[name] += [turn] * (len(values) // width)
