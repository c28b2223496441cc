"""Studies: experiments at many points, their ledgers, figures and pages."""

from __future__ import annotations

from .run import Outcome, study
from .study import Published, Study

__all__ = ["Outcome", "Published", "Study", "study"]
