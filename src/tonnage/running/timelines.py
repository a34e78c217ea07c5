"""Two clocks beside each other: ours, and the one an attempt's agents write by.

They differ where a node's clock is wrong, and where somebody set the clock of this machine between the start of an
agent and the start of its supervisor (each keeps the time it began with, `tonnage_agent.steady`). A record that is
replaced while we look was written a moment ago. Where its date is more than a minute off, the clock is another one, and
every moment it tells is moved to ours: an hour's jump would look like an hour without a step, or use up a deadline.
A record that was there when we came says nothing: it may be as old as it looks.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from tonnage.running.attempts import Attempt, Ending
from tonnage.running.observing import Observation

LATE = dt.timedelta(minutes=1)
"""A record may be so old when it is seen, and its clock still be ours."""
PATIENCE = 5
"""Looks at a record that nobody replaces before it is believed."""
NONE = dt.timedelta(0)


@dataclass(frozen=True, slots=True)
class Timeline:
    """How far our clock is ahead of theirs, as far as it is known."""

    told_at: dt.datetime | None = None
    ahead: dt.timedelta = NONE
    is_known: bool = False
    looks: int = 0
    """Without its being known."""

    def seen(self, seen: Observation, now: dt.datetime) -> Timeline:
        """With what is observed now, by their clock."""
        if seen.state != "running" or seen.told_at is None:
            return self
        if self.told_at is None or seen.told_at == self.told_at:
            return replace(self, told_at=seen.told_at, looks=self.looks + 1)
        ahead = now - seen.told_at
        return Timeline(seen.told_at, ahead if abs(ahead) >= LATE else NONE, is_known=True)

    def may_be_judged(self, seen: Observation) -> bool:
        """Whether moments of a running attempt can be compared with ours; after a while they are taken as they are."""
        is_open = seen.state == "running" and seen.told_at is not None and not self.is_known
        return not is_open or self.looks > PATIENCE

    def ours(self, seen: Observation) -> Observation:
        """What was observed, at the moments that our clock would have shown."""
        if not self.ahead:
            return seen
        progress, saved, since = seen.progress, seen.saved, seen.since
        if progress is not None and progress.when is not None:
            progress = replace(progress, when=progress.when + self.ahead)
        if saved is not None:
            saved = replace(saved, when=saved.when + self.ahead)
        if since is not None and seen.state in ("running", "ended"):
            since += self.ahead
        return replace(seen, progress=progress, saved=saved, since=since)

    def theirs(self, attempt: Attempt) -> Attempt:
        """An attempt as its own records would date it."""
        return replace(attempt, started=attempt.started - self.ahead) if attempt.started else attempt

    def ending_here(self, ending: Ending | None) -> Ending | None:
        """An ending that their records date, at the moment our clock showed."""
        return replace(ending, when=ending.when + self.ahead) if ending is not None else None

    def started(self, attempt: Attempt, since: dt.datetime | None) -> dt.datetime | None:
        """When an attempt started by our clock, where it was noted by theirs; `since` is the agents' own word."""
        if not self.ahead or attempt.started is None or since is None or abs(attempt.started - since) >= LATE:
            return attempt.started
        return since + self.ahead
