"""What one run has tried: attempts, the size each had, and how each ended.

An attempt is one gang of pods (or processes) from start to end. Its size is what a remedy may change; everything
else stays as the document says. Endings keep the class id of the finding beside the cause whose budget it used, so
"never the same OOM twice" can be checked on nothing but this history.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Cause = Literal[
    "preemption", "spot", "eviction", "node", "host_oom", "gpu_oom", "network", "storage", "hang", "unknown", "code",
    "deadline", "budget", "forecast", "stopped",
]  # fmt: skip
"""Whose budget an ending uses; the first eleven are the fields of `retries`. The last four are never retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a remedy may change between attempts."""

    memory: int | None = None
    """Bytes of RAM per pod, its limit; None where nothing limits it."""
    memory_request: int | None = None
    """Bytes asked of the scheduler; None means the limit."""
    shm: int | None = None
    disk: int | None = None
    micro_batch: int | None = None
    accumulation: int | None = None
    checkpointing: str | None = None
    """Activation checkpointing, where a refit changed it."""
    gpu: str | None = None
    """GPU type, where a remedy chose another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an attempt ended."""

    when: dt.datetime
    cause: Cause | None
    """None where it finished its work."""
    code: str = ""
    """Class id of the finding, such as `MEM-01`; empty where it finished."""
    summary: str = ""
    """One line for people: `rank 5 OOM-killed: over its own limit, 260.0 of 260 GiB`."""
    node: int | None = None
    """Index of the pod (or process group) that failed first."""
    step: int | None = None
    """Last step seen."""
    safe_step: int | None = None
    """Step of the newest checkpoint that is whole; None where there is none."""
    lost_seconds: float | None = None
    peak: int | None = None
    """Most RAM seen in one pod."""
    growth_per_second: float | None = None
    """Bytes per second that RAM grew at the end, where it grew."""
    seconds_left: float | None = None
    """Time its steps still needed, where known: what growth is multiplied by."""
    evidence: tuple[str, ...] = ()
    """Lines with their source, kept because Kubernetes deletes what they came from."""
    last_line: str = ""
    """What it printed last, where nothing says why it ended."""

    @property
    def is_success(self) -> bool:
        return self.cause is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try."""

    number: int
    size: Size
    created: dt.datetime
    why: str = ""
    """Why it was made, with this size: shown to people."""
    started: dt.datetime | None = None
    """When its first process ran; None while it waits."""
    from_step: int | None = None
    """Step it resumed from, once it said so."""
    stopping: str = ""
    """`Stop.cause`, once we asked it to end: what the ending is then put down to."""
    ending: Ending | None = None
    replaced: Mapping[str, Ending] = field(default_factory=dict)
    """Deaths inside it, by the pod that was lost: its controller had put another in its place, running, before anybody
    looked. They use no budget: nothing had to be tried again."""

    @property
    def is_over(self) -> bool:
        return self.ending is not None
