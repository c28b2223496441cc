"""The plain text of decision tables: back without loss, and refused with the line where it is not right."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.cli import main
from isthmus.errors import ParseError
from isthmus.tuning.choice import Choice
from isthmus.tuning.plain_text import format_plain, parse_plain
from isthmus.tuning.table import DecisionTable, Point, Provenance, Row
from isthmus.tuning.table_file import format_json, format_toml, read
from tables import starting, tables

MEASURED = Point(8, Choice.of("binomial"), 1e-6, Choice.of("ring"), 2e-6, 5e-7, (9e-7, 1.1e-6))
TABLE = DecisionTable(
    {
        "bcast": [
            Row(8, (MEASURED, Point(64, Choice.of("ring")))),
            starting(16, (0, "binomial"), (4096, "knomial,radix=4")),
        ]
    },
    Provenance(machine="a b\\c\n", library="openmpi-5.0.8", source="measured", sync="window"),
)  # fmt: skip


@settings(max_examples=150)
@given(tables)
def test_all_forms_are_the_same_table(table: DecisionTable) -> None:
    text = format_plain(table)
    assert parse_plain(text, "t") == table
    assert text.isascii() or "\r" not in text
    assert all(line == line.strip() for line in text.split("\n"))
    assert format_plain(parse_plain(text, "t")) == text


@settings(max_examples=60)
@given(tables)
def test_there_and_back_by_files(tmp_path_factory: pytest.TempPathFactory, table: DecisionTable) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("t.txt", "t.toml", "t.json"):
        table.save(folder / name)
        assert read(folder / name) == table


def test_the_text() -> None:
    assert format_plain(TABLE).split("\n") == [
        "isthmus decisions 1",
        "about machine a\\sb\\\\c\\x0a",
        "about library openmpi-5.0.8",
        "about source measured",
        "about sync window",
        "for bcast 8 tuned",
        "point 8 binomial 1e-06 ring 2e-06 5e-07 9e-07 1.1e-06",
        "point 64 ring - - - - - -",
        "rule 0 binomial",
        "rule 23 ring",
        "for bcast 16 from",
        "point 0 binomial - - - - - -",
        "point 4096 knomial,radix=4 - - - - - -",
        "rule 0 binomial",
        "rule 4096 knomial,radix=4",
        "",
    ]


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "isthmus decisions 3", "reads 'isthmus decisions 1' and 'isthmus decisions 2'"),
        (6, "for bcast 8 tuned all", "5 words: a line"),
        (2, "about weight 3", "must be one of machine"),
        (2, "about machine a\\q", "a backslash must be followed by"),
        (4, "about source guessed", "must be one of model, measured, online"),
        (5, "about library twice", "is given twice"),
        (6, "for broadcast 8 tuned", "collective 'broadcast': must be one of barrier"),
        (6, "for bcast x tuned", "whole number"),
        (6, "for bcast 0 tuned", "a number from 1"),
        (6, "for bcast 8 often", "tuned or from"),
        (6, "for bcast 8  tuned", "5 words: a line"),
        (6, "row bcast 8 tuned", "must be about, for, point or rule"),
        (7, "point -8 binomial - - - - - -", "whole number"),
        (7, "point 8 binomial fast - - - - -", "seconds from 0"),
        (7, "point 8 binomial 1e999 - - - - -", "seconds from 0"),
        (7, "point 8 binomial - - - - 1.0 -", "one end of an interval"),
        (7, "point 8 binomial - - - - 2.0 1.0", "seconds that ascend"),
        (7, "point 8 binomial -", "a line point must have 9"),
        (7, "point 8 ,radix=4 - - - - - -", "a name of letters"),
        (10, "rule 24 ring", "do not follow"),
        (10, "point 99 ring - - - - - -", "points must come first"),
    ],
)
def test_bad_lines(line: int, text: str, message: str) -> None:
    lines = format_plain(TABLE).split("\n")
    lines[line - 1] = text
    with pytest.raises(ParseError, match=re.escape(message)) as found:
        parse_plain("\n".join(lines), "t.txt")
    # Rules that do not follow from the points are a matter of the whole row.
    assert found.value.line == (6 if text == "rule 24 ring" else line)
    assert "\n" not in str(found.value)


@settings(max_examples=300)
@given(st.integers(0, 400), st.text(max_size=3))
def test_damage_is_refused_or_read(place: int, other: str) -> None:
    text = format_plain(TABLE)
    place %= len(text)
    try:
        found = parse_plain(text[:place] + other + text[place + 1 :], "t")
    except ParseError as error:
        assert error.line is not None  # noqa: PT017
    else:
        assert parse_plain(format_plain(found), "t") == found


READER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* The algorithm of a collective at so many ranks and bytes: lines "for" and "rule" only. */
int main(int argc, char** argv) {
  static char line[4096], kind[64], name[2048], best[2048] = "none";
  long long ranks, size, at = -1, want_ranks = atoll(argv[3]), want = atoll(argv[4]);
  int counts = 0;
  FILE* file = fopen(argv[1], "r");
  if (argc != 5 || !file || !fgets(line, sizeof line, file) || strcmp(line, "isthmus decisions 1\n")) return 1;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "for %63s %lld", kind, &ranks) == 2) {
      counts = !strcmp(kind, argv[2]) && (at < 0 || ranks <= want_ranks);
      if (counts) at = ranks;
    } else if (counts && sscanf(line, "rule %lld %2047s", &size, name) == 2 && size <= want) {
      strcpy(best, name);
    }
  }
  puts(best);
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_reader_in_c_decides_alike(tmp_path: Path) -> None:
    (tmp_path / "reader.c").write_text(READER)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "reader", tmp_path / "reader.c"], check=True)
    TABLE.save(tmp_path / "t.txt")
    for ranks in (2, 8, 15, 16, 1000):
        for size in (0, 8, 22, 23, 4095, 4096, 1 << 30):
            words = [tmp_path / "reader", tmp_path / "t.txt", "bcast", str(ranks), str(size)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            assert done.stdout.strip() == str(TABLE.lookup("bcast", ranks, size))


def test_convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.save("a.toml")
    main(["tune", "convert", "a.toml", "-o", "a.txt"])
    assert "wrote a.txt" in capsys.readouterr().out
    main(["tune", "convert", "a.txt", "-o", "b.toml", "--json"])
    assert json.loads(capsys.readouterr().out)["file"] == "b.toml"
    assert Path("b.toml").read_bytes() == Path("a.toml").read_bytes()
    main(["show", "a.txt"])
    assert "library: openmpi-5.0.8" in capsys.readouterr().out


def test_versions() -> None:
    """Tables without what is new stay readable for older versions."""
    plain = DecisionTable({"bcast": [starting(4, (0, "ring"))]})
    assert "version = 1\n" in format_toml(plain)
    assert "version = 3\n" in format_toml(TABLE)
    assert 'source = "measured"' in format_toml(TABLE)
    assert json.loads(format_json(TABLE))["version"] == 3


def test_merged_sources_are_not_made_one() -> None:
    model = DecisionTable({"bcast": [starting(4, (0, "ring"))]}, Provenance(source="model"))
    merged = model.merge(TABLE)
    assert merged.provenance.source == ""
    assert "model; measured" in merged.provenance.note
    assert model.merge(model).provenance.source == "model"
