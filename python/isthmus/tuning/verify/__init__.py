"""Checks by real runs that an MPI library follows a file: messages are counted with it, without it, and forced.

- ``mpich``: what to run to see whether MPICH follows a selection tree
- ``openmpi``: what to run to see whether Open MPI follows a rules file
- ``probe``: runs of collectives in which every rank's messages are counted
- ``ucc``: whether UCC follows its tuning: the algorithms that it lists for its team, and the messages of a real run
- ``verdict``: what is tried in a verification, and what can be said of each case
- ``verify``: the verb ``verify``
"""

from .verdict import Report, Verdict
from .verify import verify

__all__ = ["Report", "Verdict", "verify"]
