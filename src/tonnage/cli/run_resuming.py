"""A resumed run goes on under the limits its document has now.

"Raise the deadline, then resume" must mean what it says: how often, how long, how large and how dear a run may be is
read again from its file. What it trains is not: another command, model or batch is another run.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonnage.running.history import RunRecord
    from tonnage.store.store import Store

LIMITS = ("deadline", "budget", "maxWait", "retries", "onOOM", "onForecast")


def take_new_limits(store: Store, record: RunRecord, now: dt.datetime) -> None:
    """Take over what the file says now, and tell each change."""
    from tonnage.spec.dumping import as_plain, write_yaml
    from tonnage.supervising.opening import run_of

    written = _written(record, store, now)
    if written is None:
        return
    document = as_plain(run_of(record))
    before, after = document.get("spec", {}), written.get("spec", {})
    changed = [name for name in LIMITS if before.get(name) != after.get(name)]
    if not changed:
        return
    spec = {name: value for name, value in before.items() if name not in changed}
    spec |= {name: after[name] for name in changed if name in after}
    launching = replace(record.launching, document=write_yaml({**document, "spec": spec}))
    store.amend(record.id, launching)
    for name in changed:
        text = f"{name}: {_text(before.get(name))} -> {_text(after.get(name))}, as its document says now"
        store.tell(record.id, now, text)


def _written(record: RunRecord, store: Store, now: dt.datetime) -> dict[str, Any] | None:
    """The run as its file says it now; None where there is no such file, or it says something else."""
    from tonnage.errors import DocumentError
    from tonnage.spec.dumping import as_plain
    from tonnage.spec.loading import load_one
    from tonnage.spec.run import Run

    path = Path(record.launching.folder) / Path(record.launching.file).name
    if record.launching.file in ("", "-") or not path.is_file():
        return None
    try:
        run = load_one(path.read_bytes(), path.name, Run)
    except DocumentError as error:
        store.tell(
            record.id, now, f"{path.name} is not read: {error.problem.what}; it goes on as it was started"
        )
        return None
    return as_plain(run) if run.metadata.name == record.name else None


def _text(value: object) -> str:
    """A value of the document in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_text(one)}" for name, one in value.items()) + "}"
    return "not set" if value is None else str(value)
