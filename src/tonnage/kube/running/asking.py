"""What the agents say: their record and samples, from their port through the API server's proxy.

Where that is forbidden or does not answer, steps are read from the end of the log, as the agent itself would. A pod
that has ended left its record in the termination message.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from tonnage.errors import ForbiddenError, TonnageError
from tonnage.kube.running import reading
from tonnage.kube.running.api import RunApi
from tonnage.kube.running.remembering import Memory
from tonnage_agent.hearing.log import LogReader

ASK_SECONDS = 0.9
"""No pod is asked more often than this."""
LONGEST_SECONDS = 30.0
"""Between two tries of a pod that does not answer: the wait doubles up to this."""
MOST_AT_ONCE = 8
"""Pods asked in one look: in a large gang they take turns."""
SAMPLES_SECONDS = 3.0
"""Between two looks at a pod's samples: it keeps the last two minutes of them."""
PATIENCE = 3
"""After so many silent tries steps are read from the log."""
LOG_LINES = 50


class Agents:
    """The agents of one run's pods."""

    def __init__(self, api: RunApi, port: int) -> None:
        self._api, self._port = api, port
        self._due: dict[str, float] = {}
        self._silent: dict[str, int] = {}
        self._sampled: dict[str, float] = {}
        self._forbidden = False
        self.note = ""

    def records(self, pods: Iterable[Mapping[str, Any]], memory: Memory) -> list[dict[str, Any]]:
        """The newest record of each pod, from wherever it can be had."""
        due = sorted(
            (pod for pod in pods if self._is_due(pod)), key=lambda pod: self._due.get(reading.uid_of(pod), 0)
        )
        for pod in due[:MOST_AT_ONCE]:
            if (found := self._ask(pod)) is not None:
                memory.hear(reading.uid_of(pod), found)
        for pod in pods:
            if (final := record_in(pod)) is not None:
                memory.hear(reading.uid_of(pod), final)
        return [found for pod in pods if (found := memory.record(reading.uid_of(pod))) is not None]

    def samples(self, pods: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
        """The newest samples as lines, each with its pod; agents that cannot be asked have none."""
        due = [pod for pod in pods if self._gives_samples(pod)]
        due.sort(key=lambda pod: self._sampled.get(reading.uid_of(pod), 0.0))
        for pod in due[:MOST_AT_ONCE]:
            self._sampled[reading.uid_of(pod)] = time.monotonic() + SAMPLES_SECONDS
            try:
                text = self._api.from_agent(reading.name_of(pod), self._port, "samples")
            except TonnageError:
                continue
            for line in text.splitlines():
                yield pod, line

    def ask_save(self, pods: Iterable[Mapping[str, Any]]) -> bool:
        """Ask every running pod for a checkpoint; whether any has heard it: ranks that save together agree on it."""
        heard = False
        for pod in pods:
            if reading.is_running(pod):
                with suppress(TonnageError):
                    self._api.ask_agent(reading.name_of(pod), self._port, "save")
                    heard = True
        return heard

    def _gives_samples(self, pod: Mapping[str, Any]) -> bool:
        uid = reading.uid_of(pod)
        is_due = time.monotonic() >= self._sampled.get(uid, 0.0)
        return is_due and reading.is_running(pod) and not self._forbidden and not self._silent.get(uid)

    def _is_due(self, pod: Mapping[str, Any]) -> bool:
        return reading.is_running(pod) and time.monotonic() >= self._due.get(reading.uid_of(pod), 0.0)

    def _ask(self, pod: Mapping[str, Any]) -> dict[str, Any] | None:
        uid = reading.uid_of(pod)
        found = None if self._forbidden else self._from_port(pod)
        silent = self._silent[uid] = 0 if found is not None else self._silent.get(uid, 0) + 1
        if found is None and (self._forbidden or silent >= PATIENCE):
            found = self._from_log(pod)
        wait = (
            ASK_SECONDS
            if self._forbidden
            else min(LONGEST_SECONDS, ASK_SECONDS * 2 ** max(0, silent - PATIENCE))
        )
        self._due[uid] = time.monotonic() + wait
        return found

    def _from_port(self, pod: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            found = json.loads(self._api.from_agent(reading.name_of(pod), self._port, "record"))
        except ForbiddenError:
            self._forbidden = True
            self.note = "you may not get pods/proxy: steps are read from the log, memory is not seen"
            return None
        except (TonnageError, ValueError):
            return None  # it starts, ends, has no agent, or cannot be reached
        return found if isinstance(found, dict) else None

    def _from_log(self, pod: Mapping[str, Any]) -> dict[str, Any] | None:
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
