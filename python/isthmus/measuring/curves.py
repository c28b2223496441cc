"""Curves of a measured machine: medians of what was measured over sizes, ranks or threads, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..machine import Curve
from .plan import ROW
from .samples import Samples, Series
from .statistics import median_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .node import NodeShape
    from .places import Places

#: x, y, both ends of the interval, number of samples.
Point = tuple[float, float, float, float, int]
#: Names of levels in titles.
LEVEL_WORDS = {"socket": "within a socket", "node": "between sockets", "network": "between nodes"}


def median(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the median, and the ends of its 95 % interval."""
    found = median_interval(values)
    return found.value, found.low, found.high


def digits(value: float) -> float:
    """Six digits: more are noise."""
    return float(f"{value:.6g}")


class _Maker:
    """Curves by name."""

    def __init__(self) -> None:
        self.out: dict[str, Curve] = {}

    def add(self, name: str, points: Iterable[Point], **words: Any) -> None:
        """A curve of (x, y, low, high), unless it has no points."""
        unique = {point[0]: point for point in points}
        ordered = [unique[x] for x in sorted(unique)]
        if not ordered:
            return
        x, *measured, count = zip(*ordered, strict=True)
        y, low, high = (tuple(map(digits, column)) for column in measured)
        # Rounding to six digits must not put a value out of its interval.
        low, high = tuple(map(min, y, low)), tuple(map(max, y, high))
        self.out[name] = Curve(x=x, y=y, low=low, high=high, samples=count, **words)


def curves(samples: Samples, places: Places | None, shape: NodeShape) -> dict[str, Curve]:
    """Return all curves that the samples give, by name."""
    make = _Maker()
    if places is not None:
        for level, pairs in places.pairs(shape).items():
            _messages(make, samples, level, *pairs[0])
    _stream(make, samples)
    make.add(
        "spmv",
        [(working_set(one), *median(one.column()), len(one)) for one in samples.of("spmv")],
        kind="spmv",
        title="Sparse matrix-vector product, one core",
        x_unit="B",
        y_unit="s",
        x_label="working set",
    )
    _rates(make, samples)
    _collectives(make, samples)
    _hops(make, samples)
    _startup(make, samples)
    _noise(make, samples)
    return make.out


def _over(series: Iterable[Series], key: str, value: Callable[[Series], tuple[float, float, float]]) -> list[Point]:
    return [(float(one.parameters[key]), *value(one), len(one)) for one in series]


def _points(
    make: _Maker,
    series: list[Series],
    name: str,
    kind: str,
    title: str,
    key: str,
    x_unit: str,
    y_unit: str,
    x_label: str,
    **parameters: str | int,
) -> None:
    points = _over(series, key, lambda one: median(one.column()))
    words = {"title": title, "x_unit": x_unit, "y_unit": y_unit, "x_label": x_label, "parameters": parameters}
    make.add(name, points, kind=kind, **words)


def _inverse(factor: Callable[[Series], float]) -> Callable[[Series], tuple[float, float, float]]:
    """Of times, what is done a second: the ends of the interval change places."""

    def value(one: Series) -> tuple[float, float, float]:
        y, low, high = median(one.column())
        times = factor(one)
        return times / y, times / high, times / max(low, 1e-15)

    return value


def working_set(one: Series) -> float:
    """Bytes of the matrix and the vectors of a sparse matrix-vector product."""
    return float(one.parameters["rows"]) * ROW


def _bytes(one: Series) -> float:
    return float(one.parameters["bytes"])


def _messages(make: _Maker, samples: Samples, level: str, a: int, b: int) -> None:
    where = LEVEL_WORDS[level]
    size = ("bytes", "B")
    kinds: tuple[tuple[str, str, str, dict[str, str]], ...] = (
        ("pingpong", "latency", f"Latency {where}, half a round trip", {}),
        ("fresh", "fresh", f"Half a round trip of data just written {where}", {}),
        ("sendrecv", "sendrecv", f"SendRecv {where}, both directions at once", {}),
        ("isendcall", "overhead", f"Time in MPI_Isend {where}", {"side": "send"}),
    )
    for kind, drawn, title, more in kinds:
        name = "-".join([drawn, *more.values(), level])
        found = samples.of(kind, a=a, b=b)
        _points(make, found, name, drawn, title, *size, "s", "size of the message", level=level, **more)
    # Of messages by rendezvous, none can be there before its receive is posted.
    posted = samples.of("receivecall", a=a, b=b, how="posted")
    there = samples.of("receivecall", a=a, b=b, how="wait")
    received = list({one.parameters["bytes"]: one for one in [*posted, *there]}.values())
    title = f"Time in MPI_Recv {where}, message there already where that is possible"
    of = {"level": level, "side": "receive"}
    _points(make, received, f"overhead-receive-{level}", "overhead", title, *size, "s", "size of the message", **of)
    words = {"x_unit": "B", "x_label": "size of the message"}
    for kind, drawn, title in (
        ("window", "bandwidth", f"Streaming bandwidth {where}"),
        ("bidirectional", "bidirectional", f"Bandwidth in both directions together {where}"),
    ):
        both = 2.0 if kind == "bidirectional" else 1.0
        found = [one for one in samples.of(kind, a=a, b=b) if _bytes(one) > 0]
        points = _over(found, "bytes", _inverse(lambda one, both=both: both * _bytes(one)))  # type: ignore[misc]
        make.add(
            f"{drawn}-{level}", points, kind=drawn, title=title, y_unit="B/s", parameters={"level": level}, **words
        )
    streams = samples.of("window", a=a, b=b)
    title = f"Time between messages of a stream {where}, G s + g"
    _points(make, streams, f"gap-{level}", "gap", title, *size, "s", "size of the message", level=level)
    for which in ("posted", "unexpected"):
        found = samples.of("queue", a=a, b=b, kind=which)
        title = f"Message behind a queue of {which} ones {where}"
        name = f"queue-{which}-{level}"
        _points(make, found, name, "queue", title, "length", "", "s", "length of the queue", level=level, queue=which)


def _stream(make: _Maker, samples: Samples) -> None:
    plain = [one for one in samples.of("stream") if "numa_core" not in one.parameters]
    for op in dict.fromkeys(str(one.parameters["op"]) for one in plain):
        make.add(
            f"stream-{op}",
            _over([one for one in plain if one.parameters["op"] == op], "threads", _inverse(lambda one: 1.0)),
            kind="stream",
            title=f"Memory bandwidth, STREAM {op}",
            y_unit="B/s",
            x_label="threads",
            parameters={"op": op},
        )


def _groups(series: Iterable[Series], *keys: str) -> dict[tuple[Any, ...], list[Series]]:
    out: dict[tuple[Any, ...], list[Series]] = {}
    for one in series:
        out.setdefault(tuple(one.parameters.get(key) for key in keys), []).append(one)
    return out


def _rates(make: _Maker, samples: Samples) -> None:
    for (mode, cold), found in _groups(samples.of("rate"), "mode", "cold").items():
        make.add(
            f"rate-{mode}{'-cold' if cold else ''}",
            _over(found, "ranks", _inverse(lambda one: float(one.parameters["ranks"]))),
            kind="rate",
            title=f"Message rate of a node, {mode}{', cold caches' if cold else ''}",
            y_unit="1/s",
            x_label="ranks of the node",
            parameters={"mode": mode, "cold": int(cold or 0)},
        )
    make.add(
        "injection",
        _over(samples.of("inject"), "senders", _inverse(lambda one: 1.0)),
        kind="injection",
        title="Bandwidth into the network of a node",
        y_unit="B/s",
        x_label="ranks that send",
    )


def _collectives(make: _Maker, samples: Samples) -> None:
    size = {"x_unit": "B", "x_label": "size"}
    every = samples.of("collective")
    for (name, ranks), found in _groups(
        [one for one in every if one.item.columns[1] == "skew"], "name", "ranks"
    ).items():
        of = {"collective": name, "ranks": ranks}
        points = _over(found, "bytes", lambda one: median(one.column("time")))
        make.add(
            f"collective-{name}-{ranks}", points, kind="collective", title=f"{name}, {ranks} ranks", y_unit="s",
            parameters=of, **size,
        )  # fmt: skip
        skews = _over(found, "bytes", lambda one: median(np.abs(one.column("skew"))))
        make.add(
            f"skew-{name}-{ranks}", skews, kind="skew", title=f"Skew of starts of {name}, {ranks} ranks", y_unit="s",
            parameters=of, **size,
        )  # fmt: skip
    waited = [one for one in every if one.item.columns[1] == "cpu"]
    for (name, ranks, tests), found in _groups(waited, "name", "ranks", "tests").items():
        of = {"collective": name, "ranks": ranks, "tests": tests}
        words = f"i{name}, {ranks} ranks, {'at most ' if tests else ''}{tests} calls of MPI_Test"
        parts: tuple[tuple[str, str, str, Callable[[Series], NDArray[np.float64]]], ...] = (
            ("cpu_share", f"Processor's share of {words}", "", lambda one: one.column("cpu") / _pure(one)),
            ("overlap", f"Overlap of {words}", "", lambda one: np.clip(1 - one.column("exposed") / _pure(one), 0, 1)),
            ("exposed", f"Time not hidden of {words}", "s", lambda one: one.column("exposed")),
        )
        for kind, title, unit, column in parts:
            points = _over(found, "bytes", lambda one, column=column: median(column(one)))  # type: ignore[misc]
            make.add(
                f"{kind}-{name}-{ranks}-{tests}", points, kind=kind, title=title, y_unit=unit, parameters=of, **size
            )


def _pure(one: Series) -> NDArray[np.float64]:
    return np.maximum(one.column("pure"), 1e-9)


def merged(series: Iterable[Series], key: str) -> dict[float, Mapping[str, NDArray[np.float64]]]:
    """Columns of series that were taken in launches of their own, put together by one parameter."""
    out: dict[float, dict[str, NDArray[np.float64]]] = {}
    for one in series:
        known = out.setdefault(float(one.parameters[key]), {})
        for name in one.item.columns:
            known[name] = np.append(known.get(name, np.empty(0)), one.column(name))
    return dict(sorted(out.items()))


def _hops(make: _Maker, samples: Samples) -> None:
    """Pairs of nodes by distance, one after another and all at once (Bhatele and Kale)."""
    for (size, alone), found in _groups(samples.of("shift"), "bytes", "alone").items():
        way = "one pair after another" if alone else "all pairs at once"
        make.add(
            f"hops-{size}{'' if alone else '-together'}",
            _over(found, "distance", lambda one: median(one.column())),
            kind="hops",
            title=f"Half a round trip of {size} bytes by distance, {way}",
            y_unit="s",
            x_label="hops",
            parameters={"bytes": size, "alone": int(alone)},
        )


def _startup(make: _Maker, samples: Samples) -> None:
    found = merged(samples.of("startup"), "ranks")
    words = {
        "launch": ("startup", "Time from the launcher to main", "s"),
        "init": ("startup", "Time in MPI_Init", "s"),
        "finalize": ("startup", "Time in MPI_Finalize", "s"),
        "memory_before": ("memory", "Memory of a rank before MPI_Init", "B"),
        "memory_after": ("memory", "Memory of a rank after MPI_Init", "B"),
        "memory_contacted": ("memory", "Memory of a rank after contact with all others", "B"),
    }
    for name, (kind, title, unit) in words.items():
        points = [(ranks, *median(columns[name]), len(columns[name])) for ranks, columns in found.items()]
        what = name.removeprefix("memory_")
        make.add(
            f"{kind}-{what}", points, kind=kind, title=title, y_unit=unit, x_label="ranks", parameters={"what": what}
        )


def _noise(make: _Maker, samples: Samples) -> None:
    """Histogram of how much longer quanta of fixed work took than the shortest: how often a second, by length."""
    for one in samples.of("noise", kind="fwq"):
        times = one.column()
        least = float(times.min())
        longer = times - least
        edges = np.geomspace(1e-7, max(float(longer.max()) * 1.001, 2e-7), 25)
        counts, _ = np.histogram(longer, edges)
        seconds = float(times.sum())
        points = [
            (float(edge), count / seconds, count / seconds, count / seconds, len(times))
            for edge, count in zip(edges[:-1], counts.tolist(), strict=True)
        ]
        core = int(one.parameters["core"])
        make.add(
            f"noise-{core}", points, kind="noise", title=f"Interruptions of core {core}",
            x_unit="s", y_unit="1/s", x_label="length of the interruption, at least",
            parameters={"core": core, "quantum": least},
        )  # fmt: skip
