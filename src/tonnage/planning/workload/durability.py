"""Which storage dies with the container, the pod or the node, and which survives all three.

A checkpoint is worth what outlives the failure it is kept for. The pod is the thing that fails most often, and
the replacement usually lands on another node; so storage that dies with either is no place for progress.
Kubernetes does not say this anywhere in one place, and people read it wrongly in both directions: a container
restart keeps an emptyDir, a local volume keeps its bytes but ties them to one machine, and ReadWriteOnce
means one *node*, not one pod.

    container file system          container   a new container starts from the image
    emptyDir, on disk or memory    pod         deleted with the pod; survives a container restart
    generic ephemeral volume       pod         its claim is deleted with the pod
    inline CSI volume              pod         made and deleted with the pod, unless it is a bucket
    hostPath, node NVMe            node        stays on that machine, where the next pod may not land
    claim on a local volume        node        its volume has node affinity, or its class is local
    claim, network disk, NFS       nothing
    s3, gs, az, hf                 nothing
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec.structs import replace

from tonnage.cluster.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from tonnage.spec.literals import Place
from tonnage.units import try_quantity


class DiesWith(Enum):
    """What must fail for the bytes to be gone, or out of reach for the next attempt."""

    CONTAINER = "container"
    POD = "pod"
    NODE = "node"
    NOTHING = "nothing"
    UNKNOWN = "unknown"

    @property
    def survives(self) -> bool:
        """Whether a checkpoint there is still to be had after pod and node are gone."""
        return self is DiesWith.NOTHING


class Durability(msgspec.Struct, frozen=True):
    """How long bytes at a place last, and why."""

    place: str
    """The place as people would name it: `emptyDir`, `pvc/ckpt`, `s3://bucket/prefix`, `/root/out`."""
    dies_with: DiesWith
    reason: str
    caution: str = ""
    """What to mind although it survives: one node at a time, deleted with its claim, ..."""
    size: int | None = None
    """Bytes it holds, where that is known."""


_CONTAINER = "the container's own file system: a new container starts from the image again"
_EMPTY_DIR = "an emptyDir is deleted with its pod, and a pod that fails, is evicted or preempted is replaced"
_MEMORY = "an emptyDir in memory is deleted with its pod, and counts against the pod's memory limit meanwhile"
_HOST_PATH = "it stays on the disk of that node: the next pod may land on another, and the node may be gone"
_LOCAL = "the volume lives on one machine: when that node is gone, so are the bytes"
_CLAIM = "the claim outlives pods and nodes"
_BUCKET = "object storage outlives the cluster"
_NFS = "the server keeps it, whatever happens to pods and nodes"
_READ_ONLY = "nothing can be written there"

_BUCKETS = {"s3": _BUCKET, "gs": _BUCKET, "az": _BUCKET, "hf": "a repository on the hub outlives the cluster"}
_BUCKET_DRIVERS = ("gcsfuse.csi.storage.gke.io", "s3.csi.aws.com", "blob.csi.azure.com", "efs.csi.aws.com")
_NETWORK_DISKS = (
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker",
    "gcePersistentDisk", "glusterfs", "iscsi", "photonPersistentDisk", "portworxVolume", "quobyte", "rbd",
    "scaleIO", "storageos", "vsphereVolume",
)  # fmt: skip
_NOT_WRITABLE = ("configMap", "secret", "downwardAPI", "projected", "image", "gitRepo")
_LOCAL_PROVISIONERS = (
    "kubernetes.io/no-provisioner", "rancher.io/local-path", "docker.io/hostpath", "k8s.io/minikube-hostpath",
    "microk8s.io/hostpath", "topolvm.io", "local.csi.openebs.io", "openebs.io/local", "zfs.csi.openebs.io",
    "lvm.csi.metal-stack.io",
)  # fmt: skip
_LOCAL_CLASSES = ("local-path", "local-storage", "openebs-hostpath", "openebs-lvm", "topolvm-provisioner")
"""Names under which classes of volumes on one node are installed by their own charts."""
_ONE_NODE_KEYS = ("kubernetes.io/hostname", "topology.topolvm.io/node", "openebs.io/nodename")


def container_file_system(path: str) -> Durability:
    """A path that nothing is mounted at."""
    return Durability(path, DiesWith.CONTAINER, _CONTAINER)


def durability_of_place(place: Place) -> Durability:
    """How long bytes last at a place of a document; a claim is looked up later, with `of_claim`."""
    text = str(place)
    if place.scheme in _BUCKETS:
        return Durability(text, DiesWith.NOTHING, _BUCKETS[place.scheme])
    match place.scheme:
        case "pvc":
            return Durability(text, DiesWith.NOTHING, _CLAIM)
        case "nfs":
            return Durability(text, DiesWith.NOTHING, _NFS)
        case "emptyDir":
            return Durability(text, DiesWith.POD, _EMPTY_DIR)
        case "path":
            return container_file_system(text)
    return Durability(text, DiesWith.UNKNOWN, "a web address: whether it can be written is not known")


def durability_of_volume(volume: dict[str, Any]) -> Durability:
    """How long bytes last in a pod's volume, from its source as Kubernetes writes it."""
    source = next((name for name in volume if name != "name"), "emptyDir")
    detail = volume.get(source)
    detail = detail if isinstance(detail, dict) else {}
    match source:
        case "emptyDir":
            is_memory = detail.get("medium") == "Memory"
            name = "emptyDir in memory" if is_memory else "emptyDir"
            return Durability(name, DiesWith.POD, _MEMORY if is_memory else _EMPTY_DIR)
        case "persistentVolumeClaim":
            return Durability(f"pvc/{detail.get('claimName', '?')}", DiesWith.NOTHING, _CLAIM)
        case "hostPath":
            return Durability(f"hostPath {detail.get('path', '')}".strip(), DiesWith.NODE, _HOST_PATH)
        case "nfs":
            return Durability(
                f"nfs://{detail.get('server', '?')}{detail.get('path', '')}", DiesWith.NOTHING, _NFS
            )
        case "ephemeral":
            return Durability(
                "ephemeral volume", DiesWith.POD, "its claim is made for the pod and deleted with it"
            )
        case "csi":
            return _inline_csi(str(detail.get("driver", "")))
    if source in _NETWORK_DISKS:
        return Durability(source, DiesWith.NOTHING, "a network disk outlives pods and nodes")
    if source in _NOT_WRITABLE:
        return Durability(source, DiesWith.UNKNOWN, _READ_ONLY)
    return Durability(source, DiesWith.UNKNOWN, "what happens to this kind of volume is not known")


def durability_of_claim(
    before: Durability,
    claim: PersistentVolumeClaim | None,
    volume: PersistentVolume | None,
    storage_class: StorageClass | None,
    *,
    pods: int = 1,
) -> Durability:
    """What the cluster knows about a claim: a local volume dies with its node, an access mode is one to mind."""
    if claim is None:
        return replace(before, dies_with=DiesWith.UNKNOWN, reason="no such claim in the namespace")
    size = _size(claim)
    if _is_local(claim, volume, storage_class):
        return replace(before, dies_with=DiesWith.NODE, reason=_LOCAL, caution="", size=size)
    return replace(before, caution=_caution(claim, volume, storage_class, pods), size=size)


def _caution(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume | None,
    storage_class: StorageClass | None,
    pods: int,
) -> str:
    modes = set(claim.spec.access_modes)
    if pods > 1 and modes == {"ReadWriteOncePod"}:
        return f"ReadWriteOncePod: only one of {pods} pods can mount it"
    if pods > 1 and modes == {"ReadWriteOnce"}:
        return f"ReadWriteOnce: {pods} pods can mount it only while they share one node"
    if modes == {"ReadOnlyMany"}:
        return "ReadOnlyMany: nothing can be written there"
    if volume is None and claim.status.phase == "Pending":
        return "the claim is not bound yet"
    if storage_class is not None and storage_class.reclaim_policy == "Delete":
        return "deleting the claim deletes the volume with everything in it"
    return ""


def _size(claim: PersistentVolumeClaim) -> int | None:
    """What it has, else what it asks for."""
    said = claim.status.capacity.get("storage") or claim.spec.resources.requests.get("storage")
    amount = try_quantity(said) if said else None
    return None if amount is None else amount.value()


def _is_local(
    claim: PersistentVolumeClaim, volume: PersistentVolume | None, storage_class: StorageClass | None
) -> bool:
    affinity = volume.spec.node_affinity if volume is not None else None
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required else ()
    keys = {line.key for term in terms for line in term.match_expressions}
    if keys & set(_ONE_NODE_KEYS):
        return True
    if storage_class is None:  # a class nobody could see; its name is still a convention
        return volume is None and claim.spec.storage_class_name in _LOCAL_CLASSES
    return storage_class.provisioner in _LOCAL_PROVISIONERS


def _inline_csi(driver: str) -> Durability:
    if driver in _BUCKET_DRIVERS:
        return Durability(f"csi {driver}", DiesWith.NOTHING, "a bucket or file share outlives pods and nodes")
    return Durability(f"csi {driver}".strip(), DiesWith.POD, "an inline CSI volume lives as long as its pod")
