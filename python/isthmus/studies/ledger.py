"""The ledger of a study: an SQLite file with one row a point."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ..errors import InvalidInput
from .parameters import Kind, Point

#: Says in the header of the file whose it is: "Isth".
APPLICATION = 0x49737468
SCHEMA = 1
_CREATE = """
CREATE TABLE points (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,   -- digest of kind, inputs and versions
  study TEXT NOT NULL,
  kind TEXT NOT NULL,
  inputs TEXT NOT NULL,       -- JSON
  versions TEXT NOT NULL,     -- JSON: of Isthmus and of the kind; digests of machines and files
  results TEXT,               -- JSON; NULL where it failed
  error TEXT,                 -- one sentence; NULL where it did not fail
  wall REAL NOT NULL,         -- seconds
  host TEXT NOT NULL,
  python TEXT NOT NULL,
  finished TEXT NOT NULL      -- UTC, ISO 8601
) STRICT
"""


@dataclass(frozen=True)
class Entry:
    """One point that was computed; either results or an error."""

    inputs: Point
    results: Point | None
    error: str | None
    wall: float
    host: str
    finished: str
    versions: dict[str, Any]


def versions(kind: Kind, point: Point) -> dict[str, Any]:
    """The versions on which the results of a point depend, besides its inputs."""
    from .. import __version__

    return {"isthmus": __version__, "kind": kind.version, **kind.identities(point)}


def key(kind: Kind, point: Point) -> str:
    """The key of a point, made of its kind, inputs and versions."""
    text = json.dumps([kind.name, point, versions(kind, point)], sort_keys=True)
    return sha256(text.encode()).hexdigest()


class Ledger:
    """The points of a study that are computed. Every point is on disk when :meth:`add` returns.

    Parameters
    ----------
    path : str
        File, which is made if there is none.

    Raises
    ------
    InvalidInput
        The file is something else, or of a version of the schema that this Isthmus does not know.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self._db.close()
            if isinstance(error, sqlite3.OperationalError):
                raise InvalidInput(f"{self.path}: {error}") from None
            raise InvalidInput(f"{self.path}: not a ledger: {error}") from None
        except InvalidInput:
            self._db.close()
            raise

    def _open(self) -> None:
        # Readers see whole points while one is written, and a killed process leaves nothing half done.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            schema = self._number("user_version")
            application = self._number("application_id")
            tables = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if not tables and not application:
                self._db.execute(_CREATE)
                self._db.execute(f"PRAGMA application_id = {APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")
            elif application != APPLICATION:
                raise InvalidInput(f"{self.path}: an SQLite file of another program, not a ledger")
            elif schema != SCHEMA:
                raise InvalidInput(
                    f"{self.path}: a ledger of schema {schema}, but this Isthmus reads {SCHEMA}: move the file away"
                )
        finally:
            self._db.execute("COMMIT")

    def _number(self, pragma: str) -> int:
        return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])

    def add(
        self,
        study: str,
        kind: Kind,
        point: Point,
        *,
        results: Point | None,
        error: str | None,
        wall: float,
        host: str = "",
    ) -> None:
        """Write down a point, computed on ``host`` or here. One that had failed is replaced, others stay."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._db.execute(
            "INSERT INTO points (key, study, kind, inputs, versions, results, error, wall, host, python, finished) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET results = excluded.results, "
            "error = excluded.error, wall = excluded.wall, host = excluded.host, python = excluded.python, "
            "finished = excluded.finished WHERE points.results IS NULL",
            (
                key(kind, point),
                study,
                kind.name,
                json.dumps(point, sort_keys=True),
                json.dumps(versions(kind, point), sort_keys=True),
                None if results is None else json.dumps(results, sort_keys=True),
                error,
                wall,
                host or platform.node(),
                platform.python_version(),
                now,
            ),
        )

    def find(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The points of these keys that are there, failed ones too."""
        out = {}
        for wanted in keys:
            row = self._db.execute(
                "SELECT inputs, results, error, wall, host, finished, versions FROM points WHERE key = ?", (wanted,)
            ).fetchone()
            if row is not None:
                inputs, results, error, wall, host, finished, of = row
                loaded = None if results is None else json.loads(results)
                out[wanted] = Entry(json.loads(inputs), loaded, error, wall, host, finished, json.loads(of))
        return out

    def __len__(self) -> int:
        """Number of points, of all versions and failed ones too."""
        return int(self._db.execute("SELECT count(*) FROM points").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
