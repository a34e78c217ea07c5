"""A supervisor that outlives the terminal: started in a session of its own, found again by its lock.

Any `tonnage` command that looks at runs calls `take_up`: a run that is active and that nobody holds gets a
supervisor again, wherever the last one was lost (a reboot, a kill, an upgrade).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tonnage.local.detached import start_detached
from tonnage.local.layout import RunFolder
from tonnage.running.history import RunRecord
from tonnage.store.store import Store
from tonnage.supervising.locking import holder_of

ENVIRONMENT = "environment.json"
_START_SECONDS = 10.0
_NEW_SECONDS = 30.0


def keep_environment(home: Path, run: int) -> None:
    """Remember the variables of whoever starts a run: a later supervisor may be born elsewhere."""
    folder = RunFolder.of(home, run).root
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / ENVIRONMENT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(dict(os.environ), file)


def kept_environment(home: Path, run: int) -> dict[str, str]:
    try:
        values = json.loads((RunFolder.of(home, run).root / ENVIRONMENT).read_text())
    except (OSError, ValueError):
        return dict(os.environ)
    return {str(name): str(value) for name, value in values.items()}


def start_supervisor(store: Store, run: int) -> None:
    """Start one and wait until it holds the run."""
    _start(store, run)
    _await(store, [run])


def _start(store: Store, run: int) -> None:
    folder = RunFolder.of(store.folder, run)
    folder.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    words = [sys.executable, "-m", "tonnage.supervising", str(run)]
    start_detached(words, folder.supervisor_log, {**os.environ, "TONNAGE_HOME": str(store.folder)})


def _await(store: Store, runs: Sequence[int]) -> None:
    """Wait until each of them is held; all together no longer than one may take."""
    give_up = time.monotonic() + _START_SECONDS
    left = list(runs)
    while time.monotonic() < give_up and (left := [run for run in left if not _has_begun(store, run)]):
        time.sleep(0.05)


def _has_begun(store: Store, run: int) -> bool:
    """Held, or over already: a short run may end before anybody looks."""
    return is_supervised(store.folder, run) or not store.run(run).is_active


def is_supervised(home: Path, run: int) -> bool:
    return holder_of(RunFolder.of(home, run).lock) is not None


def _is_lost(store: Store, run: RunRecord) -> bool:
    """Held by nobody; a run that was written down a moment ago is about to get its first supervisor."""
    if is_supervised(store.folder, run.id):
        return False
    age = dt.datetime.now(dt.UTC) - run.created
    is_new = not RunFolder.of(store.folder, run.id).lock.exists() and age.total_seconds() < _NEW_SECONDS
    return not is_new


def take_up(store: Store) -> list[RunRecord]:
    """Give every active run that nobody holds a supervisor again; returns those."""
    lost = [run for run in store.runs(active_only=True) if _is_lost(store, run)]
    for run in lost:
        _start(store, run.id)
    _await(store, [run.id for run in lost])
    return lost
