"""Flavours of collectives: how data move, how ranks synchronise, how many are under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidInput

if TYPE_CHECKING:
    from ..schedule.schedule import Schedule

ACCESSES = ("message", "put", "get")
SYNCS = ("none", "my", "all")
PROTOCOLS = ("size", "eager", "rendezvous")


def flavoured(
    schedule: Schedule, access: str, sync: str | Sequence[str], protocol: str, count: int, under_way: int
) -> Schedule:
    """The schedule of one collective in a flavour; see :func:`isthmus.collective`, which calls this.

    Parameters
    ----------
    schedule : Schedule
        Of messages.
    """
    from ..schedule.schedule import together

    enter, leave = (sync, sync) if isinstance(sync, str) else tuple(sync) if len(sync) == 2 else ("", "")
    for name, value, allowed in (
        ("access", access, ACCESSES), ("sync", enter, SYNCS), ("sync", leave, SYNCS), ("protocol", protocol, PROTOCOLS)
    ):  # fmt: skip
        if value not in allowed:
            raise InvalidInput(f"{name} {value!r}: allowed are {', '.join(allowed)}")
    if not 1 <= count <= 1_000_000 or under_way < 0:
        raise InvalidInput(f"count = {count}, under_way = {under_way}: 1 to 1,000,000, and 0 or more, are allowed")
    if access != "message":
        if protocol != "size":
            raise InvalidInput(f"protocol {protocol!r} is of messages, not of access {access!r}")
        schedule = schedule.one_sided(access, ask=enter == "my")
    elif protocol != "size":
        schedule = schedule.with_protocol(protocol)
    if "all" in (enter, leave):
        from . import collective

        barrier = [collective("barrier", ranks=schedule.ranks)]
        schedule = together(
            [*barrier * (enter == "all"), schedule, *barrier * (leave == "all")],
            under_way=1,
        )
    return schedule if count == 1 else together([schedule] * count, under_way=under_way)
