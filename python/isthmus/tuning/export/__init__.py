"""Decision tables as files for MPI libraries."""

from .export import Export, Loss, export
from .guard import Guard, guard_for

__all__ = ["Export", "Guard", "Loss", "export", "guard_for"]
