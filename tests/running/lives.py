"""A little place that plays attempts: a hidden need of memory, a leak, a GPU, and people who pull plugs.

It knows what `decide` must not know, answers with the evidence a real place would leave, and keeps the history as a
supervisor does. A whole life takes a millisecond.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Any

from tonnage.diagnosis.evidence import ContainerEnd, Evidence, LogLines, PodEnd
from tonnage.running.actions import Action, Finish, GiveUp, Launch, Record, Stop, Suspend
from tonnage.running.attempts import Attempt, Ending, Size
from tonnage.running.deciding import decide
from tonnage.running.endings import ending_of
from tonnage.running.observing import Bounds, Observation, Progress, Refit, Saved, Situation
from tonnage.running.policies import Policies

START = dt.datetime(2026, 3, 1, 9, 0, tzinfo=dt.UTC)
MIB = 2**20
CUDA_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


@dataclass(frozen=True)
class Plug:
    """Somebody ends the n-th attempt after a while."""

    cause: str
    after_seconds: float


@dataclass(frozen=True)
class World:
    """What is true and hidden."""

    base: int = 1000 * MIB
    leak: float = 0.0
    """Bytes per second that are never given back while the process lives."""
    total: int = 100
    step_seconds: float = 10.0
    save_every: int = 10
    micro_batch_that_fits: int = 64
    code_error_at: int | None = None
    plugs: tuple[Plug, ...] = ()
    tells_growth: bool = True


@dataclass
class Life:
    """The history of one run, and every question that was asked."""

    world: World
    policies: Policies
    bounds: Bounds = field(default_factory=Bounds)
    first_size: Size = field(default_factory=lambda: Size(memory=1024 * MIB))
    refits: tuple[Refit, ...] = ()
    attempts: list[Attempt] = field(default_factory=list)
    now: dt.datetime = START
    saved: Saved | None = None
    outcome: Action | None = None
    ran: float = 0.0

    def live(self, most_rounds: int = 500) -> Life:
        """Until it ends by itself."""
        for _ in range(most_rounds):
            if self.outcome is not None:
                return self
            self.look()
        raise AssertionError(
            f"no end after {most_rounds} looks: {[a.ending and a.ending.cause for a in self.attempts]}"
        )

    def look(self) -> None:
        current = self.attempts[-1] if self.attempts else None
        if current is None or current.is_over:
            return self._act(self._asked(Observation(state="absent")))
        seen, evidence = self._played(current)
        assert self._asked(seen) == (), "an end that is not classified yet is waited for"
        self.now += dt.timedelta(seconds=11)
        ending = ending_of(current, seen, evidence, self.now)
        assert ending is not None
        return self._act(self._asked(replace(seen, ending=ending)))

    def _asked(self, seen: Observation) -> tuple[Action, ...]:
        situation = Situation(
            name="r",
            wish="run",
            attempts=tuple(self.attempts),
            observation=seen,
            bounds=self.bounds,
            first_size=self.first_size,
            refits=self.refits,
            ran_seconds=self.ran,
        )
        actions = decide(situation, self.policies, self.now)
        assert actions == decide(situation, self.policies, self.now), "asked twice, it answers the same"
        return actions

    def _act(self, actions: tuple[Action, ...]) -> None:
        for action in actions:
            match action:
                case Record(attempt=attempt, ending=ending):
                    self.attempts[-1] = replace(attempt, ending=ending)
                    again = self._asked(Observation(state="absent"))
                    assert not any(isinstance(each, Record) for each in again), "recorded once"
                    assert again == actions[1:], "what was carried out is not asked for again, the rest is"
                case Launch(number=number, size=size, after=after, why=why):
                    assert number == len(self.attempts) + 1
                    self.now = max(self.now, after or self.now)
                    self.attempts.append(
                        Attempt(number=number, size=size, created=self.now, why=why, started=self.now)
                    )
                case Finish() | GiveUp() | Stop() | Suspend():
                    self.outcome = action

    def _played(self, attempt: Attempt) -> tuple[Observation, Evidence]:
        """Run the attempt to its end; what is seen of it then."""
        world, size = self.world, attempt.size
        first = self.saved.step if self.saved else 0
        began = self.now
        plug = world.plugs[attempt.number - 1] if attempt.number <= len(world.plugs) else None
        step, cause = first, ""
        while step < world.total:
            elapsed = (step - first) * world.step_seconds
            if cause := self._death(attempt, step, elapsed, plug):
                break
            step += 1
            self.now = began + dt.timedelta(seconds=(step - first) * world.step_seconds)
            if step % world.save_every == 0:
                self.saved = Saved(step=step, when=self.now)
        self.ran += (self.now - began).total_seconds()
        progress = Progress(step=step, total=world.total, seconds_per_step=world.step_seconds, when=self.now)
        seen = Observation(state="ended", since=self.now, progress=progress, saved=self.saved)
        return seen, _evidence(self, attempt, cause, size)

    def _death(self, attempt: Attempt, step: int, elapsed: float, plug: Plug | None) -> str:
        world, size = self.world, attempt.size
        if size.micro_batch is not None and size.micro_batch > world.micro_batch_that_fits:
            return "gpu_oom"
        if size.memory is not None and world.base + world.leak * elapsed > size.memory:
            return "host_oom"
        if world.code_error_at is not None and step >= world.code_error_at:
            return "code"
        return plug.cause if plug is not None and elapsed >= plug.after_seconds else ""


def _evidence(life: Life, attempt: Attempt, cause: str, size: Size) -> Evidence:
    """What a cluster would leave behind."""
    exit_code, reason = {"": (0, "Completed"), "host_oom": (137, "OOMKilled")}.get(cause, (1, "Error"))
    conditions: list[dict[str, Any]] = []
    lines: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    match cause:
        case "preemption":
            exit_code = 143
            conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
        case "eviction":
            exit_code = 137
            conditions = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]
        case "node" | "spot":
            exit_code, gone = 137, ("n1",)
        case "unknown":
            exit_code = 137
        case "gpu_oom":
            lines = (CUDA_OOM,)
        case "code":
            lines = ("Traceback (most recent call last):", "KeyError: 'labels'")
    end = ContainerEnd(name="trainer", exit_code=exit_code, reason=reason, finished=life.now)
    pod = PodEnd(
        index=0,
        name="r-0",
        node="n1",
        phase="Failed" if exit_code else "Succeeded",
        conditions=tuple(conditions),
        containers=(end,),
        memory_limit=size.memory,
    )
    return Evidence(
        pods=(pod,),
        logs=(LogLines(index=0, lines=lines),),
        records={0: _record(life, attempt, cause)},
        gone_nodes=gone,
        node_is_spot={"n1": cause == "spot"},
    )


def _record(life: Life, attempt: Attempt, cause: str) -> dict[str, Any]:
    limit = attempt.size.memory
    usage = limit if cause == "host_oom" else min(life.world.base, limit or life.world.base)
    memory: dict[str, Any] = {
        "usage": usage,
        "peak": usage,
        "limit": limit,
        "oomKills": int(cause == "host_oom"),
    }
    if life.world.tells_growth and life.world.leak:
        memory["growthPerSecond"] = life.world.leak
    return {"state": "running", "memory": memory, "updatedAt": life.now.timestamp()}


def ending_sizes(life: Life) -> list[tuple[str, Size]]:
    """Every death of memory with the size it was died at."""
    return [
        (each.ending.cause, each.size)
        for each in life.attempts
        if each.ending is not None and each.ending.cause in ("host_oom", "gpu_oom")
    ]


def endings(life: Life) -> list[Ending]:
    return [each.ending for each in life.attempts if each.ending is not None]
