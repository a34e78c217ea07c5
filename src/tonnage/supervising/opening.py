"""What a supervisor needs to know of a run, read from the store alone."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import lru_cache, partial
from pathlib import Path

from tonnage.local.place import LocalPlace
from tonnage.local.starting import Setting
from tonnage.running.history import HERE, RunRecord
from tonnage.running.policies import Policies
from tonnage.running.port import RunPlace
from tonnage.spec.loading import load_one
from tonnage.spec.run import Run
from tonnage.store.store import Store
from tonnage.supervising.detaching import kept_environment
from tonnage_agent.packing import packed


def run_of(record: RunRecord) -> Run:
    """The Run that was started."""
    return _read(record.launching.document, f"run {record.name}#{record.id}")


@lru_cache(maxsize=256)
def _read(document: str, name: str) -> Run:
    """Read once: whoever follows a run asks every second."""
    return load_one(document, name, Run)


def policies_of(record: RunRecord) -> Policies:
    return Policies.of(run_of(record), price_per_hour=record.launching.price_per_hour)


def place_of(record: RunRecord, home: Path, store: Store | None = None) -> RunPlace:
    """Where the run's attempts live; with the store, for whoever keeps it alive."""
    if record.place == HERE:
        history = None if store is None else partial(store.run, record.id)
        return LocalPlace(_setting(record, home), history)
    from tonnage.supervising.on_cluster import cluster_place

    return cluster_place(record, home, run_of(record), store)


def _setting(record: RunRecord, home: Path) -> Setting:
    archive = agent_archive(home)
    return Setting(
        run_id=record.id,
        run=run_of(record),
        launching=record.launching,
        home=home,
        agent=(sys.executable, str(archive), "run", "--"),
        agent_path=str(archive),
        environment=kept_environment(home, record.id),
    )


@lru_cache(maxsize=4)
def agent_archive(home: Path) -> Path:
    """The agent as one file, made once for each version of it."""
    content = packed()
    path = home / "agent" / f"tonnage-agent-{hashlib.sha256(content).hexdigest()[:12]}.pyz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(content)
        temporary.replace(path)
    return path
