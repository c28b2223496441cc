"""BoomerAMG's setup on real ranks: the C programs of ``solvers/``, compiled for the MPI and the hypre at hand."""

from __future__ import annotations

import math
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput
from ..extras import optional
from ..mpi import build as building
from ..mpi.detection import Mpi
from ..mpi.launcher import Launcher
from .counts_file import read_counts
from .hierarchy import Hierarchy, hierarchy
from .partition import CUTTERS, boxes, cut

if TYPE_CHECKING:
    import scipy.sparse

#: Generated problems, and what they are.
PROBLEMS = {
    "laplace7": "Laplace equation, 7-point stencil",
    "laplace27": "Laplace equation, 27-point stencil",
    "anisotropic": "conductivity epsilon along z, 1 along x and y",
    "jumps": "cubes of two materials, the one conducting jump times better; four along each axis",
    "rotated": "in a plane: conductivity 1 along the angle, epsilon across; bilinear elements",
    "elasticity": "a block held at x = 0, three displacements a point; trilinear elements",
}
#: hypre's numbers of its kinds of coarsening and interpolation.
COARSENING = {"cljp": 0, "ruge-stueben": 1, "ruge-stueben-3": 3, "falgout": 6, "pmis": 8, "hmis": 10, "cgc": 21}
INTERPOLATION = {
    "classical": 0,
    "direct": 3,
    "multipass": 4,
    "extended+i": 6,
    "extended+i-cc": 7,
    "standard": 8,
    "ff": 12,
    "ff1": 13,
    "extended": 14,
    "extended+e": 18,
}
_FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-w")
_WRITING = ("write.c", "text.c")
_READING = ("input.c", "grid.c", "problems.c")
_SOLVING = ("amg.c", "early.c", "choice.c", "route.c", "gather.c", "smooth.c", "halo.c", "exchange.c", "steps.c")
_FOLDERS = ("/usr/include/hypre", "/usr/local/include", "/usr/local/include/hypre", "/opt/hypre/include")
#: Options that go to hypre as numbers: truncation factor, sweeps, kind of smoother, and so on.
OPTIONS = (
    *(
        "truncate",
        "agg_interp",
        "relax",
        "sweeps",
        "cycle",
        "fcycle",
        "restrict",
        "nodal",
        "levels",
        "coarse_rows",
        "seq",
    ),
    *("order", "degree", "weight", "epsilon", "angle", "jump"),
)
_MISSING = (
    "hypre is not installed: apt install libhypre-dev (for Open MPI), or give the folder of an installation as "
    "HYPRE_DIR"
)


@dataclass(frozen=True, slots=True)
class Installed:
    """Where hypre is: options of the compiler and of the linker."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]


def installed() -> Installed:
    """Find hypre: in ``$HYPRE_DIR``, otherwise where distributions put it.

    Raises
    ------
    InvalidInput
        If it is in none of these places; the message says what to install.
    """
    given = os.environ.get("HYPRE_DIR")
    folders = [Path(given) / "include", Path(given)] if given else [Path(folder) for folder in _FOLDERS]
    include = next((folder for folder in folders if (folder / "HYPRE_parcsr_ls.h").is_file()), None)
    if include is None:
        raise InvalidInput(f"HYPRE_DIR={given}: there is no include/HYPRE_parcsr_ls.h" if given else _MISSING)
    lib = Path(given) / "lib" if given else None
    where = (f"-L{lib}", f"-Wl,-rpath,{lib}") if lib else ()
    return Installed((*_FLAGS, f"-I{include}"), (*where, "-lHYPRE", "-lm"))


def program(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the program that runs BoomerAMG's setup, compiled at first use.

    Raises
    ------
    InvalidInput
        If hypre is missing, or the program does not compile.
    """
    found = installed()
    files = ("main_hypre.c", *_WRITING, *_READING)
    folder = building.folder_of("solvers", "isthmus_hypre.h")
    return building.build(
        building.Sources("hypre program", folder, "hypre", files, found.flags, found.libraries), mpi, say
    )


def solving_program(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the program that solves with gathered levels, compiled at first use; errors as of :func:`program`."""
    return _with_runtime("hypre solver", "solve", ("main_solve.c", "counting.c", "text.c", *_READING), mpi, say)


def library(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the library with ``isthmus_hypre_write``, which can also be preloaded; errors as of :func:`program`."""
    found = installed()
    folder = building.folder_of("solvers", "isthmus_hypre.h")
    # It uses the program's own hypre where it is preloaded.
    files, target = ("preload.c", *_WRITING), "libisthmus_hypre.so"
    return building.build(
        building.Sources("hypre library", folder, target, files, found.flags, (*found.libraries, "-ldl")), mpi, say
    )


def solving_library(mpi: Mpi, say: Callable[[str], None] | None = None) -> Path:
    """Return the library with the functions of ``isthmus_amg.h``; errors as of :func:`program`."""
    return _with_runtime("hypre solver library", "libisthmus_amg.so", (), mpi, say)


def _with_runtime(name: str, target: str, files: tuple[str, ...], mpi: Mpi, say: Callable[[str], None] | None) -> Path:
    found = installed()
    folder = building.folder_of("solvers", "isthmus_hypre.h")
    runtime = building.folder_of("libisthmus", "include/isthmus/isthmus.h")
    flags = (*found.flags, f"-I{runtime / 'include'}")
    libraries = (f"-L{runtime / 'lib'}", f"-Wl,-rpath,{runtime / 'lib'}", "-listhmus", *found.libraries)
    return building.build(building.Sources(name, folder, target, (*files, *_SOLVING), flags, libraries), mpi, say)


def boomeramg(
    problem: str | scipy.sparse.sparray | scipy.sparse.spmatrix,
    points: Sequence[int] | None = None,
    *,
    launch: str | None = None,
    parts: int | None = None,
    partition: str | ArrayLike = "boxes",
    coarsening: str = "hmis",
    interpolation: str = "extended+i",
    elements: int = 4,
    aggressive: int = 0,
    threshold: float = 0.25,
    unknowns: int | None = None,
    options: Mapping[str, float] | None = None,
    cycles: int = 0,
    mpicc: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] | None = None,
    watch: Callable[[], None] | None = None,
) -> Hierarchy:
    """Run the setup of hypre's BoomerAMG, and count what every level holds and exchanges.

    Parameters
    ----------
    problem : str or sparse matrix
        ``"laplace7"``, ``"laplace27"``, ``"anisotropic"``, ``"jumps"``, ``"rotated"``, ``"elasticity"``, or a matrix,
        whose rows are dealt out evenly in their order.
    points : sequence of int
        Points of the grid of a generated problem, such as ``(40, 40, 40)``; of ``"rotated"`` two.
    launch : str, optional
        What starts the ranks, such as ``"mpirun -n 64 --oversubscribe"``; by default one rank.
    parts : int, optional
        Run on one rank, and cut the hierarchy into so many parts. Only with one rank.
    partition : str or array of int, rows of the finest matrix
        How: ``"boxes"`` of the grid (of a matrix, ranges of rows), ``"metis"`` or ``"kahip"`` (:func:`cut`), or the
        part of each row.
    coarsening, interpolation : str
        Names of :data:`COARSENING` and :data:`INTERPOLATION`, or hypre's numbers as text.
    elements : int
        Most nonzeros of a row of an interpolation; 0: all.
    aggressive : int
        Levels of aggressive coarsening.
    threshold : float
        Of strong connections.
    unknowns : int, optional
        Functions of a point, which are coarsened apart; by default 3 for elasticity, otherwise 1.
    options : mapping, optional
        More numbers for hypre and problems: ``truncate``, ``agg_interp``, ``relax``, ``sweeps``, ``cycle``,
        ``restrict``, ``nodal``, ``levels``, ``coarse_rows``, ``seq``, ``order`` (1: rows of the next level first),
        ``degree`` of Chebyshev, ``weight``; ``epsilon``, ``angle`` in degrees, ``jump``.
    cycles : int
        Cycles that are timed after the setup: ``hierarchy.facts`` then has seconds of one, by how much they reduce the
        residual, and seconds of products with the matrices of all levels.
    mpicc : str, optional
        Compiler of the MPI that hypre uses.
    directory : path, optional
        Folder for temporary files that all ranks see.
    say, watch : callable, optional
        Told what is built; called every 0.2 s meanwhile.

    Raises
    ------
    InvalidInput
        If hypre is missing, a name is none, ranks do not fit the grid, the matrix is not square, or hypre fails.

    Examples
    --------
    >>> from isthmus import multigrid
    >>> multigrid.boomeramg("laplace7", (20, 20, 20), launch="mpirun -n 4")  # doctest: +SKIP
    <Hierarchy: 5 levels on 4 parts>
    """
    words = settings(coarsening, interpolation, elements, aggressive, threshold, options) | {"cycles": cycles}
    launcher, ranks = started(launch)
    way = partition if isinstance(partition, str) else None
    owner = None if way is not None else np.asarray(partition)
    if way not in (None, "boxes", *CUTTERS):
        raise InvalidInput(f"partition {way!r}: must be boxes, {', '.join(CUTTERS)}, or the part of each row")
    if parts is None and way in CUTTERS:
        raise InvalidInput(f"partition {way!r}: give the number of parts")
    if ranks > 1 and (parts is not None or owner is not None):
        raise InvalidInput(f"a hierarchy on {ranks} ranks cannot be cut into parts: only one rank's can")
    built = program(mpi_of(launcher, mpicc), say)
    with tempfile.TemporaryDirectory(prefix="isthmus-", dir=directory) as folder:
        out, matrices = os.path.join(folder, "counts"), os.path.join(folder, "matrices")
        arguments, rows = described(problem, points, ranks, unknowns, folder)
        each = 3 if isinstance(problem, str) and problem == "elasticity" else 1
        if parts is not None and parts > rows and not (way == "boxes" and isinstance(problem, str)):
            raise InvalidInput(f"a matrix of {rows} rows in {parts} parts: each must have a row")
        if owner is not None and owner.shape != (rows,):
            raise InvalidInput(f"parts of {owner.size} rows are given, the matrix has {rows}")
        if parts is not None and way == "boxes":
            grid = _grid(problem, points) if isinstance(problem, str) else (rows,)
            owner = np.repeat(boxes(grid, parts), each)
        cutting = parts is not None or owner is not None
        arguments += [f"out={out}", *([f"matrices={matrices}"] if cutting else [])]
        arguments += [f"{name}={value}" for name, value in words.items()]
        done = launcher.run(built, *arguments, watch=watch)
        if done.status or not os.path.isfile(out):
            raise InvalidInput(f"hypre failed (exit status {done.status}): {done.last_words()}")
        found = read_counts(out)
        if not cutting:
            return found
        levels = read_matrices(matrices)
        if owner is None:
            assert parts is not None  # by a name, for which the number of parts is asked above
            assert way is not None
            owner = cut(levels[0][0], parts, by=way, unknowns=unknowns or each)
        return Hierarchy(hierarchy(levels, owner, parts=parts).levels, found.facts)


def started(launch: str | None) -> tuple[Launcher, int]:
    """Return a launcher, by default none for one rank, and the number of ranks that it starts."""
    launcher = Launcher.parse(launch) if launch else Launcher((), 1)
    if launcher.ranks is None:
        raise InvalidInput(f"--launch {launch}: give the number of ranks, such as mpirun -n 4")
    return launcher, launcher.ranks


def settings(
    coarsening: str,
    interpolation: str,
    elements: int,
    aggressive: int,
    threshold: float,
    options: Mapping[str, float] | None,
) -> dict[str, float]:
    """Return options of BoomerAMG as the programs read them; errors as of :func:`boomeramg`."""
    words: dict[str, float] = {
        "coarsen": _number("coarsening", coarsening, COARSENING),
        "interp": _number("interpolation", interpolation, INTERPOLATION),
        "elements": elements,
        "agg": aggressive,
        "threshold": threshold,
    }
    for name, value in (options or {}).items():
        if name not in OPTIONS:
            raise InvalidInput(f"option {name}: must be one of {', '.join(OPTIONS)}")
        words[name] = value
    return words


def described(
    problem: Any, points: Sequence[int] | None, ranks: int, unknowns: int | None, folder: str
) -> tuple[list[str], int]:
    """Return what tells the programs of a problem, and its rows; a matrix is written to the folder."""
    if isinstance(problem, str):
        grid = _grid(problem, points)
        each = 3 if problem == "elasticity" else 1
        words = [f"problem={problem}", f"points={_joined(grid)}", f"boxes={_joined(_dealt(grid, ranks))}"]
        return [*words, f"unknowns={unknowns or each}"], each * math.prod(grid)
    path = os.path.join(folder, "matrix")
    rows = _write_matrix(problem, path)
    if rows < ranks:
        raise InvalidInput(f"a matrix of {rows} rows on {ranks} ranks: each must have a row")
    return [f"matrix={path}", f"unknowns={unknowns or 1}"], rows


def mpi_of(launcher: Launcher, mpicc: str | None) -> Mpi:
    """Return the MPI of a launcher or compiler, or one that is installed, Open MPI first, for which hypre is built."""
    if launcher.words or mpicc:
        return launcher.mpi(mpicc)
    from ..mpi.detection import OPEN_MPI
    from ..mpi.detection import installed as all_mpis

    every = all_mpis()
    if not every:
        raise InvalidInput("no compiler (mpicc) of MPI was found: apt install libopenmpi-dev openmpi-bin")
    return next((mpi for mpi in every if mpi.family == OPEN_MPI), every[0])


def _number(what: str, name: str, names: Mapping[str, int]) -> int:
    if name in names:
        return names[name]
    if name.isdigit():
        return int(name)
    raise InvalidInput(f"{what} {name!r}: must be {', '.join(names)}, or a number of hypre's")


def _grid(problem: str, points: Sequence[int] | None) -> tuple[int, ...]:
    if problem not in PROBLEMS:
        raise InvalidInput(f"problem {problem!r}: must be one of {', '.join(PROBLEMS)}, or a matrix")
    wanted = 2 if problem == "rotated" else 3
    if points is None or len(points) != wanted or min(points) < 2:
        example = "x".join(["40"] * wanted)
        got = "none" if points is None else _joined(points)
        raise InvalidInput(f"points of {problem}: {got}: expected {wanted} numbers from 2, such as {example}")
    return tuple(points)


def _joined(numbers: Sequence[int]) -> str:
    return "x".join(map(str, [*numbers, 1][:3] if len(numbers) == 2 else numbers))


def _dealt(grid: tuple[int, ...], ranks: int) -> tuple[int, ...]:
    from .partition import box_counts

    return box_counts(grid, ranks)


def _write_matrix(matrix: Any, path: str) -> int:
    issparse = optional("scipy.sparse", "matrices", "multigrid").issparse
    if not issparse(matrix):
        raise InvalidInput("the problem must be a name or a sparse matrix of SciPy")
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidInput(f"the matrix has {matrix.shape[0]} rows and {matrix.shape[1]} columns: must be square")
    rows = matrix.tocsr()
    with open(path, "wb") as stream:
        np.array([rows.shape[0], rows.nnz], np.int64).tofile(stream)
        rows.indptr.astype(np.int64).tofile(stream)
        rows.indices.astype(np.int64).tofile(stream)
        rows.data.astype(np.float64).tofile(stream)
    return int(rows.shape[0])


def read_matrices(path: str | os.PathLike[str]) -> list[tuple[Any, ...]]:
    """Read the matrices of one rank: (A, P, rows of the next level, R or None) of every level; values are all 1."""
    csr_array = optional("scipy.sparse", "hierarchies", "multigrid").csr_array
    levels: list[tuple[Any, ...]] = []
    with open(path, "rb") as stream:

        def matrix() -> Any:
            rows, columns, count = map(int, np.fromfile(stream, np.int64, 3))
            first = np.fromfile(stream, np.int64, rows + 1)
            at = np.fromfile(stream, np.int32, count)
            narrow = first.astype(np.int32) if count < 1 << 31 else first
            return csr_array((np.broadcast_to(np.int8(1), count), at, narrow), shape=(rows, columns))

        number = int(np.fromfile(stream, np.int64, 1)[0])
        for level in range(number):
            a = matrix()
            if level == number - 1:
                levels.append((a,))
            else:
                p = matrix()
                chosen = np.fromfile(stream, np.uint8, a.shape[0])
                levels.append((a, p, chosen, matrix() if stream.read(1) == b"\1" else None))
    return levels


def traced(command: Sequence[str], path: str | os.PathLike[str], mpicc: str | None = None) -> Hierarchy:
    """Run a program of a user that uses hypre, and return the hierarchy of the last BoomerAMG that it sets up.

    Parameters
    ----------
    command : sequence of str
        Such as ``["mpirun", "-n", "4", "./app"]``. hypre must be linked as a shared library.
    path : path
        Where counts are written meanwhile; all ranks see it.

    Raises
    ------
    InvalidInput
        If the command fails, or sets no BoomerAMG up.
    """
    from ..mpi.command import take_apart
    from ..mpi.detection import find
    from ..mpi.launch import with_variables
    from ..mpi.launcher import captured

    taken = take_apart(list(command))
    preload = library(find(taken, mpicc))
    words, environment = with_variables(taken, {"ISTHMUS_HIERARCHY": os.fspath(path)}, preload)
    done = captured(words, environment)
    if done.status:
        raise InvalidInput(f"{shlex.join(command)} failed (exit status {done.status}): {done.last_words()}")
    if not os.path.isfile(path):
        raise InvalidInput(
            f"{shlex.join(command)} set no BoomerAMG of a shared hypre up: where hypre is linked statically, call "
            "isthmus_hypre_write after the setup"
        )
    return read_counts(path)
