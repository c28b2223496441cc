"""How busy a study keeps its workers: points that sleep, on workers of Dask and on processes.

python bench/studies.py [--points 10000] [--seconds 0.05] [--workers 2] [--on local]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLEEPING = Path(__file__).parents[1] / "tests" / "py" / "sleeping"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--on", default="local", help="an engine, or '' for processes without Dask")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        numbers = ", ".join(map(str, range(given.points)))
        study = Path(folder) / "sleeping.toml"
        study.write_text(
            'format = 1\nname = "sleeping"\nkind = "sleeping"\n[[grid]]\n'
            f"seconds = {given.seconds}\nnumber = [{numbers}]\n"
        )
        code = (
            "import sys, time, isthmus\n"
            "from isthmus.studies import run\n"
            "whole, begin, end = run._compute, 0.0, 0.0\n"
            "def timed(*words):\n"
            "    begin = time.perf_counter(); whole(*words)\n"
            "    print(time.perf_counter() - begin)\n"
            "run._compute = timed\n"
            "study, out, workers, on = sys.argv[1:]\n"
            "isthmus.study(study, out, workers=int(workers), on=on or None)\n"
        )
        words = [sys.executable, "-c", code, str(study), f"{folder}/out", str(given.workers), given.on]
        begin = time.perf_counter()
        done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(SLEEPING)}, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(done.returncode)
        whole, computing = time.perf_counter() - begin, float(done.stdout)
    ideal = given.points * given.seconds / given.workers
    print(
        f"{given.points} points of {given.seconds * 1e3:g} ms on {given.workers} workers: {ideal:.1f} s of sleep each, "
        f"{computing:.1f} s while computing ({100 * ideal / computing:.1f} % busy), "
        f"{whole:.1f} s for the whole command ({100 * ideal / whole:.1f} %)"
    )


if __name__ == "__main__":
    main()
