"""One way in for whatever names a machine: catalogue name, file, one-line specification."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

from .errors import InvalidInput, ParseError

if TYPE_CHECKING:
    from .machine import Machine


def load(what: str | os.PathLike[str], *, format: str | None = None, node: str | os.PathLike[str] | None = None,
         **options: Any) -> Machine:
    """The machine of a name, a file or a specification.

    Parameters
    ----------
    what : str or path
        A name of the catalogue (``isthmus machine list``); a file: the TOML form of a machine, Slurm
        ``topology.conf`` or ``topology.yaml``, ``ibnetdiscover`` output, an edge list (``.edges``); or a
        specification such as ``"torus:8x8x16 link=425MB/s"``.
    format : str, optional
        Format of a foreign file, where its content does not tell.
    node : path, optional
        A file that describes one node: hwloc XML (``lstopo node.xml``) or NCCL topology XML. It replaces the node of
        the machine.
    **options
        Of the importer, such as ``root=`` of Slurm topologies.

    Raises
    ------
    InvalidInput
        For a name that is none of these; the message names close ones.
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
        machine = _from_file(machines()[text], None, {})
    elif os.path.isfile(text):
        machine = _from_file(text, format, options)
    elif isinstance(what, str) and (":" in text or " " in text) and format is None:
        from .machine import Machine

        machine = Machine.parse(text)
    else:
        close = difflib.get_close_matches(text, machines(), 3)
        hint = f"; close names are {', '.join(close)}" if close else ""
        raise InvalidInput(
            f"{text!r} is neither a machine of the catalogue, nor a file, nor a specification such as "
            f"torus:8x8x16{hint}"
        )
    return machine if node is None else _with_node(machine, os.fspath(node))


def describes_node(path: str) -> bool:
    """Is the file one of a single node (hwloc or NCCL XML) rather than of a machine?"""
    from .imports import detect

    if path.endswith((".toml", ".edges")):
        return False
    with open(path, encoding="utf-8", errors="replace") as stream:
        return detect(stream.read(), path) in ("hwloc", "nccl")


def _from_file(path: str, format: str | None, options: dict[str, Any]) -> Machine:
    from .machine import Machine
    from .machine.description import normalise

    if format in (None, "toml") and path.endswith(".toml"):
        from .machine.toml import read_toml

        description = read_toml(path)
    elif format in (None, "edges") and path.endswith(".edges"):
        description = normalise({"topology": {"kind": "graph", "file": path}}, path)
    else:
        from .imports import read

        raw = read(path, format, **options)
        if "topology" not in raw:
            raise ParseError(path, None, None, "describes one node, not a network: give it with --node or node=")
        description = normalise(raw, path)
    try:
        return Machine(description)
    except ParseError:
        raise
    except InvalidInput as error:
        raise ParseError(path, None, None, str(error)) from None


def _with_node(machine: Machine, path: str) -> Machine:
    """The machine with the node of an imported file in place of its own."""
    from .imports import read
    from .machine import Machine
    from .machine.description import Description, normalise

    raw = read(path)
    if "topology" in raw:
        raise ParseError(path, None, None, "describes a network, not a node: hwloc XML and NCCL XML are allowed")
    known = machine.topology.link_classes
    # A link class that the network does not have (NVLink inside the node) stays in the notes of the import.
    links = {k: v for k, v in raw.get("links", {}).items() if any(name == k for name, _, _ in known)}
    fragment = normalise({**raw, "links": links, "topology": {"kind": "ring", "dims": [1]}}, path)
    old = machine.description
    node = {**{k: v for k, v in old.values["node"].items() if k == "nic_bandwidth"}, **fragment.values["node"]}
    values = {
        **old.values,
        "node": node,
        "links": {**old.values["links"], **fragment.values["links"]},
        "notes": [*old.values["notes"], *fragment.values["notes"]],
    }
    provenance = {k: v for k, v in old.provenance.items() if not k.startswith("node.") or k[5:] not in fragment.values["node"]}
    provenance = {k: v for k, v in provenance.items() if not k.startswith("node.") or k[5:] in node}
    sources = {**old.sources, **{f"node_{k}" if k in old.sources else k: v for k, v in fragment.sources.items()}}
    renamed = {
        k: type(p)(f"node_{p.source}" if p.source in old.sources else p.source, p.status, p.note)
        for k, p in fragment.provenance.items()
        if k.split(".")[0] in ("node", "links")
    }
    return Machine(Description(values, {**provenance, **renamed}, sources))
