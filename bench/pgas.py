"""One-sided transfers, active messages, barriers, locks of libisthmus on two cores, beside windows of MPI.

    python bench/pgas.py [--mpi openmpi|mpich] [--rounds N]

Both run in turns (bench/pgas.c, bench/pgas_mpi.c), two processes bound to two cores. Printed are the least times of
batches in microseconds: of a put that is complete, of a request with its reply, of a barrier; of 64 KiB in pieces of so
many bytes, of which the space has every other one.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import uuid
from pathlib import Path

from host import HERE, mpirun

import isthmus

Times = dict[tuple[str, int], float]


def build(mpi: str, folder: Path) -> tuple[Path, Path]:
    """Both programs."""
    library = Path(isthmus.__file__).parent / "libisthmus"
    ours, theirs = folder / "pgas", folder / "pgas_mpi"
    words = ["cc", "-std=gnu11", "-O3", "-march=native", "-o", ours, HERE / "pgas.c", f"-I{library}/include"]
    subprocess.run([*words, f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"], check=True)
    subprocess.run([f"mpicc.{mpi}", "-std=gnu11", "-O3", "-w", "-o", theirs, HERE / "pgas_mpi.c"], check=True)
    return ours, theirs


def times(text: str) -> Times:
    """Microseconds by name and bytes."""
    return {(name, int(size)): float(us) for name, size, us in (line.split() for line in text.splitlines())}


def of_ours(program: Path, turns: int) -> Times:
    """One run of two processes."""
    job = f"bench-{uuid.uuid4().hex}"
    ranks = [
        subprocess.Popen([program, job, str(rank), "2", str(turns)], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    texts = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise SystemExit("a rank failed")
    return times(texts[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="openmpi", help="openmpi (default) or mpich")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default: 5)")
    args = parser.parse_args()
    found: dict[str, Times] = {"isthmus": {}, args.mpi: {}}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = build(args.mpi, Path(folder))
        for _ in range(args.rounds):
            for who, run in (("isthmus", of_ours(ours, 5)), (args.mpi, times(mpirun(args.mpi, 2, theirs, "5")))):
                for key, us in run.items():
                    found[who][key] = min(us, found[who].get(key, us))
    print(f"{'':16}{'bytes':>9}{'isthmus':>12}{args.mpi:>12}")
    for (name, size), us in found["isthmus"].items():
        other = found[args.mpi].get((name, size))
        print(f"{name:16}{size:9}{us:12.4f}{'' if other is None else f'{other:12.4f}'}")


if __name__ == "__main__":
    main()
