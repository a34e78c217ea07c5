"""Every change of a run's pods, as it happens: a thread that keeps one watch open and writes down what it sees.

Looking once a second misses the last state of a pod that is gone within a tenth of one; its conditions are the only
thing that tells a preemption from a crash.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import httpx2

from tonnage.errors import TonnageError
from tonnage.kube.client import KubeClient
from tonnage.kube.running import reading
from tonnage.kube.running.api import RunApi
from tonnage.kube.running.remembering import Memory

SECONDS = 240
"""How long one watch is asked for."""
PAUSE_SECONDS = 1.0


class PodWatch:
    """Runs from its making until `close`; whatever goes wrong, the looks go on without it."""

    def __init__(self, api: RunApi, number: int, labels: Mapping[str, str], memory: Memory) -> None:
        self.number = number
        self._namespace, self._memory = api.namespace, memory
        self._client = KubeClient(
            api.client.access
        )  # connections of its own: they are not shared between threads
        self._labels = ",".join(f"{key}={value}" for key, value in labels.items())
        self._closed = threading.Event()
        threading.Thread(target=self._run, daemon=True, name=f"pods of attempt {number}").start()

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        with self._client:
            while not self._closed.is_set():
                with suppress(TonnageError, httpx2.HTTPError, OSError, ValueError):
                    self._follow()
                self._closed.wait(PAUSE_SECONDS)

    def _follow(self) -> None:
        """From what is there now to the end of one watch."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        params = {"labelSelector": self._labels, "watch": "1", "timeoutSeconds": str(SECONDS)}
        with self._client.streaming(path, params, SECONDS + 30.0) as lines:
            for line in lines:
                if self._closed.is_set():
                    return
                change = json.loads(line)
                if change.get("type") in ("ADDED", "MODIFIED", "DELETED"):
                    self._memory.see([change["object"]])
                if change.get("type") == "DELETED":
                    self._memory.miss([reading.uid_of(change["object"])], time.time())
