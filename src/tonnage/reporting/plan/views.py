"""The view model of a plan: its keys are stable, and docs/plan.md documents every one.

Bytes are bytes, `cpu` is in thousandths of a core, time in seconds, money in micro-dollars; a figure that is not
known is null, and `unknown` says why.
"""

from __future__ import annotations

from typing import Any

import msgspec


class View(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the parts of a view."""


class ChangeView(View, frozen=True):
    what: str
    effect: str
    field: str
    value: Any
    why: str
    answers: str


class VerdictView(View, frozen=True):
    kind: str
    headline: str
    changes: tuple[ChangeView, ...]
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


class LineView(View, frozen=True):
    name: str
    amount: int
    formula: str
    flag: str = ""


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
    parts: tuple[LineView, ...] = ()
    note: str = ""


class NeedView(View, frozen=True):
    name: str
    state: str
    needed: int | None
    asked: int | None
    granted: int | None
    there: int | None
    margin: int | None
    share: float | None
    gpu_share: float | None
    text: str
    parts: tuple[LineView, ...]


class GangView(View, frozen=True):
    fits: bool
    placed: int
    wanted: int
    nodes: dict[str, int]
    feasible: int
    message: str


class GroupView(View, frozen=True):
    pool: str
    gpu: str
    gpus_per_node: int
    nodes: int
    takes_now: int
    takes_empty: int
    example: str
    reasons: tuple[str, ...]
    taints: tuple[str, ...]
    memory_fits: bool | None
    to_come: int


class PlacementView(View, frozen=True):
    now: GangView
    empty: GangView
    groups: tuple[GroupView, ...]
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


class WallView(View, frozen=True):
    kind: str
    name: str
    standing: str
    text: str
    resource: str
    asked: str
    used: str
    hard: str


class RangeView(View, frozen=True):
    p10: float
    p50: float
    p90: float


class TimeView(View, frozen=True):
    step_seconds: RangeView | None
    total_seconds: RangeView | None
    per_second: float | None
    unit: str
    deadline_seconds: int | None
    idle_share: float | None
    loader_seconds: float | None
    note: str


class CostView(View, frozen=True):
    per_hour: int | None
    per_hour_high: int | None
    origin: str
    gpu_hours: RangeView | None
    total: RangeView | None
    to_deadline: int | None
    budget: int | None
    budget_text: str


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
    idle_per_hour: int
    offered_by: int | None


class AlternativeView(View, frozen=True):
    devices: str
    required: int
    usable: int
    step_seconds: float | None
    per_hour: int | None
    per_step: float | None
    slower: float | None
    changes: tuple[ChangeView, ...]


class StepView(View, frozen=True):
    text: str
    change: str
    saved: int
    slower: float | None


class FitView(View, frozen=True):
    chosen: AlternativeView | None
    steps: tuple[StepView, ...]
    runners_up: tuple[AlternativeView, ...]
    left: tuple[StepView, ...]
    fixed: dict[str, str]
    considered: int
    confirmed: bool
    obstacles: tuple[str, ...]


class ValueView(View, frozen=True):
    field: str
    value: str
    origin: str


class UnknownView(View, frozen=True):
    what: str
    why: str


class PlanView(View, frozen=True):
    """Everything `tonnage plan` says."""

    api_version: str
    kind: str
    verdict: VerdictView
    run: RunView
    against: str
    gpu_memory: GpuMemoryView
    options: tuple[ChangeView, ...]
    needs: tuple[NeedView, ...]
    placement: PlacementView | None
    shares: SharesView | None
    walls: tuple[WallView, ...]
    time: TimeView
    cost: CostView
    risk: RiskView
    parts: tuple[PartView, ...]
    fit: FitView | None
    warnings: tuple[str, ...]
    unknown: tuple[UnknownView, ...]
    effective: tuple[ValueView, ...]
