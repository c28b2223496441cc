"""One vocabulary and one style in all that Isthmus prints; DESIGN.md lists the words."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import isthmus
from isthmus.advice.advice import TIME_CLASSES
from isthmus.cli import main
from isthmus.simulation.words import WORDS

ROOT = Path(__file__).parents[2]
PYTHON = sorted((ROOT / "python" / "isthmus").rglob("*.py"))
CORE = sorted(path for folder in ("core", "bindings") for path in (ROOT / folder).rglob("*.[ch]pp"))
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
#: A share without the space before its sign.
TIGHT = re.compile(r"\d%(?![A-Za-z0-9])")
#: What messages do not say: they say "must be", "expected" or what to give. "At most 3 are allowed" is plain English.
AVOIDED = re.compile(
    r"allowed (are|is)\b|(?<!at most )(?<!of )\b(is|are) needed\b|^(?!.*(at most|fewer than)).*\b(is|are) allowed\b|"
    r"\bis none of\b|\bis no number\b|nothing to do\b"
)


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module without docstrings; what an f-string fills in is one ``{}``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in ast.walk(node) if isinstance(part, (ast.Constant, ast.JoinedStr)))
            inside.discard(id(node))
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(str(part) for part in parts)


def test_shares_have_one_style_in_the_source() -> None:
    """Every share of an output is written by ``units.percent``: none is formatted as 8.6%."""
    wrong = []
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
                spec = "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant))
                if spec.endswith("%"):
                    wrong.append(f"{path.name}:{node.lineno}: {spec}")
        # Widths of style sheets are no text.
        tight = (
            f"{path.name}:{line}: {text}" for line, text in literals(path) if re.search(r"(\}|\d)%$|\}%[ ,;.)]", text)
        )
        wrong += [one for one in tight if not re.search(r"width|height|margin|left|: 100%$", one)]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_shares_have_one_style_in_the_pages(page: Path) -> None:
    assert [line for line in page.read_text(encoding="utf-8").splitlines() if TIGHT.search(line)] == []


def test_messages_say_what_is_expected() -> None:
    found = [f"{path.name}:{line}: {text}" for path in PYTHON for line, text in literals(path) if AVOIDED.search(text)]
    for path in CORE:
        text = re.sub(r"^\s*//.*$|//[/!<]? .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
        found += [
            f"{path.name}: {one}" for one in strings if re.search(r"allowed (are|is)\b|is none of|^ are needed$", one)
        ]
    assert found == []


COMMANDS = {
    "simulate": "simulate allreduce:ranks=16,bytes=64kB,algorithm=ring --machine cielo --critical --sensitivity",
    "network": "simulate alltoall:ranks=16,bytes=64kB --machine ring:16 --ranks-per-node 1 --model flow --links 3",
    "prove": "prove allreduce:ranks=16,bytes=1kB,algorithm=ring",
    "pattern": "schedule pattern alltoall:ranks=16,bytes=8",
    "map": "map alltoall:ranks=8,bytes=8 --machine ring:8 --method default",
    "tune": "tune bcast --machine ring-16 --ranks 8 --ranks-per-node 1 --sizes 8,65536",
    "machines": "machine list",
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands_print_one_vocabulary(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        main(words.split())
    out = capsys.readouterr().out
    assert out
    assert not TIGHT.search(out)
    assert not re.search(r"\bcomputing\b|nothing to do|on (its|their) way", out)


def test_simulate_and_advise_say_the_same() -> None:
    builder = isthmus.ProgramBuilder(4)
    for rank in range(4):
        builder.compute(rank, 1e-3 * (rank + 1))
        builder.allreduce(rank, 8)
    program = builder.build()
    advice = isthmus.advise(program, "ring-16", tune_seconds=0)
    report, timeline = str(advice), str(isthmus.simulate(program, "ring-16"))
    for name in ("compute", "latency"):
        assert TIME_CLASSES[name] == WORDS[name]
        assert WORDS[name] in timeline
        assert WORDS[name] in report
    assert not TIGHT.search(report + timeline)
