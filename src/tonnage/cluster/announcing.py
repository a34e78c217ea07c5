"""What a node says about itself: its pool, its GPUs, and whether those are whole, cut or shared.

A GPU that is cut (MIG) or shared is not a GPU to whoever asks: a pod that asks for `nvidia.com/gpu: 8` on a
node with 56 slices gets eight slices, about one GPU. Whole GPUs and parts of GPUs are therefore kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from tonnage.cluster.gpu_labels import gpu_by_labels, type_label
from tonnage.cluster.objects.node import Node
from tonnage.units import Quantity, try_quantity

_ZERO = Quantity(0)
TO_COME = "tonnage.dev/to-come"
"""Annotation of a described node that an autoscaler may add."""
POOL_LABELS = (
    "tonnage.dev/pool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "doks.digitalocean.com/node-pool",
)
_MIG = "nvidia.com/mig-"
_GPU_RESOURCES = ("nvidia.com/gpu", _MIG, "amd.com/gpu", "gpu.intel.com/", "habana.ai/gaudi")
_ACCELERATORS = ("google.com/tpu", "aws.amazon.com/neuron")


def is_gpu(resource: str) -> bool:
    """Whether a resource name counts accelerators."""
    return resource.startswith(_GPU_RESOURCES) or resource.startswith(_ACCELERATORS)


def is_usable(node: Node) -> bool:
    """Whether new pods may come to a node at all: ready, and not cordoned."""
    ready = any(
        condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions
    )
    return ready and not node.spec.unschedulable


def is_to_come(node: Node) -> bool:
    """Whether an autoscaler would bring the node up, and it is not there yet."""
    return TO_COME in node.metadata.annotations


def pool_of(node: Node) -> str:
    """The pool a cloud or autoscaler put the node in, where it says so."""
    labels = node.metadata.labels
    return next((labels[label] for label in POOL_LABELS if labels.get(label)), "")


def gpu_type_of(node: Node) -> str:
    """The GPU type as people name it, from the labels that say it; else the label as it is, else the resource."""
    known = gpu_by_labels(node.metadata.labels)
    if known is not None:
        return known.name
    said = type_label(node.metadata.labels)
    if said is not None:
        return said[1]
    found = sorted(name for name in node.status.allocatable if is_gpu(name) and _amount(node, name))
    return found[0] if found else ""


def devices_of(node: Node) -> dict[str, int]:
    """What a node offers, whole GPUs under "" and parts of GPUs by what one is."""
    return _devices(node.status.allocatable, node)


def part_of(resource: str, labels: Mapping[str, str]) -> str:
    """What one of a node's GPU resource really is: "" a whole one, else a MIG profile or `shared`."""
    if resource.startswith(_MIG):
        return resource.removeprefix(_MIG).removesuffix(".shared")
    if not resource.startswith("nvidia.com/gpu"):
        return ""
    product = labels.get("nvidia.com/gpu.product", "")
    if "-MIG-" in product:
        return product.partition("-MIG-")[2].removesuffix("-SHARED")
    is_shared = product.endswith("-SHARED") or resource.endswith(".shared")
    return "shared" if is_shared or labels.get("nvidia.com/gpu.replicas", "1") not in ("0", "1") else ""


def _devices(resources: Mapping[str, str], node: Node) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, text in resources.items():
        count = (try_quantity(text) or _ZERO).value() if is_gpu(name) else 0
        if count:
            part = part_of(name, node.metadata.labels)
            found[part] = found.get(part, 0) + count
    return found


def _amount(node: Node, resource: str) -> int:
    return (try_quantity(node.status.allocatable.get(resource, "0")) or _ZERO).value()
