"""A GPU type as the virtual runtime is told of it.

Most comes from the table of GPU facts. The rest is fixed by the compute capability: how many threads a
multiprocessor holds and how much shared memory it has, both of which kernels choose by.
"""

from __future__ import annotations

import re

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType

_THREADS_PER_SM = {(7, 5): 1024, (8, 6): 1536, (8, 9): 1536, (12, 0): 1536}
_KIB = 1024


def gpu_environment(gpu: GpuType, count: int) -> dict[str, str]:
    """`TONNAGE_GPU_*` for `count` such GPUs in one machine."""
    facts = facts_of(gpu)
    major, minor = gpu.compute
    said = {
        "NAME": device_name(gpu),
        "COUNT": count,
        "COMPUTE": f"{major}.{minor}",
        "MEMORY": facts.usable_bytes,
        "CONTEXT": facts.context_bytes,
        "SMS": facts.sm_count,
        "THREADS_PER_SM": _THREADS_PER_SM.get(gpu.compute, 2048),
        "SHARED_PER_BLOCK": facts.shared_memory_per_block,
        "SHARED_PER_SM": _shared_per_sm(gpu, facts.shared_memory_per_block),
        "L2": facts.l2_bytes,
    }
    return {f"TONNAGE_GPU_{name}": str(value) for name, value in said.items()}


def device_name(gpu: GpuType) -> str:
    """What torch calls the device: node labels write dashes for spaces, and the name has a few dashes itself.

    >>> from tonnage.cluster.gpus import find_gpu
    >>> device_name(find_gpu("h100")), device_name(find_gpu("a100-80"))
    ('NVIDIA H100 80GB HBM3', 'NVIDIA A100-SXM4-80GB')
    """
    return re.sub(r"([AVP]100) (SXM\d|PCIE) (\d+GB)", r"\1-\2-\3", gpu.product.replace("-", " "))


def _shared_per_sm(gpu: GpuType, per_block: int) -> int:
    """Since Ampere a block leaves 1 KiB to the system; Pascal gives a block less than there is."""
    if gpu.compute >= (8, 0):
        return per_block + _KIB
    return per_block if gpu.compute >= (7, 0) else 64 * _KIB
