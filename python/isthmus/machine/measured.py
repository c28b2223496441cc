"""What a measurement adds to a machine: how it was taken, and curves of what the model has no parameter for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .. import units

if TYPE_CHECKING:
    from typing import NoReturn


def _field(doc: str, default: Any = "") -> Any:
    return dataclasses.field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How a machine was measured; texts are empty where nobody knows."""

    date: str = _field("day and time, ISO 8601")
    isthmus: str = _field("version of Isthmus")
    mpi: str = _field("MPI library and its version")
    launch: str = _field("command that started the ranks")
    transport: str = _field("what carried the messages that the levels describe: empty for MPI, or isthmus")
    ranks: int = _field("ranks that were timed", 0)
    hosts: int = _field("nodes that they ran on", 0)
    hostnames: tuple[str, ...] = _field("names of the nodes, only where asked for", ())
    pinning: str = _field("whether ranks were bound to cores, and which")
    cpu: str = _field("model of the processor")
    kernel: str = _field("operating system")
    governor: str = _field("frequency scaling of the processor")
    load: str = _field("what else ran: load average, time stolen by other virtual machines")
    duration: float = _field("time in seconds that the measurement took", 0.0)
    seed: int = _field("seed of the order of measurements", 0)
    check: str = _field("how well the levels predict messages that they were not fitted to")
    raw: str = _field("file of the raw samples, beside the machine file")
    warnings: tuple[str, ...] = _field("what makes these numbers less certain", ())


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One measured quantity over another, such as latency over the size of messages.

    Attributes
    ----------
    kind : str
        What it is a curve of: curves of one kind are drawn together and compared.
    title : str
        In words, for a heading.
    x, y : tuple of float
        Points, in SI units, x ascending.
    low, high : tuple of float
        Interval of each y (95 %), empty where nobody knows.
    samples : tuple of int
        Number of samples of each y, empty where nobody knows.
    x_unit, y_unit : str
        Base units, such as ``"B"`` and ``"s"``.
    x_label : str
        What x is, in words.
    parameters : mapping of str to str, int or float
        What holds for all points: level, collective, number of ranks, ...
    formula : str
        What the points follow, in the names of ``fitted``; empty where nothing was fitted.
    fitted : mapping of str to (float, float, float)
        Numbers of the formula in the unit of y, each with the ends of its interval (95 %).
    """

    kind: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    title: str = ""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    samples: tuple[int, ...] = ()
    x_unit: str = ""
    y_unit: str = ""
    x_label: str = ""
    parameters: Mapping[str, str | int | float] = dataclasses.field(default_factory=dict)
    formula: str = ""
    fitted: Mapping[str, tuple[float, float, float]] = dataclasses.field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Views of mappings cannot be pickled.
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _curve, (values | {"parameters": dict(self.parameters), "fitted": dict(self.fitted)},)


def _curve(values: dict[str, Any]) -> Curve:
    return Curve(**values)


class Reader(Protocol):
    """What checks the values of a machine (:mod:`isthmus.machine.description`)."""

    def fail(self, path: str, message: str) -> NoReturn: ...
    def table(self, value: Any, path: str) -> dict[str, Any]: ...
    def text(self, value: Any, path: str) -> str: ...
    def unknown(self, path: str, key: str, allowed: Any) -> NoReturn: ...


def measured_of(reader: Reader, raw: Any) -> Measured | None:
    """The table ``[measured]`` of a raw description; None where there is none."""
    if raw is None:
        return None
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Measured)}
    out: dict[str, Any] = {}
    for key, value in reader.table(raw, "measured").items():
        path = f"measured.{key}"
        if key not in defaults:
            reader.unknown("measured", key, defaults)
        if isinstance(defaults[key], tuple):
            if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
                reader.fail(path, f"is {units.shown(value)}: must be a list of texts")
            value = tuple(value)
        elif isinstance(defaults[key], str):
            value = reader.text(value, path)
        else:
            if isinstance(value, bool) or not isinstance(value, (int, type(defaults[key]))) or not 0 <= value < 2**64:
                reader.fail(path, f"is {units.shown(value)}: must be a number from 0")
            value = type(defaults[key])(value)
        out[key] = value
    return Measured(**out)


_NUMBERS = ("x", "y", "low", "high", "samples")
_TEXTS = ("kind", "title", "x_unit", "y_unit", "x_label", "formula")


def curves_of(reader: Reader, raw: Any) -> dict[str, Curve]:
    """The tables ``[curves.NAME]`` of a raw description."""
    out = {}
    for name, given in reader.table({} if raw is None else raw, "curves").items():
        where = f"curves.{name}"
        table = reader.table(given, where)
        for key in table:
            if key not in (*_NUMBERS, *_TEXTS, "parameters", "fitted"):
                reader.unknown(where, key, (*_TEXTS, *_NUMBERS, "parameters", "fitted"))
        values: dict[str, Any] = {key: reader.text(table[key], f"{where}.{key}") for key in _TEXTS if key in table}
        for key in ("x_unit", "y_unit"):
            if values.get(key, "") not in units.UNITS:
                reader.fail(
                    f"{where}.{key}", f"is {values[key]!r}: must be one of {', '.join(filter(None, units.UNITS))}"
                )
        for key in ("kind", "x", "y"):
            if key not in table:
                reader.fail(f"{where}.{key}", "is missing: a curve needs kind, x and y")
        for key in _NUMBERS:
            values[key] = _numbers(reader, table.get(key, []), f"{where}.{key}")
        size = len(values["x"])
        for key in _NUMBERS[1:]:
            if len(values[key]) != size and (key == "y" or values[key]):
                reader.fail(f"{where}.{key}", f"has {len(values[key])} numbers: must have {size}, one for every x")
        if any(a >= b for a, b in zip(values["x"], values["x"][1:], strict=False)):
            reader.fail(f"{where}.x", "must ascend: each number above the one before")
        if bool(values["low"]) != bool(values["high"]):
            reader.fail(where, "has only one of low and high: must have both or neither")
        if any(low > high for low, high in zip(values["low"], values["high"], strict=True)):
            reader.fail(f"{where}.low", "is above high at a point: must be at most high")
        values["samples"] = tuple(map(int, values["samples"]))
        if any(number < 1 for number in values["samples"]):
            reader.fail(f"{where}.samples", "has numbers below 1: must be whole numbers from 1")
        parameters = reader.table(table.get("parameters", {}), f"{where}.parameters")
        for key, value in parameters.items():
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                reader.fail(f"{where}.parameters.{key}", f"is {units.shown(value)}: must be a text or a number")
        out[name] = Curve(**values, parameters=dict(parameters), fitted=_fitted(reader, table, f"{where}.fitted"))
    return out


def _fitted(reader: Reader, table: dict[str, Any], path: str) -> dict[str, tuple[float, float, float]]:
    """Numbers of a formula with their intervals."""
    out = {}
    for name, given in reader.table(table.get("fitted", {}), path).items():
        numbers = _numbers(reader, given, f"{path}.{name}")
        if len(numbers) != 3 or not numbers[1] <= numbers[0] <= numbers[2]:
            reader.fail(f"{path}.{name}", "must be a number and both ends of its interval, which holds it")
        out[name] = (numbers[0], numbers[1], numbers[2])
    return out


def _numbers(reader: Reader, value: Any, path: str) -> tuple[float, ...]:
    good = isinstance(value, list) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and abs(one) < 1e300 for one in value
    )
    if not good:
        reader.fail(path, f"is {units.shown(value)}: must be a list of finite numbers in SI units")
    return tuple(map(float, value))


def measured_table(measured: Measured) -> dict[str, Any]:
    """The table ``[measured]``, without what nobody knows."""
    return {key: list(v) if isinstance(v, tuple) else v for key, v in dataclasses.asdict(measured).items() if v}


def curve_table(curve: Curve) -> dict[str, Any]:
    """One table ``[curves.NAME]``."""
    out: dict[str, Any] = {key: getattr(curve, key) for key in _TEXTS if getattr(curve, key)}
    if curve.parameters:
        out["parameters"] = dict(curve.parameters)
    if curve.fitted:
        out["fitted"] = {name: list(numbers) for name, numbers in curve.fitted.items()}
    return out | {key: _short(getattr(curve, key)) for key in _NUMBERS if key in ("x", "y") or getattr(curve, key)}


def _short(numbers: Sequence[float]) -> list[int | float]:
    """Whole numbers without a fraction: 1024 instead of 1024.0."""
    return [int(x) if x == int(x) and abs(x) < 2**53 else x for x in numbers]
