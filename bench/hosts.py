"""Predictions of recordings on hosts with a network between them, all on one machine: needs root, iproute2, Open MPI.

    python bench/hosts.py [--rate 200mbit] [--burst 8k] [--repeat N] [--part examples|collectives] [--check]
        [--json FILE]

Every host is a network namespace; the kernel's token bucket shapes its link to a bridge in both directions. Messages
then take time that no processor spends, which shared memory never shows. Two hosts with one rank each run the examples,
N times without the recorder and N times with it; recordings are simulated with the parameters that ping-pongs say, with
both rules of receiving. Printed are medians: what the program says that it took, predictions and their errors.

Ranks that wait keep their cores busy, so that other work on the host takes half of the time of each, in slices as long
as messages: times were ten times too long. Ranks therefore run under the kernel's real-time scheduler (undisturbed() of
bench/host.py). Two cores must be there; the rest of the host stands still meanwhile.

The part "collectives" compares algorithms that Open MPI is told to take, on two hosts, with their simulation.

A bucket lets its bytes pass at once after a pause, as no wire does: messages below it say nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host import HERE, environment, undisturbed

SUBNET = "10.78.0"
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
    ("allgather", "ring"): 4,
    ("alltoall", "pairwise"): 2,
    ("alltoall", "linear"): 1,
}
#: Those that end the program: its hosts go first.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Per cent, of examples under the rule "loggp".
WITHIN = 15
RULES = ("loggp", "loggopsim")
SIZES = (64 << 10, 256 << 10, 1 << 20)


def obstacle() -> str:
    """What keeps hosts from being made here; nothing where they can be."""
    if os.geteuid() != 0:
        return "needs root"
    if absent := [tool for tool in ("ip", "tc", "chrt", "unshare", "mpirun.openmpi") if shutil.which(tool) is None]:
        return f"needs {', '.join(absent)}"
    if len(os.sched_getaffinity(0)) < 2:
        return "needs two cores, one for each rank"
    if not undisturbed():
        return "needs the kernel's real-time scheduler (chrt --rr 1)"
    for kind in ("--net", "--uts"):
        if subprocess.run(["unshare", kind, "true"], capture_output=True).returncode:
            return f"'unshare {kind}' is not permitted"
    return ""


def _ip(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextlib.contextmanager
def hosts(count: int, rate: str, burst: str) -> Iterator[list[str]]:
    """Names of namespaces that stand for hosts, while they are there."""
    tag = f"ism{os.getpid()}"
    names, switch = [f"{tag}h{i}" for i in range(count)], f"{tag}sw"
    table = "127.0.0.1 localhost\n" + "".join(f"{SUBNET}.{i + 1} {name}\n" for i, name in enumerate(names))
    try:
        _ip("ip", "netns", "add", switch)
        _ip("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("ip", "-n", switch, "link", "set", "bridge", "up")
        for i, name in enumerate(names):
            port = f"p{i}"
            _ip("ip", "netns", "add", name)
            _ip("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", port, "netns", switch)
            _ip("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
            _ip("ip", "-n", name, "addr", "add", f"{SUBNET}.{i + 1}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _ip("ip", "-n", name, "link", "set", device, "up")
            shape = ["root", "tbf", "rate", rate, "burst", burst, "latency", "50ms"]
            _ip("tc", "-n", name, "qdisc", "add", "dev", "eth0", *shape)
            _ip("tc", "-n", switch, "qdisc", "add", "dev", port, *shape)
            # BBR loses much of the rate whenever a host changes its partner.
            reno = ["sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"]
            subprocess.run(["ip", "netns", "exec", name, *reno], check=False, capture_output=True)
            folder = Path("/etc/netns", name)
            folder.mkdir(parents=True)
            (folder / "hosts").write_text(table)
        yield names
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for name in (*names, switch):
            # Ranks that are still running would keep their host alive without its name.
            left = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True).stdout
            for process in left.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
            (Path("/etc/netns", name) / "hosts").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                Path("/etc/netns", name).rmdir()


def end(number: int, _: Any) -> None:
    """Of the program by a signal, with hosts removed on the way."""
    raise SystemExit(128 + number)


def inside(name: str) -> list[str]:
    """What runs the command after it on a host, under its name."""
    return ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "-"]


def launch(names: list[str], agent: Path, *options: str) -> list[str]:
    """mpirun of Open MPI over the hosts, one rank each."""
    agent.write_text(
        "#!/bin/sh\n# In place of ssh: options, host, command.\n"
        'while [ "${1#-}" != "$1" ]; do shift; done\nhost=$1; shift\n'
        'exec ip netns exec "$host" unshare --uts sh -c \'hostname "$0"; exec sh -c "$*"\' "$host" "$@"\n'
    )
    agent.chmod(0o755)
    mca = {
        "plm_rsh_agent": str(agent),
        "btl": "tcp,self",
        "btl_tcp_if_include": f"{SUBNET}.0/24",
        "oob_tcp_if_include": f"{SUBNET}.0/24",
        # Connections are made in MPI_Init, as under the recorder, whose ranks agree on their clocks there; else they
        # are made by the first messages, which then take 10 ms.
        "mpi_preconnect_mpi": "1",
    }
    words = [
        "mpirun.openmpi",
        "-n",
        str(len(names)),
        "--host",
        ",".join(names),
        "--map-by",
        "node",
        "--bind-to",
        "none",
    ]
    for name, value in mca.items():
        words += ["--mca", name, value]
    return [*words, *options]


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
    print(f"{'example':16} {'measured':>10} {'loggp':>10} {'error':>8} {'loggopsim':>10} {'error':>8}")
    figures = {}
    for name, arguments in ((name, each) for name, sizes in SHOWN.items() for each in sizes):
        command = [*undisturbed(), str(folder / name), *arguments.split()]
        took: dict[str, list[float]] = {"measured": [], "loggp": [], "loggopsim": []}
        for _ in range(repeat):
            took["measured"].append(seconds_of(output([*home, *words, *command], folder)))
            record = [sys.executable, "-m", "isthmus", "record", "-o", str(folder / "x.h5"), "--", *words, *command]
            (folder / "x.h5").unlink(missing_ok=True)
            output([*home, *record], folder)
            program = isthmus.read(folder / "x.h5")
            for rule in RULES:
                took[rule].append(isthmus.simulate(program, level, receive=rule).makespan)
        middle = {what: statistics.median(times) for what, times in took.items()}
        name = f"{name} {arguments}"
        figures[name] = middle | {"runs": took["measured"]}
        print(f"{name:16} {middle['measured'] * 1e3:7.1f} ms " + _errors(middle, middle["measured"]), flush=True)
    return figures


def collectives(words: list[str], home: list[str], level: Any, folder: Path) -> dict[str, Any]:
    """Algorithms that Open MPI is told to take, and their simulation."""
    import isthmus

    print(f"{'collective':30} {'bytes':>8} {'measured':>10} {'loggp':>10} {'error':>8} {'loggopsim':>10} {'error':>8}")
    figures = {}
    for (kind, algorithm), number in FORCED.items():
        for size in SIZES:
            force = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", f"coll_tuned_{kind}_algorithm", str(number)]
            text = output([*home, *words, *force, *undisturbed(), str(folder / "hosts"), kind, str(size)], folder)
            measured = times(text)[kind, size]
            schedule = isthmus.collective(kind, ranks=2, bytes=size, algorithm=algorithm)
            guess = {rule: isthmus.simulate(schedule, level, receive=rule).makespan for rule in RULES}
            figures[f"{kind} {algorithm} {size}"] = {"measured": measured, **guess}
            print(
                f"{kind + ' ' + algorithm:30} {size:8} {measured * 1e3:7.1f} ms " + _errors(guess, measured), flush=True
            )
    return figures


def _errors(guess: dict[str, float], measured: float) -> str:
    return " ".join(f"{guess[rule] * 1e3:7.1f} ms {100 * (guess[rule] / measured - 1):+6.1f} %" for rule in RULES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="200mbit", help="of every link")
    parser.add_argument("--burst", default="8k", help="bytes that pass at once after a pause")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--part", choices=["examples", "collectives"], help="only this one")
    parser.add_argument("--check", action="store_true", help=f"fail where an example is more than {WITHIN} % off")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    if missing := obstacle():
        print(f"no hosts with a network between them: {missing}")
        return
    for number in SIGNALS:
        signal.signal(number, end)
    with tempfile.TemporaryDirectory() as scratch, hosts(2, options.rate, options.burst) as names:
        folder = Path(scratch)
        folder.chmod(0o755)
        words, home = launch(names, folder / "agent"), inside(names[0])
        subprocess.run(["mpicc.openmpi", "-O2", "-w", "-o", folder / "hosts", HERE / "hosts.c"], check=True)
        level = parameters(times(output([*home, *words, *undisturbed(), str(folder / "hosts")], folder)))
        print(f"two hosts, {options.rate}, bucket of {options.burst}: {level}", flush=True)
        figures: dict[str, Any] = {}
        if options.part != "collectives":
            figures["examples"] = examples(words, home, level, folder, options.repeat)
        if options.part != "examples":
            figures["collectives"] = collectives(words, home, level, folder)
    off = {
        name: error
        for name, times in figures.get("examples", {}).items()
        if abs(error := 100 * (times["loggp"] / times["measured"] - 1)) > WITHIN
    }
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2), encoding="utf-8")
    if options.check and off:
        raise SystemExit(
            f"more than {WITHIN} % off: " + ", ".join(f"{name} {error:+.1f} %" for name, error in off.items())
        )


if __name__ == "__main__":
    main()
