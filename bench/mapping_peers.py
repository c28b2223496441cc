"""Other mappers, on the same graphs: Scotch (package scotch, its gmap) and KaHIP (PyPI kahip)."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mapping_evaluator import Dragonfly, Torus

if TYPE_CHECKING:
    from mapping_instances import Graph
    from numpy.typing import NDArray

#: Node of every task, processor seconds.
Answer = tuple["NDArray[np.int64]", float]


def available() -> list[str]:
    """Names of the peers that are installed."""
    found = [f"scotch {way}" for way in "qbs"] if _gmap() else []
    try:
        import kahip  # noqa: F401
    except ImportError:
        return found
    return [*found, "kahip"]


def run(name: str, graph: Graph, machine: Torus | Dragonfly, balance: float | None, limit: float) -> Answer | None:
    """The map of a peer; None where it takes longer than so many processor seconds.

    ``balance``: a node may have so much more than the mean number of tasks; None: one task per node, if the peer can.
    """
    if name == "kahip":
        return _kahip(graph, machine, balance or 0.0)
    return _scotch(graph, machine, name.removeprefix("scotch "), balance, limit)


def _gmap() -> str | None:
    return shutil.which("scotch_gmap") or shutil.which("gmap")


def _scotch(graph: Graph, machine: Torus | Dragonfly, way: str, balance: float | None, limit: float) -> Answer | None:
    """gmap, for quality (q), balance (b) or speed (s); a dragonfly as a tree of groups, routers and nodes."""
    gmap = _gmap()
    assert gmap is not None
    start, near, weight = graph.rows()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_graph(folder / "tasks.grf", start, near, weight)
        (folder / "machine.tgt").write_text(_target(machine), encoding="ascii")
        # Terminals have our numbers: the first dimension is the fastest in both.
        return _gmap_run(gmap, folder, [f"-c{way}", *([] if balance is None else [f"-b{balance}"])], limit)


def _limit(seconds: float) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))


def _target(machine: Torus | Dragonfly) -> str:
    if isinstance(machine, Torus):
        kind = {2: "torus2D ", 3: "torus3D "}.get(len(machine.dims), f"torusXD {len(machine.dims)} ")
        return kind + " ".join(map(str, machine.dims)) + "\n"
    return f"tleaf 3 {machine.groups} 5 {machine.routers} 3 {machine.slots} 2\n"


def _kahip(graph: Graph, machine: Torus | Dragonfly, balance: float) -> Answer:
    """Global multisection with kaffpa (fast): parts for groups, in them for routers, in them for nodes. A torus is
    halved along its longest dimension again and again. Its wheel has no other way to map."""
    import kahip

    begin = time.process_time()
    node = np.zeros(graph.tasks, np.int64)
    box = np.arange(machine.nodes)
    if isinstance(machine, Torus):
        box = box.reshape(machine.dims, order="F")
    else:
        box = box.reshape(machine.groups, machine.routers, machine.slots)
    boxes = [(np.arange(graph.tasks), graph, box)]
    while boxes:
        tasks, part, box = boxes.pop()
        if box.size == 1 or not len(tasks):
            node[tasks] = box.reshape(-1)[0]
            continue
        halve = isinstance(machine, Torus)
        pieces = _split(box, halve)
        # Imbalances of all levels below together stay within the one that is allowed (SharedMap's rule).
        depth = max(1, round(np.log2(box.size))) if halve else box.ndim
        room = (1 + balance) * graph.tasks / machine.nodes * box.size / part.tasks
        uneven = max(0.0, room ** (1 / depth) - 1)
        start, near, weight = part.rows()
        _, found = kahip.kaffpa(
            [1] * part.tasks, start.tolist(), weight.tolist(), near.tolist(), len(pieces), uneven, True, 1, kahip.FAST
        )
        of = np.asarray(found)
        for i, piece in enumerate(pieces):
            mine = np.flatnonzero(of == i)
            boxes.append((tasks[mine], _induced(part, mine), piece))
    return node, time.process_time() - begin


def _split(box: NDArray[np.int64], halve: bool) -> list[NDArray[np.int64]]:
    if halve:
        return list(np.array_split(box, 2, axis=int(np.argmax(box.shape))))
    return [box[i] for i in range(len(box))]


def _induced(graph: Graph, tasks: NDArray[np.int64]) -> Graph:
    new = np.full(graph.tasks, -1)
    new[tasks] = np.arange(len(tasks))
    kept = (new[graph.u] >= 0) & (new[graph.v] >= 0)
    return type(graph)(len(tasks), new[graph.u[kept]], new[graph.v[kept]], graph.weight[kept])


def scotch_on(pattern: Any, job: Any, limit: float = 60.0) -> tuple[Any, float] | None:
    """gmap on any machine and job: its graph decomposed by amk_grf with the nodes of the job as targets.

    Answers with a Placement and the processor seconds of gmap; None where Scotch is missing or fails.
    """
    import isthmus

    gmap, decompose = _gmap(), shutil.which("amk_grf")
    if gmap is None or decompose is None:
        return None
    topology, nodes = job.machine.topology, np.unique(job.nodes)
    start, near, weight = _rows(pattern.ranks, pattern.sources(), pattern.peer, pattern.bytes)
    ends = topology.link_ends(np.arange(topology.links, dtype=np.uint32))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_graph(folder / "tasks.grf", start, near, weight)
        machine = _rows(topology.vertices, ends[:, 0], ends[:, 1], np.ones(topology.links))
        _write_graph(folder / "machine.grf", machine[0], machine[1], np.ones_like(machine[1]))
        (folder / "nodes").write_text("\n".join(map(str, [len(nodes), *nodes.tolist()])) + "\n", encoding="ascii")
        made = [decompose, str(folder / "machine.grf"), str(folder / "machine.tgt"), f"-l{folder / 'nodes'}"]
        if subprocess.run(made, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
        found = _gmap_run(gmap, folder, ["-cq", "-b0.01"], limit)
    if found is None:
        return None
    return isthmus.Placement(job.machine, found[0]), found[1]


def _rows(vertices: int, u: Any, v: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Adjacency of an undirected graph, from pairs in any direction: row starts, neighbours, sums of weights."""
    u, v, weight = np.asarray(u, np.int64), np.asarray(v, np.int64), np.asarray(weight, np.float64)
    kept = u != v
    u, v, weight = u[kept], v[kept], weight[kept]
    pair = np.concatenate([u * vertices + v, v * vertices + u])
    found, where = np.unique(pair, return_inverse=True)
    total = np.bincount(where, np.concatenate([weight, weight]), len(found))
    start = np.searchsorted(found // vertices, np.arange(vertices + 1))
    # Weights of Scotch are 32 bits wide, and their sum has to fit too.
    scale = max(1.0, float(total.sum()) / 1e9)
    return start, found % vertices, np.maximum(total / scale, 1).astype(np.int64)


def _write_graph(path: Path, start: Any, near: Any, weight: Any) -> None:
    weighted = bool((weight != 1).any())
    with open(path, "w", encoding="ascii") as out:
        out.write(f"0\n{len(start) - 1} {len(near)}\n0 {'010' if weighted else '000'}\n")
        values = np.column_stack([weight, near]) if weighted else near[:, None]
        for vertex in range(len(start) - 1):
            row = values[start[vertex] : start[vertex + 1]]
            out.write(f"{len(row)} {' '.join(map(str, row.reshape(-1).tolist()))}\n")


def _gmap_run(gmap: str, folder: Path, options: list[str], limit: float) -> Answer | None:
    """Maps tasks.grf of a folder to its machine.tgt; None where that fails or takes longer."""
    files = [str(folder / f) for f in ("tasks.grf", "machine.tgt", "map")]
    process = subprocess.Popen(
        [gmap, *files, *options], preexec_fn=lambda: _limit(limit), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return None
    table = np.loadtxt(folder / "map", dtype=np.int64, skiprows=1).reshape(-1, 2)
    node = np.empty(len(table), np.int64)
    node[table[:, 0]] = table[:, 1]
    return node, used.ru_utime
