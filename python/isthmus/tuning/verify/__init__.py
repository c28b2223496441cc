"""Proof on a real run that an MPI library follows a file: messages are counted with it, without it, and forced."""

from .verify import Report, Verdict, verify

__all__ = ["Report", "Verdict", "verify"]
