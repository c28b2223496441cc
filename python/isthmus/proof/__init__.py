"""Proofs that a schedule does what it has to do, in every execution.

- ``contract``: what a schedule has to do: what its buffers hold at the start, and what they must hold in the end
- ``prove``: the verb: is a schedule right, in every execution?
- ``sweep``: all algorithms at many numbers of ranks, roots, sizes and options
"""

from __future__ import annotations

from .contract import Contract as Contract
from .prove import Defect as Defect
from .prove import Proof as Proof
from .prove import prove as prove
