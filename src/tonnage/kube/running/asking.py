"""What the agents say: their record and samples, from their port through the API server's proxy.

Where that is forbidden or does not answer, steps are read from the end of the log, as the agent itself would. A pod
that has ended left its record in the termination message.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from tonnage.errors import ForbiddenError, TonnageError
from tonnage.kube.running import reading
from tonnage.kube.running.api import RunApi
from tonnage.kube.running.remembering import Memory
from tonnage_agent.hearing.log import LogReader

ASK_SECONDS = 0.9
"""No pod is asked more often than this."""
LOG_LINES = 50


class Agents:
    """The agents of one run's pods."""

    def __init__(self, api: RunApi, port: int) -> None:
        self._api, self._port = api, port
        self._asked: dict[str, float] = {}
        self._forbidden = False
        self.note = ""

    def record(self, pod: Mapping[str, Any], memory: Memory) -> dict[str, Any] | None:
        """The newest record of a pod, from wherever it can be had."""
        uid = reading.uid_of(pod)
        final = record_in(pod)
        if final is not None:
            memory.hear(uid, final)
            return final
        if reading.is_running(pod) and time.monotonic() - self._asked.get(uid, -1.0) >= ASK_SECONDS:
            self._asked[uid] = time.monotonic()
            found = self._ask(pod) or self._from_log(pod)
            if found is not None:
                memory.hear(uid, found)
        return memory.record(uid)

    def samples(self, pod: Mapping[str, Any]) -> list[str]:
        """The newest samples as lines; none where the agent cannot be asked."""
        if self._forbidden or not reading.is_running(pod):
            return []
        try:
            return self._api.from_agent(reading.name_of(pod), self._port, "samples").splitlines()
        except TonnageError:
            return []

    def _ask(self, pod: Mapping[str, Any]) -> dict[str, Any] | None:
        if self._forbidden:
            return None
        try:
            found = json.loads(self._api.from_agent(reading.name_of(pod), self._port, "record"))
        except ForbiddenError:
            self._forbidden = True
            self.note = "you may not get pods/proxy: steps are read from the log, memory is not seen"
            return None
        except (TonnageError, ValueError):
            return None  # it starts, ends, or has no agent
        return found if isinstance(found, dict) else None

    def _from_log(self, pod: Mapping[str, Any]) -> dict[str, Any] | None:
        if not self._forbidden:
            return None
        try:
            text = self._api.log(reading.name_of(pod), reading.main_container(pod), tail=LOG_LINES)
        except TonnageError:
            return None
        return steps_in(text.splitlines(), reading.started_at(pod))


def steps_in(lines: list[str], started: Any = None) -> dict[str, Any] | None:
    """A record of as much as a log tells."""
    reader = LogReader()
    for line in lines:
        reader.read(line)
    told: dict[str, Any] = {"state": "running"}
    if started is not None:
        told["startedAt"] = started.timestamp()
    for event in reader.taken():
        if event.get("event") == "step":
            told |= {name: event[name] for name in ("step", "total", "loss") if event.get(name) is not None}
    return told


def record_in(pod: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record an agent left in its container's termination message."""
    status = reading.main_status(pod)
    for state in (status.get("state"), status.get("lastState")):
        message = ((state or {}).get("terminated") or {}).get("message")
        if message and message.startswith("{"):
            try:
                found = json.loads(message)
            except ValueError:
                continue
            if isinstance(found, dict) and "version" in found:
                return found
    return None
