"""Predicted beside measured: messages that no fit saw, measured with the others, and what the fitted levels say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .. import units
from ..machine import Curve, Level
from ..schedule.builder import ProgramBuilder
from ..simulation.simulate import simulate
from .curves import LEVEL_WORDS, median
from .plan import UNSEEN
from .samples import Samples, Series

#: Numbers of a level are in doubt where more than this share of the times of a check, of so many at least, are so many
#: times as long or as short as predicted. Undisturbed it is a tenth; ranks that move between cores reach three tenths.
_SHARE, _ENOUGH, _OFF = 1 / 3, 4, 1.5
#: Kinds whose names are no words.
WORDS = {"pingpong": "half a round trip", "sendrecv": "SendRecv", "ring": "ring of SendRecv", "trips": "round trip"}


@dataclass(frozen=True)
class Checked:
    """One series of messages, measured and predicted.

    Attributes
    ----------
    level, kind : str
    messages : int
        Of a burst, or round trips; otherwise 1.
    series : Series
    predicted : float
        Seconds.
    """

    level: str
    kind: str
    messages: int
    series: Series
    predicted: float

    @property
    def bytes(self) -> int:
        """Size of a message."""
        return int(self.series.parameters["bytes"])

    @property
    def measured(self) -> float:
        """Median in seconds."""
        return float(np.median(self.series.column()))

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.measured - 1

    def __str__(self) -> str:
        size = units.amount(self.bytes)
        return f"{WORDS.get(self.kind, self.kind)} of {f'{self.messages} x ' if self.messages > 1 else ''}{size}"


def apart(samples: Samples) -> tuple[Samples, Samples]:
    """Samples without those of the check, and these."""

    def chosen(check: bool) -> Samples:
        return Samples([one for one in samples if one.item.name.startswith(UNSEEN) == check], samples.facts)

    return chosen(False), chosen(True)


def checked(samples: Iterable[Series], levels: dict[str, tuple[tuple[int, int], Level]]) -> list[Checked]:
    """Return what was measured for the check beside what the levels predict.

    Parameters
    ----------
    samples : iterable of Series
        Those of the check.
    levels : dict of str to ((int, int), Level)
        Fitted levels, with the ranks between which each was measured.
    """
    out = []
    for series in samples:
        if not len(series) or series.kind not in _PROGRAMS:
            continue
        p = series.parameters
        for name, (pair, level) in levels.items():
            # A ring is measured where there are two ranks alone, which are of one level.
            if {p.get("a", pair[0]), p.get("b", pair[1])} == set(pair):
                n = int(p.get("n", 1))
                seconds = predicted(level, series.kind, int(p["bytes"]), n)
                out.append(Checked(name, series.kind, n, series, seconds))
    return out


def predicted(level: Level, kind: str, bytes: int, messages: int = 1) -> float:
    """Seconds that the simulator finds for what an item of the check times.

    Parameters
    ----------
    level : Level
    kind : {"pingpong", "burst", "sendrecv", "ring"}
    bytes : int
    messages : int
        Of a burst.
    """
    b = ProgramBuilder(2)
    share = _PROGRAMS[kind](b, bytes, messages)
    return float(simulate(b.build(), level, record="finish").finish[0]) * share


def _pingpong(b: ProgramBuilder, bytes: int, messages: int) -> float:
    for rank in (0, 1):
        for turn in (0, 1):
            (b.send if rank == turn else b.recv)(rank, 1 - rank, bytes)
    return 0.5


def _burst(b: ProgramBuilder, bytes: int, messages: int) -> float:
    for _ in range(messages):
        b.isend(0, 1, bytes)
        b.irecv(1, 0, bytes)
    b.waitall(0)
    b.waitall(1)
    b.send(1, 0, 0)
    b.recv(0, 1, 0)
    return 1.0


def _sendrecv(b: ProgramBuilder, bytes: int, messages: int) -> float:
    turns = 4
    for _ in range(turns):
        for rank in (0, 1):
            b.sendrecv(rank, 1 - rank, bytes, 1 - rank)
    return 1 / turns


_PROGRAMS: dict[str, Callable[[ProgramBuilder, int, int], float]] = {
    "pingpong": _pingpong,
    "burst": _burst,
    "sendrecv": _sendrecv,
    "ring": _sendrecv,
}


def curves(found: list[Checked]) -> dict[str, Curve]:
    """Return predicted over measured times by size: a curve for each level and kind of messages."""
    groups: dict[tuple[str, str, int], list[Checked]] = {}
    for one in found:
        if one.bytes:
            groups.setdefault((one.level, one.kind, one.messages), []).append(one)
    out = {}
    for (level, kind, messages), group in groups.items():
        what = f"{WORDS.get(kind, kind)}{f' of {messages}' if messages > 1 else ''}"
        ordered = sorted({one.bytes: one for one in group}.items())
        points = [(x, one.predicted / one.measured, *_ends(one), len(one.series)) for x, one in ordered]
        x, y, low, high, samples = zip(*points, strict=True)
        out["-".join(["check", kind, *([str(messages)] if messages > 1 else []), level])] = Curve(
            kind="check", x=x, y=y, low=low, high=high, samples=samples, x_unit="B", x_label="size of a message",
            title=f"Predicted over measured, {what} {LEVEL_WORDS[level]}", parameters={"level": level, "what": what},
        )  # fmt: skip
    return out


def _ends(one: Checked) -> tuple[float, float]:
    """Interval of predicted over measured, by that of what was measured."""
    _, low, high = median(one.series.column())
    return one.predicted / high, one.predicted / low


def sentence(found: list[Checked]) -> str:
    """How well the levels predict what no fit saw; empty where nothing was measured for it."""
    if not found:
        return ""
    errors = np.abs([one.error for one in found])
    worst = found[int(np.argmax(errors))]
    return (
        f"{len(found)} times that were not used in the fit are predicted with a median error of "
        f"{units.percent(float(np.median(errors)))}; the worst is {units.percent(worst.error, sign=True)} "
        f"({worst}, level {worst.level})"
    )


def doubts(found: list[Checked]) -> list[str]:
    """Return a sentence for each level whose numbers say something else than what no fit saw."""
    out = []
    for level in dict.fromkeys(one.level for one in found):
        ratios = np.array([one.predicted / one.measured for one in found if one.level == level])
        off = int((np.maximum(ratios, 1 / ratios) > _OFF).sum())
        if len(ratios) >= _ENOUGH and off > _SHARE * len(ratios):
            out.append(
                f"LogGP {LEVEL_WORDS[level]} is in doubt: {off} of {len(ratios)} times that were not used in the fit "
                f"differ from those predicted by more than {_OFF:g} times. Measure again while nothing else uses these "
                "cores and their network, or for longer (--budget)."
            )
    return out
