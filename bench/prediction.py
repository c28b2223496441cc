"""Does a recording, simulated on a model of the host that it was made on, take as long as the program did?

    python bench/prediction.py [--mpi openmpi|mpich] [--machine FILE] [--repeat N] [--json FILE]

Every example runs on two ranks, each on a core of its own, N times without the recorder and N times with it, in turn.
The recordings are simulated on the Machine file of bench/host.py (measured first unless given). Printed are the least
time that the program says it took without the recorder, the least predicted time, and the error: predicted over
measured, less one. Least, since other work on the host only adds; the median of the measured times stands beside them:
where it is far from the least, the host was too busy for the error to mean much. The last column is the error under
LogGOPSim's rule of receiving.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from host import BIND, HERE, mpirun, undisturbed, write_machine
from record import EXAMPLES, recorded, seconds_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--machine", metavar="FILE", help="of this host, as bench/host.py writes it")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    import isthmus

    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if options.machine is None:
            write_machine(folder / "host.toml", options.mpi, runs=5)
        machine = isthmus.load(options.machine or folder / "host.toml")
        tools = [f"MPICC=mpicc.{options.mpi}", f"MPIFC=mpifort.{options.mpi}", f"OUT={folder}"]
        subprocess.run(["make", "-s", "-C", HERE.parent / "examples", *tools], check=True)
        print(f"{options.mpi}, 2 ranks, {options.repeat} runs")
        print("example         measured    median  predicted    error  loggopsim")
        for name, arguments in EXAMPLES.items():
            command = [*undisturbed(), folder / name, *arguments.split()]
            measured, predicted, older = [], [], []
            for _ in range(options.repeat):
                measured.append(seconds_of(mpirun(options.mpi, 2, *command)))
                recorded(options.mpi, 2, folder, *command)
                program = isthmus.read(folder / "x.h5")
                predicted.append(isthmus.simulate(program, machine).makespan)
                older.append(isthmus.simulate(program, machine, receive="loggopsim").makespan)
            least, middle, guess = min(measured), statistics.median(measured), min(predicted)
            error = 100 * (guess / least - 1)
            other = 100 * (min(older) / least - 1)
            figures[name] = {"measured": least, "median": middle, "predicted": guess, "error_percent": error}
            figures[name] |= {"loggopsim_percent": other}
            times = " ".join(f"{seconds * 1e3:7.1f} ms" for seconds in (least, middle, guess))
            print(f"{name:14} {times} {error:+6.1f} % {other:+8.1f} %", flush=True)
    worst = max(figures, key=lambda name: abs(figures[name]["error_percent"]))
    print(f"largest error: {figures[worst]['error_percent']:+.1f} % ({worst})")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
