"""The output of ``print(machine)`` and ``isthmus machine show``."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import TYPE_CHECKING, Any

from .. import units
from ..errors import Unsupported
from .description import LEVELS
from .kinds import KINDS, Parameter
from .parts import Level, Node, Noise, Provenance, ValueRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from .machine import Machine


def rows(machine: Machine) -> list[ValueRow]:
    """Return one row per given value, in the order of the TOML form, without parameters at their defaults."""
    v = machine.description.values
    out: list[ValueRow] = []

    def add(path: str, value: Any, unit: str = "") -> None:
        p = machine.provenance(path)
        if isinstance(value, tuple):
            value = "; ".join(", ".join(units.text(x, unit, 4) for x in row) for row in value)
        elif isinstance(value, float):
            value = units.text(value, unit)
        source = machine.description.sources.get(p.source, p.source)
        interval = "" if p.interval is None else " to ".join(units.text(end, unit, 4) for end in p.interval)
        out.append(
            ValueRow(
                path=path, value=value, source=source, status=p.status, note=p.note, interval=interval,
                samples=p.samples, method=p.method,
            )
        )  # fmt: skip

    if v["compute_nodes"] is not None:
        add("compute_nodes", v["compute_nodes"])
    parameters = KINDS[v["topology"]["kind"]].parameters
    for key in ("kind", *(p.name for p in parameters)):
        path, value = f"topology.{key}", v["topology"][key]
        if key in ("nodes", "switches", "edges") and v["topology"]["kind"] == "graph":
            add(f"topology.{key}", f"{len(value)} entries")
        elif value != _plain(parameters, key) or machine.provenance(path) != Provenance():
            if isinstance(value, list):
                value = ", ".join(str(w).lower() for w in value) if key == "wrap" else "x".join(map(str, value))
            add(f"topology.{key}", value)
    for name, link in v["links"].items():
        for key, value in link.items():
            add(f"links.{name}.{key}", value, "B/s" if key == "bandwidth" else "s")
    parts: list[tuple[str, Any, dict[str, Any]]] = [("node", Node, v["node"])]
    parts += [(f"level.{name}", Level, v["level"].get(name, {})) for name in LEVELS]
    parts.append(("noise", Noise, v["noise"]))
    for path, cls, values in parts:
        _add_fields(path, cls, values, add)
    return out


def _add_fields(path: str, cls: Any, values: dict[str, Any], add: Callable[[str, Any, str], None]) -> None:
    for field in dataclasses.fields(cls):
        value = values.get(field.name)
        if field.name not in values or value is None:
            continue
        if "of" in field.metadata:
            for i, record in enumerate(value):
                _add_fields(f"{path}.{field.name}.{i}", field.metadata["of"], vars(record), add)
        else:
            add(f"{path}.{field.name}", value, field.metadata["unit"])


def _plain(parameters: tuple[Parameter, ...], name: str) -> Any:
    """The value of a parameter that is not given."""
    default = next((p.default for p in parameters if p.name == name), None)
    return list(default) if isinstance(default, tuple) else default


def _or_none(question: Callable[[], Any], parts: int) -> Any:
    """The answer, or that many None where the network is too large to search for one."""
    try:
        return question()
    except Unsupported:
        return (None,) * parts


def summary(machine: Machine) -> dict[str, Any]:
    """Return computed properties of the interconnect and the machine, in SI units."""
    t = machine.topology
    diameter, diameter_exact = _or_none(t.diameter, 2)
    average, average_exact = _or_none(t.average_distance, 2)
    links, bandwidth, bisection_exact = _or_none(t.bisection, 3)
    return {
        "name": machine.name,
        "title": machine.title,
        "topology": t.spec,
        "kind": t.kind,
        "nodes": machine.nodes,
        "places": t.nodes,
        "switches": t.switches,
        "links": t.links,
        "cores": machine.cores,
        "dims": dict(zip(t.dim_names, t.dims, strict=True)),
        "diameter": diameter,
        "diameter_exact": diameter_exact,
        "average_distance": average,
        "average_distance_exact": average_exact,
        "bisection_links": links,
        "bisection_bandwidth": bandwidth,
        "bisection_exact": bisection_exact,
        "virtual_channels": t.virtual_channels("minimal"),
        "oversubscription": [t.oversubscription(level + 1) for level in range(len(t.link_classes))]
        if t.link_classes[0][0] == "level1"
        else None,
        "link_classes": [{"name": n, "bandwidth": b, "latency": latency} for n, b, latency in t.link_classes],
    }


def _levels(machine: Machine, decimal: bool) -> list[str]:
    """A table of the levels, each with its pieces below it; O where a processor has to do with bytes."""
    levels = {name: getattr(machine.level, name) for name in LEVELS}
    by_processor = any(piece.O or piece.O_of_receiver for level in levels.values() for piece in level.all_pieces)
    width = 12 if any(level.pieces for level in levels.values()) else 9
    names = ["L", "o_send", "o_recv", "g", "G", *(["O", "O_recv"] if by_processor else []), "S", "per_hop"]
    lines = [f"  LogGP  {'':<{width - 5}}" + "".join(f"{name:>10}" for name in names)]
    given = machine.description.values["level"]
    for name, level in levels.items():
        # Beside what was measured, levels that were not are in brackets: they have the defaults.
        own = name if given.get(name) or machine.measured is None else f"({name})"
        for piece in level.all_pieces:
            cells = [units.text(x, "s", 3) for x in (piece.L, piece.o_send, piece.o_recv, piece.g)]
            rates = [piece.G, *([piece.O, piece.O_of_receiver] if by_processor else [])]
            # Below a picosecond two digits after the point are enough, and fit.
            cells += [units.text(x, "s/B", 3) if x >= 1e-12 or not x else f"{1e12 * x:.2f} ps/B" for x in rates]
            if not piece.above:
                cells += [units.text(level.S, "B", 5, decimal=decimal), units.text(level.per_hop, "s", 3)]
            title = f"> {units.text(piece.above, 'B', 5, decimal=decimal)}" if piece.above else own
            lines.append(f"    {title:<{width}}" + "".join(f"{cell:>10}" for cell in cells))
    return lines


def report(machine: Machine, *, decimal: bool = False) -> str:
    """Return a short description of the machine, without the provenance of every number.

    With ``decimal``, numbers of bytes are in powers of 1000 whatever they are, as what stands beside them.
    """
    s = summary(machine)
    about = {False: "about ", True: ""}
    dims = " x ".join(map(str, s["dims"].values())) + f" ({', '.join(s['dims'])})"
    lines = [
        s["title"],
        f"  interconnect   {s['topology']}",
        f"  nodes          {s['nodes']:,}"
        + (f" of {s['places']:,} places" if s["places"] != s["nodes"] else "")
        + f", {machine.node.cores} core{'' if machine.node.cores == 1 else 's'} each, {s['cores']:,} cores",
        f"  coordinates    {dims}",
        f"  switches       {s['switches']:,}" + ("" if s["switches"] else " (inside the nodes)"),
        f"  links          {s['links']:,}, one direction each",
    ]
    unknown = "not known, too large to search"
    far = unknown if s["diameter"] is None else f"{about[s['diameter_exact']]}{s['diameter']}"
    average, width = s["average_distance"], s["bisection_links"]
    mean = unknown if average is None else f"{about[s['average_distance_exact']]}{average:.4g} links"
    lines.append(f"  distance       diameter {far}, average {mean}")
    if width is None:
        lines.append(f"  bisection      {unknown}")
    else:
        bound = "" if s["bisection_exact"] else "at most "
        bandwidth = units.text(s["bisection_bandwidth"], "B/s", 4)
        lines.append(f"  bisection      {bound}{width:,} links, {bandwidth} each way")
    if s["oversubscription"]:
        ratios = ", ".join(f"level {i} {ratio:.4g}:1" for i, ratio in enumerate(s["oversubscription"][:-1], 1))
        lines += [f"  oversubscribed {ratios}"] if ratios else []
    width = max(len(c["name"]) for c in s["link_classes"])
    # Directions that do not differ are one line.
    shown: dict[tuple[str, str], str] = {}
    for c in s["link_classes"]:
        numbers = f"{units.text(c['bandwidth'], 'B/s', 4):>10}  {units.text(c['latency'], 's', 4):>8} a link"
        stem = c["name"].rstrip("+-")
        shown[stem, numbers] = stem if (stem, numbers) in shown else c["name"]
    if len(shown) > 8 and len({numbers for _, numbers in shown}) == 1:
        (numbers,) = {numbers for _, numbers in shown}
        shown = {("", numbers): "all"}
    for i, ((_, numbers), name) in enumerate(shown.items()):
        lines.append(f"  {'link classes' if i == 0 else '':<14} {name:<{width}} {numbers}")
    n = machine.node
    # Memory and the sizes of messages are read on one page.
    levels = [getattr(machine.level, name) for name in LEVELS]
    sizes = [n.memory, *(level.S for level in levels), *(p.above for level in levels for p in level.all_pieces)]
    decimal = decimal or units.mixed([size for size in sizes if size], 5)
    counted = ((n.sockets, "socket"), (n.numa, "NUMA domain"), (n.cores, "core"), (n.nics, "NIC"), (n.gpus, "GPU"))
    node = [f"{count} {what}{'' if count == 1 else 's'}" for count, what in counted if count]
    for value, unit, what in (
        (n.memory, "B", "memory"),
        (n.memory_bandwidth, "B/s", "memory bandwidth"),
        (n.flops, "flop/s", "peak"),
    ):
        if value is not None:
            node.append(f"{units.text(value, unit, 4, decimal=decimal)} {what}")
    lines.append(f"  node           {', '.join(node)}")
    lines += [*_work(n, decimal), *_levels(machine, decimal)]
    if machine.noise.kind != "none":
        lines.append(f"  noise          {machine.noise.kind}")
    return "\n".join([*lines, *_measured(machine)])


def _work(node: Node, decimal: bool) -> list[str]:
    """The start of schedules, and the times of copies and reductions from the smallest to the largest size."""
    words = [f"schedules begin after {units.text(node.start, 's', 3)}"] if node.start else []
    for what, times in (("copies", node.copy), ("reductions", node.reduce)):
        ends = [
            f"{units.text(one.time, 's', 3)} of {units.text(one.bytes, 'B', 5, decimal=decimal)}"
            for one in dict.fromkeys((times[0], times[-1]) if times else ())
        ]
        words += [f"{what} {' to '.join(ends)}"] if ends else []
    return [f"  work           {', '.join(words)}"] if words else []


def _measured(machine: Machine) -> list[str]:
    """How it was measured, in short."""
    known = machine.measured
    if known is None:
        return []
    ranks = f"{known.ranks} rank{'' if known.ranks == 1 else 's'}" if known.ranks else ""
    carrier = f"messages of {known.transport}" if known.transport else ""
    lines = [f"  measured       {', '.join(filter(None, (known.date, known.mpi, carrier, ranks, known.cpu)))}"]
    for i, (name, curve) in enumerate((n, c) for n, c in machine.curves.items() if c.fitted):
        numbers = ", ".join(f"{key} {units.text(v, curve.y_unit, 3)}" for key, (v, _, _) in curve.fitted.items())
        lines += textwrap.wrap(
            f"{name}: {numbers} in {curve.formula}", 110, initial_indent=f"  {'' if i else 'models':<15}",
            subsequent_indent=" " * 19,
        )  # fmt: skip
    if machine.curves:
        kinds = dict.fromkeys(curve.kind for curve in machine.curves.values())
        lines += textwrap.wrap(
            f"{len(machine.curves)} of {', '.join(kinds)}", 110, initial_indent="  curves         ",
            subsequent_indent=" " * 17,
        )  # fmt: skip
    if known.check:
        lines += textwrap.wrap(known.check, 110, initial_indent="  prediction     ", subsequent_indent=" " * 17)
    for i, warning in enumerate(known.warnings):
        lines += textwrap.wrap(
            warning, 110, initial_indent=f"  {'warnings' if i == 0 else '':<15}", subsequent_indent=" " * 17
        )
    return lines
