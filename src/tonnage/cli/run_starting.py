"""Start a planned run: write it down, then give it a supervisor."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonnage.cli.run_planning import Planned
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store


def start(planned: Planned, store: Store) -> RunRecord:
    """The started run; from here on it needs no terminal."""
    from tonnage.cli.run_refitting import refits_for
    from tonnage.running.history import HERE
    from tonnage.running.launching import launching_of
    from tonnage.spec.dumping import as_plain, write_yaml
    from tonnage.supervising.detaching import keep_environment, start_supervisor

    now, archive = dt.datetime.now(dt.UTC), None
    name = planned.run.metadata.name
    launching = launching_of(
        planned.plan,
        planned.run,
        document=write_yaml(as_plain(planned.run)),
        file=planned.file,
        folder=str(planned.folder),
        lineage=f"{name}-{now:%Y%m%d-%H%M%S}",
        probe_steps=planned.probe,
        refits=refits_for(planned),
    )
    if not planned.is_here:
        from tonnage.cli.run_cluster import pack_code, with_rendering

        launching = with_rendering(launching, planned)
        archive = None if planned.code else pack_code(planned)
    record = store.create(name, planned.on or HERE, launching, now)
    keep_environment(store.folder, record.id)
    if archive is not None:
        from tonnage.supervising.on_cluster import keep_code

        keep_code(store.folder, record.id, archive.content)
    for line in planned.lines():
        store.tell(record.id, now, line.removeprefix("  "), kind="planned")
        planned.told.append(line)
    start_supervisor(store, record.id)
    return store.run(record.id)
