"""Mutated fixtures parse or raise ParseError; nothing else, and nothing that takes long."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from isthmus.errors import ParseError
from isthmus.imports.machines import formats

DATA = Path(__file__).parents[1] / "data" / "imports"
ROUNDS = 300
SECONDS = 20  # one reading takes well below 1 s; the bound only catches a hang

SPICE = [
    "",
    " ",
    "\t",
    "\n",
    "\\",
    "#",
    '"',
    "'",
    "=",
    ",",
    "[",
    "]",
    "[1-",
    "[0-999999]",
    "-",
    "0",
    "-1",
    "999999999999999999999",
    "\x00",
    "\x85",
    "\u2028",
    "\ud800",
    "é",
    "&a;",
    "<",
    ">",
    "<!--",
    "]]>",
    "<object>",
    "</object>",
    "<!DOCTYPE a [<!ENTITY b 'c'>]>",
    "0xf...f,",
    "- ",
    ": ",
    "&x ",
    "*x",
    "!!python/object:os.system ",
    "{",
    "}",
    "? ",
    "%YAML 9\n",
    "Switches=",
    "S-",
    "H-",
    "4x???",
]
TOKEN = re.compile(r"\w+|\W")


def mutate(text: str, rng: random.Random) -> str:
    """Change one to four bytes, tokens or lines."""
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(7)
        if kind == 0:  # a character
            at = rng.randrange(len(text) + 1)
            text = text[:at] + chr(rng.randrange(256)) + text[at + rng.randrange(2) :]
        elif kind == 1:  # something with a meaning
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(SPICE) + text[at:]
        elif kind == 2:  # a token for another one
            at = rng.randrange(max(1, len(text)))
            window = [*TOKEN.finditer(text, at, at + 200)]
            if len(window) > 1:
                a, b = rng.sample(window, 2)
                text = text[: a.start()] + b.group() + text[a.end() :]
        elif kind == 3:  # a token less, or another number
            at = rng.randrange(max(1, len(text)))
            match = TOKEN.search(text, at)
            if match:
                new = rng.choice(["", str(rng.randrange(300)), match.group() * 2])
                text = text[: match.start()] + new + text[match.end() :]
        elif kind == 4:  # cut
            text = text[: rng.randrange(len(text) + 1)] if rng.random() < 0.3 else text
        else:  # a line removed, doubled or moved
            lines = text.split("\n")
            line = lines.pop(rng.randrange(len(lines)))
            for _ in range(rng.randrange(3)):
                lines.insert(rng.randrange(len(lines) + 1), line)
            text = "\n".join(lines)
    return text


def shortened(text: str, most: int = 25_000) -> str:
    """Cut a long fixture at a record, so that hundreds of readings stay quick."""
    return text if len(text) <= most else text[: text.rindex("\n\n", 0, most)] + "\n"


@pytest.mark.parametrize(
    "path",
    sorted(p for p in DATA.rglob("*") if p.suffix in (".conf", ".yaml", ".ibnet", ".xml")),
    ids=lambda path: str(path.relative_to(DATA)),
)
def test_mutations(path: Path) -> None:
    original = shortened(path.read_text(encoding="utf-8"))
    format = formats.detect(original, path.name)
    reader = formats.FORMATS[format][0]
    rng = random.Random(f"{path.name} in {path.parent.name}")
    refused = 0
    for _ in range(ROUNDS):
        text = mutate(original, rng)
        start = time.perf_counter()
        error: ParseError | None = None
        try:
            machine = reader(text, path.name)
        except ParseError as caught:
            error = caught
        assert time.perf_counter() - start < SECONDS
        if error is None:
            assert machine["format"] == 1
            continue
        refused += 1
        assert "\n" not in str(error)
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
    assert refused > ROUNDS // 10


@pytest.mark.parametrize("format", formats.FORMATS)
def test_noise(format: str, tmp_path: Path) -> None:
    rng = random.Random(format)
    for _ in range(100):
        data = rng.randbytes(rng.randrange(1, 200))
        with pytest.raises(ParseError):
            formats.FORMATS[format][0](data.decode("latin-1"), "noise")
        file = tmp_path / "noise"
        file.write_bytes(data)
        with pytest.raises(ParseError):
            formats.read(file)
