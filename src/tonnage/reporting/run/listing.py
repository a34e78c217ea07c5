"""One line per run, for `ps`."""

from __future__ import annotations

import datetime as dt

import msgspec

from tonnage.reporting.run.viewing import RunView
from tonnage.reporting.text import format_age
from tonnage.units import format_bytes


class RunLine(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A run in a list."""

    name: str
    id: int
    place: str
    state: str
    attempt: int
    age_seconds: float
    step: int | None = None
    total: int | None = None
    ended_seconds: float | None = None
    """How long ago it ended."""
    seconds_left: float | None = None
    memory: int | None = None
    memory_limit: int | None = None
    spent: int | None = None
    is_supervised: bool = True
    why: str = ""

    @property
    def progress(self) -> str:
        if self.step is None:
            return "-"
        return f"{self.step:,}" if self.total is None else f"{self.step:,} / {self.total:,}"

    @property
    def held(self) -> str:
        """Memory now, of its limit."""
        if self.memory is None:
            return "-"
        of = "" if self.memory_limit is None else f" of {format_bytes(self.memory_limit)}"
        return format_bytes(self.memory) + of

    @property
    def age(self) -> str:
        return format_age(dt.timedelta(seconds=self.age_seconds))


def line_of(view: RunView, now: dt.datetime) -> RunLine:
    """The list's line of a run."""
    return RunLine(
        name=view.name,
        id=view.id,
        place=view.place,
        state=view.state,
        attempt=view.attempt,
        age_seconds=(now - view.created).total_seconds(),
        ended_seconds=None if view.ended is None else (now - view.ended).total_seconds(),
        seconds_left=view.seconds_left,
        memory=view.memory.usage if view.memory else None,
        memory_limit=view.memory.limit if view.memory else None,
        step=view.step,
        total=view.total,
        spent=view.spent,
        is_supervised=view.is_supervised,
        why=view.held_by or view.why,
    )
