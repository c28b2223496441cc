"""Reads collectives, algorithms and noise from one line; :mod:`isthmus.named` has the grammar."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import units
from .errors import InvalidInput
from .named import named, pairs

if TYPE_CHECKING:
    from .machine import Noise

#: Options of algorithms in one line, besides ranks, bytes, root and algorithm.
_OPTIONS = ("radix", "segment", "window", "dims", "groups", "latency", "overhead", "gap")
#: Flavours of collectives, see :mod:`isthmus.collectives.flavours`.
_FLAVOURS = ("access", "sync", "protocol", "count", "under_way")


def collective_arguments(text: str) -> dict[str, Any]:
    """The arguments of :func:`isthmus.collective` from one line; ``sync=none-all``: on entry none, on exit all."""
    what = named(text)
    values = what.values("ranks", "bytes", "algorithm", "root", "in_place", *_FLAVOURS, *_OPTIONS)
    if "ranks" not in values:
        raise InvalidInput(f"{units.shown(text)}: ranks=... is missing")
    out: dict[str, Any] = {"kind": what.name}
    out.update({key: whole(key, values[key]) for key in ("ranks", "root") if key in values})
    if "bytes" in values:
        out["bytes"] = size_in_bytes(values["bytes"])
    out.update({key: whole(key, values[key]) for key in ("count", "under_way") if key in values})
    out.update({key: values[key] for key in ("access", "protocol") if key in values})
    if "sync" in values:
        enter, _, leave = values["sync"].partition("-")
        out["sync"] = (enter, leave or enter)
    if "in_place" in values:
        if values["in_place"] not in ("yes", "no"):
            raise InvalidInput(f"in_place={values['in_place']}: must be yes or no")
        out["in_place"] = values["in_place"] == "yes"
    options = {key: _option(key, values[key]) for key in _OPTIONS if key in values}
    out["algorithm"] = (values.get("algorithm", ""), options) if options else values.get("algorithm")
    return out


def _option(key: str, value: str) -> Any:
    """An option of an algorithm: a size, a time, a list such as 4x4x8, or a number."""
    if key == "segment":
        return size_in_bytes(value)
    if key in ("latency", "overhead", "gap"):
        return units.parse(value, "s")
    if key in ("dims", "groups"):
        return [whole(key, part) for part in value.split("x")]
    return whole(key, value)


def parse_algorithm(text: str) -> Any:
    """An algorithm from ``NAME`` or ``NAME:radix=4,segment=8KiB``."""
    name, _, rest = text.partition(":")
    # One version ago a colon stood between options.
    values = pairs(text, rest.replace(":", ","), _OPTIONS)
    return (name, {key: _option(key, value) for key, value in values.items()}) if values else name


def parse_noise(text: str) -> Noise:
    """Noise from ``periodic:period=1ms,duration=10us`` or ``file:file=noise.txt``."""
    from .machine import Noise
    from .machine.parts import NOISE_KINDS

    # One version ago a comma stood behind the kind.
    kind, _, rest = text.partition(":" if ":" in text.partition(",")[0] else ",")
    if kind not in NOISE_KINDS:
        raise InvalidInput(f"--noise {kind}: must be one of {', '.join(NOISE_KINDS)}")
    values = pairs(text, rest, ("period", "duration", "file"))
    times: dict[str, float] = {}
    for key in ("period", "duration"):
        if key in values:
            try:
                times[key] = units.parse(values[key], "s")
            except InvalidInput as error:
                raise InvalidInput(f"--noise: {key}={values[key]}: {error}") from None
    return Noise(kind=kind, file=values.get("file"), **times)


def whole(key: str, value: str) -> int:
    """A number without sign or fraction."""
    if not re.fullmatch("[0-9]{1,18}", value):
        raise InvalidInput(f"{key}={value}: expected a whole number")
    return int(value)


def size_in_bytes(value: str, key: str = "bytes") -> int:
    """Bytes from ``8``, ``8KiB`` or ``1MB``."""
    try:
        number = units.parse(value if re.search("[Bb]$", value) else f"{value}B", "B")
    except InvalidInput as error:
        raise InvalidInput(f"{key}={value}: {error}") from None
    if number < 0 or number != int(number):
        raise InvalidInput(f"{key}={value}: expected a whole number from 0")
    return int(number)
