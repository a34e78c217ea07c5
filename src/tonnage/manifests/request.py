"""What rendering is asked with and what it answers: plain values, no plan, no cluster behind them.

A supervisor renders the second attempt hours after the first, perhaps in another process, when the plan is long
gone. So the two things that come from elsewhere are small values that can be kept as JSON beside the run:

    Planned        what the plan decided about one pod (`planning_of.planned_of` takes it out of a plan)
    ClusterFacts   what the cluster is like, as far as objects depend on it (`facts.facts_of` reads a snapshot)

The rest is the document, the size a remedy chose, and the number of the attempt. The same request always renders
the same objects, byte for byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from tonnage.running.attempts import Size
from tonnage.spec.run import Run

Manifest = dict[str, Any]
TargetKind = Literal["Job", "IndexedJob", "JobSet", "TrainJob", "PyTorchJob", "TFJob", "MPIJob"]


class Kept(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A value that is kept as JSON beside a run."""


class Planned(Kept, frozen=True):
    """What the plan decided about each pod of a run; bytes, thousandths of a core, seconds, micro-dollars."""

    memory: int
    """Limit of RAM; /dev/shm is part of it."""
    memory_request: int
    cpu: int
    """Limit in thousandths of a core."""
    cpu_request: int
    shm: int
    disk: int | None = None
    disk_request: int | None = None
    gpu: str = ""
    """GPU type as people name it; empty where any will do or none is asked for."""
    gpu_resource: str = ""
    gpus: int = 0
    """Devices of that resource per pod."""
    nodes: int = 1
    ranks_per_node: int = 1
    grace_seconds: int | None = None
    checkpoint_seconds: float | None = None
    """Between two checkpoints, where the plan settled it."""
    failure_seconds: float | None = None
    """Mean time between interruptions of the whole gang."""
    price_per_hour: int | None = None
    """Of the whole gang."""
    gpu_bytes: int | None = None
    """What the step needs of one GPU."""
    lasts_seconds: float | None = None
    assumed: tuple[str, ...] = ()
    """What nobody knew and was filled in, in words."""


class NodeTerm(Kept, frozen=True):
    """One line about node labels that must hold: `In` or `NotIn`."""

    key: str
    operator: Literal["In", "NotIn"]
    values: tuple[str, ...]


class GpuSize(Kept, frozen=True):
    """A GPU type with more memory, and what objects need to get there."""

    gpu: str
    terms: tuple[tuple[NodeTerm, ...], ...] = ()
    rdma: dict[str, int] = {}
    near: tuple[str, ...] = ()
    price_per_hour: int | None = None
    """Of the whole gang, in micro-dollars."""


class ClusterFacts(Kept, frozen=True):
    """What a cluster is like, as far as objects depend on it; nothing here is guessed."""

    served: dict[str, str] = {}
    """Kind to API version for what is installed beside Kubernetes: `{"JobSet": "jobset.x-k8s.io/v1alpha2"}`."""
    gpu_terms: tuple[tuple[NodeTerm, ...], ...] = ()
    """Alternatives of node labels that say the wanted GPU type; empty where the resource alone decides."""
    spot_labels: tuple[tuple[str, str], ...] = ()
    """Labels and values by which this cluster's nodes may be told to be spot."""
    near: tuple[str, ...] = ()
    """Topology labels that every chosen node carries, the widest first: zone, block, rack."""
    rdma: dict[str, int] = {}
    """Devices for RDMA that every chosen node has, and how many of each a pod of this run should ask for."""
    queue: str = ""
    """LocalQueue the run waits in; empty where none, or where Kueue is not installed."""
    queue_topology: str = ""
    """Label of the topology level on which that queue's flavors can place a gang together."""
    priority_classes: tuple[str, ...] | None = None
    """Names of those that exist; None where they could not be seen."""
    may_make_priority_classes: bool = True
    pod_security: str = ""
    """Level that the namespace enforces: `privileged`, `baseline`, `restricted`; empty where it says none."""
    larger: tuple[GpuSize, ...] = ()
    """Where the run may go when it is out of GPU memory, the smallest first; empty where it may not."""
    monitoring: tuple[str, ...] = ()
    """Namespaces that scrape metrics; empty means that none is known."""
    link_bytes_per_second: float | None = None
    """What the plan assumed between two nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDelivery:
    """How the working folder gets into the pod; whoever ships code makes the archive (tar, gzip) and this value."""

    digest: str
    """SHA-256 of the archive, hexadecimal: checked before it is unpacked."""
    mount: str = "/workspace"
    config_map: str = ""
    key: str = "code.tar.gz"
    url: str = ""
    """http(s), already signed where it must be; `url`, `config_map` and `claim` exclude one another."""
    claim: str = ""
    path: str = ""
    """Of the archive inside the claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderRequest:
    """Everything that objects are made from."""

    run: Run
    planned: Planned
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    size: Size = field(default_factory=Size)
    """What a remedy changed; what it leaves open is as planned."""
    attempt: int = 1
    namespace: str = "default"
    """Of a document that names none."""
    lineage: str = ""
    """Folder below the checkpoints' place that is this run's own: attempts go on from each other, runs begin anew."""
    agent: bytes | None = None
    """The in-pod agent as a zipapp (`tonnage_agent.packing.packed()`); None runs the plain command."""
    has_python: bool = True
    """Whether the image has Python 3.9 or newer, as preflight found."""
    code: CodeDelivery | None = None
    cost_centre: str = ""
    team_labels: Mapping[str, str] = field(default_factory=dict)
    spent: int = 0
    """Micro-dollars of earlier attempts."""
    ran_seconds: float = 0.0
    """Time that earlier attempts ran."""
    probe_steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Objects of one attempt, ready to be applied in this order; the last is the workload itself."""

    target: TargetKind
    objects: tuple[Manifest, ...]
    selector: Mapping[str, str]
    """Labels of this attempt's pods, and of every object that lives and dies with it."""
    notes: tuple[str, ...] = ()
    """What this target's API cannot express, and what Tonnage does instead; what was left out, and why."""

    @property
    def workload(self) -> Manifest:
        """The object whose state is the attempt's; the others that carry `selector` should be owned by it."""
        return self.objects[-1]
