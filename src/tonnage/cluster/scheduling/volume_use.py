"""VolumeRestrictions and NodeVolumeLimits: volumes that cannot be used once more.

A `ReadWriteOncePod` claim belongs to one pod in the whole cluster, a few inline disks to one writer per
node, and a storage driver may hold only so many volumes on a node. Volumes that are attached but used by
no pod (VolumeAttachment objects) and in-tree volumes that a node has migrated to a driver are not counted
here.
"""

from __future__ import annotations

from tonnage.cluster.messages.scheduling_reasons import CLAIM_IN_USE, DISK_TAKEN, TOO_MANY_VOLUMES
from tonnage.cluster.objects import Pod, Volume
from tonnage.cluster.scheduling.claims import claim_class, claim_names, not_found
from tonnage.cluster.scheduling.facts import PodFacts
from tonnage.cluster.scheduling.refusing import Refusal, Stopped
from tonnage.cluster.scheduling.rule import Rule
from tonnage.cluster.scheduling.view import ClusterView, NodeInfo, Storage

RESTRICTIONS = "VolumeRestrictions"
LIMITS = "NodeVolumeLimits"


class VolumeRestrictions(Rule):
    plugin = RESTRICTIONS
    disks: tuple[Volume, ...]
    exclusive: frozenset[str]
    """The pod's claims that only one pod may use."""
    in_use: int

    def check(self, info: NodeInfo) -> Refusal | None:
        if any(disks_conflict(disk, pod.pod) for disk in self.disks for pod in info.pods.values()):
            return Refusal(self.plugin, (DISK_TAKEN,), resolvable=True)
        if self.in_use > 0:
            return Refusal(self.plugin, (CLAIM_IN_USE,), resolvable=True)
        return None

    def pod_changed(self, pod: PodFacts, info: NodeInfo, by: int) -> None:  # noqa: ARG002
        # Claims are compared by name alone, whatever the namespace: so does the scheduler.
        self.in_use += by * sum(name in self.exclusive for name, _ in claim_names(pod.pod, ephemeral=False))

    def copy(self) -> VolumeRestrictions:
        return VolumeRestrictions(self.disks, self.exclusive, self.in_use)


def prepare_volume_restrictions(pod: PodFacts, view: ClusterView) -> Rule | Stopped | None:
    exclusive = set()
    for name, _ in claim_names(pod.pod, ephemeral=False):
        claim = view.storage.claims.get((pod.namespace, name))
        if claim is None:
            return Stopped(RESTRICTIONS, not_found("persistentvolumeclaim", name))
        if "ReadWriteOncePod" in claim.spec.access_modes:
            exclusive.add(name)
    disks = tuple(filter(_is_inline_disk, pod.pod.spec.volumes))
    in_use = sum(view.claim_in_use(pod.namespace, name) for name in exclusive)
    return VolumeRestrictions(disks, frozenset(exclusive), in_use) if disks or in_use else None


def disks_conflict(disk: Volume, pod: Pod) -> bool:
    """Whether a pod on the node already writes this inline disk (or holds it at all, for EBS)."""
    return any(_same_disk(disk, other) for other in pod.spec.volumes)


def _same_disk(one: Volume, other: Volume) -> bool:
    if one.gce_persistent_disk and other.gce_persistent_disk:
        a, b = one.gce_persistent_disk, other.gce_persistent_disk
        if a.pd_name == b.pd_name and not (a.read_only and b.read_only):
            return True
    if one.aws_elastic_block_store and one.aws_elastic_block_store == other.aws_elastic_block_store:
        return True
    if one.iscsi and other.iscsi and one.iscsi.iqn == other.iscsi.iqn:
        return not (one.iscsi.read_only and other.iscsi.read_only)
    if one.rbd and other.rbd:
        same = (one.rbd.pool, one.rbd.image) == (other.rbd.pool, other.rbd.image)
        shared = not set(one.rbd.monitors).isdisjoint(other.rbd.monitors)
        return same and shared and not (one.rbd.read_only and other.rbd.read_only)
    return False


def _is_inline_disk(volume: Volume) -> bool:
    return bool(volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.rbd or volume.iscsi)


class NodeVolumeLimits(Rule):
    plugin = LIMITS
    pod: Pod
    storage: Storage

    def check(self, info: NodeInfo) -> Refusal | None:
        limits = _limits(self.storage, info.name)
        new = _driver_volumes(self.pod, self.storage)
        if not limits or not new:
            return None
        attached: dict[str, str] = {}
        for pod in info.pods.values():
            attached |= _driver_volumes(pod.pod, self.storage)
        for driver, limit in limits.items():
            wanted = sum(of == driver for volume, of in new.items() if volume not in attached)
            held = sum(of == driver for of in attached.values())
            if wanted and held + wanted > limit:
                return Refusal(self.plugin, (TOO_MANY_VOLUMES,), resolvable=True)
        return None


def prepare_volume_limits(pod: PodFacts, view: ClusterView) -> Rule | None:
    return NodeVolumeLimits(pod.pod, view.storage) if claim_names(pod.pod) else None


def _limits(storage: Storage, node: str) -> dict[str, int]:
    described = storage.csi_nodes.get(node)
    if described is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in described.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _driver_volumes(pod: Pod, storage: Storage) -> dict[str, str]:
    """The pod's driver-backed volumes, unique name to driver; unbound claims count under their own."""
    found: dict[str, str] = {}
    for name, _ in claim_names(pod):
        claim = storage.claims.get((pod.metadata.namespace, name))
        if claim is None:
            continue
        volume = storage.volumes.get(claim.spec.volume_name)
        if volume is not None:
            if volume.spec.csi is not None and volume.spec.csi.driver and volume.spec.csi.volume_handle:
                found[f"{volume.spec.csi.driver}/{volume.spec.csi.volume_handle}"] = volume.spec.csi.driver
            continue
        provisioned_by = storage.classes.get(claim_class(claim))
        if provisioned_by is not None and provisioned_by.provisioner:
            driver = provisioned_by.provisioner
            found[f"{driver}/unbound-{pod.metadata.namespace}/{name}"] = driver
    return found
