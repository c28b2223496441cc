"""ABINIT as it is packaged, by the collectives of its MPI and by ours; what a recording of it says about overlap.

    python bench/abinit.py [--ranks N] [--turns N] [--steps N] [--record]

Needs Debian's abinit and abinit-data (Open MPI). Eight atoms of silicon with plane waves, whose grid is cut among the
ranks: Fourier transforms with all-to-alls, and many small sums. The program is not changed.

Runs in turns. Printed for each way: median and range of ABINIT's own seconds (to a tenth), of those of the whole
command, which has the start of launchers and, of ours, the table at its end, and of the processor seconds of all
processes; and whether the energies of all steps are the same. With --record, the recorded program, simulated on two
nodes at 1 Gbit/s: calls that could be hidden.
"""

from __future__ import annotations

import argparse
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from host import BIND, environment

PSEUDOS = Path("/usr/share/abinit/psp")
INPUT = """
acell 3*10.26 rprim 1 0 0 0 1 0 0 0 1 chkprim 0
natom 8 ntypat 1 znucl 14 typat 8*1
xred 0 0 0 0.5 0.5 0 0.5 0 0.5 0 0.5 0.5 0.25 0.25 0.25 0.75 0.75 0.25 0.75 0.25 0.75 0.25 0.75 0.75
ecut 16 nband 20 kptopt 0 nkpt 1 kpt 0.25 0.25 0.25 istwfk 1
paral_kgb 1 npband 1 npfft {ranks} fftalg 401
nstep {steps} toldfe 1.0d-30 timopt 0 prtwf 0 prtden 0 prteig 0
pp_dirpath "{pseudos}"
pseudos "14si.pspnc"
"""
NETWORK = "ring:{ranks} cores=1 link=125MB/s network.L=30us network.G=8.5ns/B"


def run(words: list[str], folder: Path, ranks: int) -> tuple[list[float], list[str], str]:
    """Seconds of the program, of the command and of processors; energies by step; what was said on standard error."""
    for path in folder.glob("si.abo*"):
        path.unlink()
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        words, cwd=folder, env=environment() | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    energies = re.findall(r"^ ETOT +\d+ +(\S+)", done.stdout, re.MULTILINE)
    if done.returncode or not energies:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout)[-800:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    own = re.findall(r"Overall time at end \(sec\) : cpu= +\S+ +wall= +(\S+)", (folder / "si.abo").read_text())
    return [float(own[-1]) / ranks, seconds, spent], energies, done.stderr  # ABINIT adds those of all ranks up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="of the grid of plane waves: 1, 2, 4, ...")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12, help="of the self-consistent field")
    parser.add_argument("--record", action="store_true", help="record it too, and say what could be hidden")
    args = parser.parse_args()
    if shutil.which("abinit") is None or not PSEUDOS.is_dir():
        raise SystemExit("needs Debian's packages abinit and abinit-data")
    isthmus = [sys.executable, "-m", "isthmus"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "si.abi").write_text(INPUT.format(ranks=args.ranks, steps=args.steps, pseudos=PSEUDOS))
        start = ["mpirun.openmpi", "-n", str(args.ranks), *BIND["openmpi"], "abinit", "si.abi"]
        ways = {"Open MPI": start, "Isthmus": [*isthmus, "run", "--", *start]}
        found: dict[str, list[list[float]]] = {way: [] for way in ways}
        energies, said = [], ""
        for _ in range(args.turns):
            for way, words in ways.items():
                times, one, errors = run(words, folder, args.ranks)
                found[way].append(times)
                energies.append(one)
                said = errors if way == "Isthmus" else said
        for way, rows in found.items():
            told = [f"{statistics.median(t):.2f} s ({min(t):.2f} to {max(t):.2f})" for t in zip(*rows, strict=True)]
            print(f"{way:10} ABINIT {told[0]}, command {told[1]}, processors {told[2]}")
        same = sum(one == energies[0] for one in energies)
        print(f"energies of all {len(energies[0])} steps are those of the first run in {same} of {len(energies)} runs")
        print(said.strip())
        if args.record:
            run([*isthmus, "record", "-o", "abinit.h5", "--", *start], folder, args.ranks)
            advise = [*isthmus, "advise", "abinit.h5", "--machine", NETWORK.format(ranks=args.ranks)]
            advice = subprocess.run(advise, cwd=folder, capture_output=True, text=True, check=True).stdout
            print(advice)


if __name__ == "__main__":
    main()
