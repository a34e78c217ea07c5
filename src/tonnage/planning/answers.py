"""A plan: what a run needs, where it fits, what it will cost and what can be lost; the verdict with the change
that would turn it.

Plain frozen values, shown as they are where a reader needs nothing else: what is a `Shown` value goes into `-o json`
under its own names. Bytes are bytes, cpu is in thousandths of a core, money in micro-dollars, time in seconds.
What is not known is absent, and `unknown` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from tonnage.memory.estimate import Estimate, Interval
from tonnage.planning.placing import Gang
from tonnage.planning.risking import CheckpointPlan
from tonnage.planning.shares import Stranding
from tonnage.planning.solver.parts import PartAnswer
from tonnage.planning.solver.setup import Devices, Setup
from tonnage.planning.walls import Wall
from tonnage.planning.workload import DiesWith, Unknown, Workload

VerdictKind = Literal["fits", "fits if", "cannot fit"]
State = Literal["fits", "tight", "slow", "does not fit", "unknown", "set"]
Origin = Literal["you", "Tonnage", "estimated", "step", "team", "Kubernetes", "cluster"]


class Shown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A value that programs read as it is; its names are stable."""


class Edit(msgspec.Struct, frozen=True):
    """One field of the document and its new value."""

    field: str
    value: Any


class Change(msgspec.Struct, frozen=True):
    """One edit of the document (or one thing to do) and what comes of it."""

    what: str
    """`train.checkpointing: full`, `tolerate nvidia.com/gpu=present:NoSchedule`."""
    effect: str = ""
    field: str = ""
    """Path of the field in the document, where it is one."""
    value: Any = None
    why: str = ""
    """What stands in the way without it."""
    answers: str = ""
    """Which obstacle it removes: changes with the same answer are alternatives."""
    edits: tuple[Edit, ...] = ()
    """All fields it edits, where it is several at once."""


class Verdict(msgspec.Struct, frozen=True):
    """The first line."""

    kind: VerdictKind
    changes: tuple[Change, ...] = ()
    """What must change, one for each obstacle; the smallest that were found."""
    reasons: tuple[str, ...] = ()
    """Why it cannot fit, where nothing small would help."""

    @property
    def is_good(self) -> bool:
        return self.kind == "fits"


class GpuMemory(msgspec.Struct, frozen=True):
    """What one GPU must hold and what it can."""

    gpu: str
    usable: int | None
    estimate: Estimate | None
    note: str = ""
    """How it was found, or why it is not known."""
    own: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What build() itself uses where the document does not say it, by field of the document."""

    @property
    def state(self) -> State:
        if self.estimate is None or self.usable is None:
            return "unknown"
        if self.estimate.required > self.usable:
            return "does not fit"
        return "fits"


class NeedPart(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a need's sum, and the flag that changes it."""

    name: str
    amount: int
    formula: str = ""
    flag: str = ""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """RAM, /dev/shm, disk or cores of one pod: needed, asked for, and there."""

    name: Literal["memory", "shm", "disk", "cpu"]
    needed: int | None
    asked: int | None
    """What the document asks for; None where it leaves it to us."""
    granted: int | None
    """What the pod will ask Kubernetes for: asked, else needed."""
    limit: int | None = None
    """What it can use at most, where that is more than it must be sure of: cores while compiling."""
    there: int | None
    """What a node of the chosen kind can give."""
    state: State
    parts: tuple[NeedPart, ...] = ()
    gpu_share: float | None = None
    share: float | None = None
    text: str = ""


class NodeGroup(Shown, frozen=True):
    """Nodes that are alike to this run: the same pool, GPUs and answer."""

    pool: str
    gpu: str
    gpus_per_node: int
    nodes: int
    takes_now: int
    """Nodes that would take a pod now."""
    takes_empty: int
    """Nodes that would take a pod if nobody else were on them."""
    example: str
    reasons: tuple[str, ...] = ()
    """Why the others would not even be empty, in the scheduler's words."""
    taints: tuple[str, ...] = ()
    """Taints the pod must tolerate there and does not."""
    memory_fits: bool | None = None
    """Whether the GPU holds the step."""
    to_come: int = 0
    """Nodes of these that an autoscaler may add and that are not there now."""


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where the pods go."""

    now: Gang
    empty: Gang
    groups: tuple[NodeGroup, ...]
    needs: tuple[str, ...] = ()
    """Labels and tolerations the pods carry to get there."""
    sees_all: bool = True
    """Whether everybody's pods were seen; if not, `now` is a hope."""


class Spot(Shown, frozen=True):
    """Nodes that can be taken back, beside those that cannot: what they cost, and how much longer it takes."""

    per_hour: int
    on_demand_per_hour: int
    slower: float
    """How many times as long, with interruptions and lost work; assumed."""
    pays: bool


class Said(Shown, frozen=True):
    """What one origin says an hour of the whole run costs."""

    per_hour: int
    per_hour_high: int
    origin: str
    as_of: str = ""
    """The day it was true, as a date, where it comes from a table."""
    note: str = ""


class Cost(Shown, frozen=True):
    """What an hour and the whole run cost."""

    per_hour: int | None
    per_hour_high: int | None
    """Above `per_hour` where the price is a range."""
    origin: str
    """Where the price comes from, with its date; or why there is none."""
    prices: tuple[Said, ...]
    """The price by each origin, the lowest first; several where the nodes that would do are priced by several."""
    gpu_hours: Interval | None
    total: Interval | None
    """Micro-dollars to the end."""
    to_deadline: int | None = None
    """Micro-dollars if it runs until its deadline."""
    budget: int | None = None
    budget_text: str = ""
    spot: Spot | None = None
    """Where both kinds of nodes are there, with prices."""


class Waiting(Shown, frozen=True):
    """GPUs that wait for something else, and what that costs."""

    cause: Literal["data loader", "cpu"]
    step_seconds: float
    """What a step takes with the wait in it."""
    idle_share: float
    """Part of the time the GPUs wait."""
    per_hour: int | None = None
    """Micro-dollars of every hour that pay for waiting."""
    is_bound: bool = False
    """Whether this is the most it can be: what a sample costs is not said, or the limit only holds on a full node."""
    remedy: str = ""
    """The line of the document that ends it."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast it goes and how long it takes."""

    step: Interval | None
    """Seconds the GPUs need for one step."""
    total: Interval | None
    """Seconds to the end, saving and waiting for data included."""
    paced: Interval | None = None
    """Seconds from one step to the next, waiting included."""
    waits: tuple[Waiting, ...] = ()
    per_second: float | None = None
    unit: str = "samples"
    deadline: int | None = None
    idle_share: float | None = None
    """Part of the time the GPUs wait for the data loader, where it is known."""
    loader_seconds: float | None = None
    """What a sample may cost one loader worker before the GPUs wait."""
    note: str = ""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """What can be lost and what protects it."""

    place: str
    dies_with: DiesWith | None
    reason: str
    checkpoints: CheckpointPlan | None
    checkpoint_bytes: int | None
    at_risk: int | None
    late_death: int | None
    """Micro-dollars of a death at nine tenths, where nothing survives and the end, or a deadline, is known."""
    late_death_per_hour: int | None
    """The same for each hour it was to last, where neither is."""
    is_by_deadline: bool
    """Whether nine tenths are those of the deadline, because nobody knows the end."""
    qos: str
    exposure: str
    """What the QoS class means under memory pressure."""
    is_spot: bool
    mean_hours: float
    """Between interruptions of the whole gang; assumed."""
    is_refused: bool
    cautions: tuple[str, ...] = ()


class EffectiveValue(msgspec.Struct, frozen=True):
    """One value that holds, and who decided it."""

    field: str
    value: str
    origin: Origin


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Another way to run: a fix, the chosen plan, or one that was weighed and left."""

    setup: Setup
    required: int
    usable: int
    seconds: float | None
    rate: int | None
    changes: tuple[Change, ...]
    slower: float | None = None
    step: Interval | None = None
    """Seconds of one step, with the 80 % interval; `seconds` is its middle."""

    @property
    def cost_per_step(self) -> float | None:
        return None if self.rate is None or self.seconds is None else self.rate * self.seconds / 3600


class FitStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the solver's explanation."""

    text: str
    change: str
    saved: int
    slower: float | None


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """The solver's answer."""

    chosen: Alternative | None
    steps: tuple[FitStep, ...] = ()
    runners_up: tuple[Alternative, ...] = ()
    left: tuple[FitStep, ...] = ()
    """What knobs that were not turned would have saved."""
    fixed: tuple[tuple[str, str], ...] = ()
    considered: int = 0
    confirmed: bool = False
    """Whether the chosen plan was traced, not only estimated."""
    obstacles: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `tonnage plan` says."""

    workload: Workload
    verdict: Verdict
    devices: Devices | None
    memory: GpuMemory
    needs: tuple[Need, ...]
    placement: Placement | None
    stranding: Stranding | None
    stranded_rate: int | None
    walls: tuple[Wall, ...]
    pace: Pace
    cost: Cost
    risk: Risk
    options: tuple[Change, ...] = ()
    """Other single changes that would do, after the one in the verdict."""
    parts: tuple[PartAnswer, ...] = ()
    fit: Fit | None = None
    effective: tuple[EffectiveValue, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    warnings: tuple[str, ...] = ()
    base: Setup | None = None
    """The step as the document asks for it, where it says enough."""
    against: str = ""
    """What it was planned against: the cluster's name, or nothing."""
