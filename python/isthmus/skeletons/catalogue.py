"""All skeletons with their parameters, and how each is built."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..filekinds import SKELETON, kind_of
from ..named import named
from .skeleton import Parameter, Skeleton

if TYPE_CHECKING:
    from ..schedule.program import Program
    from ..schedule.tally import Tally

_RANKS = Parameter("ranks", "ranks", 64, 1, 2**20)
_COMPUTE = Parameter("compute", "mean computation of a rank in a step", 1e-3, 0, 1e3, "s", whole=False, follows="rank")
_SPREAD = Parameter("spread", "standard deviation of the ranks' computation over its mean", 0, 0, 10, whole=False)
_SEED = Parameter("seed", "seed of the random numbers", 1, 0, 2**32 - 1)
_STEPS = (
    Parameter("steps", "time steps", 10, 1, 100_000),
    _COMPUTE,
    _SPREAD,
    Parameter("solves", "iterations of a solver in a step: a small exchange and a sum over all ranks", 0, 0, 10_000),
)


def _count(
    name: str, doc: str, default: int, origin: str, least: int = 1, most: int = 100_000, follows: str = ""
) -> Parameter:
    return Parameter(name, doc, default, least, most, origin=origin, follows=follows)


def _application(
    name: str, doc: str, make: str, source: str, *own: Parameter, steps: int = 10, step: str = "time steps",
    compute: float = 1e-3,
) -> Skeleton:  # fmt: skip
    """A skeleton with the usual parameters around its own ones."""
    usual = (
        Parameter("steps", step, steps, 1, 100_000),
        Parameter(_COMPUTE.name, _COMPUTE.doc, compute, 0, 1e3, "s", whole=False, follows="rank"),
    )
    return Skeleton(name, doc, (_RANKS, *own, *usual, _SPREAD, _SEED), make, source)


_TESTS = Parameter("tests", "times that exchanges under way are looked at during the computation of a tile", 4, 0, 1000)
_TILES = Parameter("tiles", "nonblocking exchanges that each exchange is cut into; 1: blocking", 8, 1, 100_000)
_LOOP = (Parameter("window", "exchanges that are under way at a time", 1, 1, 1000), _TESTS)
_TILED = (_TILES, *_LOOP)
_HIDDEN = (
    Parameter("hidden", "1: faces and sums go on behind computation that needs none of them; 0: blocking", 1, 0, 1),
    _TESTS,
)
_EXAMPLES = "examples/overlap"

_MINIGHOST = "structure and sizes from miniGhost's report (SAND2012-10431), which stands for CTH; counts recalled"

_ALL = (
    _application(
        "amg",
        "Algebraic multigrid on the Laplace equation: V-cycles with the levels and messages of a computed hierarchy",
        "algebraic.amg",
        "hierarchies of PyAMG (PMIS, direct interpolation); above two million rows, fine levels grow with the rank",
        _count("points", "points of a rank along an edge", 20, "assumed", 2, 1000, follows="rank^1/3"),
        _count("products", "products of the finest matrix in an iteration, beside the cycle", 1, "source", 0),
        _count("sums", "sums of one number over all ranks in an iteration", 3, "source", 0),
        step="iterations",
        compute=1e-2,
    ),
    _application(
        "amr",
        "Blocks of a mesh that is refined around a spherical front, along a curve that fills space",
        "refined.amr",
        "a balanced octree; not taken from a program",
        _count("blocks", "blocks a rank of the mesh before it is refined", 4, "assumed", most=10_000, follows="rank"),
        _count("levels", "times that blocks at the front are cut in eight", 2, "assumed", 0, 4),
        _count("cells", "cells of a block along an edge", 16, "assumed", 2, 1000),
        _count("variables", "variables that are exchanged", 5, "assumed", most=10_000),
        _count("sums", "sums of one number over all ranks in a step", 1, "assumed", 0),
    ),
    _application(
        "bfs",
        "Breadth-first search of a random graph with a few very large degrees: seven levels, exchanges among all ranks",
        "search.bfs",
        "top-down search as in the Graph500 benchmark; shares of the levels assumed",
        _count("scale", "logarithm to the base 2 of the vertices", 26, "stated", 1, 48, follows="log2 job"),
        _count("degree", "edges for each vertex", 16, "stated", most=10_000),
        steps=2,
        step="searches",
    ),
    _application(
        "cg",
        "Conjugate gradients on a cube of cells a rank: up to 26 neighbours, sums of one number",
        "solvers.cg",
        "HPCG without its multigrid",
        _count("cells", "cells of a rank along an edge", 104, "stated", most=10_000, follows="rank^1/3"),
        _count("sums", "sums of one number over all ranks in an iteration", 3, "source", 0),
        step="iterations",
    ),
    _application(
        "charon",
        "Devices of semiconductors by finite elements: Newton steps, GMRES, multigrid; mostly small messages",
        "solvers.charon",
        "structure from Lin and Shadid (SAND2009-0179); sizes and counts recalled or assumed",
        _count("rows", "nodes of the mesh on a rank", 10_000, "assumed", most=10**8, follows="rank"),
        _count("unknowns", "unknowns of a node: potential, electrons, holes", 3, "recalled", most=1000),
        _count("levels", "levels of the multigrid preconditioner", 4, "assumed", most=20),
        _count("iterations", "iterations of GMRES in a step", 30, "assumed", most=10_000),
        steps=2,
        step="steps of Newton's method",
        compute=0.1,
    ),
    _application(
        "cholesky",
        "Cholesky's factorisation in columns of tiles, dealt out to ranks in turn, each sent to all",
        "overlapping.cholesky",
        _EXAMPLES,
        _count("points", "rows of the matrix", 8192, "assumed", most=10**7, follows="job^1/3"),
        _count("panel", "columns of a tile", 64, "assumed"),
        Parameter("ahead", "1: the next column is on its way while the others are updated; 0: blocking", 1, 0, 1),
        _TESTS,
        steps=1,
        step="factorisations",
        compute=1.0,
    ),
    _application(
        "compress",
        "Parallel compression: blocks are compressed, their sizes told to all, and their bytes gathered on rank 0",
        "overlapping.compress",
        _EXAMPLES,
        _count("blocks", "blocks of a rank", 16, "assumed", follows="rank"),
        Parameter("bytes", "mean size of a compressed block", 65536, 1, 2**30, "B", origin="assumed"),
        Parameter("uneven", "standard deviation of sizes over their mean", 0.05, 0, 1, whole=False, origin="assumed"),
        *_TILED,
        steps=1,
        step="archives",
        compute=0.1,
    ),
    _application(
        "cth",
        "Shock physics on blocks: faces of all variables exchanged with up to six neighbours, many sums",
        "hydro.cth",
        _MINIGHOST,
        _count("cells", "cells of a rank along an edge", 100, "source", most=10_000, follows="rank^1/3"),
        _count("variables", "variables of a cell", 40, "source", most=1000),
        Parameter("packed", "1: all variables of a face in one message; 0: one message each", 1, 0, 1, origin="source"),
        _count("exchanges", "exchanges in a step", 19, "recalled"),
        _count("sums", "sums of one number over all ranks in a step", 90, "recalled", 0),
        steps=2,
        compute=0.5,
    ),
    _application(
        "fft",
        "Fourier transforms of a cube: planes with one exchange among all ranks, or pencils with two among fewer",
        "transforms.fft",
        "as in the libraries for it",
        _count("points", "points of the cube along an edge", 512, "assumed", most=100_000, follows="job^1/3"),
        Parameter("pencils", "1: pencils; 0: planes", 1, 0, 1),
        replace(_TILES, default=1),
        *_LOOP,
        step="transforms",
        compute=1e-2,
    ),
    _application(
        "heat",
        "Explicit scheme on a cube of points: six neighbours by a neighbourhood collective, behind the points inside",
        "overlapping.heat",
        _EXAMPLES,
        _count("points", "points of the cube along an edge", 512, "assumed", most=100_000, follows="job^1/3"),
        *_HIDDEN,
    ),
    Skeleton(
        "multigrid",
        "V-cycles of a multigrid solver on the most cubic grid of ranks: six neighbours, 2^l ranks away on level l",
        (
            _RANKS,
            Parameter("bytes", "message to a neighbour on the finest level", 32768, 0, 2**30, "B", follows="rank^2/3"),
            Parameter(
                "compute", "computation of a rank on the finest level", 1e-3, 0, 1e3, "s", whole=False, follows="rank"
            ),
            Parameter("cycles", "V-cycles", 10, 1, 100_000),
        ),
        "multigrid.of_one_job",
    ),
    _application(
        "namd",
        "Molecular dynamics: coordinates to 13 neighbours, forces back, particle-mesh Ewald in pencils",
        "transforms.namd",
        "structure from Phillips et al. (SC'14); atoms of ApoA1; bytes of an atom assumed",
        _count("atoms", "atoms", 92_224, "stated", most=10**10, follows="job"),
        Parameter("cutoff", "cut-off in Angstrom", 12, 0.1, 100, whole=False, origin="stated"),
        _count("every", "steps from one evaluation of the mesh to the next", 4, "recalled", most=1000),
        compute=5e-3,
    ),
    _application(
        "openatom",
        "Electronic structure: transforms of states, density, pairs of states; states by planes of ranks",
        "transforms.openatom",
        "structure from Jain et al. (ISC'16); sizes of 32 molecules of water recalled",
        _count("states", "states", 128, "recalled", most=10**6, follows="job"),
        _count("points", "points of the grid along an edge", 100, "recalled", most=10_000),
        compute=2e-2,
    ),
    _application(
        "osem",
        "Image reconstruction by ordered subsets: slabs of an image are summed up over all ranks after each subset",
        "overlapping.osem",
        _EXAMPLES,
        _count("points", "voxels of the image along an edge", 184, "assumed", most=10_000),
        _count("subsets", "subsets of the lines", 10, "assumed", most=10_000),
        *_TILED,
        steps=1,
        step="passes over all subsets",
        compute=10.0,
    ),
    _application(
        "poisson",
        "Poisson's equation on a cube by conjugate gradients, plain or pipelined: six neighbours, sums of two numbers",
        "overlapping.poisson",
        _EXAMPLES,
        _count("points", "points of the cube along an edge", 800, "stated", most=100_000, follows="job^1/3"),
        _count("extents", "dimensions in which the cube is cut", 3, "assumed", 1, 3),
        Parameter("pipelined", "1: one sum an iteration, beside the product; 0: two, which are waited for", 1, 0, 1),
        *_HIDDEN,
        step="iterations",
        compute=1e-2,
    ),
    Skeleton(
        "pop",
        "Ocean model: eight neighbours, periodic from west to east, blocks that are all land left out",
        (_RANKS, Parameter("levels", "levels of the ocean", 42, 1, 10_000), *_STEPS, _SEED),
        "halos.pop_steps",
        sized="rank",
    ),
    _application(
        "sage",
        "Shock physics, cells of a cube counted row by row: neighbours are far away in ranks; gathers and scatters",
        "hydro.sage",
        "counts of Kerbyson et al. (SC'01) recalled; who shares what derived from the order of cells",
        _count("cells", "cells of a rank", 13_500, "recalled", most=10**8, follows="rank"),
        _count("reals", "exchanges of real numbers in a step", 377, "recalled", 0),
        _count("integers", "exchanges of whole numbers in a step", 22, "recalled"),
        _count("sums", "sums of one number over all ranks in a step", 120, "recalled", 0),
        steps=1,
        compute=0.5,
    ),
    Skeleton(
        "stencil",
        "Five-point stencil on the most square grid of ranks, open at its edges",
        (_RANKS, Parameter("bytes", "message to a neighbour", 8192, 0, 2**30, "B", follows="rank^1/2"), *_STEPS, _SEED),
        "halos.stencil_steps",
    ),
    _application(
        "summa",
        "Matrix multiplication: panels of A go along the rows of a grid of ranks, panels of B along its columns",
        "overlapping.summa",
        _EXAMPLES,
        _count("points", "rows of the matrices", 8192, "assumed", most=10**7, follows="job^1/3"),
        _count("panel", "columns of a panel", 64, "assumed"),
        *_TILED,
        steps=1,
        step="products",
        compute=1.0,
    ),
    _application(
        "sweep",
        "Transport by wavefronts from each corner of a grid of ranks: planes in blocks, two neighbours up and two down",
        "sweeps.sweep",
        "as in SWEEP3D; sizes of its usual input recalled",
        _count("cells", "cells of a rank along an edge", 50, "recalled", most=10_000, follows="rank^1/3"),
        _count("planes", "planes of a block", 10, "recalled", most=10_000),
        _count("angles", "angles of an octant", 6, "recalled", most=10_000),
        steps=4,
        step="sweeps from all corners",
        compute=1e-2,
    ),
    _application(
        "umt",
        "Transport of radiation: angle by angle, three faces out and three in, until the flux converges",
        "sweeps.umt",
        "structure from UMT's source; groups recalled, other sizes assumed",
        _count("zones", "zones of a rank", 512, "assumed", most=10**8, follows="rank"),
        _count("groups", "groups of energy", 128, "recalled", most=10_000),
        _count("angles", "angles of an octant", 4, "assumed", most=10_000),
        _count("iterations", "iterations of the flux in a step", 3, "assumed", most=1000),
        _count("sums", "sums of one number over all ranks in an iteration", 9, "source", 0),
        steps=2,
        compute=0.5,
    ),
    Skeleton(
        "wrf",
        "Weather model on 425 x 300 columns (CONUS at 12 km): halos of three points, boxes that differ by a point",
        (
            _RANKS,
            Parameter("levels", "levels of the atmosphere", 35, 1, 10_000),
            Parameter("fields", "fields that are exchanged", 10, 1, 10_000),
            *_STEPS,
            _SEED,
        ),
        "halos.wrf_steps",
        sized="job",
    ),
    _application(
        "xnobel",
        "Shock physics on blocks with adaptive cells: six neighbours, many exchanges of little",
        "hydro.xnobel",
        "nothing is published: like cth, with sizes that are assumed",
        _count("cells", "cells of a rank along an edge", 32, "assumed", most=10_000, follows="rank^1/3"),
        _count("variables", "variables that are exchanged", 4, "assumed", most=1000),
        _count("exchanges", "exchanges in a step", 40, "assumed"),
        _count("sums", "sums of one number over all ranks in a step", 30, "assumed", 0),
        steps=2,
        compute=0.1,
    ),
)

SKELETONS = {one.name: one for one in _ALL}


def skeleton(text: str) -> Program:
    """The program of ``NAME|FILE:key=value,...``; a FILE is one that was fitted to recordings.

    Raises
    ------
    InvalidInput
        For an unknown name or parameter, and a value that is not allowed.

    Examples
    --------
    >>> skeleton("stencil:ranks=16,steps=2").ranks
    16
    """
    found, given = read(text)
    return found.build(given)


def tally(text: str) -> Tally | None:
    """The numbers of the program of a skeleton that is named, built piece by piece; None for any other text.

    Pieces of the same shape are built once, and none is kept.

    Raises
    ------
    InvalidInput
        For an unknown parameter, and a value that is not allowed.
    """
    from ..schedule.tally import Tally

    if os.path.exists(text) or named(text).name not in SKELETONS:
        return None
    found, given = read(text)
    pieces = found.pieces(found.values(given))
    # Bytes of collectives are in no number, so that pieces of a shape have the same ones.
    count = Counter(pieces.shapes)
    return Tally.joined((Tally.of(pieces.build(pieces.shapes.index(one))), times) for one, times in count.items())


def read(text: str) -> tuple[Skeleton, dict[str, str]]:
    """The skeleton of ``NAME:key=value,...``, and its parameters as text.

    Raises
    ------
    InvalidInput
        For an unknown name or parameter.
    """
    what = named(text)
    found = SKELETONS.get(what.name)
    if found is None and os.path.isfile(what.name) and kind_of(what.name) == SKELETON:
        from .fitted import fitted

        found = fitted(what.name)
    if found is None:
        close = difflib.get_close_matches(what.name, SKELETONS, 1)
        hint = f"; a close one is {close[0]}" if close else ""
        raise InvalidInput(f"skeleton {what.name!r}: must be one of {', '.join(SKELETONS)}{hint}")
    return found, what.values(*(p.name for p in found.parameters))
