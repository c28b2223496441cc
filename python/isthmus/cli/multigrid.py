"""isthmus multigrid ..."""

from __future__ import annotations

import os
from typing import Any

import click

from ..errors import InvalidInput
from .multigrid_extrapolate import extrapolate
from .multigrid_inputs import paid_costs, read_hierarchy
from .multigrid_output import told
from .multigrid_problem import of_problem, parts_of_rows
from .multigrid_program import program
from .multigrid_setup import setup
from .multigrid_solve import solve
from .options import check_file, json_option, pictures, several, shared
from .output import print_json
from .run import OfProgram


@click.group(
    "multigrid",
    epilog="\b\nExamples:\n"
    "  isthmus multigrid counts laplace7 --points 40x40x40 --launch 'mpirun -n 8 --oversubscribe' -o levels.h5\n"
    "  isthmus multigrid counts laplace7 --points 100x100x100 --coarsening pmis --parts 1000 -o levels.h5\n"
    "  isthmus multigrid trace -o levels.h5 -- mpirun -n 4 ./solver\n"
    "  isthmus multigrid model levels.h5 --machine eos --cost flop=0.5e-9\n"
    "  isthmus multigrid redistribute levels.h5 --machine eos --cost flop=0.5e-9\n"
    "  isthmus multigrid setup levels.h5 --machine eos --cost flop=0.5e-9\n"
    "  isthmus multigrid program levels.h5 --cost flop=0.5e-9 -o cycle.h5\n"
    "  isthmus multigrid extrapolate h8.h5 h27.h5 h64.h5 h125.h5 --ranks 512\n"
    "  isthmus multigrid solve laplace7 --points 40x40x40 --launch 'mpirun -n 8 --oversubscribe' --gather 2=2\n"
    "  isthmus show levels.h5 --plot levels=levels.png",
)
def command() -> None:
    """Multigrid solvers: what every level holds, exchanges and costs, and which levels to gather on fewer processes."""


command.add_command(program)
command.add_command(extrapolate)
command.add_command(setup)
command.add_command(solve)


@command.command(
    "counts",
    epilog="\b\nExamples:\n"
    "  isthmus multigrid counts laplace27 --points 30x30x30 --launch 'mpirun -n 8 --oversubscribe'\n"
    "  isthmus multigrid counts elasticity --points 20x20x20 --parts 64 --coarsening pmis -o levels.h5\n"
    "  isthmus multigrid counts matrix.mtx --parts 64 --partition metis\n"
    "  isthmus multigrid counts matrix.mtx --launch 'mpirun -n 4' --aggressive 1 --cycles 10",
    help="Run the setup of hypre's BoomerAMG, and count what every rank holds and sends on every level.\n\n"
    "PROBLEM is laplace7, laplace27, anisotropic, jumps, rotated (two dimensions) or elasticity on a grid of --points, "
    "or the file of a matrix (Matrix Market, .npz of SciPy). With --launch it runs on real ranks, as many as the "
    "launcher starts; with --parts on one rank, whose hierarchy is cut into parts, thousands if need be. hypre must be "
    "installed (apt install libhypre-dev); the program is compiled at first use.",
)
@of_problem
@click.option("--parts", type=click.IntRange(1), metavar="N", help="Cut the hierarchy of one rank into so many parts.")
@click.option(
    "--partition",
    default="boxes",
    show_default=True,
    metavar="NAME|FILE",
    help="How it is cut: boxes of the grid (of a matrix, ranges of rows), metis, kahip, or as a file says, with the "
    "part of a row, counted from 0, on every line.",
)
@shared("cycles", " to time after the setup", type=click.IntRange(0), default=0)
@shared("output", "the hierarchy, .h5")
@json_option
def counts(
    given: dict[str, Any], parts: int | None, partition: str, cycles: int, output: str | None, as_json: bool
) -> None:
    from ..multigrid import boomeramg

    if output is not None:
        check_file("-o", output, (".h5", ".hdf5"))
    found = boomeramg(
        **given,
        parts=parts,
        partition=parts_of_rows(partition),
        cycles=cycles,
        say=lambda text: click.echo(f"isthmus: {text}", err=True),
    )
    told(found, output, as_json)


@command.command(
    "trace",
    cls=OfProgram,
    epilog="\b\nExamples:\n  isthmus multigrid trace -o levels.h5 -- mpirun -n 4 ./solver\n"
    "  isthmus multigrid trace --directory /scratch -o levels.h5 -- srun -n 64 ./solver",
    help="Run a program that uses hypre, and write the hierarchy of the last BoomerAMG that it sets up.\n\n"
    "hypre must be linked as a shared library. Elsewhere, link libisthmus_hypre (isthmus multigrid library) and call "
    "isthmus_hypre_write(solver, file) on all ranks after the setup; isthmus show reads that file, too.",
)
@shared("directory", "; by default /tmp")
@shared("mpicc")
@shared("output", "the hierarchy, .h5", required=True)
@json_option
@click.pass_context
def trace(ctx: click.Context, directory: str | None, mpicc: str | None, output: str, as_json: bool) -> None:
    import tempfile

    from ..multigrid.hypre import traced

    check_file("-o", output, (".h5", ".hdf5"))
    words = ctx.meta.get("isthmus.program")
    if not words:
        raise InvalidInput("give the program behind --, such as: isthmus multigrid trace -o h.h5 -- mpirun -n 4 ./app")
    with tempfile.TemporaryDirectory(prefix="isthmus-", dir=directory) as folder:
        found = traced(words, os.path.join(folder, "counts"), mpicc)
    told(found, output, as_json)


@command.command(
    "library",
    epilog="\b\nExamples:\n  isthmus multigrid library\n  isthmus multigrid library --amg\n"
    "  isthmus multigrid library --mpicc mpicc.openmpi",
    help="Print what a program is compiled with that calls isthmus_hypre_write (isthmus_hypre.h): mpicc solver.c "
    "$(isthmus multigrid library) -lHYPRE.\n\n"
    "With --amg, one that solves with gathered levels (isthmus_amg.h).",
)
@click.option("--amg", is_flag=True, help="The library of isthmus_amg.h, which gathers coarse levels.")
@shared("mpicc")
@json_option
def library(amg: bool, mpicc: str | None, as_json: bool) -> None:
    from ..mpi.build import folder_of
    from ..mpi.launcher import Launcher
    from ..multigrid.hypre import installed, mpi_of, solving_library
    from ..multigrid.hypre import library as writing_library

    built = solving_library if amg else writing_library
    path = built(mpi_of(Launcher(()), mpicc), lambda text: click.echo(f"isthmus: {text}", err=True))
    include = [flag for flag in installed().flags if flag.startswith("-I")]
    folder = path.parent
    flags = [f"-I{folder_of('solvers', 'isthmus_hypre.h')}", *include, f"-L{folder}", f"-Wl,-rpath,{folder}"]
    flags.append("-listhmus_amg" if amg else "-listhmus_hypre")
    if as_json:
        print_json({"flags": flags, "library": os.fspath(path)})
    else:
        click.echo(" ".join(flags))


_CYCLES = several(
    shared("machine", required=True),
    shared("ranks_per_node", "; by default as many as it has cores"),
    shared("cost"),
    shared("cycle"),
    shared("smoother"),
)


@command.command(
    "model",
    epilog="\b\nExamples:\n  isthmus multigrid model levels.h5 --machine eos --cost flop=0.5e-9\n"
    "  isthmus multigrid model levels.h5 --machine eos --cycle W --smoother chebyshev --plot scenarios.png\n"
    "  isthmus multigrid model levels.h5 --machine cielo --measured 1e-3,8e-4,5e-4",
    help="Model what a cycle costs on every level, by all scenarios: alpha and beta, distances, penalties.\n\n"
    "FILE holds a hierarchy. Distances and links are those of as many nodes as its parts fill.",
)
@click.argument("file", metavar="FILE")
@_CYCLES
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Of a process.")
@click.option("--measured", metavar="LIST", help="Seconds of every level: the scenario nearest to them is marked.")
@shared("plot")
@json_option
def model(
    file: str, machine: str, ranks_per_node: int | None, cost: tuple[str, ...], shape: str, smoother: str, threads: int,
    measured: str | None, plot: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    from ..multigrid import scenarios

    hierarchy = read_hierarchy(file)
    paid = paid_costs(machine, ranks_per_node, cost, hierarchy.parts)
    seconds = None
    if measured is not None:
        try:
            seconds = [float(word) for word in measured.split(",")]
        except ValueError:
            raise InvalidInput(f"--measured {measured}: expected numbers of seconds, such as 1e-3,8e-4") from None
    found = scenarios(
        hierarchy, paid.costs, measured=seconds, cores=paid.per_node, shape=shape, smoother=smoother, threads=threads
    )
    drawn = [path for _, path in pictures("--plot", plot, ("scenarios",))]
    for path in drawn:
        found.plot(path)
    if as_json:
        told = {"best": found.best, "facts": dict(hierarchy.facts), "scenarios": list(found.frame())}
        print_json(told | ({"files": drawn} if drawn else {}))
        return
    click.echo(str(found))
    if "extrapolated" in hierarchy.facts:
        click.echo(f"The hierarchy is extrapolated {hierarchy.facts['extrapolated']}.")
    paid.tell()
    for path in drawn:
        click.echo(f"wrote {path}")


@command.command(
    "exchange",
    epilog="\b\nExamples:\n  isthmus multigrid exchange levels.h5 --machine bluewaters\n"
    "  isthmus multigrid exchange levels.h5 --machine eos --cycle W --json",
    help="Tell on which levels to exchange in steps, so that fewer messages leave a node.\n\n"
    "FILE holds a hierarchy. Messages from process to process are compared with those that first gather on a node what "
    "goes to the same node (two and three steps).",
)
@click.argument("file", metavar="FILE")
@_CYCLES
@json_option
def exchange(
    file: str, machine: str, ranks_per_node: int | None, cost: tuple[str, ...], shape: str, smoother: str, as_json: bool
) -> None:
    from ..multigrid import node_aware

    hierarchy = read_hierarchy(file)
    paid = paid_costs(machine, ranks_per_node, cost, hierarchy.parts)
    found = node_aware(hierarchy, paid.costs, cores=paid.per_node, shape=shape, smoother=smoother)
    if as_json:
        print_json({"levels": list(found.frame()), "cycle": dict(found.cycle)})
    else:
        click.echo(str(found))


@command.command(
    "redistribute",
    epilog="\b\nExamples:\n  isthmus multigrid redistribute levels.h5 --machine eos --cost flop=0.5e-9\n"
    "  isthmus multigrid redistribute levels.h5 --machine eos --redundant -o gathered.h5",
    help="Tell at which coarse level to gather the rows on how many processes, and what a cycle saves.\n\n"
    "FILE holds a hierarchy. Beside the best way that the model knows stand the published rule by which a solver "
    "decides during its setup, and the thresholds of hypre, PETSc, MueLu and AMGCL.",
)
@click.argument("file", metavar="FILE")
@_CYCLES
@shared("redundant")
@shared("hypre_threshold", default=1000)
@shared("output", "the hierarchy with gathered levels, .h5")
@json_option
def redistribute(
    file: str, machine: str, ranks_per_node: int | None, cost: tuple[str, ...], shape: str, smoother: str,
    redundant: bool, hypre_threshold: int, output: str | None, as_json: bool,
) -> None:  # fmt: skip
    from ..multigrid import gathered
    from ..multigrid import redistribute as decide
    from ..multigrid.redistribution import sizes_of_classes

    if output is not None:
        check_file("-o", output, (".h5", ".hdf5"))
    hierarchy = read_hierarchy(file)
    paid = paid_costs(machine, ranks_per_node, cost, hierarchy.parts)
    found = decide(
        hierarchy, paid.costs, cores=paid.per_node, redundant=redundant, hypre_threshold=hypre_threshold,
        caches=sizes_of_classes(paid.machine),
        shape=shape, smoother=smoother,
    )  # fmt: skip
    if output is not None:
        gathered(hierarchy, found.switches).save(output)
    if as_json:
        more = {"reasons": list(found.reasons), "rules": list(found.frame())}
        print_json({"switches": dict(found.switches)} | more | ({} if output is None else {"file": output}))
        return
    click.echo(str(found))
    paid.tell()
    if output is not None:
        click.echo(f"wrote {output}")
