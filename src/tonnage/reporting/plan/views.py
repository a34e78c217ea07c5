"""The view model of a plan: its keys are stable, and docs/plan.md documents every one.

Bytes are bytes, `cpu` is in thousandths of a core, time in seconds, money in micro-dollars; a figure that is not
known is null, and `unknown` says why. What planning answers in the same words is shown as it is; a view of its own has
only what must be summed up, counted or named differently for readers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tonnage.memory.estimate import Interval
from tonnage.planning.answers import Change, Cost, EffectiveValue, FitStep, NeedPart, NodeGroup, Waiting
from tonnage.planning.walls import Wall
from tonnage.planning.workload import Unknown


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the parts of a view."""


class VerdictView(View, frozen=True):
    kind: str
    headline: str
    changes: tuple[Change, ...]
    reasons: tuple[str, ...]


class RunView(View, frozen=True):
    kind: str
    name: str
    namespace: str
    file: str
    pods: int
    gpus: int
    gpus_per_pod: float
    gpu_type: str
    ranks: int | None
    devices: str


class GpuMemoryView(View, frozen=True):
    state: str
    gpu: str
    usable: int | None
    mode: str | None = None
    required: int | None = None
    expected: int | None = None
    margin: int | None = None
    smallest_cap: int | None = None
    peak_allocated: int | None = None
    peak_reserved: int | None = None
    outside_allocator: int | None = None
    guard: int | None = None
    guard_reason: str = ""
    parts: tuple[NeedPart, ...] = ()
    own: dict[str, Any] = {}
    note: str = ""


class NeedView(View, frozen=True):
    name: str
    state: str
    needed: int | None
    asked: int | None
    granted: int | None
    limit: int | None
    there: int | None
    margin: int | None
    share: float | None
    gpu_share: float | None
    text: str
    parts: tuple[NeedPart, ...]


class GangView(View, frozen=True):
    fits: bool
    placed: int
    wanted: int
    nodes: dict[str, int]
    feasible: int
    message: str


class PlacementView(View, frozen=True):
    now: GangView
    empty: GangView
    groups: tuple[NodeGroup, ...]
    needs: tuple[str, ...]
    sees_all: bool


class SharesView(View, frozen=True):
    gpus: float
    shares: dict[str, float]
    above: tuple[str, ...]
    stranded: int
    scarcest: str
    nodes: int
    stranded_per_hour: int | None


class TimeView(View, frozen=True):
    step_seconds: Interval | None
    paced_seconds: Interval | None
    waits: tuple[Waiting, ...]
    total_seconds: Interval | None
    per_second: float | None
    unit: str
    deadline_seconds: int | None
    idle_share: float | None
    loader_seconds: float | None
    note: str


class RiskView(View, frozen=True):
    is_refused: bool
    place: str
    dies_with: str | None
    reason: str
    every_seconds: float | None
    is_every_chosen: bool | None
    save_seconds: float | None
    checkpoint_bytes: int | None
    grace_seconds: int | None
    grace_wanted: int | None
    at_risk: int | None
    late_death: int | None
    late_death_per_hour: int | None
    is_by_deadline: bool
    qos: str
    exposure: str
    is_spot: bool
    mean_hours_between_failures: float
    cautions: tuple[str, ...]


class PartView(View, frozen=True):
    how: str
    gpu: str
    resource: str
    profile: str
    memory: int
    fits: bool
    isolation: str
    slower: float
    per_hour: int | None
    per_hour_high: int | None
    idle_per_hour: int
    idle_per_hour_high: int
    origin: str
    offered_by: int | None


class AlternativeView(View, frozen=True):
    devices: str
    required: int
    usable: int
    step_seconds: Interval | None
    per_hour: int | None
    per_step: float | None
    slower: float | None
    changes: tuple[Change, ...]


class FitView(View, frozen=True):
    chosen: AlternativeView | None
    steps: tuple[FitStep, ...]
    runners_up: tuple[AlternativeView, ...]
    left: tuple[FitStep, ...]
    fixed: dict[str, str]
    considered: int
    confirmed: bool
    obstacles: tuple[str, ...]


class TargetView(View, frozen=True):
    """The Kubernetes object a run becomes; `kind` is empty where it is refused, and `why` says it."""

    kind: str
    why: str
    lacks: tuple[str, ...]


class PlanView(View, frozen=True):
    """Everything `tonnage plan` says."""

    api_version: str
    kind: str
    verdict: VerdictView
    run: RunView
    against: str
    gpu_memory: GpuMemoryView
    options: tuple[Change, ...]
    needs: tuple[NeedView, ...]
    placement: PlacementView | None
    shares: SharesView | None
    walls: tuple[Wall, ...]
    time: TimeView
    cost: Cost
    risk: RiskView
    parts: tuple[PartView, ...]
    fit: FitView | None
    warnings: tuple[str, ...]
    unknown: tuple[Unknown, ...]
    effective: tuple[EffectiveValue, ...]
    target: TargetView | None = None
