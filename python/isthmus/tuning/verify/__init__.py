"""Proof on a real run that an MPI library follows a file: messages are counted with it, without it, and forced."""

from .verdict import Report, Verdict
from .verify import verify

__all__ = ["Report", "Verdict", "verify"]
