"""Puts to several peers and over several links at once, between emulated hosts, beside messages of MPI (needs root).

    python bench/pgas_peers.py [--mpi openmpi|mpich] [--hosts 2 4] [--ranks 4] [--rate 200mbit] [--turns N]

Four ranks on two hosts and on four (tests/py/emulated_hosts.py), bench/pgas_peers.c: rank 0 puts to rank 1, rank 0 to
all others in turns, every rank to the next one, every rank to all others, 24 puts under way on each. Printed are
microseconds of a put of libisthmus and of a message of the MPI library, of the slowest rank with the barrier at the
end, and the rate at which rank 0 puts beside what its link carries. A put is done when its bytes are there. The column
"answered" is of messages of MPI that wait for the same: receivers answer once a batch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from host import HERE, environment

import isthmus

sys.path.insert(0, str(HERE.parent / "tests" / "py"))
import emulated_hosts


def build(mpi: str, folder: Path) -> Path:
    library = Path(isthmus.__file__).parent / "libisthmus"
    program = folder / "peers"
    command = [f"mpicc.{mpi}", "-std=gnu11", "-O3", "-w", "-o", program, HERE / "pgas_peers.c"]
    command += [f"-I{library}/include", f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"]
    subprocess.run(command, check=True)
    return program


def measured(
    mpi: str, program: Path, hosts: int, ranks: int, rate: str, turns: int
) -> list[tuple[str, int, float, float, float]]:
    """What, bytes, microseconds of ours, of MPI and of MPI with answers."""
    with emulated_hosts.hosts(hosts, rate) as there:
        launcher = there.openmpi(ranks // hosts) if mpi == "openmpi" else there.mpich(ranks // hosts)
        done = subprocess.run(
            [*there.inside(), *launcher, program, str(turns)], env=environment(), capture_output=True, text=True
        )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    rows = [line.split(",") for line in done.stdout.splitlines() if line.count(",") == 4]
    return [(what, int(size), *map(float, times)) for what, size, *times in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="openmpi (default) or mpich")
    parser.add_argument("--hosts", type=int, nargs="+", default=[2, 4], help="default: 2 and 4")
    parser.add_argument("--ranks", type=int, default=4, help="default: 4")
    parser.add_argument("--rate", default="200mbit", help="of each link and direction (default: 200mbit)")
    parser.add_argument("--turns", type=int, default=3, help="default: 3")
    args = parser.parse_args()
    if reason := emulated_hosts.obstacle(f"mpirun.{args.mpi}"):
        raise SystemExit(reason)
    wire = 1e-6 / emulated_hosts.seconds_per_byte(args.rate)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = build(args.mpi, Path(folder))
        for hosts in args.hosts:
            found = measured(args.mpi, program, hosts, args.ranks, args.rate, args.turns)
            title = f"{args.ranks} ranks on {hosts} hosts, us a put"
            print(f"{title:34}{'bytes':>12}{'ours':>12}{'MPI':>12}{'answered':>12}{'MB/s':>9} of {wire:.0f}")
            for what, size, ours, theirs, answered in found:
                print(f"{what:34}{size:12}{ours:12.2f}{theirs:12.2f}{answered:12.2f}{size / ours:9.1f}")


if __name__ == "__main__":
    main()
