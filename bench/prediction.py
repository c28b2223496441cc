"""What the machine file of `isthmus measure` predicts on the machine that was measured: does it take as long?

    python bench/prediction.py [--mpi openmpi|mpich] [--machine FILE] [--budget SECONDS] [--repeat N]
        [--part examples|collectives] [--json FILE]

First `isthmus measure` measures messages between two ranks on two cores (or --machine gives what it wrote), under the
kernel's real-time scheduler where that is permitted, as all that follows.

examples: every example runs on two ranks, N times without the recorder and N times with it, in turn. The recordings are
simulated. Printed are the least time that the program says it took without the recorder, the least predicted time, and
the error: predicted over measured, less one. Least, since other work on the host only adds; the median of the measured
times stands beside them: where it is far from the least, the host was too busy for the error to mean much. The last
column is the error under LogGOPSim's rule of receiving.

collectives (Open MPI): algorithms that it is told to take, between two ranks, from starts by a common clock, beside
their simulation. MPI_Sendrecv of as many bytes (half a ping-pong for a broadcast) stands beside them, measured in the
same runs, and how far its own prediction is off: what a collective takes more is copying blocks that stay, reducing,
and messages that are not in the cache.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from host import BIND, HERE, measure, mpirun, undisturbed
from hosts import FORCED, forced
from record import EXAMPLES, recorded, seconds_of

#: Bytes of the vector, or of a block for allgather and alltoall.
SIZES = (8, 512, 4096, 32 << 10, 256 << 10, 1 << 20)


def examples(mpi: str, machine: Any, folder: Path, repeat: int) -> dict[str, Any]:
    """Measured and predicted times of the examples, in seconds."""
    import isthmus

    tools = [f"MPICC=mpicc.{mpi}", f"MPIFC=mpifort.{mpi}", f"OUT={folder}"]
    subprocess.run(["make", "-s", "-C", HERE.parent / "examples", *tools], check=True)
    print("example         measured    median  predicted    error  loggopsim")
    figures: dict[str, Any] = {}
    for name, arguments in EXAMPLES.items():
        command = [*undisturbed(), folder / name, *arguments.split()]
        took, predicted, older = [], [], []
        for _ in range(repeat):
            took.append(seconds_of(mpirun(mpi, 2, *command)))
            recorded(mpi, 2, folder, *command)
            program = isthmus.read(folder / "x.h5")
            predicted.append(isthmus.simulate(program, machine).makespan)
            older.append(isthmus.simulate(program, machine, receive="loggopsim").makespan)
        least, middle, guess = min(took), statistics.median(took), min(predicted)
        error, other = 100 * (guess / least - 1), 100 * (min(older) / least - 1)
        figures[name] = {"measured": least, "median": middle, "predicted": guess, "error_percent": error}
        figures[name] |= {"loggopsim_percent": other}
        times = " ".join(f"{seconds * 1e3:7.1f} ms" for seconds in (least, middle, guess))
        print(f"{name:14} {times} {error:+6.1f} % {other:+8.1f} %", flush=True)
    return figures


def collectives(machine: Any, folder: Path, repeat: int) -> dict[str, Any]:
    """Measured and predicted times of algorithms that Open MPI is told to take, in seconds."""
    import isthmus
    from isthmus.measuring.programs import mpi_program
    from isthmus.mpi.detection import probe

    library = probe("/usr/bin/mpicc.openmpi")
    if library is None:
        raise SystemExit("there is no mpicc.openmpi")
    program = mpi_program(library)
    took: dict[tuple[str, str, int], list[float]] = {}
    messages: dict[tuple[str, str, int], list[float]] = {}
    for _ in range(repeat):
        for kind, algorithm in FORCED:
            plan, journal = folder / "plan", folder / "journal"
            alone = "pingpong" if kind == "bcast" else "sendrecv"
            items = [f"item {size} collective name={kind} bytes={size}" for size in SIZES]
            items += [f"item alone.{size} {alone} a=0 b=1 bytes={size}" for size in SIZES]
            plan.write_text("\n".join(["isthmus-plan 1", "budget 1.5", "samples 20 200", *items, ""]))
            journal.unlink(missing_ok=True)
            mpirun("openmpi", 2, *forced(kind, algorithm), *undisturbed(), program, plan, journal)
            for words in map(str.split, journal.read_text().splitlines()):
                if words[0] == "sample":
                    size, lone = int(words[1].removeprefix("alone.")), words[1].startswith("alone")
                    into = messages if lone else took  # of collectives time and skew in turn
                    into.setdefault((kind, algorithm, size), []).extend(map(float, words[3 :: 1 if lone else 2]))
    print(f"{'collective':30} {'bytes':>9} {'measured':>12} {'predicted':>12}    error {'message':>12}    error")
    figures: dict[str, Any] = {}
    for (kind, algorithm, size), each in took.items():
        schedule = isthmus.collective(kind, ranks=2, bytes=size, algorithm=algorithm)
        middle, guess = statistics.median(each), isthmus.simulate(schedule, machine).makespan
        error = 100 * (guess / middle - 1)
        figures[f"{kind} {algorithm} {size}"] = {"measured": middle, "predicted": guess, "error_percent": error}
        alone = statistics.median(messages[kind, algorithm, size])
        lone = 100 * (_message(machine, "pingpong" if kind == "bcast" else "sendrecv", size) / alone - 1)
        figures[f"{kind} {algorithm} {size}"] |= {"message": alone, "message_error_percent": lone}
        cells = f"{middle * 1e6:9.2f} us {guess * 1e6:9.2f} us {error:+6.1f} % {alone * 1e6:9.2f} us {lone:+6.1f} %"
        print(f"{kind + ' ' + algorithm:30} {size:9,} {cells}", flush=True)
    return figures


def _message(machine: Any, kind: str, size: int) -> float:
    from isthmus.measuring.check import predicted

    return predicted(machine.level.socket, kind, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--machine", metavar="FILE", help="of this host, as isthmus measure writes it")
    parser.add_argument("--budget", default="30s", help="of the measurement")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--part", choices=["examples", "collectives"], help="only this one")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    import isthmus

    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if options.machine is None:
            launch = [f"mpirun.{options.mpi}", "-n", "2", *BIND[options.mpi], *undisturbed()]
            machine = measure(folder / "host.toml", launch, "--budget", options.budget, only="stream,loggp")
        else:
            machine = isthmus.load(options.machine)
        print(f"{machine.measured.mpi if machine.measured else machine.name}, 2 ranks, {options.repeat} runs")
        print(machine.level.socket)
        parts = [options.part] if options.part else ["examples", "collectives"]
        if "examples" in parts:
            figures["examples"] = examples(options.mpi, machine, folder, options.repeat)
        if "collectives" in parts and options.mpi == "openmpi":
            figures["collectives"] = collectives(machine, folder, options.repeat)
    for part, each in figures.items():
        errors = {name: of["error_percent"] for name, of in each.items()}
        worst = max(errors, key=lambda name: abs(errors[name]))
        middle = statistics.median(map(abs, errors.values()))
        print(f"{part}: median error {middle:.1f} %, largest {errors[worst]:+.1f} % ({worst})")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
