"""Sentences on how ranks ended."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import numpy as np

from ..schedule.recording import ABORTED, EXITED, FINALIZED, FULL, SIGNALLED
from ..units import text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..schedule.recording import Recording

#: Signals of programs that do what they must not.
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS")


def endings(recording: Recording) -> list[str]:
    """Sentences on ranks that did not reach MPI_Finalize: those that ended by themselves first."""
    r = recording
    # Another sentence says which ranks are missing because there was no room for their traces.
    early = ((r.ending & FINALIZED) == 0) & ~((r.ending & FULL > 0) & np.isnan(r.wall))
    kind = np.select([r.ending & flag > 0 for flag in (ABORTED, SIGNALLED, EXITED)], [ABORTED, SIGNALLED, EXITED], 0)
    number = np.where(kind == SIGNALLED, r.signal if len(r.signal) else 0, 0)
    own = bool((early & ((kind == ABORTED) | (number > 0))).any())
    groups: dict[tuple[int, str], list[int]] = {}
    for rank in np.flatnonzero(early).tolist():
        groups.setdefault(_words(int(kind[rank]), int(number[rank]), own), []).append(rank)
    return [
        f"{named(np.array(ranks))} {words}{_after(r.wall[ranks], bool(order[0] < _UNSEEN))}"
        for order, words, ranks in sorted((key, key[1], ranks) for key, ranks in groups.items())
    ]


_UNSEEN = 4


def _words(kind: int, number: int, own: bool) -> tuple[int, str]:
    """Place among the sentences, and what happened."""
    if kind == ABORTED:
        return 0, "called MPI_Abort"
    if kind == SIGNALLED:
        name = signal_name(abs(number))
        if number > 0:
            return (0, f"crashed: {name}") if name in _CRASHES else (1, f"ended by {name}, its own")
        why = ", as launchers do after another rank has failed," if own else ""
        return 2, f"ended by {name}{f' from another process{why}' if number else ''}"
    if kind == EXITED:
        return 1, "exited without MPI_Finalize"
    why = " by the launcher" if own else ""
    return _UNSEEN, f"ended without a word, as if killed{why}"


def signal_name(number: int) -> str:
    """``"SIGSEGV"``; ``"a signal"`` for 0, of older recordings."""
    if not number:
        return "a signal"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _after(wall: NDArray[Any], seen: bool) -> str:
    known = wall[np.isfinite(wall)]
    if not len(known):
        return ""
    low, high = (text(float(x), "s", 3) for x in (known.min(), known.max()))
    return f"{' after' if seen else '; last heard of after'} {low}" + (f" to {high}" if high != low else "")


def named(ranks: NDArray[Any]) -> str:
    """``rank 3``, ``ranks 1, 2 and 5``, ``ranks 0, 1, 2 and 61 others``."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    shown = [str(r) for r in ranks] if len(ranks) <= 4 else [*map(str, ranks[:3]), f"{len(ranks) - 3:,} others"]
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"
