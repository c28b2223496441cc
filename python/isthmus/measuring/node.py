"""What can be known of a node without running anything: cores, sockets, caches, memory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, ParseError
from ..imports.machines.formats import read

_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_TOOLS = ("lstopo-no-graphics", "lstopo")
#: Seconds that hwloc may take.
_LONGEST = 60.0
_CACHE = re.compile(r"([0-9]+)([KMG]?)")


@dataclass(frozen=True)
class NodeShape:
    """A node as the operating system describes it.

    Attributes
    ----------
    table : dict
        The table ``node`` of a machine, in its TOML form.
    source : str
        Who said so, for the provenance.
    notes : list of str
        What the source left open.
    core_of, socket_of, numa_of : dict of int to int
        Of each processor (hardware thread) that this process may use: its core, socket and NUMA domain.
    """

    table: dict[str, Any]
    source: str
    notes: list[str] = field(default_factory=list)
    core_of: dict[int, int] = field(default_factory=dict)
    socket_of: dict[int, int] = field(default_factory=dict)
    numa_of: dict[int, int] = field(default_factory=dict)

    @property
    def cores(self) -> int:
        """Number of cores that may be used."""
        return len(set(self.core_of.values()))

    @property
    def first_processors(self) -> list[int]:
        """One processor of every core, ascending."""
        return sorted({core: cpu for cpu, core in sorted(self.core_of.items(), reverse=True)}.values())


def node_shape(hwloc: bool = True) -> NodeShape:
    """Describe the node on which this process runs: by hwloc where it is installed, else by what the kernel says.

    Parameters
    ----------
    hwloc : bool
        Ask hwloc if it is there.
    """
    cores, sockets, numa = _kernel_places()
    notes: list[str] = []
    table, source = None, "kernel (/sys, /proc)"
    if hwloc:
        try:
            table, by_hwloc = _hwloc()
            source = by_hwloc or source
        except (InvalidInput, ParseError, OSError) as error:
            notes.append(f"hwloc does not describe this node ({error}): the kernel was asked instead.")
        if table is None and not notes:
            notes.append("hwloc (lstopo) is not installed: the kernel was asked instead.")
    if table is None:
        table = _kernel_table(cores, sockets, numa)
    caches = _caches(cores)
    if caches:
        table["caches"] = caches
    usable, there = len(set(cores.values())), int(table.get("cores", 0))
    if usable < there:
        notes.append(f"This process may use {usable} of {there} cores: what the others do together was not measured.")
    return NodeShape(table, source, notes, cores, sockets, numa)


def _hwloc() -> tuple[dict[str, Any] | None, str]:
    """The table that the importer of hwloc makes; None where hwloc is not installed."""
    tool = next(filter(None, map(shutil.which, _TOOLS)), None)
    if tool is None:
        return None, ""
    with tempfile.TemporaryDirectory(prefix="isthmus-") as folder:
        path = os.path.join(folder, "node.xml")
        try:
            done = subprocess.run(
                [tool, "--of", "xml", path], capture_output=True, text=True, errors="replace", timeout=_LONGEST,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise InvalidInput(f"{tool} did not end within {_LONGEST:g} s") from None
        if done.returncode:
            raise InvalidInput(f"{tool}: {(done.stderr.strip().splitlines() or ['no message'])[0]}")
        fragment = read(path, "hwloc")
        version = re.search(r'name="hwlocVersion" value="([^"]*)"', Path(path).read_text(errors="replace"))
    table = {key: value for key, value in fragment["node"].items() if value is not None}
    for key, value in table.items():
        if isinstance(value, dict):
            table[key] = {k: v for k, v in value.items() if k != "source"}
    return table, f"hwloc {version[1] if version else ''}".strip()


def _number(path: Path, default: int = 0) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text())
    return default


def _kernel_places() -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """Core, socket and NUMA domain of every processor that this process may use, numbered from 0."""
    usable = sorted(os.sched_getaffinity(0))
    pairs = {}
    for cpu in usable:
        at = _CPUS / f"cpu{cpu}" / "topology"
        socket = max(_number(at / "physical_package_id"), 0)
        pairs[cpu] = (socket, _number(at / "die_id"), _number(at / "core_id", cpu))
    cores = {name: i for i, name in enumerate(sorted(set(pairs.values())))}
    sockets = {name: i for i, name in enumerate(sorted({pair[0] for pair in pairs.values()}))}
    numa = dict.fromkeys(usable, 0)
    for i, domain in enumerate(sorted(_NODES.glob("node[0-9]*"), key=lambda path: int(path.name[4:]))):
        for cpu in usable:
            if (domain / f"cpu{cpu}").exists():
                numa[cpu] = i
    return (
        {cpu: cores[pair] for cpu, pair in pairs.items()},
        {cpu: sockets[pair[0]] for cpu, pair in pairs.items()},
        numa,
    )


def _kernel_table(cores: dict[int, int], sockets: dict[int, int], numa: dict[int, int]) -> dict[str, Any]:
    """The table of a node whose sockets and NUMA domains have equally many cores; else it counts as one socket."""
    number = len(set(cores.values()))
    packages, domains = len(set(sockets.values())), len(set(numa.values()))
    if number % packages:
        packages = domains = 1
    if domains % packages or number % domains:
        domains = packages
    table: dict[str, Any] = {"sockets": packages, "numa": domains, "cores": number}
    with contextlib.suppress(OSError, AttributeError):
        total = re.search(r"^MemTotal:\s*([0-9]+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        table["memory"] = int(total[1]) * 1024 if total else None
    physical = [path for path in Path("/sys/class/net").glob("*") if (path / "device").exists()]
    table["nics"] = len(physical)
    return {key: value for key, value in table.items() if value is not None}


def _caches(cores: dict[int, int]) -> list[dict[str, Any]]:
    """Caches for data of the first processor, level by level, and how many cores share each."""
    out: dict[int, dict[str, Any]] = {}
    first = min(cores)
    for index in sorted((_CPUS / f"cpu{first}" / "cache").glob("index*")):
        with contextlib.suppress(OSError, ValueError):
            if (index / "type").read_text().strip() == "Instruction":
                continue
            found = _CACHE.fullmatch((index / "size").read_text().strip())
            if found is None:
                continue
            level = int((index / "level").read_text())
            size = int(found[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[found[2]]
            with_it = processors((index / "shared_cpu_list").read_text().strip())
            out[level] = {"level": level, "size": size, "cores": len({cores[c] for c in with_it if c in cores}) or 1}
    return [out[level] for level in sorted(out)]


def processors(text: str) -> list[int]:
    """Read a list of processors.

    Examples
    --------
    >>> processors("0-2,8")
    [0, 1, 2, 8]
    """
    out: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def ranges(numbers: list[int]) -> str:
    """Write a list of processors, as :func:`processors` reads it.

    Examples
    --------
    >>> ranges([8, 0, 1, 2])
    '0-2,8'
    """
    out: list[list[int]] = []
    for number in sorted(set(numbers)):
        if out and number == out[-1][-1] + 1:
            out[-1] = [out[-1][0], number]
        else:
            out.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def processor_model() -> str:
    """Return the model of the processor; empty where nobody knows."""
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(errors="replace")
        found = Counter(re.findall(r"^(?:model name|cpu model|Processor)\s*:\s*(.+)$", text, re.MULTILINE))
        if found:
            return re.sub(r"\s+", " ", found.most_common(1)[0][0]).strip()
    return ""
