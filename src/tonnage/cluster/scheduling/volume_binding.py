"""VolumeBinding and VolumeZone: whether a pod's claims can be met on a node.

A bound claim ties the pod to where its volume can be mounted. A claim of a `WaitForFirstConsumer` class
is decided with the pod: by a volume that exists, or by a provisioner that may build one there. A claim of
an `Immediate` class must be bound before the scheduler looks at any node.
"""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.cluster.messages.scheduling_reasons import (
    NO_VOLUME_TO_BIND,
    NOT_ENOUGH_STORAGE,
    UNBOUND_IMMEDIATE,
    VOLUME_ELSEWHERE,
    VOLUME_GONE,
    VOLUME_ZONE,
)
from tonnage.cluster.objects import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from tonnage.cluster.scheduling.claims import (
    SELECTED_NODE,
    claim_class,
    claim_names,
    claim_size,
    is_bound,
    is_made_for,
    matching_volume,
    not_found,
    reachable,
    volume_class,
)
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.selecting import Labels, selector_of
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo, Storage
from tonnage.units import parse_quantity

BINDING = "VolumeBinding"
ZONE = "VolumeZone"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
NEW_ZONE, NEW_REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
TOPOLOGY_LABELS = (OLD_ZONE, OLD_REGION, NEW_ZONE, NEW_REGION)
RENAMED = {OLD_ZONE: NEW_ZONE, OLD_REGION: NEW_REGION}


class VolumeBinding(Rule):
    plugin = BINDING
    bound: tuple[PersistentVolumeClaim, ...]
    waiting: tuple[PersistentVolumeClaim, ...]
    offered: Mapping[str, tuple[PersistentVolume, ...]]
    """Volumes by class, for the classes of the waiting claims."""
    storage: Storage

    def check(self, info: NodeInfo) -> Refusal | None:
        reasons = [*self._bound_reasons(info.labels), *self._waiting_reasons(info.name, info.labels)]
        return Refusal(self.plugin, tuple(reasons)) if reasons else None

    def _bound_reasons(self, labels: Labels) -> list[str]:
        for claim in self.bound:
            volume = self.storage.volumes.get(claim.spec.volume_name)
            if volume is None:
                return [VOLUME_GONE]
            if not reachable(volume, labels):
                return [VOLUME_ELSEWHERE]
        return []

    def _waiting_reasons(self, node: str, labels: Labels) -> list[str]:
        if any(claim.metadata.annotations.get(SELECTED_NODE, node) != node for claim in self.waiting):
            return [NO_VOLUME_TO_BIND]
        chosen = [claim for claim in self.waiting if SELECTED_NODE in claim.metadata.annotations]
        open_ = [claim for claim in self.waiting if SELECTED_NODE not in claim.metadata.annotations]
        taken: set[str] = set()
        for claim in sorted(open_, key=lambda claim: claim_size(claim).nano):
            volume = matching_volume(claim, self.offered[claim_class(claim)], labels, taken)
            if volume is None:
                chosen.append(claim)
            else:
                taken.add(volume.metadata.name)
        return self._provisioning_reasons(chosen, labels)

    def _provisioning_reasons(self, claims: list[PersistentVolumeClaim], labels: Labels) -> list[str]:
        for claim in claims:
            class_ = self.storage.classes[claim_class(claim)]
            if class_.provisioner in {"", NO_PROVISIONER} or not _allowed_topology(class_, labels):
                return [NO_VOLUME_TO_BIND]
            if not _enough_capacity(self.storage, claim, class_, labels):
                return [NOT_ENOUGH_STORAGE]
        return []


def prepare_volume_binding(pod: PodFacts, view: ClusterView) -> Rule | Stopped | None:
    names = claim_names(pod.pod)
    if not names:
        return None
    bound, waiting = [], []
    immediate = False
    for name, ephemeral in names:
        claim = view.storage.claims.get((pod.namespace, name))
        problem = _claim_problem(pod.pod, name, claim, ephemeral=ephemeral)
        if problem is not None:
            return Stopped(BINDING, problem)
        assert claim is not None
        if is_bound(claim):
            bound.append(claim)
        elif _waits_for_consumer(view.storage, claim) and not claim.spec.volume_name:
            waiting.append(claim)
        else:
            immediate = True
    if immediate:
        return Stopped(BINDING, UNBOUND_IMMEDIATE)
    classes = {claim_class(claim) for claim in waiting}
    offered = {
        name: tuple(volume for volume in view.storage.volumes.values() if volume_class(volume) == name)
        for name in classes
    }
    return VolumeBinding(tuple(bound), tuple(waiting), offered, view.storage)


def _claim_problem(
    pod: Pod, name: str, claim: PersistentVolumeClaim | None, *, ephemeral: bool
) -> str | None:
    if claim is None:
        if ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return not_found("persistentvolumeclaim", name)
    if claim.status.phase == "Lost":
        gone = f'non-existent persistentvolume "{claim.spec.volume_name}"'
        return f'persistentvolumeclaim "{name}" bound to {gone}'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if ephemeral and not is_made_for(pod, claim):
        where = claim.metadata.namespace
        return f"PVC {where}/{name} was not created for pod {where}/{pod.metadata.name} (pod is not owner)"
    return None


def _waits_for_consumer(storage: Storage, claim: PersistentVolumeClaim) -> bool:
    class_ = storage.classes.get(claim_class(claim))
    return class_ is not None and class_.volume_binding_mode == "WaitForFirstConsumer"


def _allowed_topology(class_: StorageClass, labels: Labels) -> bool:
    if not class_.allowed_topologies:
        return True
    return any(
        term.match_label_expressions
        and all(labels.get(line.key) in line.values for line in term.match_label_expressions)
        for term in class_.allowed_topologies
    )


def _enough_capacity(
    storage: Storage, claim: PersistentVolumeClaim, class_: StorageClass, labels: Labels
) -> bool:
    """Only drivers that publish their capacity are held to it."""
    driver = storage.csi_drivers.get(class_.provisioner)
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return True
    wanted = claim_size(claim).value()
    for capacity in storage.capacities:
        limit = capacity.maximum_volume_size or capacity.capacity
        if (
            capacity.storage_class_name == class_.metadata.name
            and limit is not None
            and parse_quantity(limit).value() >= wanted
            and selector_of(capacity.node_topology).matches(labels)
        ):
            return True
    return False


class VolumeZone(Rule):
    plugin = ZONE
    zones: tuple[tuple[str, frozenset[str]], ...]
    """Label key and the values a node may have, for each zone label of the pod's volumes."""

    def check(self, info: NodeInfo) -> Refusal | None:
        labels = info.labels
        if not any(key in labels for key in TOPOLOGY_LABELS):
            return None
        for key, values in self.zones:
            value = labels.get(key, labels.get(RENAMED.get(key, key)))
            if value is None or value not in values:
                return Refusal(self.plugin, (VOLUME_ZONE,))
        return None


def prepare_volume_zone(pod: PodFacts, view: ClusterView) -> Rule | Stopped | None:
    zones: list[tuple[str, frozenset[str]]] = []
    for name, _ in claim_names(pod.pod, ephemeral=False):
        claim = view.storage.claims[pod.namespace, name]
        if not claim.spec.volume_name:
            continue  # it waits for this pod; VolumeBinding has stopped all others
        volume = view.storage.volumes.get(claim.spec.volume_name)
        if volume is None:
            return Stopped(ZONE, not_found("persistentvolume", claim.spec.volume_name))
        zones += _zones_of(volume)
    return VolumeZone(tuple(zones)) if zones else None


def _zones_of(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    found = []
    for key in TOPOLOGY_LABELS:
        if key in volume.metadata.labels:
            values = [value.strip() for value in volume.metadata.labels[key].split("__")]
            if all(values):
                found.append((key, frozenset(values)))
    return found
