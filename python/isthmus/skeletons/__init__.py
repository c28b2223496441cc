"""Applications as Programs with parameters: ``stencil:ranks=256,bytes=64KiB``.

- ``algebraic``: algebraic multigrid, with hierarchies that are computed
- ``catalogue``: all skeletons with their parameters, and how each is built
- ``family``: one program at many numbers of ranks, with weak or strong scaling
- ``fitted``: skeletons that were fitted to recordings
- ``halos``: exchange of halos in two dimensions: stencil, weather, ocean
- ``hydro``: shocks and flows: CTH, SAGE, xNOBEL
- ``multigrid``: cycles of a multigrid solver
- ``overlapping``: programs that hide communication behind computation: those of ``examples/overlap``
- ``parts``: boxes of ranks, their rows and columns, exchanges, uneven computation
- ``refined``: blocks of a refined mesh
- ``search``: breadth-first search of a graph
- ``solvers``: conjugate gradients, Newton steps with multigrid
- ``steps``: a program in pieces, which need not be built at once
- ``sweeps``: wavefronts, transport of radiation
- ``transforms``: Fourier transforms, molecular dynamics, electronic structure
- ``skeleton``: what a skeleton is, and how its parameters are read
"""

from __future__ import annotations

from .catalogue import SKELETONS, skeleton, tally
from .family import Family, family
from .skeleton import Parameter, Skeleton

__all__ = ["SKELETONS", "Family", "Parameter", "Skeleton", "family", "skeleton", "tally"]
