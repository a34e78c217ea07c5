"""The scheduler's books: every node with the pods on it and what they hold, kept up to date in place.

Planners ask "what if this pod went there, and that one left?" thousands of times, so adding and removing
a pod costs only that pod, and a node is copied only when a trial needs one of its own. The view holds
what decides placements and nothing else; it is built from any source of objects (a snapshot, a test, a
live watch).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from tonnage.cluster.objects import (
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    StorageClass,
)
from tonnage.cluster.objects.loose import Loose
from tonnage.cluster.objects.storage import CsiDriver, CsiNode, CsiStorageCapacity
from tonnage.cluster.resources import amounts
from tonnage.cluster.scheduling.counting import Vector, vector_of
from tonnage.cluster.scheduling.facts import HostPort, PodFacts, facts_of, occupies_a_node, pod_key
from tonnage.cluster.scheduling.selecting import Labels
from tonnage.units import parse_quantity

if TYPE_CHECKING:
    from tonnage.cluster.snapshot import Snapshot


class NodeInfo(msgspec.Struct):
    """One node, the pods on it and their sums."""

    node: Node
    allocatable: Vector
    allowed_pods: int
    requested: Vector = msgspec.field(default_factory=Vector)
    scoring_cpu: int = 0
    scoring_memory: int = 0
    pods: dict[str, PodFacts] = msgspec.field(default_factory=dict)
    sociable: dict[str, PodFacts] = msgspec.field(default_factory=dict)
    """Those with affinity terms of their own: few, and the only ones that have a say about others."""
    ports: Counter[HostPort] = msgspec.field(default_factory=Counter)

    @classmethod
    def of(cls, node: Node) -> NodeInfo:
        room = node.status.allocatable
        pods = parse_quantity(room["pods"]).value() if "pods" in room else 0
        return cls(node=node, allocatable=vector_of(amounts(room)), allowed_pods=pods)

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def labels(self) -> Labels:
        return self.node.metadata.labels

    def add(self, pod: PodFacts) -> None:
        self.pods[pod.key] = pod
        self.requested.add(pod.requests)
        self.scoring_cpu += pod.scoring_cpu
        self.scoring_memory += pod.scoring_memory
        if pod.ports:
            self.ports.update(pod.ports)
        if pod.seeks_company:
            self.sociable[pod.key] = pod

    def remove(self, key: str) -> PodFacts:
        pod = self.pods.pop(key)
        self.sociable.pop(key, None)
        self.requested.take(pod.requests)
        self.scoring_cpu -= pod.scoring_cpu
        self.scoring_memory -= pod.scoring_memory
        if pod.ports:
            self.ports.subtract(pod.ports)
            self.ports += Counter()  # drops what fell to zero
        return pod

    def copy(self) -> NodeInfo:
        return NodeInfo(
            node=self.node,
            allocatable=self.allocatable,
            allowed_pods=self.allowed_pods,
            requested=self.requested.copy(),
            scoring_cpu=self.scoring_cpu,
            scoring_memory=self.scoring_memory,
            pods=dict(self.pods),
            sociable=dict(self.sociable),
            ports=self.ports.copy(),
        )


class Storage(msgspec.Struct, frozen=True):
    """Claims, volumes and classes by name, and what drivers say about themselves."""

    claims: Mapping[tuple[str, str], PersistentVolumeClaim] = msgspec.field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = msgspec.field(default_factory=dict)
    classes: Mapping[str, StorageClass] = msgspec.field(default_factory=dict)
    csi_nodes: Mapping[str, CsiNode] = msgspec.field(default_factory=dict)
    csi_drivers: Mapping[str, CsiDriver] = msgspec.field(default_factory=dict)
    capacities: tuple[CsiStorageCapacity, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        claims: Iterable[PersistentVolumeClaim] = (),
        volumes: Iterable[PersistentVolume] = (),
        classes: Iterable[StorageClass] = (),
        csi_nodes: Iterable[CsiNode] = (),
        csi_drivers: Iterable[CsiDriver] = (),
        capacities: Iterable[CsiStorageCapacity] = (),
    ) -> Storage:
        return cls(
            claims={(claim.metadata.namespace, claim.metadata.name): claim for claim in claims},
            volumes={volume.metadata.name: volume for volume in volumes},
            classes={item.metadata.name: item for item in classes},
            csi_nodes={node.metadata.name: node for node in csi_nodes},
            csi_drivers={driver.metadata.name: driver for driver in csi_drivers},
            capacities=tuple(capacities),
        )


class Owners(msgspec.Struct, frozen=True):
    """Services and sets: their pods are spread by default even when they do not ask for it."""

    services: tuple[Loose, ...] = ()
    replica_sets: tuple[Loose, ...] = ()
    stateful_sets: tuple[Loose, ...] = ()


class HeldImage(msgspec.Struct):
    """An image somewhere in the cluster: its size as first heard, and who holds it."""

    size: int
    nodes: set[str] = msgspec.field(default_factory=set)


class ClusterView:
    """All nodes with their pods, and the objects that rules consult."""

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        pods: Iterable[Pod] = (),
        *,
        namespaces: Iterable[Namespace] = (),
        budgets: Iterable[PodDisruptionBudget] = (),
        storage: Storage | None = None,
        owners: Owners | None = None,
    ) -> None:
        self.nodes: dict[str, NodeInfo] = {node.metadata.name: NodeInfo.of(node) for node in nodes}
        self.namespaces: dict[str, Labels] = {item.metadata.name: item.metadata.labels for item in namespaces}
        self.budgets = tuple(budgets)
        self.storage = storage or Storage()
        self.owners = owners or Owners()
        self.images = _images(info.node for info in self.nodes.values())
        self.nominated: dict[str, dict[str, PodFacts]] = {}
        """Pending pods that were promised a node, by that node."""
        self.place_of: dict[str, str] = {}
        for pod in pods:
            self.observe(pod)

    def observe(self, pod: Pod) -> None:
        """Take in a pod as the API shows it: on its node, promised one, or neither."""
        if occupies_a_node(pod):
            self.add(facts_of(pod), pod.spec.node_name)
        elif not pod.spec.node_name and pod.status.nominated_node_name:
            facts = facts_of(pod)
            self.nominated.setdefault(pod.status.nominated_node_name, {})[facts.key] = facts

    def add(self, pod: PodFacts, node: str) -> None:
        """Put a pod on a node; pods of unknown nodes count nowhere."""
        info = self.nodes.get(node)
        if info is not None:
            info.add(pod)
            self.place_of[pod.key] = node

    def remove(self, pod: PodFacts | Pod | str) -> PodFacts | None:
        """Take a pod off its node; None if it is on none."""
        key = pod if isinstance(pod, str) else pod.key if isinstance(pod, PodFacts) else pod_key(pod)
        node = self.place_of.pop(key, None)
        return None if node is None else self.nodes[node].remove(key)

    def copy(self) -> ClusterView:
        """A view of its own to try things on; objects are shared, books are not."""
        other = ClusterView(budgets=self.budgets, storage=self.storage, owners=self.owners)
        other.nodes = {name: info.copy() for name, info in self.nodes.items()}
        other.namespaces = self.namespaces
        other.images = self.images
        other.nominated = {node: dict(pods) for node, pods in self.nominated.items()}
        other.place_of = dict(self.place_of)
        return other

    def claim_in_use(self, namespace: str, name: str) -> bool:
        """Whether a pod on any node mounts the claim by name."""
        return any(
            volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name == name
            for info in self.nodes.values()
            for pod in info.pods.values()
            if pod.namespace == namespace
            for volume in pod.pod.spec.volumes
        )


def view_of(snapshot: Snapshot) -> ClusterView:
    """A snapshot as the scheduler sees it."""
    return ClusterView(
        snapshot.nodes,
        snapshot.pods,
        namespaces=snapshot.namespaces,
        budgets=snapshot.disruption_budgets,
        storage=Storage.of(
            claims=snapshot.claims, volumes=snapshot.volumes, classes=snapshot.storage_classes
        ),
        owners=Owners(snapshot.services, snapshot.replica_sets, snapshot.stateful_sets),
    )


def _images(nodes: Iterable[Node]) -> dict[str, HeldImage]:
    held: dict[str, HeldImage] = {}
    for node in nodes:
        for image in node.status.images:
            for name in image.names:
                held.setdefault(name, HeldImage(image.size_bytes)).nodes.add(node.metadata.name)
    return held
