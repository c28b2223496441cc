"""The page of a study: what was published beside what came out, the figure, all points; one file without others."""

from __future__ import annotations

import io
import os
import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..files import write_atomically
from ..html.markup import paragraph, table
from ..plot.chart import save
from ..visible import visible

if TYPE_CHECKING:
    from .outcome import Outcome
    from .parameters import Summary

_VERDICTS = {"agrees": "agrees", "partly": "agrees in part", "differs": "differs", "open": "open"}
_STYLE = """
.agrees b { color: #0a7a55; } .differs b, .partly b { color: #b4480a; }
@media (prefers-color-scheme: dark) {
  .agrees b { color: #35c795; } .differs b, .partly b { color: #ff9a57; }
  .figure { background: #fff; }
}
.figure svg { display: block; width: 100%; height: auto; }
pre { font-size: 13px; overflow-x: auto; background: var(--page); padding: 10px 12px; border-radius: 6px; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 0; font-size: 14px; }
dl.facts dt { color: var(--muted); } dl.facts dd { margin: 0; }
table.findings td { min-width: 12em; } table.findings td:last-child { min-width: 5em; }
"""


def write(outcome: Outcome) -> None:
    """Write figure.png, figure.svg and index.html."""
    assert outcome.summary is not None
    figure = outcome.summary.draw()
    for suffix in (".png", ".svg"):
        save(figure, os.path.join(outcome.folder, f"figure{suffix}"), suffix)
    svg = io.BytesIO()
    save(figure, svg, ".svg")
    write_atomically(outcome.page, visible(html(outcome, outcome.summary, svg.getvalue().decode())))


def html(outcome: Outcome, summary: Summary, svg: str) -> str:
    """The page as text."""
    study = outcome.study
    own = files("isthmus.html") / "templates"
    style = (own / "style.css").read_text("utf-8") + _STYLE
    script = (own / "table.js").read_text("utf-8")
    parts = [("Published and here", _findings(outcome, summary))] if study.published else []
    parts.append(("Figure", f'<div class="figure">{_inline(svg)}</div>'))
    parts.append(("What was done", (paragraph(study.about) if study.about else "") + _facts(outcome)))
    if outcome.failures:
        parts.append(("Points that failed", _failures(outcome)))
    words = [i for i, name in enumerate(summary.columns) if name not in summary.right]
    points = table(summary.columns, summary.rows, left=words)
    parts.append(("Points", f"<details><summary>{len(summary.rows)} points</summary>{points}</details>"))
    body = "\n".join(f"<section><h2>{escape(title)}</h2>\n{content}\n</section>" for title, content in parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(study.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header>\n<p class="kind">Isthmus study {escape(study.name)}</p>\n<h1>{escape(study.title)}</h1>\n</header>\n'
        f"<main>\n{body}\n</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _inline(svg: str) -> str:
    """The drawing without what only files have, and without a size of its own."""
    svg = svg[svg.index("<svg") :]
    head, rest = svg.split(">", 1)
    return re.sub(r' (width|height)="[^"]*"', "", head) + ' role="img" aria-label="figure">' + rest


def _findings(outcome: Outcome, summary: Summary) -> str:
    rows = []
    for published in outcome.study.published:
        found = summary.findings.get(published.name)
        ours, verdict = (
            (found.ours, found.verdict) if found else ("the points that would tell were not computed", "open")
        )
        rows.append(
            f'<tr class="{verdict}"><td class="w">{escape(published.statement)}'
            f"<small>{escape(published.source)}</small></td>"
            f'<td class="w">{escape(ours)}</td><td class="w"><b>{_VERDICTS[verdict]}</b></td></tr>'
        )
    head = "".join(f'<th scope="col" class="w">{words}</th>' for words in ("published", "here", ""))
    body = "\n".join(rows)
    return (
        f'<div class="wide"><table class="findings"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _facts(outcome: Outcome) -> str:
    done = [e for e in outcome.entries if e.results is not None]
    facts: list[tuple[str, Any]] = [
        ("points", f"{len(done)} of {len(outcome.entries)}"),
        ("time of all points", f"{sum(e.wall for e in done):.1f} s"),
        ("computed", f"{min(e.finished for e in done)} to {max(e.finished for e in done)}"),
        ("on", ", ".join(sorted({e.host for e in done}))),
        ("Isthmus", ", ".join(sorted({e.versions["isthmus"] for e in done}))),
        ("ledger", "ledger.sqlite, beside this page"),
    ]
    for name, values in _inputs(outcome).items():
        facts.append((name, ", ".join(str(v) for v in values)))
    return '<dl class="facts">' + "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in facts) + "</dl>"


def _inputs(outcome: Outcome) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for entry in outcome.entries:
        for name, value in entry.inputs.items():
            out.setdefault(name, [])
            if value not in out[name]:
                out[name].append(value)
    # In the order of the experiment.
    return {p.name: out[p.name] for p in outcome.study.experiment.parameters if p.name in out}


def _failures(outcome: Outcome) -> str:
    rows = [[", ".join(f"{k} = {v}" for k, v in e.inputs.items()), e.error or ""] for e in outcome.failures]
    return table(("point", "error"), rows, left=(0, 1))
