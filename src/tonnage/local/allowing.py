"""What is left of a run's time and money when an attempt starts.

`deadline` and `budget` are the whole run's, and each attempt's agent keeps them by itself: so it must be told what
earlier attempts have used already. Worked out at every launch, because a supervisor may live through many.
"""

from __future__ import annotations

from dataclasses import replace

from tonnage.local.starting import Setting
from tonnage.running.history import RunRecord
from tonnage.running.spending import ran_seconds


def with_what_is_left(setting: Setting, record: RunRecord, now: float) -> Setting:
    """The setting of an attempt that starts at `now` (seconds since 1970)."""
    ran = ran_seconds(record.attempts)
    rate = record.launching.price_per_hour or 0
    limit = setting.run.spec.deadline
    deadline = None if limit is None else now + max(limit.seconds - ran, 0.0)
    return replace(setting, spent=int(rate * ran / 3600), deadline=deadline)
