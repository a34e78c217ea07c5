"""Everything known about the command right now, and the record made of it.

Senses measure, the ear and the log tell; this holds the newest of each and nothing else. One thread, the loop's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tonnage_agent import contract
from tonnage_agent.hearing.told import Told
from tonnage_agent.record import Record
from tonnage_agent.sampling.processes import Held
from tonnage_agent.sampling.senses import Senses
from tonnage_agent.sampling.watching import MemoryWatch
from tonnage_agent.settings import Settings
from tonnage_agent.telemetry import Sample

_MOST_PROCESSES = 12
_SIGKILL = 9
_CAUSES = {contract.EXIT_DEADLINE: "deadline", contract.EXIT_BUDGET: "budget"}
"""Ends that the SDK brings about by itself, with the codes agreed on."""


class Facts:
    """The newest of everything."""

    def __init__(
        self,
        settings: Settings,
        senses: Senses,
        log: Callable[[], list[str]],
        *,
        ran_before: float | None = None,
    ) -> None:
        self.told, self.memory = Told(), MemoryWatch()
        self.state, self.cause, self.message, self.peers = "starting", "", "", ""
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.first_rank: int | None = None
        self.watched_kills = 0
        self.left_running = 0
        self.started_at: float | None = None
        self._ran_before = None if ran_before is None else round(ran_before, 3)
        self.counters: dict[str, Any] = {}
        self._settings, self._senses, self._log = settings, senses, log
        self._suspects: list[Held] = []
        self._gpu_peaks: dict[str, int] = {}

    def take(self, now: float) -> Sample | None:
        """Measure; what came is charged to the phase that is open."""
        sample, killed = self._senses.memory(now), self.memory.oom_kills
        if sample is not None:
            self.memory.take(sample, self.told.phase)
        if self.memory.oom_kills > killed:  # whoever was looked at before held it; who is left did not
            self._suspects = self._senses.processes
        self.counters = self._senses.counters()
        return sample

    def record(self, now: float) -> Record:
        """The truth as of now."""
        told, rooms = self.told, dict(self._senses.rooms)
        shm = rooms.pop("shm", {})
        return Record(
            run=self._settings.run,
            attempt=self._settings.attempt,
            node=self._settings.node,
            state=self.state,
            started_at=self.started_at,
            updated_at=round(now, 3),
            ran_before=self._ran_before,
            cause=self.cause,
            message=self.message or told.message,
            exit_code=self.exit_code,
            signal=self.signal,
            first_rank=self.first_rank,
            step=told.step,
            total=told.total,
            loss=told.loss,
            step_at=told.step_at,
            step_seconds=_rounded(told.step_seconds),
            data_seconds=_rounded(told.data_seconds),
            collective_seconds=_rounded(told.collective_seconds),
            phase=told.phase,
            checkpoint=told.checkpoint,
            resumed_from=told.resumed_from,
            skipped=told.skipped,
            memory=self._memory(),
            gpus=self._gpus(),
            shm=shm,
            disk=rooms,
            processes=[
                held.as_json() for held in (self._suspects or self._senses.processes)[:_MOST_PROCESSES]
            ],
            ranks={str(rank): step for rank, step in sorted(told.ranks.items())}
            if len(told.ranks) > 1
            else {},
            cpu=self.counters.get("cpu", {}),
            peers=self.peers,
            log=self._log(),
        )

    def explain_end(self) -> None:
        """Say in one line what the exit code alone does not."""
        self.cause = self.cause or _CAUSES.get(self.exit_code or 0, "")
        notes = [self.message] if self.message else []
        if self.memory.oom_kills:
            who = "the command was" if self.signal == _SIGKILL else "one of its processes was"
            notes.append(f"{who} OOM-killed by the kernel ({self.memory.oom_kills} so far)")
        elif self.signal is not None and not self.cause:
            notes.append(f"the command was ended by signal {self.signal}")
        if self.first_rank is not None:
            notes.append(f"rank {self.first_rank} failed first")
        if self.left_running:
            some = "1 process" if self.left_running == 1 else f"{self.left_running} processes"
            notes.append(f"{contract.LEFT_RUNNING} {some} running, ended with it")
        self.message = "; ".join(notes)

    def _memory(self) -> dict[str, Any]:
        told = self.memory.told()
        if self.watched_kills:
            told["oomKills"] = told.get("oomKills", 0) + self.watched_kills
        return told

    def sample_line(self, sample: Sample | None, now: float) -> str:
        """One line of the samples file: memory as `Sample` tells it, and everything else beside it."""
        values: dict[str, Any] = json.loads(sample.as_line()) if sample is not None else {"when": now}
        values.update(self.counters)
        told = self.told
        more = {"step": told.step, "phase": told.phase, "gpus": self._gpus(), **self._senses.rooms}
        values.update({name: value for name, value in more.items() if value not in (None, "", [], {})})
        return json.dumps(values, separators=(",", ":"))

    def _gpus(self) -> list[dict[str, Any]]:
        """The last answer of the GPUs, with the highest each has shown."""
        gpus = []
        for gpu in self._senses.gpus:
            key = f"{gpu.get('index')}/{gpu.get('instance', '')}"
            peak = self._gpu_peaks[key] = max(self._gpu_peaks.get(key, 0), gpu.get("used", 0))
            gpus.append({**gpu, "peak": peak})
        return gpus


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
