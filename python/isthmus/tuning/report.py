"""A tuning as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..units import bytes_text, seconds_text
from .sweep import RULES

if TYPE_CHECKING:
    from .sweep import Sweep
    from .tune import Tuning
