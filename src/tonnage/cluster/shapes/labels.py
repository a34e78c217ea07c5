"""The labels GPU feature discovery writes on a node, for whole, shared and cut GPUs.

Real programs select on these (`nvidia.com/gpu.product`, `.memory`, `.count`), so a simulated node without
them would be answered differently from a real one. The forms follow GPU feature discovery's own README:
sharing appends `-SHARED` to the product, one MIG profile for all GPUs (strategy `single`) renames the
product, several (strategy `mixed`) get a label family each. The memory of a slice is its share of the whole,
which is 2-5 % more than a real slice has.
"""

from __future__ import annotations

from tonnage.cluster.gpus import GpuType, MigProfile
from tonnage.cluster.shapes.shape import NodeShape

_DRIVER = ("580", "95", "05")
_RUNTIME = ("13", "0")


def gpu_labels(shape: NodeShape) -> dict[str, str]:
    """Every `nvidia.com/...` label of a node of this shape; nothing where it has no GPU."""
    gpu = shape.gpu_type
    if not shape.gpus or gpu is None:
        return {}
    return {**_machine(shape, gpu), **_software(), **_devices(shape, gpu)}


def _machine(shape: NodeShape, gpu: GpuType) -> dict[str, str]:
    major, minor = gpu.compute
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.machine": shape.instance or "Tonnage-Sandbox",
        "nvidia.com/gpu.family": gpu.family,
        "nvidia.com/gpu.compute.major": str(major),
        "nvidia.com/gpu.compute.minor": str(minor),
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/mig.capable": _yes(bool(gpu.mig)),
        "nvidia.com/mps.capable": _yes(shape.is_mps),
        "nvidia.com/vgpu.present": "false",
        "feature.node.kubernetes.io/pci-10de.present": "true",
    }


def _software() -> dict[str, str]:
    major, minor, revision = _DRIVER
    return {
        "nvidia.com/cuda.driver.major": major,
        "nvidia.com/cuda.driver.minor": minor,
        "nvidia.com/cuda.driver.rev": revision,
        "nvidia.com/cuda.driver-version.full": ".".join(_DRIVER),
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.driver-version.revision": revision,
        "nvidia.com/cuda.runtime.major": _RUNTIME[0],
        "nvidia.com/cuda.runtime.minor": _RUNTIME[1],
        "nvidia.com/cuda.runtime-version.full": ".".join(_RUNTIME),
        "nvidia.com/cuda.runtime-version.major": _RUNTIME[0],
        "nvidia.com/cuda.runtime-version.minor": _RUNTIME[1],
    }


def _devices(shape: NodeShape, gpu: GpuType) -> dict[str, str]:
    labels = _family("nvidia.com/gpu", gpu.product, shape.gpus, gpu.memory_mib, shape)
    if shape.mig is None:
        return labels
    if shape.mig.is_single:
        (profile, per_gpu), *_ = shape.mig.parts
        return _slices("nvidia.com/gpu", gpu, profile, per_gpu, shape) | {"nvidia.com/mig.strategy": "single"}
    labels["nvidia.com/mig.strategy"] = "mixed"
    for profile, per_gpu in shape.mig.parts:
        labels |= _slices(f"nvidia.com/mig-{profile.name}", gpu, profile, per_gpu, shape)
    return labels


def _slices(prefix: str, gpu: GpuType, profile: MigProfile, per_gpu: int, shape: NodeShape) -> dict[str, str]:
    memory = gpu.memory_mib * profile.memory_slices // gpu.memory_slices
    product = f"{gpu.product}-MIG-{profile.name}"
    return _family(prefix, product, shape.gpus * per_gpu, memory, shape) | {
        f"{prefix}.slices.gi": str(profile.compute_slices),
        f"{prefix}.slices.ci": str(profile.compute_slices),
    }


def _family(prefix: str, product: str, count: int, memory_mib: int, shape: NodeShape) -> dict[str, str]:
    strategy = "none" if shape.shared == 1 else "mps" if shape.is_mps else "time-slicing"
    return {
        f"{prefix}.product": product if shape.shared == 1 else f"{product}-SHARED",
        f"{prefix}.count": str(count),
        f"{prefix}.memory": str(memory_mib),
        f"{prefix}.replicas": str(shape.shared),
        f"{prefix}.sharing-strategy": strategy,
    }


def _yes(fact: bool) -> str:
    return "true" if fact else "false"
