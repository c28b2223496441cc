"""The page of a machine, or of several beside each other: pictures, tables, conditions; one file without others."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from .. import units
from ..html.markup import paragraph, table
from ..machine.text import report
from ..plot.machine_charts import Chart, charts
from ..plot.machine_curves import plot_chart
from .frame import drawing, page

if TYPE_CHECKING:
    from ..machine import Machine

#: Charts that are shown at once; the others are to unfold.
_FIRST = ("latency", "bandwidth", "overheads-", "rate", "stream", "collective-allreduce", "collective-allgather")
_FIRST_MORE = ("check", "cpu_share", "noise", "startup", "memory", "spmv", "stream_matrix")
#: Rows of the numbers of one curve.
_MEASURED = (
    *(("date", "date"), ("mpi", "MPI"), ("launch", "launcher"), ("ranks", "ranks"), ("hosts", "nodes")),
    *(("hostnames", "host names"), ("cpu", "processor"), ("kernel", "system"), ("pinning", "ranks are")),
    *(
        ("governor", "frequency scaling"),
        ("load", "other load"),
        ("duration", "seconds"),
        ("check", "prediction"),
        ("raw", "raw samples"),
    ),
    ("isthmus", "Isthmus"),
)


def html(machine: Machine) -> str:
    """The page of one machine; see :meth:`Machine.html`."""
    title = machine.title
    found = charts({machine.name: machine})
    parts = [
        ("Machine", f"<pre>{escape(report(machine, decimal=True))}</pre>" + _conditions(machine) + _notes(machine))
    ]
    parts += _pictures(found)
    parts.append(("Values", _values(machine)))
    if machine.curves:
        parts.append(("Numbers of the pictures", _numbers(found)))
    return page(f"Machine {machine.name}", title, parts)


def side_by_side(machines: Mapping[str, Machine], differences: str) -> str:
    """The page of several machines: pictures with all of them, a table of values that differ (HTML)."""
    found = charts(machines)
    about = "".join(
        f"<h3>{escape(name)}</h3>{paragraph(machine.title)}{_conditions(machine)}" for name, machine in machines.items()
    )
    parts = [*_pictures(found), ("Values that differ", differences), ("Machines", about)]
    parts.append(("Numbers of the pictures", _numbers(found)))
    return page("Machines", " and ".join(machines), parts)


def _pictures(found: Sequence[Chart]) -> list[tuple[str, str]]:
    first = [chart for chart in found if chart.name.startswith(_FIRST) or chart.name in _FIRST_MORE]
    rest = [chart for chart in found if chart not in first]
    body = "\n".join(map(_figure, first))
    if rest:
        more = "\n".join(map(_figure, rest))
        body += f"<details><summary>{len(rest)} more pictures</summary>{more}</details>"
    return [("Pictures", body)] if found else []


def _figure(chart: Chart) -> str:
    stream = io.BytesIO()
    plot_chart(chart, stream, "svg")
    return drawing(stream.getvalue(), chart.name, chart.title)


def _conditions(machine: Machine) -> str:
    known = machine.measured
    if known is None:
        return paragraph("Not measured: a description, whose sources stand beside its values.")
    rows = []
    for key, words in _MEASURED:
        value: Any = getattr(known, key)
        if value:
            text = ", ".join(value) if isinstance(value, tuple) else str(value)
            rows.append(f"<dt>{escape(words)}</dt><dd>{escape(text)}</dd>")
    body = f'<dl class="facts">{"".join(rows)}</dl>'
    if known.warnings:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in known.warnings)
        body += f'<p>Conditions that make the numbers less certain:</p><ul class="warnings">{items}</ul>'
    return body


def _notes(machine: Machine) -> str:
    if not machine.notes:
        return ""
    return f"<p>Notes:</p><ul>{''.join(f'<li>{escape(note)}</li>' for note in machine.notes)}</ul>"


def _values(machine: Machine) -> str:
    rows = []
    given = machine.frame()
    # As everything on a page, in powers of 1000.
    decimal = iter(units.decimal(str(text) for row in given for text in (row["value"], row["interval"])))
    for row in given:
        row = {**row, "value": next(decimal), "interval": next(decimal)}
        samples = "" if row["samples"] is None else f"{row['samples']:,}"
        note = "; ".join(filter(None, (row["method"], row["note"])))
        rows.append([row["path"], str(row["value"]), row["interval"], samples, row["status"], row["source"], note])
    heads = ["value of", "is", "95 % interval", "samples", "status", "source", "method, note"]
    return table(heads, rows, left=(0, 1, 2, 4, 5, 6))


def _numbers(found: Sequence[Chart]) -> str:
    """The measured points of every chart, to unfold."""
    out = []
    for chart in found:
        rows = []
        for line in chart.lines:
            if not line.mark:
                continue
            for i, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
                interval = ""
                if len(line.low):
                    interval = f"{_text(line.low[i], chart.y_unit)} to {_text(line.high[i], chart.y_unit)}"
                rows.append([line.label, _text(x, chart.x_unit), _text(y, chart.y_unit), interval])
        if rows:
            heads = ["line", chart.x_label, chart.y_label, "95 % interval"]
            body = table(heads, rows, left=(0, 3))
            out.append(f"<details><summary>{escape(chart.title)}: {len(rows)} points</summary>{body}</details>")
    return "\n".join(out)


def _text(value: float, unit: str) -> str:
    return units.text(float(f"{value:.4g}"), unit, 4, decimal=True) if unit else f"{value:.4g}"
