"""Pods: what they ask for, where they may go, and how they fare."""

from __future__ import annotations

import msgspec

from tonnage.cluster.objects.meta import Condition, LabelSelector, Meta, SelectorRequirement, Value

ResourceList = dict[str, str]


class Resources(Value, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}


class ContainerPort(Value, frozen=True):
    container_port: int
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class ResizePolicy(Value, frozen=True):
    resource_name: str
    restart_policy: str


class Container(Value, frozen=True):
    name: str
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    """`Always` on an init container makes it a sidecar."""
    resize_policy: tuple[ResizePolicy, ...] = ()


class Toleration(Value, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSelectorTerm(Value, frozen=True):
    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(Value, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNodeTerm(Value, frozen=True):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Value, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodeTerm, ...] = ()


class PodAffinityTerm(Value, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Value, frozen=True):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Value, frozen=True):
    """Both affinity and anti-affinity have this shape."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Value, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpread(Value, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class EmptyDir(Value, frozen=True):
    medium: str = ""
    size_limit: str | None = None


class ClaimSource(Value, frozen=True):
    claim_name: str
    read_only: bool = False


class HostPath(Value, frozen=True):
    path: str


class ConfigMapSource(Value, frozen=True):
    """A reference by name; what the config map holds is never read."""

    name: str = ""


class GitRepoSource(Value, frozen=True):
    """Long deprecated, still counted as local disk."""

    repository: str = ""


class ImageSource(Value, frozen=True):
    """An image mounted as a volume; nodes that hold it score higher."""

    reference: str = ""


class GceDisk(Value, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AwsDisk(Value, frozen=True):
    volume_id: str = msgspec.field(default="", name="volumeID")


class IscsiDisk(Value, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RbdDisk(Value, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class Volume(Value, frozen=True):
    """A pod's volume: the sources that matter to placing, limits and evicting. Others leave all of these empty."""

    name: str
    empty_dir: EmptyDir | None = None
    persistent_volume_claim: ClaimSource | None = None
    host_path: HostPath | None = None
    config_map: ConfigMapSource | None = None
    git_repo: GitRepoSource | None = None
    ephemeral: dict[str, object] | None = None
    """A generic ephemeral volume: Kubernetes makes the claim `<pod>-<volume>` for it."""
    image: ImageSource | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdDisk | None = None
    """The four inline disks that only one pod of a node may write."""


class SchedulingGate(Value, frozen=True):
    name: str


class PodSpec(Value, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpread, ...] = ()
    scheduler_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    resources: Resources | None = None
    """Pod-level resources; present-but-empty differs from absent (QoS)."""
    overhead: ResourceList = {}
    runtime_class_name: str | None = None
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    host_network: bool = False
    service_account_name: str = ""
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[dict[str, object], ...] = ()
    """Dynamic resource allocation: kept so that what is not understood can be said."""


class TerminatedState(Value, frozen=True):
    exit_code: int
    reason: str = ""
    message: str = ""
    signal: int = 0
    started_at: str | None = None
    finished_at: str | None = None


class WaitingState(Value, frozen=True):
    reason: str = ""
    message: str = ""


class RunningState(Value, frozen=True):
    started_at: str | None = None


class ContainerState(Value, frozen=True):
    waiting: WaitingState | None = None
    running: RunningState | None = None
    terminated: TerminatedState | None = None


class ContainerStatus(Value, frozen=True):
    name: str
    ready: bool = False
    restart_count: int = 0
    started: bool | None = None
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    allocated_resources: ResourceList = {}
    resources: Resources | None = None


class PodStatus(Value, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    qos_class: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    allocated_resources: ResourceList = {}
    """Pod level, where pod-level resources are set; containers have their own."""
    resources: Resources | None = None


class Pod(Value, frozen=True):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
