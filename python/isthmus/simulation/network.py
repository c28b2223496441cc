"""Network arguments of ``simulate``: model, routes, and the options of single models."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..units import shown

if TYPE_CHECKING:
    from .. import _core

MODELS = ("loggops", "flow", "reserve", "packet")
RECEIVES = ("loggp", "loggopsim")
RECEIVE = "loggp"  # by default
ROUTINGS = ("minimal", "random", "valiant", "adaptive")
_RESOLUTION = 0.01
_MOST_SLICES = 4096
_MOST_PACKET = 2**28


@dataclass(frozen=True)
class PacketOptions:
    """Sizes of the packet model, in bytes.

    Parameters
    ----------
    bytes : int
        Size of a packet; the last one of a message is smaller.
    flit : int
        Part of a packet that a switch must have received before it forwards the packet.
    buffer : int, optional
        Size of every virtual channel at the input of a switch, at least one packet. By default 16 packets, or as many
        as a long link needs to stay busy, so that a message is stopped by other messages only.

    Raises
    ------
    InvalidInput
        If a size is out of range.
    """

    bytes: int = 2048
    flit: int = 32
    buffer: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bytes", whole(self.bytes, "packet.bytes", 1, _MOST_PACKET))
        flit = whole(self.flit, "packet.flit", 1, _MOST_PACKET)
        if flit > self.bytes:
            raise InvalidInput(f"packet.flit = {flit}: must be 1 to {self.bytes}, the bytes of a packet")
        object.__setattr__(self, "flit", flit)
        if self.buffer is None:
            return
        buffer = whole(self.buffer, "packet.buffer", 1, 2**62)
        if buffer < self.bytes:
            raise InvalidInput(f"packet.buffer = {buffer}: must be at least {self.bytes}, the bytes of a packet")
        object.__setattr__(self, "buffer", buffer)


def whole(value: Any, name: str, least: int, most: int) -> int:
    """Return a whole number in a range; raises InvalidInput for anything else."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise InvalidInput(f"{name} = {shown(value)}: must be a whole number from {least} to {most}")
    return number


def set_network(
    options: _core.SimulationOptions,
    on_machine: bool,
    model: str,
    routing: str,
    slices: int,
    resolution: float | None,
    packet: PacketOptions | None,
) -> None:
    """Check the network arguments and store them in the options.

    Raises
    ------
    InvalidInput
        If a name is unknown, a number is out of range, or an option belongs to another model.
    """
    if model not in MODELS:
        raise InvalidInput(f"model = {shown(model)}: must be one of {', '.join(MODELS)}")
    if routing not in ROUTINGS:
        raise InvalidInput(f"routing = {shown(routing)}: must be one of {', '.join(ROUTINGS)}")
    slices = whole(slices, "slices", 0, _MOST_SLICES)
    if model == "loggops" and (routing != "minimal" or slices):
        what = f"routing = {routing!r}" if routing != "minimal" else f"slices = {slices}"
        raise InvalidInput(f"{what}: in the model 'loggops' messages take no links; use one of {', '.join(MODELS[1:])}")
    if resolution is not None:
        _of_model("resolution", model, "flow")
        if not isinstance(resolution, (int, float)) or not math.isfinite(resolution) or not 0 <= resolution <= 1:
            raise InvalidInput(f"resolution = {shown(resolution)}: must be a number from 0 to 1")
    if packet is not None:
        _of_model("packet", model, "packet")
        if not isinstance(packet, PacketOptions):
            raise InvalidInput(f"packet = {shown(packet)}: must be isthmus.PacketOptions(bytes=..., ...)")
        options.packets(bytes=packet.bytes, flit=packet.flit, buffer=packet.buffer or 0)
    if model == "loggops":
        return
    if not on_machine:
        raise InvalidInput(
            f"model {model!r}: messages can share links only on a machine, not with LogGOPS parameters alone"
        )
    resolution = _RESOLUTION if resolution is None else float(resolution)
    options.network(model=model, routing=routing, slices=slices + slices % 2, resolution=resolution)


def _of_model(option: str, model: str, of: str) -> None:
    if model != of:
        raise InvalidInput(f"{option}: applies only to the model {of!r}, not to {model!r}")
