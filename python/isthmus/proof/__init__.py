"""Proofs that a schedule does what it has to do, in every execution."""

from __future__ import annotations

from .contract import Contract as Contract
from .prove import Defect as Defect
from .prove import Proof as Proof
from .prove import prove as prove
