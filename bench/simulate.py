"""Speed and memory of the simulator, beside LogGOPSim where its binary is given.

LogGOPSim takes a message of 0 bytes for one of -1 and makes the dissemination 96 ns faster than it is.

Every case runs in a process of its own: the schedule is made, then simulated several times on one core without
looking for symmetry, then once with it. Processor seconds are medians; bytes are the peak of the process above what it
had before the schedule was made, so they hold the schedule and the simulation, but not what making it took. "all s" is
the user's processor time of the whole process with making the schedule and one simulation. Cases of irregular.py come
after those in lockstep. With --queue every simulation is followed by one with a single queue of events instead of
windows of time, which must tell the same.

    python bench/simulate.py [--peer /path/to/LogGOPSim] [--quick] [--queue]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import irregular
import numpy as np

import isthmus
from isthmus import _core
from isthmus.simulation.simulate import core_options

# Name, collective, algorithm, ranks, bytes; is it part of --quick, does the peer finish it in minutes?
CASES = (
    ("dissemination 65,536", "barrier", "dissemination", 65536, 1, True, True),
    ("linear alltoall 512", "alltoall", "linear", 512, 1, True, True),
    ("linear alltoall 1,024", "alltoall", "linear", 1024, 1, True, False),
    ("ring allreduce 1,024", "allreduce", "ring", 1024, 65536, True, True),
    ("dissemination 1,048,576", "barrier", "dissemination", 1048576, 1, False, False),
    ("binomial broadcast 1,048,576", "bcast", "binomial", 1048576, 1, False, True),
    ("recursive doubling 1,048,576", "allreduce", "recursive_doubling", 1048576, 1, False, False),
)
PARAMETERS = {"L": 2500, "o": 1500, "g": 1000, "G": 6, "O": 0, "S": 65535}  # nanoseconds, bytes


def memory(field: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def reset_peak() -> None:
    """Forget the memory that making the schedule took: Linux sets VmHWM to what is held now."""
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")


def schedule_of(case: int) -> isthmus.Schedule:
    if case >= len(CASES):
        return irregular.CASES[case - len(CASES)][1]()
    _, kind, algorithm, ranks, size, _, _ = CASES[case]
    return isthmus.collective(kind, ranks=ranks, bytes=size, algorithm=algorithm)


def in_a_queue(schedule: isthmus.Schedule, level: isthmus.Level, record: str) -> tuple[float, np.ndarray]:
    """Processor seconds and finish times."""
    options = core_options(schedule.ranks, level, None, record, None, 0, None, None, False, False)
    options.windows = False
    begin = time.process_time()
    result = _core.simulate(schedule.arrays, options, None)
    return time.process_time() - begin, np.asarray(result.finish)


def measure(case: int, repeats: int, record: str, queue: bool) -> dict[str, float]:
    p = {name: value * 1e-9 for name, value in PARAMETERS.items()}
    level = isthmus.Level(L=p["L"], o_send=p["o"], o_recv=p["o"], g=p["g"], G=p["G"], O=p["O"], S=PARAMETERS["S"])
    warm = isthmus.collective("barrier", ranks=2)
    isthmus.simulate(warm, level)
    before = memory("VmRSS")
    begin = time.process_time()
    schedule = schedule_of(case)
    generated = time.process_time() - begin
    seconds, queued, timeline, whole = [], [], None, 0.0
    reset_peak()
    for _ in range(repeats):
        timeline = None
        begin = time.process_time()
        timeline = isthmus.simulate(schedule, level, record=record, symmetry=False)
        seconds.append(time.process_time() - begin)
        whole = whole or resource.getrusage(resource.RUSAGE_SELF).ru_utime
        if queue:
            took, finish = in_a_queue(schedule, level, record)
            assert np.array_equal(finish, timeline.finish_ps)
            queued.append(took)
    peak = memory("VmHWM") - before
    begin = time.process_time()
    symmetric = isthmus.simulate(schedule, level, record=record)
    with_symmetry = time.process_time() - begin
    assert timeline is not None
    assert symmetric.makespan_ps == timeline.makespan_ps
    return {
        "operations": len(schedule),
        "events": timeline.events,
        "generated": generated,
        "seconds": statistics.median(seconds),
        "queue": statistics.median(queued) if queue else 0.0,
        "whole": whole,
        "peak": peak,
        "makespan": timeline.makespan,
        "symmetry": with_symmetry,
        "kinds": symmetric.simulated_ranks,
    }


def peer_seconds(peer: str, case: int) -> tuple[float, float, float]:
    """Processor seconds, peak bytes and makespan of LogGOPSim on the same schedule."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "schedule.bin")
        schedule_of(case).save(path, seconds_per_byte=0.0)
        options = [text for name, value in PARAMETERS.items() for text in (f"-{name}", str(value))]
        run = subprocess.Popen([peer, "-f", path, *options, "-b"], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None
        out = run.stdout.read()
        _, _, usage = os.wait4(run.pid, 0)
        times = [int(line.rsplit(":", 1)[1].split()[0]) for line in out.splitlines() if "inishing time" in line]
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, max(times) * 1e-9 if times else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="LogGOPSim, built with a stable sort")
    parser.add_argument("--quick", action="store_true", help="only the cases of seconds")
    parser.add_argument("--record", default="finish", choices=("finish", "ranks"))
    parser.add_argument("--queue", action="store_true", help="beside one queue of events; peaks are of both then")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    # Name; is it part of --quick, does the peer finish it in minutes?
    everything = [(c[0], c[5], c[6]) for c in CASES] + [(c[0], c[2], c[2]) for c in irregular.CASES]
    if given.case:
        case = int(given.case)
        print(json.dumps(measure(case, 7 if everything[case][1] else 3, given.record, given.queue)))
        return
    columns = f"{'case':<32} {'operations':>11} {'s':>7} {'all s':>7} {'M op/s':>7} {'B/op':>6} {'makespan':>12}"
    print(f"{columns} {'symmetric s':>11} {'kinds':>6}")
    for number, (name, quick, peer_too) in enumerate(everything):
        if given.quick and not quick:
            continue
        command = [sys.executable, __file__, "--case", str(number), "--record", given.record]
        if given.queue:
            command.append("--queue")
        m = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rate = m["operations"] / m["seconds"] / 1e6
        print(
            f"{name:<32} {m['operations']:>11,} {m['seconds']:>7.3f} {m['whole']:>7.3f} "
            f"{rate:>7.1f} {m['peak'] / m['operations']:>6.1f} "
            f"{m['makespan'] * 1e6:>9.3f} us {m['symmetry']:>11.3f} {m['kinds']:>6}",
            flush=True,
        )
        if given.queue:
            times = m["queue"] / m["seconds"]
            print(f"{'  one queue':<32} {'':>11} {m['queue']:>7.3f}   {times:.2f} times as long", flush=True)
        if given.peer and peer_too:
            seconds, peak, makespan = peer_seconds(given.peer, number)
            print(
                f"{'  LogGOPSim':<32} {'':>11} {seconds:>7.3f} {'':>7} {m['operations'] / seconds / 1e6:>7.1f} "
                f"{peak / m['operations']:>6.1f} {makespan * 1e6:>9.3f} us   {seconds / m['seconds']:.1f} times ours",
                flush=True,
            )


if __name__ == "__main__":
    main()
