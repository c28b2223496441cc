"""The report as HTML, the page, JSON, and the command advise."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from commands import Run
from isthmus import gallery
from isthmus.advice.output.html.sections import sections
from isthmus.errors import InvalidInput, Unsupported
from isthmus.skeletons import SKELETONS
from recordings import Call, recorded

VOID = {"meta", "br", "link", "img", "rect", "circle", "path"}
NASTY = '<script>alert("1")</script> & co.c:3'
ANCHORS = [
    "summary",
    "where",
    "timeline",
    "what-ifs",
    "sensitivity",
    "calls",
    "messages",
    "collectives",
    "settings",
    "placement",
    "machines",
    "how",
]


def stencil(ranks: int = 16, iterations: int = 3, location: str = "halo.c:50") -> isthmus.Program:
    rank = np.arange(ranks)
    b = isthmus.ProgramBuilder(ranks)
    for _ in range(iterations):
        with b.location(location):
            b.irecv(None, (rank - 1) % ranks, 4000)
            b.isend(None, (rank + 1) % ranks, 4000)
        b.compute(None, 1e-4 + rank * 1e-6)
        with b.location("halo.c:60"):
            b.waitall(None)
        b.allreduce(None, 8)
    return b.build()


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects what the page holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.anchors: list[str] = []
        self.targets: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        named = dict(attrs)
        if tag == "section":
            self.anchors.append(str(named["id"]))
        if tag == "a":
            self.targets.append(str(named["href"]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def advice() -> isthmus.Advice:
    return isthmus.advise(stencil(), ["cielo", "edison"], ranks_per_node=4, name="stencil")


def test_html_is_whole(advice: isthmus.Advice) -> None:
    page = Page(advice.html())
    assert page.open == []
    assert page.anchors == ANCHORS
    assert page.targets == [f"#{anchor}" for anchor in ANCHORS]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for sentence in (*advice.sentences, *advice.bounds, *advice.notes):
        assert (sentence if isinstance(sentence, str) else sentence.text) in page.words


def test_html_needs_nothing_else(advice: isthmus.Advice) -> None:
    text = advice.html()
    page = Page(text)
    assert not [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object", "base", "image", "use")]
    for _, attributes in page.tags:
        assert not {"src", "srcset", "xlink:href", "data", "action"} & attributes.keys()
    assert "@import" not in text
    assert "url(" not in text
    assert not re.findall(r"fetch\(|XMLHttpRequest|import\(", text)
    assert len(text.encode()) < 2_000_000


def test_html_is_escaped() -> None:
    program = stencil(4, location=NASTY)
    text = isthmus.advise(program, "cielo", name=NASTY).html()
    page = Page(text)
    assert "<script>alert" not in text
    # The name in the head, the title and the table of calls.
    assert page.words.count(NASTY) >= 3
    assert [tag for tag, _ in page.tags].count("script") == 1


def test_html_is_for_phones_light_and_dark_and_paper(advice: isthmus.Advice) -> None:
    text = advice.html()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert "@media (prefers-color-scheme: dark)" in text
    assert "@media print" in text
    # Every variable of a colour is defined for all three.
    css = text[text.index("<style>") : text.index("</style>")]
    used = set(re.findall(r"var\((--[a-z0-9]+)\)", css))
    for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL):
        assert used <= set(re.findall(r"(--[a-z0-9]+):", block)) | {"--shade"}


def test_drawings_have_every_rank_and_class(advice: isthmus.Advice) -> None:
    text = advice.html()
    css = text[text.index("<style>") : text.index("</style>")]
    known = set(re.findall(r"\.([a-z][a-z0-9-]*)", css))
    page = Page(text)
    drawn = {c for tag, a in page.tags if tag in ("path", "rect", "circle", "i") for c in str(a.get("class")).split()}
    assert drawn - {"None"} <= known
    numbers = [float(n) for tag, a in page.tags if tag == "path" for n in re.findall(r"-?[0-9.]+", a["d"] or "")]
    assert numbers
    assert np.isfinite(numbers).all()


@pytest.mark.parametrize("ranks", [1, 2, 300])
def test_report_of_few_and_many_ranks(ranks: int, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    isthmus.advise(stencil(ranks), "cielo").save(path)
    page = Page(path.read_text(encoding="utf-8"))
    assert page.open == []
    assert set(page.anchors) <= set(ANCHORS)
    assert path.stat().st_size < 2_000_000


def test_timeline_of_many_operations_is_a_part(tmp_path: Path) -> None:
    advice = isthmus.advise(stencil(64, 40), "cielo")
    made = sections.timeline(advice)
    assert made is not None
    assert "where messages take most of the critical path" in made.body
    # Sixteen ranks, each with its number.
    assert len(re.findall(r'text-anchor="end"', made.body)) == 16


def test_more_sections_can_follow(advice: isthmus.Advice, monkeypatch: pytest.MonkeyPatch) -> None:
    def further(advice: isthmus.Advice) -> sections.Section:
        return sections.Section("Further", "further", f"<p>{advice.ranks} ranks</p>")

    monkeypatch.setattr(sections, "SECTIONS", [*sections.SECTIONS, further])
    page = Page(advice.html())
    assert page.anchors == [*ANCHORS, "further"]
    assert "16 ranks" in page.words


def test_without_jinja2(advice: isthmus.Advice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(Unsupported, match=r"jinja2, which is missing: pip install 'isthmus\[report\]'"):
        advice.save(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "reason"), [("report.pdf", "report is HTML"), ("no/report.html", "no folder")])
def test_reports_that_cannot_be(advice: isthmus.Advice, tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        advice.save(tmp_path / name)


# The page


def test_page(advice: isthmus.Advice) -> None:
    text = str(advice)
    lines = text.split("\n")
    assert lines[0].startswith("stencil on cielo: ")
    assert len(lines) < 80
    assert max(map(len, lines)) <= 120
    assert lines == [line.rstrip() for line in lines]
    for words in (
        "16 ranks on 4 nodes, 4 a node",
        "isend at halo.c:50",
        "waitall at halo.c:60",
        "sensitivity",
        "upper bounds",
    ):
        assert words in text
    for line in lines:
        if line.startswith("  total"):
            assert line.count("100.0 %") == 2
    # Shares as printed add up as well as their rounding allows.
    block = text[text.index("where the time goes") : text.index("  total")]
    rows = [line for line in block.split("\n")[1:] if line.strip() and "above the mean" not in line]
    parts = [[float(part) for part in re.findall(r"([0-9.]+) %", row)] for row in rows]
    assert sum(row[-1] for row in parts) == pytest.approx(100, abs=0.5)
    assert sum(row[0] for row in parts if len(row) == 2) == pytest.approx(100, abs=0.5)


def test_bytes_have_one_family_of_units() -> None:
    # 9,216 B are 9 KiB, 15,910 B are not a multiple of 1024.
    b = isthmus.ProgramBuilder(2)
    for size in (9216, 15910):
        b.isend(0, 1, size)
        b.recv(1, 0, size)
        b.waitall(0)
    found = isthmus.advise(b.build(), "cielo", ranks_per_node=1)
    assert "9.216 kB to 15.91 kB (all)" in str(found)
    assert "9.216 kB to 15.91 kB" in found.html()
    assert "iB" not in str(found)


def test_json_and_frame(advice: isthmus.Advice) -> None:
    plain = json.loads(json.dumps(advice.json(), allow_nan=False, default=float))
    assert plain["ranks"] == 16
    assert (
        [row["machine"] for row in plain["machines"]] == ["cielo", "edison"] == [r["machine"] for r in advice.frame()]
    )
    first = plain["predictions"][0]
    assert first["time"] == advice.predictions[0].time
    assert sum(first["path"].values()) == pytest.approx(first["time"])
    assert {w["name"] for w in first["what_ifs"]} == {
        "latency", "bandwidth", "overhead", "network", "balance"
    }  # fmt: skip
    assert {w["name"] for w in first["bounds"]} == {"overlap", "synchronisation", "work"}
    assert sum(first["losses"].values()) == pytest.approx(first["time"])
    assert plain["predictions"][1]["calls"] == []
    assert repr(advice).startswith("<Advice: 16 ranks on cielo ")


# Recorded programs


def test_recorded_program() -> None:
    b = isthmus.ProgramBuilder(2)
    b.compute(0, 1e-3)
    b.send(0, 1, 800)
    b.recv(1, 0, 800)
    program = recorded(
        b.build(),
        [Call(0, "MPI_Ssend", 1_000_000, 1_005_000, sent=800, peer=1, site="ring.c:40"),
         Call(1, "MPI_Mrecv", 0, 1_006_000, received=800, peer=0)],
        unmodelled={"MPI_File_write": 7},
    )  # fmt: skip
    assert program.recording is not None
    program = dataclasses.replace(program, recording=dataclasses.replace(program.recording, event=np.array([1, 2])))
    advice = isthmus.advise(program, "cielo", ranks_per_node=1)
    assert {"MPI_Ssend", "MPI_Mrecv", "computation before MPI_Ssend"} == {c.name for c in advice.predictions[0].calls}
    assert "7 calls of MPI_File_write are not part of the prediction." in advice.notes
    assert any("scale_compute" in note for note in advice.notes)
    assert "recorded     2026-03-01, Open MPI v4.1.4, 1 host: ./app 1 2" in str(advice)
    page = Page(advice.html())
    assert "profile" in page.anchors
    assert "ring.c:40" in page.words


def test_oversubscribed_recording() -> None:
    program = recorded(stencil(4), [Call(r, "MPI_Barrier", 0, 10) for r in range(4)], cpus=np.ones(4, np.uint32),
                       cpus_online=np.ones(4, np.uint32))  # fmt: skip
    assert program.recording is not None
    assert program.recording.oversubscribed
    advice = isthmus.advise(program, "cielo")
    assert any(note.startswith("Computation was measured in processor time") for note in advice.notes)
    body = next(s.body for s in sections.sections(advice) if s.anchor == "profile")
    assert "<table" not in body


# The command


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    stencil().save("app.h5")
    return Run(capsys, "advise")


def test_command(run: Run) -> None:
    status, out, err = run("app.h5", "--machine", "cielo", "--machine", "edison", "--ranks-per-node", "4")
    assert (status, err) == (0, "")
    expected = isthmus.advise(isthmus.read("app.h5"), ["cielo", "edison"], ranks_per_node=4, name="app.h5")
    assert out == f"{expected}\n"


def test_command_writes_a_report(run: Run) -> None:
    status, out, err = run("app.h5", "--machine", "cielo", "-o", "report.html", "--scale-compute", "2")
    assert (status, err) == (0, "")
    assert out.endswith("\nwrote report.html\n")
    assert Page(Path("report.html").read_text(encoding="utf-8")).open == []
    assert "multiplied by 2" in out


def test_command_json(run: Run) -> None:
    status, out, err = run("app.h5", "--machine", "cielo", "--json", "--collectives", "allreduce=ring")
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    assert found["noun"] == "advice"
    assert found["files"] == {}


def test_command_on_a_collective(run: Run) -> None:
    status, out, _ = run("bcast:ranks=8,bytes=1kB", "--machine", "torus-4x4x4")
    assert status == 0
    assert out.startswith("bcast:ranks=8,bytes=1kB on torus-4x4x4: ")


def test_example(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "programs", lambda: {"small": "app.h5"})
    status, out, err = run("--example", "small", "--machine", "cielo")
    assert (status, err) == (0, "")
    assert out.startswith("small on cielo: ")
    status, out, err = run("--example", "smal", "--machine", "cielo")
    assert (status, out) == (2, "")
    names = ", ".join(["small", *SKELETONS])
    assert err == f"isthmus: example 'smal': must be one of {names}; a close one is small\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["app.h5", "--machine", "ring:4"], "is too small: 16 ranks with 1 on each node need 16 nodes, but it has 4"),
        (["app.h5", "--machine", "celo"], "close names are cielo"),
        (["app.h5", "--machine", "cielo", "--ranks-per-node", "99"], "must be 1 to 16, the cores of a node of cielo"),
        (["app.h5", "--machine", "cielo", "-o", "report.txt"], "report is HTML"),
        (["app.h5", "--machine", "cielo", "-o", "no/report.html"], "there is no folder no"),
        (["app.h5", "--machine", "cielo", "--scale-compute", "0"], "x>0"),
        (["app.h5", "--machine", "cielo", "--example", "lammps"], "give FILE or --example NAME"),
        (["--machine", "cielo"], "give FILE or --example NAME"),
        (["app.h5"], "--machine"),
        (["none.h5", "--machine", "cielo"], "No such file"),
    ],
)
def test_command_on_bad_input(run: Run, words: list[str], reason: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert reason in err
    assert err.count("\n") == 1


def test_gallery_of_programs_is_read() -> None:
    for name in gallery.programs():
        assert isthmus.example(name).ranks > 1
