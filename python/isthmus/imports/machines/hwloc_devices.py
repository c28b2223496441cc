"""NICs and GPUs of an hwloc file."""

from __future__ import annotations

import re

from isthmus.imports.machines.hwloc_cpu import Objects
from isthmus.imports.machines.xml_tree import Element, integer
from isthmus.imports.source import listed

# osdev_type up to 2.x is a number, from 3.0 on a set of bits (hwloc.h, hwloc_obj_osdev_type_e).
_NETWORK, _OPENFABRICS = 2, 3
_NETWORK_BIT, _OPENFABRICS_BIT = 1 << 4, 1 << 5

_FABRIC_NAME = re.compile(r"(hsn|cxi|bxi)\d+$")
_GPU_NAME = re.compile(r"(cuda|nvml|rsmi|ze|opencl)\d")
_PORT_STATE = re.compile(r"Port\d+State$")
_ACTIVE = "4"  # IB_PORT_ACTIVE


def devices(objects: Objects, bits: bool, path: str, notes: list[str]) -> tuple[int, int]:
    """Count NICs and GPUs by PCI function; `bits` is true for files of version 3."""
    fabric: dict[int, str] = {}
    ethernet: dict[int, str] = {}
    gpus: set[int | str] = set()
    down: list[str] = []
    for one, above in objects:
        kind = one.attributes["type"]
        if kind == "PCIDev" and one.attributes.get("pci_type", "").startswith("0302"):
            gpus.add(id(one))
        if kind != "OSDev":
            continue
        name = one.attributes.get("name", "")
        pci = next((a for a in reversed(above) if a.attributes["type"] == "PCIDev"), None)
        place = id(pci or one)
        if _GPU_NAME.match(name) and (pci is None or _accelerator(pci)):
            # without a PCI device the management and compute handles cannot be told to be one
            gpus.add(place if pci is not None else re.sub(r"\D+", "gpu", name, count=1))
        has_type = "osdev_type" in one.attributes
        number = integer(one, "osdev_type", path, most=2**32) if has_type else 0
        verbs = bool(number & _OPENFABRICS_BIT) if bits else number == _OPENFABRICS
        network = bool(number & _NETWORK_BIT) if bits else number == _NETWORK
        if verbs and _is_down(one):
            down.append(name)
        elif (
            verbs
            or _FABRIC_NAME.match(name)
            or one.attributes.get("subtype")
            in (
                "Slingshot",
                "BXI",
            )
        ):
            fabric.setdefault(place, name)
        elif network:
            ethernet.setdefault(place, name)
    if down:
        notes.append(f"adapters without an active port are not counted: {listed(down)}")
    nics = fabric or ethernet
    if nics:
        kind = "fabric adapters" if fabric else "network interfaces, as there is no fabric adapter"
        notes.append(f"nics counts {kind}: {listed(list(nics.values()))}")
    return len(nics), len(gpus)


def _accelerator(pci: Element) -> bool:
    """Display controllers (03xx) and processing accelerators (12xx); not a CPU under OpenCL."""
    return pci.attributes.get("pci_type", "03")[:2] in ("03", "12")


def _is_down(device: Element) -> bool:
    states = [
        info.attributes.get("value")
        for info in device.each("info")
        if _PORT_STATE.match(info.attributes.get("name", ""))
    ]
    return bool(states) and _ACTIVE not in states
