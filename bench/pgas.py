"""One-sided transfers, active messages, barriers, locks of libisthmus on two cores, beside windows of MPI.

    python bench/pgas.py [--mpi openmpi|mpich] [--rounds N] [--gasnet PREFIX] [--only WORD...] [--rows NAME...]
    python bench/pgas.py --programs

All run in turns (bench/pgas.c, bench/pgas_mpi.c), two processes bound to two cores: libisthmus in shared memory
(`shared`) and as between nodes, over MPI (`over MPI`) and over libfabric's TCP (`over ofi`); windows of memory that MPI
has allocated, which are shared memory, too (`window`), and of memory of the program (`window over`). Printed are the
least times of batches in microseconds: of a put that is complete, of one of 64 that are under way at once
(`begin-put`), of a request with its reply, of a barrier; of 64 KiB in pieces of so many bytes, of which the space has
every other one (`strided`, `indexed`, `vector`, `get-strided`); of collectives in a row, of which only the last is
waited for, by the modes of synchronisation on entry and exit (`broadcast-all`, `broadcast-my`, `broadcast-none`, ...).
With ISTHMUS_PACKED=1 in the environment every piece goes by itself, with 100000 all are packed.
Beside `short` stand messages of 64 bytes of MPI itself, there and back.

With `--gasnet`: GASNet-EX (bench/pgas_gasnet.c) beside them, in shared memory (`GASNet smp`) and over MPI (`GASNet
mpi`), from the folder where it was installed, with its conduits smp and mpi for one thread (`--enable-seq`), the latter
for the same MPI library. It binds its ranks as the others are bound. With `--only`: of these columns, by words in their
names; with `--rows`: of these things.

With `--programs`: those of examples/pgas/ that have a version with MPI, beside that, in seconds. What both compute must
be the same to the last bit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import uuid
from pathlib import Path

from host import HERE, mpirun
from pgas_programs import compared

import isthmus

Times = dict[tuple[str, int], float]


def build(mpi: str, folder: Path) -> tuple[Path, Path, Path]:
    """The three programs: of one node, over MPI, and by windows of MPI."""
    library = Path(isthmus.__file__).parent / "libisthmus"
    ours, over, theirs = folder / "pgas", folder / "pgas_over", folder / "pgas_mpi"
    for words in (["cc", "-o", ours], [f"mpicc.{mpi}", "-w", "-DOVER_MPI", "-o", over]):
        command = [*words, "-std=gnu11", "-O3", "-march=native", HERE / "pgas.c", f"-I{library}/include"]
        subprocess.run([*command, f"-L{library}/lib", f"-Wl,-rpath,{library}/lib", "-listhmus"], check=True)
    subprocess.run([f"mpicc.{mpi}", "-std=gnu11", "-O3", "-w", "-o", theirs, HERE / "pgas_mpi.c"], check=True)
    return ours, over, theirs


def times(text: str) -> Times:
    """Microseconds by name and bytes."""
    return {(name, int(size)): float(us) for name, size, us in (line.split() for line in text.splitlines())}


def build_gasnet(prefix: str, mpi: str, folder: Path) -> dict[str, Path]:
    """GASNet's program for each conduit."""
    built = {}
    found = {**os.environ, "PKG_CONFIG_PATH": str(Path(prefix, "lib", "pkgconfig").resolve())}
    for conduit in ("smp", "mpi"):
        built[conduit] = folder / f"pgas_gasnet_{conduit}"
        flags = [
            subprocess.run(
                ["pkg-config", option, f"gasnet-{conduit}-seq"], env=found, check=True, capture_output=True, text=True
            ).stdout.split()
            for option in ("--cflags", "--libs")
        ]
        command = [f"mpicc.{mpi}", "-std=gnu11", "-O3", "-march=native", *flags[0], "-o", built[conduit]]
        subprocess.run([*command, HERE / "pgas_gasnet.c", *flags[1]], check=True)
    return built


def of_gasnet(program: Path, turns: int) -> Times:
    """One run of two processes that share memory."""
    environment = {**os.environ, "GASNET_PSHM_NODES": "2", "GASNET_SUPERNODE_MAXSIZE": "0"}
    done = subprocess.run([program, str(turns)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return times(done.stdout)


def of_ours(program: Path, turns: int, **more: str) -> Times:
    """One run of two processes."""
    job = f"bench-{uuid.uuid4().hex}"
    environment = {**os.environ, "ISTHMUS_RENDEZVOUS": "127.0.0.1:7119", **more}
    ranks = [
        subprocess.Popen([program, job, str(rank), "2", str(turns)], stdout=subprocess.PIPE, text=True, env=environment)
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
    parser.add_argument("--programs", action="store_true", help="time the programs of examples/pgas/ instead")
    parser.add_argument("--gasnet", metavar="PREFIX", help="where GASNet-EX was installed, to be measured beside")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="columns whose names hold one of these words")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="what is timed: put, strided, barrier, ...")
    args = parser.parse_args()
    if args.rows is not None:
        os.environ["PGAS_ROWS"] = f",{','.join(args.rows)},"
    if args.programs:
        compared(args.mpi, args.rounds)
        return
    found: dict[str, Times] = {}
    with tempfile.TemporaryDirectory() as folder:
        ours, over, theirs = build(args.mpi, Path(folder))
        contestants = {
            "shared": lambda: of_ours(ours, 5),
            "over ofi": lambda: of_ours(ours, 1, ISTHMUS_TRANSPORT="ofi"),
            "over MPI": lambda: times(mpirun(args.mpi, 2, over, "5")),
            "window": lambda: times(mpirun(args.mpi, 2, theirs, "5")),
            "window over": lambda: times(mpirun(args.mpi, 2, theirs, "5", "over")),
        }
        if args.gasnet is not None:
            gasnet = build_gasnet(args.gasnet, args.mpi, Path(folder))
            os.environ["GASNET_SUPERNODE_MAXSIZE"] = "1"  # of its processes over MPI: none share memory
            contestants["GASNet smp"] = lambda: of_gasnet(gasnet["smp"], 5)
            contestants["GASNet mpi"] = lambda: times(mpirun(args.mpi, 2, gasnet["mpi"], "5"))
        if args.only is not None:
            contestants = {who: run for who, run in contestants.items() if any(word in who for word in args.only)}
        for _ in range(args.rounds):
            for who, run in contestants.items():
                least = found.setdefault(who, {})
                for key, us in run().items():
                    least[key] = min(us, least.get(key, us))
    print(f"{'':16}{'bytes':>9}" + "".join(f"{who:>13}" for who in contestants))
    rows = dict.fromkeys(key for least in found.values() for key in least)
    for key in rows:
        row = [found[who].get(key) for who in contestants]
        print(f"{key[0]:16}{key[1]:9}" + "".join(f"{'':13}" if us is None else f"{us:13.4f}" for us in row))


if __name__ == "__main__":
    main()
