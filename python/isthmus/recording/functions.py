"""The meaning of MPI functions for a Program where their records do not give it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: Calls that return at once, whether there is something or not.
_POLLS = re.compile(
    r"MPI_(Test(all|any|some)?|Iprobe|Improbe|Request_get_status\w*|Win_test|Parrived)$"
    r"|isthmus_(poll|test|test_event|try_await|try_lock)$"
)
#: Local work, whose time is that of the processor: it becomes computation.
_LOCAL = re.compile(
    r"MPI_(Pack\w*|Unpack\w*|Type_\w+|Get_\w+|Status_\w+|Alloc_mem|Free_mem|Reduce_local\w*|Op_\w+|Group_\w+|Info_\w+"
    r"|Buffer_attach|Attr_\w+|Keyval_\w+|Error_\w+|Errhandler_\w+|\w+_(get|set|create|free|delete|call)_(attr|info|name"
    r"|errhandler|keyval|parent|group|topology)\w*|Cart_\w+|Graph_\w+|Dist_graph_\w+|Topo_test|Dims_create|Address"
    r"|Comm_(compare|group|rank|size|remote_\w+|test_inter|get_parent)|Wtime|Wtick|Initialized|Finalized|Query_thread"
    r"|Is_thread_main|Register_datarep|Grequest_\w+|Add_error\w*|Remove_error\w*|Aint_\w+|T_\w+|Win_(attach|detach"
    r"|shared_query|get_group)|File_(get|set|c2f|f2c|preallocate)\w*|\w+_c2f|\w+_f2c|\w+_f2f08|Request_c2f)$"
    r"|isthmus_(allocate|prepare)$"
)
#: Calls without a message of their own: the program waits for messages where it receives them, and processes begin and
#: end without any model.
_SILENT = re.compile(
    r"MPI_(Probe|Iprobe|Mprobe|Improbe|Init(_thread)?|Finalize|Abort|Pcontrol|Cancel|Request_free|Buffer_detach"
    r"|Buffer_flush|Comm_free|Comm_disconnect|Win_free|Session_\w+|Pready\w*|Parrived|Test\w*|Wait\w*|\w+_init"
    r"|Start(all)?|Comm_set_\w+|Request_get_status\w*)$"
    r"|isthmus_(join|leave|group|poll|test|wait|test_event|wait_event|wait_all|close_region|fence|await|try_await"
    r"|try_lock)$"
)
#: MPI-IO.
_FILES = re.compile(r"MPI_File_\w+$")
#: Communicators made by the members of the new one alone, and not by all of an older one.
_OF_MEMBERS = re.compile(r"MPI_(Comm_create_group|Comm_create_from_group|Intercomm_create\w*)$")
#: Collectives of which some ranks may wait in the call, and others go on before they wait.
_SPLIT = re.compile(r"isthmus_\w+$")
#: Receives that nothing else stands for than that a message is there.
_HANDLERS = re.compile(r"isthmus_handler$")
#: Large-count forms have the name of the others with this ending.
_LARGE = "_c"


class Functions:
    """Names of functions, numbered as they come, and what they mean by number."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self._known: dict[re.Pattern[str], list[bool]] = {}

    def __getitem__(self, name: str) -> int:
        return self.number.setdefault(name, len(self.number))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.number)

    def _are(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        # Asked for every rank, of which few have functions that others before them do not have.
        known = self._known.setdefault(pattern, [])
        if len(known) < len(self.number):
            known += [bool(pattern.match(name.removesuffix(_LARGE))) for name in self.names[len(known) :]]
        return np.array(known, np.bool_)

    def polls(self) -> NDArray[np.bool_]:
        """Return which functions test without waiting."""
        return self._are(_POLLS)

    def local(self) -> NDArray[np.bool_]:
        """Return which functions only use the processor."""
        return self._are(_LOCAL)

    def silent(self) -> NDArray[np.bool_]:
        """Return which functions have no effect in the model."""
        return self._are(_SILENT)

    def files(self) -> NDArray[np.bool_]:
        """Return which functions read or write files."""
        return self._are(_FILES) & ~self.local()

    def split(self) -> NDArray[np.bool_]:
        """Return which collectives may block some ranks and not others."""
        return self._are(_SPLIT)

    def handlers(self) -> NDArray[np.bool_]:
        """Return which functions take messages where they end, and not in the order in which they begin."""
        return self._are(_HANDLERS)

    def of_members(self) -> NDArray[np.bool_]:
        """Return which functions make a communicator without all members of an older one."""
        return self._are(_OF_MEMBERS)


def interface(library: str) -> tuple[str, str, str]:
    """Return what a recorded program communicates by, and the functions that begin and end it.

    Parameters
    ----------
    library : str
        As the recording names it.
    """
    if library == "libisthmus":
        return library, "isthmus_join", "isthmus_leave"
    return "MPI", "MPI_Init", "MPI_Finalize"


def counted(functions: Sequence[str], number: NDArray[np.integer]) -> dict[str, int]:
    """Count how often each of these functions occurs, by name."""
    calls = np.bincount(number, minlength=len(functions))
    return {functions[i]: int(calls[i]) for i in np.flatnonzero(calls).tolist()}
