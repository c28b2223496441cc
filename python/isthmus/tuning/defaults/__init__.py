"""The built-in decisions of MPI libraries: rules for any number of ranks.

- ``mpich``: what MPICH decides without a file of its own
- ``openmpi``: what Open MPI decides without a rules file
"""

from __future__ import annotations

from ...errors import InvalidInput
from ..decisions import Decisions

__all__ = ["LIBRARIES", "defaults"]

#: Libraries whose decisions are known, and what they are called here.
LIBRARIES = ("openmpi", "mpich")


def defaults(library: str, *, ranks_per_node: int = 1, ordered: bool = False) -> Decisions:
    """The decisions of a library as it comes.

    Parameters
    ----------
    library : str
        ``"openmpi"`` (4.1 and 5.0 decide the same) or ``"mpich"`` (4.0 to 5.0).
    ranks_per_node : int
        More than one rank on a node makes MPICH, and Open MPI from 5.0 on, take some collectives apart by node: they
        are ``hierarchical`` then. Name the version (``"openmpi-5"``) to get those of Open MPI; 4.1 does not.
    ordered : bool
        The operator does not commute.

    Raises
    ------
    InvalidInput
        For another library, and a release of it that is not known.

    Examples
    --------
    >>> print(defaults("mpich").lookup("allgather", 100, 4000))
    ring
    """
    name, _, version = library.partition("-")
    if name == "openmpi":
        from .openmpi import OpenMpiDefaults

        return OpenMpiDefaults(version or "4.1", ranks_per_node=ranks_per_node, ordered=ordered)
    if name == "mpich":
        from .mpich import MpichDefaults, check_version

        check_version(version)
        return MpichDefaults(ranks_per_node=ranks_per_node, ordered=ordered)
    raise InvalidInput(f"library {library!r}: must be one of {', '.join(LIBRARIES)}")
