"""The view of a run for the commands: history from the store, the present from its place."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tonnage.errors import TonnageError

if TYPE_CHECKING:
    from tonnage.reporting.run import RunView
    from tonnage.running.history import RunRecord
    from tonnage.running.observing import Observation
    from tonnage.store.store import Store

COURSE_POINTS = 120


def look(store: Store, run_id: int) -> RunView:
    """A run now."""
    from tonnage.reporting.run import view_run
    from tonnage.supervising.detaching import is_supervised

    record = store.run(run_id)
    observation = _observe(store, record)
    number = record.current.number if record.current else 0
    node = observation.memory.node if observation and observation.memory else 0
    return view_run(
        record,
        observation,
        dt.datetime.now(dt.UTC),
        course=store.samples.series(record.id, number, node, "memory")[-COURSE_POINTS:],
        moments=store.moments(record.id),
        is_supervised=not record.is_active or is_supervised(store.folder, record.id),
    )


def _observe(store: Store, record: RunRecord) -> Observation | None:
    from tonnage.supervising.opening import place_of

    if record.current is None:
        return None
    try:
        return place_of(record, store.folder).observe(record.current.number)
    except TonnageError:
        return None  # the place cannot be reached now; what history tells is shown all the same
