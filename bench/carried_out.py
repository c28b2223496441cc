"""Schedules that are carried out beside what is predicted for them: all collectives between two ranks.

    python bench/carried_out.py [--mpi openmpi|mpich] [--budget SECONDS] [--sizes LIST] [--kinds LIST]
        [--samples FILE] [--json FILE]

In one run libisthmus carries out, in turns, every collective by its default algorithm, 8 B to 4 MiB, with all copies,
and what the prediction is made of: single messages, chains, exchanges, copies and reductions, each a schedule of its
own. Nothing is fitted to the collectives. Before every batch a flag goes to and fro between the ranks: a virtual
machine has states, which change within seconds and in which a message takes one time or four, so that only samples of
one state are compared with each other. Every state of a tenth of the samples is a table.

    message    half a round trip in a chain; lines between the sizes that were measured
    start      what a single message takes longer than that: from the call to the first operation, and back
    exchange   what it takes longer than a message is the sender's time: a rank that sends does not receive meanwhile
    copy       on both ranks at once, beyond a schedule that does nothing; a reduction likewise

Printed are median, prediction and error (predicted over measured, less one), and at the end the median and the worst of
the errors without their sign, of all, by collective and by size. --samples keeps the samples, or reads them if the file
is there.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from host import BIND, undisturbed

SIZES = (8, 64, 512, 4096, 32 << 10, 256 << 10, 1 << 20, 4 << 20)
KINDS = (
    *("barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "scatter", "alltoall"),
    *("reduce_scatter", "scan", "exscan"),
)
#: Sizes of the parts: libisthmus sends up to 216 bytes within a slot of its ring.
PARTS = (8, 64, 216, 256, *(1 << k for k in range(9, 23)))
#: Round trips of a chain, and operations of a row; above that size messages go to and fro once, and senders wait.
TRIPS, ROW, LONG = 4, 11, 65536
#: Sizes up to which single messages tell the start.
SMALL = 512
#: Samples whose flag took more or less by this factor belong to another state; a state of fewer samples is left out.
STATE, SHARE, ENOUGH = 1.25, 0.1, 5
#: Part of the time of a small message that is the sender's, and that is the receiver's; the rest is latency.
OVERHEAD = 0.25


def schedule(what: str, size: int) -> Any:
    """A schedule of two ranks: a collective, or one of the parts."""
    import isthmus

    def messages(first: list[str], second: list[str], chained: bool = False) -> Any:
        one, both = len(first), len(first) + len(second)
        after = [i for i in range(1, both) if i != one] if chained else []
        return isthmus.Schedule.of(
            2, rank=[0] * one + [1] * len(second), kind=first + second, peer=[1] * one + [0] * len(second), amount=size,
            op=after, on=[i - 1 for i in after],
        )  # fmt: skip

    if what in KINDS:
        size = 0 if what == "barrier" else size
        return isthmus.collective(what, ranks=2, bytes=size, buffers=True, in_place=False)
    if what == "message":
        return messages(["send"], ["recv"])
    if what == "chain":
        turns = trips(size)
        return messages(["send", "recv"] * turns, ["recv", "send"] * turns, chained=True)
    if what == "exchange":
        return messages(["send", "recv"], ["send", "recv"])
    return row(what, size)


def row(what: str, size: int) -> Any:
    """A copy, a combination of bytes, nothing, or many nothings one after the other, on both ranks."""
    import isthmus
    from isthmus.schedule.schedule import SLICES

    n = ROW if what == "steps" else 1
    after = [i for i in range(1, 2 * n) if i != n]
    columns: dict[str, Any] = {}
    if what in ("copy", "combine"):
        slices = np.zeros(2 * n, SLICES)
        slices["to"]["buffer"] = 1
        columns = {"buffers": {"a": size, "b": size}, "slices": slices}
    kind = {"copy": "copy", "combine": "reduce"}.get(what, "calc")
    return isthmus.Schedule.of(
        2, rank=np.repeat([0, 1], n), kind=[kind] * (2 * n), amount=size, op=after, on=[i - 1 for i in after], **columns
    )


def trips(size: int) -> int:
    return 1 if size > LONG else TRIPS


def measured(chosen: list[tuple[str, int]], launch: str, budget: float) -> Any:
    """Samples of schedules, taken in turns."""
    from isthmus.measuring import programs
    from isthmus.measuring.plan import Launch
    from isthmus.measuring.run import Session
    from isthmus.measuring.samples import Item
    from isthmus.mpi.launcher import Launcher
    from isthmus.running.parts import meetings, write_parts

    with tempfile.TemporaryDirectory(prefix="carried-") as scratch:
        session, items = Session(Path(scratch) / "journal", "carried out", seed=1), []
        for what, size in chosen:
            name = f"{what}.{size}"
            one = schedule(what, size)
            partner = np.asarray(meetings(one).partner)
            write_parts(one, partner, session.folder / name, compute=1.0, check=False)
            parameters = {"parts": name, "what": what, "bytes": size, "members": "0,1"}
            items.append(Item(name, "schedule", parameters))
        launcher = Launcher.parse(launch)
        # No item ends early: each is measured in every state.
        turns = Launch("carried", "mpi", tuple(items), budget, least=20, most=10**6, tolerance=0.0)
        return session.run(turns, launcher, programs.carrying_program(launcher.mpi(None), print))


def states(samples: Any) -> list[tuple[float, float]]:
    """Seconds of a flag in each state of the machine, and the state's share of the samples; most frequent first."""
    every = left = np.sort(np.concatenate([one.column("flag") for one in samples]))
    found = []
    while len(left):
        ends = np.searchsorted(left, left * STATE, side="right")
        first = int(np.argmax(ends - np.arange(len(left))))
        inside = slice(first, int(ends[first]))
        found.append((float(np.median(left[inside])), (inside.stop - first) / len(every)))
        left = np.delete(left, inside)
    return [one for one in sorted(found, key=lambda one: -one[1]) if one[1] >= SHARE]


class Prediction:
    """What follows from the medians of the parts in one state."""

    def __init__(self, median: dict[tuple[str, int], float]) -> None:
        import isthmus

        self.median = median
        sizes = [size for size in PARTS if ("chain", size) in median and ("exchange", size) in median]
        # A chain of n round trips is 2 n messages and one start.
        self.start = max(float(np.median([
            (2 * TRIPS * median["message", size] - median["chain", size]) / (2 * TRIPS - 1)
            for size in sizes if size <= SMALL and ("message", size) in median
        ])), 0.0)  # fmt: skip
        chains = [(median["chain", size] - self.start) / (2 * trips(size)) for size in sizes]
        times = np.maximum.accumulate(chains).tolist()
        sends = [max(median["exchange", size] - self.start - time, 0) for size, time in zip(sizes, times, strict=True)]
        own = OVERHEAD * times[0]
        base = {"L": times[0] - 2 * own, "o_send": own, "g": 0.0}
        pieces = []
        for i, (begin, end) in enumerate(pairwise(sizes)):
            G = (times[i + 1] - times[i]) / (end - begin)
            # Bytes cost after so many that the line goes on from the smallest message, where it can.
            after = float(np.clip(np.ceil(begin - (times[i] - times[0]) / G), 1, begin)) if G > 0 else 1.0
            rest = max(times[i] - times[0] - (begin - after) * G, 0.0)
            O = max(sends[i + 1] - own, 0.0) / (end - after)  # noqa: E741 - the literature's name
            one = isthmus.Piece(above=begin, after=after, o_recv=own + rest, G=G, O=O, O_recv=G, **base)
            pieces.append(one)
        self.level = isthmus.Level(o_recv=own, S=LONG, pieces=tuple(pieces), **base)
        self.each = max(median["steps", 0] - median["nothing", 0], 0.0) / (ROW - 1)

    def rate(self, what: str, size: int) -> float:
        return max(self.median[what, size] - self.median["nothing", 0], 0.0) / size + self.each / size

    def of(self, kind: str, size: int) -> float:
        import isthmus

        rates = {"copy_rate": self.rate("copy", size), "reduce_rate": self.rate("combine", size)}
        return isthmus.simulate(schedule(kind, size), self.level, **rates).makespan + self.start


def compared(samples: Any, flag: float, share: float) -> dict[str, Any]:
    """Prints measured beside predicted in one state."""
    median = {}
    for one in samples:
        flags = one.column("flag")
        inside = one.column()[(flags >= flag / STATE) & (flags <= flag * STATE)]
        if len(inside) >= ENOUGH:
            median[str(one.parameters["what"]), int(one.parameters["bytes"])] = float(np.median(inside))
    prediction = Prediction(median)
    print(f"\na flag takes {1e9 * flag:.0f} ns in {100 * share:.0f} % of the samples; a start takes "
          f"{1e9 * prediction.start:.0f} ns, an operation {1e9 * prediction.each:.0f} ns")  # fmt: skip
    print(f"{'collective':16} {'bytes':>9} {'measured':>12} {'predicted':>12}    error")
    figures: dict[str, Any] = {}
    errors: dict[str, list[float]] = {}
    for (kind, size), took in median.items():
        if kind not in KINDS or ("copy", size) not in median or ("combine", size) not in median:
            continue
        guess = prediction.of(kind, size)
        error = 100 * (guess / took - 1)
        for group in ("all", kind, f"{size:,} B"):
            errors.setdefault(group, []).append(error)
        figures[f"{kind} {size}"] = {"measured": took, "predicted": guess, "error_percent": error}
        print(f"{kind:16} {size:9,} {took * 1e6:9.2f} us {guess * 1e6:9.2f} us {error:+7.1f} %", flush=True)
    for group, each in errors.items():
        middle, worst = statistics.median(map(abs, each)), max(each, key=abs)
        print(f"{group:16} {len(each):3} cases, median error {middle:5.1f} %, worst {worst:+.1f} %")
    return {"flag": flag, "share": share, "start": prediction.start, "cases": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--budget", type=float, default=50, help="seconds of measuring")
    parser.add_argument("--sizes", help="bytes, separated by commas, among those of the parts")
    parser.add_argument("--kinds", help="collectives, separated by commas")
    parser.add_argument("--samples", metavar="FILE", help="HDF5, of what was measured")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    from isthmus.measuring.samples import Samples

    sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else SIZES
    kinds = options.kinds.split(",") if options.kinds else KINDS
    if unknown := [str(one) for one in (*(set(sizes) - set(PARTS)), *(set(kinds) - set(KINDS)))]:
        parser.error(f"{', '.join(unknown)}: neither one of the sizes {PARTS} nor one of the collectives {KINDS}")
    if options.samples and Path(options.samples).is_file():
        samples = Samples.load(options.samples)
    else:
        chosen = [("nothing", 0), ("steps", 0)]
        chosen += [(what, size) for size in PARTS for what in ("chain", "exchange", "copy", "combine")]
        chosen += [("message", size) for size in PARTS if size <= SMALL]
        chosen += [(kind, size) for size in sizes for kind in kinds if kind != "barrier" or size == sizes[0]]
        launch = " ".join([f"mpirun.{options.mpi}", "-n", "2", *BIND[options.mpi], *undisturbed()])
        samples = measured(chosen, launch, options.budget)
        if options.samples:
            samples.save(options.samples)
    samples = Samples([dataclasses.replace(one) for one in samples if len(one)], samples.facts)
    found = [compared(samples, flag, share) for flag, share in states(samples)]
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
