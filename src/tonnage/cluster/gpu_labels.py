"""By which labels nodes say what GPU they have: GPU feature discovery's, a cloud's, or an administrator's own.

Only the first is written by the device itself; clouds name types in their own words, and an administrator's
`nvidia.com/gpu=true` says no more than that there is one. Whoever selects nodes uses the labels they really carry,
in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage.cluster.gpus import GpuType, find_gpu, gpu_from_product

PRODUCT = "nvidia.com/gpu.product"
GKE = "cloud.google.com/gke-accelerator"
KARPENTER = "karpenter.k8s.aws/instance-gpu-name"
GKE_NAMES = {
    "nvidia-tesla-t4": "t4", "nvidia-l4": "l4", "nvidia-tesla-a100": "a100-40", "nvidia-a100-80gb": "a100-80",
    "nvidia-h100-80gb": "h100", "nvidia-h100-mega-80gb": "h100", "nvidia-h200-141gb": "h200",
    "nvidia-b200": "b200", "nvidia-tesla-v100": "v100", "nvidia-tesla-p100": "p100",
}  # fmt: skip
TYPE_LABELS = (PRODUCT, GKE, KARPENTER)
"""Labels that tell GPU types apart, the most exact first."""
PRESENCE = (("nvidia.com/gpu.present", "true"), ("nvidia.com/gpu", "true"), ("nvidia.com/gpu", "present"))
"""Labels that only say that there is a GPU; all but the first are an administrator's own."""


def gpu_by_labels(labels: Mapping[str, str]) -> GpuType | None:
    """The GPU type of our table that a node's labels name; None where they name none we know."""
    for key in TYPE_LABELS:
        if (value := labels.get(key)) and (found := _read(key, value)) is not None:
            return found
    return None


def type_label(labels: Mapping[str, str]) -> tuple[str, str] | None:
    """The most exact label by which a node says its GPU type."""
    return next(((key, labels[key]) for key in TYPE_LABELS if labels.get(key)), None)


def presence_label(nodes: Sequence[Mapping[str, str]]) -> tuple[str, str] | None:
    """A label all these nodes carry that says they have a GPU of some kind."""
    return next(
        ((key, value) for key, value in PRESENCE if nodes and all(node.get(key) == value for node in nodes)),
        None,
    )


def _read(key: str, value: str) -> GpuType | None:
    if key == PRODUCT:
        return gpu_from_product(value)
    return find_gpu(GKE_NAMES.get(value, value)) if key == GKE else find_gpu(value)
