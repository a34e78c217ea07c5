"""Opening a store: the file, its settings, and the migrations it still needs.

Write-ahead logging lets many readers and one writer at a time share the file; a writer takes its lock at the start
of a transaction (`BEGIN IMMEDIATE`), so two of them wait for each other instead of failing half-way. `FULL`
synchronisation: what was acknowledged survives a power cut, and a run writes a few rows a minute.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from tonnage.store.failing import explained, made_by_a_newer
from tonnage.store.schema import MIGRATIONS, VERSION

BUSY_MILLISECONDS = 10_000


def home() -> Path:
    """The folder of everything Tonnage keeps on this machine: $TONNAGE_HOME, else the XDG state folder."""
    named = os.environ.get("TONNAGE_HOME", "")
    if named:
        return Path(named).absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if state.startswith("/") else Path.home() / ".local/state") / "tonnage"


def open_database(path: Path) -> apsw.Connection:
    """A connection to the store at `path`, made or brought up to date where needed."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
        _migrate(connection, path)
        return connection


def _migrate(connection: apsw.Connection, path: Path) -> None:
    if _version(connection) == VERSION:
        return
    with transaction(connection):
        found = _version(connection)  # another process may have been quicker
        if found > VERSION:
            raise made_by_a_newer(path, found, VERSION)
        for migration in MIGRATIONS[found:]:
            connection.execute(migration)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _version(connection: apsw.Connection) -> int:
    return int(str(connection.pragma("user_version")))


class transaction:  # noqa: N801 - reads as a word in `with transaction(connection):`
    """All or nothing, holding the write lock from the start."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
