"""Pictures and pages of machines: measured curves, and the model of machines that nobody measured."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import isthmus
from isthmus import InvalidInput, Machine
from isthmus.machine.formula import formula
from isthmus.plot.machine_charts import chart_named, charts
from isthmus.plot.machine_curves import plot_chart

KINDS = {
    "latency": ("B", "s", {"level": "socket"}),
    "fresh": ("B", "s", {"level": "socket"}),
    "bandwidth": ("B", "B/s", {"level": "socket"}),
    "overhead": ("B", "s", {"level": "socket", "side": "send"}),
    "gap": ("B", "s", {"level": "socket"}),
    "bidirectional": ("B", "B/s", {"level": "socket"}),
    "sendrecv": ("B", "s", {"level": "socket"}),
    "injection": ("", "B/s", {}),
    "hops": ("", "s", {"bytes": 8, "alone": 1}),
    "skew": ("B", "s", {"collective": "allreduce", "ranks": 2}),
    "exposed": ("B", "s", {"collective": "allreduce", "ranks": 2, "tests": 0}),
    "rate": ("", "1/s", {"mode": "pair", "cold": 0}),
    "queue": ("", "s", {"level": "socket", "queue": "posted"}),
    "collective": ("B", "s", {"collective": "allreduce", "ranks": 2}),
    "cpu_share": ("B", "", {"collective": "allreduce", "ranks": 2, "tests": 0}),
    "overlap": ("B", "", {"collective": "allreduce", "ranks": 2, "tests": 0}),
    "stream": ("", "B/s", {"op": "triad"}),
    "spmv": ("B", "s", {}),
    "noise": ("s", "1/s", {"core": 0}),
    "startup": ("", "s", {"what": "init"}),
    "memory": ("", "B", {"what": "after"}),
}


def machine(name: str = "red", factor: float = 1.0) -> Machine:
    """A machine with one curve of every kind."""
    curves = {
        kind: {
            "kind": kind, "x_unit": x, "y_unit": y, "parameters": of,
            "x": [1, 2, 8], "y": [0.1 * factor, 0.2 * factor, 0.4 * factor],
            "low": [0.1 * factor] * 3, "high": [0.5 * factor] * 3, "samples": [3, 20, 30],
        }
        for kind, (x, y, of) in KINDS.items()
    }  # fmt: skip
    curves["queue"]["x"] = [0, 1, 4]
    return Machine.from_dict(
        {
            "name": name,
            "title": f"{name} <&>",
            "topology": {"kind": "ring", "dims": [1]},
            "node": {"cores": 4, "numa": 2, "sockets": 2, "stream": [["20 GB/s", "9 GB/s"], ["9 GB/s", "21 GB/s"]]},
            "level": {
                "socket": {"L": {"value": 1e-6 * factor, "status": "measured", "interval": [0, 1], "samples": 7}}
            },
            "measured": {"date": "2026-11-23", "warnings": ["it was <busy>"]},
            "curves": curves,
        }
    )


class Checker(HTMLParser):
    """Tags that are closed in order, names that are given once, and nothing from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "link", "img", "input"):
            self.open.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(str(value))
            if key in ("href", "src", "xlink:href"):
                assert str(value).startswith("#"), value

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    return checker


def test_every_kind_of_curve_has_a_picture() -> None:
    red = machine()
    found = charts({"red": red})
    drawn = {line.y[0] for chart in found for line in chart.lines if line.mark}
    assert drawn == {0.1}
    assert {chart.name for chart in found} == {
        *("latency", "bandwidth", "overheads-socket", "rate", "bidirectional", "queues", "collective-allreduce"),
        *("fresh", "sendrecv", "injection", "hops-8", "skew", "exposed"),
        *("cpu_share", "overlap", "stream", "stream_matrix", "spmv", "noise", "startup", "memory"),
    }
    for chart in found:
        stream = io.BytesIO()
        red.plot(chart.name, stream, "svg")
        assert b"<svg" in stream.getvalue()


def test_what_was_fitted_to_a_curve_is_drawn_over_it() -> None:
    raw = tomllib.loads(machine().toml())
    numbers = {"nearest": [0.1, 0.1, 0.1], "per_hop": [0.05, 0.04, 0.06]}
    raw["curves"]["hops"] |= {"formula": "nearest + per_hop * (hops - 1)", "fitted": numbers}
    raw["curves"]["injection"] |= {
        "formula": "min(senders * one, node)",
        "fitted": {"one": [0.2] * 3, "node": [0.5] * 3},
    }
    # What a file of somebody else may hold is no program.
    raw["curves"]["queue"] |= {"formula": "__import__('os').getpid() * length", "fitted": {"a": [1.0] * 3}}
    red = Machine.from_dict(raw)
    (line,) = (line for line in chart_named({"red": red}, "hops-8").lines if not line.mark)
    assert line.label == "one pair after another: nearest + per_hop * (hops - 1)"
    assert dict(zip(line.x, line.y, strict=True))[8] == pytest.approx(0.1 + 0.05 * 7)
    (line,) = (line for line in chart_named({"red": red}, "injection").lines if not line.mark)
    assert dict(zip(line.x, line.y, strict=True)) == pytest.approx({x: min(0.2 * x, 0.5) for x in line.x})
    assert all(line.mark for line in chart_named({"red": red}, "queues").lines)
    checked(red.html())


@pytest.mark.parametrize(
    "text",
    ["", "x", "a + b * x * y", "a.x", "x if a else b", "(lambda: x)()", "a ** x", "open(x)", "min(x)", "a[x]",
     "'x' * a", "(" * 150 + "x" + ")" * 49, "-x", "x +", "a < x", "min + x", "9" * 199],
)  # fmt: skip
def test_formulas_are_arithmetic_and_nothing_else(text: str) -> None:
    found = formula(text, {"a": 1.0, "b": 2.0})
    assert found is None or (text == "x" and found(3.0) == 3.0)
    of = formula("max(a, b * x / 4 - 1)", {"a": 1.0, "b": 2.0})
    assert of is not None
    assert [of(2.0), of(10.0)] == [1.0, 4.0]


def test_model_lines_are_the_model() -> None:
    """Of a machine that nobody measured: time, bandwidth and overheads follow from LogGOPS."""
    eos = isthmus.load("eos")
    lines = {line.label: line for line in chart_named({"eos": eos}, "latency").lines}
    assert set(lines) == {f"{level}: model" for level in ("within a socket", "between sockets", "between nodes")}
    network = lines["between nodes: model"]
    assert network.mark == ""
    p = eos.level.network
    for i in (0, len(network.x) // 2, -1):
        far = (eos.distance(0, 1) - 1) * p.per_hop
        assert network.y[i] == pytest.approx(p.o_send + p.L + far + (network.x[i] - 1) * p.G + p.o_recv, rel=1e-5)
    rate = next(line for line in chart_named({"eos": eos}, "bandwidth").lines if line.label.startswith("between nodes"))
    assert rate.y[-1] == pytest.approx(rate.x[-1] / (p.g + (rate.x[-1] - 1) * p.G))
    with pytest.raises(
        InvalidInput, match=r"'rate' is no picture of eos: must be one of latency, bandwidth, overheads-"
    ):
        eos.plot("rate")


def test_the_axis_of_sizes_reaches_to_the_end_of_the_model() -> None:
    """Where there was time to measure small messages only, the lines of the model go on beyond the marks."""
    chart = chart_named({"red": machine(), "eos": isthmus.load("eos")}, "bandwidth")
    (ax,) = plot_chart(chart).axes
    assert max(x for line in chart.lines if line.mark for x in line.x) == 8
    assert max(ax.get_xticks()) >= 1e6


def test_page_of_one_machine(tmp_path: Path) -> None:
    page = machine().html()
    checked(page)
    assert "it was &lt;busy&gt;" in page
    assert "red &lt;&amp;&gt;" in page
    assert page.count("<svg") == 21
    assert "fewer than six samples" in re.sub(r"<!--\s*|\s*-->", "", page)
    assert "0 ps to 1 s" in page or "0 s to 1 s" in page
    checked(isthmus.load("cielo").html())


def test_machines_side_by_side(tmp_path: Path) -> None:
    red, blue, eos = machine(), machine("blue", 2.0), isthmus.load("eos")
    found = isthmus.compare(red, blue, eos)
    rows = {row["value of"]: row for row in found.rows}
    assert rows["level.socket.L"]["blue"] == "2 us"
    assert rows["curves.latency at 8 B"]["red"] == "400 ms"
    assert rows["curves.latency at 8 B"]["blue"] == "800 ms"
    assert rows["curves.latency at 8 B"]["eos"] is None
    found.save(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    checked(page)
    assert "blue, within a socket" in page
    chart = chart_named(found.machines, "latency")
    assert [line.label for line in chart.lines if line.mark] == ["red, within a socket", "blue, within a socket"]
    colours = {line.label.split(",")[0]: line.colour for line in chart.lines}
    assert len(set(colours.values())) == 3
    found.plot(tmp_path / "bandwidth.png", "bandwidth")
    assert (tmp_path / "bandwidth.png").read_bytes().startswith(b"\x89PNG")


def test_commands_draw_machines(tmp_path: Path) -> None:
    machine().save(tmp_path / "red.toml")
    machine("blue", 2.0).save(tmp_path / "blue.toml")

    def run(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "isthmus", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == status, done.stderr
        return done

    said = run("show", "red.toml", "-o", "red.html", "--plot", "rate=rate.svg", "--plot", "red.png").stdout
    assert said.splitlines() == ["wrote red.html", "wrote rate.svg", "wrote red.png"]
    checked((tmp_path / "red.html").read_text())
    assert "wrote x.html" in run("compare", "red.toml", "blue.toml", "eos", "-o", "x.html").stdout
    bad = run("show", "red.toml", "--plot", "nothing=x.png", status=2)
    assert bad.stderr.startswith("isthmus: 'nothing' is no picture of red: must be one of latency")
    assert not (tmp_path / "x.png").exists()
    run("compare", "red.toml", "blue.toml", "--plot", "x.txt", status=2)
