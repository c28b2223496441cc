"""Requests and answers of messages by rendezvous as messages of their own."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..machine import Level, Machine
from ..machine.parts import Levels
from ..schedule.schedule import Schedule


def with_handshakes(schedule: Schedule, node: NDArray[np.integer] | None, level: Level) -> Schedule:
    """Return the schedule in which messages by rendezvous between nodes wait for a request and its answer.

    Both are messages of one byte, which take processors and interfaces in their turn: an answer waits behind the data
    that its rank is sending: of a message to another rank what the queue of the node holds. Messages to ranks that
    receive from any source, or any tag, stay as they are.

    Parameters
    ----------
    schedule : Schedule
    node : array of int, optional
        Node of each rank; by default each has its own.
    level : Level
        Of messages between nodes: ``S`` and ``queue`` count.
    """
    where = np.empty(0, np.uint32) if node is None else np.ascontiguousarray(node, np.uint32)
    # Parts that are smaller than what is sent eagerly, or than a page, would be many for nothing.
    held = np.inf if level.queue is None else max(level.queue, level.S, 4096.0)
    eager, queue = (int(min(max(n, 0.0), 2.0**63)) for n in (level.S, held))
    return Schedule(schedule.arrays.with_handshakes(where, eager, queue))


def without_round_trips(machine: Machine | Level) -> Machine | Level:
    """Return the machine whose messages by rendezvous between nodes have no request and answer in their latency.

    A piece that was fitted to messages above ``S`` has them in its ``L``. What that is above the latency of the
    smallest messages is taken for them, up to the time that both take alone.
    """
    if isinstance(machine, Level):
        return _without_round_trips(machine)
    network = _without_round_trips(machine.level.network)
    if network == machine.level.network:
        return machine
    other = copy.copy(machine)
    other.level = Levels(socket=machine.level.socket, node=machine.level.node, network=network)
    return other


def _without_round_trips(level: Level) -> Level:
    both = 2 * (level.o_send + level.L + level.o_recv)
    pieces = tuple(
        replace(piece, L=piece.L - min(max(piece.L - level.L, 0.0), both)) if piece.above >= level.S else piece
        for piece in level.pieces
    )
    return replace(level, pieces=pieces)
