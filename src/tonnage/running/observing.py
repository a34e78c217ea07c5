"""What is seen of the current attempt at one moment, whichever place runs it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal

from tonnage.running.attempts import Attempt, Ending, Size

State = Literal["absent", "waiting", "starting", "running", "stopping", "suspended", "ended"]
"""`absent`: nothing of it exists (not launched yet, or its objects are gone)."""
Wish = Literal["run", "stop", "suspend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the training is, as the script or its log says."""

    step: int
    total: int | None = None
    loss: float | None = None
    seconds_per_step: float | None = None
    phase: str = ""
    when: dt.datetime | None = None
    """When the last step was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The newest checkpoint that is whole."""

    step: int
    when: dt.datetime
    path: str = ""
    seconds: float | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNow:
    """RAM of the pod that holds most, of its limit."""

    usage: int
    peak: int | None = None
    limit: int | None = None
    growth_per_second: float | None = None
    node: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The current attempt, now."""

    state: State
    since: dt.datetime | None = None
    """When this state began."""
    held_by: str = ""
    """Who holds it while it waits: `quota`, `queue research, 2nd in line`, the scheduler's reasons."""
    progress: Progress | None = None
    saved: Saved | None = None
    memory: MemoryNow | None = None
    gpu_memory: MemoryNow | None = None
    gpu_activity: float | None = None
    """Percent of the time the GPUs were busy, the mean of all."""
    nodes: tuple[str, ...] = ()
    """Where it runs."""
    ranks_ready: int | None = None
    pods: int | None = None
    resumed_from: int | None = None
    skipped: tuple[str, ...] = ()
    """Checkpoints that were found torn or corrupt and passed over, with the reason."""
    ending: Ending | None = None
    """Only in state `ended`, and only once classified (evidence may come late)."""
    notes: tuple[str, ...] = ()
    told_at: dt.datetime | None = None
    """When the newest of its records was written, by the clock of whoever wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When the RAM of an attempt reaches its limit, if it goes on like this: seconds from now."""

    node: int
    held: int
    growth_per_second: float
    soonest: float
    seconds: float
    """The likeliest."""
    latest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much larger an attempt may get here, and whose wall that is."""

    memory: int | None = None
    """Bytes of RAM per pod that the largest usable node, quota and limit range all allow; None if not known."""
    memory_wall: str = ""
    """Whose: `largest node gpu-07`, `quota team-walls`, `limit range defaults`, `onOOM.maxMemory`."""
    can_resize_in_place: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that `decide` may look at."""

    name: str
    wish: Wish
    attempts: tuple[Attempt, ...]
    observation: Observation
    bounds: Bounds = field(default_factory=Bounds)
    first_size: Size = field(default_factory=Size)
    """What the plan asks for: the size of attempt 1."""
    refits: tuple[Refit, ...] = ()
    """Smaller steps with the same global batch, best first, as the solver found them; empty where unknown."""
    forgiven: int = 0
    """Attempts up to this number use no budget: the owner resumed the run after them. Sizes they died of still
    hold."""
    spent: int = 0
    """Micro-dollars so far, all attempts."""
    created: dt.datetime | None = None
    ran_seconds: float = 0.0
    """Time that attempts have run, all together: what `deadline` counts."""
    forecast: Forecast | None = None
    """Of RAM; None where it does not grow, or nobody asked."""
    save_asked: dt.datetime | None = None
    """When this attempt was last asked for a checkpoint ahead of its end; None where it was not, or nobody knows."""
    told: frozenset[str] = frozenset()
    """Keys of what its owner has been told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """Another way to make the same step, with less GPU memory."""

    micro_batch: int | None
    accumulation: int | None
    checkpointing: str | None = None
    gpu: str | None = None
    """Another GPU type, where the step moves there as it is."""
    required: int | None = None
    price_per_hour: int | None = None
    """Micro-dollars of the whole gang, where another GPU has another price."""
    text: str = ""
    """`microBatch 1 (accumulate 8) -> 41.3 GiB, +9 % time`."""
