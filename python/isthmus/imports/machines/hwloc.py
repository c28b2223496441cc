"""hwloc XML (``lstopo file.xml``) of version 1, 2 and 3: the structure of one node.

Source of the format: the DTDs hwloc.dtd (1.x) and hwloc2.dtd (2.x, 3.x) and the hwloc
documentation, chapters "I/O Devices", "Heterogeneous Memory" and "Upgrading to the hwloc 2.0 API".

Decisions
---------
- cores are Core objects; PUs (hardware threads) are not counted.
- NUMA domains are sets of cores. Several memories at the same cores (DRAM and HBM) are one domain,
  memories without cores (CXL, GPU memory) none.
- nics are the PCI functions with an OpenFabrics device that has an active port, or with a
  Slingshot or BXI interface; only if there are none, all PCI functions with a network interface.
- gpus are PCI devices with a CUDA, NVML, ROCm SMI, Level Zero or OpenCL device, or of PCI class
  0302 (3D controller). Display adapters do not count.
- Sockets or NUMA domains of unequal size are refused: one node table cannot say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isthmus.errors import ParseError
from isthmus.imports.machines import fragment
from isthmus.imports.machines.hwloc_cpu import Cpus, core_order, cpus
from isthmus.imports.machines.hwloc_devices import devices
from isthmus.imports.machines.xml_tree import Element, parse
from isthmus.imports.source import shown

_CACHES = {"Cache", "MemCache", *(f"L{n}Cache" for n in range(1, 6))}
_CACHES |= {f"L{n}iCache" for n in range(1, 4)}
_CPU = {"System", "Machine", "Group", "NUMANode", "Package", "Socket", "Die", "Core", "PU"}
_TYPES = _CPU | _CACHES | {"Bridge", "PCIDev", "OSDev", "Misc"}


def read(text: str, path: str) -> dict[str, Any]:
    """Read the XML that lstopo writes.

    Parameters
    ----------
    text : str
        Content of the file.
    path : str
        Its path, for messages.

    Returns
    -------
    dict
        Fragment ``{"format": 1, "notes": [...], "sources": {...}, "node": {...}}`` with sockets,
        numa, cores, core_order, nics, gpus, and memory (bytes) and clock (Hz) if the file has
        them. Bandwidths are not in hwloc files.

    Raises
    ------
    ParseError
        Not an hwloc file, inconsistent, or a node of unequal sockets or NUMA domains.
    """
    root = parse(text, path)
    if root.tag == "topologydiff":
        raise ParseError(path, root.line, "<topologydiff>", "holds a difference between topologies, not a topology")
    if root.tag not in ("topology", "root"):
        message = "the root of an hwloc file is <topology>"
        raise ParseError(path, root.line, f"<{root.tag}>", message)
    version = root.attributes.get("version", "1")
    if version.split(".")[0] not in ("1", "2", "3"):
        message = f"got {shown(version)}; versions 1 to 3 are read"
        raise ParseError(path, root.line, "<topology version>", message)
    objects = list(_objects(root, path))
    machines = [one for one, _ in objects if one.attributes["type"] == "Machine"]
    if len(machines) != 1:
        line = machines[1].line if machines else root.line
        message = f"{len(machines)} Machine objects; a node table describes exactly one"
        raise ParseError(path, line, "<object type>", message)
    notes: list[str] = []
    found = cpus(objects, path, notes)
    nics, gpus = devices(objects, version.startswith("3"), path, notes)
    table: dict[str, Any] = {
        "sockets": found.sockets,
        "numa": found.numa,
        "cores": len(found.core_masks),
        "core_order": core_order(found, notes),
        "nics": nics,
        "gpus": gpus,
    }
    if found.memory:
        table["memory"] = found.memory
    if clock := _clock(root, found):
        table["clock"] = clock
    return fragment.node("hwloc XML", path, table, notes)


def _objects(root: Element, path: str) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Yield every object with its ancestors, in the order of the file."""
    waiting: list[tuple[Element, tuple[Element, ...]]] = [(child, ()) for child in reversed(list(root.each("object")))]
    if not waiting:
        raise ParseError(path, root.line, f"<{root.tag}>", "the file has no <object>")
    while waiting:
        one, above = waiting.pop()
        kind = one.attributes.get("type")
        if kind not in _TYPES:
            got = "no type" if kind is None else f"got {shown(kind)}"
            message = f"{got}; types are {', '.join(sorted(_TYPES))}"
            raise ParseError(path, one.line, "<object type>", message)
        yield one, above
        below = (*above, one)
        waiting += [(child, below) for child in reversed(list(one.each("object")))]


def _clock(root: Element, found: Cpus) -> dict[str, Any] | None:
    """Return the base frequency, from the kinds of CPU (2.4 and later) or from the model name."""
    base: set[str] = set()
    for kind in root.each("cpukind"):
        for info in kind.each("info"):
            if info.attributes.get("name") == "FrequencyBaseMHz":
                base.add(info.attributes.get("value", ""))
    if len(base) == 1 and (text := base.pop()).isascii() and text.isdigit() and len(text) < 6:
        return {"value": int(text) * 1e6, "source": "import", "note": "base frequency of all cores"}
    if found.model_ghz:
        note = "nominal frequency in the CPU model name"
        return {"value": found.model_ghz * 1e9, "source": "import", "note": note}
    return None
