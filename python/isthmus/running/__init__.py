"""Carrying schedules and programs out with ranks of MPI, and measuring when everything happens.

- ``assembly``: the Timeline of a run, from the times that its ranks wrote
- ``carried``: what ranks do for a schedule: its operations, with messages in place of puts and gets
- ``host``: files of ranks that name one node as a machine file does, made to name this computer
- ``job``: starts ranks of libisthmus without MPI
- ``mapped``: a placement by what ranks exchange, on the places at which their launcher starts them
- ``parts``: what every rank has to do, as bytes that libisthmus reads
- ``placing``: ranks started where a file places them, and the places of ranks for the program that runs
- ``program``: the verb ``run`` for any MPI program, whose collectives libisthmus carries out
- ``run``: the verb ``run`` for schedules and recorded programs
- ``started``: where a launcher starts ranks
- ``taken``: what was taken over of a program's collectives
"""

from .program import run_program as run_program
from .run import run as run
