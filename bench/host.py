"""This host as a machine: messages between two of its cores, measured and put into a Machine file.

    python bench/host.py -o host.toml [--mpi openmpi|mpich] [--runs N]

Runs bench/host.c with two ranks on two cores, N times, and takes medians. From them: o_send is the time in MPI_Send of
one byte, o_recv that of MPI_Recv of one byte (no more than what is left of half a ping-pong), L the rest of half a
ping-pong, g the time from message to message in a burst, O the slope of MPI_Send (at most G), G the slope of the
ping-pong by least squares of relative errors, S the largest eager message. The program prints how far LogGOPS with
these numbers is from the ping-pong.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIND = {"openmpi": ["--bind-to", "core"], "mpich": ["-bind-to", "core"]}


@functools.cache
def undisturbed() -> tuple[str, ...]:
    """What runs the command after it under the kernel's real-time scheduler, where that is permitted.

    Ranks that wait keep their cores busy; other work would take half of the time of each, in slices as long as
    messages. The kernel's guard gives 50 ms of every second that ranks fill to others: runs above 0.9 s are disturbed.
    """
    words = ("chrt", "--rr", "1")
    if shutil.which("chrt") and subprocess.run([*words, "true"], capture_output=True).returncode == 0:
        return words
    return ()


def environment() -> dict[str, str]:
    """Variables for MPI programs: Open MPI may be run by root, in a container."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpirun(mpi: str, ranks: int, *command: str | Path) -> str:
    """Output of a command on this many ranks, each bound to a core of its own."""
    words = [f"mpirun.{mpi}", "-n", str(ranks), *BIND[mpi], *map(str, command)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


@dataclass(frozen=True)
class Fit:
    """LogGOPS parameters in SI units, and the half ping-pongs in seconds that they were found from, by bytes."""

    L: float
    o_send: float
    o_recv: float
    g: float
    G: float
    O: float  # noqa: E741 - the literature's name
    S: float
    oneway: dict[int, float]

    def message(self, size: int) -> float:
        """What the parameters say of half a ping-pong."""
        return self.o_send + self.L + self.o_recv + (size - 1) * max(self.G, self.O)


def measure(mpi: str, runs: int) -> dict[str, dict[int, float]]:
    """Medians over the runs: by what was measured, by bytes, in seconds (``eager``: its bytes are in the key)."""
    found: dict[str, dict[int, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "host"
        subprocess.run([f"mpicc.{mpi}", "-O2", "-w", "-o", program, HERE / "host.c"], check=True)
        for _ in range(runs):
            for line in mpirun(mpi, 2, *undisturbed(), program).splitlines():
                what, size, seconds = line.split()
                found.setdefault(what, {}).setdefault(int(size), []).append(float(seconds))
    return {what: {n: statistics.median(s) for n, s in sorted(by.items())} for what, by in found.items()}


def fit(measured: dict[str, dict[int, float]]) -> Fit:
    """Parameters from measurements of :func:`measure`."""
    oneway, send, receive = measured["oneway"], measured["send"], measured["receive"]
    least = oneway[1]
    o_send = min(send[1], least)
    o_recv = min(receive[1], least - o_send)
    # The G that makes the sum of ((least + (s - 1) G - t) / t)^2 smallest.
    pairs = [((s - 1) / t, 1 - least / t) for s, t in oneway.items()]
    slope = sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)
    largest = max(send)
    return Fit(
        L=least - o_send - o_recv,
        o_send=o_send,
        o_recv=o_recv,
        g=measured["rate"][1],
        G=slope,
        O=min(slope, max(0.0, send[largest] - send[1]) / max(1, largest - 1)),
        S=float(statistics.median(measured["eager"])),
        oneway=oneway,
    )


def document(found: Fit, library: str) -> dict[str, object]:
    """The Machine file, as a table of TOML."""
    from isthmus import units

    how = {
        "L": "half a ping-pong of 1 B, less o_send and o_recv",
        "o_send": "in MPI_Send of 1 B",
        "o_recv": "in MPI_Recv of 1 B that is there, at most what o_send leaves of half a ping-pong",
        "g": "message to message in a burst of 32 of 1 B",
        "G": "slope of half a ping-pong from 1 B to 1 MiB, least squares of relative errors",
        "O": "slope of the time in MPI_Send, at most G",
        "S": "largest message whose MPI_Send returns before its receive is posted",
    }
    unit = {"G": "s/B", "O": "s/B", "S": "B"}

    def number(name: str) -> dict[str, str]:
        value = units.text(float(f"{getattr(found, name):.4g}"), unit.get(name, "s"))
        return {"value": value, "source": "host", "status": "measured", "note": how[name]}

    level = {name: number(name) for name in how}
    cores = os.cpu_count() or 1
    today = datetime.date.today().isoformat()
    return {
        "format": 1,
        "name": "host",
        "title": f"{platform.node()}, {cores} cores, {library}",
        "sources": {"host": f"bench/host.py on {today}, two ranks of {library} on two cores"},
        "topology": {"kind": "linear", "dims": [1]},
        "node": {"cores": {"value": cores, "source": "host", "status": "measured"}},
        "level": {"socket": level, "node": level},
    }


def write_machine(path: str | os.PathLike[str], mpi: str, runs: int) -> Fit:
    """Measure this host and write its Machine file."""
    import tomli_w

    from isthmus.files import write_atomically

    version = subprocess.run([f"mpirun.{mpi}", "--version"], capture_output=True, text=True, check=True).stdout
    library = {"openmpi": "Open MPI", "mpich": "MPICH"}[mpi]
    number = next((w for w in version.split() if w[:1].isdigit()), "")
    found = fit(measure(mpi, runs))
    write_atomically(path, tomli_w.dumps(document(found, f"{library} {number}".strip())))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE", default="host.toml")
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    found = write_machine(options.output, options.mpi, options.runs)
    print(
        f"L {found.L * 1e9:.0f} ns, o_send {found.o_send * 1e9:.0f} ns, o_recv {found.o_recv * 1e9:.0f} ns, "
        f"g {found.g * 1e9:.0f} ns, G {found.G * 1e12:.0f} ps/B, O {found.O * 1e12:.0f} ps/B, S {found.S:.0f} B"
    )
    print("     bytes  half a ping-pong    LogGOPS   error")
    for size, seconds in found.oneway.items():
        model = found.message(size)
        print(f"{size:10,} {seconds * 1e6:13.2f} us {model * 1e6:7.2f} us {100 * (model / seconds - 1):+6.0f} %")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
