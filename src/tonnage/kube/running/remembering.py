"""What was last seen of an attempt's pods, and what their agents last said: kept, because both may vanish.

A preempted pod is gone a second after its last breath, and with it its conditions and its termination message. So
every look, and every change that a watch reports, is kept on this machine; the newest of each pod counts.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tonnage.kube.running import reading

PODS, RECORDS, EVIDENCE, LOGS, NODES = "pods.json", "records.json", "evidence.json", "logs.json", "nodes.json"
LOST, GONE = "lost.json", "gone.json"
WRITE_SECONDS = 2.0
"""Between two writes of what agents say: a large gang says much, and the newest is what counts."""
_MANAGED = ("managedFields",)


class Memory:
    """One attempt, on this machine; safe for two threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._pods: dict[str, dict[str, Any]] = _read(folder / PODS)
        self._records: dict[str, dict[str, Any]] = _read(folder / RECORDS)
        self._spot: dict[str, Any] = _read(folder / NODES)
        self._lost: dict[str, Any] = _read(folder / LOST)
        self._gone: dict[str, Any] = _read(folder / GONE)
        self._written = -WRITE_SECONDS

    @property
    def pods(self) -> dict[str, dict[str, Any]]:
        with self._lock:
            return dict(self._pods)

    def see(self, pods: Iterable[Mapping[str, Any]]) -> None:
        """Keep these; written only when something changed."""
        with self._lock:
            changed = False
            for pod in pods:
                uid = reading.uid_of(pod)
                kept = _slim(pod)
                before = self._pods.get(uid)
                if before is None or _version(before) != _version(kept):
                    self._pods[uid] = kept
                    changed = True
            if changed:
                write(self.folder / PODS, self._pods)

    @property
    def lost(self) -> tuple[str, ...]:
        """Uids of the pods whose loss ended the attempt: what ended after them ended because of that."""
        with self._lock:
            return tuple(self._lost)

    def lose(self, uids: Iterable[str]) -> None:
        """Keep which pods were missed first."""
        with self._lock:
            if not self._lost:
                self._lost = dict.fromkeys(uids, True)
                write(self.folder / LOST, self._lost)

    @property
    def gone(self) -> dict[str, float]:
        """When pods were first missed, by uid: seconds since 1970."""
        with self._lock:
            return {uid: float(when) for uid, when in self._gone.items()}

    def miss(self, uids: Iterable[str], when: float) -> None:
        """Keep when pods vanished; the first to say so is right."""
        with self._lock:
            new = {uid: when for uid in uids if uid in self._pods and uid not in self._gone}
            if new:
                self._gone |= new
                write(self.folder / GONE, self._gone)

    @property
    def spot(self) -> dict[str, bool]:
        """Which nodes were spot capacity: one that the cloud took back cannot be asked any more."""
        with self._lock:
            return {name: bool(value) for name, value in self._spot.items()}

    def know_node(self, name: str, *, is_spot: bool) -> None:
        """Keep what a node is, once."""
        with self._lock:
            if name not in self._spot:
                self._spot[name] = is_spot
                write(self.folder / NODES, self._spot)

    def record(self, uid: str) -> dict[str, Any] | None:
        with self._lock:
            return self._records.get(uid)

    def hear(self, uid: str, record: Mapping[str, Any]) -> None:
        """Keep what an agent said; written down every few seconds, and when `flush` is called."""
        with self._lock:
            self._records[uid] = dict(record)
            is_due = time.monotonic() - self._written >= WRITE_SECONDS
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Write down what was heard."""
        with self._lock:
            self._written = time.monotonic()
            write(self.folder / RECORDS, self._records)


def read(path: Path) -> Any:
    """A kept value; None where there is none."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def write(path: Path, value: object) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    temporary.write_text(json.dumps(value))
    temporary.replace(path)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    found = read(path)
    return found if isinstance(found, dict) else {}


def _slim(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Without what nobody reads later: environments may hold secrets."""
    spec = pod.get("spec", {})
    containers = [
        {name: each[name] for name in ("name", "image", "resources") if name in each}
        for each in spec.get("containers", ())
    ]
    meta = {name: value for name, value in pod["metadata"].items() if name not in _MANAGED}
    kept = {"nodeName": spec.get("nodeName", ""), "containers": containers}
    return {"metadata": meta, "spec": kept, "status": pod.get("status", {})}


def _version(pod: Mapping[str, Any]) -> str:
    return str(pod["metadata"].get("resourceVersion", ""))
