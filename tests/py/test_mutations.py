"""More than ten thousand damaged inputs of all formats; ``./bootstrap proof`` goes on with a million of each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from isthmus import read

SCRIPT = Path(__file__).parents[1] / "proof" / "mutations.py"
#: As many as go into about half a minute of processor time, most where reading is quick.
CASES = {
    "hdf5": 3000, "hdf5-columns": 3000, "hdf5-unsealed": 200, "goal": 2500, "goal-binary": 2500, "metis": 1000,
    "edges": 1000, "specifications": 1000, "ranks": 500, "machines": 1000, "dumpi": 400, "raw": 200, "otf2": 200,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_damaged_inputs(name: str) -> None:
    words = [sys.executable, str(SCRIPT), name, "--cases", str(CASES[name]), "--workers", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert f"{name}: {CASES[name]:,} of {CASES[name]:,} cases" in done.stdout
    assert "0 findings" in done.stdout


def test_a_finding_is_one(tmp_path: Path) -> None:
    """Crashes, endless loops and tracebacks end a child process, not the search."""
    code = (
        "import sys, os, signal, time; sys.path[:0] = [sys.argv[1]]; import mutations as m\n"
        "def read(path):\n"
        "    byte = path.read_bytes()[:1]\n"
        "    if byte == b'0': os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if byte == b'1': raise KeyError('x')\n"
        "    if byte == b'2':\n"
        "        while True: time.sleep(1)\n"
        "m.HANGS = 0.5\n"
        "change = lambda data, rng: str(rng.randrange(4)).encode()\n"
        "m.FORMATS['x'] = m.Format(lambda folder: (folder / 'x').write_bytes(b'9'), change, read)\n"
        "counts, findings = m.run('x', range(12)); kinds = {f.split(': ')[1] for f in findings}\n"
        "print(sum(counts[e] for e in ('read', 'refused', 'findings')), *sorted(kinds), sep='|')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(SCRIPT.parent)], capture_output=True, text=True, check=True)
    total, *kinds = done.stdout.strip().split("|")
    assert total == "12"
    assert [kind.split(" at ")[0] for kind in kinds] == ["KeyError", "hangs", "signal 11"]


def test_a_file_that_was_read_is_not_read_again() -> None:
    """It ends as it did, but for one case in a hundred; bytes that no reader sees make no other file."""
    code = (
        "import sys; sys.path[:0] = [sys.argv[1]]; import mutations as m\n"
        "from pathlib import Path\n"
        "def read(path):\n"
        "    with open(sys.argv[2], 'ab') as log: log.write(path.read_bytes() + b' ')\n"
        "    if path.read_bytes()[:1] == b'1': raise m.ParseError('x', None, None, 'wrong')\n"
        "change = lambda data, rng: str(rng.randrange(30)).zfill(2).encode()\n"
        "write = lambda folder: (folder / 'x').write_bytes(b'9')\n"
        "m.FORMATS['x'] = m.Format(write, change, read, seen=lambda data: data[:1])\n"
        "counts, findings = m.run('x', range(250))\n"
        "print(findings, *(counts[e] for e in ('read', 'refused', 'again')))\n"
        "assert counts['refused'] > 50\n"
    )
    with tempfile.NamedTemporaryFile() as log:
        words = [sys.executable, "-c", code, str(SCRIPT.parent), log.name]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        read_once = Path(log.name).read_bytes().split()
    # The valid file; of tens there are three; cases 0, 100 and 200 are read in any case.
    assert said[0] == "[]"
    assert int(said[1]) + int(said[2]) == 250
    assert 4 <= len(read_once) <= 7
    assert int(said[3]) == 250 - (len(read_once) - 1)


def test_time_without_a_processor_is_no_hang() -> None:
    """On a machine that is busy otherwise a case may stand still for minutes."""
    code = (
        "import sys, os, signal, subprocess; sys.path[:0] = [sys.argv[1]]; import mutations as m\n"
        "def read(path):\n"
        "    if path.read_bytes() == b'0':\n"
        "        subprocess.Popen(['sh', '-c', f'sleep 2; kill -CONT {os.getpid()}'])\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "m.HANGS = 0.5\n"
        "m.FORMATS['x'] = m.Format(lambda folder: (folder / 'x').write_bytes(b'9'), lambda data, rng: b'0', read)\n"
        "print(m.run('x', range(1)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(SCRIPT.parent)], capture_output=True, text=True, check=True)
    assert done.stdout == "(Counter({'read': 1, 'refused': 0, 'again': 0}), [])\n"


def test_a_ledger_is_gone_on_with(tmp_path: Path) -> None:
    def run(cases: int, *more: str) -> str:
        words = [sys.executable, str(SCRIPT), "edges", "--workers", "1", "--cases", str(cases), *more]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    ledger = ["--ledger", str(tmp_path / "ledger")]
    assert run(40, *ledger).startswith("edges: 40 of 40 cases")
    second = run(100, *ledger)
    assert json.loads((tmp_path / "ledger").read_text())["edges"]["first"] == 0
    # The same cases as in one run, each once.
    assert second.startswith("edges: 100 of 100 cases")
    assert second.split(": ")[2] == run(100).split(": ")[2]


@pytest.mark.parametrize(("name", "cases"), [("hdf5-columns", 300), ("otf2", 40), ("raw", 200)])
def test_short_ways_end_as_whole_ways_do(name: str, cases: int) -> None:
    # How many are contained depends on when a library breaks the process, and on a slow machine 0.3 s are too little.
    code = (
        "import sys, dataclasses; sys.path[:0] = [sys.argv[1]]; import mutations as m\n"
        "m.LIBRARY_HANGS = 3.0\n"
        "short = m.run(sys.argv[2], range(int(sys.argv[3])))\n"
        "m.FORMATS[sys.argv[2]] = dataclasses.replace(m.FORMATS[sys.argv[2]], short=None)\n"
        "whole = m.run(sys.argv[2], range(int(sys.argv[3])))\n"
        "assert short[0]['read'] and short[0]['refused'], short\n"
        "for counts, _ in (short, whole): counts.pop('contained', None)\n"
        "assert short == whole, (short, whole)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(SCRIPT.parent), name, str(cases)], check=True)


def test_what_a_contained_library_does_is_none() -> None:
    """It may end or hang, and what it broke in the process before it ended does not count."""
    code = (
        "import sys, os, signal; sys.path[:0] = [sys.argv[1]]; import mutations as m; from isthmus import separate\n"
        "def copy(source, target, progress):\n"
        "    byte = open(source, 'rb').read(1)\n"
        "    if byte == b'0': os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    while byte == b'1': pass\n"
        "    if byte == b'2': raise ValueError('x')\n"
        "broken = []\n"
        "def read(path):\n"
        "    why = separate.run('__main__', str(path), '', None, None)\n"
        "    if why: raise m.ParseError('x', None, None, why)\n"
        "    byte = path.read_bytes()[:1]\n"
        "    if byte == b'3': broken.append(1)\n"
        "    if byte == b'4' and broken: os.kill(os.getpid(), signal.SIGBUS)\n"
        "separate.run = lambda *_: None\n"
        "change = lambda data, rng: f'{rng.randrange(6)} {rng.random()}'.encode()\n"
        "m.FORMATS['x'] = m.Format(lambda folder: (folder / 'x').write_bytes(b'9'), change, read, contained=True)\n"
        "counts, findings = m.run('x', range(40)); print(counts['read'] + counts['refused'], findings)\n"
        "assert counts['contained'] > 5\n"
    )
    words = [sys.executable, "-c", code, str(SCRIPT.parent)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "40 []\n"


def test_first_inputs_of_the_fuzzer_are_read() -> None:
    paths = sorted((SCRIPT.parents[1] / "fuzz" / "corpus" / "goal").iterdir())
    assert len(paths) >= 3
    for path in paths:
        assert len(read(path)) > 0  # type: ignore[arg-type]


def test_all_targets_of_the_fuzzer_have_first_inputs() -> None:
    folder = SCRIPT.parents[1] / "fuzz"
    for target in folder.glob("*.cpp"):
        assert list((folder / "corpus" / target.stem).iterdir()), target
