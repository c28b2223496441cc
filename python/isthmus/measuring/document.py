"""The machine that comes out of samples: every number with its interval, its method and the number of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import units
from ..errors import InvalidInput
from ..machine import Machine
from ..machine.measured import Measured, curve_table, measured_table
from . import check, transport
from .curves import curves, digits, median, working_set
from .fit import LevelFit, ScheduleFit
from .levels import SOURCE, level_tables, local_tables, noise_table, number
from .models import hops_model, injection_model, with_models
from .node import NodeShape
from .places import Places
from .samples import Samples, Series

#: Keys of [sources].
SHAPE = "node"


def describe(
    samples: Samples,
    shape: NodeShape,
    places: Places | None,
    *,
    name: str,
    base: Machine | None,
    measured: Measured,
    missing: list[str],
    hops: Callable[[str, str], int] | None = None,
) -> Machine:
    """Return the machine that samples describe.

    Parameters
    ----------
    samples : Samples
    shape : NodeShape
        What is known of a node without measuring.
    places : Places or None
        Where ranks were; None if no MPI was measured.
    name : str
        Name of the machine.
    base : Machine or None
        Machine whose interconnect it has.
    measured : Measured
        How it was measured.
    missing : list of str
        Told what could not be measured.
    hops : callable, optional
        Links between two nodes, by their names; None where nobody knows.

    Raises
    ------
    InvalidInput
        If the interconnect of ``base`` has fewer places than there are nodes.
    """
    samples, unseen = check.apart(samples)
    hosts = max(measured.hosts, 1)
    raw: dict[str, Any] = {"format": 3, "name": name, "title": _title(measured, hosts)}
    raw["sources"] = {SOURCE: f"isthmus measure {measured.isthmus}, {measured.date}", SHAPE: shape.source}
    raw |= _interconnect(base, hosts)
    raw["sources"] = {**raw.pop("base_sources", {}), **raw["sources"]}
    raw["node"] = _node(samples, shape)
    _injection(raw["node"], samples)
    if noise := noise_table(samples):
        raw["noise"] = noise
    compared: list[check.Checked] = []
    fits: Mapping[str, LevelFit | ScheduleFit]
    if places is not None:
        pairs = places.pairs(shape)
        if measured.transport:
            fits = transport.fits_of(samples, places, shape, missing)
            raw["level"] = {level: transport.level_table(fit) for level, fit in fits.items()}
            raw["node"] |= transport.node_table(next(iter(fits.values()))) if fits else {}
            compared = transport.checked(unseen, fits, pairs)
        else:
            raw["level"], fits = level_tables(samples, places, shape, missing)
            raw["node"] |= local_tables(samples)
            compared = check.checked(unseen, {level: (pairs[level][0], fit.level) for level, fit in fits.items()})
        raw["sources"] |= {
            f"{SOURCE}_{level}": f"{raw['sources'][SOURCE]}: {fit.method}" for level, fit in fits.items()
        }
        for level in fits:
            _cite(raw["level"][level], f"{SOURCE}_{level}")
        if hops is not None:
            _by_hops(raw["level"], samples, places, shape, hops)
        raw["links"] = raw.get("links", {}) | _links(raw["level"], base, hosts)
        missing += check.doubts(compared)
    raw["measured"] = measured_table(replace(measured, check=check.sentence(compared)))
    ranks = {} if places is None else {level: found[0] for level, found in places.pairs(shape).items()}
    found = with_models(curves(samples, places, shape), samples, ranks) | check.curves(compared)
    raw["curves"] = {key: curve_table(curve) for key, curve in found.items()}
    notes = list(missing)
    if base is None and hosts > 1:
        notes.append("The interconnect was not given (--topology): all nodes are taken to be on one switch.")
    raw["notes"] = [*raw.get("notes", []), *notes]
    return Machine.from_dict(raw, name)


def _cite(table: dict[str, Any], source: str) -> None:
    """Let the numbers of a level name the source that says how they were fitted."""
    for value in table.values():
        if isinstance(value, dict) and value.get("source") == SOURCE:
            value["source"] = source
        elif isinstance(value, list):
            for piece in value:
                _cite(piece, source)


def _by_hops(
    levels: dict[str, Any], samples: Samples, places: Places, shape: NodeShape, hops: Callable[[str, str], int]
) -> None:
    """The time of a hop, taken out of L of the network level, which was measured over several."""
    network, model = levels.get("network"), hops_model(samples)
    if not network or model is None:
        return
    per_hop = model.numbers["per_hop"]
    a, b = places.pairs(shape)["network"][0]
    more = max(hops(places.hosts[a], places.hosts[b]) - 1, 0)

    def less(time: str) -> str:
        return units.text(digits(max(units.parse(time, "s") - more * per_hop.value, 0.0)), "s")

    for one in (network, *network.get("pieces", [])):
        L = one.get("L")
        if more and isinstance(L, dict):
            L["value"] = less(L["value"])
            if "interval" in L:
                L["interval"] = [less(end) for end in L["interval"]]
            also = f"without {more} hop{'' if more == 1 else 's'} beyond the first"
            L["note"] = f"{L['note']}; {also}" if "note" in L else also
    method = "half round trips of pairs of nodes at several distances"
    network["per_hop"] = number(per_hop.value, "s", (per_hop.low, per_hop.high), per_hop.samples, method)


def _links(levels: dict[str, Any], base: Machine | None, hosts: int) -> dict[str, Any]:
    """Links of one switch: as fast as the network level; those of a given interconnect are its own."""
    network = levels.get("network")
    if base is not None or hosts == 1 or not network:
        return {}
    # Of the largest messages: for small ones G is that of copies on the way.
    slowest = [network, *network.get("pieces", [])][-1].get("G")
    time = units.parse(slowest["value"] if isinstance(slowest, dict) else slowest, "s/B") if slowest else 0.0
    if time <= 0:
        return {}
    note = "1 / G of large messages of the network level"
    rate = {"value": units.text(digits(1 / time), "B/s"), "source": SOURCE, "status": "derived", "note": note}
    latency = {"value": "0 s", "source": SOURCE, "status": "derived", "note": "is part of L of the network level"}
    return {"default": {"bandwidth": rate, "latency": latency}}


def _title(measured: Measured, hosts: int) -> str:
    nodes = f"{hosts} nodes" if hosts > 1 else "one node"
    return f"Measured {measured.date[:10]}: {nodes}{f', {measured.cpu}' if measured.cpu else ''}"


def _injection(node: dict[str, Any], samples: Samples) -> None:
    """Bandwidth of each network interface, where more ranks sent than it takes to use all of them."""
    model = injection_model(samples)
    limit = model.numbers.get("node") if model else None
    if limit is None:
        return
    given = node.get("nics", 1)
    nics = max(int(given["value"] if isinstance(given, dict) else given), 1)
    note = "" if nics == 1 else f"of all {nics} together, divided by their number"
    value, low, high = (x / nics for x in (limit.value, limit.low, limit.high))
    method = "ranks of a node that send to another at once, max-rate model"
    node["nic_bandwidth"] = number(value, "B/s", (low, high), limit.samples, method, note)


def _interconnect(base: Machine | None, hosts: int) -> dict[str, Any]:
    """The tables of the interconnect, of another machine or of one switch."""
    if base is None:
        return {"topology": {"kind": "ring", "dims": [1]} if hosts == 1 else {"kind": "tree", "m": [hosts]}}
    if base.nodes < hosts:
        raise InvalidInput(
            f"--topology {base.name} has {base.nodes} nodes: must have {hosts}, those that were measured"
        )
    import tomllib

    given = tomllib.loads(base.toml())
    kept = {key: given[key] for key in ("topology", "links", "compute_nodes", "hostnames", "notes") if key in given}
    return kept | {"base_sources": given.get("sources", {})}


def _node(samples: Samples, shape: NodeShape) -> dict[str, Any]:
    """The table of the node: what the system says, and what was measured."""
    out: dict[str, Any] = {}
    for key, value in shape.table.items():
        if key == "caches":
            out[key] = value
        elif isinstance(value, dict):
            out[key] = {**value, "source": SHAPE}
        else:
            out[key] = {"value": value, "source": SHAPE, "status": "exact"}
    triads = {
        int(one.parameters["threads"]): one
        for one in samples.of("stream", op="triad")
        if "numa_core" not in one.parameters
    }
    if triads:
        rows = [(threads, *_bandwidth(triads[threads]), len(triads[threads])) for threads in sorted(triads)]
        out["memory_bandwidth_by_threads"] = [
            {"threads": threads, "bandwidth": number(y, "B/s", (low, high), size, "STREAM triad")}
            for threads, y, low, high, size in rows
        ]
        threads, y, low, high, size = max(rows, key=lambda row: row[1])
        note = f"STREAM triad with {threads} thread{'' if threads == 1 else 's'}"
        out["memory_bandwidth"] = number(y, "B/s", (low, high), size, note)
    if matrix := _stream_matrix(samples):
        out["stream"] = {"value": matrix, "source": SOURCE, "status": "measured", "method": "STREAM triad"}
    if peak := samples.of("fma"):
        y, low, high = median(peak[0].column())
        cores = int(shape.table.get("cores", 1))
        method = f"loop of fused multiply-adds on one core, times {cores} cores"
        out["flops"] = number(cores / y, "flop/s", (cores / high, cores / low), len(peak[0]), method)
    if classes := _spmv(samples, shape):
        out["spmv"] = classes
    return out


def _bandwidth(one: Series) -> tuple[float, float, float]:
    y, low, high = median(one.column())
    return 1 / y, 1 / high, 1 / low


def _stream_matrix(samples: Samples) -> list[list[str]]:
    found = {
        (int(one.parameters["numa_core"]), int(one.parameters["numa_memory"])): _bandwidth(one)[0]
        for one in samples.of("stream", op="triad")
        if "numa_core" in one.parameters
    }
    size = max((a for a, _ in found), default=-1) + 1
    if len(found) != size * size:
        return []
    return [[units.text(digits(found[a, b]), "B/s") for b in range(size)] for a in range(size)]


def _spmv(samples: Samples, shape: NodeShape) -> list[dict[str, Any]]:
    """Classes of working sets: what fits into each cache, and what does not fit into any."""
    found = sorted(samples.of("spmv"), key=lambda one: working_set(one))
    caches = [float(cache["size"]) for cache in shape.table.get("caches", [])]
    out = []
    low = 0.0
    for top in [*caches, np.inf]:
        inside = [one for one in found if low < working_set(one) <= top]
        low = top
        if not inside:
            continue
        times = np.concatenate([one.column() for one in inside])
        y, *interval = median(times)
        of = number(y, "s", (interval[0], interval[1]), len(times), "sparse matrix-vector product, one core")
        table: dict[str, Any] = {} if np.isinf(top) else {"up_to": units.text(top, "B")}
        out.append(table | {"time_per_flop": of})
    return out
