"""Decision tables as files for MPI libraries.

- ``export``: the verb ``export``, and what all targets share
- ``guard``: what a library decides by itself stays where a file would be no faster
- ``han``: rules files of Open MPI's component "han", which takes collectives apart by node
- ``isthmus``: the plain text from which libisthmus decides
- ``mpich``: selection trees of MPICH, from 4.0 on: JSON that stands for the library's own tree
- ``openmpi``: rules files of Open MPI's component "tuned": version 1 (4.x to 5.0.6), version 2 (from 5.0.7), JSON
  (from 6.0)
- ``openmpi_reading``: reading Open MPI's rules files, as the library reads them
- ``ucc``: tuning of UCC: a string for ``UCC_TL_UCP_TUNE``, and sections of ``ucc.conf``
- ``ucc_reading``: files of UCC, in the form that Isthmus writes, read back
"""

from .export import Export, Loss, export
from .guard import Guard, guard_for

__all__ = ["Export", "Guard", "Loss", "export", "guard_for"]
