"""Crossovers beside the published ones: table, figure and findings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison.crossover import crossings
from ..comparison.parts import PARTS
from ..units import percent, text
from .claims import Claim, claim
from .drawing import CLASSES, FAINT, MUTED, heading, key, sheet
from .parameters import Finding, Point, Summary

if TYPE_CHECKING:
    from ..schedule.pattern import Pattern

#: A crossover this factor beside the published range still agrees: the published ones are read off curves.
_NEAR = 1.5
#: Relative error up to which a ratio of times agrees.
_CLOSE = 0.05
#: Letters in a line of the key of a panel.
_WIDE = 67
#: Ranks on which it is shown who sends how much to whom.
_SHOWN = 64


@dataclass(frozen=True)
class Case:
    """One program under one set of assumptions on two machines.

    Attributes
    ----------
    claim : Claim
    words : tuple of str
        Program, share bound by memory, model, first machine, second machine.
    ranks : list of int
    first, second : list of dict
        Results by ranks; the second is expected to overtake the first.
    """

    claim: Claim
    words: tuple[str, ...]
    ranks: list[int]
    first: list[Point]
    second: list[Point]

    @property
    def log_ratio(self) -> list[float]:
        """Logarithm of the second's time over the first's."""
        return [float(np.log(b["time"] / a["time"])) for a, b in zip(self.first, self.second, strict=True)]

    @property
    def crossover(self) -> float | None:
        """Where the second overtakes the first for good; None if never, the smallest size if it is faster at all."""
        ratio = self.log_ratio
        if not ratio or ratio[-1] >= 0:
            return None
        found = crossings(self.ranks, ratio)
        return found[-1][0] if found else float(self.ranks[0])

    @property
    def reason(self) -> str:
        """The parts that make most of the difference at the largest size."""
        a, b = self.first[-1], self.second[-1]
        differences = {name: b[name] - a[name] for name in PARTS if b[name] != a[name]}
        largest = sorted(differences, key=lambda name: -abs(differences[name]))[:2]
        return ", ".join(f"{PARTS[name]} {percent(differences[name] / a['time'], 1, sign=True)}" for name in largest)


def grouped(rows: Sequence[Point]) -> list[Case]:
    """Points of the same assumptions, on every machine that has another name than the first beside it."""
    found: dict[tuple[Any, ...], dict[str, dict[int, Point]]] = {}
    for row in rows:
        same = tuple(row[name] for name in ("claim", "program", "scaling", "reference", "memory_bound", "model"))
        found.setdefault(same, {}).setdefault(row["machine"], {})[row["ranks"]] = row
    out = []
    for same, machines in found.items():
        base = _name(same[3])
        for first in [one for one in machines if _name(one) == base]:
            for second in [one for one in machines if _name(one) != base]:
                ranks = sorted(set(machines[first]) & set(machines[second]))
                words = (same[1], percent(same[4]), same[5], _short(first), _short(second))
                runs = [[machines[one][size] for size in ranks] for one in (first, second)]
                if ranks:
                    out.append(Case(claim(same[0]), words, ranks, *runs))
    return out


def _name(machine: str) -> str:
    return machine.partition(":")[0]


def _short(machine: str) -> str:
    name, _, options = machine.partition(":")
    changed = [pair for pair in options.split(",") if pair and not pair.startswith("noise")]
    noise = [] if len(changed) == len(options.split(",")) or not options else ["noise"]
    return " with ".join(filter(None, (name, ", ".join((*changed, *noise)))))


def summarise(rows: Sequence[Point]) -> Summary:
    """Table, figure and findings."""
    cases = grouped(rows)
    numbers = ("here", "smallest", "largest")
    columns = ("claim", "program", "bound by memory", "model", "machines", "published", *numbers, "why")
    return Summary(columns, [_row(case) for case in cases], numbers, partial(_draw, cases), _findings(cases))


def _row(case: Case) -> list[str]:
    program, bound, model, *machines = case.words
    ends = [f"{case.ranks[i]:,}: {percent(np.expm1(case.log_ratio[i]), 1, sign=True)}" for i in (0, -1)]
    between = ", ".join(machines)
    return [case.claim.name, program, bound, model, between, _published(case.claim), _at(case), *ends, case.reason]


def _published(published: Claim) -> str:
    return "none" if published.range is None else "{:,.0f} to {:,.0f}".format(*published.range)


def _at(case: Case) -> str:
    found = case.crossover
    return "none" if found is None else f"below {case.ranks[0]:,}" if found <= case.ranks[0] else f"{found:,.0f}"


def _verdict(case: Case) -> str:
    """Whether the crossover is the published one, within a factor; open where the sizes do not tell."""
    found, expected = case.crossover, case.claim.range
    if expected is None:
        return "agrees" if found is None else "differs"
    if found is None:
        return "open" if expected[0] > case.ranks[-1] else "differs"
    return "agrees" if expected[0] / _NEAR <= found <= expected[1] * _NEAR else "differs"


def _between(cases: Sequence[Case]) -> bool:
    """Whether with some assumptions the second is faster from fewer ranks on than published, with others from more."""
    expected = cases[0].claim.range
    if expected is None:
        return False
    found = [case.crossover for case in cases]
    early = any(at is not None and at < expected[0] for at in found)
    return early and any(at is None or at > expected[1] for at in found)


def _assumed(cases: Sequence[Case]) -> list[str]:
    """What distinguishes cases from each other: of programs, the parameters that differ."""
    given = [case.words[0].partition(":")[2].split(",") for case in cases]
    shared = set.intersection(*map(set, given))
    every = [
        (", ".join(pair for pair in pairs if pair not in shared), f"{case.words[1]} bound by memory", *case.words[2:])
        for case, pairs in zip(cases, given, strict=True)
    ]
    kinds = [len(set(words)) > 1 for words in zip(*every, strict=True)]
    return [
        ", ".join(word for word, differs in zip(words, kinds, strict=True) if differs and word) or ", ".join(words[-2:])
        for words in every
    ]


def _findings(cases: Sequence[Case]) -> dict[str, Finding]:
    out = {}
    for name in dict.fromkeys(case.claim.name for case in cases):
        mine = [case for case in cases if case.claim.name == name]
        first, assumed = mine[0], _assumed(mine)
        span = f"from {first.ranks[0]:,} to {first.ranks[-1]:,} ranks"
        words = f"crossover: {_at(first)} ({assumed[0]}; {span}); at {first.ranks[-1]:,} ranks {first.reason}"
        if len(mine) > 1:
            others: dict[str, list[str]] = {}
            for case, given in zip(mine[1:], assumed[1:], strict=True):
                others.setdefault(_at(case), []).append(given)
            words += ". With other assumptions: "
            words += "; ".join(f"{at} ({'; '.join(given)})" for at, given in others.items())
        if first.claim.open:
            out[name] = Finding(f"no prediction possible, see what was done. {words}", "open")
        else:
            verdicts = [_verdict(case) for case in mine]
            between = _between(mine)
            words += "; the published crossover lies between those of different assumptions" * between
            some = verdicts[0] == "differs" and ("agrees" in verdicts or between)
            out[name] = Finding(words, "partly" if some else verdicts[0])
        if first.claim.ratios:
            out[f"{name}-times"] = _times(mine, assumed)
    return out


def _times(cases: Sequence[Case], assumed: Sequence[str]) -> Finding:
    """Times of the second machine over those of the first, beside the published."""
    words, right = [], []
    for ranks, published in cases[0].claim.ratios:
        found = [float(np.exp(case.log_ratio[case.ranks.index(ranks)])) for case in cases if ranks in case.ranks]
        if found:
            span = f"{min(found):.3f} to {max(found):.3f} with other assumptions"
            words.append(
                f"{ranks:,} ranks: a ratio of {found[0]:.3f} ({assumed[0]}; {span}), published {published:.3f}"
            )
            right.append(abs(found[0] / published - 1) <= _CLOSE)
    if not words:
        return Finding("these numbers of ranks were not computed", "open")
    return Finding("; ".join(words), "agrees" if all(right) else "partly" if any(right) else "differs")


def _draw(cases: Sequence[Case]) -> Any:
    names = list(dict.fromkeys(case.claim.name for case in cases))
    words = (
        "Left: time of the second machine over that of the first, by ranks, one line for each set of assumptions, the "
        "first drawn thick. Below 1 the second is faster. Shaded: the published crossover; in its absence none was "
        f"published. Right: bytes that ranks send to each other on {_SHOWN} ranks, without collectives (the darker the "
        "more), the most partners of a rank, and the mean of messages."
    )
    fig, axes = sheet("Where one machine overtakes another", words, len(names), 3, height=4.4)
    for (left, middle, right), name in zip(axes, names, strict=True):
        mine = [case for case in cases if case.claim.name == name]
        _draw_ratios(left, middle, mine)
        _draw_messages(right, name, mine[0].words[0])
    return fig


def _draw_ratios(ax: Any, beside: Any, cases: Sequence[Case]) -> None:
    """Times of the second machine over those of the first; ``beside`` gets the key."""
    published = cases[0].claim
    if published.range is not None:
        ax.axvspan(*published.range, color=FAINT, alpha=0.7, lw=0)
    ax.axhline(1, color=MUTED, lw=0.9)
    for number, (case, given) in enumerate(zip(cases, _assumed(cases), strict=True)):
        again, colour = divmod(number, len(CLASSES))
        ax.plot(case.ranks, np.exp(case.log_ratio), marker="o", ms=3, lw=2.2 if number == 0 else 1.1,
                ls=("-", "--", ":")[again % 3], color=CLASSES[colour], label=textwrap.fill(given, _WIDE))  # fmt: skip
    ax.set_xscale("log", base=2)
    sizes = cases[0].ranks
    shown = sizes[:: -(-len(sizes) // 5)]
    ax.set_xticks(shown, [f"{size:,}" for size in shown])
    ax.minorticks_off()
    ax.set_xlabel("ranks")
    heading(ax, f"{published.name} (published: {_published(published)})")
    beside.axis("off")
    key(beside, handles=ax.get_lines()[1:], loc="upper left", bbox_to_anchor=(-0.27, 1.03), ncols=1)
    for words in beside.get_legend().get_texts():
        words.set_size(8)


def _draw_messages(ax: Any, name: str, line: str) -> None:
    """The matrix of senders and receivers of a program."""
    from matplotlib.colors import LogNorm

    found = messages(line)
    if len(found.peer):
        shades = LogNorm(found.bytes.min() / 4, found.bytes.max())
        ax.scatter(found.peer, found.sources(), s=9, c=found.bytes, marker="s", cmap="Blues", norm=shades, linewidths=0)
    ax.set_xlim(-0.5, _SHOWN - 0.5)
    ax.set_ylim(_SHOWN - 0.5, -0.5)
    ax.set_aspect("equal")
    ax.grid(False)
    ends = [0, _SHOWN // 2 - 1, _SHOWN - 1]
    ax.set_xticks(ends, ends)
    ax.set_yticks(ends, ends)
    ax.set_xlabel("receiver")
    ax.set_ylabel("sender")
    partners = np.bincount(found.sources(), minlength=_SHOWN).max()
    mean = found.bytes.sum() / max(found.messages.sum(), 1)
    heading(ax, f"{name}: {partners} partners, {text(mean, 'B', 3, decimal=True)}")


def messages(line: str) -> Pattern:
    """Who sends how much to whom in a skeleton of this line, without collectives."""
    from ..schedule.pattern import Pattern
    from ..schedule.program import EventKind
    from ..skeletons.catalogue import read

    skeleton, given = read(line)
    program = skeleton.build({**given, "ranks": str(_SHOWN)})
    sends = np.isin(program.kind, (EventKind.send, EventKind.isend))
    rank = program.rank_of_events()
    return Pattern.of(_SHOWN, source=rank[sends], target=program.peer[sends], bytes=program.amount[sends])
