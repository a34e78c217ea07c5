"""The tables, as a list of migrations: the n-th brings a store from version n-1 to n and is never edited again.

Samples are kept in chunks, because a row per sample costs a hundred times more (docs/dependencies.md); the peak of a
chunk stands beside it, exact, whatever is thinned out later. Values of our own types are JSON: they are read whole or
not at all, and new fields need no migration.
"""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        place TEXT NOT NULL,
        created TEXT NOT NULL,
        launching TEXT NOT NULL,
        wish TEXT NOT NULL DEFAULT 'run',
        state TEXT NOT NULL DEFAULT 'active',
        why TEXT NOT NULL DEFAULT '',
        ended TEXT,
        forgiven INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX runs_by_name ON runs (name, id);
    CREATE UNIQUE INDEX one_active_run_of_a_name ON runs (name, place) WHERE state = 'active';

    CREATE TABLE attempts (
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE moments (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX moments_of_a_run ON moments (run, number);
    CREATE UNIQUE INDEX told_once ON moments (run, key) WHERE key != '';

    CREATE TABLE series (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        attempt INTEGER NOT NULL,
        node INTEGER NOT NULL,
        metric TEXT NOT NULL,
        UNIQUE (run, attempt, node, metric)
    ) STRICT;

    CREATE TABLE chunks (
        series INTEGER NOT NULL REFERENCES series (id) ON DELETE CASCADE,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        count INTEGER NOT NULL,
        peak INTEGER NOT NULL,
        times BLOB NOT NULL,
        readings BLOB NOT NULL,
        PRIMARY KEY (series, first)
    ) STRICT, WITHOUT ROWID;
    """,
)
VERSION = len(MIGRATIONS)
