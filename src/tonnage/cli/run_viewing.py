"""The view of a run for the commands: history from the store, the present from its place."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tonnage.errors import TonnageError

if TYPE_CHECKING:
    from tonnage.reporting.run import RunView
    from tonnage.reporting.run.viewing import Courses
    from tonnage.running.history import RunRecord
    from tonnage.running.observing import MemoryNow, Observation
    from tonnage.running.port import RunPlace
    from tonnage.store.store import Store


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
        policies = policies_of(record)
        return view_run(
            record,
            observation,
            now,
            courses=self._courses(record, observation, now),
            limits=Limits(policies.budget, policies.deadline_seconds, run_of(record).spec.train.steps),
            moments=store.moments(record.id),
            is_supervised=not record.is_active or is_supervised(store.folder, record.id),
        )

    def _courses(self, record: RunRecord, observation: Observation | None, now: dt.datetime) -> Courses:
        """What was held lately, in RAM and on the GPUs."""
        from tonnage.reporting.run.viewing import Courses

        attempt = record.current
        if attempt is None or not record.is_active:
            return Courses()
        since = now.timestamp() - TREND_SECONDS

        def series(metric: str, of: MemoryNow | None) -> list[tuple[float, int]]:
            node = of.node if of is not None else 0
            return self._store.samples.series(record.id, attempt.number, node, metric, after=since)

        ram = observation.memory if observation else None
        gpu = observation.gpu_memory if observation else None
        has_gpu = observation is not None and (gpu is not None or observation.gpu_activity is not None)
        return Courses(
            memory=series("memory", ram),
            needed=series("working_set", ram),
            gpu_memory=series("gpu_memory", gpu) if has_gpu else (),
            gpu_activity=series("gpu_activity", gpu) if has_gpu else (),
        )

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
