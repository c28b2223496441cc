"""Profiles by function: sums over paths against loops, and what `isthmus show` and `isthmus advise` make of them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.recording.own import with_own
from isthmus.recording.profile import profile
from isthmus.recording.profile_text import report
from isthmus.schedule.program import EventKind
from isthmus.schedule.recording import NONE
from recordings import Call, recorded

FUNCTIONS = ("main", "solve", "halo", "dot", "setup", "comm_sum")


def program_of(random: Random, ranks: int, steps: int) -> tuple[isthmus.Program, list[list[tuple[float, Any]]]]:
    """Ranks that compute and reduce by turns, by random paths; and of every rank the seconds and path of each step."""
    nodes: dict[tuple[int, int], int] = {}
    b = isthmus.ProgramBuilder(ranks)
    made, path, steps_of = [], [], [[] for _ in range(ranks)]
    for step in range(steps):
        for rank in range(ranks):
            words = tuple(random.choices(range(len(FUNCTIONS)), k=random.randrange(5)))
            at = NONE
            for word in words:
                at = nodes.setdefault((at, word), len(nodes))
            seconds = random.randrange(100) * 1e-6
            b.compute(rank, seconds)
            path.append((rank, at))
            made.append(Call(rank, "MPI_Allreduce", 1000 * step, 1000 * step + 10 * rank, 8, 8, site="main.c:0"))
            steps_of[rank].append((seconds, words))
        b.allreduce(None, 8)
    b.compute(0, 1e-3)
    steps_of[0].append((1e-3, ()))
    program = b.build()
    columns = np.array(list(nodes), np.uint32).reshape(-1, 2)
    found = recorded(
        program,
        made,
        event=np.flatnonzero(program.kind == EventKind.collective),
        path=np.array([at for _, at in sorted(path, key=lambda one: one[0])], np.uint32),
        path_parent=columns[:, 0],
        path_site=columns[:, 1],
        sites=tuple(f"{name}.c:{i}" for i, name in enumerate(FUNCTIONS)),
        site_function=FUNCTIONS,
        site_module=("/bin/app",) * len(FUNCTIONS),
    )
    return found, steps_of


def without_recursion(words: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(FUNCTIONS[w] for i, w in enumerate(words) if i == 0 or words[i - 1] != w)


def around(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    if not before or not after:
        return (before or after)[:1]
    length = 0
    while length < min(len(before), len(after)) and before[length] == after[length]:
        length += 1
    return before[:length]


@pytest.mark.parametrize("rank", [None, 0, 2])
@pytest.mark.parametrize("seed", range(6))
def test_sums_by_function(seed: int, rank: int | None) -> None:
    program, steps = program_of(Random(seed), 3, 12)
    tree = profile(program, rank=rank).tree
    assert tree is not None
    calls: dict[tuple[str, ...], int] = defaultdict(int)
    own: dict[tuple[str, ...], float] = defaultdict(float)
    for r, mine in enumerate(steps):
        if rank not in (None, r):
            continue
        before: tuple[str, ...] = ()
        for number, (seconds, words) in enumerate(mine):
            path = without_recursion(words)
            last = number >= 12
            own[around(before, () if last else path)] += seconds
            if not last:
                for length in range(len(path) + 1):
                    calls[path[:length]] += 1
                before = path
    names: list[tuple[str, ...]] = []
    for node, parent in enumerate(tree.parent.tolist()):
        names.append((*names[parent], tree.name[node]) if parent >= 0 else ())
    functions = np.flatnonzero(~tree.mpi)
    assert {names[i]: int(tree.calls[i]) for i in functions if tree.calls[i]} == calls
    for i in functions:
        assert tree.own[i] == pytest.approx(own[names[i]], abs=1e-12)
        below = sum(s for name, s in own.items() if name[: len(names[i])] == names[i])
        assert tree.computing[i] == pytest.approx(below, abs=1e-12)
    leaves = np.flatnonzero(tree.mpi)
    assert {tree.name[i] for i in leaves} == {"MPI_Allreduce"}
    assert int(tree.sent[leaves].sum()) == int(tree.sent[0]) == 8 * calls[()]


def halo(measured: bool = True) -> isthmus.Program:
    """Two functions, one of which computes; called by way of two others."""
    b = isthmus.ProgramBuilder(2)
    made, path = [], []
    for step in range(10):
        b.barrier(None)
        b.compute(None, 1e-3)
        b.allreduce(None, 8)
        for rank in range(2):
            at = 1_200_000 * step
            made.append(Call(rank, "MPI_Barrier", at, at + 100_000, site="step.c:2"))
            made.append(Call(rank, "MPI_Allreduce", at + 1_100_000, at + 1_200_000, 8, 8, site="dot.c:3"))
    program = b.build()
    path = [2, 3] * 20
    return recorded(
        program,
        made,
        event=np.flatnonzero(program.kind == EventKind.collective),
        path=np.array(path, np.uint32),
        path_parent=np.array([NONE, 0, 1, 2], np.uint32),
        path_site=np.array([0, 1, 2, 3], np.uint32),
        site=np.array([2, 3] * 20, np.uint32),
        sites=("main.c:9", "run.c:5", "step.c:2", "dot.c:3"),
        site_function=("main", "run", "step", "dot"),
        site_module=("/bin/app",) * 4,
        cpus_online=np.full(2, 2 if measured else 1, np.uint32),
    )


def test_show_has_the_tree(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = halo()
    program.save(tmp_path / "app.h5")
    assert isthmus.read(tmp_path / "app.h5") == program
    main(["show", str(tmp_path / "app.h5")])
    out = capsys.readouterr().out
    at = out.index("function ")
    lines = out[at:].split("\n\n")[0].splitlines()
    names = ["function", "main > … > step", "dot", "MPI_Allreduce", "MPI_Barrier"]
    assert [line.strip().split("  ")[0] for line in lines] == names
    # 40 calls of 0.1 ms, 20 computations of 1 ms.
    assert lines[1].split()[5:] == ["40", "16.7", "%", "4", "ms", "20", "ms", "160", "B", "160", "B"]
    main(["show", str(tmp_path / "app.h5"), "--depth", "1"])
    out = capsys.readouterr().out
    assert "main > … > step" in out
    assert "\n  dot" not in out
    main(["show", str(tmp_path / "app.h5"), "--json"])
    rows = json.loads(capsys.readouterr().out)["functions"]
    assert [row["name"] for row in rows[:5]] == ["", "main", "run", "step", "dot"]
    assert [row["computing"] for row in rows[3:5]] == [pytest.approx(0.02), 0]


def test_times_that_mean_nothing_are_not_in_the_tree() -> None:
    words = report(profile(halo(measured=False)))
    head = next(line for line in words.splitlines() if line.startswith("function "))
    assert head.split() == ["function", "calls", "computation", "sent", "received"]


def test_own_code_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = halo()
    changed = with_own(program, ["run", "m*"])
    assert changed.recording is not None
    assert {changed.recording.sites[i] for i in changed.recording.site} == {"run.c:5"}
    program.save(tmp_path / "app.h5")
    main(["show", str(tmp_path / "app.h5"), "--own", "main.c"])
    assert "MPI_Allreduce  main.c:9" in capsys.readouterr().out
    for arguments, words in (
        (["--own", "solver"], "the recording has no function, source file or module of this name"),
        (["--own", ""], "the recording has no function, source file or module of this name"),
    ):
        with pytest.raises(SystemExit) as exit:
            main(["show", str(tmp_path / "app.h5"), *arguments])
        assert exit.value.code == 2
        assert words in capsys.readouterr().err
    recorded(isthmus.ProgramBuilder(2).build()).save(tmp_path / "old.h5")
    with pytest.raises(SystemExit) as exit:
        main(["show", str(tmp_path / "old.h5"), "--own", "x"])
    assert exit.value.code == 2
    assert "record it again" in capsys.readouterr().err


def test_advice_names_computation_by_the_function_around_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    halo().save(tmp_path / "app.h5")
    main(["advise", str(tmp_path / "app.h5"), "--machine", "cielo", "--tune-time", "0"])
    out = capsys.readouterr().out
    assert "computation in step" in out
    assert "computation before" not in out
    main(["advise", str(tmp_path / "app.h5"), "--machine", "cielo", "--tune-time", "0", "-o", str(tmp_path / "a.html")])
    page = unescape((tmp_path / "a.html").read_text(encoding="utf-8"))
    table = page[page.index("<h3>By function</h3>") :].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)<", row) for row in re.findall(r"<tr>.*?</tr>", table)[1:]]
    assert [row[0].strip() for row in rows] == ["main > … > step", "dot", "MPI_Allreduce", "MPI_Barrier"]
    assert rows[0][1:] == ["40", "4 ms", "20 ms", "160 B", "160 B"]
