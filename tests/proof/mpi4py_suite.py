"""Proof that the recorder disturbs nothing: the test suite of mpi4py with and without it.

    python tests/proof/mpi4py_suite.py [--sdist FILE] [--pattern TEXT] [--ranks N]

The suite (1,362 tests; from the source distribution of mpi4py 3.1.4, which pip downloads unless it is given) is run
with Debian's python3-mpi4py and Open MPI, once without and once with the recorder; every test must end on every rank as
it did without. Tests that spawn processes are left out: Open MPI 4.1.4 hangs in them on one host with btl self,vader,
which the one-sided tests need. Takes two to four minutes a run.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from cases import PYTHON, environment

VERSION = "3.1.4"
# Output of MPI itself may stand between the name of a test and how it ended.
_NAMED = re.compile(r"^(\w+) \(([\w.]+)\) \.\.\. ", re.MULTILINE)
_ENDED = re.compile(r"\b(?:(?:ok|FAIL|ERROR|expected failure|unexpected success)$|skipped\b)", re.MULTILINE)


def download(folder: Path) -> Path:
    """The source distribution, by pip."""
    words = ["pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py", f"mpi4py=={VERSION}", "-d", folder]
    subprocess.run([sys.executable, "-m", *words], check=True)
    return folder / f"mpi4py-{VERSION}.tar.gz"


def outcomes(text: str) -> dict[str, str]:
    """How each test ended, by name, from the output of one rank."""
    found: dict[str, str] = {}
    tests = list(_NAMED.finditer(text))
    for test, after in zip(tests, [*tests[1:], None], strict=True):
        ended = _ENDED.search(text, test.end(), after.start() if after else len(text))
        found[f"{test[1]} ({test[2]})"] = ended[0] if ended else "did not end"
    return found


def run(suite: Path, folder: Path, ranks: int, pattern: str | None, recorder: bool) -> list[dict[str, str]]:
    """Outcomes on every rank."""
    launch = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), "--mca", "btl", "self,vader"]
    launch += ["--output-filename", str(folder), PYTHON, "test/runtests.py", "--no-builddir", "-v", "-e", "spawn"]
    if pattern is not None:
        launch += ["-i", pattern]
    if recorder:
        launch = [sys.executable, "-m", "isthmus", "record", "--force", "-o", str(folder / "suite.h5"), "--", *launch]
    started = time.monotonic()
    folder.mkdir()
    with open(folder / "out", "w") as out:
        status = subprocess.run(launch, cwd=suite, env=environment(), stdout=out, stderr=out, timeout=1800).returncode
    found = [outcomes(path.read_text(errors="replace")) for path in sorted(folder.glob("1/rank.*/stderr"))]
    print(
        f"{'with' if recorder else 'without'} the recorder: status {status}, {time.monotonic() - started:.0f} s", end=""
    )
    for how in ("ok", "skipped", "FAIL", "ERROR", "did not end"):
        count = sum(end == how for rank in found for end in rank.values())
        print(f", {count} {how}" if count else "", end="")
    print(f" on {len(found)} ranks", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sdist", metavar="FILE", type=Path)
    parser.add_argument("--pattern", metavar="TEXT", help="only modules whose names contain this, such as p2p")
    parser.add_argument("--ranks", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with tarfile.open(options.sdist or download(folder)) as archive:
            archive.extractall(folder, filter="data")
        suite = folder / f"mpi4py-{VERSION}"
        before, after = (
            run(suite, folder / name, options.ranks, options.pattern, name == "with") for name in ("without", "with")
        )
    different = 0
    for rank, (a, b) in enumerate(zip(before, after, strict=True)):
        for name in a.keys() | b.keys():
            if a.get(name) != b.get(name):
                different += 1
                print(f"rank {rank}: {name}: {a.get(name)} without the recorder, {b.get(name)} with it")
    same = sum(map(len, before)) and not different
    print(
        f"{sum(map(len, before))} outcomes, " + ("the same with and without" if same else f"{different} of them differ")
    )
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
