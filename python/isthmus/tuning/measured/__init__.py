"""Tuning by real runs: candidates are timed on the machine itself, in turn with the library's default.

- ``gain``: what a candidate gains over the default, with a confidence interval
- ``guidelines``: performance guidelines: what no collective should be slower than
- ``result``: what was found, as a noun, a table and text
- ``runs``: runs of collectives under settings of the library; journals let a stopped search continue
- ``search``: which candidates are timed at which sizes
- ``spaces``: tuning of collectives on the memory of spaces, for every mode of synchronisation
- ``times``: whether the rules of a table hold: runs with the library's file and without it
- ``tune_measured``: the verb ``tune`` by real runs
- ``trials``: what can be asked of a library: its algorithms, and the settings that force them
"""

from .result import MeasuredTuning
from .spaces import SpacesTuning, tune_spaces
from .times import Held
from .tune_measured import tune_measured

__all__ = ["Held", "MeasuredTuning", "SpacesTuning", "tune_measured", "tune_spaces"]
