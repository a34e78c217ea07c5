"""The Cluster document: node pools, GPUs, prices, schedules; written by hand to plan without a cluster."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tonnage.spec.fields import (
    CountRange,
    Cpus,
    Duration,
    Friendly,
    Gpus,
    LabelKey,
    LabelValue,
    Money,
    Name,
    Size,
    Taint,
    Text,
    Whole,
)
from tonnage.spec.literals import CountRange as CountRangeValue
from tonnage.spec.literals import Gpus as GpusValue
from tonnage.spec.metadata import API_VERSION, Metadata
from tonnage.spec.parts import Part, ShortPart, unsaid
from tonnage.spec.schedules import DAYS_PATTERN, HOURS_PATTERN, Days, Hours

NotNegative = Annotated[Whole, Field(ge=0)]
DaysField = Annotated[
    Days,
    Friendly(Days.parse, DAYS_PATTERN, ("mon-fri",), also=({"type": "array", "items": {"type": "string"}},)),
]
HoursField = Annotated[Hours, Friendly(Hours.parse, HOURS_PATTERN, ("07:00..20:00",))]


class Sharing(ShortPart):
    """How one GPU serves several pods. Short form: the mode."""

    short: ClassVar[str] = "mode"

    mode: Literal["none", "mig", "timeSlicing", "mps"] = "none"
    """`mig` cuts the GPU (memory isolated); `timeSlicing` and `mps` share it (memory not isolated)."""

    profile: Text | None = None
    """MIG profile of every slice, such as `1g.10gb`."""

    replicas: Annotated[Whole, Field(ge=2, le=128)] | None = None
    """Pods per GPU, for `timeSlicing` and `mps`."""


class Price(ShortPart):
    """What capacity costs; a range where it moves. Short form: the price of a node."""

    short: ClassVar[str] = "node"

    node: Money | None = None
    """Price of one node, such as `$98/hour`."""

    gpu: Money | None = None
    """Price of one GPU, such as `$3..5/hour`."""


class Autoscale(ShortPart):
    """How far the pool grows and shrinks by itself. Short form: `0..20`."""

    short: ClassVar[str] = "nodes"

    nodes: CountRange
    """Smallest and largest number of nodes, such as `0..20`."""

    boot: Duration | None = None
    """How long a new node takes until it is ready, such as `6m`."""


class Schedule(Part):
    """Another number of nodes at certain times."""

    days: DaysField = Days(frozenset(range(7)))
    """Days of the week: `mon-fri`, `sat,sun`, `daily`."""

    hours: HoursField = Hours(0, 24 * 60)
    """Hours of the day in the cluster's time zone: `07:00..20:00`."""

    nodes: CountRange
    """Nodes in that time: a number, or bounds for the autoscaler."""


class Pool(Part):
    """Nodes that are alike."""

    name: Name
    """Name of the pool; its nodes are called after it."""

    nodes: CountRange = CountRangeValue(1, 1)
    """How many nodes there are now."""

    gpus: Gpus = GpusValue(0)
    """GPUs of each node, such as `8 x h100`."""

    cpu: Cpus | None = None
    """Cores of each node; what usually comes with such GPUs when not given."""

    memory: Size | None = None
    """RAM of each node; what usually comes with such GPUs when not given."""

    disk: Size | None = None
    """Local disk of each node; what usually comes with such GPUs when not given."""

    pods: Annotated[Whole, Field(ge=1, le=1000)] = 110
    """Most pods per node."""

    sharing: Sharing = unsaid()
    """How one GPU serves several pods."""

    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of each node, beside the usual ones."""

    taints: tuple[Taint, ...] | None = None
    """Taints of each node; `nvidia.com/gpu=present:NoSchedule` on GPU nodes when not given."""

    zones: tuple[Name, ...] = ()
    """Zones that the nodes are spread over in turn."""

    instance: Text | None = None
    """The cloud's name of the machine, such as `p5.48xlarge`."""

    capacity_type: Literal["onDemand", "spot", "reserved"] = "onDemand"
    """Whether the nodes can be taken back."""

    price: Price | None = None
    """What a node or a GPU costs; node labels and the built-in table when not given."""

    autoscale: Autoscale | None = None
    """How far the pool grows and shrinks by itself."""

    schedules: tuple[Schedule, ...] = ()
    """Other numbers of nodes at certain times; the first that matches holds."""


class ClusterSpec(Part):
    """Pools, and what holds for all of them."""

    pools: Annotated[tuple[Pool, ...], Field(json_schema_extra={"minItems": 1})]
    """The node pools."""

    timezone: Text = "UTC"
    """Time zone of the schedules, such as `Europe/Berlin`."""

    kubernetes: Text | None = None
    """Kubernetes version, such as `1.36`."""


class Cluster(Part):
    """A cluster to plan on."""

    api_version: Literal["tonnage.dev/v1alpha1"] = API_VERSION
    """`tonnage.dev/v1alpha1`."""

    kind: Literal["Cluster"] = "Cluster"
    """`Cluster`."""

    metadata: Metadata
    """Name, labels and annotations."""

    spec: ClusterSpec
    """Pools, prices and schedules."""
