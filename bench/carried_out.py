"""Schedules that are carried out beside what was predicted for them: all collectives between two ranks.

    python bench/carried_out.py [--mpi openmpi|mpich] [--machine FILE | --own] [--budget SECONDS] [--repetitions N]
        [--sizes LIST] [--kinds LIST] [--json FILE]

`isthmus run` carries every collective out by its default algorithm, 8 B to 4 MiB, with all copies; `isthmus simulate`
predicts it with the machine file that `isthmus measure` writes before (or --machine). Printed are the median of the
runs in which nothing but the end is looked at, the prediction, and the error: predicted over measured, less one. At the
end stand the median and the worst of the errors without their sign, of all and by collective.

The machine file says how long messages of the MPI library take, and charges copies and reductions as if they came from
memory. With --own the parts are measured as they are carried out here: before the collectives of each size a message of
that size, one of half of it, a copy and a reduction, each a schedule of its own. What is left of the error is then that
of putting parts together.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from host import BIND, measure, undisturbed

SIZES = (8, 64, 512, 4096, 32 << 10, 256 << 10, 1 << 20, 4 << 20)
KINDS = (
    *("barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall"),
    *("reduce_scatter", "scan", "exscan"),
)


class Parts:
    """What messages, copies and reductions of one size take by libisthmus, as parameters of a simulation."""

    def __init__(self, size: int, launch: str, repetitions: int) -> None:
        import isthmus
        from isthmus.running.parts import EAGER
        from isthmus.schedule.schedule import SLICES

        def timed(**columns: Any) -> Any:
            return isthmus.run(isthmus.Schedule.of(2, **columns), launch=launch, repetitions=repetitions)

        def rate(kind: str) -> float:
            slices = np.zeros(1, SLICES)
            slices["to"]["buffer"] = 1
            buffers = {"a": size, "b": size}
            took = timed(rank=0, kind=[kind], amount=size, buffers=buffers, slices=slices).ran.typical
            return max(took - nothing, 1e-10) / size

        # A run in which nothing is done: that is taken off copies and reductions, not off messages.
        nothing = timed(rank=0, kind=["calc"], amount=0).ran.typical
        message = {"rank": [0, 1], "kind": ["send", "recv"], "peer": [1, 0]}
        runs = [timed(**message, amount=amount) for amount in (8, max(size // 2, 1), size)]
        flight, half, whole = (run.ran.typical for run in runs)
        posting = min(float(runs[2].busy_ps[0]) * 1e-12, 0.5 * flight) if size <= EAGER else 0.5 * flight
        # Beyond what a small message takes, its receiver copies: from the ring, or from the memory of the sender.
        latency = flight - posting
        copying, rest = (max(time - flight, 0.0) for time in (half, whole))
        G = max(rest - copying, 0.0) / max(size / 2, 1)
        self.level = isthmus.Level(
            L=latency, o_send=posting, S=2.0**40,
            pieces=(isthmus.Piece(above=size / 2, after=size / 2, L=latency, o_send=posting, o_recv=copying, g=0, G=0,
                                  O=0, O_recv=G),) if size > 1 else (),
        )  # fmt: skip
        self.rates = {"copy_rate": rate("copy"), "reduce_rate": rate("reduce")}
        times = {"message": whole, "half": half, "nothing": nothing}
        times |= {kind: self.rates[f"{kind}_rate"] * size for kind in ("copy", "reduce")}
        print(f"{size:,} B:", ", ".join(f"{name} {1e6 * time:.3f} us" for name, time in times.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--machine", metavar="FILE", help="of this host, as isthmus measure writes it")
    parser.add_argument("--own", action="store_true", help="predict with parts that are carried out here")
    parser.add_argument("--budget", default="30s", help="of the measurement")
    parser.add_argument("--repetitions", type=int, default=51)
    parser.add_argument("--sizes", help="bytes, separated by commas")
    parser.add_argument("--kinds", help="collectives, separated by commas")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    import isthmus

    words = [f"mpirun.{options.mpi}", "-n", "2", *BIND[options.mpi], *undisturbed()]
    launch = " ".join(words)
    machine: Any = None
    if options.machine is not None:
        machine = isthmus.load(options.machine)
    elif not options.own:
        with tempfile.TemporaryDirectory() as scratch:
            machine = measure(Path(scratch) / "host.toml", words, "--budget", options.budget, only="stream,loggp")
    sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else SIZES
    kinds = options.kinds.split(",") if options.kinds else KINDS
    figures: dict[str, Any] = {}
    errors: dict[str, list[float]] = {}
    print(f"{'collective':16} {'bytes':>9} {'measured':>12} {'predicted':>12}    error")
    for size in sizes:
        parts = Parts(size, launch, options.repetitions) if options.own else None
        for kind in kinds:
            if kind == "barrier" and size != sizes[0]:
                continue
            schedule = isthmus.collective(kind, ranks=2, bytes=0 if kind == "barrier" else size, buffers=True,
                                          in_place=False)  # fmt: skip
            ran = isthmus.run(schedule, launch=launch, repetitions=options.repetitions).ran
            assert ran is not None
            where = machine if parts is None else parts.level
            guess = isthmus.simulate(schedule, where, **({} if parts is None else parts.rates)).makespan
            error = 100 * (guess / ran.typical - 1)
            errors.setdefault(kind, []).append(error)
            figures[f"{kind} {size}"] = {"measured": ran.typical, "least": ran.least, "predicted": guess}
            figures[f"{kind} {size}"] |= {"error_percent": error}
            print(f"{kind:16} {size:9,} {ran.typical * 1e6:9.2f} us {guess * 1e6:9.2f} us {error:+7.1f} %", flush=True)
    for kind, each in {**errors, "all": [error for one in errors.values() for error in one]}.items():
        middle, worst = statistics.median(map(abs, each)), max(each, key=abs)
        print(f"{kind:16} median error {middle:5.1f} %, worst {worst:+.1f} %")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
