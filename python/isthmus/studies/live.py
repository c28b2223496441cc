"""The page of a study that runs: how far it is, how fast, what failed; a file that browsers read again."""

from __future__ import annotations

import os
import time
from html import escape
from importlib.resources import files

from ..files import write_atomically
from ..html.markup import table
from ..visible import visible
from .backend import Done
from .parameters import Point
from .study import Study

#: Seconds before there is a page, and between two writings.
_PATIENCE = 2.0
#: Points of the curve, and failures that are shown.
_CURVE = 120
_FAILURES = 20
_STYLE = """
.whole { height: 14px; background: var(--grid); border-radius: 7px; overflow: hidden; margin-bottom: 14px; }
.whole i { display: block; height: 100%; background: var(--accent); }
svg.curve { display: block; width: 100%; height: 140px; } svg.curve path { fill: none; stroke: var(--accent);
  stroke-width: 2; vector-effect: non-scaling-stroke; }
"""
_SCRIPT = """
const written = Number(document.body.dataset.written), said = document.getElementById("said");
setInterval(() => {
  const age = Math.round(Date.now() / 1000 - written);
  if (age > 15) said.textContent = `Nothing was written for ${age} s: no point has ended since, or the study has.`;
}, 1000);
"""


class Live:
    """Writes ``progress.html`` of a study's folder every two seconds, if the study takes that long.

    Parameters
    ----------
    folder : str
    study : Study
    total, kept : int
        Points of the study, and of these in the ledger before.
    """

    def __init__(self, folder: str, study: Study, total: int, kept: int) -> None:
        self.path = os.path.join(folder, "progress.html")
        self._study, self._total, self._kept = study, total, kept
        self._begin = time.monotonic()
        self._written = self._begin
        self._done = 0
        self._hosts: dict[str, tuple[int, float]] = {}
        self._failed = 0
        self._failures: list[tuple[str, str]] = []
        self._curve: list[tuple[float, int]] = [(0.0, 0)]
        self._is_there = False

    def add(self, done: Done, point: Point) -> None:
        """Count a point."""
        self._done += 1
        count, wall = self._hosts.get(done.host, (0, 0.0))
        self._hosts[done.host] = (count + 1, wall + done.wall)
        if done.error is not None:
            self._failed += 1
            self._failures.append((", ".join(f"{k} = {v}" for k, v in point.items()), done.error))
            self._failures = self._failures[-_FAILURES:]
        if time.monotonic() - self._written >= _PATIENCE:
            self._write(over=False)

    def close(self) -> None:
        """Say that the run is over."""
        if self._is_there:
            self._write(over=True)

    def _write(self, *, over: bool) -> None:
        self._written = time.monotonic()
        self._is_there = True
        self._curve.append((self._written - self._begin, self._done))
        if len(self._curve) > _CURVE:
            self._curve = [self._curve[0], *self._curve[2:-1:2], self._curve[-1]]
        write_atomically(self.path, visible(self._html(over=over)))

    def _html(self, *, over: bool) -> str:
        passed = self._written - self._begin
        here = self._kept + self._done
        left = self._total - here
        rate = self._done / passed
        said = f"Computing; this page reads itself again every {_PATIENCE:.0f} s."
        if over:
            said = "All points are done." if not left else "The run has ended before all points were done."
        tiles = [
            ("done", f"{here:,} of {self._total:,}", f"{self._kept:,} from the ledger"),
            ("failed", f"{self._failed:,}", "tried again in the next run"),
            ("speed", f"{rate:,.1f} points/s", f"for {_clock(passed)}"),
            ("left", f"{left:,} points", f"about {_clock(left / rate)}" if left and rate else ""),
        ]
        parts = [
            f'<div class="whole"><i style="width: {100 * here / self._total:.2f}%"></i></div><div class="tiles">'
            + "".join(f'<div class="tile"><span>{n}</span><b>{v}</b><small>{d}</small></div>' for n, v, d in tiles)
            + "</div>",
            f"<h2>Points over time</h2>{self._drawing(passed)}",
            "<h2>Where</h2>"
            + table(
                ("host", "points", "seconds of work", "at once, on average"),
                [
                    [host or "a worker that ended", f"{n:,}", f"{wall:,.1f}", f"{wall / passed:.2f}"]
                    for host, (n, wall) in sorted(self._hosts.items())
                ],
                left=(0,),
            ),
        ]
        if self._failures:
            parts.append("<h2>Failed last</h2>" + table(("point", "error"), self._failures, left=(0, 1)))
        own = files("isthmus.html") / "templates"
        style = (own / "style.css").read_text("utf-8") + _STYLE
        again = "" if over else f'<meta http-equiv="refresh" content="{_PATIENCE:.0f}">\n'
        script = "" if over else f"<script>\n{_SCRIPT}</script>\n"
        body = "\n".join(f"<section>{part}</section>" for part in parts)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="color-scheme" content="light dark">\n{again}'
            f"<title>{escape(self._study.title)}</title>\n<style>\n{style}</style>\n</head>\n"
            f'<body data-written="{time.time():.0f}">\n<header>\n<p class="kind">Isthmus study '
            f'{escape(self._study.name)}</p>\n<h1>{escape(self._study.title)}</h1>\n<p id="said">{said}</p>\n'
            f"</header>\n<main>\n{body}\n</main>\n{script}</body>\n</html>\n"
        )

    def _drawing(self, passed: float) -> str:
        most = max(1, self._done)
        line = "L".join(f"{1000 * t / passed:.1f} {140 - 136 * n / most:.1f}" for t, n in self._curve)
        words = f"{self._done:,} points in {_clock(passed)}"
        return (
            f'<svg class="curve" viewBox="0 0 1000 140" preserveAspectRatio="none" role="img" aria-label="{words}">'
            f'<path d="M{line}"/></svg><p class="note">{words}</p>'
        )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
