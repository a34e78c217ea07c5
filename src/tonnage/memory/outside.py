"""What a training process holds of the device beside torch's allocator: context, kernels, libraries, NCCL.

None of it shows in `torch.cuda.memory_reserved`, all of it in `nvidia-smi`. On an H200 (torch 2.11, driver 580) 42
training runs held 750 MiB with matrix products alone, 766 with cuDNN attention and 768 to 770 with convolutions or
cuDNN attention under a mask. Measured step by step: 619 context, 66 at the first product, 64 at the first product of
autograd's thread, 70 for a side stream (torch makes 32 of them at once; a step that only copied on one held as much as
one that multiplied there), 18 to 20 for cuDNN. On other GPUs the context is that type's own
(`cluster/gpu_facts`), and the libraries are taken to be as large as there, which nobody has measured.
"""

from __future__ import annotations

from collections.abc import Collection

from tonnage.cluster.gpu_facts import facts_of
from tonnage.cluster.gpus import GpuType
from tonnage.memory.estimate import Part
from tonnage.memory.trace import Trace
from tonnage.memory.workspaces import needs_workspace

MIB = 2**20

KERNELS = MIB
"""torch's own kernels, loaded as they are first used."""
CUBLAS_FIRST = 66 * MIB
"""Growth at the first matrix product, workspace aside."""
CUBLAS_THREAD = 64 * MIB
"""Growth at the first product of another thread."""
STREAM = 70 * MIB
"""Growth at the first use of another stream, whatever runs there."""
CUDNN_ATTENTION = 16 * MIB
CUDNN_CONVOLUTION = 20 * MIB

NCCL_FIRST = {1: 556 * MIB, 2: 580 * MIB}
"""First communicator by its ranks. 1: measured on an H200, NCCL 2.28. 2: 544 MB on A100 with NVLink (nccl#964)."""
NCCL_FIRST_LARGER = 720 * MIB
"""688 MB on A100 with NVLink for groups of 4 and more (nccl#964), more channels on Hopper."""
NCCL_FURTHER = 390 * MIB
"""Each communicator after the first; measured on an H200."""


def outside_parts(trace: Trace, gpu: GpuType) -> tuple[Part, ...]:
    """What lies outside the allocator, part by part."""
    facts = facts_of(gpu)
    names = {operation.name for operation in trace.operations}
    parts = [
        Part("CUDA context", facts.context_bytes, f"{gpu.name}, {facts.origin('context_bytes')}"),
        Part("kernels", KERNELS, "torch's kernels, loaded at first use"),
    ]
    parts += _cublas(trace)
    if any("convolution" in name for name in names):
        parts.append(Part("cuDNN", CUDNN_CONVOLUTION, "convolution kernels"))
    elif any("cudnn_attention" in name for name in names):
        parts.append(Part("cuDNN", CUDNN_ATTENTION, "attention kernels"))
    return (*parts, *_streams(trace), *nccl_parts(trace.groups))


def _streams(trace: Trace) -> list[Part]:
    """Streams beside the default one."""
    count = len({call.stream for call in trace.calls} - {0})
    return [Part("streams", count * STREAM, f"{count} beside the default one, 70 MiB each")] if count else []


def _cublas(trace: Trace) -> list[Part]:
    """Kernels and one handle per thread that multiplies."""
    multiplies = [needs_workspace(operation.name) for operation in trace.operations]
    users = {(call.thread, call.stream) for call in trace.calls if multiplies[call.operation]}
    if not users:
        return []
    threads = len({thread for thread, _ in users})
    size = CUBLAS_FIRST + (threads - 1) * CUBLAS_THREAD
    formula = f"kernels and a handle: 66 MiB, 64 per further thread ({threads - 1})"
    return [Part("cuBLAS", size, formula)]


def nccl_parts(groups: Collection[Collection[int]]) -> tuple[Part, ...]:
    """NCCL's buffers: per group of ranks on which a collective ran."""
    sizes = sorted((len(group) for group in groups), reverse=True)
    if not sizes:
        return ()
    first = NCCL_FIRST.get(sizes[0], NCCL_FIRST_LARGER)
    parts = [Part("NCCL", first, f"first communicator, {sizes[0]} ranks")]
    if len(sizes) > 1:
        further = (len(sizes) - 1) * NCCL_FURTHER
        parts.append(Part("NCCL, further groups", further, f"{len(sizes) - 1} x {NCCL_FURTHER // MIB} MiB"))
    return tuple(parts)
