"""Hierarchies from files, whatever wrote them."""

from __future__ import annotations

import os

from ..errors import ParseError
from ..filekinds import COUNTS, HDF5, HIERARCHY, require
from ..schedule.hdf5_columns import open_columns
from .counts_file import read_counts
from .hdf5 import read_columns
from .hierarchy import Hierarchy


def read_hierarchy(path: str | os.PathLike[str]) -> Hierarchy:
    """Read a hierarchy; see :meth:`Hierarchy.load`."""
    kind = require(path, (HDF5, HIERARCHY, COUNTS), "a hierarchy")
    if kind == COUNTS:
        return read_counts(path)
    if kind is None:
        raise ParseError(os.fspath(path), None, None, "is no hierarchy: expected HDF5, or counts of hypre")
    with open_columns(path) as (noun, _, reader):
        if noun != "hierarchy":
            raise reader.fail("noun", f"the file holds a {noun}: expected a hierarchy")
        return read_columns(reader)
