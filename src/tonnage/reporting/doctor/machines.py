"""Nodes, GPUs and storage: whether training can be placed and its data kept."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.cluster.announcing import devices_of, is_usable
from tonnage.cluster.objects.node import Node
from tonnage.cluster.objects.storage import StorageClass
from tonnage.cluster.snapshot import FORBIDDEN
from tonnage.figures import plural
from tonnage.reporting.doctor.check import ASK_LIVE, Check, Facts, State

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_SHARED_DISKS = (
    "nfs",
    "efs",
    "filestore",
    "azurefile",
    "file.csi.azure",
    "cephfs",
    "lustre",
    "weka",
    "juicefs",
)
_SHARED_MORE = (
    "glusterfs",
    "beegfs",
    "gpfs",
    "spectrum",
    "portworx",
    "vast",
    "quobyte",
    "netapp",
    "longhorn",
)


def check_machines(facts: Facts) -> Iterator[Check]:
    """Nodes, their GPUs and labels."""
    snapshot = facts.snapshot
    gap = snapshot.gap("nodes")
    if gap is not None and gap.reason == FORBIDDEN:
        yield Check(
            area="nodes",
            subject="nodes",
            state=State.PROBLEM,
            text="you may not list nodes: what is free, and where a run fits, cannot be told",
            remedy="ask an admin for `list nodes` (a ClusterRole; reading nodes shows no secrets)",
        )
        return
    usable = [node for node in snapshot.nodes if is_usable(node)]
    away = len(snapshot.nodes) - len(usable)
    text = f"{plural(len(usable), 'node')} ready" + (f", {away} not ready or cordoned" if away else "")
    if usable:
        yield Check(area="nodes", subject="nodes", state=State.OK, text=text)
    else:
        remedy = "`kubectl get nodes` shows their state"
        yield Check(area="nodes", subject="nodes", state=State.PROBLEM, text=text, remedy=remedy)
    yield from _gpus(facts)


def _gpus(facts: Facts) -> Iterator[Check]:
    nodes = facts.snapshot.nodes
    announced = [node for node in nodes if devices_of(node)]
    labelled = [node for node in nodes if "nvidia.com/gpu.product" in node.metadata.labels]
    silent = [node.metadata.name for node in labelled if not devices_of(node)]
    if announced:
        text = f"{_counted(announced)} on {plural(len(announced), 'node')}"
        yield Check(area="nodes", subject="GPUs", state=State.OK, text=text)
    else:
        yield Check(
            area="nodes",
            subject="GPUs",
            state=State.PROBLEM,
            text="no node announces a GPU, so no pod can get one",
            remedy="if the machines have GPUs, install the GPU Operator or the device plugin",
        )
    if silent:
        text = f"{plural(len(silent), 'node')} with a GPU label announce none, e.g. {silent[0]}"
        remedy = "look at the device plugin's pod on that node, and at its driver"
        yield Check(area="nodes", subject="GPU plugin", state=State.PROBLEM, text=text, remedy=remedy)
    bare = [node.metadata.name for node in announced if "nvidia.com/gpu.product" not in node.metadata.labels]
    if bare:
        yield Check(
            area="nodes",
            subject="GPU labels",
            state=State.PROBLEM,
            text=f"{plural(len(bare), 'GPU node')} without type labels, like {bare[0]}: types are unknown",
            remedy="install GPU feature discovery (part of the GPU Operator)",
        )
    elif announced:
        yield Check(
            area="nodes", subject="GPU labels", state=State.OK, text="GPU feature discovery labels present"
        )


def _counted(nodes: list[Node]) -> str:
    """Whole GPUs and parts of GPUs; a slice is not a GPU to whoever asks for one."""
    devices = [devices_of(node) for node in nodes]
    whole = sum(found.get("", 0) for found in devices)
    parts = sum(sum(found.values()) for found in devices) - whole
    words = [plural(whole, "GPU")] if whole else []
    words += [f"{plural(parts, 'GPU part')} (MIG slices or shares)"] if parts else []
    return " and ".join(words)


def check_storage(facts: Facts) -> Iterator[Check]:
    """Storage classes: a default, and one that several nodes can write."""
    classes = facts.snapshot.storage_classes
    gap = facts.snapshot.gap("storageclasses.storage.k8s.io")
    if gap is not None:
        is_forbidden = gap.reason == FORBIDDEN
        remedy = "ask an admin for `list storageclasses` (a ClusterRole)" if is_forbidden else ASK_LIVE
        yield Check(
            area="storage", subject="storage classes", state=State.UNKNOWN, text=gap.message, remedy=remedy
        )
        return
    defaults = [item for item in classes if item.metadata.annotations.get(DEFAULT_CLASS) == "true"]
    if defaults:
        item = defaults[0]
        name = item.metadata.name
        yield Check(
            area="storage",
            subject="default class",
            state=State.OK,
            text=f"{name} ({defaults[0].provisioner})",
        )
    else:
        yield Check(
            area="storage",
            subject="default class",
            state=State.PROBLEM,
            text=f"{plural(len(classes), 'storage class', 'storage classes')}, none the default: "
            "claims that name no class wait for ever",
            remedy=f"annotate one with {DEFAULT_CLASS}=true, or name a class in each volume",
        )
    shared = [item for item in classes if is_shared(item)]
    if shared:
        text = f"{shared[0].metadata.name} ({shared[0].provisioner}), judged by its provisioner"
        yield Check(area="storage", subject="shared volumes", state=State.OK, text=text)
    else:
        yield Check(
            area="storage",
            subject="shared volumes",
            state=State.ABSENT,
            text="no class looks able to give volumes that several nodes write (RWX)",
            remedy="checkpoint to object storage, or install a shared file system's driver (NFS, ...)",
        )


def is_shared(item: StorageClass) -> bool:
    """Whether a class's volumes can be shared; by the provisioner's name, since the API does not say."""
    name = item.provisioner.lower()
    return any(word in name for word in (*_SHARED_DISKS, *_SHARED_MORE))
