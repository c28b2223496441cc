"""What one rank of a recording did: its events, messages and calls, in numbers of its own."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass
class Halves:
    """Sends and receives, one element each: a sendrecv has two.

    Attributes
    ----------
    event : array of int64
    at : array of int64
        Where the receive of a sendrecv stands in the details; 0: in the columns of the event.
    receives : array of bool
    comm : array of int64
        Index into the communicators of the rank.
    peer, tag : arrays of int64
        Rank in the communicator (in the remote group of an intercommunicator).
    any_peer, any_tag : arrays of bool
        Whether the program received from any.
    begin, end : arrays of int64
        Nanoseconds: when a send was called, when a receive was complete; end -1: never.
    """

    event: NDArray[np.int64]
    at: NDArray[np.int64]
    receives: NDArray[np.bool_]
    comm: NDArray[np.int64]
    peer: NDArray[np.int64]
    tag: NDArray[np.int64]
    any_peer: NDArray[np.bool_]
    any_tag: NDArray[np.bool_]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    def joined(self, exposures: list[tuple[Any, ...]], table: NDArray[Any]) -> Halves:
        """These, and the messages of :func:`emit_one_sided`."""
        more = [
            Halves(event, none, receives, comm, peer, none + tag, no, no, table["begin"][step], none - 1)
            for event, receives, comm, peer, tag, step in exposures
            for none, no in [(np.zeros(len(event), np.int64), np.zeros(len(event), np.bool_))]
        ]
        return Halves(*(np.concatenate([getattr(h, f.name) for h in (self, *more)]) for f in fields(self)))


@dataclass
class Part:
    """The events of one rank; communicators are indices into ``comms``, their ids."""

    events: dict[str, NDArray[Any]]
    comms: NDArray[np.uint64]
    halves: Halves
    #: Events that all members of a communicator call: event, call, and whether the call waited for it.
    together: NDArray[np.int64]
    together_call: NDArray[np.int64]
    together_blocking: NDArray[np.bool_]
    #: Columns of the Recording; ``peer`` is a rank of ``comm``.
    calls: dict[str, NDArray[Any]]
    unmodelled: dict[str, int]
    #: Nanoseconds between calls that the recorder took, which are taken off computation.
    own: int = 0
