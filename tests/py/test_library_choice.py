"""Which algorithm libisthmus takes: by tables as `isthmus tune` writes them, at run time as in Python."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import isthmus
from isthmus.cli import main
from isthmus.collectives import registry
from isthmus.schedule.event import CollectiveKind
from isthmus.tuning.choice import LIBRARY, Choice
from isthmus.tuning.defaults import defaults
from isthmus.tuning.export import export
from isthmus.tuning.plain_text import format_plain
from isthmus.tuning.table import DecisionTable, Point, Provenance, Row
from library import HERE, ROOT, compile_c, in_processes, new_job
from tables import starting

I8, F64 = 0, 9
#: Algorithms that run on any number of ranks.
ANY = {
    "bcast": ["binomial", "linear", "knomial,radix=3", "pipeline,segment=4096", "chain,radix=2,segment=8192"],
    "allreduce": ["ring", "recursive_doubling", "linear", "rabenseifner", "reduce_bcast"],
    "allgather": ["ring", "bruck", "linear"],
    "alltoall": ["linear", "pairwise", "bruck"],
    "barrier": ["dissemination,radix=4", "linear", "kary,radix=3"],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(HERE / "library_choice.c", tmp_path_factory.mktemp("choice") / "choice")


def asked(program: Path, ranks: int, table: Path | str | None, questions: list[tuple[str, int, int]]) -> list[str]:
    """What every rank prints, which is the same on all of them: kinds, elements and counts as questions."""
    job = new_job()
    text = "".join(f"{CollectiveKind[kind].value} {element} {count}\n" for kind, element, count in questions)
    commands = [[program, job, str(rank), str(ranks), *([] if table is None else [table])] for rank in range(ranks)]
    said = [out.splitlines() for _, out, _ in in_processes(commands, text=text)]
    assert said == [said[0]] * ranks
    return said[0]


def a_table(rng: random.Random) -> DecisionTable:
    rows: dict[str, list[Row]] = {}
    for kind in rng.sample(sorted(ANY), 3):
        rows[kind] = []
        for ranks in sorted(rng.sample(range(1, 6), rng.randint(1, 3))):
            sizes = sorted(rng.sample([0, 1, 7, 8, 100, 4096, 5000, 1 << 20, 1 << 33], rng.randint(1, 5)))
            tuned = sizes[0] > 0 or rng.random() < 0.5
            points = []
            for size in sizes:
                best, second = (Choice.of(name) for name in rng.sample(ANY[kind], 2))
                time = rng.choice([None, 10 ** rng.uniform(-7, -3)])
                points.append(Point(size, best, time, second, time and time * rng.uniform(1, 3)))
            rows[kind].append(Row(ranks, tuple(points), tuned))
    return DecisionTable(rows)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_decides_as_python_does(program: Path, tmp_path: Path, ranks: int) -> None:
    rng = random.Random(ranks)
    table = a_table(rng)
    for _ in range(8):
        table.save(tmp_path / "t.txt")
        # From the smallest number of ranks on, and up to the largest one that was tuned.
        within = {
            kind: rows[0].ranks <= ranks and (ranks <= rows[-1].ranks or not rows[-1].tuned)
            for kind, rows in table.rows.items()
        }
        questions, expected, outside = [], [], {}
        for kind, rows in table.rows.items():
            sizes = {0} if kind == "barrier" else {s for row in rows for r in row.rules for s in (r.bytes - 1, r.bytes)}
            for size in sorted(size for size in sizes if size >= 0):
                questions.append((kind, I8, size))
                if within[kind]:
                    expected.append(str(table.lookup(kind, ranks, size)))
                else:
                    outside[len(expected)] = kind
                    expected.append("")
                if size % 8 == 0 and size > 0:
                    questions.append((kind, F64, size // 8))
                    expected.append(expected[-1])
                    if not within[kind]:
                        outside[len(expected) - 1] = kind
        said = asked(program, ranks, tmp_path / "t.txt", questions)
        sentences = [line for line in said if line.startswith("said: ")]
        found = [line for line in said if not line.startswith("said: ")]
        assert [line for i, line in enumerate(found) if i not in outside] == [
            line for i, line in enumerate(expected) if i not in outside
        ]
        kinds = sorted(set(outside.values())) if ranks > 1 else []
        assert sorted(line.split(" was tuned for ")[0].split(": ")[-1] for line in sentences) == kinds
        assert all(f"ranks, not for {ranks}: the default is taken" in line for line in sentences)
        table = a_table(rng)


def test_what_cannot_be_followed_is_said_once(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    rules = [(0, "bucket,dims=3x5"), (64, "library"), (128, "ring")]
    DecisionTable({"allreduce": [starting(2, *rules)], "alltoall": [starting(2, (0, "torus,dims=3x5"))]}).save(path)
    questions = [
        ("allreduce", I8, 8),
        ("allreduce", I8, 64),
        ("allreduce", I8, 200),
        ("alltoall", I8, 8),
        ("alltoall", I8, 9),
    ]
    said = asked(program, 2, path, [("allreduce", F64, 1), *questions])
    sentences = [line for line in said if line.startswith("said: ")]
    assert len(sentences) == 2, said
    assert sentences[0].startswith(f"said: {path}: allreduce by bucket,dims=3x5 cannot be carried out on 2 ")
    assert sentences[1].startswith(f"said: {path}: alltoall by torus,dims=3x5 cannot be carried out on 2 ranks (")
    found = [line for line in said if not line.startswith("said: ")][1:]
    usual = asked(program, 2, "", questions)
    assert found == [usual[0], "library", "ring", *usual[3:]]


def test_the_table_of_the_library_is_one_of_ours(program: Path) -> None:
    table = DecisionTable.load(ROOT / "runtime/choice/standard.txt")
    sizes = (8, 128 << 10, 1 << 20)
    for ranks in (1, 2, 3, 6):
        wanted = [str(table.lookup(kind, ranks, size)) for kind in table.collectives for size in sizes]
        assert asked(program, ranks, "", [(kind, I8, size) for kind in table.collectives for size in sizes]) == wanted
    rabenseifner = Choice("rabenseifner")
    assert table.lookup("allreduce", 2, 1 << 20) == rabenseifner != table.lookup("allreduce", 2, 8)


@pytest.mark.parametrize("ranks", [5, 6, 8, 13, 16, 32])
def test_from_five_ranks_on_the_model_chooses(ranks: int) -> None:
    """On a core for each rank no choice takes longer than the first algorithm of the registry, and some take half."""
    table = DecisionTable.load(ROOT / "runtime/choice/standard.txt")
    level = isthmus.Level(L=150e-9, o_send=50e-9, o_recv=50e-9, g=50e-9, G=0.03e-9, O=0.1e-9, S=1 << 40)

    def predicted(kind: str, size: int, algorithm: str) -> float:
        return isthmus.simulate(isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm), level).makespan

    gains = []
    for kind in table.collectives:
        for size in (8, 512, 4096, 65536, 1 << 20):
            chosen, first = table.lookup(kind, ranks, size), registry.algorithms(kind)[0]
            assert isinstance(chosen, Choice)
            gains.append(predicted(kind, size, first) / predicted(kind, size, chosen.argument))
    assert min(gains) >= 0.98
    assert max(gains) >= 1.6


def test_a_table_of_another_library_is_said(program: Path, tmp_path: Path) -> None:
    table = DecisionTable({"bcast": [starting(1, (0, "linear"))]}, Provenance(library="openmpi-5.0.8"))
    (tmp_path / "t.txt").write_text(format_plain(table))
    usual = asked(program, 2, "", [("bcast", I8, 8)])
    said = asked(program, 2, tmp_path / "t.txt", [("bcast", I8, 8)])
    words = f"said: {tmp_path}/t.txt holds decisions of openmpi-5.0.8: the default algorithms are taken"
    assert said == [words, *usual]


def test_the_table_of_rank_0_holds_for_all(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DecisionTable({"bcast": [starting(1, (0, "linear"))]}).save(tmp_path / "t.txt")
    job = new_job()
    commands = [[program, job, str(rank), "3", *([tmp_path / "t.txt"] if rank == 0 else [])] for rank in range(3)]
    assert [out for _, out, _ in in_processes(commands, text="2 0 8\n")] == ["linear\n"] * 3
    monkeypatch.setenv("ISTHMUS_TABLE", str(tmp_path / "t.txt"))
    assert asked(program, 2, None, [("bcast", I8, 8)]) == ["linear"]


GOOD = """isthmus decisions 1
about source measured
for bcast 2 from
point 0 ring - - - - - -
rule 0 ring
rule 8 linear
"""


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "isthmus decisions 3", "is 'isthmus decisions 3': this library reads 'isthmus decisions 1' and"),
        (3, "for bcast 8 tuned all", "5 words: a line for must have 4"),
        (1, "", "is '': this library reads"),
        (2, "about weight 3", "'weight': must be one of machine, placement"),
        (2, "about machine a\\q", "a backslash must be followed by"),
        (2, "about source guessed", "must be one of model, measured, online"),
        (3, "for broadcast 8 tuned", "collective 'broadcast': must be one of barrier"),
        (3, "for bcast x tuned", "expected a whole number"),
        (3, "for bcast 0 tuned", "expected a number from 1"),
        (3, "for bcast 8 often", "must be tuned or from"),
        (3, "for bcast 8  tuned", "5 words: a line for must have 4"),
        (3, "row bcast 8 tuned", "must be about, for, point or rule"),
        (4, "point 0 ring nan - - - - -", "expected seconds from 0, or -"),
        (4, "point 0 ring 1e999 - - - - -", "expected seconds from 0, or -"),
        (4, "point 0 ring - - - - 1.0 -", "one end of an interval"),
        (4, "point 0 ring -", "a line point must have 9"),
        (5, "rule 1 ring", "the first rule is from 1 bytes: must be from 0"),
        (5, "rule 0 rings", "algorithm 'rings' of bcast: must be one of binomial, linear"),
        (5, "rule 0 knomial,radix=1", "option radix = 1 of knomial (bcast): must be 2 or more"),
        (5, "rule 0 knomial,radix=x", "option radix = x: must be a whole number"),
        (5, "rule 0 knomial,radix", "option 'radix' is not a new NAME=VALUE"),
        (6, "rule 0 linear", "expected sizes that ascend"),
        (6, "for bcast 3 from", "the row has no rules"),
        (6, "rule 9999999999999999999 linear", "expected a whole number"),
        (6, "point 9 ring - - - - - -", "points must come first"),
    ],
)
def test_bad_lines_are_refused_by_all_ranks(program: Path, tmp_path: Path, line: int, text: str, message: str) -> None:
    path = tmp_path / "t.txt"
    lines = GOOD.split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines))
    (said,) = asked(program, 2, path, [])
    assert said.startswith(f"{path}:{line}: ")
    assert message in said


def test_a_file_that_is_not_there(program: Path, tmp_path: Path) -> None:
    assert asked(program, 2, tmp_path / "none", []) == [f"{tmp_path}/none: No such file or directory"]


def test_damage_is_refused_or_read(program: Path, tmp_path: Path) -> None:
    rng = random.Random(7)
    for _ in range(60):
        place = rng.randrange(len(GOOD))
        other = "".join(rng.choice(" \n\\x0-9azr,=\x00é") for _ in range(rng.randrange(4)))
        (tmp_path / "t.txt").write_text(GOOD[:place] + other + GOOD[place + rng.randrange(3) :])
        said = asked(program, 1, tmp_path / "t.txt", [("bcast", I8, 1000)])
        assert len(said) in (1, 2)


def test_export(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = [(0, "knomial,access=put,radix=4"), (8, "a_new_one"), (64, "ring,protocol=eager")]
    DecisionTable({"bcast": [starting(1, *rules)]}, Provenance(library="mpich-4.2")).save(tmp_path / "t.toml")
    main(["tune", "export", str(tmp_path / "t.toml"), "--for", "isthmus", "-o", str(tmp_path / "t.txt")])
    words = capsys.readouterr().out
    assert f"export ISTHMUS_TABLE='{tmp_path}/t.txt'" in words
    assert "no a_new_one; the library decides" in words
    assert "the decisions were made for mpich-4.2" in words
    found = asked(program, 1, tmp_path / "t.txt", [("bcast", I8, size) for size in (7, 8, 64)])
    assert found == ["knomial,access=put,radix=4", "library", "ring"]
    made = export(defaults("openmpi"), "isthmus", ranks=[4])
    assert LIBRARY.name not in made.text
    (tmp_path / "d.txt").write_text(made.text)
    assert asked(program, 4, tmp_path / "d.txt", [("allreduce", F64, 1)]) == [
        str(defaults("openmpi").lookup("allreduce", 4, 8))
    ]
