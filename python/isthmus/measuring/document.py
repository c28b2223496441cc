"""The machine that comes out of samples: every number with its interval, its method and the number of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import units
from ..errors import InvalidInput
from ..machine import Machine
from ..machine.measured import Measured, curve_table, measured_table
from .curves import curves, median, working_set
from .levels import SOURCE, digits, level_tables, noise_table, number
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

    Raises
    ------
    InvalidInput
        If the interconnect of ``base`` has fewer places than there are nodes.
    """
    hosts = max(measured.hosts, 1)
    raw: dict[str, Any] = {"format": 2, "name": name, "title": _title(measured, hosts)}
    raw["sources"] = {SOURCE: f"isthmus measure {measured.isthmus}, {measured.date}", SHAPE: shape.source}
    raw |= _interconnect(base, hosts)
    raw["sources"] = {**raw.pop("base_sources", {}), **raw["sources"]}
    raw["node"] = _node(samples, shape)
    if noise := noise_table(samples):
        raw["noise"] = noise
    if places is not None:
        raw["level"], methods = level_tables(samples, places, shape, missing)
        raw["sources"] |= {
            f"{SOURCE}_{level}": f"{raw['sources'][SOURCE]}: {method}" for level, method in methods.items()
        }
        for level in methods:
            _cite(raw["level"][level], f"{SOURCE}_{level}")
        raw["links"] = raw.get("links", {}) | _links(raw["level"], base, hosts)
    raw["measured"] = measured_table(measured)
    found = curves(samples, places, shape)
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
