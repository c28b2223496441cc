"""Applications as Programs with parameters: ``stencil:ranks=256,bytes=64KiB``.

- ``catalogue``: all skeletons with their parameters, and how each is built
- ``halos``: exchange of halos in two dimensions: stencil, weather, ocean
- ``multigrid``: cycles of a multigrid solver
- ``skeleton``: what a skeleton is, and how its parameters are read
"""

from __future__ import annotations

from .catalogue import SKELETONS, skeleton
from .skeleton import Parameter, Skeleton

__all__ = ["SKELETONS", "Parameter", "Skeleton", "skeleton"]
