"""Other mappers, on the same graphs: Scotch (package scotch, its gmap) and KaHIP (PyPI kahip)."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

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
        weighted = bool((graph.weight != 1).any())
        with open(folder / "tasks.grf", "w", encoding="ascii") as out:
            out.write(f"0\n{graph.tasks} {len(near)}\n0 {'010' if weighted else '000'}\n")
            values = np.column_stack([weight, near]) if weighted else near[:, None]
            for task in range(graph.tasks):
                row = values[start[task] : start[task + 1]]
                out.write(f"{len(row)} {' '.join(map(str, row.reshape(-1).tolist()))}\n")
        (folder / "machine.tgt").write_text(_target(machine), encoding="ascii")
        files = [str(folder / f) for f in ("tasks.grf", "machine.tgt", "map")]
        process = subprocess.Popen(
            [gmap, *files, f"-c{way}", *([] if balance is None else [f"-b{balance}"])],
            preexec_fn=lambda: _limit(limit), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            return None
        table = np.loadtxt(folder / "map", dtype=np.int64, skiprows=1)
    node = np.empty(graph.tasks, np.int64)
    node[table[:, 0]] = table[:, 1]
    # Terminals have our numbers: the first dimension is the fastest in both.
    return node, used.ru_utime


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
