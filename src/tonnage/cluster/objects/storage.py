"""Claims, volumes and classes, as far as they decide where a pod may run."""

from __future__ import annotations

import msgspec

from tonnage.cluster.objects.meta import LabelSelector, Meta, Value
from tonnage.cluster.objects.pod import NodeSelector, ResourceList, Resources


class ObjectReference(Value, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class ClaimSpec(Value, frozen=True):
    access_modes: tuple[str, ...] = ()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = ""
    volume_attributes_class_name: str | None = None
    selector: LabelSelector | None = None
    resources: Resources = Resources()


class ClaimStatus(Value, frozen=True):
    phase: str = ""
    capacity: ResourceList = {}
    allocated_resources: ResourceList = {}
    """What an expansion under way has been granted; may be above the request after a failed one."""


class PersistentVolumeClaim(Value, frozen=True):
    metadata: Meta = Meta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class VolumeNodeAffinity(Value, frozen=True):
    required: NodeSelector | None = None


class CsiSource(Value, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeSpec(Value, frozen=True):
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = {}
    storage_class_name: str = ""
    volume_mode: str = ""
    volume_attributes_class_name: str | None = None
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None


class VolumeStatus(Value, frozen=True):
    phase: str = ""


class PersistentVolume(Value, frozen=True):
    metadata: Meta = Meta()
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class TopologySelectorLabel(Value, frozen=True):
    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Value, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabel, ...] = ()


class StorageClass(Value, frozen=True):
    metadata: Meta = Meta()
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    reclaim_policy: str = "Delete"
    allow_volume_expansion: bool = False
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    mount_options: tuple[str, ...] = msgspec.field(default=())


class DriverLimit(Value, frozen=True):
    count: int | None = None


class NodeDriver(Value, frozen=True):
    name: str
    allocatable: DriverLimit | None = None


class CsiNodeSpec(Value, frozen=True):
    drivers: tuple[NodeDriver, ...] = ()


class CsiNode(Value, frozen=True):
    """Which storage drivers a node has, and how many volumes of each it can hold."""

    metadata: Meta = Meta()
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(Value, frozen=True):
    storage_capacity: bool = False


class CsiDriver(Value, frozen=True):
    metadata: Meta = Meta()
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(Value, frozen=True):
    """How much a storage class can still provision for the nodes its topology selects."""

    metadata: Meta = Meta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | None = None
    maximum_volume_size: str | None = None
