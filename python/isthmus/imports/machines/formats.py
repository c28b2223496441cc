"""Descriptions of machines that other tools write, read into the TOML form.

Network files (Slurm, ibnetdiscover) give a whole machine of kind ``graph``; node files (hwloc,
NCCL) give a fragment with a ``node`` table, to be merged into a machine.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from typing import Any

from isthmus.errors import InvalidInput, ParseError

Reader = Callable[..., dict[str, Any]]


def _late(module: str) -> Reader:
    """Return a reader whose module is imported at its first use, to keep the start-up short."""

    def reader(text: str, path: str, **options: Any) -> dict[str, Any]:
        read_text: Reader = importlib.import_module(f"isthmus.imports.machines.{module}").read
        return read_text(text, path, **options)

    return reader


FORMATS: dict[str, tuple[Reader, str]] = {
    "slurm": (_late("slurm"), "Slurm topology.conf, tree or block"),
    "slurm-yaml": (_late("slurm_yaml"), "Slurm topology.yaml, tree, block or flat"),
    "ibnetdiscover": (_late("ibnet"), "output of ibnetdiscover for an InfiniBand subnet"),
    "hwloc": (_late("hwloc"), "hwloc XML of a node, written by lstopo (versions 1 to 3)"),
    "nccl": (_late("nccl"), "NCCL topology XML of a node with GPUs"),
}
"""Name of a format -> (reader of ``(text, path, **options)``, one-line description)."""

_OPTIONS = {"slurm": ("root",), "slurm-yaml": ("topology", "root", "nodes")}

# The first start tag, after the XML declaration, comments and the document type.
_ROOT_TAG = re.compile(r"<([A-Za-z_][\w.-]*)")
_XML_ROOTS = {
    "topology": "hwloc",
    "topologydiff": "hwloc",
    "root": "hwloc",
    "system": "nccl",
    "graphs": "nccl",
}
_LINES = {
    "ibnetdiscover": re.compile(
        r'^(?:(?:Switch|Ca|Rt)\s+\d+\s+"|(?:vendid|devid|sysimgguid|switchguid|caguid)=0x'
        r"|# Topology file: generated|(?:Switch|Ca|Router)\s+: 0x|(?:SW|CA|RT)\s+\d+\s+\d+\s+0x)",
        re.MULTILINE | re.IGNORECASE,
    ),
    "slurm": re.compile(r"^[ \t]*(?:SwitchName|BlockName|BlockSizes|RingName)[ \t]*=", re.MULTILINE | re.IGNORECASE),
    "slurm-yaml": re.compile(r"^[ \t]*-[ \t]*(?:topology|cluster_default)[ \t]*:", re.MULTILINE),
}


def read(path: str | os.PathLike[str], format: str | None = None, **options: Any) -> dict[str, Any]:
    """Read a machine description of another tool.

    Parameters
    ----------
    path : path
        File to read, UTF-8.
    format : str, optional
        Key of `FORMATS`; without it the format is told from the content.
    **options
        ``root`` (slurm, slurm-yaml): of several trees the one to take. ``topology``
        (slurm-yaml): name of the topology to take. ``nodes`` (slurm-yaml): nodelist of a flat
        topology.

    Returns
    -------
    dict
        TOML form of a machine: a whole machine of kind ``graph`` from a network file, a fragment
        with the table ``node`` from a node file.

    Raises
    ------
    ParseError
        The file is malformed, or its format is not recognised.
    InvalidInput
        `format` or an option is unknown.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> from isthmus.imports.machines import formats
    >>> machine = formats.read("/etc/slurm/topology.conf")      # doctest: +SKIP
    """
    if format is not None and format not in FORMATS:
        raise InvalidInput(f"format={format!r} is unknown: must be one of {', '.join(FORMATS)}")
    name = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read()
    text = _decode(data, name)
    chosen = format if format is not None else detect(text, name)
    allowed = _OPTIONS.get(chosen, ())
    for option in options:
        if option not in allowed:
            known = ", ".join(allowed) or "none"
            raise InvalidInput(f"format {chosen!r} has no option {option}=; it has {known}")
    return FORMATS[chosen][0](text, name, **options)


def detect(text: str, path: str) -> str:
    """Tell the format of a text from its content.

    Raises
    ------
    ParseError
        It looks like none of `FORMATS`.
    """
    start = text.lstrip()
    if start.startswith("<"):
        bare = re.sub(r"<!--.*?(?:-->|$)|<\?.*?(?:\?>|$)", "", start[:65536], flags=re.DOTALL)
        tag = _ROOT_TAG.search(re.sub(r"<![^>\[]*", "", bare))
        if tag and tag[1] in _XML_ROOTS:
            return _XML_ROOTS[tag[1]]
    else:
        for name, pattern in _LINES.items():
            if pattern.search(text):
                return name
    if not start:
        raise ParseError(path, None, None, "the file is empty")
    raise ParseError(path, None, None, f"the format is not known: must be one of {', '.join(FORMATS)}")


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; convert the file first (iconv)"
        raise ParseError(path, line, None, message) from None
