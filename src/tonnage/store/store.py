"""The history of runs: what was asked, every attempt, every moment told.

One supervisor writes a run's attempts; any command may write a wish. Everything acknowledged is on disk.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import msgspec

from tonnage.errors import Problem, RefusedError
from tonnage.running.attempts import Attempt
from tonnage.running.history import Launching, Moment, RunRecord, RunState
from tonnage.running.observing import Wish
from tonnage.store.failing import explained
from tonnage.store.opening import open_database, transaction
from tonnage.store.samples import Samples

FILE = "tonnage.db"
_RUN = "SELECT id, name, place, created, launching, wish, state, why, ended, forgiven FROM runs"


class Store:
    """One file of history."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE
        self._connection = open_database(self.path)
        self.samples = Samples(self._connection, self.path)

    def close(self) -> None:
        self._connection.close()

    # -- runs

    def create(self, name: str, place: str, launching: Launching, now: dt.datetime) -> RunRecord:
        """A new run; refused while another of this name is active at the same place."""
        try:
            with self._writing() as database:
                id_ = database.execute(
                    "INSERT INTO runs (name, place, created, launching) VALUES (?, ?, ?, ?) RETURNING id",
                    (name, place, _time(now), _json(launching)),
                ).get
        except apsw.ConstraintError:
            raise _is_taken(name, "or give this one another metadata.name") from None
        return self.run(int(str(id_)))

    def refuse_taken(self, name: str, place: str) -> None:
        """Refuse a name that an active run has at this place, before anything is asked or made."""
        if self._runs("WHERE name = ? AND place = ? AND state = 'active'", (name, place)):
            raise _is_taken(name, "or give this one another metadata.name")

    def run(self, id_: int) -> RunRecord:
        """One run by its number, which must exist."""
        return next(iter(self._runs("WHERE id = ?", (id_,))))

    def find(self, name: str) -> RunRecord | None:
        """The active run of this name, else the newest; `name#12` is the run with that number."""
        plain, _, number = name.partition("#")
        if number.isdecimal():
            found = self._runs("WHERE id = ? AND name = ?", (int(number), plain))
        else:
            found = self._runs("WHERE name = ? ORDER BY state = 'active' DESC, id DESC LIMIT 1", (name,))
        return next(iter(found), None)

    def runs(self, *, active_only: bool = False, limit: int = -1) -> list[RunRecord]:
        """Runs, newest first."""
        where = "WHERE state = 'active'" if active_only else ""
        return self._runs(f"{where} ORDER BY id DESC LIMIT ?", (limit,))

    def set_wish(self, id_: int, wish: Wish) -> None:
        """Say what should become of a run; its supervisor acts on it."""
        with self._writing() as database:
            database.execute("UPDATE runs SET wish = ? WHERE id = ?", (wish, id_))

    def set_state(self, id_: int, state: RunState, why: str, now: dt.datetime) -> None:
        """Say where a run stands; an active one has no end."""
        ended = None if state == "active" else _time(now)
        with self._writing() as database:
            database.execute(
                "UPDATE runs SET state = ?, why = ?, ended = ? WHERE id = ?", (state, why, ended, id_)
            )

    def reopen(self, id_: int) -> None:
        """Let a run that was over go on; what it tried before stays in its history and is forgiven."""
        try:
            with self._writing() as database:
                database.execute(
                    "UPDATE runs SET state = 'active', wish = 'run', why = '', ended = NULL, "
                    "forgiven = (SELECT coalesce(max(number), 0) FROM attempts WHERE run = id) WHERE id = ?",
                    (id_,),
                )
        except apsw.ConstraintError:
            raise _is_taken(self.run(id_).name, "then this one can go on") from None

    def amend(self, id_: int, launching: Launching) -> None:
        """Change what later attempts of a run share."""
        with self._writing() as database:
            database.execute("UPDATE runs SET launching = ? WHERE id = ?", (_json(launching), id_))

    # -- attempts

    def put_attempt(self, id_: int, attempt: Attempt) -> None:
        """Remember an attempt as it is now."""
        with self._writing() as database:
            database.execute(
                "INSERT INTO attempts VALUES (?, ?, ?) "
                "ON CONFLICT (run, number) DO UPDATE SET content = excluded.content",
                (id_, attempt.number, _json(attempt)),
            )

    # -- moments

    def tell(self, id_: int, when: dt.datetime, text: str, *, key: str = "", kind: str = "note") -> bool:
        """Write a moment; False where one with this key was told before."""
        with self._writing() as database:
            database.execute(
                "INSERT INTO moments (run, at, kind, key, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (id_, _time(when), kind, key, text),
            )
            return database.changes() > 0

    def moments(self, id_: int, *, after: int = 0) -> list[Moment]:
        """What was told of a run since moment number `after`, oldest first."""
        with explained(self.path):
            rows = self._connection.execute(
                "SELECT number, at, text, key, kind FROM moments WHERE run = ? AND number > ? ORDER BY number",
                (id_, after),
            )
            return [
                Moment(number=int(n), when=_when(at), text=str(text), key=str(key), kind=str(kind))
                for n, at, text, key, kind in rows
            ]

    def _runs(self, where: str, arguments: Sequence[Any]) -> list[RunRecord]:
        with explained(self.path):
            found = [_record(row) for row in self._connection.execute(f"{_RUN} {where}", tuple(arguments))]
            return [replace(run, attempts=self._attempts(run.id)) for run in found]

    def _attempts(self, id_: int) -> tuple[Attempt, ...]:
        rows = self._connection.execute("SELECT content FROM attempts WHERE run = ? ORDER BY number", (id_,))
        return tuple(msgspec.json.decode(str(content), type=Attempt) for (content,) in rows)

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with explained(self.path), transaction(self._connection):
            yield self._connection


def _is_taken(name: str, otherwise: str) -> RefusedError:
    return RefusedError(
        Problem(
            code="RUN-101",
            what=f"a run named {name} is active already",
            hint=f"`tonnage watch {name}` shows it, `tonnage stop {name}` ends it; {otherwise}",
        )
    )


def _record(row: Sequence[Any]) -> RunRecord:
    id_, name, place, created, launching, wish, state, why, ended, forgiven = row
    return RunRecord(
        id=id_,
        name=name,
        place=place,
        created=_when(created),
        launching=msgspec.json.decode(launching, type=Launching),
        wish=wish,
        state=state,
        why=why,
        ended=None if ended is None else _when(ended),
        forgiven=forgiven,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _time(when: dt.datetime) -> str:
    return when.astimezone(dt.UTC).isoformat()


def _when(text: object) -> dt.datetime:
    return dt.datetime.fromisoformat(str(text))
