"""The view of a run for the commands: history from the store, the present from its place."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tonnage.errors import TonnageError

if TYPE_CHECKING:
    from tonnage.reporting.run import RunView
    from tonnage.running.history import RunRecord
    from tonnage.running.observing import Observation
    from tonnage.running.port import RunPlace
    from tonnage.store.store import Store

    Series = list[tuple[float, int]]

COURSE_POINTS = 120
TREND_SECONDS = 3600.0
"""How far back the trend of memory is judged."""


class Eye:
    """Looks at one run again and again; its place is opened once."""

    def __init__(self, store: Store, run_id: int) -> None:
        self._store, self._run_id = store, run_id
        self._place: RunPlace | None = None

    def look(self) -> RunView:
        """The run now."""
        from tonnage.reporting.run import view_run
        from tonnage.reporting.run.viewing import Limits
        from tonnage.supervising.detaching import is_supervised
        from tonnage.supervising.opening import policies_of, run_of

        store, now = self._store, dt.datetime.now(dt.UTC)
        record = store.run(self._run_id)
        observation = self._observe(record)
        course, needed = self._memory(record, observation, now)
        policies = policies_of(record)
        return view_run(
            record,
            observation,
            now,
            course=course,
            needed=needed,
            limits=Limits(policies.budget, policies.deadline_seconds, run_of(record).spec.train.steps),
            moments=store.moments(record.id),
            is_supervised=not record.is_active or is_supervised(store.folder, record.id),
        )

    def _memory(
        self, record: RunRecord, observation: Observation | None, now: dt.datetime
    ) -> tuple[Series, Series]:
        """What was held lately, and what of it could not have been taken back."""
        if record.current is None or not record.is_active:
            return [], []
        node = observation.memory.node if observation and observation.memory else 0
        number, since = record.current.number, now.timestamp() - TREND_SECONDS
        held, needed = (
            self._store.samples.series(record.id, number, node, metric, after=since)
            for metric in ("memory", "working_set")
        )
        return held[-COURSE_POINTS:], needed

    def _observe(self, record: RunRecord) -> Observation | None:
        from tonnage.supervising.opening import place_of

        if record.current is None or not record.is_active:
            return None  # what is over is in the history; its place need not be asked
        try:
            if self._place is None:
                self._place = place_of(record, self._store.folder)
            return self._place.observe(record.current.number)
        except TonnageError:
            return None  # the place cannot be reached now; what history tells is shown all the same


def look(store: Store, run_id: int) -> RunView:
    """A run now, once."""
    return Eye(store, run_id).look()
