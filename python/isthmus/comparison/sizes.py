"""The result of comparing machines over numbers of ranks, as text, JSON, data frame, picture or page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .. import units
from ..errors import InvalidInput
from ..files import PICTURES
from ..tabular import Tabular
from ..views import view
from .comparison import folded
from .crossover import Crossover
from .parts import Parts, shown, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCALINGS = {
    "weak": "weak scaling: as much work for each rank",
    "strong": "strong scaling: as much work in all",
    "": "sizes as the program has them",
}


@dataclass(frozen=True)
class At:
    """One run on one machine.

    Attributes
    ----------
    makespan_ps : int
    nodes : int or None
        None for LogGOPS parameters, which have none.
    parts : Parts
    error : float or None
        Share of the time by which pieces of the program that stand for others may change it, with 95 % confidence; None
        where none does, or none that is not the same to the picosecond.
    """

    makespan_ps: int
    nodes: int | None
    parts: Parts
    error: float | None = None

    @property
    def seconds(self) -> float:
        """Time of the run."""
        return self.makespan_ps / 1e12

    @property
    def node_hours(self) -> float | None:
        """Nodes times hours."""
        return None if self.nodes is None else self.nodes * self.seconds / 3600


@dataclass(frozen=True, eq=False)
class SizeComparison(Tabular):
    """Result of comparing machines over numbers of ranks; the others are compared with the first.

    Attributes
    ----------
    program : str
    scaling : {"weak", "strong", ""}
    names : tuple of str
        Machines.
    ranks : tuple of int
    runs : tuple of tuples of At
        By ranks, then by machine.
    crossovers : tuple of Crossover
    crossing : mapping of str to float
        Share of samples of what is uncertain in which a machine and the first overtake each other somewhere.
    prices : tuple of (float or None, float or None)
        Of each machine: price of a node for an hour, power of a node in watts.
    left_out : tuple of str
        Sizes that were not simulated, and why.
    notes : tuple of str
        What was assumed.
    """

    program: str
    scaling: str
    names: tuple[str, ...]
    ranks: tuple[int, ...]
    runs: tuple[tuple[At, ...], ...]
    crossovers: tuple[Crossover, ...]
    crossing: Mapping[str, float]
    prices: tuple[tuple[float | None, float | None], ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def speed_up(self, at: int, machine: int) -> float | None:
        """Against the smallest size, whose speed-up is its number of ranks; None for times of 0."""
        first, here = self.runs[0][machine], self.runs[at][machine]
        if not here.makespan_ps:
            return None
        work = self.ranks[at] / self.ranks[0] if self.scaling != "strong" else 1.0
        return self.ranks[0] * work * first.makespan_ps / here.makespan_ps

    def efficiency(self, at: int, machine: int) -> float | None:
        """Speed-up over the number of ranks."""
        found = self.speed_up(at, machine)
        return None if found is None else found / self.ranks[at]

    def frame(self) -> list[dict[str, Any]]:
        """Return one row for each size and machine, in SI units: seconds and parts, which add up to them."""
        names = shown(run.parts for row in self.runs for run in row)
        out = []
        for at, (ranks, row) in enumerate(zip(self.ranks, self.runs, strict=True)):
            for i, (machine, run) in enumerate(zip(self.names, row, strict=True)):
                price, power = self.prices[i]
                hours = run.node_hours
                out.append({
                    "ranks": ranks, "machine": machine, "time": run.seconds, "time_ps": run.makespan_ps,
                    "speed_up": self.speed_up(at, i), "efficiency": self.efficiency(at, i), "nodes": run.nodes,
                    "node_hours": hours, "money": None if hours is None or price is None else hours * price,
                    "energy": None if hours is None or power is None else hours * 3600 * power,
                    "error": run.error,
                    **{name: run.parts.seconds(name) for name in names},
                })  # fmt: skip
        return out

    def why(self, machine: int) -> list[dict[str, Any]]:
        """Return one row for each size: how much longer a machine takes than the first, and in which parts; seconds."""
        names = shown(row[i].parts for row in self.runs for i in (0, machine))
        out = []
        for ranks, row in zip(self.ranks, self.runs, strict=True):
            here, first = row[machine], row[0]
            parts = {name: float(here.parts.exact(name) - first.parts.exact(name)) / 1e12 for name in names}
            out.append({"ranks": ranks, "longer": (here.makespan_ps - first.makespan_ps) / 1e12, **parts})
        return out

    def json(self) -> dict[str, Any]:
        """Return the comparison as plain numbers, lists and dicts; parts also as whole numbers that add up exactly."""
        exact = [
            {"ranks": ranks, "machine": name, "of": run.parts.way, "units_in_a_picosecond": run.parts.scale,
             "amounts": run.parts.amounts}
            for ranks, row in zip(self.ranks, self.runs, strict=True)
            for name, run in zip(self.names, row, strict=True)
        ]  # fmt: skip
        return {
            "kind": "machines over sizes", "program": self.program, "scaling": self.scaling, "names": list(self.names),
            "rows": self.frame(), "crossovers": [asdict(one) for one in self.crossovers],
            "share_of_samples_with_a_crossover": dict(self.crossing),
            "why": {name: self.why(i) for i, name in enumerate(self.names) if i}, "parts": exact,
            "left_out": list(self.left_out), "notes": list(self.notes),
        }  # fmt: skip

    def sentences(self) -> list[str]:
        """Who is faster from where to where, for each machine and the first."""
        out = []
        first = self.names[0]
        for i, name in enumerate(self.names[1:], 1):
            crossed = [one for one in self.crossovers if {one.before, one.after} == {first, name}]
            ratios = [row[i].makespan_ps / row[0].makespan_ps for row in self.runs if row[0].makespan_ps]
            low, high = min(ratios, default=1.0), max(ratios, default=1.0)
            out += [_crossed(one) for one in crossed]
            if crossed:
                continue
            share = self.crossing[name]
            unsure = (
                f"; they overtake each other in {units.percent(share)} of samples of what is uncertain" if share else ""
            )
            span = f"from {self.ranks[0]:,} to {self.ranks[-1]:,} ranks"
            if low == high == 1:
                out.append(f"{first} and {name} take as long as each other {span}{unsure}")
            else:
                quick, slow = (first, name) if high > 1 else (name, first)
                least, most = (low, high) if high > 1 else (1 / high, 1 / low)
                by = f"{units.percent(least - 1, 1)} to {units.percent(most - 1, 1)} of its time"
                out.append(f"{quick} is faster than {slow} {span}, by {by}: no crossover{unsure}")
        return out

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Titles, headings and rows of text: times, speed-up and cost, and the difference of each machine."""
        return [self._times(), self._costs(), *(self._why(i) for i in range(1, len(self.names)))]

    def _times(self) -> tuple[str, list[str], list[list[str]]]:
        first = self.names[0]
        heads = ["ranks", *self.names, *(f"{name} to {first}" for name in self.names[1:])]
        rows = []
        for ranks, row in zip(self.ranks, self.runs, strict=True):
            ratios = [run.makespan_ps / row[0].makespan_ps - 1 if row[0].makespan_ps else None for run in row[1:]]
            rows.append([
                f"{ranks:,}", *(units.text(run.seconds, "s", 4) for run in row),
                *("-" if ratio is None else units.percent(ratio, 1, sign=True) for ratio in ratios),
            ])  # fmt: skip
        return f"{self.program}, {_SCALINGS[self.scaling]}", heads, rows

    def _costs(self) -> tuple[str, list[str], list[list[str]]]:
        frame = self.frame()
        columns: list[tuple[str, str, Any]] = [
            ("speed_up", "speed-up", lambda x: f"{x:,.4g}"),
            ("efficiency", "efficiency", lambda x: units.percent(x, 1)),
            ("node_hours", "node-hours", lambda x: f"{x:.4g}"), ("money", "money", lambda x: f"{x:.4g}"),
            ("energy", "energy", lambda x: units.text(x, "J", 4)),
        ]  # fmt: skip
        kept = [
            (key, f"{word} {name}", form, i)
            for key, word, form in columns
            for i, name in enumerate(self.names)
            if any(row[key] is not None for row in frame[i :: len(self.names)])
        ]
        rows = []
        for at, ranks in enumerate(self.ranks):
            line = frame[at * len(self.names) : (at + 1) * len(self.names)]
            cells = [(line[i][key], form) for key, _, form, i in kept]
            rows.append([f"{ranks:,}", *("-" if value is None else form(value) for value, form in cells)])
        return "Speed-up, efficiency and cost of a run", ["ranks", *(head for _, head, _, _ in kept)], rows

    def _why(self, machine: int) -> tuple[str, list[str], list[list[str]]]:
        rows = self.why(machine)
        parts = [name for name in rows[0] if name not in ("ranks", "longer")]
        kept = [name for name in parts if any(row[name] for row in rows)]
        cells = [[f"{row['ranks']:,}", *(signed(row[name]) for name in ("longer", *kept))] for row in rows]
        words = f"Why: time of {self.names[machine]} beyond that of {self.names[0]}"
        return words, ["ranks", "in all", *map(title, kept)], cells

    def __str__(self) -> str:
        lines: list[str] = []
        for words, heads, rows in self.tables():
            lines += [words, *folded(heads, rows), ""]
        lines += self.sentences()
        return "\n".join([*lines, *(f"note: {note}" for note in (*self.left_out, *self.notes))])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw times, efficiency, and the parts of the differences; see :func:`isthmus.plot.sizes.plot_sizes`."""
        from ..plot.sizes import plot_sizes

        parts = {name: self.why(i) for i, name in enumerate(self.names) if i}
        curves = {
            name: ([row[i].seconds for row in self.runs], [self.efficiency(at, i) for at in range(len(self.ranks))])
            for i, name in enumerate(self.names)
        }
        crossed = [(one.ranks, one.low, one.high) for one in self.crossovers]
        words = f"{self.program}, {_SCALINGS[self.scaling]}"
        return plot_sizes(words, self.names, self.ranks, curves, parts, crossed, title, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html) or picture (.png, .svg, .pdf)."""
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        if suffix in PICTURES:
            self.plot(path)
        elif suffix == ".html":
            view("SizeComparison.save")(self, path)
        else:
            raise InvalidInput(f"{os.fspath(path)}: must end in .html, {', '.join(PICTURES)}")


def signed(seconds: float) -> str:
    """A difference of times, with its sign."""
    if not seconds:
        return "0"
    return ("+" if seconds > 0 else "-") + units.text(abs(seconds), "s", 3)


def _crossed(one: Crossover) -> str:
    said = f"at {one.ranks:,.0f} ranks {one.after} overtakes {one.before} (simulated at {one.between[0]:,} and "
    said += f"{one.between[1]:,})"
    if one.low is not None and one.high is not None:
        said += f"; nine of ten samples of what is uncertain: {one.low:,.0f} to {one.high:,.0f} ranks"
    if one.share < 1:
        said += f"; in {units.percent(1 - one.share)} of samples it is not between the sizes that were simulated"
    return said
