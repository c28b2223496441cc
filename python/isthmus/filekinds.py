"""Recognises files by their content, so that a message can name what was given in the wrong place."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from .errors import ParseError

_HEAD = 1 << 16
HDF5, OTF2, RAW, GOAL, GOAL_BINARY, DUMPI = "hdf5", "otf2", "raw", "goal", "goal-binary", "dumpi"
SAMPLES, COUNTS, HIERARCHY = "samples", "counts", "hierarchy"
MACHINE, TABLE, STUDY, XML, GZIP, EMPTY = "machine", "table", "study", "xml", "gzip", "empty"
NETWORK, GRAPH, EDGES, SKELETON = "network", "graph", "edges", "skeleton"
OTF2_FOLDER, DUMPI_FOLDER, RAW_FOLDER, FOLDER, BINARY, PICTURE = (
    "otf2-folder",
    "dumpi-folder",
    "raw-folder",
    "folder",
    "binary",
    "picture",
)
# The first eight bytes of binary files: fresh ones, and those that LogGOPSim --save-mem consumed.
BINARY_MAGIC = tuple(number.to_bytes(8, "little") for number in (4223, 2342))
#: What files of texts without a mark are, by their ends.
_ENDS = {".graph": GRAPH, ".metis": GRAPH, ".edges": EDGES}
#: Kinds of what can be simulated.
WORK = (HDF5, OTF2, GOAL, GOAL_BINARY, DUMPI, OTF2_FOLDER, DUMPI_FOLDER, SKELETON)

_WORDS = {
    HDF5: "an HDF5 file, as programs, schedules and timelines are",
    SAMPLES: "raw samples of isthmus measure",
    COUNTS: "counts of a multigrid hierarchy",
    HIERARCHY: "a multigrid hierarchy",
    OTF2: "a file of an OTF2 trace",
    RAW: "a raw trace of isthmus record",
    GOAL: "a schedule in GOAL text",
    GOAL_BINARY: "a schedule in binary GOAL",
    DUMPI: "a dumpi trace as text",
    MACHINE: "a machine in TOML",
    TABLE: "a decision table of collectives",
    STUDY: "a study in TOML",
    XML: "XML, as hwloc and NCCL write of nodes",
    GZIP: "compressed by gzip: unpack it first",
    EMPTY: "empty",
    NETWORK: "the description of a network (Slurm, ibnetdiscover)",
    GRAPH: "a graph in METIS format",
    EDGES: "an edge list of a network",
    SKELETON: "a skeleton",
    OTF2_FOLDER: "the folder of an OTF2 trace",
    DUMPI_FOLDER: "a folder of dumpi traces",
    RAW_FOLDER: "a folder of raw traces of isthmus record",
    FOLDER: "a folder, in which there is no trace",
    BINARY: "a binary file of no known kind",
    PICTURE: "a picture",
}
_MAGICS = (
    (b"\x89HDF\r\n\x1a\n", HDF5),
    (b"ISTHMTRC", RAW),
    (b"\x1f\x8b", GZIP),
    (b"\x89PNG", PICTURE),
    (b"%PDF-", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"\x03BOTF2", OTF2),
)
#: The first texts that a file of Isthmus holds are format and noun, each behind the 16 bytes of its entry in the heap.
_HDF5_NOUN = re.compile(rb"isthmus\0.{16}(samples|hierarchy)\0", re.DOTALL)
_TEXTS = (
    (re.compile(r"\Aisthmus hierarchy "), COUNTS),
    (re.compile(r"^\s*num_ranks\b", re.MULTILINE), GOAL),
    (re.compile(r" entering at walltime "), DUMPI),
    (re.compile(r"\Aisthmus skeleton "), SKELETON),
    (re.compile(r"\A\s*<"), XML),
    (re.compile(r'^\s*"?format"?\s*[=:]\s*"isthmus decision table"', re.MULTILINE), TABLE),
    (re.compile(r"\Aisthmus decisions "), TABLE),
    (re.compile(r"^\s*\[+(grid|quick|published)\b", re.MULTILINE), STUDY),
    (re.compile(r"^[ \t]*-[ \t]*(?:topology|cluster_default)[ \t]*:", re.MULTILINE), NETWORK),
    (re.compile(r"^[ \t]*(?:SwitchName|BlockName|BlockSizes|RingName)[ \t]*=", re.MULTILINE | re.IGNORECASE), NETWORK),
    (re.compile(r'^(?:Switch|Ca)\s+\d+\s+"|^(?:vendid|switchguid|caguid)=0x', re.MULTILINE), NETWORK),
    (re.compile(r"^\s*\[topology\]|^\s*topology\.kind\s*=|^\s*topology\s*=\s*[{\"]", re.MULTILINE), MACHINE),
)


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """The kind of a file or folder; None where its content does not tell, and for pipes, which can be read once.

    Raises
    ------
    OSError
        For a file that cannot be opened.
    """
    if os.path.isdir(path):
        return _kind_of_folder(path)
    if not os.path.isfile(path):
        open(path, "rb").close() if not os.path.exists(path) else None
        return None
    with open(path, "rb") as stream:
        head = stream.read(_HEAD)
    if head.startswith(BINARY_MAGIC):
        return GOAL_BINARY
    if not head:
        return EMPTY
    for magic, kind in _MAGICS:
        if head.startswith(magic):
            noun = _HDF5_NOUN.search(head) if kind == HDF5 else None
            return noun[1].decode() if noun else kind
    if os.fspath(path).endswith((".otf2", ".def", ".evt")) and head[1:2] == b"B":
        return OTF2
    if b"\0" in head:
        return BINARY
    text = head.decode("utf-8", "replace")
    by_name = _ENDS.get(os.path.splitext(path)[1])
    return next((kind for pattern, kind in _TEXTS if pattern.search(text)), by_name)


def _kind_of_folder(path: str | os.PathLike[str]) -> str:
    names = sorted(os.listdir(path))
    if anchors(path):
        return OTF2_FOLDER
    if any(name.endswith(".trace") for name in names):
        return RAW_FOLDER
    for name in names:
        if re.search("[0-9]", name) and os.path.isfile(os.path.join(path, name)):
            with open(os.path.join(path, name), "rb") as stream:
                if b" entering at walltime " in stream.read(_HEAD):
                    return DUMPI_FOLDER
    return FOLDER


def anchors(folder: str | os.PathLike[str]) -> list[str]:
    """Anchor files of OTF2 traces in a folder."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".otf2")]


def require(path: str | os.PathLike[str], allowed: Collection[str], wanted: str) -> str | None:
    """The kind of a file, if it is one of those allowed or not known.

    Raises
    ------
    ParseError
        For a file of another kind, which it names beside what is wanted.
    OSError
        For a file that cannot be opened.
    """
    kind = kind_of(path)
    # Readers of texts say themselves what an empty one lacks.
    if kind is not None and kind not in allowed and not (kind == EMPTY and not set(WORK) & set(allowed)):
        raise ParseError(os.fspath(path), None, None, f"the {_noun(kind)} is {_WORDS[kind]}: expected {wanted}")
    return kind


def _noun(kind: str) -> str:
    return "path" if kind in (OTF2_FOLDER, DUMPI_FOLDER, RAW_FOLDER, FOLDER) else "file"
