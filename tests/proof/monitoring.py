"""What Open MPI's own monitoring component says was sent: the independent witness of the proof.

Its files, one a rank, have a line for every partner of the rank (``E src dst bytes msgs ...``: messages of the
application; ``I ...``: messages that Open MPI's collectives are made of; ``S`` and ``R``: one-sided, written and read).

Two things are to be known (Open MPI 4.1.4). Messages that a collective sends by persistent requests are booked as the
application's (``mca_pml_monitoring_start`` looks at no tag). Two algorithms do so: the linear one of alltoall and
alltoallv, in whose place ``parameters`` ask for the pairwise one, and the only one of alltoallw, for which callers
correct. And messages that the application itself sends by persistent requests are not counted at all: MPI_Start calls
the request's own function and passes the component by.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_LINE = re.compile(r"([EISR])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs")


def parameters(prefix: Path) -> list[str]:
    """Arguments of Open MPI's mpirun that switch the component on; its files are PREFIX.RANK.prof."""
    settings = {
        "pml_monitoring_enable": "2",
        "pml_monitoring_enable_output": "3",
        "pml_monitoring_filename": str(prefix),
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_alltoall_algorithm": "2",
        "coll_tuned_alltoallv_algorithm": "2",
    }
    return [word for name, value in settings.items() for word in ("--mca", name, value)]


def read(prefix: Path, ranks: int) -> dict[str, NDArray[np.int64]]:
    """Bytes and messages between all pairs, by letter.

    Returns
    -------
    dict of str to array, 2 x ranks x ranks
        Bytes, then messages, from the first index to the second.
    """
    found = {letter: np.zeros((2, ranks, ranks), np.int64) for letter in "EISR"}
    for rank in range(ranks):
        text = Path(f"{prefix}.{rank}.prof").read_text()
        for letter, source, target, size, messages in _LINE.findall(text):
            found[letter][:, int(source), int(target)] += (int(size), int(messages))
    return found
