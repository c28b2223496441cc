"""Proofs that a schedule does what it has to do, in every execution.

- ``contract``: the contract of a schedule: the content of its buffers at the start, and the required content at the end
- ``prove``: the verb ``prove``: whether a schedule is right in every execution
- ``sweep``: proofs of all algorithms at many numbers of ranks, roots, sizes and options
"""

from __future__ import annotations

from .contract import Contract as Contract
from .prove import Defect as Defect
from .prove import Proof as Proof
from .prove import prove as prove
