"""One way in for whatever names a machine: catalogue name, file, one-line specification."""

from __future__ import annotations

import difflib
import os
from typing import Any

from . import filekinds, units
from .errors import InvalidInput, ParseError
from .machine import Machine
from .machine.description import Description
from .named import Named
from .tabular import Table


def catalogue(words: str = "") -> Table:
    """List the machines of the catalogue.

    Parameters
    ----------
    words : str
        List only machines whose name, title or interconnect contains all of these words.

    Returns
    -------
    Table
        One row per machine: name, nodes, cores, topology, title.

    Examples
    --------
    >>> [row["name"] for row in catalogue("sandia torus")]
    ['cielo', 'redsky']
    """
    from .gallery import machines
    from .tabular import Table

    rows = []
    for name in machines():
        machine = load(name)
        row = {
            "name": name,
            "nodes": machine.nodes,
            "cores": machine.cores,
            "topology": machine.topology.spec,
            "title": machine.title,
        }
        if all(word in " ".join(map(str, row.values())).lower() for word in words.lower().split()):
            rows.append(row)
    return Table(rows)


def load(
    what: str | os.PathLike[str],
    *,
    format: str | None = None,
    node: str | os.PathLike[str] | None = None,
    **options: str,
) -> Machine:
    """Load a machine from a catalogue name, a file or a one-line specification.

    Parameters
    ----------
    what : str or path
        A name of the catalogue (``isthmus machine list``); a file: the TOML form of a machine, Slurm
        ``topology.conf`` or ``topology.yaml``, ``ibnetdiscover`` output, an edge list (``.edges``); or a
        specification such as ``"torus:8x8x16,link=425MB/s"``. Behind a name or file some values may be replaced:
        ``"cielo:cores=8,L=2us"``, with the keys of a specification.
    format : str, optional
        Format of a file of another tool, if its content does not tell.
    node : path, optional
        A file that describes one node: hwloc XML (``lstopo node.xml``) or NCCL topology XML. It replaces the node of
        the machine.
    **options
        Options of the importer, such as ``root=`` for Slurm topologies.

    Raises
    ------
    InvalidInput
        If the name is none of these; the message suggests similar names.
    ParseError
        For a malformed file or specification.
    OSError
        For a file that cannot be read.

    Examples
    --------
    >>> load("intrepid").topology.dims
    (40, 32, 32)
    """
    from .gallery import machines

    text = os.fspath(what)
    if isinstance(what, str) and text in machines() and format is None:
        _without_options(options, "the catalogue")
        machine = _from_file(machines()[text], None, {})
    elif os.path.exists(text):
        machine = _from_file(text, format, options)
    elif isinstance(what, str) and format is None and (changes := _changes(text)) is not None:
        from .machine import Machine
        from .machine.spec import changed

        base = load(changes.name, **options)
        machine = Machine(changed(base.description, text, changes.parameters))
    elif isinstance(what, str) and format is None and _is_specification(text):
        from .machine import Machine

        _without_options(options, "a specification")
        machine = Machine.parse(text)
    else:
        if format is not None:
            raise InvalidInput(f"{units.shown(text)} must be a file to be read as format={format!r}")
        close = difflib.get_close_matches(text, machines(), 3)
        hint = f"; close names are {', '.join(close)}" if close else ""
        raise InvalidInput(
            f"{units.shown(text)} is neither a machine of the catalogue, nor a file, nor a specification such as "
            f"torus:8x8x16{hint}"
        )
    return machine if node is None else _with_node(machine, os.fspath(node))


def _changes(text: str) -> Named | None:
    """Machine and changes of ``NAME|FILE:key=value,...``; None for another text."""
    from .gallery import machines
    from .named import named

    found = named(text)
    return found if found.parameters and (found.name in machines() or os.path.exists(found.name)) else None


def _is_specification(text: str) -> bool:
    """Whether it looks like one; ``my cluster.toml`` and ``data/x`` are misspelt files."""
    from .machine.kinds import KINDS

    word = text.split()[0] if text.split() else ""
    return ":" in word or (word in KINDS and word != text)


def _without_options(options: dict[str, Any], what: str) -> None:
    for name in options:
        raise InvalidInput(f"{name}= does not apply to {what}, only to imported files")


def describes_node(path: str) -> bool:
    """Return whether the file describes a single node (hwloc or NCCL XML) rather than a machine."""
    from .imports.machines.formats import detect

    # A pipe can be read only once: it is taken for a machine.
    if path.endswith((".toml", ".edges")) or not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        return detect(stream.read(), path) in ("hwloc", "nccl")


def _from_file(path: str, format: str | None, options: dict[str, Any]) -> Machine:
    from .machine import Machine
    from .machine.description import normalise

    if format is None:
        wanted = "a machine (TOML, a Slurm topology, ibnetdiscover output, an edge list)"
        filekinds.require(path, (filekinds.MACHINE, filekinds.NETWORK, filekinds.EDGES, filekinds.XML), wanted)
        format = next((known for known in ("toml", "edges") if path.endswith(f".{known}")), None)
    if format == "toml":
        _without_options(options, "a machine in TOML")
        from .machine.toml import read_toml

        description = read_toml(path)
    elif format == "edges":
        _without_options(options, "an edge list")
        description = normalise({"topology": {"kind": "graph", "file": path}}, path)
    else:
        from .imports.machines.formats import FORMATS, read

        if format not in (None, *FORMATS):
            raise InvalidInput(f"format {format!r}: must be one of toml, edges, {', '.join(FORMATS)}")
        raw = read(path, format, **options)
        if "topology" not in raw:
            raise ParseError(path, None, None, "describes a node, not a network: give it as --node or node=")
        description = normalise(raw, path)
    return Machine(description)


def _with_node(machine: Machine, path: str) -> Machine:
    """The machine with the node of an imported file in place of its own."""
    from .imports.machines.formats import read
    from .machine import Machine
    from .machine.description import Description, normalise
    from .machine.parts import Provenance

    filekinds.require(path, (filekinds.XML, filekinds.NETWORK), "the description of a node (hwloc or NCCL XML)")
    raw = read(path)
    if "topology" in raw:
        raise ParseError(path, None, None, "describes a network, not a node: must be hwloc XML or NCCL XML")
    known = machine.topology.link_classes
    # A link class that the network does not have (NVLink inside the node) stays in the notes of the import.
    links = {k: v for k, v in raw.get("links", {}).items() if any(name == k for name, _, _ in known)}
    fragment = normalise({**raw, "links": links, "topology": {"kind": "ring", "dims": [1]}}, path)
    old = machine.description
    node = {**{k: v for k, v in old.values["node"].items() if k == "nic_bandwidth"}, **fragment.values["node"]}
    changed = {name: {**old.values["links"].get(name, {}), **link} for name, link in fragment.values["links"].items()}
    values = {
        **old.values,
        "node": node,
        "links": {**old.values["links"], **changed},
        "notes": [*old.values["notes"], *fragment.values["notes"]],
    }
    given = [f"node.{key}" for key in fragment.values["node"]]
    given += [f"links.{name}.{key}" for name, link in fragment.values["links"].items() for key in link]
    provenance = {k: v for k, v in old.provenance.items() if k not in given and (k[:5] != "node." or k[5:] in node)}
    # Sources that only the replaced node had go with it; of the others, none may be renamed or hidden.
    kept = {p.source for p in provenance.values()} | {k for k in old.sources if k not in _cited(old)}
    sources = {k: v for k, v in old.sources.items() if k in kept}
    names = {"": ""}
    for key, source in fragment.sources.items():
        names[key] = key
        while names[key] in sources:
            names[key] = f"node_{names[key]}"
        sources[names[key]] = source
    imported = Provenance(next(iter(fragment.sources), ""))
    for path_of in given:
        p = fragment.provenance.get(path_of, imported)
        provenance[path_of] = Provenance(names[p.source], p.status, p.note)
    return Machine(Description(values, provenance, sources))


def _cited(description: Description) -> set[str]:
    return {p.source for p in description.provenance.values()}
