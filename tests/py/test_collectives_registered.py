"""Algorithms written in Python: as objects in Python, and by --plugin on the command line."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import isthmus
from isthmus import InvalidInput, collectives, prove


def chain(call: Any, out: Any) -> None:
    """Broadcast from rank to rank."""
    place = (call.rank - call.root) % call.ranks
    got = out.recv((call.rank - 1) % call.ranks, call.bytes, into=("output", 0)) if place else None
    if place + 1 < call.ranks:
        sent = out.send((call.rank + 1) % call.ranks, call.bytes, at=("output", 0))
        if got is not None:
            out.require(sent, got)


def hasty(call: Any, out: Any) -> None:
    """The same, but nobody waits for the data that are passed on."""
    place = (call.rank - call.root) % call.ranks
    if place:
        out.recv((call.rank - 1) % call.ranks, call.bytes, into=("output", 0))
    if place + 1 < call.ranks:
        out.send((call.rank + 1) % call.ranks, call.bytes, at=("output", 0))


PLUGIN = """
from isthmus import collectives

def chain(call, out):
    place = (call.rank - call.root) % call.ranks
    got = out.recv((call.rank - 1) % call.ranks, call.bytes, into=("output", 0)) if place else None
    if place + 1 < call.ranks:
        sent = out.send((call.rank + 1) % call.ranks, call.bytes, at=("output", 0))
        if got is not None:
            out.require(sent, got)

collectives.register("bcast", "chain of a plugin", chain)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "isthmus", *arguments], capture_output=True, text=True)


def test_what_register_returns_stands_for_the_name() -> None:
    mine = collectives.register("bcast", "a chain", chain)
    assert mine == "a chain"
    assert mine.kind == "bcast"
    assert mine.function is chain
    by_object = isthmus.collective("bcast", ranks=5, bytes=80, root=2, algorithm=mine)
    assert by_object == isthmus.collective("bcast", ranks=5, bytes=80, root=2, algorithm="a chain")
    b = isthmus.ProgramBuilder(5)
    b.bcast(None, 80)
    lowered = isthmus.lower(b.build(), collectives={"bcast": mine})
    lowered.validate()
    again = pickle.loads(pickle.dumps(mine))
    assert again == mine
    assert again.kind == "bcast"
    assert again.function is chain


@pytest.mark.parametrize("ranks", [1, 2, 7])
def test_prove_takes_the_object(ranks: int) -> None:
    mine = collectives.register("bcast", "a chain", chain)
    for root in {0, ranks - 1}:
        proof = prove(mine, ranks=ranks, bytes=80, root=root)
        assert proof.ok, proof
    wrong = prove(collectives.register("bcast", "a hasty chain", hasty), ranks=ranks, bytes=80)
    assert wrong.ok == (ranks < 3)
    if ranks == 7:
        assert prove(mine, ranks=7, bytes=80, access="put", sync="none").ok
        assert not prove(mine, "barrier:ranks=7", ranks=7, bytes=80).ok


def test_arguments_that_prove_refuses() -> None:
    mine = collectives.register("bcast", "a chain", chain)
    for change, words in (
        (lambda: prove(mine), "ranks=... is missing"),
        (lambda: prove(mine, ranks=4, size=8), "argument 'size'"),
        (lambda: prove("bcast:ranks=4,bytes=8", ranks=4), "ranks: arguments of a call apply only to an algorithm"),
    ):
        with pytest.raises(InvalidInput) as error:
            change()
        assert words in str(error.value)


def test_plugin_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    line = "bcast:ranks=6,bytes=1kB,algorithm=chain of a plugin"
    done = run("prove", line, "--plugin", str(file))
    assert done.returncode == 0, done.stderr
    assert "proved" in done.stdout
    assert run("--plugin", str(file), "prove", line).stdout.split(";")[0] == done.stdout.split(";")[0]
    simulated = run("simulate", line, "torus-4x4x4", f"--plugin={file}")
    assert simulated.returncode == 0
    assert "chain" not in simulated.stderr
    without = run("prove", line)
    assert without.returncode == 2
    assert "chain of a plugin" in without.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import isthmus\n\n1 / 0\n", "line 3: ZeroDivisionError: division by zero"),
        ("def f(:\n", "line 1: SyntaxError:"),
        (None, "expected a Python file (.py)"),
    ],
)
def test_plugins_that_fail(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    done = run("prove", "barrier:ranks=2", "--plugin", str(file))
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
