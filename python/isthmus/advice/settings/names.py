"""What the parameters are called in Open MPI and MPICH, and which value stands for a limit.

That these values do what is said was tried with Open MPI 4.1.4 (shared memory and TCP) and MPICH 4.0.2 (ch4:ucx): a
message of exactly the limit is sent before its receive is posted, and one of 64 bytes more is not. The other names are
those of their sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..collectives.library import Library

#: What Open MPI's limits count beside the bytes of a message: its header.
_HEADER = 64
#: Bytes of the largest buffers of openib's receive queues by default.
_OPENIB = 65536
_PAGE = 4096


@dataclass(frozen=True)
class Setting:
    """A parameter with its value, for messages that go by one means.

    Attributes
    ----------
    means : str
        What carries the messages: TCP, UCX, shared memory, or a device of MPICH.
    text : str
        As it is written behind mpirun for Open MPI, and as a variable of the environment for MPICH.
    """

    means: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} ({self.means})"


def eager_settings(library: Library, level: str, limit: int) -> tuple[Setting, ...]:
    """What sends messages of up to ``limit`` bytes eagerly, between nodes (``network``) or within one (``node``)."""
    version = library.version.split(".")[0]
    major = int(version) if version else 4
    ucx = f"UCX_RNDV_THRESH={limit + 1}"
    if library.name == "openmpi":
        if level == "node":
            name = "sm" if major >= 5 else "vader"
            return (Setting("shared memory", f"--mca btl_{name}_eager_limit {limit + _HEADER}"),)
        found = [Setting("TCP", f"--mca btl_tcp_eager_limit {limit + _HEADER}"), Setting("UCX", f"-x {ucx}")]
        if major < 5 and limit + _HEADER <= _OPENIB:
            found.append(Setting("openib", f"--mca btl_openib_eager_limit {limit + _HEADER}"))
        return tuple(found)
    if level == "node":
        cell = -(-(limit + _HEADER) // _PAGE) * _PAGE
        shared = f"MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE={cell}"
        return (
            Setting("ch4:ofi", shared),
            Setting("ch4:ucx", ucx),
            Setting("ch3", f"MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ={limit}"),
        )
    ofi = "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD" if major >= 5 else "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE"
    return (
        Setting("ch4:ofi", f"{ofi}={limit + 1 if major >= 5 else limit}"),
        Setting("ch4:ucx", ucx),
        Setting("ch3", f"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE={limit}"),
    )


def queue_settings(library: Library, size: int, buffers: int) -> tuple[Setting, ...]:
    """What gives a rank so many receive buffers that all its peers share; nothing where the library has no say."""
    major = int(library.version.split(".")[0] or 4) if library.version else 4
    if library.name != "openmpi" or major >= 5:
        return ()
    return (Setting("openib", f"--mca btl_openib_receive_queues S,{size},{buffers}"),)


def progress_settings(library: Library) -> tuple[Setting, ...]:
    """What lets messages go on while ranks compute; nothing where the library has no such parameter."""
    if library.name == "mpich":
        return (Setting("a thread of each rank, which takes a core", "MPIR_CVAR_ASYNC_PROGRESS=1"),)
    return ()
