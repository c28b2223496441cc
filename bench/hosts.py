"""Predictions of recordings on hosts with a network between them, all on one machine: needs root, iproute2, Open MPI.

    python bench/hosts.py [--rate 200mbit] [--burst 8k] [--peak RATE] [--measured SECONDS | --machine FILE]
        [--repeat N] [--part examples|collectives|four] [--check] [--json FILE]

Hosts are those of tests/py/emulated_hosts.py. Two hosts with one rank each run the examples,
N times without the recorder and N times with it; recordings are simulated with the parameters that ping-pongs say, or
with --measured those that `isthmus measure` finds between these hosts in so many seconds (--machine: or has found, with
the same --rate, --burst and --peak), with both rules of receiving. Without --peak the links let --burst bytes pass at
once after a pause, which no wire does, and no model predicts messages below that.
Printed are medians: what the program says that it took alone, and while it was recorded; predictions, and their errors
against the very run that was recorded: computing takes a third more or less from run to run on a virtual machine, which
says nothing of the model. The least and the greatest error follow.

Ranks that wait keep their cores busy, so that other work on the host takes half of the time of each, in slices as long
as messages: times were ten times too long. Ranks therefore run under the kernel's real-time scheduler (undisturbed() of
bench/host.py). Two cores must be there; the rest of the host stands still meanwhile.

The part "collectives" compares algorithms that Open MPI is told to take, on two hosts, with their simulation.

The part "four" does so on four hosts, where ranks change partners. Each collective runs by rendezvous, as Open MPI
sends what is above 64 KiB, and with all messages eager; it is simulated with requests and answers that wait behind data
(handshakes=True) and without. By rendezvous a step takes the time of one message if ranks are in step, and of two if
one is late by more than the latency; four ranks on two cores are late when another has the core. So they are in the
simulations, as noise of the system, with turns of several lengths. Both medians are printed with the least and the
greatest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from host import HERE, environment, measure, undisturbed

sys.path.insert(0, str(HERE.parent / "tests" / "py"))
import emulated_hosts
from emulated_hosts import hosts

#: By example: as it runs without arguments, and larger.
SHOWN = {
    "halo2d": ("512 200", "2048 60"),
    "halo3d": ("64 100", "96 40"),
    "fft3d": ("48 5", "64 4"),
    "ring": ("2000 3", "8000 1"),
}
#: By number in Open MPI 4.1: allreduce, bcast, allgather, alltoall.
FORCED = {
    ("allreduce", "ring"): 4,
    ("allreduce", "recursive_doubling"): 3,
    ("bcast", "binomial"): 6,
    ("allgather", "recursive_doubling"): 3,
    ("allgather", "ring"): 4,
    ("alltoall", "pairwise"): 2,
    ("alltoall", "linear"): 1,
}
#: On four hosts: algorithm and bytes.
ON_FOUR = (
    ("alltoall", "pairwise", 65_600),
    ("alltoall", "pairwise", 256 << 10),
    ("alltoall", "linear", 256 << 10),
    ("allgather", "recursive_doubling", 256 << 10),
    ("allgather", "ring", 256 << 10),
    ("allreduce", "recursive_doubling", 1 << 20),
    ("allreduce", "ring", 1 << 20),
)
#: Seconds for which ranks that share a core have it in turn, in simulations, and how many of each are done.
TURNS, SEEDS = (20e-6, 50e-6, 100e-6, 200e-6), 5
_WIDE = (11, 19, 11, 19, 9, 9, 9, 9)
#: Per cent, of examples under the rule "loggp".
WITHIN = 15
RULES = ("loggp", "loggopsim")
SIZES = (64 << 10, 256 << 10, 1 << 20)


def obstacle() -> str:
    """What keeps hosts from being made and measured here; nothing where they can be."""
    if reason := emulated_hosts.obstacle("chrt", "mpirun.openmpi"):
        return reason
    if len(os.sched_getaffinity(0)) < 2:
        return "needs two cores, one for each rank"
    if not undisturbed():
        return "needs the kernel's real-time scheduler (chrt --rr 1)"
    return ""


def output(words: list[str], folder: Path) -> str:
    """Of a command; ends the program where it fails."""
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def times(text: str) -> dict[tuple[str, int], float]:
    """What bench/hosts.c prints."""
    lines = (line.split() for line in text.splitlines())
    return {(what, int(size)): float(seconds) for what, size, seconds in lines}


def forced(kind: str, algorithm: str) -> list[str]:
    """Options of Open MPI with which it takes an algorithm of :data:`FORCED`."""
    number = str(FORCED[kind, algorithm])
    return ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", f"coll_tuned_{kind}_algorithm", number]


def parameters(measured: dict[tuple[str, int], float]) -> Any:
    """Of the link: G of large half ping-pongs, o of messages of one byte, L the rest of such a half ping-pong, O the
    mean of the slopes of sending and receiving, which the model charges alike. Open MPI sends eagerly up to 64 KiB over
    TCP.
    """
    import isthmus

    least, eager, small, large = 1, 32 << 10, 64 << 10, 1 << 20
    alone = measured["oneway", least]
    rate = (measured["oneway", large] - measured["oneway", small]) / (large - small)
    o_send = min(measured["send", least], alone)
    o_recv = min(measured["recv", least], alone - o_send)
    slope = sum(measured[what, eager] - measured[what, least] for what in ("send", "recv")) / 2 / (eager - least)
    return isthmus.Level(
        L=alone - o_send - o_recv,
        o_send=o_send,
        o_recv=o_recv,
        g=o_send,
        G=rate,
        O=min(max(slope, 0.0), rate),
        S=small,
    )


def examples(words: list[str], home: list[str], level: Any, folder: Path, repeat: int) -> dict[str, Any]:
    """Errors of both rules."""
    from record import seconds_of

    import isthmus

    subprocess.run(["make", "-s", "-C", HERE.parent / "examples", "MPICC=mpicc.openmpi", "MPIFC=mpifort.openmpi",
                    f"OUT={folder}"], check=True)  # fmt: skip
    head = f"{'example':14} {'alone':>10} {'recorded':>10} {'loggp':>10} {'error':>8} {'least to greatest':>19}"
    print(f"{head} {'loggopsim':>10} {'error':>8}")
    figures = {}
    for name, arguments in ((name, each) for name, sizes in SHOWN.items() for each in sizes):
        command = [*undisturbed(), str(folder / name), *arguments.split()]
        took: dict[str, list[float]] = {"alone": [], "recorded": [], "loggp": [], "loggopsim": []}
        for _ in range(repeat):
            took["alone"].append(seconds_of(output([*home, *words, *command], folder)))
            record = [sys.executable, "-m", "isthmus", "record", "-o", str(folder / "x.h5"), "--", *words, *command]
            (folder / "x.h5").unlink(missing_ok=True)
            took["recorded"].append(seconds_of(output([*home, *record], folder)))
            program = isthmus.read(folder / "x.h5")
            for rule in RULES:
                took[rule].append(isthmus.simulate(program, level, receive=rule).makespan)
        middle = {what: statistics.median(times) for what, times in took.items()}
        errors = {
            rule: sorted(100 * (guess / of - 1) for guess, of in zip(took[rule], took["recorded"], strict=True))
            for rule in RULES
        }
        name = f"{name} {arguments}"
        figures[name] = middle | {"runs": took, "error_percent": statistics.median(errors["loggp"])}
        times = [f"{middle[what] * 1e3:7.1f} ms" for what in ("alone", "recorded", "loggp", "loggopsim")]
        middles = [f"{statistics.median(errors[rule]):+6.1f} %" for rule in RULES]
        span = f"{errors['loggp'][0]:+6.1f} to {errors['loggp'][-1]:+6.1f} %"
        print(f"{name:14} {' '.join(times[:3])} {middles[0]} {span} {times[3]} {middles[1]}", flush=True)
    return figures


def collectives(words: list[str], home: list[str], level: Any, folder: Path) -> dict[str, Any]:
    """Algorithms that Open MPI is told to take, and their simulation."""
    import isthmus

    print(f"{'collective':30} {'bytes':>8} {'measured':>10} {'loggp':>10} {'error':>8} {'loggopsim':>10} {'error':>8}")
    figures = {}
    for kind, algorithm in FORCED:
        for size in SIZES:
            command = [*forced(kind, algorithm), *undisturbed(), str(folder / "hosts"), kind, str(size)]
            text = output([*home, *words, *command], folder)
            measured = times(text)[kind, size]
            schedule = isthmus.collective(kind, ranks=2, bytes=size, algorithm=algorithm)
            guess = {rule: isthmus.simulate(schedule, level, receive=rule).makespan for rule in RULES}
            figures[f"{kind} {algorithm} {size}"] = {"measured": measured, **guess}
            print(
                f"{kind + ' ' + algorithm:30} {size:8} {measured * 1e3:7.1f} ms " + _errors(guess, measured), flush=True
            )
    return figures


def on_four(words: list[str], home: list[str], level: Any, folder: Path, repeat: int) -> dict[str, Any]:
    """Collectives whose ranks change partners, by rendezvous and eagerly, simulated with handshakes and without."""
    import isthmus

    head = ("rendezvous", "least to greatest", "handshakes", "least to greatest", "error", "eager", "without", "error")
    row = " ".join(f"{word:>{width}}" for word, width in zip(head, _WIDE, strict=True))
    print(f"{'collective':30} {'bytes':>8} {row}")
    eagerly = [word for name in ("eager", "rndv_eager") for word in ("--mca", f"btl_tcp_{name}_limit", str(8 << 20))]
    figures = {}
    for kind, algorithm, size in ON_FOUR:
        took: dict[str, list[float]] = {"rendezvous": [], "eager": []}
        for _ in range(repeat):
            for way, more in (("rendezvous", []), ("eager", eagerly)):
                command = [*undisturbed(), str(folder / "hosts"), kind, str(size)]
                text = output([*home, *words, *forced(kind, algorithm), *more, *command], folder)
                took[way].append(times(text)[kind, size])
        schedule = isthmus.collective(kind, ranks=4, bytes=size, algorithm=algorithm)
        took["without"] = [isthmus.simulate(schedule, level).makespan]
        took["handshakes"] = [
            _sharing_cores(kind, algorithm, size, level, turn, seed) for turn in TURNS for seed in range(SEEDS)
        ]
        middle = {what: statistics.median(values) for what, values in took.items()}
        off = [middle[guess] / middle[way] - 1 for guess, way in (("handshakes", "rendezvous"), ("without", "eager"))]
        cells = [f"{middle[what] * 1e3:.1f} ms" for what in ("rendezvous", "handshakes", "eager", "without")]
        least = [
            f"{min(took[what]) * 1e3:.1f} to {max(took[what]) * 1e3:.1f} ms" for what in ("rendezvous", "handshakes")
        ]
        cells = [cells[0], least[0], cells[1], least[1], f"{off[0]:+.1%}", cells[2], cells[3], f"{off[1]:+.1%}"]
        row = " ".join(f"{cell:>{width}}" for cell, width in zip(cells, _WIDE, strict=True))
        print(f"{kind + ' ' + algorithm:30} {size:8} {row}", flush=True)
        figures[f"{kind} {algorithm} {size}"] = took
    return figures


def _sharing_cores(kind: str, algorithm: str, size: int, level: Any, turn: float, seed: int) -> float:
    """Simulated seconds of four ranks of which each has a core half of the time; they begin within a turn."""
    import isthmus

    source = random.Random(seed)
    b = isthmus.ProgramBuilder(4)
    for rank in range(4):
        b.compute(rank, source.random() * turn)
    getattr(b, kind)(range(4), bytes=size)
    noise = isthmus.Noise(kind="periodic", period=2 * turn, duration=turn)
    rules = {kind: algorithm}
    t = isthmus.simulate(b.build(), level, collectives=rules, handshakes=True, noise=noise, seed=seed)
    return float(t.makespan)


def _errors(guess: dict[str, float], measured: float) -> str:
    return " ".join(f"{guess[rule] * 1e3:7.1f} ms {100 * (guess[rule] / measured - 1):+6.1f} %" for rule in RULES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="200mbit", help="of every link")
    parser.add_argument("--burst", default="8k", help="bytes that pass at once after a pause")
    parser.add_argument(
        "--peak", metavar="RATE", help="at which they pass: a little more than --rate is nearer to a wire"
    )
    parser.add_argument("--measured", type=float, metavar="SECONDS", help="parameters of isthmus measure, in so many")
    parser.add_argument("--machine", metavar="FILE", help="what isthmus measure wrote of such hosts")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--part", choices=["examples", "collectives", "four"], help="only this one")
    parser.add_argument("--check", action="store_true", help=f"fail where an example is more than {WITHIN} %% off")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    if missing := obstacle():
        print(f"no hosts with a network between them: {missing}")
        return
    with tempfile.TemporaryDirectory() as scratch, hosts(2, options.rate, options.burst, peak=options.peak) as there:
        folder = Path(scratch)
        folder.chmod(0o755)
        words, home = there.openmpi(), there.inside()
        subprocess.run(["mpicc.openmpi", "-O2", "-w", "-o", folder / "hosts", HERE / "hosts.c"], check=True)
        if options.machine:
            import isthmus

            level = isthmus.load(options.machine).level.network
        elif options.measured:
            launch, budget = [*words, *undisturbed()], f"{options.measured}s"
            machine = measure(folder / "hosts.toml", launch, "--budget", budget, inside=home)
            level = machine.level.network
        else:
            level = parameters(times(output([*home, *words, *undisturbed(), str(folder / "hosts")], folder)))
        peak = f" at {options.peak}" if options.peak else ""
        print(f"two hosts, {options.rate}, bucket of {options.burst}{peak}: {level}", flush=True)
        figures: dict[str, Any] = {}
        if options.part in (None, "examples"):
            figures["examples"] = examples(words, home, level, folder, options.repeat)
        if options.part in (None, "collectives"):
            figures["collectives"] = collectives(words, home, level, folder)
        program = (folder / "hosts").read_bytes()
    if options.part in (None, "four"):
        with (
            tempfile.TemporaryDirectory() as scratch,
            hosts(4, options.rate, options.burst, peak=options.peak) as there,
        ):
            folder = Path(scratch)
            folder.chmod(0o755)
            (folder / "hosts").write_bytes(program)
            (folder / "hosts").chmod(0o755)
            idle = ["--mca", "mpi_yield_when_idle", "1"]
            figures["four"] = on_four([*there.openmpi(), *idle], there.inside(), level, folder, options.repeat)
    off = {
        name: error
        for name, times in figures.get("examples", {}).items()
        if abs(error := times["error_percent"]) > WITHIN
    }
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")
    if options.check and off:
        raise SystemExit(
            f"more than {WITHIN} % off: " + ", ".join(f"{name} {error:+.1f} %" for name, error in off.items())
        )


if __name__ == "__main__":
    main()
