"""Decision tables as files for MPI libraries."""

from .export import Export, Loss, export

__all__ = ["Export", "Loss", "export"]
