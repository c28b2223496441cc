"""The headers of raw traces: facts about the run and its ranks."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..schedule.recording import FULL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .clocks import Clock


def span(header: Any) -> tuple[int, int]:
    """Begin and end of a rank's own work by its host's clock (ns), as far as known."""
    begin = int(header["init_end"]) or int(header["started_ns"])
    end = int(header["finalize_begin"]) or int(header["ended_ns"]) or int(header["last_ns"])
    return begin, max(end, begin)


def working(header: Any) -> tuple[int, int]:
    """As :func:`span`, but up to the last moment at which the rank is known to have worked."""
    begin, end = span(header)
    last, tail = int(header["last_ns"]), int(header["tail_cpu_ns"])
    # Traces of earlier versions do not say how long a rank worked that finalized; full ones end long before.
    known = int(header["version"]) > 2 and tail >= 0 and not int(header["flags"]) & FULL
    if known or not header["finalize_begin"]:
        end = min(end, last + max(tail, 0))
    return begin, max(end, begin)


def about(ranks: int, headers: Mapping[int, Any], clocks: Mapping[int, Clock], command: str) -> dict[str, Any]:
    """Attributes of the Recording that are of the run and of each rank.

    Parameters
    ----------
    headers, clocks : mappings
        Header and clock of the first thread of every rank that left a trace.
    command : str
        What was run; if it is empty, what the first rank says.
    """
    of = _Ranks(ranks, headers)
    some = headers[min(headers)]
    started = min(int(h["started_realtime_ns"]) for h in headers.values())
    names = [text(headers[r]["host"]) if r in headers else "unknown" for r in range(ranks)]
    hosts = tuple(dict.fromkeys(names))
    numbers = {name: i for i, name in enumerate(hosts)}
    host = np.array([numbers[name] for name in names], np.uint32)
    return {
        "command": command or _command(some["command"]),
        "directory": text(some["directory"]),
        "started": datetime.fromtimestamp(started // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "library": text(some["library"]),
        "mpi": (int(some["mpi_version"]), int(some["mpi_subversion"])),
        "version": __version__,
        "hosts": hosts,
        "host": host,
        "cpus": of.numbers("cpus", np.uint32),
        "cpus_online": of.numbers("cpus_online", np.uint32),
        "cpus_shared": of.shared_cpus(host),
        "wall": of.seconds(lambda h: span(h)[1] - span(h)[0]),
        "cpu": of.seconds(lambda h: int(h["cpu_ns"])),
        "init": of.seconds(lambda h: _lasted(h, "init")),
        "finalize": of.seconds(lambda h: _lasted(h, "finalize")),
        "recorder": of.numbers("recorder_ns", np.float64) * 1e-9,
        "memory": of.numbers("recorder_bytes", np.int64),
        "signal": of.signals(),
        "clock_error": np.array([clocks[r].error if r in clocks else 0 for r in range(ranks)]) * 1e-9,
    }


class _Ranks:
    """Columns of one element per rank."""

    def __init__(self, ranks: int, headers: Mapping[int, Any]) -> None:
        self.ranks = ranks
        self.headers = headers

    def numbers(self, name: str, dtype: Any) -> NDArray[Any]:
        return np.array([self.headers[r][name] if r in self.headers else 0 for r in range(self.ranks)], dtype)

    def seconds(self, of: Callable[[Any], float | None]) -> NDArray[np.float64]:
        """Nanoseconds of every rank's header as seconds; nan where there are none."""
        values = [of(self.headers[r]) if r in self.headers else None for r in range(self.ranks)]
        return np.array([np.nan if value is None else value * 1e-9 for value in values])

    def signals(self) -> NDArray[np.int32]:
        signals = self.numbers("signal", np.int32)
        return np.where(self.numbers("signal_sender", np.int64) != 0, -signals, signals).astype(np.int32)

    def shared_cpus(self, host: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Processors that the ranks of each rank's host may run on together."""
        masks = np.zeros((int(host.max()) + 1, 16), np.uint32)
        most = np.zeros(len(masks), np.uint32)
        for rank, header in self.headers.items():
            masks[host[rank]] |= header["affinity"]
            most[host[rank]] = max(most[host[rank]], header["cpus"])
        bits = np.unpackbits(masks.view(np.uint8), axis=1).sum(axis=1)
        # Processors past those that the mask has room for are only counted.
        together: NDArray[np.uint32] = np.maximum(bits, most).astype(np.uint32)
        return together[host]


def _lasted(header: Any, what: str) -> int | None:
    begin, end = int(header[f"{what}_begin"]), int(header[f"{what}_end"])
    return end - begin if begin and end else None


def text(data: bytes) -> str:
    """The text in a field of characters."""
    return bytes(data).split(b"\0")[0].decode(errors="replace")


def _command(data: Any) -> str:
    """Arguments, each ended by NUL, as a shell would take them."""
    arguments = data.tobytes().split(b"\0\0")[0].split(b"\0")
    return shlex.join(argument.decode(errors="replace") for argument in arguments if argument)
