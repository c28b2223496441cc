"""Carrying schedules and programs out with ranks of MPI, and measuring when everything happens.

- ``assembly``: the Timeline of a run, from the times that its ranks wrote
- ``parts``: what every rank has to do, as bytes that libisthmus reads
- ``run``: the verb ``run`` for schedules and recorded programs
"""

from .run import run as run
