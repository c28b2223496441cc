"""Sockets, NUMA domains and cores of an hwloc file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isthmus.errors import ParseError
from isthmus.imports.machines.xml_tree import Element, integer
from isthmus.imports.source import shown

Objects = list[tuple[Element, tuple[Element, ...]]]

_WORD = re.compile("(0x)?[0-9a-fA-F]{1,8}")
_MAX_WORDS = 2048  # of 32 PUs each
_GHZ = re.compile(r"@\s*([0-9]{1,2}(?:\.[0-9]{1,3})?)\s*GHz")


@dataclass
class Cpus:
    """Counts, and sets of PUs as bit masks over their os_index."""

    sockets: int
    numa: int
    core_masks: list[int]
    socket_masks: list[int]
    memory: int  # bytes
    model_ghz: float | None


def cpus(objects: Objects, path: str, notes: list[str]) -> Cpus:
    """Count sockets, NUMA domains and cores, and check that they divide evenly."""
    masks = _pu_masks(objects, path)
    machine = next(one for one, _ in objects if one.attributes["type"] == "Machine")
    every = masks[id(machine)]
    if not every:
        raise ParseError(path, machine.line, "<object type>", "the machine has no PU object")
    kinds: dict[str, list[Element]] = {}
    for one, _ in objects:
        kinds.setdefault(one.attributes["type"], []).append(one)
    cores = kinds.get("Core", [])
    if not cores:
        notes.append("the file has no Core objects; its PUs are taken for cores")
        cores = kinds["PU"]
    for core in cores:
        if not masks[id(core)]:
            raise ParseError(path, core.line, "<object type>", "the core has no PU object")
    core_masks = [masks[id(core)] for core in cores]
    packages = kinds.get("Package", []) + kinds.get("Socket", [])
    sockets = [masks[id(package)] for package in packages] or [every]
    _check_even(core_masks, sockets, "Package", packages, path)
    domains = _domains(objects, masks, path, notes, every)
    if len(domains) < len(sockets):
        message = f"NUMA domains: {len(domains)} over {len(sockets)} sockets; numa is set to one a socket"
        notes.append(message)
        domains = sockets
    if len(domains) % len(sockets) or any(
        sum(domain & socket == domain for socket in sockets) != 1 for domain in domains
    ):
        message = f"{len(domains)} NUMA domains do not divide {len(sockets)} sockets evenly"
        raise ParseError(path, machine.line, "NUMANode", message)
    _check_even(core_masks, domains, "NUMANode", [], path, machine.line)
    _note_hidden(machine, every, path, notes)
    models = [m for m in (_model(package) for package in packages or [machine]) if m]
    ghz = _GHZ.search(models[0]) if models else None
    memory = _memory(objects, masks, path, notes, every)
    return Cpus(len(sockets), len(domains), core_masks, sockets, memory, float(ghz[1]) if ghz else None)


def core_order(found: Cpus, notes: list[str]) -> str:
    """Say how the numbers the operating system gives to cores walk over the sockets."""
    lowest = sorted(found.core_masks, key=lambda mask: mask & -mask)
    order = [next(i for i, socket in enumerate(found.socket_masks) if mask & socket) for mask in lowest]
    count = len(found.socket_masks)
    share = len(order) // count
    first = list(dict.fromkeys(order))
    if order == [socket for socket in first for _ in range(share)]:
        return "block"
    if order == [first[i % count] for i in range(len(order))]:
        return "cyclic"
    notes.append("core numbers are neither block nor cyclic over sockets; block is assumed")
    return "block"


def _pu_masks(objects: Objects, path: str) -> dict[int, int]:
    """Return the PUs below every object; cpuset attributes also count offline PUs."""
    masks = {id(one): 0 for one, _ in objects}
    seen: dict[int, int] = {}
    for one, above in objects:
        if one.attributes["type"] != "PU":
            continue
        index = integer(one, "os_index", path, most=32 * _MAX_WORDS - 1)
        if index in seen:
            message = f"PU {index} stands in line {seen[index]} already"
            raise ParseError(path, one.line, "<object os_index>", message)
        seen[index] = one.line
        for ancestor in (*above, one):
            masks[id(ancestor)] |= 1 << index
    return masks


def _check_even(
    cores: list[int],
    groups: list[int],
    what: str,
    elements: list[Element],
    path: str,
    line: int | None = None,
) -> None:
    """Every core lies in one group, and all groups have the same number of cores."""
    shares = [sum(core & group == core for core in cores) for group in groups]
    if sum(shares) != len(cores):
        place = elements[0].line if elements else line
        message = f"{sum(shares)} of {len(cores)} cores lie in exactly one; all must"
        raise ParseError(path, place, what, message)
    odd = next((i for i, share in enumerate(shares) if share != shares[0]), None)
    if odd is not None:
        place = elements[odd].line if elements else line
        message = f"{shares[odd]} cores, {shares[0]} in the first one; a node table needs equal ones"
        raise ParseError(path, place, what, message)


def _numa_mask(one: Element, above: tuple[Element, ...], masks: dict[int, int], path: str) -> int:
    """Return the PUs local to a NUMA node: below it in version 1, in its cpuset since 2."""
    if masks[id(one)]:
        return masks[id(one)]
    if "cpuset" in one.attributes:
        return _bitmap(one, "cpuset", path)
    return masks[id(above[-1])] if above else 0


def _domains(objects: Objects, masks: dict[int, int], path: str, notes: list[str], every: int) -> list[int]:
    nodes = [(one, above) for one, above in objects if one.attributes["type"] == "NUMANode"]
    if not nodes:
        return [every]
    found = [_numa_mask(one, above, masks, path) & every for one, above in nodes]
    distinct = [mask for mask in dict.fromkeys(found) if mask]
    if without := sum(not mask for mask in found):
        notes.append(f"{without} NUMA nodes have no cores; they are not counted in numa or memory")
    # A memory shared by several domains (HBM interleaved over the socket) is no domain itself.
    smallest = [mask for mask in distinct if not any(o != mask and o & mask == o for o in distinct)]
    if len(smallest) < len(found) - without:
        notes.append("several memories at the same cores count as one NUMA domain")
    return smallest or [every]


def _memory(objects: Objects, masks: dict[int, int], path: str, notes: list[str], every: int) -> int:
    """Add up the memory of NUMA nodes with cores; version 1 may give it to the Machine."""
    total = 0
    for one, above in objects:
        if "local_memory" not in one.attributes:
            continue
        if one.attributes["type"] == "NUMANode" and not _numa_mask(one, above, masks, path) & every:
            continue
        total += integer(one, "local_memory", path)
    return total


def _note_hidden(machine: Element, every: int, path: str, notes: list[str]) -> None:
    if "complete_cpuset" not in machine.attributes:
        return
    hidden = (_bitmap(machine, "complete_cpuset", path) & ~every).bit_count()
    if hidden:
        notes.append(f"{hidden} PUs of the machine are offline or outside the cgroup of lstopo and are not counted")


def _model(package: Element) -> str:
    for info in package.each("info"):
        if info.attributes.get("name") == "CPUModel":
            return info.attributes.get("value", "")
    return ""


def _bitmap(one: Element, name: str, path: str) -> int:
    """Read a set such as ``0x0000ffff,0xffffffff``; the infinite prefix ``0xf...f`` is dropped."""
    text = one.attributes[name]
    words = text.split(",")
    if words[0] == "0xf...f":
        # everything beyond the words given; callers only ask for PUs that exist
        words[0:1] = ["0xffffffff"] * min(_MAX_WORDS - len(words), 64)
    mask = 0
    for word in words:
        if len(words) > _MAX_WORDS or not (_WORD.fullmatch(word) or not word):
            message = f"got {shown(text)}; a set is 32-bit words such as 0x0000ffff,0xffffffff"
            raise ParseError(path, one.line, f"<object {name}>", message)
        mask = mask << 32 | int(word or "0", 16)
    return mask
